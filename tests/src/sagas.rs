//! Transfers between two stores by a saga: right answers, several relays at once, one that dies in between, credits that are
//! refused, and everybody who does wrong between stores.

use crate::bite;
use crate::calls::runtime;
use crate::fixture_db::execute;
use crate::test_engines::{OnMariaDb, OnPostgres, OnSqlite, TestEngine};
use crate::two_phase::none_left;
use crate::two_stores::{Bank, answer_as_one, many_at_once};
use measure::Monotonic;
use model::random::Random;
use model::{CallWork, Doubt, Fault, Ledger as _, Session as _, Target as _};
use sql::{Journal, Param, Read, SqlConn, SqlOpener, StmtId, Take, TxKind};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::Duration;
use targets::{Driven as _, Driver, How, Style, target_over};
use workload_transfer::{
    Call, DualWriteSession, Key, Ledger, OPENING, Outcome, Purpose, RELAY_BATCH, SagaRelay, SqlSession,
    State, Transfer, Transfers, catalogue, directions, relay_catalogue,
};

/// An engine whose calls can leave something to a relay.
pub trait Relayed: TestEngine {
    /// How it is reached.
    const DRIVER: Driver;
}

impl Relayed for OnSqlite {
    const DRIVER: Driver = Driver::Rusqlite;
}

impl Relayed for OnPostgres {
    const DRIVER: Driver = Driver::TokioPostgres;
}

impl Relayed for OnMariaDb {
    const DRIVER: Driver = Driver::MySqlAsync;
}

pub(crate) fn how<B: Relayed>() -> How {
    in_style::<B>(Style::Saga)
}

pub(crate) fn in_style<B: Relayed>(style: Style) -> How {
    How { dialect: B::DIALECT, driver: B::DRIVER, style }
}

/// For longer than any test takes.
const KEEP: Duration = Duration::from_secs(86_400);

/// A relay that works until it is told to stop. What it has brought, and what was undone.
fn relaying<'scope, B: Relayed>(
    scope: &'scope Scope<'scope, '_>,
    bank: &'scope Bank,
    stop: &'scope AtomicBool,
) -> ScopedJoinHandle<'scope, (u64, u64)> {
    scope.spawn(move || {
        // One connection for each direction, and batches that are full.
        let settings = relay::Settings { batch: Some(5), connections: 2, ..relay::Settings::keeping(KEEP) };
        let mut relay =
            Transfers::relay(how::<B>(), &bank.urls(), &bank.size, settings).expect("several stores");
        let (mut done, mut undone) = (0, 0);
        runtime().block_on(async {
            while !stop.load(Ordering::Relaxed) {
                let batch = relay.batch().await;
                assert_eq!(batch.error, None);
                done += batch.settled;
                undone += batch.refunded;
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        (done, undone)
    })
}

/// Does something while so many relays work, and waits until nothing is pending.
pub(crate) fn beside<B: Relayed, T>(relays: usize, bank: &Bank, work: impl FnOnce() -> T) -> (T, u64, u64) {
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let relays: Vec<_> = (0..relays).map(|_| relaying::<B>(scope, bank, &stop)).collect();
        let made = work();
        bank.until_left(false);
        stop.store(true, Ordering::Relaxed);
        let each = relays.into_iter().map(|relay| relay.join().expect("it had all stores"));
        let (done, undone) = each.fold((0, 0), |all, of| (all.0 + of.0, all.1 + of.1));
        (made, done, undone)
    })
}

/// Sessions answer as the oracle says once the money has arrived, and many at once leave sound data in all of several stores, with
/// two relays that settle each transfer once.
///
/// # Panics
/// When they do not.
pub fn stores_settle<B: Relayed>(stores: u32) {
    let _together = none_left();
    let bank = Bank::over::<B>(stores);
    let ((), done, _) = beside::<B, _>(1, &bank, || answer_as_one(&bank, how::<B>()));
    assert!(done > 20, "{done}");

    let bank = Bank::over::<B>(stores);
    let (ledger, done, undone) = beside::<B, _>(2, &bank, || many_at_once(&bank, how::<B>()));
    assert_eq!(bank.failed(&ledger), BTreeSet::new());
    assert!(done > 50 && undone == 0, "{done} {undone}");
}

const AMOUNT: i64 = 700;

/// A transfer from the first account to the last, which is in the other store, asked for once.
pub(crate) struct Asked {
    pub(crate) bank: Bank,
    pub(crate) ledger: Ledger,
    pub(crate) transfer: Transfer,
}

pub(crate) fn asked<B: Relayed>() -> Asked {
    let bank = Bank::on::<B>();
    let (source, target) = bank.size.ids().into_inner();
    let key = Key { run: 7, worker: 0, sequence: 0 };
    let mut asked =
        Asked { bank, ledger: Ledger::new(), transfer: Transfer { key, source, target, amount: AMOUNT } };
    let moved = asked.ask::<B>(&Call::of(asked.transfer, &asked.bank.size));
    assert_eq!(moved, Outcome::Moved { state: State::Pending, balance: OPENING - AMOUNT });
    asked
}

impl Asked {
    fn ask<B: Relayed>(&mut self, call: &Call) -> Outcome {
        let target = self.bank.target(how::<B>());
        let answer = runtime().block_on(async {
            let mut session = target.open(0).await.expect("both stores are there");
            session.run(call, &mut CallWork::default()).await
        });
        self.ledger.post(call, &answer);
        answer.expect("both stores are there")
    }

    /// What both accounts hold, and what has become of the transfer.
    fn state<B: Relayed>(&mut self) -> (i64, i64, State) {
        let Transfer { key, source, target, .. } = self.transfer;
        let mut locked = |id| match self.ask::<B>(&Call::ReadAccount { id }) {
            Outcome::Balance { balance } => balance,
            other => panic!("{other:?}"),
        };
        let (of_source, of_target) = (locked(source), locked(target));
        match self.ask::<B>(&Call::ReadTransfer { source, key }) {
            Outcome::Found { state, .. } => (of_source, of_target, state),
            other => panic!("{other:?}"),
        }
    }

    /// The same again is answered as it was.
    pub(crate) fn repeat<B: Relayed>(&mut self) {
        let again = Call::Transfer { purpose: Purpose::Repeat, transfer: self.transfer };
        let first = Outcome::Moved { state: State::Pending, balance: OPENING - AMOUNT };
        assert_eq!(self.ask::<B>(&again), first);
    }
}

/// A connection of a relay that dies when it has committed so often.
struct Mortal<C> {
    conn: C,
    commits: u32,
}

impl<C> Mortal<C> {
    fn lives(&self) -> Result<(), Fault> {
        match self.commits {
            0 => Err(Fault::InDoubt(Doubt::ConnectionLost)),
            _ => Ok(()),
        }
    }
}

impl<C: SqlConn> SqlConn for Mortal<C> {
    const DIALECT: sql::Dialect = C::DIALECT;

    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        self.lives()?;
        self.conn.begin(tx).await
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        self.lives()?;
        self.commits -= 1;
        self.conn.commit().await
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        self.conn.rollback().await
    }

    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        self.conn.exec(stmt, params).await
    }

    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        self.conn.row(stmt, params, read).await
    }

    async fn fold<S: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> Result<(), Fault> {
        self.conn.fold(stmt, params, state, take).await
    }
}

/// A relay dies before it has given the money, or when it has and no one was told: the next one brings it once.
///
/// # Panics
/// When it does not.
pub fn what_a_dead_relay_leaves_is_settled<B: Relayed>() {
    let _together = none_left();
    // Commits in the store of the source, of which the first is that of reading, and in that of the target.
    for (commits, wanted) in [([1, 0], false), ([1, 1], true)] {
        let mut asked = asked::<B>();
        assert_eq!(asked.state::<B>(), (OPENING - AMOUNT, OPENING, State::Pending));
        relay_and_die::<B>(&asked.bank, commits);
        let arrived = if wanted { AMOUNT } else { 0 };
        assert_eq!(asked.state::<B>(), (OPENING - AMOUNT, OPENING + arrived, State::Pending));
        assert_eq!(asked.bank.pending(), 1);
        asked.repeat::<B>();
        // Whoever looks now says that it is not over.
        assert_eq!(asked.bank.failed(&asked.ledger), BTreeSet::from(["ledger".to_owned()]));
        let ((), done, undone) = beside::<B, _>(1, &asked.bank, || ());
        assert_eq!((done, undone), (1, 0));
        assert_eq!(asked.state::<B>(), (OPENING - AMOUNT, OPENING + AMOUNT, State::Completed));
        asked.repeat::<B>();
        assert_eq!(asked.bank.failed(&asked.ledger), BTreeSet::new());
    }
}

fn relay_and_die<B: Relayed>(bank: &Bank, commits: [u32; 2]) {
    runtime().block_on(async {
        let statements = relay_catalogue(B::DIALECT).expect("kept by a test of the workload");
        let conns = mortals::<B>(bank, &statements, commits).await;
        let ways = directions(conns.len());
        let mut relay = SagaRelay::new(conns, ways, RELAY_BATCH, bank.size.into(), Random::stream(5, &[]));
        let (done, ended) = relay.turn().await;
        assert!(ended.is_err() && done.settled == 0, "{done:?} {ended:?}");
    });
}

/// A connection to each store that dies when it has committed so often.
async fn mortals<B: Relayed>(
    bank: &Bank,
    statements: &[String],
    commits: [u32; 2],
) -> Vec<Mortal<<B::Opener as SqlOpener>::Conn>> {
    let mut conns = Vec::new();
    for (place, commits) in bank.urls().iter().zip(commits) {
        let opener = std::thread::scope(|scope| {
            let opens = scope.spawn(|| B::opener(place, statements.to_vec()));
            opens.join().expect("a database that was just made")
        });
        conns.push(Mortal { conn: opener.open().await.expect("it is there"), commits });
    }
    conns
}

/// Transfers that are written down nowhere are right as long as no one dies, and the audits notice who dies between the debit and
/// the credit.
///
/// # Panics
/// When it is not so.
pub fn who_dies_between_debit_and_credit_is_caught<B: Relayed>() {
    let _together = none_left();
    let how = in_style::<B>(Style::DualWrite);
    answer_as_one(&Bank::on::<B>(), how);
    let bank = Bank::on::<B>();
    let ledger = many_at_once(&bank, how);
    assert_eq!(bank.failed(&ledger), BTreeSet::new());

    let bank = Bank::on::<B>();
    let mut ledger = Ledger::new();
    let (source, target) = bank.size.ids().into_inner();
    let key = Key { run: 7, worker: 0, sequence: 0 };
    let call = Call::of(Transfer { key, source, target, amount: AMOUNT }, &bank.size);
    let statements = catalogue(B::DIALECT).expect("kept by a test of the workload");
    let answer = runtime().block_on(async {
        let conns = mortals::<B>(&bank, &statements, [1, 0]).await;
        let clock = Monotonic::start();
        let sessions = conns.into_iter().map(|conn| SqlSession::new(conn, clock)).collect();
        DualWriteSession::new(sessions, bank.size.into()).run(&call, &mut CallWork::default()).await
    });
    assert!(matches!(answer, Err(Fault::InDoubt(_))), "{answer:?}");
    ledger.post(&call, &answer);
    assert_eq!(bank.failed(&ledger), BTreeSet::from(["ledger".to_owned()]));
}

/// Files that commit together answer as one, and many sessions leave sound data in both.
///
/// # Panics
/// When they do not.
pub fn attached_files_are_as_one() {
    let _together = none_left();
    let how = in_style::<OnSqlite>(Style::Attached);
    let bank = || Bank::on::<OnSqlite>().journaled(Journal::Truncate);
    answer_as_one(&bank(), how);
    let bank = bank();
    let ledger = many_at_once(&bank, how);
    assert_eq!(bank.failed(&ledger), BTreeSet::new());
}

/// Money for an account that the other store does not have goes back, once, and the first answer stays what it was.
///
/// # Panics
/// When it does not.
pub fn what_is_refused_goes_back<B: Relayed>() {
    let _together = none_left();
    let mut asked = asked::<B>();
    let Transfer { key, source, target, .. } = asked.transfer;
    let place = asked.bank.urls().remove(1);
    execute(&place, &[format!("delete from account where id = {target}")]);
    let ((), done, undone) = beside::<B, _>(2, &asked.bank, || ());
    assert_eq!((done, undone), (0, 1));
    execute(&place, &[format!("insert into account (id, balance) values ({target}, {OPENING})")]);
    assert_eq!(asked.state::<B>(), (OPENING, OPENING, State::Refunded));
    asked.repeat::<B>();
    // The account was there before and is there again, so that no reason shows.
    assert_eq!(asked.bank.failed(&asked.ledger), BTreeSet::from(["ledger".to_owned()]));
    assert_eq!(asked.bank.missed(&asked.ledger), ["refunds"]);
    let found = asked.ask::<B>(&Call::ReadTransfer { source, key });
    assert_eq!(found, Outcome::Found { target, amount: AMOUNT, state: State::Refunded });
}

/// Someone who does wrong between stores, after one transfer from the first store to the second was asked for.
#[derive(Debug, Clone, Copy)]
pub struct Wrong {
    what: &'static str,
    /// Whether a relay has settled it before.
    settled: bool,
    /// What is executed in the store of the source, and in that of the target.
    acts: [&'static [&'static str]; 2],
    /// Names of audits.
    pub caught_by: &'static [&'static str],
}

pub const WRONGS: &[Wrong] = &[
    Wrong { what: "nothing is wrong", settled: true, acts: [&[], &[]], caught_by: &[] },
    Wrong {
        what: "a transfer that is half done is shown as done",
        settled: false,
        acts: [&["update transfer set state = 4, settled = created + 1", "delete from outbox"], &[]],
        caught_by: &["ledger"],
    },
    Wrong {
        what: "a transfer is settled without a row of the inbox",
        settled: true,
        acts: [&[], &["delete from inbox"]],
        caught_by: &["ledger"],
    },
    Wrong {
        what: "a key is forgotten and no one has counted it",
        settled: true,
        acts: [&["delete from transfer"], &[]],
        caught_by: &["entry-transfers", "ledger"],
    },
    Wrong {
        what: "a key is forgotten and counted as another",
        settled: true,
        acts: [
            &[
                "insert into forgotten (sort, run, worker, transfers, units, mixed) select 1, run, worker, 1, amount, sequence + 1 from transfer",
                "insert into forgotten (sort, run, worker, transfers, units, mixed) select 13, run, worker, 1, amount, sequence + 1 from transfer",
                "insert into forgotten (sort, run, worker, transfers, units, mixed) select 8, run, worker, 1, amount, sequence + 1 from transfer",
                "delete from transfer",
            ],
            &[],
        ],
        caught_by: &["forgotten-entries", "ledger"],
    },
    Wrong {
        what: "a message is lost",
        settled: false,
        acts: [&["delete from outbox"], &[]],
        caught_by: &["ledger", "outbox-transfers"],
    },
    Wrong {
        what: "a message stays that was done",
        settled: true,
        acts: [
            &[
                "insert into outbox (created, run, worker, sequence, source, target, amount) select 1, run, worker, sequence, source, target, amount from transfer",
            ],
            &[],
        ],
        caught_by: &["outbox-transfers"],
    },
    Wrong {
        what: "money has arrived without an entry",
        settled: true,
        acts: [&[], &["delete from entry"]],
        caught_by: &["account-entries", "inbox-entries", "ledger"],
    },
    Wrong {
        what: "a debit is lost",
        settled: true,
        acts: [
            &[
                "update account set balance = balance + 700 where id = 1",
                "delete from entry where amount < 0",
            ],
            &[],
        ],
        caught_by: &["ledger", "transfer-debits"],
    },
    Wrong {
        what: "a credit was given twice",
        settled: true,
        acts: [&[], &["update account set balance = balance + 700 where id = 24"]],
        caught_by: &["account-entries", "ledger"],
    },
    Wrong {
        what: "a credit was given to a neighbour, with its entry",
        settled: true,
        acts: [
            &[],
            &[
                "update entry set account = 23",
                "update account set balance = balance - 700 where id = 24",
                "update account set balance = balance + 700 where id = 23",
            ],
        ],
        caught_by: &["inbox-entries", "ledger"],
    },
    Wrong {
        what: "a transfer was returned and has arrived",
        settled: true,
        acts: [
            &[
                "update transfer set state = 5",
                "update account set balance = balance + 700 where id = 1",
                "insert into entry (run, worker, sequence, source, account, amount) select run, worker, sequence, source, source, amount from transfer",
            ],
            &[],
        ],
        caught_by: &["ledger"],
    },
    Wrong {
        what: "a transfer is refused and returned, although its account is there",
        settled: true,
        acts: [
            &[
                "update transfer set state = 5",
                "update account set balance = balance + 700 where id = 1",
                "insert into entry (run, worker, sequence, source, account, amount) select run, worker, sequence, source, source, amount from transfer",
            ],
            &[
                "update inbox set state = 2",
                "update account set balance = balance - 700 where id = 24",
                "delete from entry",
            ],
        ],
        caught_by: &["ledger"],
    },
    Wrong {
        what: "a transfer that has arrived is shown as returned",
        settled: true,
        acts: [&["update transfer set state = 5"], &[]],
        caught_by: &["ledger", "transfer-refunds"],
    },
];

/// A store whose own table says otherwise than was loaded into it gets neither sessions nor a relay; where it is not in its place, it is
/// told by its name.
///
/// # Panics
/// When it does.
pub fn a_store_that_says_otherwise_is_refused<B: Relayed>() {
    let bank = Bank::on::<B>();
    let place = bank.urls().remove(1);
    let refused = || {
        let target = target_over::<Transfers>(how::<B>(), &bank.urls(), &bank.size).err();
        let relay =
            Transfers::relay(how::<B>(), &bank.urls(), &bank.size, relay::Settings::keeping(KEEP)).err();
        [target, relay].map(|why| format!("{:#}", why.expect("its table is not what was loaded")))
    };
    // One account less at its end, so that all have their places and the whole is smaller; and then one less at its beginning.
    execute(&place, &["update shard_range set last_account = last_account - 1".to_owned()]);
    for why in refused() {
        assert!(why.contains("accounts"), "{why}");
    }
    let first = "update shard_range set last_account = last_account + 1, first_account = first_account + 1";
    execute(&place, &[first.to_owned()]);
    for why in refused() {
        assert!(why.contains("shard-1") && why.contains("10 to 24, and those from 9 on"), "{why}");
    }
}

/// Each of those who do wrong between stores is noticed by the audits that he offends and by no others.
///
/// # Panics
/// With those for whom that is not so.
pub fn wrongs_between_stores_are_caught<B: Relayed>() {
    let _together = none_left();
    bite::assert_none(&bite::all(WRONGS, |wrong| {
        let asked = asked::<B>();
        if wrong.settled {
            beside::<B, _>(1, &asked.bank, || ());
        }
        for (place, acts) in asked.bank.urls().iter().zip(wrong.acts) {
            execute(place, &acts.iter().map(|&act| act.to_owned()).collect::<Vec<_>>());
        }
        let expected: BTreeSet<String> = wrong.caught_by.iter().map(|name| (*name).to_owned()).collect();
        let found = asked.bank.failed(&asked.ledger);
        (found != expected).then(|| format!("{}: expected {expected:?}, noticed {found:?}", wrong.what))
    }));
}
