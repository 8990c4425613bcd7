//! What is answered: what is in the box now.

use crate::Call;
use serde::{Deserialize, Serialize};

/// An outcome. There is one sort only: nothing is ever declined.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Outcome {
    /// Notes in the box, with those that are on their way and that of the call.
    pub(crate) notes: i64,
    /// The sum of their numbers.
    pub(crate) total: i64,
}

/// What every right answer satisfies whatever the data.
pub(crate) fn check(call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
    match outcome {
        Outcome { notes, .. } if *notes < 1 => Err("the note of the call is not in the box"),
        Outcome { total, .. } if *total < i64::from(call.number) => {
            Err("the total is less than the number of the call")
        }
        _ => Ok(()),
    }
}
