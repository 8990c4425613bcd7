//! What to load, how far it is, and how it ended: the same for every engine.

use crate::record::{Contents, LoadRecord};
use model::Nanos;
use model::rows::Dataset;
use sql::Catalogue;
use std::sync::Arc;

/// What to load.
#[derive(Clone)]
pub struct LoadPlan {
    /// The rows.
    pub dataset: Arc<dyn Dataset>,
    /// Statements whose names start with `table_` make tables, before the rows; those with `index_` make indexes and keys,
    /// after them; those with `reference_` make foreign keys, last. All in the order of the file.
    pub schema: Catalogue,
    /// Whether foreign keys are made.
    pub references: bool,
    /// What this load is; stored in the database.
    pub record: LoadRecord,
    /// Threads that make rows and read them back; 0 for one a core.
    pub threads: usize,
    /// Whether what is there already is replaced: an interrupted load, or a complete one of ours. Never anything else.
    pub fresh: bool,
    /// The command that would load with `fresh`, for messages: `stackmark load tpcc --scale 10 --fresh`.
    pub start_anew: String,
}

/// How far a load is.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LoadProgress {
    /// What is being done.
    pub phase: Phase,
    /// Rows done in this phase.
    pub rows_done: u64,
    /// Rows in all, as far as the data set knows beforehand.
    pub rows_all: u64,
    /// The part of the whole load that is done, 0 to 1: never goes back.
    pub share: f64,
    /// An estimate for the whole load; `None` until there is one.
    pub seconds_left: Option<f64>,
}

/// What a load is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// Making and storing rows.
    Rows,
    /// Building indexes, and waiting for the disk.
    Indexes,
    /// Reading rows back.
    Verify,
    /// Writing the record, and waiting for the disk.
    Flush,
}

impl Phase {
    pub(crate) const ALL: [Phase; 4] = [Phase::Rows, Phase::Indexes, Phase::Verify, Phase::Flush];
    /// Share of a load's time each phase takes on SQLite, for the time left; measured at 10 warehouses of TPC-C.
    pub(crate) const SHARES: [f64; 4] = [0.62, 0.13, 0.24, 0.01];

    /// The word for a progress line.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Phase::Rows => "rows",
            Phase::Indexes => "indexes",
            Phase::Flush => "flush",
            Phase::Verify => "verify",
        }
    }
}

/// How a load ended well.
#[derive(Debug, Clone, PartialEq)]
pub enum Loaded {
    /// It was there, whole, with the same record; nothing was done.
    AlreadyThere(Box<Contents>),
    /// It was loaded.
    Now {
        /// What is there.
        contents: Box<Contents>,
        /// Bytes of the file.
        bytes: u64,
        /// How long it took.
        times: PhaseTimes,
        /// What went another way than asked or expected, a clause each: rows inserted because a server forbids more.
        notes: Vec<String>,
    },
}

impl Loaded {
    /// What is there.
    #[must_use]
    pub fn contents(&self) -> &Contents {
        match self {
            Loaded::AlreadyThere(contents) | Loaded::Now { contents, .. } => contents,
        }
    }
}

/// How long each phase took.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "see Phase")]
pub struct PhaseTimes {
    pub rows: Nanos,
    pub indexes: Nanos,
    /// All flushing that was waited for, record and rename included.
    pub flush: Nanos,
    pub verify: Nanos,
}

impl PhaseTimes {
    /// From the first row to the database in its place, without reading back.
    #[must_use]
    pub fn storing(&self) -> Nanos {
        self.rows + self.indexes + self.flush
    }
}
