//! What a call took: a fixed-size footnote, filled in by whoever knows, never an allocation.

use crate::Nanos;

/// How much of an answer a caller wants, where outcomes are a digest of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wanted {
    /// The digest.
    #[default]
    Digest,
    /// All of it and no digest, as a server does that hands it on. The digest is then that of nothing.
    Body,
    /// Both, as does whoever compares answers.
    Both,
}

impl Wanted {
    /// Whether all of it is wanted.
    #[must_use]
    pub const fn body(self) -> bool {
        matches!(self, Wanted::Body | Wanted::Both)
    }

    /// Whether the digest is.
    #[must_use]
    pub const fn digest(self) -> bool {
        matches!(self, Wanted::Digest | Wanted::Both)
    }
}

/// What one call took, over all its attempts.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Effort {
    /// Asked by the caller before the call: a clock around each statement, see [`StatementClock`](crate::StatementClock). It
    /// is no part of what was taken, so sums of efforts keep the one that they began with.
    pub clocked: bool,
    /// Asked by the caller before the call, in the same way: how much of an answer of which an outcome keeps a digest.
    pub wanted: Wanted,
    /// Times the transaction was tried; at least 1 for a call that reached an engine.
    pub attempts: u32,
    /// Connections that were opened again because the old one was closed while it was idle. The time that it took is part of the
    /// call's.
    pub reconnects: u32,
    /// Statements executed, without begin and commit.
    pub statements: u32,
    /// Rows read or changed by them.
    pub rows: u32,
    /// Transactions committed; one a call except where the workload allows more.
    pub commits: u32,
    /// Those of them that the engine could make durable together with other calls' by one commit.
    pub grouped: u32,
    /// The engine's commits for those: of the calls that share one, exactly one has it.
    pub groups: u32,
    /// Where the time went, as far as the session knows.
    pub spent: Spent,
}

/// Parts of a call's service time. They do not overlap; what none of them covers is the remainder.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Spent {
    /// Waiting in the server for a session thread or task, both ways.
    pub queue: Nanos,
    /// Waiting for a connection, or for the write lane of an engine with one writer.
    pub pool: Nanos,
    /// Begin of the transaction.
    pub begin: Nanos,
    /// From the end of begin to the start of commit or rollback: the statements and the logic between them.
    pub statements: Nanos,
    /// Commit or rollback.
    pub commit: Nanos,
    /// Decoding the call and encoding the outcome inside a server.
    pub encode: Nanos,
    /// The server's own total, zero where no server took part. Contains all parts above, so it is not added to them.
    pub server: Nanos,
}

impl Spent {
    /// The sum of the parts inside the system, without [`Spent::server`].
    #[must_use]
    pub fn parts(&self) -> Nanos {
        self.queue + self.pool + self.begin + self.statements + self.commit + self.encode
    }
}

impl Effort {
    /// Of nothing yet, with what the caller asks for.
    #[must_use]
    pub fn asked(&self) -> Effort {
        Effort { clocked: self.clocked, wanted: self.wanted, ..Effort::default() }
    }
}

impl std::ops::AddAssign for Effort {
    fn add_assign(&mut self, other: Effort) {
        self.attempts += other.attempts;
        self.reconnects += other.reconnects;
        self.statements += other.statements;
        self.rows += other.rows;
        self.commits += other.commits;
        self.grouped += other.grouped;
        self.groups += other.groups;
        let (mine, theirs) = (&mut self.spent, other.spent);
        mine.queue += theirs.queue;
        mine.pool += theirs.pool;
        mine.begin += theirs.begin;
        mine.statements += theirs.statements;
        mine.commit += theirs.commit;
        mine.encode += theirs.encode;
        mine.server += theirs.server;
    }
}
