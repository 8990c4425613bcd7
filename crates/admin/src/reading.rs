//! What a store contains at one moment, read later.

use crate::engine::Conn;
use crate::{Error, Store, store};
use sql::{DbUrl, Value};
use std::fmt;

/// A connection that is opened early, so that a moment can be held at once.
pub struct SnapshotReader {
    url: DbUrl,
    store: Store,
    conn: Box<dyn Conn>,
}

impl fmt::Debug for SnapshotReader {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SnapshotReader").finish_non_exhaustive()
    }
}

impl SnapshotReader {
    /// Opens a connection to the store at an address; it cannot write.
    ///
    /// # Errors
    /// No connection can be opened.
    pub fn open(url: &DbUrl) -> Result<SnapshotReader, Error> {
        let store = store(url);
        let mut conn = store.0.reader().map_err(|source| store.0.unread(source))?;
        conn.is_of_run();
        Ok(SnapshotReader { url: url.clone(), store, conn })
    }

    /// The address of the store.
    pub const fn url(&self) -> &DbUrl {
        &self.url
    }

    /// From here on this connection reads what is committed now. False where it cannot: behind a pooler it has no transaction of its
    /// own.
    ///
    /// # Errors
    /// The connection is lost, or the store does not answer.
    pub fn hold(&mut self) -> Result<bool, Error> {
        self.conn.hold().map_err(|source| self.store.0.unread(source))
    }

    /// All rows of one query, as of the moment that is held.
    ///
    /// # Errors
    /// As those of [`SnapshotReader::hold`].
    pub fn rows(&mut self, sql: &str) -> Result<Vec<Vec<Value>>, Error> {
        self.conn.rows(sql, &[], usize::MAX).map_err(|source| self.store.0.unread(source))
    }
}
