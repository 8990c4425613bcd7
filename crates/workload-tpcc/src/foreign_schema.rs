//! Databases that other tools loaded: whether our statements can run on them, and how much they hold.
//!
//! Judged from the engine's catalogue against our own schema. What is only different is a note; what a statement cannot do
//! without makes a run impossible, and is named with table and column.

use crate::{Cardinality, schema};
use sql::{Catalogue, CatalogueError, ColumnInfo, Dialect};
use std::collections::BTreeSet;
use std::fmt;

/// Tables that can be run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ForeignSchema {
    /// Whose tables they look like, as far as they can be distinguished.
    pub name: Option<&'static str>,
    /// What differs from ours and does no harm, a clause each.
    pub notes: Vec<String>,
}

/// Tables that cannot be run on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Impossible {
    /// Why not, a clause each; at least one.
    pub why: Vec<String>,
}

impl fmt::Display for Impossible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why.join("; "))
    }
}

impl std::error::Error for Impossible {}

/// Columns that no statement and no audit of ours mentions.
const UNUSED: [(&str, &str); 1] = [("item", "i_im_id")];
/// Tables that runs insert into, and so must not ask for columns that we do not know.
const GROWING: [&str; 4] = ["orders", "new_order", "order_line", "history"];
/// Texts that runs write, which must have room for them.
const WRITTEN: [&str; 3] = ["c_data", "h_data", "ol_dist_info"];
/// Tables under other names: a table that tells, the tool, and what it calls its tables.
const OTHER_NAMES: [(&str, &str, &str); 3] = [
    ("warehouse1", "sysbench-tpcc", "spreads its rows over numbered sets of tables (warehouse1, orders1, …)"),
    ("bmsql_warehouse", "BenchmarkSQL", "puts bmsql_ before the standard's table names"),
    ("oorder", "BenchBase", "calls the table orders oorder"),
];

/// What a type can hold, as far as statements care.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
    Whole,
    Decimal,
    Float,
    Text,
    Time,
    Other,
}

fn class(kind: &str) -> Class {
    let word: String =
        kind.chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase();
    match word.as_str() {
        "int" | "integer" | "smallint" | "bigint" | "tinyint" | "mediumint" | "int2" | "int4" | "int8" => {
            Class::Whole
        }
        "numeric" | "decimal" => Class::Decimal,
        "real" | "double" | "float" | "float4" | "float8" => Class::Float,
        "char" | "character" | "varchar" | "text" | "bpchar" | "longtext" | "mediumtext" => Class::Text,
        "timestamp" | "timestamptz" | "datetime" | "date" => Class::Time,
        _ => Class::Other,
    }
}

/// The numbers in a type's brackets: length, or precision and scale.
fn sizes(kind: &str) -> Vec<u32> {
    let inside =
        kind.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map_or("", |(inside, _)| inside);
    inside.split(',').filter_map(|number| number.trim().parse().ok()).collect()
}

impl ForeignSchema {
    /// Judges the tables of a database on an engine of `dialect`.
    ///
    /// # Errors
    /// When a run is impossible: see [`Impossible`].
    pub fn recognise(dialect: Dialect, columns: &[ColumnInfo]) -> Result<ForeignSchema, Impossible> {
        let columns: Vec<ColumnInfo> = columns
            .iter()
            .map(|column| ColumnInfo {
                table: column.table.to_ascii_lowercase(),
                column: column.column.to_ascii_lowercase(),
                ..column.clone()
            })
            .collect();
        let tables: BTreeSet<&str> = columns.iter().map(|column| column.table.as_str()).collect();
        let ours = expected(dialect);
        let mut judged = Judged::default();
        for (_, tool, how) in OTHER_NAMES.iter().filter(|(table, ..)| tables.contains(table)) {
            judged.why.push(format!("these are tables of {tool}, which {how}"));
        }
        if judged.why.is_empty() {
            for table in ours.iter().map(|column| column.table.as_str()).collect::<BTreeSet<_>>() {
                judge_table(table, &ours, &columns, &mut judged);
            }
        }
        if judged.why.is_empty() {
            Ok(ForeignSchema { name: guess(&columns), notes: judged.notes })
        } else {
            Err(Impossible { why: judged.why })
        }
    }
}

#[derive(Default)]
struct Judged {
    why: Vec<String>,
    notes: Vec<String>,
}

/// Our own columns, from the schema's text.
fn expected(dialect: Dialect) -> Vec<ColumnInfo> {
    let schema = schema(dialect).expect("a test reads it");
    let tables = schema.iter().filter_map(|(name, text)| Some((name.strip_prefix("table_")?, text)));
    tables
        .flat_map(|(table, text)| {
            text.lines().filter_map(move |line| {
                let (column, kind) = line.strip_prefix("  ")?.split_once(' ')?;
                // A line of a constraint begins with a word that is not a column's.
                let is_column = column.contains('_');
                is_column.then(|| ColumnInfo {
                    table: table.to_owned(),
                    column: column.to_owned(),
                    kind: kind.trim_end_matches(',').to_owned(),
                    must_be_given: kind.contains("not null"),
                })
            })
        })
        .collect()
}

fn judge_table(table: &str, ours: &[ColumnInfo], theirs: &[ColumnInfo], judged: &mut Judged) {
    let theirs: Vec<&ColumnInfo> = theirs.iter().filter(|column| column.table == table).collect();
    if theirs.is_empty() {
        judged.why.push(format!("there is no table {table}"));
        return;
    }
    let ours: Vec<&ColumnInfo> = ours.iter().filter(|column| column.table == table).collect();
    for column in &ours {
        let name = column.column.as_str();
        match theirs.iter().find(|their| their.column == name) {
            Some(their) => judge_type(column, &their.kind, judged),
            None if UNUSED.contains(&(table, name)) => {
                judged.notes.push(format!("{table} has no column {name}, which nothing needs"));
            }
            None => judged.why.push(format!("table {table} has no column {name}")),
        }
    }
    for their in theirs.iter().filter(|their| !ours.iter().any(|column| column.column == their.column)) {
        let ColumnInfo { column, kind, .. } = their;
        if their.must_be_given && GROWING.contains(&table) {
            judged
                .why
                .push(format!("{table}.{column} must be given in every new row, and its value is unknown"));
        } else {
            judged.notes.push(format!("{table} has a column more, {column} {kind}"));
        }
    }
}

fn judge_type(ours: &ColumnInfo, their: &str, judged: &mut Judged) {
    let ColumnInfo { table, column, kind, .. } = ours;
    let kind = kind.trim_end_matches(" not null");
    let place = format!("{table}.{column}");
    match (class(kind), class(their)) {
        (Class::Text, Class::Text) => {
            let room = |kind: &str| sizes(kind).first().copied();
            if WRITTEN.contains(&column.as_str())
                && let (Some(needed), Some(room)) = (room(kind), room(their))
                && room < needed
            {
                judged.why.push(format!("{place} has room for {room} characters, and {needed} are needed"));
            }
        }
        (Class::Decimal, Class::Decimal) => {
            let scale = |kind: &str| sizes(kind).get(1).copied();
            if let (Some(needed), Some(scale)) = (scale(kind), scale(their))
                && scale < needed
            {
                judged.notes.push(format!("{place} is {their}, with fewer digits than {kind}"));
            }
        }
        (Class::Whole, Class::Whole) | (Class::Time, Class::Time) => {}
        (Class::Whole, Class::Decimal) => judged.notes.push(format!("{place} is {their}, not {kind}")),
        (Class::Decimal, Class::Float) => {
            judged.notes.push(format!("{place} is {their}: its sums are not exact"));
        }
        _ => judged.why.push(format!("{place} is {their}, and {kind} is needed")),
    }
}

/// By what each tool does and the others do not.
fn guess(columns: &[ColumnInfo]) -> Option<&'static str> {
    let kind = |table: &str, column: &str| {
        let found = columns.iter().find(|info| info.table == table && info.column == column);
        found.map_or("", |info| info.kind.as_str())
    };
    if columns.iter().any(|column| column.table == "stackmark_load") {
        return Some("stackmark");
    }
    let since = kind("customer", "c_since");
    let zoned = since.starts_with("timestamptz") || since.ends_with("with time zone");
    if zoned || class(kind("district", "d_id")) == Class::Decimal {
        return Some("HammerDB");
    }
    if !kind("history", "row_id").is_empty() || kind("district", "d_id").starts_with("int") {
        return Some("go-tpc");
    }
    None
}

/// The query whose only row [`Cardinality::discovered`] reads.
pub fn discover_query() -> Result<String, CatalogueError> {
    Catalogue::parse(include_str!("../spec/sql/tpcc/discover.sql"))?.text("cardinality")
}

impl Cardinality {
    /// From the row of [`discover_query`]; `None` where it makes no sense: no warehouse 1, or an empty one.
    pub fn discovered(row: &[i64]) -> Option<Cardinality> {
        let mut figures = row.iter().map(|figure| u32::try_from(*figure).ok().filter(|figure| *figure > 0));
        let mut next = || figures.next()?;
        let (warehouses, items, customers, placed) = (next()?, next()?, next()?, next()?);
        let orders = customers.min(placed);
        // 4.3.3.1: of 3,000 customers the first 1,000 have a name each; whether they do, an audit tells. Of 3,000 orders the
        // last 900 are undelivered.
        let names = (customers / 3).clamp(1, 1_000);
        Some(Cardinality { warehouses, items, customers, names, orders, undelivered: orders * 3 / 10 })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Our own tables, with some columns changed: a type, or none for a column that is missing.
    fn check(changes: &[(&str, &str, Option<&str>)]) -> Result<ForeignSchema, Impossible> {
        let mut columns = expected(Dialect::Postgres);
        for (table, name, kind) in changes {
            columns.retain(|column| (column.table.as_str(), column.column.as_str()) != (*table, *name));
            if let Some(kind) = kind {
                columns.push(ColumnInfo {
                    table: (*table).into(),
                    column: (*name).into(),
                    kind: kind.trim_end_matches(" not null").into(),
                    must_be_given: kind.ends_with("not null"),
                });
            }
        }
        ForeignSchema::recognise(Dialect::Postgres, &columns)
    }

    #[test]
    fn our_own_tables_are_recognised_without_a_note() {
        for dialect in [Dialect::Postgres, Dialect::MySql] {
            let own = expected(dialect);
            assert_eq!(own.len(), 9 + 11 + 21 + 8 + 3 + 8 + 10 + 5 + 17, "{dialect:?}");
            assert_eq!(ForeignSchema::recognise(dialect, &own).unwrap().notes, [""; 0]);
        }
        assert_eq!(check(&[("stackmark_load", "name", Some("text"))]).unwrap().name, Some("stackmark"));
    }

    #[test]
    fn what_does_no_harm_is_a_note() {
        for (change, note) in [
            (("history", "h_id", Some("bigint")), "history has a column more, h_id bigint"),
            (("item", "i_im_id", None), "item has no column i_im_id, which nothing needs"),
            (("stock", "s_ytd", Some("numeric(8,0)")), "stock.s_ytd is numeric(8,0), not integer"),
            (("customer", "c_ytd_payment", Some("double precision")), "its sums are not exact"),
            (("warehouse", "w_tax", Some("numeric(4,2)")), "fewer digits than decimal(4,4)"),
            (("customer", "c_extra", Some("text not null")), "customer has a column more, c_extra text"),
        ] {
            let tool = check(&[change]).unwrap();
            assert!(tool.notes.len() == 1 && tool.notes[0].contains(note), "{change:?}: {tool:?}");
        }
    }

    #[test]
    fn what_makes_a_run_impossible_is_named_with_table_and_column() {
        for (change, why) in [
            (("district", "d_next_o_id", None), "table district has no column d_next_o_id"),
            (
                ("history", "h_amount", Some("integer")),
                "history.h_amount is integer, and decimal(6,2) is needed",
            ),
            (("orders", "o_entry_d", Some("text")), "orders.o_entry_d is text, and timestamp is needed"),
            (("customer", "c_data", Some("character varying(250)")), "room for 250 characters, and 500"),
            (("history", "row_id", Some("bytea not null")), "history.row_id must be given in every new row"),
            (("warehouse1", "w_id", Some("integer")), "tables of sysbench-tpcc"),
            (("oorder", "o_id", Some("integer")), "tables of BenchBase"),
        ] {
            let error = check(&[change]).unwrap_err();
            assert!(error.why.len() == 1 && error.to_string().contains(why), "{change:?}: {error}");
        }
        assert_eq!(ForeignSchema::recognise(Dialect::Postgres, &[]).unwrap_err().why.len(), 9);
    }

    #[test]
    fn how_much_there_is_follows_from_four_figures() {
        assert_eq!(Cardinality::discovered(&[2, 100, 30, 44]), Some(Cardinality::tiny()));
        assert_eq!(Cardinality::discovered(&[10, 100_000, 3_000, 3_000]), Some(Cardinality::standard(10)));
        assert_eq!(Cardinality::discovered(&[2, 0, 30, 44]), None);
        assert_eq!(Cardinality::discovered(&[2, 100]), None);
    }
}
