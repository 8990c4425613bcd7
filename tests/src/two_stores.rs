//! A bank over two databases of one engine, or more.

use crate::calls::{drive, runtime};
use crate::fixture_db::rows;
use crate::loaded_db::{LoadedDb, misses};
use crate::test_engines::TestEngine;
use measure::Monotonic;
use model::{CallWork, Clock as _, Inputs as _, Nanos, Session as _, Target as _};
use result::Check;
use sql::{DbUrl, Journal, SqliteUrl};
use std::collections::BTreeSet;
use targets::{Driven as _, How, TrialTarget, target_over};
use workload::{Benchmark as _, Streams};
use workload_transfer::{Cardinality, Ledger, Tally, Transfers};

/// Random calls of a conformance.
const RANDOM_CALLS: u32 = 400;
/// Calls whose statements are clocked.
const CLOCKED_CALLS: u32 = 200;
/// Sessions at once.
const SESSIONS: u32 = 8;
/// Calls of all of them.
const MIX_CALLS: u64 = 2_000;
/// For recovery and relays, also on a slow machine.
const SETTLED_MAX: Nanos = Nanos::from_secs(120);

pub(crate) struct Bank {
    pub(crate) parts: Vec<LoadedDb<Transfers>>,
    pub(crate) size: Cardinality,
    before: Vec<Tally>,
    /// Of files, if not their own.
    journal: Option<Journal>,
}

impl Bank {
    /// Over two stores.
    pub(crate) fn on<B: TestEngine>() -> Bank {
        Bank::over::<B>(2)
    }

    pub(crate) fn over<B: TestEngine>(stores: u32) -> Bank {
        let size = Transfers::tiny_over(stores);
        let parts: Vec<_> = Transfers::parts(&size).into_iter().map(LoadedDb::on::<B>).collect();
        let mut bank = Bank { parts, size, before: Vec::new(), journal: None };
        bank.before = bank.evidence();
        bank
    }

    /// The same files with another journal.
    pub(crate) fn journaled(self, journal: Journal) -> Bank {
        Bank { journal: Some(journal), ..self }
    }

    pub(crate) fn urls(&self) -> Vec<DbUrl> {
        let place = |part: &LoadedDb<Transfers>| match (part.place(), self.journal) {
            (DbUrl::Sqlite(url), Some(journal)) => DbUrl::Sqlite(SqliteUrl { journal, ..url }),
            (url, _) => url,
        };
        self.parts.iter().map(place).collect()
    }

    pub(crate) fn target(&self, how: How) -> TrialTarget<Transfers> {
        target_over(how, &self.urls(), &self.size).expect("databases that were just loaded")
    }

    pub(crate) fn evidence(&self) -> Vec<Tally> {
        Transfers::join(self.parts.iter().map(LoadedDb::evidence).collect())
    }

    pub(crate) fn pending(&self) -> u64 {
        Transfers::pending(&self.evidence()).expect("there may be some")
    }

    /// Transfers whose keys are there.
    pub(crate) fn transfers(&self) -> u64 {
        let counted =
            self.urls().into_iter().flat_map(|url| rows(&url, "select count(*) from transfer", &[]));
        counted.map(|row| row[0].int().expect("a count is a number").unsigned_abs()).sum()
    }

    /// Waits until something is pending, as someone who has gone has left it, or until nothing is.
    pub(crate) fn until_left(&self, some: bool) {
        let clock = Monotonic::start();
        while (self.pending() > 0) != some {
            assert!(clock.now() < SETTLED_MAX, "{} are pending", self.pending());
            // MariaDB shows the same branches as before to who looks more often.
            std::thread::sleep(Nanos::from_millis(200).into());
        }
    }

    /// The audits that notice something, in whatever store; measures of the ledger together as `ledger`.
    pub(crate) fn failed(&self, ledger: &Ledger) -> BTreeSet<String> {
        let claims = ledger.claims(true);
        let missed = misses::<Transfers>(&self.before, &self.evidence(), &claims);
        let here = self.parts.iter().flat_map(|part| part.failed_here(&self.before));
        here.chain(missed.then(|| "ledger".to_owned())).collect()
    }

    /// The measures of the ledger that notice something.
    pub(crate) fn missed(&self, ledger: &Ledger) -> Vec<String> {
        let checks = Transfers::ledger_checks(&self.before, &self.evidence(), &ledger.claims(true));
        checks.into_iter().filter(|found| found.check == Check::Failed).map(|found| found.name).collect()
    }
}

/// A session over all stores answers as the oracle says.
pub(crate) fn answer_as_one(bank: &Bank, how: How) {
    let done = Transfers::conform(&bank.target(how), &bank.size, 5, RANDOM_CALLS).expect("it opens");
    let done = done.unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(done.random == RANDOM_CALLS && done.declined > 30, "{done:?}");
    all_statements_are_clocked(bank, how);
}

/// Whichever stores a call is in: what no clock covers would stand as time of the service's logic.
fn all_statements_are_clocked(bank: &Bank, how: How) {
    let target = bank.target(how);
    let streams = Streams { seed: 4, run: 8, ..Streams::default() };
    let mut inputs = workload::inputs::<Transfers>(&bank.size, &streams)(0);
    runtime().block_on(async {
        let mut session = target.open(0).await.expect("the engine lets us in");
        for _ in 0..CLOCKED_CALLS {
            let (call, mut work) = (inputs.draw(), CallWork { clocked: true, ..CallWork::default() });
            let result = session.run(&call, &mut work).await;
            if result.is_ok() && work.attempts == 1 {
                let times = session.statement_times().expect("it is clocked");
                let clocked: u32 = times.executed().map(|(_, time)| time.executions).sum();
                assert_eq!(clocked, work.statements, "{call:?}");
            }
        }
    });
}

/// What many sessions at once were told.
pub(crate) fn many_at_once(bank: &Bank, how: How) -> Ledger {
    let streams = Streams { seed: 3, run: 7, ..Streams::default() };
    let inputs = workload::inputs::<Transfers>(&bank.size, &streams);
    let trial = drive(bank.target(how), SESSIONS, MIX_CALLS, inputs, Ledger::new);
    assert_eq!(trial.failure, None);
    trial.ledger
}
