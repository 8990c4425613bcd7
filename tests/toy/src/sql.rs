//! The transaction over the narrow SQL port, for every driver that speaks it one statement at a time.

use crate::{Call, Outcome, Toy};
use model::{CallWork, Clock, DefectKind, Fault, Session, StatementTimes};
use sql::{Catalogue, CatalogueError, Dialect, SqlConn, SqlForm, Timed, TxKind};

sql::statements! {
    AddToBox = "add_to_box",
    ReadBox = "read_box",
    InsertNote = "insert_note",
}

/// The statement texts, in the order of [`Stmt`]. There are no others than SQLite's, which is all that the rows name.
pub(crate) fn catalogue(_: Dialect) -> Result<Vec<String>, CatalogueError> {
    Catalogue::parse(include_str!("../spec/sql/statements.sql"))?.select(Stmt::NAMES)
}

/// Tables, in the order in which they are made.
pub(crate) fn schema() -> Result<Catalogue, CatalogueError> {
    Catalogue::parse(include_str!("../spec/sql/schema.sqlite.sql"))
}

/// Runs the transaction on one connection.
pub(crate) struct SqlSession<C, K> {
    conn: Timed<C, K>,
}

impl<C: SqlConn, K: Clock> SqlSession<C, K> {
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

    async fn body(&mut self, call: &Call) -> Result<Outcome, Fault> {
        let &Call { id, number, delay_ms } = call;
        self.conn.exec(Stmt::AddToBox.id(), &[id.into(), number.into()]).await?;
        let read = |row: &dyn sql::Columns| Ok(Outcome { notes: row.int(0)?, total: row.int(1)? });
        let outcome = self.conn.row(Stmt::ReadBox.id(), &[id.into()], read).await?;
        // The id comes straight from the call, so it was asked for wrongly.
        let outcome =
            outcome.ok_or_else(|| Fault::defect(DefectKind::BadCall, format!("there is no box {id}")))?;
        self.conn.exec(Stmt::InsertNote.id(), &[id.into(), number.into(), delay_ms.into()]).await?;
        Ok(outcome)
    }
}

impl<C: SqlConn, K: Clock> Session<Toy> for SqlSession<C, K> {
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

impl SqlForm for Toy {
    type Session<C: SqlConn, K: Clock> = SqlSession<C, K>;
    type Form = ();

    fn session<C: SqlConn, K: Clock>(conn: C, clock: K, (): ()) -> SqlSession<C, K> {
        SqlSession { conn: Timed::new(conn, clock) }
    }
}
