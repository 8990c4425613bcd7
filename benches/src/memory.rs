//! A workload's data in memory, loaded row by row.

use model::rows::{Dataset, RowSink};
use rusqlite::{Connection, Statement};
use sql::{Catalogue, Dialect};
use workload_tpcc::{Cardinality, Data, schema};

struct Inserter<'a> {
    statement: Statement<'a>,
    column: usize,
}

impl Inserter<'_> {
    fn bind(&mut self, value: impl rusqlite::ToSql) {
        self.column += 1;
        self.statement.raw_bind_parameter(self.column, value).expect("as many parameters as columns");
    }
}

impl RowSink for Inserter<'_> {
    fn int(&mut self, value: i64) {
        self.bind(value);
    }
    fn text(&mut self, value: &str) {
        self.bind(value);
    }
    fn null(&mut self) {
        self.bind(rusqlite::types::Null);
    }
    fn end(&mut self) {
        self.statement.raw_execute().expect("generated rows fit the schema");
        self.column = 0;
    }
}

/// TPC-C in `connection`.
///
/// # Panics
/// When SQLite refuses: a bench has no one to hand an error to.
pub fn load(connection: &Connection, size: Cardinality, seed: u64) {
    let schema = schema(Dialect::Sqlite).expect("kept valid by a test");
    fill(connection, &schema, &Data::new(size, seed));
}

/// Creates a schema and all its rows in `connection`.
///
/// # Panics
/// When SQLite refuses.
pub fn fill(connection: &Connection, schema: &Catalogue, data: &dyn Dataset) {
    let create = |prefix: &str| {
        for (_, text) in schema.iter().filter(|(name, _)| name.starts_with(prefix)) {
            connection.execute_batch(text).expect("kept valid by a test");
        }
    };
    create("table_");
    connection.execute_batch("begin").expect("a fresh connection is idle");
    for (index, table) in data.tables().iter().enumerate() {
        let places = vec!["?"; table.columns.len()].join(", ");
        let text = format!("insert into {} ({}) values ({places})", table.name, table.columns.join(", "));
        let statement = connection.prepare(&text).expect("columns are those of the schema");
        let mut inserter = Inserter { statement, column: 0 };
        (0..table.chunks).for_each(|chunk| data.fill(index, chunk, &mut inserter));
    }
    connection.execute_batch("commit").expect("memory takes a commit");
    create("index_");
}
