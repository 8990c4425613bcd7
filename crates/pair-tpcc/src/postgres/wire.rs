//! What both styles share: a connection with its settings and statements, and the account of a call.

use adapter_tokio_postgres::{Connected, Link, connect_to_write, fault, open_error};
use model::{CallWork, Clock, Fault, Nanos, OpenError, Refusal, StatementClock, StatementTimes};
use sql::{CatalogueError, ServerUrl};
use std::future::Future;
use tokio_postgres::{Client, Error, SimpleQueryMessage, Statement};

/// What each session sets, and a reader of the result sees. Plans are made once a session and kept. Rows are looked up by
/// index in the order in which they are given, which keeps locks in one order whatever the planner thinks of the tables'
/// sizes; and no statement here gets slower by it.
const SET: [(&str, &str); 6] = [
    ("plan_cache_mode", "force_generic_plan"),
    ("enable_hashjoin", "off"),
    ("enable_mergejoin", "off"),
    ("enable_seqscan", "off"),
    ("enable_bitmapscan", "off"),
    ("jit", "off"),
];

/// The settings with what is in force here instead of what a session has that leaves them alone.
pub(crate) fn shown(settings: Vec<(String, String)>) -> Vec<(String, String)> {
    let ours = |name: &str| SET.iter().any(|(set, _)| *set == name);
    let set = SET.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    settings.into_iter().filter(|(name, _)| !ours(name)).chain(set).collect()
}

/// A connection with its statements, and what the current call has taken so far.
#[derive(Debug)]
pub(crate) struct Wire<K> {
    pub(crate) client: Client,
    pub(crate) statements: Vec<Statement>,
    pub(crate) work: CallWork,
    pub(crate) link: Link,
    pub(crate) clock: K,
    pub(crate) rounds: StatementClock,
    started: Nanos,
    /// When the last call ended.
    used: Nanos,
}

impl<K: Clock> Wire<K> {
    /// Connects, makes settings, runs `scripts` and prepares `texts`.
    pub(crate) async fn open(
        url: &ServerUrl,
        scripts: &[String],
        texts: &[String],
        clock: K,
    ) -> Result<Wire<K>, OpenError> {
        let Connected { client, mut link, .. } = connect_to_write(url).await?;
        let refused = |error| open_error(url, &error);
        let mut text: String = SET.iter().map(|(name, value)| format!("set {name} = {value};")).collect();
        for script in scripts {
            text.push_str(script);
            text.push(';');
        }
        link.until(client.batch_execute(&text)).await.map_err(refused)?;
        hold(&client, &mut link, url).await?;
        let mut statements = Vec::with_capacity(texts.len());
        for text in texts {
            statements.push(link.until(client.prepare(text)).await.map_err(refused)?);
        }
        let (work, now) = (CallWork::default(), clock.now());
        let rounds = StatementClock::default();
        Ok(Wire { client, statements, work, link, clock, rounds, started: now, used: now })
    }

    /// Begins the account of an attempt of the call whose account so far is `work`.
    pub(crate) async fn start(&mut self, work: &CallWork) -> Result<(), Fault> {
        self.rounds.start(work);
        self.started = self.clock.now();
        self.work = CallWork::default();
        let is_idle = self.started - self.used > Link::IDLE_MAX;
        if !(if is_idle { self.link.look().await } else { self.link.is_open() }) {
            return Err(Fault::Refused(Refusal::Unreachable));
        }
        self.work.attempts = 1;
        Ok(())
    }

    /// Ends the call and adds what it took to `work`: all time since the start that was not the commit's was the statements'.
    pub(crate) fn move_into(&mut self, work: &mut CallWork) {
        self.used = self.clock.now();
        let spent = &mut self.work.spent;
        spent.statements = self.used - self.started - spent.commit;
        *work += self.work;
    }

    /// Reads the clock before a round trip, in calls that have one around each.
    pub(crate) fn asked(&self) -> Option<Nanos> {
        self.rounds.asked(&self.clock)
    }

    /// Reads it after one, whose place in the workload's list is `round`. What is sent in one trip shares its time, and
    /// cannot be distinguished from here.
    pub(crate) fn answered(&mut self, round: usize, asked: Option<Nanos>) {
        self.rounds.answered(round, asked, &self.clock);
    }

    /// What the round trips of the last call took that had a clock around each.
    pub(crate) fn statement_times(&self) -> &StatementTimes {
        self.rounds.times()
    }

    /// Counts statements that were answered, and the rows that came with them.
    pub(crate) fn count(&mut self, statements: u32, rows: usize) {
        self.work.statements += statements;
        self.work.rows += rows as u32;
    }
}

/// One round trip, or what is joined into one.
pub(crate) async fn trip<T>(
    link: &mut Link,
    answer: impl Future<Output = Result<T, Error>>,
    committing: bool,
) -> Result<T, Fault> {
    link.until(answer).await.map_err(|error| fault(&error, committing))
}

/// Refuses a session whose settings did not take.
async fn hold(client: &Client, link: &mut Link, url: &ServerUrl) -> Result<(), OpenError> {
    let columns = SET.map(|(name, _)| format!("current_setting('{name}')")).join(", ");
    let text = format!("select {columns}");
    let answer = link.until(client.simple_query(&text)).await.map_err(|error| open_error(url, &error))?;
    let row = answer.iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    for (index, (name, wanted)) in SET.iter().enumerate() {
        let found = row.and_then(|row| row.get(index)).unwrap_or_default();
        if found != *wanted {
            let why = format!("asked for {name}={wanted}, in force is {found}");
            return Err(OpenError::Unusable { what: url.place(), why });
        }
    }
    Ok(())
}

/// Texts of ours that cannot be read: kept from happening by a test.
pub(crate) fn own_texts(error: &CatalogueError) -> OpenError {
    OpenError::Unusable { what: "the TPC-C statements of this style".into(), why: error.to_string() }
}
