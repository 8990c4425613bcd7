//! The accounting identities, and the rate against the counts that it came from.

use super::tests::{after, check, direct};
use crate::rules::judge;
use result::Severity::{Bad, Ok as Fine, Warning};
use result::{Check, Engine, Gauge, GaugeKind, SESSIONS_OPENED, Trial};

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

/// Sampling misses short sessions, so an empty list does not rule out other programs.
#[test]
fn a_failed_audit_names_another_program_as_a_cause_only_where_one_can_have_been_missed() {
    let advice = |others: Option<Vec<String>>| {
        let mut trial = direct();
        trial.audits[0].check = Check::Failed;
        trial.engine = Some(Engine { other_sessions: others, ..Engine::default() });
        let rules = judge(&trial);
        rules.into_iter().find(|rule| rule.name == "audit").and_then(|rule| rule.advice).unwrap()
    };
    assert!(advice(Some(Vec::new())).contains("another program whose session was too short to be sampled"));
    assert!(!advice(Some(vec!["psql of user bench".into()])).contains("another program"));
    assert!(!advice(None).contains("another program"));
}

#[test]
fn sessions_too_short_to_be_sampled_are_counted() {
    let opened = |count: f64| {
        move |trial: &mut Trial| {
            let gauge = Gauge {
                name: SESSIONS_OPENED.into(),
                kind: GaugeKind::Counter,
                total: Some(count),
                ..Gauge::default()
            };
            trial.engine =
                Some(Engine { gauges: vec![gauge], other_sessions: Some(Vec::new()), ..Engine::default() });
        }
    };
    after(opened(120.0), "other-sessions", Warning, "120 sessions were opened in the database during");
    // Those of the run itself, which were opened right before.
    let mut trial = direct();
    opened(f64::from(trial.plan.clients) + 1.0)(&mut trial);
    assert!(judge(&trial).iter().all(|rule| rule.name != "other-sessions"));
    // A session is opened again after a call in doubt.
    opened(120.0)(&mut trial);
    trial.overall.call_counts.in_doubt = 110;
    assert!(judge(&trial).iter().all(|rule| rule.name != "other-sessions"));
}
