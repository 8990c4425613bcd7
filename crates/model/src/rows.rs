//! Initial rows as a stream of typed values, between a workload that knows them and a loader that stores them.

/// A table to be loaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Name in the database.
    pub name: &'static str,
    /// Column names in the order in which values are given.
    pub columns: &'static [&'static str],
    /// Chunks in key order; each is a pure function of the seed and its number, so any thread may make it.
    pub chunks: u32,
    /// Rows in all, as far as known before they are made.
    pub rows: u64,
    /// The column by whose value rows are spread over the data nodes of a distributed engine, so that rows that are used together are on
    /// one; nothing of a table that is small and mostly read, which is kept whole.
    pub spread_by: Option<&'static str>,
}

impl Table {
    /// A table that is kept whole.
    #[must_use]
    pub fn new(name: &'static str, columns: &'static [&'static str], chunks: u32, rows: u64) -> Table {
        Table { name, columns, chunks, rows, spread_by: None }
    }
}

/// The initial data of a workload at some scale and seed.
pub trait Dataset: Send + Sync + 'static {
    /// The tables, in the order in which they are loaded.
    fn tables(&self) -> &[Table];
    /// Why statements on these tables do not work on Spider although they have a column to spread rows by; nothing where they do.
    fn not_on_spider(&self) -> Option<&'static str> {
        None
    }
    /// Gives the rows of one chunk of one table, in key order.
    fn fill(&self, table: usize, chunk: u32, sink: &mut dyn RowSink);
}

/// Takes the values of rows, column by column.
pub trait RowSink {
    fn int(&mut self, value: i64);
    fn text(&mut self, value: &str);
    fn null(&mut self);
    /// The row is complete.
    fn end(&mut self);
}
