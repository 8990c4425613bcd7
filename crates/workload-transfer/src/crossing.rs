//! Ways to move money between two stores.

/// How a transfer is made whose accounts are in two stores.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Crossing {
    /// Not at all: all accounts are in one store, and a transfer is one transaction.
    #[default]
    None,
    /// By two-phase commit: the target's part is prepared, the source's commits and is the decision, then the target's is
    /// committed.
    TwoPhase,
    /// The same with a decision that is written by itself, in a log of the coordinator's: both parts are prepared, then the decision
    /// commits, then both are committed.
    TwoPhaseLog,
    /// By a saga: the source's part commits with a message to the target's store, which a relay brings there; it gives the money
    /// and settles the transfer, or gives it back where it is refused.
    Saga,
    /// The same after a record in a log, which is acknowledged before the source's part begins: whatever the log holds is executed.
    LogFirst,
    /// By two transactions that know nothing of each other, which loses money when who makes them dies in between.
    DualWrite,
    /// By one transaction in both stores, where an engine has such.
    Attached,
}

impl Crossing {
    /// Its name as a style.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Crossing::None => "plain",
            Crossing::TwoPhase => "2pc",
            Crossing::TwoPhaseLog => "2pc-log",
            Crossing::Saga => "saga",
            Crossing::LogFirst => "log-first",
            Crossing::DualWrite => "dual-write",
            Crossing::Attached => "attached",
        }
    }

    /// Whether a style can do it, by its name.
    pub fn is_of(style: &str) -> bool {
        use Crossing::{Attached, DualWrite, LogFirst, Saga, TwoPhase, TwoPhaseLog};
        let all = [TwoPhase, TwoPhaseLog, Saga, LogFirst, DualWrite, Attached];
        all.into_iter().any(|crossing| style == crossing.name())
    }
}
