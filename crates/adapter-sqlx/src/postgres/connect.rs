//! Connecting: address, encryption, who we are, and the settings of a session.

use crate::fault::in_time;
use model::OpenError;
use sql::{Dialect, ServerUrl, Tls, Use, is_direct, postgres};
use sqlx::postgres::{PgConnectOptions, PgConnection, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Error, Row as _};

/// What a session reports after its settings were made, read back from the server.
#[derive(Debug)]
pub(crate) struct Facts {
    /// What [`postgres::VERSION`] gives: `15.20 (Debian …)`.
    pub(crate) version: String,
    /// Isolation of transactions that do not say otherwise.
    pub(crate) isolation: String,
    /// `statement_timeout` in milliseconds; 0 for none.
    pub(crate) statement_timeout_ms: u32,
}

/// Connects, makes the settings of the URL (UTC, isolation, statement timeout), and reads them back. Refuses a server that
/// takes no writes.
pub(crate) async fn connect(url: &ServerUrl) -> Result<(PgConnection, Facts), OpenError> {
    if url.dialect != Dialect::Postgres {
        let why = "the URL is of another engine; one of PostgreSQL begins with `postgres://`".into();
        return Err(OpenError::Unusable { what: url.place(), why });
    }
    let url = &*url.next_node();
    let options = options(url)?;
    in_time(url, async {
        let mut conn = options.connect().await.map_err(|error| open_error(url, &error))?;
        let facts = apply_settings(&mut conn, url).await?;
        Ok((conn, facts))
    })
    .await
}

fn options(url: &ServerUrl) -> Result<PgConnectOptions, OpenError> {
    let unusable = |why: String| OpenError::Unusable { what: url.place(), why };
    if url.channel_binding {
        return Err(unusable(
            "sqlx has no channel binding; use tokio-postgres, or leave channel_binding out".into(),
        ));
    }
    // A password file is the business of who makes the URL.
    let mut options = PgConnectOptions::new_without_pgpass()
        .host(&url.host)
        .port(url.port)
        .username(&url.user)
        .database(&url.database)
        .application_name("stackmark")
        .statement_cache_capacity(crate::STATEMENTS_MAX)
        .ssl_mode(match url.tls {
            Tls::Off => PgSslMode::Disable,
            Tls::Prefer => PgSslMode::Prefer,
            Tls::Require => PgSslMode::Require,
            Tls::Verify => PgSslMode::VerifyFull,
        });
    if let Some(folder) = &url.socket {
        options = options.socket(folder);
    }
    if let Some(password) = &url.password {
        options = options.password(password.reveal());
    }
    if let Some(wanted) = &url.options {
        let pairs = command_line(wanted).ok_or_else(|| {
            unusable(format!("sqlx takes options of the form `-c NAME=VALUE` only, not `{wanted}`"))
        })?;
        options = options.options(pairs);
    }
    options = options.options(url.postgres_startup(Use::Measured));
    if let (Tls::Verify, Some(authority)) = (url.tls, &url.authority) {
        options = options.ssl_root_cert(authority);
    }
    // No one reads a log of statements here, and one would cost time.
    Ok(options.disable_statement_logging())
}

/// The settings of `-c NAME=VALUE` and `--NAME=VALUE`; nothing where there is anything else.
fn command_line(options: &str) -> Option<Vec<(&str, &str)>> {
    let mut words = options.split_whitespace();
    let mut pairs = Vec::new();
    while let Some(word) = words.next() {
        let pair = match (word.strip_prefix("-c"), word.strip_prefix("--")) {
            (Some(""), _) => words.next()?,
            (Some(pair), _) | (None, Some(pair)) => pair,
            (None, None) => return None,
        };
        pairs.push(pair.split_once('=')?);
    }
    Some(pairs)
}

/// Makes the settings and reads them back.
async fn apply_settings(conn: &mut PgConnection, url: &ServerUrl) -> Result<Facts, OpenError> {
    let text = url.postgres_session(Use::Measured);
    sqlx::raw_sql(AssertSqlSafe(text)).execute(&mut *conn).await.map_err(|error| open_error(url, &error))?;
    let text = format!(
        "select {}, current_setting('server_version_num'), {}, pg_is_in_recovery()::text, \
         (select setting from pg_settings where name = 'statement_timeout'), current_setting('TimeZone'), \
         coalesce(current_setting('stackmark.connection', true), '')",
        postgres::VERSION,
        postgres::ISOLATION
    );
    let row = sqlx::raw_sql(AssertSqlSafe(text)).fetch_one(conn).await;
    let row = row.map_err(|error| open_error(url, &error))?;
    let sentence = |index: usize| row.try_get::<String, _>(index).unwrap_or_default();
    let facts = Facts {
        version: sentence(0),
        isolation: sentence(2),
        statement_timeout_ms: sentence(4).parse().unwrap_or(0),
    };
    postgres::supported(url, sentence(1).parse().unwrap_or(0), &facts.version)?;
    if !is_direct(&sentence(6)) {
        return Err(url.pooled());
    }
    postgres::writable(url, sentence(3) == "true")?;
    postgres::in_effect(url, &facts.isolation, &sentence(5), facts.statement_timeout_ms)?;
    Ok(facts)
}

/// What an error means for someone who connects.
pub(crate) fn open_error(url: &ServerUrl, error: &Error) -> OpenError {
    let Error::Database(error) = error else {
        return crate::fault::server_open_error(url, error);
    };
    match error.code().as_deref().unwrap_or_default() {
        // sqlx answers the question for a password by an empty one.
        "28P01" | "08P01" if url.password.is_none() => {
            let why = format!("it asks for the password of user `{}`, and no password is set", url.user);
            OpenError::Unusable { what: url.place(), why }
        }
        code => postgres::open_error(url, code, error.message()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_a_command_line_are_read() {
        assert_eq!(command_line("-c a=1 -cb=2 --c=x=y"), Some(vec![("a", "1"), ("b", "2"), ("c", "x=y")]));
        assert_eq!(command_line("endpoint=ep-1"), None);
        assert_eq!(command_line("-c a"), None);
    }
}
