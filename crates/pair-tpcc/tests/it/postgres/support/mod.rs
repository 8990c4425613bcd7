//! A PostgreSQL for these tests, and TPC-C loaded into it row by row.

use adapter_tokio_postgres::{Connected, connect};
use model::rows::{Dataset, RowSink};
use rig::Engine;
use rig::for_tests::{SharedEngine, shared};
use sql::{Dialect, ServerUrl};
use std::fmt::Write as _;
use std::future::Future;
use workload_tpcc::conformance::GOLDEN_LOAD_SEED;
use workload_tpcc::{Cardinality, Data, schema};

/// The server, which others may share.
fn server() -> &'static SharedEngine {
    shared(Engine::Postgres)
}

/// An empty database of that name.
fn database(name: &str) -> ServerUrl {
    server().create_database(name).unwrap();
    server().url(name)
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// Executes statements that give nothing back.
async fn batch(url: &ServerUrl, text: &str) {
    let Connected { client, mut link, .. } = connect(url).await.unwrap();
    link.until(client.batch_execute(text)).await.unwrap_or_else(|error| panic!("{text:.200}: {error:?}"));
}

/// A database of that name with the tiny data of the golden vectors.
pub(crate) fn tiny(name: &str) -> ServerUrl {
    let url = database(name);
    wait(load(&url, Cardinality::tiny(), GOLDEN_LOAD_SEED));
    url
}

/// What a query counts.
pub(crate) fn number(url: &ServerUrl, text: &str) -> i64 {
    wait(async {
        let Connected { client, mut link, .. } = connect(url).await.unwrap();
        let text = format!("select ({text})::bigint");
        link.until(client.query_one(&text, &[]))
            .await
            .unwrap_or_else(|error| panic!("{text}: {error:?}"))
            .get(0)
    })
}

/// Loads TPC-C.
async fn load(url: &ServerUrl, size: Cardinality, seed: u64) {
    let schema = schema(Dialect::Postgres).unwrap();
    let texts = |prefix: &'static str| {
        let found = schema.iter().filter(move |(name, _)| name.starts_with(prefix));
        found.map(|(_, text)| format!("{text};")).collect::<String>()
    };
    batch(url, &texts("table_")).await;
    let data = Data::new(size, seed);
    for (index, table) in data.tables().iter().enumerate() {
        for chunk in 0..table.chunks {
            let mut rows = Rows { columns: table.columns, ..Rows::default() };
            data.fill(index, chunk, &mut rows);
            let columns = table.columns.join(", ");
            batch(url, &format!("insert into {} ({columns}) values {}", table.name, rows.text)).await;
        }
    }
    batch(url, &texts("index_")).await;
    batch(url, &texts("reference_")).await;
}

/// Rows as the text of an `insert`.
#[derive(Default)]
struct Rows {
    columns: &'static [&'static str],
    text: String,
    column: usize,
}

impl Rows {
    fn value(&mut self, write: impl FnOnce(&str, &mut String)) {
        self.text.push_str(match (self.column, self.text.is_empty()) {
            (0, true) => "(",
            (0, false) => ", (",
            _ => ", ",
        });
        write(self.columns[self.column], &mut self.text);
        self.column += 1;
    }
}

impl RowSink for Rows {
    fn int(&mut self, value: i64) {
        self.value(|column, text| {
            let money = ["_ytd", "_amount", "_price", "_balance", "_ytd_payment", "_credit_lim"];
            if column.ends_with("_tax") || column.ends_with("_discount") {
                write!(text, "{value} / 10000.0").unwrap();
            } else if column != "s_ytd" && money.iter().any(|end| column.ends_with(end)) {
                write!(text, "{value} / 100.0").unwrap();
            } else if ["_d", "_date", "_since"].iter().any(|end| column.ends_with(end)) {
                write!(text, "to_timestamp({value}) at time zone 'UTC'").unwrap();
            } else {
                write!(text, "{value}").unwrap();
            }
        });
    }
    fn text(&mut self, value: &str) {
        self.value(|_, text| write!(text, "'{}'", value.replace('\'', "''")).unwrap());
    }
    fn null(&mut self) {
        // A column of nulls alone would be taken for one of texts.
        self.value(|column, text| {
            let cast = if column.ends_with("_d") { "::timestamp" } else { "" };
            write!(text, "null{cast}").unwrap();
        });
    }
    fn end(&mut self) {
        self.text.push(')');
        self.column = 0;
    }
}
