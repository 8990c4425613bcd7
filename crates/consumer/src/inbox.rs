//! The inbox of a consumer: the messages that it has processed, and how much of its source it has read.

use crate::Incoming;
use model::Nanos;
use rusqlite::{Connection, OpenFlags, OptionalExtension as _};
use std::collections::BTreeMap;
use std::path::Path;

/// The offset of the next message of each partition. Of a file: of a byte, in partition 0.
pub type Offsets = BTreeMap<u32, i64>;

/// An inbox could not be used.
#[derive(Debug, thiserror::Error)]
pub enum InboxError {
    /// SQLite refuses.
    #[error("cannot use the inbox {path}: {why}")]
    Unusable {
        path: String,
        /// What SQLite reports.
        why: rusqlite::Error,
    },
    /// The file is the database of another program.
    #[error(
        "{path} is not an inbox, but another SQLite database\nhint: give the path of a file that does not exist"
    )]
    Foreign { path: String },
    /// Its offsets are those of another source.
    #[error(
        "the inbox {path} is for messages from {stored}, not from {asked}\nhint: give each source an inbox of its own"
    )]
    OtherSource {
        path: String,
        /// The source it was created for.
        stored: String,
        /// The source that is to be read.
        asked: String,
    },
}

/// `application_id` of an inbox in the header of its file: "Smib".
const APPLICATION_ID: i64 = 0x536d_6962;

/// `processed` is the work of the consumer: a row for each time that it processed a message.
const SCHEMA: &str = "
    create table source (name text not null);
    create table inbox (message blob primary key) without rowid;
    create table processed (id integer primary key, message blob not null);
    create table offsets (part integer primary key, next integer not null);
";

/// An inbox in a SQLite file. A message is identified by its bytes: a relay that publishes a row again publishes the same bytes.
#[derive(Debug)]
pub struct Inbox {
    conn: Connection,
    path: String,
}

/// New messages of a transaction.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct NewMessages {
    pub(crate) messages: u64,
    /// When they were created, as far as that is known.
    pub(crate) created: Vec<Nanos>,
}

impl Inbox {
    /// Opens the inbox of a source, and creates it if the file does not exist.
    ///
    /// The journal is `wal` and is not flushed at each commit. That is safe: messages, work and offsets are in the same transaction,
    /// so a power failure loses all of them or none.
    ///
    /// # Errors
    /// The file cannot be written, is not an inbox, or is the inbox of another source.
    pub fn open(path: &Path, source: &str) -> Result<Inbox, InboxError> {
        let open = || {
            let mut conn = Connection::open(path)?;
            let found = create(&mut conn, source)?;
            if matches!(&found, FileContents::Inbox(stored) if stored == source) {
                conn.pragma_update(None, "journal_mode", "wal")?;
                conn.pragma_update(None, "synchronous", "normal")?;
            }
            Ok((conn, found))
        };
        let place = path.display().to_string();
        match open() {
            Ok((conn, FileContents::Inbox(stored))) if stored == source => Ok(Inbox { conn, path: place }),
            Ok((_, FileContents::Inbox(stored))) => {
                Err(InboxError::OtherSource { path: place, stored, asked: source.to_owned() })
            }
            Ok((_, FileContents::Foreign)) => Err(InboxError::Foreign { path: place }),
            Err(why) => Err(InboxError::Unusable { path: place, why }),
        }
    }

    /// Opens the inbox of another process to read it.
    ///
    /// # Errors
    /// It does not exist, or cannot be read.
    pub fn read_only(path: &Path) -> Result<Inbox, InboxError> {
        let place = path.display().to_string();
        match Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY) {
            Ok(conn) => Ok(Inbox { conn, path: place }),
            Err(why) => Err(InboxError::Unusable { path: place, why }),
        }
    }

    fn failed(&self, why: rusqlite::Error) -> InboxError {
        InboxError::Unusable { path: self.path.clone(), why }
    }

    /// Where its consumer reads on. Partitions of which nothing was read are missing.
    pub fn offsets(&self) -> Result<Offsets, InboxError> {
        let read = || -> rusqlite::Result<Offsets> {
            let mut select = self.conn.prepare("select part, next from offsets")?;
            select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        };
        read().map_err(|why| self.failed(why))
    }

    /// Processes the new messages of these batches in one transaction.
    pub(crate) fn take(&mut self, batches: &[Incoming]) -> Result<NewMessages, InboxError> {
        take(&mut self.conn, batches).map_err(|why| self.failed(why))
    }

    /// Calls `each` for each time that a message was processed, in that order.
    pub fn processed<E: From<InboxError>>(
        &self,
        mut each: impl FnMut(i64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = |why| E::from(self.failed(why));
        let mut select =
            self.conn.prepare("select id, message from processed order by id").map_err(failed)?;
        let mut rows = select.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let id = row.get(0).map_err(failed)?;
            let message = row.get_ref(1).and_then(|value| Ok(value.as_blob()?)).map_err(failed)?;
            each(id, message)?;
        }
        Ok(())
    }
}

/// What a file is.
enum FileContents {
    /// The inbox of this source.
    Inbox(String),
    Foreign,
}

/// Makes an empty database an inbox, and changes no other.
fn create(conn: &mut Connection, source: &str) -> rusqlite::Result<FileContents> {
    let transaction = conn.transaction()?;
    let id: i64 = transaction.query_row("pragma application_id", [], |row| row.get(0))?;
    if id == APPLICATION_ID {
        let stored = transaction.query_row("select name from source", [], |row| row.get(0)).optional()?;
        return Ok(stored.map_or(FileContents::Foreign, FileContents::Inbox));
    }
    let entries: i64 = transaction.query_row("select count(*) from sqlite_schema", [], |row| row.get(0))?;
    if id != 0 || entries > 0 {
        return Ok(FileContents::Foreign);
    }
    transaction.execute_batch(SCHEMA)?;
    transaction.pragma_update(None, "application_id", APPLICATION_ID)?;
    transaction.execute("insert into source values (?1)", [source])?;
    transaction.commit()?;
    Ok(FileContents::Inbox(source.to_owned()))
}

fn take(conn: &mut Connection, batches: &[Incoming]) -> rusqlite::Result<NewMessages> {
    let transaction = conn.transaction()?;
    let mut taken = NewMessages::default();
    {
        let mut enter = transaction.prepare("insert or ignore into inbox values (?1)")?;
        let mut process = transaction.prepare("insert into processed (message) values (?1)")?;
        let mut advance = transaction.prepare("insert or replace into offsets values (?1, ?2)")?;
        for batch in batches {
            for message in &batch.messages {
                let is_new = enter.execute([&message.payload])? == 1;
                if is_new {
                    process.execute([&message.payload])?;
                    taken.messages += 1;
                    taken.created.extend(message.created);
                }
            }
            advance.execute((batch.partition, batch.next))?;
        }
    }
    transaction.commit()?;
    Ok(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Received;

    /// Messages that were created at the second of their offset.
    fn batch(partition: u32, next: i64, payloads: &[&str]) -> Incoming {
        let first = next as u64 - payloads.len() as u64;
        let created = |at: usize| Some(Nanos::from_secs(first + at as u64));
        let received =
            |(at, text): (usize, &&str)| Received { created: created(at), payload: text.as_bytes().into() };
        let messages = payloads.iter().enumerate().map(received);
        Incoming { partition, next, messages: messages.collect() }
    }

    fn processed(inbox: &Inbox) -> Vec<String> {
        let mut all = Vec::new();
        inbox
            .processed::<InboxError>(|_, message| {
                all.push(String::from_utf8_lossy(message).into_owned());
                Ok(())
            })
            .unwrap();
        all
    }

    #[test]
    fn a_message_that_comes_again_is_not_processed_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inbox.db");
        let mut inbox = Inbox::open(&path, "here").unwrap();
        assert_eq!(inbox.take(&[batch(0, 2, &["a", "b"]), batch(3, 9, &["c"])]).unwrap().messages, 3);
        let new = NewMessages { messages: 1, created: vec![Nanos::from_secs(3)] };
        assert_eq!(inbox.take(&[batch(0, 4, &["b", "d"])]).unwrap(), new, "`b` is not a new message");
        drop(inbox);
        let mut inbox = Inbox::open(&path, "here").unwrap();
        assert_eq!(inbox.take(&[batch(3, 10, &["c"])]).unwrap(), NewMessages::default());
        let read = Inbox::read_only(&path).unwrap();
        assert_eq!(processed(&read), ["a", "b", "c", "d"]);
        assert_eq!(read.offsets().unwrap(), Offsets::from([(0, 4), (3, 10)]));
    }

    #[test]
    fn a_transaction_that_fails_leaves_messages_work_and_offsets_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let mut inbox = Inbox::open(&folder.path().join("inbox.db"), "here").unwrap();
        inbox.take(&[batch(0, 1, &["a"])]).unwrap();
        inbox
            .conn
            .execute_batch(
                "create trigger full before insert on processed when new.message = cast('c' as blob)
                 begin select raise(abort, 'full'); end",
            )
            .unwrap();
        let error = inbox.take(&[batch(0, 3, &["b", "c"])]).unwrap_err();
        assert!(error.to_string().contains("inbox.db: full"), "{error}");
        assert_eq!((processed(&inbox), inbox.offsets().unwrap()), (vec!["a".into()], [(0, 1)].into()));
        inbox.conn.execute_batch("drop trigger full").unwrap();
        assert_eq!(
            inbox.take(&[batch(0, 3, &["b", "c"])]).unwrap().messages,
            2,
            "nothing of it had been entered"
        );
    }

    #[test]
    fn a_file_that_is_no_inbox_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no.db");
        assert!(Inbox::read_only(&path).is_err() && !path.exists());
        std::fs::write(&path, vec![b'x'; 8_192]).unwrap();
        let error = Inbox::open(&path, "here").unwrap_err().to_string();
        assert!(error.contains("no.db: file is not a database"), "{error}");
    }

    #[test]
    fn the_database_of_another_program_is_refused_and_not_changed() {
        let folder = tempfile::tempdir().unwrap();
        for (name, statement) in
            [("table", "create table inbox (message text)"), ("id", "pragma application_id = 7")]
        {
            let path = folder.path().join(name);
            Connection::open(&path).unwrap().execute_batch(statement).unwrap();
            let before = std::fs::read(&path).unwrap();
            let error = Inbox::open(&path, "here").unwrap_err();
            assert!(matches!(error, InboxError::Foreign { .. }), "{error}");
            assert_eq!(std::fs::read(&path).unwrap(), before);
        }
    }

    #[test]
    fn the_inbox_of_another_source_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inbox.db");
        Inbox::open(&path, "here").unwrap().take(&[batch(0, 1, &["a"])]).unwrap();
        let error = Inbox::open(&path, "there").unwrap_err().to_string();
        assert!(error.contains("messages from here, not from there"), "{error}");
        assert_eq!(processed(&Inbox::open(&path, "here").unwrap()), ["a"]);
    }
}
