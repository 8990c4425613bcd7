//! What was full. "Maximum throughput" may only be said where something of the system under test was.
//!
//! From averages: a resource that is full for a part of the time only is not found. So what is said is "likely"; only a
//! second trial with one factor changed confirms it.

use super::load::{FULL, GENERATOR_HEAVY, Load, SHORTEST_S};
use super::room::Room;
use super::{bad, clients, fine, hint, note, warning, whole_percent};
use crate::figures;
use result::{Arrivals, Budget, BudgetPart, Process, Role, Rule, Suspect, Tier, Trial};

/// Share of the calls due that are left behind where a backlog grows; less is what is in flight at the end.
const BEHIND: f64 = 0.01;
/// Share of the response time from which one part of it is what the calls wait for.
const MOST: f64 = 0.5;

/// What is likely to set the throughput, and the sentence about it.
pub(crate) struct Limiter {
    pub(crate) suspect: Suspect,
    pub(crate) rule: Rule,
}

pub(super) fn saturation(trial: &Trial) -> Option<Rule> {
    let Limiter { suspect, rule } = find(trial)?;
    if matches!(suspect, Suspect::OfferedLoad | Suspect::GeneratorCpu | Suspect::Unknown)
        || !keeps_rate(trial)
    {
        return Some(rule);
    }
    Some(Rule { sentence: format!("the requested rate was met; {}", rule.sentence), ..rule })
}

/// The first that fits. What all calls queue for comes before what the few that are let through wait for. Each is weighed against
/// what calls and sessions of the engine say they wait for: where the two disagree, neither is named.
pub(crate) fn find(trial: &Trial) -> Option<Limiter> {
    if trial.measured_s < SHORTEST_S {
        return None;
    }
    let Some(load) = Load::of(trial) else {
        let rule = warning(
            "no process was observed, so it is unknown whether the system or the load generator limits throughput",
            "observe the processes (Linux), or vary the number of clients",
        )?;
        return Some(Limiter { suspect: Suspect::Unknown, rule });
    };
    let of = |suspect, rule: Option<Rule>| Some(full(suspect, rule?));
    let cores = |busy: Limiter| disagreement(&all_busy(&load), session_waits(trial)).unwrap_or(busy);
    of(Suspect::GeneratorCpu, generator(trial, &load))
        .or_else(|| limit(trial))
        .or_else(|| Some(cores(of(busiest(trial), processors(&load).filter(|_| !of_strangers(&load)))?)))
        .or_else(|| queue(trial))
        .or_else(|| server_thread(trial))
        .or_else(|| Some(cores(of(Suspect::AllCores, processors(&load))?)))
        .or_else(|| of(Suspect::CommitFlush, disk(trial)))
        .or_else(|| waits(trial))
        .or_else(|| writer(trial))
        .or_else(|| of(Suspect::Writer, lane_queue(trial)))
        .or_else(|| unsaturated(trial, &load))
}

/// Something that was full, whatever else it is that the rule says so.
fn full(suspect: Suspect, rule: Rule) -> Limiter {
    Limiter { suspect, rule: Rule { saturated: rule.saturated.or(Some(suspect)), ..rule } }
}

/// What was full and what was waited for, where there is such a wait: then neither is named. A session of the engine that waits for
/// a core does not count as waiting for anything else.
fn disagreement(found: &str, waited: Option<String>) -> Option<Limiter> {
    let sentence = format!("{found}, but {}: the evidence disagrees, so the bottleneck is unknown", waited?);
    let advice = "change one factor and compare: the durability or the disk for flushes, the scale for locks, the clients";
    Some(Limiter { suspect: Suspect::Unknown, rule: hint(sentence, advice)? })
}

/// What sessions of the engine mostly waited for.
fn session_waits(trial: &Trial) -> Option<String> {
    waited(trial).map(|(_, words)| words)
}

/// Calls that mostly waited for their commit, although a server in front of the engine was full.
fn commit_waits(trial: &Trial) -> Option<String> {
    let budget = trial.overall.budget.filter(|budget| flushes(trial, budget))?;
    Some(format!("calls spent {} of their time in commit", whole_percent(budget.share(BudgetPart::Commit))))
}

/// A server whose busiest thread used a whole core: more clients wait for the same thread.
fn server_thread(trial: &Trial) -> Option<Limiter> {
    let (process, share) = server_threads(trial).find(|(_, share)| *share >= FULL)?;
    let found = format!(
        "one thread of {} was busy {} of the time",
        process.roles_words(),
        whole_percent(share.min(1.0))
    );
    disagreement(&found, commit_waits(trial)).or_else(|| {
        let rule = hint(
            format!(
                "{found}, and a thread uses one core at most: this is likely the maximum throughput of one process of it"
            ),
            "run more threads or processes of the server: more clients would only wait longer",
        );
        Some(full(Suspect::ServerThread, rule?))
    })
}

/// Servers with more clients than cores that they keep busy, and the share of the time for which the busiest thread of each had a core.
/// A server that keeps a thread busy for each client takes more calls with more clients.
pub(super) fn server_threads(trial: &Trial) -> impl Iterator<Item = (&Process, f64)> {
    let measured_s = trial.measured_s.max(f64::MIN_POSITIVE);
    let servers = trial.processes.iter().filter(|process| process.roles.contains(&Role::Server));
    servers
        .filter(move |process| f64::from(trial.plan.clients) > (process.cpu_s() / measured_s).ceil())
        .filter_map(move |process| Some((process, process.busiest_thread_s? / measured_s)))
}

/// Whether strangers used most of what was used: then what the calls themselves queued for tells more than full processors.
fn of_strangers(load: &Load) -> bool {
    load.others > MOST * load.busy()
}

/// Whose CPU time is the most, of processors that are all busy: a part of the system where it has most of them.
fn busiest(trial: &Trial) -> Suspect {
    let all: f64 = trial.processes.iter().map(Process::cpu_s).sum();
    let most = |role: Role| {
        let own = trial.processes.iter().filter(|process| process.roles == [role]);
        own.map(Process::cpu_s).sum::<f64>() > MOST * all
    };
    match (most(Role::Server), most(Role::Engine)) {
        (true, _) => Suspect::ServerCpu,
        (_, true) => Suspect::EngineCpu,
        (false, false) => Suspect::AllCores,
    }
}

/// A generator with a process of its own that used all the CPU time that its threads could get.
fn generator(trial: &Trial, load: &Load) -> Option<Rule> {
    let most = f64::from(trial.plan.generator_threads).min(load.cores);
    if most <= 0.0 || load.generator < FULL * most {
        return None;
    }
    bad(
        format!(
            "load generator saturated ({} of {most} cores that its threads can use): it limits throughput",
            figures::trimmed(load.generator, 1)
        ),
        "give the generator more threads or a machine of its own",
    )
}

/// A process used all the CPU time that its limit gives it.
fn limit(trial: &Trial) -> Option<Limiter> {
    let limited = |process: &&Process| {
        let busy = process.cpu_s() / trial.measured_s.max(f64::MIN_POSITIVE);
        let limit = process.limits.and_then(|limits| limits.cpu);
        limit.is_some_and(|cpu| busy >= FULL * cpu) || throttled(process)
    };
    let process = trial.processes.iter().find(limited)?;
    let cpu = process.limits.and_then(|limits| limits.cpu);
    let found = format!(
        "{} used all the CPU time that its limit{} gives",
        process.roles_words(),
        cpu.map_or_else(String::new, |cpu| format!(" of {}", figures::cores(cpu)))
    );
    let waited = match process.roles.contains(&Role::Engine) {
        true => session_waits(trial),
        // The time of a commit includes that for which the scheduler held the server back.
        false if throttled(process) => None,
        false => commit_waits(trial),
    };
    disagreement(&found, waited).or_else(|| {
        let sentence = format!("{found}: the limit is likely what sets the maximum throughput");
        Some(full(Suspect::Limit, hint(sentence, "raise the limit and run again")?))
    })
}

/// Whether the scheduler held a process back in most of its periods.
fn throttled(process: &Process) -> bool {
    let met = process.limits.and_then(|limits| limits.throttling);
    met.is_some_and(|met| super::share(met.throttled_periods, met.periods) >= MOST)
}

/// What the engine's own sessions mostly waited for, and the sentence without its conclusion: flushes of the log, or what others held
/// locked.
fn waited(trial: &Trial) -> Option<(Suspect, String)> {
    let engine = trial.engine.as_ref()?;
    let flushing = engine.waiting(&crate::engine_findings::FLUSHES)?;
    let locked = crate::engine_findings::lock_waits(trial).unwrap_or(0.0);
    if flushing.max(locked) < MOST {
        return None;
    }
    let (suspect, share, what) = if locked > flushing {
        (Suspect::Lock, locked, "row locks of other sessions")
    } else {
        (Suspect::CommitFlush, flushing, "the log to be flushed")
    };
    let share = whole_percent(share.min(1.0));
    Some((suspect, format!("sessions of the engine spent {share} of their time waiting for {what}")))
}

fn waits(trial: &Trial) -> Option<Limiter> {
    let (suspect, waited) = waited(trial)?;
    let rule = if suspect == Suspect::Lock {
        hint(
            format!("{waited}: locks are likely what sets the maximum throughput"),
            &format!("load more {} and run again", trial.data.scale_unit),
        )
    } else {
        note(format!("{waited}: the disk is likely what sets the maximum throughput"))
    };
    Some(full(suspect, rule?))
}

/// All processors of the machine were busy.
fn processors(load: &Load) -> Option<Rule> {
    if load.busy() < FULL * load.cores {
        return None;
    }
    let found = all_busy(load);
    let taken = (load.generator + load.others) / load.busy();
    if taken >= GENERATOR_HEAVY {
        let rule = warning(
            format!(
                "{found}: other processes used {} of that; the system would be faster on an idle machine",
                whole_percent(taken)
            ),
            "run the generator on another machine, or keep the machine free of others",
        )?;
        return Some(Rule { saturated: Some(Suspect::OtherPrograms), ..rule });
    }
    note(format!("{found}: this is likely the maximum throughput on this machine"))
}

/// That they were, and who used them.
fn all_busy(load: &Load) -> String {
    let parts = [
        ("generator", load.generator),
        ("system", load.system),
        ("both in one process", load.shared),
        ("the kernel's writeback and journals", load.writeback),
        ("others", load.others),
    ];
    let parts: Vec<String> = parts
        .iter()
        .filter(|(_, cores)| *cores >= 0.05)
        .map(|(name, cores)| format!("{name} {}", figures::trimmed(*cores, 1)))
        .collect();
    format!("all {} cores of the machine were busy ({})", load.cores, parts.join(", "))
}

/// The device under the database had something to do all the time, and the calls waited for their commits.
pub(crate) fn disk(trial: &Trial) -> Option<Rule> {
    let disk = trial.disk.as_ref().filter(|disk| disk.busy_share >= FULL)?;
    let budget = trial.overall.budget?;
    let inside = budget.response_ns - budget.part_ns(BudgetPart::PoolWait);
    let flushing = budget.part_ns(BudgetPart::Commit) / inside.max(1.0);
    if flushing < MOST {
        return None;
    }
    let flush =
        disk.flush_ms_mean.map_or(String::new(), |ms| format!(", a flush {} ms", figures::trimmed(ms, 2)));
    note(format!(
        "the disk {} was busy {} of the time{flush}, and commits are {} of what the calls did: the disk is likely \
             what sets the maximum throughput",
        disk.device,
        whole_percent(disk.busy_share.min(1.0)),
        whole_percent(flushing)
    ))
}

/// The one writer of SQLite was busy, or as good as always wanted.
fn writer(trial: &Trial) -> Option<Limiter> {
    if trial.stack.engine != "sqlite" || trial.measured_s <= 0.0 {
        return None;
    }
    let lane = Lane::of(trial);
    let busy = lane.held_s / trial.measured_s;
    // In a closed loop whose writers spend all their time in the lane or waiting for it, handing it over is what its
    // remaining time goes into.
    let closed = trial.plan.arrivals == Arrivals::Closed {} && trial.plan.clients > 1;
    let wanted = if closed && lane.response_s > 0.0 { lane.wanted_s / lane.response_s } else { 0.0 };
    if busy < FULL && wanted < FULL {
        return None;
    }
    let stored = lane.held_s.max(f64::MIN_POSITIVE);
    let flushing = lane.commit_s > lane.statements_s;
    let (most, part) = if flushing { ("commit", lane.commit_s) } else { ("statements", lane.statements_s) };
    let found = if busy >= FULL {
        let whose =
            if trial.data.store_count() > 1 { "the one writer of each store" } else { "SQLite's one writer" };
        format!("{whose} was busy {} of the time", whole_percent(busy.min(1.0)))
    } else {
        format!(
            "writers spent {} of their time with SQLite's one write lane or waiting for it",
            whole_percent(wanted.min(1.0))
        )
    };
    let went = match (lane.shares_commits, flushing) {
        (false, _) => format!("{} of that in {most}", whole_percent(part / stored)),
        (true, true) => {
            let rest = whole_percent(part / trial.measured_s);
            format!("and up to {rest} of the lane's own time went into the commits that they share")
        }
        (true, false) => format!(
            "and {} of the lane's own time went into statements",
            whole_percent(part / trial.measured_s)
        ),
    };
    let rule =
        note(format!("{found}, {went}: the engine's one writer is saturated and likely limits throughput"))?;
    // A writer that mostly flushes would do more if it did not have to.
    let durable = trial.stack.durability.tier == Tier::Durable && !super::setting::in_memory(trial);
    let suspect = if flushing && durable { Suspect::CommitFlush } else { Suspect::Writer };
    Some(full(suspect, Rule { saturated: Some(Suspect::Writer), ..rule }))
}

/// What the calls did in the write lane, in seconds over all of them; of several stores in the lane of one, as a mean.
#[derive(Default)]
pub(super) struct Lane {
    /// In the lane, waiting for it, or waiting for the one that commits for them.
    wanted_s: f64,
    /// In the lane, of which there is one: no two calls at a time.
    pub(super) held_s: f64,
    statements_s: f64,
    /// Where commits are shared, the most that it can have been.
    commit_s: f64,
    response_s: f64,
    shares_commits: bool,
}

impl Lane {
    /// With several clients a kind that never waited for the lane doesn't use it: readers on a snapshot don't. A single
    /// client never waits, and with it every kind counts.
    pub(super) fn of(trial: &Trial) -> Lane {
        // Alone, a client shares with no one.
        let shares_commits = trial.stack.style == "grouped" && trial.plan.clients > 1;
        let mut lane = Lane { shares_commits, ..Lane::default() };
        for tally in trial.kinds.iter().map(|kind| &kind.tally) {
            let Some(budget) = tally.budget else { continue };
            if trial.plan.clients > 1 && budget.pool_wait_ns < 1e-3 * budget.response_ns {
                continue;
            }
            // A declined call holds the lane like a committed one, up to its rollback.
            let calls = (tally.call_counts.committed + tally.call_counts.declined) as f64;
            let seconds = |ns: f64| ns * calls / 1e9;
            let held_s = seconds(budget.begin_ns + budget.statements_ns);
            let commit_s = seconds(budget.commit_ns);
            lane.wanted_s += seconds(budget.pool_wait_ns) + held_s + commit_s;
            lane.held_s += held_s;
            lane.statements_s += seconds(budget.statements_ns);
            lane.commit_s += commit_s;
            lane.response_s += seconds(budget.response_ns);
        }
        // Each store has a lane of its own: what follows is of one, as a mean.
        let stores = trial.data.store_count() as f64;
        for sum in [
            &mut lane.wanted_s,
            &mut lane.held_s,
            &mut lane.statements_s,
            &mut lane.commit_s,
            &mut lane.response_s,
        ] {
            *sum /= stores;
        }
        if lane.shares_commits {
            // Calls of a group wait for their commit all at once, and others use the lane meanwhile: what is left of the
            // measured time is the most that commits can have taken of it.
            lane.commit_s = lane.commit_s.min(trial.measured_s - lane.held_s).max(0.0);
        } else {
            lane.held_s += lane.commit_s;
        }
        lane
    }
}

/// Calls mostly waited for something of which there is a fixed number. On SQLite what they wait for in the end is its
/// one write lane, whatever the number of sessions in front of it.
fn queue(trial: &Trial) -> Option<Limiter> {
    let budget = trial.overall.budget?;
    let (part, whose, what) = [
        (BudgetPart::ServerQueue, "a session of the server", "the number of sessions"),
        (BudgetPart::PoolWait, "a connection", "the number of connections"),
    ]
    .into_iter()
    .find(|(part, ..)| budget.share(*part) >= MOST)?;
    // With a session for each client none waits for one: what is left is the hand-over between threads.
    if part == BudgetPart::ServerQueue && !trial.plan.arrivals.is_open() && has_session_each(trial) {
        return None;
    }
    if trial.stack.engine == "sqlite" && (part == BudgetPart::PoolWait || writer(trial).is_some()) {
        return None;
    }
    let found =
        format!("calls spent {} of their time waiting for {whose}", whole_percent(budget.share(part)));
    // More sessions share a flush, but they wait for the same locks.
    let locked = waited(trial).filter(|(suspect, _)| *suspect == Suspect::Lock);
    disagreement(&found, locked.map(|(_, words)| words)).or_else(|| {
        let sentence = format!("{found}: {what} is saturated and likely limits throughput");
        Some(full(Suspect::Pool, hint(sentence, "increase it and run again")?))
    })
}

/// Whether a server has at least as many sessions as there are clients.
fn has_session_each(trial: &Trial) -> bool {
    let sessions = trial.stack.settings.iter().find(|setting| setting.name == "sessions");
    let sessions = sessions.and_then(|setting| setting.value.parse::<u32>().ok());
    sessions.is_some_and(|sessions| sessions >= trial.plan.clients)
}

/// What a connection to SQLite waits for is its write lane, of which there is one whatever the settings.
fn lane_queue(trial: &Trial) -> Option<Rule> {
    let waited = trial.overall.budget?.share(BudgetPart::PoolWait);
    if trial.stack.engine != "sqlite" || waited < MOST {
        return None;
    }
    note(format!(
        "calls spent {} of their time waiting for SQLite's one write lane: more writers would only wait longer",
        whole_percent(waited)
    ))
}

/// Nothing was full.
fn unsaturated(trial: &Trial, load: &Load) -> Option<Limiter> {
    let budget = trial.overall.budget.unwrap_or_default();
    let room = Room::of(trial, load, if of_strangers(load) { Suspect::AllCores } else { busiest(trial) });
    let found = if trial.data.remote {
        format!(
            "no resource of this machine was saturated ({}), and the engine is on another machine",
            room.words
        )
    } else if load.is_system_observed() {
        format!("no observed resource was saturated ({})", room.words)
    } else {
        format!("the load generator was not saturated, and nothing else was observed ({})", room.words)
    };
    let of = |suspect, rule: Option<Rule>| Some(Limiter { suspect, rule: rule? });
    if trial.plan.arrivals.is_open() {
        if !lacks_clients(trial) {
            let sentence = format!("{found}: this is the requested rate, not a maximum");
            return of(Suspect::OfferedLoad, fine(sentence));
        }
        if backlog_grew(trial) {
            return behind(trial, &found, &room);
        }
        let sentence = format!(
            "{found}, yet calls waited for a free client: {} are too few for this rate",
            clients(trial.plan.clients)
        );
        let rule = warning(sentence, "raise the number of clients")?;
        return Some(full(Suspect::Clients, rule));
    }
    if trial.plan.arrivals.is_paced() {
        let sentence = format!("{found}: think time limits throughput; this is not a maximum");
        return of(Suspect::OfferedLoad, fine(sentence));
    }
    if flushes(trial, &budget) {
        let sentence = format!(
            "{found}, and calls spent {} of their time in commit: they wait for storage, and this is not a maximum",
            whole_percent(budget.share(BudgetPart::Commit))
        );
        return of(Suspect::CommitFlush, note(sentence));
    }
    let bound = room.bound().map_or_else(String::new, |bound| format!("; {bound}"));
    if let Some((name, suspect)) = room.nearly_full() {
        let sentence = format!("{found}, but {}{bound}", nearly(name));
        let advice = "reduce its use per call or provide more of it: more clients bring little";
        return Some(full(suspect, hint(sentence, advice)?));
    }
    let rule = hint(
        format!(
            "{found}: throughput is limited by {} and is not a maximum{bound}",
            clients(trial.plan.clients)
        ),
        "raise the number of clients until a resource is saturated",
    );
    of(Suspect::Clients, rule)
}

fn nearly(name: &str) -> String {
    format!("{name} {} nearly full", if name.ends_with("cores") { "are" } else { "is" })
}

/// An open loop past what its system does with its clients, and nothing that was observed was full. Whether more clients
/// would help is not to be seen: they wait for the system, and it may have its limit elsewhere.
fn behind(trial: &Trial, found: &str, room: &Room) -> Option<Limiter> {
    let nearly_full = room.nearly_full();
    let near = nearly_full.map_or_else(String::new, |(name, _)| format!(", but {}", nearly(name)));
    let rule = warning(
        format!(
            "{found}{near}; the backlog grew: {} did not keep up with the requested rate, which exceeds the capacity of this setup",
            clients(trial.plan.clients)
        ),
        "lower the rate, or find the highest rate with find-max",
    )?;
    let nearly = nearly_full.map(|(_, suspect)| suspect);
    Some(Limiter { suspect: nearly.unwrap_or(Suspect::Unknown), rule: Rule { saturated: nearly, ..rule } })
}

/// Whether an open loop fell behind more and more: calls were left at its very end, or fewer ended within the interval than
/// came due in it. Where clients are only too few for bursts, what comes due still ends in time.
fn backlog_grew(trial: &Trial) -> bool {
    let due = trial.overall.call_counts.due as f64;
    let within = trial.slices.iter().filter(|slice| {
        !slice.warmup
            && slice.t_s >= 0.0
            && slice.t_s + slice.duration_s <= trial.measured_s + slice.duration_s / 2.0
    });
    let ended: u64 =
        within.flat_map(|slice| &slice.kinds).map(|kind| kind.committed + kind.declined + kind.faults).sum();
    // Each client may be in a call when the interval ends.
    let on_their_way = f64::from(trial.plan.clients);
    let fell_short = ended > 0 && ended as f64 + on_their_way < (1.0 - BEHIND) * due;
    fell_short || trial.overall.call_counts.dropped as f64 > BEHIND * due
}

/// Whether calls of an open loop mostly waited for a client, or found none.
fn lacks_clients(trial: &Trial) -> bool {
    let waited = trial.overall.budget.unwrap_or_default().share(BudgetPart::ClientWait);
    trial.overall.call_counts.dropped > trial.overall.call_counts.due / 1_000 || waited >= MOST
}

/// Whether calls came at a rate that was asked for, and were answered.
pub(crate) fn keeps_rate(trial: &Trial) -> bool {
    let call_counts = trial.overall.call_counts;
    trial.plan.arrivals.is_open() && !lacks_clients(trial) && call_counts.faults() <= call_counts.due / 1_000
}

/// Commits that reach storage take most of the time.
fn flushes(trial: &Trial, budget: &Budget) -> bool {
    trial.stack.durability.tier == Tier::Durable
        && !super::setting::in_memory(trial)
        && budget.share(BudgetPart::Commit) >= MOST
}
