//! Calls that meet: made at the same moment, they leave only some answers possible, whoever comes first.

use crate::Wire;
use model::Fault;

/// A round of a race: calls one after the other, then calls at the same moment, then calls one after the other again.
pub struct Race<W: Wire> {
    /// What it is called: `lost-update`. Several rounds have the same name.
    pub name: &'static str,
    /// What must hold, as a sentence without its full stop.
    pub rule: &'static str,
    /// Calls that set the scene.
    pub before: Vec<W::Call>,
    /// Calls that meet, each on a connection of its own.
    pub together: Vec<W::Call>,
    /// Calls that look at what became of it.
    pub after: Vec<W::Call>,
    /// Whether the answers can be right.
    ///
    /// Its error is one clause.
    pub judge: Judge<W>,
}

/// Judges what was answered in a round.
pub type Judge<W> = Box<dyn Fn(&Raced<W>) -> Result<(), String>>;

/// What was answered in a round, in the order of its calls.
pub struct Raced<W: Wire> {
    /// To what set the scene. All of it completed.
    pub before: Vec<W::Outcome>,
    /// To the calls that met. One that did not complete has changed nothing.
    pub together: Vec<Result<W::Outcome, Fault>>,
    /// To what looked at it afterwards. All of it completed.
    pub after: Vec<W::Outcome>,
}

impl<W: Wire> Raced<W> {
    /// What completed of the calls that met.
    pub fn met(&self) -> impl Iterator<Item = &W::Outcome> {
        self.together.iter().filter_map(|answer| answer.as_ref().ok())
    }
}
