//! How calls are drawn: as pgbench's script does.
//!
//! ```text
//! \set aid random(1, 100000 * :scale)
//! \set bid random(1, 1 * :scale)
//! \set tid random(1, 10 * :scale)
//! \set delta random(-5000, 5000)
//! ```

use crate::{Call, Cardinality, DELTA_MAX, Outcome, Tpcb};
use model::random::Random;
use std::ops::RangeInclusive;
use std::sync::Arc;
use workload::{Drawn, Registers};

/// The path of the run's random streams, apart from those of other workloads.
const CLIENT: u64 = 300;

/// The calls of one client: account, branch and teller evenly and each on its own. Where the branches are split over
/// stores, branch and teller are drawn within the store of the account, because a call stays within one store: each is still
/// as likely as any other of its sort, but they no longer come each on its own, as they do in pgbench.
#[derive(Debug, Clone)]
pub struct Inputs {
    size: Cardinality,
    random: Random,
    /// The balances of accounts; absent where answers are held to their calls alone.
    balances: Option<Arc<Registers>>,
    /// What was known of the account when the last call was drawn.
    drawn: Drawn,
}

impl Inputs {
    /// The stream of a worker.
    pub fn new(size: Cardinality, seed: u64, worker: u32) -> Inputs {
        let random = Random::stream(seed, &[CLIENT, u64::from(worker)]);
        Inputs { size, random, balances: None, drawn: Drawn::default() }
    }

    /// The same, whose answers are held to what calls of all workers have made of the balances.
    #[must_use]
    pub fn remembering(self, balances: &Arc<Registers>) -> Inputs {
        Inputs { balances: Some(Arc::clone(balances)), ..self }
    }

    fn one_of(&mut self, ids: RangeInclusive<u32>) -> u32 {
        let count = ids.end() - ids.start() + 1;
        self.random.below(u64::from(count)) as u32 + ids.start()
    }
}

impl model::Inputs<Tpcb> for Inputs {
    fn draw(&mut self) -> Call {
        let aid = self.one_of(self.size.ids(self.size.accounts));
        let store = self.size.part(self.size.shard(self.size.branch_of_account(aid)));
        let bid = self.one_of(store.ids(1));
        let tid = self.one_of(store.ids(store.tellers));
        let delta = self.random.range(-DELTA_MAX, DELTA_MAX);
        if let Some(balances) = &self.balances {
            self.drawn = balances.draw(aid.into(), delta);
        }
        Call { aid, tid, bid, delta }
    }

    fn check(&mut self, call: &Call, outcome: &Outcome) -> Result<(), &'static str> {
        let before = outcome.abalance.checked_sub(call.delta);
        match &self.balances {
            Some(balances) if !balances.done(self.drawn, before) => {
                Err("the balance of an account is not what calls have made of it")
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Inputs as _;

    fn draw(size: Cardinality, seed: u64, worker: u32, count: usize) -> Vec<Call> {
        let mut inputs = Inputs::new(size, seed, worker);
        (0..count).map(|_| inputs.draw()).collect()
    }

    #[test]
    fn the_same_seed_gives_the_same_calls() {
        let size = Cardinality::standard(10);
        assert_eq!(draw(size, 5, 3, 100), draw(size, 5, 3, 100));
        assert_ne!(draw(size, 5, 3, 100), draw(size, 6, 3, 100));
        assert_ne!(draw(size, 5, 3, 100), draw(size, 5, 13, 100));
    }

    /// A seed means these calls for ever: results of different versions can be laid side by side.
    #[test]
    fn streams_are_frozen() {
        let expected = [Call { aid: 87_612, tid: 67, bid: 3, delta: -1_700 }];
        assert_eq!(draw(Cardinality::standard(10), 1, 0, 1), expected);
    }

    #[test]
    fn every_range_is_used_to_its_ends_and_not_beyond() {
        let size = Cardinality::tiny();
        let calls = draw(size, 1, 0, 100_000);
        let check = |of: fn(&Call) -> i64, low: i64, high: i64| {
            let (least, most) = (calls.iter().map(of).min(), calls.iter().map(of).max());
            assert_eq!((least, most), (Some(low), Some(high)));
        };
        check(|call| call.aid.into(), 1, size.accounts_all().into());
        check(|call| call.tid.into(), 1, size.tellers_all().into());
        check(|call| call.bid.into(), 1, size.branches.into());
        check(|call| call.delta, -5_000, 5_000);
    }

    #[test]
    fn calls_stay_within_a_store_and_reach_all_of_it() {
        let size = Cardinality { shards: 2, ..Cardinality::tiny() };
        let (one, other): (Vec<Call>, Vec<Call>) =
            draw(size, 1, 0, 10_000).into_iter().partition(|call| size.shard(call.bid) == 0);
        for (calls, part) in [one, other].iter().zip(size.parts()) {
            let check = |of: fn(&Call) -> u32, ids: RangeInclusive<u32>| {
                let (least, most) = (calls.iter().map(of).min(), calls.iter().map(of).max());
                assert_eq!((least, most), (Some(*ids.start()), Some(*ids.end())));
            };
            check(|call| call.aid, part.ids(part.accounts));
            check(|call| call.tid, part.ids(part.tellers));
            check(|call| call.bid, part.ids(1));
        }
        // A part is drawn from like any data.
        let part = size.part(1);
        assert!(draw(part, 1, 0, 1_000).iter().all(|call| part.ids(part.accounts).contains(&call.aid)));
    }
}
