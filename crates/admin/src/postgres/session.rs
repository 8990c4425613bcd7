//! A connection whose answers are waited for: everything here happens before and after what is measured.

use crate::engine::Canceller;
use crate::error::{Cause, CauseKind};
use model::{OpenError, Product, caught};
use sql::{CONNECT_MAX, ServerUrl, Tls, Use, is_direct, postgres};
use std::future::Future;
use std::pin::{Pin, pin};
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tokio_postgres::config::{ChannelBinding, SslMode};
use tokio_postgres::{CancelToken, Client, Config, SimpleQueryMessage};
use tokio_postgres_rustls::MakeRustlsConnect;

/// How long a connection may take to say goodbye.
const CLOSE_MAX: Duration = Duration::from_secs(1);

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").finish_non_exhaustive()
    }
}

/// A connection and the executor that drives it while someone waits.
pub(crate) struct Session {
    // In this order: the client goes before the executor that it speaks through.
    client: Option<Client>,
    task: Option<JoinHandle<()>>,
    runtime: Runtime,
    tls: MakeRustlsConnect,
    version_num: i64,
    /// What only speaks PostgreSQL's protocol, or is an extension of it.
    pub(crate) product: Option<Product>,
    /// Settings of each transaction, where a pooler lets no setting outlive one.
    pooled: Option<String>,
    /// The state that its audits see.
    pub(crate) snapshot: String,
}

impl Session {
    /// Connects, and makes the settings that none of our work may depend on.
    pub(crate) fn open(url: &ServerUrl) -> Result<Session, Cause> {
        let session = Session::connect(url, Some(url.postgres_options(Use::Control)))?;
        let mark = "select coalesce(current_setting('stackmark.connection', true), '')";
        if !is_direct(&session.ask(mark)?) {
            return Err(pooled(url));
        }
        session.wait(session.client().batch_execute(&url.postgres_session(Use::Control)))?;
        Ok(session)
    }

    /// The same for who only reads, also through a pooler. There each question is a transaction of its own that has its settings in
    /// it and prepares nothing, so that nothing of it is left for the next client of the pool.
    pub(crate) fn open_to_read(url: &ServerUrl) -> Result<Session, Cause> {
        match Session::open(url) {
            // What the address asks for besides would be lost on the way.
            Err(cause) if cause.kind == CauseKind::Pooled && url.options.is_none() => {
                let mut session = Session::connect(url, None)?;
                session.pooled = Some(url.postgres_transaction());
                Ok(session)
            }
            opened => opened,
        }
    }

    fn connect(url: &ServerUrl, options: Option<String>) -> Result<Session, Cause> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let tls = MakeRustlsConnect::new(transport::database_tls(url)?);
        let config = config(url, options);
        let opened = async { tokio::time::timeout(CONNECT_MAX, caught(config.connect(tls.clone()))).await };
        let opened = runtime.block_on(opened).map_err(|_| url.no_answer())?;
        let opened = opened.map(|opened| opened.map_err(|error| refused(url, error)));
        let (client, connection) = Cause::of_driver(opened)?;
        let task = runtime.spawn(async {
            // What ends the connection is told to whoever waits for an answer.
            let _ = connection.await;
        });
        let mut session = Session {
            client: Some(client),
            task: Some(task),
            runtime,
            tls,
            version_num: 0,
            product: None,
            pooled: None,
            snapshot: String::new(),
        };
        // First of all, and by text: a server that is too old does not know all settings.
        let (version_num, version) = session.version(url)?;
        postgres::supported(url, version_num, &version)?;
        session.version_num = version_num;
        session.product = Product::of(&session.ask(&format!("select {}", postgres::VERSION))?);
        Ok(session)
    }

    /// Whether a pooler answers.
    pub(crate) fn is_pooled(&self) -> bool {
        self.pooled.is_some()
    }

    /// Makes settings: of the session, or of each of its transactions.
    pub(crate) fn set(&mut self, settings: &[(&str, &str)]) -> Result<(), Cause> {
        let words = if self.is_pooled() { "set local" } else { "set" };
        let text: String =
            settings.iter().map(|(name, value)| format!("{words} {name} = '{value}';")).collect();
        match &mut self.pooled {
            Some(local) => {
                local.push_str(&text);
                Ok(())
            }
            None => self.wait(self.client().batch_execute(&text)),
        }
    }

    /// Begins a transaction with its settings.
    pub(crate) fn begin(&self, modes: &str) -> Result<(), Cause> {
        let local = self.pooled.as_deref().unwrap_or_default();
        self.wait(self.client().batch_execute(&format!("begin {modes}; {local}")))
    }

    /// One text, asked by text.
    pub(crate) fn ask(&self, question: &str) -> Result<String, Cause> {
        let answer = self.wait(self.client().simple_query(question))?;
        let row = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        Ok(row.and_then(|row| row.try_get(0).ok().flatten()).unwrap_or_default().to_owned())
    }

    /// What the server reports, and as a number; 0 where it says nothing that we understand.
    fn version(&self, url: &ServerUrl) -> Result<(i64, String), Cause> {
        let asked = "select current_setting('server_version'), current_setting('server_version_num')";
        // A pooler takes connections without having any to the server.
        let answer = self.wait(async {
            let answer = tokio::time::timeout(CONNECT_MAX, self.client().simple_query(asked)).await;
            answer.map_err(|_| Cause::from(url.no_answer()))?.map_err(Cause::from)
        })?;
        let row = answer.iter().find_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row),
            _ => None,
        });
        let sentence = |index| row.and_then(|row| row.try_get(index).ok().flatten()).unwrap_or_default();
        Ok((sentence(1).parse().unwrap_or(0), sentence(0).to_owned()))
    }

    /// `server_version_num`: 150020.
    pub(crate) fn version_num(&self) -> i64 {
        self.version_num
    }

    pub(crate) fn client(&self) -> &Client {
        self.client.as_ref().expect("taken only when the session is dropped")
    }

    /// Waits for an answer.
    pub(crate) fn wait<T, E: Into<Cause>>(
        &self,
        answer: impl Future<Output = Result<T, E>>,
    ) -> Result<T, Cause> {
        // Behind a pointer, or the runtime would be compiled again for each answer.
        let answer: Pin<&mut dyn Future<Output = Result<T, E>>> = pin!(answer);
        Cause::of_driver(self.runtime.block_on(caught(answer)))
    }

    /// Runs a statement that may fail, and is not waited for longer than an end.
    pub(crate) fn try_to(&self, statement: &str) {
        let done = self.client().simple_query(statement);
        let _ = self.runtime.block_on(async { tokio::time::timeout(CLOSE_MAX, caught(done)).await });
    }

    /// Waits for whatever needs the client to itself.
    pub(crate) fn with<T>(&mut self, work: impl AsyncFnOnce(&mut Client) -> T) -> T {
        let client = self.client.as_mut().expect("taken only when the session is dropped");
        let work: Pin<&mut dyn Future<Output = T>> = pin!(work(client));
        self.runtime.block_on(work)
    }

    /// What a transaction needs that lasts for several answers.
    pub(crate) fn parts(&mut self) -> (&mut Client, &Runtime, Within<'_>) {
        let client = self.client.as_mut().expect("taken only when the session is dropped");
        let within = Within { snapshot: &self.snapshot, local: self.pooled.as_deref() };
        (client, &self.runtime, within)
    }

    /// Whether a copy of a database fits into the log. The server asks for a checkpoint when the log since the last one is
    /// about half of `max_wal_size`: a third of that may be the copy's.
    pub(crate) fn log_has_room(&self, template: &str) -> Result<bool, Cause> {
        let text = "select 6 * pg_database_size($1::text) <= pg_size_bytes(current_setting('max_wal_size'))";
        Ok(self.wait(self.client().query_one(text, &[&template]))?.try_get(0)?)
    }

    /// Asks the server to end the statement that runs; one that runs no more is not harmed.
    pub(crate) fn canceller(&self) -> Canceller {
        let (token, tls): (CancelToken, _) = (self.client().cancel_token(), self.tls.clone());
        Box::new(move || {
            let Ok(runtime) = Builder::new_current_thread().enable_all().build() else { return };
            // A request that is lost is repeated by whoever still waits.
            let _ = runtime
                .block_on(async { tokio::time::timeout(CLOSE_MAX, token.cancel_query(tls.clone())).await });
        })
    }
}

impl Drop for Session {
    /// Says goodbye, so that the server sees the end now, and not when it next writes to us.
    fn drop(&mut self) {
        drop(self.client.take());
        if let Some(task) = self.task.take() {
            let _ = self.runtime.block_on(async { tokio::time::timeout(CLOSE_MAX, task).await });
        }
    }
}

fn config(url: &ServerUrl, options: Option<String>) -> Config {
    let mut config = Config::new();
    match &url.socket {
        Some(folder) => config.host_path(folder),
        None => config.host(&url.host),
    };
    config.port(url.port).user(&url.user).dbname(&url.database).application_name("stackmark");
    if let Some(password) = &url.password {
        config.password(password.reveal());
    }
    if let Some(options) = options {
        config.options(options);
    }
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

/// In what an audit's transaction is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Within<'a> {
    /// The state that it sees.
    pub(crate) snapshot: &'a str,
    /// Its settings, where a pooler answers.
    pub(crate) local: Option<&'a str>,
}

fn pooled(url: &ServerUrl) -> Cause {
    Cause::new(CauseKind::Pooled, Cause::from(url.pooled()).text)
}

fn refused(url: &ServerUrl, error: tokio_postgres::Error) -> Cause {
    match error.as_db_error() {
        Some(sentence) if sentence.code() == &tokio_postgres::error::SqlState::UNDEFINED_DATABASE => {
            let name = &url.database;
            Cause::new(
                CauseKind::Missing,
                format!("there is no database `{name}` on the server; create it first"),
            )
        }
        Some(sentence)
            if postgres::open_error(url, sentence.code().code(), sentence.message()) == url.pooled() =>
        {
            pooled(url)
        }
        Some(sentence) => postgres::open_error(url, sentence.code().code(), sentence.message()).into(),
        None => OpenError::Unreachable { what: url.place(), why: Cause::from(error).text }.into(),
    }
}

/// A name as SQL takes it, whatever is in it.
pub(crate) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', "\"\""))
}
