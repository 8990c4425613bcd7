//! Servers that cannot be used.

use crate::wait_for;
use model::OpenError;
use sql::{Dialect, ServerUrl};

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
