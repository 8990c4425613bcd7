use super::*;
use crate::{Cardinality, Decline, Inputs, Key, Oracle, Purpose, State};
use model::{Doubt as Why, Inputs as _, Ledger as _};
use workload::keyed::Sums;

fn transfer(sequence: u32, amount: i64) -> Transfer {
    Transfer { key: Key { run: 9, worker: 4, sequence }, source: 1, target: 2, amount }
}

fn asked(transfer: Transfer) -> Call {
    Call::Transfer { purpose: Purpose::Within, transfer }
}

const MADE: Result<Outcome, Fault> = Ok(Outcome::Moved { state: State::Completed, balance: 5 });
const SHORT: Result<Outcome, Fault> = Ok(Outcome::Declined(Decline::InsufficientFunds { balance: 5 }));

fn lost() -> Result<Outcome, Fault> {
    Err(Fault::InDoubt(Why::Deadline))
}

/// What a bank stores in which these were made and declined.
fn stored(made: &[(u32, i64)], declined: &[(u32, i64)]) -> Vec<Tally> {
    let sums = |of: &[(u32, i64)]| {
        of.iter().fold(Sums::default(), |mut sums, &(sequence, amount)| {
            sums.enter(&effect(&transfer(sequence, amount)));
            sums
        })
    };
    let tally = |sort, sums| Tally { sort, run: 9, worker: 4, sums };
    let mut answered = Keyed::default();
    made.iter().chain(declined).for_each(|&(sequence, _)| answered.answered(transfer(sequence, 1).key, 5));
    let answered = answered.workers().first().map(|tally| tally.answered).unwrap_or_default();
    let accounts = Sums { count: 24, amount: 2_400_000, mixed: 0 };
    vec![
        tally(Sort::Accepted, sums(made)),
        tally(Sort::Declined, sums(declined)),
        tally(Sort::Debits, sums(made)),
        tally(Sort::Credits, sums(made)),
        Tally { sort: Sort::Accounts, run: 0, worker: 0, sums: accounts },
        tally(Sort::AcceptedKeys, sums(made)),
        tally(Sort::Paid, sums(made)),
        tally(Sort::Balances, answered),
    ]
}

fn violations(ledger: &Ledger, after: &[Tally]) -> Vec<String> {
    let before = stored(&[], &[]);
    let findings = audit(&ledger.claims(true), &before, after);
    findings.into_iter().flat_map(|finding| finding.violations).collect()
}

#[test]
fn each_acknowledged_transfer_must_be_there_and_no_other() {
    let mut ledger = Ledger::new();
    for sequence in 0..5 {
        ledger.post(&asked(transfer(sequence, 10)), &MADE);
    }
    ledger.post(&asked(transfer(5, 99)), &SHORT);
    let made = |sequences: &[u32]| sequences.iter().map(|&sequence| (sequence, 10)).collect::<Vec<_>>();
    assert_eq!(violations(&ledger, &stored(&made(&[0, 1, 2, 3, 4]), &[(5, 99)])), [""; 0]);
    let lost = violations(&ledger, &stored(&made(&[0, 1, 2, 3]), &[(5, 99)]));
    assert!(lost[0].contains("at least 5 transfers were acknowledged, stored 4"), "{lost:?}");
    // One is lost and another there, under a key of no one's.
    let other = violations(&ledger, &stored(&made(&[0, 1, 2, 3, 7]), &[(5, 99)]));
    assert!(other[0].contains("sums of keys"), "{other:?}");
    let more = violations(&ledger, &stored(&made(&[0, 1, 2, 3, 4, 6]), &[(5, 99)]));
    assert!(more[0].contains("at most 5 transfers"), "{more:?}");
    let declined = violations(&ledger, &stored(&made(&[0, 1, 2, 3, 4, 5]), &[]));
    assert!(
        declined.iter().any(|what| what.contains("at least 1 transfers were acknowledged, stored 0")),
        "{declined:?}"
    );
}

#[test]
fn a_transfer_in_doubt_may_be_there_or_not_but_no_other_in_its_place() {
    let mut ledger = Ledger::new();
    ledger.post(&asked(transfer(0, 10)), &MADE);
    ledger.post(&asked(transfer(1, 10)), &lost());
    ledger.post(&asked(transfer(2, 10)), &lost());
    for made in [&[(0, 10)][..], &[(0, 10), (1, 10)], &[(0, 10), (2, 10)], &[(0, 10), (1, 10), (2, 10)]] {
        assert_eq!(violations(&ledger, &stored(made, &[])), [""; 0], "{made:?}");
    }
    // Both sums are within their bounds, and it is a key that no one doubts.
    let wrong = violations(&ledger, &stored(&[(1, 10), (2, 10)], &[]));
    assert!(wrong.iter().any(|what| what.contains("are not those that were acknowledged")), "{wrong:?}");
}

#[test]
fn an_answer_to_a_retried_transfer_ends_its_doubt_whichever_account_holds_it() {
    let (mut one, mut other, mut all) = (Ledger::new(), Ledger::new(), Ledger::new());
    let again = |purpose, sequence| Call::Transfer { purpose, transfer: transfer(sequence, 10) };
    one.post(&asked(transfer(0, 10)), &lost());
    one.post(&asked(transfer(1, 10)), &Err(Fault::Conflict(model::Conflict::Deadlock)));
    other.post(&again(Purpose::Retry, 0), &lost());
    all.absorb(&one);
    all.absorb(&other);
    assert!(matches!(all.keyed.doubts(), ([_], 0)), "it is one transfer");
    other.clear();
    other.post(&again(Purpose::Retry, 0), &MADE);
    other.post(&again(Purpose::Retry, 1), &MADE);
    other.post(&again(Purpose::Repeat, 1), &MADE);
    other.post(&again(Purpose::Repeat, 1), &lost());
    all.absorb(&other);
    assert_eq!((all.keyed.doubts().0.len(), all.keyed.workers()[0].completed.count), (0, 2));
    assert_eq!(violations(&all, &stored(&[(0, 10), (1, 10)], &[])), [""; 0]);
}

#[test]
fn entries_and_money_are_held_to_the_transfers() {
    let mut ledger = Ledger::new();
    ledger.post(&asked(transfer(0, 10)), &MADE);
    let right = stored(&[(0, 10)], &[]);
    let found = |change: fn(&mut Vec<Tally>)| {
        let mut after = right.clone();
        change(&mut after);
        violations(&ledger, &after)
    };
    assert_eq!(found(|_| {}), [""; 0]);
    let kept = found(|after| after[7].sums.amount += 1);
    assert_eq!(
        kept,
        ["worker 4: 1 transfers were answered with 5 units in all, and what is stored with them is 6 in all"]
    );
    assert!(found(|after| after[7].sums.mixed += 1)[0].contains("answered with 5 units in all"));
    let twice = found(|after| after[3].sums.amount = 20);
    assert_eq!(
        twice,
        ["worker 4: 1 transfers of 10 units in all are accepted, and there are 1 credits of 20 units"]
    );
    let missing = found(|after| {
        after.remove(2);
    });
    assert_eq!(
        missing,
        ["worker 4: 1 transfers of 10 units in all are accepted, and there are 0 debits of 0 units"]
    );
    // The credit was given to a neighbour: all counts and amounts are right.
    let other = found(|after| after[6].sums.mixed += 1);
    assert!(other.len() == 1 && other[0].contains("have paid their targets or other accounts"), "{other:?}");
    // Money that was returned has paid no one.
    let returned = found(|after| {
        let sums = after[0].sums;
        after.push(Tally { sort: Sort::Refunded, ..after[0] });
        after.push(Tally { sort: Sort::Refused, ..after[0] });
        after[6].sums = Sums::default();
        assert_eq!(sums.count, 1);
    });
    assert!(returned.iter().all(|what| !what.contains("have paid")), "{returned:?}");
    let gone = found(|after| after[4].sums.amount -= 10);
    assert_eq!(gone, ["accounts were opened with 2400000 units in all and hold 2399990"]);
}

/// A relay settles transfers of an earlier run while the stores are read before this one, one store after the other.
#[test]
fn money_that_moves_while_it_is_counted_before_a_run_is_no_loss() {
    let mut ledger = Ledger::new();
    ledger.post(&asked(transfer(0, 10)), &MADE);
    let after = stored(&[(0, 10)], &[]);
    for moving in [-99, 99] {
        let mut before = stored(&[], &[]);
        before[4].sums.amount += moving;
        let findings = audit(&ledger.claims(true), &before, &after);
        assert!(findings.iter().all(|finding| finding.violations.is_empty()), "{findings:?}");
    }
}

/// The whole of what inputs draw against a right bank, in two slices, with calls whose answers are lost.
#[test]
fn what_inputs_draw_is_kept_by_a_right_bank() {
    let size = Cardinality::tiny();
    let mut oracle = Oracle::new(size);
    let mut all = Ledger::new();
    for worker in 0..3 {
        let (mut inputs, mut ledger) = (Inputs::new(size, 3, 9, worker, None), Ledger::new());
        for number in 0..3_000 {
            let call = inputs.draw();
            let answer = oracle.answer(&call);
            let result = if number % 97 == 5 { lost() } else { answer };
            if let Ok(outcome) = &result {
                assert_eq!(inputs.check(&call, outcome), Ok(()));
            }
            ledger.post(&call, &result);
            if number % 1_000 == 999 {
                all.absorb(&ledger);
                ledger.clear();
            }
        }
    }
    let mut sums = std::collections::BTreeMap::new();
    for kept in oracle.transfers.values() {
        let (sort, key) = (kept.state, kept.transfer.key);
        let sort = if sort == State::Completed { Sort::Accepted } else { Sort::Declined };
        sums.entry((sort, key.worker)).or_insert_with(Sums::default).enter(&effect(&kept.transfer));
    }
    let tally = |sort, worker: u32, sums| Tally { sort, run: 9, worker: worker.into(), sums };
    let mut after: Vec<Tally> =
        sums.iter().map(|((sort, worker), sums)| tally(*sort, *worker, *sums)).collect();
    for sort in [Sort::Debits, Sort::Credits, Sort::AcceptedKeys, Sort::Paid] {
        after.extend(
            sums.iter().filter(|(of, _)| of.0 == Sort::Accepted).map(|(of, sums)| tally(sort, of.1, *sums)),
        );
    }
    let before = stored(&[], &[]);
    after.push(before[4]);
    let findings = audit(&all.claims(true), &before, &after);
    let violations: Vec<_> = findings.iter().flat_map(|finding| &finding.violations).collect();
    assert!(violations.is_empty(), "{violations:?}");
    assert!(!all.keyed.doubts().0.is_empty());
    assert!(all.keyed.workers().iter().all(|worker| worker.declined.count > 0));
}

#[test]
fn of_several_under_one_key_at_once_one_may_be_there() {
    let mut ledger = Ledger::new();
    let raced = Call::Transfer { purpose: Purpose::Raced, transfer: transfer(0, 10) };
    for result in [MADE, Ok(Outcome::Declined(Decline::KeyReused)), SHORT, lost()] {
        ledger.post(&raced, &result);
    }
    ledger.post(&asked(transfer(1, 10)), &Ok(Outcome::Declined(Decline::KeyReused)));
    assert_eq!(violations(&ledger, &stored(&[(0, 10)], &[])), [""; 0]);
    assert_eq!(violations(&ledger, &stored(&[], &[(0, 10)])), [""; 0]);
    let twice = violations(&ledger, &stored(&[(0, 10), (0, 10)], &[]));
    assert!(twice[0].contains("at most 1 transfers"), "{twice:?}");
}

#[test]
fn keys_of_two_runs_are_told_apart() {
    let mut ledger = Ledger::new();
    let of_other = Transfer { key: Key { run: 8, worker: 4, sequence: 0 }, ..transfer(0, 10) };
    ledger.post(&asked(transfer(0, 10)), &MADE);
    ledger.post(&asked(of_other), &MADE);
    let found = violations(&ledger, &stored(&[(0, 10), (1, 10)], &[]));
    assert!(found.iter().any(|found| found.contains("at least 1 transfers were acknowledged, stored 0")));
    assert!(found.iter().any(|found| found.contains("at most 1 transfers can have been made, stored 2")));
}

#[test]
fn what_was_answered_as_pending_was_and_nothing_else() {
    let answer = |state| Ok(Outcome::Moved { state, balance: 5 });
    let found = |answered: State, stored_as: Option<Sort>| {
        let mut ledger = Ledger::new();
        ledger.post(&asked(transfer(0, 10)), &answer(answered));
        let mut after = stored(&[(0, 10)], &[]);
        let mut sums = Sums::default();
        sums.enter(&effect(&transfer(0, 10)));
        after.extend(stored_as.map(|sort| Tally { sort, run: 9, worker: 4, sums }));
        let findings = audit(&ledger.claims(true), &stored(&[], &[]), &after);
        let wrong = |name: &str| findings.iter().any(|of| of.name == name && !of.violations.is_empty());
        wrong("pending transfers")
    };
    for was_pending in [Sort::Pending, Sort::Settled, Sort::Refunded] {
        assert!(!found(State::Pending, Some(was_pending)), "{was_pending:?}");
        assert!(found(State::Completed, Some(was_pending)), "{was_pending:?}");
    }
    assert!(found(State::Pending, None) && !found(State::Completed, None));
}
