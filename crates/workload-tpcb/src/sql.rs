//! The transaction over the narrow SQL port, for every engine that speaks it one statement at a time.
//!
//! The statements are pgbench's, in pgbench's order. Dialects differ in `spec/sql`, not here.

use crate::{Call, Outcome, Tpcb};
use model::{CallWork, Clock, DefectKind, Fault, Session, StatementTimes};
use sql::{Catalogue, CatalogueError, Dialect, SqlConn, SqlForm, Timed, TxKind};

sql::statements! {
    AddToAccount = "add_to_account",
    ReadAccount = "read_account",
    AddToTeller = "add_to_teller",
    AddToBranch = "add_to_branch",
    InsertHistory = "insert_history",
}

impl Stmt {
    /// Names in the order of [`sql::StmtId`]s: the same on every engine.
    pub fn names(dialect: Dialect) -> &'static [&'static str] {
        match dialect {
            Dialect::Sqlite | Dialect::Postgres | Dialect::MySql => Stmt::NAMES,
        }
    }
}

/// The statement texts for an engine, in the order of [`Stmt`].
pub fn catalogue(dialect: Dialect) -> Result<Vec<String>, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/tpcb/statements.sql"))?;
    let engine = match dialect {
        // SQLite takes the canonical form.
        Dialect::Sqlite => canonical,
        Dialect::Postgres => canonical
            .overridden(&Catalogue::parse(include_str!("../spec/sql/tpcb/statements.postgres.sql"))?)?,
        Dialect::MySql => {
            canonical.overridden(&Catalogue::parse(include_str!("../spec/sql/tpcb/statements.mysql.sql"))?)?
        }
    };
    engine.select(Stmt::names(dialect))
}

/// Tables, keys and references for an engine, in the order in which they are made.
pub fn schema(dialect: Dialect) -> Result<Catalogue, CatalogueError> {
    match dialect {
        Dialect::Sqlite => Catalogue::parse(include_str!("../spec/sql/tpcb/schema.sqlite.sql")),
        Dialect::Postgres => Catalogue::parse(include_str!("../spec/sql/tpcb/schema.postgres.sql")),
        Dialect::MySql => Catalogue::parse(include_str!("../spec/sql/tpcb/schema.mysql.sql")),
    }
}

/// Runs the transaction on one connection.
#[derive(Debug)]
pub struct SqlSession<C, K> {
    conn: Timed<C, K>,
}

impl<C: SqlConn, K: Clock> SqlSession<C, K> {
    /// A session on a connection whose statements are those of [`catalogue`].
    pub fn new(conn: C, clock: K) -> SqlSession<C, K> {
        SqlSession { conn: Timed::new(conn, clock) }
    }

    async fn transact(&mut self, call: &Call) -> Result<Outcome, Fault> {
        self.conn.begin(TxKind::Write).await?;
        match self.body(call).await {
            Ok(outcome) => {
                self.conn.commit().await?;
                Ok(outcome)
            }
            Err(fault) => {
                // The fault of the body tells more than one of the roll-back that follows it.
                let _ = self.conn.rollback().await;
                Err(fault)
            }
        }
    }

    /// Account, teller, branch: all calls lock in this order, one row a table, so none can wait for one that waits for it.
    async fn body(&mut self, call: &Call) -> Result<Outcome, Fault> {
        let &Call { aid, tid, bid, delta } = call;
        self.add(Stmt::AddToAccount, aid, delta).await?;
        let abalance = self
            .conn
            .row(Stmt::ReadAccount.id(), &[aid.into()], |row| row.int(0))
            .await?
            .ok_or_else(|| absent(Stmt::ReadAccount, aid))?;
        self.add(Stmt::AddToTeller, tid, delta).await?;
        self.add(Stmt::AddToBranch, bid, delta).await?;
        let entry = [tid.into(), bid.into(), aid.into(), delta.into()];
        self.conn.exec(Stmt::InsertHistory.id(), &entry).await?;
        Ok(Outcome { abalance })
    }

    /// Adds an amount to the balance of one row, which must be there. One amount in 10,001 is zero: adapters count the rows
    /// that were found, and not, as MySQL's protocol does unless asked, those whose values changed.
    async fn add(&mut self, stmt: Stmt, id: u32, delta: i64) -> Result<(), Fault> {
        match self.conn.exec(stmt.id(), &[id.into(), delta.into()]).await? {
            1 => Ok(()),
            _ => Err(absent(stmt, id)),
        }
    }
}

/// Ids come straight from the call, so whatever is missing was asked for wrongly.
#[cold]
fn absent(stmt: Stmt, id: u32) -> Fault {
    let what = match stmt {
        Stmt::AddToAccount | Stmt::ReadAccount | Stmt::InsertHistory => "account",
        Stmt::AddToTeller => "teller",
        Stmt::AddToBranch => "branch",
    };
    Fault::defect(DefectKind::BadCall, format!("there is no {what} {id}"))
}

impl<C: SqlConn, K: Clock> Session<Tpcb> for SqlSession<C, K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        self.conn.start(work);
        let result = self.transact(call).await;
        self.conn.move_into(work);
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(self.conn.statement_times())
    }
}

/// Opens sessions that run the transaction one statement at a time, over an opener that prepares the statements of
/// [`catalogue`].
pub type SqlTarget<O, K> = sql::SqlTarget<Tpcb, O, K>;

impl SqlForm for Tpcb {
    type Session<C: SqlConn, K: Clock> = SqlSession<C, K>;
    type Form = ();

    fn session<C: SqlConn, K: Clock>(conn: C, clock: K, (): ()) -> SqlSession<C, K> {
        SqlSession::new(conn, clock)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_files_hold_what_the_code_asks_for() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            assert_eq!(catalogue(dialect).unwrap().len(), Stmt::names(dialect).len());
            let tables = schema(dialect).unwrap();
            let count = |prefix: &str| tables.iter().filter(|(name, _)| name.starts_with(prefix)).count();
            let keys = if dialect == Dialect::Postgres { 3 } else { 0 };
            let references = if dialect == Dialect::Sqlite { 0 } else { 5 };
            assert_eq!((count("table_"), count("index_"), count("reference_")), (4, keys, references));
        }
    }
}
