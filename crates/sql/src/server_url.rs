//! `postgres://USER:PASSWORD@HOST:PORT/DATABASE?…` and `mysql://…`, as the drivers know them.

use crate::{Dialect, UrlError};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use url::Url;

/// A password. It is shown nowhere: not by `Debug`, not by `Display` of what holds it.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Takes a password.
    #[must_use]
    pub fn new(password: impl Into<String>) -> Secret {
        Secret(password.into())
    }

    /// Gives it to a driver.
    #[must_use]
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
#[expect(missing_docs, reason = "the standard's own names")]
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
    #[must_use]
    pub fn named(name: &str) -> Option<Isolation> {
        let name = name.to_ascii_lowercase().replace([' ', '_'], "-");
        Isolation::ALL.into_iter().find(|level| level.name() == name)
    }

    /// What an engine does unless it is told otherwise.
    ///
    /// SQLite has one level, and no server URL.
    #[must_use]
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
    /// User.
    pub user: String,
    /// Password, if one is known.
    pub password: Option<Secret>,
    /// Database.
    pub database: String,
    /// Encryption.
    pub tls: Tls,
    /// A file of certificates to trust beside the system's (`sslrootcert`).
    pub authority: Option<PathBuf>,
    /// Isolation of writing transactions.
    pub isolation: Isolation,
    /// What PostgreSQL's `statement_timeout` or MariaDB's `max_statement_time` is set to in our sessions, in
    /// milliseconds; 0 leaves the server's.
    pub statement_timeout_ms: u32,
}

impl ServerUrl {
    /// Whether a text begins like the URL of a server.
    #[must_use]
    pub fn is_scheme_of(url: &str) -> bool {
        dialect_of(url).is_some()
    }

    /// The same server, another database.
    #[must_use]
    pub fn with_database(&self, database: &str) -> ServerUrl {
        ServerUrl { database: database.to_owned(), ..self.clone() }
    }

    /// Where the server is, for messages: `127.0.0.1:5432` or a socket's path.
    #[must_use]
    pub fn place(&self) -> String {
        match &self.socket {
            Some(socket) => socket.display().to_string(),
            None if self.host.contains(':') => format!("[{}]:{}", self.host, self.port),
            None => format!("{}:{}", self.host, self.port),
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "sslmode" | "ssl-mode" => {
                let name = value.to_ascii_lowercase().replace('_', "-");
                self.tls = match name.as_str() {
                    "disabled" => Tls::Off,
                    "preferred" => Tls::Prefer,
                    "required" => Tls::Require,
                    "verify-ca" | "verify-identity" => Tls::Verify,
                    name => Tls::ALL.into_iter().find(|mode| mode.name() == name).ok_or_else(|| {
                        format!("{key} is one of disable, prefer, require, verify-full, not `{value}`")
                    })?,
                };
            }
            "sslrootcert" | "ssl-ca" => self.authority = Some(value.into()),
            "isolation" => {
                self.isolation = Isolation::named(value).ok_or_else(|| {
                    format!(
                        "isolation is one of read-committed, repeatable-read, serializable, not `{value}`"
                    )
                })?;
            }
            "statement_timeout_ms" => {
                self.statement_timeout_ms = value.parse().map_err(|_| {
                    format!("statement_timeout_ms is a whole number of milliseconds, not `{value}`")
                })?;
            }
            "host" if self.dialect == Dialect::Postgres && value.starts_with('/') => {
                self.socket = Some(value.into());
            }
            "socket" if self.dialect == Dialect::MySql => self.socket = Some(value.into()),
            "user" => value.clone_into(&mut self.user),
            "password" => self.password = Some(Secret::new(value)),
            "port" => {
                self.port = value.parse().map_err(|_| format!("port is 1 to 65535, not `{value}`"))?;
            }
            _ => {
                return Err(format!(
                    "no option `{key}`; there are sslmode, sslrootcert, isolation, statement_timeout_ms and, for a \
                     unix socket, {}",
                    if self.dialect == Dialect::Postgres { "host=/FOLDER" } else { "socket=/FILE" }
                ));
            }
        }
        Ok(())
    }
}

fn dialect_of(url: &str) -> Option<Dialect> {
    match url.split_once(':')?.0 {
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
        let dialect = dialect_of(text).ok_or_else(|| UrlError {
            url: "the URL given".into(),
            why: "a server's URL starts with `postgres://` or `mysql://`".into(),
        })?;
        let example = format!("for example `{}://user@127.0.0.1/tpcc`", dialect.scheme());
        // Whatever is wrong, the password in it is not repeated.
        let shown = redacted(text);
        let wrong = |why: String| UrlError { url: shown.clone(), why };
        let url = Url::parse(text).map_err(|error| wrong(format!("{error}; {example}")))?;
        let decoded = |text: &str| {
            percent_encoding::percent_decode_str(text)
                .decode_utf8()
                .map(|text| text.into_owned())
                .map_err(|_| wrong("user, password and database are UTF-8".into()))
        };
        let mut parsed = ServerUrl {
            dialect,
            host: url.host_str().map_or(String::new(), |host| host.trim_matches(['[', ']']).to_owned()),
            port: url.port().unwrap_or(port_of(dialect)),
            socket: None,
            user: decoded(url.username())?,
            password: url.password().map(decoded).transpose()?.map(Secret),
            database: decoded(url.path().trim_start_matches('/'))?,
            tls: Tls::default(),
            authority: None,
            isolation: Isolation::default_of(dialect),
            statement_timeout_ms: 0,
        };
        let mut tls_given = false;
        for (key, value) in url.query_pairs() {
            tls_given |= matches!(key.as_ref(), "sslmode" | "ssl-mode");
            parsed.set(&key, &value).map_err(wrong)?;
        }
        // PostgreSQL's drivers take a percent-encoded folder in the place of a host.
        let host = decoded(&parsed.host)?;
        if host.starts_with('/') {
            parsed.socket = Some(host.into());
            parsed.host = String::new();
        }
        if parsed.host.is_empty() {
            parsed.host = "127.0.0.1".into();
        }
        if parsed.user.is_empty() {
            return Err(wrong(format!("the user is missing; {example}")));
        }
        if parsed.database.is_empty() {
            return Err(wrong(format!("the database is missing; {example}")));
        }
        let near =
            parsed.socket.is_some() || matches!(parsed.host.as_str(), "localhost" | "127.0.0.1" | "::1");
        if near && !tls_given {
            parsed.tls = Tls::Off;
        }
        Ok(parsed)
    }
}

/// A URL without what stands between its user and its host, and without a password among its options.
fn redacted(text: &str) -> String {
    let text = match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 <= at => {
            let user = text[scheme + 3..at].split(':').next().unwrap_or_default();
            format!("{}{user}{}", &text[..scheme + 3], &text[at..])
        }
        _ => text.to_owned(),
    };
    match text.find("password=") {
        Some(at) => format!("{}password=***", &text[..at]),
        None => text,
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

    /// The `idna_adapter` that is pinned knows nothing of international names, and is never asked.
    #[test]
    fn names_of_hosts_are_taken_as_they_are() {
        for host in ["DB.example", "xn--a", "b%C3%BCcher.example"] {
            assert_eq!(url(&format!("postgres://a@{host}/b")).host, host);
        }
        assert_eq!(url("mysql://a@bücher.example/b").host, "b%C3%BCcher.example");
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
            ("mysql://u:secret@h/d?host=/run", "no option `host`"),
            ("mysql://u:secret@h:port/d", "for example `mysql://user@127.0.0.1/tpcc`"),
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
