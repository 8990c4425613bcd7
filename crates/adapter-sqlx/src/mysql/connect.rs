//! Opening a connection as a URL asks for, and saying clearly why not.

use crate::fault::in_time;
use model::OpenError;
use sql::{Dialect, Isolation, MySqlSettings, ServerUrl, Tls, Use};
use sqlx::mysql::{MySqlConnectOptions, MySqlConnection, MySqlDatabaseError, MySqlSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Error, Row as _};

/// Opens a connection: encrypted as the URL says, in UTC, at its isolation level, in strict mode, with its limit on a
/// statement's time. What can be refused silently is read back.
pub(super) async fn connect(url: &ServerUrl) -> Result<MySqlConnection, OpenError> {
    if url.dialect != Dialect::MySql {
        return Err(unusable(url, "the URL is of another engine; one of MariaDB begins with `mysql://`"));
    }
    let url = &*url.next_node();
    in_time(url, async {
        let mut conn = options(url).connect().await.map_err(|error| open_error(url, &error))?;
        apply_settings(url, &mut conn).await?;
        Ok(conn)
    })
    .await
}

fn options(url: &ServerUrl) -> MySqlConnectOptions {
    let mut options = MySqlConnectOptions::new()
        .host(&url.host)
        .port(url.port)
        .username(&url.user)
        .database(&url.database)
        .statement_cache_capacity(crate::STATEMENTS_MAX)
        // The mode and the time zone of a session are ours to set.
        .pipes_as_concat(false)
        .no_engine_substitution(false)
        .timezone(None)
        .ssl_mode(match url.tls {
            Tls::Off => MySqlSslMode::Disabled,
            Tls::Prefer => MySqlSslMode::Preferred,
            Tls::Require => MySqlSslMode::Required,
            Tls::Verify => MySqlSslMode::VerifyIdentity,
        });
    if let Some(socket) = &url.socket {
        options = options.socket(socket);
    }
    if let Some(password) = &url.password {
        options = options.password(password.reveal());
    }
    if let (Tls::Verify, Some(authority)) = (url.tls, &url.authority) {
        options = options.ssl_ca(authority);
    }
    // No one reads a log of statements here, and one would cost time.
    options.disable_statement_logging()
}

/// Puts the session's settings in force and reads back those that a server or its proxy might not take.
async fn apply_settings(url: &ServerUrl, conn: &mut MySqlConnection) -> Result<(), OpenError> {
    let fail = |error| open_error(url, &error);
    let version: String = ask(conn, "select version()").await.map_err(fail)?;
    if let Some(why) = sql::mysql_unsupported(&version) {
        return Err(unusable(url, &why));
    }
    for text in url.mysql_session(Use::Measured) {
        sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut *conn).await.map_err(fail)?;
    }

    let level: String = ask(conn, MySqlSettings::ISOLATION).await.map_err(fail)?;
    if Isolation::named(&level) != Some(url.isolation) {
        let asked = url.isolation.name();
        return Err(unusable(url, &format!("requested isolation {asked}, server uses {level}")));
    }
    let mode: String = ask(conn, "select @@sql_mode").await.map_err(fail)?;
    if !mode.contains("STRICT_ALL_TABLES") {
        return Err(unusable(url, &format!("requested strict mode, server uses sql_mode `{mode}`")));
    }
    Ok(())
}

/// One value, asked by text.
async fn ask(conn: &mut MySqlConnection, question: &'static str) -> Result<String, Error> {
    sqlx::raw_sql(question).fetch_one(conn).await?.try_get(0)
}

/// Why a connection did not come about, or broke at once.
pub(super) fn open_error(url: &ServerUrl, error: &Error) -> OpenError {
    match error {
        Error::Database(error) => {
            let number = error.try_downcast_ref::<MySqlDatabaseError>().map_or(0, MySqlDatabaseError::number);
            sql::mysql_open_error(url, number, error.message())
        }
        Error::Tls(error) if url.tls == Tls::Require => unusable(
            url,
            &format!(
                "it does not encrypt, and the URL asks for that ({error}); `sslmode=disable` or `prefer` would do without"
            ),
        ),
        error => crate::fault::server_open_error(url, error),
    }
}

pub(super) fn unusable(url: &ServerUrl, why: &str) -> OpenError {
    OpenError::Unusable { what: url.place(), why: why.to_owned() }
}
