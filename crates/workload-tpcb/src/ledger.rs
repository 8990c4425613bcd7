//! What was sent and what was acknowledged: the input audit's counts, and bounds for what must be stored.
//!
//! Every amount is entered in three places (the branch of its account, its teller, its branch), and each of them is held
//! to its own bounds, so that a write that is lost in one is not made up for by another.

use crate::{Call, Cardinality, DELTA_MAX, Outcome, Tpcb};
use model::{Fault, LedgerFinding};
use serde::{Deserialize, Serialize};
use workload::mixed;

/// Numbers of accounts are counted in at most so many buckets, so that the account of a worker stays small.
const BUCKETS_MAX: u32 = 1_000;

/// What calls imply about one place.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    pub calls: u64,
    /// The sum of the amounts above zero.
    pub up: i64,
    /// The sum of the amounts below zero.
    pub down: i64,
    /// The checksum ([`workload::mixed`]) of their rows of history: aid with tid, bid and 5001 + delta.
    pub mixed: i64,
}

impl Tally {
    fn enter(&mut self, call: &Call) {
        self.calls += 1;
        self.up += call.delta.max(0);
        self.down += call.delta.min(0);
        self.mixed = self.mixed.saturating_add(mixed_of(call));
    }

    fn absorb(&mut self, other: &Tally) {
        self.calls += other.calls;
        self.up += other.up;
        self.down += other.down;
        self.mixed = self.mixed.saturating_add(other.mixed);
    }

    /// The sum of all amounts.
    pub const fn sum(&self) -> i64 {
        self.up + self.down
    }
}

/// What the row of history of a call adds to a checksum.
const fn mixed_of(call: &Call) -> i64 {
    mixed(call.aid as i64, [call.tid as i64, call.bid as i64, DELTA_MAX + 1 + call.delta])
}

/// Where amounts are entered.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Place {
    /// All accounts of a branch together.
    Accounts,
    Teller,
    Branch,
}

impl Place {
    const ALL: [Place; 3] = [Place::Accounts, Place::Teller, Place::Branch];

    const fn words(self) -> &'static str {
        match self {
            Place::Accounts => "accounts of branch",
            Place::Teller => "teller",
            Place::Branch => "branch",
        }
    }

    const fn of_number(number: i64) -> Option<Place> {
        match number {
            1 => Some(Place::Accounts),
            2 => Some(Place::Teller),
            3 => Some(Place::Branch),
            _ => None,
        }
    }
}

/// Counts of what was really sent (the input audit compares them with pgbench's script).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct InputCounts {
    /// Calls of each kind.
    pub calls: [u64; 1],
    /// Calls whose account belongs to their branch.
    pub accounts_at_home: u64,
    /// Calls whose teller belongs to their branch.
    pub tellers_at_home: u64,
    /// The sum of all amounts.
    pub delta: i64,
    /// The sum of their squares.
    pub delta_squares: u64,
}

/// The account of a worker, and after absorbing all workers that of the trial.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Ledger {
    size: Cardinality,
    sure: Box<[Tally]>,
    doubtful: Box<[Tally]>,
    counts: InputCounts,
    account_buckets: Box<[u32]>,
    tellers: Box<[u32]>,
    branches: Box<[u32]>,
}

impl Ledger {
    /// An empty account for data of that size. About 4 KiB, and 650 bytes a branch.
    pub fn new(size: Cardinality) -> Ledger {
        let places = (2 * size.branches + size.tellers_all()) as usize;
        let buckets = size.accounts_all().div_ceil(bucket_width(size));
        Ledger {
            size,
            sure: vec![Tally::default(); places].into(),
            doubtful: vec![Tally::default(); places].into(),
            counts: InputCounts::default(),
            account_buckets: vec![0; buckets as usize].into(),
            tellers: vec![0; size.tellers_all() as usize].into(),
            branches: vec![0; size.branches as usize].into(),
        }
    }

    /// How much data it is for.
    pub const fn size(&self) -> Cardinality {
        self.size
    }

    /// What acknowledged calls imply, in the order of the query `tallies`: accounts by branch, tellers, branches.
    pub fn sure(&self) -> &[Tally] {
        &self.sure
    }

    /// What calls in doubt would add if all of them had been applied, in the same order.
    pub fn doubtful(&self) -> &[Tally] {
        &self.doubtful
    }

    pub const fn counts(&self) -> &InputCounts {
        &self.counts
    }

    /// How often each bucket of neighbouring accounts was drawn: its calls, and how many accounts it has.
    pub fn account_counts(&self) -> impl Iterator<Item = (u32, u32)> {
        let (width, all) = (bucket_width(self.size), self.size.accounts_all());
        (0..).zip(&self.account_buckets).map(move |(bucket, count)| (*count, width.min(all - bucket * width)))
    }

    /// How often each teller was drawn.
    pub fn teller_counts(&self) -> &[u32] {
        &self.tellers
    }

    /// How often each branch was drawn.
    pub fn branch_counts(&self) -> &[u32] {
        &self.branches
    }

    /// Where a call is entered.
    fn places(&self, call: &Call) -> [usize; 3] {
        let Cardinality { branches, tellers, first, .. } = self.size;
        let branch = |bid| bid - 1 - first;
        let accounts = branch(self.size.branch_of_account(call.aid));
        let teller = branches + call.tid - 1 - first * tellers;
        [accounts, teller, branches + self.size.tellers_all() + branch(call.bid)].map(|place| place as usize)
    }

    fn count(&mut self, call: &Call) {
        let Cardinality { accounts, tellers, first, .. } = self.size;
        let counts = &mut self.counts;
        counts.calls[0] += 1;
        counts.accounts_at_home += u64::from(self.size.branch_of_account(call.aid) == call.bid);
        counts.tellers_at_home += u64::from(self.size.branch_of_teller(call.tid) == call.bid);
        counts.delta += call.delta;
        counts.delta_squares += (call.delta * call.delta) as u64;
        let account = call.aid - 1 - first * accounts;
        self.account_buckets[(account / bucket_width(self.size)) as usize] += 1;
        self.tellers[(call.tid - 1 - first * tellers) as usize] += 1;
        self.branches[(call.bid - 1 - first) as usize] += 1;
    }
}

fn bucket_width(size: Cardinality) -> u32 {
    size.accounts_all().div_ceil(BUCKETS_MAX)
}

impl model::Ledger<Tpcb> for Ledger {
    fn post(&mut self, call: &Call, result: &Result<Outcome, Fault>) {
        self.count(call);
        let places = self.places(call);
        let tallies = match result {
            Ok(_) => &mut self.sure,
            // A defect says nothing about the store either: a wrong answer may have been applied.
            Err(Fault::InDoubt(_) | Fault::Defect(_)) => &mut self.doubtful,
            Err(Fault::Conflict(_) | Fault::Refused(_)) => return,
        };
        places.into_iter().for_each(|place| tallies[place].enter(call));
    }

    fn absorb(&mut self, other: &Ledger) {
        self.sure.iter_mut().zip(&other.sure).for_each(|(mine, theirs)| mine.absorb(theirs));
        self.doubtful.iter_mut().zip(&other.doubtful).for_each(|(mine, theirs)| mine.absorb(theirs));
        let counted = [
            (&mut self.account_buckets, &other.account_buckets),
            (&mut self.tellers, &other.tellers),
            (&mut self.branches, &other.branches),
        ];
        for (mine, theirs) in counted {
            mine.iter_mut().zip(theirs).for_each(|(mine, theirs)| *mine += theirs);
        }
        let (mine, theirs) = (&mut self.counts, &other.counts);
        mine.calls[0] += theirs.calls[0];
        mine.accounts_at_home += theirs.accounts_at_home;
        mine.tellers_at_home += theirs.tellers_at_home;
        mine.delta += theirs.delta;
        mine.delta_squares += theirs.delta_squares;
    }

    fn clear(&mut self) {
        self.sure.fill(Tally::default());
        self.doubtful.fill(Tally::default());
        self.account_buckets.fill(0);
        self.tellers.fill(0);
        self.branches.fill(0);
        self.counts = InputCounts::default();
    }
}

/// What the store says about a place, read before and after a trial by the query `tallies`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTally {
    /// What sort of place.
    pub place: Place,
    /// Its id: a branch's or a teller's.
    pub id: u32,
    /// The balance, of accounts their sum.
    pub balance: i64,
    /// Rows of history.
    pub entries: i64,
    /// The sum of their amounts.
    pub moved: i64,
    /// Their checksum; absent where a server that looks at its own data leaves it out.
    #[serde(default)]
    pub mixed: Option<i64>,
}

impl StoredTally {
    /// From a row of `tallies`.
    pub fn from_row(row: &[i64]) -> Option<StoredTally> {
        let &[place, id, balance, entries, moved, mixed] = row else { return None };
        let (place, id) = (Place::of_number(place)?, u32::try_from(id).ok()?);
        Some(StoredTally { place, id, balance, entries, moved, mixed: Some(mixed) })
    }

    /// What all stores say, from what each says of its part: in the order of the query over the whole.
    pub fn join(parts: Vec<Vec<StoredTally>>) -> Vec<StoredTally> {
        let mut all = parts.concat();
        all.sort_by_key(|tally| (tally.place, tally.id));
        all
    }

    /// What is in the balance and not in history: what it was before the oldest row of history. No call changes it.
    const fn opening(&self) -> i64 {
        self.balance.saturating_sub(self.moved)
    }
}

/// What acknowledged and doubtful calls imply, in a form that can be written to a partial result and read back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// By place, from acknowledged calls.
    pub sure: Vec<Tally>,
    /// By place, from calls in doubt.
    pub doubtful: Vec<Tally>,
    /// False where calls may have been acknowledged after these claims were written: then amounts, which go up and down,
    /// have no bounds, and of counts only the lower ones hold.
    pub complete: bool,
}

impl Claims {
    /// The claims of a ledger.
    pub fn of(ledger: &Ledger, complete: bool) -> Claims {
        Claims { sure: ledger.sure.to_vec(), doubtful: ledger.doubtful.to_vec(), complete }
    }

    /// The ledger audit: in each place the store must have grown by what was acknowledged, and by no more or less than
    /// what is in doubt next to that; and balances by exactly what their new history says, in doubt or not. `None` where
    /// the three do not speak of the same places.
    pub fn audit(&self, before: &[StoredTally], after: &[StoredTally]) -> Option<Vec<LedgerFinding>> {
        let same = before.len() == after.len()
            && before.len() == self.sure.len()
            && before.len() == self.doubtful.len()
            && before.iter().zip(after).all(|(old, new)| (old.place, old.id) == (new.place, new.id));
        let has_checksums = before.iter().chain(after).all(|tally| tally.mixed.is_some());
        let each = || MEASURES.iter().flat_map(|measure| Place::ALL.map(|place| (measure, place)));
        same.then(|| {
            each()
                .filter(|(measure, _)| self.complete || measure.bounds != Bounds::Amount)
                .filter(|(measure, _)| measure.bounds != Bounds::Checksum || has_checksums)
                .map(|(measure, place)| self.hold(measure, place, before, after))
                .collect()
        })
    }

    fn hold(
        &self,
        measure: &Measure,
        place: Place,
        before: &[StoredTally],
        after: &[StoredTally],
    ) -> LedgerFinding {
        let (name, unit) = (measure.names[place as usize], measure.unit);
        let mut finding = LedgerFinding { name, unit, low: 0, high: 0, stored: 0, violations: Vec::new() };
        for (index, (old, new)) in before.iter().zip(after).enumerate().filter(|(_, at)| at.1.place == place)
        {
            let (low, high) = measure.bounds.of(&self.sure[index], &self.doubtful[index]);
            let grown = (measure.stored)(new).saturating_sub((measure.stored)(old));
            finding.low += low;
            finding.high += high;
            finding.stored = finding.stored.saturating_add(grown);
            let at = format!("{} {}", place.words(), new.id);
            if grown < low {
                finding
                    .violations
                    .push(format!("{at}: {} at least {low} {unit}, stored {grown}", measure.why));
            } else if grown > high && (self.complete || measure.bounds == Bounds::Nothing) {
                finding
                    .violations
                    .push(format!("{at}: {} at most {high} {unit}, stored {grown}", measure.why));
            }
        }
        finding
    }
}

/// What calls allow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bounds {
    /// As many as there were calls.
    Count,
    /// The sum of their amounts.
    Amount,
    /// The checksum of their rows.
    Checksum,
    /// No change at all.
    Nothing,
}

impl Bounds {
    const fn of(self, sure: &Tally, doubtful: &Tally) -> (i64, i64) {
        match self {
            Bounds::Count => (sure.calls as i64, (sure.calls + doubtful.calls) as i64),
            Bounds::Amount => (sure.sum() + doubtful.down, sure.sum() + doubtful.up),
            Bounds::Checksum => (sure.mixed, sure.mixed.saturating_add(doubtful.mixed)),
            Bounds::Nothing => (0, 0),
        }
    }
}

struct Measure {
    names: [&'static str; 3],
    unit: &'static str,
    bounds: Bounds,
    stored: fn(&StoredTally) -> i64,
    /// Where the bounds come from.
    why: &'static str,
}

const MEASURES: [Measure; 5] = [
    Measure {
        names: ["calls by branch of account", "calls by teller", "calls by branch"],
        unit: "rows of history",
        bounds: Bounds::Count,
        stored: |tally| tally.entries,
        why: "calls imply",
    },
    Measure {
        names: [
            "contents of history by branch of account",
            "contents of history by teller",
            "contents of history by branch",
        ],
        unit: "in the checksum",
        bounds: Bounds::Checksum,
        stored: |tally| tally.mixed.unwrap_or(0),
        why: "calls imply",
    },
    Measure {
        names: ["history by branch of account", "history by teller", "history by branch"],
        unit: "units in history",
        bounds: Bounds::Amount,
        stored: |tally| tally.moved,
        why: "calls imply",
    },
    Measure {
        names: ["balances of accounts", "balances of tellers", "balances of branches"],
        unit: "units of balance",
        bounds: Bounds::Amount,
        stored: |tally| tally.balance,
        why: "calls imply",
    },
    Measure {
        names: [
            "balances of accounts vs history",
            "balances of tellers vs history",
            "balances of branches vs history",
        ],
        unit: "units of balance",
        bounds: Bounds::Nothing,
        stored: StoredTally::opening,
        why: "balance and history grow alike, so the difference is",
    },
];

#[cfg(test)]
mod tests;
