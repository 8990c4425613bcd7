//! Every combination that exists, one by one: the direct ones from [`targets::COMBINATIONS`] and from what a program brings
//! along, those through a server from the servers' manifests. What is not among them is not a subject, and asking for it is an
//! error that names the nearest one: nothing is ever measured under another name.

use crate::owned_variables;
use crate::revision::short;
use crate::{
    DeployError, Manifest, Offer, RelayOptions, Server, ServerOrder, ServerSettings, SinkAddress,
    server_sources,
};
use anyhow::{Context, Result, bail};
use model::{HttpOptions, Transport};
use sql::{DbUrl, Dialect};
use std::borrow::Cow;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{LazyLock, OnceLock};
use targets::{COMBINATIONS, Combination, How, Style};

/// How a subject reaches the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Route {
    /// The load generator holds the engine's connections itself.
    Direct,
    /// Through an HTTP server, a process of its own.
    Http,
}

/// A combination that can get a number.
#[derive(Debug, Clone, Copy)]
pub struct Subject {
    /// `workload/engine/how[/style]`.
    pub path: &'static str,
    /// The server in front, where there is one.
    served: Option<Served>,
    /// Our sessions: those that are measured, directly or behind our own server. Behind another server these are the ones by
    /// which we look at its database.
    pub how: How,
    /// One line for the list.
    pub about: &'static str,
}

/// What a server can be started for.
#[derive(Debug, Clone, Copy)]
struct Served {
    manifest: &'static Manifest,
    offer: &'static Offer,
}

/// Where manifests of servers are looked for.
static SERVERS: OnceLock<PathBuf> = OnceLock::new();

/// Notes the folder that the user keeps servers in.
pub fn servers_in(folder: PathBuf) {
    // Set once, by the command line.
    let _ = SERVERS.set(folder);
}

impl PartialEq for Subject {
    fn eq(&self, other: &Subject) -> bool {
        self.path == other.path
    }
}

impl Subject {
    /// The workload's name.
    pub fn workload(&self) -> &'static str {
        part(self.path, 0)
    }

    /// How it reaches the engine.
    pub fn route(&self) -> Route {
        if self.served.is_some() { Route::Http } else { Route::Direct }
    }

    /// What has to be on the machine.
    pub fn needs(&self) -> String {
        let engine = match self.how.dialect {
            Dialect::Sqlite => None,
            Dialect::Postgres => Some("PostgreSQL's programs, or --db"),
            Dialect::MySql => Some("MariaDB's programs, or --db"),
        };
        match (engine, self.others().map(Manifest::program)) {
            (None, None) => "nothing: SQLite is compiled in".to_owned(),
            (None, Some(program)) => program.to_owned(),
            (Some(engine), None) => engine.to_owned(),
            (Some(engine), Some(program)) => format!("{program}; {engine}"),
        }
    }

    /// What it is called in a sentence next to another.
    pub fn label_beside(&self, other: &Subject) -> String {
        let by_ours = self.others().is_none() && other.others().is_none();
        if by_ours && self.how == other.how && self.workload() == other.workload() {
            let label = if self.route() == Route::Direct { "direct" } else { "through HTTP" };
            return label.to_owned();
        }
        // The parts in which they differ, with what stands around them.
        let mut parts: Vec<&str> = self.path.split('/').collect();
        let others: Vec<&str> = other.path.split('/').collect();
        let same = parts.iter().zip(&others).take_while(|(a, b)| a == b).count();
        let label = parts.split_off(same.min(parts.len() - 1)).join("/");
        if by_ours && self.how.style == Style::Plain && self.how.driver == other.how.driver {
            format!("{label} (plain)")
        } else {
            label
        }
    }

    /// Whether what speaks to the engine makes the statements too.
    pub fn is_orm(&self) -> bool {
        self.style() == Style::Orm.name()
    }

    /// The server in front, by name.
    pub fn server(&self) -> Option<&'static str> {
        self.served.map(|served| served.manifest.name.as_str())
    }

    /// What that is written in.
    pub fn language(&self) -> Option<&'static str> {
        self.served.map(|served| served.manifest.language.as_str())
    }

    /// The commit that its server was checked out from, as reports show it.
    pub fn commit(&self) -> Option<&'static str> {
        self.served.and_then(|served| served.manifest.commit.as_deref()).map(short)
    }

    /// Whether the servers of both are one at two revisions, or at one and as it is there.
    pub fn is_revision_of(&self, other: &Subject) -> bool {
        let own = |subject: &Subject| subject.served.map(|served| served.manifest.own_name());
        // No two servers have one name of their own but as revisions.
        self.server() != other.server() && own(self) == own(other)
    }

    /// Fails where its calls cannot be made so.
    ///
    /// # Errors
    /// It is direct, or its server does not listen there.
    pub fn check_http(&self, options: HttpOptions) -> Result<()> {
        if options == HttpOptions::default() {
            return Ok(());
        }
        let Some(served) = self.served else {
            bail!("--transport and --connections are for subjects through HTTP; {} is direct", self.path)
        };
        let Manifest { name, transports, .. } = served.manifest;
        if options.transport != Transport::Tcp && !transports.contains(&options.transport) {
            let known = std::iter::once(&Transport::Tcp).chain(transports).map(Transport::to_string);
            bail!(
                "the server `{name}` does not offer the transport {}; it has {}\nhint: list it under `transports` in the server's manifest if it can (docs/servers.md)",
                options.transport,
                known.collect::<Vec<_>>().join(", ")
            );
        }
        Ok(())
    }

    /// Its path, as if its server were not taken from a revision.
    pub(crate) fn path_without_revision(&self) -> String {
        let manifest = self.served.map(|served| served.manifest);
        manifest.map_or_else(
            || self.path.to_owned(),
            |manifest| self.path.replacen(&manifest.name, manifest.own_name(), 1),
        )
    }

    /// What its server calls it among several for one workload and engine.
    pub(crate) fn offered(&self) -> Option<&'static str> {
        self.served.map(|served| served.offer.how.as_str())
    }

    /// What speaks to the engine; of a server of someone else's all that is known is what the path says.
    pub fn adapter(&self) -> &'static str {
        self.others().map_or(self.how.driver.name(), |_| part(self.path, 2))
    }

    /// How transactions are expressed.
    pub fn style(&self) -> &'static str {
        match self.others() {
            None => self.how.style.name(),
            Some(_) => self.path.splitn(4, '/').nth(3).unwrap_or(Style::Plain.name()),
        }
    }

    /// Whether what speaks to the engine is ours, in the generator or in our server.
    pub fn speaks_through_ours(&self) -> bool {
        self.others().is_none()
    }

    /// The server in front, if it is not ours.
    fn others(&self) -> Option<&'static Manifest> {
        self.served.map(|served| served.manifest).filter(|manifest| !manifest.is_ours())
    }

    /// Fails where a program of its server is not on this machine.
    pub fn can_start(&self) -> Result<(), DeployError> {
        self.served.map_or(Ok(()), |served| served.manifest.can_start())
    }

    /// Whether its calls leave messages in an outbox.
    pub fn announces(&self) -> bool {
        self.publishes() || self.how.style.keeps_outbox()
    }

    /// Whether its calls leave something to be done between so many stores by a relay of ours.
    pub fn has_relay(&self, stores: usize) -> bool {
        self.how.style.is_relayed_over(stores) && self.speaks_through_ours()
    }

    /// Starts the relay that does what its calls leave to be done; nothing where they leave nothing. `sink` is where it publishes, and
    /// `extra` what else is in its environment.
    pub fn relay(
        &self,
        databases: &[DbUrl],
        relaying: &RelayOptions,
        sink: &SinkAddress,
        extra: &[(&str, &str)],
        log: &Path,
        interrupt: &AtomicBool,
    ) -> Result<Option<Server>> {
        static RELAY: LazyLock<Manifest> = LazyLock::new(Manifest::relay);
        if !self.has_relay(databases.len()) {
            return Ok(None);
        }
        let how = self.how.path();
        let mut more = relaying.variables_of(self.how.style, sink);
        more.extend(owned_variables(extra));
        let order = ServerOrder { workload: self.workload(), how: &how, databases, more: &more };
        let settings = ServerSettings::of_one(relaying.limits);
        Ok(Some(Server::start(&RELAY, &order, &settings, log, interrupt)?))
    }

    /// Whether messages of its calls are published: by a relay of ours, by one within the server, or by the process of the sessions.
    pub fn publishes(&self) -> bool {
        self.how.style.has_outbox() || self.publishes_directly()
    }

    /// Whether messages are events of what was committed, which a consumer processes; records of a log are not.
    pub fn publishes_events(&self) -> bool {
        self.publishes() && self.how.style != Style::LogFirst
    }

    /// Whether its calls publish messages themselves.
    pub fn publishes_directly(&self) -> bool {
        self.how.style.publishes_directly()
    }

    /// Environment of a server or load generator that publishes messages itself.
    pub fn published_by_itself(&self, relaying: &RelayOptions, sink: &SinkAddress) -> Vec<(String, String)> {
        let has_own = self.publishes() && !self.has_relay(1);
        if has_own { relaying.variables(sink) } else { Vec::new() }
    }

    /// Starts its server on databases, one in each store, with `extra` variables. `sink` is where it publishes if no relay of ours does.
    ///
    /// # Errors
    /// The server cannot be started, or there is none.
    pub fn serve(
        &self,
        databases: &[DbUrl],
        settings: &ServerSettings,
        sink: &SinkAddress,
        extra: &[(&str, &str)],
        log: &Path,
        interrupt: &AtomicBool,
    ) -> Result<Server> {
        let served = self.served.with_context(|| format!("{} has no server", self.path))?;
        let mut more = self.published_by_itself(&settings.relaying, sink);
        more.extend(settings.relaying.variables_within(self, databases.len()));
        more.extend(owned_variables(extra));
        let order = ServerOrder { workload: self.workload(), how: &served.offer.how, databases, more: &more };
        Ok(Server::start(served.manifest, &order, settings, log, interrupt)?)
    }
}

/// Every subject: within a workload and an engine the direct ones, then those through ours, then those through other servers.
///
/// # Errors
/// A manifest in the folder of servers has a mistake.
pub fn all() -> Result<&'static [Subject]> {
    static ALL: OnceLock<Vec<Subject>> = OnceLock::new();
    if let Some(all) = ALL.get() {
        return Ok(all);
    }
    let found = Manifest::all_in(SERVERS.get().map_or(Path::new("servers"), PathBuf::as_path))?;
    let all = with_servers(OURS.clone(), found, &|_| false)?;
    Ok(ALL.get_or_init(|| all))
}

/// Those whose server's manifest is in a folder, however that is spelled.
pub(crate) fn of_folder(folder: &Path) -> Result<Vec<Subject>> {
    let Ok(folder) = folder.canonicalize() else { return Ok(Vec::new()) };
    let lies_there = |subject: &&Subject| {
        let its = subject.served.and_then(|served| served.manifest.folder.as_deref());
        its.is_some_and(|its| its.canonicalize().is_ok_and(|its| its == folder))
    };
    Ok(all()?.iter().filter(lies_there).copied().collect())
}

/// Workloads that another program brings along.
static MORE: OnceLock<Vec<Combination>> = OnceLock::new();

/// Puts combinations of workloads that are not ours behind those that are. To be called before anything is looked up.
pub fn add(more: Vec<Combination>) {
    // Set once, by the program's own beginning.
    let _ = MORE.set(more);
}

/// The direct subjects, defaults first within a workload and within an engine.
static DIRECT: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    let direct = |of: &Combination| Subject { path: of.path, served: None, how: of.how, about: of.about };
    COMBINATIONS.iter().chain(more()).map(direct).collect()
});

fn more() -> &'static [Combination] {
    MORE.get().map_or(&[], Vec::as_slice)
}

/// What needs no folder of servers: the direct ones, and those through ours.
static OURS: LazyLock<Vec<Subject>> = LazyLock::new(|| {
    with_servers(DIRECT.clone(), [Manifest::ours().serving(more())], &|_| false)
        .expect("a test has read what is compiled in")
});

/// Puts what servers offer next to what there is, unless a path is `taken` elsewhere.
pub(crate) fn with_servers(
    mut all: Vec<Subject>,
    manifests: impl IntoIterator<Item = Manifest>,
    taken: &dyn Fn(&str) -> bool,
) -> Result<Vec<Subject>> {
    for manifest in manifests {
        // For as long as the program runs, as the direct ones.
        let manifest: &'static Manifest = Box::leak(Box::new(manifest));
        for offer in &manifest.serves {
            let subject = offered(manifest, offer)?;
            if all.contains(&subject) || taken(subject.path) {
                let message =
                    format!("there is a subject `{}` already: give the server another name", subject.path);
                return Err(manifest.wrong(None, &message).into());
            }
            all.push(subject);
        }
    }
    let rank = |subject: &Subject| {
        let engine = |known: &Subject| known.path.split('/').take(2).eq(subject.path.split('/').take(2));
        DIRECT.iter().position(engine)
    };
    all.sort_by_key(rank);
    Ok(all)
}

fn offered(manifest: &'static Manifest, offer: &'static Offer) -> Result<Subject> {
    let engine = format!("{}/{}", offer.workload, offer.engine.name());
    let of_engine = || {
        let rest = |known: &Subject| known.path.strip_prefix(&engine)?.strip_prefix('/');
        DIRECT.iter().filter_map(move |known| Some((rest(known)?, known.how)))
    };
    let style = |how: &str| how.split_once('/').map(|(_, style)| style.to_owned());
    let how = match manifest.is_ours() {
        // Our own server has our own sessions behind it.
        true => of_engine().find(|(how, _)| *how == offer.how),
        // The database of another is looked at by those of its style, or by those that are the default.
        false => of_engine().find(|(how, _)| style(how) == style(&offer.how)).or_else(|| of_engine().next()),
    };
    let how = how.map(|(_, how)| how);
    let how = how.ok_or_else(|| {
        let known = workloads().join(", ");
        manifest
            .wrong(Some(offer), &format!("there is no {engine}; workloads are {known}, each on every engine"))
    })?;
    let plus = if offer.how.is_empty() { "" } else { "+" };
    let path = format!("{engine}/{}{plus}{}", manifest.name, offer.how);
    let served = Some(Served { manifest, offer });
    Ok(Subject { path: path.leak(), served, how, about: &offer.about })
}

pub fn workloads() -> Vec<&'static str> {
    let mut names: Vec<_> = DIRECT.iter().map(Subject::workload).collect();
    names.dedup();
    names
}

fn part(path: &str, index: usize) -> &str {
    path.split('/').nth(index).unwrap_or_default()
}

/// The subject of a path, whose missing parts get their defaults.
///
/// # Errors
/// When there is none: names the nearest.
pub fn find(path: &str) -> Result<&'static Subject> {
    let all = all()?;
    let wanted = current(path);
    let wanted = wanted.trim_end_matches('/');
    if let Some(subject) = server_sources::subject(wanted) {
        return Ok(subject);
    }
    // What is named in full is meant, and not one before it whose path goes on.
    let exactly = all.iter().find(|subject| subject.path == wanted);
    let begins = || {
        all.iter().find(|subject| subject.path.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('/')))
    };
    if !wanted.is_empty()
        && let Some(subject) = exactly.or_else(begins)
    {
        return Ok(subject);
    }
    // What was begun and not ended is likelier than another that is spelled as much like it.
    let started = || all.iter().find(|subject| !wanted.is_empty() && subject.path.starts_with(wanted));
    if let Some(subject) = without_style(all, wanted).or_else(started) {
        bail!("no subject `{path}`; nearest: `{}`\nhint: `stackmark list` prints all of them", subject.path)
    }
    // What was named rightly stays: another workload or engine is not near, however its name is spelled.
    let named = |index: usize| {
        let known = all.iter().map(move |subject| part(subject.path, index));
        Some(part(wanted, index)).filter(|name| known.into_iter().any(|known| known == *name))
    };
    let (workload, engine) = (named(0), named(1));
    let agrees = |subject: &&Subject| {
        workload.is_none_or(|name| part(subject.path, 0) == name)
            && engine.is_none_or(|name| part(subject.path, 1) == name)
    };
    // Of equally near ones `max_by` takes the last; the default is the first.
    let nearest = all
        .iter()
        .filter(agrees)
        .rev()
        .max_by(|a, b| likeness(a.path, wanted).total_cmp(&likeness(b.path, wanted)))
        .expect("every workload is on every engine");
    bail!("no subject `{path}`; nearest: `{}`\nhint: `stackmark list` prints all of them", nearest.path)
}

/// The path with the name that an engine has today: MariaDB was called `mysql`, and may still be.
pub(crate) fn current(path: &str) -> Cow<'_, str> {
    let mut parts: Vec<&str> = path.split('/').collect();
    match parts.get_mut(1) {
        Some(engine) if *engine == Dialect::MySql.scheme() => {
            *engine = Dialect::MySql.name();
            let path = parts.join("/");
            // A user's own words are read here and nowhere else, before anything else is said.
            let _ =
                writeln!(std::io::stderr().lock(), "note: `mysql` stands for `mariadb`: this is `{path}`");
            path.into()
        }
        _ => path.into(),
    }
}

/// The subject of a path, which can be started on this machine as far as its server is concerned.
///
/// # Errors
/// When there is none, or a program of its server is missing.
pub fn find_here(path: &str) -> Result<&'static Subject> {
    let subject = find(path)?;
    subject.can_start()?;
    Ok(subject)
}

/// The plain subject, if only a style was asked for that it does not have, and none that is spelled like it.
fn without_style(all: &'static [Subject], wanted: &str) -> Option<&'static Subject> {
    const LIKE: f64 = 0.75;
    let (plain, style) = wanted.rsplit_once('/')?;
    let subject = all.iter().find(|subject| subject.path == plain)?;
    let mut styles = all.iter().filter_map(|subject| subject.path.strip_prefix(plain)?.strip_prefix('/'));
    styles.all(|known| strsim::jaro_winkler(known, style) < LIKE).then_some(subject)
}

/// The direct subject of a workload and an engine whose calls leave something to a relay, by driver and style if that is said.
pub fn relayed(workload: &str, dialect: Dialect, how: Option<&str>) -> Result<&'static Subject> {
    let of_engine = |subject: &&Subject| {
        subject.route() == Route::Direct
            && subject.workload() == workload
            && subject.how.dialect == dialect
            && subject.how.style.is_relayed()
    };
    let mut all = OURS.iter().filter(of_engine);
    let engine = dialect.name();
    match how {
        None => all.next().with_context(|| format!("no calls of {workload} on {engine} leave anything to a relay")),
        Some(how) => all.find(|subject| subject.how.path() == how).with_context(|| {
            format!(
                "calls of {workload} on {engine} by `{how}` leave nothing to a relay\nhint: `stackmark list {workload}` prints \
                 the subjects; those in styles `saga`, `log-first` and `outbox` do"
            )
        }),
    }
}

/// The subject that puts our server in front of the same sessions as `how`.
///
/// # Errors
/// When there is none: names the nearest.
pub fn served(workload: &str, engine: &str, how: Option<&str>) -> Result<&'static Subject> {
    // Whatever is in a folder of servers, ours does not start others.
    let all = &*OURS;
    let path = format!("{workload}/{engine}");
    let path = current(&path);
    let engine = part(&path, 1);
    let of_engine = |subject: &&Subject| {
        subject.route() == Route::Http
            && subject.workload() == workload
            && part(subject.path, 1) == engine
            && how.is_none_or(|how| subject.how.path() == how)
    };
    if let Some(subject) = all.iter().find(of_engine) {
        return Ok(subject);
    }
    let engines = || all.iter().filter(|subject| subject.workload() == workload);
    if engines().all(|subject| part(subject.path, 1) != engine) {
        let mut names: Vec<_> = engines().map(|subject| format!("`{}`", part(subject.path, 1))).collect();
        names.dedup();
        bail!("no engine `{engine}` for {workload}; there are {}", names.join(", "));
    }
    let wanted = format!("{workload}/{engine}/axum+{}", how.unwrap_or_default());
    let nearest = all
        .iter()
        .filter(|subject| subject.route() == Route::Http && subject.workload() == workload)
        .filter(|subject| part(subject.path, 1) == engine)
        .max_by(|a, b| likeness(a.path, &wanted).total_cmp(&likeness(b.path, &wanted)))
        .expect("every engine of a workload has one");
    bail!(
        "the server cannot speak to {engine} by `{}`; nearest: --engine {} --adapter {}\nhint: `stackmark list` prints all \
         subjects",
        how.unwrap_or("its default"),
        part(nearest.path, 1),
        nearest.how.path()
    )
}

/// Compared over as many parts as were given: `tpc/sqlite` is near to `tpcc/sqlite/rusqlite`.
fn likeness(path: &str, wanted: &str) -> f64 {
    let parts = wanted.split('/').count();
    let same_depth: Vec<_> = path.split('/').take(parts).collect();
    strsim::jaro_winkler(&same_depth.join("/"), wanted).max(strsim::jaro_winkler(path, wanted))
}

/// The workload of that name.
///
/// # Errors
/// When there is none: names the nearest.
pub fn workload(name: &str) -> Result<&'static str> {
    let names = workloads();
    if let Some(found) = names.iter().find(|known| **known == name) {
        return Ok(found);
    }
    let nearest = names
        .iter()
        .min_by_key(|known| strsim::damerau_levenshtein(known, name))
        .expect("the list is not empty");
    bail!("no workload `{name}`; nearest: `{nearest}`\nhint: `stackmark list` prints all subjects")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expected: Result<&str, &str>) {
        match (find(path), expected) {
            (Ok(subject), Ok(expected)) => assert_eq!(subject.path, expected),
            (Err(error), Err(expected)) => assert!(error.to_string().contains(expected), "{error}"),
            (found, expected) => panic!("{path}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn what_is_left_out_gets_its_default_and_what_does_not_exist_its_nearest() {
        check("tpcc", Ok("tpcc/sqlite/rusqlite"));
        check("tpcc/sqlite", Ok("tpcc/sqlite/rusqlite"));
        check("tpcc/mysql/sqlx", Ok("tpcc/mariadb/sqlx"));
        check("tpcb/mysql", Ok("tpcb/mariadb/mysql-async"));
        check("tpcc/sqlite/axum+rusqlite", Ok("tpcc/sqlite/axum+rusqlite"));
        check("tpcc/sqlite/axum", Err("nearest: `tpcc/sqlite/axum+rusqlite`"));
        check("tpc", Err("nearest: `tpcc/sqlite/rusqlite`"));
        check("tpcc/sqlite/rusqlite/procedure", Err("nearest: `tpcc/sqlite/rusqlite`"));
        check("tpcc/sqlite/rusqlite/gruoped", Err("nearest: `tpcc/sqlite/rusqlite/grouped`"));
        check("tpcc/sqlite/sqlite/procedure", Err("nearest: `tpcc/sqlite/"));
        check("tpcb/mariadb/tokio-postgres/pipelined", Err("nearest: `tpcb/mariadb/"));
        check("tpcb/sqlite/axum+diesel/procedure", Err("nearest: `tpcb/sqlite/"));
        for subject in all().unwrap() {
            check(subject.path, Ok(subject.path));
            let engine = subject.path.split('/').take(2).collect::<Vec<_>>().join("/");
            for style in ["procedure", "pipelined", "grouped", "orm", "plain", "zzz"] {
                let path =
                    format!("{}/{style}", subject.path.split('/').take(3).collect::<Vec<_>>().join("/"));
                if all().unwrap().iter().all(|known| known.path != path) {
                    check(&path, Err(&format!("nearest: `{engine}/")));
                }
            }
        }
        for how in ["rusqlite/pipelined", "tokio-postgres/pipelined", "zzz/procedure"] {
            let refused = served("tpcc", "sqlite", Some(how)).unwrap_err().to_string();
            assert!(refused.contains("nearest: --engine sqlite --adapter "), "{refused}");
        }
        check("", Err("no subject ``"));
        assert!(workload("tppc").unwrap_err().to_string().contains("nearest: `tpcc`"));
    }
}
