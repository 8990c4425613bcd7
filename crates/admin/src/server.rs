//! What databases on servers have in common: found, made, removed and claimed through connections, whoever's server it is.

use crate::engine::{Auditors, Canceller, Claim, Conn, Engine, Queries};
use crate::error::{Cause, CauseKind, Error};
use crate::hold::{LockAttempt, RunLock};
use crate::record::{self, Recorded};
use crate::{AuditGroup, Contents, Found, LoadPlan};
use model::{Nanos, Product};
use observe::EngineProbe;
use sql::{DbUrl, ServerUrl, Value};
use std::time::Duration;

/// Connections of a load: two even on one core, since server and client take turns; no more than a server has to spare.
const CONNECTIONS: (usize, usize) = (2, 16);

/// How long a server may take to hear that the lock is returned.
const GIVE_MAX: Duration = Duration::from_secs(1);
/// How often a lock is asked for that a lost connection may still have, and how long after each time.
const RETAKE: (u32, Duration) = (10, Duration::from_millis(100));

/// The lock of whoever loads, which ends with its connection: queries that give one whole number, not 0 for yes.
pub(crate) struct Lock {
    pub(crate) take: String,
    pub(crate) give: String,
    pub(crate) held: String,
}

/// A database on a server of some technology.
pub(crate) trait Server: Send + Sync {
    type Session: Conn + 'static;
    /// As in `a PostgreSQL database`.
    const KIND: &'static str;
    /// Whether a load makes the database where there is none, which is then as good as empty.
    const MADE_BY_LOADS: bool;
    /// See [`Engine::shares`].
    const SHARES: [f64; 4];
    const QUERIES: Queries;
    /// Makes the table of the record.
    const RECORD: &'static str;
    /// Asks for the bytes of tables and indexes, as anyone may who has made them.
    const STORED: &'static str;

    fn url(&self) -> &ServerUrl;
    /// How messages name it.
    fn name(&self) -> String;
    /// Settings of connections that store rows.
    fn storing(session: &Self::Session) -> &'static str;
    /// Whether what it says of the bytes of tables is true.
    fn knows_sizes(session: &Self::Session) -> bool;
    /// A connection to the database.
    fn open(&self) -> Result<Self::Session, Cause>;
    /// A connection to the database for who only reads, also where a pooler answers.
    fn opened_to_read(&self) -> Result<Self::Session, Cause> {
        self.open()
    }
    /// See [`Engine::hold`].
    fn hold(&self, shared: bool) -> Result<LockAttempt, Cause>;
    /// Finds out that one connection is one session of the server, before anything is done that counts on it.
    fn ensure_direct(&self) -> Result<(), Cause>;
    /// Finds out that all servers that have rows of it keep them as this one does, whose settings are shown.
    fn ensure_alike(&self) -> Result<(), Cause> {
        Ok(())
    }
    /// See [`Engine::differing`].
    fn differing(&self) -> Result<Option<Vec<String>>, Cause> {
        Ok(None)
    }
    /// A connection to its server that is not in the way of making or removing it.
    fn beside(&self) -> Result<Self::Session, Cause>;
    fn read_only(&self) -> Result<Self::Session, Cause>;
    fn auditing(&self, groups: &[AuditGroup], threads: usize, deadline: Nanos) -> Result<Auditors, Cause>;
    fn creation(&self) -> String;
    /// The sum of what other servers answer to a question for bytes that have rows of the database.
    fn bytes_elsewhere(_: &mut Self::Session, _query: &str) -> Result<u64, Cause> {
        Ok(0)
    }
    /// Removes what the database has elsewhere.
    fn before_removal(&self, _: &mut Self::Session) -> Result<(), Cause> {
        Ok(())
    }
    fn removal(&self) -> String;
    /// Executes a statement; false where it fails, or is not answered within `max`.
    fn answers(session: &mut Self::Session, statement: &str, max: Duration) -> bool;
    /// Drops tables of ours, those that are there; users of them are not waited for for long.
    fn drop_tables(&self, session: &mut Self::Session, tables: &[String]) -> Result<(), Cause>;
    fn lock(&self) -> Lock;
    /// Learns how rows can be stored; the record is there. Gives notes for the user.
    fn started(&self, session: &mut Self::Session) -> Result<Vec<String>, Cause>;
    /// Writes what was stored to disk, where we may ask for that.
    fn flush(&self, session: &mut Self::Session) -> Result<(), Cause>;
    fn copy(&self, to: &Self, ours: bool) -> Result<(), Error>;
    fn at(url: ServerUrl) -> Self;
    fn sampler(&self) -> Box<dyn EngineProbe>;
}

/// What a load says of an engine that our tests do not run on.
pub(crate) fn untried(product: Product) -> String {
    let lacks = match product {
        Product::CockroachDb => {
            "; it has no advisory locks, so that two loads or runs on one database do not notice each other"
        }
        _ => "",
    };
    product.untried() + lacks
}

/// Why a database is not copied.
pub(crate) fn not_copied(product: Product) -> String {
    format!("Stackmark makes no copies of a database on {}\nhint: `run` needs none", product.name())
}

/// What is in a database, seen through an open connection, with the record where there is one.
pub(crate) fn look<S: Server>(
    server: &S,
    session: &mut S::Session,
) -> Result<(Found, Option<Recorded>), Cause> {
    let tables = session.rows(S::QUERIES.tables, &[], usize::MAX)?;
    let tables: Vec<String> = tables.iter().filter_map(|row| row.first()).map(Value::to_string).collect();
    let recorded = record::read(session, &tables)?;
    let found = match &recorded {
        Some(Recorded::Complete(contents)) => Found::Complete(contents.clone()),
        Some(Recorded::Loading { since, .. }) => {
            let running = says_yes(session, &server.lock().held, false)?;
            Found::Incomplete { what: server.name(), since: *since, running }
        }
        None => Found::unrecorded(S::KIND, tables),
    };
    Ok((found, recorded))
}

/// The answer to a question about locks; `without` of an engine that has none.
fn says_yes(session: &mut dyn Conn, query: &str, without: bool) -> Result<bool, Cause> {
    let rows = match session.rows(query, &[], 1) {
        Err(cause) if cause.kind == CauseKind::Unsupported && session.product().is_some() => {
            return Ok(without);
        }
        rows => rows?,
    };
    Ok(rows.first().and_then(|row| row.first()?.int()).is_some_and(|text| text != 0))
}

/// A database that is to be overwritten, once it is known that it is ours and no one loads there. The record is what to
/// remove of it.
pub(crate) fn claimed<'a, S: Server>(server: &'a S, doing: &'static str) -> Result<Claimed<'a, S>, Error> {
    let claimed = take_alone(server).map_err(|source| server.failed(doing, source))?;
    let (claimed, found) = claimed
        .ok_or_else(|| Error::InUse { place: server.name(), how: "being loaded by another process" })?;
    match found {
        Found::Foreign { what, .. } => {
            Err(Error::Foreign { place: server.name(), what, advice: server.advice() })
        }
        Found::Absent | Found::Incomplete { .. } | Found::Complete(_) => Ok(claimed),
    }
}

/// The right to load into a database, or to remove what a load has made.
pub(crate) struct Claimed<'a, S: Server> {
    server: &'a S,
    pub(crate) session: S::Session,
    /// What an earlier load has left.
    before: Option<Recorded>,
    /// No run begins meanwhile.
    hold: Option<RunLock>,
}

/// The same, while no one runs there and no one begins to.
fn take_alone<S: Server>(server: &S) -> Result<Option<(Claimed<'_, S>, Found)>, Cause> {
    Server::ensure_direct(server)?;
    let Some((mut claimed, found)) = take(server)? else { return Ok(None) };
    claimed.hold = match Server::hold(server, false)? {
        LockAttempt::Ours(hold) => Some(hold),
        LockAttempt::Unknown => None,
        LockAttempt::Others(who) => {
            return Err(Cause::new(CauseKind::InUse, format!("another run uses it ({who})")));
        }
    };
    Ok(Some((claimed, found)))
}

/// Takes the lock, and says what is there now; `None` where someone else loads.
fn take<S: Server>(server: &S) -> Result<Option<(Claimed<'_, S>, Found)>, Cause> {
    let mut session = server.open()?;
    if !says_yes(&mut session, &server.lock().take, true)? {
        return Ok(None);
    }
    // From here on dropping it gives the lock back.
    let mut claimed = Claimed { server, session, before: None, hold: None };
    let (mut found, before) = look(server, &mut claimed.session)?;
    claimed.before = before;
    if let Found::Incomplete { running, .. } = &mut found {
        // It is ourselves who run.
        *running = false;
    }
    Ok(Some((claimed, found)))
}

impl<S: Server> Claimed<'_, S> {
    /// Removes what an earlier load has made.
    pub(crate) fn clear(&mut self) -> Result<(), Cause> {
        match self.before.take() {
            Some(before) => self.server.drop_tables(&mut self.session, &before.tables()),
            None => Ok(()),
        }
    }

    /// Makes the record, before any other table: what follows it is ours.
    pub(crate) fn begin(&mut self, tables: &[&str]) -> Result<(), Cause> {
        self.clear()?;
        self.session.batch(S::RECORD)?;
        record::begin(&mut self.session, tables)
    }

    fn give_back(&mut self) {
        let give = self.server.lock().give;
        // Again, because what was to end an earlier statement may have hit this one. Where no one answers, the lock ends with
        // the connection.
        let _ = (0..2).any(|_| S::answers(&mut self.session, &give, GIVE_MAX));
    }
}

impl<S: Server> Drop for Claimed<'_, S> {
    /// Gives the lock back before the connection ends: a server takes its time to see that one has.
    fn drop(&mut self) {
        self.give_back();
    }
}

impl<S: Server> Claim for Claimed<'_, S> {
    fn canceller(&self) -> Option<Canceller> {
        Some(self.session.canceller())
    }

    fn begin(&mut self, tables: &[&str]) -> Result<Vec<String>, Cause> {
        Claimed::begin(self, tables)?;
        let started = self.server.started(&mut self.session);
        if started.is_err() {
            self.abandon(tables);
        }
        started
    }

    fn connect(&self, _reads: bool) -> Result<Box<dyn Conn>, Cause> {
        let mut session = self.server.open()?;
        session.batch(S::storing(&session))?;
        Ok(Box::new(session))
    }

    fn flush(&mut self) -> Result<(), Cause> {
        self.server.flush(&mut self.session)
    }

    fn complete(&mut self, contents: &Contents) -> Result<Option<u64>, Cause> {
        let mut bytes = None;
        if S::knows_sizes(&self.session) {
            let here = self.session.rows(S::STORED, &[], 1)?;
            let here = here.first().and_then(|row| row.first()?.int()).unwrap_or(0);
            bytes = Some(here.unsigned_abs() + S::bytes_elsewhere(&mut self.session, S::STORED)?);
        }
        record::complete(&mut self.session, contents)?;
        Ok(bytes)
    }

    fn abandon(&mut self, tables: &[&str]) {
        let tables: Vec<String> = tables.iter().map(|table| (*table).to_owned()).collect();
        if self.server.drop_tables(&mut self.session, &tables).is_ok() {
            return;
        }
        // Where only the connection is gone, the lock went with it, and someone else may have it.
        self.give_back();
        for _ in 0..RETAKE.0 {
            match take(self.server) {
                Ok(Some((mut again, Found::Incomplete { .. }))) => {
                    let _ = again.clear();
                    return;
                }
                Ok(None) => std::thread::sleep(RETAKE.1),
                // A server that is gone keeps what is there, and it is recognised.
                Ok(Some(_)) | Err(_) => return,
            }
        }
    }
}

impl<S: Server> Engine for S {
    fn place(&self) -> String {
        self.name()
    }

    fn nothing(&self) -> String {
        let url = self.url();
        format!("there is nothing in database `{}` at {}", url.database, url.place())
    }

    fn queries(&self) -> &'static Queries {
        &S::QUERIES
    }

    fn look(&self) -> Result<Found, Cause> {
        match self.opened_to_read() {
            Err(cause) if S::MADE_BY_LOADS && cause.kind == CauseKind::Missing => Ok(Found::Absent),
            session => Ok(look(self, &mut session?)?.0),
        }
    }

    fn hold(&self, shared: bool) -> Result<LockAttempt, Cause> {
        Server::hold(self, shared)
    }

    fn product(&self) -> Result<Option<Product>, Cause> {
        Ok(self.opened_to_read()?.product())
    }

    fn ensure_direct(&self) -> Result<(), Cause> {
        Server::ensure_direct(self)?;
        self.ensure_alike()
    }

    fn differing(&self) -> Result<Option<Vec<String>>, Cause> {
        Server::differing(self)
    }

    fn create(&self) -> Result<(), Error> {
        let create = || self.beside()?.batch(&self.creation());
        create().map_err(|source| self.failed("create", source))
    }

    fn remove(&self) -> Result<(), Error> {
        let remove = || {
            let mut session = self.beside()?;
            self.before_removal(&mut session)?;
            session.batch(&self.removal())
        };
        remove().map_err(|source| self.failed("remove", source))
    }

    fn clear(&self) -> Result<(), Error> {
        if S::MADE_BY_LOADS && matches!(self.look(), Ok(Found::Absent)) {
            return Ok(());
        }
        claimed(self, "remove")?.clear().map_err(|source| self.failed("remove", source))
    }

    fn bytes(&self) -> Option<u64> {
        let mut session = self.opened_to_read().ok()?;
        if !S::knows_sizes(&session) {
            return None;
        }
        let rows = session.rows(S::QUERIES.bytes, &[], 1).ok()?;
        let here = u64::try_from(rows.first()?.first()?.int()?).ok()?;
        Some(here + S::bytes_elsewhere(&mut session, S::QUERIES.bytes).ok()?)
    }

    fn copy_to(&self, to: &DbUrl, ours: bool) -> Result<(), Error> {
        match to {
            DbUrl::Server(to)
                if to.dialect == self.url().dialect
                    && to.place() == self.url().place()
                    && to.user == self.url().user
                    && to.database != self.url().database =>
            {
                self.copy(&S::at(to.clone()), ours)
            }
            to => Err(Error::Apart { from: self.name(), to: to.to_string() }),
        }
    }

    fn reader(&self) -> Result<Box<dyn Conn>, Cause> {
        Ok(Box::new(self.read_only()?))
    }

    fn auditors(&self, groups: &[AuditGroup], threads: usize, deadline: Nanos) -> Result<Auditors, Cause> {
        self.auditing(groups, threads, deadline)
    }

    /// What an engine counts that only speaks the protocol is not what its name says, if it counts at all; and of several servers one
    /// knows only its part.
    fn probe(&self) -> Option<Box<dyn EngineProbe>> {
        (!matches!(Engine::product(self), Ok(Some(_)))).then(|| self.sampler())
    }

    fn claim<'a>(&'a self, _: &LoadPlan) -> Result<(Box<dyn Claim + 'a>, Found), Error> {
        let taken = || {
            if S::MADE_BY_LOADS && matches!(self.open(), Err(cause) if cause.kind == CauseKind::Missing) {
                self.beside()?.batch(&self.creation())?;
            }
            take_alone(self)
        };
        let taken = taken().map_err(|source| self.unusable(source))?;
        let (claimed, found) = taken.ok_or_else(|| Error::Running(self.name()))?;
        Ok((Box::new(claimed), found))
    }

    fn connections(&self, threads: usize) -> (usize, usize) {
        let count = threads.clamp(CONNECTIONS.0, CONNECTIONS.1);
        (count, count)
    }

    fn shares(&self) -> [f64; 4] {
        S::SHARES
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::Database;
    use rig::for_tests::shared;
    use rustix::process::{Pid, Signal, kill_process};

    #[test]
    fn a_server_that_does_not_answer_does_not_keep_a_claim_from_ending() {
        let database = Database(shared(rig::Engine::Postgres).url("unanswered"));
        database.create().unwrap();
        let mut claimed = claimed(&database, "remove").unwrap();
        let asked = claimed.session.rows("select pg_backend_pid()", &[], 1).unwrap();
        let pid = asked[0][0].int().and_then(|pid| Pid::from_raw(i32::try_from(pid).unwrap())).unwrap();
        kill_process(pid, Signal::STOP).unwrap();
        let (done, ended) = std::sync::mpsc::channel();
        std::thread::scope(|scope| {
            scope.spawn(move || {
                drop(claimed);
                done.send(()).unwrap();
            });
            let ended = ended.recv_timeout(Duration::from_secs(60));
            // Before anything else, or the server could not end.
            kill_process(pid, Signal::CONT).unwrap();
            ended.unwrap();
        });
        database.remove().unwrap();
    }
}
