//! All trials of one side of a comparison, taken together.

use crate::document::{Bucket, Budget, Class, Comparison, Document, Side, Trial};

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
    /// Its name.
    pub(crate) name: &'a str,
    /// Where its time went.
    pub(crate) budget: Option<Budget>,
    /// Response times of committed calls.
    pub(crate) spectrum: Vec<Bucket>,
}

/// The trials of `side` that the comparison's blocks name.
pub(crate) fn side<'a>(document: &'a Document, comparison: &Comparison, side: Side) -> Pooled<'a> {
    let trials: Vec<&Trial> = comparison
        .blocks
        .iter()
        .flat_map(|block| &block.trials)
        .filter(|entry| entry.side == side)
        .filter_map(|entry| document.trials.get(entry.trial))
        .collect();
    let budget = Budget::mean(
        trials.iter().filter_map(|trial| Some((trial.overall.budget?, trial.overall.books.committed as f64))),
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
    PooledKind {
        name,
        budget: Budget::mean(
            tallies().filter_map(|kind| Some((kind.tally.budget?, kind.tally.books.committed as f64))),
        ),
        spectrum: Bucket::spectrum(recorded),
    }
}

impl Pooled<'_> {
    /// What the processes do, in the words of reports, each once.
    pub(crate) fn roles(&self) -> Vec<String> {
        let mut roles = Vec::new();
        for process in self.trials.iter().flat_map(|trial| &trial.processes) {
            let words = process.roles_words();
            if !roles.contains(&words) {
                roles.push(words);
            }
        }
        roles
    }

    /// Processor time in milliseconds a thousand committed calls of the processes with these roles, or of all.
    pub(crate) fn cpu_ms_per_1000(&self, roles: Option<&str>) -> Option<f64> {
        let committed: u64 = self.trials.iter().map(|trial| trial.overall.books.committed).sum();
        let mut processes = self
            .trials
            .iter()
            .flat_map(|trial| &trial.processes)
            .filter(|process| roles.is_none_or(|roles| process.roles_words() == roles))
            .peekable();
        processes.peek()?;
        let cpu_s: f64 = processes.map(|process| process.cpu_s()).sum();
        (committed > 0).then(|| cpu_s * 1e6 / committed as f64)
    }
}
