//! Databases as errors name them.

use crate::wait_for;
use anyhow::{Result, bail};
use model::OpenError;
use sql::{DbUrl, Dialect, ServerUrl, SqliteUrl};

/// How messages call a database: a file, or a database at an address.
pub fn place(url: &DbUrl) -> String {
    match url {
        DbUrl::Sqlite(url) => url.path.display().to_string(),
        DbUrl::Server(url) => format!("database `{}` at {}", url.database, url.place()),
    }
}

/// The URL of a file.
pub fn sqlite_only(url: &DbUrl) -> Result<&SqliteUrl> {
    match url {
        DbUrl::Sqlite(url) => Ok(url),
        DbUrl::Server(_) => bail!("{} is not a SQLite database", place(url)),
    }
}

/// The URL of a server.
pub fn server_only(url: &DbUrl) -> Result<&ServerUrl> {
    match url {
        DbUrl::Server(url) => Ok(url),
        DbUrl::Sqlite(_) => bail!("{} is a SQLite database, and no server's", place(url)),
    }
}

/// Why measured sessions cannot be opened on a server, if that is so: the adapters know best what a user can do about it.
pub fn why_closed(url: &ServerUrl) -> Option<OpenError> {
    let opened = match url.dialect {
        Dialect::MySql => wait_for(adapter_mysql_async::connect(url)).map(|opened| opened.map(drop)),
        Dialect::Postgres | Dialect::Sqlite => {
            wait_for(adapter_tokio_postgres::connect(url)).map(|opened| opened.map(drop))
        }
    };
    opened.ok()?.err()
}
