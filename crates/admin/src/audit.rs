//! What an audit asks, and what it is answered: the same for every engine.

use model::Nanos;
use sql::Value;

/// Queries that share a connection because they share temporary tables.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AuditGroup {
    /// Statements that make the temporary tables, in order.
    pub prepare: Vec<String>,
    /// The queries.
    pub queries: Vec<AuditQuery>,
    /// Values of ?1, ?2, … in all of them; a statement may use fewer.
    pub params: Vec<i64>,
}

/// A query of an audit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditQuery {
    /// Its name.
    pub name: String,
    /// Its text.
    pub sql: String,
    /// Rows after which it is cut short: a broken database can violate a condition millions of times.
    pub rows_max: usize,
}

/// What a query gave.
#[derive(Debug, Clone, PartialEq)]
pub struct AuditRows {
    /// Its name.
    pub name: String,
    /// The rows, or why there are none, as a clause: a table that is not there, the deadline.
    pub rows: Result<Vec<Vec<Value>>, String>,
    /// How long it took. Preparing counts towards the first query of a group.
    pub took: Nanos,
}

/// What all queries gave, in the order in which they were asked.
#[derive(Debug, Clone, PartialEq)]
pub struct Audited {
    /// One for each query.
    pub rows: Vec<AuditRows>,
    /// From the first to the last.
    pub took: Nanos,
}
