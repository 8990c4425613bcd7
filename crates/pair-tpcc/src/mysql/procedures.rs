//! The procedures, how they are called, and how they get into a database.

use model::OpenError;
use mysql_async::prelude::Queryable;
use mysql_async::{Conn, Error};
use sql::{Catalogue, ServerUrl, StmtId};

/// The calls, in the order of their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Procedure {
    NewOrder,
    Payment,
    OrderStatus,
    Delivery,
    StockLevel,
}

impl Procedure {
    pub(crate) const fn id(self) -> StmtId {
        StmtId(self as u16)
    }
}

/// Name and parameters of each, in the order of [`Procedure`].
const CALLS: [(&str, &str); 5] = [
    ("stackmark_new_order", "?1, ?2, ?3, ?4, ?5, ?6, ?7"),
    // A parameter cannot be null here: an empty name is none.
    ("stackmark_payment", "?1, ?2, ?3, ?4, ?5, nullif(?6, ''), ?7"),
    ("stackmark_order_status", "?1, ?2, ?3, nullif(?4, '')"),
    ("stackmark_delivery", "?1, ?2"),
    ("stackmark_stock_level", "?1, ?2, ?3"),
];

/// The statements that call them.
pub(crate) fn calls() -> Vec<String> {
    CALLS.iter().map(|(name, params)| format!("call {name}({params})")).collect()
}

/// Texts of the procedures, in the order of [`Procedure`].
fn texts() -> Vec<String> {
    let file = Catalogue::parse(include_str!("../../spec/sql/tpcc/procedures.mysql.sql"))
        .and_then(|file| file.select(&CALLS.map(|(name, _)| name)));
    file.expect("the file holds what is called, kept so by a test")
}

/// Makes the procedures in the database of a connection, or makes them again.
///
/// # Errors
/// [`OpenError::Unusable`] when the user may not make procedures there or the server does not take one;
/// [`OpenError::Unreachable`] when the connection breaks.
pub async fn install(conn: &mut Conn, url: &ServerUrl) -> Result<(), OpenError> {
    let version: Option<String> =
        conn.query_first("select version()").await.map_err(|error| refused(url, error))?;
    if let Some(version) = version.filter(|version| !sql::is_mariadb(version)) {
        let why = format!(
            "it is MySQL {version}, and the procedures of this style are MariaDB's\nhint: take tpcc/mariadb/mysql-async"
        );
        return Err(OpenError::Unusable { what: url.place(), why });
    }
    for text in texts() {
        conn.query_drop(text).await.map_err(|error| refused(url, error))?;
    }
    Ok(())
}

fn refused(url: &ServerUrl, error: Error) -> OpenError {
    let ServerUrl { user, database, .. } = url;
    match error {
        // ER_DBACCESS_DENIED_ERROR, ER_SPECIFIC_ACCESS_DENIED_ERROR, ER_PROCACCESS_DENIED_ERROR, ER_ACCESS_DENIED_ERROR.
        Error::Server(error) if matches!(error.code, 1044 | 1045 | 1227 | 1370) => OpenError::Unusable {
            what: url.place(),
            why: format!(
                "user `{user}` may not make the procedures of this style ({}); `grant create routine, alter routine, \
                 execute on {database}.* to …` would allow it",
                error.message
            ),
        },
        Error::Server(error) => OpenError::Unusable {
            what: url.place(),
            why: format!("it does not take the procedures of this style: {}", error.message),
        },
        error => OpenError::Unreachable { what: url.place(), why: error.to_string() },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_file_holds_what_is_called() {
        for ((name, _), text) in CALLS.iter().zip(texts()) {
            assert!(text.starts_with(&format!("create or replace procedure {name} ")), "{text}");
        }
    }
}
