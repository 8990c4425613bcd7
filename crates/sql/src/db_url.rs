//! A database by its URL, whatever the engine.

use crate::{Dialect, ServerUrl, SqliteUrl, UrlError, is_keyword_string};
use model::OpenError;
use std::fmt;
use std::str::FromStr;

/// A database of an engine that we know.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DbUrl {
    Sqlite(SqliteUrl),
    /// A database on a server.
    Server(ServerUrl),
}

impl DbUrl {
    /// The engine's dialect.
    pub fn dialect(&self) -> Dialect {
        match self {
            DbUrl::Sqlite(_) => Dialect::Sqlite,
            DbUrl::Server(url) => url.dialect,
        }
    }

    /// How messages call it: a file, or a database at an address.
    pub fn place(&self) -> String {
        match self {
            DbUrl::Sqlite(url) => url.path.display().to_string(),
            DbUrl::Server(url) => format!("database `{}` at {}", url.database, url.place()),
        }
    }

    /// The URL of a file.
    ///
    /// # Errors
    /// It is a database on a server.
    pub fn sqlite(&self) -> Result<&SqliteUrl, OpenError> {
        match self {
            DbUrl::Sqlite(url) => Ok(url),
            DbUrl::Server(_) => Err(self.unusable("it is not a SQLite database")),
        }
    }

    /// The URL of a database on a server.
    ///
    /// # Errors
    /// It is a file.
    pub fn server(&self) -> Result<&ServerUrl, OpenError> {
        match self {
            DbUrl::Server(url) => Ok(url),
            DbUrl::Sqlite(_) => Err(self.unusable("it is a SQLite database, and no server's")),
        }
    }

    fn unusable(&self, why: &str) -> OpenError {
        OpenError::Unusable { what: self.place(), why: why.to_owned() }
    }
}

/// The name before the first `=` of `shard-0=URL`, if there is one, and the address: an address has a colon before any, or is a keyword
/// string.
pub fn split_name(given: &str) -> (Option<&str>, &str) {
    match given.split_once('=') {
        Some((name, url)) if !name.contains([':', '/']) && !is_keyword_string(given) => (Some(name), url),
        _ => (None, given),
    }
}

impl FromStr for DbUrl {
    type Err = UrlError;

    fn from_str(url: &str) -> Result<DbUrl, UrlError> {
        if ServerUrl::is_scheme_of(url) {
            return url.parse().map(DbUrl::Server);
        }
        if url.starts_with("sqlite:") {
            return url.parse().map(DbUrl::Sqlite);
        }
        // What looks like a server's address may have a password in it: it is not repeated.
        let shown = if url.contains('@') { "the URL given" } else { url };
        Err(UrlError {
            url: shown.to_owned(),
            why:
                "a database is `sqlite:FILE`, `postgres://USER@HOST/DATABASE` or `mysql://USER@HOST/DATABASE`"
                    .into(),
        })
    }
}

/// Without the password, so that it can be printed and read again.
impl fmt::Display for DbUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DbUrl::Sqlite(url) => url.fmt(f),
            DbUrl::Server(url) => url.fmt(f),
        }
    }
}

impl From<SqliteUrl> for DbUrl {
    fn from(url: SqliteUrl) -> DbUrl {
        DbUrl::Sqlite(url)
    }
}

impl From<ServerUrl> for DbUrl {
    fn from(url: ServerUrl) -> DbUrl {
        DbUrl::Server(url)
    }
}

impl From<&SqliteUrl> for DbUrl {
    fn from(url: &SqliteUrl) -> DbUrl {
        DbUrl::Sqlite(url.clone())
    }
}

impl From<&ServerUrl> for DbUrl {
    fn from(url: &ServerUrl) -> DbUrl {
        DbUrl::Server(url.clone())
    }
}

impl From<&DbUrl> for DbUrl {
    fn from(url: &DbUrl) -> DbUrl {
        url.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_database_of_another_engine_is_refused_by_its_place() {
        let [file, server] = ["sqlite:a.db", "postgres://me:secret@db.example/b"]
            .map(|url| url.parse::<DbUrl>().expect("a database"));
        assert!(file.sqlite().is_ok() && server.server().is_ok());
        let refused = server.sqlite().expect_err("it is on a server").to_string();
        assert_eq!(refused, "could not use database `b` at db.example:5432: it is not a SQLite database");
        let refused = file.server().expect_err("it is a file").to_string();
        assert_eq!(refused, "could not use a.db: it is a SQLite database, and no server's");
    }
}
