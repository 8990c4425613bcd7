//! What looks on while one side of a comparison has its turn.

use crate::follow::look;
use crate::lookups::LookupSwitch;
use crate::steady;
use deploy::{Interrupt, Server};
use drive::{Observer, Stop, TrialProgress};
use measure::Monotonic;
use model::{Clock, Nanos};
use observe::Watch;
use std::sync::Arc;
use targets::Driven;

/// Watches one turn: a server that dies, a user who stops.
pub(crate) struct TurnWatch<'a> {
    pub(crate) watch: &'a mut Watch<Monotonic>,
    pub(crate) clock: Monotonic,
    /// When the first turn began.
    pub(crate) since: Nanos,
    /// When this one's window opened, counted from then.
    pub(crate) opened: Nanos,
    /// When it closed.
    pub(crate) closed: Option<Nanos>,
    pub(crate) party: usize,
    pub(crate) stop: Stop,
    pub(crate) interrupt: &'a Interrupt,
    pub(crate) server: Option<Server>,
    pub(crate) failure: Option<String>,
    /// To be paused when the window opens.
    pub(crate) lookups: Option<Arc<LookupSwitch>>,
    /// Whether the engine was not steady when the window opened.
    pub(crate) unsteady: bool,
    /// Whether that is waited for: in the first turn of a group.
    pub(crate) waits: bool,
}

impl<W: Driven> Observer<W> for TurnWatch<'_> {
    fn look(&mut self) {
        look(self.interrupt, self.server.as_mut(), &mut self.failure, &self.stop);
    }

    fn is_steady(&mut self) -> bool {
        !self.waits || steady::is_engine_steady(self.watch)
    }

    fn opened(&mut self) {
        self.unsteady = !Observer::<W>::is_steady(self);
        self.opened = self.clock.now() - self.since;
        self.lookups.iter().for_each(|lookups| lookups.pause());
        self.watch.open_window_of(self.party);
    }

    fn closed(&mut self) {
        self.closed = Some(self.clock.now());
        self.watch.close_window();
    }

    fn slice(&mut self, _: &TrialProgress<'_, W>) {}
}
