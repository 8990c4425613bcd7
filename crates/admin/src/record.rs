//! What a loaded database says about itself.

use serde::{Deserialize, Serialize};

/// What was asked for: two loads of the same record give the same rows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadRecord {
    /// The kit that loads: `stackmark`.
    pub kit: String,
    /// Its version; not part of what makes two loads the same.
    pub kit_version: String,
    /// The workload: `tpcc`.
    pub workload: String,
    /// The scale as the user gives it: warehouses.
    pub scale: u64,
    /// The workload's own account of its size, as JSON text.
    pub size: String,
    /// The seed of all rows.
    pub seed: u64,
}

/// A table after a load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableContents {
    /// Its name.
    pub name: String,
    /// Rows loaded.
    pub rows: u64,
    /// Order-independent checksum of all values of all rows: the wrapping sum of XXH3 over each row's canonical form.
    pub checksum: u64,
}

/// What a complete load left behind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Contents {
    /// What was asked for.
    pub record: LoadRecord,
    /// XXH3 of the schema's text: another schema is another database.
    pub schema: u64,
    /// The tables in the order in which they were loaded.
    pub tables: Vec<TableContents>,
    /// When the load was completed, in seconds since 1970.
    pub loaded_at: u64,
}

impl Contents {
    /// Rows of all tables.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.tables.iter().map(|table| table.rows).sum()
    }

    /// One number for everything loaded: equal for equal rows, however many threads made them.
    #[must_use]
    pub fn checksum(&self) -> u64 {
        let mut text = String::new();
        for table in &self.tables {
            text.push_str(&format!("{}:{}:{:016x};", table.name, table.rows, table.checksum));
        }
        xxhash_rust::xxh3::xxh3_64(text.as_bytes())
    }
}

impl LoadRecord {
    /// Whether both stand for the same rows. Versions of the kit may differ.
    #[must_use]
    pub fn same_rows(&self, other: &LoadRecord) -> bool {
        let key = |record: &LoadRecord| {
            (record.kit.clone(), record.workload.clone(), record.scale, record.size.clone(), record.seed)
        };
        key(self) == key(other)
    }
}

impl std::fmt::Display for LoadRecord {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let LoadRecord { workload, scale, seed, .. } = self;
        write!(f, "{workload} at scale {scale}, seed {seed}")
    }
}
