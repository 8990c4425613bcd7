use super::*;
use crate::outcome::Listed;
use crate::{Oracle, RowCounts};
use model::Inputs as _;

fn inputs(size: Cardinality, seed: u64, run: u64, worker: u32) -> Inputs {
    Inputs::new(size, Loaded::of(&size), standard_mix(), seed, run, worker)
}

fn versions(size: Cardinality, opening: Option<i64>) -> Arc<Registers> {
    Arc::new(Registers::new(u64::from(size.foods + size.categories), opening))
}

fn draw(seed: u64, worker: u32, count: usize) -> Vec<Call> {
    let mut inputs = inputs(Cardinality::standard(1), seed, 1, worker);
    (0..count).map(|_| inputs.draw()).collect()
}

#[test]
fn the_same_seed_gives_the_same_calls() {
    assert_eq!(draw(5, 3, 100), draw(5, 3, 100));
    assert_ne!(draw(5, 3, 100), draw(6, 3, 100));
    assert_ne!(draw(5, 3, 100), draw(5, 13, 100));
}

/// Several workers on one store, one run after the other with the same seed: every answer is as expected, though versions
/// become stale and earlier runs have left rows behind, the third under its own ids.
#[test]
fn workers_expect_what_a_right_service_answers() {
    let size = Cardinality::tiny();
    let mut oracle = Oracle::new(size);
    let mut declined = [0; 3];
    for (at, run) in declined.iter_mut().enumerate() {
        let versions = versions(size, (at == 0).then_some(1));
        let number = [1, 2, 1][at];
        let counts = Arc::new(RowCounts::new(size, at == 0, false));
        let worker = |worker| inputs(size, 1, number, worker).remembering(&versions).counting(&counts);
        let mut workers: Vec<Inputs> = (0..4).map(worker).collect();
        for number in 0..2_000 {
            let worker = &mut workers[number % 4];
            let call = worker.draw();
            let outcome = oracle.answer(&call);
            assert_eq!(FoodCatalogue::check(&call, &outcome), Ok(()), "{call:?}");
            assert_eq!(worker.check(&call, &outcome), Ok(()), "{call:?} {:?}", outcome.reply);
            *run += u32::from(matches!(outcome.reply, Reply::Declined(_)));
        }
    }
    assert!(declined.iter().all(|&count| (5..200).contains(&count)), "{declined:?}");
}

/// What each worker creates first in many short runs on the same data is declined only where two runs draw the same ids.
#[test]
fn runs_on_the_same_data_create_rows_under_ids_of_their_own() {
    const RUNS: u64 = 30;
    let size = Cardinality::tiny();
    let mut firsts: Vec<i64> = Vec::new();
    for run in 0..RUNS {
        for worker in 0..64 {
            let mut inputs = inputs(size, 1, run, worker);
            let calls = std::iter::repeat_with(|| inputs.draw());
            firsts.extend(calls.take(1_000).find_map(|call| match call {
                Call::CreateFood { food, .. } => Some(food.id),
                _ => None,
            }));
        }
    }
    let drawn = firsts.len();
    firsts.sort_unstable();
    firsts.dedup();
    assert_eq!(drawn as u64, RUNS * 64);
    assert!(drawn - firsts.len() < 10, "{} of {drawn}", drawn - firsts.len());
}

#[test]
fn the_loaded_food_that_was_read_last_is_changed() {
    let size = Cardinality::tiny();
    let (mut oracle, mut inputs) = (Oracle::new(size), inputs(size, 1, 1, 0));
    let (mut last, mut changes) = (0, 0);
    for _ in 0..3_000 {
        let call = inputs.draw();
        let outcome = oracle.answer(&call);
        match &call {
            Call::Food { id } if !OwnRows::is(*id) => last = *id,
            Call::UpdateFood { id, .. } if !OwnRows::is(*id) && last > 0 => {
                assert_eq!(*id, last);
                changes += 1;
            }
            _ => {}
        }
        // What was declined is forgotten, and one that was read before is the last.
        if matches!(outcome.reply, Reply::Declined(_)) {
            last = 0;
        }
        inputs.check(&call, &outcome).unwrap();
    }
    assert!(changes > 50, "{changes}");
}

/// With as many clients as a busy service has, few changes find that the version they were read in is stale.
#[test]
fn changes_seldom_meet_a_stale_version() {
    let size = Cardinality::standard(1);
    let mut versions = vec![1_i64; size.foods as usize + 1];
    let (mut changes, mut stale) = (0, 0);
    let mut workers: Vec<Inputs> = (0..64).map(|worker| inputs(size, 1, 1, worker)).collect();
    for number in 0..64 * 400 {
        let worker = &mut workers[number % 64];
        let call = worker.draw();
        let reply = match &call {
            Call::Food { id } if !OwnRows::is(*id) => {
                let version = versions[*id as usize];
                Reply::Food { version, digest: size.food(*id, version).digest() }
            }
            Call::UpdateFood { id, version, .. } if *version == versions[*id as usize] => {
                versions[*id as usize] += 1;
                Reply::Stored { version: version + 1 }
            }
            Call::UpdateFood { .. } => {
                stale += 1;
                Reply::Declined(Decline::StaleVersion)
            }
            // Not answered, so that no worker has rows of its own.
            _ => continue,
        };
        changes += u32::from(matches!(call, Call::UpdateFood { .. }));
        worker.check(&call, &Outcome::of(reply)).unwrap();
    }
    assert!(stale * 20 < changes, "{stale} of {changes}");
}

#[test]
fn rows_of_ones_own_do_not_pile_up() {
    let size = Cardinality::tiny();
    let mut oracle = Oracle::new(size);
    let mut inputs = inputs(size, 1, 1, 0);
    for _ in 0..10_000 {
        let call = inputs.draw();
        if !matches!(call, Call::InsertFoods { .. }) {
            let outcome = oracle.answer(&call);
            inputs.check(&call, &outcome).unwrap();
        }
    }
    assert!(oracle.foods.len() < 160 && oracle.categories.len() < 60, "{}", oracle.foods.len());
}

/// What is caught of a service that answers in its own way.
fn caught(answer: impl Fn(&mut Oracle, &Call) -> Outcome) -> &'static str {
    caught_from(Some(1), answer)
}

/// The same, where this is known of the versions that the run begins with.
fn caught_from(opening: Option<i64>, answer: impl Fn(&mut Oracle, &Call) -> Outcome) -> &'static str {
    let size = Cardinality::tiny();
    let counts = Arc::new(RowCounts::new(size, opening.is_some(), false));
    caught_by(inputs(size, 1, 1, 0).remembering(&versions(size, opening)).counting(&counts), answer)
}

/// The same, by these inputs.
fn caught_by(mut inputs: Inputs, answer: impl Fn(&mut Oracle, &Call) -> Outcome) -> &'static str {
    let mut oracle = Oracle::new(Cardinality::tiny());
    for _ in 0..20_000 {
        let call = inputs.draw();
        let outcome = answer(&mut oracle, &call);
        if let Err(why) = FoodCatalogue::check(&call, &outcome).and_then(|()| inputs.check(&call, &outcome)) {
            return why;
        }
    }
    "nothing"
}

#[test]
fn a_service_that_answers_wrongly_is_caught_at_work() {
    let declines = caught(|oracle, call| match call {
        Call::UpdateFood { id, .. } if OwnRows::is(*id) => Outcome::declined(Decline::StaleVersion),
        _ => oracle.answer(call),
    });
    assert_eq!(declines, "the call was declined, and nothing in the data can be the reason");
    // Of rows that all workers change some such answers are right.
    for opening in [Some(1), None] {
        let lies = caught_from(opening, |oracle, call| match call {
            Call::UpdateFood { id, .. } if !OwnRows::is(*id) => Outcome::declined(Decline::StaleVersion),
            _ => oracle.answer(call),
        });
        assert_eq!(lies, "a call was declined as stale, and the row has its version");
    }
    let skips = caught(|oracle, call| match (call, oracle.answer(call).reply) {
        (Call::Food { id }, Reply::Food { version, .. }) if !OwnRows::is(*id) => {
            let digest = Cardinality::tiny().food(*id, version + 1).digest();
            Outcome::of(Reply::Food { version: version + 1, digest })
        }
        (_, reply) => Outcome::of(reply),
    });
    assert_eq!(skips, "a version is not what changes have made of it");
    let accepts = caught(|oracle, call| match call {
        Call::Food { id } if *id > ID_MAX - 1_000 => oracle.answer(&Call::Food { id: 1 }),
        _ => oracle.answer(call),
    });
    assert_eq!(accepts, "the call was not declined, and the data asks for it");
    let forgets = caught(|oracle, call| match call {
        Call::UpdateFood { version, .. } => Outcome::of(Reply::Stored { version: version + 1 }),
        _ => oracle.answer(call),
    });
    // By what is read of the row, or by the next change of it.
    assert!(forgets.starts_with("the food is ") || forgets == declines, "{forgets}");
    let unfiltered = caught(|oracle, call| match call {
        Call::Foods(list) => oracle.answer(&Call::Foods(List { filter: Filter::All, ..*list })),
        _ => oracle.answer(call),
    });
    assert!(unfiltered.starts_with("a food"), "{unfiltered}");
    // From a cache that another row has made stale.
    for opening in [Some(1), None] {
        let stale = caught_from(opening, |oracle, call| match (call, oracle.answer(call).reply) {
            (_, Reply::Foods(listed)) => {
                // What is on a page that is not full says how many there are.
                let more = u64::from(listed.count == PAGE_SIZE && oracle.foods.len() > 110);
                let total = listed.total.map(|total| total + more);
                Outcome::of(Reply::Foods(Listed { total, ..listed }))
            }
            (_, reply) => Outcome::of(reply),
        });
        assert_eq!(stale, "there are other rows than calls have created and removed");
        let stale = caught_from(opening, |oracle, call| match oracle.answer(call).reply {
            Reply::Categories { count, digest, renamed } if oracle.categories.len() > 4 => {
                Outcome::of(Reply::Categories { count: count + 1, digest, renamed })
            }
            reply => Outcome::of(reply),
        });
        assert_eq!(stale, "there are other rows than calls have created and removed");
    }
    let unsorted = caught(|oracle, call| match call {
        Call::Foods(list @ List { order: Order::Kcal, from: From::Page(_), .. }) => {
            oracle.answer(&Call::Foods(List { order: Order::Name, ..*list }))
        }
        _ => oracle.answer(call),
    });
    assert_eq!(unsorted, "the foods are not in the order that was asked for");
}

#[test]
fn a_list_with_one_wrong_row_is_caught() {
    // Lists are read from a copy that has a quarter of the foods wrong.
    let wrong: [fn(&mut Food); 4] = [
        |food| food.facts.price += 1,
        |food| food.facts.fibre = food.facts.fibre.xor(Some(1)),
        |food| food.category = food.category % 3 + 1,
        |food| food.version += 1,
    ];
    for wrong in wrong {
        let found = caught(|oracle, call| {
            let Call::Foods(List { filter: Filter::All, .. }) = call else { return oracle.answer(call) };
            let mut others = oracle.clone();
            others.foods.values_mut().filter(|food| food.id % 4 == 0).for_each(wrong);
            others.answer(call)
        });
        assert_eq!(found, "a food of a list is not what its version makes it");
    }
    let renamed = caught(|oracle, call| {
        let Call::Categories = call else { return oracle.answer(call) };
        let mut others = oracle.clone();
        others.categories.get_mut(&2).expect("a loaded one").name = Name::of("category 3");
        others.answer(call)
    });
    assert_eq!(renamed, "a category of the list has another name than was stored");
}

#[test]
fn a_list_that_leaves_foods_out_is_caught() {
    let list = |list: &List| Call::Foods(*list);
    // The first page in place of each.
    let first = caught(|oracle, call| match call {
        Call::Foods(asked @ List { from: From::Page(2..), .. }) => {
            let (first, right) = (List { from: From::Page(1), ..*asked }, oracle.answer(call));
            match (oracle.answer(&list(&first)).reply, right.reply) {
                (Reply::Foods(first), Reply::Foods(right))
                    if first.count >= right.count && right.count > 0 =>
                {
                    Outcome::of(Reply::Foods(Listed { count: right.count, ..first }))
                }
                (_, right) => Outcome::of(right),
            }
        }
        _ => oracle.answer(call),
    });
    assert_eq!(first, "a part of a list begins at another food");
    // A copy from which some loaded foods were taken out, and whose totals are right.
    let fewer = caught(|oracle, call| {
        let right = oracle.answer(call);
        let (Call::Foods(_), Reply::Foods(Listed { total, count, .. })) = (call, &right.reply) else {
            return right;
        };
        let mut others = oracle.clone();
        others.foods.retain(|id, _| id % 16 != 3);
        match others.answer(call).reply {
            Reply::Foods(listed) if listed.count == *count => {
                Outcome::of(Reply::Foods(Listed { total: *total, ..listed }))
            }
            _ => right,
        }
    });
    assert!(
        ["foods that were loaded are missing between others", "a part of a list begins at another food"]
            .contains(&fewer),
        "{fewer}"
    );
}

/// By one client, which does not count rows.
#[test]
fn what_was_removed_or_inserted_with_others_is_read() {
    let alone = || inputs(Cardinality::tiny(), 1, 1, 0);
    for kind in ["food", "category"] {
        let keeps = caught_by(alone(), |oracle, call| match call {
            Call::DeleteFood { id, .. } if kind == "food" && OwnRows::is(*id) => Outcome::of(Reply::Deleted),
            Call::DeleteCategory { id, .. } if kind == "category" && OwnRows::is(*id) => {
                Outcome::of(Reply::Deleted)
            }
            _ => oracle.answer(call),
        });
        assert_eq!(keeps, "the call was not declined, and the data asks for it", "{kind}");
    }
    let moves = caught_by(alone(), |oracle, call| match call {
        Call::InsertFoods { category, foods } => {
            oracle.answer(&Call::InsertFoods { category: category % 3 + 1, foods: foods.clone() })
        }
        _ => oracle.answer(call),
    });
    assert_eq!(moves, "the food is not what its version makes it");
    let renames = caught_by(alone(), |oracle, call| match call {
        Call::UpdateCategory { version, .. } => Outcome::of(Reply::Stored { version: version + 1 }),
        _ => oracle.answer(call),
    });
    assert!(
        renames.starts_with("the category is not ") || renames.starts_with("the call was declined"),
        "{renames}"
    );
}
