//! What each session of ours sets, whoever opens it and through whichever driver: nothing may depend on what a server, a database or
//! a role has as its defaults.
//!
//! Left as they are: what a reader of a result compares (planner settings, memory, `synchronous_commit`, lock waits of InnoDB), the
//! schema in which tables are looked for as long as there is one, and how long a measured session may be idle.

use crate::{Dialect, Isolation, ServerUrl, mysql, postgres};
use model::OpenError;
use std::ops::RangeInclusive;

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Measured calls: isolation and limit of statements are those of the URL.
    Measured,
    /// Loads, audits, copies, and whatever else happens besides the measured calls.
    Control,
}

/// Settings of PostgreSQL for what happens besides the measured calls.
const CONTROL: [(&str, &str); 5] = [
    ("jit", "off"),
    ("client_min_messages", "error"),
    ("standard_conforming_strings", "on"),
    ("datestyle", "ISO"),
    ("extra_float_digits", "1"),
];

/// What measured sessions on MariaDB and MySQL say of values that do not fit: no.
const SQL_MODE: &str = "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

/// A setting of PostgreSQL's that means nothing to it: what a session finds of it in force says whether its settings have arrived.
const MARK: (&str, &str) = ("stackmark.connection", "direct");

/// Settings that measured sessions have of their own, whatever the server has: those of [`ServerUrl::postgres_startup`] and
/// [`ServerUrl::mysql_session`].
const OF_SESSIONS: [&[&str]; 2] = [
    &[
        "statement_timeout",
        "default_transaction_isolation",
        "default_transaction_read_only",
        "default_transaction_deferrable",
        "lock_timeout",
        "idle_in_transaction_session_timeout",
        "timezone",
        "transaction_timeout",
    ],
    &[
        "autocommit",
        "sql_mode",
        "time_zone",
        "completion_type",
        "character_set_client",
        "character_set_results",
        "collation_connection",
        "sql_select_limit",
        "sql_big_selects",
        "sql_safe_updates",
        "sql_auto_is_null",
        "foreign_key_checks",
        "unique_checks",
        "max_statement_time",
        "max_execution_time",
        "tx_isolation",
        "transaction_isolation",
        "tx_read_only",
        "transaction_read_only",
        "tidb_enable_noop_functions",
    ],
];

/// Whether measured sessions have a setting of their own, so that the server's has no effect on them.
pub fn is_set_by_sessions(dialect: Dialect, name: &str) -> bool {
    match dialect {
        Dialect::Sqlite => false,
        Dialect::Postgres => OF_SESSIONS[0].contains(&name),
        Dialect::MySql => OF_SESSIONS[1].contains(&name),
    }
}

/// Settings that begin with `stackmark.`, which engines do not have and Stackmark carries out: for which engine, what a value is, and
/// its range.
const OWN: [(&str, Dialect, &str, RangeInclusive<u32>); 4] = [
    (postgres::FILLFACTOR, Dialect::Postgres, "a whole number of percent", 10..=100),
    (mysql::GALERA, Dialect::MySql, "a number of nodes", 2..=mysql::NODES_MAX as u32),
    (mysql::SPIDER, Dialect::MySql, "a number of data nodes", 2..=mysql::NODES_MAX as u32),
    (mysql::WRITERS, Dialect::MySql, "a number of nodes", 1..=mysql::NODES_MAX as u32),
];

/// What is wrong with a value for a setting of a private engine, as far as that is ours to know; the engine itself says the rest when it
/// starts.
///
/// # Errors
/// A name that begins with `stackmark.` and is not one of ours, one of another engine's, or a value outside of its range.
pub fn check_setting(dialect: Dialect, name: &str, value: &str) -> Result<(), String> {
    if !name.starts_with("stackmark.") {
        return Ok(());
    }
    let Some((_, engine, what, range)) = OWN.iter().find(|(known, ..)| *known == name) else {
        let known = OWN.map(|(name, ..)| name).join(", ");
        return Err(format!("there is no setting {name}; Stackmark has {known} of its own"));
    };
    if dialect != *engine {
        return Err(format!("{name} is for {}, and not for {}", engine.name(), dialect.name()));
    }
    match value.parse() {
        Ok(value) if range.contains(&value) => Ok(()),
        _ => Err(format!("{name} is {what} from {} to {}; `{value}` is not", range.start(), range.end())),
    }
}

/// Whether the sessions that ask a server for its settings have this one of their own, so that they cannot tell the server's.
pub fn is_hidden_from_control(dialect: Dialect, name: &str) -> bool {
    dialect == Dialect::Postgres && CONTROL.iter().any(|(known, _)| *known == name)
}

/// Whether the settings of a session have arrived, by its answer to `current_setting('stackmark.connection', true)`.
pub fn is_direct(mark: &str) -> bool {
    mark == MARK.1
}

impl ServerUrl {
    /// The settings that a session on PostgreSQL has from its first moment, before the first statement that a limit could hit. A
    /// pooler rejects them or drops them.
    pub fn postgres_startup(&self, what: Use) -> Vec<(&'static str, String)> {
        let measured = what == Use::Measured;
        let isolation = if measured { self.isolation } else { Isolation::ReadCommitted };
        let timeout = if measured { self.statement_timeout_ms } else { 0 };
        let mut settings = vec![
            ("statement_timeout", timeout.to_string()),
            ("default_transaction_isolation", isolation.sql().to_owned()),
            ("default_transaction_read_only", "off".to_owned()),
            ("default_transaction_deferrable", "off".to_owned()),
            (MARK.0, MARK.1.to_owned()),
        ];
        let common =
            [("lock_timeout", "0"), ("idle_in_transaction_session_timeout", "0"), ("timezone", "UTC")];
        settings.extend(common.map(|(name, value)| (name, value.to_owned())));
        if !measured {
            settings.extend(CONTROL.map(|(name, value)| (name, value.to_owned())));
        }
        settings
    }

    /// The same as the startup parameter `options`, behind those of the address.
    pub fn postgres_options(&self, what: Use) -> String {
        let escaped = |value: &str| value.replace('\\', "\\\\").replace(' ', "\\ ");
        let settings = self.postgres_startup(what);
        let ours = settings.iter().map(|(name, value)| format!("-c {name}={}", escaped(value)));
        self.options.clone().into_iter().chain(ours).collect::<Vec<_>>().join(" ")
    }

    /// Those that depend on the version or on what is there, as statements of the simple protocol. Results that they give are not
    /// wanted.
    pub fn postgres_session(&self, what: Use) -> String {
        let unlimited = match what {
            Use::Measured => "'transaction_timeout'",
            Use::Control => "'transaction_timeout', 'idle_session_timeout'",
        };
        format!(
            "select set_config(name, '0', false) from pg_settings where name in ({unlimited}); \
             select set_config('search_path', '\"$user\", public', false) \
             where coalesce(current_schema(), 'pg_catalog') in ('pg_catalog', 'information_schema')"
        )
    }

    /// The settings of a transaction that only reads, over a connection on which no setting may outlive it: behind a pooler. A
    /// transaction has begun.
    pub fn postgres_transaction(&self) -> String {
        let of_transactions = |name: &str| name.starts_with("default_transaction_") || name == MARK.0;
        let settings = self.postgres_startup(Use::Control).into_iter();
        let settings = settings.filter(|(name, _)| !of_transactions(name));
        settings.map(|(name, value)| format!("set local {name} = '{value}';")).collect()
    }

    /// Why an address cannot be used that a pooler answers at.
    pub fn pooled(&self) -> OpenError {
        let why = "it is a connection pooler or a proxy that does not pass session settings to PostgreSQL\nhint: use the address of \
                   PostgreSQL itself (`stackmark audit` works through a pooler if the address has no `options`)";
        OpenError::Unusable { what: self.place(), why: why.into() }
    }

    /// The settings of a session on MariaDB or MySQL, as statements, one after the other.
    pub fn mysql_session(&self, what: Use) -> [String; 2] {
        let measured = what == Use::Measured;
        let mode = if measured { SQL_MODE } else { "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION" };
        let isolation = if measured { self.isolation } else { Isolation::RepeatableRead };
        let milliseconds = if measured { self.statement_timeout_ms } else { 0 };
        let seconds = f64::from(milliseconds) / 1_000.0;
        let more = match measured {
            // The name of the lock says that a connection is one of ours (rule `others`).
            true => ", @stackmark = get_lock(concat('stackmark session ', connection_id()), 0)",
            // A load waits for no one for ever, and an audit may pause between its questions.
            false => ", lock_wait_timeout = 30, wait_timeout = 2147483",
        };
        // Whoever loads, copies or audits on a Galera cluster sees what has been committed on any node.
        let caught_up = if measured || self.others.is_empty() { "" } else { ", wsrep_sync_wait = 15" };
        [
            // What the other does not know is in comments: MySQL skips `M!`, MariaDB those for MySQL from 5.7 to 50999, and both `T!`, which
            // is TiDB's. It takes `start transaction read only` only if it need not forbid to write.
            format!(
                "set session autocommit = 1, sql_mode = '{mode}', time_zone = '+00:00', completion_type = 'NO_CHAIN', \
                 character_set_client = utf8mb4, character_set_results = utf8mb4, collation_connection = utf8mb4_general_ci, \
                 sql_select_limit = 18446744073709551615, sql_big_selects = 1, sql_safe_updates = 0, sql_auto_is_null = 0, \
                 foreign_key_checks = 1, unique_checks = 1{more} /*M! , max_statement_time = {seconds:.3}{caught_up} *//*!50708 , max_execution_time = {milliseconds} */ \
                 /*T! , tidb_enable_noop_functions = 1 */"
            ),
            format!("set session transaction isolation level {}, read write", isolation.sql()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> ServerUrl {
        text.parse().unwrap()
    }

    #[test]
    fn what_sessions_set_is_listed() {
        let url: ServerUrl = "postgres://stackmark@127.0.0.1:5432/bench".parse().unwrap();
        for (name, _) in url.postgres_startup(Use::Measured) {
            assert!(name == MARK.0 || is_set_by_sessions(Dialect::Postgres, name), "{name}");
        }
        for (name, _) in url.postgres_startup(Use::Control) {
            let is_known = is_set_by_sessions(Dialect::Postgres, name)
                || is_hidden_from_control(Dialect::Postgres, name);
            assert!(name == MARK.0 || is_known, "{name}");
        }
        let url: ServerUrl = "mysql://stackmark@127.0.0.1:3306/bench".parse().unwrap();
        let [set, _] = url.mysql_session(Use::Measured);
        assert!(set.ends_with(" /*T! , tidb_enable_noop_functions = 1 */"), "{set}");
        for setting in
            set.trim_start_matches("set session ").split(", ").filter(|setting| setting.contains(" = "))
        {
            let name = setting.split(" = ").next().unwrap().trim();
            assert!(
                name.starts_with('@') || is_set_by_sessions(Dialect::MySql, name) || name.contains(','),
                "{name}"
            );
        }
        assert!(!is_set_by_sessions(Dialect::Postgres, "work_mem"));
    }

    #[test]
    fn measured_sessions_take_the_urls_word_and_others_none() {
        let postgres = url(
            "postgres://u@h/d?isolation=serializable&statement_timeout_ms=250&options=-c%20search_path%3Dmine",
        );
        let measured = postgres.postgres_options(Use::Measured);
        assert!(measured.starts_with("-c search_path=mine -c statement_timeout=250 "), "{measured}");
        assert!(measured.contains("-c default_transaction_isolation=serializable "), "{measured}");
        assert!(
            !postgres.postgres_session(Use::Measured).contains("idle_session_timeout"),
            "that is measured"
        );
        let control = postgres.postgres_options(Use::Control);
        assert!(control.contains("-c default_transaction_isolation=read\\ committed "), "{control}");
        assert!(postgres.postgres_session(Use::Control).contains("idle_session_timeout"));
        let transaction = postgres.postgres_transaction();
        assert!(
            transaction.starts_with("set local statement_timeout = '0';set local lock_timeout = '0';"),
            "{transaction}"
        );
        assert!(
            !transaction.contains("default_transaction") && !transaction.contains("stackmark"),
            "{transaction}"
        );

        let mysql = url("mysql://u@h/d?isolation=serializable&statement_timeout_ms=250");
        let [first, second] = mysql.mysql_session(Use::Measured);
        assert!(first.contains("max_statement_time = 0.250") && !first.contains("wait_timeout"));
        assert_eq!(second, "set session transaction isolation level serializable, read write");
        let [first, second] = mysql.mysql_session(Use::Control);
        assert!(first.contains("max_statement_time = 0.000") && first.contains("wait_timeout = 2147483"));
        assert_eq!(second, "set session transaction isolation level repeatable read, read write");
    }
}
