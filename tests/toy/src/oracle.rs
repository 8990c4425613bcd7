//! The truth in memory: one client at a time, no storage, no concurrency. What any session must answer.

use crate::{Call, Cardinality, Outcome};
use model::{DefectKind, Fault};

/// Boxes in memory.
pub(crate) struct Oracle {
    /// Notes and total of each box.
    boxes: Vec<Outcome>,
}

impl Oracle {
    /// Freshly loaded.
    pub(crate) fn new(size: Cardinality) -> Oracle {
        Oracle { boxes: vec![Outcome { notes: 0, total: 0 }; size.boxes as usize] }
    }

    /// Answers a call, and keeps what it changes: nothing where there is no such box.
    pub(crate) fn answer(&mut self, call: &Call) -> Result<Outcome, Fault> {
        let place = call.id.checked_sub(1).and_then(|place| self.boxes.get_mut(place as usize));
        let Some(place) = place else {
            return Err(Fault::defect(DefectKind::BadCall, format!("there is no box {}", call.id)));
        };
        place.notes += 1;
        place.total += i64::from(call.number);
        Ok(*place)
    }
}
