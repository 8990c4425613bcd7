//! How a subject speaks to its engine.

use sql::Dialect;

/// The crate between us and an engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Driver {
    /// For SQLite, on threads of its callers.
    Rusqlite,
    /// For PostgreSQL.
    TokioPostgres,
    /// For MariaDB.
    MySqlAsync,
    Sqlx,
    /// For SQLite and PostgreSQL, with queries of its own.
    Diesel,
}

/// How transactions are expressed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// One statement after the other.
    Plain,
    /// The same, each as one text with its parameters in it; nothing is prepared.
    Simple,
    /// Independent statements share a round trip.
    Pipelined,
    /// One call of a stored procedure.
    Procedure,
    /// Queries built from types, by a library that is driver and style in one.
    Orm,
    /// Calls that wait for each other share a durable commit, each in a savepoint of its own.
    Grouped,
    /// What belongs together in several tables is read with a query for each table.
    Levels,
    /// The same with a query for each row that has others below it ("N+1").
    Nested,
    /// What is in two databases is changed in both by two-phase commit.
    TwoPhase,
    /// The same with the decision in a log of its own.
    TwoPhaseLog,
    /// It is changed in one, and a relay changes it in the other.
    Saga,
    /// The same after a record in a log, which is published first.
    LogFirst,
    /// It is changed in one and then in the other, and nothing says so in between.
    DualWrite,
    /// It is changed in both by one commit of an engine that has both attached.
    Attached,
    /// Each transaction leaves a row in an outbox, and no one reads it.
    OutboxRow,
    /// The same, and statements that write share a round trip.
    PipelinedOutboxRow,
    /// A relay publishes it from there.
    Outbox,
    /// The same, and the transaction wakes the relay.
    OutboxNotify,
    /// Each transaction is committed and then published by the same process, with no record of the pending message in between.
    DirectPublish,
}

/// What speaks to the engine, whatever the route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct How {
    pub dialect: Dialect,
    /// The crate between us and it.
    pub driver: Driver,
    /// How transactions are expressed.
    pub style: Style,
}

impl Driver {
    /// The crate's name in subjects.
    pub const fn name(self) -> &'static str {
        match self {
            Driver::Rusqlite => "rusqlite",
            Driver::TokioPostgres => "tokio-postgres",
            Driver::MySqlAsync => "mysql-async",
            Driver::Sqlx => "sqlx",
            Driver::Diesel => "diesel",
        }
    }
}

impl Style {
    /// Whether what calls leave to be done is done by a relay, which is to run next to them.
    pub const fn is_relayed(self) -> bool {
        matches!(self, Style::Saga | Style::LogFirst) || self.has_outbox()
    }

    /// Whether a relay publishes rows of an outbox.
    pub const fn has_outbox(self) -> bool {
        matches!(self, Style::Outbox | Style::OutboxNotify)
    }

    /// Whether it leaves rows in an outbox that no relay reads.
    pub const fn keeps_outbox(self) -> bool {
        matches!(self, Style::OutboxRow | Style::PipelinedOutboxRow)
    }

    /// Whether a relay is to run next to calls on data in so many stores.
    pub const fn is_relayed_over(self, stores: usize) -> bool {
        self.is_relayed() && (stores > 1 || !self.crosses())
    }

    /// Whether a relay completes transfers between so many stores.
    pub const fn is_settled_over(self, stores: usize) -> bool {
        self.is_relayed_over(stores) && self.crosses()
    }

    /// Whether it is for what is in several stores.
    pub const fn crosses(self) -> bool {
        use Style::{Attached, DualWrite, LogFirst, Saga, TwoPhase, TwoPhaseLog};
        matches!(self, TwoPhase | TwoPhaseLog | Saga | LogFirst | DualWrite | Attached)
    }

    /// Whether sessions publish messages: before their transactions, or after a commit.
    pub const fn publishes_directly(self) -> bool {
        matches!(self, Style::LogFirst | Style::DirectPublish)
    }

    /// Its name in subjects and results.
    pub const fn name(self) -> &'static str {
        match self {
            Style::Plain => "plain",
            Style::Simple => "simple",
            Style::Pipelined => "pipelined",
            Style::Procedure => "procedure",
            Style::Orm => "orm",
            Style::Grouped => "grouped",
            Style::Levels => "levels",
            Style::Nested => "nested",
            Style::TwoPhase => "2pc",
            Style::TwoPhaseLog => "2pc-log",
            Style::Saga => "saga",
            Style::LogFirst => "log-first",
            Style::DualWrite | Style::DirectPublish => "dual-write",
            Style::Attached => "attached",
            Style::OutboxRow => "outbox-row",
            Style::PipelinedOutboxRow => "pipelined-outbox-row",
            Style::Outbox => "outbox",
            Style::OutboxNotify => "outbox-notify",
        }
    }
}

impl How {
    /// `driver[/style]`, as `serve --adapter` takes it.
    pub fn path(self) -> String {
        match self.style {
            // An ORM's style is the only one that it has.
            Style::Plain | Style::Orm => self.driver.name().to_owned(),
            style => format!("{}/{}", self.driver.name(), style.name()),
        }
    }
}
