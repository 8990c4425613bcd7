//! Calls that meet: one key from several connections, and money that several want at once; over several stores, all of it between
//! two of them.

use crate::{Call, Cardinality, Decline, Key, OPENING, Outcome, Purpose, State, Transfer, Transfers};
use contract::{Race, Raced};
use model::total;

/// Calls that meet.
const MEET: u32 = 8;

pub(crate) fn races(size: &Cardinality, salt: u32, round: u32) -> Vec<Race<Transfers>> {
    // Runs of verifications, besides those of trials.
    let key =
        |worker: u32, sequence: u32| Key { run: u64::from(salt) << 32 | u64::from(round), worker, sequence };
    let ask = |key: Key, source: u32, target: u32, amount: i64| {
        Call::of(Transfer { key, source, target, amount }, size)
    };
    let raced = |key: Key, source: u32, target: u32| Call::Transfer {
        purpose: Purpose::Raced,
        transfer: Transfer { key, source, target, amount: 1 },
    };
    let read = |id: u32| Call::ReadAccount { id };
    let Places { one, other, third, both: [left, right] } = Places::of(size, round);
    vec![
        Race {
            name: "repeated-key",
            rule: "one key at the same moment from several connections moves money once, and all are answered alike",
            before: vec![read(one)],
            together: vec![raced(key(1, 0), one, other); MEET as usize],
            after: vec![read(one)],
            judge: Box::new(repeated),
        },
        Race {
            name: "reused-key",
            rule: "of two transfers with one key one is made, and the other is rejected",
            before: vec![read(one)],
            together: vec![raced(key(2, 0), one, other), raced(key(2, 0), one, third)],
            after: vec![read(one)],
            judge: Box::new(reused),
        },
        Race {
            name: "overdraft",
            rule: "several who want all of an account's money at once do not get it twice",
            before: vec![read(one)],
            together: (0..MEET).map(|at| ask(key(3, at), one, other, OPENING / 2 + 1)).collect(),
            after: vec![read(one)],
            judge: Box::new(|raced| taken(raced, OPENING / 2 + 1)),
        },
        Race {
            name: "opposite-transfers",
            rule: "transfers there and back at the same moment all come to an end, and lose no money",
            before: vec![read(left), read(right)],
            together: (0..MEET)
                .map(|at| {
                    let (source, target) = if at % 2 == 0 { (left, right) } else { (right, left) };
                    ask(key(4, at), source, target, 1)
                })
                .collect(),
            after: vec![read(left), read(right)],
            judge: Box::new(opposite),
        },
    ]
}

/// The accounts of a round.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Places {
    one: u32,
    other: u32,
    /// Who is to be paid under the same key.
    third: u32,
    /// Who pay each other.
    both: [u32; 2],
}

/// Accounts from one round to the next where there are several stores: as far as a round reaches, and one more, so that where there
/// are few those who pay are those who were paid some rounds before.
const STEP: u32 = 5;

impl Places {
    /// In one store, accounts next to each other. Over several, payer and payee are in two of them, and each store has
    /// its turn; the third is next to the payer, so that a transfer that crosses meets one that does not. Who pay each other are
    /// two of their own: money may be on its way to anyone who was paid before.
    fn of(size: &Cardinality, round: u32) -> Places {
        let account = |part: Cardinality, offset: u32| part.ids().start() + offset % part.accounts_all();
        if size.shards == 1 {
            let [one, other, third] = [0, 1, 2].map(|offset| account(*size, round * 3 + offset));
            return Places { one, other, third, both: [one, other] };
        }
        let [here, there] = [round, round + 1].map(|turn| size.part(turn % size.shards));
        let at = |part: Cardinality, offset: u32| account(part, round * STEP + offset);
        Places {
            one: at(here, 0),
            other: at(there, 1),
            third: at(here, 2),
            both: [at(here, 3), at(there, 3)],
        }
    }
}

fn balance(outcome: &Outcome) -> Result<i64, String> {
    match outcome {
        Outcome::Balance { balance } => Ok(*balance),
        other => Err(format!("the account was answered with {other:?}")),
    }
}

fn repeated(raced: &Raced<Transfers>) -> Result<(), String> {
    let (before, after) = (balance(&raced.before[0])?, balance(&raced.after[0])?);
    let met: Vec<&Outcome> = raced.met().collect();
    if met.iter().any(|outcome| *outcome != met[0]) {
        return Err(format!("one key was answered in several ways: {met:?}"));
    }
    let moved = i64::from(matches!(met.first(), Some(Outcome::Moved { .. })));
    expect_left(before.saturating_sub(moved), after)
}

fn reused(raced: &Raced<Transfers>) -> Result<(), String> {
    let (before, after) = (balance(&raced.before[0])?, balance(&raced.after[0])?);
    let moved = raced.met().filter(|outcome| matches!(outcome, Outcome::Moved { .. })).count() as i64;
    let rejected = raced.met().filter(|outcome| **outcome == Outcome::Declined(Decline::KeyReused)).count();
    if moved > 1 || (raced.met().count() == 2 && before > 0 && (moved, rejected) != (1, 1)) {
        return Err(format!(
            "one of them must be made and one rejected; {moved} were made, {rejected} rejected"
        ));
    }
    expect_left(before.saturating_sub(moved), after)
}

fn taken(raced: &Raced<Transfers>, amount: i64) -> Result<(), String> {
    let (before, after) = (balance(&raced.before[0])?, balance(&raced.after[0])?);
    let moved = raced.met().filter(|outcome| matches!(outcome, Outcome::Moved { .. }));
    expect_left(before.saturating_sub(amount * moved.count() as i64), after)
}

fn opposite(raced: &Raced<Transfers>) -> Result<(), String> {
    let sum = |outcomes: &[Outcome]| {
        Ok::<_, String>(total(outcomes.iter().map(balance).collect::<Result<Vec<_>, _>>()?))
    };
    let (before, after) = (sum(&raced.before)?, sum(&raced.after)?);
    let pending = |outcome: &&Outcome| matches!(outcome, Outcome::Moved { state: State::Pending, .. });
    // Each moves 1, which may not have arrived yet.
    let on_the_way = raced.met().filter(pending).count() as i64;
    if (before.saturating_sub(on_the_way)..before).contains(&after) {
        Ok(())
    } else {
        expect_left(before, after)
    }
}

fn expect_left(expected: i64, found: i64) -> Result<(), String> {
    if expected < 0 {
        return Err(format!("more was taken than there was: {expected} would be left"));
    }
    if found == expected { Ok(()) } else { Err(format!("{expected} should be left, and {found} are")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Conflict, Fault};
    use std::collections::BTreeSet;

    const ONE: Cardinality = Cardinality::tiny();
    const TWO: Cardinality = Cardinality { shards: 2, ..ONE };

    type CallResult = Result<Outcome, Fault>;

    fn moved(state: State, balance: i64) -> CallResult {
        Ok(Outcome::Moved { state, balance })
    }

    fn rejected() -> CallResult {
        Ok(Outcome::Declined(Decline::KeyReused))
    }

    fn short(balance: i64) -> CallResult {
        Ok(Outcome::Declined(Decline::InsufficientFunds { balance }))
    }

    fn busy() -> CallResult {
        Err(Fault::Conflict(Conflict::Busy))
    }

    /// What a race finds wrong with made-up answers: nothing, or words that are in the message.
    #[track_caller]
    fn check(name: &str, before: &[i64], together: &[CallResult], after: &[i64], wrong: Option<&str>) {
        let read = |balances: &[i64]| balances.iter().map(|&balance| Outcome::Balance { balance }).collect();
        for size in [ONE, TWO] {
            let race = races(&size, 0, 0).into_iter().find(|race| race.name == name).unwrap();
            assert_eq!((race.before.len(), race.after.len()), (before.len(), after.len()));
            let raced = Raced { before: read(before), together: together.to_vec(), after: read(after) };
            match ((race.judge)(&raced), wrong) {
                (Ok(()), None) => {}
                (Err(why), Some(words)) if why.contains(words) => {}
                (found, _) => panic!("{name} of {together:?}: {found:?}, and not {wrong:?}"),
            }
        }
    }

    #[test]
    fn a_key_that_is_done_twice_is_seen() {
        for state in [State::Completed, State::Pending] {
            let alike = vec![moved(state, 9); 8];
            check("repeated-key", &[10], &alike, &[9], None);
            check("repeated-key", &[10], &[&alike[..7], &[busy()]].concat(), &[9], None);
            check("repeated-key", &[10], &alike, &[8], Some("9 should be left, and 8 are"));
            check("repeated-key", &[10], &alike, &[10], Some("9 should be left, and 10 are"));
            let twice = [&alike[..7], &[moved(state, 8)]].concat();
            check("repeated-key", &[10], &twice, &[8], Some("answered in several ways"));
        }
        let both = [moved(State::Pending, 9), moved(State::Completed, 9)];
        check("repeated-key", &[10], &both, &[9], Some("answered in several ways"));
        check("repeated-key", &[0], &vec![short(0); 8], &[0], None);
        check("repeated-key", &[10], &vec![busy(); 8], &[10], None);
        check("repeated-key", &[10], &vec![busy(); 8], &[9], Some("10 should be left, and 9 are"));
    }

    #[test]
    fn a_key_that_two_transfers_have_is_seen() {
        for state in [State::Completed, State::Pending] {
            check("reused-key", &[10], &[moved(state, 9), rejected()], &[9], None);
            check("reused-key", &[10], &[rejected(), moved(State::Completed, 9)], &[9], None);
            check("reused-key", &[10], &[moved(state, 9), busy()], &[9], None);
            let both = [moved(state, 9), moved(State::Completed, 8)];
            check("reused-key", &[10], &both, &[8], Some("2 were made, 0 rejected"));
            check("reused-key", &[10], &[rejected(), rejected()], &[10], Some("0 were made, 2 rejected"));
            check(
                "reused-key",
                &[10],
                &[moved(state, 9), rejected()],
                &[8],
                Some("9 should be left, and 8 are"),
            );
        }
    }

    #[test]
    fn money_that_was_had_twice_is_seen() {
        let half = OPENING / 2 + 1;
        let left = OPENING - half;
        for state in [State::Completed, State::Pending] {
            let once = [moved(state, left), short(left), busy()];
            check("overdraft", &[OPENING], &once, &[left], None);
            check("overdraft", &[OPENING], &once, &[0], Some("should be left, and 0 are"));
            let twice = [moved(state, left), moved(state, left)];
            check("overdraft", &[OPENING], &twice, &[left], Some("more was taken than there was"));
            check("overdraft", &[OPENING], &twice, &[-2], Some("more was taken than there was"));
            // Whoever was paid before has enough for it.
            check("overdraft", &[2 * half], &twice, &[0], None);
        }
        check("overdraft", &[left], &[short(left), short(left)], &[left], None);
    }

    #[test]
    fn money_that_is_lost_between_two_who_pay_each_other_is_seen() {
        let (here, away) = (moved(State::Completed, 9), moved(State::Pending, 9));
        check("opposite-transfers", &[10, 10], &vec![here.clone(); 8], &[10, 10], None);
        check("opposite-transfers", &[10, 10], &[here.clone(), busy()], &[9, 11], None);
        check("opposite-transfers", &[10, 10], &vec![here.clone(); 8], &[10, 9], Some("20 should be left"));
        check("opposite-transfers", &[10, 10], &vec![here; 8], &[11, 10], Some("20 should be left"));
        // What is on its way has arrived, or not.
        for after in [[8, 8], [9, 9], [10, 10]] {
            check("opposite-transfers", &[10, 10], &vec![away.clone(); 4], &after, None);
        }
        let away = vec![away; 4];
        check("opposite-transfers", &[10, 10], &away, &[8, 7], Some("20 should be left, and 15 are"));
        check("opposite-transfers", &[10, 10], &away, &[11, 10], Some("20 should be left, and 21 are"));
    }

    fn transfers(race: &Race<Transfers>) -> Vec<Transfer> {
        let transfer = |call: &Call| match call {
            Call::Transfer { transfer, .. } => *transfer,
            call => panic!("{call:?} is not a transfer"),
        };
        race.together.iter().map(transfer).collect()
    }

    #[test]
    fn over_several_stores_races_cross_in_both_directions() {
        for shards in [2, 3, 4] {
            let size = Cardinality { branches: shards.max(3), shards, ..ONE };
            let mut ways = BTreeSet::new();
            for round in 0..12 {
                for race in races(&size, 0, round) {
                    for (at, Transfer { source, target, .. }) in transfers(&race).into_iter().enumerate() {
                        // Of a key that two have, the second stays where it is.
                        let crosses = race.name != "reused-key" || at == 0;
                        assert!(
                            source != target && size.is_across(source, target) == crosses,
                            "{}",
                            race.name
                        );
                        ways.insert((size.shard_of(source), size.shard_of(target)));
                    }
                }
            }
            let neighbours = (0..shards).flat_map(|here| {
                let there = (here + 1) % shards;
                [(here, here), (here, there), (there, here)]
            });
            assert_eq!(ways, neighbours.collect());
        }
        let [there, back] = [0, 1].map(|round| Places::of(&TWO, round));
        assert_eq!((TWO.shard_of(there.one), TWO.shard_of(there.other)), (0, 1));
        assert_eq!((TWO.shard_of(back.one), TWO.shard_of(back.other)), (1, 0));
    }

    #[test]
    fn in_one_store_they_stay_beside_each_other() {
        assert_eq!(Places::of(&ONE, 0), Places { one: 1, other: 2, third: 3, both: [1, 2] });
        assert_eq!(Places::of(&ONE, 8), Places { one: 1, other: 2, third: 3, both: [1, 2] });
        let part = TWO.part(1);
        assert_eq!(Places::of(&part, 1), Places { one: 12, other: 13, third: 14, both: [12, 13] });
    }

    /// Whoever pays in a race or is looked at in one has no money coming from another, if rounds have accounts of their own.
    #[test]
    fn money_on_its_way_disturbs_no_race() {
        let each = |Places { one, other, third, both: [left, right] }| [one, other, third, left, right];
        for shards in [2, 3] {
            let size = Cardinality { shards, ..Cardinality::standard(4) };
            let all: Vec<u32> = (0..15).flat_map(|round| each(Places::of(&size, round))).collect();
            assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
        }
        // On few accounts they come again, and each round has five of them all the same.
        for round in 0..15 {
            assert_eq!(each(Places::of(&TWO, round)).into_iter().collect::<BTreeSet<_>>().len(), 5);
        }
    }

    /// On few accounts too there is money in each round for what it is about.
    #[test]
    fn who_is_to_overdraw_has_enough_to_be_paid_once() {
        for size in [TWO, Cardinality { shards: 3, ..ONE }, Cardinality { branches: 4, shards: 4, ..ONE }] {
            let mut oracle = crate::Oracle::new(size);
            for round in 0..15 {
                for race in races(&size, 0, round) {
                    let answers: Vec<_> =
                        race.together.iter().map(|call| oracle.answer(call).unwrap()).collect();
                    let made =
                        answers.iter().filter(|answer| matches!(answer, Outcome::Moved { .. })).count();
                    assert!(race.name != "overdraft" || (1..8).contains(&made), "round {round}: {answers:?}");
                }
            }
        }
    }
}
