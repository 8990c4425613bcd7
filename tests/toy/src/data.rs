//! The initial rows: empty boxes. Nothing in them is random.

use model::rows::{Dataset, RowSink, Table};
use serde::{Deserialize, Serialize};

/// How much data there is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Cardinality {
    /// Boxes, at least one: the scale.
    pub(crate) boxes: u32,
}

impl Cardinality {
    /// Whether there is a box of that id.
    pub(crate) fn has(self, id: u32) -> bool {
        (1..=self.boxes).contains(&id)
    }
}

/// All initial rows at some size.
pub(crate) struct Data {
    boxes: u32,
    tables: [Table; 2],
}

impl Data {
    /// The data of a size.
    pub(crate) fn new(Cardinality { boxes }: Cardinality) -> Data {
        let tables = [
            Table::new("boxes", &["id", "notes", "total"], 1, boxes.into()),
            // Empty: it gets a row a call.
            Table::new("notes", &["box", "number", "arrives_ms"], 1, 0),
        ];
        Data { boxes, tables }
    }
}

impl Dataset for Data {
    fn tables(&self) -> &[Table] {
        &self.tables
    }

    fn fill(&self, table: usize, _chunk: u32, sink: &mut dyn RowSink) {
        if table == 0 {
            for id in 1..=self.boxes {
                [i64::from(id), 0, 0].into_iter().for_each(|value| sink.int(value));
                sink.end();
            }
        }
    }
}
