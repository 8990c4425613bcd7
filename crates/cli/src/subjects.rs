//! Every combination that exists, one by one. What is not in this list is not a subject, and asking for it is an error
//! that names the nearest one: nothing is ever measured under another name.

use anyhow::{Result, bail};
use sql::Dialect;
use targets::{Driver, How, Style};

/// How a subject reaches the engine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// The load generator holds the engine's connections itself.
    Direct,
    /// Through the HTTP server, a process of its own.
    Http,
}

/// A combination that can get a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Subject {
    /// `workload/engine/how[/style]`.
    pub(crate) path: &'static str,
    pub(crate) route: Route,
    pub(crate) how: How,
    /// One line for the list.
    pub(crate) about: &'static str,
}

const SQLITE: How = How { dialect: Dialect::Sqlite, driver: Driver::Rusqlite, style: Style::Plain };
const POSTGRES: How = How { dialect: Dialect::Postgres, driver: Driver::TokioPostgres, style: Style::Plain };
const MYSQL: How = How { dialect: Dialect::MySql, driver: Driver::MySqlAsync, style: Style::Plain };

const fn sqlx(dialect: Dialect) -> How {
    How { dialect, driver: Driver::Sqlx, style: Style::Plain }
}

const fn diesel(dialect: Dialect) -> How {
    How { dialect, driver: Driver::Diesel, style: Style::Orm }
}

const fn direct(path: &'static str, how: How, about: &'static str) -> Subject {
    Subject { path, route: Route::Direct, how, about }
}

const fn http(path: &'static str, how: How, about: &'static str) -> Subject {
    Subject { path, route: Route::Http, how, about }
}

const fn styled(how: How, style: Style) -> How {
    How { style, ..how }
}

/// The subjects, defaults first within a workload and within an engine.
#[rustfmt::skip]
pub(crate) const SUBJECTS: &[Subject] = &[
    direct("tpcc/sqlite/rusqlite", SQLITE, "TPC-C on SQLite, straight through the driver"),
    http("tpcc/sqlite/axum+rusqlite", SQLITE, "TPC-C on SQLite, through the HTTP server, the same sessions behind it"),
    direct("tpcc/sqlite/rusqlite/grouped", styled(SQLITE, Style::Grouped), "calls that wait for each other share a durable commit"),
    http("tpcc/sqlite/axum+rusqlite/grouped", styled(SQLITE, Style::Grouped), "the grouped sessions behind the HTTP server"),
    direct("tpcc/sqlite/sqlx", sqlx(Dialect::Sqlite), "TPC-C on SQLite through sqlx, which runs it on threads of its own"),
    direct("tpcc/sqlite/diesel", diesel(Dialect::Sqlite), "TPC-C on SQLite through Diesel's typed queries"),
    http("tpcc/sqlite/axum+diesel", diesel(Dialect::Sqlite), "Diesel's sessions behind the HTTP server"),
    direct("tpcc/postgres/tokio-postgres", POSTGRES, "TPC-C on PostgreSQL, one statement a round trip"),
    direct("tpcc/postgres/tokio-postgres/pipelined", styled(POSTGRES, Style::Pipelined), "independent statements share a round trip"),
    direct("tpcc/postgres/tokio-postgres/procedure", styled(POSTGRES, Style::Procedure), "one call of a PL/pgSQL function a transaction"),
    direct("tpcc/postgres/sqlx", sqlx(Dialect::Postgres), "TPC-C on PostgreSQL through sqlx"),
    direct("tpcc/postgres/diesel", diesel(Dialect::Postgres), "TPC-C on PostgreSQL through Diesel's typed queries"),
    http("tpcc/postgres/axum+tokio-postgres", POSTGRES, "the plain sessions behind the HTTP server"),
    http("tpcc/postgres/axum+tokio-postgres/pipelined", styled(POSTGRES, Style::Pipelined), "the pipelined sessions behind the HTTP server"),
    http("tpcc/postgres/axum+tokio-postgres/procedure", styled(POSTGRES, Style::Procedure), "the procedure calls behind the HTTP server"),
    http("tpcc/postgres/axum+diesel", diesel(Dialect::Postgres), "Diesel's sessions behind the HTTP server"),
    direct("tpcc/mysql/mysql-async", MYSQL, "TPC-C on MariaDB, one statement a round trip"),
    direct("tpcc/mysql/mysql-async/procedure", styled(MYSQL, Style::Procedure), "one call of a stored procedure a transaction"),
    direct("tpcc/mysql/sqlx", sqlx(Dialect::MySql), "TPC-C on MariaDB through sqlx"),
    http("tpcc/mysql/axum+mysql-async", MYSQL, "the plain sessions behind the HTTP server"),
    http("tpcc/mysql/axum+mysql-async/procedure", styled(MYSQL, Style::Procedure), "the procedure calls behind the HTTP server"),
    direct("tpcb/sqlite/rusqlite", SQLITE, "pgbench's transaction on SQLite"),
    http("tpcb/sqlite/axum+rusqlite", SQLITE, "the same sessions behind the HTTP server"),
    direct("tpcb/sqlite/rusqlite/grouped", styled(SQLITE, Style::Grouped), "calls that wait for each other share a durable commit"),
    direct("tpcb/sqlite/sqlx", sqlx(Dialect::Sqlite), "pgbench's transaction on SQLite through sqlx"),
    direct("tpcb/postgres/tokio-postgres", POSTGRES, "pgbench's transaction on PostgreSQL, its own tables"),
    direct("tpcb/postgres/sqlx", sqlx(Dialect::Postgres), "pgbench's transaction on PostgreSQL through sqlx"),
    http("tpcb/postgres/axum+tokio-postgres", POSTGRES, "the same sessions behind the HTTP server"),
    direct("tpcb/mysql/mysql-async", MYSQL, "pgbench's transaction on MariaDB"),
    direct("tpcb/mysql/sqlx", sqlx(Dialect::MySql), "pgbench's transaction on MariaDB through sqlx"),
    http("tpcb/mysql/axum+mysql-async", MYSQL, "the same sessions behind the HTTP server"),
];

impl Subject {
    /// The workload's name.
    pub(crate) fn workload(&self) -> &'static str {
        part(self.path, 0)
    }

    /// What has to be on the machine.
    pub(crate) fn needs(&self) -> &'static str {
        match self.how.dialect {
            Dialect::Sqlite => "nothing: SQLite is compiled in",
            Dialect::Postgres => "PostgreSQL's programs, or --db",
            Dialect::MySql => "MariaDB's programs, or --db",
        }
    }

    /// What it is called in a sentence beside another.
    pub(crate) fn label_beside(&self, other: &Subject) -> String {
        if self.how == other.how && self.workload() == other.workload() {
            let label = if self.route == Route::Direct { "direct" } else { "through HTTP" };
            return label.to_owned();
        }
        // The parts in which they differ, with what stands around them.
        let mut parts: Vec<&str> = self.path.split('/').collect();
        let others: Vec<&str> = other.path.split('/').collect();
        let same = parts.iter().zip(&others).take_while(|(a, b)| a == b).count();
        let label = parts.split_off(same.min(parts.len() - 1)).join("/");
        if self.how.style == Style::Plain && self.how.driver == other.how.driver {
            format!("{label} (plain)")
        } else {
            label
        }
    }

    /// Whether what speaks to the engine makes the statements too.
    pub(crate) fn is_orm(&self) -> bool {
        self.how.style == Style::Orm
    }
}

/// Workloads that exist.
pub(crate) fn workloads() -> Vec<&'static str> {
    let mut names: Vec<_> = SUBJECTS.iter().map(Subject::workload).collect();
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
pub(crate) fn find(path: &str) -> Result<&'static Subject> {
    let wanted = path.trim_end_matches('/');
    let begins = |subject: &&Subject| {
        subject.path == wanted || subject.path.strip_prefix(wanted).is_some_and(|rest| rest.starts_with('/'))
    };
    if !wanted.is_empty()
        && let Some(subject) = SUBJECTS.iter().find(begins)
    {
        return Ok(subject);
    }
    // What was begun and not ended is likelier than another that is spelled as much like it.
    let begun = || SUBJECTS.iter().find(|subject| !wanted.is_empty() && subject.path.starts_with(wanted));
    if let Some(subject) = without_style(wanted).or_else(begun) {
        bail!("no subject `{path}`; nearest: `{}`\nhint: `stackmark list` prints all of them", subject.path)
    }
    // What was named rightly stays: another workload or engine is not near, however its name is spelled.
    let named = |index: usize| {
        let known = SUBJECTS.iter().map(move |subject| part(subject.path, index));
        Some(part(wanted, index)).filter(|name| known.into_iter().any(|known| known == *name))
    };
    let (workload, engine) = (named(0), named(1));
    let agrees = |subject: &&Subject| {
        workload.is_none_or(|name| part(subject.path, 0) == name)
            && engine.is_none_or(|name| part(subject.path, 1) == name)
    };
    // Of equally near ones `max_by` takes the last; the default is the first.
    let nearest = SUBJECTS
        .iter()
        .filter(agrees)
        .rev()
        .max_by(|a, b| likeness(a.path, wanted).total_cmp(&likeness(b.path, wanted)))
        .expect("every workload is on every engine");
    bail!("no subject `{path}`; nearest: `{}`\nhint: `stackmark list` prints all of them", nearest.path)
}

/// The plain subject, if only a style was asked for that it does not have, and none that is spelled like it.
fn without_style(wanted: &str) -> Option<&'static Subject> {
    const LIKE: f64 = 0.75;
    let (plain, style) = wanted.rsplit_once('/')?;
    let subject = SUBJECTS.iter().find(|subject| subject.path == plain)?;
    let mut styles =
        SUBJECTS.iter().filter_map(|subject| subject.path.strip_prefix(plain)?.strip_prefix('/'));
    styles.all(|known| strsim::jaro_winkler(known, style) < LIKE).then_some(subject)
}

/// The subject that puts a server in front of the same sessions as `how`.
///
/// # Errors
/// When there is none: names the nearest.
pub(crate) fn served(workload: &str, engine: &str, how: Option<&str>) -> Result<&'static Subject> {
    let of_engine = |subject: &&Subject| {
        subject.route == Route::Http
            && subject.workload() == workload
            && part(subject.path, 1) == engine
            && how.is_none_or(|how| subject.how.path() == how)
    };
    if let Some(subject) = SUBJECTS.iter().find(of_engine) {
        return Ok(subject);
    }
    let engines = || SUBJECTS.iter().filter(|subject| subject.workload() == workload);
    if engines().all(|subject| part(subject.path, 1) != engine) {
        let mut names: Vec<_> = engines().map(|subject| format!("`{}`", part(subject.path, 1))).collect();
        names.dedup();
        bail!("no engine `{engine}` for {workload}; there are {}", names.join(", "));
    }
    let wanted = format!("{workload}/{engine}/axum+{}", how.unwrap_or_default());
    let nearest = SUBJECTS
        .iter()
        .filter(|subject| subject.route == Route::Http && subject.workload() == workload)
        .filter(|subject| part(subject.path, 1) == engine)
        .max_by(|a, b| likeness(a.path, &wanted).total_cmp(&likeness(b.path, &wanted)))
        .expect("every engine of a workload has one");
    bail!(
        "the server cannot speak to {engine} by `{}`; nearest: --engine {} --how {}\nhint: `stackmark list` prints all \
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
pub(crate) fn workload(name: &str) -> Result<&'static str> {
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
        check("tpcc/sqlite/axum+rusqlite", Ok("tpcc/sqlite/axum+rusqlite"));
        check("tpcc/sqlite/axum", Err("nearest: `tpcc/sqlite/axum+rusqlite`"));
        check("tpc", Err("nearest: `tpcc/sqlite/rusqlite`"));
        check("tpcc/sqlite/rusqlite/procedure", Err("nearest: `tpcc/sqlite/rusqlite`"));
        check("tpcc/sqlite/rusqlite/gruoped", Err("nearest: `tpcc/sqlite/rusqlite/grouped`"));
        check("tpcc/sqlite/sqlite/procedure", Err("nearest: `tpcc/sqlite/"));
        check("tpcb/mysql/tokio-postgres/pipelined", Err("nearest: `tpcb/mysql/"));
        check("tpcb/sqlite/axum+diesel/procedure", Err("nearest: `tpcb/sqlite/"));
        for subject in SUBJECTS {
            let engine = subject.path.split('/').take(2).collect::<Vec<_>>().join("/");
            for style in ["procedure", "pipelined", "grouped", "orm", "plain", "zzz"] {
                let path =
                    format!("{}/{style}", subject.path.split('/').take(3).collect::<Vec<_>>().join("/"));
                if SUBJECTS.iter().all(|known| known.path != path) {
                    check(&path, Err(&format!("nearest: `{engine}/")));
                }
            }
        }
        for how in ["rusqlite/pipelined", "tokio-postgres/pipelined", "zzz/procedure"] {
            let refused = served("tpcc", "sqlite", Some(how)).unwrap_err().to_string();
            assert!(refused.contains("nearest: --engine sqlite --how "), "{refused}");
        }
        check("", Err("no subject ``"));
        assert!(workload("tppc").unwrap_err().to_string().contains("nearest: `tpcc`"));
    }
}
