//! What the statements of the last call took, whichever stores it was in.

use crate::{SqlSession, Transfers};
use model::{Clock, Session, StatementTimes};
use sql::SqlConn;

/// The last call of a session over several stores.
#[derive(Debug, Default)]
pub(crate) struct Last {
    /// Its only store; `None` where it was in several.
    within: Option<usize>,
    /// The statements in all of its stores, where it was in several and clocked.
    across: StatementTimes,
}

impl Last {
    /// It was in one store.
    pub(crate) fn within(&mut self, store: usize) {
        self.within = Some(store);
    }

    /// It was in several, and each took its part.
    pub(crate) fn across<'a>(&mut self, clocked: bool, parts: impl Iterator<Item = &'a StatementTimes>) {
        self.within = None;
        if clocked {
            self.across.clear();
            parts.for_each(|part| self.across.absorb(part));
        }
    }

    /// What its statements took.
    pub(crate) fn statement_times<'a, C: SqlConn, K: Clock>(
        &'a self,
        stores: &'a [SqlSession<C, K>],
    ) -> Option<&'a StatementTimes> {
        match self.within {
            Some(store) => Session::<Transfers>::statement_times(&stores[store]),
            None => Some(&self.across),
        }
    }
}
