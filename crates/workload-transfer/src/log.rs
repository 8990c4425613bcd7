//! The log of style `log-first`: a record of each transfer between stores, published before anything is done in a store.

use crate::ledger::effect;
use crate::{AMOUNT_MAX, Cardinality, Claims, Key, Sort, Tally, Transfer};
use benchmark::keyed::{Answered, KeyedClaims, Stored, Words, WorkerTally};
use benchmark::messages::{KeyedMessages, Violations};
use model::LedgerFinding;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A record of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRecord {
    /// The stream of the session that wrote it, below 2^53. A session writes the next record of a stream only when the one before was
    /// executed, so that only the last record of a stream may still have to be.
    pub stream: u64,
    /// What is to be executed.
    pub transfer: Transfer,
}

/// A record as it is published: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    /// `transfer`.
    #[serde(rename = "type")]
    kind: String,
    stream: u64,
    /// The key: run, worker and sequence.
    transfer: String,
    source: u32,
    target: u32,
    amount: i64,
}

const KIND: &str = "transfer";

impl LogRecord {
    /// A line of JSON, without its end.
    #[must_use]
    pub fn to_json(&self) -> Vec<u8> {
        let Transfer { key, source, target, amount } = self.transfer;
        let (kind, transfer) = (KIND.into(), key.to_string());
        let line = Line { kind, stream: self.stream, transfer, source, target, amount };
        let mut json = Vec::with_capacity(160);
        model::json::write(&line, &mut json);
        json
    }

    /// Reads a line of JSON.
    ///
    /// # Errors
    /// It is not such a record, or its accounts are equal or its amount cannot be asked for.
    pub fn parse(json: &[u8]) -> Result<LogRecord, String> {
        let line: Line = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let Line { kind, stream, transfer: text, source, target, amount } = line;
        let key = Key::parse(&text).filter(|_| kind == KIND);
        let key = key.ok_or_else(|| format!("it is not the record of a transfer: {kind} of {text}"))?;
        if source == target || !(1..=AMOUNT_MAX).contains(&amount) {
            return Err(format!("no transfer can be of {amount} units from account {source} to {target}"));
        }
        Ok(LogRecord { stream, transfer: Transfer { key, source, target, amount } })
    }
}

/// Compares the log of some runs with what is stored: each stored transfer between stores has a record, and a record without a stored
/// transfer is of a call in doubt.
#[derive(Debug, Clone)]
pub(crate) struct LogCheck {
    runs: BTreeSet<u64>,
    size: Cardinality,
    records: KeyedMessages,
    malformed: Violations,
}

const LOGGED: Words = Words {
    names: ["logged transfers", "logged amounts", "logged keys"],
    calls: "log records",
    units: "logged units",
};

impl LogCheck {
    pub(crate) fn new(runs: &[u64], size: Cardinality) -> LogCheck {
        let runs = runs.iter().copied().collect();
        LogCheck { runs, size, records: KeyedMessages::default(), malformed: Violations::default() }
    }

    /// Records of a key that has one already: calls are repeated under their keys.
    pub(crate) const fn duplicates(&self) -> u64 {
        self.records.duplicates()
    }

    pub(crate) fn take(&mut self, place: &dyn Fn() -> String, payload: &[u8]) {
        match self.read(payload) {
            Ok(transfer) => {
                self.records.enter(&effect(&transfer));
            }
            Err(why) => self.malformed.note(|| format!("{}: {why}", place())),
        }
    }

    fn read(&self, payload: &[u8]) -> Result<Transfer, String> {
        let transfer = LogRecord::parse(payload)?.transfer;
        let Transfer { key, source, target, .. } = transfer;
        if !self.runs.contains(&key.run) {
            return Err(format!("transfer {key} belongs to another run"));
        }
        let ids = self.size.ids();
        let is_known = ids.contains(&source) && ids.contains(&target);
        if !is_known || self.size.shard_of(source) == self.size.shard_of(target) {
            return Err(format!("accounts {source} and {target} are not accounts of two stores"));
        }
        Ok(transfer)
    }

    pub(crate) fn findings(&self, claims: &Claims, stored: &[Tally]) -> Vec<LedgerFinding> {
        let mut workers: BTreeMap<(u64, u32), WorkerTally> = BTreeMap::new();
        for tally in stored.iter().filter(|tally| is_between_stores(tally.sort)) {
            let (run, worker) = (tally.run.cast_unsigned(), tally.worker as u32);
            if self.runs.contains(&run) {
                let of_worker = workers.entry((run, worker)).or_insert(WorkerTally {
                    run,
                    worker,
                    ..WorkerTally::default()
                });
                of_worker.completed.absorb(&tally.sums);
            }
        }
        // Workers of which the log alone has anything are compared too.
        let logged: Vec<Stored> = self.records.stored();
        for &Stored { run, worker, .. } in &logged {
            let (run, worker) = (run.cast_unsigned(), worker as u32);
            let none = WorkerTally { run, worker, ..WorkerTally::default() };
            workers.entry((run, worker)).or_insert(none);
        }
        let between = KeyedClaims { workers: workers.into_values().collect(), ..claims.clone() };
        let mut findings: Vec<_> = between.held(Answered::Completed, &logged, &LOGGED).into();
        findings.push(self.malformed.finding("malformed log records", "records"));
        findings
    }
}

/// Of transfers whose accounts lie in two stores, and of no others: a saga completes at once only what lies in one.
const fn is_between_stores(sort: Sort) -> bool {
    matches!(sort, Sort::Pending | Sort::Settled | Sort::Refunded | Sort::DeclinedAcross)
}

#[cfg(test)]
mod tests {
    use super::*;
    use benchmark::keyed::Sums;

    const RUN: u64 = 7;

    fn transfer(worker: u32, sequence: u32) -> Transfer {
        Transfer { key: Key { run: RUN, worker, sequence }, source: 1, target: 24, amount: 100 }
    }

    fn size() -> Cardinality {
        Cardinality { shards: 2, ..Cardinality::tiny() }
    }

    fn stored(sort: Sort, transfers: &[Transfer]) -> Vec<Tally> {
        let mut sums: BTreeMap<u32, Sums> = BTreeMap::new();
        transfers.iter().for_each(|of| sums.entry(of.key.worker).or_default().enter(&effect(of)));
        let tally = |(worker, sums)| Tally { sort, run: RUN.cast_signed(), worker: i64::from(worker), sums };
        sums.into_iter().map(tally).collect()
    }

    /// Names of what is wrong, with its words, and duplicates.
    fn check(records: &[Vec<u8>], doubts: &[Transfer], stored: &[Tally]) -> (Vec<&'static str>, String, u64) {
        let mut log = LogCheck::new(&[RUN], size());
        records.iter().enumerate().for_each(|(at, record)| log.take(&|| format!("line {}", at + 1), record));
        let doubts = doubts.iter().map(effect).collect();
        let claims = Claims { doubts, complete: true, ..Claims::default() };
        let mut findings = log.findings(&claims, stored);
        findings.retain(|finding| !finding.violations.is_empty());
        let words = findings.iter().flat_map(|finding| &finding.violations).cloned().collect::<Vec<_>>();
        (findings.iter().map(|finding| finding.name).collect(), words.join("; "), log.duplicates())
    }

    fn records(transfers: &[Transfer]) -> Vec<Vec<u8>> {
        transfers.iter().map(|of| LogRecord { stream: 5, transfer: *of }.to_json()).collect()
    }

    #[test]
    fn a_record_survives_its_line_and_other_lines_are_refused() {
        let record = LogRecord { stream: (1 << 53) - 1, transfer: transfer(3, 9) };
        assert_eq!(LogRecord::parse(&record.to_json()), Ok(record));
        let text = String::from_utf8(record.to_json()).unwrap();
        for (from, to, why) in [
            ("\"transfer\",", "\"booked\",", "not the record"),
            ("0009", "000g", "not the record"),
            ("\"target\":24", "\"target\":1", "account 1 to 1"),
            ("\"amount\":100", "\"amount\":0", "of 0 units"),
            ("\"amount\":100", "\"amount\":-1", "of -1 units"),
            ("\"source\":1", "\"source\":-1", "invalid value"),
            ("{", "{\"more\":1,", "unknown field"),
        ] {
            let wrong = text.replacen(from, to, 1);
            assert_ne!(wrong, text, "{from}");
            let error = LogRecord::parse(wrong.as_bytes()).unwrap_err();
            assert!(error.contains(why), "{wrong}: {error}");
        }
    }

    #[test]
    fn the_log_has_each_stored_transfer_between_stores_and_beyond_them_only_doubts() {
        let all: Vec<Transfer> = (0..90).map(|at| transfer(at % 3, at / 3)).collect();
        let right = stored(Sort::Settled, &all);
        assert_eq!(check(&records(&all), &[], &right), (vec![], String::new(), 0));
        // Repeated calls are logged again.
        assert_eq!(check(&[records(&all), records(&all[..7])].concat(), &[], &right).2, 7);
        // States of transfers between stores, and states of others.
        let parts: Vec<Tally> = [
            stored(Sort::Settled, &all[..30]),
            stored(Sort::Pending, &all[30..50]),
            stored(Sort::Refunded, &all[50..60]),
            stored(Sort::DeclinedAcross, &all[60..]),
            stored(Sort::Declined, &all[60..]),
            stored(Sort::Accepted, &[all.clone(), vec![transfer(0, 99)]].concat()),
        ]
        .concat();
        assert_eq!(check(&records(&all), &[], &parts), (vec![], String::new(), 0));

        let (names, words, _) = check(&records(&all[1..]), &[], &right);
        assert!(names.contains(&"logged transfers"), "{names:?}");
        assert!(words.contains("worker 0: at least 30 log records were acknowledged, stored 29"), "{words}");
        // Only what is in doubt may be in the log alone.
        let less = stored(Sort::Settled, &all[1..]);
        assert_eq!(check(&records(&all), &all[..1], &less), (vec![], String::new(), 0));
        assert!(check(&records(&all), &[], &less).0.contains(&"logged transfers"));
        assert_eq!(check(&records(&all), &all[1..2], &less).0, ["logged transfers", "logged amounts"]);
        let of_other = [records(&all[1..]), records(&[transfer(0, 77)])].concat();
        assert_eq!(check(&of_other, &[], &right).0, ["logged keys"]);
        // A worker of which nothing is stored.
        assert!(check(&records(&[transfer(5, 0)]), &[], &[]).0.contains(&"logged transfers"));
    }

    #[test]
    fn records_of_other_runs_and_of_one_store_are_named() {
        let one = transfer(0, 0);
        let near = Transfer { target: 2, ..one };
        let of_other = Transfer { key: Key { run: 8, ..one.key }, ..one };
        let absent = Transfer { target: 25, ..one };
        for (wrong, why) in
            [(near, "accounts 1 and 2"), (of_other, "belongs to another run"), (absent, "accounts 1 and 25")]
        {
            let (names, words, _) = check(&records(&[wrong]), &[], &[]);
            assert_eq!(names, ["malformed log records"]);
            assert!(words.contains("line 1: ") && words.contains(why), "{words}");
        }
    }
}
