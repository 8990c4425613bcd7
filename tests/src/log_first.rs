//! Transfers between stores that are written to a log first: right answers, records that a process or a session could not execute,
//! logs that are not those of the stores, and logs that do not match what is stored.

use crate::calls::runtime;
use crate::fixture_db::execute;
use crate::outboxes::MemorySink;
use crate::sagas::{Relayed, beside, in_style};
use crate::two_phase::none_left;
use crate::two_stores::{Bank, answer_as_one, many_at_once};
use measure::Monotonic;
use model::{CallWork, Clock as _, Fault, Ledger as _, Nanos, Session as _, Target as _};
use relay::{Message, Sink as _};
use result::Check;
use std::collections::BTreeSet;
use std::time::Duration;
use targets::{How, Style, TrialSession, TrialTarget, target_over};
use tokio::runtime::Runtime;
use workload::Benchmark as _;
use workload_transfer::{
    Call, Key, Ledger, LogRecord, OPENING, Outcome, Purpose, State, Transfer, Transfers,
};

const RUN: u64 = 7;
const AMOUNT: i64 = 700;
/// For records that were left, also on a slow machine.
const EXECUTED_MAX: Nanos = Nanos::from_secs(60);

fn how<B: Relayed>() -> How {
    in_style::<B>(Style::LogFirst)
}

fn record(stream: u64, number: u32, transfer: Transfer) -> Message {
    let payload = LogRecord { stream, number, transfer }.to_json();
    Message { key: stream, payload, created_us: None }
}

/// A transfer from the first store to the second.
fn across(bank: &Bank, sequence: u32) -> Transfer {
    let (source, target) = bank.size.ids().into_inner();
    Transfer { key: Key { run: RUN, worker: 0, sequence }, source, target, amount: AMOUNT }
}

/// Names of what is wrong with a log, and its duplicates.
fn wrong(bank: &Bank, log: &[Message], ledger: &Ledger) -> (BTreeSet<String>, u64) {
    let check = Transfers::announced("log-first", &bank.size, &[RUN], &Vec::new());
    let mut check = check.expect("it has a log");
    log.iter().for_each(|record| check.take(&|| "there".into(), &record.payload));
    let checks = check.checks(&ledger.claims(true), &bank.evidence());
    assert_eq!(checks.len(), 2, "{checks:?}");
    let failed = checks.into_iter().filter(|check| check.check != Check::Passed);
    (failed.map(|check| check.name).collect(), check.duplicates())
}

fn none() -> BTreeSet<String> {
    BTreeSet::new()
}

/// Sessions answer as the oracle says, and many at once leave sound data and a log that matches it; a log that does not is detected:
/// one without a record, with one of no transfer, or of transfers that no one logged.
///
/// # Panics
/// When they do not, or it is not.
pub fn logged_transfers_match_what_is_stored<B: Relayed>() {
    let _together = none_left();
    let kept = MemorySink::default();
    let producing = relay::produce_to(Box::new(kept.clone())).expect("there is a runtime");
    let bank = Bank::on::<B>();
    beside::<B, _>(1, &bank, || answer_as_one(&bank, how::<B>()));
    drop(producing);

    let kept = MemorySink::default();
    let producing = relay::produce_to(Box::new(kept.clone())).expect("there is a runtime");
    let bank = Bank::on::<B>();
    let (ledger, done, _) = beside::<B, _>(2, &bank, || many_at_once(&bank, how::<B>()));
    drop(producing);
    assert_eq!(bank.failed(&ledger), none());
    let log = kept.all();
    let (found, duplicates) = wrong(&bank, &log, &ledger);
    // Calls that are made again under their key are logged again.
    assert_eq!(found, none());
    assert!(
        duplicates > 0 && log.len() as u64 - duplicates >= done && done > 50,
        "{} {duplicates}",
        log.len()
    );

    let invented = record(1, 0, across(&bank, 4_000_000_000));
    assert!(wrong(&bank, &[log.clone(), vec![invented]].concat(), &ledger).0.contains("logged transfers"));
    let first = LogRecord::parse(&log[0].payload).expect("it is one").transfer.key;
    let without: Vec<Message> = log
        .iter()
        .filter(|record| LogRecord::parse(&record.payload).expect("it is one").transfer.key != first)
        .cloned()
        .collect();
    assert!(wrong(&bank, &without, &ledger).0.contains("logged transfers"));
    let malformed = Message { payload: b"{}".to_vec(), ..log[0].clone() };
    assert!(wrong(&bank, &[log, vec![malformed]].concat(), &ledger).0.contains("malformed log records"));

    let bank = Bank::on::<B>();
    let (ledger, ..) = beside::<B, _>(1, &bank, || many_at_once(&bank, in_style::<B>(Style::Saga)));
    assert!(wrong(&bank, &[], &ledger).0.contains("logged transfers"));
}

fn run(target: &TrialTarget<Transfers>, call: &Call) -> Result<Outcome, Fault> {
    runtime().block_on(async {
        let mut session = target.open(0).await.expect("both stores are there");
        session.run(call, &mut CallWork::default()).await
    })
}

/// What the account that pays holds, and what it paid for.
fn paid(bank: &Bank, target: &TrialTarget<Transfers>) -> (i64, Vec<u32>) {
    let Transfer { source, .. } = across(bank, 0);
    let locked = match run(target, &Call::ReadAccount { id: source }) {
        Ok(Outcome::Balance { balance }) => balance,
        other => panic!("{other:?}"),
    };
    let is_made = |sequence: &u32| {
        let key = across(bank, *sequence).key;
        let read = run(target, &Call::ReadTransfer { source, key }).expect("both stores are there");
        matches!(read, Outcome::Found { .. })
    };
    (locked, (0..8).filter(is_made).collect())
}

/// A process finds in the log what an earlier one could not execute, which is in the last record of each stream, and executes it once.
///
/// # Panics
/// When it does not.
pub fn what_a_dead_process_has_logged_is_executed<B: Relayed>() {
    let _together = none_left();
    let bank = Bank::on::<B>();
    let mut kept = MemorySink::default();
    let transfer = |sequence| across(&bank, sequence);
    // A broker may have a late copy of a record behind the next one of its stream.
    let records = [
        record(1, 0, transfer(0)),
        record(2, 0, transfer(1)),
        record(1, 1, transfer(2)),
        record(1, 0, transfer(0)),
    ];
    runtime().block_on(kept.publish(&records)).expect("it takes everything");
    for _ in 0..2 {
        let _producing = relay::produce_to(Box::new(kept.clone())).expect("there is a runtime");
        let target = bank.target(how::<B>());
        // Another record followed the first one of stream 1, which therefore counts as executed; here it was not.
        assert_eq!(paid(&bank, &target), (OPENING - 2 * AMOUNT, vec![1, 2]));
    }
    assert_eq!(bank.pending(), 2);
    let mut ledger = Ledger::new();
    for sequence in [1, 2] {
        // A client that was told nothing asks again.
        let call = Call::Transfer { purpose: Purpose::Retry, transfer: transfer(sequence) };
        let _producing = relay::produce_to(Box::new(kept.clone())).expect("there is a runtime");
        let answer = run(&bank.target(how::<B>()), &call);
        assert!(matches!(answer, Ok(Outcome::Moved { state: State::Pending, .. })), "{answer:?}");
        ledger.post(&call, &answer);
    }
    let ((), settled, _) = beside::<B, _>(1, &bank, || ());
    assert_eq!(settled, 2);
    assert_eq!(bank.failed(&ledger), none());
    let log = kept.all();
    let of_executed: Vec<Message> = log.iter().filter(|record| **record != records[0]).cloned().collect();
    assert_eq!(wrong(&bank, &of_executed, &ledger), (none(), 2));
    assert!(wrong(&bank, &log, &ledger).0.contains("logged transfers"), "it has one that was not executed");
}

/// A session of a bank, whose answers are in a ledger.
struct Asking<'a> {
    bank: &'a Bank,
    target: TrialTarget<Transfers>,
    /// Its connections live in this runtime.
    runtime: Runtime,
    session: TrialSession<Transfers>,
    ledger: Ledger,
}

impl<'a> Asking<'a> {
    fn of<B: Relayed>(bank: &'a Bank) -> Asking<'a> {
        let target = bank.target(how::<B>());
        let runtime = runtime();
        let session = runtime.block_on(target.open(0)).expect("both stores are there");
        Asking { bank, target, runtime, session, ledger: Ledger::new() }
    }

    fn ask(&mut self, sequence: u32) -> Result<Outcome, Fault> {
        let call = Call::of(across(self.bank, sequence), &self.bank.size);
        let answer = self.runtime.block_on(self.session.run(&call, &mut CallWork::default()));
        self.ledger.post(&call, &answer);
        answer
    }

    /// Waits until these transfers are made, and no others.
    fn until_paid(&self, sequences: &[u32]) {
        let clock = Monotonic::start();
        let expected = (OPENING - AMOUNT * sequences.len() as i64, sequences.to_vec());
        while paid(self.bank, &self.target) != expected {
            let found = paid(self.bank, &self.target);
            assert!(clock.now() < EXECUTED_MAX, "{found:?}, expected {expected:?}");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Streams of the log, after it was compared with what is stored.
    fn streams(&self, log: &[Message], duplicates: u64) -> Vec<u64> {
        assert_eq!(self.bank.failed(&self.ledger), none());
        assert_eq!(wrong(self.bank, log, &self.ledger), (none(), duplicates));
        log.iter().map(|record| record.key).collect()
    }
}

/// A call whose record may be in the log or not is in doubt. The record is published again in its stream, and executed; the session
/// continues with another stream.
///
/// # Panics
/// When it is not so.
pub fn what_was_perhaps_published_is_executed<B: Relayed>() {
    let _together = none_left();
    let bank = Bank::on::<B>();
    let kept = MemorySink::failing(1);
    let _producing = relay::produce_to(Box::new(kept.clone())).expect("there is a runtime");
    let mut asking = Asking::of::<B>(&bank);
    let doubtful = asking.ask(0);
    assert!(matches!(doubtful, Err(Fault::InDoubt(_))), "{doubtful:?}");
    asking.until_paid(&[0]);
    let moved = asking.ask(1);
    assert_eq!(moved, Ok(Outcome::Moved { state: State::Pending, balance: OPENING - 2 * AMOUNT }));
    assert!(asking.ask(2).is_ok());
    beside::<B, _>(1, &bank, || ());
    let streams = asking.streams(&kept.all(), 1);
    assert!(streams.len() == 4 && streams[0] == streams[1] && streams[2] == streams[3], "{streams:?}");
    assert_ne!(streams[1], streams[2]);
}

/// A transfer whose record is in the log is made as soon as its store allows, whatever its call was answered.
///
/// # Panics
/// When it is not.
pub fn what_the_store_did_not_allow_is_executed_later<B: Relayed>() {
    let _together = none_left();
    let bank = Bank::on::<B>();
    let kept = MemorySink::default();
    let _producing = relay::produce_to(Box::new(kept.clone())).expect("there is a runtime");
    let mut asking = Asking::of::<B>(&bank);
    assert!(asking.ask(0).is_ok());
    let source = bank.urls().remove(0);
    execute(&source, &["alter table entry rename to hidden".to_owned()]);
    let failed = asking.ask(1);
    assert!(matches!(failed, Err(Fault::Defect(_) | Fault::InDoubt(_))), "{failed:?}");
    assert_eq!(asking.target.unfinished(), 1, "an audit waits for it");
    execute(&source, &["alter table hidden rename to entry".to_owned()]);
    asking.until_paid(&[0, 1]);
    trial::finish::<Transfers>(&asking.target, Monotonic::start(), EXECUTED_MAX);
    assert_eq!(asking.target.unfinished(), 0);
    beside::<B, _>(1, &bank, || ());
    let streams = asking.streams(&kept.all(), 0);
    assert_eq!(streams.len(), 2);
}

/// A log with anything but transfers between these stores is refused, by the place of what is wrong.
///
/// # Panics
/// When it is not.
pub fn the_log_of_other_data_is_refused<B: Relayed>() {
    let bank = Bank::on::<B>();
    let right = across(&bank, 0);
    let other = Transfer { target: bank.size.ids().count() as u32 + 1, ..right };
    let foreign = Message { payload: br#"{"type":"booked"}"#.to_vec(), ..record(1, 1, right) };
    for (wrong, why) in [(record(1, 1, other), "are not accounts of two stores"), (foreign, "missing field")]
    {
        let mut kept = MemorySink::default();
        runtime().block_on(kept.publish(&[record(1, 0, right), wrong])).expect("it takes everything");
        let _producing = relay::produce_to(Box::new(kept)).expect("there is a runtime");
        let refused = target_over::<Transfers>(how::<B>(), &bank.urls(), &bank.size).err();
        let refused = format!("{:#}", refused.expect("it is of other data"));
        assert!(refused.contains(why) && refused.contains("--sink"), "{refused}");
    }
    // Nothing of it was executed.
    assert_eq!(bank.pending(), 0);
}
