//! Bookings that are announced from an outbox: relays next to calls, several at once, one that dies in between, transactions that
//! commit late, and everybody who announces something else than was booked.

use crate::calls::{drive, runtime};
use crate::loaded_db::LoadedDb;
use crate::sagas::Relayed;
use crate::test_engines::TestEngine;
use admin::store;
use consumer::{Consumer, Inbox, Source};
use measure::Monotonic;
use model::{Clock as _, Key, Nanos};
use relay::{Each, Message, Publishing, Relay, Settings, Sink};
use result::Check;
use sql::{Param, SqlConn as _, SqlOpener as _, StmtId, TxKind};
use std::collections::BTreeSet;
use std::future::ready;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use targets::{Driven as _, How, Style, target_over};
use trial::{Recorded, consumer_checks};
use workload::{Benchmark as _, Streams};
use workload_booking::{
    Announced, Booking, Bookings, Cardinality, Ledger, Stmt, catalogue, message, notifying_catalogue,
};

const SESSIONS: u32 = 8;
const CALLS: u64 = 1_500;
const RUN: u64 = 7;
/// Messages that are published together.
const BATCH: u32 = 16;
/// For a notification, also on a slow machine.
const NOTIFIED_MAX: Duration = Duration::from_secs(60);
/// For relays, also on a slow machine.
const PUBLISHED_MAX: Nanos = Nanos::from_secs(120);

fn how<B: Relayed>() -> How {
    How { dialect: B::DIALECT, driver: B::DRIVER, style: Style::Outbox }
}

/// Keeps what is published, and fails some batches after it has kept them: their acknowledgement is lost.
#[derive(Clone, Default)]
pub(crate) struct MemorySink {
    messages: Arc<Mutex<Vec<Message>>>,
    fails: Arc<AtomicUsize>,
}

impl MemorySink {
    pub(crate) fn failing(times: usize) -> MemorySink {
        MemorySink { fails: Arc::new(AtomicUsize::new(times)), ..MemorySink::default() }
    }

    pub(crate) fn all(&self) -> Vec<Message> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl Sink for MemorySink {
    fn publish<'a>(&'a mut self, messages: &'a [Message]) -> Publishing<'a> {
        self.messages.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(messages);
        let left = self.fails.load(Ordering::Relaxed);
        self.fails.store(left.saturating_sub(1), Ordering::Relaxed);
        Box::pin(ready(if left > 0 { Err("the acknowledgement is lost".into()) } else { Ok(()) }))
    }

    fn read<'a>(&'a mut self, each: &'a mut Each<'a>) -> Publishing<'a> {
        Box::pin(ready(self.all().iter().try_for_each(|message| each(&message.payload))))
    }
}

/// A box office whose bookings are announced.
struct Office {
    loaded_db: LoadedDb<Bookings>,
    size: Cardinality,
    kept: MemorySink,
}

impl Office {
    fn on<B: TestEngine>(kept: MemorySink) -> Office {
        let size = Cardinality::tiny();
        Office { loaded_db: LoadedDb::on::<B>(size), size, kept }
    }

    fn relay<B: Relayed>(&self) -> Box<dyn Relay> {
        self.relay_of::<B>(Style::Outbox)
    }

    fn relay_of<B: Relayed>(&self, style: Style) -> Box<dyn Relay> {
        let settings = Settings {
            sink: Box::new(self.kept.clone()),
            batch: Some(BATCH),
            ..Settings::keeping(Duration::ZERO)
        };
        Bookings::relay(How { style, ..how::<B>() }, &[self.loaded_db.place()], &self.size, settings)
            .expect("a store that was just loaded")
    }

    /// What many sessions at once were answered.
    fn many_at_once<B: Relayed>(&self, style: Style) -> Ledger {
        let how = How { style, ..how::<B>() };
        let target =
            target_over::<Bookings>(how, &[self.loaded_db.place()], &self.size).expect("it was just loaded");
        let streams = Streams { seed: 3, run: RUN, ..Streams::default() };
        let inputs = workload::inputs::<Bookings>(&self.size, &streams);
        let trial = drive(target, SESSIONS, CALLS, inputs, Ledger::new);
        assert_eq!(trial.failure, None);
        trial.ledger
    }

    fn pending(&self) -> u64 {
        Bookings::pending(&self.loaded_db.evidence()).expect("there may be some")
    }

    /// Lets relays work next to something, and until nothing is pending. What that gave, and how many messages each has published.
    fn beside<B: Relayed, T>(&self, relays: usize, work: impl FnOnce() -> T) -> (T, Vec<u64>) {
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let one = || {
                let mut relay = self.relay::<B>();
                let mut published = 0;
                let runtime = runtime();
                while !stop.load(Ordering::Relaxed) {
                    let batch = runtime.block_on(relay.batch());
                    published += batch.settled;
                    if batch.settled == 0 {
                        std::thread::sleep(Duration::from_millis(1));
                    }
                }
                published
            };
            let relays: Vec<_> = (0..relays).map(|_| scope.spawn(one)).collect();
            let made = work();
            let clock = Monotonic::start();
            while self.pending() > 0 {
                assert!(clock.now() < PUBLISHED_MAX, "{} are pending", self.pending());
                std::thread::sleep(Duration::from_millis(50));
            }
            stop.store(true, Ordering::Relaxed);
            (made, relays.into_iter().map(|relay| relay.join().expect("it had its store")).collect())
        })
    }

    /// Names of what is wrong with messages from an outbox, and how many came again.
    fn wrong(&self, messages: &[Message], ledger: &Ledger) -> (Vec<&'static str>, u64) {
        self.wrong_in(true, messages, ledger)
    }

    fn wrong_in(&self, numbered: bool, messages: &[Message], ledger: &Ledger) -> (Vec<&'static str>, u64) {
        let mut announced = Announced::new(&[RUN], numbered, self.size, &[]);
        for (at, message) in messages.iter().enumerate() {
            announced.take(&|| format!("message {at}"), &message.payload);
        }
        let found = announced.findings(&ledger.claims(true), &self.loaded_db.evidence());
        let wrong = found.iter().filter(|found| !found.violations.is_empty()).map(|found| found.name);
        (wrong.collect(), announced.duplicates())
    }
}

/// Two relays at once publish what many sessions book: everything once, and in order, since one of them has the lease.
///
/// # Panics
/// When they do not.
pub fn two_relays_publish_everything_once<B: Relayed>() {
    let office = Office::on::<B>(MemorySink::default());
    let (ledger, published) = office.beside::<B, _>(2, || office.many_at_once::<B>(Style::Outbox));
    let messages = office.kept.all();
    assert!(messages.len() > 100, "{}", messages.len());
    assert_eq!(published.iter().sum::<u64>(), messages.len() as u64);
    assert_eq!(office.wrong(&messages, &ledger), (vec![], 0));
    assert_eq!(office.loaded_db.failed_here(&Vec::new()), BTreeSet::new());
}

/// Bookings whose statements share a round trip leave sound data, exactly what was acknowledged, and a row of the outbox each where
/// they are to.
///
/// # Panics
/// When they do not.
pub fn pipelined_bookings_are_sound<B: Relayed>() {
    for style in [Style::Pipelined, Style::PipelinedOutboxRow] {
        let office = Office::on::<B>(MemorySink::default());
        let before = office.loaded_db.evidence();
        let claims = office.many_at_once::<B>(style).claims(true);
        let stored = office.loaded_db.evidence();
        let mut checks = Bookings::ledger_checks(&before, &stored, &claims);
        checks.extend(Bookings::unpublished_checks(style.name(), &[RUN], &claims, &stored));
        let wrong: Vec<_> = checks.iter().filter(|check| check.check != Check::Passed).collect();
        assert!(wrong.is_empty() && checks.iter().any(|check| check.stored > 100), "{style:?}: {checks:?}");
        assert_eq!(office.loaded_db.failed_here(&before), BTreeSet::new());
        assert_eq!(office.pending() > 100, style.keeps_outbox(), "{style:?}");
    }
}

/// A relay whose acknowledgements get lost publishes the same again, and loses nothing.
///
/// # Panics
/// When it does.
pub fn what_was_not_acknowledged_is_published_again<B: Relayed>() {
    let office = Office::on::<B>(MemorySink::failing(5));
    let (ledger, _) = office.beside::<B, _>(1, || office.many_at_once::<B>(Style::Outbox));
    let (wrong, duplicates) = office.wrong(&office.kept.all(), &ledger);
    assert!(wrong.is_empty() && duplicates > 0, "{wrong:?} {duplicates}");
}

/// A relay that has gone is followed by another when its lease has run out, and not before.
///
/// # Panics
/// When it is not.
pub fn a_lease_is_kept_until_it_has_run_out<B: Relayed>() {
    let office = Office::on::<B>(MemorySink::default());
    let (mut first, mut second) = (office.relay::<B>(), office.relay::<B>());
    let (clock, runtime) = (Monotonic::start(), runtime());
    let turn = |relay: &mut Box<dyn Relay>| {
        let batch = runtime.block_on(relay.batch());
        assert_eq!(batch.error, None);
        batch.settled
    };
    // It takes the lease though there is nothing yet.
    assert_eq!((turn(&mut first), turn(&mut second)), (0, 0));
    insert::<B>(&office, 1, TxKind::Write);
    // A machine that is slower than the lease shows nothing here.
    let is_early = turn(&mut second) == 0 || clock.now() > Nanos::from_secs(3);
    assert!(is_early, "two relays work at the same time");
    drop(first);
    // It has ended in no order.
    while turn(&mut second) == 0 && office.kept.all().is_empty() {
        assert!(clock.now() < PUBLISHED_MAX, "no one follows it");
        std::thread::sleep(Duration::from_millis(20));
    }
    assert_eq!(office.kept.all().len(), 1);
    // One that ends in order makes room at once.
    runtime.block_on(second.end());
    insert::<B>(&office, 2, TxKind::Write);
    let mut third = office.relay::<B>();
    let clock = Monotonic::start();
    let is_there = turn(&mut third) == 1 || clock.now() > Nanos::from_secs(3);
    assert!(is_there, "the lease was not returned");
}

fn row(sequence: u32) -> [Param<'static>; 6] {
    [RUN as i64, 0, i64::from(sequence), 1, 5, 1].map(Param::Int)
}

/// A row of the outbox in a transaction of its own.
fn insert<B: Relayed>(office: &Office, sequence: u32, tx: TxKind) {
    insert_by::<B>(office, catalogue(B::DIALECT).expect("files that fit the code"), sequence, tx);
}

fn insert_by<B: Relayed>(office: &Office, statements: Vec<String>, sequence: u32, tx: TxKind) {
    let opener = opener_with::<B>(office, statements);
    runtime().block_on(async {
        let mut conn = opener.open().await.expect("it was just loaded");
        conn.begin(tx).await.expect("no one is in the way");
        conn.exec(INSERT, &row(sequence)).await.expect("a row that fits");
        conn.commit().await.expect("nothing is wrong with it");
    });
}

const INSERT: StmtId = StmtId(0);

fn opener<B: Relayed>(office: &Office) -> B::Opener {
    opener_with::<B>(office, catalogue(B::DIALECT).expect("files that fit the code"))
}

fn opener_with<B: Relayed>(office: &Office, mut statements: Vec<String>) -> B::Opener {
    B::opener(&office.loaded_db.place(), vec![statements.swap_remove(Stmt::InsertOutbox.id().0.into())])
}

/// A row whose transaction commits after rows with higher numbers were published is published too.
///
/// # Panics
/// When it is not.
pub fn a_transaction_that_commits_late_is_not_skipped<B: Relayed>() {
    let office = Office::on::<B>(MemorySink::default());
    let (mut relay, opener) = (office.relay::<B>(), opener::<B>(&office));
    runtime().block_on(async {
        let mut late = opener.open().await.expect("it was just loaded");
        late.begin(TxKind::Write).await.expect("no one is in the way");
        late.exec(INSERT, &row(0)).await.expect("a row that fits");
        let mut other = opener.open().await.expect("it was just loaded");
        for sequence in 1..4 {
            other.begin(TxKind::Write).await.expect("the other is not in the way");
            other.exec(INSERT, &row(sequence)).await.expect("a row that fits");
            other.commit().await.expect("nothing is wrong with it");
        }
        assert_eq!(relay.batch().await.settled, 3);
        late.commit().await.expect("nothing is wrong with it");
        assert_eq!(relay.batch().await.settled, 1);
    });
    assert_eq!(office.kept.all().len(), 4);
    assert_eq!(office.pending(), 0);
}

/// What is done to the messages of right bookings, and what must notice it.
type Fault = (&'static str, fn(&mut Vec<Message>), &'static [&'static str]);

fn of(sequence: u32, event: u32, position: i64) -> Message {
    let key = Key { run: RUN, worker: 1, sequence };
    let (key, payload) = message(&Booking { key, event, user: 5, quantity: 1 }, Some(position));
    Message { key, payload, created_us: None }
}

const FAULTS: &[Fault] = &[
    (
        "a row is marked as published before it is acknowledged",
        |messages| drop(messages.remove(40)),
        &["announced bookings", "announcements of stored bookings"],
    ),
    (
        "a booking is announced before it commits, and is rolled back",
        |messages| messages.push(of(60_000, 1, 1_000_000)),
        &["announced bookings", "announcements of stored bookings"],
    ),
    (
        "a batch is published in another order",
        |messages| messages[32..48].reverse(),
        &["order of announcements"],
    ),
    (
        "a message is of another run",
        |messages| {
            let key = Key { run: 8, worker: 1, sequence: 1 };
            let (key, payload) = message(&Booking { key, event: 1, user: 5, quantity: 1 }, Some(1_000_001));
            messages.push(Message { key, payload, created_us: None });
        },
        &["malformed announcements"],
    ),
    (
        "a message is torn",
        |messages| {
            messages.push(Message {
                key: 1,
                payload: b"{\"type\":\"booked\",\"boo".to_vec(),
                created_us: None,
            })
        },
        &["malformed announcements"],
    ),
];

/// Everybody who announces something else than was booked is caught, and a message that comes again is not.
///
/// # Panics
/// When one is not.
pub fn who_announces_something_else_is_caught<B: Relayed>() {
    let office = Office::on::<B>(MemorySink::default());
    let (ledger, _) = office.beside::<B, _>(1, || office.many_at_once::<B>(Style::Outbox));
    let right = office.kept.all();
    for (what, change, noticed) in FAULTS {
        let mut messages = right.clone();
        change(&mut messages);
        let (wrong, _) = office.wrong(&messages, &ledger);
        assert!(noticed.iter().all(|name| wrong.contains(name)), "{what}: {wrong:?}");
    }
    let again = [right.clone(), right[10..20].to_vec()].concat();
    assert_eq!(office.wrong(&again, &ledger), (vec![], 10));
}

/// A dual write publishes each booking as long as its process lives; a message that is missing, as after a kill between commit and
/// message, is detected.
///
/// # Panics
/// When it does not, or is not.
pub fn a_missing_message_of_a_dual_write_is_detected<B: Relayed>() {
    let office = Office::on::<B>(MemorySink::default());
    let producing = relay::produce_to(Box::new(office.kept.clone())).expect("there is a runtime");
    let ledger = office.many_at_once::<B>(Style::DirectPublish);
    drop(producing);
    let mut messages = office.kept.all();
    assert!(messages.len() > 100, "{}", messages.len());
    assert_eq!(office.wrong_in(false, &messages, &ledger), (vec![], 0));
    messages.pop();
    let (wrong, _) = office.wrong_in(false, &messages, &ledger);
    let noticed = ["announced bookings", "announcements of stored bookings"];
    assert!(noticed.iter().all(|name| wrong.contains(name)), "{wrong:?}");
    assert_eq!(office.pending(), 0, "no row is left in the outbox");
}

/// A booking in style `outbox-notify` ends the rest of an idle relay, also after the connection that listens was lost.
///
/// # Panics
/// When it does not.
pub fn a_booking_notifies_an_idle_relay<B: Relayed>() {
    let office = Office::on::<B>(MemorySink::default());
    let mut relay = office.relay_of::<B>(Style::OutboxNotify);
    let runtime = runtime();
    let is_notified = |relay: &mut Box<dyn Relay>| {
        let rest = async { tokio::time::timeout(NOTIFIED_MAX, relay.rest(Duration::from_secs(3_600))).await };
        runtime.block_on(rest).is_ok()
    };
    let turn = |relay: &mut Box<dyn Relay>| {
        let batch = runtime.block_on(relay.batch());
        (batch.settled, batch.error)
    };
    assert_eq!(turn(&mut relay), (0, None), "it takes the lease");
    for sequence in 1..=2 {
        assert!(is_notified(&mut relay), "it polls once when it listens, for what has committed before");
        while turn(&mut relay).0 > 0 {}
        std::thread::scope(|scope| {
            let statements = notifying_catalogue().expect("files that fit the code");
            scope.spawn(|| insert_by::<B>(&office, statements, sequence, TxKind::Write));
            assert!(is_notified(&mut relay), "row {sequence}");
        });
        assert_eq!((turn(&mut relay), office.pending()), ((1, None), 0));
        let end = "select pg_terminate_backend(pid) from pg_stat_activity \
                   where query = 'listen stackmark_outbox' and datname = current_database()";
        let ended = store(office.loaded_db.place()).rows(end, &[]).expect("PostgreSQL");
        assert_eq!(ended.len(), 1, "one connection listens");
        let clock = Monotonic::start();
        let failure = loop {
            // Its task runs while the relay rests.
            runtime
                .block_on(async {
                    tokio::time::timeout(Duration::from_millis(5), relay.rest(NOTIFIED_MAX)).await
                })
                .ok();
            let (_, error) = turn(&mut relay);
            assert!(clock.now() < PUBLISHED_MAX, "the relay does not report that it is not notified");
            if let Some(error) = error {
                break error;
            }
        };
        assert!(failure.contains("receives notifications"), "{failure}");
    }
}

/// A consumer processes each message once, also if it is delivered again; one that has lost its inbox repeats, and is caught. So is one
/// that processes others than were published.
///
/// # Panics
/// When it does not, or is not.
pub fn a_consumer_that_processes_other_messages_is_caught<B: Relayed>() {
    let office = Office::on::<B>(MemorySink::default());
    let (ledger, _) = office.beside::<B, _>(1, || office.many_at_once::<B>(Style::Outbox));
    let messages = office.kept.all();
    let folder = tempfile::tempdir().expect("a folder for inboxes");
    let consume = |name: &str, messages: &[Message]| {
        let (source, path) = (folder.path().join("messages.jsonl"), folder.path().join(name));
        let lines: Vec<&[u8]> = messages.iter().map(|message| &message.payload[..]).collect();
        std::fs::write(&source, [lines.join(&b'\n'), b"\n".to_vec()].concat()).expect("a folder of its own");
        let inbox = Inbox::open(&path, name).expect("a new file, or an inbox");
        let mut consumer = Consumer::new(Source::File(source), inbox);
        let batch = runtime().block_on(async { consumer.batch().await });
        assert_eq!(batch.error, None);
        (path, batch.settled)
    };
    let wrong = |path: &Path| {
        let inbox = Inbox::read_only(path).expect("it was just written");
        let (claims, stored) = (ledger.claims(true), office.loaded_db.evidence());
        let recorded = Recorded::<Bookings> {
            style: Style::Outbox,
            size: &office.size,
            runs: &[RUN],
            before: &Vec::new(),
            claims: &claims,
            stored: &stored,
        };
        let checks = consumer_checks(&inbox, &recorded);
        let failed = checks.expect("an inbox").into_iter().filter(|check| check.check == Check::Failed);
        failed.map(|check| check.name).collect::<Vec<_>>()
    };
    let again = [messages.clone(), messages[10..20].to_vec()].concat();
    let (path, processed) = consume("inbox.db", &again);
    assert_eq!((processed, wrong(&path)), (messages.len() as u64, vec![]));
    assert_eq!(consume("inbox.db", &again).1, 0, "it reads on from the offset in its inbox");
    let inbox = rusqlite::Connection::open(&path).expect("it was just written");
    let forget = "delete from offsets; \
                  delete from inbox where message in (select message from processed where id < 4)";
    inbox.execute_batch(forget).expect("it has these tables");
    assert_eq!(consume("inbox.db", &again).1, 3);
    assert_eq!(wrong(&path), ["consumer: repeated processing"]);
    for (number, (what, change, noticed)) in FAULTS.iter().enumerate() {
        let mut messages = messages.clone();
        change(&mut messages);
        let (path, _) = consume(&format!("inbox-{number}.db"), &messages);
        let wrong = wrong(&path);
        assert!(noticed.iter().all(|name| wrong.contains(&format!("consumer: {name}"))), "{what}: {wrong:?}");
    }
}
