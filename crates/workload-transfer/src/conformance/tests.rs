use super::*;
use crate::{Call, Decline, Key, State};
use model::{CallWork, Fault};

/// Answers by an oracle, or otherwise.
struct Answering<F>(Oracle, F);

impl<F: FnMut(&mut Oracle, &Call) -> Result<Outcome, Fault> + Send> Session<Transfers> for Answering<F> {
    async fn run(&mut self, call: &Call, _: &mut CallWork) -> Result<Outcome, Fault> {
        (self.1)(&mut self.0, call)
    }
}

fn conformed(
    size: Cardinality,
    answer: impl FnMut(&mut Oracle, &Call) -> Result<Outcome, Fault> + Send,
) -> Result<Conformance, Disagreement> {
    let mut session = Answering(Oracle::new(size), answer);
    let plan = ConformancePlan { size, ..ConformancePlan::golden(1, 2_000) };
    futures_executor(conform(&mut session, &plan))
}

/// Nothing here waits.
fn futures_executor<F: Future>(future: F) -> F::Output {
    let mut future = std::pin::pin!(future);
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

#[test]
fn the_committed_vectors_are_what_the_oracle_says() {
    assert_eq!(include_str!("../../spec/vectors/transfer.jsonl"), recorded());
}

#[test]
fn the_oracle_agrees_with_itself_on_any_data_and_everything_is_reached() {
    let two = Cardinality { shards: 2, ..Cardinality::tiny() };
    let four = Cardinality { branches: 4, shards: 4, ..two };
    for size in [Cardinality::tiny(), two, two.part(1), four, Cardinality::of(1, 5)] {
        let found = conformed(size, Oracle::answer).unwrap();
        assert!(found.kinds.iter().enumerate().all(|(kind, calls)| *calls > 20 || kind == 1), "{found:?}");
        assert!(found.declined > 100 && found.rejected > 20, "{found:?}");
        assert_eq!(found.golden > 0, size == Cardinality::tiny());
    }
}

#[test]
fn a_forgotten_key_is_caught() {
    let found = conformed(Cardinality::tiny(), |oracle, call| {
        if let Call::Transfer { transfer, .. } = call {
            oracle.transfers.remove(&(transfer.source, transfer.key));
        }
        oracle.answer(call)
    });
    let found = found.unwrap_err().to_string();
    assert!(
        found.starts_with("golden call ") && found.contains(r#"expected {"state":"completed","balance":"#),
        "{found}"
    );
}

#[test]
fn a_key_that_is_looked_up_without_its_source_is_caught() {
    let found = conformed(Cardinality::tiny(), |oracle, call| {
        if let Call::Transfer { transfer, .. } = call
            && oracle.transfers.keys().any(|(source, key)| *key == transfer.key && *source != transfer.source)
        {
            return Ok(Outcome::Declined(Decline::KeyReused));
        }
        oracle.answer(call)
    });
    assert!(found.unwrap_err().to_string().contains("key-reused"));
}

#[test]
fn a_declined_transfer_that_is_tried_again_is_caught() {
    let found = conformed(Cardinality::tiny(), |oracle, call| {
        if let Call::Transfer { transfer, .. } = call {
            let place = (transfer.source, transfer.key);
            if oracle.transfers.get(&place).is_some_and(|kept| kept.state == State::Declined) {
                oracle.transfers.remove(&place);
            }
        }
        oracle.answer(call)
    });
    assert!(found.unwrap_err().to_string().contains("insufficient-funds"));
}

#[test]
fn a_transfer_that_is_told_and_not_kept_is_caught() {
    let found = conformed(Cardinality::tiny(), |oracle, call| {
        let outcome = oracle.answer(call);
        let lost = Key { run: 0x0123_4567_89ab_cdef, worker: u32::MAX, sequence: 1 };
        oracle.transfers.retain(|(_, key), _| *key != lost);
        outcome
    });
    assert!(found.unwrap_err().to_string().contains("no-such-transfer"));
}
