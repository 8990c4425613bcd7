//! Keys that expire: a transfer that was made long enough ago is forgotten, and with it the answer to its key. Its entries stay in
//! the ledger for ever.
//!
//! Whoever forgets goes along the keys of a store, some hundred at a time, so that no one waits for it: what it deletes no one
//! uses any more, and it reads no table through. Nothing is forgotten before its money has arrived, so that what is in doubt can
//! still be decided. What is gone stays as sums, so that audits still add up.

use crate::Router;
use crate::saga::end;
use model::Fault;
use sql::{Catalogue, CatalogueError, ColumnError, Columns, Dialect, Param, SqlConn, TxKind};

sql::statements! {
    NextWorker = "next_worker",
    NextRun = "next_run",
    RangeEnd = "range_end",
    RangeYoung = "range_young",
    CountSent = "count_sent",
    CountReceived = "count_received",
    LockForgetting = "lock_forgetting",
    SumTransfers = "sum_transfers",
    DeleteDecisions = "delete_decisions",
    DeleteTransfers = "delete_transfers",
    SumInbox = "sum_inbox",
    DeleteInbox = "delete_inbox",
}

/// The statements of whoever forgets keys on an engine, in the order in which [`Forgetting`] numbers them.
pub fn expiry_catalogue(dialect: Dialect) -> Result<Vec<String>, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/transfer/expiry.sql"))?;
    let own = match dialect {
        // SQLite takes the canonical form.
        Dialect::Sqlite => return canonical.select(Stmt::NAMES),
        Dialect::Postgres => include_str!("../spec/sql/transfer/expiry.postgres.sql"),
        Dialect::MySql => include_str!("../spec/sql/transfer/expiry.mysql.sql"),
    };
    canonical.overridden(&Catalogue::parse(own)?)?.select(Stmt::NAMES)
}

/// Where it has come to in a store.
#[derive(Debug, Clone, Copy)]
struct ExpiryCursor {
    run: i64,
    worker: i64,
    /// The last sequence that was looked at.
    after: i64,
}

/// A connection to each store, for keys that have expired.
#[derive(Debug)]
pub struct Forgetting<C> {
    stores: Vec<C>,
    router: Router,
    keep_us: i64,
    /// Nothing where it begins again.
    places: Vec<Option<ExpiryCursor>>,
}

impl<C: SqlConn> Forgetting<C> {
    /// Over connections whose statements are those of [`expiry_catalogue`], in the order of the stores. Keys are kept for so many
    /// microseconds by the clocks of the stores.
    pub fn new(stores: Vec<C>, router: Router, keep_us: i64) -> Forgetting<C> {
        let places = vec![None; stores.len()];
        Forgetting { stores, router, keep_us, places }
    }

    /// Looks at the next keys of each store, some hundred at most. Gives how many it has forgotten, and whether it has come to the
    /// end in all stores.
    ///
    /// # Errors
    /// Which store could not be asked, and why.
    pub async fn turn(&mut self) -> Result<(u64, bool), (usize, Fault)> {
        let (mut forgotten, mut is_over) = (0, true);
        for at in 0..self.stores.len() {
            forgotten += self.step(at).await?;
            is_over &= self.places[at].is_none();
        }
        Ok((forgotten, is_over))
    }

    async fn step(&mut self, at: usize) -> Result<u64, (usize, Fault)> {
        let here = |fault| (at, fault);
        let conn = &mut self.stores[at];
        let place = match self.places[at] {
            Some(place) => Some(place),
            None => group(conn, Stmt::NextRun, &[i64::MIN]).await.map_err(here)?,
        };
        let Some(place) = place else { return Ok(0) };
        let ExpiryCursor { run, worker, after } = place;
        let last = one(conn, Stmt::RangeEnd, &[run, worker, after], |row| row.int(0)).await.map_err(here)?;
        let range = [run, worker, after, last.unwrap_or(-1)];
        let young = match range[3] {
            // There are no more of this run and worker.
            -1 => Some((0, 1)),
            _ => {
                let asked = [&range[..], &[self.keep_us]].concat();
                let read = |row: &dyn Columns| Ok((row.int(0)?, row.int(1)?));
                one(conn, Stmt::RangeYoung, &asked, read).await.map_err(here)?
            }
        };
        let Some((before, 0)) = young else {
            // Keys of a worker count up: what follows is younger.
            self.places[at] = next(conn, place).await.map_err(here)?;
            return Ok(0);
        };
        let ids = |store| self.router.ids(store).map(i64::from);
        let from_here = [&range[..], &ids(at)].concat();
        let count = self.stores.len();
        let others = || (0..count).filter(|other| *other != at);
        for other in others() {
            let to_there = [&range[..], &ids(other)].concat();
            let sent = one(&mut self.stores[at], Stmt::CountSent, &to_there, |row| row.int(0)).await;
            let arrived =
                one(&mut self.stores[other], Stmt::CountReceived, &from_here, |row| row.int(0)).await;
            if sent.map_err(here)? != arrived.map_err(|fault| (other, fault))? {
                // What is decided and has not arrived yet is found by its transfer.
                self.places[at] = next(&mut self.stores[at], place).await.map_err(here)?;
                return Ok(0);
            }
        }
        // Who forgets in one of several stores alone knows nothing of the others.
        let elsewhere = [&range[..], &[i64::from(self.router.last()) + 1, u32::MAX.into()]].concat();
        let sent = one(&mut self.stores[at], Stmt::CountSent, &elsewhere, |row| row.int(0)).await;
        if sent.map_err(here)? != Some(0) {
            self.places[at] = next(&mut self.stores[at], place).await.map_err(here)?;
            return Ok(0);
        }
        for other in others() {
            let steps: [(Stmt, &[i64]); 2] = [(Stmt::SumInbox, &from_here), (Stmt::DeleteInbox, &from_here)];
            write(&mut self.stores[other], &steps).await.map_err(|fault| (other, fault))?;
        }
        let old = [&range[..], &[before]].concat();
        let steps: [(Stmt, &[i64]); 3] =
            [(Stmt::SumTransfers, &old), (Stmt::DeleteDecisions, &old), (Stmt::DeleteTransfers, &old)];
        let changed = write(&mut self.stores[at], &steps).await.map_err(here)?;
        self.places[at] = Some(ExpiryCursor { after: range[3], ..place });
        Ok(changed[2])
    }
}

/// The first keys behind those of a run and worker.
async fn next<C: SqlConn>(conn: &mut C, place: ExpiryCursor) -> Result<Option<ExpiryCursor>, Fault> {
    let of_run = group(conn, Stmt::NextWorker, &[place.run, place.worker]).await?;
    match (of_run, place.run.checked_add(1)) {
        (Some(place), _) => Ok(Some(place)),
        (None, Some(run)) => group(conn, Stmt::NextRun, &[run]).await,
        (None, None) => Ok(None),
    }
}

async fn group<C: SqlConn>(conn: &mut C, stmt: Stmt, asked: &[i64]) -> Result<Option<ExpiryCursor>, Fault> {
    one(conn, stmt, asked, |row| Ok(ExpiryCursor { run: row.int(0)?, worker: row.int(1)?, after: -1 })).await
}

async fn one<C: SqlConn, T: Send>(
    conn: &mut C,
    stmt: Stmt,
    asked: &[i64],
    read: fn(&dyn Columns) -> Result<T, ColumnError>,
) -> Result<Option<T>, Fault> {
    conn.begin(TxKind::OneRead).await?;
    let row = conn.row(stmt.id(), &params(asked), read).await?;
    conn.commit().await?;
    Ok(row)
}

/// Statements of one transaction, which no other that forgets in this store runs next to; gives how many rows each has changed.
async fn write<C: SqlConn>(conn: &mut C, steps: &[(Stmt, &[i64])]) -> Result<Vec<u64>, Fault> {
    conn.begin(TxKind::Write).await?;
    let changed = changed(conn, steps).await;
    end(conn, changed).await
}

async fn changed<C: SqlConn>(conn: &mut C, steps: &[(Stmt, &[i64])]) -> Result<Vec<u64>, Fault> {
    conn.row(Stmt::LockForgetting.id(), &[], |row| row.int(0)).await?;
    let mut changed = Vec::with_capacity(steps.len());
    for (stmt, asked) in steps {
        changed.push(conn.exec(stmt.id(), &params(asked)).await?);
    }
    Ok(changed)
}

fn params(numbers: &[i64]) -> Vec<Param<'static>> {
    numbers.iter().map(|number| Param::Int(*number)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_files_hold_what_the_code_asks_for() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            assert_eq!(expiry_catalogue(dialect).unwrap().len(), Stmt::NAMES.len());
        }
    }
}
