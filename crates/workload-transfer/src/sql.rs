//! The transactions over the narrow SQL port, in one store. Dialects differ in `spec/sql`, not here.

use crate::oracle::StoredTransfer;
use crate::{Call, Crossing, Decline, Key, Outcome, State, Transfer, Transfers};
use model::{CallWork, Clock, DefectKind, Fault, Session, StatementTimes};
use sql::{Catalogue, CatalogueError, ColumnError, Columns, Dialect, Param, SqlConn, SqlForm, Timed, TxKind};

sql::statements! {
    LockAccounts = "lock_accounts",
    InsertTransfer = "insert_transfer",
    MoveMoney = "move_money",
    InsertEntries = "insert_entries",
    ReadTransfer = "read_transfer",
    ReadAccount = "read_account",
    LockAccount = "lock_account",
    AddMoney = "add_money",
    InsertEntry = "insert_entry",
    InsertMessage = "insert_message",
    InsertDecision = "insert_decision",
}

/// The statement texts for an engine, in the order of [`Stmt`].
pub fn catalogue(dialect: Dialect) -> Result<Vec<String>, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/transfer/statements.sql"))?;
    let engine = match dialect {
        // SQLite takes the canonical form.
        Dialect::Sqlite => canonical,
        Dialect::Postgres => canonical
            .overridden(&Catalogue::parse(include_str!("../spec/sql/transfer/statements.postgres.sql"))?)?,
        Dialect::MySql => canonical
            .overridden(&Catalogue::parse(include_str!("../spec/sql/transfer/statements.mysql.sql"))?)?,
    };
    engine.select(Stmt::NAMES)
}

/// Tables and keys for an engine, in the order in which they are made.
pub fn schema(dialect: Dialect) -> Result<Catalogue, CatalogueError> {
    match dialect {
        Dialect::Sqlite => Catalogue::parse(include_str!("../spec/sql/transfer/schema.sqlite.sql")),
        Dialect::Postgres => Catalogue::parse(include_str!("../spec/sql/transfer/schema.postgres.sql")),
        Dialect::MySql => Catalogue::parse(include_str!("../spec/sql/transfer/schema.mysql.sql")),
    }
}

/// Runs the transactions on one connection.
#[derive(Debug)]
pub struct SqlSession<C, K> {
    pub(crate) conn: Timed<C, K>,
}

impl<C: SqlConn, K: Clock> SqlSession<C, K> {
    /// A session on a connection whose statements are those of [`catalogue`].
    pub fn new(conn: C, clock: K) -> SqlSession<C, K> {
        SqlSession { conn: Timed::new(conn, clock) }
    }

    /// `away` is whether a transfer's target is in another store.
    async fn call(&mut self, call: &Call, away: bool) -> Result<Outcome, Fault> {
        let kind = match call {
            Call::Transfer { .. } => TxKind::Write,
            Call::ReadTransfer { .. } | Call::ReadAccount { .. } => TxKind::OneRead,
        };
        self.conn.begin(kind).await?;
        let answered = match call {
            Call::Transfer { transfer, .. } if away => self.promise(transfer).await,
            Call::Transfer { transfer, .. } => self.transfer(transfer).await,
            Call::ReadTransfer { source, key } => self.read_transfer(*source, *key).await,
            Call::ReadAccount { id } => self.read_account(*id).await,
        };
        self.end(answered).await
    }

    /// Ends the transaction as its statements have.
    pub(crate) async fn end<T>(&mut self, done: Result<T, Fault>) -> Result<T, Fault> {
        match done {
            Ok(done) => self.conn.commit().await.map(|()| done),
            Err(fault) => {
                // The fault of the body explains more than one of the roll-back that follows it.
                let _ = self.conn.rollback().await;
                Err(fault)
            }
        }
    }

    /// Whether there is money for it is known before anything is written; whether the key is new, when it is written. Who waits
    /// for a key that another transaction has just written holds locks that the other does not want any more.
    async fn transfer(&mut self, asked: &Transfer) -> Result<Outcome, Fault> {
        let kept = StoredTransfer::of(asked, self.lock(asked).await?);
        if !self.insert(&kept).await? {
            return self.repeated(asked).await;
        }
        if kept.state == State::Completed {
            self.move_money(asked).await?;
        }
        Ok(kept.outcome())
    }

    /// The source's part of a transfer whose target is elsewhere, in a transaction that is open: what is answered, and
    /// whether the money was taken just now.
    pub(crate) async fn take(&mut self, asked: &Transfer) -> Result<(Outcome, bool), Fault> {
        let balance = self.balance(asked).await?;
        self.take_as(asked, StoredTransfer::of(asked, balance)).await
    }

    /// The same as a call of its own: a message to the target's store is written next to it.
    async fn promise(&mut self, asked: &Transfer) -> Result<Outcome, Fault> {
        let balance = self.balance(asked).await?;
        let (outcome, taken) = self.take_as(asked, StoredTransfer::of(asked, balance).promised()).await?;
        if taken {
            let [run, worker, sequence] = asked.key.columns().map(Param::Int);
            let message =
                [run, worker, sequence, asked.source.into(), asked.target.into(), asked.amount.into()];
            self.conn.exec(Stmt::InsertMessage.id(), &message).await?;
        }
        Ok(outcome)
    }

    /// Locks the source; gives what it holds.
    async fn balance(&mut self, asked: &Transfer) -> Result<i64, Fault> {
        let balance = self.conn.row(Stmt::LockAccount.id(), &[asked.source.into()], |row| row.int(0)).await?;
        balance.ok_or_else(|| absent(asked.source))
    }

    async fn take_as(&mut self, asked: &Transfer, kept: StoredTransfer) -> Result<(Outcome, bool), Fault> {
        if !self.insert(&kept).await? {
            return Ok((self.repeated(asked).await?, false));
        }
        let taken = kept.state != State::Declined;
        if taken && !self.add(asked, asked.source, -asked.amount).await? {
            return Err(expired());
        }
        Ok((kept.outcome(), taken))
    }

    /// The target's part. Gives whether it was still to be done; where it was not, all of it is to be rolled back.
    pub(crate) async fn give(&mut self, asked: &Transfer) -> Result<bool, Fault> {
        self.add(asked, asked.target, asked.amount).await
    }

    async fn add(&mut self, asked: &Transfer, account: u32, amount: i64) -> Result<bool, Fault> {
        if self.conn.exec(Stmt::AddMoney.id(), &[account.into(), amount.into()]).await? != 1 {
            return Err(absent(account));
        }
        let [run, worker, sequence] = asked.key.columns().map(Param::Int);
        let entry = [run, worker, sequence, asked.source.into(), account.into(), amount.into()];
        Ok(self.conn.exec(Stmt::InsertEntry.id(), &entry).await? == 1)
    }

    /// Locks both accounts; gives what the source holds.
    async fn lock(&mut self, asked: &Transfer) -> Result<i64, Fault> {
        let ids = [asked.source.into(), asked.target.into()];
        let mut balance = Balances { source: asked.source.into(), ..Balances::default() };
        self.conn.fold(Stmt::LockAccounts.id(), &ids, &mut balance, Balances::take).await?;
        balance.of_target.ok_or_else(|| absent(asked.target))?;
        balance.of_source.ok_or_else(|| absent(asked.source))
    }

    /// Writes a transfer down, unless its key is there already.
    pub(crate) async fn insert(&mut self, kept: &StoredTransfer) -> Result<bool, Fault> {
        let StoredTransfer { transfer: Transfer { key, source, target, amount }, state, balance } = *kept;
        let [run, worker, sequence] = key.columns().map(Param::Int);
        let state = state.number();
        let row = [
            run,
            worker,
            sequence,
            source.into(),
            target.into(),
            amount.into(),
            state.into(),
            balance.into(),
        ];
        Ok(self.conn.exec(Stmt::InsertTransfer.id(), &row).await? == 1)
    }

    /// Writes a decision down, unless the key has one already.
    pub(crate) async fn log(&mut self, asked: &Transfer) -> Result<bool, Fault> {
        let [run, worker, sequence] = asked.key.columns().map(Param::Int);
        let row = [run, worker, sequence, asked.source.into(), asked.target.into()];
        Ok(self.conn.exec(Stmt::InsertDecision.id(), &row).await? == 1)
    }

    async fn move_money(&mut self, asked: &Transfer) -> Result<(), Fault> {
        let Transfer { key, source, target, amount } = *asked;
        let moved = [source.into(), target.into(), amount.into()];
        if self.conn.exec(Stmt::MoveMoney.id(), &moved).await? != 2 {
            return Err(Fault::defect(
                DefectKind::BadData,
                "an account that was locked is not there any more",
            ));
        }
        let [run, worker, sequence] = key.columns().map(Param::Int);
        let entries =
            [run, worker, sequence, source.into(), target.into(), Param::Int(-amount), amount.into()];
        match self.conn.exec(Stmt::InsertEntries.id(), &entries).await? {
            2 => Ok(()),
            _ => Err(expired()),
        }
    }

    /// What was answered to a key that is there already.
    async fn repeated(&mut self, asked: &Transfer) -> Result<Outcome, Fault> {
        let kept = self.kept(asked.source, asked.key).await?;
        let kept = kept.ok_or_else(|| {
            Fault::defect(DefectKind::BadData, "a key is there already, and its transfer is not")
        })?;
        Ok(match kept.transfer == *asked {
            true => kept.outcome(),
            false => Outcome::Declined(Decline::KeyReused),
        })
    }

    pub(crate) async fn kept(&mut self, source: u32, key: Key) -> Result<Option<StoredTransfer>, Fault> {
        let [run, worker, sequence] = key.columns().map(Param::Int);
        let names = [run, worker, sequence, source.into()];
        let read = |row: &dyn sql::Columns| Ok([row.int(0)?, row.int(1)?, row.int(2)?, row.int(3)?]);
        let Some([target, amount, state, balance]) =
            self.conn.row(Stmt::ReadTransfer.id(), &names, read).await?
        else {
            return Ok(None);
        };
        let (target, state) = u32::try_from(target).ok().zip(State::of_number(state)).ok_or_else(|| {
            Fault::defect(DefectKind::BadData, "a transfer has a state or a target that there is not")
        })?;
        Ok(Some(StoredTransfer { transfer: Transfer { key, source, target, amount }, state, balance }))
    }

    async fn read_transfer(&mut self, source: u32, key: Key) -> Result<Outcome, Fault> {
        Ok(match self.kept(source, key).await? {
            Some(StoredTransfer { transfer: Transfer { target, amount, .. }, state, .. }) => {
                Outcome::Found { target, amount, state: state.shown() }
            }
            None => Outcome::Declined(Decline::NoSuchTransfer),
        })
    }

    pub(crate) async fn in_store(
        &mut self,
        call: &Call,
        away: bool,
        work: &mut CallWork,
    ) -> Result<Outcome, Fault> {
        self.conn.start(work);
        let result = self.call(call, away).await;
        self.conn.move_into(work);
        result
    }

    async fn read_account(&mut self, id: u32) -> Result<Outcome, Fault> {
        let balance = self.conn.row(Stmt::ReadAccount.id(), &[id.into()], |row| row.int(0)).await?;
        Ok(Outcome::Balance { balance: balance.ok_or_else(|| absent(id))? })
    }
}

/// What two accounts hold.
#[derive(Debug, Default)]
struct Balances {
    source: i64,
    of_source: Option<i64>,
    of_target: Option<i64>,
}

impl Balances {
    fn take(&mut self, row: &dyn Columns) -> Result<(), ColumnError> {
        let balance = Some(row.int(1)?);
        match row.int(0)? == self.source {
            true => self.of_source = balance,
            false => self.of_target = balance,
        }
        Ok(())
    }
}

/// The ledger is never forgotten: what it has already is not done again, whatever has become of the key.
#[cold]
fn expired() -> Fault {
    Fault::defect(
        DefectKind::BadCall,
        "the key of this transfer has expired; it was made, and is not made again",
    )
}

/// Accounts come straight from the call, so one that is missing was asked for wrongly.
#[cold]
pub(crate) fn absent(account: u32) -> Fault {
    Fault::defect(DefectKind::BadCall, format!("there is no account {account}"))
}

impl<C: SqlConn, K: Clock> Session<Transfers> for SqlSession<C, K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        self.in_store(call, false, work).await
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(self.conn.statement_times())
    }
}

/// Opens sessions that run the transactions one statement at a time, over an opener that prepares the statements of
/// [`catalogue`].
pub type SqlTarget<O, K> = sql::SqlTarget<Transfers, O, K>;

impl SqlForm for Transfers {
    type Session<C: SqlConn, K: Clock> = SqlSession<C, K>;
    type Form = Crossing;

    fn session<C: SqlConn, K: Clock>(conn: C, clock: K, _: Crossing) -> SqlSession<C, K> {
        SqlSession::new(conn, clock)
    }

    fn style(form: Crossing) -> &'static str {
        form.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_statement_files_hold_what_the_code_asks_for() {
        for dialect in [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql] {
            assert_eq!(catalogue(dialect).unwrap().len(), Stmt::NAMES.len());
            let tables = schema(dialect).unwrap();
            let count = |prefix: &str| tables.iter().filter(|(name, _)| name.starts_with(prefix)).count();
            let keys = match dialect {
                Dialect::Postgres => 10,
                Dialect::Sqlite => 1,
                Dialect::MySql => 0,
            };
            assert_eq!((count("table_"), count("index_")), (9, keys));
        }
    }
}
