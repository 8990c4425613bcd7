//! Calls that meet: one key from several connections, and money that several want at once.

use crate::{Call, Cardinality, Decline, Key, OPENING, Outcome, Purpose, State, Transfer, Transfers};
use model::{Race, Raced};

/// Calls that meet.
const MEET: u32 = 8;

pub(crate) fn races(size: &Cardinality, salt: u32, round: u32) -> Vec<Race<Transfers>> {
    let accounts = size.accounts_all();
    let first = *size.ids().start();
    let account = |offset: u32| first + (round * 3 + offset) % accounts;
    // Runs of verifications, beside those of trials.
    let key =
        |worker: u32, sequence: u32| Key { run: u64::from(salt) << 32 | u64::from(round), worker, sequence };
    let ask = |key: Key, source: u32, target: u32, amount: i64| {
        Call::of(Transfer { key, source, target, amount }, size)
    };
    let raced = |key: Key, source: u32, target: u32| Call::Transfer {
        purpose: Purpose::Raced,
        transfer: Transfer { key, source, target, amount: 1 },
    };
    let held = |id: u32| Call::ReadAccount { id };
    let (one, other, third) = (account(0), account(1), account(2));
    vec![
        Race {
            name: "repeated-key",
            rule: "one key at the same moment from several connections moves money once, and all are answered alike",
            before: vec![held(one)],
            together: vec![raced(key(1, 0), one, other); MEET as usize],
            after: vec![held(one)],
            judge: Box::new(repeated),
        },
        Race {
            name: "reused-key",
            rule: "of two transfers under one key one is made, and the other is told so",
            before: vec![held(one)],
            together: vec![raced(key(2, 0), one, other), raced(key(2, 0), one, third)],
            after: vec![held(one)],
            judge: Box::new(reused),
        },
        Race {
            name: "overdraft",
            rule: "several who want all of an account's money at once do not get it twice",
            before: vec![held(one)],
            together: (0..MEET).map(|at| ask(key(3, at), one, other, OPENING / 2 + 1)).collect(),
            after: vec![held(one)],
            judge: Box::new(|raced| taken(raced, OPENING / 2 + 1)),
        },
        Race {
            name: "opposite-transfers",
            rule: "transfers there and back at the same moment all come to an end, and lose no money",
            before: vec![held(one), held(other)],
            together: (0..MEET)
                .map(|at| {
                    if at % 2 == 0 { ask(key(4, at), one, other, 1) } else { ask(key(4, at), other, one, 1) }
                })
                .collect(),
            after: vec![held(one), held(other)],
            judge: Box::new(opposite),
        },
    ]
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
    held(before - moved, after)
}

fn reused(raced: &Raced<Transfers>) -> Result<(), String> {
    let (before, after) = (balance(&raced.before[0])?, balance(&raced.after[0])?);
    let moved = raced.met().filter(|outcome| matches!(outcome, Outcome::Moved { .. })).count() as i64;
    let told = raced.met().filter(|outcome| **outcome == Outcome::Declined(Decline::KeyReused)).count();
    if moved > 1 || (raced.met().count() == 2 && before > 0 && (moved, told) != (1, 1)) {
        return Err(format!("one of them was to be made and one told of it; {moved} were made, {told} told"));
    }
    held(before - moved, after)
}

fn taken(raced: &Raced<Transfers>, amount: i64) -> Result<(), String> {
    let (before, after) = (balance(&raced.before[0])?, balance(&raced.after[0])?);
    let moved = raced.met().filter(|outcome| matches!(outcome, Outcome::Moved { .. }));
    held(before - amount * moved.count() as i64, after)
}

fn opposite(raced: &Raced<Transfers>) -> Result<(), String> {
    let sum = |outcomes: &[Outcome]| outcomes.iter().map(balance).sum::<Result<i64, String>>();
    let (before, after) = (sum(&raced.before)?, sum(&raced.after)?);
    let pending = |outcome: &&Outcome| matches!(outcome, Outcome::Moved { state: State::Pending, .. });
    // Each moves 1, which may not have arrived yet.
    let on_the_way = raced.met().filter(pending).count() as i64;
    if (before - on_the_way..before).contains(&after) { Ok(()) } else { held(before, after) }
}

fn held(expected: i64, found: i64) -> Result<(), String> {
    if expected < 0 {
        return Err(format!("more was taken than there was: {expected} would be left"));
    }
    if found == expected { Ok(()) } else { Err(format!("{expected} should be left, and {found} are")) }
}
