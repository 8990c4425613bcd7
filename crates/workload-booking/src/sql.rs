//! The transactions over the narrow SQL port. Dialects differ in `spec/sql`, not here.

use crate::announcement::message;
use crate::oracle::{StoredBooking, absent, answer_to};
use crate::{Booking, Bookings, Call, Decline, Outcome};
use model::{CallWork, Clock, Conflict, DefectKind, Fault, Key, Session, StatementTimes};
use sql::{
    Catalogue, CatalogueError, ColumnError, Columns, Dialect, Param, Read, SqlConn, SqlForm, StmtId, Timed,
    TxKind,
};
use std::future::Future;
use std::pin::Pin;

sql::statements! {
    Look = "look",
    LookLimited = "look_limited",
    InsertBooking = "insert_booking",
    TakeTickets = "take_tickets",
    ReadBooking = "read_booking",
    ReadEvent = "read_event",
    InsertOutbox = "insert_outbox",
}

/// Place in [`Workload::STATEMENTS`](model::Workload::STATEMENTS) of a round trip that carries several statements.
const ROUND: usize = Stmt::NAMES.len();

/// Names of what is measured as a statement: the statements, and a round trip that carries several.
pub(crate) const CLOCKED: [&str; ROUND + 1] = sql::clocked(Stmt::NAMES, &["round"]);

/// The statement texts for an engine, in the order of [`Stmt`].
pub fn catalogue(dialect: Dialect) -> Result<Vec<String>, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/booking/statements.sql"))?;
    let own = match dialect {
        // SQLite takes the canonical form.
        Dialect::Sqlite => return canonical.select(Stmt::NAMES),
        Dialect::Postgres => include_str!("../spec/sql/booking/statements.postgres.sql"),
        Dialect::MySql => include_str!("../spec/sql/booking/statements.mysql.sql"),
    };
    canonical.overridden(&Catalogue::parse(own)?)?.select(Stmt::NAMES)
}

/// The channel of PostgreSQL on which [`Announcing::Notified`] notifies the relay.
pub const CHANNEL: &str = "stackmark_outbox";

/// The statement texts for PostgreSQL and [`Announcing::Notified`], in the order of [`Stmt`].
pub fn notifying_catalogue() -> Result<Vec<String>, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/booking/statements.sql"))?;
    let own = Catalogue::parse(include_str!("../spec/sql/booking/statements.postgres.sql"))?;
    let notify = Catalogue::parse(include_str!("../spec/sql/booking/notify.postgres.sql"))?;
    canonical.overridden(&own)?.overridden(&notify)?.select(Stmt::NAMES)
}

/// Names of the statements of the relay of the outbox, in their order.
pub const RELAY_STATEMENTS: &[&str] = &["take_lease", "read_clock", "read_outbox", "remove_rows"];

/// The statements of the relay of the outbox for an engine, in the order of [`RELAY_STATEMENTS`].
pub fn relay_catalogue(dialect: Dialect) -> Result<Vec<String>, CatalogueError> {
    let canonical = Catalogue::parse(include_str!("../spec/sql/booking/relay.sql"))?;
    let own = match dialect {
        // SQLite takes the canonical form.
        Dialect::Sqlite => return canonical.select(RELAY_STATEMENTS),
        Dialect::Postgres => include_str!("../spec/sql/booking/relay.postgres.sql"),
        Dialect::MySql => include_str!("../spec/sql/booking/relay.mysql.sql"),
    };
    canonical.overridden(&Catalogue::parse(own)?)?.select(RELAY_STATEMENTS)
}

/// Tables and keys for an engine, in the order in which they are made.
pub fn schema(dialect: Dialect) -> Result<Catalogue, CatalogueError> {
    match dialect {
        Dialect::Sqlite => Catalogue::parse(include_str!("../spec/sql/booking/schema.sqlite.sql")),
        Dialect::Postgres => Catalogue::parse(include_str!("../spec/sql/booking/schema.postgres.sql")),
        Dialect::MySql => Catalogue::parse(include_str!("../spec/sql/booking/schema.mysql.sql")),
    }
}

/// What a booking leaves besides its own row, so that it can be announced.
#[derive(Debug, Clone, Copy, Default)]
pub enum Announcing {
    #[default]
    Nothing,
    /// A row of the outbox, which no one reads.
    Row,
    /// The same for a relay, which polls.
    Relayed,
    /// The same, and the transaction notifies the relay (PostgreSQL).
    Notified,
    /// Nothing: it is published after its commit.
    AfterCommit(Publish),
}

/// How bookings are written. All forms respond the same.
#[derive(Debug, Clone, Copy, Default)]
pub struct Form {
    /// What a booking leaves besides its own row.
    pub announcing: Announcing,
    /// The statements that write are sent in one round trip ([`SqlConn::begin_with`]), and the commit in another.
    pub is_pipelined: bool,
}

impl From<Announcing> for Form {
    fn from(announcing: Announcing) -> Form {
        Form { announcing, is_pipelined: false }
    }
}

/// Publishes a message under the key of its event; ends when it was acknowledged.
pub type Publish = fn(key: u64, payload: Vec<u8>) -> Publishing;

/// A message that is being published.
pub type Publishing = Pin<Box<dyn Future<Output = Result<(), String>> + Send>>;

/// Runs the transactions on one connection.
#[derive(Debug)]
pub struct SqlSession<C, K> {
    conn: Timed<C, K>,
    form: Form,
}

/// What is known before a booking is written.
#[derive(Debug, Clone, Copy)]
struct BookingContext {
    available: u32,
    /// The event allows each user one booking.
    is_limited: bool,
    /// This user has it.
    is_taken: bool,
    /// What is stored under the key, if anything.
    kept: Option<StoredBooking>,
}

impl BookingContext {
    fn answer(&self, asked: &Booking) -> Outcome {
        answer_to(asked, self.kept, self.is_taken, self.available)
    }
}

impl<C: SqlConn, K: Clock> SqlSession<C, K> {
    /// A session on a connection whose statements are those of [`catalogue`].
    pub fn new(conn: C, clock: K, form: Form) -> SqlSession<C, K> {
        SqlSession { conn: Timed::new(conn, clock), form }
    }

    async fn call(&mut self, call: &Call) -> Result<Outcome, Fault> {
        match call {
            Call::Book { booking, .. } => self.book(booking).await,
            Call::ReadBooking { key } => self.read_booking(*key).await,
            Call::ReadEvent { id } => self.read_event(*id).await,
        }
    }

    /// A look without a transaction first: what is sold out, booked already, or asked for again is answered by one read. Who
    /// has changed the rows since is found by the writes, and then another look tells what to answer.
    async fn book(&mut self, asked: &Booking) -> Result<Outcome, Fault> {
        let seen = self.look(asked).await?;
        let outcome = seen.answer(asked);
        if seen.kept.is_some() || outcome != Outcome::Booked(*asked) {
            return Ok(outcome);
        }
        match self.write(asked, seen.is_limited).await {
            Ok(true) => {
                self.conn.commit().await?;
                if let Announcing::AfterCommit(publish) = self.form.announcing {
                    let (event, payload) = message(asked, None);
                    // A booking stands whether or not it was published: that is what is wrong with this style.
                    let _ = publish(event, payload).await;
                }
                return Ok(outcome);
            }
            // Nothing of it is to stay.
            Ok(false) => self.conn.rollback().await?,
            Err(fault) => {
                // The fault of the body tells more than one of the roll-back that follows it.
                let _ = self.conn.rollback().await;
                return Err(fault);
            }
        }
        let seen = self.look(asked).await?;
        match seen.answer(asked) {
            // The tickets came back, or the transaction that had the key has rolled back: all of it may be tried again.
            Outcome::Booked(_) if seen.kept.is_none() => Err(Fault::Conflict(Conflict::Serialization)),
            outcome => Ok(outcome),
        }
    }

    /// The key is written first, because a transaction that waits for a key must hold no row that others wait for; tickets are taken
    /// last, so that their row is locked for the time of a commit. But the row of the outbox comes after that: while the event is
    /// locked, its bookings get their numbers in the order in which they commit. Whether all was done.
    async fn write(&mut self, asked: &Booking, is_limited: bool) -> Result<bool, Fault> {
        let Booking { key, event, user, quantity } = *asked;
        let [run, worker, sequence] = key.columns().map(Param::Int);
        let limited_to = is_limited.then_some(user).into();
        let row = [run, worker, sequence, event.into(), user.into(), quantity.into(), limited_to];
        let statements: [(StmtId, &[Param<'_>]); 3] = [
            (Stmt::InsertBooking.id(), &row),
            (Stmt::TakeTickets.id(), &[event.into(), quantity.into()]),
            (Stmt::InsertOutbox.id(), &row[..row.len() - 1]),
        ];
        let has_row =
            matches!(self.form.announcing, Announcing::Row | Announcing::Relayed | Announcing::Notified);
        let statements = &statements[..if has_row { 3 } else { 2 }];
        if self.form.is_pipelined {
            let changed = self.conn.begin_with(ROUND, statements).await?;
            return Ok(changed.iter().all(|rows| *rows == 1));
        }
        self.conn.begin(TxKind::Write).await?;
        for (stmt, params) in statements {
            if self.conn.exec(*stmt, params).await? != 1 {
                return Ok(false);
            }
        }
        Ok(true)
    }

    async fn look(&mut self, asked: &Booking) -> Result<BookingContext, Fault> {
        let seen = self
            .look_by(Stmt::Look, asked, |row| Ok((row.int(0)?, row.int(1)?, row.int_or_null(2)?, 0)))
            .await?;
        if !seen.is_limited || seen.kept.is_some() {
            return Ok(seen);
        }
        let read = |row: &dyn Columns| Ok((row.int(0)?, row.int(1)?, row.int_or_null(2)?, row.int(3)?));
        self.look_by(Stmt::LookLimited, asked, read).await
    }

    async fn look_by(
        &mut self,
        stmt: Stmt,
        asked: &Booking,
        read: Read<(i64, i64, Option<i64>, i64)>,
    ) -> Result<BookingContext, Fault> {
        let Booking { key, event, user, quantity } = *asked;
        let [run, worker, sequence] = key.columns().map(Param::Int);
        let names = [event.into(), run, worker, sequence, user.into(), quantity.into()];
        let found = self.one(stmt, &names, read).await?;
        let (available, limited, kept, taken) = found.ok_or_else(|| absent(event))?;
        let kept = kept.map(|kept| if kept == 1 { StoredBooking::Same } else { StoredBooking::Other });
        Ok(BookingContext {
            available: count(available)?,
            is_limited: limited != 0,
            is_taken: taken != 0,
            kept,
        })
    }

    /// The row of a statement that is a transaction by itself.
    async fn one<T: Send>(
        &mut self,
        stmt: Stmt,
        params: &[Param<'_>],
        read: fn(&dyn Columns) -> Result<T, ColumnError>,
    ) -> Result<Option<T>, Fault> {
        self.conn.begin(TxKind::OneRead).await?;
        match self.conn.row(stmt.id(), params, read).await {
            Ok(row) => self.conn.commit().await.map(|()| row),
            Err(fault) => {
                let _ = self.conn.rollback().await;
                Err(fault)
            }
        }
    }

    async fn read_booking(&mut self, key: Key) -> Result<Outcome, Fault> {
        let read = |row: &dyn Columns| Ok([row.int(0)?, row.int(1)?, row.int(2)?]);
        let found = self.one(Stmt::ReadBooking, &key.columns().map(Param::Int), read).await?;
        Ok(match found {
            Some([event, user, quantity]) => {
                let (event, user, quantity) = (count(event)?, count(user)?, count(quantity)?);
                Outcome::Found(Booking { key, event, user, quantity })
            }
            None => Outcome::Declined(Decline::NoSuchBooking),
        })
    }

    async fn read_event(&mut self, id: u32) -> Result<Outcome, Fault> {
        let read = |row: &dyn Columns| Ok([row.int(0)?, row.int(1)?]);
        let found = self.one(Stmt::ReadEvent, &[id.into()], read).await?;
        let [stock, available] = found.ok_or_else(|| absent(id))?;
        Ok(Outcome::Event { stock: count(stock)?, available: count(available)? })
    }
}

fn count(value: i64) -> Result<u32, Fault> {
    u32::try_from(value).map_err(|_| {
        Fault::defect(DefectKind::BadData, format!("{value} is stored where 0 to {} can be", u32::MAX))
    })
}

impl<C: SqlConn, K: Clock> Session<Bookings> for SqlSession<C, K> {
    async fn run(&mut self, call: &Call, work: &mut CallWork) -> Result<Outcome, Fault> {
        self.conn.start(work);
        let result = self.call(call).await;
        self.conn.move_into(work);
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        Some(self.conn.statement_times())
    }
}

/// Opens sessions that run the transactions one statement at a time, over an opener that prepares the statements of
/// [`catalogue`].
pub type SqlTarget<O, K> = sql::SqlTarget<Bookings, O, K>;

impl SqlForm for Bookings {
    type Session<C: SqlConn, K: Clock> = SqlSession<C, K>;
    type Form = Form;

    fn session<C: SqlConn, K: Clock>(conn: C, clock: K, form: Form) -> SqlSession<C, K> {
        SqlSession::new(conn, clock, form)
    }

    fn style(Form { announcing, is_pipelined }: Form) -> &'static str {
        match (announcing, is_pipelined) {
            (Announcing::Nothing, false) => "plain",
            (Announcing::Nothing, true) => "pipelined",
            (Announcing::Row, false) => "outbox-row",
            (Announcing::Row, true) => "pipelined-outbox-row",
            (Announcing::Relayed, _) => "outbox",
            (Announcing::Notified, _) => "outbox-notify",
            (Announcing::AfterCommit(_), _) => "dual-write",
        }
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
                Dialect::Postgres => 4,
                Dialect::Sqlite => 1,
                Dialect::MySql => 0,
            };
            assert_eq!((count("table_"), count("index_")), (4, keys));
            assert_eq!(relay_catalogue(dialect).unwrap().len(), 4);
        }
        let (notifying, plain) = (notifying_catalogue().unwrap(), catalogue(Dialect::Postgres).unwrap());
        let differ = notifying.iter().zip(&plain).filter(|(notifying, plain)| notifying != plain);
        let differ: Vec<_> = differ.map(|(notifying, _)| notifying).collect();
        assert!(differ.len() == 1 && differ[0].contains(CHANNEL), "{differ:?}");
    }
}
