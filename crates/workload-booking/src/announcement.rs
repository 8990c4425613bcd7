//! What is announced of bookings, from the rows of the outbox to a sink, and whether it is what was booked.

use crate::ledger::{effect, of_sort};
use crate::{Booking, Cardinality, Claims, QUANTITY_MAX, Sort, Tally, USER_MAX};
use model::{Key, LedgerFinding};
use serde::{Deserialize, Serialize};
use sql::{ColumnError, Columns};
use std::collections::{BTreeSet, HashMap};
use workload::keyed::{Answered, Stored, Words, finding};
use workload::messages::{KeyedMessages, Violations, compared};

/// An announcement as it is published: one line of JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Announcement {
    #[serde(rename = "type")]
    kind: String,
    /// The id of the booking, which is the key that it was made under: run, worker and sequence.
    booking: String,
    event: u32,
    user: u32,
    quantity: u32,
    /// Its number in the outbox; one that was in none has no number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    position: Option<i64>,
}

const BOOKED: &str = "booked";

/// What is published of a booking: the key that keeps its event's in order, and a line of JSON.
pub fn message(booking: &Booking, position: Option<i64>) -> (u64, Vec<u8>) {
    let Booking { key, event, user, quantity } = *booking;
    let announcement =
        Announcement { kind: BOOKED.into(), booking: key.to_string(), event, user, quantity, position };
    let mut payload = Vec::with_capacity(128);
    contract::json::write(&announcement, &mut payload);
    (event.into(), payload)
}

/// A row of the outbox, as the relay reads it: its number, when it was written in microseconds since 1970, and the booking.
///
/// # Errors
/// A column is not a whole number, or outside its range.
pub fn outbox_row(row: &dyn Columns) -> Result<(i64, i64, Booking), ColumnError> {
    let small =
        |at: usize| u32::try_from(row.int(at)?).map_err(|_| ColumnError::new(at, "a number of 32 bits"));
    let key = Key { run: row.int(2)?.cast_unsigned(), worker: small(3)?, sequence: small(4)? };
    let booking = Booking { key, event: small(5)?, user: small(6)?, quantity: small(7)? };
    Ok((row.int(0)?, row.int(1)?, booking))
}

/// What was announced of one run or several, one message after the other. It holds a bit for each booking, and a number for each event.
#[derive(Debug, Clone)]
pub struct Announced {
    runs: BTreeSet<u64>,
    /// Whether messages have numbers, by which those of an event are in order.
    numbered: bool,
    /// Earlier ones with messages that were still to be published.
    earlier: BTreeSet<u64>,
    size: Cardinality,
    messages: KeyedMessages,
    /// The number of the last new announcement of an event.
    last: HashMap<u32, i64>,
    malformed: Violations,
    disordered: Violations,
}

impl Announced {
    /// Nothing yet, of these runs, whose messages are `numbered` if they come from an outbox; `before` is what was stored before them.
    pub fn new(runs: &[u64], numbered: bool, size: Cardinality, before: &[Tally]) -> Announced {
        let pending = before.iter().filter(|tally| tally.sort == Sort::Outbox);
        Announced {
            runs: runs.iter().copied().collect(),
            numbered,
            earlier: pending.map(|tally| tally.run.cast_unsigned()).collect(),
            size,
            messages: KeyedMessages::default(),
            last: HashMap::new(),
            malformed: Violations::default(),
            disordered: Violations::default(),
        }
    }

    /// Messages that came again.
    pub const fn duplicates(&self) -> u64 {
        self.messages.duplicates()
    }

    /// Takes a message; those of one event come in the order in which they were published. `place` says where it is.
    pub fn take(&mut self, place: &dyn Fn() -> String, payload: &[u8]) {
        let (booking, position) = match self.read(payload) {
            Ok(Some(read)) => read,
            // One of an earlier run.
            Ok(None) => return,
            Err(why) => return self.malformed.note(|| format!("{}: {why}", place())),
        };
        if !self.messages.enter(&effect(&booking)) {
            // The same row again, and not another one of the same booking, which would have a higher number than all before.
            let Some(position) = position else { return };
            if self.last.get(&booking.event).is_none_or(|last| position > *last) {
                self.disordered.note(|| {
                    format!(
                        "{}: a booking of event {} came under a second number, {position}",
                        place(),
                        booking.event
                    )
                });
            }
            return;
        }
        let Some(position) = position else { return };
        let last = self.last.entry(booking.event).or_insert(i64::MIN);
        let before = *last;
        *last = before.max(position);
        if before >= position {
            self.disordered.note(|| {
                format!("{}: number {position} of event {} comes after {before}", place(), booking.event)
            });
        }
    }

    /// The event of a message: the key of its record.
    pub fn event_of(payload: &[u8]) -> Option<u64> {
        serde_json::from_slice::<Announcement>(payload).ok().map(|read| read.event.into())
    }

    fn read(&self, payload: &[u8]) -> Result<Option<(Booking, Option<i64>)>, String> {
        let read: Announcement = serde_json::from_slice(payload).map_err(|error| error.to_string())?;
        let key = Key::parse(&read.booking).filter(|_| read.kind == BOOKED);
        let key = key.ok_or_else(|| {
            format!("it is not the announcement of a booking: {} of {}", read.kind, read.booking)
        })?;
        let Announcement { event, user, quantity, position, .. } = read;
        if self.earlier.contains(&key.run) {
            return Ok(None);
        }
        if !self.runs.contains(&key.run) {
            return Err(format!("booking {} belongs to another run", read.booking));
        }
        if self.numbered != position.is_some() {
            let words = if self.numbered { "no outbox position" } else { "an unexpected outbox position" };
            return Err(format!("the message of booking {} has {words}", read.booking));
        }
        let is_right =
            self.size.has(event) && (1..=USER_MAX).contains(&user) && (1..=QUANTITY_MAX).contains(&quantity);
        if !is_right {
            return Err(format!("no booking can be of {quantity} tickets of event {event} for user {user}"));
        }
        Ok(Some((Booking { key, event, user, quantity }, position)))
    }

    /// What was announced, against what was acknowledged and what is stored: each booking once, but for what came again, none that
    /// is not stored, and each event's in order.
    pub fn findings(&self, claims: &Claims, stored: &[Tally]) -> Vec<LedgerFinding> {
        let mut findings = held(claims, &self.runs, &self.messages.stored(), stored);
        findings.push(self.malformed.finding("malformed announcements", "messages"));
        if self.numbered {
            findings.push(self.disordered.finding("order of announcements", "messages"));
        }
        findings
    }
}

/// The rows that stay in the outbox where no one reads it, against what was acknowledged and what is stored.
pub fn outbox_findings(claims: &Claims, runs: &[u64], stored: &[Tally]) -> Vec<LedgerFinding> {
    held(claims, &runs.iter().copied().collect(), &of_sort(stored, Sort::Outbox), stored)
}

const ANNOUNCED: Words = Words {
    names: ["announced bookings", "announced tickets", "announced keys"],
    calls: "announcements",
    units: "announced tickets",
};

fn held(claims: &Claims, runs: &BTreeSet<u64>, announced: &[Stored], stored: &[Tally]) -> Vec<LedgerFinding> {
    let mut findings: Vec<_> = claims.keyed.check_stored(Answered::Completed, announced, &ANNOUNCED).into();
    let found = finding("announcements of stored bookings", "announcements");
    let booked = of_sort(stored, Sort::Bookings);
    findings.push(compared(found, runs, [announced, &booked], ["bookings", "announced"]));
    findings
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;
    use workload::keyed::Sums;

    const RUN: u64 = 7;

    fn booking(worker: u32, sequence: u32, event: u32) -> Booking {
        Booking { key: Key { run: RUN, worker, sequence }, event, user: 5, quantity: 2 }
    }

    fn right() -> Vec<(Booking, i64)> {
        (0..200).map(|at| (booking(at % 3, at / 3, 1 + at % 4), i64::from(at) + 1)).collect()
    }

    fn stored(bookings: &[(Booking, i64)]) -> Vec<Tally> {
        let mut sums: BTreeMap<u32, Sums> = BTreeMap::new();
        bookings
            .iter()
            .for_each(|(booking, _)| sums.entry(booking.key.worker).or_default().enter(&effect(booking)));
        let tally =
            |(worker, sums)| Tally { sort: Sort::Bookings, run: RUN as i64, worker: i64::from(worker), sums };
        sums.into_iter().map(tally).collect()
    }

    fn claims(bookings: &[(Booking, i64)]) -> Claims {
        let mut ledger = crate::Ledger::new();
        for (booking, _) in bookings {
            use model::Ledger as _;
            ledger.post(&crate::Call::of(*booking), &Ok(crate::Outcome::Booked(*booking)));
        }
        ledger.claims(true)
    }

    /// Names of the findings that something is wrong with, and how many messages came again.
    fn wrong(messages: &[Vec<u8>], of: &[(Booking, i64)]) -> (Vec<&'static str>, u64, String) {
        wrong_after(&[], messages, of)
    }

    fn wrong_after(
        before: &[Tally],
        messages: &[Vec<u8>],
        of: &[(Booking, i64)],
    ) -> (Vec<&'static str>, u64, String) {
        let mut announced = Announced::new(&[RUN], true, Cardinality::standard(4), before);
        for (at, message) in messages.iter().enumerate() {
            announced.take(&|| format!("line {}", at + 1), message);
        }
        let found = announced.findings(&claims(of), &stored(of));
        let found: Vec<_> = found.into_iter().filter(|found| !found.violations.is_empty()).collect();
        let words = found.iter().flat_map(|found| found.violations.clone()).collect::<Vec<_>>().join("; ");
        (found.iter().map(|found| found.name).collect(), announced.duplicates(), words)
    }

    fn payloads(of: &[(Booking, i64)]) -> Vec<Vec<u8>> {
        of.iter().map(|(booking, position)| message(booking, Some(*position)).1).collect()
    }

    #[test]
    fn what_was_announced_once_or_again_is_right_and_all_else_is_named() {
        let all = right();
        let good = payloads(&all);
        assert_eq!(wrong(&good, &all), (vec![], 0, String::new()));
        let again = [good.clone(), good[50..90].to_vec()].concat();
        assert_eq!(wrong(&again, &all), (vec![], 40, String::new()));

        let lost = [good[..30].to_vec(), good[31..].to_vec()].concat();
        let (names, _, words) = wrong(&lost, &all);
        assert!(
            names.contains(&"announced bookings") && names.contains(&"announcements of stored bookings"),
            "{names:?}"
        );
        assert!(words.contains("worker 0: 67 bookings are stored, and 66 are announced"), "{words}");

        let mut invented = good.clone();
        invented.push(message(&booking(1, 900, 2), Some(900)).1);
        assert!(wrong(&invented, &all).2.contains("67 bookings are stored, and 68 are announced"));

        let mut other = good.clone();
        other[7] = message(&Booking { user: 6, ..all[7].0 }, Some(all[7].1)).1;
        assert!(wrong(&other, &all).2.contains("others are announced"));

        let mut reordered = good.clone();
        reordered.swap(8, 12);
        assert_eq!(wrong(&reordered, &all).0, ["order of announcements"]);
        reordered.swap(8, 12);
        let twice = [good.clone(), vec![message(&all[5].0, Some(900)).1]].concat();
        let (names, _, words) = wrong(&twice, &all);
        assert!(
            names == ["order of announcements"] && words.contains("under a second number"),
            "{names:?} {words}"
        );
        reordered.swap(8, 9);
        assert_eq!(wrong(&reordered, &all).0, [""; 0], "they are of different events");
    }

    #[test]
    fn messages_that_are_none_are_named_with_their_place() {
        let all = right();
        let of_another_run = Booking { key: Key { run: 8, ..all[0].0.key }, ..all[0].0 };
        for (message, why) in [
            (b"{".to_vec(), "line 201: EOF"),
            (b"{\"type\":\"booked\"}".to_vec(), "missing field"),
            (message(&of_another_run, Some(300)).1, "belongs to another run"),
            (message(&booking(9, 0, 5), Some(300)).1, "no booking can be of 2 tickets of event 5 for user 5"),
            (message(&booking(9, 0, 1), None).1, "has no outbox position"),
            (
                message(&Booking { quantity: 0, ..booking(9, 0, 1) }, Some(300)).1,
                "no booking can be of 0 tickets",
            ),
        ] {
            let messages = [payloads(&all), vec![message]].concat();
            let (names, _, words) = wrong(&messages, &all);
            assert_eq!(names, ["malformed announcements"], "{words}");
            assert!(words.contains("line 201") && words.contains(why), "{words}");
        }
    }

    #[test]
    fn order_is_not_checked_without_outbox_positions() {
        let all = right();
        let messages: Vec<_> = all.iter().rev().map(|(booking, _)| message(booking, None).1).collect();
        let names = |messages: &[Vec<u8>]| {
            let mut announced = Announced::new(&[RUN], false, Cardinality::standard(4), &[]);
            messages.iter().for_each(|message| announced.take(&|| "there".into(), message));
            let found = announced.findings(&claims(&all), &stored(&all));
            let wrong = found.iter().filter(|found| !found.violations.is_empty()).map(|found| found.name);
            (found.iter().any(|found| found.name.starts_with("order")), wrong.collect::<Vec<_>>())
        };
        assert_eq!(names(&messages), (false, vec![]));
        assert!(names(&messages[1..]).1.contains(&"announced bookings"));
        let numbered = [messages, vec![message(&booking(9, 0, 1), Some(1)).1]].concat();
        assert_eq!(names(&numbered).1, ["malformed announcements"]);
    }

    #[test]
    fn what_earlier_runs_have_left_to_be_published_is_left_out() {
        let all = right();
        let of_earlier = Booking { key: Key { run: 3, ..all[0].0.key }, ..all[0].0 };
        let messages = [vec![message(&of_earlier, Some(1)).1], payloads(&all)].concat();
        assert_eq!(wrong(&messages, &all).0, ["malformed announcements"]);
        let sums = Sums { count: 1, ..Sums::default() };
        let pending = Tally { sort: Sort::Outbox, run: 3, worker: 0, sums };
        assert_eq!(wrong_after(&[pending], &messages, &all), (vec![], 0, String::new()));
    }

    #[test]
    fn rows_that_stay_in_the_outbox_are_held_to_the_bookings() {
        let all = right();
        let (claims, booked) = (claims(&all), stored(&all));
        let outbox = |of: &[(Booking, i64)]| -> Vec<Tally> {
            let rows = stored(of).into_iter().map(|tally| Tally { sort: Sort::Outbox, ..tally });
            booked.iter().copied().chain(rows).collect()
        };
        let is_right = |tallies: &[Tally]| {
            outbox_findings(&claims, &[RUN], tallies).iter().all(|found| found.violations.is_empty())
        };
        assert!(is_right(&outbox(&all)));
        assert!(!is_right(&outbox(&all[1..])) && !is_right(&booked));
        let twice = [all.clone(), all[..1].to_vec()].concat();
        assert!(!is_right(&outbox(&twice)));
    }
}
