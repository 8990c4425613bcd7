//! What a connection does for loads and audits.

use super::layout::{kinds, push_stored, seconds, units};
use super::session::{Session, ident, text};
use super::spider;
use super::writer::{self, Way};
use crate::audit::Asking;
use crate::checksum::Checksum;
use crate::engine::{Canceller, Conn, Fill, Making, Rows, parts_of_key};
use crate::error::Cause;
use crate::loading::Signals;
use crate::record::TABLE;
use crate::{AuditGroup, AuditRows};
use model::Product;
use model::rows::Table;
use mysql_async::consts::ColumnType;
use mysql_async::prelude::Queryable;
use mysql_async::{Column, Error, Params, Row};
use sql::{Value, positional};

/// Rows after which progress and the wish to stop are looked at.
const LOOK_EVERY: u64 = 4_096;

impl Conn for Session {
    fn batch(&mut self, statement: &str) -> Result<(), Cause> {
        self.wait(async |conn| conn.query_drop(statement).await)
    }

    fn rows(&mut self, sql: &str, params: &[i64], rows_max: usize) -> Result<Rows, Cause> {
        self.wait(async |conn| rows(conn, sql, params, rows_max).await)
    }

    fn plans(&mut self, statements: &[&str]) -> Result<Vec<Option<String>>, Cause> {
        // Within a transaction that only reads, MariaDB does not explain statements that change or lock rows either. To explain a change
        // changes and locks nothing; a row that `for update` finds by its key would be locked.
        self.batch("rollback")?;
        self.batch("set session transaction read write")?;
        let without_lock = |statement: &str| statement.trim_end().trim_end_matches("for update").to_owned();
        Ok(statements.iter().map(|statement| self.plan(&without_lock(statement))).collect())
    }

    fn is_of_run(&mut self) {
        // Where locks are refused, no session has one, and nobody's are looked for.
        drop(self.batch("do get_lock(concat('stackmark session ', connection_id()), 0)"));
    }

    fn product(&self) -> Option<Product> {
        self.product
    }

    fn hold(&mut self) -> Result<bool, Cause> {
        self.take_snapshot().map(|()| true)
    }

    fn note(&mut self, pairs: &[(&str, &str)]) -> Result<(), Cause> {
        let rows: Vec<String> =
            pairs.iter().map(|(name, value)| format!("({}, {})", text(name), text(value))).collect();
        self.batch(&format!("replace into {TABLE} (name, value) values {}", rows.join(", ")))
    }

    fn prepare(&mut self, making: &Making<'_>) -> Result<bool, Cause> {
        match self.product {
            Some(_) => Ok(false),
            None => spider::spread(self, making),
        }
    }

    fn canceller(&self) -> Canceller {
        Session::canceller(self)
    }

    fn audit(&mut self, group: &AuditGroup, asking: &Asking<'_>) -> Vec<AuditRows> {
        let prepare = || {
            let mut prepared = self.made.clone();
            for statement in group.prepare.iter().filter(|statement| !makes_table(statement)) {
                prepared = prepared.and_then(|()| self.rows(statement, &group.params, 0).map(drop));
            }
            prepared.map(|()| self)
        };
        asking.group(group, prepare, |session, query| session.rows(&query.sql, &group.params, query.rows_max))
    }

    fn fill(&mut self, fill: &Fill<'_>) -> Result<Checksum, Cause> {
        let table = fill.table();
        let way = self.way.unwrap_or(Way::Inserts);
        // Others bound the size of a transaction, or its duration.
        let whole = self.product.is_none();
        self.wait(async |conn| {
            let kinds = kinds(conn, table.name, table.columns).await?;
            match way {
                Way::LoadData => writer::load_data(conn, fill, &kinds).await,
                Way::Inserts => writer::insert(conn, fill, &kinds, whole).await,
            }
        })
    }

    fn analyze(&mut self, table: &str) -> Result<(), Cause> {
        spider::analyze(self, table)?;
        self.batch(&format!("analyze table {}", ident(table)))
    }

    fn parts(&mut self, table: &Table) -> Result<Vec<String>, Cause> {
        let asked = "select s.column_name, c.data_type from information_schema.statistics s \
                     join information_schema.columns c using (table_schema, table_name, column_name) \
                     where s.table_schema = database() and s.table_name = ? and s.index_name = 'PRIMARY' \
                     order by s.seq_in_index";
        let keys: Vec<(String, String)> = self.wait(async |conn| conn.exec(asked, (table.name,)).await)?;
        let keys: Vec<String> =
            keys.iter().take_while(|(_, kind)| kind.ends_with("int")).map(|(key, _)| ident(key)).collect();
        let name = ident(table.name);
        parts_of_key(&keys, |key, fixed| {
            let asked = format!("select min({key}), max({key}) from {name} where {fixed}");
            let edges: Option<(Option<i64>, Option<i64>)> =
                self.wait(async |conn| conn.query_first(asked).await)?;
            Ok(edges.and_then(|(low, high)| low.zip(high)))
        })
    }

    fn read_back(&mut self, table: &Table, part: &str, signals: &Signals) -> Result<Checksum, Cause> {
        self.wait(async |conn| {
            let kinds = kinds(conn, table.name, table.columns).await?;
            let asked = format!("select {} from {} where {part}", writer::columns(table), ident(table.name));
            let (mut sum, mut canonical) = (Checksum::default(), Vec::new());
            let mut rows = conn.exec_iter(asked, ()).await?;
            while let Some(row) = rows.next().await? {
                canonical.clear();
                for (column, kind) in kinds.iter().enumerate() {
                    push_stored(&mut canonical, *kind, row.as_ref(column));
                }
                sum.add_row(&canonical);
                if sum.rows % LOOK_EVERY == 0 {
                    signals.count(LOOK_EVERY)?;
                }
            }
            Ok::<_, Cause>(sum)
        })
    }
}

impl Session {
    /// How a statement would be executed with the first row of each table. Nothing of one that only stores rows, or that finds no
    /// row: the server then plans no access.
    fn plan(&mut self, statement: &str) -> Option<String> {
        let rows = self.rows(&format!("explain {}", with_literals(statement)), &[], usize::MAX).ok()?;
        let texts = rows.iter().map(|row| row.iter().map(shown).collect::<Vec<_>>());
        let accesses = texts.map(|row| match &row[..] {
            [_, kind, table, access, _, key, _, _, _, extra]
            | [_, kind, table, _, access, _, key, _, _, _, _, extra] => {
                if kind == "INSERT" || table.is_empty() {
                    return None;
                }
                let words =
                    [table, access, key].map(String::as_str).into_iter().filter(|word| !word.is_empty());
                let accessed = words.collect::<Vec<_>>().join(" ");
                let notable = extra.split("; ").filter(|word| !word.is_empty() && *word != "Using where");
                Some(std::iter::once(accessed.as_str()).chain(notable).collect::<Vec<_>>().join(", "))
            }
            _ => None,
        });
        let accesses: Vec<String> = accesses.collect::<Option<_>>()?;
        (!accesses.is_empty()).then(|| accesses.join(" > "))
    }
}

/// A statement with a literal in the place of each parameter: the first key of whatever it is, a number or a text.
fn with_literals(statement: &str) -> String {
    let mut text = String::new();
    let mut rest = statement;
    while let Some((before, after)) = rest.split_once('?') {
        text.push_str(before);
        // How many rows are wanted must be a number.
        let is_limit = before.trim_end().ends_with("limit") || before.trim_end().ends_with("offset");
        text.push_str(if is_limit { "1" } else { "'1'" });
        rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    }
    text + rest
}

/// A value of `explain` as text; nothing of null.
fn shown(value: &Value) -> String {
    if *value == Value::Null { String::new() } else { value.to_string() }
}

impl Session {
    /// Begins a transaction that sees what is committed now and writes nothing. TiDB takes no second characteristic.
    pub(crate) fn take_snapshot(&mut self) -> Result<(), Cause> {
        let only = if self.product == Some(Product::TiDb) { "" } else { ", read only" };
        self.batch(&format!("start transaction with consistent snapshot{only}"))
    }

    /// Makes the temporary tables of a group.
    pub(crate) fn make_tables(&mut self, group: &AuditGroup) {
        for statement in group.prepare.iter().filter(|statement| makes_table(statement)) {
            if self.made.is_ok() {
                self.made = self.batch(statement);
            }
        }
    }
}

fn makes_table(statement: &str) -> bool {
    statement.trim_start().get(..6).is_some_and(|word| word.eq_ignore_ascii_case("create"))
}

/// The first `rows_max` rows of a statement. The server is told how many are wanted: a broken database can violate a
/// condition millions of times.
async fn rows(
    conn: &mut mysql_async::Conn,
    sql: &str,
    params: &[i64],
    rows_max: usize,
) -> Result<Rows, Error> {
    let most = if rows_max == 0 { usize::MAX } else { rows_max };
    conn.query_drop(format!("set session sql_select_limit = {most}")).await?;
    let statement = positional(sql);
    let values: Option<Vec<mysql_async::Value>> = statement
        .order
        .iter()
        .map(|place| params.get(usize::from(*place)).map(|value| mysql_async::Value::Int(*value)))
        .collect();
    // A parameter that no one gives is left to the server, which says so.
    let values = values.map_or(Params::Empty, Params::Positional);
    let mut result = conn.exec_iter(statement.text, values).await?;
    let mut found = Vec::new();
    while let Some(row) = result.next().await? {
        found.push(owned(row));
    }
    result.drop_result().await?;
    Ok(found)
}

fn owned(row: Row) -> Vec<Value> {
    let columns = row.columns();
    let cells = row.unwrap();
    columns.iter().zip(cells).map(|(column, cell)| value(column, cell)).collect()
}

fn value(column: &Column, cell: mysql_async::Value) -> Value {
    use mysql_async::Value as Cell;
    match cell {
        Cell::NULL => Value::Null,
        Cell::Int(value) => Value::Int(value),
        Cell::UInt(value) => i64::try_from(value).map_or(Value::Real(value as f64), Value::Int),
        Cell::Float(value) => Value::Real(f64::from(value)),
        Cell::Double(value) => Value::Real(value),
        Cell::Bytes(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            match column.column_type() {
                ColumnType::MYSQL_TYPE_NEWDECIMAL | ColumnType::MYSQL_TYPE_DECIMAL => decimal(&text),
                _ => Value::Text(text.into_owned()),
            }
        }
        date @ (Cell::Date(..) | Cell::Time(..)) => match seconds(&date) {
            Some(seconds) => Value::Int(seconds),
            None => Value::Text(format!("{date:?}")),
        },
    }
}

/// A whole number exactly; anything else as near as a double is.
fn decimal(text: &str) -> Value {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let exact = fraction.bytes().all(|digit| digit == b'0').then(|| units(whole.as_bytes())).flatten();
    match exact {
        Some(value) => Value::Int(value),
        None => text.parse().map_or_else(|_| Value::Text(text.to_owned()), Value::Real),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_decimal_is_a_whole_number_where_it_is_one() {
        assert_eq!(decimal("30000.00"), Value::Int(30_000));
        assert_eq!(decimal("-7"), Value::Int(-7));
        assert_eq!(decimal("-0.05"), Value::Real(-0.05));
        assert_eq!(decimal("99999999999999999999"), Value::Real(1e20));
    }
}
