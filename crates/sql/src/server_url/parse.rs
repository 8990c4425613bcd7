//! The addresses of servers as people have them: URLs as libpq, other drivers and providers print them, and libpq's keyword strings.
//!
//! The grammar of the URL standard does not fit: libpq allows an empty host (`postgres://me@/db?host=/run/postgresql`), and a `+` in a
//! value stands for itself.

use super::{Address, Isolation, Secret, ServerUrl, Tls, dialect_of, port_of};
use crate::{Dialect, UrlError};
use std::path::{Path, PathBuf};

/// Parameters of libpq and of other drivers that change nothing that is measured, and are not needed here. `target_session_attrs`: a
/// server that takes no writes is refused anyway.
const IGNORED: &[&str] = &[
    "application_name",
    "charset",
    "client_encoding",
    "connect_timeout",
    "connection_limit",
    "fallback_application_name",
    "gssencmode",
    "keepalives",
    "keepalives_count",
    "keepalives_idle",
    "keepalives_interval",
    "krbsrvname",
    "load_balance_hosts",
    "parsetime",
    "pgbouncer",
    "pool_timeout",
    "sslcompression",
    "sslsni",
    "target_session_attrs",
    "tcp_user_timeout",
];

/// Words that a keyword string may begin with, besides those that are ignored.
const KEYWORDS: &[&str] = &[
    "channel_binding",
    "dbname",
    "host",
    "hostaddr",
    "options",
    "passfile",
    "password",
    "port",
    "service",
    "sslmode",
    "sslrootcert",
    "user",
];

const ENCODE: &str = "percent-encode it (`#` is %23, `/` %2F, `?` %3F, `@` %40), or use --password-file";

/// Whether a text is a keyword string of libpq, such as `host=/run/postgresql user=me dbname=tpcc`.
pub fn is_keyword_string(text: &str) -> bool {
    let first = text.trim_start().split_once('=').map_or("", |(key, _)| key.trim_end());
    KEYWORDS.contains(&first) || IGNORED.contains(&first)
}

/// A URL or keyword string.
pub(super) fn server_url(text: &str) -> Result<ServerUrl, UrlError> {
    // Whatever is wrong, a password in it is not repeated.
    let wrong = |why: String| UrlError { url: redacted(text), why };
    if is_keyword_string(text) {
        return keyword_string(text).map_err(wrong);
    }
    let dialect = dialect_of(text).ok_or_else(|| UrlError {
        url: "the URL given".into(),
        why: "a server's URL starts with `postgres://` or `mysql://`".into(),
    })?;
    url(dialect, text).map_err(wrong)
}

fn url(dialect: Dialect, text: &str) -> Result<ServerUrl, String> {
    let example = format!("for example `{}://user@127.0.0.1/tpcc`", dialect.scheme());
    let (_, rest) = text.split_once("://").ok_or_else(|| format!("`//` is missing; {example}"))?;
    if rest.contains('#') {
        return Err(format!("a URL has no `#`; if it is part of the password, {ENCODE}"));
    }
    let (authority, rest) = rest.split_at(rest.find(['/', '?']).unwrap_or(rest.len()));
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if !authority.contains('@') && authority.contains(':') && rest.contains('@') {
        return Err(format!("if the password has a `/` or `?`, {ENCODE}; {example}"));
    }
    let (who, place) = authority.rsplit_once('@').unwrap_or(("", authority));
    let (user, password) = match who.split_once(':') {
        Some((user, password)) => (user, Some(Secret::new(decoded(password)?))),
        None => (who, None),
    };
    let mut parsed = Parsed::new(dialect, decoded(user)?, password);
    // The first node of a cluster last: it is the one that others begin with.
    let several = place.contains(',');
    for node in place.rsplit(',') {
        let (host, port) = host_and_port(node).ok_or_else(|| format!("the address is wrong; {example}"))?;
        let host = decoded(host)?;
        if several {
            parsed.another_node(&host)?;
        }
        parsed.set("host", &host)?;
        parsed.set("port", port)?;
    }
    parsed.url.database = decoded(path.trim_start_matches('/'))?;
    for pair in query.split('&').filter(|pair| !pair.is_empty()) {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        if several && matches!(key, "host" | "hostaddr" | "port") {
            return Err(format!(
                "{key} is for an address of one host; each host has its own: HOST:PORT,HOST:PORT"
            ));
        }
        parsed.set(&decoded(key)?, &decoded(value)?)?;
    }
    parsed.finished(&example)
}

/// `host`, `host:port`, `[::1]:port`, or nothing.
fn host_and_port(place: &str) -> Option<(&str, &str)> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, port) = rest.split_once(']')?;
        return match port {
            "" => Some((host, "")),
            port => Some((host, port.strip_prefix(':')?)),
        };
    }
    Some(place.rsplit_once(':').unwrap_or((place, "")))
}

fn decoded(text: &str) -> Result<String, String> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    decoded.map(|text| text.into_owned()).map_err(|_| "user, password and database are UTF-8".into())
}

/// `key = value` pairs between blanks; a value with blanks stands between single quotes, and `\` escapes.
fn keyword_string(text: &str) -> Result<ServerUrl, String> {
    let example = "for example `host=127.0.0.1 user=me dbname=tpcc`";
    let mut parsed = Parsed::new(Dialect::Postgres, String::new(), None);
    let mut rest = text.trim();
    while !rest.is_empty() {
        let (key, after) = rest.split_once('=').ok_or_else(|| format!("a value is missing; {example}"))?;
        let (value, after) = value(after.trim_start()).ok_or_else(|| "a quote is not closed".to_owned())?;
        parsed.set(key.trim_end(), &value)?;
        rest = after.trim_start();
    }
    parsed.finished(example)
}

/// The value at the beginning of a text, and what follows it.
fn value(text: &str) -> Option<(String, &str)> {
    let (quoted, text) = text.strip_prefix('\'').map_or((false, text), |text| (true, text));
    let (mut value, mut escaped) = (String::new(), false);
    for (at, char) in text.char_indices() {
        match char {
            _ if escaped => {
                value.push(char);
                escaped = false;
            }
            '\\' => escaped = true,
            '\'' if quoted => return Some((value, &text[at + 1..])),
            char if !quoted && char.is_whitespace() => return Some((value, &text[at..])),
            char => value.push(char),
        }
    }
    (!quoted).then_some((value, ""))
}

/// An address in the making.
struct Parsed {
    url: ServerUrl,
    tls_given: bool,
    /// Whether the URL names whose certificates are trusted.
    trust_given: bool,
}

impl Parsed {
    fn new(dialect: Dialect, user: String, password: Option<Secret>) -> Parsed {
        let url = ServerUrl {
            dialect,
            host: String::new(),
            port: port_of(dialect),
            others: Vec::new(),
            writers: None,
            socket: None,
            user,
            password,
            database: String::new(),
            tls: Tls::default(),
            authority: None,
            channel_binding: false,
            options: None,
            isolation: Isolation::default_of(dialect),
            statement_timeout_ms: 0,
        };
        Parsed { url, tls_given: false, trust_given: false }
    }

    /// Sets what a parameter says. An empty value says nothing, as in libpq.
    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        let is_postgres = self.url.dialect == Dialect::Postgres;
        let url = &mut self.url;
        match (key, value) {
            (_, "") => {}
            ("sslmode" | "ssl-mode" | "ssl_mode" | "tls" | "ssl" | "useSSL", value) => {
                self.tls_given = true;
                url.tls = tls(key, value)?;
            }
            ("sslrootcert" | "ssl-ca" | "ssl_ca", value) => {
                self.trust_given = true;
                // libpq's word for the authorities of the system, which are trusted in any case.
                url.authority =
                    Some(value).filter(|file| !is_postgres || *file != "system").map(PathBuf::from);
            }
            ("sslcert" | "sslkey" | "ssl-cert" | "ssl-key" | "ssl_cert" | "ssl_key", _) => {
                return Err(format!("{key}: client certificates are not supported; use a password"));
            }
            ("channel_binding", value) if is_postgres => match value {
                "require" => url.channel_binding = true,
                "prefer" | "disable" => url.channel_binding = false,
                _ => {
                    return Err(format!("channel_binding is one of disable, prefer, require, not `{value}`"));
                }
            },
            ("options", value) if is_postgres => url.options = Some(value.into()),
            ("isolation", value) => {
                url.isolation = Isolation::named(value).ok_or_else(|| {
                    format!(
                        "isolation is one of read-committed, repeatable-read, serializable, not `{value}`"
                    )
                })?;
            }
            ("statement_timeout_ms", value) => {
                url.statement_timeout_ms = value.parse().map_err(|_| {
                    format!("statement_timeout_ms is a whole number of milliseconds, not `{value}`")
                })?;
            }
            ("host" | "hostaddr", value) if value.contains(',') => {
                return Err("several hosts are taken in a URL: postgres://USER@HOST,HOST/DATABASE".into());
            }
            ("host" | "hostaddr", value) if value.starts_with('/') => url.socket = Some(value.into()),
            ("host" | "hostaddr", value) => {
                (url.host, url.socket) = (value.trim_matches(['[', ']']).to_owned(), None);
            }
            ("socket" | "unix_socket", value) if is_postgres => {
                let (folder, port) = postgres_socket(Path::new(value));
                (url.socket, url.port) = (Some(folder), port.unwrap_or(url.port));
            }
            ("socket" | "unix_socket", value) => {
                // A path may have a comma in it.
                let mut sockets = value.split(",/");
                url.socket = sockets.next().map(PathBuf::from);
                let sockets = sockets.map(|rest| PathBuf::from(format!("/{rest}")));
                url.others.retain(|address| matches!(address, Address::Host(..)));
                url.others.extend(sockets.map(Address::Socket));
            }
            ("writers", value) => {
                // Below one it is out of range, which is told when all nodes are known.
                url.writers = Some(value.parse().unwrap_or(0));
            }
            ("user" | "username", value) => value.clone_into(&mut url.user),
            ("dbname" | "database", value) => value.clone_into(&mut url.database),
            ("password", value) => url.password = Some(Secret::new(value)),
            ("port", value) => {
                let port = value.parse().ok().filter(|port| *port > 0);
                url.port = port.ok_or_else(|| {
                    // What stands there may be the rest of a password.
                    format!("the port is 1 to 65535; if the password has a `:` or `@`, {ENCODE}")
                })?;
            }
            (key, _) if IGNORED.contains(&key.to_ascii_lowercase().as_str()) => {}
            (key, _) => {
                return Err(format!(
                    "no option `{key}`; there are sslmode, sslrootcert, {}isolation, statement_timeout_ms and, for a unix \
                     socket, {}",
                    if is_postgres { "channel_binding, options, " } else { "" },
                    if is_postgres { "host=/FOLDER" } else { "socket=/FILE" }
                ));
            }
        }
        Ok(())
    }

    /// Moves the node that was set last to the others, so that another is set.
    fn another_node(&mut self, host: &str) -> Result<(), String> {
        if host.is_empty() {
            return Err("a host is missing between the commas".into());
        }
        if host.starts_with('/') {
            return Err("sockets of several nodes are given as socket=/FILE,/FILE, for MariaDB".into());
        }
        let url = &mut self.url;
        if !url.host.is_empty() {
            url.others.insert(0, Address::Host(std::mem::take(&mut url.host), url.port));
            url.port = port_of(url.dialect);
        }
        Ok(())
    }

    fn finished(mut self, example: &str) -> Result<ServerUrl, String> {
        let url = &mut self.url;
        // The socket of MySQL is a file, and no folder of one.
        if url.host.is_empty() {
            url.host = "127.0.0.1".into();
        }
        if url.user.is_empty() {
            return Err(format!("the user is missing; {example}"));
        }
        if url.database.is_empty() {
            return Err(format!("the database is missing; {example}"));
        }
        let nodes = url.others.len() + 1;
        if url.writers.is_some_and(|writers| !(1..=nodes).contains(&writers)) {
            return Err(format!("writers is 1 to {nodes}, the number of nodes"));
        }
        let by_host = |address: &Address| matches!(address, Address::Host(..));
        if url.socket.is_some() && url.others.iter().any(by_host) {
            return Err("an address of several hosts has no socket".into());
        }
        let is_near = |host: &str| matches!(host, "localhost" | "127.0.0.1" | "::1");
        let near = url.socket.is_some()
            || (is_near(&url.host)
                && url
                    .others
                    .iter()
                    .all(|address| matches!(address, Address::Host(host, _) if is_near(host))));
        // Whoever names an authority expects certificates to be checked.
        if self.trust_given && !self.tls_given {
            url.tls = Tls::Verify;
        } else if self.trust_given && url.tls != Tls::Verify {
            return Err(format!(
                "sslrootcert has no effect with sslmode={}, which checks no certificate; use sslmode=verify-full",
                url.tls.name()
            ));
        }
        if near && !self.tls_given && !self.trust_given {
            url.tls = if url.channel_binding { Tls::Require } else { Tls::Off };
        }
        if url.channel_binding && matches!(url.tls, Tls::Off | Tls::Prefer) {
            return Err("channel_binding=require needs an encrypted connection: sslmode=require".into());
        }
        Ok(self.url)
    }
}

/// Modes by the names of libpq, of MySQL's clients, and of other drivers.
fn tls(key: &str, value: &str) -> Result<Tls, String> {
    let name = value.to_ascii_lowercase().replace('_', "-");
    Ok(match name.as_str() {
        "disabled" | "false" | "0" => Tls::Off,
        "preferred" | "allow" => Tls::Prefer,
        "required" | "skip-verify" => Tls::Require,
        "verify-ca" | "verify-identity" | "true" | "1" => Tls::Verify,
        name => Tls::ALL
            .into_iter()
            .find(|mode| mode.name() == name)
            .ok_or_else(|| format!("{key} is one of disable, prefer, require, verify-full, not `{value}`"))?,
    })
}

/// The folder of a socket of PostgreSQL, and the port that is part of its name: `/run/postgresql/.s.PGSQL.5432`.
fn postgres_socket(socket: &Path) -> (PathBuf, Option<u16>) {
    let name = socket.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    match (name.strip_prefix(".s.PGSQL."), socket.parent()) {
        (Some(port), Some(folder)) => (folder.to_owned(), port.parse().ok()),
        _ => (socket.to_owned(), None),
    }
}

/// A text without what stands between its user and its host, and without what follows the word `password`.
fn redacted(text: &str) -> String {
    let text = match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if scheme + 3 <= at => {
            let user = text[scheme + 3..at].split(':').next().unwrap_or_default();
            format!("{}{user}{}", &text[..scheme + 3], &text[at..])
        }
        // The end of the password may be anywhere.
        (Some(scheme), None) if text[scheme + 3..].contains([':', '#']) => {
            text[..scheme + 3].to_owned() + "…"
        }
        (None, _) if !is_keyword_string(text) => return "the URL given".into(),
        _ => text.to_owned(),
    };
    match text.find("password") {
        Some(at) => format!("{}password=***", &text[..at]),
        None => text,
    }
}
