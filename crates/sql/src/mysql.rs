//! What every MySQL adapter shares: what an error number means, and what an acknowledged commit survives.

use crate::{ServerUrl, encryption};
use model::{Conflict, DefectKind, Doubt, Durability, EngineMessage, Fault, OpenError, Refusal, Tier};

/// The setting of a private MariaDB that makes it a Galera cluster of so many nodes, all of which have all data.
pub const GALERA: &str = "stackmark.galera";
/// The setting that says how many nodes of a cluster get calls; the others only apply what those commit.
pub const WRITERS: &str = "stackmark.writers";
/// The setting of a private MariaDB that gives it so many data nodes, over which Spider spreads the rows of its tables.
pub const SPIDER: &str = "stackmark.spider";
/// Nodes that a private cluster has at most.
pub const NODES_MAX: usize = 7;

/// The settings that decide what an acknowledged commit survives, as the server reads them back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MySqlFlushing {
    /// `innodb_flush_log_at_trx_commit`: 0 to 3.
    pub flush_log_at_trx_commit: u32,
    /// `innodb_flush_log_at_timeout`, in seconds: how late the log is flushed where commits do not flush it.
    pub flush_log_at_timeout: u32,
    /// `log_bin`: whether there is a binary log. Recovery then follows it, and not InnoDB's log alone.
    pub log_bin: bool,
    /// `sync_binlog`: commits between two flushes of the binary log; 0 leaves it to the system.
    pub sync_binlog: u32,
    /// `innodb_doublewrite`, by the server's own word for it.
    pub doublewrite: String,
    /// `innodb_flush_method`, by the server's own word for it.
    pub flush_method: String,
    /// `wsrep_cluster_size`: nodes of the Galera cluster that it is one of; 0 where it is of none.
    pub nodes: u32,
    /// Data nodes that Spider has spread tables over; 0 where it has not.
    pub data_nodes: u32,
    /// `spider_internal_xa`: whether a transaction on several data nodes is committed in two phases.
    pub internal_xa: bool,
}

/// What an acknowledged commit survives under these settings.
///
/// Sources: MariaDB's documentation of the system variables, and of group commit with the binary log: there a commit
/// flushes InnoDB's log when it is prepared and not again, and recovery commits what it finds in the binary log. A
/// binary log that is not flushed can therefore lose an acknowledged commit, whatever InnoDB does.
pub fn durability(flushing: &MySqlFlushing) -> Durability {
    let MySqlFlushing {
        flush_log_at_trx_commit: at_commit, flush_log_at_timeout, log_bin, sync_binlog, ..
    } = *flushing;
    let doublewrite = flushing.doublewrite.to_ascii_uppercase();
    let method = flushing.flush_method.to_ascii_uppercase();
    let (tier, note) = if matches!(method.as_str(), "NOSYNC" | "LITTLESYNC") {
        (Tier::Volatile, "files are not flushed; a power failure may corrupt the database".to_owned())
    } else if matches!(doublewrite.as_str(), "OFF" | "0" | "FALSE") {
        (
            Tier::Volatile,
            "there is no doublewrite buffer; a power failure may tear a page beyond repair, unless the disk writes \
             pages as a whole"
                .to_owned(),
        )
    } else {
        match at_commit {
            1 | 3 if log_bin && sync_binlog != 1 => (
                Tier::Delayed,
                "the binary log, which recovery follows, is not flushed at each commit; a power failure loses the \
                 last ones"
                    .to_owned(),
            ),
            1 | 3 => (Tier::Durable, "every commit is flushed before it is acknowledged".to_owned()),
            2 => (
                Tier::Delayed,
                format!(
                    "the log is written at each commit and flushed every {flush_log_at_timeout} s; a power failure \
                     loses what came between"
                ),
            ),
            0 => (
                Tier::Delayed,
                format!(
                    "the log is written and flushed every {flush_log_at_timeout} s; a crash of the server process loses what came between"
                ),
            ),
            _ => (Tier::Volatile, "a value that this version does not know".to_owned()),
        }
    };
    // Galera's documentation: a transaction is certified in the same order on all nodes, and applied on the others later.
    let others = match flushing.nodes {
        0 | 1 => String::new(),
        nodes => format!(
            "; a Galera cluster of {nodes}: the other nodes have received it then, and may not have flushed or applied it"
        ),
    };
    // Spider's documentation of `spider_internal_xa`; that readers may see it in part was measured here.
    let spread = match (flushing.data_nodes, flushing.internal_xa) {
        (0, _) => String::new(),
        (nodes, true) => format!(
            "; {nodes} data nodes of Spider, which flush in the same way: a transaction on several of them is committed in two \
             phases, and others may see it on one before it is on the next"
        ),
        (nodes, false) => format!(
            "; {nodes} data nodes of Spider, which flush in the same way: a transaction on several of them may be committed on \
             some of them only (spider_internal_xa=off)"
        ),
    };
    let binary_log = if log_bin { format!("sync_binlog={sync_binlog}") } else { "log_bin=off".to_owned() };
    Durability {
        tier,
        detail: format!(
            "innodb_flush_log_at_trx_commit={at_commit}, {binary_log}, innodb_doublewrite={doublewrite}, \
             innodb_flush_method={method}: {note}{others}{spread}"
        ),
    }
}

/// Whether a server's `version()` is MariaDB's and not MySQL's.
pub fn is_mariadb(version: &str) -> bool {
    version.to_ascii_lowercase().contains("mariadb")
}

/// Why our statements do not fit a server, by its `version()`; nothing of MariaDB 10.6 and of MySQL 8.0, or newer.
pub fn unsupported(version: &str) -> Option<String> {
    let (name, least) = if is_mariadb(version) { ("MariaDB", (10, 6)) } else { ("MySQL", (8, 0)) };
    let mut numbers = version.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let found = (numbers.next()?, numbers.next().unwrap_or(0));
    let (major, minor) = least;
    (found < least).then(|| format!("it is {name} {version}; {name} {major}.{minor} or newer is needed"))
}

/// What an error of the server means for a call, by its number. `at_commit` says whether the engine may have been
/// committing: what cuts a commit short there leaves open whether it will be seen.
///
/// A lock wait that timed out undoes its statement alone; the caller rolls the transaction back, as after any fault.
pub fn fault(code: u16, at_commit: bool, message: &str) -> Fault {
    match code {
        // ER_LOCK_DEADLOCK: the engine has rolled the transaction back. XA_RBDEADLOCK is the same in a distributed one.
        1213 | 1614 => Fault::Conflict(Conflict::Deadlock),
        // TiDB: the lock of a `select … for update` was lost, the commit was rolled back and can be repeated, the schema has changed, a write
        // conflict; each has rolled the transaction back (its list of error codes).
        8002 | 8005 | 8022 | 8028 | 9007 => Fault::Conflict(Conflict::Serialization),
        // TiDB: a timeout of the placement driver or of the storage, or no leader of a region.
        9001 | 9002 | 9005 if at_commit => Fault::InDoubt(Doubt::CommitUnanswered),
        9001 | 9002 | 9005 => Fault::Conflict(Conflict::Busy),
        // Vitess: a shard's server has ended the transaction, or cannot be reached now (ER_UNKNOWN_ERROR, with the status of the call to it).
        1105 if message.contains("code = Aborted") || message.contains("code = Unavailable") => {
            match at_commit {
                true => Fault::InDoubt(Doubt::CommitUnanswered),
                false => Fault::Conflict(Conflict::Busy),
            }
        }
        // ER_UNKNOWN_COM_ERROR of Galera: the node is cut off from its cluster, or has not got all data yet, and executes nothing.
        1047 if message.contains("WSREP") => Fault::Refused(Refusal::NoSession),
        // Spider: a data node is gone or cannot be reached (ER_SPIDER_REMOTE_SERVER_GONE_AWAY, ER_CONNECT_TO_FOREIGN_DATA_SOURCE).
        12701 | 1429 if at_commit => Fault::InDoubt(Doubt::CommitUnanswered),
        12701 | 1429 => Fault::Refused(Refusal::NoSession),
        // ER_CHECKREAD: the row has changed since the snapshot (innodb_snapshot_isolation).
        1020 => Fault::Conflict(Conflict::Serialization),
        // ER_LOCK_WAIT_TIMEOUT, ER_LOCK_NOWAIT, ER_LOCK_TABLE_FULL.
        1205 | 3572 | 1206 => Fault::Conflict(Conflict::Busy),
        // ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED.
        1040 | 1203 | 1226 => Fault::Refused(Refusal::NoSession),
        // The server ended the statement or the connection: ER_ERROR_DURING_COMMIT, ER_QUERY_INTERRUPTED,
        // ER_STATEMENT_TIMEOUT (MariaDB), ER_QUERY_TIMEOUT (MySQL), ER_SERVER_SHUTDOWN, ER_CONNECTION_KILLED.
        1180 | 1317 | 1969 | 3024 | 1053 | 1927 if at_commit => Fault::InDoubt(Doubt::CommitUnanswered),
        1317 | 1969 | 3024 => Fault::Conflict(Conflict::Busy),
        // The connection is gone, or goes: CR_SERVER_GONE_ERROR, CR_SERVER_LOST, ER_NEW_ABORTING_CONNECTION and the
        // network errors of the server's own side; ER_CLIENT_INTERACTION_TIMEOUT.
        2006 | 2013 | 1152 | 1158..=1161 | 1184 | 4031 | 1053 | 1927 => {
            Fault::InDoubt(if at_commit { Doubt::CommitUnanswered } else { Doubt::ConnectionLost })
        }
        // Read-only: ER_OPTION_PREVENTS_STATEMENT, ER_CANT_EXECUTE_IN_READ_ONLY_TRANSACTION, ER_OPEN_AS_READONLY,
        // ER_READ_ONLY_MODE, ER_INNODB_READ_ONLY. Full: ER_DISK_FULL, ER_RECORD_FILE_FULL, ER_TEMP_FILE_WRITE_FAILURE.
        1290 | 1792 | 1036 | 1836 | 1874 | 1021 | 1114 | 1878 => {
            Fault::Refused(Refusal::Unwritable(EngineMessage::of(message)))
        }
        // ER_ERROR_ON_WRITE, ER_GET_ERRNO, ER_CANT_CREATE_FILE: they name the system's error, 28 of a full disk.
        1004 | 1026 | 1030 if message.contains("No space left") || message.contains("error 28") => {
            Fault::Refused(Refusal::Unwritable(EngineMessage::of(message)))
        }
        // ER_NOT_KEYFILE, ER_CRASHED_ON_USAGE, ER_TABLE_CORRUPT; and ER_SIGNAL_EXCEPTION, by which a procedure of ours
        // says that a row is not there: the stored data is broken.
        1034 | 1194 | 1877 | 1644 => Fault::defect(DefectKind::BadData, format!("MySQL {code}: {message}")),
        _ => Fault::defect(DefectKind::Engine, format!("MySQL {code}: {message}")),
    }
}

/// What an error number means for a client that connects: what is wrong, and what would be right.
pub fn open_error(url: &ServerUrl, number: u16, message: &str) -> OpenError {
    let ServerUrl { user, database, .. } = url;
    let unusable = |why: String| OpenError::Unusable { what: url.place(), why };
    match number {
        // ER_ACCESS_DENIED_ERROR, ER_ACCESS_DENIED_NO_PASSWORD_ERROR.
        1045 | 1698 => {
            let wanted = if url.password.is_some() { "the password given" } else { "no password" };
            let demanded = encryption::demanded(url);
            unusable(format!("it refuses user `{user}` with {wanted}: {message}{demanded}"))
        }
        // ER_BAD_DB_ERROR, ER_DBACCESS_DENIED_ERROR.
        1049 => unusable(format!("it has no database `{database}`")),
        1044 => unusable(format!("user `{user}` may not use database `{database}`: {message}")),
        // ER_CON_COUNT_ERROR, ER_TOO_MANY_USER_CONNECTIONS, ER_USER_LIMIT_REACHED.
        1040 | 1203 | 1226 => OpenError::Unreachable {
            what: url.place(),
            why: format!("all of its max_connections are in use: {message}"),
        },
        // ER_SERVER_SHUTDOWN and what it says while it goes; a node of Galera that is cut off, has not got all data yet, or has
        // not noticed that it is cut off and waits for what the others commit (`wsrep_sync_wait`).
        1053 | 1927 | 1047 | 1205 => OpenError::Unreachable { what: url.place(), why: message.to_owned() },
        // ER_SECURE_TRANSPORT_REQUIRED.
        3159 => unusable(format!("{message}{}", encryption::demanded(url))),
        number => unusable(format!("error {number}: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_new_enough_will_do() {
        for (version, will_do) in [
            ("10.11.19-MariaDB-0+deb12u1", true),
            ("10.6.0-MariaDB", true),
            ("11.4.2-MariaDB", true),
            ("10.5.29-MariaDB", false),
            ("5.5.68-MariaDB", false),
            ("8.0.15", true),
            ("8.4.0", true),
            ("9.1.0-commercial", true),
            ("5.7.44-log", false),
        ] {
            assert_eq!(unsupported(version).is_none(), will_do, "{version}");
        }
        assert_eq!(
            unsupported("5.7.44-log").as_deref(),
            Some("it is MySQL 5.7.44-log; MySQL 8.0 or newer is needed")
        );
    }

    #[test]
    fn every_number_has_its_reaction() {
        let kind = |code, at_commit, message: &str| match fault(code, at_commit, message) {
            Fault::Conflict(Conflict::Deadlock) => "deadlock",
            Fault::Conflict(Conflict::Serialization) => "serialization",
            Fault::Conflict(Conflict::Busy) => "busy",
            Fault::Refused(Refusal::Unwritable(_)) => "unwritable",
            Fault::Refused(_) => "no session",
            Fault::InDoubt(Doubt::CommitUnanswered) => "commit unanswered",
            Fault::InDoubt(_) => "lost",
            Fault::Defect(defect) if defect.kind == DefectKind::BadData => "bad data",
            Fault::Defect(_) => "defect",
        };
        let table = [
            (1213, false, "deadlock"),
            // Galera certifies at commit, and says no before anything is applied.
            (1213, true, "deadlock"),
            (1205, false, "busy"),
            (3572, false, "busy"),
            (1020, false, "serialization"),
            (1969, false, "busy"),
            (3024, false, "busy"),
            (1317, false, "busy"),
            (1969, true, "commit unanswered"),
            (1317, true, "commit unanswered"),
            (1180, true, "commit unanswered"),
            (1180, false, "defect"),
            (1927, false, "lost"),
            (1053, false, "lost"),
            (2006, false, "lost"),
            (2013, false, "lost"),
            (2013, true, "commit unanswered"),
            (1927, true, "commit unanswered"),
            (9007, true, "serialization"),
            (8002, false, "serialization"),
            (8005, true, "serialization"),
            (8022, true, "serialization"),
            (8028, true, "serialization"),
            (9005, false, "busy"),
            (9005, true, "commit unanswered"),
            (1040, false, "no session"),
            (1203, false, "no session"),
            (1290, false, "unwritable"),
            (1290, true, "unwritable"),
            (1792, false, "unwritable"),
            (1836, false, "unwritable"),
            (1021, false, "unwritable"),
            (1114, false, "unwritable"),
            (1062, false, "defect"), // a duplicate order id
            (1064, false, "defect"),
            (1194, false, "bad data"),
            (1644, false, "bad data"),
        ];
        for (code, at_commit, expected) in table {
            assert_eq!(kind(code, at_commit, ""), expected, "error {code}, at commit {at_commit}");
        }
        assert_eq!(kind(1030, false, "Got error 28 \"No space left on device\""), "unwritable");
        assert_eq!(kind(1030, false, "Got error 5"), "defect");
        let cut_off = "WSREP has not yet prepared node for application use";
        assert_eq!([kind(1047, false, cut_off), kind(1047, true, cut_off)], ["no session"; 2]);
        assert_eq!(kind(1047, false, "Unknown command"), "defect");
        let ended = "target: bench.-80.primary: vttablet: rpc error: code = Aborted desc = transaction 1: ended (exceeded timeout: 20s)";
        assert_eq!([kind(1105, false, ended), kind(1105, true, ended)], ["busy", "commit unanswered"]);
        assert_eq!(kind(1105, false, "Unknown error"), "defect");
    }

    #[test]
    fn only_what_is_flushed_at_each_commit_is_durable() {
        let base = MySqlFlushing {
            flush_log_at_trx_commit: 1,
            flush_log_at_timeout: 1,
            log_bin: false,
            sync_binlog: 0,
            doublewrite: "ON".into(),
            flush_method: "O_DIRECT".into(),
            nodes: 0,
            data_nodes: 0,
            internal_xa: false,
        };
        let logged = MySqlFlushing { log_bin: true, ..base.clone() };
        let table = [
            (base.clone(), Tier::Durable),
            (MySqlFlushing { flush_log_at_trx_commit: 3, ..base.clone() }, Tier::Durable),
            (MySqlFlushing { flush_log_at_trx_commit: 2, ..base.clone() }, Tier::Delayed),
            (MySqlFlushing { flush_log_at_trx_commit: 0, ..base.clone() }, Tier::Delayed),
            (MySqlFlushing { flush_log_at_trx_commit: 9, ..base.clone() }, Tier::Volatile),
            (logged.clone(), Tier::Delayed),
            (MySqlFlushing { sync_binlog: 1, ..logged.clone() }, Tier::Durable),
            (MySqlFlushing { sync_binlog: 100, ..logged }, Tier::Delayed),
            (MySqlFlushing { doublewrite: "OFF".into(), ..base.clone() }, Tier::Volatile),
            (MySqlFlushing { flush_method: "nosync".into(), ..base.clone() }, Tier::Volatile),
            (MySqlFlushing { flush_method: "fsync".into(), ..base.clone() }, Tier::Durable),
        ];
        let spread = durability(&MySqlFlushing { data_nodes: 2, internal_xa: true, ..base.clone() });
        assert!(
            spread.tier == Tier::Durable && spread.detail.contains("2 data nodes of Spider"),
            "{spread:?}"
        );
        let clustered = durability(&MySqlFlushing { nodes: 3, ..base.clone() });
        assert_eq!(clustered.tier, Tier::Durable);
        assert!(clustered.detail.contains("a Galera cluster of 3: the other nodes"), "{}", clustered.detail);
        for (flushing, tier) in table {
            let found = durability(&flushing);
            assert_eq!(found.tier, tier, "{}", found.detail);
        }
    }

    #[test]
    fn a_node_that_is_cut_off_is_out_of_reach_and_may_be_back_later() {
        let url: ServerUrl = "mysql://b@h/d".parse().unwrap();
        for number in [1047, 1205] {
            let error = open_error(&url, number, "WSREP has not yet prepared node for application use");
            assert!(matches!(error, OpenError::Unreachable { .. }), "{number}: {error}");
        }
        assert!(matches!(open_error(&url, 1049, "Unknown database"), OpenError::Unusable { .. }));
    }
}
