//! The narrow SQL port that the generic form of each workload is written against.
//!
//! It knows statements by number, parameters on the stack and rows decoded in place. It does not know any driver, any
//! workload, or how a style other than "one statement at a time" works.

mod attached;
pub mod audit;
mod catalogue;
mod column_info;
mod conn;
mod db_url;
mod decoded;
pub mod encryption;
mod many_rows;
mod mysql;
mod mysql_settings;
pub mod path;
mod placeholders;
pub mod postgres;
pub mod product;
mod server_url;
mod session;
mod sqlite;
mod sqlite_settings;
mod statements;
mod storage;
mod target;
mod timed;
mod two_phase;
mod value;

pub use attached::{Attached, of_database};
pub use catalogue::{Catalogue, CatalogueError};
pub use column_info::ColumnInfo;
pub use conn::{ColumnError, Columns, Grouping, Param, Read, SqlConn, SqlOpener, StmtId, Take, TxKind};
pub use db_url::{DbUrl, split_name};
pub use decoded::{date_of, days_since_1970, numeric, rounded, scaled};
pub use many_rows::ManyRowsError;
pub use mysql::{
    GALERA, MySqlFlushing, NODES_MAX, SPIDER, WRITERS, durability as mysql_durability, fault as mysql_fault,
    is_mariadb, open_error as mysql_open_error, unsupported as mysql_unsupported,
};
pub use mysql_settings::{MYSQL_SETTINGS, MySqlSettings};
pub use placeholders::{Positional, dollars, positional};
pub use server_url::{Address, CONNECT_MAX, Isolation, Secret, ServerUrl, Tls, is_keyword_string};
pub use session::{Use, check_setting, is_direct, is_hidden_from_control, is_set_by_sessions};
pub use sqlite::{
    Journal, SqliteUrl, Synchronous, UrlError, durability as sqlite_durability, fault as sqlite_fault,
};
pub use sqlite_settings::{SqliteAnswers, SqliteSettings};
pub use statements::{clocked, not_taken};
pub use storage::Storage;
pub use target::{SqlForm, SqlTarget};
pub use timed::{IDLE_MAX, Timed};
pub use two_phase::{BranchId, LOCK_WAIT_S, TwoPhase};
pub use value::Value;

/// The engines whose SQL we speak. Matched without wildcard arms everywhere, so that a new one is met by the compiler.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// SQLite 3.51 or newer.
    Sqlite,
    /// PostgreSQL 13 or newer.
    Postgres,
    /// MySQL's protocol and dialect, as MariaDB 10.6 and MySQL 8.0 or newer speak it.
    MySql,
}

impl Dialect {
    /// The name in subjects and options.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Sqlite => "sqlite",
            Dialect::Postgres => "postgres",
            Dialect::MySql => "mariadb",
        }
    }

    /// What asks a server for the time of its clock, in microseconds of Unix time; nothing where that is the clock of this machine.
    #[must_use]
    pub const fn now_us(self) -> Option<&'static str> {
        match self {
            Dialect::Sqlite => None,
            Dialect::Postgres => Some("select (extract(epoch from clock_timestamp()) * 1000000)::bigint"),
            Dialect::MySql => Some("select cast(unix_timestamp(sysdate(6)) * 1000000 as signed)"),
        }
    }

    /// What URLs of its databases begin with.
    #[must_use]
    pub const fn scheme(self) -> &'static str {
        match self {
            Dialect::Sqlite | Dialect::Postgres => self.name(),
            Dialect::MySql => "mysql",
        }
    }

    /// The dialect of that name. `mysql` is another name of MariaDB's.
    pub fn named(name: &str) -> Option<Dialect> {
        let name = if name == Dialect::MySql.scheme() { Dialect::MySql.name() } else { name };
        [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql].into_iter().find(|known| known.name() == name)
    }
}
