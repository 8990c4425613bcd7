//! Every combination that exists, one by one. What is not in this list is not a subject, and asking for it is an error
//! that names the nearest one: nothing is ever measured under another name.

use anyhow::{Result, bail};

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
    /// `workload/engine/how`.
    pub(crate) path: &'static str,
    pub(crate) route: Route,
    /// What it is called in a sentence beside another: `direct`.
    pub(crate) label: &'static str,
    /// One line for the list.
    pub(crate) about: &'static str,
    /// What has to be on the machine.
    pub(crate) needs: &'static str,
}

/// The subjects, defaults first within a workload and within an engine.
pub(crate) const SUBJECTS: &[Subject] = &[
    Subject {
        path: "tpcc/sqlite/rusqlite",
        route: Route::Direct,
        label: "direct",
        about: "TPC-C on SQLite, straight through the driver",
        needs: "nothing: SQLite is compiled in",
    },
    Subject {
        path: "tpcc/sqlite/axum+rusqlite",
        route: Route::Http,
        label: "through HTTP",
        about: "TPC-C on SQLite, through the HTTP server, the same sessions behind it",
        needs: "nothing: server and SQLite are compiled in",
    },
];

/// Workloads that exist.
pub(crate) fn workloads() -> Vec<&'static str> {
    let mut names: Vec<_> = SUBJECTS.iter().map(|subject| part(subject.path, 0)).collect();
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
    // Of equally near ones `max_by` takes the last; the default is the first.
    let nearest = SUBJECTS
        .iter()
        .rev()
        .max_by(|a, b| likeness(a.path, wanted).total_cmp(&likeness(b.path, wanted)))
        .expect("the list is not empty");
    bail!("no subject `{path}`; nearest: `{}`\nhint: `stackmark list` prints all of them", nearest.path)
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
        .max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)))
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
        check("", Err("no subject ``"));
        assert!(workload("tppc").unwrap_err().to_string().contains("nearest: `tpcc`"));
    }
}
