//! What the engine's own account says: its waits, its gauges and the times without it, in words that every format shares.

use crate::figures;
use result::{Engine, Gap, GapKind, GaugeKind, Missing, Tier, Trial, Wait};

/// Waits told outside of the folded tables.
const WAITS_TOLD: usize = 6;

/// What waits mean, by the beginning of their names; the first that fits.
const MEANINGS: [(&str, &str); 16] = [
    ("running", "work on a core"),
    ("LWLock:WALWrite", "another session flushing the log"),
    ("IO:WALSync", "the disk, flushing the log"),
    ("IO:WALWrite", "the disk, writing the log"),
    // As PostgreSQL spells them from 17 on.
    ("IO:WalSync", "the disk, flushing the log"),
    ("IO:WalWrite", "the disk, writing the log"),
    ("LWLock:WALInsert", "room in the log's buffer"),
    ("Lock:transactionid", "another transaction that holds the row"),
    ("Lock:tuple", "its turn at a contended row"),
    ("Lock:", "a lock"),
    ("IO:DataFileRead", "the disk, reading data"),
    ("IO:", "the disk"),
    ("LWLock:", "the engine's own bookkeeping"),
    ("Commit", "commit: flushing the log"),
    ("Updating", "updates, waits for rows included"),
    ("IPC:", "another process of the engine"),
];

/// States that are waits for a flush of the log.
pub const FLUSHES: [&str; 6] =
    ["LWLock:WALWrite", "IO:WALSync", "IO:WALWrite", "Commit", "IO:WalSync", "IO:WalWrite"];
/// States that are waits for rows or tables that others hold.
pub const LOCKS: [&str; 2] = ["Lock:", "Waiting for table"];

/// Causes of waits, by the beginnings of the names of their states: those of one cause are summed before one is called the
/// most. The first that fits.
const CAUSES: [(&[&str], &str); 4] = [
    (&FLUSHES, "waits for flushes of the log"),
    (&LOCKS, "waits for locks that others hold"),
    (&["IO:"], "reads and writes of files"),
    (&["LWLock:"], "waits for the engine's own bookkeeping"),
];

/// What a state is a case of; its own name where that is all.
pub fn cause(name: &str) -> &str {
    let is_of = |starts: &[&str]| starts.iter().any(|start| name.starts_with(start));
    CAUSES.iter().find(|(starts, _)| is_of(starts)).map_or(name, |(_, cause)| *cause)
}

/// The share of the sessions' time that went into waiting for locks of other sessions; nothing where no one looked, or what
/// was seen does not report.
pub fn lock_waits(trial: &Trial) -> Option<f64> {
    let engine = trial.engine.as_ref()?;
    let sampled = engine.waiting(&LOCKS);
    // InnoDB tells no waits of a session; it adds up the time that they waited for rows.
    let counted = engine.gauge("row lock time").and_then(|gauge| gauge.total).map(|ms| {
        let sessions_ms = trial.measured_s * 1e3 * f64::from(trial.plan.clients);
        ms / sessions_ms.max(f64::MIN_POSITIVE)
    });
    if counted.is_none() && trial.stack.engine != "postgres" {
        return None;
    }
    sampled.into_iter().chain(counted).reduce(f64::max).map(|share| share.min(1.0))
}

/// What a state means; empty where no one has written it down.
pub fn meaning(name: &str) -> &'static str {
    MEANINGS.iter().find(|(start, _)| name.starts_with(start)).map_or("", |(_, meaning)| *meaning)
}

/// The states that are worth a line, the most first.
pub fn top_waits(engine: &Engine) -> impl Iterator<Item = &Wait> {
    engine.waits.iter().filter(|wait| wait.share >= 0.005).take(WAITS_TOLD)
}

/// `running 41 %, IO:WALSync 38 %`; nothing where no one looked.
pub fn waits_line(trial: &Trial) -> Option<String> {
    let engine = trial.engine.as_ref().filter(|engine| engine.samples > 0)?;
    let rows: Vec<String> =
        top_waits(engine).map(|wait| format!("{} {}", wait.name, figures::percent(wait.share))).collect();
    (!rows.is_empty()).then(|| rows.join(", "))
}

/// Name, unit and sum of each gauge over the window, as it is shown.
pub fn gauges(trial: &Trial) -> Vec<[String; 4]> {
    let Some(engine) = &trial.engine else { return Vec::new() };
    let known = engine.gauges.iter().filter_map(|gauge| Some((gauge, gauge.total?)));
    known
        .map(|(gauge, total)| {
            let value = |value: f64| match gauge.unit.as_str() {
                "bytes" => figures::bytes(value.max(0.0) as u64),
                _ => format!("{} {}", figures::short(value), gauge.unit),
            };
            let (sum, rate) = match gauge.kind {
                GaugeKind::Counter if trial.measured_s > 0.0 => {
                    (value(total), format!("{}/s", value(total / trial.measured_s)))
                }
                GaugeKind::Counter => (value(total), String::new()),
                GaugeKind::Level => (format!("{} on average", value(total)), String::new()),
            };
            [gauge.group.clone(), gauge.name.clone(), sum, rate]
        })
        .collect()
}

/// `7.9 calls per durable commit on average (limit 64): 12,345 calls, 1,563 commits`; nothing where each call
/// has a commit of its own.
pub fn grouping(trial: &Trial) -> Option<String> {
    let grouping = trial.grouping.filter(|grouping| grouping.commits > 0)?;
    let is_most = |setting: &&result::Setting| setting.name == "calls_a_commit_max";
    let most = trial.stack.settings.iter().find(is_most);
    let most = most.map_or_else(String::new, |most| format!(" (limit {})", most.value));
    Some(format!(
        "{} calls per durable commit on average{most}: {} calls, {} commits",
        figures::trimmed(grouping.calls_a_commit(), 2),
        figures::count(grouping.calls),
        figures::count(grouping.commits)
    ))
}

/// When the service came to decline what it had accepted, as a clause; nothing where it did not.
pub fn decline_rise(trial: &Trial) -> Option<String> {
    let rise = trial.decline_rise.as_ref()?;
    let over = match figures::seconds(rise.to_s - rise.from_s) {
        _ if rise.to_s - rise.from_s < 0.001 => String::new(),
        over => format!(" (the change took {over})"),
    };
    let after = crate::rules::whole_percent(rise.declined_after);
    Some(match rise.declined_before {
        Some(before) => format!(
            "from {} on{over}, {after} of the calls of {} were declined ({} before); rates cover the time before",
            figures::seconds(rise.from_s),
            rise.kind,
            crate::rules::whole_percent(before)
        ),
        None => format!(
            "within the first {} most calls of {} started to be declined ({after} afterwards); rates cover the time afterwards",
            figures::seconds(rise.to_s),
            rise.kind,
        ),
    })
}

/// Times without the engine or the server, a clause each.
pub fn outages(trial: &Trial) -> Vec<String> {
    let of = |outage: &result::Outage| {
        let what = match outage.missing {
            Missing::Everything => "engine unavailable",
            Missing::Writes => "engine refused writes",
        };
        let length = match outage.duration_s() {
            Some(duration_s) => format!("{what} for {}", figures::duration(duration_s * 1e9)),
            None => format!("{what} until the end"),
        };
        format!(
            "{length}, from {} on: {} calls in doubt, {} refused",
            figures::seconds(outage.from_s),
            figures::count(outage.in_doubt),
            figures::count(outage.refused)
        )
    };
    trial.outages.iter().map(of).collect()
}

/// What calls were refused for; nothing where none was.
pub fn refusals(trial: &Trial) -> Option<String> {
    let rows: Vec<String> = trial
        .refusals
        .iter()
        .map(|refused| format!("{} for \u{201c}{}\u{201d}", figures::count(refused.calls), refused.reason))
        .collect();
    (!rows.is_empty()).then(|| rows.join(", "))
}

/// Times in which the load generator or its machine did not run, and steps of the clock on the wall, a clause each.
pub fn gaps(trial: &Trial) -> Vec<String> {
    let of = |gap: &Gap| {
        let (length, at) = (figures::seconds(gap.duration_s.abs()), figures::seconds(gap.from_s));
        match gap.kind {
            GapKind::Suspended => format!("the machine slept for {length}, at {at}"),
            GapKind::Stalled => {
                format!("load generator suspended for {length} at {at} (its process or machine was stopped)")
            }
            GapKind::ClockStep => {
                let way = if gap.duration_s < 0.0 { "back" } else { "forward" };
                format!("the system clock was set {way} by {length} at {at}")
            }
        }
    };
    trial.gaps.iter().map(of).collect()
}

/// What must be said before a number of this tier is read; nothing for the strongest.
pub fn loud_tier(trial: &Trial) -> Option<(&'static str, &'static str)> {
    match trial.stack.durability.tier {
        Tier::Durable => None,
        Tier::Delayed => Some((
            "DELAYED DURABILITY",
            "commits were acknowledged before they were on disk, and a crash may lose the last of them; never compare \
             this number with a durable one",
        )),
        Tier::Volatile => Some((
            "NO DURABILITY",
            "a crash may lose or corrupt the data; never compare this number with a durable one",
        )),
        Tier::Unknown => Some((
            "DURABILITY UNKNOWN",
            "the trial ended before the durability of commits was read; never compare this number with a durable one",
        )),
    }
}
