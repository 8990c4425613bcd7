//! What was sent and what was acknowledged: bounds for what must be stored, by worker, and the bookings in doubt one by one, as
//! [`workload::keyed`] keeps them.

use crate::{Booking, Bookings, Call, Decline, Outcome, Purpose};
use model::{Fault, LedgerFinding, Workload, total};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use workload::keyed::{Answered, Effect, Keyed, KeyedClaims, Stored, Sums, Words, finding};
use workload::mixed;

/// Declined bookings whose reason is looked up; of more it is a sample.
const ALREADY_MAX: usize = 1_024;

/// Kinds of call.
pub(crate) const KINDS: usize = 4;

/// What acknowledged, doubtful and declined calls imply.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    pub keyed: KeyedClaims,
    /// Event and user of bookings that were declined because the user has one of the event, or of a sample of them; none while calls
    /// are under way.
    pub already: Vec<(u32, u32)>,
}

/// Users and events for which bookings were declined because there is one; of many those with the smallest hashes, so that each is as
/// likely to be among them, whichever worker was told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Already(BTreeSet<(i64, u32, u32)>);

impl Already {
    fn enter(&mut self, event: u32, user: u32) {
        let pair = (mixed(i64::from(event), [user.into()]), event, user);
        if self.0.len() >= ALREADY_MAX && self.0.last().is_some_and(|last| *last <= pair) {
            return;
        }
        self.0.insert(pair);
        if self.0.len() > ALREADY_MAX {
            self.0.pop_last();
        }
    }
}

/// What a booking is summed as. Its key and what it is for are multiplied, as in the query `tallies`: a booking that is lost, or for
/// another event, user or quantity, changes the sum, and so do two that have each other's.
pub(crate) const fn effect(booking: &Booking) -> Effect {
    let Booking { key, event, user, quantity } = *booking;
    let of_row = mixed(key.sequence as i64 + 1, [event as i64, user as i64, quantity as i64]);
    Effect { key, amount: quantity as i64, mixed: of_row, place: event }
}

/// The account of a worker, and after absorbing all workers that of the trial.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    calls: [u64; KINDS],
    keyed: Keyed,
    already: Already,
}

impl Ledger {
    /// An empty account.
    pub fn new() -> Ledger {
        Ledger::default()
    }

    /// Calls of each kind that were sent.
    pub const fn calls(&self) -> &[u64; KINDS] {
        &self.calls
    }

    /// Workers that have booked something.
    pub fn workers(&self) -> u64 {
        self.keyed.workers().len() as u64
    }

    /// What it implies about the store; not `complete` while calls are under way.
    pub fn claims(&self, complete: bool) -> Claims {
        let already = self.already.0.iter().filter(|_| complete);
        Claims {
            keyed: KeyedClaims::of(&self.keyed, complete),
            already: already.map(|&(_, event, user)| (event, user)).collect(),
        }
    }
}

impl model::Ledger<Bookings> for Ledger {
    fn post(&mut self, call: &Call, result: &Result<Outcome, Fault>) {
        self.calls[Bookings::kind(call)] += 1;
        let Call::Book { purpose, booking } = call else { return };
        let effect = effect(booking);
        match (purpose, result) {
            // What was answered already is held to that by the inputs.
            (Purpose::Repeat, _) => {}
            // Which of several under one key was made, no answer says.
            (Purpose::Raced, _) => self.keyed.doubt(effect),
            (_, Ok(Outcome::Booked(_))) => {
                self.keyed.completed(&effect);
                if *purpose == Purpose::Retry {
                    self.keyed.end_doubt(effect);
                }
            }
            // A defect says nothing about the store either: a wrong answer may have been applied.
            (_, Err(Fault::InDoubt(_) | Fault::Defect(_))) => self.keyed.doubt(effect),
            (_, Ok(Outcome::Declined(Decline::AlreadyBooked))) => {
                self.already.enter(booking.event, booking.user);
            }
            // What was declined leaves nothing behind. Of a retried call that ends no doubt: the first one may still be under way.
            (_, Ok(_) | Err(_)) => {}
        }
    }

    fn absorb(&mut self, other: &Ledger) {
        self.calls.iter_mut().zip(&other.calls).for_each(|(mine, theirs)| *mine += theirs);
        self.keyed.absorb(&other.keyed);
        other.already.0.iter().for_each(|&(_, event, user)| self.already.enter(event, user));
    }

    fn clear(&mut self) {
        self.calls = [0; KINDS];
        self.keyed.clear();
        self.already.0.clear();
    }
}

/// What a sum is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sort {
    /// Bookings; the amount is tickets.
    Bookings,
    /// Events; the amount is their available tickets.
    Events,
    /// What is still to be announced, as bookings are.
    Outbox,
}

/// A sum of the query `tallies`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub sort: Sort,
    /// The run, as it is stored; 0 of events.
    pub run: i64,
    /// The worker; 0 of events.
    pub worker: i64,
    pub sums: Sums,
}

impl Tally {
    /// From a row of `tallies`.
    pub fn from_row(row: &[i64]) -> Option<Tally> {
        let &[sort, run, worker, count, amount, mixed] = row else { return None };
        let sort = match sort {
            1 => Sort::Bookings,
            2 => Sort::Events,
            3 => Sort::Outbox,
            _ => return None,
        };
        Some(Tally { sort, run, worker, sums: Sums { count, amount, mixed } })
    }
}

/// The sums of one sort.
pub(crate) fn of_sort(tallies: &[Tally], sort: Sort) -> Vec<Stored> {
    let stored = tallies.iter().filter(|tally| tally.sort == sort);
    stored.map(|&Tally { run, worker, sums, .. }| Stored { run, worker, sums }).collect()
}

const BOOKED: Words = Words { names: ["bookings", "tickets", "keys"], calls: "bookings", units: "tickets" };

/// The ledger audit: each acknowledged booking is there once, none that no call has asked for, in this run or another, and the tickets that events have
/// lost since before the run are those of the bookings that came.
pub fn audit(claims: &Claims, before: &[Tally], after: &[Tally]) -> Vec<LedgerFinding> {
    let mut findings: Vec<_> =
        claims.keyed.check_stored(Answered::Completed, &of_sort(after, Sort::Bookings), &BOOKED).into();
    let [old, new] = [before, after].map(|tallies| of_sort(tallies, Sort::Bookings));
    findings.extend(claims.keyed.check_others("bookings of other runs", &old, &new, &BOOKED));
    let sum = |tallies: &[Tally], sort: Sort| -> i64 {
        total(tallies.iter().filter(|tally| tally.sort == sort).map(|tally| tally.sums.amount))
    };
    let booked = sum(after, Sort::Bookings).saturating_sub(sum(before, Sort::Bookings));
    let taken = sum(before, Sort::Events).saturating_sub(sum(after, Sort::Events));
    let mut found = finding("stock", "tickets");
    (found.low, found.high, found.stored) = (booked, booked, taken);
    if taken != booked {
        found
            .violations
            .push(format!("bookings of {booked} tickets came, and events have {taken} fewer available"));
    }
    findings.push(found);
    findings
}

#[cfg(test)]
mod tests;
