//! Opening a connection as a URL asks for, and saying clearly why not.

use model::OpenError;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, DriverError, Error, Opts, OptsBuilder, SslOpts};
use sql::{CONNECT_MAX, Dialect, MySqlSettings, Secret, ServerUrl, Tls, Use, encryption};

/// Opens a connection: encrypted as the URL says, in UTC, at its isolation level, in strict mode, with its limit on a
/// statement's time. What can be refused silently is read back.
///
/// An update counts the rows that it found, also those that it left as they were.
///
/// # Errors
/// [`OpenError::Unreachable`] when nothing answers or the server is full; [`OpenError::Unusable`] when it refuses the
/// user, the password or the database, is too old or of another kind, or a setting does not take. No error holds a
/// password.
pub async fn connect(url: &ServerUrl) -> Result<Conn, OpenError> {
    tokio::time::timeout(CONNECT_MAX, connect_at_leisure(url)).await.map_err(|_| url.no_answer())?
}

async fn connect_at_leisure(url: &ServerUrl) -> Result<Conn, OpenError> {
    if url.dialect != Dialect::MySql {
        return Err(unusable(url, "the URL is of another engine; one of MariaDB begins with `mysql://`"));
    }
    let url = &*url.next_node();
    let mut conn = match url.tls {
        Tls::Off => Conn::new(options(url, None)).await,
        Tls::Prefer => match Conn::new(options(url, Some(encryption(url)))).await {
            Err(Error::Driver(DriverError::NoClientSslFlagFromServer)) => Conn::new(options(url, None)).await,
            result => result,
        },
        Tls::Require | Tls::Verify => Conn::new(options(url, Some(encryption(url)))).await,
    }
    .map_err(|error| refused(url, error))?;
    suits(url, &mut conn).await?;
    apply_settings(url, &mut conn).await?;
    Ok(conn)
}

fn options(url: &ServerUrl, encryption: Option<SslOpts>) -> Opts {
    // The driver asks rustls for the process's provider of cryptography. It is an error if another was installed, and
    // then that one serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
    OptsBuilder::default()
        .ip_or_hostname(url.host.clone())
        .tcp_port(url.port)
        .socket(url.socket.as_ref().map(|socket| socket.display().to_string()))
        // Otherwise the driver would leave a TCP connection to loopback for the server's socket, unasked.
        .prefer_socket(url.socket.is_some())
        .user(Some(url.user.clone()))
        .pass(url.password.as_ref().map(Secret::reveal))
        .db_name(Some(url.database.clone()))
        .ssl_opts(encryption)
        .client_found_rows(true)
        // Statements are ours to keep; the driver must not close one to make room for another.
        .stmt_cache_size(1024)
        .into()
}

fn encryption(url: &ServerUrl) -> SslOpts {
    let checked = url.tls == Tls::Verify;
    SslOpts::default()
        .with_root_certs(url.authority.iter().map(|file| file.clone().into()).collect())
        .with_danger_accept_invalid_certs(!checked)
        .with_danger_skip_domain_validation(!checked)
}

async fn suits(url: &ServerUrl, conn: &mut Conn) -> Result<(), OpenError> {
    let version: String = ask(url, conn, "select version()").await?;
    sql::mysql_unsupported(&version).map_or(Ok(()), |why| Err(unusable(url, &why)))
}

/// Puts the session's settings in force and reads back those that a server or its proxy might not take.
async fn apply_settings(url: &ServerUrl, conn: &mut Conn) -> Result<(), OpenError> {
    let isolation = url.isolation;
    let fail = |error| refused(url, error);
    for text in url.mysql_session(Use::Measured) {
        conn.query_drop(text).await.map_err(fail)?;
    }

    let level: String = ask(url, conn, MySqlSettings::ISOLATION).await?;
    if sql::Isolation::named(&level) != Some(isolation) {
        let asked = isolation.name();
        return Err(unusable(url, &format!("requested isolation {asked}, server uses {level}")));
    }
    let mode: String = ask(url, conn, "select @@sql_mode").await?;
    if !mode.contains("STRICT_ALL_TABLES") {
        return Err(unusable(url, &format!("requested strict mode, server uses sql_mode `{mode}`")));
    }
    Ok(())
}

/// One value, asked by text.
pub(crate) async fn ask<T>(url: &ServerUrl, conn: &mut Conn, question: &str) -> Result<T, OpenError>
where
    T: mysql_async::prelude::FromValue + Send + 'static,
{
    let answer: Option<Option<T>> = conn.query_first(question).await.map_err(|error| refused(url, error))?;
    answer.flatten().ok_or_else(|| unusable(url, &format!("it has no answer to `{question}`")))
}

/// Why a connection did not come about, or broke at once.
pub(crate) fn refused(url: &ServerUrl, error: Error) -> OpenError {
    let what = url.place();
    match error {
        Error::Server(error) => sql::mysql_open_error(url, error.code, &error.message),
        Error::Driver(DriverError::NoClientSslFlagFromServer) => unusable(url, encryption::NOT_OFFERED),
        Error::Io(error) => match (encryption::certificate(url, &error.to_string()), error) {
            (Some(why), _) => unusable(url, &why),
            (None, error @ mysql_async::IoError::Tls(_)) => unusable(url, &error.to_string()),
            (None, mysql_async::IoError::Io(error)) => {
                OpenError::Unreachable { what, why: error.to_string() }
            }
        },
        Error::Driver(DriverError::ConnectionClosed) => {
            OpenError::Unreachable { what, why: "it closed the connection".to_owned() }
        }
        error @ (Error::Driver(_) | Error::Other(_) | Error::Url(_)) => unusable(url, &error.to_string()),
    }
}

pub(crate) fn unusable(url: &ServerUrl, why: &str) -> OpenError {
    OpenError::Unusable { what: url.place(), why: why.to_owned() }
}
