//! What each session of ours sets, whoever opens it and through whichever driver: nothing may depend on what a server, a database or
//! a role has as its defaults.
//!
//! Left as they are: what a reader of a result compares (planner settings, memory, `synchronous_commit`, lock waits of InnoDB), the
//! schema in which tables are looked for as long as there is one, and how long a measured session may be idle.

use crate::{Isolation, ServerUrl};

/// What a session is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// Measured calls: isolation and limit of statements are those of the URL.
    Measured,
    /// Loads, audits, copies, and whatever else happens beside the measured calls.
    Control,
}

/// What measured sessions on MariaDB say of values that do not fit: no.
const SQL_MODE: &str = "STRICT_ALL_TABLES,ERROR_FOR_DIVISION_BY_ZERO,NO_ENGINE_SUBSTITUTION";

impl ServerUrl {
    /// The settings of a session on PostgreSQL, as statements of the simple protocol. Settings that a version does not know are
    /// left out by the server. Results that they give are not wanted.
    #[must_use]
    pub fn postgres_session(&self, what: Use) -> String {
        let measured = what == Use::Measured;
        let isolation = if measured { self.isolation } else { Isolation::ReadCommitted };
        let timeout = if measured { self.statement_timeout_ms } else { 0 };
        let unlimited = match measured {
            true => "'transaction_timeout'",
            false => "'transaction_timeout', 'idle_session_timeout'",
        };
        let mut text = format!(
            "set statement_timeout = {timeout}; set lock_timeout = 0; set idle_in_transaction_session_timeout = 0; \
             set time zone 'UTC'; set session characteristics as transaction isolation level {}, read write, not deferrable; \
             select set_config(name, '0', false) from pg_settings where name in ({unlimited}); \
             select set_config('search_path', '\"$user\", public', false) \
             where coalesce(current_schema(), 'pg_catalog') in ('pg_catalog', 'information_schema');",
            isolation.sql()
        );
        if !measured {
            text.push_str(
                "set jit = off; set client_min_messages = error; set standard_conforming_strings = on; \
                 set datestyle = 'ISO'; set extra_float_digits = 1;",
            );
        }
        text
    }

    /// The settings of a session on MariaDB or MySQL, as statements, one after the other.
    #[must_use]
    pub fn mysql_session(&self, what: Use) -> [String; 2] {
        let measured = what == Use::Measured;
        let mode = if measured { SQL_MODE } else { "STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION" };
        let isolation = if measured { self.isolation } else { Isolation::RepeatableRead };
        let seconds = if measured { f64::from(self.statement_timeout_ms) / 1_000.0 } else { 0.0 };
        let more = match measured {
            true => "",
            // A load waits for nobody for ever, and an audit may pause between its questions.
            false => ", lock_wait_timeout = 30, wait_timeout = 86400",
        };
        [
            // What MySQL does not know is in comments that MariaDB executes.
            format!(
                "set session autocommit = 1, sql_mode = '{mode}', time_zone = '+00:00', completion_type = 'NO_CHAIN', \
                 character_set_client = utf8mb4, character_set_results = utf8mb4, collation_connection = utf8mb4_general_ci, \
                 sql_select_limit = 18446744073709551615, sql_big_selects = 1, sql_safe_updates = 0, sql_auto_is_null = 0, \
                 foreign_key_checks = 1, unique_checks = 1{more} /*M! , max_statement_time = {seconds:.3} */"
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
    fn measured_sessions_take_the_urls_word_and_others_none() {
        let postgres = url("postgres://u@h/d?isolation=serializable&statement_timeout_ms=250");
        let measured = postgres.postgres_session(Use::Measured);
        assert!(
            measured.contains("statement_timeout = 250;")
                && measured.contains("level serializable, read write")
        );
        assert!(
            !measured.contains("idle_session_timeout"),
            "what a server does to idle sessions is measured"
        );
        let control = postgres.postgres_session(Use::Control);
        assert!(
            control.contains("statement_timeout = 0;")
                && control.contains("level read committed, read write")
        );
        assert!(control.contains("idle_session_timeout"));

        let mysql = url("mysql://u@h/d?isolation=serializable&statement_timeout_ms=250");
        let [first, second] = mysql.mysql_session(Use::Measured);
        assert!(first.contains("max_statement_time = 0.250") && !first.contains("wait_timeout"));
        assert_eq!(second, "set session transaction isolation level serializable, read write");
        let [first, second] = mysql.mysql_session(Use::Control);
        assert!(first.contains("max_statement_time = 0.000") && first.contains("wait_timeout = 86400"));
        assert_eq!(second, "set session transaction isolation level repeatable read, read write");
    }
}
