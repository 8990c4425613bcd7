//! Samples for the tests of what is shown.

use super::snapshot::{BudgetShare, Busy, CallCounts, KindCounted, Snapshot, TrialCounters};

pub(super) fn snapshot() -> Snapshot {
    let part = |name, share| BudgetShare { name, share };
    let busy = |role: &str, cores| Busy { role: role.into(), cores, rss_bytes: 64 << 20 };
    Snapshot {
        what: "direct, block 2 of 5".into(),
        workload: "tpcc",
        subject: "tpcc/sqlite/rusqlite".into(),
        phase: "measured",
        share: 0.5,
        left_s: 30.0,
        clients: 8,
        unit: "new orders/min",
        rate: 41_230.0,
        rate_mean: Some(40_870.0),
        kind: "new-order",
        p50_ns: Some(4_600_000),
        p99_ns: Some(14_000_000),
        faults: 3,
        in_flight: Some(7.9),
        call_counts: CallCounts {
            started: 10_000,
            committed: 9_887,
            declined: 100,
            conflict: 12,
            refused: 0,
            in_doubt: 1,
            defect: 0,
            retries: 40,
        },
        away: false,
        budget: vec![part("pool wait", 0.09), part("statements", 0.61), part("commit", 0.30)],
        processes: vec![busy("generator", 1.8), busy("server", 0.9)],
        cores: 4,
    }
}

/// Counters of a trial in which every class occurred.
pub(super) fn counted(committed: u64) -> TrialCounters {
    let mut call_counts = measure::CallCounts::default();
    for _ in 0..committed {
        call_counts.enter(measure::Class::Committed, &attempts(1), false);
    }
    call_counts.enter(measure::Class::Declined, &attempts(1), false);
    call_counts.enter(measure::Class::Conflict, &attempts(3), false);
    let times = vec![(900_000, committed / 2), (4_000_000, committed - committed / 2)];
    let kind =
        |name| KindCounted { name, call_counts, times: times.clone(), sum_s: committed as f64 * 0.002 };
    TrialCounters { kinds: vec![kind("new-order"), kind("payment")], dropped: 2, warmup: call_counts }
}

fn attempts(attempts: u32) -> model::CallWork {
    model::CallWork { attempts, ..model::CallWork::default() }
}
