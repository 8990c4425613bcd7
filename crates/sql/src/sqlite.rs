//! What every SQLite adapter shares: the database URL, the durability it promises, and what an error code means.

use crate::path;
use crate::storage::{self, Storage};
use model::{Conflict, DefectKind, Doubt, Durability, EngineMessage, Fault, Refusal, Tier};
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// `sqlite:FILE?journal=wal&synchronous=full&cache=32MiB`, with the durable defaults filled in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteUrl {
    /// The database file.
    pub path: PathBuf,
    pub journal: Journal,
    /// When SQLite flushes.
    pub synchronous: Synchronous,
    /// Page cache of a connection, in bytes.
    pub cache: u64,
    /// Bytes of the file that are read through a memory map; 0 for none.
    pub mmap: u64,
    /// Pages of the write-ahead log that trigger a checkpoint.
    pub checkpoint: u32,
    /// How long another process's lock is waited for, in milliseconds, before the attempt counts as a conflict.
    pub busy_ms: u32,
    /// What the storage under the file adds to the machine's own: connections whose calls are measured feel it; loads,
    /// copies and audits don't.
    pub storage: Storage,
}

/// Journal modes (`pragma journal_mode`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    Wal,
    Delete,
    Truncate,
    Persist,
    Memory,
    Off,
}

/// Synchronous levels (`pragma synchronous`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Synchronous {
    Off,
    Normal,
    Full,
    Extra,
}

impl Journal {
    const ALL: [Journal; 6] =
        [Journal::Wal, Journal::Delete, Journal::Truncate, Journal::Persist, Journal::Memory, Journal::Off];

    /// SQLite's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Journal::Wal => "wal",
            Journal::Delete => "delete",
            Journal::Truncate => "truncate",
            Journal::Persist => "persist",
            Journal::Memory => "memory",
            Journal::Off => "off",
        }
    }

    /// The mode of that name.
    pub fn named(name: &str) -> Option<Journal> {
        Journal::ALL.into_iter().find(|mode| mode.name() == name)
    }
}

impl Synchronous {
    const ALL: [Synchronous; 4] =
        [Synchronous::Off, Synchronous::Normal, Synchronous::Full, Synchronous::Extra];

    /// SQLite's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Synchronous::Off => "off",
            Synchronous::Normal => "normal",
            Synchronous::Full => "full",
            Synchronous::Extra => "extra",
        }
    }

    /// The level of that name.
    pub fn named(name: &str) -> Option<Synchronous> {
        Synchronous::ALL.into_iter().find(|level| level.name() == name)
    }

    /// The level as `pragma synchronous` reads it back: 0 to 3.
    pub fn numbered(number: i64) -> Option<Synchronous> {
        usize::try_from(number).ok().and_then(|number| Synchronous::ALL.get(number)).copied()
    }
}

/// What is wrong with a URL, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{url}`: {why}")]
pub struct UrlError {
    pub url: String,
    pub why: String,
}

impl SqliteUrl {
    /// The durable defaults for a file.
    pub fn file(path: impl Into<PathBuf>) -> SqliteUrl {
        SqliteUrl {
            path: path.into(),
            journal: Journal::Wal,
            synchronous: Synchronous::Full,
            cache: 32 << 20,
            mmap: 0,
            checkpoint: 1_000,
            busy_ms: 5_000,
            storage: Storage::AS_IT_IS,
        }
    }

    fn set(&mut self, key: &str, value: &str) -> Result<(), String> {
        match key {
            "journal" => {
                self.journal = Journal::named(value)
                    .ok_or_else(|| one_of("journal", value, Journal::ALL.map(Journal::name)))?;
            }
            "synchronous" => {
                self.synchronous = Synchronous::named(value)
                    .ok_or_else(|| one_of("synchronous", value, Synchronous::ALL.map(Synchronous::name)))?;
            }
            "cache" => self.cache = bytes(key, value, 1 << 16, 1 << 36)?,
            "mmap" => self.mmap = bytes(key, value, 0, 1 << 40)?,
            "checkpoint" => self.checkpoint = whole(key, value, 1, 1 << 24)? as u32,
            "busy_ms" => self.busy_ms = whole(key, value, 0, 600_000)? as u32,
            "sync_delay" => self.storage.sync = storage::delay(key, value)?,
            "lock_delay" => self.storage.lock = storage::delay(key, value)?,
            "read_delay" => self.storage.read = storage::delay(key, value)?,
            "shared_memory" => self.storage.shared_memory = is_on(key, value)?,
            "power_cut" => self.storage.power_cut = is_on(key, value)?,
            _ => {
                return Err(format!(
                    "no option `{key}`; there are journal, synchronous, cache, mmap, checkpoint, busy_ms, sync_delay, \
                     lock_delay, read_delay, shared_memory and power_cut"
                ));
            }
        }
        Ok(())
    }

    /// What contradicts itself, once all options are known.
    fn consistent(self) -> Result<SqliteUrl, String> {
        let Storage { read, shared_memory, power_cut, .. } = self.storage;
        if power_cut && !matches!(self.journal, Journal::Wal | Journal::Truncate) {
            return Err("power_cut=on records what is written to files, and not that they are made or removed; write \
                        journal=wal or journal=truncate"
                .into());
        }
        if !shared_memory && self.journal == Journal::Wal {
            return Err(
                "shared_memory=off leaves no room for a write-ahead log, as on a network file system; write \
                        journal=truncate, which is as durable"
                    .into(),
            );
        }
        if self.mmap > 0 && !(shared_memory && read.is_zero()) {
            return Err("what is read through a memory map is not delayed, and network file systems offer none; leave mmap out, or read_delay and shared_memory=off"
                .into());
        }
        Ok(self)
    }
}

fn is_on(key: &str, value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(one_of(key, value, ["on", "off"])),
    }
}

impl FromStr for SqliteUrl {
    type Err = UrlError;

    fn from_str(url: &str) -> Result<SqliteUrl, UrlError> {
        let wrong = |why: String| UrlError { url: url.to_owned(), why };
        let rest = url.strip_prefix("sqlite:").ok_or_else(|| {
            wrong("a SQLite URL starts with `sqlite:`, for example `sqlite:bench.db`".into())
        })?;
        let rest = rest.strip_prefix("//").unwrap_or(rest);
        let (path, options) = rest.split_once('?').unwrap_or((rest, ""));
        if path.is_empty() {
            return Err(wrong("the file name is missing, for example `sqlite:bench.db`".into()));
        }
        if path == ":memory:" {
            return Err(wrong("a database in memory belongs to one connection; use a file on tmpfs".into()));
        }
        let mut parsed = SqliteUrl::file(path::read(path).map_err(wrong)?);
        for option in options.split('&').filter(|option| !option.is_empty()) {
            let (key, value) = option.split_once('=').ok_or_else(|| {
                wrong(format!(
                    "option `{option}` has no value; write `{option}=…`, or %3F for a `?` in the path"
                ))
            })?;
            parsed.set(key, value).map_err(wrong)?;
        }
        parsed.consistent().map_err(wrong)
    }
}

impl fmt::Display for SqliteUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "sqlite:{}?journal={}&synchronous={}&cache={}&mmap={}&checkpoint={}&busy_ms={}{}",
            path::written(&self.path),
            self.journal.name(),
            self.synchronous.name(),
            self.cache,
            self.mmap,
            self.checkpoint,
            self.busy_ms,
            self.storage.options()
        )
    }
}

fn one_of<const N: usize>(key: &str, value: &str, names: [&str; N]) -> String {
    format!("{key} is one of {}, not `{value}`", names.join(", "))
}

fn whole(key: &str, value: &str, low: u64, high: u64) -> Result<u64, String> {
    value
        .parse()
        .ok()
        .filter(|number| (low..=high).contains(number))
        .ok_or_else(|| format!("{key} is a whole number from {low} to {high}, not `{value}`"))
}

fn bytes(key: &str, value: &str, low: u64, high: u64) -> Result<u64, String> {
    let digits = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match &value[digits.len()..] {
        "" | "B" => Some(0),
        "KiB" => Some(10),
        "MiB" => Some(20),
        "GiB" => Some(30),
        _ => None,
    };
    shift
        .and_then(|shift| digits.parse::<u64>().ok()?.checked_mul(1 << shift))
        .filter(|bytes| (low..=high).contains(bytes))
        .ok_or_else(|| {
            format!("{key} is a size from {low} to {high} bytes such as 32MiB or 8388608, not `{value}`")
        })
}

/// What an acknowledged commit survives under these settings.
///
/// Sources: SQLite's `pragma synchronous` and `pragma journal_mode`, and its pager: TRUNCATE and PERSIST flush the
/// journal's invalidation under FULL; DELETE flushes the removal of the journal only under EXTRA, so a power failure
/// right after a commit can bring the journal back, which then undoes that commit.
pub fn durability(journal: Journal, synchronous: Synchronous) -> Durability {
    use Synchronous::{Extra, Full, Normal, Off};
    let (tier, note) = match (journal, synchronous) {
        (_, Off) => (Tier::Volatile, "nothing is flushed; a power failure may corrupt the database"),
        (Journal::Memory | Journal::Off, _) => {
            (Tier::Volatile, "no journal on disk; a crash in a transaction may corrupt the database")
        }
        (Journal::Wal | Journal::Truncate | Journal::Persist, Full | Extra) | (Journal::Delete, Extra) => {
            (Tier::Durable, "every commit is flushed before it is acknowledged")
        }
        (Journal::Wal, Normal) => {
            (Tier::Delayed, "the log is flushed at checkpoints; a power failure loses the last commits")
        }
        (Journal::Delete, Full) => (
            Tier::Delayed,
            "the journal's removal is not flushed; a power failure may undo the last commit (journal=truncate or \
             synchronous=extra is durable)",
        ),
        (Journal::Delete | Journal::Truncate | Journal::Persist, Normal) => (
            Tier::Delayed,
            "not every step of a commit is flushed; a power failure may undo the last commits",
        ),
    };
    Durability {
        tier,
        detail: format!("journal_mode={}, synchronous={}: {note}", journal.name(), synchronous.name()),
    }
}

/// What an error of SQLite means for a call. `code` is the extended result code; `at_commit` says whether the engine
/// was committing, where a failed write leaves it open whether the commit will be seen.
pub fn fault(code: i32, at_commit: bool, message: &str) -> Fault {
    const BUSY: i32 = 5;
    const LOCKED: i32 = 6;
    const READONLY: i32 = 8;
    const INTERRUPT: i32 = 9;
    const IOERR: i32 = 10;
    const CORRUPT: i32 = 11;
    const FULL: i32 = 13;
    const CANTOPEN: i32 = 14;
    const NOTADB: i32 = 26;
    const BUSY_SNAPSHOT: i32 = 5 | (2 << 8);
    match (code & 0xff, code) {
        (_, BUSY_SNAPSHOT) => Fault::Conflict(Conflict::Serialization),
        (BUSY | LOCKED | INTERRUPT, _) => Fault::Conflict(Conflict::Busy),
        // Full is found before the commit record is written, so nothing was applied.
        (FULL | READONLY | CANTOPEN, _) => Fault::Refused(Refusal::Unwritable(EngineMessage::of(message))),
        (IOERR, _) if at_commit => Fault::InDoubt(Doubt::CommitUnanswered),
        (IOERR, _) => Fault::Refused(Refusal::Unwritable(EngineMessage::of(message))),
        (CORRUPT | NOTADB, _) => Fault::defect(DefectKind::BadData, format!("SQLite {code}: {message}")),
        _ => Fault::defect(DefectKind::Engine, format!("SQLite {code}: {message}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(url: &str, expected: Result<(Journal, Synchronous, u64), &str>) {
        match (url.parse::<SqliteUrl>(), expected) {
            (Ok(url), Ok(expected)) => assert_eq!((url.journal, url.synchronous, url.cache), expected),
            (Err(error), Err(expected)) => {
                assert!(error.to_string().contains(expected), "{error} does not say {expected}");
            }
            (parsed, expected) => panic!("{url}: {parsed:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_url_says_what_it_leaves_out_and_what_is_wrong() {
        check("sqlite:bench.db", Ok((Journal::Wal, Synchronous::Full, 32 << 20)));
        check(
            "sqlite:///tmp/b.db?journal=delete&synchronous=normal&cache=2MiB",
            Ok((Journal::Delete, Synchronous::Normal, 2 << 20)),
        );
        check("postgres://x", Err("starts with `sqlite:`"));
        check("sqlite:", Err("file name is missing"));
        check("sqlite::memory:", Err("belongs to one connection"));
        check("sqlite:b.db?journal=fast", Err("one of wal, delete, truncate"));
        check("sqlite:b.db?jurnal=wal", Err("no option `jurnal`"));
        check("sqlite:b.db?cache=12MB", Err("such as 32MiB"));
        check("sqlite:b.db?cache=99999999GiB", Err("such as 32MiB"));
        check("sqlite:b.db?journal", Err("has no value"));
        check("sqlite:b.db?sync_delay=5", Err("such as 5ms"));
        check("sqlite:b.db?shared_memory=no", Err("one of on, off"));
        check("sqlite:b.db?shared_memory=off", Err("write journal=truncate"));
        check("sqlite:b.db?journal=wal&shared_memory=off", Err("no room for a write-ahead log"));
        check("sqlite:b.db?mmap=1MiB&read_delay=1ms", Err("leave mmap out"));
        check(
            "sqlite:b.db?shared_memory=off&journal=truncate",
            Ok((Journal::Truncate, Synchronous::Full, 32 << 20)),
        );
    }

    #[test]
    fn a_url_survives_being_printed() {
        let url: SqliteUrl = "sqlite:a/b.db?journal=persist&busy_ms=17&mmap=1GiB".parse().unwrap();
        assert_eq!(url.to_string().parse::<SqliteUrl>().unwrap(), url);
        assert!(!url.to_string().contains("delay"), "{url}");
        let options = "journal=delete&sync_delay=5ms&lock_delay=1500us&read_delay=2s&shared_memory=off";
        let url: SqliteUrl = format!("sqlite:a/b.db?{options}").parse().unwrap();
        assert!(url.to_string().ends_with(&options["journal=delete".len()..]), "{url}");
        assert_eq!(url.to_string().parse::<SqliteUrl>().unwrap(), url);
    }

    #[test]
    fn only_a_flushed_commit_is_durable() {
        let tier = |journal, synchronous| durability(journal, synchronous).tier;
        assert_eq!(tier(Journal::Wal, Synchronous::Full), Tier::Durable);
        assert_eq!(tier(Journal::Truncate, Synchronous::Full), Tier::Durable);
        assert_eq!(tier(Journal::Delete, Synchronous::Extra), Tier::Durable);
        assert_eq!(tier(Journal::Delete, Synchronous::Full), Tier::Delayed);
        assert_eq!(tier(Journal::Wal, Synchronous::Normal), Tier::Delayed);
        assert_eq!(tier(Journal::Wal, Synchronous::Off), Tier::Volatile);
        assert_eq!(tier(Journal::Memory, Synchronous::Extra), Tier::Volatile);
    }

    #[test]
    fn every_code_has_its_reaction() {
        let kind = |code, at_commit| match fault(code, at_commit, "") {
            Fault::Conflict(Conflict::Busy) => "busy",
            Fault::Conflict(_) => "serialization",
            Fault::Refused(_) => "refused",
            Fault::InDoubt(_) => "in doubt",
            Fault::Defect(_) => "defect",
        };
        let table = [
            (5, false, "busy"),
            (5, true, "busy"),
            (261, false, "busy"),          // SQLITE_BUSY_RECOVERY
            (517, false, "serialization"), // SQLITE_BUSY_SNAPSHOT
            (6, false, "busy"),
            (262, false, "busy"), // SQLITE_LOCKED_SHAREDCACHE
            (9, false, "busy"),
            (13, false, "refused"),
            (13, true, "refused"),
            (8, false, "refused"),
            (14, false, "refused"),
            (10, false, "refused"),
            (778, true, "in doubt"),  // SQLITE_IOERR_WRITE
            (1034, true, "in doubt"), // SQLITE_IOERR_FSYNC
            (11, false, "defect"),
            (26, false, "defect"),
            (1, false, "defect"),
            (1555, false, "defect"), // SQLITE_CONSTRAINT_PRIMARYKEY: a duplicate order id
        ];
        for (code, at_commit, expected) in table {
            assert_eq!(kind(code, at_commit), expected, "code {code}, at commit {at_commit}");
        }
    }
}
