//! The one place where a run's present state is kept: written by the thread that collects, read by those who serve it.

use super::board::Board;
use super::metrics::Counters;
use super::snapshot::{Snapshot, TrialCounters};
use serde::Serialize;
use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::sync::broadcast;

/// Slices that a page which is opened late still gets: ten minutes.
const HISTORY_MAX: usize = 600;
/// News that may wait for a reader; one that falls behind gets the whole state instead.
const NEWS_MAX: usize = 32;
/// Pages that may follow a run at once.
const READERS_MAX: usize = 64;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Wants {
    pub(super) page: bool,
    pub(super) metrics: bool,
}

/// The present state of a run.
#[derive(Debug)]
pub(super) struct Hub {
    wants: Wants,
    state: Mutex<PageState>,
    news: broadcast::Sender<News>,
}

/// What a page gets: the name of an event, and its data as JSON.
#[derive(Debug, Clone)]
pub(super) struct News {
    pub(super) event: &'static str,
    pub(super) data: Arc<str>,
}

#[derive(Debug, Default)]
struct PageState {
    history: VecDeque<Slot>,
    board: Option<Board>,
    counters: Counters,
    trials: u64,
    slices: u64,
    report: Option<String>,
    /// No trial runs.
    resting: bool,
    /// What goes on meanwhile, if anyone said so.
    doing: Option<Activity>,
    ended: bool,
}

/// What goes on where no calls are counted: loading, checking, restoring, auditing.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub(super) struct Activity {
    /// In words: `loading 10 warehouses`.
    pub(super) words: String,
    /// How far it is, in words; empty where no one knows.
    pub(super) detail: String,
    /// The same from 0 to 1.
    pub(super) share: Option<f64>,
}

/// A slice as pages get it.
#[derive(Debug, Clone, Serialize)]
struct Slot {
    /// Counted over the run.
    at: u64,
    /// The trial, counted from 1.
    trial: u64,
    #[serde(flatten)]
    now: Snapshot,
}

/// Everything, for a page that is opened or has fallen behind.
#[derive(Serialize)]
struct Whole<'a> {
    history: &'a VecDeque<Slot>,
    board: &'a Option<Board>,
    report: &'a Option<String>,
    resting: bool,
    doing: &'a Option<Activity>,
    ended: bool,
}

#[derive(Serialize)]
struct End<'a> {
    report: &'a Option<String>,
}

impl Hub {
    pub(super) fn new(wants: Wants) -> Hub {
        Hub { wants, state: Mutex::default(), news: broadcast::channel(NEWS_MAX).0 }
    }

    pub(super) fn wants(&self) -> Wants {
        self.wants
    }

    pub(super) fn begin(&self) {
        let mut state = self.lock();
        state.trials += 1;
        state.counters.begin();
    }

    /// Which variant the next trial is of.
    pub(super) fn place(&self, variant: &str, block: u32) {
        self.lock().counters.place(variant, block);
    }

    /// A slice has ended.
    pub(super) fn put(&self, now: Snapshot, counted: Option<TrialCounters>, usage: &[observe::Usage]) {
        let mut state = self.lock();
        if let Some(counted) = counted {
            state.counters.put(&now, counted, usage);
        }
        if !self.wants.page {
            return;
        }
        state.slices += 1;
        (state.resting, state.doing) = (false, None);
        let entry = Slot { at: state.slices, trial: state.trials, now };
        self.announce("slice", &entry);
        if state.history.len() == HISTORY_MAX {
            state.history.pop_front();
        }
        state.history.push_back(entry);
    }

    /// The trial has ended: what comes now is auditing, restoring, loading.
    pub(super) fn rest(&self) {
        let mut state = self.lock();
        state.counters.rest();
        (state.resting, state.doing) = (true, None);
        self.announce("rest", &());
    }

    /// What goes on until the next slice.
    pub(super) fn put_doing(&self, doing: Activity) {
        let mut state = self.lock();
        self.announce("doing", &doing);
        state.doing = Some(doing);
    }

    pub(super) fn put_board(&self, board: Board) {
        let mut state = self.lock();
        self.announce("board", &board);
        state.board = Some(board);
    }

    /// The report is written.
    pub(super) fn reported(&self, page: &Path) {
        let path = std::path::absolute(page).unwrap_or_else(|_| page.to_owned());
        self.lock().report = Some(path.display().to_string());
    }

    pub(super) fn end(&self) {
        let mut state = self.lock();
        state.ended = true;
        self.announce("end", &End { report: &state.report });
    }

    /// The whole state, and everything that comes after it; nothing with too many readers.
    pub(super) fn subscribe(&self) -> Option<(News, broadcast::Receiver<News>)> {
        let state = self.lock();
        if self.news.receiver_count() >= READERS_MAX {
            return None;
        }
        // Under the lock, so that nothing is between the two.
        Some((whole(&state), self.news.subscribe()))
    }

    /// The same for a reader that has missed news.
    pub(super) fn catch_up(&self, behind: &broadcast::Receiver<News>) -> (News, broadcast::Receiver<News>) {
        let state = self.lock();
        // Under the lock as well: the end of a run told in between would never reach this reader.
        (whole(&state), behind.resubscribe())
    }

    /// The text of the metrics endpoint.
    pub(super) fn metrics(&self) -> String {
        self.lock().counters.render()
    }

    fn announce(&self, event: &'static str, data: &impl Serialize) {
        // No one listens: nothing is made.
        if self.news.receiver_count() > 0 {
            let _ = self.news.send(News { event, data: json(data) });
        }
    }

    /// Counters are added to or replaced, never left half changed, so a panic elsewhere does not spoil them.
    fn lock(&self) -> MutexGuard<'_, PageState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn whole(state: &PageState) -> News {
    let PageState { history, board, report, resting, doing, ended, .. } = state;
    let whole = Whole { history, board, report, resting: *resting, doing, ended: *ended };
    News { event: "whole", data: json(&whole) }
}

fn json(data: &impl Serialize) -> Arc<str> {
    serde_json::to_string(data).expect("plain structs in memory").into()
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    #[test]
    fn a_reader_that_sleeps_costs_nothing_and_gets_the_newest_state() {
        let hub = Hub::new(Wants { page: true, metrics: false });
        let (_, mut asleep) = hub.subscribe().unwrap();
        hub.begin();
        for _ in 0..2_000 {
            hub.put(testing::snapshot(), None, &[]);
        }
        let missed = asleep.try_recv().unwrap_err();
        assert!(matches!(missed, broadcast::error::TryRecvError::Lagged(_)), "{missed:?}");
        let (whole, mut awake) = hub.catch_up(&asleep);
        let whole: serde_json::Value = serde_json::from_str(&whole.data).unwrap();
        let history = whole["history"].as_array().unwrap();
        assert_eq!(history.len(), HISTORY_MAX);
        assert_eq!(history.last().unwrap()["at"], 2_000);
        hub.end();
        assert_eq!(awake.try_recv().unwrap().event, "end", "and then what comes after it");
    }

    #[test]
    fn readers_are_limited() {
        let hub = Hub::new(Wants { page: true, metrics: false });
        let readers: Vec<_> = std::iter::from_fn(|| hub.subscribe()).collect();
        assert_eq!(readers.len(), READERS_MAX);
        drop(readers);
        assert!(hub.subscribe().is_some());
    }

    #[test]
    fn a_page_opened_between_trials_learns_that_none_runs() {
        let hub = Hub::new(Wants { page: true, metrics: false });
        let resting = || -> bool {
            let (whole, _) = hub.subscribe().unwrap();
            serde_json::from_str::<serde_json::Value>(&whole.data).unwrap()["resting"].as_bool().unwrap()
        };
        hub.begin();
        hub.put(testing::snapshot(), None, &[]);
        assert!(!resting());
        hub.rest();
        assert!(resting());
        hub.put(testing::snapshot(), None, &[]);
        assert!(!resting());
    }

    #[test]
    fn what_goes_on_is_told_until_calls_are_counted() {
        let hub = Hub::new(Wants { page: true, metrics: false });
        let doing = || -> serde_json::Value {
            let (whole, _) = hub.subscribe().unwrap();
            serde_json::from_str::<serde_json::Value>(&whole.data).unwrap()["doing"].take()
        };
        assert!(doing().is_null());
        let (_, mut reader) = hub.subscribe().unwrap();
        let loading = Activity {
            words: "loading 2 warehouses".into(),
            detail: "rows: 1 of 4".into(),
            share: Some(0.25),
        };
        hub.put_doing(loading);
        let told = r#"{"words":"loading 2 warehouses","detail":"rows: 1 of 4","share":0.25}"#;
        let news = reader.try_recv().unwrap();
        assert_eq!((news.event, &*news.data), ("doing", told));
        assert_eq!(doing(), serde_json::from_str::<serde_json::Value>(told).unwrap());
        hub.begin();
        hub.put(testing::snapshot(), None, &[]);
        assert!(doing().is_null(), "calls are counted now");
        hub.put_doing(Activity { words: "ending".into(), ..Activity::default() });
        hub.rest();
        assert!(doing().is_null(), "no one has said yet what comes after a trial");
    }

    #[test]
    fn the_end_names_the_report() {
        let hub = Hub::new(Wants { page: true, metrics: false });
        let (_, mut reader) = hub.subscribe().unwrap();
        hub.reported(Path::new("/results/a \"b\"/report.html"));
        hub.end();
        let end = reader.try_recv().unwrap();
        assert_eq!((end.event, &*end.data), ("end", r#"{"report":"/results/a \"b\"/report.html"}"#));
    }
}
