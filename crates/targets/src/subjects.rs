//! Every combination of workload, engine, driver and style that exists: one row each.

use crate::{Driver, How, Style};
use sql::Dialect;

/// A combination that can get a number.
#[derive(Debug, Clone, Copy)]
pub struct Combination {
    /// `workload/engine/driver[/style]`.
    pub path: &'static str,
    /// What speaks to the engine.
    pub how: How,
    /// One line for the list.
    pub about: &'static str,
}

const SQLITE: How = How { dialect: Dialect::Sqlite, driver: Driver::Rusqlite, style: Style::Plain };
const POSTGRES: How = How { dialect: Dialect::Postgres, driver: Driver::TokioPostgres, style: Style::Plain };
const MYSQL: How = How { dialect: Dialect::MySql, driver: Driver::MySqlAsync, style: Style::Plain };

const fn sqlx(dialect: Dialect) -> How {
    How { dialect, driver: Driver::Sqlx, style: Style::Plain }
}

const fn diesel(dialect: Dialect) -> How {
    How { dialect, driver: Driver::Diesel, style: Style::Orm }
}

const fn direct(path: &'static str, how: How, about: &'static str) -> Combination {
    Combination { path, how, about }
}

const fn styled(how: How, style: Style) -> How {
    How { style, ..how }
}

/// The direct subjects, defaults first within a workload and within an engine.
#[rustfmt::skip]
pub const COMBINATIONS: &[Combination] = &[
    direct("tpcc/sqlite/rusqlite", SQLITE, "TPC-C on SQLite, straight through the driver"),
    direct("tpcc/sqlite/rusqlite/grouped", styled(SQLITE, Style::Grouped), "calls that wait for each other share a durable commit"),
    direct("tpcc/sqlite/sqlx", sqlx(Dialect::Sqlite), "TPC-C on SQLite through sqlx, which runs it on threads of its own"),
    direct("tpcc/sqlite/diesel", diesel(Dialect::Sqlite), "TPC-C on SQLite through Diesel's typed queries"),
    direct("tpcc/postgres/tokio-postgres", POSTGRES, "TPC-C on PostgreSQL, one statement per round trip"),
    direct("tpcc/postgres/tokio-postgres/pipelined", styled(POSTGRES, Style::Pipelined), "independent statements share a round trip"),
    direct("tpcc/postgres/tokio-postgres/procedure", styled(POSTGRES, Style::Procedure), "one call of a PL/pgSQL function per transaction"),
    direct("tpcc/postgres/sqlx", sqlx(Dialect::Postgres), "TPC-C on PostgreSQL through sqlx"),
    direct("tpcc/postgres/diesel", diesel(Dialect::Postgres), "TPC-C on PostgreSQL through Diesel's typed queries"),
    direct("tpcc/mariadb/mysql-async", MYSQL, "TPC-C on MariaDB, one statement per round trip"),
    direct("tpcc/mariadb/mysql-async/procedure", styled(MYSQL, Style::Procedure), "one call of a stored procedure per transaction"),
    direct("tpcc/mariadb/sqlx", sqlx(Dialect::MySql), "TPC-C on MariaDB through sqlx"),
    direct("tpcb/sqlite/rusqlite", SQLITE, "pgbench's transaction on SQLite"),
    direct("tpcb/sqlite/rusqlite/grouped", styled(SQLITE, Style::Grouped), "calls that wait for each other share a durable commit"),
    direct("tpcb/sqlite/sqlx", sqlx(Dialect::Sqlite), "pgbench's transaction on SQLite through sqlx"),
    direct("tpcb/postgres/tokio-postgres", POSTGRES, "pgbench's transaction on PostgreSQL, its own tables"),
    direct("tpcb/postgres/tokio-postgres/simple", styled(POSTGRES, Style::Simple), "the same by the simple protocol: nothing is prepared, as pgbench does by default"),
    direct("tpcb/postgres/sqlx", sqlx(Dialect::Postgres), "pgbench's transaction on PostgreSQL through sqlx"),
    direct("tpcb/mariadb/mysql-async", MYSQL, "pgbench's transaction on MariaDB"),
    direct("tpcb/mariadb/sqlx", sqlx(Dialect::MySql), "pgbench's transaction on MariaDB through sqlx"),
    direct("catalogue/sqlite/rusqlite", SQLITE, "a food catalogue on SQLite, straight through the driver"),
    direct("catalogue/sqlite/rusqlite/levels", styled(SQLITE, Style::Levels), "templates with a query for each table"),
    direct("catalogue/sqlite/rusqlite/nested", styled(SQLITE, Style::Nested), "templates with a query for each row above others (N+1)"),
    direct("catalogue/sqlite/sqlx", sqlx(Dialect::Sqlite), "a food catalogue on SQLite through sqlx"),
    direct("catalogue/postgres/tokio-postgres", POSTGRES, "a food catalogue on PostgreSQL"),
    direct("catalogue/postgres/tokio-postgres/levels", styled(POSTGRES, Style::Levels), "templates with a query for each table"),
    direct("catalogue/postgres/tokio-postgres/nested", styled(POSTGRES, Style::Nested), "templates with a query for each row above others (N+1)"),
    direct("catalogue/postgres/sqlx", sqlx(Dialect::Postgres), "a food catalogue on PostgreSQL through sqlx"),
    direct("catalogue/mariadb/mysql-async", MYSQL, "a food catalogue on MariaDB"),
    direct("catalogue/mariadb/mysql-async/levels", styled(MYSQL, Style::Levels), "templates with a query for each table"),
    direct("catalogue/mariadb/mysql-async/nested", styled(MYSQL, Style::Nested), "templates with a query for each row above others (N+1)"),
    direct("catalogue/mariadb/sqlx", sqlx(Dialect::MySql), "a food catalogue on MariaDB through sqlx"),
    direct("transfer/sqlite/rusqlite", SQLITE, "money between accounts on SQLite"),
    direct("transfer/sqlite/rusqlite/grouped", styled(SQLITE, Style::Grouped), "calls that wait for each other share a durable commit"),
    direct("transfer/sqlite/rusqlite/saga", styled(SQLITE, Style::Saga), "between stores by a saga and a relay"),
    direct("transfer/sqlite/rusqlite/log-first", styled(SQLITE, Style::LogFirst), "the same after a record in a file or on Kafka, which is executed even if the process ends"),
    direct("transfer/sqlite/rusqlite/attached", styled(SQLITE, Style::Attached), "between stores by one commit over attached files"),
    direct("transfer/sqlite/rusqlite/dual-write", styled(SQLITE, Style::DualWrite), "a counter-example: debit and credit between stores know nothing of each other"),
    direct("transfer/postgres/tokio-postgres", POSTGRES, "money between accounts on PostgreSQL"),
    direct("transfer/postgres/sqlx", sqlx(Dialect::Postgres), "money between accounts on PostgreSQL through sqlx"),
    direct("transfer/postgres/tokio-postgres/2pc", styled(POSTGRES, Style::TwoPhase), "between stores by two-phase commit"),
    direct("transfer/postgres/tokio-postgres/2pc-log", styled(POSTGRES, Style::TwoPhaseLog), "the same as textbooks have it: the decision in a log of its own"),
    direct("transfer/postgres/tokio-postgres/saga", styled(POSTGRES, Style::Saga), "between stores by a saga and a relay"),
    direct("transfer/postgres/tokio-postgres/log-first", styled(POSTGRES, Style::LogFirst), "the same after a record in a file or on Kafka, which is executed even if the process ends"),
    direct("transfer/postgres/tokio-postgres/dual-write", styled(POSTGRES, Style::DualWrite), "a counter-example: debit and credit between stores know nothing of each other"),
    direct("transfer/mariadb/mysql-async", MYSQL, "money between accounts on MariaDB"),
    direct("transfer/mariadb/mysql-async/2pc", styled(MYSQL, Style::TwoPhase), "between stores by two-phase commit (XA)"),
    direct("transfer/mariadb/mysql-async/2pc-log", styled(MYSQL, Style::TwoPhaseLog), "the same as textbooks have it: the decision in a log of its own"),
    direct("transfer/mariadb/mysql-async/saga", styled(MYSQL, Style::Saga), "between stores by a saga and a relay"),
    direct("transfer/mariadb/mysql-async/log-first", styled(MYSQL, Style::LogFirst), "the same after a record in a file or on Kafka, which is executed even if the process ends"),
    direct("transfer/mariadb/mysql-async/dual-write", styled(MYSQL, Style::DualWrite), "a counter-example: debit and credit between stores know nothing of each other"),
    direct("booking/sqlite/rusqlite", SQLITE, "tickets of events on SQLite"),
    direct("booking/sqlite/rusqlite/grouped", styled(SQLITE, Style::Grouped), "calls that wait for each other share a durable commit"),
    direct("booking/sqlite/rusqlite/outbox-row", styled(SQLITE, Style::OutboxRow), "each booking leaves an outbox row that is never published"),
    direct("booking/sqlite/rusqlite/outbox", styled(SQLITE, Style::Outbox), "each booking is published from an outbox by a relay"),
    direct("booking/sqlite/rusqlite/dual-write", styled(SQLITE, Style::DirectPublish), "the process publishes each booking after its commit; if it ends in between, the message is lost"),
    direct("booking/postgres/tokio-postgres", POSTGRES, "tickets of events on PostgreSQL"),
    direct("booking/postgres/tokio-postgres/outbox-row", styled(POSTGRES, Style::OutboxRow), "each booking leaves an outbox row that is never published"),
    direct("booking/postgres/tokio-postgres/pipelined", styled(POSTGRES, Style::Pipelined), "statements that write share a round trip"),
    direct("booking/postgres/tokio-postgres/pipelined-outbox-row", styled(POSTGRES, Style::PipelinedOutboxRow), "the same with an outbox row that is never published"),
    direct("booking/postgres/tokio-postgres/outbox", styled(POSTGRES, Style::Outbox), "each booking is published from an outbox by a relay"),
    direct("booking/postgres/tokio-postgres/outbox-notify", styled(POSTGRES, Style::OutboxNotify), "the same, and each booking notifies the relay; commits that notify are serialized across the cluster"),
    direct("booking/postgres/tokio-postgres/dual-write", styled(POSTGRES, Style::DirectPublish), "the process publishes each booking after its commit; if it ends in between, the message is lost"),
    direct("booking/postgres/sqlx", sqlx(Dialect::Postgres), "tickets of events on PostgreSQL through sqlx"),
    direct("booking/mariadb/mysql-async", MYSQL, "tickets of events on MariaDB"),
    direct("booking/mariadb/mysql-async/outbox-row", styled(MYSQL, Style::OutboxRow), "each booking leaves an outbox row that is never published"),
    direct("booking/mariadb/mysql-async/outbox", styled(MYSQL, Style::Outbox), "each booking is published from an outbox by a relay"),
    direct("booking/mariadb/mysql-async/dual-write", styled(MYSQL, Style::DirectPublish), "the process publishes each booking after its commit; if it ends in between, the message is lost"),
];
