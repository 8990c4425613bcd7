//! Sample trials.

use super::checks;
use super::shape::{Hump, quantiles, spectrum};
use model::random::Random;
use result::{
    AllDue, Arrivals, Budget, CallCounts, CallWork, Check, Class, Data, Deferred, Demand, Disk, Document,
    Durability, Efficiency, Engine, Gap, GapKind, Gauge, GaugeKind, Headline, HttpBytes, Interval, KindSlice,
    KindTally, Latency, Limit, Limits, Machine, MachineWide, MachineWideSample, Missing, Moment, Outage,
    Plan, Process, ProcessSample, Quantiles, Role, RunKind, SCHEMA, Setting, Slice, SloCheck, Stack, State,
    Statement, StatementPlan, Tally, Throttling, Tier, Trial, Wait, Writeback, WritebackSample,
};

/// Parts of a deck of 23 cards, name, share declined, median response in ms, statements a call.
const KINDS: [(&str, f64, f64, f64, f64); 5] = [
    ("new-order", 10.0, 0.01, 4.6, 36.4),
    ("payment", 10.0, 0.0, 4.1, 5.6),
    ("order-status", 1.0, 0.0, 0.31, 3.6),
    ("delivery", 1.0, 0.0, 6.2, 60.1),
    ("stock-level", 1.0, 0.0, 0.92, 2.0),
];

/// A closed-loop trial on embedded SQLite, everything in order.
pub fn trial() -> Document {
    document("trial", RunKind::Trial, vec![direct(1.0, 60)])
}

/// An hour of it.
pub fn long_trial() -> Document {
    document("long", RunKind::Trial, vec![direct(1.0, 3_600)])
}

/// The same with a failed audit and a defect.
pub fn failed_trial() -> Document {
    let mut trial = direct(1.0, 60);
    checks::fail(&mut trial.audits);
    trial.state = State::Failed;
    trial.failure = Some("a defect ended the trial after 41 s".to_owned());
    trial.defects = vec!["new-order: total 120.04 is not the sum of its lines".to_owned()];
    document("failed", RunKind::Trial, vec![trial])
}

/// An open-loop trial in which the system fell behind.
pub fn open_trial() -> Document {
    let mut trial = direct(1.0, 60);
    trial.plan.arrivals = Arrivals::Poisson { rate_per_s: 2_000.0 };
    for tally in trial.kinds.iter_mut().map(|kind| &mut kind.tally).chain([&mut trial.overall]) {
        for latency in &mut tally.latency {
            latency.service = Some(latency.response);
            latency.spectrum.iter_mut().for_each(|bucket| bucket.0 *= 3);
            latency.response = quantiles(&latency.spectrum);
        }
        tally.call_counts.dropped = tally.call_counts.due / 50;
        tally.call_counts.due += tally.call_counts.dropped;
        let (offered, backlog_after) = (tally.call_counts.due, tally.call_counts.dropped);
        trial.demand = Some(Demand { offered, backlog_after, ..trial.demand.unwrap_or_default() });
        tally.budget = tally.budget.map(|budget| {
            Budget {
                response_ns: budget.response_ns * 3.0,
                client_wait_ns: budget.response_ns * 2.0,
                ..budget
            }
            .balanced()
        });
    }
    let slo =
        |slo: &str, check, sentence: &str| SloCheck { slo: slo.into(), check, sentence: sentence.into() };
    trial.slos = vec![
        slo("rate>1000", Check::Passed, "1,960 committed calls/s"),
        slo("errors<1%", Check::Failed, "2,400 errors in 120,000 calls due (2.0 %)"),
        slo(
            "delivery.p99.9<2s",
            Check::Inconclusive,
            "delivery p99.9 is not known: 4,704 calls of the 10,000 that it takes",
        ),
    ];
    document("open", RunKind::Trial, vec![trial])
}

/// A paced trial, which may call its figure tpmC.
pub fn paced_trial() -> Document {
    let mut trial = direct(1.0, 60);
    trial.plan.arrivals = Arrivals::Paced { think: "spec".to_owned() };
    trial.headline = Headline::new_orders_per_min(interval(12.4, 0.03), true);
    trial.efficiency = Some(Efficiency::tpcc(12.4, 1));
    document("paced", RunKind::Trial, vec![trial])
}

/// A trial with deliveries queued.
pub fn deferred_trial() -> Document {
    let mut trial = direct(1.0, 60);
    trial.plan.deferred = true;
    let queued = trial.kinds[3].tally.call_counts.committed;
    let completion = quantiles(&spectrum(&[Hump { share: 1.0, median_ns: 9e6, width: 0.1 }], queued));
    trial.deferred = Some(Deferred {
        kind: "delivery".to_owned(),
        queued,
        done: queued - 2,
        failed: 0,
        waiting: 2,
        skipped: 14,
        completion,
        limit: Limit::new(80_000_000_000, completion.p90_ns),
    });
    document("deferred", RunKind::Trial, vec![trial])
}

/// A trial on PostgreSQL with commits acknowledged before they are on disk, an outage and a limit: everything that an
/// engine with processes of its own adds.
pub fn engine_trial() -> Document {
    let mut trial = direct(1.0, 60);
    trial.subject = "tpcc/postgres/tokio-postgres".to_owned();
    trial.stack.engine = "postgres".to_owned();
    trial.stack.engine_version = "15.20".to_owned();
    let plan = |statement: &str, plan: &str| StatementPlan {
        statement: statement.to_owned(),
        plan: plan.to_owned(),
        later: None,
    };
    trial.stack.plans = vec![
        plan("read_stock", "Index Scan using stock_pkey on stock"),
        StatementPlan {
            later: Some("Limit > Index Scan Backward using orders_customer on orders".to_owned()),
            ..plan("newest_order", "Limit > Sort > Seq Scan on orders")
        },
    ];
    trial.stack.durability =
        Durability { tier: Tier::Delayed, detail: "synchronous_commit=off".to_owned(), claimed: false };
    trial.data.tool_notes = vec!["history has a surrogate key".to_owned()];
    trial.processes[0].roles = vec![Role::Engine];
    trial.processes[0].limits = Some(Limits {
        cpu: Some(0.5),
        memory_bytes: Some(1 << 30),
        throttling: Some(Throttling { periods: 600, throttled_periods: 12, throttled_s: 0.3 }),
    });
    trial.outages = vec![Outage {
        missing: Missing::Everything,
        from_s: 31.2,
        to_s: Some(33.9),
        in_doubt: 8,
        refused: 120,
    }];
    trial.gaps = vec![Gap { kind: GapKind::Stalled, from_s: 12.0, duration_s: 0.7 }];
    let t_s: Vec<f64> = (-9..=60).map(f64::from).collect();
    // No one answers while the engine is away.
    let line = |value: f64| -> Vec<Option<f64>> {
        t_s.iter().map(|t| (!(32.0..34.0).contains(t)).then_some(value + (t * 7.0 % 5.0) / 10.0)).collect()
    };
    let wait = |name: &str, share, sessions| Wait { name: name.to_owned(), share, sessions: line(sessions) };
    trial.engine = Some(Engine {
        gauges: vec![Gauge {
            name: "wal written".to_owned(),
            group: "wal".to_owned(),
            unit: "bytes".to_owned(),
            kind: GaugeKind::Counter,
            total: Some(1.2e9),
            values: line(2e7),
        }],
        waits: vec![wait("running", 0.52, 3.1), wait("Lock:tuple", 0.31, 1.9), wait("IO:WALSync", 0.17, 1.0)],
        samples: 580,
        statements: vec![Statement {
            text: "select c_balance from customer where c_w_id = $1".to_owned(),
            calls: 41_000,
            total_ms: 2_100.0,
            rows: 41_000,
        }],
        other_sessions: None,
        missing_s: 2.0,
        t_s,
    });
    document("engine", RunKind::Trial, vec![trial])
}

/// A run that has written nothing but its beginning.
pub fn running() -> Document {
    let mut document = document("running", RunKind::Comparison, Vec::new());
    document.state = State::Running;
    document
}

pub(super) fn document(id: &str, kind: RunKind, trials: Vec<Trial>) -> Document {
    let mut subjects: Vec<String> = trials.iter().map(|trial| trial.subject.clone()).collect();
    subjects.dedup();
    Document {
        schema: SCHEMA.to_owned(),
        id: format!("20261120-230843-{id}"),
        started: Moment::from_unix(1_795_216_123),
        stackmark: "0.1.0".to_owned(),
        command: ["stackmark", "run", "tpcc/sqlite/rusqlite", "--clients", "8", "--duration", "60s"]
            .map(str::to_owned)
            .to_vec(),
        state: trials.first().map_or(State::Complete, |trial| trial.state),
        kind,
        subjects,
        trials,
        experiment: None,
        curve: None,
        search: None,
        drill: None,
        confirmation: None,
        notes: Vec::new(),
    }
}

/// A direct trial; `pace` scales its speed, `seconds` is the window.
pub(super) fn direct(pace: f64, seconds: u32) -> Trial {
    make("tpcc/sqlite/rusqlite", stack(), pace, seconds, 0.0)
}

/// The same through HTTP.
pub(super) fn through_http(pace: f64, seconds: u32) -> Trial {
    let mut stack = stack();
    stack.route = "http".to_owned();
    stack.server = Some("stackmark-server 0.1.0 (axum 0.8.9)".to_owned());
    let mut trial = make("tpcc/sqlite/axum+rusqlite", stack, pace, seconds, 118_000.0);
    let (sent, received) = (412.0, 689.0);
    let tallies = trial.kinds.iter_mut().map(|kind| &mut kind.tally).chain([&mut trial.overall]);
    for tally in tallies {
        let per_s = tally.rate_per_s.value;
        let http = HttpBytes { sent, received, sent_per_s: sent * per_s, received_per_s: received * per_s };
        tally.work = tally.work.map(|work| CallWork { http: Some(http), ..work });
    }
    trial
}

fn stack() -> Stack {
    let setting = |name: &str, value: &str| Setting { name: name.to_owned(), value: value.to_owned() };
    Stack {
        engine: "sqlite".to_owned(),
        engine_version: "3.51.1".to_owned(),
        adapter: "rusqlite".to_owned(),
        adapter_version: "0.39.0".to_owned(),
        style: "plain".to_owned(),
        route: "direct".to_owned(),
        server: None,
        isolation: "serializable".to_owned(),
        durability: Durability {
            tier: Tier::Durable,
            detail: "journal_mode=wal, synchronous=full".to_owned(),
            claimed: false,
        },
        settings: vec![
            setting("journal_mode", "wal"),
            setting("synchronous", "full"),
            setting("cache_size", "32 MiB"),
            setting("wal_autocheckpoint", "1000 pages"),
            setting("connections", "8, one writer at a time"),
        ],
        plans: Vec::new(),
    }
}

fn interval(value: f64, part: f64) -> Interval {
    Interval { value, low: Some(value * (1.0 - part)), high: Some(value * (1.0 + part)) }
}

fn make(subject: &str, stack: Stack, pace: f64, seconds: u32, http_ns: f64) -> Trial {
    let clients = 8;
    let is_http = http_ns > 0.0;
    let humps = |median_ms: f64| {
        let median_ns = median_ms * 1e6 / pace + http_ns;
        [
            Hump { share: 0.965, median_ns, width: 0.035 },
            Hump { share: 0.035, median_ns: median_ns * 3.2, width: 0.05 },
        ]
    };
    let mean = |median_ms: f64| quantiles(&spectrum(&humps(median_ms), 100_000)).mean_ns;
    // A closed loop: clients = rate × mean response.
    let deck: f64 = KINDS.iter().map(|kind| kind.1).sum();
    let mean_all_s: f64 = KINDS.iter().map(|kind| kind.1 * mean(kind.3) / 1e9).sum::<f64>() / deck;
    let rate = f64::from(clients) / mean_all_s;
    let kinds: Vec<KindTally> = KINDS
        .iter()
        .map(|(name, cards, declined, median_ms, statements)| {
            let calls = (rate * cards / deck * f64::from(seconds)).round();
            kind(name, calls as u64, *declined, *statements, &humps(*median_ms), f64::from(seconds), http_ns)
        })
        .collect();
    let overall = total(&kinds, f64::from(seconds));
    let committed = overall.call_counts.committed;
    let new_orders = kinds[0].tally.call_counts.committed;
    let payments = kinds[1].tally.call_counts.committed;
    let per_min = new_orders as f64 * 60.0 / f64::from(seconds);
    Trial {
        subject: subject.to_owned(),
        started: Moment::from_unix(1_795_216_140),
        state: State::Complete,
        stack,
        plan: plan(clients, seconds),
        data: Data {
            mount_options: Some("relatime,rw".to_owned()),
            workload: "tpcc".to_owned(),
            scale: 1,
            scale_unit: "warehouses".to_owned(),
            rows: 598_921,
            bytes: Some(98_304_000),
            bytes_end: Some(121_634_816),
            file_system: Some("ext4".to_owned()),
            checksum: Some("xxh3:9f2c61d07a44e8b1".to_owned()),
            loaded_by: "stackmark 0.1.0".to_owned(),
            hottest_rows: Some(1),
            references: Some(false),
            ..Data::default()
        },
        machine: machine(),
        measured_s: f64::from(seconds),
        headline: Headline::new_orders_per_min(interval(per_min, 0.008), false),
        slices: slices(&kinds, seconds),
        processes: processes(is_http, committed, seconds),
        machine_speed: None,
        writeback: Some(writeback(committed, seconds)),
        machine_wide: Some(machine_wide(seconds)),
        disk: Some(Disk {
            device: "nvme0n1".into(),
            busy_share: 0.41,
            writes_per_s: 6_400.0,
            written_bytes_per_s: 52.0e6,
            flushes_per_s: Some(2_980.0),
            flush_ms_mean: Some(0.12),
        }),
        demand: Some(Demand {
            offered: overall.call_counts.due,
            accepted: overall.call_counts.started,
            backlog_after: overall.call_counts.dropped,
            ..Demand::default()
        }),
        overall,
        kinds,
        settled: None,
        audits: checks::audits(),
        ledger: checks::ledger(new_orders, payments),
        inputs: checks::inputs(committed),
        conformance: checks::conformance(),
        rules: checks::rules(),
        ..Trial::default()
    }
}

fn plan(clients: u32, seconds: u32) -> Plan {
    Plan {
        clients,
        generator_threads: 8,
        arrivals: Arrivals::Closed {},
        warmup_s: 10.0,
        measured_s: f64::from(seconds),
        drain_s: 5.0,
        deadline_ns: 10_000_000_000,
        attempts_max: 10,
        seed: 42,
        ..Plan::default()
    }
}

fn machine() -> Machine {
    Machine {
        cpu: "AMD EPYC 9B14".to_owned(),
        cores: 4,
        memory_bytes: 24 << 30,
        kernel: "6.1.0-41-cloud-amd64".to_owned(),
        os: "Debian GNU/Linux 12".to_owned(),
        virtualised: Some("kvm".to_owned()),
        shares_by_session: Some(true),
        affinity: Some("0-3".to_owned()),
        smt: Some("on".to_owned()),
        huge_pages: Some("madvise".to_owned()),
        steal_share: Some(0.002),
        other_load_share: Some(0.011),
        ..Machine::default()
    }
}

fn kind(
    name: &str,
    calls: u64,
    declined: f64,
    statements: f64,
    humps: &[Hump],
    seconds: f64,
    http_ns: f64,
) -> KindTally {
    let declined = (calls as f64 * declined) as u64;
    let committed = calls - declined;
    let latency = |class, count| {
        let spectrum = spectrum(humps, count);
        Latency { class, response: quantiles(&spectrum), service: None, spectrum }
    };
    let mut classes = vec![latency(Class::Committed, committed)];
    if declined > 0 {
        classes.push(latency(Class::Declined, declined));
    }
    let response_ns = classes[0].response.mean_ns;
    let writes = name != "order-status" && name != "stock-level";
    let p90_max_ns = if name == "stock-level" { 20_000_000_000 } else { 5_000_000_000 };
    let statements_ns = (statements * 13_000.0 + 90_000.0).min(response_ns * 0.8);
    let commit_ns = if writes { 310_000.0 } else { 6_000.0 };
    let inside = 9_000.0 + statements_ns + commit_ns + http_ns;
    let budget = Budget {
        response_ns,
        network_ns: http_ns * 0.55,
        server_queue_ns: http_ns * 0.27,
        encode_ns: http_ns * 0.18,
        pool_wait_ns: (response_ns - inside - 6_000.0).max(0.0),
        begin_ns: 9_000.0,
        statements_ns,
        commit_ns,
        ..Budget::default()
    };
    let budget = budget.balanced();
    let sent = match name {
        "new-order" => [("read_stock", 10), ("update_stock", 10), ("insert_order_line", 10)],
        "delivery" => [("carry_order", 10), ("deliver_lines", 10), ("credit_customer", 10)],
        _ => [("customers_by_name", 1), ("read_customer", 1), ("pay_customer", 1)],
    };
    let clocked = |calls| super::clocked::clocked(calls, &budget, sent);
    let facets = match name {
        "payment" | "order-status" => {
            super::clocked::facets(committed, |count| quantiles(&spectrum(humps, count)), budget, clocked)
        }
        _ => Vec::new(),
    };
    KindTally {
        clocked: Some(clocked(committed)),
        facets,
        name: name.to_owned(),
        headline: name == "new-order",
        declined_max: if declined > 0 { 0.05 } else { 0.0 },
        writes: true,
        limit: Some(Limit::new(p90_max_ns, classes[0].response.p90_ns)),
        tally: Tally {
            call_counts: CallCounts {
                due: calls,
                started: calls,
                committed,
                declined,
                attempts: calls,
                ..CallCounts::default()
            },
            rate_per_s: interval(committed as f64 / seconds, 0.008),
            all_due: Some(all_due(&classes[0].response)),
            latency: classes,
            work: Some(CallWork {
                attempts: 1.0,
                statements,
                rows: statements * 1.4,
                commits: 1.0,
                http: None,
            }),
            budget: Some(budget),
        },
    }
}

fn total(kinds: &[KindTally], seconds: f64) -> Tally {
    let mut call_counts = CallCounts::default();
    let (mut spectra, mut weighted) = (Vec::new(), Vec::new());
    for tally in kinds.iter().map(|kind| &kind.tally) {
        call_counts.due += tally.call_counts.due;
        call_counts.started += tally.call_counts.started;
        call_counts.committed += tally.call_counts.committed;
        call_counts.declined += tally.call_counts.declined;
        call_counts.attempts += tally.call_counts.attempts;
        spectra.extend(tally.latency[0].spectrum.iter().map(|bucket| (bucket.upper_ns(), bucket.count())));
        weighted.extend(tally.budget.map(|budget| (budget, tally.call_counts.committed as f64)));
    }
    spectra.sort_unstable();
    let spectrum = result::Bucket::spectrum(spectra);
    let response = quantiles(&spectrum);
    Tally {
        call_counts,
        rate_per_s: interval(call_counts.committed as f64 / seconds, 0.007),
        latency: vec![Latency { class: Class::Committed, response, service: None, spectrum }],
        all_due: Some(all_due(&response)),
        work: Some(CallWork { attempts: 1.0, statements: 21.1, rows: 29.5, commits: 1.0, http: None }),
        budget: Budget::mean(weighted),
    }
}

/// Percentiles over all calls that were due, where each was committed.
fn all_due(response: &Quantiles) -> AllDue {
    let Quantiles { count, p50_ns, p90_ns, p95_ns, p99_ns, p999_ns, .. } = *response;
    AllDue { calls: count, unanswered: 0, p50_ns, p90_ns, p95_ns, p99_ns, p999_ns }
}

fn slices(kinds: &[KindTally], seconds: u32) -> Vec<Slice> {
    let mut random = Random::stream(42, &[7]);
    let factors: Vec<(i32, f64)> = (-10..seconds as i32)
        .map(|t| {
            let slow = if (31..34).contains(&t) { 0.76 } else { 1.0 };
            let warm = if t < 0 { 1.0 - 0.5 * (f64::from(-t) / 10.0).powi(2) } else { 1.0 };
            (t, slow * warm * (0.97 + 0.06 * random.below(1_000) as f64 / 1_000.0))
        })
        .collect();
    // The rate is the mean of its slices.
    let measured = factors.iter().filter(|(t, _)| *t >= 0).map(|(_, factor)| factor);
    let mean = measured.sum::<f64>() / f64::from(seconds.max(1));
    factors
        .into_iter()
        .map(|(t, factor)| {
            let warmup = t < 0;
            let kinds = kinds.iter().map(|kind| kind_slice(&kind.tally, factor / mean)).collect();
            Slice { t_s: f64::from(t), duration_s: 1.0, warmup, kinds }
        })
        .collect()
}

fn kind_slice(tally: &Tally, factor: f64) -> KindSlice {
    let times = tally.latency[0].response;
    let slower = |ns: u64, power: i32| Some((ns as f64 / factor.powi(power)) as u64);
    KindSlice {
        committed: (tally.rate_per_s.value * factor) as u64,
        declined: u64::from(tally.call_counts.declined > 0) * 8,
        faults: 0,
        p50_ns: slower(times.p50_ns.unwrap_or(0), 1),
        p99_ns: slower(times.p99_ns.unwrap_or(0), 3),
        max_ns: slower(times.max_ns, 4),
    }
}

/// Every 100 ms, as the processes.
fn machine_wide(seconds: u32) -> MachineWide {
    let sample = |i: u32| MachineWideSample {
        t_s: f64::from(i) / 10.0,
        context_switches_per_s: 21_400.0 + f64::from(i % 7) * 310.0,
        network_bytes_per_s: Some(6.2e6),
        merged_requests_per_s: Some(f64::from(i % 3) * 40.0),
    };
    MachineWide {
        context_switches_per_s: 22_330.0,
        network_bytes_per_s: Some(6.2e6),
        merged_requests_per_s: Some(40.0),
        samples: (0..seconds * 10).map(sample).collect(),
    }
}

fn writeback(committed: u64, seconds: u32) -> Writeback {
    let cores = 0.06;
    let cpu_s = cores * f64::from(seconds);
    let sample = |t: i32| WritebackSample {
        t_s: f64::from(t),
        cores_busy: cores * f64::from(t * 37 % 11).abs() / 5.0,
    };
    Writeback {
        cpu_s: Some(cpu_s),
        cpu_ms_per_1000_committed: Some(cpu_s * 1e6 / committed as f64),
        samples: (-10..seconds as i32).map(sample).collect(),
    }
}

fn processes(is_http: bool, committed: u64, seconds: u32) -> Vec<Process> {
    let process = |roles: Vec<Role>, name: &str, pid, cores: f64, rss_mib: u64| {
        let cpu_s = cores * f64::from(seconds);
        Process {
            roles,
            name: name.to_owned(),
            pid,
            cpu_user_s: cpu_s * 0.71,
            cpu_system_s: cpu_s * 0.29,
            cpu_ms_per_1000_committed: Some(cpu_s * 1e6 / committed as f64),
            run_queue_s: Some(cpu_s * 0.08),
            busiest_thread_s: Some(cpu_s * 0.4),
            rss_peak_bytes: rss_mib << 20,
            switches_voluntary: Some(committed * 3),
            switches_involuntary: Some(committed / 40),
            io_read_bytes: Some(0),
            io_written_bytes: Some(committed * 21_000),
            samples: (-10..seconds as i32)
                .map(|t| ProcessSample {
                    t_s: f64::from(t),
                    cores_busy: cores * (1.0 + 0.05 * f64::from((t * 37 % 11) - 5) / 5.0),
                    rss_bytes: (rss_mib - 4) << 20,
                })
                .collect(),
            limits: None,
        }
    };
    if is_http {
        vec![
            process(vec![Role::Generator], "stackmark", 4_211, 0.16, 21),
            process(vec![Role::Server, Role::Engine], "stackmark serve", 4_218, 1.29, 64),
        ]
    } else {
        vec![process(vec![Role::Generator, Role::Engine], "stackmark", 4_211, 1.21, 58)]
    }
}

/// What each of two stores holds.
pub fn two_stores() -> Vec<result::StoreData> {
    let store = |shard: u64, bytes| result::StoreData {
        name: format!("shard-{shard}"),
        rows: 550_000 + shard,
        bytes,
        checksum: Some(format!("xxh3:00{shard}")),
    };
    vec![store(0, Some(7_340_032)), store(1, None)]
}
