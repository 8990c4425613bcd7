//! Answers that fit their calls and are wrong, held to earlier answers and to what was loaded, without a look at the stored data.

use model::{Inputs as _, Workload};
use std::fmt::Debug;
use workload::{Benchmark, Streams};
use workload_booking::{Bookings, Decline as Unbooked, Outcome as Booked, Purpose as Booking};
use workload_catalogue::{
    Call as Asked, Cardinality as Catalogue, Filter, FoodCatalogue, From as Start, Listed, Outcome, Said,
};
use workload_tpcb::Tpcb;
use workload_transfer::{
    Call as Moving, Decline as Unmoved, Outcome as Moved, Purpose as Transfer, Transfers,
};

/// Clients, who are answered in turn.
const CLIENTS: u32 = 3;
/// Calls of each of them: rows are drawn again and again.
const CALLS: usize = 700;

/// One wrong answer in some calls.
struct Lie<W: Workload> {
    what: &'static str,
    /// Changes an answer, given how many came before it.
    lie: fn(usize, &W::Call, &mut W::Outcome),
    /// What is said of it.
    words: &'static str,
}

/// What is said of the first wrong answer that is noticed.
fn told<W: Benchmark>(
    size: &W::Extent,
    before: Option<&W::Evidence>,
    mut answer: impl FnMut(&W::Call) -> W::Outcome,
    lie: fn(usize, &W::Call, &mut W::Outcome),
) -> Result<(), &'static str> {
    let streams = Streams { seed: 5, run: 9, load: Some(W::GOLDEN_LOAD_SEED), ..Streams::default() };
    let inputs = W::inputs(size, &streams, W::knowledge(size, &streams, before));
    let mut clients: Vec<W::Inputs> = (0..CLIENTS).map(inputs).collect();
    for at in 0..CALLS {
        for client in &mut clients {
            let call = client.draw();
            let mut outcome = answer(&call);
            lie(at, &call, &mut outcome);
            W::check(&call, &outcome)?;
            client.check(&call, &outcome)?;
        }
    }
    Ok(())
}

/// The truth is believed, and each lie is noticed: by who looked at the store before the first call, and without that unless it says
/// so.
fn lies_are_noticed<W: Benchmark>(
    size: &W::Extent,
    fresh: &W::Evidence,
    answers: impl Fn() -> Box<dyn FnMut(&W::Call) -> W::Outcome>,
    lies: &[(bool, Lie<W>)],
) where
    W::Extent: Debug,
{
    for before in [None, Some(fresh)] {
        assert_eq!(told::<W>(size, before, answers(), |_, _, _| {}), Ok(()), "{size:?}");
    }
    for (needs_a_look, Lie { what, lie, words }) in lies {
        let seen = told::<W>(size, Some(fresh), answers(), *lie);
        assert_eq!(seen, Err(*words), "{what}");
        let blind = told::<W>(size, None, answers(), *lie);
        assert_eq!(blind.is_err(), !needs_a_look, "{what}, by answers alone: {blind:?}");
    }
}

const UNMADE: &str = "the balance of an account is not what calls have made of it";
const UNLEFT: &str = "the available tickets are not what bookings have left of them";
const MISSING: &str = "foods that were loaded are missing from a list";

#[test]
fn balances_of_tpcb_follow_from_its_calls() {
    let size = Tpcb::tiny();
    let lies: [(bool, Lie<Tpcb>); 6] = [
        // Told alike of each account, it shows only to who knows what it held at first.
        (
            true,
            Lie { what: "all balances are one more", lie: |_, _, told| told.abalance += 1, words: UNMADE },
        ),
        (false, Lie { what: "no balance changes", lie: |_, _, told| told.abalance = 0, words: UNMADE }),
        (
            false,
            Lie {
                what: "the balance before the call is answered",
                lie: |_, call, told| told.abalance -= call.delta,
                words: UNMADE,
            },
        ),
        (
            false,
            Lie {
                what: "amounts count twice",
                lie: |_, call, told| told.abalance += call.delta,
                words: UNMADE,
            },
        ),
        (
            false,
            Lie {
                what: "now and then a balance is one less",
                lie: |at, _, told| told.abalance -= i64::from(at % 50 == 49),
                words: UNMADE,
            },
        ),
        (
            false,
            Lie {
                what: "the amount alone is answered",
                lie: |_, call, told| told.abalance = call.delta,
                words: UNMADE,
            },
        ),
    ];
    let answers = || -> Box<dyn FnMut(&workload_tpcb::Call) -> workload_tpcb::Outcome> {
        let mut oracle = workload_tpcb::Oracle::new(&workload_tpcb::Data::new(size));
        Box::new(move |call| oracle.answer(call).expect("what is drawn can be answered"))
    };
    lies_are_noticed::<Tpcb>(&size, &Vec::new(), answers, &lies);
}

#[test]
fn balances_of_transfers_follow_from_them() {
    let size = Transfers::tiny();
    let lies: [(bool, Lie<Transfers>); 6] = [
        (
            true,
            Lie {
                what: "all balances are one more",
                lie: |_, _, told| {
                    if let Moved::Balance { balance }
                    | Moved::Moved { balance, .. }
                    | Moved::Declined(Unmoved::InsufficientFunds { balance }) = told
                    {
                        *balance += 1;
                    }
                },
                words: UNMADE,
            },
        ),
        (
            false,
            Lie {
                what: "an account is always read as it was opened",
                lie: |_, _, told| {
                    if let Moved::Balance { balance } = told {
                        *balance = workload_transfer::OPENING;
                    }
                },
                words: UNMADE,
            },
        ),
        (
            false,
            Lie {
                what: "now and then a unit is missing",
                lie: |at, _, told| {
                    if let Moved::Balance { balance } = told {
                        *balance -= i64::from(at % 40 == 39);
                    }
                },
                words: UNMADE,
            },
        ),
        (
            false,
            Lie {
                what: "a transfer answers the balance before it",
                lie: |_, call, told| {
                    if let (Moving::Transfer { transfer, purpose }, Moved::Moved { balance, .. }) =
                        (call, told)
                        && *purpose != Transfer::Repeat
                    {
                        *balance += transfer.amount;
                    }
                },
                words: UNMADE,
            },
        ),
        (
            false,
            Lie {
                what: "a transfer is declined for want of money that is there",
                lie: |at, call, told| {
                    if let (
                        Moving::Transfer { transfer, purpose: Transfer::Within },
                        Moved::Moved { .. },
                        true,
                    ) = (call, &told, at % 20 == 19)
                    {
                        let balance = transfer.amount - 1;
                        *told = Moved::Declined(Unmoved::InsufficientFunds { balance });
                    }
                },
                words: UNMADE,
            },
        ),
        (
            false,
            Lie {
                what: "whoever is short of money has none",
                lie: |_, call, told| {
                    if let (
                        Moving::Transfer { purpose: Transfer::Overdraft, .. },
                        Moved::Declined(Unmoved::InsufficientFunds { balance }),
                    ) = (call, told)
                    {
                        *balance = 0;
                    }
                },
                words: UNMADE,
            },
        ),
    ];
    let answers = || -> Box<dyn FnMut(&Moving) -> Moved> {
        let mut answer = Transfers::rehearsal(&size).expect("it has one");
        Box::new(move |call| answer(call))
    };
    lies_are_noticed::<Transfers>(&size, &Vec::new(), answers, &lies);
}

#[test]
fn tickets_of_bookings_are_what_is_left() {
    let size = Bookings::tiny();
    let lies: [(bool, Lie<Bookings>); 6] = [
        (
            false,
            Lie {
                what: "a booking is declined as if its event was sold out",
                lie: |at, call, told| {
                    if let (
                        workload_booking::Call::Book { purpose: Booking::New, .. },
                        Booked::Booked(_),
                        true,
                    ) = (call, &told, at % 20 == 19)
                    {
                        *told = Booked::Declined(Unbooked::SoldOut { available: 0 });
                    }
                },
                words: UNLEFT,
            },
        ),
        (
            // Who has not looked notices when they come to an end.
            false,
            Lie {
                what: "each event has a ticket less than it has",
                lie: |_, _, told| {
                    if let Booked::Event { available, .. }
                    | Booked::Declined(Unbooked::SoldOut { available }) = told
                    {
                        *available = available.saturating_sub(1);
                    }
                },
                words: UNLEFT,
            },
        ),
        (
            false,
            Lie {
                what: "no event loses a ticket",
                lie: |_, _, told| {
                    if let Booked::Event { stock, available } = told {
                        *available = *stock;
                    }
                },
                words: UNLEFT,
            },
        ),
        (
            false,
            Lie {
                what: "now and then one ticket too few is read",
                lie: |at, _, told| {
                    if let Booked::Event { available, .. } = told
                        && at % 10 == 9
                    {
                        *available = available.saturating_sub(1);
                    }
                },
                words: UNLEFT,
            },
        ),
        (
            false,
            Lie {
                what: "half of the tickets are read",
                lie: |_, _, told| {
                    if let Booked::Event { available, .. } = told {
                        *available /= 2;
                    }
                },
                words: UNLEFT,
            },
        ),
        (
            false,
            Lie {
                what: "who is sold out has no ticket",
                lie: |_, _, told| {
                    if let Booked::Declined(Unbooked::SoldOut { available }) = told {
                        *available = 0;
                    }
                },
                words: UNLEFT,
            },
        ),
    ];
    let answers = || -> Box<dyn FnMut(&workload_booking::Call) -> Booked> {
        let mut answer = Bookings::rehearsal(&size).expect("it has one");
        Box::new(move |call| answer(call))
    };
    lies_are_noticed::<Bookings>(&size, &Vec::new(), answers, &lies);
}

/// A list of nothing.
fn empty(told: &mut Outcome) {
    if let Said::Foods(listed) = &mut told.said {
        *listed = Listed { total: listed.total.map(|_| 0), ..Listed::default() };
    }
}

#[test]
fn lists_of_the_catalogue_show_what_was_loaded() {
    let size = Catalogue::tiny();
    let lies: [(bool, Lie<FoodCatalogue>); 6] = [
        (false, Lie { what: "all lists are empty", lie: |_, _, told| empty(told), words: MISSING }),
        (
            false,
            Lie {
                what: "a category has no food",
                lie: |_, call, told| {
                    if let Asked::Foods(list) = call
                        && matches!(list.filter, Filter::Category(_))
                    {
                        empty(told);
                    }
                },
                words: MISSING,
            },
        ),
        (
            false,
            Lie {
                what: "a search finds nothing",
                lie: |_, call, told| {
                    if let Asked::Foods(list) = call
                        && matches!(list.filter, Filter::Search(_))
                    {
                        empty(told);
                    }
                },
                words: MISSING,
            },
        ),
        (
            false,
            Lie {
                what: "there are fewer foods in all than were loaded",
                lie: |_, call, told| {
                    if let (Asked::Foods(list), Said::Foods(listed)) = (call, &mut told.said)
                        && matches!((list.filter, list.from), (Filter::All, Start::Page(1)))
                    {
                        listed.total = listed.total.map(|_| 59);
                    }
                },
                words: MISSING,
            },
        ),
        (
            false,
            Lie {
                what: "a category is missing",
                lie: |_, _, told| {
                    if let Said::Categories { count, .. } = &mut told.said {
                        *count = 2;
                    }
                },
                words: "a category that was loaded is missing",
            },
        ),
        (
            false,
            Lie {
                what: "a food that was loaded is not there",
                lie: |_, call, told| {
                    if let Asked::Food { id: 1..=60 } = call {
                        *told = Outcome::declined(workload_catalogue::Decline::NoSuchFood);
                    }
                },
                words: "the call was declined, and nothing in the data can be the reason",
            },
        ),
    ];
    let answers = || -> Box<dyn FnMut(&Asked) -> Outcome> {
        let mut oracle = workload_catalogue::Oracle::new(size);
        Box::new(move |call| oracle.answer(call))
    };
    lies_are_noticed::<FoodCatalogue>(&size, &Vec::new(), answers, &lies);
}
