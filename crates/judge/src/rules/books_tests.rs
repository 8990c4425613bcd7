//! The accounting identities, and the rate against the counts that it came from.

use super::tests::{after, check, direct};
use result::Severity::{Bad, Ok as Fine};
use result::Trial;

#[test]
fn books_that_lose_a_call_void_the_number() {
    check("books", &direct(), Fine, "accounted for");
    let bad = |change: fn(&mut Trial), words: &str| after(change, "books", Bad, words);
    bad(|trial| trial.overall.books.committed -= 1, "the columns of all kinds do not add up");
    bad(|trial| trial.overall.books.due += 1, "the columns of all kinds do not add up");
    bad(|trial| trial.kinds[1].tally.books.retries = 1 << 40, "attempts and retries of payment");
    bad(|trial| trial.overall.rate_per_s.value *= 1.05, "and the slices hold");
    // The rate that was printed past capacity: only calls both due and ended in the interval.
    bad(|trial| trial.overall.rate_per_s.value *= 0.3, "and the slices hold");
    bad(|trial| trial.demand.as_mut().unwrap().waiting_after += 1, "offered, accepted and left waiting");
    let of_before = |trial: &mut Trial| {
        trial.demand = None;
        trial.overall.rate_per_s.value *= 1.01;
    };
    after(of_before, "books", Bad, "the rate is higher");
    // Stopped early: what ended in the last part of a slice is in the rate alone.
    let stopped = |trial: &mut Trial| {
        trial.measured_s += 0.4;
        trial.overall.rate_per_s.value *= 1.002;
    };
    after(stopped, "books", Fine, "accounted for");
    // Commits come in bursts: that part may hold as many calls as a whole slice.
    let burst = |trial: &mut Trial| {
        trial.measured_s += 0.4;
        trial.overall.rate_per_s.value *= 1.015;
    };
    after(burst, "books", Fine, "accounted for");
    bad(|trial| trial.kinds[0].tally.latency[0].response.count -= 1, "clocked");
    bad(|trial| trial.kinds[1].facets[0].response.count += 1, "in its parts");
    // A call moved from one kind to another balances in each and not in all.
    bad(
        |trial| {
            let books = &mut trial.kinds[1].tally.books;
            books.committed -= 5;
            books.declined += 5;
            trial.kinds[1].tally.latency[0].response.count -= 5;
        },
        "by kind",
    );
}
