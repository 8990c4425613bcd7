//! What every PostgreSQL adapter shares: what an SQLSTATE means for a call and for someone who connects, and the
//! durability that a server's settings promise.

use crate::{Isolation, ServerUrl, encryption};
use model::{Conflict, DefectKind, Doubt, Durability, EngineMessage, Fault, OpenError, Refusal, Tier};

/// Settings of a server that may change a figure, in the order of reports: what every adapter reads back.
pub const SETTINGS: [&str; 21] = [
    "shared_buffers",
    "max_connections",
    "max_prepared_transactions",
    "wal_level",
    "wal_sync_method",
    "wal_compression",
    "max_wal_size",
    "checkpoint_timeout",
    "commit_delay",
    "autovacuum",
    "jit",
    "effective_io_concurrency",
    "max_parallel_workers_per_gather",
    "plan_cache_mode",
    "work_mem",
    "huge_pages",
    "track_io_timing",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "synchronous_standby_names",
];

/// A setting of ours: how full loads make the pages of tables, in percent; the rest is free for changed rows. It becomes the storage
/// parameter `fillfactor` of all tables. PostgreSQL has no setting of that kind, and takes any name with a dot.
pub const FILLFACTOR: &str = "stackmark.fillfactor";

/// What a server calls itself, as SQL: its version, and the engine that only speaks PostgreSQL's protocol, or the extension, that it
/// is of ([`model::Product`]). The servers in other languages ask the same.
pub const VERSION: &str = "current_setting('server_version') \
     || coalesce(', ' || substring(version() from '^CockroachDB [^ ]* [^ ]*'), '') \
     || coalesce((select ', Citus ' || extversion from pg_extension where extname = 'citus'), '')";

/// The isolation of transactions that do not ask for one, as SQL, outside of any transaction: that which is in effect. CockroachDB may
/// raise what it is asked for, and YugabyteDB has a name of its own for what it then does. The servers in other languages ask the same.
pub const ISOLATION: &str = "coalesce(current_setting('yb_effective_transaction_isolation_level', true), current_setting('transaction_isolation'))";

/// The oldest server that we speak to, as `server_version_num`.
pub const VERSION_NUM_MIN: i64 = 130_000;

/// What an error of PostgreSQL means for a call. `sqlstate` has five characters; `at_commit` says whether the commit had
/// been sent, where the end of the connection leaves it open whether the commit was made.
///
/// An error that the server answers to a commit (and that does not end the connection) means that nothing was applied:
/// what fails after the commit record has been written is a panic, and ends the connection.
pub fn fault(sqlstate: &str, at_commit: bool, message: &str) -> Fault {
    let defect = |kind| Fault::defect(kind, format!("PostgreSQL {sqlstate}: {message}"));
    match sqlstate {
        // Serialization failure, and the rarer "transaction rolled back".
        "40001" | "40000" => Fault::Conflict(Conflict::Serialization),
        "40P01" => Fault::Conflict(Conflict::Deadlock),
        // Lock not available; and a query that was cancelled, by the statement timeout among others: this attempt was
        // undone, and repeating it is safe, though it may well time out again. The retry policy bounds that.
        "55P03" | "57014" => Fault::Conflict(Conflict::Busy),
        // A server in recovery or set to read-only.
        "25006" => Fault::Refused(Refusal::Unwritable(EngineMessage::of(message))),
        // Too many connections; starting up or shutting down: no one was let in.
        "53300" | "57P03" => Fault::Refused(Refusal::Unreachable),
        // The server ended a session that was idle outside of any transaction (`idle_session_timeout`): what it was sent at that moment
        // was not read, so nothing of it was done, whatever it was.
        "57P05" => Fault::Refused(Refusal::Unreachable),
        // The server ended the session: shutdown, crash of another process, database dropped, idle in a transaction.
        "57P01" | "57P02" | "57P04" | "25P03" | "40003" => lost(at_commit),
        "XX001" | "XX002" => defect(DefectKind::BadData),
        _ => match &sqlstate[..sqlstate.floor_char_boundary(2)] {
            // Connection exceptions.
            "08" => lost(at_commit),
            // Disk full, out of memory, a limit of the configuration.
            "53" => Fault::Refused(Refusal::Unwritable(EngineMessage::of(message))),
            // Errors of the system, input and output above all.
            "58" if at_commit => Fault::InDoubt(Doubt::CommitUnanswered),
            "58" => Fault::Refused(Refusal::Unwritable(EngineMessage::of(message))),
            _ => defect(DefectKind::Engine),
        },
    }
}

/// The fault of a connection that is gone. Before the commit was sent nothing was applied, but the session is of no use
/// any more.
pub const fn lost(at_commit: bool) -> Fault {
    Fault::InDoubt(if at_commit { Doubt::CommitUnanswered } else { Doubt::ConnectionLost })
}

/// What an error means for someone who connects: what is wrong, and what would be right.
pub fn open_error(url: &ServerUrl, sqlstate: &str, message: &str) -> OpenError {
    let what = url.place();
    let (user, database) = (&url.user, &url.database);
    let unusable = |why: String| OpenError::Unusable { what: what.clone(), why };
    let unreachable = |why: String| OpenError::Unreachable { what: what.clone(), why };
    match sqlstate {
        // Protocol violation: what a pooler answers to settings that it knows nothing of.
        "08P01" if message.contains("startup parameter") => url.pooled(),
        "28P01" => unusable(format!("the password for user `{user}` is not right")),
        // ERRCODE_INVALID_AUTHORIZATION_SPECIFICATION: no line of pg_hba.conf fits. It says whether the connection was encrypted.
        "28000" => unusable(format!("{message} (SQLSTATE 28000){}", encryption::demanded(url))),
        "3D000" => unusable(format!("there is no database `{database}`; {}", creation(url))),
        "53300" => unreachable(format!(
            "the server has no free session ({message}); raise its max_connections, or use fewer clients"
        )),
        "57P03" => unreachable(format!("the server does not take connections now: {message}")),
        _ => match &sqlstate[..sqlstate.floor_char_boundary(2)] {
            "08" | "53" | "57" | "58" => unreachable(format!("{message} (SQLSTATE {sqlstate})")),
            _ => unusable(format!("{message} (SQLSTATE {sqlstate})")),
        },
    }
}

/// How a missing database is made.
fn creation(url: &ServerUrl) -> String {
    let host = url.socket.as_ref().map_or(url.host.clone(), |folder| folder.display().to_string());
    let ServerUrl { port, user, database, .. } = url;
    format!("create it with `createdb -h {host} -p {port} -U {user} {database}`")
}

/// Refuses a server that is too old, by its `server_version_num` and how it calls itself.
///
/// # Errors
/// [`OpenError::Unusable`] below [`VERSION_NUM_MIN`].
pub fn supported(url: &ServerUrl, version_num: i64, version: &str) -> Result<(), OpenError> {
    if version_num >= VERSION_NUM_MIN {
        return Ok(());
    }
    let oldest = VERSION_NUM_MIN / 10_000;
    Err(OpenError::Unusable {
        what: url.place(),
        why: format!("it is PostgreSQL {version}, and {oldest} is the oldest that is supported"),
    })
}

/// Refuses a session in which what its URL asks for is not in effect. `isolation` is what [`ISOLATION`] gives, `timeout_ms` the
/// server's `statement_timeout`.
///
/// # Errors
/// [`OpenError::Unusable`] where isolation, time zone or the limit of statements differ.
pub fn in_effect(url: &ServerUrl, isolation: &str, zone: &str, timeout_ms: u32) -> Result<(), OpenError> {
    let level = Isolation::named(isolation);
    let is_limited = url.statement_timeout_ms == 0 || timeout_ms == url.statement_timeout_ms;
    if level == Some(url.isolation) && zone == "UTC" && is_limited {
        return Ok(());
    }
    let hint = match level {
        // What a pooler takes away it takes away as a whole.
        Some(level) if level != url.isolation && zone == "UTC" && is_limited => format!(
            "let the server provide the isolation, or ask for what it uses: `isolation={}` in the address",
            level.name()
        ),
        _ => "use the address of PostgreSQL itself, not that of a pooler".to_owned(),
    };
    let why = format!(
        "requested isolation {}, time zone UTC and statement_timeout {} ms, server uses {isolation}, {zone} and {timeout_ms} ms\nhint: {hint}",
        url.isolation.name(),
        url.statement_timeout_ms,
    );
    Err(OpenError::Unusable { what: url.place(), why })
}

/// Refuses a server that takes no writes.
///
/// # Errors
/// [`OpenError::Unusable`] on a replica. Our sessions make their transactions `read write` whatever the defaults are.
pub fn writable(url: &ServerUrl, in_recovery: bool) -> Result<(), OpenError> {
    if !in_recovery {
        return Ok(());
    }
    let why = "it is a read-only replica (in recovery); give the URL of the primary";
    Err(OpenError::Unusable { what: url.place(), why: why.into() })
}

/// What an acknowledged commit survives under these settings, each as `current_setting` gives it.
///
/// Sources: PostgreSQL's chapters "Asynchronous Commit" and "Write Ahead Log". `full_page_writes = off` loses no commit by
/// itself, but a power failure in the middle of a page write may leave a page that no log repairs.
pub fn durability(
    fsync: &str,
    synchronous_commit: &str,
    full_page_writes: &str,
    wal_sync_method: &str,
) -> Durability {
    let (tier, note) = match (fsync, synchronous_commit, full_page_writes) {
        ("off", _, _) => (Tier::Volatile, "nothing is flushed; a power failure may corrupt the database"),
        (_, _, "off") => (Tier::Volatile, "a power failure may leave a torn page that the log cannot repair"),
        (_, "off", _) => {
            (Tier::Delayed, "the log is flushed a moment later; a crash loses the last commits, and no more")
        }
        (_, "on" | "local" | "remote_write" | "remote_apply", "on") => {
            (Tier::Durable, "every commit is flushed before it is acknowledged")
        }
        _ => (Tier::Volatile, "settings that this version does not know"),
    };
    Durability {
        tier,
        detail: format!(
            "fsync={fsync}, synchronous_commit={synchronous_commit}, full_page_writes={full_page_writes}, \
             wal_sync_method={wal_sync_method}: {note}"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sqlstate_has_its_reaction() {
        let kind = |sqlstate, at_commit| match fault(sqlstate, at_commit, "") {
            Fault::Conflict(Conflict::Busy) => "busy",
            Fault::Conflict(Conflict::Deadlock) => "deadlock",
            Fault::Conflict(Conflict::Serialization) => "serialization",
            Fault::Refused(Refusal::Unwritable(_)) => "unwritable",
            Fault::Refused(_) => "unreachable",
            Fault::InDoubt(Doubt::CommitUnanswered) => "unanswered",
            Fault::InDoubt(_) => "lost",
            Fault::Defect(defect) if defect.kind == DefectKind::BadData => "bad data",
            Fault::Defect(_) => "defect",
        };
        let table = [
            ("40001", false, "serialization"),
            ("40001", true, "serialization"),
            ("40P01", false, "deadlock"),
            ("40P01", true, "deadlock"),
            ("55P03", false, "busy"),
            ("57014", false, "busy"), // statement timeout
            ("57014", true, "busy"),
            ("25006", false, "unwritable"),
            ("53100", false, "unwritable"), // disk full
            ("53200", true, "unwritable"),  // out of memory
            ("53300", false, "unreachable"),
            ("57P03", false, "unreachable"),
            ("57P01", false, "lost"), // pg_terminate_backend, shutdown
            ("57P01", true, "unanswered"),
            ("57P02", true, "unanswered"),
            ("57P05", false, "unreachable"), // idle too long
            ("57P05", true, "unreachable"),
            ("25P03", false, "lost"), // idle in transaction too long
            ("08006", false, "lost"),
            ("08006", true, "unanswered"),
            ("58030", false, "unwritable"),
            ("58030", true, "unanswered"),
            ("XX001", false, "bad data"),
            ("XX000", false, "defect"),
            ("25P02", false, "defect"), // an error before was not heeded
            ("23505", false, "defect"), // a duplicate order number
            ("42P01", false, "defect"),
            ("", false, "defect"),
        ];
        for (sqlstate, at_commit, expected) in table {
            assert_eq!(kind(sqlstate, at_commit), expected, "{sqlstate}, at commit {at_commit}");
        }
    }

    #[test]
    fn who_cannot_connect_is_told_what_would_be_right() {
        let url: ServerUrl = "postgres://u:secret@h:5433/tpcc".parse().unwrap();
        for (sqlstate, again_later, expected) in [
            ("28P01", false, "the password for user `u` is not right"),
            ("3D000", false, "no database `tpcc`; create it with `createdb -h h -p 5433 -U u tpcc`"),
            ("53300", true, "the server has no free session (said); raise its max_connections"),
            ("57P03", true, "does not take connections now: said"),
            ("57P01", true, "said (SQLSTATE 57P01)"),
            ("28000", false, "said (SQLSTATE 28000)"),
        ] {
            let error = open_error(&url, sqlstate, "said");
            assert_eq!(matches!(error, OpenError::Unreachable { .. }), again_later, "{sqlstate}");
            let text = error.to_string();
            assert!(text.contains(expected) && !text.contains("secret"), "{text}");
        }
    }

    #[test]
    fn old_servers_and_replicas_are_refused() {
        let url: ServerUrl = "postgres://u@h/tpcc".parse().unwrap();
        assert_eq!(supported(&url, 130_000, "13.0"), Ok(()));
        let error = supported(&url, 120_022, "12.22").unwrap_err().to_string();
        assert_eq!(
            error,
            "could not use h:5432: it is PostgreSQL 12.22, and 13 is the oldest that is supported"
        );
        assert_eq!(writable(&url, false), Ok(()));
        assert!(writable(&url, true).unwrap_err().to_string().contains("replica"));
    }

    #[test]
    fn only_a_flushed_commit_is_durable() {
        let tier = |fsync, commit, pages| durability(fsync, commit, pages, "fdatasync").tier;
        assert_eq!(tier("on", "on", "on"), Tier::Durable);
        assert_eq!(tier("on", "local", "on"), Tier::Durable);
        assert_eq!(tier("on", "off", "on"), Tier::Delayed);
        assert_eq!(tier("off", "on", "on"), Tier::Volatile);
        assert_eq!(tier("on", "on", "off"), Tier::Volatile);
        assert_eq!(tier("on", "later", "on"), Tier::Volatile);
    }
}
