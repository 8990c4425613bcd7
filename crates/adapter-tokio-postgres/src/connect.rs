//! Connecting: address, encryption, who we are, and the settings of a session.

use crate::{Connected, Link};
use model::{Fault, OpenError};
use sql::{CONNECT_MAX, ServerUrl, Tls, Use, encryption, is_direct, postgres};
use std::error::Error as _;
use tokio_postgres::config::{ChannelBinding, SslMode};
use tokio_postgres::{Client, Config, Error, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

/// What a session reports after its settings were made, read back from the server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// What [`postgres::VERSION`] gives: `15.20 (Debian …)`.
    pub version: String,
    /// `server_version_num`: 150020.
    pub version_num: i64,
    /// Isolation of transactions that do not say otherwise.
    pub isolation: String,
    /// Whether the server is a replica.
    pub in_recovery: bool,
    /// `statement_timeout` in milliseconds; 0 for none.
    pub statement_timeout_ms: u32,
}

/// Connects, makes the settings of the URL (UTC, isolation, statement timeout), and reads them back. A server that takes no
/// writes will do: see [`connect_to_write`].
///
/// # Errors
/// [`OpenError::Unreachable`] when nothing answers, or no one is let in now; [`OpenError::Unusable`] when trying again will
/// not help: password, database, encryption, a server that is too old, a setting that does not take.
pub async fn connect(url: &ServerUrl) -> Result<Connected, OpenError> {
    tokio::time::timeout(CONNECT_MAX, connect_at_leisure(url)).await.map_err(|_| url.no_answer())?
}

/// The same, and refuses a server that takes no writes.
///
/// # Errors
/// As for [`connect`]; [`OpenError::Unusable`] on a replica.
pub async fn connect_to_write(url: &ServerUrl) -> Result<Connected, OpenError> {
    let connected = connect(url).await?;
    postgres::writable(url, connected.facts.in_recovery)?;
    Ok(connected)
}

async fn connect_at_leisure(url: &ServerUrl) -> Result<Connected, OpenError> {
    let url = &*url.next_node();
    let tls = MakeRustlsConnect::new(transport::database_tls(url)?);
    let (client, connection) = config(url).connect(tls).await.map_err(|error| open_error(url, &error))?;
    let mut link = Link::new(connection);
    let facts = apply_settings(&client, &mut link, url).await?;
    Ok(Connected { client, link, facts })
}

fn config(url: &ServerUrl) -> Config {
    let mut config = Config::new();
    match &url.socket {
        Some(folder) => config.host_path(folder),
        None => config.host(&url.host),
    };
    config.port(url.port).user(&url.user).dbname(&url.database).application_name("stackmark");
    if let Some(password) = &url.password {
        config.password(password.reveal());
    }
    config.options(url.postgres_options(Use::Measured));
    if url.channel_binding {
        config.channel_binding(ChannelBinding::Require);
    }
    config.ssl_mode(match url.tls {
        Tls::Off => SslMode::Disable,
        Tls::Prefer => SslMode::Prefer,
        Tls::Require | Tls::Verify => SslMode::Require,
    });
    config
}

/// Makes the settings and reads them back.
async fn apply_settings(client: &Client, link: &mut Link, url: &ServerUrl) -> Result<Facts, OpenError> {
    let failed = |error| open_error(url, &error);
    link.until(client.batch_execute(&url.postgres_session(Use::Measured))).await.map_err(failed)?;
    let text = format!(
        "select {}, current_setting('server_version_num'), {}, pg_is_in_recovery(), \
         (select setting from pg_settings where name = 'statement_timeout'), current_setting('TimeZone'), \
         coalesce(current_setting('stackmark.connection', true), '')",
        postgres::VERSION,
        postgres::ISOLATION
    );
    let answer = link.until(client.simple_query(&text)).await.map_err(failed)?;
    let row = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    let words = |index| row.and_then(|row| row.try_get(index).ok().flatten()).unwrap_or_default();
    let facts = Facts {
        version: words(0).into(),
        version_num: words(1).parse().unwrap_or(0),
        isolation: words(2).into(),
        in_recovery: words(3) == "t",
        statement_timeout_ms: words(4).parse().unwrap_or(0),
    };
    postgres::supported(url, facts.version_num, &facts.version)?;
    if !is_direct(words(6)) {
        return Err(url.pooled());
    }
    postgres::in_effect(url, &facts.isolation, words(5), facts.statement_timeout_ms)?;
    Ok(facts)
}

/// What an error of the driver means for someone who connects.
pub fn open_error(url: &ServerUrl, error: &Error) -> OpenError {
    if let Some(error) = error.as_db_error() {
        return postgres::open_error(url, error.code().code(), error.message());
    }
    let what = url.place();
    let why = chain(error);
    if let Some(why) = encryption::certificate(url, &why) {
        return OpenError::Unusable { what, why };
    }
    match why.as_str() {
        "invalid configuration: password missing" => {
            let why = format!("it asks for the password of user `{}`, and no password is set", url.user);
            OpenError::Unusable { what, why }
        }
        "error performing TLS handshake: server does not support TLS" => {
            OpenError::Unusable { what, why: encryption::NOT_OFFERED.to_owned() }
        }
        _ if error.is_closed() || source_is_io(error) => OpenError::Unreachable { what, why },
        _ => OpenError::Unusable { what, why },
    }
}

/// What an error of the driver means for a call. `at_commit` says whether the commit had been sent.
#[cold]
pub fn fault(error: &Error, at_commit: bool) -> Fault {
    match error.as_db_error() {
        Some(error) => postgres::fault(error.code().code(), at_commit, error.message()),
        None if error.is_closed() || source_is_io(error) => postgres::lost(at_commit),
        None => Fault::defect(model::DefectKind::Engine, format!("tokio-postgres: {}", chain(error))),
    }
}

/// Whether the operating system said it: a connection that broke, or was never made. Encryption that was refused arrives in
/// the same clothes and is distinguished by its kind.
fn source_is_io(error: &Error) -> bool {
    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    source.is_some_and(|source| {
        !matches!(source.kind(), std::io::ErrorKind::InvalidData | std::io::ErrorKind::InvalidInput)
    })
}

/// An error with its sources. None of them knows the password: the driver takes it apart from everything it prints.
fn chain(error: &Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        text.push_str(": ");
        text.push_str(&inner.to_string());
        source = inner.source();
    }
    text
}
