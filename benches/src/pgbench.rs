//! pgbench, PostgreSQL's own load generator, on the database that we run on: the same statements, prepared, one a round
//! trip.

use crate::process::children_cpu_seconds;
use sql::{ServerUrl, StmtId};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;
use workload_tpcc::{LINES_MAX, LINES_MIN, Stmt};

/// What a run gave.
#[derive(Debug, Clone, Copy)]
pub struct Run {
    /// Transactions a second, without the time of connecting.
    pub rate: f64,
    /// CPU time of pgbench for a transaction, in microseconds.
    pub cpu_micros: f64,
}

/// What it runs in place of its own transaction.
#[derive(Debug, Clone, Copy)]
pub struct Script<'a> {
    pub file: &'a Path,
    /// What variables hold at first, as `name=value`; each client has them for itself.
    pub defines: &'a [String],
}

/// The program next to the server's, or on the path.
pub fn program(engine: &rig::Running) -> PathBuf {
    let beside = engine.installation().server.with_file_name("pgbench");
    if beside.exists() { beside } else { PathBuf::from("pgbench") }
}

/// Runs it for some seconds with so many clients on one thread. Without a script it runs its own transaction.
///
/// # Panics
/// When it is not there or fails.
pub fn run(program: &Path, url: &ServerUrl, script: Option<Script<'_>>, clients: u32, seconds: u64) -> Run {
    let before = children_cpu_seconds();
    let mut command = Command::new(program);
    command.args(["--no-vacuum", "--protocol=prepared", "--jobs=1"]);
    command.arg(format!("--client={clients}")).arg(format!("--time={seconds}"));
    if let Some(Script { file, defines }) = script {
        command.args(defines.iter().map(|define| format!("--define={define}"))).arg("--file").arg(file);
    }
    command.arg("--host").arg(url.socket.as_deref().unwrap_or(Path::new(&url.host)));
    command.arg(format!("--port={}", url.port)).arg(format!("--username={}", url.user)).arg(&url.database);
    if let Some(password) = &url.password {
        command.env("PGPASSWORD", password.reveal());
    }
    let output = command.output().expect("pgbench comes with PostgreSQL");
    let sentence = String::from_utf8_lossy(&output.stdout);
    let number = |name: &str| -> Option<f64> {
        let line = sentence.lines().find_map(|line| line.strip_prefix(name))?;
        line.split_whitespace().next()?.parse().ok()
    };
    let found = number("tps = ").zip(number("number of transactions actually processed: "));
    let (rate, done) = found.filter(|_| output.status.success()).unwrap_or_else(|| {
        panic!("pgbench gave no rate: {sentence}{}", String::from_utf8_lossy(&output.stderr))
    });
    Run { rate, cpu_micros: (children_cpu_seconds() - before) * 1e6 / done }
}

/// A statement of ours with its parameters by the names of a script's variables.
fn statement(texts: &[String], stmt: StmtId, params: &[&str]) -> String {
    let mut text = texts[usize::from(stmt.0)].clone();
    // From the last, so that ?1 is not found in ?10.
    for (at, name) in params.iter().enumerate().rev() {
        text = text.replace(&format!("?{}", at + 1), &format!(":{name}"));
    }
    text
}

/// New-Order by the standard's random numbers, each client at home in the warehouse that it has with us. No order has an
/// unused item: pgbench has nothing to do for one in a hundred that we roll back, and that does not count for us.
pub fn new_order(texts: &[String], warehouses: u32) -> String {
    let sql = |stmt: Stmt, params: &[&str]| statement(texts, stmt.id(), params);
    let mut script = format!(
        "\\set w :client_id % {warehouses} + 1\n\\set d random(1, 10)\n{}\\set n random({LINES_MIN}, {LINES_MAX})\n",
        nurand("c", 1_023, 259, 3_000)
    );
    let mut local = String::from("1");
    for line in 1..=LINES_MAX {
        script += &nurand(&format!("i{line}"), 8_191, 7_911, 100_000);
        let _ = writeln!(script, "\\set q{line} random(1, 10)");
        // TPC-C 2.4.1.5: one line in a hundred is remote.
        let _ = writeln!(
            script,
            "\\set s{line} case when random(1, 100) = 1 then (:w + random(0, {})) % {warehouses} + 1 else :w end",
            warehouses.saturating_sub(2)
        );
        let _ = write!(local, " and (:n < {line} or :s{line} = :w)");
    }
    let _ = writeln!(script, "\\set local case when {} then 1 else 0 end", &local[6..]);
    script += "begin;\n";
    let _ = writeln!(script, "{};", sql(Stmt::WarehouseTax, &["w"]));
    let _ = writeln!(
        script,
        "{} as o_id, d_tax \\gset",
        sql(Stmt::ClaimOrderId, &["w", "d"]).replace(", d_tax", "")
    );
    let _ = writeln!(script, "{};", sql(Stmt::CustomerTerms, &["w", "d", "c"]));
    let _ = writeln!(script, "{};", sql(Stmt::InsertOrder, &["w", "d", "o_id", "c", "n", "local"]));
    let _ = writeln!(script, "{};", sql(Stmt::InsertNewOrder, &["w", "d", "o_id"]));
    for line in 1..=LINES_MAX {
        let (i, s, q) = (format!("i{line}"), format!("s{line}"), format!("q{line}"));
        let optional = line > LINES_MIN;
        if optional {
            let _ = writeln!(script, "\\if :n >= {line}");
        }
        let _ = writeln!(script, "{} \\gset", sql(Stmt::ReadItem, &[&i]));
        let read = sql(Stmt::ReadStock, &[&s, &i, "d"]);
        // The text for the district gets a name, by which the line stores it.
        let _ = writeln!(script, "{} \\gset", read.replace(" end\nfrom", " end as info\nfrom"));
        let _ = writeln!(script, "\\set left :s_quantity - :{q}");
        let _ = writeln!(script, "\\set left case when :left < 10 then :left + 91 else :left end");
        let _ = writeln!(script, "\\set remote case when :{s} = :w then 0 else 1 end");
        let _ = writeln!(script, "{};", sql(Stmt::UpdateStock, &[&s, &i, "left", &q, "remote"]));
        let _ = writeln!(script, "\\set amount :i_price * :{q}");
        let _ = writeln!(script, "\\set number {line}");
        let row = ["w", "d", "o_id", "number", &i, &s, &q, "amount", "info"];
        let _ = writeln!(script, "{};", sql(Stmt::InsertOrderLine, &row));
        if optional {
            script += "\\endif\n";
        }
    }
    script + "commit;\n"
}

/// Payment by the standard's random numbers. pgbench cannot make a name or take the middle one of some rows: it pays the
/// customer that comes last among those who are called as the one before, and leaves texts as they are.
pub fn payment(texts: &[String], warehouses: u32) -> String {
    let sql = |stmt: Stmt, params: &[&str]| statement(texts, stmt.id(), params);
    let key = ["cw", "cd", "c_id"];
    let mut script = format!(
        "\\set w :client_id % {warehouses} + 1\n\\set d random(1, 10)\n\\set amount random(100, 500000) / 100.0\n\
         \\set far random(1, 100)\n\
         \\set cw case when :far > 85 then (:w + random(0, {})) % {warehouses} + 1 else :w end\n\
         \\set cd case when :far > 85 then random(1, 10) else :d end\n{}\
         \\set bad random(1, 10)\n\\set named random(1, 100)\nbegin;\n",
        warehouses.saturating_sub(2),
        nurand("c_id", 1_023, 259, 3_000)
    );
    let _ = writeln!(script, "{} \\gset", sql(Stmt::PayWarehouse, &["w", "amount"]));
    let _ = writeln!(script, "{};", sql(Stmt::PayDistrict, &["w", "d", "amount"]));
    let named = sql(Stmt::CustomersByName, &["cw", "cd", "c_last"]);
    let _ = writeln!(script, "\\if :named <= 60\n{named} \\aset\n\\endif");
    let _ = writeln!(script, "{} \\gset", sql(Stmt::ReadCustomer, &key));
    let _ = writeln!(script, "\\if :bad = 1\n{} \\gset", sql(Stmt::ReadCustomerData, &key));
    let with_data = sql(Stmt::PayCustomerWithData, &["cw", "cd", "c_id", "amount", "c_data"]);
    let pay = sql(Stmt::PayCustomer, &["cw", "cd", "c_id", "amount"]);
    let _ = writeln!(script, "{with_data};\n\\else\n{pay};\n\\endif");
    let history = ["cw", "cd", "c_id", "w", "d", "amount", "w_name"];
    let _ = writeln!(script, "{};\ncommit;", sql(Stmt::InsertHistory, &history));
    script
}

/// A transfer between two accounts of one branch, drawn evenly and unlike each other, under a key of the run, of the client and of
/// a number that counts up; the run and the first number are to be defined. Clients are other workers than ours, and write their
/// keys into other places of the index, as ours do.
///
/// pgbench keeps the last row of the two that are locked, and so stores next to the transfer what the account with the higher
/// number holds, where we store what the source does. It does not look whether there is enough money: where there is not, the
/// update fails, and pgbench with it.
pub fn transfer(texts: &[String], branches: u32) -> String {
    use workload_transfer::{ACCOUNTS_A_BRANCH, AMOUNT_DRAWN_MAX, State, Stmt};
    let sql = |stmt: Stmt, params: &[&str]| statement(texts, stmt.id(), params);
    let each = ACCOUNTS_A_BRANCH;
    let mut script = format!(
        "\\set sequence :sequence + 1\n\\set worker :client_id + {WORKER_FIRST}\n\\set state {}\n\
         \\set before random(0, {}) * {each}\n\\set place random(0, {})\n\
         \\set source :before + :place + 1\n\\set target :before + (:place + random(1, {})) % {each} + 1\n\
         \\set amount random(1, {AMOUNT_DRAWN_MAX})\n\\set taken -:amount\nbegin;\n",
        State::Completed.number(),
        branches - 1,
        each - 1,
        each - 1
    );
    let _ = writeln!(script, "{} \\aset", sql(Stmt::LockAccounts, &["source", "target"]));
    script += "\\set left :balance - :amount\n";
    let row = ["run", "worker", "sequence", "source", "target", "amount", "state", "left"];
    let _ = writeln!(script, "{};", sql(Stmt::InsertTransfer, &row));
    let _ = writeln!(script, "{};", sql(Stmt::MoveMoney, &["source", "target", "amount"]));
    let entries = ["run", "worker", "sequence", "source", "target", "taken", "amount"];
    let _ = writeln!(script, "{};\ncommit;", sql(Stmt::InsertEntries, &entries));
    script
}

/// A booking of one ticket of an event drawn evenly, under a key as that of [`transfer`]. pgbench does not look whether there are
/// tickets left, and no event is limited.
pub fn booking(texts: &[String], events: u32) -> String {
    use workload_booking::{Stmt, USERS};
    let sql = |stmt: Stmt, params: &[&str]| statement(texts, stmt.id(), params);
    let mut script = format!(
        "\\set sequence :sequence + 1\n\\set worker :client_id + {WORKER_FIRST}\n\\set event random(1, {events})\n\
         \\set user random(1, {USERS})\n\\set quantity 1\n"
    );
    let _ = writeln!(
        script,
        "{};\nbegin;",
        sql(Stmt::Look, &["event", "run", "worker", "sequence", "user", "quantity"])
    );
    let insert = texts[usize::from(Stmt::InsertBooking.id().0)].replace("?7", "null");
    let insert = statement(&[insert], StmtId(0), &["run", "worker", "sequence", "event", "user", "quantity"]);
    let _ = writeln!(script, "{insert};");
    let _ = writeln!(script, "{};\ncommit;", sql(Stmt::TakeTickets, &["event", "quantity"]));
    script
}

/// The worker of pgbench's first client: no trial has as many of ours.
const WORKER_FIRST: u32 = 1_000;

/// NURand(a, 1, high) into a variable (TPC-C 2.1.6).
fn nurand(name: &str, a: u32, c: u32, high: u32) -> String {
    format!("\\set {name} ((random(0, {a}) | random(1, {high})) + {c}) % {high} + 1\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use sql::Dialect;

    #[test]
    fn scripts_have_the_statements_of_the_catalogue_and_no_parameter_is_left() {
        let texts = workload_tpcc::catalogue(Dialect::Postgres).unwrap();
        let of_bookings = workload_booking::catalogue(Dialect::Postgres).unwrap();
        let of_transfers = workload_transfer::catalogue(Dialect::Postgres).unwrap();
        for (script, statements) in [
            (new_order(&texts, 10), 5 + 4 * LINES_MAX),
            (payment(&texts, 10), 8),
            (transfer(&of_transfers, 8), 4),
            (booking(&of_bookings, 8), 3),
        ] {
            assert!(!script.contains('?'), "{script}");
            let words = ["select", "insert", "update"];
            let started = script.lines().filter(|line| words.iter().any(|word| line.starts_with(word)));
            let commands = started.filter(|line| !line.starts_with("update only")).count();
            assert_eq!(commands, statements, "{script}");
        }
    }
}
