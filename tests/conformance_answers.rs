//! Answers that fit their calls and are wrong, found by earlier answers and by what was loaded, without reading the stored data.

use model::{Inputs as _, Workload};
use std::fmt::Debug;
use workload::{Benchmark, Streams};
use workload_booking::{Bookings, Decline as Unbooked, Outcome as Booked, Purpose as Booking};
use workload_catalogue::{
    Call as Asked, Cardinality as Catalogue, Filter, FoodCatalogue, From as Start, Listed, Outcome, Reply,
};
use workload_tpcb::Tpcb;
use workload_transfer::{
    Call as Moving, Decline as Unmoved, Outcome as Moved, Purpose as Transfer, Transfers,
};

/// Clients, who are answered in turn.
const CLIENTS: u32 = 3;
/// Calls of each of them: rows are drawn again and again.
const CALLS: usize = 700;

/// Wrong answers to some calls.
struct WrongAnswer<W: Workload> {
    what: &'static str,
    /// Whether it is found only if the store was read before the first call.
    needs_store: bool,
    /// Changes an answer, given how many came before it.
    change: fn(usize, &W::Call, &mut W::Outcome),
    /// The error.
    words: &'static str,
}

/// The error of the first answer that is found to be wrong.
fn first_error<W: Benchmark>(
    size: &W::Extent,
    before: Option<&W::Evidence>,
    mut answer: impl FnMut(&W::Call) -> W::Outcome,
    change: fn(usize, &W::Call, &mut W::Outcome),
) -> Result<(), &'static str> {
    let streams = Streams { seed: 5, run: 9, load: Some(W::GOLDEN_LOAD_SEED), ..Streams::default() };
    let inputs = W::inputs(size, &streams, W::knowledge(size, &streams, before));
    let mut clients: Vec<W::Inputs> = (0..CLIENTS).map(inputs).collect();
    for at in 0..CALLS {
        for client in &mut clients {
            let call = client.draw();
            let mut outcome = answer(&call);
            change(at, &call, &mut outcome);
            W::check(&call, &outcome)?;
            client.check(&call, &outcome)?;
        }
    }
    Ok(())
}

/// Right answers pass, and each wrong one is found.
fn wrong_answers_are_found<W: Benchmark>(
    size: &W::Extent,
    fresh: &W::Evidence,
    answers: impl Fn() -> Box<dyn FnMut(&W::Call) -> W::Outcome>,
    wrong: &[WrongAnswer<W>],
) where
    W::Extent: Debug,
{
    for before in [None, Some(fresh)] {
        assert_eq!(first_error::<W>(size, before, answers(), |_, _, _| {}), Ok(()), "{size:?}");
    }
    for WrongAnswer { what, needs_store, change, words } in wrong {
        let seen = first_error::<W>(size, Some(fresh), answers(), *change);
        assert_eq!(seen, Err(*words), "{what}");
        let blind = first_error::<W>(size, None, answers(), *change);
        assert_eq!(blind.is_err(), !needs_store, "{what}, by answers alone: {blind:?}");
    }
}

const UNMADE: &str = "the balance of an account is not what calls have made of it";
const UNLEFT: &str = "the available tickets are not what bookings have left of them";
const MISSING: &str = "foods that were loaded are missing from a list";

#[test]
fn balances_of_tpcb_follow_from_its_calls() {
    let size = Tpcb::tiny();
    let wrong: [WrongAnswer<Tpcb>; 6] = [
        // The same for every account: only the opening balances show it.
        WrongAnswer {
            needs_store: true,
            what: "all balances are one more",
            change: |_, _, outcome| outcome.abalance += 1,
            words: UNMADE,
        },
        WrongAnswer {
            needs_store: false,
            what: "no balance changes",
            change: |_, _, outcome| outcome.abalance = 0,
            words: UNMADE,
        },
        WrongAnswer {
            needs_store: false,
            what: "the balance before the call is answered",
            change: |_, call, outcome| outcome.abalance -= call.delta,
            words: UNMADE,
        },
        WrongAnswer {
            needs_store: false,
            what: "amounts count twice",
            change: |_, call, outcome| outcome.abalance += call.delta,
            words: UNMADE,
        },
        WrongAnswer {
            needs_store: false,
            what: "now and then a balance is one less",
            change: |at, _, outcome| outcome.abalance -= i64::from(at % 50 == 49),
            words: UNMADE,
        },
        WrongAnswer {
            needs_store: false,
            what: "the amount alone is answered",
            change: |_, call, outcome| outcome.abalance = call.delta,
            words: UNMADE,
        },
    ];
    let answers = || -> Box<dyn FnMut(&workload_tpcb::Call) -> workload_tpcb::Outcome> {
        let mut oracle = workload_tpcb::Oracle::new(&workload_tpcb::Data::new(size));
        Box::new(move |call| oracle.answer(call).expect("what is drawn can be answered"))
    };
    wrong_answers_are_found::<Tpcb>(&size, &Vec::new(), answers, &wrong);
}

#[test]
fn balances_of_transfers_follow_from_them() {
    let size = Transfers::tiny();
    let wrong: [WrongAnswer<Transfers>; 6] = [
        WrongAnswer {
            needs_store: true,
            what: "all balances are one more",
            change: |_, _, outcome| {
                if let Moved::Balance { balance }
                | Moved::Moved { balance, .. }
                | Moved::Declined(Unmoved::InsufficientFunds { balance }) = outcome
                {
                    *balance += 1;
                }
            },
            words: UNMADE,
        },
        WrongAnswer {
            needs_store: false,
            what: "an account is always read as it was opened",
            change: |_, _, outcome| {
                if let Moved::Balance { balance } = outcome {
                    *balance = workload_transfer::OPENING;
                }
            },
            words: UNMADE,
        },
        WrongAnswer {
            needs_store: false,
            what: "now and then a unit is missing",
            change: |at, _, outcome| {
                if let Moved::Balance { balance } = outcome {
                    *balance -= i64::from(at % 40 == 39);
                }
            },
            words: UNMADE,
        },
        WrongAnswer {
            needs_store: false,
            what: "a transfer answers the balance before it",
            change: |_, call, outcome| {
                if let (Moving::Transfer { transfer, purpose }, Moved::Moved { balance, .. }) =
                    (call, outcome)
                    && *purpose != Transfer::Repeat
                {
                    *balance += transfer.amount;
                }
            },
            words: UNMADE,
        },
        WrongAnswer {
            needs_store: false,
            what: "a transfer is declined for want of money that is there",
            change: |at, call, outcome| {
                if let (Moving::Transfer { transfer, purpose: Transfer::Within }, Moved::Moved { .. }, true) =
                    (call, &outcome, at % 20 == 19)
                {
                    let balance = transfer.amount - 1;
                    *outcome = Moved::Declined(Unmoved::InsufficientFunds { balance });
                }
            },
            words: UNMADE,
        },
        WrongAnswer {
            needs_store: false,
            what: "whoever is short of money has none",
            change: |_, call, outcome| {
                if let (
                    Moving::Transfer { purpose: Transfer::Overdraft, .. },
                    Moved::Declined(Unmoved::InsufficientFunds { balance }),
                ) = (call, outcome)
                {
                    *balance = 0;
                }
            },
            words: UNMADE,
        },
    ];
    let answers = || -> Box<dyn FnMut(&Moving) -> Moved> {
        let mut answer = Transfers::rehearsal(&size).expect("it has one");
        Box::new(move |call| answer(call))
    };
    wrong_answers_are_found::<Transfers>(&size, &Vec::new(), answers, &wrong);
}

#[test]
fn tickets_of_bookings_are_what_is_left() {
    let size = Bookings::tiny();
    let wrong: [WrongAnswer<Bookings>; 6] = [
        WrongAnswer {
            needs_store: false,
            what: "a booking is declined as if its event was sold out",
            change: |at, call, outcome| {
                if let (workload_booking::Call::Book { purpose: Booking::New, .. }, Booked::Booked(_), true) =
                    (call, &outcome, at % 20 == 19)
                {
                    *outcome = Booked::Declined(Unbooked::SoldOut { available: 0 });
                }
            },
            words: UNLEFT,
        },
        // Without opening values it shows when the tickets run out.
        WrongAnswer {
            needs_store: false,
            what: "each event has a ticket less than it has",
            change: |_, _, outcome| {
                if let Booked::Event { available, .. } | Booked::Declined(Unbooked::SoldOut { available }) =
                    outcome
                {
                    *available = available.saturating_sub(1);
                }
            },
            words: UNLEFT,
        },
        WrongAnswer {
            needs_store: false,
            what: "no event loses a ticket",
            change: |_, _, outcome| {
                if let Booked::Event { stock, available } = outcome {
                    *available = *stock;
                }
            },
            words: UNLEFT,
        },
        WrongAnswer {
            needs_store: false,
            what: "now and then one ticket too few is read",
            change: |at, _, outcome| {
                if let Booked::Event { available, .. } = outcome
                    && at % 10 == 9
                {
                    *available = available.saturating_sub(1);
                }
            },
            words: UNLEFT,
        },
        WrongAnswer {
            needs_store: false,
            what: "half of the tickets are read",
            change: |_, _, outcome| {
                if let Booked::Event { available, .. } = outcome {
                    *available /= 2;
                }
            },
            words: UNLEFT,
        },
        WrongAnswer {
            needs_store: false,
            what: "who is sold out has no ticket",
            change: |_, _, outcome| {
                if let Booked::Declined(Unbooked::SoldOut { available }) = outcome {
                    *available = 0;
                }
            },
            words: UNLEFT,
        },
    ];
    let answers = || -> Box<dyn FnMut(&workload_booking::Call) -> Booked> {
        let mut answer = Bookings::rehearsal(&size).expect("it has one");
        Box::new(move |call| answer(call))
    };
    wrong_answers_are_found::<Bookings>(&size, &Vec::new(), answers, &wrong);
}

/// A list of nothing.
fn empty(outcome: &mut Outcome) {
    if let Reply::Foods(listed) = &mut outcome.reply {
        *listed = Listed { total: listed.total.map(|_| 0), ..Listed::default() };
    }
}

#[test]
fn lists_of_the_catalogue_show_what_was_loaded() {
    let size = Catalogue::tiny();
    let wrong: [WrongAnswer<FoodCatalogue>; 6] = [
        WrongAnswer {
            needs_store: false,
            what: "all lists are empty",
            change: |_, _, outcome| empty(outcome),
            words: MISSING,
        },
        WrongAnswer {
            needs_store: false,
            what: "a category has no food",
            change: |_, call, outcome| {
                if let Asked::Foods(list) = call
                    && matches!(list.filter, Filter::Category(_))
                {
                    empty(outcome);
                }
            },
            words: MISSING,
        },
        WrongAnswer {
            needs_store: false,
            what: "a search finds nothing",
            change: |_, call, outcome| {
                if let Asked::Foods(list) = call
                    && matches!(list.filter, Filter::Search(_))
                {
                    empty(outcome);
                }
            },
            words: MISSING,
        },
        WrongAnswer {
            needs_store: false,
            what: "there are fewer foods in all than were loaded",
            change: |_, call, outcome| {
                if let (Asked::Foods(list), Reply::Foods(listed)) = (call, &mut outcome.reply)
                    && matches!((list.filter, list.from), (Filter::All, Start::Page(1)))
                {
                    listed.total = listed.total.map(|_| 59);
                }
            },
            words: MISSING,
        },
        WrongAnswer {
            needs_store: false,
            what: "a category is missing",
            change: |_, _, outcome| {
                if let Reply::Categories { count, .. } = &mut outcome.reply {
                    *count = 2;
                }
            },
            words: "a category that was loaded is missing",
        },
        WrongAnswer {
            needs_store: false,
            what: "a food that was loaded is not there",
            change: |_, call, outcome| {
                if let Asked::Food { id: 1..=60 } = call {
                    *outcome = Outcome::declined(workload_catalogue::Decline::NoSuchFood);
                }
            },
            words: "the call was declined, and nothing in the data can be the reason",
        },
    ];
    let answers = || -> Box<dyn FnMut(&Asked) -> Outcome> {
        let mut oracle = workload_catalogue::Oracle::new(size);
        Box::new(move |call| oracle.answer(call))
    };
    wrong_answers_are_found::<FoodCatalogue>(&size, &Vec::new(), answers, &wrong);
}
