//! Connections of the control plane, and the names and texts that go into statements.

use mysql_async::prelude::Queryable;
use mysql_async::{Conn, DriverError, Error, Opts, OptsBuilder, SslOpts};
use sql::{Secret, ServerUrl, Tls};
use std::future::Future;
use std::pin::{Pin, pin};

/// Set in every session: times are UTC, texts are UTF-8, backslashes escape and double quotes do not name, whatever the
/// server was told; and what was waited for in vain does not hold us for ever.
const SESSION: &str = "set session time_zone = '+00:00', sql_mode = 'STRICT_TRANS_TABLES,NO_ENGINE_SUBSTITUTION', \
                       lock_wait_timeout = 30";

/// The server's numbers for what is handled.
pub(crate) mod code {
    pub(crate) const UNKNOWN_DATABASE: u16 = 1049;
    pub(crate) const RECORD_FILE_FULL: u16 = 1114;
    pub(crate) const DISK_FULL: u16 = 1021;
    pub(crate) const NOT_ALLOWED: u16 = 1148;
    pub(crate) const LOCAL_INFILE_DISABLED: u16 = 3948;
    pub(crate) const LOCAL_INFILE_CLIENT_ONLY: u16 = 4166;
    pub(crate) const DATABASE_DENIED: u16 = 1044;
    pub(crate) const TABLE_DENIED: u16 = 1142;
    pub(crate) const NO_SUCH_TABLE: u16 = 1146;
}

/// The number of what the server said, if it was the server.
pub(crate) fn code_of(error: &Error) -> Option<u16> {
    match error {
        Error::Server(said) => Some(said.code),
        Error::Driver(_) | Error::Io(_) | Error::Other(_) | Error::Url(_) => None,
    }
}

/// Runs a future to its end on a runtime of its own: what calls us is synchronous.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> std::io::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Behind a pointer, or the runtime would be compiled anew for each future.
    let future: Pin<&mut dyn Future<Output = T>> = pin!(future);
    Ok(runtime.block_on(future))
}

fn opts(url: &ServerUrl, tls: bool, database: bool) -> Opts {
    let encryption = tls.then(|| {
        let checked = url.tls == Tls::Verify;
        let roots = url.authority.iter().map(|file| file.clone().into()).collect();
        SslOpts::default()
            .with_root_certs(roots)
            .with_danger_accept_invalid_certs(!checked)
            .with_danger_skip_domain_validation(!checked)
    });
    OptsBuilder::default()
        .ip_or_hostname(url.host.clone())
        .tcp_port(url.port)
        .socket(url.socket.as_ref().map(|socket| socket.display().to_string()))
        // Never to another way in than the one that was asked for.
        .prefer_socket(false)
        .user(Some(url.user.clone()))
        .pass(url.password.as_ref().map(Secret::reveal))
        .db_name(database.then(|| url.database.clone()))
        .ssl_opts(encryption)
        .init(vec![SESSION])
        .into()
}

/// Connects to the URL's database.
pub(crate) async fn connect(url: &ServerUrl) -> Result<Conn, Error> {
    reach(url, true).await
}

/// Connects to the server, whether or not the URL's database exists.
pub(crate) async fn connect_to_server(url: &ServerUrl) -> Result<Conn, Error> {
    reach(url, false).await
}

async fn reach(url: &ServerUrl, database: bool) -> Result<Conn, Error> {
    // A socket is not encrypted, and need not be.
    let tls = url.tls != Tls::Off && url.socket.is_none();
    let conn = match Conn::new(opts(url, tls, database)).await {
        Err(Error::Driver(DriverError::NoClientSslFlagFromServer)) if url.tls == Tls::Prefer => {
            Conn::new(opts(url, false, database)).await
        }
        result => result,
    }?;
    // Older ones do not know all that is asked of them, and would be told apart by what goes wrong then.
    let (major, minor, patch) = conn.server_version();
    if major < 8 || ((10, 0)..(10, 6)).contains(&(major, minor)) {
        let why = format!("it is version {major}.{minor}.{patch}; MariaDB 10.6 or newer is needed");
        return Err(Error::Other(why.into()));
    }
    Ok(conn)
}

/// A name in a statement.
pub(crate) fn ident(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A text in a statement; backslashes escape in our sessions.
pub(crate) fn text(value: &str) -> String {
    let mut quoted = String::with_capacity(value.len() + 2);
    quoted.push('\'');
    for character in value.chars() {
        match character {
            '\'' | '\\' => quoted.extend(['\\', character]),
            '\0' => quoted.push_str("\\0"),
            character => quoted.push(character),
        }
    }
    quoted.push('\'');
    quoted
}

/// Ends queries of other connections. Whether they still run is not asked: one that has ended is no error.
pub(crate) async fn kill_queries(url: &ServerUrl, ids: &[u32]) {
    if let Ok(mut conn) = connect_to_server(url).await {
        for id in ids {
            // What has ended meanwhile cannot be killed.
            let _ = conn.query_drop(format!("kill query {id}")).await;
        }
        let _ = conn.disconnect().await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_stay_inside_their_quotes() {
        assert_eq!(ident("a`b"), "`a``b`");
        assert_eq!(text(r"it's a \ 'quote'"), r"'it\'s a \\ \'quote\''");
    }
}
