//! What is really in force, asked of the server.

use crate::connect::refused;
use model::{Durability, OpenError, Stack};
use mysql_async::Conn;
use mysql_async::prelude::Queryable;
use sql::{MySqlFlushing, ServerUrl, mysql_durability};
use std::collections::BTreeMap;

/// The adapter's name and version. The driver does not say its version at run time; a test holds it to the manifest.
pub const ADAPTER: (&str, &str) = ("mysql_async", "0.37.1");

/// Settings worth comparing, in the order of the report. Those that a server does not know are left out.
const WORTH_COMPARING: [&str; 17] = [
    "innodb_buffer_pool_size",
    "innodb_log_file_size",
    "innodb_log_buffer_size",
    "innodb_flush_log_at_trx_commit",
    "innodb_flush_method",
    "innodb_doublewrite",
    "innodb_io_capacity",
    "innodb_lock_wait_timeout",
    "innodb_snapshot_isolation",
    "innodb_page_size",
    "max_connections",
    "thread_handling",
    "log_bin",
    "sync_binlog",
    "max_statement_time",
    "performance_schema",
    "sql_mode",
];

/// What a server and a session of ours say of themselves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `select version()`: names MariaDB.
    pub version: String,
    /// Isolation of the session.
    pub isolation: String,
    /// What these settings promise.
    pub durability: Durability,
    /// Whether the server takes no writes.
    pub read_only: bool,
    /// Everything worth comparing, in the order of the report.
    pub listed: Vec<(String, String)>,
}

/// Asks a connection that [`crate::connect`] opened for what is in force.
///
/// # Errors
/// When the server does not answer.
pub async fn read_back(conn: &mut Conn, url: &ServerUrl) -> Result<Settings, OpenError> {
    let fail = |error| refused(url, error);
    let wanted = WORTH_COMPARING.map(|name| format!("'{name}'")).join(", ");
    let others = "'innodb_flush_log_at_timeout', 'tx_isolation', 'version', 'read_only', 'innodb_read_only'";
    let question = format!("show session variables where variable_name in ({wanted}, {others})");
    let found: Vec<(String, String)> = conn.query(question).await.map_err(fail)?;
    let found: BTreeMap<String, String> =
        found.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    let cipher: Option<(String, String)> =
        conn.query_first("show session status like 'Ssl_cipher'").await.map_err(fail)?;

    let text = |name: &str| found.get(name).cloned().unwrap_or_default();
    let number = |name: &str| text(name).parse().unwrap_or(0);
    let on = |name: &str| matches!(text(name).to_ascii_uppercase().as_str(), "ON" | "1");
    let flushing = MySqlFlushing {
        // A value that is not there is one that we do not know, and no tier is claimed for it.
        flush_log_at_trx_commit: text("innodb_flush_log_at_trx_commit").parse().unwrap_or(u32::MAX),
        flush_log_at_timeout: number("innodb_flush_log_at_timeout"),
        log_bin: on("log_bin"),
        sync_binlog: number("sync_binlog"),
        doublewrite: text("innodb_doublewrite"),
        flush_method: text("innodb_flush_method"),
    };
    let mut listed: Vec<(String, String)> = WORTH_COMPARING
        .iter()
        .filter_map(|name| Some(((*name).to_owned(), found.get(*name)?.clone())))
        .collect();
    let cipher = cipher.map(|(_, cipher)| cipher).unwrap_or_default();
    let transport = match (&url.socket, cipher.as_str()) {
        (Some(_), _) => "unix socket".to_owned(),
        (None, "") => "TCP".to_owned(),
        (None, cipher) => format!("TCP, {cipher}"),
    };
    listed.push(("transport".to_owned(), transport));
    listed.push(("protocol".to_owned(), "prepared, binary".to_owned()));
    Ok(Settings {
        version: text("version"),
        isolation: text("tx_isolation").to_ascii_lowercase(),
        durability: mysql_durability(&flushing),
        read_only: on("read_only") || on("innodb_read_only"),
        listed,
    })
}

impl Settings {
    /// The stack, without a style.
    #[must_use]
    pub fn stack(&self) -> Stack {
        let (adapter, adapter_version) = ADAPTER;
        Stack {
            engine: "mysql".into(),
            engine_version: self.version.clone(),
            adapter: adapter.into(),
            adapter_version: adapter_version.into(),
            style: String::new(),
            route: "direct".into(),
            server: None,
            isolation: self.isolation.clone(),
            durability: self.durability.clone(),
            settings: self.listed.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_the_pinned_one() {
        let manifest = include_str!("../../../Cargo.toml");
        assert!(manifest.contains(&format!("mysql_async = {{ version = \"={}\"", ADAPTER.1)));
    }
}
