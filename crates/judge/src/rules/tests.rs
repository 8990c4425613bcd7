//! For each rule a document that makes it speak and one about which it has nothing to complain.

use super::*;
use result::Severity::{self, Bad, Info, Ok as Fine, Warning};
use result::{
    Arrivals, AuditWhen, Budget, CallCounts, CallWork, Check, Document, Efficiency, Engine, Gauge, Limit,
    Limits, Quantiles, Throttling, Tier, Wait,
};

/// A direct trial without the slow slices of the sample.
pub(super) fn direct() -> Trial {
    quiet(sample_documents::trial())
}

/// The same through HTTP, where generator and server are two processes.
pub(super) fn through_http() -> Trial {
    let mut document = sample_documents::comparison();
    document.trials.retain(|trial| trial.stack.route == "http");
    quiet(document)
}

pub(super) fn quiet(mut document: Document) -> Trial {
    let mut trial = document.trials.swap_remove(0);
    let typical = trial.slices[20].kinds.clone();
    trial
        .slices
        .iter_mut()
        .filter(|slice| (31.0..34.0).contains(&slice.t_s))
        .for_each(|slice| slice.kinds.clone_from(&typical));
    trial
}

/// What `rule` says of `trial`, which must be of `severity` and contain `words`.
pub(super) fn check(rule: &str, trial: &Trial, severity: Severity, words: &str) {
    let all = judge(trial);
    let found = all.iter().find(|found| found.name == rule).unwrap_or_else(|| panic!("{rule} says nothing"));
    assert_eq!(found.severity, severity, "{rule}: {}", found.sentence);
    assert!(found.sentence.contains(words), "{rule}: `{}` does not contain `{words}`", found.sentence);
    assert!(found.advice.is_some() || severity < Warning, "{rule} does not say what to do");
}

/// The same after `change` was made to the direct sample.
pub(super) fn after(change: impl FnOnce(&mut Trial), rule: &str, severity: Severity, words: &str) {
    let mut trial = direct();
    change(&mut trial);
    check(rule, &trial, severity, words);
}

pub(super) fn is_silent(rule: &str, trial: &Trial) {
    assert!(judge(trial).iter().all(|found| found.name != rule), "{rule} speaks");
}

/// Leaves nothing of SQLite's one writer, so that other causes show.
pub(crate) fn on_postgres(trial: &mut Trial) {
    trial.stack.engine = "postgres".to_owned();
    wait_for_nothing(trial);
}

/// Leaves all time of the calls unexplained.
pub(crate) fn wait_for_nothing(trial: &mut Trial) {
    let budgets = trial.kinds.iter_mut().map(|kind| &mut kind.tally).chain([&mut trial.overall]);
    for budget in budgets.filter_map(|tally| tally.budget.as_mut()) {
        *budget = Budget { response_ns: budget.response_ns, ..Budget::default() }.balanced();
    }
}

#[test]
fn a_good_trial_has_nothing_to_mind_and_every_rule_speaks_once_and_plainly() {
    for trial in [direct(), through_http()] {
        let rules = judge(&trial);
        let mut names: Vec<&str> = rules.iter().map(|rule| rule.name.as_str()).collect();
        for rule in &rules {
            assert!(rule.severity <= Info, "{}: {}", rule.name, rule.sentence);
            assert!(
                !rule.sentence.contains(['\n', '\u{a0}']) && !rule.sentence.ends_with('.'),
                "{}",
                rule.sentence
            );
        }
        ["modality", "outage"].iter().for_each(|rule| is_silent(rule, &trial));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), rules.len());
        assert_eq!(judge(&trial), rules);
    }
    let order: Vec<String> = judge(&direct()).into_iter().map(|rule| rule.name).collect();
    let head = [
        "call-accounting",
        "audit",
        "saturation",
        "little",
        "outcome-mix",
        "limits",
        "steady",
        "fingerprint",
        "key",
    ];
    assert_eq!(order[..head.len()], head);
}

#[test]
fn an_empty_trial_is_judged_without_a_number_that_cannot_be() {
    let mut trial = direct();
    trial.measured_s = 0.0;
    trial.kinds.clear();
    trial.slices.clear();
    trial.processes.clear();
    trial.overall.call_counts = Default::default();
    trial.overall.latency.clear();
    trial.overall.budget = None;
    trial.overall.rate_per_s.value = 0.0;
    for rule in judge(&trial) {
        assert!(!rule.sentence.contains("NaN") && !rule.sentence.contains("inf"), "{}", rule.sentence);
    }
    check("min-samples", &trial, Warning, "the trial ended with 0 s of its window measured");
}

#[test]
fn a_failed_check_voids_the_number_and_a_missing_one_weakens_it() {
    check("audit", &direct(), Fine, "passed");
    check("audit", &sample_documents::failed_trial().trials[0], Bad, "audit warehouse-ytd");
    let bad = |change: fn(&mut Trial), words: &str| after(change, "audit", Bad, words);
    bad(|trial| trial.inputs[0].check = Check::Failed, "inputs");
    bad(|trial| trial.conformance.check = Check::Failed, "conformance");
    let missing = |change: fn(&mut Trial), words: &str| after(change, "audit", Warning, words);
    missing(|trial| trial.audits.clear(), "the stored data after the run");
    missing(
        |trial| trial.audits.iter_mut().for_each(|audit| audit.when = AuditWhen::BeforeRun),
        "the stored data after the run",
    );
    missing(|trial| trial.audits[3].check = Check::NotRun, "the stored data after the run");
    missing(|trial| trial.ledger.clear(), "acknowledged calls");
    missing(|trial| trial.conformance.check = Check::NotRun, "the answers on tiny data");
}

#[test]
fn a_full_generator_voids_the_number() {
    let mut trial = through_http();
    trial.plan.generator_threads = 1;
    check("saturation", &trial, Info, "one writer");
    trial.processes[0].cpu_user_s = 0.95 * trial.measured_s;
    check("saturation", &trial, Bad, "load generator saturated");
    // Interrupted as soon as it began: the processes are read a moment later, over many times what was measured.
    trial.measured_s = 0.0005;
    let silent =
        judge(&trial).into_iter().filter(|rule| ["saturation", "co-located"].contains(&rule.name.as_str()));
    assert_eq!(silent.count(), 0);
}

#[test]
fn maximum_throughput_is_only_said_where_the_system_was_full() {
    check("saturation", &direct(), Info, "likely limits throughput");
    check("saturation", &through_http(), Info, "the engine's one writer is saturated");

    after(on_postgres, "saturation", Info, "throughput is limited by 8 clients and is not a maximum");
    // None of the calls' time belongs to the writer: SQLite or not, it was not full.
    after(wait_for_nothing, "saturation", Info, "is not a maximum");
    let mut trial = through_http();
    on_postgres(&mut trial);
    trial.processes[1].cpu_user_s = 3.6 * trial.measured_s;
    check("saturation", &trial, Info, "maximum throughput on this machine");
    trial.processes[1].cpu_user_s = 2.6 * trial.measured_s;
    trial.processes[0].cpu_user_s = 1.2 * trial.measured_s;
    check("saturation", &trial, Warning, "the system would be faster on an idle machine");
}

#[test]
fn one_client_that_keeps_the_writer_busy_is_no_crowd_at_the_lane() {
    let mut trial = direct();
    trial.plan.clients = 1;
    for tally in trial.kinds.iter_mut().map(|kind| &mut kind.tally) {
        let budget = tally.budget.as_mut().unwrap();
        budget.pool_wait_ns = 0.0;
        *budget = budget.balanced();
    }
    check("saturation", &trial, Info, "was busy 100 % of the time");
}

/// Lets the calls, taken together, spend 70 % of their time in one part.
fn wait(trial: &mut Trial, part: fn(&mut Budget) -> &mut f64) {
    wait_for_nothing(trial);
    let budget = trial.overall.budget.as_mut().unwrap();
    *part(budget) = budget.response_ns * 0.7;
    *budget = budget.balanced();
}

#[test]
fn what_calls_wait_for_is_named() {
    let named = |engine: &str, part: fn(&mut Budget) -> &mut f64, words: &str| {
        let mut trial = direct();
        trial.stack.engine = engine.to_owned();
        wait(&mut trial, part);
        check("saturation", &trial, Info, words);
    };
    named("postgres", |budget| &mut budget.server_queue_ns, "70 % of their time waiting for a session");
    named("postgres", |budget| &mut budget.pool_wait_ns, "70 % of their time waiting for a connection");
    named(
        "sqlite",
        |budget| &mut budget.pool_wait_ns,
        "70 % of their time waiting for SQLite's one write lane",
    );
    named("postgres", |budget| &mut budget.commit_ns, "they wait for storage, and this is not a maximum");
    let mut trial = direct();
    trial.data.file_system = Some("tmpfs (memory)".to_owned());
    wait(&mut trial, |budget| &mut budget.commit_ns);
    check("saturation", &trial, Info, "throughput is limited by 8 clients");
}

#[test]
fn an_open_loop_that_kept_up_and_whose_calls_waited_for_clients_had_too_few() {
    let mut trial = quiet(sample_documents::open_trial());
    on_postgres(&mut trial);
    trial.overall.call_counts.due -= trial.overall.call_counts.dropped;
    trial.overall.call_counts.dropped = 0;
    wait(&mut trial, |budget| &mut budget.client_wait_ns);
    check("saturation", &trial, Warning, "too few for this rate");
    trial.overall.budget.as_mut().unwrap().client_wait_ns = 0.0;
    check("saturation", &trial, Fine, "the requested rate");
}

#[test]
fn without_observed_processes_no_one_is_called_full() {
    after(|trial| trial.processes.clear(), "saturation", Warning, "no process was observed");
}

#[test]
fn a_pace_that_sets_the_rate_is_named() {
    is_silent("think-cap", &direct());
    let mut trial = quiet(sample_documents::paced_trial());
    check("think-cap", &trial, Fine, "waiting for answers");
    trial.plan.clients = 1_000;
    check("think-cap", &trial, Info, "99 % of their time keying and thinking");
    check("little", &trial, Fine, "of 1,000 clients");
}

#[test]
fn clients_must_equal_throughput_times_response_time() {
    check("little", &direct(), Fine, "8.0 of 8 clients");
    after(|trial| trial.plan.clients = 16, "little", Warning, "clients spent 50 % of the time between calls");
    let mut trial = quiet(sample_documents::open_trial());
    check("little", &trial, Fine, "of 8 clients");
    trial.plan.clients = 4;
    check("little", &trial, Bad, "cannot be");
    // Calls that were queued and done later keep no client, however long that took.
    let mut trial = quiet(sample_documents::deferred_trial());
    for (index, kind) in trial.kinds.iter_mut().enumerate() {
        // What deliveries no longer take of the clients' time, the others do.
        let factor = if index == 3 { 9.0 } else { 1.06 };
        kind.tally.latency.iter_mut().for_each(|latency| latency.response.mean_ns *= factor);
    }
    check("little", &trial, Fine, "clients and times agree");
    // Without the times of its calls nothing can be said.
    let mut trial = direct();
    trial.kinds.iter_mut().for_each(|kind| kind.tally.latency.clear());
    trial.overall.latency.clear();
    is_silent("little", &trial);
}

#[test]
fn outcomes_that_the_workload_does_not_plan_are_shown() {
    check("outcome-mix", &direct(), Fine, "declined 1.0 % of new-order, which the workload plans for");
    let decline = |trial: &mut Trial, part: f64| {
        let declined = (trial.overall.call_counts.started as f64 * part) as u64;
        trial.kinds[1].tally.call_counts.declined += declined;
        trial.kinds[1].tally.call_counts.committed -= declined;
    };
    after(|trial| decline(trial, 0.01), "outcome-mix", Info, "does not plan for");
    after(|trial| decline(trial, 0.06), "outcome-mix", Warning, "6.0 % of the calls were declined");
    check("outcome-mix", &sample_documents::open_trial().trials[0], Warning, "dropped");
}

#[test]
fn limits_of_the_workload_are_held() {
    check("limits", &direct(), Fine, "all 5 limits");
    after(
        |trial| trial.efficiency = Some(Efficiency::tpcc(7.5, 1)),
        "limits",
        Warning,
        "7.5 per warehouse is outside 9 to 12.86",
    );
    after(
        |trial| trial.kinds[3].limit = Some(Limit::new(5_000_000_000, None)),
        "limits",
        Info,
        "1 of 5 limits",
    );
    let mut trial = direct();
    trial.kinds.iter_mut().for_each(|kind| kind.limit = None);
    is_silent("limits", &trial);
}

/// Scales what was committed in the measured slices by a factor of their time.
fn reshape(trial: &mut Trial, factor: impl Fn(f64) -> f64) {
    for slice in trial.slices.iter_mut().filter(|slice| !slice.warmup) {
        for kind in &mut slice.kinds {
            kind.committed = (kind.committed as f64 * factor(slice.t_s)) as u64;
        }
    }
}

#[test]
fn a_rate_that_did_not_hold_is_not_steady() {
    check("steady", &direct(), Fine, "the rate was steady over 60 slices");
    check("steady", &sample_documents::trial().trials[0], Warning, "3 of 60 slices ran 20 %");
    after(
        |trial| reshape(trial, |t_s| 1.0 - 0.4 * t_s / 60.0),
        "steady",
        Warning,
        "the rate drifted and ended",
    );
    after(
        |trial| reshape(trial, |t_s| if t_s < 40.0 { 1.0 } else { 0.7 }),
        "steady",
        Warning,
        "from 40 s on the rate was 30 % lower",
    );
    after(|trial| trial.slices.truncate(15), "steady", Info, "5 slices are too few");
    // The warm-up may be as slow as it likes, and a short rest at the end is not a slice.
    let mut trial = direct();
    trial.slices.iter_mut().filter(|slice| slice.warmup).for_each(|slice| slice.kinds.clear());
    let rest = trial.slices.last_mut().unwrap();
    rest.duration_s = 0.1;
    rest.kinds.clear();
    check("steady", &trial, Fine, "the rate was steady over 59 slices");
}

#[test]
fn work_that_is_not_known_or_not_done_is_said() {
    check("fingerprint", &direct(), Fine, "new-order 36");
    let work = |commits, statements| CallWork { attempts: 1.0, statements, rows: 1.0, commits, http: None };
    let warns = |change: &dyn Fn(&mut Trial), words: &str| {
        after(change, "fingerprint", Warning, words);
    };
    warns(&|trial| trial.kinds[1].tally.work = Some(work(0.0, 0.0)), "behind payment are not known");
    warns(&|trial| trial.kinds[1].tally.work = Some(work(0.9, 5.6)), "payment 1 attempts and 0.9 commits");
}

#[test]
fn gaps_in_the_comparison_key_are_named() {
    check("key", &direct(), Fine, "fields that a comparison needs are known");
    let gap = |change: fn(&mut Trial), words: &str| after(change, "key", Warning, words);
    gap(|trial| trial.stack.style.clear(), "the style");
    gap(|trial| trial.stack.route = "http".to_owned(), "the server");
    gap(|trial| trial.stack.settings.clear(), "the engine's settings");
    gap(|trial| trial.machine.kernel = "unknown".to_owned(), "the operating system");
}

#[test]
fn durability_in_memory_is_not_taken_at_its_word() {
    check("durability", &direct(), Fine, "every commit flushed");
    after(
        |trial| trial.stack.durability.tier = Tier::Delayed,
        "durability",
        Info,
        "may lose the last moments",
    );
}

#[test]
fn percentiles_without_enough_calls_are_named() {
    let count =
        |trial: &mut Trial, kind: usize, count| trial.kinds[kind].tally.latency[0].response.count = count;
    after(|trial| count(trial, 3, 900), "min-samples", Info, "p99 is not shown for delivery (900)");
    check("min-samples", &direct(), Info, "p99.9 is not shown for order-status");
    check("min-samples", &sample_documents::long_trial().trials[0], Fine, "at least ten calls");
}

#[test]
fn times_that_cannot_be_are_not_used() {
    check("monotone", &direct(), Fine, "percentiles rise");
    check("monotone", &sample_documents::open_trial().trials[0], Fine, "percentiles rise");
    let change = |change: fn(&mut Quantiles)| {
        move |trial: &mut Trial| change(&mut trial.kinds[0].tally.latency[0].response)
    };
    let bad = |change: &dyn Fn(&mut Trial), words: &str| after(change, "monotone", Bad, words);
    bad(&change(|times| times.max_ns = times.p90_ns.unwrap()), "percentiles fall");
    bad(&change(|times| times.mean_ns = times.max_ns as f64 * 1.1), "the mean exceeds");
    bad(
        &|trial| {
            let latency = &mut trial.kinds[0].tally.latency[0];
            latency.service = Some(Quantiles { mean_ns: latency.response.mean_ns * 1.1, ..latency.response });
        },
        "service exceeds response time of new-order",
    );
    // A histogram rounds up to 1 %, so its percentiles may pass the exact maximum by that much.
    let mut trial = direct();
    change(|times| times.max_ns = times.p999_ns.unwrap() * 995 / 1_000)(&mut trial);
    check("monotone", &trial, Fine, "percentiles rise");
}

#[test]
fn a_process_held_back_by_its_limit_is_named() {
    let limited = |throttled_periods| {
        move |trial: &mut Trial| {
            trial.processes[0].limits = Some(Limits {
                cpu: Some(4.0),
                memory_bytes: None,
                throttling: Some(Throttling { periods: 600, throttled_periods, throttled_s: 12.0 }),
            });
        }
    };
    is_silent("throttled", &direct());
    after(limited(0), "throttled", Fine, "no process was throttled");
    after(limited(540), "saturation", Info, "the limit is likely what sets");
}

#[test]
fn what_is_full_at_a_rate_that_is_kept_does_not_hide_that_it_is() {
    let mut trial = direct();
    trial.plan.arrivals = Arrivals::Constant { rate_per_s: 2_000.0 };
    trial.processes[0].limits = Some(Limits { cpu: Some(1e-3), memory_bytes: None, throttling: None });
    let call_counts = trial.overall.call_counts;
    trial.overall.call_counts =
        CallCounts { conflict: 0, refused: 0, in_doubt: 0, dropped: 0, ..call_counts };
    let kept = "the requested rate was met; ";
    check("saturation", &trial, Info, kept);
    check("saturation", &trial, Info, "the limit is likely what sets");
    trial.overall.call_counts.refused = call_counts.due / 3;
    let found = super::saturation::saturation(&trial).unwrap().sentence;
    assert!(!found.contains(kept) && found.contains("the limit is likely what sets"), "{found}");
}

/// An engine whose sessions were seen in these states, each for its share of the time.
pub(crate) fn sampled(waits: &[(&str, f64)]) -> Engine {
    let wait =
        |(name, share): &(&str, f64)| Wait { name: (*name).to_owned(), share: *share, sessions: Vec::new() };
    Engine { waits: waits.iter().map(wait).collect(), samples: 600, ..Engine::default() }
}

/// A counter of the engine: what it grew by, and its growth a second, a step.
pub(crate) fn counter(name: &str, total: Option<f64>, values: Vec<Option<f64>>) -> Gauge {
    Gauge { name: name.to_owned(), total, values, ..Gauge::default() }
}

#[test]
fn what_the_engines_sessions_wait_for_is_named() {
    let with = |name: &'static str| {
        move |trial: &mut Trial| {
            on_postgres(trial);
            trial.engine = Some(sampled(&[(name, 0.7), ("running", 0.3)]));
        }
    };
    after(with("IO:WALSync"), "saturation", Info, "waiting for the log to be flushed");
    after(with("Lock:transactionid"), "saturation", Info, "waiting for row locks of other sessions");
}

#[test]
fn the_generators_share_of_the_machine_is_told() {
    check("co-located", &direct(), Info, "are one process");
    let mut trial = through_http();
    check("co-located", &trial, Info, "the generator took 11 %");
    trial.processes[0].cpu_user_s = 1.2 * trial.measured_s;
    trial.processes[1].cpu_user_s = 2.4 * trial.measured_s;
    check("co-located", &trial, Warning, "the system did not have the whole machine");
    trial.processes.truncate(1);
    check("co-located", &trial, Info, "no process of the system under test was observed");
    trial.data.remote = true;
    check("co-located", &trial, Info, "the engine is on another machine");
    trial.data.remote = false;
    wait_for_nothing(&mut trial);
    check("saturation", &trial, Info, "nothing else was observed");
}

#[test]
fn others_on_the_machine_are_noticed() {
    check("noisy-machine", &direct(), Fine, "1.3 % of the machine");
    let noisy = |change: fn(&mut Trial), words: &str| after(change, "noisy-machine", Warning, words);
    noisy(|trial| trial.machine.other_load_share = Some(0.1), "outside the trial used 10.0 %");
    after(
        |trial| (trial.machine.steal_share, trial.machine.other_load_share) = (None, None),
        "noisy-machine",
        Info,
        "not observed",
    );
}

#[test]
fn what_the_kernel_writes_back_fills_processors_and_is_no_stranger_s_load() {
    let mut trial = through_http();
    let measured_s = trial.measured_s;
    trial.processes[1].cpu_user_s = 2.4 * measured_s;
    let writeback = trial.writeback.as_mut().expect("the sample has it");
    writeback.cpu_s = Some(1.2 * measured_s);
    check("saturation", &trial, Info, "the kernel's writeback and journals 1.2");
    check("saturation", &trial, Info, "this is likely the maximum throughput");
    check("noisy-machine", &trial, Fine, "1.3 % of the machine");
    // What cannot be seen is in what others took.
    trial.writeback.as_mut().expect("as above").cpu_s = None;
    trial.machine.other_load_share = Some(0.3);
    check("saturation", &trial, Warning, "other processes used");
}

/// With one warehouse nothing is remote; that is not a reason to doubt the rest.
#[test]
fn a_check_that_the_data_cannot_decide_is_no_missing_check() {
    let mut document = sample_documents::trial();
    document.trials[0].audits[3].check = Check::Inconclusive;
    let rule = super::judge(&document.trials[0]).into_iter().find(|rule| rule.name == "audit").unwrap();
    assert_eq!(rule.severity, Fine);
    assert!(rule.sentence.contains("1 inconclusive"), "{}", rule.sentence);
}

#[test]
fn a_disk_that_commits_wait_for_is_named() {
    let full = |trial: &mut Trial| {
        let disk = trial.disk.as_mut().expect("the sample has one");
        (disk.busy_share, disk.flush_ms_mean) = (0.97, Some(9.5));
        let budget = trial.overall.budget.as_mut().expect("the sample has one");
        budget.commit_ns = 10.0 * budget.response_ns;
        budget.response_ns *= 11.0;
    };
    after(full, "saturation", Info, "the disk nvme0n1 was busy 97 % of the time, a flush 9.5 ms");
    // Busy with someone else's writes: the calls do not wait for it.
    let others = |trial: &mut Trial| {
        trial.disk.as_mut().expect("the sample has one").busy_share = 0.97;
        let budget = trial.overall.budget.as_mut().expect("the sample has one");
        budget.commit_ns = 0.0;
    };
    after(others, "saturation", Info, "one writer");
}
