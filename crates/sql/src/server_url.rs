//! `postgres://USER:PASSWORD@HOST:PORT/DATABASE?…` and `mysql://…`, as the drivers know them.

mod parse;

use crate::{Dialect, UrlError};
use model::OpenError;
pub use parse::is_keyword_string;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

/// How long a server may take to let a client in.
pub const CONNECT_MAX: Duration = Duration::from_secs(10);

/// A password. It is shown nowhere: not by `Debug`, not by `Display` of what holds it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    pub fn new(password: impl Into<String>) -> Secret {
        Secret(password.into())
    }

    /// Gives it to a driver.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

/// How the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Tls {
    /// Not at all. The default on unix sockets and on loopback.
    Off,
    /// If the server can; its certificate is not checked.
    #[default]
    Prefer,
    /// Always; the certificate is not checked.
    Require,
    /// Always, with a certificate of a known authority for this host.
    Verify,
}

impl Tls {
    const ALL: [Tls; 4] = [Tls::Off, Tls::Prefer, Tls::Require, Tls::Verify];

    /// The name in URLs: PostgreSQL's `sslmode`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Tls::Off => "disable",
            Tls::Prefer => "prefer",
            Tls::Require => "require",
            Tls::Verify => "verify-full",
        }
    }
}

/// Isolation of transactions that write. Declared, set on each session, and read back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Isolation {
    ReadCommitted,
    RepeatableRead,
    Serializable,
}

impl Isolation {
    const ALL: [Isolation; 3] =
        [Isolation::ReadCommitted, Isolation::RepeatableRead, Isolation::Serializable];

    /// The name in URLs and results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read-committed",
            Isolation::RepeatableRead => "repeatable-read",
            Isolation::Serializable => "serializable",
        }
    }

    /// The words in SQL.
    #[must_use]
    pub const fn sql(self) -> &'static str {
        match self {
            Isolation::ReadCommitted => "read committed",
            Isolation::RepeatableRead => "repeatable read",
            Isolation::Serializable => "serializable",
        }
    }

    /// The level by its name in a URL, in SQL, or as a server reads it back (`REPEATABLE-READ`).
    pub fn named(name: &str) -> Option<Isolation> {
        let name = name.to_ascii_lowercase().replace([' ', '_'], "-");
        Isolation::ALL.into_iter().find(|level| level.name() == name)
    }

    /// What an engine does unless it is told otherwise.
    ///
    /// SQLite has one level, and no server URL.
    pub const fn default_of(dialect: Dialect) -> Isolation {
        match dialect {
            Dialect::Postgres => Isolation::ReadCommitted,
            Dialect::MySql => Isolation::RepeatableRead,
            Dialect::Sqlite => Isolation::Serializable,
        }
    }
}

/// A database on a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerUrl {
    /// [`Dialect::Postgres`] or [`Dialect::MySql`].
    pub dialect: Dialect,
    /// Host name or address; unused with a socket.
    pub host: String,
    /// Port; with a PostgreSQL socket it is a part of the socket's name.
    pub port: u16,
    /// PostgreSQL: the folder of the unix socket. MySQL: the socket itself.
    pub socket: Option<PathBuf>,
    pub user: String,
    /// Password, if one is known.
    pub password: Option<Secret>,
    pub database: String,
    pub tls: Tls,
    /// A file of certificates to trust besides the system's (`sslrootcert`).
    pub authority: Option<PathBuf>,
    /// PostgreSQL: whether the server must prove that it is the other end of the encrypted connection (`channel_binding=require`).
    pub channel_binding: bool,
    /// PostgreSQL: options for its command line, such as `-c search_path=bench` or `endpoint=NAME` of a provider.
    pub options: Option<String>,
    /// Isolation of writing transactions.
    pub isolation: Isolation,
    /// What PostgreSQL's `statement_timeout` or MariaDB's `max_statement_time` or MySQL's `max_execution_time` is set to in our sessions, in
    /// milliseconds; 0 leaves the server's.
    pub statement_timeout_ms: u32,
}

impl ServerUrl {
    /// Whether a text begins like the URL of a server, or is a keyword string of libpq.
    pub fn is_scheme_of(url: &str) -> bool {
        dialect_of(url).is_some() || is_keyword_string(url)
    }

    /// The same server, another database.
    pub fn with_database(&self, database: &str) -> ServerUrl {
        ServerUrl { database: database.to_owned(), ..self.clone() }
    }

    /// The error of a server that has not let a client in within [`CONNECT_MAX`].
    pub fn no_answer(&self) -> OpenError {
        OpenError::Unreachable {
            what: self.place(),
            why: format!("no answer within {} s", CONNECT_MAX.as_secs()),
        }
    }

    /// Where the server is, for messages: `127.0.0.1:5432` or a socket's path.
    pub fn place(&self) -> String {
        match &self.socket {
            Some(socket) => socket.display().to_string(),
            None if self.host.contains(':') => format!("[{}]:{}", self.host, self.port),
            None => format!("{}:{}", self.host, self.port),
        }
    }
}

/// By the scheme, behind which other libraries name their driver: `postgresql+psycopg`.
fn dialect_of(url: &str) -> Option<Dialect> {
    let scheme = url.split_once(':')?.0;
    match scheme.split_once('+').map_or(scheme, |(scheme, _)| scheme) {
        "postgres" | "postgresql" => Some(Dialect::Postgres),
        "mysql" | "mariadb" => Some(Dialect::MySql),
        _ => None,
    }
}

const fn port_of(dialect: Dialect) -> u16 {
    match dialect {
        Dialect::MySql => 3306,
        Dialect::Postgres | Dialect::Sqlite => 5432,
    }
}

impl FromStr for ServerUrl {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<ServerUrl, UrlError> {
        parse::server_url(text)
    }
}

/// Without the password, so that it can be printed and read again.
impl fmt::Display for ServerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let encoded = |text: &str| {
            percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string()
        };
        // Names are mostly plain, and then read better as they are.
        let plain = |text: &str| {
            let easy = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./".contains(&byte));
            if easy { text.to_owned() } else { encoded(text) }
        };
        let host = if self.host.contains(':') { format!("[{}]", self.host) } else { self.host.clone() };
        let (scheme, user, database) = (self.dialect.scheme(), plain(&self.user), plain(&self.database));
        let (user, database) = (user.replace('/', "%2F"), database.replace('/', "%2F"));
        write!(f, "{scheme}://{user}@{host}:{}/{database}?sslmode={}", self.port, self.tls.name())?;
        write!(f, "&isolation={}", self.isolation.name())?;
        if let Some(socket) = &self.socket {
            let key = if self.dialect == Dialect::MySql { "socket" } else { "host" };
            let socket = socket.display().to_string();
            write!(f, "&{key}={}", plain(&socket))?;
        }
        if let Some(authority) = &self.authority {
            let authority = authority.display().to_string();
            write!(f, "&sslrootcert={}", plain(&authority))?;
        }
        if self.channel_binding {
            f.write_str("&channel_binding=require")?;
        }
        if let Some(options) = &self.options {
            write!(f, "&options={}", plain(options))?;
        }
        if self.statement_timeout_ms > 0 {
            write!(f, "&statement_timeout_ms={}", self.statement_timeout_ms)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> ServerUrl {
        text.parse().unwrap()
    }

    #[test]
    fn a_url_is_read_as_drivers_read_it() {
        let full = url(
            "postgresql://b%40b:s%2Fcret@db.example:5433/tpcc?sslmode=verify-full&isolation=serializable",
        );
        assert_eq!((full.user.as_str(), full.host.as_str(), full.port), ("b@b", "db.example", 5433));
        assert_eq!(full.password.as_ref().map(Secret::reveal), Some("s/cret"));
        assert_eq!((full.tls, full.isolation), (Tls::Verify, Isolation::Serializable));
        let near = url("mariadb://root@localhost/tpcc?socket=/run/m.sock");
        assert_eq!((near.dialect, near.port, near.tls), (Dialect::MySql, 3306, Tls::Off));
        assert_eq!(near.place(), "/run/m.sock");
        assert_eq!(near.isolation, Isolation::RepeatableRead);
        assert_eq!(url("postgres://a@%2Frun%2Fpg/b").socket, Some("/run/pg".into()));
        assert_eq!(url("postgres://a@[::1]:5/b").place(), "[::1]:5");
        assert_eq!(url("mysql://a@far/b?ssl-mode=REQUIRED").tls, Tls::Require);
        assert_eq!(url("postgres://a@far/b").tls, Tls::Prefer);
    }

    #[test]
    fn names_of_hosts_are_taken_as_they_are() {
        for host in ["DB.example", "xn--a", "bücher.example"] {
            assert_eq!(url(&format!("postgres://a@{host}/b")).host, host);
        }
        assert_eq!(url("mysql://a@b%C3%BCcher.example/b").host, "bücher.example");
    }

    /// What libraries, providers and `pg_service` pages print.
    #[test]
    fn addresses_are_taken_as_people_have_them() {
        let check = |text: &str, place: &str, rest: &str| {
            let url = url(text);
            let password = url.password.as_ref().map_or("none", Secret::reveal);
            let found = format!("{} {} {} {}", url.user, url.database, password, url.tls.name());
            assert_eq!((url.place().as_str(), found.as_str()), (place, rest), "{text}");
        };
        check("postgres://bench@/db?host=/run/postgresql", "/run/postgresql", "bench db none disable");
        check("postgres:///db?host=/run/postgresql&user=bench", "/run/postgresql", "bench db none disable");
        check("postgres://bench@/db", "127.0.0.1:5432", "bench db none disable");
        check("postgres://bench@:6000/db", "127.0.0.1:6000", "bench db none disable");
        check("mysql://bench@/db?socket=/run/mysqld/m.sock", "/run/mysqld/m.sock", "bench db none disable");
        check(
            "mysql+pymysql://bench@h/db?unix_socket=/m.sock&charset=utf8mb4",
            "/m.sock",
            "bench db none disable",
        );
        check("postgres://bench@/db?socket=/run/.s.PGSQL.6001", "/run", "bench db none disable");
        assert_eq!(url("postgres://bench@/db?socket=/run/.s.PGSQL.6001").port, 6001);
        check("postgresql+psycopg://b:x@far/db", "far:5432", "b db x prefer");
        check("host=/run/postgresql user=bench dbname=db", "/run/postgresql", "bench db none disable");
        check(
            "host = far port = 6000  user=bench password='it\\'s a \\\\' dbname=db sslmode=require",
            "far:6000",
            "bench db it's a \\ require",
        );
        check(
            "dbname=db user=bench connect_timeout=10 target_session_attrs=read-write",
            "127.0.0.1:5432",
            "bench db none disable",
        );
        // A plus is not a blank.
        check("postgres://b:a+b%2Bc@far/db", "far:5432", "b db a+b+c prefer");
        check("postgres://b@far/db?password=a+b%20c&sslmode=allow", "far:5432", "b db a+b c prefer");
        check("mysql://b@far/db?tls=skip-verify&parseTime=true", "far:3306", "b db none require");
        check("mysql://b@far/db?useSSL=false", "far:3306", "b db none disable");
        let provider =
            "postgres://b:x@ep.example/db?sslmode=require&channel_binding=require&options=endpoint%3Dep-1";
        let provided = url(provider);
        assert!(
            provided.channel_binding && provided.options.as_deref() == Some("endpoint=ep-1"),
            "{provided:?}"
        );
        assert_eq!(url(&provided.to_string()), ServerUrl { password: None, ..provided });
        assert!(is_keyword_string("host=x") && is_keyword_string(" connect_timeout = 3 user=x"));
        assert!(!is_keyword_string("shard-0=postgres://u@h/d") && !is_keyword_string("sqlite:host=x"));
    }

    #[test]
    fn a_url_survives_being_printed_but_for_its_password() {
        let given = "postgres://b:secret@[::1]:5433/t p?host=/a b/c&isolation=repeatable-read&statement_timeout_ms=70";
        let given = url(&given.replace(' ', "%20"));
        let printed = given.to_string();
        assert!(!printed.contains("secret") && !format!("{given:?}").contains("secret"), "{printed}");
        assert_eq!(url(&printed), ServerUrl { password: None, ..given });
    }

    #[test]
    fn what_is_wrong_is_said_without_the_password() {
        for (text, expected) in [
            ("postgres://u:secret@h", "database is missing"),
            ("postgres://:secret@h/d", "user is missing"),
            ("mysql://u:secret@h/d?hosts=/run", "no option `hosts`"),
            ("mysql://u:secret@h:port/d", "the port is 1 to 65535"),
            ("mysql:u:secret@h/d", "for example `mysql://user@127.0.0.1/tpcc`"),
            ("postgres://u:sec#secret@h/d", "percent-encode it"),
            ("postgres://u:sec/secret@h/d", "--password-file"),
            ("postgres://u:sec?secret@h/d", "--password-file"),
            ("postgres://u:secret", "the port is 1 to 65535"),
            ("host=h user=u password='secret dbname=d", "a quote is not closed"),
            ("host=h user=u password=secret", "the database is missing"),
            ("host=h user=u password=secret dbname=d hosts=1", "no option `hosts`"),
            ("postgres://u:secret@h,i/d", "several are named"),
            ("postgres://u:secret@h/d?sslcert=c.pem", "client certificates are not supported"),
            (
                "postgres://u:secret@h/d?channel_binding=require&sslmode=disable",
                "needs an encrypted connection",
            ),
            ("postgres://u@h/d?sslmode=maybe&password=secret", "sslmode is one of"),
            ("postgres://u:secret@h/d?isolation=none", "isolation is one of"),
            ("oracle://u:secret@h/d", "starts with `postgres://`"),
            ("postgres://u:sec@ret@h/d?statement_timeout_ms=x", "whole number"),
        ] {
            let error = text.parse::<ServerUrl>().unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
            assert!(!error.contains("secret") && !error.contains("sec@"), "{text}: {error}");
        }
    }
}
