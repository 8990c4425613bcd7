//! Where the databases of a run live: in a private folder, on a private engine, or beside the database that the user named.

use crate::case::Case;
use crate::database::{self, Database, LoadOptions};
use crate::engine::{self, place};
use crate::interrupt::Interrupt;
use crate::private::Private;
use crate::ui::Ui;
use anyhow::{Context, Result, bail};
use sql::{DbUrl, Dialect, SqliteUrl};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// What a run works on and in.
#[derive(Debug)]
pub(crate) struct Stage {
    dialect: Dialect,
    /// The database that the user named; ours are made beside it, with the same settings.
    named: Option<DbUrl>,
    /// Databases of ours on somebody's server, to be removed.
    made: RefCell<Vec<DbUrl>>,
    /// Last, because an engine may have to be stopped before its folder goes.
    private: Private,
}

impl Stage {
    /// Prepares the place. On a server engine without a named database a private engine is started.
    pub(crate) fn create(run: &Path, dialect: Dialect, named: Option<DbUrl>) -> Result<Stage> {
        Ok(Stage { dialect, named, made: RefCell::default(), private: Private::create(run)? })
    }

    /// The folder that goes with the run.
    pub(crate) fn path(&self) -> &Path {
        self.private.path()
    }

    /// The address of a database of ours, by name. It is not there yet.
    pub(crate) fn url(&self, name: &str) -> Result<DbUrl> {
        match (self.dialect, &self.named) {
            (Dialect::Sqlite, named) => {
                let path = self.private.path().join(format!("{name}.db"));
                Ok(DbUrl::Sqlite(match named {
                    Some(DbUrl::Sqlite(url)) => SqliteUrl { path, ..url.clone() },
                    _ => SqliteUrl::file(path),
                }))
            }
            (Dialect::Postgres | Dialect::MySql, _) => bail!("not yet"),
        }
    }

    /// Where the store lies, if it lies on this machine: what is watched of the disk.
    pub(crate) fn store(&self, url: &DbUrl) -> Option<PathBuf> {
        match url {
            DbUrl::Sqlite(url) => Some(url.path.clone()),
            DbUrl::Server(_) => None,
        }
    }

    /// Loads a database that goes with the run.
    pub(crate) fn load<W: Case>(
        &self,
        scale: u32,
        ui: &Ui,
        interrupt: &Interrupt,
    ) -> Result<Database<W>> {
        let url = self.url(W::NAME)?;
        match database::load(&url, &W::standard(scale), LoadOptions::default(), ui, interrupt) {
            Ok((database, _)) => Ok(database),
            // It goes with the run, so there is nothing to start anew.
            Err(_) if interrupt.requested() => {
                bail!("interrupted while loading; nothing was measured, and nothing is kept")
            }
            Err(error) => Err(error),
        }
    }
}
