//! A connection whose answers are waited for, and the names and texts that go into statements.

use super::writer::Way;
use crate::engine::Canceller;
use crate::error::{Cause, CauseKind};
use model::{Product, caught};
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, DriverError, Error, Opts, OptsBuilder, SslOpts};
use sql::{CONNECT_MAX, Secret, ServerUrl, Tls, Use};
use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

/// How long a connection may take to say goodbye, and a server to hear that a query is to be ended.
const CLOSE_MAX: Duration = Duration::from_millis(500);

fn pooled(url: &ServerUrl) -> Cause {
    let why = format!(
        "could not use {}: it is a proxy, whose connections are not sessions of MariaDB\nhint: use the address of MariaDB itself",
        url.place()
    );
    Cause::new(CauseKind::Pooled, why)
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

/// A connection and the executor that drives it while someone waits.
pub(crate) struct Session {
    url: ServerUrl,
    conn: Option<Conn>,
    runtime: Runtime,
    /// What only speaks MySQL's protocol.
    pub(crate) product: Option<Product>,
    /// How it stores rows.
    pub(crate) way: Option<Way>,
    /// Whether the temporary tables of its audits could be made, or why not.
    pub(crate) made: Result<(), Cause>,
}

impl Session {
    /// Connects to the URL's database, or to its server whether or not the database exists.
    pub(crate) fn open(url: &ServerUrl, database: bool) -> Result<Session, Cause> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let reaching = async { tokio::time::timeout(CONNECT_MAX, caught(reach(url, database))).await };
        let (mut conn, product) = Cause::of_driver(runtime.block_on(reaching).map_err(|_| url.no_answer())?)?;
        // The server knows a connection by the number that was told when it was made, unless a proxy told its own. With a sum, since
        // some proxies answer the bare question themselves.
        let asked = runtime.block_on(caught(conn.query_first::<u32, _>("select connection_id() + 0")));
        // What answers at Vitess is a proxy by design, with connections of its own to each shard.
        if Cause::of_driver(asked)? != Some(conn.id()) && product != Some(Product::Vitess) {
            return Err(pooled(url));
        }
        Ok(Session { url: url.clone(), conn: Some(conn), runtime, product, way: None, made: Ok(()) })
    }

    pub(crate) fn database(&self) -> &str {
        &self.url.database
    }

    /// Waits for whatever is asked of the server.
    pub(crate) fn wait<T, E: Into<Cause>>(
        &mut self,
        ask: impl AsyncFnOnce(&mut Conn) -> Result<T, E>,
    ) -> Result<T, Cause> {
        let conn = self.conn.as_mut().expect("taken only when the session is dropped");
        // Behind a pointer, or the runtime would be compiled again for each answer.
        let answer: Pin<&mut dyn Future<Output = Result<T, E>>> = pin!(ask(conn));
        Cause::of_driver(self.runtime.block_on(caught(answer)))
    }

    /// Runs a statement that may fail, and is not waited for longer than an end.
    pub(crate) fn try_to(&mut self, statement: &str) {
        let Some(conn) = self.conn.as_mut() else { return };
        let done = conn.query_drop(statement);
        let _ = self.runtime.block_on(async { tokio::time::timeout(CLOSE_MAX, caught(done)).await });
    }

    /// Kills the query that runs. Whether it still does is not asked: one that has ended is not an error.
    pub(crate) fn canceller(&self) -> Canceller {
        let conn = self.conn.as_ref().expect("taken only when the session is dropped");
        let (url, kill) = (self.url.clone(), format!("kill query {}", conn.id()));
        Box::new(move || {
            let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
            // A server that does not answer is not a reason to wait with it.
            let kill = async {
                let (mut conn, _) = reach(&url, false).await?;
                conn.query_drop(&kill).await?;
                conn.disconnect().await
            };
            let _ = runtime.block_on(async { tokio::time::timeout(CLOSE_MAX, kill).await });
        })
    }
}

impl Drop for Session {
    /// Says goodbye, so that the server sees the end now, and not when it next writes to us.
    fn drop(&mut self) {
        if let Some(conn) = self.conn.take() {
            let _ = self.runtime.block_on(async { tokio::time::timeout(CLOSE_MAX, conn.disconnect()).await });
        }
    }
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
        .init(url.mysql_session(Use::Control).to_vec())
        .into()
}

/// Connects to the URL's database, or only to its server, and says what it is that only speaks the protocol.
pub(crate) async fn reach(url: &ServerUrl, database: bool) -> Result<(Conn, Option<Product>), Error> {
    // A socket is not encrypted, and need not be.
    let tls = url.tls != Tls::Off && url.socket.is_none();
    let mut conn = match Conn::new(opts(url, tls, database)).await {
        Err(Error::Driver(DriverError::NoClientSslFlagFromServer)) if url.tls == Tls::Prefer => {
            Conn::new(opts(url, false, database)).await
        }
        result => result,
    }?;
    // Older ones do not know all that is asked of them, and would be distinguished by what goes wrong then.
    let version: Option<String> = conn.query_first("select version()").await?;
    let version = version.unwrap_or_default();
    match sql::mysql_unsupported(&version) {
        Some(why) => Err(Error::Other(why.into())),
        None => Ok((conn, Product::of(&version))),
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_texts_stay_inside_their_quotes() {
        assert_eq!(ident("a`b"), "`a``b`");
        assert_eq!(text(r"it's a \ 'quote'"), r"'it\'s a \\ \'quote\''");
    }
}
