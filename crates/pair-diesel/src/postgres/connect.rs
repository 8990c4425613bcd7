//! Connecting: address, who we are, and the settings of a session.

use super::fault::sqlstate_of;
use diesel::connection::SimpleConnection as _;
use diesel::prelude::*;
use diesel::result::Error;
use diesel::sql_types::{Bool, Integer, Text};
use diesel::{ConnectionError, QueryableByName, sql_query};
use model::OpenError;
use sql::{Dialect, ServerUrl, Tls, Use, is_direct, postgres};

/// How long a server may take to let someone in, in seconds.
const CONNECT_SECONDS_MAX: u32 = 10;

/// What a session reports after its settings were made, read back from the server.
#[derive(Debug, QueryableByName)]
pub(super) struct Facts {
    #[diesel(sql_type = Text)]
    pub(super) version: String,
    #[diesel(sql_type = Integer)]
    version_num: i32,
    /// Isolation of transactions that do not say otherwise.
    #[diesel(sql_type = Text)]
    pub(super) isolation: String,
    #[diesel(sql_type = Bool)]
    in_recovery: bool,
    /// In milliseconds; 0 for none.
    #[diesel(sql_type = Integer)]
    pub(super) statement_timeout_ms: i32,
    #[diesel(sql_type = Text)]
    time_zone: String,
    /// The language of messages.
    #[diesel(sql_type = Text)]
    messages: String,
    /// Whether our settings have arrived.
    #[diesel(sql_type = Text)]
    mark: String,
}

fn facts() -> String {
    format!(
        "select {} as version, current_setting('server_version_num')::integer as version_num, {} as isolation, \
         pg_is_in_recovery() as in_recovery, \
         (select setting from pg_settings where name = 'statement_timeout')::integer as statement_timeout_ms, \
         current_setting('TimeZone') as time_zone, current_setting('lc_messages') as messages, \
         coalesce(current_setting('stackmark.connection', true), '') as mark",
        postgres::VERSION,
        postgres::ISOLATION
    )
}

/// Connects, makes the settings of the URL (UTC, isolation, statement timeout, errors in English), and reads them back.
/// Refuses a server that takes no writes.
pub(super) fn connect(url: &ServerUrl) -> Result<(PgConnection, Facts), OpenError> {
    let unusable = |why: String| OpenError::Unusable { what: url.place(), why };
    if url.dialect != Dialect::Postgres {
        let why = "the URL is of another engine; one of PostgreSQL begins with `postgres://`";
        return Err(unusable(why.into()));
    }
    if let Tls::Require | Tls::Verify = url.tls {
        let why = format!(
            "sslmode={} is asked for, and the libpq under Diesel is compiled in without TLS; give sslmode=disable, or use \
             the subject of tokio-postgres",
            url.tls.name()
        );
        return Err(unusable(why));
    }
    let url = &*url.next_node();
    let mut conn = PgConnection::establish(&address(url)).map_err(|error| not_let_in(url, &error))?;
    let facts = apply_settings(&mut conn, url).map_err(|error| failed(url, &error))?;
    postgres::supported(url, i64::from(facts.version_num), &facts.version)?;
    if !is_direct(&facts.mark) {
        return Err(url.pooled());
    }
    postgres::writable(url, facts.in_recovery)?;
    if !english(&facts.messages) {
        return Err(unusable(format!(
            "its errors are in the language of lc_messages={}, and Diesel recognises deadlocks and timeouts only by their text; `alter role \"{}\" set lc_messages = 'C'` makes them English",
            facts.messages, url.user
        )));
    }
    let timeout_ms = u32::try_from(facts.statement_timeout_ms).unwrap_or(0);
    postgres::in_effect(url, &facts.isolation, &facts.time_zone, timeout_ms)?;
    Ok((conn, facts))
}

/// In libpq's own form, whose values are quoted. Diesel sets the time zone to UTC by itself.
fn address(url: &ServerUrl) -> String {
    let host = url.socket.as_ref().map_or(url.host.clone(), |folder| folder.display().to_string());
    let mut pairs = vec![
        ("host", host),
        ("port", url.port.to_string()),
        ("user", url.user.clone()),
        ("dbname", url.database.clone()),
        ("sslmode", Tls::Off.name().to_owned()),
        ("connect_timeout", CONNECT_SECONDS_MAX.to_string()),
        ("application_name", "stackmark".to_owned()),
        // None: a password file is the business of who makes the URL.
        ("passfile", "/dev/null/none".to_owned()),
    ];
    pairs.push(("options", url.postgres_options(Use::Measured)));
    pairs.extend(url.channel_binding.then(|| ("channel_binding", "require".to_owned())));
    pairs.extend(url.password.as_ref().map(|password| ("password", password.reveal().to_owned())));
    let quoted = |value: &str| value.replace('\\', "\\\\").replace('\'', "\\'");
    pairs.iter().map(|(key, value)| format!("{key}='{}' ", quoted(value))).collect()
}

fn apply_settings(conn: &mut PgConnection, url: &ServerUrl) -> QueryResult<Facts> {
    conn.batch_execute(&url.postgres_session(Use::Measured))?;
    let facts: Facts = sql_query(facts()).get_result(conn)?;
    if english(&facts.messages) || conn.batch_execute("set lc_messages = 'C'").is_err() {
        // Only a superuser may choose the language; for others it has to be English already.
        return Ok(facts);
    }
    Ok(Facts { messages: "C".into(), ..facts })
}

fn english(language: &str) -> bool {
    matches!(language, "C" | "POSIX" | "") || language.starts_with("C.") || language.starts_with("en")
}

/// What an error of a statement means for someone who connects.
pub(super) fn failed(url: &ServerUrl, error: &Error) -> OpenError {
    let (what, why) = (url.place(), error.to_string());
    match sqlstate_of(&why) {
        "" => OpenError::Unusable { what, why },
        sqlstate => postgres::open_error(url, sqlstate, &why),
    }
}

/// Why no one was let in. libpq says it in a text that has no password in it, and the server in its own language, since this
/// comes before any setting.
fn not_let_in(url: &ServerUrl, error: &ConnectionError) -> OpenError {
    let said = error.to_string();
    let what = url.place();
    if said.contains("no password supplied") {
        let why = format!("it asks for the password of user `{}`, and no password is set", url.user);
        return OpenError::Unusable { what, why };
    }
    let sqlstate = match sqlstate_of(&said) {
        "" if said.contains("password authentication failed") => "28P01",
        "" if said.contains("database \"") && said.contains("does not exist") => "3D000",
        sqlstate => sqlstate,
    };
    let why = last_line(&said);
    match sqlstate {
        // The server let no one in for another reason that lasts: no such role, no entry in its access file.
        "" if said.contains("FATAL:") => OpenError::Unusable { what, why },
        "" => OpenError::Unreachable { what, why },
        sqlstate => postgres::open_error(url, sqlstate, &why),
    }
}

/// libpq writes a line for each address that it tried, the last of them about what counts, and questions below them.
fn last_line(said: &str) -> String {
    let line = said.lines().rfind(|line| !line.is_empty() && !line.starts_with(char::is_whitespace));
    line.unwrap_or(said).trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_english_can_be_told_apart() {
        assert!(["C", "C.UTF-8", "POSIX", "", "en_US.UTF-8"].into_iter().all(english));
        assert!(!["de_DE.UTF-8", "cs", "zh_CN"].into_iter().any(english));
    }

    #[test]
    fn what_libpq_tried_last_is_told_without_its_questions() {
        let said = "connection to server at \"::1\" failed: refused\nconnection to server at \"127.0.0.1\" failed: refused\n\tIs \
                    the server running?\n";
        assert_eq!(last_line(said), "connection to server at \"127.0.0.1\" failed: refused");
    }
}
