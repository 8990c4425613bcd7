//! The statements that servers in other languages read, `servers/sql`: those of `spec/sql`, each as its engine takes it.

use model::Workload as _;
use sql::Dialect;
use stackmark_tests::repository;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use workload_booking::Bookings;
use workload_catalogue::FoodCatalogue;
use workload_tpcc::Tpcc;
use workload_transfer::Transfers;

/// A file, as it should be: what it is called, and its text.
type File = (String, String);

fn files() -> Vec<File> {
    let mut files = Vec::new();
    for dialect in [Dialect::Postgres, Dialect::MySql] {
        let catalogue = workload_catalogue::catalogue(dialect).expect("a test keeps the files readable");
        files.push(file(FoodCatalogue::NAME, dialect, workload_catalogue::Stmt::NAMES, &catalogue));
        let tpcc = workload_tpcc::catalogue(dialect).expect("a test keeps the files readable");
        files.push(file(Tpcc::NAME, dialect, workload_tpcc::Stmt::names(dialect), &tpcc));
        // A server whose calls leave something to a relay may have that too.
        let calls = workload_transfer::catalogue(dialect).expect("a test keeps the files readable");
        let relay = workload_transfer::relay_catalogue(dialect).expect("a test keeps the files readable");
        let names = [workload_transfer::Stmt::NAMES, workload_transfer::RELAY_STATEMENTS].concat();
        files.push(file(Transfers::NAME, dialect, &names, &[calls, relay].concat()));
        let calls = workload_booking::catalogue(dialect).expect("a test keeps the files readable");
        let relay = workload_booking::relay_catalogue(dialect).expect("a test keeps the files readable");
        let names = [workload_booking::Stmt::NAMES, workload_booking::RELAY_STATEMENTS].concat();
        files.push(file(Bookings::NAME, dialect, &names, &[calls, relay].concat()));
    }
    files
}

fn file(workload: &str, dialect: Dialect, names: &[&str], texts: &[String]) -> File {
    let engine = dialect.name();
    let mut file = format!(
        "-- The statements of spec/sql/{workload} as {engine} takes them. Made from there, not by hand: see servers/README.md.\n"
    );
    for (name, text) in names.iter().zip(texts) {
        let (text, params) = resolved(dialect, text);
        let params: Vec<String> = params.iter().map(u16::to_string).collect();
        let space = if params.is_empty() { "" } else { " " };
        write!(file, "\n-- name: {name}\n-- params:{space}{}\n{text}\n", params.join(" "))
            .expect("a text takes everything");
    }
    (format!("{workload}.{engine}.sql"), file)
}

/// A text with the engine's own placeholders; and of each parameter that is sent, in their order, its number from 1.
fn resolved(dialect: Dialect, text: &str) -> (String, Vec<u16>) {
    let positional = sql::positional(text);
    let sent: Vec<u16> = positional.order.iter().map(|index| index + 1).collect();
    match dialect {
        Dialect::MySql => (positional.text, sent),
        Dialect::Postgres => {
            let numbers: BTreeSet<u16> = sent.into_iter().collect();
            (sql::dollars(text), numbers.into_iter().collect())
        }
        Dialect::Sqlite => unreachable!("no server of another language speaks to it here"),
    }
}

#[test]
fn the_statements_of_servers_are_those_of_the_specification() {
    let folder = repository::root().join("servers/sql");
    let accept = std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always");
    let files = files();
    for (name, text) in &files {
        let place = folder.join(name);
        if accept {
            fs::write(&place, text).unwrap();
        }
        let found = fs::read_to_string(&place).unwrap_or_default();
        assert_eq!(&found, text, "{name} is not that of spec/sql: servers/README.md says how it is made");
    }
    let found =
        fs::read_dir(&folder).unwrap().flatten().map(|entry| entry.file_name().into_string().unwrap());
    let names: BTreeSet<String> = files.into_iter().map(|(name, _)| name).collect();
    assert_eq!(found.collect::<BTreeSet<_>>(), names);
}

/// A server sends as many parameters as there are places for them, from the first to the last.
#[test]
fn parameters_are_numbered_from_one_without_a_gap() {
    for (name, text) in files() {
        let sent = text.lines().filter_map(|line| line.strip_prefix("-- params:"));
        for line in sent {
            let numbers: BTreeSet<usize> =
                line.split_whitespace().map(|word| word.parse().unwrap()).collect();
            assert!(numbers.iter().copied().eq(1..=numbers.len()), "{name}: {line}");
        }
    }
}
