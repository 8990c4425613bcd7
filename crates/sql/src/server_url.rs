//! `postgres://USER:PASSWORD@HOST:PORT/DATABASE?…` and `mysql://…`, as the drivers know them.

mod parse;

use crate::{Dialect, UrlError};
use model::OpenError;
pub use parse::is_keyword_string;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};
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

/// Where a further node of a cluster is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Address {
    Host(String, u16),
    /// A unix socket, as [`ServerUrl::socket`] names it.
    Socket(PathBuf),
}

impl Address {
    fn of_socket(&self) -> Option<String> {
        match self {
            Address::Host(..) => None,
            Address::Socket(socket) => Some(socket.display().to_string()),
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
    /// Further nodes of one cluster. Sessions that make calls are spread over nodes; whoever loads, audits or samples uses the first.
    pub others: Vec<Address>,
    /// How many of the nodes get calls, from the first on; all where it is not said.
    pub writers: Option<usize>,
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

    /// Where the server is, for messages: `127.0.0.1:5432`, `a:5432,b:5432` of a cluster, or a socket's path.
    pub fn place(&self) -> String {
        self.sockets().unwrap_or_else(|| self.hosts())
    }

    fn hosts(&self) -> String {
        let first = Address::Host(self.host.clone(), self.port);
        let one = |address: &Address| match address {
            Address::Host(host, port) if host.contains(':') => Some(format!("[{host}]:{port}")),
            Address::Host(host, port) => Some(format!("{host}:{port}")),
            Address::Socket(_) => None,
        };
        std::iter::once(&first).chain(&self.others).filter_map(one).collect::<Vec<_>>().join(",")
    }

    fn sockets(&self) -> Option<String> {
        let first = Address::Socket(self.socket.clone()?);
        let all = std::iter::once(&first).chain(&self.others);
        Some(all.filter_map(Address::of_socket).collect::<Vec<_>>().join(","))
    }

    /// Its nodes, each by itself: one, unless it is a cluster.
    pub fn nodes(&self) -> Vec<ServerUrl> {
        let first = ServerUrl { others: Vec::new(), writers: None, ..self.clone() };
        let others = self.others.iter().map(|address| match address.clone() {
            Address::Host(host, port) => ServerUrl { host, port, socket: None, ..first.clone() },
            Address::Socket(socket) => ServerUrl { socket: Some(socket), ..first.clone() },
        });
        std::iter::once(first.clone()).chain(others).collect()
    }

    /// Those of its nodes that get calls.
    pub fn writers(&self) -> Vec<ServerUrl> {
        let mut nodes = self.nodes();
        nodes.truncate(self.writers.unwrap_or(nodes.len()).max(1));
        nodes
    }

    /// The same database by other addresses, all of which get calls: those of proxies in front of its nodes.
    #[must_use]
    pub fn through(&self, mut addresses: impl Iterator<Item = Address>) -> ServerUrl {
        let url = ServerUrl { others: Vec::new(), writers: None, socket: None, ..self.clone() };
        match addresses.next() {
            Some(Address::Host(host, port)) => ServerUrl { host, port, others: addresses.collect(), ..url },
            Some(Address::Socket(socket)) => {
                ServerUrl { socket: Some(socket), others: addresses.collect(), ..url }
            }
            None => self.clone(),
        }
    }

    /// The node for the next session of this process that makes calls: each of the writers in turn.
    pub fn next_node(&self) -> Cow<'_, ServerUrl> {
        /// By address: sessions of two clusters may be opened in turn.
        static OPENED: Mutex<BTreeMap<String, usize>> = Mutex::new(BTreeMap::new());
        if self.others.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut nodes = self.writers();
        let mut opened = OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let count = opened.entry(self.place()).or_default();
        let next = *count % nodes.len();
        *count += 1;
        Cow::Owned(nodes.swap_remove(next))
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
            let easy = text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_./,".contains(&byte));
            if easy { text.to_owned() } else { encoded(text) }
        };
        let (scheme, user, database) = (self.dialect.scheme(), plain(&self.user), plain(&self.database));
        let (user, database) = (user.replace('/', "%2F"), database.replace('/', "%2F"));
        write!(f, "{scheme}://{user}@{}/{database}?sslmode={}", self.hosts(), self.tls.name())?;
        write!(f, "&isolation={}", self.isolation.name())?;
        if let Some(socket) = self.sockets() {
            let key = if self.dialect == Dialect::MySql { "socket" } else { "host" };
            write!(f, "&{key}={}", plain(&socket))?;
        }
        if let Some(writers) = self.writers {
            write!(f, "&writers={writers}")?;
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
    fn whose_certificates_are_trusted_is_named_only_where_they_are_checked() {
        for (host, option) in
            [("far", "sslrootcert=ca.pem"), ("localhost", "ssl-ca=ca.pem"), ("far", "sslrootcert=system")]
        {
            let named = url(&format!("postgres://a@{host}/b?{option}"));
            assert_eq!(named.tls, Tls::Verify, "{option}");
            assert_eq!(named.authority.is_some(), option.ends_with("pem"), "{option}");
            assert_eq!(url(&named.to_string()), named);
            for mode in ["disable", "prefer", "require"] {
                let weak = format!("postgres://a@{host}/b?sslmode={mode}&{option}").parse::<ServerUrl>();
                let why = weak.unwrap_err().to_string();
                assert!(why.contains(mode) && why.contains("use sslmode=verify-full"), "{why}");
            }
        }
        assert_eq!(url("mysql://a@far/b?ssl-ca=/ca.pem").tls, Tls::Verify);
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
    fn a_cluster_has_several_nodes_and_its_sessions_are_spread_over_them() {
        let cluster = url("mysql://b:x@one:1,two,[::1]:3/d?isolation=read-committed");
        assert_eq!(cluster.place(), "one:1,two:3306,[::1]:3");
        assert_eq!(url(&cluster.to_string()), ServerUrl { password: None, ..cluster.clone() });
        let places: Vec<String> = cluster.nodes().iter().map(ServerUrl::place).collect();
        assert_eq!(places, ["one:1", "two:3306", "[::1]:3"]);
        let next = || cluster.next_node().into_owned();
        let mut drawn: Vec<String> = (0..6).map(|_| next().place()).collect();
        assert_eq!(drawn[..3], drawn[3..], "each in turn");
        drawn.sort();
        assert_eq!(drawn, ["[::1]:3", "[::1]:3", "one:1", "one:1", "two:3306", "two:3306"]);
        assert!(next().password.is_some() && next().isolation == Isolation::ReadCommitted);
        let near = url("mysql://b@/d?socket=/one/s,/two/s");
        let places: Vec<String> = near.nodes().iter().map(ServerUrl::place).collect();
        assert_eq!(
            (near.place().as_str(), &places[..]),
            ("/one/s,/two/s", &["/one/s".into(), "/two/s".into()][..])
        );
        assert_eq!((url(&near.to_string()), near.tls), (near.clone(), Tls::Off));
        let address = |port| Address::Host("127.0.0.1".into(), port);
        let through = near.through([address(4), address(5)].into_iter());
        assert_eq!(through.place(), "127.0.0.1:4,127.0.0.1:5");
        assert_eq!((through.writers().len(), &through.user), (2, &near.user));
        let one = url("mysql://b@one,two/d?writers=1");
        assert_eq!((one.nodes().len(), one.writers().len(), url(&one.to_string())), (2, 1, one.clone()));
        assert_eq!([one.next_node().place(), one.next_node().place()], ["one:3306", "one:3306"]);
        assert_eq!(url("mysql://b@/d?socket=/srv/a,b/m.sock").nodes().len(), 1);
        // Not taken for near because its first node is.
        assert_eq!(
            (url("mysql://b@localhost,far/d").tls, url("mysql://b@localhost/d").tls),
            (Tls::Prefer, Tls::Off)
        );
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
            ("host=h,i user=u password=secret dbname=d", "postgres://USER@HOST,HOST/DATABASE"),
            ("mysql://u:secret@h,,i/d", "a host is missing"),
            ("mysql://u:secret@h,i:x/d", "the port is 1 to 65535"),
            ("mysql://u:secret@h,%2Frun%2Fi/d", "sockets of several nodes"),
            ("postgres://u:secret@%2Frun%2Fh,%2Frun%2Fi/d", "sockets of several nodes"),
            ("mysql://u:secret@h,i/d?port=3", "each host has its own"),
            ("mysql://u:secret@h,i/d?host=k", "each host has its own"),
            ("mysql://u:secret@h,i/d?socket=/m.sock", "has no socket"),
            ("mysql://u:secret@h,i/d?writers=3", "writers is 1 to 2"),
            ("mysql://u:secret@h,i/d?writers=0", "writers is 1 to 2"),
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
