use super::*;
use crate::{Call, Decline, Reply};
use model::{CallWork, Conflict, Fault};
use std::fmt::Write;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Runs a future that never waits.
fn now<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("a session in memory never waits"),
    }
}

/// An oracle that answers in its own way.
struct Broken<F> {
    oracle: Oracle,
    answer: F,
}

impl<F: FnMut(&mut Oracle, &Call) -> CallResult + Send> Session<FoodCatalogue> for Broken<F> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> CallResult {
        work.attempts += 1;
        (self.answer)(&mut self.oracle, call)
    }
}

fn run(
    plan: &ConformancePlan,
    answer: impl FnMut(&mut Oracle, &Call) -> CallResult + Send,
) -> Result<Conformance, Disagreement> {
    now(conform(&mut Broken { oracle: Oracle::new(plan.size), answer }, plan))
}

/// What is said of a session that answers like this.
fn caught(answer: impl FnMut(&mut Oracle, &Call) -> CallResult + Send) -> String {
    run(&ConformancePlan::golden(5, 2_000), answer).expect_err("the session is broken").to_string()
}

#[test]
fn the_committed_vectors_are_what_the_oracle_says() {
    let committed = include_str!("../../spec/vectors/catalogue.jsonl");
    let recorded = recorded();
    let mut differing = String::new();
    for (number, (committed, recorded)) in (1..).zip(committed.lines().zip(recorded.lines())) {
        if committed != recorded {
            writeln!(differing, "line {number}:\n- {committed}\n+ {recorded}").unwrap();
        }
    }
    assert!(differing.is_empty() && committed == recorded, "run the example `vectors`\n{differing}");
}

/// The script asks for every kind, and meets every refusal.
#[test]
fn the_script_reaches_everything() {
    let golden = vectors::golden();
    let met = |wanted: Decline| {
        golden.iter().any(|(_, answer)| matches!(answer, Ok(found) if found.reply == Reply::Declined(wanted)))
    };
    for why in Decline::ALL {
        assert!(met(why), "{why:?}");
    }
    let done = run(&ConformancePlan::golden(5, 2_000), |oracle, call| Ok(oracle.answer(call))).unwrap();
    assert_eq!((done.golden, done.scripted, done.random), (golden.len() as u32, 0, 2_000));
    assert!(done.kinds.iter().all(|&calls| calls > 10) && done.declined > 300, "{done:?}");
}

#[test]
fn the_oracle_agrees_with_itself_on_any_data() {
    for size in [Cardinality::standard(1), Cardinality { foods: 200, days: 1, ..Cardinality::tiny() }] {
        let plan = ConformancePlan { size, seed: 1, random_calls: 500 };
        let done = run(&plan, |oracle, call| Ok(oracle.answer(call))).unwrap();
        assert_eq!((done.golden, done.random), (0, 500));
        assert!(done.scripted > 100, "{done:?}");
    }
}

#[test]
fn half_a_bulk_insert_is_caught() {
    let found = caught(|oracle, call| {
        if let Call::InsertFoods { category, foods } = call {
            for food in foods.iter() {
                let answer = oracle.answer(&Call::CreateFood { category: *category, food });
                if matches!(answer.reply, Reply::Declined(_)) {
                    return Ok(answer);
                }
            }
            return Ok(Outcome::of(Reply::Inserted { count: foods.len() as u32 }));
        }
        Ok(oracle.answer(call))
    });
    assert!(found.contains("food-read GET /foods/30000") && found.contains("expected 404"), "{found}");
}

#[test]
fn an_update_without_a_condition_is_caught() {
    let found = caught(|oracle, call| {
        if let Call::UpdateFood { id, facts, .. } = call
            && let Some(version) = oracle.foods.get(id).map(|food| food.version)
        {
            return Ok(oracle.answer(&Call::UpdateFood { id: *id, version, facts: *facts }));
        }
        Ok(oracle.answer(call))
    });
    assert!(found.contains("expected 412 stale-version, found version 3 stored"), "{found}");
}

/// An answer that was kept from before a change shows at the next question.
#[test]
fn an_answer_from_a_cache_is_caught() {
    let mut kept = None;
    let found = caught(move |oracle, call| {
        if *call == Call::Categories {
            let answer = kept.get_or_insert_with(|| oracle.answer(call));
            return Ok(answer.clone());
        }
        Ok(oracle.answer(call))
    });
    assert!(
        found.contains("categories GET /categories: .categories: expected 4 elements, found 3"),
        "{found}"
    );
}

#[test]
fn a_total_over_the_wrong_set_is_caught() {
    let found = caught(|oracle, call| {
        let mut answer = oracle.answer(call);
        if let Reply::Foods(listed) = &mut answer.reply
            && let Some(total) = &mut listed.total
        {
            *total = oracle.foods.len() as u64;
        }
        Ok(answer)
    });
    let (listed, of) = found.split_once("foods of ").expect(&found);
    assert!(found.contains("foods-list GET /foods?") && of.contains(" foods of "), "{listed}");
}

#[test]
fn a_body_that_differs_from_its_digest_is_caught() {
    let found = caught(|oracle, call| {
        let mut answer = oracle.answer(call);
        if let Call::Food { id: 5 } = call {
            answer.body = String::from_utf8(answer.body).unwrap().replace("null", "0").into_bytes();
        }
        Ok(answer)
    });
    assert!(found.ends_with(".fibre: expected null, found 0"), "{found}");
}

#[test]
fn a_session_that_fails_is_caught() {
    let found = caught(|_, _| Err(Fault::Conflict(Conflict::Busy)));
    assert!(found.starts_with("golden call 1, categories GET /categories: "), "{found}");
}
