//! What is started, and how.

use crate::Limits;
use model::Tier;
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// An engine that can be started here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Engine {
    /// PostgreSQL 13 or newer.
    Postgres,
    /// MariaDB 10.6 or newer; Oracle's MySQL is not started, only measured by its URL.
    MariaDb,
    /// Kafka, one node that is broker and controller. It has no databases.
    Kafka,
}

impl Engine {
    /// All, in the order of lists.
    pub const ALL: [Engine; 3] = [Engine::Postgres, Engine::MariaDb, Engine::Kafka];
    /// Those with databases.
    pub const DATABASES: [Engine; 2] = [Engine::Postgres, Engine::MariaDb];

    /// The name in commands, folders and subjects' needs: `postgres`, `mariadb`, `kafka`.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.about().name
    }

    /// The name in sentences.
    #[must_use]
    pub fn title(self) -> &'static str {
        self.about().title
    }

    /// The engine by the name that a user types; `mysql` means MariaDB.
    pub fn named(name: &str) -> Option<Engine> {
        Engine::ALL.into_iter().find(|engine| [engine.about().name, engine.about().alias].contains(&name))
    }

    /// The engine that serves a dialect; SQLite needs none.
    pub fn of(dialect: sql::Dialect) -> Option<Engine> {
        Engine::DATABASES.into_iter().find(|engine| engine.sql().dialect == dialect)
    }
}

/// How an engine is started.
#[derive(Debug, Clone)]
pub struct Options {
    /// Where folders are made; `STACKMARK_RIG_DIR`, else `/var/tmp/stackmark-UID`, where `None`.
    pub base: Option<PathBuf>,
    /// What a commit survives: [`Tier::Durable`] or [`Tier::Delayed`]. No private engine is [`Tier::Volatile`]. Kafka leaves it to
    /// the system when records reach the disk, whatever is asked for, as it does by default.
    pub durability: Tier,
    /// The folder of the programs of PostgreSQL or MariaDB, or a version, `18`, that is looked for in the usual places; none for what
    /// [`crate::find`] finds.
    pub programs: Option<PathBuf>,
    /// Engine settings that are added to ours or stand in their place.
    pub settings: Vec<(String, String)>,
    /// Connections that the engine accepts, 10 to 10,000.
    pub connections: u32,
    /// Whether PostgreSQL loads `pg_stat_statements`, which costs a few per cent.
    pub statement_statistics: bool,
    /// What the engine may use; its own caches are sized by the limit of memory.
    pub limits: Option<Limits>,
    /// Whether the data is on a file system of its own, whose power [`crate::Running::cut_power`] cuts and which
    /// [`crate::Running::fill_disk`] fills. Only root on Linux can have that.
    pub own_disk: bool,
    /// How long each step of a start may take before it counts as failed.
    pub start_max: Duration,
}

impl Options {
    /// For an engine that holds little and whose start may take long, as in tests: MariaDB with a log of 64 MiB in place of a
    /// GiB, which a slow disk takes long to lay out, and ten minutes for each step of the start.
    pub fn small(engine: Engine) -> Options {
        let setting = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
        let settings = engine.about().small.iter().map(setting).collect();
        Options { settings, start_max: Duration::from_secs(600), ..Options::default() }
    }
}

impl Default for Options {
    fn default() -> Options {
        Options {
            base: None,
            durability: Tier::Durable,
            programs: None,
            settings: Vec::new(),
            connections: 200,
            statement_statistics: false,
            limits: None,
            own_disk: false,
            start_max: Duration::from_secs(60),
        }
    }
}
