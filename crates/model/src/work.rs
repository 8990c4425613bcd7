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
pub struct CallWork {
    /// Asked by the caller before the call: a clock around each statement, see [`StatementClock`](crate::StatementClock). It
    /// is no part of what was taken, so sums of efforts keep the one that they began with.
    pub clocked: bool,
    /// Asked by the caller before the call, in the same way: how much of an answer of which an outcome keeps a digest.
    pub wanted: Wanted,
    /// Times the transaction was tried; at least 1 for a call that reached an engine.
    pub attempts: u32,
    /// Connections that were opened again because the old one was closed between calls. The time that it took is part of the
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
    /// What these are rounded by, together, where a server told them; zero where our own clock measured them.
    pub rounded: Nanos,
}

impl Spent {
    /// The sum of the parts inside the system, without [`Spent::server`].
    #[must_use]
    pub fn parts(&self) -> Nanos {
        self.queue + self.pool + self.begin + self.statements + self.commit + self.encode
    }
}

/// A time of which a server says more than there can have been: what, how much, and the most that it can be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the server reports that {what} took {:.3} ms, but {most_of} took {:.3} ms", said.as_millis_f64(), most.as_millis_f64())]
pub struct Excess {
    /// `the parts of the call`.
    pub what: &'static str,
    /// How long that took, as the server says.
    pub said: Nanos,
    /// What contains it.
    pub most_of: &'static str,
    /// How long that took.
    pub most: Nanos,
}

impl Spent {
    /// What the parts of a call's time, read one after the other, may be off by.
    const READ_APART: Nanos = Nanos(20_000);

    /// What of it cannot be that a server told of a call that took so long from its request to its answer: parts are no more than the
    /// server's total, and that no more than the call, but for what they are rounded by. Nothing where no server told it.
    #[must_use]
    pub fn excess(&self, took: Nanos) -> Option<Excess> {
        if self.rounded == Nanos::ZERO {
            return None;
        }
        let (parts, allowed) = (self.parts(), self.rounded + Spent::READ_APART);
        if self.server > Nanos::ZERO && parts > self.server + allowed {
            let (what, most_of) = ("the parts of the call", "all of it by the server's own word");
            return Some(Excess { what, said: parts, most_of, most: self.server });
        }
        let said = self.server.max(parts);
        // Two machines' clocks go at slightly different speeds.
        let most = took + allowed + Nanos(took.0 / 1_000);
        (said > most).then_some(Excess { what: "the call", said, most_of: "request and answer", most: took })
    }
}

impl CallWork {
    /// Of nothing yet, with what the caller asks for.
    #[must_use]
    pub fn asked(&self) -> CallWork {
        CallWork { clocked: self.clocked, wanted: self.wanted, ..CallWork::default() }
    }
}

impl std::ops::AddAssign for CallWork {
    fn add_assign(&mut self, other: CallWork) {
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
        mine.rounded += theirs.rounded;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_cannot_have_taken_longer_than_the_call() {
        let check = |server, statements, took, wrong: Option<&str>| {
            let spent = Spent {
                server: Nanos(server),
                statements: Nanos(statements),
                commit: Nanos(100_000),
                rounded: Nanos(3),
                ..Spent::default()
            };
            assert_eq!(Spent { rounded: Nanos::ZERO, ..spent }.excess(Nanos(took)), None, "our own clock");
            assert_eq!(Spent { rounded: Nanos::from_secs(1), ..spent }.excess(Nanos(took)), None, "seconds");
            assert_eq!(spent.excess(Nanos(took)).map(|excess| excess.to_string()).as_deref(), wrong);
        };
        check(500_000, 400_000, 600_000, None);
        check(500_000, 415_000, 600_000, None);
        let parts = "the server reports that the parts of the call took 0.600 ms, but all of it by the server's own word took 0.500 ms";
        check(500_000, 500_000, 600_000, Some(parts));
        let all = "the server reports that the call took 0.500 ms, but request and answer took 0.400 ms";
        check(500_000, 100_000, 400_000, Some(all));
        // Without a total; over a long time; and of numbers at the end of their range.
        check(
            0,
            400_000,
            400_000,
            Some("the server reports that the call took 0.500 ms, but request and answer took 0.400 ms"),
        );
        check(60_050_000_000, 0, 60_000_000_000, None);
        check(
            60_070_000_000,
            0,
            60_000_000_000,
            Some(
                "the server reports that the call took 60070.000 ms, but request and answer took 60000.000 ms",
            ),
        );
        assert!(
            Spent { server: Nanos(u64::MAX), pool: Nanos(u64::MAX), rounded: Nanos(1), ..Spent::default() }
                .excess(Nanos(u64::MAX))
                .is_none()
        );
    }
}
