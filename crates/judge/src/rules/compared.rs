//! Whether trials of two subjects may be compared with each other: the whole comparison key, and the work a call takes.

use super::intended::is_intended;
use super::reported::{
    NOT_SET, differ_by_patches, is_added_by_stackmark, plan_differences, setting_differences,
};
use crate::{figures, findings};
use result::{Engine, FingerprintDifference, KeyDifference, Process, Role, Trial, Verdict};

/// What is said of a field that is not known.
const UNKNOWN: &str = "not known";
/// Size at the start may differ by this share: files grow in steps.
const BYTES_MARGIN: f64 = 0.05;
/// Differences of the mean work a call that chance gives are below this many standard errors.
const ERRORS_MAX: f64 = 3.5;

/// A measure of the work fingerprint: its name, how far two subjects may differ at least, and how much calls of one
/// kind scatter around their mean (the standard deviation through the mean). Both as shares.
struct Measure {
    name: &'static str,
    margin: f64,
    scatter: f64,
}

/// A New-Order has 5 to 15 lines, so its statements scatter by a quarter; rows found by last name by more. Commits do
/// not depend on the data.
const MEASURES: [Measure; 3] = [
    Measure { name: "statements", margin: 0.01, scatter: 0.35 },
    Measure { name: "rows", margin: 0.02, scatter: 1.0 },
    Measure { name: "commits", margin: 0.005, scatter: 0.0 },
];

/// What all calls share because the engine counts it for all of them: its name, by which share two subjects may differ, and
/// by how much a call at least. Retries, other statements and the pages that are logged whole after a checkpoint stand behind
/// it, and a comparison whose sides differ in that compares these.
struct SharedCost {
    name: &'static str,
    margin: f64,
    least: f64,
    /// Whether a trial of the slower side has more of it a call just because it is slower: pages that are read once, into memory
    /// that is cold at the start of each trial. Then a side must also have more of it in a trial.
    once: bool,
    of: fn(&Trial) -> Option<f64>,
}

const SHARED: [SharedCost; 2] = [
    SharedCost {
        name: "log bytes",
        margin: 0.25,
        least: 100.0,
        once: false,
        of: |trial| trial.engine.as_ref()?.log_bytes(),
    },
    SharedCost {
        name: "pages read",
        margin: 0.25,
        least: 0.5,
        once: true,
        of: |trial| trial.engine.as_ref()?.pages_read(),
    },
];

/// Every field of the comparison key in which two trials differ, in the order of the document. Those in `intended` are
/// what the comparison is about: a field by its name (`stack.route`), or a group (`stack.settings.*`).
fn key_differences(a: &Trial, b: &Trial, intended: &[&str]) -> Vec<KeyDifference> {
    let mut pairs: Vec<(String, String, String)> =
        fields(a).into_iter().zip(fields(b)).map(|((field, a), (_, b))| (field.to_owned(), a, b)).collect();
    // A number that may differ a little is compared as one and shown as it is.
    let bytes_differ = match (a.data.bytes, b.data.bytes) {
        (Some(a), Some(b)) => a.abs_diff(b) as f64 > BYTES_MARGIN * a.max(b) as f64,
        (a, b) => a != b,
    };
    // A server says how it isolates in words of its own, and how a commit is kept by its tier and its settings.
    let is_served = a.stack.server.is_some() || b.stack.server.is_some();
    let level = |trial: &Trial| {
        let words = trial.stack.isolation.split([';', '(']).next().unwrap_or_default();
        words.to_ascii_lowercase().replace(['-', '_'], " ").trim().to_owned()
    };
    let isolation_differs =
        if is_served { level(a) != level(b) } else { a.stack.isolation != b.stack.isolation };
    // A server brings a library of its own.
    let is_library = a.stack.engine == "sqlite" && b.stack.engine == "sqlite";
    let brings_library = is_library && a.stack.server != b.stack.server;
    // A result from before this was asked says nothing about it.
    let references_differ = a.data.references.zip(b.data.references).is_some_and(|(a, b)| a != b);
    let listed = |a: &Option<String>, b: &Option<String>| a.is_some() && b.is_some();
    let counts_log = |trial: &Trial| trial.engine.as_ref().and_then(Engine::log_bytes).is_some();
    let warms_on = counts_log(a) && counts_log(b);
    let (m, n, of_a, of_b) = (&a.machine, &b.machine, &a.data, &b.data);
    pairs.retain(|(field, a, b)| match field.as_str() {
        "data.bytes" => bytes_differ,
        "stack.isolation" => isolation_differs,
        "stack.durability.detail" => a != b && !is_served,
        "data.references" => references_differ,
        // Where the log is not counted no warm-up goes on.
        "plan.warmup_max_s" => a != b && warms_on,
        "data.mount_options" => a != b && listed(&of_a.mount_options, &of_b.mount_options),
        "machine.affinity" => a != b && listed(&m.affinity, &n.affinity),
        "machine.smt" => a != b && listed(&m.smt, &n.smt),
        "machine.huge_pages" => a != b && listed(&m.huge_pages, &n.huge_pages),
        _ => a != b,
    });
    let settings = setting_differences(&a.stack.settings, &b.stack.settings).into_iter();
    // What a server does not report is not known, and no difference.
    let is_known =
        |field: &str, a: &str, b: &str| (a != NOT_SET && b != NOT_SET) || is_added_by_stackmark(field);
    pairs.extend(settings.filter(|(field, a, b)| !is_served || is_known(field, a, b)));
    // Engines word their plans each in its own way.
    if a.stack.engine == b.stack.engine {
        pairs.extend(plan_differences(&a.stack.plans, &b.stack.plans));
    }
    pairs
        .into_iter()
        .map(|(field, a, b)| {
            let is_patch = match &*field {
                "stack.engine_version" => brings_library || (is_library && differ_by_patches(&a, &b)),
                "stack.adapter_version" => differ_by_patches(&a, &b),
                _ => false,
            };
            // Of two styles, or numbers of stores, one may have a relay; how two relays work is part of neither.
            let one_has_relay = field.starts_with("stack.settings.relay ") && (a == NOT_SET || b == NOT_SET);
            let is_meant = is_intended(&field, intended)
                || one_has_relay
                    && ["stack.style", "data.stores"].iter().any(|field| is_intended(field, intended));
            KeyDifference { intended: is_meant || is_patch, library: is_patch && !is_meant, field, a, b }
        })
        .collect()
}

/// Kinds of which most calls were declined in the time that rates cover, as after everything is sold: their rates are those of other work.
fn mostly_declined(trial: &Trial) -> String {
    let share = |kind: &result::KindTally| {
        let rise = trial.decline_rise.as_ref().filter(|rise| rise.kind == kind.name);
        let call_counts = &kind.tally.call_counts;
        let all = call_counts.committed + call_counts.declined;
        match rise {
            Some(rise) => rise.declined_before.unwrap_or(rise.declined_after),
            None => call_counts.declined as f64 / all.max(1) as f64,
        }
    };
    let names = trial.kinds.iter().filter(|kind| share(kind) > 0.5).map(|kind| kind.name.as_str());
    let names: Vec<&str> = names.collect();
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

/// The key of one trial but for its settings, each field as text.
fn fields(trial: &Trial) -> Vec<(&'static str, String)> {
    let (stack, plan, data, machine) = (&trial.stack, &trial.plan, &trial.data, &trial.machine);
    let limits = |role| limits_of(&trial.processes, role);
    let or_unknown = |text: &Option<String>| text.clone().unwrap_or_else(|| UNKNOWN.to_owned());
    vec![
        ("stack.engine", stack.engine.clone()),
        ("stack.engine_version", stack.engine_version.clone()),
        ("stack.adapter", stack.adapter.clone()),
        ("stack.adapter_version", stack.adapter_version.clone()),
        ("stack.style", stack.style.clone()),
        ("stack.route", stack.route.clone()),
        ("stack.server", stack.server.clone().unwrap_or_else(|| "none".to_owned())),
        ("stack.isolation", stack.isolation.clone()),
        ("stack.durability.tier", stack.durability.tier.word().to_owned()),
        ("stack.durability.detail", stack.durability.detail.clone()),
        ("plan.clients", plan.clients.to_string()),
        ("plan.generator_threads", plan.generator_threads.to_string()),
        ("plan.arrivals", plan.arrivals_words()),
        ("plan.mix", plan.mix_words().unwrap_or_else(|| findings::STANDARD_MIX.to_owned())),
        ("plan.skew", plan.skew.clone().unwrap_or_else(|| findings::STANDARD_MIX.to_owned())),
        ("plan.warmup_s", plan.warmup_s.to_string()),
        (
            "plan.warmup_max_s",
            plan.warmup_max_s.map_or_else(|| "as planned".to_owned(), |most| most.to_string()),
        ),
        ("plan.measured_s", plan.measured_s.to_string()),
        ("plan.rounds", plan.rounds.map_or_else(|| "none".to_owned(), |rounds| rounds.number.to_string())),
        ("plan.calls", plan.calls.map_or_else(|| "any number".to_owned(), |calls| calls.to_string())),
        ("plan.drain_s", plan.drain_s.to_string()),
        ("plan.deadline_ns", plan.deadline_ns.to_string()),
        ("plan.attempts_max", plan.attempts_max.to_string()),
        ("plan.seed", plan.seed.to_string()),
        ("plan.deferred", plan.deferred.to_string()),
        ("data.workload", data.workload.clone()),
        ("data.scale", format!("{} {}", data.scale, data.scale_unit)),
        ("data.parameters", findings::parameter_words(data)),
        ("data.stores", data.store_count().to_string()),
        ("data.rows", data.rows.to_string()),
        ("data.bytes", data.bytes.map_or_else(|| UNKNOWN.to_owned(), |bytes| bytes.to_string())),
        ("data.file_system", or_unknown(&data.file_system)),
        ("data.mount_options", or_unknown(&data.mount_options)),
        ("data.checksum", or_unknown(&data.checksum)),
        ("data.loaded_by", data.loaded_by.clone()),
        (
            "data.references",
            if data.references == Some(true) { "declared" } else { "not declared" }.to_owned(),
        ),
        ("rates.mostly_declined", mostly_declined(trial)),
        ("limits.generator", limits(Role::Generator)),
        ("limits.server", limits(Role::Server)),
        ("limits.engine", limits(Role::Engine)),
        ("limits.relay", limits(Role::Relay)),
        ("limits.broker", limits(Role::Broker)),
        ("machine.cpu", machine.cpu.clone()),
        ("machine.cores", machine.cores.to_string()),
        ("machine.memory_bytes", machine.memory_bytes.to_string()),
        ("machine.kernel", machine.kernel.clone()),
        ("machine.os", machine.os.clone()),
        ("machine.governor", or_unknown(&machine.governor)),
        ("machine.virtualised", or_unknown(&machine.virtualised)),
        ("machine.affinity", or_unknown(&machine.affinity)),
        ("machine.smt", or_unknown(&machine.smt)),
        ("machine.huge_pages", or_unknown(&machine.huge_pages)),
        (
            "machine.shares_by_session",
            machine.shares_by_session.map_or_else(|| UNKNOWN.to_owned(), |yes| yes.to_string()),
        ),
    ]
    .into_iter()
    .map(|(field, value)| (field, figures::plain(&value)))
    .collect()
}

/// What a process that plays a role may use: `0.5 processors, 1 GiB`; of several that of each, where they differ.
fn limits_of(processes: &[Process], role: Role) -> String {
    let words = |process: &Process| {
        let words = process.limits.map(findings::limit_words).filter(|words| !words.is_empty());
        words.unwrap_or_else(|| "none".to_owned())
    };
    let mut of_each: Vec<String> =
        processes.iter().filter(|process| process.roles.contains(&role)).map(words).collect();
    // Engines of several stores mostly have the same.
    of_each.dedup();
    if of_each.is_empty() { "none".to_owned() } else { of_each.join("; ") }
}

/// The kinds of call whose work differs by more than the data explain: statements, rows and commits a committed call,
/// over all trials of a side. What attempts took that met a conflict is contention and not other work, and it is not known how far
/// they had come: somewhere between nothing and all of the call. A side that does not tell its work has 0.
fn fingerprint_differences(a: &[&Trial], b: &[&Trial]) -> Vec<FingerprintDifference> {
    let mut names: Vec<&str> = Vec::new();
    for kind in a.iter().chain(b).flat_map(|trial| &trial.kinds) {
        if !names.contains(&kind.name.as_str()) {
            names.push(&kind.name);
        }
    }
    names
        .into_iter()
        .flat_map(|name| kind_differences(name, &WorkOfKind::of(a, name), &WorkOfKind::of(b, name)))
        .chain(shared_differences(a, b))
        .collect()
}

/// What the engine has counted for all calls together, where it has on both sides.
fn shared_differences(a: &[&Trial], b: &[&Trial]) -> Vec<FingerprintDifference> {
    // Of a call, and of a trial.
    let counted = |of: fn(&Trial) -> Option<f64>, trials: &[&Trial]| {
        let sum: f64 = trials.iter().map(|trial| of(trial)).sum::<Option<f64>>()?;
        let calls: f64 = trials.iter().map(|trial| trial.committed()).sum();
        (calls > 0.0).then(|| (sum / calls, sum / trials.len() as f64))
    };
    let difference = |shared: &SharedCost| {
        let ((a, of_a), (b, of_b)) = (counted(shared.of, a)?, counted(shared.of, b)?);
        let beyond = |a: f64, b: f64| a - b > shared.margin * a;
        let more = if a > b { beyond(of_a, of_b) } else { beyond(of_b, of_a) };
        let differs = (a - b).abs() > shared.least && beyond(a.max(b), a.min(b)) && (more || !shared.once);
        differs.then(|| FingerprintDifference {
            kind: "all kinds".to_owned(),
            measure: shared.name.to_owned(),
            a,
            b,
        })
    };
    SHARED.iter().filter_map(difference).collect()
}

fn kind_differences(name: &str, a: &WorkOfKind, b: &WorkOfKind) -> Vec<FingerprintDifference> {
    // A kind that one side never committed says nothing about its work; the call counts show that it is missing.
    if a.committed == 0.0 || b.committed == 0.0 {
        return Vec::new();
    }
    let error = (1.0 / a.committed + 1.0 / b.committed).sqrt();
    // The nearest to each other of all that both may have taken.
    let nearest = |(a, b): ((f64, f64), (f64, f64))| match (a, b) {
        ((least_a, _), (_, most_b)) if least_a > most_b => (least_a, most_b),
        ((_, most_a), (least_b, _)) if most_a < least_b => (most_a, least_b),
        ((least_a, _), (least_b, _)) => (least_a.max(least_b), least_a.max(least_b)),
    };
    MEASURES
        .iter()
        .zip(a.means().into_iter().zip(b.means()).map(nearest))
        .filter(|(measure, (a, b))| {
            let allowed = measure.margin.max(ERRORS_MAX * measure.scatter * error);
            // Differences below a thousandth of a statement or row are rounding, whatever their share.
            (a - b).abs() > 1e-3 && (a - b).abs() > allowed * a.max(*b)
        })
        .map(|(measure, (a, b))| FingerprintDifference {
            kind: name.to_owned(),
            measure: measure.name.to_owned(),
            a,
            b,
        })
        .collect()
}

/// What the committed calls of one kind took, over all trials of a side.
#[derive(Default)]
struct WorkOfKind {
    committed: f64,
    attempts: f64,
    statements: f64,
    rows: f64,
    commits: f64,
}

impl WorkOfKind {
    fn of(trials: &[&Trial], name: &str) -> WorkOfKind {
        let mut sum = WorkOfKind::default();
        for tally in trials
            .iter()
            .flat_map(|trial| &trial.kinds)
            .filter(|kind| kind.name == name)
            .map(|kind| &kind.tally)
        {
            let calls = tally.call_counts.committed as f64;
            sum.committed += calls;
            let Some(work) = tally.work else { continue };
            sum.attempts += work.attempts * calls;
            sum.statements += work.statements * calls;
            sum.rows += work.rows * calls;
            sum.commits += work.commits * calls;
        }
        sum
    }

    /// What the attempt of a call took that was not in vain, in the order of [`MEASURES`]: the least and the most that it can have been.
    fn means(&self) -> [(f64, f64); 3] {
        // No attempts are known where a server tells nothing of its work; then neither is anything else.
        let attempts = self.attempts.max(self.committed);
        let between = |sum: f64| (sum / attempts, sum / self.committed);
        let commits = self.commits / self.committed;
        [between(self.statements), between(self.rows), (commits, commits)]
    }
}

/// What stands between two subjects besides the factor under study.
#[derive(Debug, Clone, PartialEq)]
pub struct Comparability {
    /// Where the comparison keys differ, for [`result::Comparison::key_differences`].
    pub key: Vec<KeyDifference>,
    /// Where the work a call takes differs, for [`result::Comparison::fingerprint_differences`].
    pub fingerprint: Vec<FingerprintDifference>,
    /// Something differs that the comparison is not about: no verdict on the factor may be given.
    pub different_work: bool,
}

impl Comparability {
    /// `verdict`, or "different work" in its place.
    pub fn verdict(&self, verdict: Verdict) -> Verdict {
        if self.different_work { Verdict::NotComparable } else { verdict }
    }
}

/// Holds all trials of two sides against each other: A's against B's, and each side's against its own first one,
/// within which nothing but the seed may differ (`stack.settings.cache_size, within B`). Nothing is compared where a side has no
/// trial.
pub fn comparable(a: &[&Trial], b: &[&Trial], intended: &[&str]) -> Comparability {
    let mut key: Vec<KeyDifference> = Vec::new();
    if let (Some(first_a), Some(first_b)) = (a.first(), b.first()) {
        key.extend(key_differences(first_a, first_b, intended));
    }
    for (side, trials) in [("A", a), ("B", b)] {
        let Some((first, rest)) = trials.split_first() else { continue };
        for mut difference in rest.iter().flat_map(|trial| key_differences(first, trial, &[])) {
            // Each block may have a seed of its own, which both sides share.
            if difference.field == "plan.seed" {
                continue;
            }
            // The rule `plans` says how they change; a few statements may be planned one way or the other.
            if difference.field.starts_with("stack.plans.") {
                continue;
            }
            difference.field = format!("{}, within {side}", difference.field);
            if !key.contains(&difference) {
                key.push(difference);
            }
        }
    }
    let fingerprint = fingerprint_differences(a, b);
    let different_work = key.iter().any(|difference| !difference.intended)
        || fingerprint
            .iter()
            .any(|difference| !is_intended(&format!("fingerprint.{}", difference.measure), intended));
    Comparability { key, fingerprint, different_work }
}

#[cfg(test)]
#[path = "compared_tests.rs"]
mod tests;
