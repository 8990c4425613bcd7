//! Limits that a run would meet, found before anything is started: open files and ports of this machine, sessions of a server.

use crate::subjects::{Route, Subject};
use anyhow::{Result, bail};
use rustix::process::{Resource, getrlimit};
use sql::{DbUrl, ServerUrl};
use std::fs;
use targets::Style;

/// Sessions on an engine besides those of the calls: loads, audits and what is read while a trial runs.
pub(crate) const SESSIONS_OF_OURS: u32 = 50;
/// Sessions of ours that are open together with those of the calls.
const SESSIONS_MEANWHILE: u64 = 6;
/// Open files of ours that are not those of clients.
const FILES_OF_OURS: u64 = 128;
/// Open files of a session of SQLite: the database, its log and its shared memory.
const FILES_OF_SQLITE: u64 = 3;

impl Subject {
    /// Sessions that its calls have on each engine, of so many clients and with a server's pool of so many.
    pub fn sessions(&self, clients: u32, pool: u32) -> u32 {
        let calls = match self.route() {
            Route::Direct => clients,
            Route::Http => pool,
        };
        // A decision that is written by itself has a session of its own.
        if self.how.style == Style::TwoPhaseLog { calls.saturating_mul(2) } else { calls }
    }

    /// Refuses more clients than this machine lets us connect.
    ///
    /// # Errors
    /// Which limit it is, and what would be right.
    pub fn check_clients(&self, clients: u32) -> Result<()> {
        let is_file = self.route() == Route::Direct && self.how.dialect == sql::Dialect::Sqlite;
        let each = if is_file { FILES_OF_SQLITE } else { 1 };
        check_files(u64::from(clients) * each, &format!("{clients} clients need"), "use fewer clients")?;
        if let Some(ports) = ports().filter(|ports| !is_file && *ports < u64::from(clients)) {
            bail!(
                "{clients} clients need a port each, and this machine has {ports} for connections \
                 (net.ipv4.ip_local_port_range)\nhint: use fewer clients"
            );
        }
        Ok(())
    }
}

/// Ports that connections to one address can have; unknown where the system does not say.
fn ports() -> Option<u64> {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").ok()?;
    let mut ends = range.split_whitespace().map(str::parse::<u64>);
    match (ends.next(), ends.next()) {
        (Some(Ok(first)), Some(Ok(last))) => Some((last + 1).saturating_sub(first)),
        _ => None,
    }
}

/// Refuses more open files of SQLite or connections to a server than this process may have, for a pool of so many sessions.
pub fn check_pool(pool: u32, dialect: sql::Dialect) -> Result<()> {
    let each = if dialect == sql::Dialect::Sqlite { FILES_OF_SQLITE } else { 1 };
    check_files(u64::from(pool) * each, &format!("a pool of {pool} sessions needs"), "use a smaller --pool")
}

fn check_files(of_sessions: u64, who: &str, instead: &str) -> Result<()> {
    let files = of_sessions + FILES_OF_OURS;
    if let Some(limit) = getrlimit(Resource::Nofile).current.filter(|limit| *limit < files) {
        bail!(
            "{who} {files} open files, and this process may have {limit}\nhint: raise the limit (`ulimit -Hn {files}` as root), or {instead}"
        );
    }
    Ok(())
}

/// Refuses a pooler in place of a server of the user's, and more sessions than it has room for: `sessions` for each database.
///
/// # Errors
/// Which it is, and what would be right.
pub fn check_sessions(named: &[DbUrl], sessions: u32) -> Result<()> {
    if sessions == 0 {
        return Ok(());
    }
    for url in named {
        admin::store(url.clone()).ensure_direct()?;
    }
    let servers =
        || named.iter().filter_map(|url| if let DbUrl::Server(url) = url { Some(url) } else { None });
    for url in servers() {
        // Databases of one server share its sessions.
        let sharing = servers().filter(|other| other.place() == url.place()).count() as u64;
        let needed = u64::from(sessions) * sharing + SESSIONS_MEANWHILE;
        let Some(room) = room(url).filter(|room| room.free < needed) else { continue };
        bail!(
            "{} has room for {} more sessions ({}), and {needed} are needed\nhint: raise this limit, or use fewer clients \
             or a smaller --pool",
            url.place(),
            room.free,
            room.limit
        );
    }
    Ok(())
}

/// Sessions that a server would still open for us.
struct Room {
    free: u64,
    /// The limit that is nearest: `max_connections 100`.
    limit: String,
}

/// Unknown where the server does not say.
fn room(url: &ServerUrl) -> Option<Room> {
    let rows = admin::store(url.clone()).sessions().ok()?;
    // The session that asks is one of those that are open.
    let room = |(limit, most, open): &(String, i64, i64)| {
        let free = u64::try_from(most - open + 1).unwrap_or(0);
        Room { free, limit: format!("{limit} {most}") }
    };
    rows.iter().map(room).min_by_key(|room| room.free)
}
