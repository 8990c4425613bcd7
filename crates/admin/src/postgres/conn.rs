//! What a connection does for loads and audits.

use super::binary::{Form, HEADER, forms, numeric, push_field, push_row};
use super::session::{Session, Within, quoted};
use super::writer;
use crate::audit::Asking;
use crate::checksum::Checksum;
use crate::engine::{Canceller, Conn, Fill, Making, Rows};
use crate::error::Cause;
use crate::loading::Signals;
use crate::record::TABLE;
use crate::{AuditGroup, AuditRows};
use futures_util::StreamExt as _;
use model::Product;
use model::rows::Table;
use sql::postgres::FILLFACTOR;
use sql::{Value, dollars};
use std::pin::pin;
use tokio_postgres::types::{FromSql, ToSql, Type};
use tokio_postgres::{Client, IsolationLevel, Row, Statement, Transaction};

/// Pages of a part of a table: 32 MiB, so that threads end at about the same time.
const PAGES_A_PART: i64 = 4_096;
/// The first server that finds rows by their place without reading the whole table.
const PLACES_SINCE: i64 = 140_000;
/// Rows after which progress and the wish to stop are looked at.
const LOOK_EVERY: u64 = 4_096;
/// Seconds from 1970 to 2000, where PostgreSQL's timestamps begin.
const EPOCH: i64 = 946_684_800;

impl Conn for Session {
    fn batch(&mut self, statements: &str) -> Result<(), Cause> {
        self.wait(self.client().batch_execute(statements))
    }

    fn rows(&mut self, sql: &str, params: &[i64], rows_max: usize) -> Result<Rows, Cause> {
        let ask =
            |session: &Session| session.wait(session.client().query_typed(&dollars(sql), &typed(params)));
        let rows = match self.is_pooled() {
            true => {
                let rows = self.begin("read only").and_then(|()| ask(self));
                // Whatever became of it, the connection goes back to the pool without a transaction.
                self.batch("rollback")?;
                rows
            }
            false => ask(self),
        };
        rows?.iter().take(rows_max).map(values).collect()
    }

    fn plans(&mut self, statements: &[&str]) -> Result<Vec<Option<String>>, Cause> {
        // What a session keeps after it has executed a statement a few times; and whatever has failed ends with the transaction.
        if self.is_pooled() {
            self.begin("read only")?;
        }
        let explained = self
            .batch("set local plan_cache_mode = force_generic_plan")
            .and_then(|()| statements.iter().map(|statement| self.plan(statement)).collect());
        self.batch("rollback")?;
        explained
    }

    /// In a database of YugabyteDB whose tables share one tablet, one that a workload spreads has tablets of its own.
    fn create(&mut self, statement: &str, spread: bool) -> Result<(), Cause> {
        let apart = self.product == Some(Product::YugabyteDb)
            && spread
            && self.ask("select yb_is_database_colocated()")? == "t";
        match (apart, statement.trim_end().strip_suffix(')')) {
            (false, _) => self.batch(statement),
            (true, Some(options)) if options.contains(") with (") => {
                self.batch(&format!("{options}, colocation = false)"))
            }
            (true, _) => self.batch(&format!("{statement} with (colocation = false)")),
        }
    }

    /// A server that has no such setting answers with nothing.
    fn prepare(&mut self, making: &Making<'_>) -> Result<bool, Cause> {
        if self.product == Some(Product::Citus) {
            if making.references {
                return Err(Cause::other(
                    "Citus has foreign keys only between columns that rows are spread by\nhint: load without --foreign-keys",
                ));
            }
            self.spread(making.tables)?;
        }
        if let Some(Product::CockroachDb | Product::YugabyteDb) = self.product {
            // They store the rows in the order of the primary key: one that is made later has all of them written again.
            making.indexes.iter().try_for_each(|index| self.batch(index))?;
            return Ok(true);
        }
        let fillfactor = self.ask(&format!("select current_setting('{FILLFACTOR}', true)"))?;
        if fillfactor.is_empty() {
            return Ok(false);
        }
        let percent: u8 = fillfactor.parse().map_err(|_| {
            Cause::other(format!(
                "{FILLFACTOR} of the server is `{fillfactor}`, and not a whole number of percent"
            ))
        })?;
        let one = |table: &Table| format!("alter table {} set (fillfactor = {percent});", quoted(table.name));
        self.batch(&making.tables.iter().map(one).collect::<String>()).map(|()| false)
    }

    fn product(&self) -> Option<Product> {
        self.product
    }

    fn hold(&mut self) -> Result<bool, Cause> {
        if self.is_pooled() {
            return Ok(false);
        }
        // The snapshot is taken by the first query.
        self.batch("begin isolation level repeatable read, read only; select 1").map(|()| true)
    }

    fn note(&mut self, pairs: &[(&str, &str)]) -> Result<(), Cause> {
        let statement = format!(
            "insert into {TABLE} (name, value) select * from unnest($1::text[], $2::text[]) \
             on conflict (name) do update set value = excluded.value"
        );
        let (names, values): (Vec<&str>, Vec<&str>) = pairs.iter().copied().unzip();
        self.wait(self.client().execute(&statement, &[&names, &values])).map(drop)
    }

    fn canceller(&self) -> Canceller {
        Session::canceller(self)
    }

    /// In a transaction of its own, which is rolled back: its temporary tables are gone with it.
    fn audit(&mut self, group: &AuditGroup, asking: &Asking<'_>) -> Vec<AuditRows> {
        let (client, runtime, within) = self.parts();
        // In here, since only what is called once may hand on the client that it was given.
        let found = asking.group(
            group,
            || runtime.block_on(prepare(client, group, within)),
            |transaction, query| {
                runtime.block_on(apart(transaction, &query.sql, &group.params, query.rows_max, within))
            },
        );
        // The transaction was let go of; where not even this reaches the server, it ends with the connection.
        let _ = self.batch("rollback");
        found
    }

    fn fill(&mut self, fill: &Fill<'_>) -> Result<Checksum, Cause> {
        let forms = forms(self, fill.table())?;
        writer::store(self, fill, &forms)
    }

    /// Also tells the server that nothing needs cleaning.
    fn analyze(&mut self, table: &str) -> Result<(), Cause> {
        let vacuum = if self.product.is_some() { "analyze" } else { "vacuum (analyze)" };
        self.batch(&format!("{vacuum} {}", quoted(table)))
    }

    /// By where its rows are.
    fn parts(&mut self, table: &Table) -> Result<Vec<String>, Cause> {
        if self.version_num() < PLACES_SINCE || self.product.is_some() {
            return Ok(vec!["true".into()]);
        }
        let text = "select pg_relation_size($1::text::regclass) / current_setting('block_size')::int8";
        let pages: i64 = self.wait(self.client().query_one(text, &[&quoted(table.name)]))?.try_get(0)?;
        let parts = (pages / PAGES_A_PART + i64::from(pages % PAGES_A_PART > 0)).max(1);
        let part = |part: i64| {
            let low = format!("ctid >= '({},0)'", part * PAGES_A_PART);
            match part + 1 == parts {
                // The last part is open, so that no row can be outside of all.
                true => low,
                false => format!("{low} and ctid < '({},0)'", (part + 1) * PAGES_A_PART),
            }
        };
        Ok((0..parts).map(part).collect())
    }

    fn read_back(&mut self, table: &Table, part: &str, signals: &Signals) -> Result<Checksum, Cause> {
        let forms = forms(self, table)?;
        match self.product {
            Some(Product::CockroachDb) => self.wait(read_rows(self.client(), table, &forms, part, signals)),
            _ => self.wait(read_back(self.client(), table, &forms, part, signals)),
        }
    }
}

impl Session {
    /// Spreads empty tables over the workers of Citus by the column that a workload names; the others are whole on each of them.
    fn spread(&mut self, tables: &[Table]) -> Result<(), Cause> {
        for table in tables {
            let asked = match table.spread_by {
                Some(column) => self.wait(self.client().query(
                    "select create_distributed_table($1::text::regclass, $2::text)",
                    &[&quoted(table.name), &column],
                )),
                None => self.wait(
                    self.client()
                        .query("select create_reference_table($1::text::regclass)", &[&quoted(table.name)]),
                ),
            };
            asked?;
        }
        Ok(())
    }

    /// The generic plan of a statement, within a transaction.
    fn plan(&mut self, statement: &str) -> Result<Option<String>, Cause> {
        let text = dollars(statement);
        let params = (1..).take_while(|number| text.contains(&format!("${number}"))).count();
        let list = if params == 0 { String::new() } else { format!("({})", vec!["null"; params].join(", ")) };
        self.batch("savepoint plan")?;
        // One that cannot be prepared is not explained, such as of tables that another tool has named otherwise.
        if self.batch(&format!("prepare stackmark_plan as {text}")).is_err() {
            self.batch("rollback to plan")?;
            return Ok(None);
        }
        let explain = format!("explain (costs off) execute stackmark_plan{list}");
        let lines: Result<Rows, Cause> = self
            .wait(self.client().query_typed(&explain, &[]))
            .and_then(|rows| rows.iter().map(values).collect());
        if lines.is_err() {
            self.batch("rollback to plan")?;
        }
        self.batch("deallocate stackmark_plan")?;
        Ok(lines.ok().map(|lines| {
            nodes(lines.iter().filter_map(|row| match row.first()? {
                Value::Text(text) => Some(text.as_str()),
                _ => None,
            }))
        }))
    }
}

/// The nodes of a plan that PostgreSQL prints, from the top, without their conditions: `Limit > Index Scan using x on y`.
fn nodes<'a>(lines: impl Iterator<Item = &'a str>) -> String {
    let node = |(at, line): (usize, &'a str)| match line.split_once("->  ") {
        Some((_, node)) => Some(node.trim()),
        None => (at == 0).then_some(line.trim()),
    };
    lines.enumerate().filter_map(node).collect::<Vec<_>>().join(" > ")
}

async fn read_back(
    client: &Client,
    table: &Table,
    forms: &[Form],
    part: &str,
    signals: &Signals,
) -> Result<Checksum, Cause> {
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(column)).collect();
    let text = format!(
        "copy (select {} from {} where {part}) to stdout (format binary)",
        columns.join(", "),
        quoted(table.name)
    );
    let mut stream = pin!(client.copy_out(&text).await?);
    let (mut sum, mut canonical) = (Checksum::default(), Vec::new());
    while let Some(message) = stream.next().await {
        let message = message?;
        // The server sends a row a message; the header comes with the first.
        let row = message.strip_prefix(HEADER).unwrap_or(&message);
        if row.is_empty() {
            continue;
        }
        canonical.clear();
        if !push_row(&mut canonical, forms, row)? {
            continue;
        }
        add_row(&mut sum, &canonical, signals)?;
    }
    signals.count(sum.rows % LOOK_EVERY)?;
    Ok(sum)
}

/// The same for an engine that copies no rows out in binary form: as the answer to a query, which is.
async fn read_rows(
    client: &Client,
    table: &Table,
    forms: &[Form],
    part: &str,
    signals: &Signals,
) -> Result<Checksum, Cause> {
    let columns: Vec<String> = table.columns.iter().map(|column| quoted(column)).collect();
    let text = format!("select {} from {} where {part}", columns.join(", "), quoted(table.name));
    let mut rows = pin!(client.query_raw::<_, &dyn ToSql, _>(&text, []).await?);
    let (mut sum, mut canonical) = (Checksum::default(), Vec::new());
    while let Some(row) = rows.next().await {
        let row = row?;
        canonical.clear();
        for (column, form) in forms.iter().enumerate() {
            push_field(&mut canonical, *form, row.try_get::<_, Option<Raw<'_>>>(column)?.map(|raw| raw.0))?;
        }
        add_row(&mut sum, &canonical, signals)?;
    }
    signals.count(sum.rows % LOOK_EVERY)?;
    Ok(sum)
}

/// Counts a row that was read back; now and then it says how far it is, and ends where the load is to end.
fn add_row(sum: &mut Checksum, canonical: &[u8], signals: &Signals) -> Result<(), Cause> {
    sum.add_row(canonical);
    if sum.rows.is_multiple_of(LOOK_EVERY) {
        signals.count(LOOK_EVERY)?;
    }
    Ok(())
}

/// A value as the server sends it.
struct Raw<'a>(&'a [u8]);

impl<'a> FromSql<'a> for Raw<'a> {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Raw<'a>, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Raw(raw))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

fn borrowed(params: &[i64]) -> Vec<&(dyn ToSql + Sync)> {
    params.iter().map(|param| param as _).collect()
}

fn typed(params: &[i64]) -> Vec<(&(dyn ToSql + Sync), Type)> {
    borrowed(params).into_iter().map(|param| (param, Type::INT8)).collect()
}

/// Begins in the state of the snapshot and makes the temporary tables; from there on nothing can be written.
async fn prepare<'a>(
    client: &'a mut Client,
    group: &AuditGroup,
    within: Within<'_>,
) -> Result<Transaction<'a>, Cause> {
    let transaction =
        client.build_transaction().isolation_level(IsolationLevel::RepeatableRead).start().await?;
    let Within { snapshot, local } = within;
    let local = local.unwrap_or_default();
    let seen = match snapshot {
        "" => String::new(),
        snapshot => format!("set transaction snapshot '{snapshot}'; "),
    };
    transaction.batch_execute(&format!("{seen}{local}")).await?;
    for statement in &group.prepare {
        let text = dollars(statement);
        if text == *statement {
            transaction.batch_execute(&text).await?;
        } else {
            rows(&transaction, statement, &group.params, 1, within).await?;
        }
    }
    transaction.batch_execute("set transaction read only").await?;
    Ok(transaction)
}

/// A query whose failure takes only itself along.
async fn apart(
    transaction: &mut Transaction<'_>,
    sql: &str,
    params: &[i64],
    rows_max: usize,
    within: Within<'_>,
) -> Result<Rows, Cause> {
    let savepoint = transaction.savepoint("query").await?;
    let found = rows(&savepoint, sql, params, rows_max, within).await;
    savepoint.rollback().await?;
    found
}

/// The first `rows_max` rows of a statement; the server makes no more.
async fn rows(
    transaction: &Transaction<'_>,
    sql: &str,
    params: &[i64],
    rows_max: usize,
    within: Within<'_>,
) -> Result<Rows, Cause> {
    if within.local.is_some() {
        // A statement with a name would be left for the next client. The server makes all rows, which are few where all is well.
        let found = transaction.query_typed(&dollars(sql), &typed(params)).await?;
        return found.iter().take(rows_max).map(values).collect();
    }
    let types = vec![Type::INT8; params.len()];
    let statement: Statement = transaction.prepare_typed(&dollars(sql), &types).await?;
    let portal = transaction.bind(&statement, &borrowed(params)).await?;
    // Zero would stand for all of them.
    let rows_max = i32::try_from(rows_max.max(1)).unwrap_or(i32::MAX);
    transaction.query_portal(&portal, rows_max).await?.iter().map(values).collect()
}
fn values(row: &Row) -> Result<Vec<Value>, Cause> {
    (0..row.len()).map(|column| Ok(row.try_get::<_, Read>(column)?.0)).collect()
}

/// A value of any type that can be told in a word.
struct Read(Value);

impl<'a> FromSql<'a> for Read {
    fn from_sql(kind: &Type, raw: &'a [u8]) -> Result<Read, Box<dyn std::error::Error + Sync + Send>> {
        let value = match *kind {
            Type::BOOL => Value::Int(bool::from_sql(kind, raw)?.into()),
            Type::INT2 => Value::Int(i16::from_sql(kind, raw)?.into()),
            Type::INT4 => Value::Int(i32::from_sql(kind, raw)?.into()),
            Type::INT8 => Value::Int(i64::from_sql(kind, raw)?),
            Type::FLOAT4 => Value::Real(f32::from_sql(kind, raw)?.into()),
            Type::FLOAT8 => Value::Real(f64::from_sql(kind, raw)?),
            Type::NUMERIC => number(raw),
            Type::TIMESTAMP | Type::TIMESTAMPTZ => match raw.first_chunk() {
                Some(micros) => Value::Int(i64::from_be_bytes(*micros).div_euclid(1_000_000) + EPOCH),
                None => Value::Null,
            },
            Type::TEXT | Type::VARCHAR | Type::BPCHAR | Type::NAME => {
                Value::Text(String::from_utf8_lossy(raw).trim_end_matches(' ').to_owned())
            }
            _ => Value::Text(format!("{} bytes of type {kind}", raw.len())),
        };
        Ok(Read(value))
    }

    fn from_sql_null(_: &Type) -> Result<Read, Box<dyn std::error::Error + Sync + Send>> {
        Ok(Read(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// Exact where it is whole.
fn number(raw: &[u8]) -> Value {
    let Some((value, scale)) = numeric(raw) else { return Value::Text("not a number".into()) };
    let unit = 10_i128.pow(scale.min(38));
    match i64::try_from(value / unit) {
        Ok(whole) if value % unit == 0 => Value::Int(whole),
        _ => Value::Real(value as f64 / unit as f64),
    }
}
