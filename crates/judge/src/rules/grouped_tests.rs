//! Calls that share commits wait for them all at once, and are not judged as if each waited alone.

use super::tests::{after, check, direct, wait_for_nothing};
use result::Severity::Info;
use result::{Budget, Trial};

/// Calls that share commits: they wait for them all at once, and so for more seconds than there are.
fn grouped(trial: &mut Trial, pool_wait: f64, statements: f64, commit: f64) {
    wait_for_nothing(trial);
    trial.stack.style = "grouped".to_owned();
    for tally in trial.kinds.iter_mut().map(|kind| &mut kind.tally) {
        let response_ns = tally.budget.unwrap().response_ns;
        let budget = Budget {
            response_ns,
            pool_wait_ns: response_ns * pool_wait,
            statements_ns: response_ns * statements,
            commit_ns: response_ns * commit,
            ..Budget::default()
        };
        tally.budget = Some(budget.balanced());
    }
}

#[test]
fn commits_that_calls_share_are_not_added_up() {
    let speaks = |parts: (f64, f64, f64), words: &str| {
        after(|trial| grouped(trial, parts.0, parts.1, parts.2), "saturation", Info, words);
    };
    // Eight clients that wait for commits 80 % of their time are 6.4 seconds a second, which no writer has.
    speaks(
        (0.16, 0.03, 0.8),
        "writers spent 99 % of their time with SQLite's one write lane or waiting for it, and up to",
    );
    speaks((0.16, 0.03, 0.8), "of the lane's own time went into the commits that they share");
    speaks((0.49, 0.12, 0.38), "of the lane's own time went into statements");
    // Half of the time they were remote: not the writer, whatever commits add up to.
    let mut trial = direct();
    grouped(&mut trial, 0.05, 0.02, 0.45);
    check("saturation", &trial, Info, "throughput is limited by 8 clients and is not a maximum");
    trial.stack.style = "plain".to_owned();
    check("saturation", &trial, Info, "SQLite's one writer was busy 100 % of the time");
    // A single client shares with no one.
    grouped(&mut trial, 0.0, 0.1, 0.85);
    trial.plan.clients = 1;
    check("saturation", &trial, Info, "SQLite's one writer was busy 100 % of the time");
}
