//! What a run looks like while it goes on: one snapshot a slice, for the terminal, for Prometheus (`--metrics`) and for
//! browsers (`--live`).
//!
//! Everything starts on the thread that collects, once a slice, and only when someone looks; the workers know nothing of
//! it. What is served runs on a thread of its own, and no one waits for a reader: who is too slow gets the newest state.

mod board;
mod hub;
mod metrics;
mod snapshot;
mod terminal;
#[cfg(test)]
mod testing;
mod web;

use crate::args::LiveArgs;
use crate::ui::{ProgressLine, Ui, View};
use anyhow::Result;
use hub::{Activity, Hub, Wants};
use measure::Monotonic;
use model::{Clock, Nanos};
use result::text::seconds;
use result::{Document, Experiment};
use snapshot::{Pulse, Shown};
use std::cell::Cell;
use std::path::Path;
use std::sync::Arc;
use trial::SliceView;

pub(crate) use web::listen;

/// Progress of long work is shown this often: a load can report it thousands of times a second.
const DOING_EVERY: Nanos = Nanos::from_millis(250);

/// What is served while a command runs; nothing unless it was asked for. Ends with this value.
#[derive(Debug, Default)]
pub(crate) struct Live {
    hub: Option<Arc<Hub>>,
    served: Option<web::Served>,
}

impl Live {
    /// Listens where it was asked to, before anything else starts, and prints where.
    ///
    /// # Errors
    /// An address that is in use, that this machine does not have, or that takes privileges.
    pub(crate) fn start(args: &LiveArgs, ui: &Ui) -> Result<Live> {
        let wants = Wants { page: args.live.is_some(), metrics: args.metrics.is_some() };
        if wants == Wants::default() {
            return Ok(Live::default());
        }
        let hub = Arc::new(Hub::new(wants));
        let page = args.live.map(|listen| web::bind("--live", listen)).transpose()?;
        let metrics = args.metrics.map(|listen| web::bind("--metrics", listen)).transpose()?;
        for (bound, what, path) in [(&page, "live", "/"), (&metrics, "metrics", "/metrics")] {
            if let Some(bound) = bound {
                ui.remark(&format!("{what}: http://{}{path}", bound.addr));
                if !bound.addr.ip().is_loopback() {
                    ui.remark("  warning: anyone who can reach this address can view it (read-only)");
                }
            }
        }
        let served = web::serve(&hub, page, metrics)?;
        Ok(Live { hub: Some(hub), served: Some(served) })
    }

    /// Follows one trial, in the terminal and wherever else someone looks.
    /// Of one `of_several` the share and the time left are not shown, since what announces it says them of all.
    pub(crate) fn follow(&self, ui: &Ui, what: &str, of_several: bool) -> TrialReporter {
        if let Some(hub) = &self.hub {
            hub.begin();
        }
        self.doing(&format!("starting {what}"));
        let view = ui.view();
        // Without a terminal a line every few seconds is all that is wanted.
        let lines = view.is_none().then(|| ui.progress(what));
        TrialReporter { view, lines, of_several, hub: self.hub.clone(), pulse: Pulse::default() }
    }

    /// What goes on from now on, until the next slice of a trial or something else. Who knows how far it is says so through
    /// what is returned.
    pub(crate) fn doing(&self, words: &str) -> LongTask {
        let hub = self.hub.clone().filter(|hub| hub.wants().page);
        if let Some(hub) = &hub {
            hub.put_doing(Activity { words: words.to_owned(), ..Activity::default() });
        }
        LongTask { hub, words: words.to_owned(), clock: Monotonic::start(), next: Cell::new(Nanos::ZERO) }
    }

    /// Which variant the next trial is of, and in which block, counted from 1.
    pub(crate) fn place(&self, variant: &str, block: u32) {
        if let Some(hub) = &self.hub {
            hub.place(variant, block);
        }
    }

    /// How far a run of several trials has come: its document as it is now, and the experiment where that does not say it
    /// yet, which is asked for only if someone looks.
    pub(crate) fn board(&self, document: &Document, shown: &dyn Fn() -> Option<Experiment>) {
        let Some(hub) = &self.hub else { return };
        let board = match shown() {
            Some(experiment) => Some(board::of_experiment(document, &experiment)),
            None => board::of(document),
        };
        if let Some(board) = board {
            hub.put_board(board);
        }
    }

    /// The report is written.
    pub(crate) fn reported(&self, page: &Path) {
        if let Some(hub) = &self.hub {
            hub.reported(page);
        }
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        if let (Some(hub), Some(served)) = (&self.hub, self.served.take()) {
            hub.end();
            served.end();
        }
    }
}

/// Long work, for those who look at the page.
#[derive(Debug)]
pub(crate) struct LongTask {
    hub: Option<Arc<Hub>>,
    words: String,
    clock: Monotonic,
    next: Cell<Nanos>,
}

impl LongTask {
    /// `share` from 0 to 1, and what there is to say.
    pub(crate) fn show(&self, share: f64, detail: &str) {
        let Some(hub) = &self.hub else { return };
        let now = self.clock.now();
        if now < self.next.get() {
            return;
        }
        self.next.set(now + DOING_EVERY);
        let share = Some(share.clamp(0.0, 1.0));
        hub.put_doing(Activity { words: self.words.clone(), detail: detail.to_owned(), share });
    }
}

#[derive(Debug)]
pub(crate) struct TrialReporter {
    view: Option<View>,
    lines: Option<ProgressLine>,
    of_several: bool,
    hub: Option<Arc<Hub>>,
    pulse: Pulse,
}

impl trial::TrialReporter for TrialReporter {
    fn slice(&mut self, view: &SliceView<'_>) {
        let rates = view.rates();
        if let Some(lines) = &self.lines {
            let rate = terminal::thousands(rates.mean.unwrap_or(rates.now));
            let of = match view.plan.rounds {
                Some(_) => view.what,
                None => view.phase(),
            };
            let words = format!("{of}, {rate} {}", view.rate_unit);
            match self.of_several {
                true => lines.note(&words),
                false => lines.show(view.share(), &format!("{words}, {} left", seconds(view.left_s()))),
            }
        }
        if self.view.is_none() && self.hub.is_none() {
            return;
        }
        let snapshot = view.snapshot(rates, &mut self.pulse);
        if let Some(view) = &self.view {
            let alone = !self.of_several;
            view.draw(&terminal::render(&snapshot, self.pulse.rates(), alone, view.width(), view.colour()));
        }
        if let Some(hub) = &self.hub {
            let counted = hub.wants().metrics.then(|| view.counted());
            hub.put(snapshot, counted, &view.usage);
        }
    }
}

impl Drop for TrialReporter {
    /// Takes the view away.
    fn drop(&mut self) {
        if let Some(lines) = self.lines.take() {
            lines.end();
        }
        if let Some(view) = self.view.take() {
            view.end();
        }
        if let Some(hub) = &self.hub {
            hub.rest();
        }
    }
}
