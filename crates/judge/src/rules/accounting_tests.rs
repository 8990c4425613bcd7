//! The accounting identities, and the rate against the counts that it came from.

use super::tests::{after, check, direct};
use result::Severity::{Bad, Ok as Fine};
use result::Trial;

#[test]
fn counts_that_lose_a_call_make_the_result_invalid() {
    check("call-accounting", &direct(), Fine, "accounted for");
    let bad = |change: fn(&mut Trial), words: &str| after(change, "call-accounting", Bad, words);
    bad(|trial| trial.overall.call_counts.committed -= 1, "the columns of all kinds do not add up");
    bad(|trial| trial.overall.call_counts.due += 1, "the columns of all kinds do not add up");
    bad(|trial| trial.kinds[1].tally.call_counts.retries = 1 << 40, "attempts and retries of payment");
    bad(|trial| trial.overall.rate_per_s.value *= 1.05, "and the slices hold");
    // The rate that was printed past capacity: only calls both due and ended in the interval.
    bad(|trial| trial.overall.rate_per_s.value *= 0.3, "and the slices hold");
    bad(|trial| trial.demand.as_mut().unwrap().backlog_after += 1, "offered, accepted and left waiting");
    // Stopped early: what ended in the last part of a slice is in the rate alone.
    let stopped = |trial: &mut Trial| {
        trial.measured_s += 0.4;
        trial.overall.rate_per_s.value *= 1.002;
    };
    after(stopped, "call-accounting", Fine, "accounted for");
    // Commits come in bursts: that part may hold as many calls as a whole slice.
    let burst = |trial: &mut Trial| {
        trial.measured_s += 0.4;
        trial.overall.rate_per_s.value *= 1.015;
    };
    after(burst, "call-accounting", Fine, "accounted for");
    bad(|trial| trial.kinds[0].tally.latency[0].response.count -= 1, "clocked");
    bad(|trial| trial.kinds[1].facets[0].response.count += 1, "in its parts");
    // A call moved from one kind to another balances in each and not in all.
    bad(
        |trial| {
            let call_counts = &mut trial.kinds[1].tally.call_counts;
            call_counts.committed -= 5;
            call_counts.declined += 5;
            trial.kinds[1].tally.latency[0].response.count -= 5;
        },
        "by kind",
    );
}
