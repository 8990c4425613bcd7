//! TPC-C on real SQLite, straight through the driver, held to the golden vectors and the oracle: answers, and the rows
//! that are left behind. Then mutants: one statement changed a little each, and each must be caught.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use adapter_rusqlite::{SqliteConn, SqliteOpener};
use measure::Monotonic;
use model::rows::{Dataset, RowSink};
use model::{CallWork, Fault, Session, Target};
use rusqlite::Connection;
use rusqlite::types::Value;
use sql::{Dialect, SqliteUrl};
use std::path::Path;
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tempfile::TempDir;
use workload_tpcc::conformance::{ConformancePlan, conform};
use workload_tpcc::{Call, Data, Oracle, Outcome, SqlSession, SqlTarget, Stmt, Tpcc, catalogue, schema};

/// Runs a future that never waits: SQLite's block.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a blocking driver's futures never wait"),
    }
}

/// Stores rows as they come, with no part in common with the loader that users have.
struct Inserts<'a> {
    statement: rusqlite::Statement<'a>,
    row: Vec<Value>,
}

impl RowSink for Inserts<'_> {
    fn int(&mut self, value: i64) {
        self.row.push(Value::Integer(value));
    }
    fn text(&mut self, value: &str) {
        self.row.push(Value::Text(value.to_owned()));
    }
    fn null(&mut self) {
        self.row.push(Value::Null);
    }
    fn end(&mut self) {
        self.statement.execute(rusqlite::params_from_iter(self.row.drain(..))).unwrap();
    }
}

fn load(file: &Path, data: &Data) {
    let mut connection = Connection::open(file).unwrap();
    let transaction = connection.transaction().unwrap();
    for (_, text) in schema(Dialect::Sqlite).unwrap().iter() {
        transaction.execute_batch(text).unwrap();
    }
    for (number, table) in data.tables().iter().enumerate() {
        let places = vec!["?"; table.columns.len()].join(", ");
        let insert = format!("insert into {} ({}) values ({places})", table.name, table.columns.join(", "));
        let mut sink = Inserts { statement: transaction.prepare(&insert).unwrap(), row: Vec::new() };
        (0..table.chunks).for_each(|chunk| data.fill(number, chunk, &mut sink));
    }
    transaction.commit().unwrap();
}

/// A freshly loaded database, and a session on it.
struct Fresh {
    folder: TempDir,
    session: SqlSession<SqliteConn<Monotonic>, Monotonic>,
}

impl Fresh {
    fn new(plan: &ConformancePlan, statements: Vec<String>) -> Fresh {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("tpcc.db");
        load(&file, &Data::new(plan.size, plan.load_seed));
        // What a crash would leave is none of this test's concern.
        let url: SqliteUrl =
            format!("sqlite:{}?journal=memory&synchronous=off", file.display()).parse().unwrap();
        let clock = Monotonic::start();
        let opener = SqliteOpener::new(&url, statements, clock).unwrap();
        let session = now(SqlTarget::new(opener, clock).open(0)).unwrap();
        Fresh { folder, session }
    }

    /// Rows as text, one a line.
    fn rows(&self, query: &str) -> Vec<String> {
        let connection = Connection::open(self.folder.path().join("tpcc.db")).unwrap();
        let mut statement = connection.prepare(query).unwrap();
        let rows = statement.query_map([], |row| row.get(0)).unwrap();
        rows.map(Result::unwrap).collect()
    }
}

/// An oracle that is told of every call, so that its rows can be compared afterwards.
struct Mirrored<S> {
    session: S,
    oracle: Oracle,
}

impl<S: Session<Tpcc>> Session<Tpcc> for Mirrored<&mut S> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        let _ = self.oracle.answer(call);
        self.session.run(call, work).await
    }
}

/// The first row that differs, if one does. Every column that calls change, besides the keys; times only as there or not.
fn difference(fresh: &Fresh, oracle: &Oracle) -> Option<String> {
    let mut differing = Vec::new();
    let mut check = |table: &str, query: &str, expected: Vec<String>| {
        let found = fresh.rows(query);
        if found.len() != expected.len() {
            differing.push(format!("{table}: expected {} rows, found {}", expected.len(), found.len()));
        }
        let other = found.iter().zip(&expected).find(|(found, expected)| found != expected);
        differing
            .extend(other.map(|(found, expected)| format!("{table}: expected {expected}, found {found}")));
    };
    let flag = |there: bool| u32::from(there);
    let carrier = |carrier: Option<u32>| carrier.map_or("-".to_owned(), |carrier| carrier.to_string());
    let warehouses = oracle.warehouses().iter();
    check(
        "warehouse",
        "select format('%d %d', w_id, w_ytd) from warehouse order by w_id",
        warehouses.map(|row| format!("{} {}", row.w_id, row.w_ytd.0)).collect(),
    );
    let districts = || oracle.districts().iter();
    check(
        "district",
        "select format('%d %d %d %d', d_w_id, d_id, d_ytd, d_next_o_id) from district order by d_w_id, d_id",
        districts()
            .map(|at| &at.row)
            .map(|row| format!("{} {} {} {}", row.d_w_id, row.d_id, row.d_ytd.0, row.d_next_o_id))
            .collect(),
    );
    check(
        "customer",
        "select format('%d %d %d %d %d %d %d %s', c_w_id, c_d_id, c_id, c_balance, c_ytd_payment, c_payment_cnt,
           c_delivery_cnt, c_data) from customer order by c_w_id, c_d_id, c_id",
        districts()
            .flat_map(|at| &at.customers)
            .map(|row| {
                let (key, money) = ((row.c_w_id, row.c_d_id, row.c_id), (row.c_balance.0, row.c_ytd_payment.0));
                let (paid, delivered) = (row.c_payment_cnt, row.c_delivery_cnt);
                let (w, d, c) = key;
                format!("{w} {d} {c} {} {} {paid} {delivered} {}", money.0, money.1, row.c_data)
            })
            .collect(),
    );
    check(
        "history",
        "select format('%d %d %d %d %d %d %s', h_c_w_id, h_c_d_id, h_c_id, h_w_id, h_d_id, h_amount, h_data)
         from history order by rowid",
        oracle
            .history()
            .iter()
            .map(|row| {
                let (w, d, c) = (row.h_c_w_id, row.h_c_d_id, row.h_c_id);
                format!("{w} {d} {c} {} {} {} {}", row.h_w_id, row.h_d_id, row.h_amount.0, row.h_data)
            })
            .collect(),
    );
    check(
        "new_order",
        "select format('%d %d %d', no_w_id, no_d_id, no_o_id) from new_order order by no_w_id, no_d_id, no_o_id",
        districts()
            .flat_map(|at| {
                at.undelivered.iter().map(|o_id| format!("{} {} {o_id}", at.row.d_w_id, at.row.d_id))
            })
            .collect(),
    );
    check(
        "orders",
        "select format('%d %d %d %d %d %s %d %d', o_w_id, o_d_id, o_id, o_c_id, o_entry_d is not null,
           ifnull(o_carrier_id, '-'), o_ol_cnt, o_all_local) from orders order by o_w_id, o_d_id, o_id",
        districts()
            .flat_map(|at| &at.orders)
            .map(|order| &order.row)
            .map(|row| {
                let (w, d, o, c) = (row.o_w_id, row.o_d_id, row.o_id, row.o_c_id);
                format!(
                    "{w} {d} {o} {c} 1 {} {} {}",
                    carrier(row.o_carrier_id),
                    row.o_ol_cnt,
                    row.o_all_local
                )
            })
            .collect(),
    );
    check(
        "order_line",
        "select format('%d %d %d %d %d %d %d %d %d %s', ol_w_id, ol_d_id, ol_o_id, ol_number, ol_i_id, ol_supply_w_id,
           ol_delivery_d is not null, ol_quantity, ol_amount, ol_dist_info)
         from order_line order by ol_w_id, ol_d_id, ol_o_id, ol_number",
        districts()
            .flat_map(|at| &at.orders)
            .flat_map(|order| &order.lines)
            .map(|row| {
                let (w, d, o, number) = (row.ol_w_id, row.ol_d_id, row.ol_o_id, row.ol_number);
                let (item, supplier, delivered) =
                    (row.ol_i_id, row.ol_supply_w_id, flag(row.ol_delivery_d.is_some()));
                let (quantity, amount) = (row.ol_quantity, row.ol_amount.0);
                format!("{w} {d} {o} {number} {item} {supplier} {delivered} {quantity} {amount} {}", row.ol_dist_info)
            })
            .collect(),
    );
    check(
        "stock",
        "select format('%d %d %d %d %d %d', s_w_id, s_i_id, s_quantity, s_ytd, s_order_cnt, s_remote_cnt)
         from stock order by s_w_id, s_i_id",
        oracle
            .stock()
            .iter()
            .map(|row| {
                let (w, i, counts) = (row.s_w_id, row.s_i_id, (row.s_order_cnt, row.s_remote_cnt));
                format!("{w} {i} {} {} {} {}", row.s_quantity, row.s_ytd, counts.0, counts.1)
            })
            .collect(),
    );
    differing.into_iter().next()
}

fn statements() -> Vec<String> {
    catalogue(Dialect::Sqlite).unwrap()
}

#[test]
fn tpcc_on_sqlite_answers_and_stores_what_the_oracle_says() {
    let plan = ConformancePlan::golden(20, 10_000);
    let mut fresh = Fresh::new(&plan, statements());
    let oracle = Oracle::new(&Data::new(plan.size, plan.load_seed));
    assert_eq!(difference(&fresh, &oracle), None);
    let mut both = Mirrored { session: &mut fresh.session, oracle };
    let done = now(conform(&mut both, &plan)).unwrap_or_else(|wrong| panic!("{wrong}"));
    let oracle = both.oracle;
    assert_eq!((done.golden > 60, done.random), (true, 10_000));
    assert_eq!(difference(&fresh, &oracle), None);
}

#[test]
fn other_sizes_and_seeds_agree_too() {
    let tiny = ConformancePlan::golden(1, 1_000);
    let one = workload_tpcc::Cardinality { warehouses: 1, ..tiny.size };
    let three =
        workload_tpcc::Cardinality { warehouses: 3, items: 400, customers: 90, orders: 90, ..tiny.size };
    for (size, load_seed) in [(one, 5), (three, 6)] {
        let plan = ConformancePlan { size, load_seed, ..tiny };
        let mut fresh = Fresh::new(&plan, statements());
        let done = now(conform(&mut fresh.session, &plan)).unwrap_or_else(|wrong| panic!("{wrong}"));
        assert_eq!((done.golden, done.random), (0, 1_000));
    }
}

/// A database whose session has `from` in one statement replaced by `to`.
fn mutant(plan: &ConformancePlan, stmt: Stmt, from: &str, to: &str) -> Fresh {
    let mut statements = statements();
    let text = &mut statements[stmt as usize];
    assert!(text.contains(from), "`{from}` is not in {text}");
    *text = text.replace(from, to);
    Fresh::new(plan, statements)
}

#[test]
fn the_golden_vectors_alone_catch_a_change_to_any_statement_that_answers_depend_on() {
    let plan = ConformancePlan::golden(0, 0);
    let mut survivors = Vec::new();
    let mut check = |stmt, from: &str, to: &str| {
        if now(conform(&mut mutant(&plan, stmt, from, to).session, &plan)).is_ok() {
            survivors.push(format!("{stmt:?} with `{to}`"));
        }
    };
    check(Stmt::WarehouseTax, "select w_tax", "select w_tax + 1");
    check(Stmt::ClaimOrderId, "d_next_o_id + 1", "d_next_o_id + 2");
    check(Stmt::CustomerTerms, "c_id = ?3", "c_id = 1");
    check(Stmt::InsertOrder, "values (?1, ?2, ?3, ?4,", "values (?1, ?2, ?3, ?4 % 30 + 1,");
    check(Stmt::InsertNewOrder, "?3)", "?3 + 1)");
    check(Stmt::ReadItem, "i_price", "i_price + 1");
    check(Stmt::UpdateStock, "where s_w_id = ?1", "where s_w_id = 1");
    check(Stmt::UpdateStock, "s_quantity = ?3", "s_quantity = ?3 - (?3 = 10)");
    check(Stmt::ReadStock, "s_data,", "'ORIGINAL',");
    check(Stmt::InsertOrderLine, "?6, null", "?1, null");
    check(Stmt::InsertOrderLine, "null, ?7", "unixepoch(), ?7");
    check(Stmt::PayWarehouse, "w_street_1, w_street_2", "w_street_2, w_street_1");
    check(Stmt::PayDistrict, "d_zip", "d_w_id || '00011111'");
    check(Stmt::CustomersByName, "order by c_first", "order by c_first collate nocase");
    check(Stmt::CustomersByName, "order by c_first", "order by c_first desc");
    check(Stmt::PayCustomer, "c_balance - ?4", "c_balance - 0 * ?4");
    check(Stmt::PayCustomerWithData, "c_data = ?5", "c_data = substr(?5, 1, 100)");
    check(Stmt::ReadCustomer, "c_phone", "'0' || substr(c_phone, 2)");
    check(Stmt::ReadCustomerData, "c_data", "trim(c_data, '0123456789. ') as c_data");
    check(Stmt::CustomerStatus, "c_balance", "-c_balance");
    check(Stmt::NewestOrder, "o_id desc", "o_id");
    check(Stmt::OrderLines, "order by ol_number", "order by ol_number desc");
    check(Stmt::OldestNewOrder, "order by no_o_id", "order by no_o_id desc");
    check(Stmt::CarryOrder, "o_carrier_id = ?4", "o_carrier_id = ?4 % 10 + 1");
    check(Stmt::DeliverLines, "ol_o_id = ?3", "ol_o_id = ?3 and ol_number > 1");
    check(Stmt::SumLines, "sum(ol_amount)", "max(ol_amount)");
    check(Stmt::CreditCustomer, "c_balance + ?4", "c_balance + 0 * ?4");
    check(Stmt::NextOrderId, "d_next_o_id", "d_next_o_id - 1");
    check(Stmt::LowStock, "count(distinct s_i_id)", "count(s_i_id)");
    check(Stmt::LowStock, "s_quantity < ?4", "s_quantity <= ?4");
    check(Stmt::LowStock, "?3 - 20", "?3 - 19");
    check(Stmt::LowStock, "?3 - 20", "?3 - 21");
    check(Stmt::LowStock, "ol_d_id = ?2 and ", "");
    assert_eq!(survivors, [""; 0]);
}

#[test]
fn a_change_that_no_answer_shows_is_seen_in_the_rows() {
    let plan = ConformancePlan::golden(0, 0);
    let check = |stmt, from: &str, to: &str, table: &str| {
        let mut fresh = mutant(&plan, stmt, from, to);
        let oracle = Oracle::new(&Data::new(plan.size, plan.load_seed));
        let mut both = Mirrored { session: &mut fresh.session, oracle };
        now(conform(&mut both, &plan)).unwrap_or_else(|wrong| panic!("an answer shows it: {wrong}"));
        let oracle = both.oracle;
        let found = difference(&fresh, &oracle).unwrap_or_else(|| panic!("{stmt:?} with `{to}` survives"));
        assert!(found.starts_with(table), "{stmt:?} with `{to}`: {found}");
    };
    check(Stmt::PayWarehouse, "w_ytd + ?2", "?2", "warehouse: ");
    check(Stmt::PayDistrict, "d_ytd + ?3", "d_ytd + ?3 + 1", "district: ");
    check(Stmt::PayCustomer, "c_payment_cnt + 1", "c_payment_cnt", "customer: ");
    check(Stmt::PayCustomerWithData, "c_ytd_payment + ?4", "c_ytd_payment", "customer: ");
    check(Stmt::PayCustomerWithData, "c_data = ?5", "c_data = substr(?5, 1, 400)", "customer: ");
    check(Stmt::CreditCustomer, "c_delivery_cnt + 1", "c_delivery_cnt", "customer: ");
    check(Stmt::InsertHistory, "values (?1, ?2, ?3, ?4", "values (?4, ?2, ?3, ?4 + 0 * ?1", "history: ");
    check(Stmt::InsertOrder, "?5, ?6", "?5, 1 + 0 * ?6", "orders: ");
    check(Stmt::InsertOrderLine, "?8, ?9", "?8, lower(?9)", "order_line: ");
    check(Stmt::UpdateStock, "s_ytd + ?4", "s_ytd + ?4 - 1", "stock: ");
    check(Stmt::UpdateStock, "s_order_cnt + 1", "s_order_cnt", "stock: ");
    check(Stmt::UpdateStock, "s_remote_cnt + ?5", "s_remote_cnt + 0 * ?5", "stock: ");
}
