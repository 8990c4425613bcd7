//! Sessions and inputs that do wrong on purpose. An audit that they do not set off is no audit.

use crate::store::{Store, retrying, statements};
use crate::tamper::{TamperedOpener, Tampering};
use adapter_rusqlite::SqliteOpener;
use measure::Monotonic;
use model::random::Random;
use model::{
    Conflict, Effort, Fault, Home, Kind, OpenError, RetryingTarget, Session, Stack, Target, Verdict, Workload,
};
use rusqlite::Connection;
use std::path::PathBuf;
use std::time::Duration;
use workload_tpcc::{Call, Cardinality, Inputs, Ledger, Outcome, SqlTarget, Stmt, Tpcc};

/// How a call ended.
pub type Answer = Result<Outcome, Fault>;

/// A text in a statement, and what it is replaced by.
pub type Edit = (Stmt, &'static str, &'static str);

/// What a saboteur does.
#[derive(Debug, Clone, Copy)]
pub enum Trick {
    /// Nothing: the twin that must pass everything.
    None,
    /// Statements say something else.
    Statements(&'static [Edit]),
    /// The connection lies.
    Connection(Tampering),
    /// Another call is made than the one that was asked for. The answer must still fit.
    Instead(fn(Call) -> Call),
    /// A second connection reads a number before the call, and acts on it after the answer.
    Around {
        /// What it reads.
        before: fn(&Connection, &Call) -> i64,
        /// What it does with it.
        after: fn(&Connection, &Call, &Answer, i64),
    },
}

impl Trick {
    /// A second connection acts after each answer.
    #[must_use]
    pub const fn behind(after: fn(&Connection, &Call, &Answer, i64)) -> Trick {
        Trick::Around { before: |_, _| 0, after }
    }
}

/// A session with a saboteur around it.
#[derive(Debug)]
pub struct Sabotaged<S> {
    session: S,
    trick: Trick,
    /// The saboteur's own.
    behind: Connection,
}

impl<S: Session<Tpcc>> Session<Tpcc> for Sabotaged<S> {
    async fn run(&mut self, call: &Call, effort: &mut Effort) -> Answer {
        match self.trick {
            Trick::Instead(other) => self.session.run(&other(call.clone()), effort).await,
            Trick::Around { before, after } => {
                let read = before(&self.behind, call);
                let answer = self.session.run(call, effort).await;
                after(&self.behind, call, &answer, read);
                answer
            }
            Trick::None | Trick::Statements(_) | Trick::Connection(_) => self.session.run(call, effort).await,
        }
    }
}

/// The sessions that users have, with a saboteur in or around each.
#[derive(Debug)]
pub struct SabotagedTarget {
    target: RetryingTarget<SqlTarget<TamperedOpener<SqliteOpener<Monotonic>>, Monotonic>>,
    trick: Trick,
    file: PathBuf,
}

impl SabotagedTarget {
    /// A saboteur at work on a store.
    ///
    /// # Panics
    /// When an edit does not fit its statement.
    #[must_use]
    pub fn new(store: &Store, trick: Trick) -> SabotagedTarget {
        let (edits, tampering) = match trick {
            Trick::Statements(edits) => (edits, Tampering::None),
            Trick::Connection(tampering) => (&[][..], tampering),
            Trick::None | Trick::Instead(_) | Trick::Around { .. } => (&[][..], Tampering::None),
        };
        let mut texts = statements();
        for (stmt, from, to) in edits {
            let text = &mut texts[*stmt as usize];
            assert!(text.contains(from), "`{from}` is not in {text}");
            *text = text.replace(from, to);
        }
        let opener = TamperedOpener { opener: store.opener(texts), tampering };
        let target = retrying(SqlTarget::new(opener, Monotonic::start()));
        SabotagedTarget { target, trick, file: store.url.path.clone() }
    }
}

type Inner = RetryingTarget<SqlTarget<TamperedOpener<SqliteOpener<Monotonic>>, Monotonic>>;

impl Target<Tpcc> for SabotagedTarget {
    type Session = Sabotaged<<Inner as Target<Tpcc>>::Session>;
    const HOME: Home = <Inner as Target<Tpcc>>::HOME;

    async fn open(&self, worker: u32) -> Result<Self::Session, OpenError> {
        let session = self.target.open(worker).await?;
        let unusable = |error: rusqlite::Error| OpenError::Unusable {
            what: self.file.display().to_string(),
            why: error.to_string(),
        };
        let behind = Connection::open(&self.file).map_err(unusable)?;
        behind.busy_timeout(Duration::from_secs(60)).map_err(unusable)?;
        behind.execute_batch("pragma synchronous=off").map_err(unusable)?;
        Ok(Sabotaged { session, trick: self.trick, behind })
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
    #[must_use]
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
    fn post(&mut self, call: &Call, result: &Answer) {
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
    async fn run(&mut self, call: &Call, effort: &mut Effort) -> Answer {
        self.0.run(call, effort).await
    }
}

impl<T: Target<Tpcc>> Target<Misdrawn> for ForMisdrawn<T> {
    type Session = ForMisdrawn<T::Session>;
    const HOME: Home = T::HOME;

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
    async fn run(&mut self, _: &Call, _: &mut Effort) -> Answer {
        Err(Fault::Conflict(Conflict::Busy))
    }
}

impl Target<Tpcc> for Deaf {
    type Session = Deaf;
    const HOME: Home = Home::Thread;

    async fn open(&self, _: u32) -> Result<Deaf, OpenError> {
        Ok(Deaf)
    }
    fn stack(&self) -> Stack {
        Stack::default()
    }
}
