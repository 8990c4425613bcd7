//! A connection's transaction: how it is begun and ended, whatever carries its statements.

use crate::fault;
use model::{DefectKind, Doubt, Fault, Refusal};
use sql::{TxKind, postgres};
use tokio_postgres::Error;

/// Statements that we add to the workload's.
#[derive(Clone, Copy)]
pub(crate) enum Control {
    BeginRead,
    BeginWrite,
    Commit,
    Rollback,
}

impl Control {
    /// Their texts, in order. A transaction that writes takes the isolation of the session, which is that of the URL.
    pub(crate) const TEXTS: [&str; 4] =
        ["begin isolation level repeatable read read only", "begin", "commit", "rollback"];
}

/// The transaction of now, or the last one.
#[derive(Debug)]
pub(crate) struct Tx {
    kind: TxKind,
    /// Whether it is open, as far as we know.
    pub(crate) open: bool,
    /// Whether it has failed; the server would answer a commit by a rollback.
    pub(crate) failed: bool,
}

impl Tx {
    /// None yet.
    pub(crate) fn new() -> Tx {
        Tx { kind: TxKind::Write, open: false, failed: false }
    }

    /// The fault of a statement, after which the transaction can only be rolled back. One that is a transaction of its own
    /// was to commit as well.
    #[cold]
    pub(crate) fn fault(&mut self, error: &Error) -> Fault {
        self.failed = true;
        fault(error, self.kind == TxKind::OneWrite)
    }
}

/// A connection that has one transaction at a time.
pub(crate) trait Transacting {
    fn tx(&mut self) -> &mut Tx;
    /// Whether the connection was open when it was last used.
    fn is_connected(&self) -> bool;
    /// Sends a statement of ours.
    async fn control(&mut self, control: Control) -> Result<(), Error>;
}

/// Prepares for a transaction: ends the one before, if it was given up in its middle, since a second `begin` would only be warned
/// about.
pub(crate) async fn start(conn: &mut impl Transacting, kind: TxKind) -> Result<(), Fault> {
    if conn.tx().open {
        rollback(conn).await.map_err(unreached)?;
    }
    *conn.tx() = Tx { kind, open: false, failed: false };
    Ok(())
}

pub(crate) async fn begin(conn: &mut impl Transacting, kind: TxKind) -> Result<(), Fault> {
    start(conn, kind).await?;
    let control = match kind {
        TxKind::Read => Control::BeginRead,
        TxKind::Write => Control::BeginWrite,
        TxKind::OneRead | TxKind::OneWrite => return Ok(()),
    };
    conn.tx().open = true;
    conn.control(control).await.map_err(|error| {
        conn.tx().open = false;
        unreached(fault(&error, false))
    })
}

pub(crate) async fn commit(conn: &mut impl Transacting) -> Result<(), Fault> {
    if conn.tx().failed {
        rollback(conn).await?;
        return Err(Fault::defect(DefectKind::Engine, "a transaction was to be committed after an error"));
    }
    if conn.tx().kind.is_one_statement() {
        return Ok(());
    }
    let result = conn.control(Control::Commit).await;
    // Whatever was answered, the transaction is over.
    conn.tx().open = false;
    result.map_err(|error| fault(&error, true))
}

pub(crate) async fn rollback(conn: &mut impl Transacting) -> Result<(), Fault> {
    if !conn.is_connected() {
        return Err(postgres::lost(false));
    }
    if !conn.tx().open {
        return Ok(());
    }
    conn.control(Control::Rollback).await.map_err(|error| fault(&error, false))?;
    conn.tx().open = false;
    Ok(())
}

/// A connection that was found gone before anything of the transaction was done: the call was never attempted.
#[cold]
fn unreached(fault: Fault) -> Fault {
    match fault {
        Fault::InDoubt(Doubt::ConnectionLost) => Fault::Refused(Refusal::Unreachable),
        other => other,
    }
}
