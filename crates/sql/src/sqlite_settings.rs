//! What a connection to SQLite reports, read alike by every adapter.

use crate::{Journal, SqliteUrl, Storage, Synchronous, sqlite_durability};
use model::{Durability, OpenError, Stack, Tier};

/// Compile options that change what an operation costs or survives; the others say which functions exist.
const OPTIONS: [&str; 10] = [
    "DEFAULT_LOOKASIDE",
    "DEFAULT_MEMSTATUS",
    "DIRECT_OVERFLOW_READ",
    "ENABLE_API_ARMOR",
    "ENABLE_MEMORY_MANAGEMENT",
    "ENABLE_STAT4",
    "MUTEX",
    "SECURE_DELETE",
    "TEMP_STORE",
    "THREADSAFE",
];

/// What a connection answers.
#[derive(Debug, Clone)]
pub struct SqliteAnswers {
    /// `select sqlite_version()`.
    pub version: String,
    /// `pragma journal_mode`.
    pub journal: String,
    pub synchronous: i64,
    /// `pragma page_size`, in bytes.
    pub page_size: i64,
    /// `pragma cache_size`: in pages, or below zero in KiB.
    pub cache_size: i64,
    /// `pragma mmap_size`, in bytes. Not answered at all where memory maps are compiled out.
    pub mmap_size: Option<i64>,
    /// `pragma wal_autocheckpoint`, in pages.
    pub wal_autocheckpoint: i64,
    pub compile_options: Vec<String>,
    /// What the storage adds to the machine's own.
    pub storage: Storage,
}

/// What is in force on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqliteSettings {
    /// `3.51.3`.
    pub version: String,
    /// SQLite's name of the journal mode.
    pub journal: String,
    /// SQLite's name of the level.
    pub synchronous: String,
    pub page_bytes: i64,
    /// Bytes of the page cache.
    pub cache_bytes: i64,
    /// Bytes of the file that are mapped; 0 for none.
    pub mmap_bytes: i64,
    /// Pages of the log from which it is moved into the file.
    pub checkpoint_pages: i64,
    /// How SQLite was compiled, as far as it changes what an operation costs or survives.
    pub compile_options: Vec<String>,
    /// What the storage adds to the machine's own.
    pub storage: Storage,
    /// What these settings promise.
    pub durability: Durability,
}

impl SqliteSettings {
    /// From what a connection answers.
    pub fn of(answers: SqliteAnswers) -> SqliteSettings {
        let SqliteAnswers { version, journal, storage, page_size, cache_size, .. } = answers;
        let synchronous = Synchronous::numbered(answers.synchronous);
        let mut durability = match (Journal::named(&journal), synchronous) {
            (Some(journal), Some(synchronous)) => sqlite_durability(journal, synchronous),
            _ => {
                let detail = "settings that this version does not know".into();
                Durability { tier: Tier::Volatile, detail }
            }
        };
        if storage.is_slow() {
            durability.detail += &format!("; on simulated storage ({storage})");
        }
        let mut compile_options = answers.compile_options;
        compile_options.retain(|option| OPTIONS.iter().any(|name| option.starts_with(name)));
        compile_options.sort();
        SqliteSettings {
            version,
            journal,
            synchronous: synchronous.map_or("unknown", Synchronous::name).into(),
            page_bytes: page_size,
            cache_bytes: if cache_size < 0 { -cache_size * 1024 } else { cache_size * page_size },
            mmap_bytes: answers.mmap_size.unwrap_or(0),
            checkpoint_pages: answers.wal_autocheckpoint,
            compile_options,
            storage,
            durability,
        }
    }

    /// Checks that what a URL asks for is what is in force.
    ///
    /// # Errors
    /// [`OpenError::Unusable`]: something did not take.
    pub fn held_to(&self, url: &SqliteUrl) -> Result<(), OpenError> {
        let unusable = |why: String| OpenError::Unusable { what: url.path.display().to_string(), why };
        let (journal, synchronous) = (url.journal.name(), url.synchronous.name());
        if self.journal != journal || self.synchronous != synchronous {
            let (journal_now, synchronous_now) = (&self.journal, &self.synchronous);
            return Err(unusable(format!(
                "requested journal={journal} and synchronous={synchronous}, SQLite uses journal={journal_now} and synchronous={synchronous_now}; another process may have the file open"
            )));
        }
        if self.storage != url.storage {
            let (asked, now) = (url.storage, self.storage);
            return Err(unusable(format!("requested storage {asked}, SQLite uses {now}")));
        }
        Ok(())
    }

    /// The stack without a style, of an adapter by name and version.
    pub fn stack(&self, (adapter, adapter_version): (&str, &str)) -> Stack {
        let number = |name: &str, value: i64| (name.to_owned(), value.to_string());
        let mut settings = vec![
            ("journal_mode".into(), self.journal.clone()),
            ("synchronous".into(), self.synchronous.clone()),
            number("page_bytes", self.page_bytes),
            number("cache_bytes", self.cache_bytes),
            number("mmap_bytes", self.mmap_bytes),
            number("wal_autocheckpoint_pages", self.checkpoint_pages),
            ("compile_options".into(), self.compile_options.join(", ")),
        ];
        if self.storage.is_slow() {
            settings.push(("storage".into(), self.storage.to_string()));
        }
        Stack {
            engine: "sqlite".into(),
            engine_version: self.version.clone(),
            adapter: adapter.into(),
            adapter_version: adapter_version.into(),
            route: "direct".into(),
            isolation: "serializable (one writer; readers on a snapshot)".into(),
            durability: self.durability.clone(),
            settings,
            ..Stack::default()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn answers() -> SqliteAnswers {
        SqliteAnswers {
            version: "3.51.3".into(),
            journal: "wal".into(),
            synchronous: 2,
            page_size: 4_096,
            cache_size: -2_000,
            mmap_size: None,
            wal_autocheckpoint: 1_000,
            compile_options: ["THREADSAFE=1", "ENABLE_FTS5", "DEFAULT_MEMSTATUS=0"].map(str::to_owned).into(),
            storage: Storage::AS_IT_IS,
        }
    }

    #[test]
    fn answers_become_bytes_names_and_a_promise() {
        let found = SqliteSettings::of(answers());
        assert_eq!((found.cache_bytes, found.mmap_bytes, found.synchronous.as_str()), (2_048_000, 0, "full"));
        assert_eq!(found.compile_options, ["DEFAULT_MEMSTATUS=0", "THREADSAFE=1"]);
        assert_eq!(found.durability.tier, Tier::Durable);
        assert_eq!(SqliteSettings::of(SqliteAnswers { cache_size: 10, ..answers() }).cache_bytes, 40_960);
        let unknown = SqliteSettings::of(SqliteAnswers { synchronous: 9, ..answers() });
        assert_eq!((unknown.synchronous.as_str(), unknown.durability.tier), ("unknown", Tier::Volatile));
    }

    #[test]
    fn what_did_not_take_is_named() {
        let found = SqliteSettings::of(answers());
        let locked = |options: &str| {
            let url: SqliteUrl = format!("sqlite:b.db{options}").parse().unwrap();
            found.held_to(&url).map_err(|error| error.to_string())
        };
        assert_eq!(locked(""), Ok(()));
        let other = locked("?journal=delete").unwrap_err();
        assert!(other.contains("requested journal=delete") && other.contains("journal=wal"), "{other}");
        let slow = locked("?sync_delay=5ms").unwrap_err();
        assert!(slow.contains("requested storage sync +5 ms, SQLite uses as it is"), "{slow}");
    }

    #[test]
    fn slow_storage_is_part_of_the_stack_and_of_the_promise() {
        let storage = Storage { sync: Duration::from_millis(5), ..Storage::AS_IT_IS };
        let stack = SqliteSettings::of(SqliteAnswers { storage, ..answers() }).stack(("rusqlite", "1"));
        assert!(stack.durability.detail.ends_with("; on simulated storage (sync +5 ms)"), "{stack:?}");
        assert_eq!(stack.settings.last(), Some(&("storage".into(), "sync +5 ms".into())));
        assert_eq!((stack.adapter.as_str(), stack.style.as_str()), ("rusqlite", ""));
    }
}
