//! A column as an engine's catalogue describes it, for judging tables that someone else made.

/// A column of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnInfo {
    /// Its table, as unqualified names find it.
    pub table: String,
    pub column: String,
    /// Its type as the engine writes it: `numeric(12,2)`, `character varying(16)`, `bigint`.
    pub kind: String,
    /// Whether a row that does not name it is refused: not null, without a default.
    pub must_be_given: bool,
}
