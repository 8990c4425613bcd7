//! For each suspect one factor to change, and what must follow if it is the right one. The table is in
//! `docs/measuring.md`.

use crate::plan::Variant;
use deploy::subjects::{self, Route};
use drive::{Arrivals, RatePerSecond};
use model::Tier;
use result::{Process, Role, Suspect, Trial};

/// What opening a bottleneck gives at least.
const GAIN_MIN: f64 = 1.1;
/// What is left of a resource that is capped. Where it was full, throughput follows in proportion.
const LEFT: f64 = 0.5;
/// How far throughput may be below and above that proportion, as shares of it.
const BELOW_MAX: f64 = 0.25;
const ABOVE_MAX: f64 = 0.2;
/// What half the clients still do at least, where they only wait for each other.
const KEPT_MIN: f64 = 0.9;
/// What half as much again of what was asked for gives at least, where only that sets the rate.
const RATE_GAIN_MIN: f64 = 1.3;
/// Most sessions that a server may have.
const POOL_MAX: u32 = 4_096;

/// The base with one factor changed.
#[derive(Debug)]
pub struct Change {
    /// The changed side.
    pub variant: Variant,
    /// `8 sessions instead of 1`.
    pub words: String,
    /// What throughput must do.
    pub expected: Expected,
    /// What a reader must know of the changed side.
    pub loud: Option<String>,
}

/// What must follow, as a ratio of throughputs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Expected {
    /// Grow to so many times as much.
    AtLeast(f64),
    /// As large as what is left of the resource.
    Proportion(f64),
}

impl Expected {
    /// The least and the most.
    pub fn bounds(self) -> (Option<f64>, Option<f64>) {
        match self {
            Expected::AtLeast(min) => (Some(min), None),
            Expected::Proportion(left) => (Some(left * (1.0 - BELOW_MAX)), Some(left * (1.0 + ABOVE_MAX))),
        }
    }
}

/// What tells whether `suspect` limits throughput of `base`, whose `trial` it was seen in.
pub fn of(suspect: Suspect, trial: &Trial, base: &Variant) -> Result<Change, String> {
    match suspect {
        Suspect::Pool => more_sessions(base),
        Suspect::CommitFlush => fewer_flushes(base),
        Suspect::Clients => more_clients(base),
        Suspect::Limit => higher_limit(trial, base),
        Suspect::GeneratorCpu => more_generator(base),
        Suspect::Writer | Suspect::Lock => half_the_clients(base),
        Suspect::EngineCpu => less_engine(trial, base),
        Suspect::ServerCpu => less_server(trial, base),
        // Whoever is there to be held back; an embedded engine shares its process with the clients.
        Suspect::AllCores => {
            less_engine(trial, base).or_else(|_| less_server(trial, base)).or_else(|_| half_the_clients(base))
        }
        Suspect::OfferedLoad => higher_pace(base),
        Suspect::ServerThread => more_threads(base),
        Suspect::OtherPrograms => Err("other programs used the CPU; stop them".into()),
        Suspect::Unknown => Err("nothing that was observed stands out".into()),
    }
}

fn changed(base: &Variant, words: String, asked: (&str, String), expected: Expected) -> Change {
    let mut variant = Variant { name: words.clone(), base: Some(0), ..base.clone() };
    variant.asked.retain(|(name, _)| name != asked.0);
    variant.asked.push((asked.0.into(), asked.1));
    Change { variant, words, expected, loud: None }
}

fn is_served(base: &Variant) -> bool {
    subjects::find(&base.subject).is_ok_and(|subject| subject.route() == Route::Http)
}

fn more_sessions(base: &Variant) -> Result<Change, String> {
    let sessions = base.plan.workers.min(POOL_MAX);
    if !is_served(base) || sessions <= base.pool {
        return Err("there are as many sessions as clients already".into());
    }
    let words = format!("{sessions} sessions instead of {}", base.pool);
    let mut change = changed(base, words, ("pool", sessions.to_string()), Expected::AtLeast(GAIN_MIN));
    change.variant.pool = sessions;
    Ok(change)
}

fn more_threads(base: &Variant) -> Result<Change, String> {
    let ours = subjects::find(&base.subject).is_ok_and(|subject| subject.speaks_through_ours());
    if !ours || !is_served(base) {
        return Err(
            "how many threads a server uses is its own setting: run more processes of it, or fewer clients"
                .into(),
        );
    }
    let threads = base.server_threads * 2;
    let words = format!("{threads} server threads instead of {}", base.server_threads);
    let mut change =
        changed(base, words, ("server-threads", threads.to_string()), Expected::AtLeast(GAIN_MIN));
    change.variant.server_threads = threads;
    Ok(change)
}

fn fewer_flushes(base: &Variant) -> Result<Change, String> {
    let delayed = Tier::Delayed.to_string();
    if !base.spec.named.is_empty() {
        return Err(
            "what a database of --db flushes is its own setting, and is not changed behind its user's back"
                .into(),
        );
    }
    if base.spec.durability == delayed {
        return Err("commits are not flushed one by one as it is".into());
    }
    let words = "commits flushed later".to_owned();
    let mut change = changed(base, words, ("durability", delayed.clone()), Expected::AtLeast(GAIN_MIN));
    let spec = &mut change.variant.spec;
    spec.durability = delayed;
    let kept = spec.options.split('&').filter(|option| !option.starts_with("synchronous="));
    spec.options = kept.collect::<Vec<_>>().join("&");
    change.loud = Some(
        "The changed side acknowledges commits before they are on disk, only to show what flushing costs: a crash may lose \
         the last of them, and its throughput is not a valid result."
            .into(),
    );
    Ok(change)
}

fn clients(base: &Variant, workers: u32, expected: Expected) -> Change {
    let words = format!("{workers} clients instead of {}", base.plan.workers);
    let mut change = changed(base, words, ("clients", workers.to_string()), expected);
    // A pool that no one asked for follows the clients.
    if base.pool == base.plan.workers && base.asked.iter().all(|(name, _)| name != "pool") {
        change.variant.pool = workers;
    }
    change.variant.plan.workers = workers;
    change
}

fn more_clients(base: &Variant) -> Result<Change, String> {
    let doubled = base.plan.workers.saturating_mul(2);
    Ok(clients(base, doubled, Expected::AtLeast(GAIN_MIN)))
}

fn half_the_clients(base: &Variant) -> Result<Change, String> {
    match base.plan.workers / 2 {
        0 => Err("there is only one client".into()),
        half => Ok(clients(base, half, Expected::AtLeast(KEPT_MIN))),
    }
}

fn more_generator(base: &Variant) -> Result<Change, String> {
    let threads = base.plan.runtimes.saturating_mul(2);
    let words = format!("{threads} threads of the load generator instead of {}", base.plan.runtimes);
    let asked = ("generator-threads", threads.to_string());
    let mut change = changed(base, words, asked, Expected::AtLeast(GAIN_MIN));
    change.variant.plan.runtimes = threads;
    change.variant.factors = vec!["plan.generator_threads".into()];
    Ok(change)
}

fn higher_pace(base: &Variant) -> Result<Change, String> {
    let faster = |rate: RatePerSecond| RatePerSecond(rate.0 * 1.5);
    let (arrivals, words, expected) = match base.plan.arrivals {
        Arrivals::Constant(rate) => {
            (Arrivals::Constant(faster(rate)), format!("a rate of {}/s", faster(rate).0), RATE_GAIN_MIN)
        }
        Arrivals::Poisson(rate) => {
            (Arrivals::Poisson(faster(rate)), format!("a rate of {}/s", faster(rate).0), RATE_GAIN_MIN)
        }
        Arrivals::Paced => (Arrivals::Closed, "no keying and think times".to_owned(), RATE_GAIN_MIN),
        Arrivals::Closed => return Err("no rate and no think time was requested".into()),
    };
    let asked = ("arrivals", words.clone());
    let mut change = changed(base, words, asked, Expected::AtLeast(expected));
    change.variant.plan.arrivals = arrivals;
    Ok(change)
}

/// A process that does nothing but `role`.
fn process(trial: &Trial, role: Role) -> Option<&Process> {
    trial
        .processes
        .iter()
        .find(|process| process.roles.contains(&role) && !process.roles.contains(&Role::Generator))
}

fn higher_limit(trial: &Trial, base: &Variant) -> Result<Change, String> {
    let limited =
        trial.processes.iter().find(|process| process.limits.is_some_and(|limits| limits.cpu.is_some()));
    let Some(process) = limited else { return Err("no limit on CPU time is known".into()) };
    let of_server = process.roles.contains(&Role::Server);
    let text = if of_server { &base.server_limits } else { &base.spec.limits };
    let Some(limits) = text.as_deref().and_then(|text| text.parse::<rig::Limits>().ok()) else {
        return Err("the limit is not one of this run's own".into());
    };
    let Some(cpu) = limits.cpu else { return Err("no limit on CPU time is known".into()) };
    let raised = rig::Limits { cpu: Some(cpu * 2.0), ..limits };
    let words = format!("a limit of {} cores instead of {cpu} for the {}", cpu * 2.0, process.roles_words());
    let mut change = changed(base, words, ("limit", raised.to_string()), Expected::AtLeast(GAIN_MIN));
    if of_server {
        change.variant.server_limits = Some(raised.to_string());
    } else {
        change.variant.spec.limits = Some(raised.to_string());
    }
    Ok(change)
}

/// Half of the processors that a process could have had: those that it used and those that were idle. Half of what it
/// *used* would slow down anything, also who only sleeps or waits for locks; half of what was there holds back only
/// who had filled it.
fn halved(trial: &Trial, role: Role) -> Result<(rig::Limits, String), String> {
    let who = if role == Role::Server { "server" } else { "engine" };
    let measured_s = trial.measured_s.max(f64::MIN_POSITIVE);
    let used = process(trial, role).map_or(0.0, |process| process.cpu_s() / measured_s);
    let cores = f64::from(trial.machine.cores);
    let of_processes: f64 = trial.processes.iter().map(|process| process.cpu_s() / measured_s).sum();
    let machine = &trial.machine;
    let of_others = cores * (machine.steal_share.unwrap_or(0.0) + machine.other_load_share.unwrap_or(0.0));
    let of_kernel =
        trial.writeback.as_ref().and_then(|writeback| writeback.cpu_s).unwrap_or(0.0) / measured_s;
    let available = used + (cores - of_processes - of_kernel - of_others).max(0.0);
    let half = (available * LEFT * 100.0).round() / 100.0;
    if half < 0.05 || used * (1.0 + ABOVE_MAX) < available {
        return Err(format!(
            "the {who} used {used:.2} of the {available:.2} cores that it could have had, so that they were not full"
        ));
    }
    let words = format!("the {who} limited to {half:.2} cores, half of {available:.2}");
    Ok((rig::Limits { cpu: Some(half), mem: None }, words))
}

fn less_engine(trial: &Trial, base: &Variant) -> Result<Change, String> {
    if base.spec.engine == "sqlite" || !base.spec.named.is_empty() {
        return Err("the engine is not a process that is started here, so it cannot be limited".into());
    }
    if base.spec.limits.is_some() {
        return Err("the engine has a limit already".into());
    }
    let (limits, words) = halved(trial, Role::Engine)?;
    let mut change = changed(base, words, ("limit", limits.to_string()), Expected::Proportion(LEFT));
    change.variant.spec.limits = Some(limits.to_string());
    Ok(change)
}

fn less_server(trial: &Trial, base: &Variant) -> Result<Change, String> {
    if !is_served(base) {
        return Err("there is no server".into());
    }
    if base.server_limits.is_some() {
        return Err("the server has a limit already".into());
    }
    let (limits, words) = halved(trial, Role::Server)?;
    let mut change = changed(base, words, ("limit", limits.to_string()), Expected::Proportion(LEFT));
    change.variant.server_limits = Some(limits.to_string());
    Ok(change)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::factors;
    use deploy::EngineOptions;
    use deploy::Spec;
    use result::Writeback;
    use sql::Dialect;

    fn base(subject: &str, dialect: Dialect) -> Variant {
        Variant {
            name: "as asked".into(),
            subject: subject.into(),
            base: None,
            factors: Vec::new(),
            plan: drive::Plan { workers: 8, ..drive::Plan::default() },
            pool: 8,
            server_threads: 1,
            http: model::HttpOptions::default(),
            server_limits: None,
            relaying: deploy::RelayOptions::default(),
            spec: Spec::of_options(dialect, 1, &[], &EngineOptions::default()),
            through_checkpoints: false,
            whole: false,
            asked: Vec::new(),
        }
    }

    /// PostgreSQL behind the server, with a process each.
    fn served() -> (Trial, Variant) {
        let mut trial = sample_documents::comparison()
            .trials
            .into_iter()
            .find(|trial| trial.stack.route == "http")
            .unwrap();
        let mut engine = trial.processes[1].clone();
        engine.roles = vec![Role::Engine];
        trial.processes[1].roles = vec![Role::Server];
        trial.processes.push(engine);
        (trial, base("tpcc/postgres/axum+tokio-postgres", Dialect::Postgres))
    }

    /// The same on four processors of which generator, server and engine kept so many busy.
    fn busy(mut trial: Trial, cores: [f64; 3]) -> Trial {
        trial.machine.cores = 4;
        (trial.machine.steal_share, trial.machine.other_load_share) = (Some(0.0), Some(0.0));
        trial.writeback = None;
        for (process, cores) in trial.processes.iter_mut().zip(cores) {
            process.cpu_user_s = cores * trial.measured_s;
            process.cpu_system_s = 0.0;
        }
        trial
    }

    #[test]
    fn processors_that_the_kernel_s_writeback_took_were_not_to_be_had() {
        let (trial, base) = served();
        let mut trial = busy(trial, [0.5, 0.5, 2.3]);
        let cap =
            |trial: &Trial| of(Suspect::EngineCpu, trial, &base).map(|change| change.variant.spec.limits);
        trial.machine.other_load_share = Some(0.1);
        assert_eq!(cap(&trial).unwrap().as_deref(), Some("cpu=1.3"));
        trial.writeback = Some(Writeback {
            cpu_s: Some(0.2 * trial.measured_s),
            cpu_ms_per_1000_committed: None,
            samples: Vec::new(),
        });
        assert_eq!(cap(&trial).unwrap().as_deref(), Some("cpu=1.2"));
    }

    /// An engine whose calls take 1 ms of a processor, sleep so long and hold one lock for so long, and that keeps so many
    /// processors busy with what no call waits for. It has 64 clients.
    #[derive(Clone, Copy, Default)]
    struct Fake {
        sleep_s: f64,
        lock_s: f64,
        background: f64,
    }

    const CPU_S: f64 = 0.001;
    const CLIENTS: f64 = 64.0;
    const PROCESSORS: f64 = 4.0;

    impl Fake {
        /// Calls a second on so many processors; what no call waits for gives way.
        fn rate(self, processors: f64) -> f64 {
            let of_lock = if self.lock_s > 0.0 { 1.0 / self.lock_s } else { f64::INFINITY };
            (CLIENTS / (CPU_S + self.sleep_s + self.lock_s)).min(of_lock).min(processors / CPU_S)
        }

        /// What a cap says of it, where the generator and the server take nothing.
        fn confirmed(self) -> Result<bool, String> {
            let (trial, base) = served();
            let before = self.rate(PROCESSORS);
            let used = (before * CPU_S + self.background).min(PROCESSORS);
            let change = of(Suspect::EngineCpu, &busy(trial, [0.0, 0.0, used]), &base)?;
            let limits = change.variant.spec.limits.unwrap().parse::<rig::Limits>().unwrap();
            let ratio = self.rate(limits.cpu.unwrap()) / before;
            let (min, max) = change.expected.bounds();
            Ok(min.is_none_or(|min| ratio > min) && max.is_none_or(|max| ratio < max))
        }
    }

    #[test]
    fn only_an_engine_that_fills_its_processors_is_confirmed_by_a_cap() {
        let fake = Fake::default();
        assert_eq!(fake.confirmed(), Ok(true), "bound by cores");
        let full = Fake { sleep_s: 0.010, ..fake };
        assert_eq!(
            full.confirmed(),
            Ok(true),
            "it sleeps, with enough clients to fill the cores all the same"
        );
        // Half of what these used would have halved their rate, and confirmed what is not so.
        for idle in [
            Fake { sleep_s: 0.100, ..fake },
            Fake { lock_s: 0.001, ..fake },
            Fake { lock_s: 0.000_33, ..fake },
        ] {
            let why = idle.confirmed().unwrap_err();
            assert!(why.contains("were not full"), "{why}");
        }
        let spinning = Fake { lock_s: 0.001, background: 3.0, ..fake };
        assert_eq!(spinning.confirmed(), Ok(false), "bound by a lock, with full cores");
    }

    /// One factor is changed, with the direction that must follow.
    fn check(suspect: Suspect, trial: &Trial, base: &Variant, factor: &str, expected: Expected) -> Change {
        let change = of(suspect, trial, base).unwrap();
        let found = factors::between(base, &change.variant);
        assert_eq!(found, [factor], "{suspect:?}: {}", change.words);
        assert_eq!(change.expected, expected, "{suspect:?}");
        assert_eq!((change.variant.base, &change.variant.name), (Some(0), &change.words));
        change
    }

    #[test]
    fn every_suspect_has_one_factor_and_a_direction() {
        let (trial, http) = served();
        let gain = Expected::AtLeast(GAIN_MIN);
        let pooled = Variant { pool: 1, asked: vec![("pool".into(), "1".into())], ..http.clone() };
        let change = check(Suspect::Pool, &trial, &pooled, "pool", gain);
        assert_eq!((change.variant.pool, change.words.as_str()), (8, "8 sessions instead of 1"));
        let change = check(Suspect::CommitFlush, &trial, &http, "durability", gain);
        assert!(change.loud.is_some_and(|loud| loud.contains("not a valid result")));
        let change = check(Suspect::Clients, &trial, &http, "clients", gain);
        assert_eq!((change.variant.plan.workers, change.variant.pool), (16, 16));
        let kept = Expected::AtLeast(KEPT_MIN);
        assert_eq!(check(Suspect::Lock, &trial, &http, "clients", kept).variant.plan.workers, 4);
        check(Suspect::GeneratorCpu, &trial, &http, "plan.generator_threads", gain);
        // Each used 1.6 of 4 processors, the generator 0.6, and 0.2 were idle.
        let trial = busy(trial, [0.6, 1.6, 1.6]);
        let less = Expected::Proportion(LEFT);
        let change = check(Suspect::EngineCpu, &trial, &http, "limits", less);
        assert_eq!(change.variant.spec.limits.as_deref(), Some("cpu=0.9"));
        let change = check(Suspect::ServerCpu, &trial, &http, "limits", less);
        assert_eq!(change.variant.server_limits.as_deref(), Some("cpu=0.9"));
        check(Suspect::AllCores, &trial, &http, "limits", less);
        let mut open = http.clone();
        open.plan.arrivals = Arrivals::Poisson(RatePerSecond(200.0));
        let change = check(Suspect::OfferedLoad, &trial, &open, "rate", Expected::AtLeast(RATE_GAIN_MIN));
        assert_eq!(change.variant.plan.arrivals, Arrivals::Poisson(RatePerSecond(300.0)));

        let (mut trial, mut limited) = served();
        limited.server_limits = Some("cpu=0.5".into());
        trial.processes[1].limits =
            Some(result::Limits { cpu: Some(0.5), memory_bytes: None, throttling: None });
        let change = check(Suspect::Limit, &trial, &limited, "limits", gain);
        assert_eq!(change.variant.server_limits.as_deref(), Some("cpu=1"));
    }

    #[test]
    fn an_embedded_engine_is_changed_by_what_it_has() {
        let trial = sample_documents::trial().trials.remove(0);
        let base = base("tpcc/sqlite/rusqlite", Dialect::Sqlite);
        check(Suspect::CommitFlush, &trial, &base, "durability", Expected::AtLeast(GAIN_MIN));
        check(Suspect::Writer, &trial, &base, "clients", Expected::AtLeast(KEPT_MIN));
        check(Suspect::AllCores, &trial, &base, "clients", Expected::AtLeast(KEPT_MIN));
    }

    #[test]
    fn what_no_change_would_tell_is_said() {
        let trial = sample_documents::trial().trials.remove(0);
        let base = base("tpcc/sqlite/rusqlite", Dialect::Sqlite);
        let refused = |suspect, base: &Variant, words: &str| {
            let why = of(suspect, &trial, base).unwrap_err();
            assert!(why.contains(words), "{why}");
        };
        refused(Suspect::Unknown, &base, "nothing");
        refused(Suspect::Pool, &base, "as many sessions");
        refused(Suspect::EngineCpu, &base, "cannot be limited");
        refused(Suspect::Limit, &base, "no limit");
        refused(Suspect::OfferedLoad, &base, "no rate and no think time");
        let mut one = base.clone();
        one.plan.workers = 1;
        refused(Suspect::Writer, &one, "only one client");
        let mut named = base;
        named.spec.named = vec!["sqlite:mine.db".into()];
        refused(Suspect::CommitFlush, &named, "its own setting");
    }
}
