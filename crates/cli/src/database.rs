//! The database of a run: an existing one that is checked, or a private one that is loaded and goes with the run.

use crate::folder::without_secret;
use crate::interrupt::Interrupt;
use crate::ui::{self, Ui};
use admin::{Contents, Found, LoadPlan, LoadProgress, LoadRecord, Loaded, sqlite};
use anyhow::{Context, Result, bail};
use rustix::fs::{FlockOperation, flock};
use sql::{Dialect, SqliteUrl};
use std::fs::{self, File};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use workload_tpcc::{Cardinality, Data, WAREHOUSES_MAX};

/// Seed of private databases; that of runs is the user's.
pub(crate) const LOAD_SEED: u64 = 1;

/// A loaded TPC-C database.
#[derive(Debug, Clone)]
pub(crate) struct Database {
    pub(crate) url: SqliteUrl,
    pub(crate) size: Cardinality,
    /// Seed of the load, which decides the constant C-Load.
    pub(crate) seed: u64,
    pub(crate) contents: Contents,
}

/// Checks the scale that a user asks for.
pub(crate) fn warehouses(scale: u64) -> Result<u32> {
    match u32::try_from(scale) {
        Ok(warehouses) if (1..=WAREHOUSES_MAX).contains(&warehouses) => Ok(warehouses),
        _ => bail!("--scale is {scale}; it must be 1 to {WAREHOUSES_MAX} warehouses"),
    }
}

/// The SQLite URL that a user gives.
pub(crate) fn parse_url(url: &str) -> Result<SqliteUrl> {
    if ["postgres:", "postgresql:", "mysql:", "mariadb:"].iter().any(|scheme| url.starts_with(scheme)) {
        let scheme = url.split(':').next().unwrap_or_default();
        bail!("`{scheme}:` databases are not supported yet; use `sqlite:FILE`");
    }
    url.parse::<SqliteUrl>().map_err(|error| {
        // What looks like a server's address may have a password in it.
        let url = without_secret(&error.url);
        sql::UrlError { url, ..error }.into()
    })
}

impl Database {
    /// An existing database, which must be a whole TPC-C load of ours, of `scale` if that is asked for.
    pub(crate) fn existing(url: SqliteUrl, scale: Option<u64>) -> Result<Database> {
        let file = url.path.display();
        let command = load_command(&url, scale.unwrap_or(1), false);
        let contents = match sqlite::inspect(&url)? {
            Found::Absent => bail!("there is no database at {file}\nhint: `{command}` makes one"),
            Found::Incomplete { running: true, .. } => bail!("{file} is being loaded by another process"),
            Found::Incomplete { what, .. } => bail!(
                "{} holds a load that was interrupted, and is no database\nhint: `{}` starts it anew",
                what,
                load_command(&url, scale.unwrap_or(1), true)
            ),
            Found::Foreign { what, tables } if tables.is_empty() => {
                bail!("{file} is {what}\nhint: `{command}` with another file makes a database to run on")
            }
            Found::Foreign { what, .. } => bail!(
                "{file} is {what}, so a run cannot know what it started from\nhint: `stackmark audit tpcc --db …` \
                 checks databases of other kits; `{command}` with another file makes one to run on"
            ),
            Found::Complete(contents) => *contents,
        };
        if contents.record.workload != "tpcc" {
            bail!("{file} was loaded for `{}`, not for `tpcc`", contents.record.workload);
        }
        if let Some(scale) = scale
            && contents.record.scale != scale
        {
            bail!(
                "{file} has {} warehouses, asked for are {scale}\nhint: leave --scale out, or `{}` replaces it",
                contents.record.scale,
                load_command(&url, scale, true)
            );
        }
        Database::of(url, contents)
    }

    fn of(url: SqliteUrl, contents: Contents) -> Result<Database> {
        let size = serde_json::from_str(&contents.record.size).with_context(|| {
            format!("{}: the record of the load is of another version", url.path.display())
        })?;
        let seed = contents.record.seed;
        Ok(Database { url, size, seed, contents })
    }

    /// The same database at another place.
    pub(crate) fn copied_to(&self, url: SqliteUrl) -> Result<Database> {
        sqlite::restore(&self.url, &url).context("could not copy the database")?;
        Ok(Database { url, ..self.clone() })
    }
}

/// Loads, with progress. Gives the database and how it came about.
pub(crate) fn load(
    url: &SqliteUrl,
    size: Cardinality,
    seed: u64,
    threads: usize,
    fresh: bool,
    ui: &Ui,
    interrupt: &Interrupt,
) -> Result<(Database, Loaded)> {
    let plan = LoadPlan {
        dataset: Arc::new(Data::new(size, seed)),
        schema: workload_tpcc::schema(Dialect::Sqlite)?,
        record: LoadRecord {
            kit: "stackmark".into(),
            kit_version: env!("CARGO_PKG_VERSION").into(),
            workload: "tpcc".into(),
            scale: u64::from(size.warehouses),
            size: serde_json::to_string(&size)?,
            seed,
        },
        threads,
        fresh,
        references: false,
        start_anew: load_command(url, u64::from(size.warehouses), true),
    };
    // Tiny data is there before anybody could read about it.
    let tell = size.items == Cardinality::standard(1).items;
    let progress = tell.then(|| ui.progress(&format!("loading {} warehouses", size.warehouses)));
    let mut show = |at: LoadProgress| {
        if let Some(progress) = &progress {
            let left = at.seconds_left.map_or(String::new(), |left| format!(", {} left", ui::seconds(left)));
            progress.show(
                at.share,
                &format!("{}: {} of {} rows{left}", at.phase.word(), at.rows_done, at.rows_all),
            );
        }
    };
    let loaded = sqlite::load(url, plan, &mut show, interrupt.flag());
    if let Some(progress) = progress {
        progress.end();
    }
    let loaded = loaded?;
    Ok((Database::of(url.clone(), loaded.contents().clone())?, loaded))
}

/// What a user would type to load this.
pub(crate) fn load_command(url: &SqliteUrl, scale: u64, fresh: bool) -> String {
    let fresh = if fresh { " --fresh" } else { "" };
    format!("stackmark load tpcc --scale {scale} --db sqlite:{}{fresh}", url.path.display())
}

/// A folder of ours alone that goes when this value goes.
#[derive(Debug)]
pub(crate) struct Private {
    path: PathBuf,
    /// Locked as long as we live, so that others can tell what a killed run has left behind.
    _owner: File,
}

/// The file in a private folder that its owner holds locked.
const OWNER: &str = "owner";

impl Private {
    /// The name of the private folder in the folder of a run.
    pub(crate) const NAME: &'static str = "private";

    /// Makes the folder in that of a run.
    pub(crate) fn create(run: &Path) -> Result<Private> {
        let (path, new) = (run.join(Private::NAME), run.join("private.new"));
        let create = || -> std::io::Result<File> {
            fs::DirBuilder::new().mode(0o700).create(&new)?;
            let owner = File::create(new.join(OWNER))?;
            flock(&owner, FlockOperation::NonBlockingLockExclusive)?;
            // It gets the name by which others sweep only when it is locked.
            fs::rename(&new, &path)?;
            Ok(owner)
        };
        let owner = create().with_context(|| format!("could not create {}", path.display()))?;
        Ok(Private { path, _owner: owner })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes what killed runs under `out` have left behind.
    pub(crate) fn sweep(out: &Path) {
        let runs = fs::read_dir(out).into_iter().flatten().flatten();
        for path in runs.map(|run| run.path().join(Private::NAME)) {
            let abandoned = File::open(path.join(OWNER))
                .is_ok_and(|owner| flock(&owner, FlockOperation::NonBlockingLockExclusive).is_ok());
            if abandoned {
                // What cannot be removed harms nobody but the disk.
                let _ = fs::remove_dir_all(&path);
            }
        }
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // What cannot be removed is still ours alone; there is nobody left to tell.
        let _ = fs::remove_dir_all(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_a_dead_run_left_is_swept() {
        let out = std::env::temp_dir().join(format!("stackmark-private-{}", std::process::id()));
        let (alive, dead) = (out.join("alive"), out.join("dead"));
        fs::create_dir_all(&alive).unwrap();
        fs::create_dir_all(dead.join(Private::NAME)).unwrap();
        fs::write(dead.join(Private::NAME).join(OWNER), "").unwrap();
        let private = Private::create(&alive).unwrap();
        Private::sweep(&out);
        assert!(private.path().exists() && !dead.join(Private::NAME).exists());
        drop(private);
        assert!(!alive.join(Private::NAME).exists());
        fs::remove_dir_all(out).unwrap();
    }
}
