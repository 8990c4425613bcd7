//! The log of style `log-first`: a record of each transfer between stores, published before anything is done in a store.

use crate::ledger::effect;
use crate::{AMOUNT_MAX, Cardinality, Claims, Key, Sort, Tally, Transfer, Transfers};
use model::LedgerFinding;
use result::LedgerCheck;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use workload::keyed::{Stored, finding};
use workload::messages::{KeyedMessages, Violations, compared};
use workload::{MessageCheck, message_checks};

/// A record of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogRecord {
    /// The stream of the session that wrote it, at most [`LogRecord::STREAM_MAX`]. Only the record of a stream with the highest number may
    /// be unexecuted.
    pub stream: u64,
    /// Its number in the stream, from 0.
    pub number: u32,
    /// What is to be executed.
    pub transfer: Transfer,
}

/// A record as it is published: one line of JSON.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct LogLine {
    #[serde(rename = "type")]
    kind: String,
    stream: u64,
    number: u32,
    /// The key: run, worker and sequence.
    transfer: String,
    source: u32,
    target: u32,
    amount: i64,
}

const KIND: &str = "transfer";

impl LogRecord {
    /// The largest stream: JSON readers may keep numbers as doubles.
    pub const STREAM_MAX: u64 = (1 << 53) - 1;

    /// A line of JSON, without its end.
    pub fn to_json(&self) -> Vec<u8> {
        let Transfer { key, source, target, amount } = self.transfer;
        let (kind, transfer) = (KIND.into(), key.to_string());
        let LogRecord { stream, number, .. } = *self;
        let line = LogLine { kind, stream, number, transfer, source, target, amount };
        let mut json = Vec::with_capacity(160);
        contract::json::write(&line, &mut json);
        json
    }

    /// Reads a line of JSON.
    ///
    /// # Errors
    /// It is not such a record, or its accounts are equal or its amount cannot be asked for.
    pub fn parse(json: &[u8]) -> Result<LogRecord, String> {
        let line: LogLine = serde_json::from_slice(json).map_err(|error| error.to_string())?;
        let LogLine { kind, stream, number, transfer: text, source, target, amount } = line;
        let key = Key::parse(&text).filter(|_| kind == KIND);
        let key = key.ok_or_else(|| format!("it is not the record of a transfer: {kind} of {text}"))?;
        if source == target || !(1..=AMOUNT_MAX).contains(&amount) {
            return Err(format!("no transfer can be of {amount} units from account {source} to {target}"));
        }
        Ok(LogRecord { stream, number, transfer: Transfer { key, source, target, amount } })
    }
}

/// Compares the log of some runs with what is stored: each stored transfer between stores has a record, and each record was executed.
#[derive(Debug, Clone)]
pub(crate) struct LogCheck {
    runs: BTreeSet<u64>,
    size: Cardinality,
    records: KeyedMessages,
    malformed: Violations,
}

impl LogCheck {
    pub(crate) fn new(runs: &[u64], size: Cardinality) -> LogCheck {
        let runs = runs.iter().copied().collect();
        LogCheck { runs, size, records: KeyedMessages::default(), malformed: Violations::default() }
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

    fn findings(&self, stored: &[Tally]) -> Vec<LedgerFinding> {
        let between = stored.iter().filter(|tally| is_between_stores(tally.sort));
        let between: Vec<Stored> =
            between.map(|&Tally { run, worker, sums, .. }| Stored { run, worker, sums }).collect();
        let found = finding("logged transfers", "log records");
        let words = ["transfers between stores", "logged"];
        let logged = compared(found, &self.runs, [&self.records.stored(), &between], words);
        vec![logged, self.malformed.finding("malformed log records", "records")]
    }
}

impl MessageCheck<Transfers> for LogCheck {
    fn take(&mut self, place: &dyn Fn() -> String, payload: &[u8]) {
        match self.read(payload) {
            Ok(transfer) => {
                self.records.enter(&effect(&transfer));
            }
            Err(why) => self.malformed.note(|| format!("{}: {why}", place())),
        }
    }

    fn record_key(&self, payload: &[u8]) -> Option<u64> {
        LogRecord::parse(payload).ok().map(|record| record.stream)
    }

    /// Calls are repeated under their keys.
    fn duplicates(&self) -> u64 {
        self.records.duplicates()
    }

    fn checks(&self, claims: &Claims, stored: &Vec<Tally>) -> Vec<LedgerCheck> {
        let passed = "The log has each stored transfer between stores, and no others.";
        message_checks(self.findings(stored), passed, claims.complete)
    }
}

/// Of transfers whose accounts are in two stores, and of no others: a saga completes at once only what is in one.
const fn is_between_stores(sort: Sort) -> bool {
    matches!(sort, Sort::Pending | Sort::Settled | Sort::Refunded | Sort::DeclinedAcross)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use workload::keyed::Sums;

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
    fn check(records: &[Vec<u8>], stored: &[Tally]) -> (Vec<&'static str>, String, u64) {
        let mut log = LogCheck::new(&[RUN], size());
        records.iter().enumerate().for_each(|(at, record)| log.take(&|| format!("line {}", at + 1), record));
        let mut findings = log.findings(stored);
        findings.retain(|finding| !finding.violations.is_empty());
        let words = findings.iter().flat_map(|finding| &finding.violations).cloned().collect::<Vec<_>>();
        (findings.iter().map(|finding| finding.name).collect(), words.join("; "), log.duplicates())
    }

    fn records(transfers: &[Transfer]) -> Vec<Vec<u8>> {
        transfers.iter().map(|of| LogRecord { stream: 5, number: 0, transfer: *of }.to_json()).collect()
    }

    #[test]
    fn a_record_survives_its_line_and_other_lines_are_refused() {
        let record = LogRecord { stream: LogRecord::STREAM_MAX, number: 7, transfer: transfer(3, 9) };
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
    fn the_log_has_each_stored_transfer_between_stores_and_no_others() {
        let all: Vec<Transfer> = (0..90).map(|at| transfer(at % 3, at / 3)).collect();
        let right = stored(Sort::Settled, &all);
        assert_eq!(check(&records(&all), &right), (vec![], String::new(), 0));
        // Repeated calls are logged again.
        assert_eq!(check(&[records(&all), records(&all[..7])].concat(), &right), (vec![], String::new(), 7));
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
        assert_eq!(check(&records(&all), &parts), (vec![], String::new(), 0));

        let wrong = |records: &[Vec<u8>], stored: &[Tally], words: &str| {
            let words = words.to_owned();
            assert_eq!(check(records, stored), (vec!["logged transfers"], words, 0));
        };
        let lacking = "worker 0: 30 transfers between stores are stored, and 29 are logged";
        wrong(&records(&all[1..]), &right, lacking);
        let unexecuted = "worker 0: 29 transfers between stores are stored, and 30 are logged";
        wrong(&records(&all), &stored(Sort::Settled, &all[1..]), unexecuted);
        let of_other = [records(&all[1..]), records(&[transfer(0, 77)])].concat();
        wrong(&of_other, &right, "worker 0: 30 transfers between stores are stored, and others are logged");
        let of_none = "worker 5: 0 transfers between stores are stored, and 1 are logged";
        wrong(&records(&[transfer(5, 0)]), &[], of_none);
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
            let (names, words, _) = check(&records(&[wrong]), &[]);
            assert_eq!(names, ["malformed log records"]);
            assert!(words.contains("line 1: ") && words.contains(why), "{words}");
        }
    }
}
