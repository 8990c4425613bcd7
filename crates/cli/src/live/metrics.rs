//! The counters of a run in the text format of Prometheus, version 0.0.4.
//!
//! Counters go on over all trials of a command: what a trial has counted is kept when the next one begins.

use super::snapshot::{KindCounted, Snapshot, TrialCounters};
use std::collections::BTreeMap;
use std::fmt::{Display, Write};

/// Upper bounds of the buckets in seconds: 1, 2.5 and 5 of each decade from 100 µs to 100 s.
const BOUNDS: [(&str, u64); 19] = [
    ("0.0001", 100_000),
    ("0.00025", 250_000),
    ("0.0005", 500_000),
    ("0.001", 1_000_000),
    ("0.0025", 2_500_000),
    ("0.005", 5_000_000),
    ("0.01", 10_000_000),
    ("0.025", 25_000_000),
    ("0.05", 50_000_000),
    ("0.1", 100_000_000),
    ("0.25", 250_000_000),
    ("0.5", 500_000_000),
    ("1", 1_000_000_000),
    ("2.5", 2_500_000_000),
    ("5", 5_000_000_000),
    ("10", 10_000_000_000),
    ("25", 25_000_000_000),
    ("50", 50_000_000_000),
    ("100", 100_000_000_000),
];
const PHASES: [&str; 4] = ["idle", "warm-up", "measured", "drain"];

/// What one subject, as one variant, has counted.
type Series = (String, String);

/// All counters of a command.
#[derive(Debug, Default)]
pub(super) struct Counters {
    variant: String,
    block: Option<u32>,
    trials: u64,
    /// Of trials that have ended, and the present one on its own.
    kept: BTreeMap<Series, Sums>,
    present: Option<(Series, Sums)>,
    kept_cpu: BTreeMap<String, f64>,
    present_cpu: BTreeMap<String, f64>,
    now: Option<Snapshot>,
    resting: bool,
}

#[derive(Debug, Clone, Default)]
struct Sums {
    kinds: BTreeMap<&'static str, KindSums>,
    dropped: u64,
    warmup: Outcomes,
}

#[derive(Debug, Clone, Default)]
struct KindSums {
    outcomes: Outcomes,
    retries: u64,
    /// Calls of each bucket, without those below; the last one is beyond all bounds.
    buckets: [u64; BOUNDS.len() + 1],
    sum_s: f64,
}

/// Calls by how they ended.
#[derive(Debug, Clone, Copy, Default)]
struct Outcomes([u64; 6]);

const OUTCOMES: [&str; 6] = ["committed", "declined", "conflict", "refused", "in_doubt", "defect"];

impl From<&measure::CallCounts> for Outcomes {
    fn from(call_counts: &measure::CallCounts) -> Outcomes {
        let measure::CallCounts { committed, declined, conflict, refused, in_doubt, defect, .. } =
            *call_counts;
        Outcomes([committed, declined, conflict, refused, in_doubt, defect])
    }
}

impl Outcomes {
    fn add(&mut self, other: Outcomes) {
        self.0.iter_mut().zip(other.0).for_each(|(mine, theirs)| *mine += theirs);
    }
}

impl From<&KindCounted> for KindSums {
    fn from(kind: &KindCounted) -> KindSums {
        let mut buckets = [0; BOUNDS.len() + 1];
        for (upper_ns, count) in &kind.times {
            let at = BOUNDS.iter().position(|(_, bound)| upper_ns <= bound).unwrap_or(BOUNDS.len());
            buckets[at] += count;
        }
        KindSums {
            outcomes: (&kind.call_counts).into(),
            retries: kind.call_counts.retries,
            buckets,
            sum_s: kind.sum_s,
        }
    }
}

impl Sums {
    fn add(&mut self, other: &Sums) {
        for (name, theirs) in &other.kinds {
            let mine = self.kinds.entry(name).or_default();
            mine.outcomes.add(theirs.outcomes);
            mine.retries += theirs.retries;
            mine.buckets.iter_mut().zip(theirs.buckets).for_each(|(mine, theirs)| *mine += theirs);
            mine.sum_s += theirs.sum_s;
        }
        self.dropped += other.dropped;
        self.warmup.add(other.warmup);
    }
}

impl Counters {
    /// Which variant the next trial is of.
    pub(super) fn place(&mut self, variant: &str, block: u32) {
        self.keep();
        variant.clone_into(&mut self.variant);
        self.block = Some(block);
    }

    pub(super) fn begin(&mut self) {
        self.keep();
        self.trials += 1;
    }

    fn keep(&mut self) {
        if let Some((series, sums)) = self.present.take() {
            self.kept.entry(series).or_default().add(&sums);
        }
        for (role, cpu_s) in std::mem::take(&mut self.present_cpu) {
            *self.kept_cpu.entry(role).or_default() += cpu_s;
        }
    }

    /// A slice has ended.
    pub(super) fn put(&mut self, now: &Snapshot, counted: TrialCounters, usage: &[observe::Usage]) {
        let sums = Sums {
            kinds: counted.kinds.iter().map(|kind| (kind.name, kind.into())).collect(),
            dropped: counted.dropped,
            warmup: (&counted.warmup).into(),
        };
        self.present = Some(((now.subject.clone(), self.variant.clone()), sums));
        for (busy, usage) in now.processes.iter().zip(usage) {
            // Never back: a counter that falls would be taken for one that began again.
            let cpu_s = self.present_cpu.entry(role(&busy.role)).or_default();
            *cpu_s = cpu_s.max(usage.cpu_s);
        }
        self.now = Some(now.clone());
        self.resting = false;
    }

    /// No trial runs now.
    pub(super) fn rest(&mut self) {
        self.resting = true;
    }

    /// Everything, as Prometheus reads it.
    pub(super) fn render(&self) -> String {
        let mut page = Page::default();
        page.family("stackmark_build_info", "gauge", "The version of stackmark that measures.");
        page.sample("stackmark_build_info", &[("version", env!("CARGO_PKG_VERSION"))], 1);
        page.family("stackmark_trials_total", "counter", "Trials started by this command.");
        page.sample("stackmark_trials_total", &[], self.trials);
        self.present(&mut page);
        self.calls(&mut page);
        self.times(&mut page);
        page.family(
            "stackmark_process_cpu_seconds_total",
            "counter",
            "CPU seconds by what a process does in a trial, while trials ran.",
        );
        let mut cpu = self.kept_cpu.clone();
        for (role, cpu_s) in &self.present_cpu {
            *cpu.entry(role.clone()).or_default() += cpu_s;
        }
        for (role, cpu_s) in &cpu {
            page.sample("stackmark_process_cpu_seconds_total", &[("role", role)], cpu_s);
        }
        page.text
    }

    /// Where the run is now.
    fn present(&self, page: &mut Page) {
        let now = self.now.as_ref().filter(|_| !self.resting);
        page.family("stackmark_phase", "gauge", "1 for the phase of the trial; idle between trials.");
        let phase = now.map_or("idle", |now| now.phase);
        for name in PHASES {
            page.sample("stackmark_phase", &[("phase", name)], u8::from(name == phase));
        }
        let Some(now) = now else { return };
        page.family("stackmark_trial_info", "gauge", "The trial that runs.");
        let block = self.block.map(|block| block.to_string()).unwrap_or_default();
        let labels = [
            ("workload", now.workload),
            ("subject", now.subject.as_str()),
            ("variant", self.variant.as_str()),
            ("block", block.as_str()),
            ("label", now.what.as_str()),
        ];
        page.sample("stackmark_trial_info", &labels, 1);
        let mut gauge = |name: &'static str, help, value: f64| {
            page.family(name, "gauge", help);
            page.sample(name, &[], value);
        };
        gauge("stackmark_trial_left_seconds", "Seconds until the window ends.", now.left_s);
        gauge("stackmark_clients", "Clients of the trial.", f64::from(now.clients));
        gauge(
            "stackmark_calls_in_flight",
            "Calls in flight on average in the last slice, by Little's law.",
            now.in_flight.unwrap_or(0.0),
        );
        gauge(
            "stackmark_unavailable",
            "1 while the engine or the server is unavailable.",
            f64::from(u8::from(now.away)),
        );
        page.family(
            "stackmark_process_resident_memory_bytes",
            "gauge",
            "Resident memory by what a process does in the trial.",
        );
        for process in &now.processes {
            let labels = [("role", &*role(&process.role))];
            page.sample("stackmark_process_resident_memory_bytes", &labels, process.rss_bytes);
        }
    }

    fn calls(&self, page: &mut Page) {
        let all = self.all();
        page.family("stackmark_calls_total", "counter", "Calls that were due in windows, by how they ended.");
        for ((subject, variant), sums) in &all {
            for (kind, of_kind) in &sums.kinds {
                for (outcome, count) in OUTCOMES.iter().zip(of_kind.outcomes.0) {
                    let labels =
                        [("subject", &**subject), ("variant", variant), ("kind", kind), ("outcome", outcome)];
                    page.sample("stackmark_calls_total", &labels, count);
                }
            }
        }
        page.family(
            "stackmark_retries_total",
            "counter",
            "Attempts after the first, of calls that were due in windows.",
        );
        for ((subject, variant), sums) in &all {
            for (kind, of_kind) in &sums.kinds {
                let labels = [("subject", &**subject), ("variant", variant), ("kind", kind)];
                page.sample("stackmark_retries_total", &labels, of_kind.retries);
            }
        }
        page.family("stackmark_calls_dropped_total", "counter", "Calls that were due and dropped.");
        for ((subject, variant), sums) in &all {
            let labels = [("subject", &**subject), ("variant", variant)];
            page.sample("stackmark_calls_dropped_total", &labels, sums.dropped);
        }
        page.family("stackmark_warmup_calls_total", "counter", "Calls that were due in warm-ups.");
        for ((subject, variant), sums) in &all {
            for (outcome, count) in OUTCOMES.iter().zip(sums.warmup.0) {
                let labels = [("subject", &**subject), ("variant", variant), ("outcome", outcome)];
                page.sample("stackmark_warmup_calls_total", &labels, count);
            }
        }
    }

    fn times(&self, page: &mut Page) {
        page.family(
            "stackmark_response_seconds",
            "histogram",
            "Response times of committed calls that were due in windows, from due to ended.",
        );
        for ((subject, variant), sums) in &self.all() {
            for (kind, of_kind) in &sums.kinds {
                let labels = [("subject", &**subject), ("variant", variant), ("kind", kind)];
                let mut up_to = 0;
                let bounds = BOUNDS.iter().map(|(bound, _)| *bound).chain(["+Inf"]);
                for (bound, count) in bounds.zip(of_kind.buckets) {
                    up_to += count;
                    let [subject, variant, kind] = labels;
                    let labels = [subject, variant, kind, ("le", bound)];
                    page.sample("stackmark_response_seconds_bucket", &labels, up_to);
                }
                page.sample("stackmark_response_seconds_sum", &labels, of_kind.sum_s);
                page.sample("stackmark_response_seconds_count", &labels, up_to);
            }
        }
    }

    /// What was kept and what is counted now, together.
    fn all(&self) -> BTreeMap<Series, Sums> {
        let mut all = self.kept.clone();
        if let Some((series, sums)) = &self.present {
            all.entry(series.clone()).or_default().add(sums);
        }
        all
    }
}

/// `generator+engine`, for a label.
fn role(words: &str) -> String {
    words.replace(' ', "")
}

/// The text in the making.
#[derive(Default)]
struct Page {
    text: String,
}

impl Page {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        let help = help.replace('\\', "\\\\").replace('\n', "\\n");
        self.text.push_str(&format!("# HELP {name} {help}\n# TYPE {name} {kind}\n"));
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: impl Display) {
        self.text.push_str(name);
        for (at, (label, text)) in labels.iter().enumerate() {
            self.text.push(if at == 0 { '{' } else { ',' });
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            self.text.push_str(&format!("{label}=\"{text}\""));
        }
        self.text.push_str(if labels.is_empty() { "" } else { "}" });
        writeln!(self.text, " {value}").expect("writing into a string does no I/O");
    }
}

#[cfg(test)]
#[path = "metrics_tests.rs"]
mod tests;
