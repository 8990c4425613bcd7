//! Opening connections with a workload's statements, and what is in force on the server, read back.

use super::connect::{connect, open_error, unusable};
use crate::{ADAPTER, SqlxMySqlConn};
use model::{Durability, Home, OpenError, Stack};
use sql::{MySqlFlushing, ServerUrl, SqlOpener, mysql_durability};
use sqlx::mysql::MySqlConnection;
use sqlx::{AssertSqlSafe, Error, Row as _};
use std::collections::BTreeMap;

/// Opens connections to one database of a MariaDB server.
#[derive(Debug)]
pub struct SqlxMySql {
    url: ServerUrl,
    statements: Vec<String>,
    settings: Settings,
}

/// What a server and a session of ours say of themselves.
#[derive(Debug)]
struct Settings {
    version: String,
    isolation: String,
    durability: Durability,
    read_only: bool,
    /// Everything worth comparing, in the order of the report.
    listed: Vec<(String, String)>,
}

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

impl SqlxMySql {
    /// Reaches the server once, checks that it takes writes and that the statements fit it, and asks what is in force
    /// there. `statements` are the texts in the order of their numbers.
    ///
    /// # Errors
    /// [`OpenError::Unreachable`] when nothing answers or the server is full; [`OpenError::Unusable`] when it refuses the
    /// user, the password or the database, is too old, of another kind or takes no writes, or when a setting or a statement
    /// does not take. No error holds a password.
    pub async fn reach(url: &ServerUrl, statements: Vec<String>) -> Result<SqlxMySql, OpenError> {
        let mut conn = connect(url).await?;
        let settings = read_back(&mut conn, url).await.map_err(|error| open_error(url, &error))?;
        if settings.read_only {
            return Err(unusable(
                url,
                "it is read-only: a replica, or set so; runs need one that takes writes",
            ));
        }
        SqlxMySqlConn::prepare(conn, &statements, url).await?;
        Ok(SqlxMySql { url: url.clone(), statements, settings })
    }
}

async fn read_back(conn: &mut MySqlConnection, url: &ServerUrl) -> Result<Settings, Error> {
    let wanted = WORTH_COMPARING.map(|name| format!("'{name}'")).join(", ");
    let others = "'innodb_flush_log_at_timeout', 'tx_isolation', 'version', 'read_only', 'innodb_read_only'";
    let variables =
        pairs(conn, format!("show session variables where variable_name in ({wanted}, {others})"));
    let found: BTreeMap<String, String> =
        variables.await?.into_iter().map(|(name, value)| (name.to_ascii_lowercase(), value)).collect();
    let cipher = pairs(conn, "show session status like 'Ssl_cipher'".to_owned()).await?;

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
    let cipher = cipher.into_iter().next().map_or(String::new(), |(_, cipher)| cipher);
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

/// The answer to `show`: names and values.
async fn pairs(conn: &mut MySqlConnection, question: String) -> Result<Vec<(String, String)>, Error> {
    let rows = sqlx::raw_sql(AssertSqlSafe(question)).fetch_all(conn).await?;
    rows.iter().map(|row| Ok((row.try_get(0)?, row.try_get(1)?))).collect()
}

impl SqlOpener for SqlxMySql {
    type Conn = SqlxMySqlConn;
    const HOME: Home = Home::Task;

    async fn open(&self) -> Result<SqlxMySqlConn, OpenError> {
        SqlxMySqlConn::prepare(connect(&self.url).await?, &self.statements, &self.url).await
    }

    fn stack(&self) -> Stack {
        let settings = &self.settings;
        Stack {
            engine: "mysql".into(),
            engine_version: settings.version.clone(),
            adapter: ADAPTER.0.into(),
            adapter_version: ADAPTER.1.into(),
            style: "plain".into(),
            route: "direct".into(),
            server: None,
            isolation: settings.isolation.clone(),
            durability: settings.durability.clone(),
            settings: settings.listed.clone(),
        }
    }
}
