//! All trials of one side of a comparison, or of one variant, taken together.

use result::{Bucket, Budget, Class, Engine, Quantiles, Suspect, Trial};

/// What the trials of one side say together.
pub(crate) struct Pooled<'a> {
    /// The trials, in the order in which they ran.
    pub(crate) trials: Vec<&'a Trial>,
    /// Where the time of a committed call went, over all kinds.
    pub(crate) budget: Option<Budget>,
    /// Each kind, in report order.
    pub(crate) kinds: Vec<PooledKind<'a>>,
}

/// One kind of call of one side.
pub(crate) struct PooledKind<'a> {
    pub(crate) name: &'a str,
    /// Where its time went.
    pub(crate) budget: Option<Budget>,
    /// Response times of committed calls.
    pub(crate) spectrum: Vec<Bucket>,
    /// Median and 99th percentile of them, each the mean over the trials that show it, in nanoseconds.
    pub(crate) p50_ns: Option<f64>,
    /// See `p50_ns`.
    pub(crate) p99_ns: Option<f64>,
}

/// Trials of one subject.
pub(crate) fn of(trials: Vec<&Trial>) -> Pooled<'_> {
    let budget = Budget::mean(
        trials
            .iter()
            .filter_map(|trial| Some((trial.overall.budget?, trial.overall.call_counts.committed as f64))),
    );
    let names = trials.first().map_or(&[][..], |trial| trial.kinds.as_slice());
    let kinds = names.iter().map(|kind| pooled_kind(&trials, &kind.name)).collect();
    Pooled { trials, budget, kinds }
}

fn pooled_kind<'a>(trials: &[&'a Trial], name: &'a str) -> PooledKind<'a> {
    let tallies = || trials.iter().flat_map(|trial| &trial.kinds).filter(|kind| kind.name == name);
    let mut recorded: Vec<(u64, u64)> = tallies()
        .filter_map(|kind| kind.tally.latency(Class::Committed))
        .flat_map(|latency| &latency.spectrum)
        .map(|bucket| (bucket.upper_ns(), bucket.count()))
        .collect();
    recorded.sort_unstable();
    let latencies: Vec<Quantiles> = tallies()
        .filter_map(|kind| kind.tally.latency(Class::Committed))
        .map(|latency| latency.response)
        .collect();
    PooledKind {
        name,
        budget: Budget::mean(
            tallies().filter_map(|kind| Some((kind.tally.budget?, kind.tally.call_counts.committed as f64))),
        ),
        spectrum: Bucket::spectrum(recorded),
        p50_ns: mean(latencies.iter().filter_map(|times| times.p50_ns)),
        p99_ns: mean(latencies.iter().filter_map(|times| times.p99_ns)),
    }
}

/// The mean of times; nothing without one.
fn mean(times: impl Iterator<Item = u64>) -> Option<f64> {
    let times: Vec<u64> = times.collect();
    (!times.is_empty()).then(|| times.iter().sum::<u64>() as f64 / times.len() as f64)
}

impl Pooled<'_> {
    /// Processor time in milliseconds a thousand committed calls of the processes with these roles, or of all.
    pub(crate) fn cpu_ms_per_1000(&self, roles: Option<&str>) -> Option<f64> {
        let committed: f64 = self.trials.iter().map(|trial| trial.committed()).sum();
        let mut processes = self
            .trials
            .iter()
            .flat_map(|trial| &trial.processes)
            .filter(|process| roles.is_none_or(|roles| process.roles_words() == roles))
            .peekable();
        processes.peek()?;
        let cpu_s: f64 = processes.map(|process| process.cpu_s()).sum();
        (committed > 0.0).then(|| cpu_s * 1e6 / committed)
    }

    /// What likely limits the throughput of the first trial, in a few words; nothing where nothing tells.
    pub(crate) fn limit(&self) -> Option<&'static str> {
        let found = judge::bottleneck(self.trials.first()?)?;
        (found.what != Suspect::Unknown).then(|| found.what.words())
    }

    /// What the engine's sessions did, the most first, each with its share of the sampled time over all trials; nothing
    /// where no one looked.
    pub(crate) fn waits(&self) -> Vec<(&str, f64)> {
        let engines: Vec<&Engine> = self
            .trials
            .iter()
            .filter_map(|trial| trial.engine.as_ref())
            .filter(|engine| engine.samples > 0)
            .collect();
        let samples: u64 = engines.iter().map(|engine| engine.samples).sum();
        let mut shares: Vec<(&str, f64)> = Vec::new();
        for (engine, wait) in
            engines.iter().flat_map(|engine| engine.waits.iter().map(move |wait| (engine, wait)))
        {
            let share = wait.share * engine.samples as f64 / samples as f64;
            match shares.iter_mut().find(|(name, _)| *name == wait.name) {
                Some((_, sum)) => *sum += share,
                None => shares.push((&wait.name, share)),
            }
        }
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }
}
