use super::*;
use model::{CallWork, Fault};

/// Answers by an oracle, or otherwise.
struct Answering<F>(Oracle, F);

impl<F: FnMut(&mut Oracle, &Call) -> Result<Outcome, Fault> + Send> Session<Bookings> for Answering<F> {
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
    // Nothing here waits.
    let mut future = std::pin::pin!(conform(&mut session, &plan));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    loop {
        if let std::task::Poll::Ready(output) = future.as_mut().poll(&mut context) {
            return output;
        }
    }
}

#[test]
fn the_committed_vectors_are_what_the_oracle_says() {
    assert_eq!(include_str!("../../spec/vectors/booking.jsonl"), recorded());
}

#[test]
fn the_oracle_agrees_with_itself_on_any_data_and_everything_is_reached() {
    let one = Cardinality { events: 1, ..Cardinality::tiny() };
    for size in [Cardinality::tiny(), one, Cardinality { limited: 1, ..one }, Cardinality::standard(3)] {
        let found = conformed(size, Oracle::answer).unwrap();
        // Where one event is all there is, few bookings are made that could be repeated.
        assert!(found.kinds.iter().enumerate().all(|(kind, calls)| *calls > 20 || kind == 1), "{found:?}");
        assert!(found.declined > 100 && found.rejected > 20, "{found:?}");
        assert_eq!(found.golden > 0, size == Cardinality::tiny());
    }
}

#[test]
fn a_store_with_a_fault_is_caught() {
    type Fake = fn(&mut Oracle, &Call) -> Result<Outcome, Fault>;
    let forgetful: Fake = |oracle, call| {
        if let Call::Book { booking, .. } = call {
            oracle.bookings.remove(&booking.key);
        }
        oracle.answer(call)
    };
    let overselling: Fake = |oracle, call| {
        oracle.available.iter_mut().for_each(|available| *available = (*available).max(10));
        oracle.answer(call)
    };
    let unlimited: Fake = |oracle, call| {
        oracle.booked.clear();
        oracle.answer(call)
    };
    let losing: Fake = |oracle, call| {
        let outcome = oracle.answer(call);
        oracle.bookings.retain(|key, _| key.sequence != 1 || key.run != 0x0123_4567_89ab_cdef);
        outcome
    };
    // A decline that is remembered under its key.
    let stubborn: Fake = |oracle, call| {
        let outcome = oracle.answer(call);
        if let (Call::Book { booking, .. }, Ok(Outcome::Declined(crate::Decline::SoldOut { .. }))) =
            (call, &outcome)
        {
            oracle.bookings.insert(booking.key, *booking);
        }
        outcome
    };
    for (name, fake, expected) in [
        ("forgets keys", forgetful, "event-read GET /events/1"),
        ("oversells", overselling, "event-read GET /events/2"),
        ("has no limits", unlimited, "already-booked"),
        ("loses a booking", losing, "no-such-booking"),
        ("remembers declines", stubborn, "no-such-booking"),
    ] {
        let found = conformed(Cardinality::tiny(), fake).unwrap_err().to_string();
        assert!(found.starts_with("golden call ") && found.contains(expected), "{name}: {found}");
    }
}
