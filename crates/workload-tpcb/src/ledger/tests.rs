use super::*;
use model::{Conflict, DefectKind, Doubt, Ledger as _};

const SIZE: Cardinality = Cardinality::tiny();

/// A store after earlier runs, whose history someone has emptied since.
fn before() -> Vec<StoredTally> {
    let tally = |place, id| StoredTally {
        place,
        id,
        balance: i64::from(id) * 11,
        entries: 5,
        moved: 60,
        mixed: Some(900),
    };
    let accounts = (1..=3).map(|id| tally(Place::Accounts, id));
    let tellers = (1..=30).map(|id| tally(Place::Teller, id));
    accounts.chain(tellers).chain((1..=3).map(|id| tally(Place::Branch, id))).collect()
}

/// Enters a call in a store, in those of its places that `keep` says.
fn store(after: &mut [StoredTally], call: &Call, keep: impl Fn(Place) -> bool) {
    for tally in after {
        let id = match tally.place {
            Place::Accounts => SIZE.branch_of_account(call.aid),
            Place::Teller => call.tid,
            Place::Branch => call.bid,
        };
        if tally.id == id {
            tally.entries += 1;
            tally.moved += call.delta;
            tally.mixed = tally.mixed.map(|mixed| mixed + mixed_of(call));
            tally.balance += if keep(tally.place) { call.delta } else { 0 };
        }
    }
}

fn call(delta: i64) -> Call {
    Call { aid: 51, tid: 30, bid: 3, delta }
}

fn doubt() -> Result<Outcome, Fault> {
    Err(Fault::InDoubt(Doubt::CommitUnanswered))
}

const DONE: Result<Outcome, Fault> = Ok(Outcome { abalance: 0 });

/// Sentences of all violations after `change` was made to the store.
fn check(ledger: &Ledger, complete: bool, change: impl Fn(&mut Vec<StoredTally>)) -> Vec<String> {
    let mut after = before();
    change(&mut after);
    let findings = Claims::of(ledger, complete).audit(&before(), &after).unwrap();
    findings.into_iter().flat_map(|finding| finding.violations).collect()
}

#[test]
fn what_was_acknowledged_is_stored_and_nothing_is_said() {
    let mut ledger = Ledger::new(SIZE);
    ledger.post(&call(500), &DONE);
    ledger.post(&call(-700), &DONE);
    let stored = |after: &mut Vec<StoredTally>| {
        store(after, &call(500), |_| true);
        store(after, &call(-700), |_| true);
    };
    assert_eq!(check(&ledger, true, stored), [""; 0]);
    assert_eq!(check(&ledger, false, stored), [""; 0]);
}

#[test]
fn an_acknowledged_call_that_never_committed_is_found_in_every_place() {
    let mut ledger = Ledger::new(SIZE);
    ledger.post(&call(500), &DONE);
    let lost = check(&ledger, true, |_| {});
    assert_eq!(lost.len(), 12, "{lost:?}");
    assert_eq!(lost[0], "accounts of branch 2: calls imply at least 1 rows of history, stored 0");
    assert_eq!(lost[1], "teller 30: calls imply at least 1 rows of history, stored 0");
    assert_eq!(lost[11], "branch 3: calls imply at least 500 units of balance, stored 0");
    // While calls were still being made, the rows that must be there are known, and the amounts are not.
    assert_eq!(check(&ledger, false, |_| {}).len(), 6);
}

#[test]
fn a_row_of_a_neighbour_is_found_though_all_sums_of_its_places_are_right() {
    let mut ledger = Ledger::new(SIZE);
    ledger.post(&call(500), &DONE);
    let found = check(&ledger, true, |after| store(after, &Call { aid: 52, ..call(500) }, |_| true));
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(
        found[0].starts_with("accounts of branch 2: calls imply at") && found[0].contains("in the checksum")
    );
}

#[test]
fn an_update_that_is_lost_in_one_place_is_found_there() {
    for (lost, words) in
        [(Place::Accounts, "accounts of branch 2"), (Place::Teller, "teller 30"), (Place::Branch, "branch 3")]
    {
        let mut ledger = Ledger::new(SIZE);
        ledger.post(&call(500), &DONE);
        let stored = |after: &mut Vec<StoredTally>| store(after, &call(500), |place| place != lost);
        let expected = [
            format!("{words}: calls imply at least 500 units of balance, stored 0"),
            format!(
                "{words}: balance and history grow alike, so the difference is at least 0 units of balance, stored -500"
            ),
        ];
        assert_eq!(check(&ledger, true, stored), expected);
        assert_eq!(check(&ledger, false, stored), expected[1..]);
    }
}

#[test]
fn a_loss_that_another_place_makes_up_for_is_found() {
    let mut ledger = Ledger::new(SIZE);
    ledger.post(&call(500), &DONE);
    let found = check(&ledger, true, |after| store(after, &Call { tid: 29, ..call(500) }, |_| true));
    assert_eq!(found.len(), 10, "{found:?}");
    assert!(
        found
            .iter()
            .filter(|sentence| !sentence.contains("checksum"))
            .all(|sentence| sentence.starts_with("teller 29") || sentence.starts_with("teller 30"))
    );
}

#[test]
fn a_call_in_doubt_may_be_there_whole_or_not_at_all_but_not_in_part() {
    let mut ledger = Ledger::new(SIZE);
    ledger.post(&call(500), &doubt());
    ledger.post(&call(-200), &doubt());
    let stored = |deltas: &'static [i64]| {
        move |after: &mut Vec<StoredTally>| {
            deltas.iter().for_each(|delta| store(after, &call(*delta), |_| true))
        }
    };
    for possible in [&[][..], &[500], &[-200], &[500, -200]] {
        assert_eq!(check(&ledger, true, stored(possible)), [""; 0], "{possible:?}");
    }
    assert!(!check(&ledger, true, stored(&[500, 500])).is_empty());
    assert!(!check(&ledger, true, stored(&[-201])).is_empty());
    let in_part = |after: &mut Vec<StoredTally>| store(after, &call(500), |place| place == Place::Branch);
    assert_eq!(check(&ledger, true, in_part).len(), 2);
    // A defect may have been applied too; what was refused was not.
    let mut ledger = Ledger::new(SIZE);
    ledger.post(&call(500), &Err(Fault::defect(DefectKind::BadAnswer, "")));
    assert_eq!(check(&ledger, true, stored(&[500])), [""; 0]);
    let mut ledger = Ledger::new(SIZE);
    ledger.post(&call(500), &Err(Fault::Conflict(Conflict::Deadlock)));
    assert_eq!(check(&ledger, true, stored(&[500])).len(), 12);
}

#[test]
fn a_call_that_adds_nothing_is_counted_all_the_same() {
    let mut ledger = Ledger::new(SIZE);
    ledger.post(&call(0), &DONE);
    assert_eq!(check(&ledger, true, |_| {}).len(), 6);
}

#[test]
fn a_history_that_was_emptied_meanwhile_is_found() {
    let emptied = |after: &mut Vec<StoredTally>| {
        for tally in after {
            (tally.entries, tally.moved, tally.mixed) = (0, 0, Some(0));
        }
    };
    assert!(!check(&Ledger::new(SIZE), true, emptied).is_empty());
    assert!(!check(&Ledger::new(SIZE), false, emptied).is_empty());
}

#[test]
fn other_places_cannot_be_compared() {
    let claims = Claims::of(&Ledger::new(SIZE), true);
    assert_eq!(claims.audit(&before(), &before()[1..]), None);
    assert_eq!(claims.audit(&before()[1..], &before()[1..]), None);
    let mut other = before();
    other.swap(0, 1);
    assert_eq!(claims.audit(&before(), &other), None);
}

/// The claims of the whole are held to what the parts say together, and those of a part to what it says alone.
#[test]
fn parts_are_held_to_their_claims_as_the_whole_is() {
    let whole = Cardinality { shards: 2, ..SIZE };
    let split = |tallies: Vec<StoredTally>| -> Vec<Vec<StoredTally>> {
        let at = |tally: &StoredTally| match tally.place {
            Place::Teller => SIZE.branch_of_teller(tally.id),
            Place::Accounts | Place::Branch => tally.id,
        };
        let of =
            |part: Cardinality| tallies.iter().copied().filter(move |tally| part.ids(1).contains(&at(tally)));
        whole.parts().map(|part| of(part).collect()).collect()
    };
    let parts = split(before());
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [12, 24]);
    assert_eq!(StoredTally::join(parts.clone()), before());
    let mut after = before();
    store(&mut after, &call(500), |_| true);
    for (size, before, after) in
        [(whole, before(), after.clone()), (whole.part(1), parts[1].clone(), split(after)[1].clone())]
    {
        let mut ledger = Ledger::new(size);
        ledger.post(&call(500), &DONE);
        let found = Claims::of(&ledger, true).audit(&before, &after).unwrap();
        assert!(found.iter().all(|finding| finding.violations.is_empty()), "{found:?}");
        let lost = Claims::of(&ledger, true).audit(&before, &before).unwrap();
        assert_eq!(lost.iter().map(|finding| finding.violations.len()).sum::<usize>(), 12, "{lost:?}");
        assert_eq!(ledger.account_counts().map(|(_, width)| width).sum::<u32>(), size.accounts_all());
    }
}

#[test]
fn a_stored_tally_is_read_from_a_row_or_not_at_all() {
    let expected =
        StoredTally { place: Place::Teller, id: 7, balance: -5, entries: 2, moved: 3, mixed: Some(8) };
    assert_eq!(StoredTally::from_row(&[2, 7, -5, 2, 3, 8]), Some(expected));
    assert_eq!(StoredTally::from_row(&[4, 7, -5, 2, 3, 8]), None);
    assert_eq!(StoredTally::from_row(&[2, -7, -5, 2, 3, 8]), None);
    assert_eq!(StoredTally::from_row(&[2, 7, -5, 2, 3]), None);
}

#[test]
fn claims_survive_a_file() {
    let mut ledger = Ledger::new(SIZE);
    ledger.post(&call(-5), &doubt());
    let claims = Claims::of(&ledger, false);
    let text = serde_json::to_string(&claims).unwrap();
    assert_eq!(serde_json::from_str::<Claims>(&text).unwrap(), claims);
}

#[test]
fn absorbing_adds_and_clearing_forgets() {
    let mut one = Ledger::new(SIZE);
    one.post(&call(500), &DONE);
    one.post(&call(-70), &doubt());
    let mut sum = one.clone();
    sum.absorb(&one);
    let last = SIZE.branches as usize + 29;
    assert_eq!(sum.sure()[last], Tally { calls: 2, up: 1_000, down: 0, mixed: 2 * mixed_of(&call(500)) });
    assert_eq!(sum.doubtful()[last], Tally { calls: 2, up: 0, down: -140, mixed: 2 * mixed_of(&call(-70)) });
    let InputCounts { calls, accounts_at_home, tellers_at_home, delta, delta_squares } = *sum.counts();
    assert_eq!((calls, accounts_at_home, tellers_at_home), ([4], 0, 4));
    assert_eq!((delta, delta_squares), (860, 2 * (250_000 + 4_900)));
    assert_eq!(sum.account_counts().nth(50), Some((4, 1)));
    assert_eq!((sum.teller_counts()[29], sum.branch_counts()[2]), (4, 4));
    one.clear();
    assert_eq!(one, Ledger::new(SIZE));
}

#[test]
fn buckets_cover_all_accounts() {
    for (branches, accounts) in [(1, 100_000), (10, 100_000), (3, 1_667), (1, 1)] {
        let size = Cardinality::of(branches, accounts, 10);
        let mut ledger = Ledger::new(size);
        ledger.post(&Call { aid: size.accounts_all(), tid: 1, bid: 1, delta: 1 }, &DONE);
        assert!(ledger.account_counts().count() <= BUCKETS_MAX as usize);
        assert_eq!(ledger.account_counts().map(|(_, width)| width).sum::<u32>(), size.accounts_all());
        assert_eq!(ledger.account_counts().last().map(|(count, _)| count), Some(1));
    }
}

#[test]
fn a_store_without_checksums_is_held_to_what_it_reports() {
    let mut ledger = Ledger::new(SIZE);
    ledger.post(&call(500), &DONE);
    let bare = |tallies: Vec<StoredTally>| -> Vec<StoredTally> {
        tallies.into_iter().map(|tally| StoredTally { mixed: None, ..tally }).collect()
    };
    let mut after = before();
    store(&mut after, &call(500), |_| true);
    let found = Claims::of(&ledger, true).audit(&bare(before()), &bare(after)).unwrap();
    assert!(found.len() == 12 && found.iter().all(|finding| finding.violations.is_empty()), "{found:?}");
}
