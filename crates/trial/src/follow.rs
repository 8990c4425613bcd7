//! What looks on while a trial runs: progress, partial results, a server that dies, a user who stops.

use crate::folder::ProgressFile;
use crate::headline::{fill, left};
use crate::job::Job;
use crate::lookups::LookupSwitch;
use crate::reporter::{SliceView, TrialReporter, rate_shown};
use crate::steady;
use anyhow::{Result, bail};
use deploy::{Interrupt, Server};
use drive::{Observer, Stop};
use measure::Monotonic;
use model::Nanos;
use observe::Watch;
use result::Document;
use std::sync::Arc;
use targets::Driven;

/// Partial results are written with every slice for this long, and with every tenth then.
const SLICES_WRITTEN_ALL: u32 = 60;

/// Slices that are written again with the ones after them.
const SLICES_AGAIN: usize = 8;

/// Stops the load where the user asks for it, or the server has ended: how is its `failure`.
pub(crate) fn look(
    interrupt: &Interrupt,
    server: Option<&mut Server>,
    failure: &mut Option<String>,
    stop: &Stop,
) {
    if interrupt.requested() {
        stop.request();
    }
    if failure.is_none()
        && let Some(how) = server.and_then(Server::ended)
    {
        *failure = Some(how);
        stop.request();
    }
}

/// Watches a trial from the outside: progress, partial results, a server that dies, a user who stops.
pub(crate) struct Follow<'a, 'j, W: Driven> {
    pub(crate) job: &'a Job<'j, W>,
    pub(crate) document: &'a mut Document,
    pub(crate) before: Option<&'a W::Evidence>,
    pub(crate) watch: Option<Watch<Monotonic>>,
    pub(crate) server: Option<&'a mut Server>,
    pub(crate) server_failure: Option<String>,
    pub(crate) stop: Stop,
    pub(crate) following: Box<dyn TrialReporter>,
    pub(crate) slices_seen: u32,
    pub(crate) progress: ProgressFile,
    /// How many slices of the time line have been written.
    pub(crate) slices_written: usize,
    /// Whether that has a slice of the window.
    pub(crate) window_written: bool,
    /// Whether the engine was not steady when the window opened.
    pub(crate) unsteady: bool,
    /// When the window opened, in microseconds of Unix time.
    pub(crate) opened_us: Option<i64>,
    /// To be paused when the window opens.
    pub(crate) lookups: Option<Arc<LookupSwitch>>,
    pub(crate) write_failure: Option<anyhow::Error>,
}

impl<W: Driven> Follow<'_, '_, W> {
    /// Ends the trial if whoever wants it says so, and notes why.
    fn end_early(&mut self, progress: &drive::TrialProgress<'_, W>) {
        let Some(trial) = self.document.trials.last_mut().filter(|trial| trial.ended_early.is_none()) else {
            return;
        };
        let Some(ask) = self.job.end_early else { return };
        let measured = self.job.plan.measured;
        if progress.left == Nanos::ZERO || progress.left >= measured {
            return;
        }
        let Some(why) = ask(measured - progress.left, &progress.collected.totals) else { return };
        self.stop.request();
        trial.notes.push(format!("It was ended early: {why}."));
        trial.ended_early = Some(why);
    }

    fn write(&mut self, progress: &drive::TrialProgress<'_, W>) -> Result<()> {
        let collected = progress.collected;
        let Some(trial) = self.document.trials.last_mut() else {
            bail!("the trial is pushed before it runs")
        };
        fill::<W>(trial, &collected.totals, progress.slices, progress.passed);
        let claims = self.before.map(|_| W::claims(&collected.ledger, false));
        // The last slices again, since a page that is handed over late still counts in its own.
        // Before the window opens no one knows how long before it a slice lies.
        let opens = !self.window_written && trial.slices.iter().any(|slice| !slice.warmup);
        let first = if opens { 0 } else { self.slices_written.saturating_sub(SLICES_AGAIN) };
        self.window_written |= opens;
        self.slices_written = trial.slices.len();
        self.progress.append(&result::Progress::of(trial, first, claims))
    }
}

impl<W: Driven> Observer<W> for Follow<'_, '_, W> {
    fn look(&mut self) {
        look(self.job.interrupt, self.server.as_deref_mut(), &mut self.server_failure, &self.stop);
    }

    fn is_steady(&mut self) -> bool {
        self.watch.as_ref().is_none_or(steady::is_engine_steady)
    }

    fn opened(&mut self) {
        self.opened_us = i64::try_from(measure::unix_nanoseconds() / 1_000).ok();
        self.unsteady = !self.is_steady();
        self.lookups.iter().for_each(|lookups| lookups.pause());
        if let Some(watch) = &mut self.watch {
            watch.open_window();
        }
    }

    fn closed(&mut self) {
        if let Some(watch) = &mut self.watch {
            watch.close_window();
        }
    }

    fn slice(&mut self, progress: &drive::TrialProgress<'_, W>) {
        self.end_early(progress);
        let usage = self.watch.as_ref().map(Watch::usage).unwrap_or_default();
        let plan = &self.job.plan;
        let (rate_unit, rate_seconds) = rate_shown::<W>(plan);
        self.following.slice(&SliceView {
            what: self.job.what,
            subject: self.job.subject,
            plan,
            kinds: W::KINDS,
            rate_unit,
            rate_seconds,
            slices: progress.slices,
            totals: &progress.collected.totals,
            warmup: progress.collected.warmup,
            call_counts: &progress.call_counts,
            away: progress.outages.last().is_some_and(|outage| outage.to.is_none()),
            window: progress.passed,
            left: left(plan.calls, progress),
            usage,
        });
        self.slices_seen += 1;
        if self.slices_seen <= SLICES_WRITTEN_ALL || self.slices_seen.is_multiple_of(10) {
            // A full disk ends the trial: a result that cannot be kept is none.
            if let Err(error) = self.write(progress) {
                self.write_failure.get_or_insert(error);
                self.stop.request();
            }
        }
    }
}
