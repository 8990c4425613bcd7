//! A drill of transfers between two stores.

use crate::trial::document;
use result::{
    Document, DoubtFound, Drill, DrillCalls, DrillFault, DrillLine, FaultAction, RunKind, WithoutAnswer,
};

const STEP_S: f64 = 0.1;
/// Committed calls of a step in which nothing is wrong.
const STEADY: u64 = 20;

/// Six faults, each of which left what it should.
pub fn drill() -> Document {
    let faults = [
        ("server", FaultAction::Kill, 0.6, 0.9),
        ("shard-1", FaultAction::Pause, 0.3, 0.4),
        ("relay", FaultAction::Kill, 0.8, 0.1),
        ("shard-0", FaultAction::Kill, 0.5, 1.4),
        ("server", FaultAction::CutOff, 0.4, 0.5),
        ("shard-1", FaultAction::Kill, 0.7, 1.1),
    ];
    let mut document = document("drill", RunKind::Drill, Vec::new());
    document.command = ["stackmark", "drill", "transfer/postgres/axum+tokio-postgres/saga", "--faults", "6"]
        .map(str::to_owned)
        .to_vec();
    document.subjects = vec!["transfer/postgres/axum+tokio-postgres/saga".to_owned()];
    document.drill = Some(Drill {
        seed: 7,
        scale: 2,
        scale_unit: "branches".to_owned(),
        shards: 2,
        rate_per_s: 200.0,
        clients: 8,
        mix: Vec::new(),
        planned: 6,
        faults: faults
            .into_iter()
            .map(|(component, action, after_s, first_commit_s)| {
                fault(component, action, after_s, first_commit_s)
            })
            .collect(),
    });
    document
}

fn fault(component: &str, action: FaultAction, after_s: f64, first_commit_s: f64) -> DrillFault {
    let line = line(after_s, first_commit_s);
    let committed = line.committed.iter().sum();
    let refused = line.failed.iter().sum::<u64>() - 2;
    DrillFault {
        component: component.to_owned(),
        action,
        after_s,
        unavailable_s: first_commit_s / 2.0,
        recovery_s: first_commit_s / 4.0,
        first_commit_s: Some(first_commit_s),
        longest_s: first_commit_s + 0.05,
        calls: DrillCalls {
            started: committed + refused + 3,
            committed,
            declined: 0,
            conflicts: 0,
            refused,
            in_doubt: 2,
            defects: 1,
        },
        line,
        without_answer: [
            ("transfer", 0, 0.08),
            ("transfer", 1, first_commit_s),
            ("cross-transfer", 0, first_commit_s),
        ]
        .map(|(kind, store, longest_s)| WithoutAnswer {
            kind: kind.to_owned(),
            store: Some(store),
            longest_s,
        })
        .to_vec(),
        refused_after: refused,
        left: Some(3),
        lost_writes: None,
        duplicates: None,
        missing: Vec::new(),
        in_doubt_calls: vec![
            DoubtFound { call: "transfer 4 of worker 1".to_owned(), found: "not done".to_owned() },
            DoubtFound { call: "transfer 9 of worker 3".to_owned(), found: "completed".to_owned() },
        ],
        settled_s: Some(0.2),
        checks_passed: 20,
        failures: Vec::new(),
    }
}

/// Steady until the fault, then refused and in doubt until the first commit, then steady again.
fn line(after_s: f64, first_commit_s: f64) -> DrillLine {
    let steps = |s: f64| (s / STEP_S).round() as usize;
    let (before, away, after) = (steps(after_s), steps(first_commit_s), 6);
    let mut line = DrillLine { step_s: STEP_S, ..DrillLine::default() };
    for (steps, committed, failed) in [(before, STEADY, 0), (away, 0, 4), (after, STEADY, 0)] {
        line.committed.extend(std::iter::repeat_n(committed, steps));
        line.failed.extend(std::iter::repeat_n(failed, steps));
    }
    line
}
