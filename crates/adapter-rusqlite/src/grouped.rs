//! Sessions whose writing calls share durable commits: each in a savepoint of its own, none acknowledged before the commit
//! that makes it durable.
//!
//! No one waits for company. Whoever ends a call while others wait for their turn leaves the commit to the last of them,
//! and whoever finds no one waiting commits for all. A single client therefore commits as it would without a group.

use crate::group::{CommitGroup, GroupCommits, TRANSACTIONS_MAX, Turn};
use crate::open::{ADAPTER, connect, has_log, read_back, refused};
use crate::prepared::{Prepared, fault};
use model::{Clock, Fault, Home, Nanos, OpenError, Stack};
use sql::{
    Dialect, Grouping, Param, Read, SqlConn, SqlOpener, SqliteSettings, SqliteUrl, StmtId, Take, TxKind,
};
use std::sync::Arc;

/// Opens sessions that share one writing connection to a database file.
pub struct GroupedOpener<K> {
    url: SqliteUrl,
    statements: Vec<String>,
    group: Arc<CommitGroup>,
    clock: K,
    settings: SqliteSettings,
}

impl<K> std::fmt::Debug for GroupedOpener<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupedOpener").field("url", &self.url).finish_non_exhaustive()
    }
}

impl<K: Clock> GroupedOpener<K> {
    /// Opens the writing connection as the URL says. `statements` are the texts in the order of their numbers.
    ///
    /// # Errors
    /// When the file is missing or no database, a setting does not take, or a statement does not fit the schema.
    pub fn new(url: &SqliteUrl, statements: Vec<String>, clock: K) -> Result<GroupedOpener<K>, OpenError> {
        let connection = connect(url)?;
        let settings = read_back(&connection).map_err(|error| refused(url, &error))?;
        let group = CommitGroup::new(connection, &statements).map_err(|error| refused(url, &error))?;
        Ok(GroupedOpener { url: url.clone(), statements, group: Arc::new(group), clock, settings })
    }

    /// The database file may not grow beyond so many pages, as if the disk were full.
    #[cfg(test)]
    pub(crate) fn limit_pages(&self, pages: u32) {
        self.group.turn().prepared().limit_pages(pages);
    }

    /// Where to ask how many calls have shared a commit.
    pub fn sharing(&self) -> Sharing {
        Sharing(self.group.clone())
    }
}

/// Tells how many calls have shared how many durable commits, while sessions run.
#[derive(Clone)]
pub struct Sharing(Arc<CommitGroup>);

impl Sharing {
    /// Since the opener was made.
    pub fn so_far(&self) -> GroupCommits {
        self.0.shared()
    }

    /// Sessions that wait for their turn now.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> u32 {
        self.0.waiting()
    }
}

impl std::fmt::Debug for Sharing {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.so_far().fmt(f)
    }
}

impl<K: Clock> SqlOpener for GroupedOpener<K> {
    type Conn = GroupedConn<K>;
    const HOME: Home = Home::Thread;

    async fn open(&self) -> Result<GroupedConn<K>, OpenError> {
        // With a rollback journal no one can read while someone writes, so readers take the turn as well.
        let reader = if has_log(&self.settings) {
            let connection = connect(&self.url)?;
            let prepared = Prepared::new(connection, &self.statements, &READING);
            Some(prepared.map_err(|error| refused(&self.url, &error))?)
        } else {
            None
        };
        Ok(GroupedConn {
            group: self.group.clone(),
            turn: None,
            reader,
            waited: Nanos::ZERO,
            grouping: None,
            clock: self.clock.clone(),
        })
    }

    fn stack(&self) -> Stack {
        let mut stack = self.settings.stack(ADAPTER);
        stack.style = "grouped".into();
        stack.settings.push(("calls_a_commit_max".into(), TRANSACTIONS_MAX.to_string()));
        stack
    }
}

/// Places of a reader's statements behind the workload's.
#[derive(Clone, Copy)]
enum Reading {
    Begin,
    Commit,
    Rollback,
}

const READING: [&str; 3] = ["begin deferred", "commit", "rollback"];

/// A session's part in a group, and a connection of its own to read by. Blocking: its futures never wait.
pub struct GroupedConn<K> {
    group: Arc<CommitGroup>,
    /// While a writing transaction runs.
    turn: Option<Turn>,
    /// Sees what is committed, and so what was acknowledged.
    reader: Option<Prepared>,
    waited: Nanos,
    /// The last writing transaction's part in its commit.
    grouping: Option<Grouping>,
    clock: K,
}

impl<K> std::fmt::Debug for GroupedConn<K> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GroupedConn").field("turn", &self.turn.is_some()).finish_non_exhaustive()
    }
}

impl<K> GroupedConn<K> {
    /// The connection on which the transaction of now runs.
    fn current(&mut self) -> &mut Prepared {
        match (&mut self.turn, &mut self.reader) {
            (Some(turn), _) => turn.prepared(),
            (None, Some(reader)) => reader,
            (None, None) => unreachable!(
                "without a reader every transaction has the turn, and a statement has a transaction"
            ),
        }
    }

    /// Whatever was done and not committed is undone; of others nothing is.
    fn abandon(&mut self, wait: bool) -> Result<(), Fault> {
        if let Some(turn) = self.turn.take() {
            turn.rollback(wait)?;
        }
        match &mut self.reader {
            Some(reader) if reader.in_transaction() => {
                reader.control(Reading::Rollback as usize).map_err(|error| fault(&error, false))
            }
            _ => Ok(()),
        }
    }

    /// A fault of a statement, which may have ended everybody's transaction.
    #[cold]
    fn notice(&mut self, fault: &Fault) {
        if let Some(turn) = &mut self.turn {
            turn.notice(fault);
        }
    }
}

impl<K: Clock> SqlConn for GroupedConn<K> {
    const DIALECT: Dialect = Dialect::Sqlite;

    async fn begin(&mut self, tx: TxKind) -> Result<(), Fault> {
        // The transaction before may have been given up in its middle: its future was dropped, or a caller panicked and went
        // on. Waiting for our own turn would never end; what became of others then was not asked.
        let _ = self.abandon(false);
        if !tx.writes()
            && let Some(reader) = &mut self.reader
        {
            if tx.is_one_statement() {
                return Ok(());
            }
            return reader.control(Reading::Begin as usize).map_err(|error| fault(&error, false));
        }
        let turn = self.group.try_turn().unwrap_or_else(|| {
            let came = self.clock.now();
            let turn = self.group.turn();
            self.waited = self.clock.now() - came;
            turn
        });
        self.turn = Some(turn.enter()?);
        Ok(())
    }

    async fn commit(&mut self) -> Result<(), Fault> {
        match (self.turn.take(), &mut self.reader) {
            (Some(turn), _) => {
                self.grouping = Some(turn.commit()?);
                Ok(())
            }
            (None, Some(reader)) if reader.in_transaction() => {
                let committed = reader.control(Reading::Commit as usize);
                committed.map_err(|error| fault(&error, false))
            }
            // Nothing, or one statement that has read.
            (None, _) => Ok(()),
        }
    }

    async fn rollback(&mut self) -> Result<(), Fault> {
        self.abandon(true)
    }

    async fn exec(&mut self, stmt: StmtId, params: &[Param<'_>]) -> Result<u64, Fault> {
        self.current().exec(stmt, params).inspect_err(|fault| self.notice(fault))
    }

    async fn row<T: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        read: Read<T>,
    ) -> Result<Option<T>, Fault> {
        self.current().row(stmt, params, read).inspect_err(|fault| self.notice(fault))
    }

    async fn fold<S: Send>(
        &mut self,
        stmt: StmtId,
        params: &[Param<'_>],
        state: &mut S,
        take: Take<S>,
    ) -> Result<(), Fault> {
        self.current().fold(stmt, params, state, take).inspect_err(|fault| self.notice(fault))
    }

    fn waited(&mut self) -> Nanos {
        std::mem::take(&mut self.waited)
    }

    fn grouping(&mut self) -> Option<Grouping> {
        self.grouping.take()
    }
}

impl<K> Drop for GroupedConn<K> {
    /// A session that is dropped in mid-transaction undoes what it did, and no one waits for it.
    fn drop(&mut self) {
        if let Some(turn) = self.turn.take() {
            // No one is left to be told.
            let _ = turn.rollback(false);
        }
    }
}
