//! The inbox of a consumer: which messages it has acted on, and how far it has read.

use crate::Incoming;
use rusqlite::{Connection, OpenFlags};
use std::collections::BTreeMap;
use std::path::Path;

/// For each partition where its next message is: an offset of a topic, or a byte of a file.
pub type Positions = BTreeMap<u32, i64>;

/// An inbox could not be used.
#[derive(Debug, thiserror::Error)]
#[error("the inbox {path} cannot be used: {why}")]
pub struct InboxError {
    path: String,
    #[source]
    why: rusqlite::Error,
}

/// `handled` is what the consumer did: a row for each time that it acted on a message.
const SCHEMA: &str = "
    create table if not exists inbox (message blob primary key) without rowid;
    create table if not exists handled (id integer primary key, message blob not null);
    create table if not exists positions (part integer primary key, next integer not null);
";

/// An inbox in a SQLite file. A message is recognised by its bytes: a relay that publishes a row again publishes the same bytes.
#[derive(Debug)]
pub struct Inbox {
    conn: Connection,
    path: String,
}

impl Inbox {
    /// Opens an inbox, and creates the file if it does not exist.
    ///
    /// The journal is `wal` and is not flushed at each commit. That is safe: message, action and position are in the same transaction,
    /// so that after a power failure all three are as old.
    ///
    /// # Errors
    /// The file cannot be written, or is not a database.
    pub fn open(path: &Path) -> Result<Inbox, InboxError> {
        let open = || {
            let conn = Connection::open(path)?;
            conn.pragma_update(None, "journal_mode", "wal")?;
            conn.pragma_update(None, "synchronous", "normal")?;
            conn.execute_batch(SCHEMA)?;
            Ok(conn)
        };
        Inbox::of(path, open())
    }

    /// Opens the inbox of another process to read it.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn read_only(path: &Path) -> Result<Inbox, InboxError> {
        Inbox::of(path, Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY))
    }

    fn of(path: &Path, opened: rusqlite::Result<Connection>) -> Result<Inbox, InboxError> {
        let path = path.display().to_string();
        match opened {
            Ok(conn) => Ok(Inbox { conn, path }),
            Err(why) => Err(InboxError { path, why }),
        }
    }

    fn failed(&self, why: rusqlite::Error) -> InboxError {
        InboxError { path: self.path.clone(), why }
    }

    /// How far its consumer has read. Partitions of which nothing was read are missing.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn positions(&self) -> Result<Positions, InboxError> {
        let read = || -> rusqlite::Result<Positions> {
            let mut select = self.conn.prepare("select part, next from positions")?;
            select.query_map([], |row| Ok((row.get(0)?, row.get(1)?)))?.collect()
        };
        read().map_err(|why| self.failed(why))
    }

    /// Acts on the messages of these batches that are new, in one transaction; gives how many these are.
    pub(crate) fn take(&mut self, batches: &[Incoming]) -> Result<u64, InboxError> {
        take(&mut self.conn, batches).map_err(|why| self.failed(why))
    }

    /// The messages that were acted on, in that order, one `each` time.
    ///
    /// # Errors
    /// It cannot be read, or `each` fails.
    pub fn handled<E: From<InboxError>>(
        &self,
        mut each: impl FnMut(i64, &[u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let failed = |why| E::from(self.failed(why));
        let mut select = self.conn.prepare("select id, message from handled order by id").map_err(failed)?;
        let mut rows = select.query([]).map_err(failed)?;
        while let Some(row) = rows.next().map_err(failed)? {
            let id = row.get(0).map_err(failed)?;
            let message = row.get_ref(1).and_then(|value| Ok(value.as_blob()?)).map_err(failed)?;
            each(id, message)?;
        }
        Ok(())
    }
}

fn take(conn: &mut Connection, batches: &[Incoming]) -> rusqlite::Result<u64> {
    let transaction = conn.transaction()?;
    let mut acted = 0;
    {
        let mut enter = transaction.prepare("insert or ignore into inbox values (?1)")?;
        let mut act = transaction.prepare("insert into handled (message) values (?1)")?;
        let mut advance = transaction.prepare("insert or replace into positions values (?1, ?2)")?;
        for batch in batches {
            for message in &batch.messages {
                let is_new = enter.execute([&message.payload])? == 1;
                if is_new {
                    act.execute([&message.payload])?;
                    acted += 1;
                }
            }
            advance.execute((batch.partition, batch.next))?;
        }
    }
    transaction.commit()?;
    Ok(acted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Received;

    fn batch(partition: u32, next: i64, payloads: &[&str]) -> Incoming {
        let messages =
            payloads.iter().map(|text| Received { created: None, payload: text.as_bytes().into() });
        Incoming { partition, next, messages: messages.collect() }
    }

    fn handled(inbox: &Inbox) -> Vec<String> {
        let mut all = Vec::new();
        inbox
            .handled::<InboxError>(|_, message| {
                all.push(String::from_utf8_lossy(message).into_owned());
                Ok(())
            })
            .unwrap();
        all
    }

    #[test]
    fn a_message_that_comes_again_is_not_acted_on_again() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inbox.db");
        let mut inbox = Inbox::open(&path).unwrap();
        assert_eq!(inbox.take(&[batch(0, 2, &["a", "b"]), batch(3, 9, &["c"])]).unwrap(), 3);
        assert_eq!(inbox.take(&[batch(0, 4, &["b", "d"])]).unwrap(), 1);
        drop(inbox);
        let mut inbox = Inbox::open(&path).unwrap();
        assert_eq!(inbox.take(&[batch(3, 10, &["c"])]).unwrap(), 0);
        let read = Inbox::read_only(&path).unwrap();
        assert_eq!(handled(&read), ["a", "b", "c", "d"]);
        assert_eq!(read.positions().unwrap(), Positions::from([(0, 4), (3, 10)]));
    }

    #[test]
    fn a_transaction_that_fails_leaves_message_action_and_position_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let mut inbox = Inbox::open(&folder.path().join("inbox.db")).unwrap();
        inbox.take(&[batch(0, 1, &["a"])]).unwrap();
        inbox
            .conn
            .execute_batch(
                "create trigger full before insert on handled when new.message = cast('c' as blob)
                 begin select raise(abort, 'full'); end",
            )
            .unwrap();
        let error = inbox.take(&[batch(0, 3, &["b", "c"])]).unwrap_err();
        assert!(error.to_string().contains("inbox.db cannot be used: full"), "{error}");
        assert_eq!((handled(&inbox), inbox.positions().unwrap()), (vec!["a".into()], [(0, 1)].into()));
        inbox.conn.execute_batch("drop trigger full").unwrap();
        assert_eq!(inbox.take(&[batch(0, 3, &["b", "c"])]).unwrap(), 2, "nothing of it had been entered");
    }

    #[test]
    fn a_file_that_is_no_inbox_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("no.db");
        assert!(Inbox::read_only(&path).is_err() && !path.exists());
        std::fs::write(&path, vec![b'x'; 8_192]).unwrap();
        let error = Inbox::open(&path).unwrap_err().to_string();
        assert!(error.contains("no.db cannot be used: file is not a database"), "{error}");
    }
}
