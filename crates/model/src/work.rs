//! What a call took: a fixed-size footnote, filled in by the code that knows, never an allocation.

use crate::Nanos;

/// How much of an answer a caller wants, where outcomes are a digest of it.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Wanted {
    #[default]
    Digest,
    /// All of it and no digest, as a server does that hands it on. The digest is then that of nothing.
    Body,
    /// Both; sessions that compare answers do.
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
    /// is no part of what was taken, so sums keep the one that they began with.
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
    /// Bytes of requests to a server, heads and bodies; zero where none was asked, as for the next.
    pub sent_bytes: u32,
    /// Bytes of its answers.
    pub received_bytes: u32,
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
    pub commit: Nanos,
    /// Decoding the call and encoding the outcome inside a server.
    pub encode: Nanos,
    /// The server's own total, zero where no server took part. Contains all parts above, so it is not added to them.
    pub server: Nanos,
    /// Rounding error of all of these together, where a server reported them; zero where they were measured here.
    pub rounded: Nanos,
    /// Whether a server reported a time that is not a number of milliseconds of 0 or more.
    pub unreadable: bool,
}

impl Spent {
    /// The sum of the parts inside the system, without [`Spent::server`].
    pub fn parts(&self) -> Nanos {
        self.queue + self.pool + self.begin + self.statements + self.commit + self.encode
    }
}

/// A time that a server reports and that cannot be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ImpossibleTime {
    /// It is not a time.
    #[error("the server reports a time that is not a number of milliseconds of 0 or more")]
    Unreadable,
    /// It is longer than what contains it.
    #[error("the server reports that {what} took {:.3} ms, but {whole} took {:.3} ms", reported.as_millis_f64(), most.as_millis_f64())]
    TooLong {
        /// `the parts of the call`.
        what: &'static str,
        /// The time that the server reports.
        reported: Nanos,
        whole: &'static str,
        /// The time of the whole.
        most: Nanos,
    },
}

impl Spent {
    /// What the parts of a call's time, read one after the other, may be off by.
    const READ_APART: Nanos = Nanos(20_000);

    /// What a server reported that cannot be, of a call that took `took` from its request to its answer: the parts are no more than the
    /// server's total, and that is no more than the call, except for rounding. Nothing where no server reported times.
    pub fn impossible(&self, took: Nanos) -> Option<ImpossibleTime> {
        if self.unreadable {
            return Some(ImpossibleTime::Unreadable);
        }
        if self.rounded == Nanos::ZERO {
            return None;
        }
        let (parts, allowed) = (self.parts(), self.rounded + Spent::READ_APART);
        if self.server > Nanos::ZERO && parts > self.server + allowed {
            let (what, whole) = ("the parts of the call", "its total as the server reports it");
            return Some(ImpossibleTime::TooLong { what, reported: parts, whole, most: self.server });
        }
        let reported = self.server.max(parts);
        let whole = "request and response";
        (reported > self.most(took)).then_some(ImpossibleTime::TooLong {
            what: "the call",
            reported,
            whole,
            most: took,
        })
    }

    /// The same of `statements`, the sum of the statements of a call that a server reported one by one.
    pub fn impossible_statements(&self, statements: Nanos, took: Nanos) -> Option<ImpossibleTime> {
        let (what, whole) = ("the statements of the call", "request and response");
        (self.rounded > Nanos::ZERO && statements > self.most(took)).then_some(ImpossibleTime::TooLong {
            what,
            reported: statements,
            whole,
            most: took,
        })
    }

    /// The most that a server can report of a call that took `took`.
    fn most(&self, took: Nanos) -> Nanos {
        // Clocks of two machines run at slightly different speeds.
        took + self.rounded + Spent::READ_APART + Nanos(took.0 / 1_000)
    }

    /// The same without what rounding adds beyond the time that was measured here: the server's total is at most `took`, and the
    /// parts are at most that total, each reduced in proportion.
    #[must_use]
    pub fn within(self, took: Nanos) -> Spent {
        if self.rounded == Nanos::ZERO {
            return self;
        }
        let server = self.server.min(took);
        let (parts, most) = (self.parts(), if server > Nanos::ZERO { server } else { took });
        if parts <= most {
            return Spent { server, ..self };
        }
        let share = most.0 as f64 / parts.0 as f64;
        let of = |part: Nanos| Nanos((part.0 as f64 * share) as u64);
        Spent {
            queue: of(self.queue),
            pool: of(self.pool),
            begin: of(self.begin),
            statements: of(self.statements),
            commit: of(self.commit),
            encode: of(self.encode),
            server,
            ..self
        }
    }
}

impl CallWork {
    /// Of nothing yet, with what the caller asks for.
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
        self.sent_bytes += other.sent_bytes;
        self.received_bytes += other.received_bytes;
        let (mine, theirs) = (&mut self.spent, other.spent);
        mine.queue += theirs.queue;
        mine.pool += theirs.pool;
        mine.begin += theirs.begin;
        mine.statements += theirs.statements;
        mine.commit += theirs.commit;
        mine.encode += theirs.encode;
        mine.server += theirs.server;
        mine.rounded += theirs.rounded;
        mine.unreadable |= theirs.unreadable;
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
            assert_eq!(
                Spent { rounded: Nanos::ZERO, ..spent }.impossible(Nanos(took)),
                None,
                "our own clock"
            );
            assert_eq!(
                Spent { rounded: Nanos::from_secs(1), ..spent }.impossible(Nanos(took)),
                None,
                "seconds"
            );
            assert_eq!(spent.impossible(Nanos(took)).map(|found| found.to_string()).as_deref(), wrong);
        };
        check(500_000, 400_000, 600_000, None);
        check(500_000, 415_000, 600_000, None);
        let parts = "the server reports that the parts of the call took 0.600 ms, but its total as the server reports it took 0.500 ms";
        check(500_000, 500_000, 600_000, Some(parts));
        let all = "the server reports that the call took 0.500 ms, but request and response took 0.400 ms";
        check(500_000, 100_000, 400_000, Some(all));
        // Without a total; over a long time; and of numbers at the end of their range.
        check(
            0,
            400_000,
            400_000,
            Some("the server reports that the call took 0.500 ms, but request and response took 0.400 ms"),
        );
        check(60_050_000_000, 0, 60_000_000_000, None);
        check(
            60_070_000_000,
            0,
            60_000_000_000,
            Some(
                "the server reports that the call took 60070.000 ms, but request and response took 60000.000 ms",
            ),
        );
        assert!(
            Spent { server: Nanos(u64::MAX), pool: Nanos(u64::MAX), rounded: Nanos(1), ..Spent::default() }
                .impossible(Nanos(u64::MAX))
                .is_none()
        );
    }

    #[test]
    fn rounding_adds_nothing_to_the_time_that_was_measured() {
        let ms = Nanos::from_millis;
        // Six parts of less than a millisecond, each rounded up to one.
        let reported = Spent {
            queue: ms(1),
            pool: ms(1),
            begin: ms(1),
            statements: ms(1),
            commit: ms(1),
            encode: ms(1),
            server: ms(6),
            rounded: ms(7),
            unreadable: false,
        };
        let took = Nanos(3_600_000);
        assert_eq!(reported.impossible(took), None);
        let within = reported.within(took);
        assert_eq!((within.server, within.queue, within.parts()), (took, Nanos(600_000), took));
        assert_eq!(reported.within(ms(60)), reported);
        assert_eq!(Spent { server: Nanos::ZERO, ..reported }.within(took).parts(), took);
        assert_eq!(Spent { rounded: Nanos::ZERO, ..reported }.within(took).server, ms(6), "measured here");
    }

    #[test]
    fn a_time_that_is_none_and_statements_longer_than_their_call_are_impossible() {
        let ms = Nanos::from_millis;
        let reported = Spent { rounded: Nanos(1_000), ..Spent::default() };
        assert_eq!(
            Spent { unreadable: true, ..reported }.impossible(ms(1)),
            Some(ImpossibleTime::Unreadable)
        );
        assert_eq!(reported.impossible_statements(ms(1), ms(1)), None);
        assert!(
            reported
                .impossible_statements(ms(2), ms(1))
                .is_some_and(|found| found.to_string().contains("statements"))
        );
        assert_eq!(Spent::default().impossible_statements(ms(2), ms(1)), None, "measured here");
    }
}
