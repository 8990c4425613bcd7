//! One row a rule: a document about which it complains, and one about which it does not. The rows, the code and the table
//! that users read name the same rules.

use super::comparison::RULES as OF_COMPARISONS;
use super::tests::{after, check, counter, direct};
use super::{RULES, judge};
use result::Severity::{self, Bad, Info, Ok as Fine, Warning};
use result::{
    Arrivals, AuditWhen, Check, Class, DeclineRise, Engine, Gap, GapKind, Limit, Limits, LoadPart, Missing,
    Outage, PartState, Quantiles, Rule, Settled, Silence, Slice, StatementPlan, Throttling, Trial,
};
use std::collections::BTreeSet;

/// A rule of trials: what makes it complain of the quiet sample, how gravely, and in which words.
struct RuleCase {
    rule: &'static str,
    fire: fn(&mut Trial),
    severity: Severity,
    words: &'static str,
}

const fn row(rule: &'static str, severity: Severity, words: &'static str, fire: fn(&mut Trial)) -> RuleCase {
    RuleCase { rule, fire, severity, words }
}

/// Every rule of trials, in the order of the code. "Complains" is a warning or worse, but for those that only inform.
const ROWS: [RuleCase; 33] = [
    row("call-accounting", Bad, "call counts do not add up", |trial| {
        trial.overall.call_counts.committed -= 1
    }),
    row("audit", Bad, "ledger", |trial| trial.ledger[0].check = Check::Failed),
    row("saturation", Bad, "load generator saturated", |trial| {
        trial.plan.generator_threads = 1;
        trial.processes[0].roles.truncate(1);
        trial.processes[0].cpu_user_s = trial.measured_s;
    }),
    row("think-cap", Info, "think time limits throughput", |trial| {
        trial.plan.arrivals = Arrivals::Paced { think: "spec".to_owned() };
        trial.plan.clients = 1_000;
    }),
    row("little", Bad, "cannot be", |trial| trial.plan.clients = 4),
    row("outcome-mix", Warning, "5.0 % of the calls did not complete", |trial| {
        trial.overall.call_counts.in_doubt = trial.overall.call_counts.started / 20;
    }),
    row(
        "outcome-mix",
        Bad,
        "60.0 % of the calls of delivery did not complete, but only 0.0 % of all others",
        |trial| {
            let delivery = trial.kinds.iter_mut().find(|kind| kind.name == "delivery").unwrap();
            let call_counts = &mut delivery.tally.call_counts;
            call_counts.refused = call_counts.started * 6 / 10;
        },
    ),
    row("limits", Warning, "p90 of payment is 7 s (limit 5 s)", |trial| {
        trial.kinds[1].limit = Some(Limit::new(5_000_000_000, Some(7_000_000_000)));
    }),
    row("backlog", Bad, "of the calls that were due in a round had not ended with it", |trial| {
        trial.plan.arrivals = Arrivals::Constant { rate_per_s: 100.0 };
        trial.rounds = vec![result::Round { t_s: 0.0, rate_per_s: 100.0 }; 2];
        trial.overall.call_counts.due += trial.overall.call_counts.started / 9;
    }),
    row("steady", Warning, "not steady", |trial| {
        measured(trial).filter(|slice| slice.t_s >= 40.0).for_each(|slice| {
            slice.kinds.iter_mut().for_each(|kind| kind.committed /= 2);
        });
    }),
    row("regime", Warning, "decline 33 % of the calls of payment instead of 0 %", |trial| {
        measured(trial).filter(|slice| slice.t_s >= 30.0).for_each(|slice| {
            slice.kinds[1].declined = slice.kinds[1].committed / 2;
        });
    }),
    row("checkpoints", Warning, "full page", |trial| {
        *trial = super::checkpoints::tests::trial(0.0, 15.4e3, 7.2e3);
    }),
    row("gap", Bad, "suspended for 6 s at 20 s", |trial| {
        trial.gaps = vec![Gap { kind: GapKind::Stalled, from_s: 20.0, duration_s: 6.0 }];
    }),
    row("silence", Warning, "no call completed for 1.2 s, from 4 s on, and for 2.5 s in all", |trial| {
        trial.silence = Some(Silence { longest_s: 1.2, from_s: 4.0, long_s: 0.05, total_s: 2.5 });
    }),
    row("fingerprint", Warning, "behind delivery are not known", |trial| trial.kinds[3].tally.work = None),
    row("key", Warning, "the checksum of the data", |trial| trial.data.checksum = None),
    row("durability", Warning, "the data is in memory", |trial| {
        trial.data.file_system = Some("tmpfs (memory)".to_owned());
    }),
    row(
        "untried-engine",
        Info,
        "CockroachDB speaks the protocol of PostgreSQL, and Stackmark has not been tried",
        |trial| {
            trial.stack.engine_version = "13.0.0, CockroachDB CCL v25.3.4".to_owned();
        },
    ),
    row("plans", Info, "the plan of 1 statement changed while calls were made", |trial| {
        trial.stack.plans = vec![StatementPlan {
            statement: "read_stock".to_owned(),
            plan: "Index Scan using stock_pkey on stock".to_owned(),
            later: Some("Seq Scan on stock".to_owned()),
        }];
    }),
    row("engine-counts", Warning, "the log was flushed 1 times", |trial| {
        trial.engine =
            Some(Engine { gauges: vec![counter("wal syncs", Some(1.0), Vec::new())], ..Engine::default() });
    }),
    row("min-samples", Warning, "only 900 calls of new-order", |trial| {
        trial.kinds[0].tally.latency[0].response.count = 900;
    }),
    row("monotone", Bad, "percentiles fall", |trial| {
        let times: &mut Quantiles = &mut trial.kinds[0].tally.latency[0].response;
        times.p50_ns = times.p99_ns;
    }),
    row("clocked", Warning, "took longer than the calls did", |trial| {
        let clocked = trial.kinds[0].clocked.as_mut().unwrap();
        clocked.service_ns /= 1.5;
    }),
    row("modality", Info, "payment (75 % around 4.", |trial| {
        let latency = &mut trial.kinds[1].tally.latency[0];
        assert_eq!(latency.class, Class::Committed);
        let mut slow = latency.spectrum.clone();
        slow.iter_mut().for_each(|bucket| *bucket = result::Bucket(bucket.0 * 10, bucket.1 / 3));
        latency.spectrum.extend(slow);
        latency.spectrum.sort_unstable_by_key(|bucket| bucket.0);
    }),
    row("hot-rows", Warning, "waits for those rows", |trial| {
        trial.stack.engine = "postgres".to_owned();
    }),
    row("co-located", Warning, "would be faster on an idle machine", |trial| {
        let mut server = trial.processes[0].clone();
        trial.processes[0].roles.truncate(1);
        trial.processes[0].cpu_user_s = 1.2 * trial.measured_s;
        server.roles.remove(0);
        server.cpu_user_s = 2.6 * trial.measured_s;
        trial.processes.push(server);
    }),
    row("noisy-machine", Warning, "the hypervisor gave 5.0 %", |trial| {
        trial.machine.steal_share = Some(0.05);
    }),
    row("throttled", Warning, "in 90 % of the scheduling periods", |trial| {
        let throttling = Some(Throttling { periods: 600, throttled_periods: 540, throttled_s: 12.0 });
        trial.processes[0].limits = Some(Limits { cpu: Some(4.0), memory_bytes: None, throttling });
    }),
    row("outage", Warning, "engine unavailable for 3.5 s, from 20 s on: 8 calls in doubt", |trial| {
        trial.outages = vec![Outage {
            missing: Missing::Everything,
            from_s: 20.0,
            to_s: Some(23.5),
            in_doubt: 8,
            refused: 90,
        }];
    }),
    row("reconnects", Warning, "closed them between calls (2.0 % of the calls)", |trial| {
        trial.overall.call_counts.reconnects = trial.overall.call_counts.started / 50;
    }),
    row("other-sessions", Warning, "during the measurement: pgbench of user bench", |trial| {
        trial.stack.engine = "postgres".to_owned();
        trial.engine = Some(result::Engine {
            other_sessions: Some(vec!["pgbench of user bench".to_owned()]),
            ..result::Engine::default()
        });
    }),
    row("settled", Bad, "7 of them had not arrived 60 s later", |trial| {
        trial.settled = Some(Settled {
            pending_first: 40,
            pending_last: 7,
            duration_s: 60.0,
            max_s: 60.0,
            settlement: None,
        });
    }),
    row("parts", Bad, "part 2 is missing", |trial| {
        let part = |part, state| LoadPart { part, state, ..LoadPart::default() };
        trial.parts = vec![part(1, PartState::Complete), part(2, PartState::Missing)];
    }),
];

fn measured(trial: &mut Trial) -> impl Iterator<Item = &mut Slice> {
    trial.slices.iter_mut().filter(|slice| !slice.warmup)
}

fn says(rules: &[Rule], name: &str) -> Option<Rule> {
    rules.iter().find(|rule| rule.name == name).cloned()
}

#[test]
fn every_rule_has_a_document_of_which_it_complains_and_one_of_which_it_does_not() {
    let silent = judge(&direct());
    for RuleCase { rule, fire, severity, words } in &ROWS {
        let mut trial = direct();
        fire(&mut trial);
        let found = says(&judge(&trial), rule).unwrap_or_else(|| panic!("{rule} says nothing"));
        assert_eq!(found.severity, *severity, "{rule}: {}", found.sentence);
        assert!(found.sentence.contains(words), "{rule}: `{}` does not contain `{words}`", found.sentence);
        assert!(found.advice.is_some(), "{rule} does not say what to do");
        let calm = says(&silent, rule);
        assert!(
            calm.as_ref().is_none_or(|calm| calm.severity < Warning && calm.sentence != found.sentence),
            "{rule} complains of the quiet sample: {calm:?}"
        );
    }
}

#[test]
fn the_code_the_rows_and_the_table_for_users_name_the_same_rules() {
    let code: Vec<&str> = RULES.iter().map(|(name, _)| *name).collect();
    let mut rows: Vec<&str> = ROWS.iter().map(|row| row.rule).collect();
    rows.dedup();
    assert_eq!(code, rows);
    let all: BTreeSet<&str> = code.into_iter().chain(OF_COMPARISONS.map(|(name, _)| name)).collect();
    let manual = include_str!("../../../../docs/measuring.md");
    let table = manual.split("\n## Rules\n").nth(1).and_then(|rest| rest.split("\n## ").next());
    let rules_of_table: BTreeSet<&str> = table
        .expect("there is a section of rules")
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .collect();
    assert_eq!(rules_of_table, all);
}

#[test]
fn what_is_missing_of_the_interval_decides_what_a_gap_is_worth() {
    let check = |gap: Gap, severity: Severity, words: &str| {
        let mut trial = direct();
        trial.gaps = vec![gap];
        let found = says(&judge(&trial), "gap").unwrap();
        assert_eq!(found.severity, severity, "{}", found.sentence);
        assert!(found.sentence.contains(words), "{}", found.sentence);
    };
    let gap = |kind, from_s, duration_s| Gap { kind, from_s, duration_s };
    check(gap(GapKind::Suspended, 12.0, 3_600.0), Bad, "the machine slept for 3,600 s, at 12 s");
    check(gap(GapKind::Stalled, 12.0, 0.7), Warning, "1 % of the measured time is missing (0.7 s)");
    check(gap(GapKind::Stalled, -8.0, 4.0), Info, "the window is not affected");
    check(gap(GapKind::ClockStep, 5.0, -3_600.0), Info, "set back by 3,600 s at 5 s");
    check(gap(GapKind::ClockStep, 5.0, 60.0), Info, "set forward by 60 s");
}

#[test]
fn slices_in_which_no_one_ran_are_not_called_unsteady() {
    let mut trial = direct();
    measured(&mut trial)
        .filter(|slice| (20.0..26.0).contains(&slice.t_s))
        .for_each(|slice| slice.kinds.iter_mut().for_each(|kind| kind.committed = 0));
    assert_eq!(says(&judge(&trial), "steady").unwrap().severity, Warning);
    trial.gaps = vec![Gap { kind: GapKind::Stalled, from_s: 20.0, duration_s: 6.0 }];
    let steady = says(&judge(&trial), "steady").unwrap();
    assert_eq!(steady.severity, Fine, "{}", steady.sentence);
}

/// An engine whose cache misses `missed` of a thousand requests a second, over a minute.
fn caching(hits: &str, missed: impl Fn(u32) -> f64) -> Engine {
    let requests = |second| if hits == "buffer hits" { 1_000.0 - missed(second) } else { 1_000.0 };
    let values = |of: &dyn Fn(u32) -> f64| (1..=60).map(|second| Some(of(second))).collect();
    Engine {
        t_s: (1..=60).map(f64::from).collect(),
        gauges: vec![counter(hits, None, values(&requests)), counter("buffer reads", None, values(&missed))],
        ..Engine::default()
    }
}

#[test]
fn rates_before_and_after_a_turn_are_not_taken_together() {
    let mut trial = direct();
    measured(&mut trial).filter(|slice| slice.t_s >= 20.0).for_each(|slice| {
        slice.kinds.iter_mut().for_each(|kind| kind.committed *= 9);
    });
    assert_eq!(says(&judge(&trial), "steady").unwrap().severity, Warning);
    let rise = |declined_before: Option<f64>| DeclineRise {
        from_s: if declined_before.is_some() { 20.0 } else { 0.0 },
        to_s: 20.0,
        kind: "payment".to_owned(),
        declined_before,
        declined_after: 1.0,
        ..DeclineRise::default()
    };
    for (before, words) in [
        (
            Some(0.02),
            "from 20 s on, 100 % of the calls of payment were declined (2 % before); rates cover the time before",
        ),
        (
            None,
            "within the first 20 s most calls of payment started to be declined (100 % afterwards); rates cover the time afterwards",
        ),
    ] {
        trial.decline_rise = Some(rise(before));
        let rules = judge(&trial);
        assert_eq!(says(&rules, "steady").unwrap().severity, Fine, "{rules:?}");
        let found = says(&rules, "regime").unwrap();
        assert!(found.severity == Warning && found.sentence.contains(words), "{}", found.sentence);
    }
}

#[test]
fn data_that_outgrows_the_cache_is_another_regime() {
    for hits in ["buffer hits", "buffer requests"] {
        let mut trial = direct();
        trial.engine = Some(caching(hits, |second| if second < 30 { 1.0 } else { 120.0 }));
        let found = says(&judge(&trial), "regime").unwrap();
        assert!(
            found.sentence.contains("12.0 % of what it asked for was not there, 0.1 % at first"),
            "{}",
            found.sentence
        );
        // One that never held everything, and one that is warming up, are in one regime.
        for missed in [|_: u32| 120.0, |second: u32| if second < 30 { 120.0 } else { 1.0 }] {
            trial.engine = Some(caching(hits, missed));
            assert_eq!(says(&judge(&trial), "regime"), None);
        }
    }
    let mut trial = direct();
    trial.data.bytes_end = Some(3 * trial.data.bytes.unwrap());
    assert_eq!(says(&judge(&trial), "regime"), None, "the cache of the sample is not known in bytes");
    let cache = (trial.data.bytes.unwrap() * 2).to_string();
    trial.stack.settings.push(result::Setting { name: "cache_bytes".to_owned(), value: cache });
    let found = says(&judge(&trial), "regime").unwrap();
    assert!(found.sentence.contains("past the cache of"), "{}", found.sentence);
    trial.data.bytes_end = trial.data.bytes;
    assert_eq!(says(&judge(&trial), "regime"), None);
}

/// Nothing was measured, so there is nothing that could be measured longer.
#[test]
fn a_trial_of_no_length_is_not_told_to_measure_longer() {
    let cut = |trial: &mut Trial| trial.measured_s = 0.0;
    after(cut, "min-samples", Warning, "the trial ended with 0 s of its window measured");
    let mut trial = direct();
    cut(&mut trial);
    trial.kinds[0].tally.latency[0].response.count = 0;
    for rule in judge(&trial) {
        assert!(!rule.advice.unwrap_or_default().contains("longer"), "{}", rule.sentence);
    }
}

#[test]
fn data_that_no_one_looked_at_is_unverified() {
    assert!(!direct().is_unverified());
    let unread = |trial: &mut Trial| {
        let after = trial.audits.iter_mut().filter(|audit| audit.when == AuditWhen::AfterRun);
        after.for_each(|audit| audit.check = Check::NotRun);
    };
    after(unread, "audit", Warning, "UNVERIFIED: not checked: the stored data after the run");
    let without = |trial: &mut Trial| trial.audits.retain(|audit| audit.when != AuditWhen::AfterRun);
    after(without, "audit", Warning, "UNVERIFIED: not checked: ");
    // One that was looked at in part has other words.
    let mut part = direct();
    part.audits.iter_mut().find(|audit| audit.when == AuditWhen::AfterRun).unwrap().check = Check::NotRun;
    assert!(!part.is_unverified());
    check("audit", &part, Warning, "not checked: the stored data after the run");
}

#[test]
fn what_a_server_says_of_itself_is_not_repeated_as_a_fact() {
    let claimed = |trial: &mut Trial| trial.stack.durability.claimed = true;
    let words = "durability: durable (reported by the server), not read back";
    after(claimed, "durability", Info, words);
}

#[test]
fn a_limit_on_a_percentile_that_is_missed_is_missed() {
    assert!(!direct().misses_limit());
    let mut trial = direct();
    trial.kinds[1].limit = Some(Limit::new(5_000_000_000, None));
    assert!(!trial.misses_limit(), "too few calls to tell");
    trial.kinds[1].limit = Some(Limit::new(5_000_000_000, Some(5_000_000_001)));
    assert!(trial.misses_limit());
}
