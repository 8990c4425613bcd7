//! What may be compared with each other.

use super::*;
use crate::rules::{ENGINE_SETTING, intended_by, intended_by_all};
use result::{Arrivals, CallWork, Gauge, Limits, Setting, StatementPlan, Tier};

/// A direct trial and one through HTTP of the sample comparison.
fn pair() -> (Trial, Trial) {
    let trials = sample_documents::comparison().trials;
    let first = |route: &str| trials.iter().find(|trial| trial.stack.route == route).unwrap().clone();
    (first("direct"), first("http"))
}

/// Two equal trials, of which the second is changed.
fn changed(change: impl FnOnce(&mut Trial)) -> (Trial, Trial) {
    let (a, _) = pair();
    let mut b = a.clone();
    change(&mut b);
    (a, b)
}

fn same(a: &Trial, b: &Trial, intended: &[&str]) -> Comparability {
    comparable(&[a], &[b], intended)
}

#[test]
fn a_comparison_of_routes_differs_in_what_a_route_is() {
    let (a, b) = pair();
    let found = same(&a, &b, intended_by("route"));
    let fields: Vec<&str> = found.key.iter().map(|difference| difference.field.as_str()).collect();
    assert_eq!(fields, ["stack.route", "stack.server"]);
    assert!(found.key.iter().all(|difference| difference.intended));
    assert_eq!(found.verdict(Verdict::Worse), Verdict::Worse);
    let unnamed = same(&a, &b, &[]);
    assert_eq!(unnamed.verdict(Verdict::Worse), Verdict::NotComparable);
}

#[test]
fn every_field_of_the_key_makes_different_work() {
    type Change = fn(&mut Trial);
    let changes: [(&str, Change); 45] = [
        ("stack.engine", |t| t.stack.engine.push('x')),
        ("stack.engine_version", |t| t.stack.engine_version.insert(0, '9')),
        ("stack.adapter", |t| t.stack.adapter.push('x')),
        ("stack.adapter_version", |t| t.stack.adapter_version.insert(0, '9')),
        ("stack.style", |t| t.stack.style.push('x')),
        ("stack.route", |t| t.stack.route.push('x')),
        ("stack.server", |t| t.stack.server = Some("go".into())),
        ("stack.isolation", |t| t.stack.isolation.push('x')),
        ("stack.durability.tier", |t| t.stack.durability.tier = Tier::Volatile),
        ("stack.durability.detail", |t| t.stack.durability.detail.push('x')),
        ("stack.settings.cache_size", |t| t.stack.settings[2].value.push('x')),
        ("plan.clients", |t| t.plan.clients += 1),
        ("plan.generator_threads", |t| t.plan.generator_threads += 1),
        ("plan.arrivals", |t| t.plan.arrivals = Arrivals::Poisson { rate_per_s: 5.0 }),
        ("plan.mix", |t| t.plan.mix.push(result::Share { kind: "payment".into(), share: 1.0 })),
        ("plan.warmup_s", |t| t.plan.warmup_s += 1.0),
        ("plan.measured_s", |t| t.plan.measured_s += 1.0),
        ("plan.calls", |t| t.plan.calls = Some(1_000)),
        ("plan.drain_s", |t| t.plan.drain_s += 1.0),
        ("plan.deadline_ns", |t| t.plan.deadline_ns += 1),
        ("plan.attempts_max", |t| t.plan.attempts_max += 1),
        ("plan.seed", |t| t.plan.seed += 1),
        ("plan.deferred", |t| t.plan.deferred = true),
        ("data.workload", |t| t.data.workload.push('x')),
        ("data.scale", |t| t.data.scale += 1),
        ("data.stores", |t| t.data.stores = sample_documents::two_stores()),
        ("data.rows", |t| t.data.rows += 1),
        ("data.bytes", |t| t.data.bytes = t.data.bytes.map(|bytes| bytes * 2)),
        ("data.file_system", |t| t.data.file_system = None),
        ("data.checksum", |t| t.data.checksum = None),
        ("data.loaded_by", |t| t.data.loaded_by.push('x')),
        ("data.references", |t| t.data.references = Some(true)),
        ("rates.mostly_declined", |t| {
            t.kinds[0].tally.call_counts.declined = 10 * t.kinds[0].tally.call_counts.committed
        }),
        ("limits.engine", |t| t.processes[0].limits = half_a_processor()),
        ("machine.cpu", |t| t.machine.cpu.push('x')),
        ("machine.cores", |t| t.machine.cores += 1),
        ("machine.memory_bytes", |t| t.machine.memory_bytes += 1),
        ("machine.kernel", |t| t.machine.kernel.push('x')),
        ("machine.os", |t| t.machine.os.push('x')),
        ("machine.governor", |t| t.machine.governor = Some("powersave".into())),
        ("data.mount_options", |t| t.data.mount_options = Some("nobarrier,rw".to_owned())),
        ("machine.affinity", |t| t.machine.affinity = Some("0,2".to_owned())),
        ("machine.smt", |t| t.machine.smt = Some("off".to_owned())),
        ("machine.huge_pages", |t| t.machine.huge_pages = Some("never".to_owned())),
        ("machine.shares_by_session", |t| t.machine.shares_by_session = Some(false)),
    ];
    for (field, change) in changes {
        let (a, b) = changed(change);
        let found = same(&a, &b, &[]);
        // One process makes the load and stores the data here, and one limit holds both.
        let shared = if field == "limits.engine" { 2 } else { 1 };
        assert_eq!(found.key.len(), shared, "{field}: {:?}", found.key);
        assert_eq!(found.key[shared - 1].field, field);
        assert!(found.different_work, "{field}");
        let intended: &[&str] = if shared == 2 { intended_by("limits") } else { &[field] };
        assert!(!same(&a, &b, intended).different_work, "{field} cannot be intended");
    }
    let (a, b) = changed(|_| {});
    assert_eq!(same(&a, &b, &[]), Comparability { key: vec![], fingerprint: vec![], different_work: false });
}

#[test]
fn plans_of_statements_that_both_sides_have_are_compared_as_they_were_before_the_load() {
    let (mut a, mut b) = changed(|_| {});
    let plan = |statement: &str, plan: &str| StatementPlan {
        statement: statement.to_owned(),
        plan: plan.to_owned(),
        later: None,
    };
    a.stack.plans = vec![plan("read_stock", "Seq Scan on stock"), plan("read_item", "Index Scan on item")];
    assert!(!same(&a, &b, &[]).different_work, "those of one side are not known");
    b.stack.plans = a.stack.plans.clone();
    // It changed within a trial: a rule says so.
    b.stack.plans[1].later = Some("Seq Scan on item".to_owned());
    assert!(!same(&a, &b, &[]).different_work);
    b.stack.plans[0].plan = "Index Scan using stock_pkey on stock".to_owned();
    let found = same(&a, &b, &[]);
    let [difference] = &found.key[..] else { panic!("{:?}", found.key) };
    assert_eq!(difference.field, "stack.plans.read_stock");
    assert!(found.different_work);
    for factor in
        [ENGINE_SETTING.to_owned() + "random_page_cost", "settings".into(), "stack.plans.read_stock".into()]
    {
        assert!(!same(&a, &b, &intended_by_all([factor.as_str()])).different_work, "{factor}");
    }
    b.stack.engine = "mariadb".to_owned();
    let fields: Vec<String> = same(&a, &b, &[]).key.into_iter().map(|difference| difference.field).collect();
    assert_eq!(fields, ["stack.engine"], "another engine words its plans in its own way");
}

fn half_a_processor() -> Option<Limits> {
    Some(Limits { cpu: Some(0.5), memory_bytes: Some(1 << 30), throttling: None })
}

#[test]
fn limits_of_several_engines_are_compared_and_told_once_where_they_agree() {
    let with = |limits: [Option<Limits>; 2]| {
        let (_, mut trial) = changed(|_| {});
        trial.processes[0].roles = vec![result::Role::Engine];
        trial.processes[0].limits = limits[0];
        trial.processes.push(trial.processes[0].clone());
        trial.processes.last_mut().unwrap().limits = limits[1];
        trial
    };
    let limits = |a, b| same(&with(a), &with(b), &[]).key;
    assert_eq!(limits([half_a_processor(); 2], [half_a_processor(); 2]), []);
    let [found] = &limits([half_a_processor(); 2], [half_a_processor(), None])[..] else { panic!() };
    assert_eq!(found.field, "limits.engine");
    assert_eq!((&*found.a, &*found.b), ("0.50 cores, 1 GiB", "0.50 cores, 1 GiB; none"));
}

#[test]
fn what_a_factor_changes_is_intended_and_the_rest_is_not() {
    type Change = fn(&mut Trial);
    fn set(trial: &mut Trial, name: &str, value: &str) {
        trial.stack.settings.retain(|setting| setting.name != name);
        trial.stack.settings.push(Setting { name: name.to_owned(), value: value.to_owned() });
    }
    let changes: [(&str, Change); 15] = [
        ("pool", |t| set(t, "sessions", "1")),
        ("cache", |t| set(t, "cache_bytes", "2097152")),
        ("cache", |t| set(t, "innodb_buffer_pool_size", "134217728")),
        ("journal", |t| {
            set(t, "journal_mode", "delete");
            t.stack.durability.detail.push_str(", journal");
        }),
        ("storage", |t| set(t, "storage_sync_ms", "2")),
        ("limits", |t| t.processes[0].limits = half_a_processor()),
        ("settings", |t| set(t, "work_mem", "64MB")),
        ("durability", |t| {
            set(t, "synchronous_commit", "off");
            t.stack.durability.tier = Tier::Delayed;
        }),
        ("style", |t| t.kinds[0].tally.work.as_mut().unwrap().commits = 0.2),
        ("style", |t| {
            t.stack.style = "unprepared".to_owned();
            set(t, "protocol", "extended");
        }),
        ("style", |t| {
            t.stack.style = "saga".to_owned();
            set(t, "relay batch", "64");
            set(t, "relay connections", "1");
        }),
        ("orm", |t| {
            t.stack.adapter = "sqlalchemy".to_owned();
            t.stack.style = "orm".to_owned();
            let work = t.kinds[0].tally.work.as_mut().unwrap();
            work.statements += 4.0;
            work.rows += 40.0;
        }),
        ("clients", |t| {
            t.plan.clients = 32;
            set(t, "sessions", "32");
        }),
        ("shards", |t| {
            t.data.stores = sample_documents::two_stores();
            t.data.rows += 1;
            t.data.bytes = t.data.bytes.map(|bytes| bytes * 2);
            set(t, "stores", "2");
            set(t, "shard-1 cache_size", "2000");
            set(t, "relay batch", "64");
        }),
        ("engine", |t| {
            t.stack.engine = "postgres".to_owned();
            t.stack.adapter = "tokio-postgres".to_owned();
            t.stack.isolation = "read committed".to_owned();
            t.stack.settings.clear();
            set(t, "shared_buffers", "1GB");
            t.data.bytes = Some(1);
            t.kinds[0].tally.work.as_mut().unwrap().statements += 4.0;
        }),
    ];
    for (factor, change) in changes {
        let (a, b) = changed(change);
        let found = same(&a, &b, intended_by(factor));
        assert!(!found.different_work, "{factor}: {found:?}");
        for other in ["route", "rate"] {
            assert!(same(&a, &b, intended_by(other)).different_work, "{factor} passes for {other}");
        }
    }
}

#[test]
fn two_styles_with_a_relay_must_have_the_same_one() {
    let with_batch = |style: &str, batch: &str| {
        let (mut trial, _) = changed(|_| {});
        trial.stack.style = style.to_owned();
        trial.stack.settings.push(Setting { name: "relay batch".to_owned(), value: batch.to_owned() });
        trial
    };
    let (saga, log_first) = (with_batch("saga", "64"), with_batch("log-first", "64"));
    assert!(!same(&saga, &log_first, intended_by("style")).different_work);
    assert!(same(&saga, &with_batch("log-first", "9"), intended_by("style")).different_work);
}

#[test]
fn another_engine_must_keep_the_tier_the_plan_and_the_commits() {
    let spoilers: [fn(&mut Trial); 3] = [
        |t| t.stack.durability.tier = Tier::Delayed,
        |t| t.plan.clients = 16,
        |t| t.kinds[0].tally.work.as_mut().unwrap().commits = 0.5,
    ];
    for spoil in spoilers {
        let (a, b) = changed(spoil);
        assert!(same(&a, &b, intended_by("engine")).different_work);
    }
}

#[test]
fn several_factors_intend_what_each_of_them_does() {
    let (a, b) = changed(|trial| {
        trial.stack.route = "http".to_owned();
        trial.plan.clients = 32;
        trial.plan.seed = 9;
    });
    let found = same(&a, &b, &intended_by_all(["route", "clients", "plan.seed"]));
    assert!(!found.different_work, "{found:?}");
    assert!(same(&a, &b, &intended_by_all(["route", "clients"])).different_work);
    assert_eq!(intended_by_all(["several factors"]), [""; 0]);
}

#[test]
fn settings_are_compared_by_name_and_may_be_missing() {
    let (a, b) = changed(|trial| trial.stack.settings.reverse());
    assert_eq!(key_differences(&a, &b, &[]), []);
    let (a, b) = changed(|trial| drop(trial.stack.settings.remove(2)));
    for (a, b, values) in [(&a, &b, ("32 MiB", "not set")), (&b, &a, ("not set", "32 MiB"))] {
        let found = key_differences(a, b, &["stack.settings.*"]);
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].a.as_str(), found[0].b.as_str()), values);
        assert!(found[0].intended);
    }
}

/// A server of someone else's names settings as it likes, says in its own words how it isolates and keeps commits, and brings another
/// patch of a library.
#[test]
fn what_a_server_does_not_report_or_says_in_other_words_is_no_difference() {
    let mut sides = pair();
    // What Stackmark says is not what a server reports.
    sides.0.stack.settings.retain(|setting| setting.name != "connections");
    let (b, settings) = (&mut sides.1.stack, sides.0.stack.settings.clone());
    assert!(!settings.is_empty());
    b.settings = vec![Setting { name: "own".to_owned(), value: "1".to_owned() }];
    b.durability.detail = "journal=WAL".to_owned();
    let level = sides.0.stack.isolation.split([';', '(']).next().unwrap().trim();
    b.isolation = format!("{} (by default)", level.to_uppercase().replace(' ', "-"));
    let fields = |(a, b): &(Trial, Trial)| -> Vec<(String, bool)> {
        let key = same(a, b, intended_by("route")).key;
        key.into_iter().map(|difference| (difference.field, difference.intended)).collect()
    };
    let of_route = [("stack.route".to_owned(), true), ("stack.server".to_owned(), true)];
    assert_eq!(fields(&sides), of_route);
    // What it does report is compared.
    sides.1.stack.settings = vec![Setting { value: "other".to_owned(), ..settings[0].clone() }];
    let setting = format!("stack.settings.{}", settings[0].name);
    assert!(fields(&sides).contains(&(setting, false)), "{:?}", fields(&sides));
    // What Stackmark says of it is a difference where only one has it.
    sides.1.stack.settings = vec![Setting { name: "storage".to_owned(), value: "sync +2 ms".to_owned() }];
    assert!(fields(&sides).contains(&("stack.settings.storage".to_owned(), false)), "{:?}", fields(&sides));
    // The same of two direct routes is a difference.
    let (a, b) = changed(|trial| trial.stack.settings.clear());
    assert!(same(&a, &b, &[]).different_work);
}

#[test]
fn another_patch_of_a_library_is_shown_and_no_reason_against_a_comparison() {
    let versions = |engine: &str, a: &str, b: &str| {
        let (mut a_side, mut b_side) = changed(|_| {});
        for (trial, version) in [(&mut a_side, a), (&mut b_side, b)] {
            (trial.stack.engine, trial.stack.engine_version) = (engine.to_owned(), version.to_owned());
        }
        same(&a_side, &b_side, &[])
    };
    let found = versions("sqlite", "3.51.0", "3.51.3");
    assert!(found.key.len() == 1 && !found.different_work, "{found:?}");
    assert!(versions("sqlite", "3.50.4", "3.51.0").different_work);
    // A server brings its own.
    let (mut a, mut b) = pair();
    (a.stack.engine, a.stack.engine_version) = ("sqlite".to_owned(), "3.40.1".to_owned());
    (b.stack.engine, b.stack.engine_version) = ("sqlite".to_owned(), "3.51.3".to_owned());
    assert!(!same(&a, &b, intended_by("route")).different_work);
    assert!(versions("postgres", "15.13", "15.14").different_work);
    let adapters = |a: &str, b: &str| {
        let (mut a_side, mut b_side) = changed(|_| {});
        (a_side.stack.adapter_version, b_side.stack.adapter_version) = (a.to_owned(), b.to_owned());
        same(&a_side, &b_side, &[]).different_work
    };
    assert!(!adapters("0.37.0", "0.37.1") && !adapters("2.1.9 (asyncmy 0.2.18)", "2.1.10 (asyncmy 0.2.19)"));
    assert!(adapters("2.0.36 (psycopg 3.1.0)", "2.0.40 (psycopg 3.9.0)") && adapters("16.2", "16.3"));
    assert!(adapters("0.37.0", "0.38.0") && adapters("7", "8") && adapters("1.2", "1.3"));
}

#[test]
fn files_that_grew_by_a_step_hold_the_same_data() {
    let (a, b) = changed(|trial| trial.data.bytes = trial.data.bytes.map(|bytes| bytes + bytes / 50));
    assert_eq!(key_differences(&a, &b, &[]), []);
}

#[test]
fn a_side_that_changes_between_its_own_trials_is_found() {
    let (a, b) = pair();
    let mut later = b.clone();
    later.plan.seed = 7;
    let intended = intended_by("route");
    assert!(
        !comparable(&[&a, &a], &[&b, &later], intended).different_work,
        "each block has a seed of its own"
    );
    later.stack.server = Some("another build".to_owned());
    let found = comparable(&[&a, &a], &[&b, &later, &later], intended);
    assert_eq!(found.key.last().unwrap().field, "stack.server, within B");
    assert_eq!(found.key.iter().filter(|difference| !difference.intended).count(), 1);
    assert!(found.different_work);
}

/// What the fingerprints say after New-Order's work was changed on B, with `committed` calls on each side.
fn fingerprint(committed: u64, change: impl FnOnce(&mut CallWork)) -> Vec<String> {
    let (mut a, _) = pair();
    a.kinds[0].tally.call_counts.committed = committed;
    let mut b = a.clone();
    change(b.kinds[0].tally.work.as_mut().unwrap());
    let found = fingerprint_differences(&[&a], &[&b]);
    assert!(found.iter().all(|difference| difference.kind == "new-order"));
    found.into_iter().map(|difference| difference.measure).collect()
}

#[test]
fn one_statement_more_is_other_work_and_chance_is_not() {
    let none: [&str; 0] = [];
    assert_eq!(fingerprint(40_000, |work| work.statements += 1.0), ["statements"]);
    assert_eq!(fingerprint(40_000, |work| work.statements *= 1.004), none);
    // A hundred New-Orders differ by more than that in their number of lines.
    assert_eq!(fingerprint(100, |work| work.statements += 1.0), none);
    assert_eq!(fingerprint(100, |work| work.statements *= 2.0), ["statements"]);
    assert_eq!(fingerprint(40_000, |work| work.rows *= 1.015), none);
    assert_eq!(fingerprint(40_000, |work| work.rows *= 1.06), ["rows"]);
    assert_eq!(fingerprint(100, |work| work.commits = 0.98), ["commits"]);
}

#[test]
fn trying_again_is_contention_and_not_other_work() {
    let again = |work: &mut CallWork| {
        work.attempts = 1.5;
        work.statements *= 1.5;
        work.rows *= 1.5;
    };
    assert_eq!(fingerprint(40_000, again), [""; 0]);
    // Most attempts that meet a conflict have hardly begun.
    assert_eq!(fingerprint(40_000, |work| work.attempts = 1.2), [""; 0]);
    // More than all attempts together can explain.
    let more = |work: &mut CallWork| {
        work.attempts = 1.2;
        work.statements *= 1.5;
    };
    assert_eq!(fingerprint(40_000, more), ["statements"]);
}

#[test]
fn more_trials_know_the_work_better() {
    let (mut a, _) = pair();
    a.kinds[0].tally.call_counts.committed = 4_000;
    let mut b = a.clone();
    b.kinds[0].tally.work.as_mut().unwrap().statements += 0.6;
    assert_eq!(fingerprint_differences(&[&a], &[&b]), []);
    assert_eq!(fingerprint_differences(&[&a; 9], &[&b; 9]).len(), 1);
}

#[test]
fn a_side_that_does_not_tell_its_work_is_not_shown_to_do_the_same() {
    let (a, b) = changed(|trial| trial.kinds[0].tally.work = None);
    let found = same(&a, &b, &[]);
    assert_eq!(found.fingerprint.len(), 3);
    assert_eq!(found.fingerprint[0].b, 0.0);
    assert!(found.different_work);
    // A kind that one side never committed is shown by the call counts instead.
    let (a, b) = changed(|trial| trial.kinds[0].tally.call_counts.committed = 0);
    assert_eq!(same(&a, &b, &[]).fingerprint, []);
}

/// Two trials with the same calls whose engine counted `log` and `pages` for each.
fn counted(log: [f64; 2], pages: [f64; 2]) -> [Trial; 2] {
    [0, 1].map(|side| {
        let mut trial = sample_documents::engine_trial().trials.remove(0);
        let calls = trial.committed();
        let engine = trial.engine.as_mut().unwrap();
        let like = engine.gauges[0].clone();
        let gauge =
            |name: &str, total: f64| Gauge { name: name.to_owned(), total: Some(total), ..like.clone() };
        engine.gauges =
            vec![gauge("wal written", log[side] * calls), gauge("buffer reads", pages[side] * calls)];
        trial
    })
}

#[test]
fn how_long_a_warm_up_may_get_matters_where_it_may() {
    let [a, mut b] = counted([7_200.0; 2], [0.0; 2]);
    b.plan.warmup_max_s = Some(90.0);
    let fields: Vec<String> = key_differences(&a, &b, &[]).into_iter().map(|found| found.field).collect();
    assert_eq!(fields, ["plan.warmup_max_s"]);
    // SQLite counts no log that a warm-up could wait for.
    let (a, b) = changed(|trial| trial.plan.warmup_max_s = Some(90.0));
    assert_eq!(key_differences(&a, &b, &[]), []);
}

#[test]
fn log_and_reads_of_the_engine_are_work_too() {
    let found = |log, pages| {
        let [a, b] = counted(log, pages);
        fingerprint_differences(&[&a, &a], &[&b]).iter().map(FingerprintDifference::words).collect::<Vec<_>>()
    };
    assert_eq!(
        found([7_200.0, 15_400.0], [1.5, 2.2]),
        ["log bytes per call of all kinds", "pages read per call of all kinds"]
    );
    assert_eq!(found([7_200.0, 8_200.0], [1.5, 1.8]), [""; 0]);
    // The slower side reads no more pages, only more for each of its fewer calls.
    let [a, mut b] = counted([7_200.0; 2], [1.5, 1.5]);
    b.overall.rate_per_s.value /= 2.0;
    assert_eq!(
        fingerprint_differences(&[&a], &[&b])
            .iter()
            .filter(|found| found.kind == "all kinds")
            .map(FingerprintDifference::words)
            .collect::<Vec<_>>(),
        ["log bytes per call of all kinds"]
    );
    // A page more in a thousand calls is another share and no other work.
    assert_eq!(found([7_200.0, 7_200.0], [0.001, 0.002]), [""; 0]);
    let [a, b] = counted([7_200.0, 15_400.0], [0.0, 0.0]);
    assert!(same(&a, &b, intended_by("route")).different_work);
    assert!(!same(&a, &b, intended_by("settings")).different_work);
    // An engine that does not count it says nothing.
    let mut b = b;
    b.engine = None;
    assert_eq!(fingerprint_differences(&[&a], &[&b]), []);
}

#[test]
fn work_may_differ_where_the_style_is_the_factor() {
    let (a, b) = changed(|trial| {
        trial.stack.style = "procedure".to_owned();
        trial.kinds[0].tally.work.as_mut().unwrap().statements = 1.0;
    });
    let found = same(&a, &b, intended_by("style"));
    assert_eq!(found.fingerprint.len(), 1);
    assert!(!found.different_work);
    assert!(same(&a, &b, &["stack.style"]).different_work);
}

#[test]
fn that_calls_share_commits_is_what_the_style_is() {
    let (a, b) = changed(|trial| {
        trial.stack.style = "grouped".to_owned();
        let most = Setting { name: "calls_a_commit_max".to_owned(), value: "64".to_owned() };
        trial.stack.settings.push(most);
        trial.kinds[0].tally.work.as_mut().unwrap().commits = 0.2;
    });
    assert!(!same(&a, &b, intended_by("style")).different_work);
    assert!(same(&a, &b, intended_by("durability")).different_work);
}
