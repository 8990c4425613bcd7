//! Sessions and inputs that do wrong on purpose. An audit that they do not set off is not an audit.

use crate::fixture_db::Behind;
use crate::store::{Store, retrying};
use crate::tamper::{TamperedOpener, Tampering};
use adapter_rusqlite::SqliteOpener;
use measure::Monotonic;
use model::random::Random;
use model::{
    CallWork, Conflict, Fault, Home, Kind, OpenError, RetryingTarget, Session, Stack, Target, Verdict,
    Workload,
};
use sql::{DbUrl, Dialect, SqlOpener};
use workload_tpcc::{Call, Cardinality, Inputs, Ledger, Outcome, SqlTarget, Stmt, Tpcc, catalogue};

/// How a call ended.
pub type CallResult = Result<Outcome, Fault>;

/// A text in a statement, and what it is replaced by; both as [`spelled`].
pub type Edit = (Stmt, &'static str, &'static str);

/// Edits on SQLite, PostgreSQL and MariaDB.
pub type Edits = [&'static [Edit]; 3];

/// What a fault injector does.
#[derive(Debug, Clone, Copy)]
pub enum Trick {
    /// Nothing: the twin that must pass everything.
    None,
    /// Statements say something else.
    Statements(Edits),
    Connection(Tampering),
    /// Another call is made than the one that was asked for. The answer must still fit.
    Instead(fn(Call) -> Call),
    /// An answer says something else than what was done. It must still fit its call.
    Lie(fn(&Call, &mut Outcome)),
    /// A second connection reads a number before the call, and acts on it after the answer.
    Around {
        /// The query whose number it reads, if it does.
        before: fn(Dialect, &Call) -> Option<String>,
        /// What it executes then, in one transaction.
        after: fn(Dialect, &Call, &CallResult, i64) -> Vec<String>,
    },
}

impl Trick {
    /// A second connection acts after each answer.
    pub const fn behind(after: fn(Dialect, &Call, &CallResult, i64) -> Vec<String>) -> Trick {
        Trick::Around { before: |_, _| None, after }
    }

    /// The statements of users, as this trick has them.
    ///
    /// # Panics
    /// When an edit does not fit its statement.
    #[must_use]
    pub fn statements(self, dialect: Dialect) -> Vec<String> {
        let mut texts = catalogue(dialect).expect("kept by a test of the workload");
        if let Trick::Statements(edits) = self {
            for (stmt, from, to) in edits[dialect as usize] {
                let (text, from) = (&mut texts[*stmt as usize], spelled(dialect, from));
                assert!(text.contains(&from), "`{from}` is not in {text}");
                *text = text.replace(&from, &spelled(dialect, to));
            }
        }
        texts
    }

    /// What goes wrong inside the connection.
    const fn tampering(self) -> Tampering {
        match self {
            Trick::Connection(tampering) => tampering,
            Trick::None | Trick::Statements(_) | Trick::Instead(_) | Trick::Lie(_) | Trick::Around { .. } => {
                Tampering::None
            }
        }
    }
}

/// A text in an engine's words: `{now}` is the time, `{old}` one before all loads, `{cent}` an amount of one cent, `{cents}` how many of them a unit has.
pub fn spelled(dialect: Dialect, text: &str) -> String {
    let (now, old, loaded, cent, cents) = match dialect {
        Dialect::Sqlite => ("unixepoch()", "1600000000", "1704067200", "1", "1"),
        Dialect::Postgres => {
            ("localtimestamp", "timestamp '2020-09-13'", "timestamp '2024-01-01'", "0.01", "100")
        }
        Dialect::MySql => ("utc_timestamp()", "'2020-09-13'", "'2024-01-01'", "0.01", "100"),
    };
    let dated = text.replace("{now}", now).replace("{old}", old).replace("{loaded}", loaded);
    dated.replace("{cents}", cents).replace("{cent}", cent)
}

/// A session with a fault injector around it.
#[derive(Debug)]
pub struct FaultySession<S> {
    session: S,
    trick: Trick,
    dialect: Dialect,
    /// The fault injector's own.
    behind: Behind,
}

impl<S: Session<Tpcc>> Session<Tpcc> for FaultySession<S> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> CallResult {
        match self.trick {
            Trick::Instead(other) => self.session.run(&other(call.clone()), work).await,
            Trick::Lie(lie) => {
                let mut answer = self.session.run(call, work).await;
                if let Ok(outcome) = &mut answer {
                    lie(call, outcome);
                }
                answer
            }
            Trick::Around { before, after } => {
                let read = match before(self.dialect, call) {
                    Some(query) => self.behind.number(&query).await,
                    None => 0,
                };
                let answer = self.session.run(call, work).await;
                self.behind.act(&after(self.dialect, call, &answer, read)).await;
                answer
            }
            Trick::None | Trick::Statements(_) | Trick::Connection(_) => self.session.run(call, work).await,
        }
    }
}

/// Sessions on a faulty connection, with the one retry policy.
type Inner<O> = RetryingTarget<SqlTarget<TamperedOpener<O>, Monotonic>>;

/// The sessions that users have, with a fault injector in or around each.
#[derive(Debug)]
pub struct FaultyTarget<O> {
    target: Inner<O>,
    trick: Trick,
    place: DbUrl,
}

impl FaultyTarget<SqliteOpener<Monotonic>> {
    /// A fault injector at work on a store on SQLite.
    pub fn new(store: &Store, trick: Trick) -> Self {
        FaultyTarget::with(store, store.opener(trick.statements(Dialect::Sqlite)), trick)
    }
}

impl<O: SqlOpener> FaultyTarget<O> {
    /// A fault injector at work on a store through connections that prepare [`Trick::statements`].
    pub fn with(store: &Store, opener: O, trick: Trick) -> FaultyTarget<O> {
        let opener = TamperedOpener { opener, tampering: trick.tampering() };
        let target = retrying(SqlTarget::new(opener, Monotonic::start()));
        FaultyTarget { target, trick, place: store.place() }
    }
}

impl<O: SqlOpener> Target<Tpcc> for FaultyTarget<O> {
    type Session = FaultySession<<Inner<O> as Target<Tpcc>>::Session>;

    fn home(&self) -> Home {
        self.target.home()
    }

    async fn open(&self, worker: u32) -> Result<Self::Session, OpenError> {
        let session = self.target.open(worker).await?;
        let behind = Behind::open(&self.place).await;
        Ok(FaultySession { session, trick: self.trick, dialect: self.place.dialect(), behind })
    }

    fn stack(&self) -> Stack {
        self.target.stack()
    }
}

/// TPC-C whose calls are changed between being drawn and being sent.
#[derive(Debug)]
pub struct Misdrawn;

/// What becomes of a drawn call; `None` draws another one.
pub type Change = fn(&mut Random, Cardinality, Call) -> Option<Call>;

/// A stream of changed calls.
#[derive(Debug, Clone)]
pub struct MisdrawnInputs {
    inputs: Inputs,
    random: Random,
    size: Cardinality,
    change: Change,
}

impl MisdrawnInputs {
    /// The stream of a worker.
    pub fn new(inputs: Inputs, size: Cardinality, change: Change, worker: u32) -> MisdrawnInputs {
        MisdrawnInputs { inputs, random: Random::stream(u64::from(worker), &[9_000]), size, change }
    }
}

impl model::Inputs<Misdrawn> for MisdrawnInputs {
    fn draw(&mut self) -> Call {
        loop {
            let drawn = model::Inputs::draw(&mut self.inputs);
            if let Some(call) = (self.change)(&mut self.random, self.size, drawn) {
                return call;
            }
        }
    }
}

/// The ledger of TPC-C, under the other name.
#[derive(Debug)]
pub struct MisdrawnLedger(pub Ledger);

impl model::Ledger<Misdrawn> for MisdrawnLedger {
    fn post(&mut self, call: &Call, result: &CallResult) {
        model::Ledger::post(&mut self.0, call, result);
    }
    fn absorb(&mut self, other: &MisdrawnLedger) {
        model::Ledger::absorb(&mut self.0, &other.0);
    }
    fn clear(&mut self) {
        model::Ledger::clear(&mut self.0);
    }
}

impl Workload for Misdrawn {
    const NAME: &'static str = Tpcc::NAME;
    const KINDS: &'static [Kind] = Tpcc::KINDS;
    type Call = Call;
    type Outcome = Outcome;
    type Inputs = MisdrawnInputs;
    type Ledger = MisdrawnLedger;

    fn kind(call: &Call) -> usize {
        Tpcc::kind(call)
    }
    fn verdict(outcome: &Outcome) -> Verdict {
        Tpcc::verdict(outcome)
    }
    fn check(call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        Tpcc::check(call, outcome)
    }
}

/// A session or target of TPC-C, for calls that were misdrawn.
#[derive(Debug)]
pub struct ForMisdrawn<T>(pub T);

impl<S: Session<Tpcc>> Session<Misdrawn> for ForMisdrawn<S> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> CallResult {
        self.0.run(call, work).await
    }
}

impl<T: Target<Tpcc>> Target<Misdrawn> for ForMisdrawn<T> {
    type Session = ForMisdrawn<T::Session>;

    fn home(&self) -> Home {
        self.0.home()
    }

    async fn open(&self, worker: u32) -> Result<Self::Session, OpenError> {
        self.0.open(worker).await.map(ForMisdrawn)
    }
    fn stack(&self) -> Stack {
        self.0.stack()
    }
}

/// Answers nothing: for what is judged by the calls alone.
#[derive(Debug)]
pub struct Deaf;

impl Session<Tpcc> for Deaf {
    async fn run(&mut self, _: &Call, _: &mut CallWork) -> CallResult {
        Err(Fault::Conflict(Conflict::Busy))
    }
}

impl Target<Tpcc> for Deaf {
    type Session = Deaf;

    fn home(&self) -> Home {
        Home::Thread
    }

    async fn open(&self, _: u32) -> Result<Deaf, OpenError> {
        Ok(Deaf)
    }
    fn stack(&self) -> Stack {
        Stack::default()
    }
}
