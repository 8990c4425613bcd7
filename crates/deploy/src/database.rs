//! The database of a run: an existing one that is checked, or a private one that is loaded and goes with the run.

use crate::in_use;
use crate::interrupt::Interrupt;
use crate::reporter::Reporter;
use admin::{Contents, Found, LoadPlan, LoadProgress, LoadRecord, Loaded, store};
use anyhow::{Context, Result, bail};
use result::text::seconds;
use sql::{ColumnInfo, DbUrl, Dialect, Value};
use targets::Driven;
use workload::{CLIENTS, LOAD_SEED, Look, amount};

#[derive(Debug, Clone)]
pub struct Database<W: Driven> {
    pub url: DbUrl,
    /// How much it was loaded with.
    pub size: W::Extent,
    /// Seed of the load, which decides the constants of the loaded data.
    pub seed: u64,
    /// What its record says.
    pub contents: Contents,
    /// What is different about it when another tool has loaded it.
    pub tool_notes: Vec<String>,
}

/// A database that a workload asks.
pub struct LookAt<'a>(pub &'a DbUrl);

impl Look for LookAt<'_> {
    fn dialect(&self) -> Dialect {
        self.0.dialect()
    }

    fn rows(&self, query: &str) -> Result<Vec<Vec<Value>>> {
        Ok(store(self.0).rows(query, &[])?)
    }

    fn columns(&self) -> Result<Vec<ColumnInfo>> {
        Ok(store(self.0).columns()?)
    }
}

/// How a database is to be loaded.
#[derive(Debug, Clone, Copy)]
pub struct LoadOptions {
    /// Decides the constants of the data.
    pub seed: u64,
    /// 0 for one a core.
    pub threads: usize,
    /// Whether what is there is replaced.
    pub fresh: bool,
    /// Whether foreign keys are made.
    pub references: bool,
}

impl Default for LoadOptions {
    fn default() -> LoadOptions {
        LoadOptions { seed: LOAD_SEED, threads: 0, fresh: false, references: false }
    }
}

/// Checks the scale that a user asks for.
pub fn scale_of<W: Driven>(scale: u64) -> Result<u32> {
    match u32::try_from(scale) {
        Ok(within) if (1..=W::SCALE_MAX).contains(&scale) => Ok(within),
        _ => bail!("--scale is {scale}; it must be 1 to {} {}", W::SCALE_MAX, W::SCALE_UNIT),
    }
}

/// What is at an address.
pub fn inspect(url: &DbUrl) -> Result<Found> {
    store(url).inspect().map_err(|error| clearer(url, error))
}

/// An error of the control plane, or why the measured sessions cannot be opened either, if that is so: the adapters know
/// best what a user can do about it.
fn clearer(url: &DbUrl, error: admin::Error) -> anyhow::Error {
    let DbUrl::Server(url) = url else { return error.into() };
    targets::why_closed(url).map_or_else(|| error.into(), anyhow::Error::from)
}

impl<W: Driven> Database<W> {
    /// An existing database, which must be a whole load of this workload, of `scale` if that is asked for.
    /// `load` is the command that would load what is named, at a scale, in the place of what is there or not.
    pub(crate) fn existing(
        url: DbUrl,
        scale: Option<u64>,
        load: &dyn Fn(u64, bool) -> String,
    ) -> Result<Database<W>> {
        in_use::allow_journal(&url)?;
        let at = url.place();
        let wanted = scale.unwrap_or(W::scale_default(url.dialect(), CLIENTS).into());
        let command = load(wanted, false);
        let reload = || load(wanted, true);
        let contents = match inspect(&url)? {
            Found::Absent => bail!("{}\nhint: `{command}` makes one", store(&url).nothing()),
            Found::Incomplete { running: true, .. } => bail!("{at} is being loaded by another process"),
            Found::Incomplete { what, .. } => {
                bail!("{what}: incomplete load\nhint: reload with `{}`", reload())
            }
            Found::Foreign { what, tables } if tables.is_empty() => {
                bail!("{at} is {what}\nhint: `{command}` with another database makes one to run on")
            }
            Found::Foreign { what, tables } => {
                return Database::of_another_kit(url, &what, &tables, scale, load);
            }
            Found::Complete(contents) => *contents,
        };
        if contents.record.workload != W::NAME {
            bail!("{at} was loaded for `{}`, not for `{}`", contents.record.workload, W::NAME);
        }
        if let Some(scale) = scale
            && contents.record.scale != scale
        {
            bail!(
                "{at} has {}, requested {scale}\nhint: leave --scale out, or `{}` replaces it",
                amount::<W>(contents.record.scale),
                reload()
            );
        }
        Database::of(url, contents)
    }

    fn of(url: DbUrl, contents: Contents) -> Result<Database<W>> {
        let size = serde_json::from_str(&contents.record.size)
            .with_context(|| format!("{}: the record of the load is of another version", url.place()))?;
        let seed = contents.record.seed;
        Ok(Database { url, size, seed, contents, tool_notes: Vec::new() })
    }

    /// A database that another tool has loaded: what it is, and whether a run is possible.
    fn of_another_kit(
        url: DbUrl,
        what: &str,
        tables: &[String],
        scale: Option<u64>,
        load: &dyn Fn(u64, bool) -> String,
    ) -> Result<Database<W>> {
        let at = url.place();
        let load = load(W::scale_default(url.dialect(), CLIENTS).into(), false);
        let tool = W::recognise(&LookAt(&url), tables, &load).with_context(|| format!("{at} is {what}"))?;
        let found = W::scale(&tool.size);
        if let Some(scale) = scale
            && u64::from(found) != scale
        {
            bail!("{at} has {}, requested {scale}\nhint: leave --scale out", amount::<W>(found.into()));
        }
        let record = LoadRecord {
            tool: tool.name,
            tool_version: String::new(),
            workload: W::NAME.into(),
            scale: u64::from(found),
            size: serde_json::to_string(&tool.size)?,
            seed: LOAD_SEED,
        };
        let contents = Contents { record, schema: 0, tables: Vec::new(), loaded_at: 0 };
        Ok(Database { url, size: tool.size, seed: LOAD_SEED, contents, tool_notes: tool.notes })
    }

    /// A database of which only the size is known.
    pub fn unseen(scale: u32) -> Database<W> {
        let size = W::standard(scale);
        let record = LoadRecord {
            tool: "unknown".into(),
            tool_version: String::new(),
            workload: W::NAME.into(),
            scale: u64::from(scale),
            size: String::new(),
            seed: LOAD_SEED,
        };
        let contents = Contents { record, schema: 0, tables: Vec::new(), loaded_at: 0 };
        let url = DbUrl::Sqlite(sql::SqliteUrl::file("unknown"));
        Database { url, size, seed: LOAD_SEED, contents, tool_notes: Vec::new() }
    }

    /// Whether another tool has loaded it.
    pub fn is_foreign(&self) -> bool {
        self.contents.tables.is_empty()
    }

    /// Checksum of the loaded rows; nothing where another tool has loaded them.
    pub fn checksum(&self) -> Option<String> {
        (!self.is_foreign()).then(|| format!("{:016x}", self.contents.checksum()))
    }

    /// Its scale, in units of the workload.
    pub fn scale(&self) -> u32 {
        W::scale(&self.size)
    }

    /// The same database at another place.
    pub fn copied_to(&self, url: DbUrl, ours: bool) -> Result<Database<W>> {
        store(&self.url).copy_to(&url, ours).context("could not copy the database")?;
        Ok(Database {
            url,
            size: self.size.clone(),
            seed: self.seed,
            contents: self.contents.clone(),
            tool_notes: self.tool_notes.clone(),
        })
    }
}

/// How a part of the data, or all of it, is loaded. `reload` is the command that replaces what is there.
///
/// # Errors
/// The database does not do, or holds what is not to be replaced. Nothing has changed then.
pub(crate) fn plan<W: Driven>(
    url: &DbUrl,
    size: &W::Extent,
    options: LoadOptions,
    reload: String,
) -> Result<LoadPlan> {
    in_use::allow_journal(url)?;
    let plan = LoadPlan {
        dataset: W::dataset(size, options.seed),
        schema: W::schema(url.dialect())?,
        record: LoadRecord {
            tool: "stackmark".into(),
            tool_version: env!("CARGO_PKG_VERSION").into(),
            workload: W::NAME.into(),
            scale: W::scale(size).into(),
            size: serde_json::to_string(size)?,
            seed: options.seed,
        },
        threads: options.threads,
        fresh: options.fresh,
        references: options.references,
        reload,
    };
    store(url).admits(&plan).map_err(|error| clearer(url, error))?;
    Ok(plan)
}

/// Loads as planned. Gives the database and how it came about. Progress is told under `words`, if there are any.
///
/// # Errors
/// It cannot be loaded, or the user has interrupted.
pub(crate) fn load<W: Driven>(
    url: &DbUrl,
    plan: LoadPlan,
    words: Option<&str>,
    reporter: &dyn Reporter,
    interrupt: &Interrupt,
) -> Result<(Database<W>, Loaded)> {
    let shown = words.map(|words| reporter.work(words));
    let mut show = |at: LoadProgress| {
        if let Some(work) = &shown {
            let left = at.seconds_left.map_or(String::new(), |left| format!(", {} left", seconds(left)));
            let text = format!("{}: {} of {} rows{left}", at.phase.word(), at.rows_done, at.rows_all);
            work.show(at.share, &text);
        }
    };
    let loaded = store(url).load(plan, &mut show, interrupt.flag());
    drop(shown);
    let loaded =
        loaded.map_err(|error| if interrupt.requested() { error.into() } else { clearer(url, error) })?;
    Ok((Database::of(url.clone(), loaded.contents().clone())?, loaded))
}

/// What a user would type to load this.
pub fn load_command<W: Driven>(urls: &[DbUrl], scale: u64, fresh: bool) -> String {
    let fresh = if fresh { " --fresh" } else { "" };
    let engine = match urls.first() {
        Some(url @ DbUrl::Server(_)) => format!("/{}", url.dialect().name()),
        _ => String::new(),
    };
    let db = |(store, url): (usize, &DbUrl)| {
        let name = if urls.len() == 1 { String::new() } else { format!("shard-{store}=") };
        match url {
            DbUrl::Sqlite(url) => {
                let named = format!("{name}sqlite:{}", sql::path::written(&url.path));
                let is_plain =
                    named.chars().all(|letter| letter.is_alphanumeric() || "/._-:=@+,%".contains(letter));
                if is_plain {
                    format!(" --db {named}")
                } else {
                    format!(" --db '{}'", named.replace('\'', "'\\''"))
                }
            }
            DbUrl::Server(_) => format!(" --db '{name}{url}'"),
        }
    };
    let shards = if urls.len() == 1 { String::new() } else { format!(" --shards {}", urls.len()) };
    // Where no scale is known: one that can be split so.
    let scale = scale.max(urls.len() as u64);
    let dbs: String = urls.iter().enumerate().map(db).collect();
    format!("stackmark load {}{engine} --scale {scale}{shards}{dbs}{fresh}", W::NAME)
}

/// The URL that a user gives for a store, by its place, with its password; its engine must be that of the subject.
pub fn parse_url(url: &str, dialect: Option<Dialect>, store: usize) -> Result<DbUrl> {
    let url: DbUrl = url.parse()?;
    match dialect {
        Some(wanted) if wanted != url.dialect() => bail!(
            "the subject runs on {}, and --db names a database of {}\nhint: name the engine in the subject, for example \
             `tpcc/{}`",
            wanted.name(),
            url.dialect().name(),
            url.dialect().name()
        ),
        _ => Ok(crate::secrets::with_password(url, store)?),
    }
}
