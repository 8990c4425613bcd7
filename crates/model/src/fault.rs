//! How a call can fail to complete. Four variants, because the harness reacts in four ways.

use std::fmt;
use std::sync::{Mutex, PoisonError};

/// A call that did not complete.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The engine refused this attempt; nothing was applied, and repeating is safe.
    #[error("conflict: {0}")]
    Conflict(Conflict),
    /// Never attempted; nothing was applied.
    #[error("refused: {0}")]
    Refused(Refusal),
    /// May or may not have been applied; only an audit can tell.
    #[error("in doubt: {0}")]
    InDoubt(Doubt),
    /// A bug or a broken contract; ends the trial.
    #[error("defect: {0}")]
    Defect(Box<Defect>),
}

impl Fault {
    /// A defect of the given kind.
    pub fn defect(kind: DefectKind, what: impl Into<String>) -> Fault {
        Fault::Defect(Box::new(Defect { kind, what: what.into() }))
    }
}

/// Why the engine refused an attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Conflict {
    /// Another connection holds the lock (SQLite: busy).
    Busy,
    /// Chosen as the victim of a deadlock.
    Deadlock,
    /// The isolation level could not be kept otherwise.
    Serialization,
}

/// Why a call was never attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// No session became free in time.
    NoSession,
    /// The queue in front of the sessions is full.
    QueueFull,
    /// The server is shedding load.
    Shedding,
    /// Nothing answers at the address.
    Unreachable,
    /// The engine cannot take writes now: disk full, read-only. With its own words.
    Unwritable(EngineMessage),
}

impl Refusal {
    /// The engine cannot take writes, and gave no reason.
    pub const UNWRITABLE: Refusal = Refusal::Unwritable(EngineMessage(""));
}

/// An engine's own words, for people: two of them are always equal, so that a fault is the same fault in
/// another language. Kept once each for as long as the process lives, and no more than [`ENGINE_MESSAGE_MAX`] of them.
#[derive(Debug, Clone, Copy)]
pub struct EngineMessage(&'static str);

/// Different words that are kept; later ones are dropped.
pub const ENGINE_MESSAGE_MAX: usize = 64;
/// Bytes that are kept of each at most.
const WORDS_MAX: usize = 300;

impl EngineMessage {
    /// Keeps an engine's message, in one line and without control characters.
    pub fn of(words: &str) -> EngineMessage {
        static KEPT: Mutex<Vec<&'static str>> = Mutex::new(Vec::new());
        let words = &words.trim()[..words.trim().floor_char_boundary(WORDS_MAX)];
        let words = words.replace(char::is_control, " ");
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = kept.iter().find(|known| **known == words) {
            return EngineMessage(known);
        }
        if kept.len() == ENGINE_MESSAGE_MAX {
            return EngineMessage("");
        }
        let words: &'static str = words.leak();
        kept.push(words);
        EngineMessage(words)
    }

    /// The words; empty where there were none.
    #[must_use]
    pub fn words(self) -> &'static str {
        self.0
    }
}

impl PartialEq for EngineMessage {
    fn eq(&self, _: &EngineMessage) -> bool {
        true
    }
}

impl Eq for EngineMessage {}

/// Why it is unknown whether the call was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doubt {
    /// No answer within the deadline.
    Deadline,
    /// The connection broke after the call was sent.
    ConnectionLost,
    /// The commit was sent and its answer lost.
    CommitUnanswered,
    /// The server failed without saying whether anything was applied.
    ServerError,
}

/// A bug or a broken contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Defect {
    /// What sort, for those who map it (a server: to a status).
    pub kind: DefectKind,
    /// One lower-case clause: what is wrong, naming the thing. Never holds a secret.
    pub what: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DefectKind {
    /// The call names something that does not exist, or is outside its range. Nothing was applied.
    BadCall,
    /// The answer breaks the contract: wrong total, missing field, not JSON, wrong status.
    BadAnswer,
    /// The engine answered something that no rule of ours expects.
    Engine,
    /// The stored data breaks an assumption: a row that must exist does not.
    BadData,
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Conflict::Busy => "busy",
            Conflict::Deadlock => "deadlock",
            Conflict::Serialization => "serialization failure",
        })
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Refusal::Unwritable(EngineMessage(words)) if !words.is_empty() => words,
            Refusal::NoSession => "no session became free in time",
            Refusal::QueueFull => "queue full",
            Refusal::Shedding => "shedding load",
            Refusal::Unreachable => "unreachable",
            Refusal::Unwritable(_) => "engine cannot take writes",
        })
    }
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Doubt::Deadline => "no answer within the deadline",
            Doubt::ConnectionLost => "connection lost",
            Doubt::CommitUnanswered => "commit unanswered",
            Doubt::ServerError => "server error",
        })
    }
}

impl fmt::Display for Defect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}
