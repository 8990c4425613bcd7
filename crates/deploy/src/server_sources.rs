//! Servers that are given by their folder, wherever that lies, or by a revision of it (`--server PATH[@REVISION]`): subjects next to
//! those of [`crate::subjects`], for as long as this process runs.

use crate::manifest::FILE;
use crate::revision::{Committed, Tree, short};
use crate::subjects::{self, Subject};
use crate::{Interrupt, Manifest};
use anyhow::{Context, Result, bail};
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Characters of a revision that are a part of subjects; a longer one ends in its commit.
const NAME_MAX: usize = 40;

/// Where a server is from, so that it can be given again when a run is resumed: by then a branch may be somewhere else.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSource {
    /// The folder of its manifest, from the root.
    folder: PathBuf,
    revision: Option<Revision>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Revision {
    /// What it is called in subjects: `main`.
    name: String,
    /// The commit, in full.
    commit: String,
}

/// What was given to this process.
#[derive(Default)]
struct All {
    servers: Vec<(ServerSource, &'static [Subject])>,
    /// Work trees of revisions.
    trees: Vec<Tree>,
}

static ALL: Mutex<All> = Mutex::new(All { servers: Vec::new(), trees: Vec::new() });

fn all() -> MutexGuard<'static, All> {
    ALL.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The servers that were given so far, for a run that may be resumed.
pub fn server_sources() -> Vec<ServerSource> {
    all().servers.iter().map(|(values, _)| values.clone()).collect()
}

/// Gives servers that were given to a run before.
pub fn restore_sources(servers: &[ServerSource]) -> Result<()> {
    servers.iter().try_for_each(|values| values.take(&values.folder.display().to_string()).map(drop))
}

/// Removes the work trees of all revisions. To be called when nothing runs any more.
pub fn remove_work_trees() {
    all().trees.clear();
}

/// The subject of this path, if a server was given that serves it.
pub(crate) fn subject(path: &str) -> Option<&'static Subject> {
    all().servers.iter().flat_map(|(_, subjects)| *subjects).find(|subject| subject.path == path)
}

impl ServerSource {
    /// Reads its manifest, from a work tree of its revision where it has one; once, however often it is given. `shown` is what the
    /// user calls it.
    fn take(&self, shown: &str) -> Result<&'static [Subject]> {
        if let Some((_, subjects)) = all().servers.iter().find(|(known, _)| known == self) {
            return Ok(subjects);
        }
        let subjects = match &self.revision {
            Some(revision) => self.check_out(revision, shown)?,
            // One that is in the folder of servers is a subject already.
            None => match subjects::of_folder(&self.folder)? {
                found if found.is_empty() => offered(Manifest::read(&self.folder.join(FILE))?)?,
                found => found,
            },
        };
        let subjects: &'static [Subject] = subjects.leak();
        all().servers.push((self.clone(), subjects));
        Ok(subjects)
    }

    fn check_out(&self, revision: &Revision, shown: &str) -> Result<Vec<Subject>> {
        // From here on there is something to be removed.
        let interrupt = Interrupt::listen()?;
        let tree = Committed::of(&self.folder, &revision.commit)?.check_out()?;
        let manifest = Manifest::of_revision(&tree.folder, shown, &revision.name, &revision.commit);
        all().trees.push(tree);
        if interrupt.requested() {
            bail!("interrupted while {shown} was checked out");
        }
        offered(manifest?)
    }
}

/// What a server offers, none of which is there already.
fn offered(manifest: Manifest) -> Result<Vec<Subject>> {
    let known = subjects::all()?;
    let taken = |path: &str| subject(path).is_some() || known.iter().any(|known| known.path == path);
    subjects::with_servers(Vec::new(), [manifest], &taken)
}

/// A server that was given, with what it serves.
#[derive(Debug)]
pub struct SourceSubjects {
    /// What the user calls it: `./mine@main`.
    shown: String,
    subjects: &'static [Subject],
}

impl SourceSubjects {
    /// The server of `PATH` or `PATH@REVISION`; the latter is checked out, and built when it is started.
    ///
    /// # Errors
    /// There is no server in that folder, or not in that revision; its manifest has a mistake; there is a subject of that name
    /// already; or the user has interrupted.
    pub fn of(text: &str) -> Result<SourceSubjects> {
        let (folder, revision) = parse(text, |folder| Path::new(folder).is_dir())?;
        let folder = std::path::absolute(folder).with_context(|| format!("`{text}` is not a folder"))?;
        let revision = revision.map(|revision| -> Result<Revision> {
            let commit = Committed::of(&folder, revision)?.commit;
            Ok(Revision { name: name(revision, &commit), commit })
        });
        let values = ServerSource { folder, revision: revision.transpose()? };
        Ok(SourceSubjects { shown: text.to_owned(), subjects: values.take(text)? })
    }

    /// The one subject that it serves, of those that `wanted` names or begins: `tpcc/postgres`. The revision may be left out of it.
    ///
    /// # Errors
    /// There is none, or several; or a program of the server is missing.
    pub fn only(&self, wanted: Option<&str>) -> Result<&'static Subject> {
        match self.within(wanted)?[..] {
            [subject] => {
                subject.can_start()?;
                Ok(subject)
            }
            ref several => Err(ambiguous(&self.shown, several)),
        }
    }

    /// The one subject that it serves on the workload and the engine of another, or that is likest to it.
    pub fn beside(&self, other: &'static Subject) -> Result<&'static Subject> {
        let found = likest(&[other], &self.within(None)?);
        let [(_, subject)] = found[..] else { return Err(self.ambiguous_in(&found)) };
        subject.can_start()?;
        Ok(subject)
    }

    /// The one subject that both serve, each its own; of those that `wanted` means.
    pub fn with(
        &self,
        other: &SourceSubjects,
        wanted: Option<&str>,
    ) -> Result<(&'static Subject, &'static Subject)> {
        let found = likest(&self.within(wanted)?, &other.within(wanted)?);
        let [(a, b)] = found[..] else { return Err(other.ambiguous_in(&found)) };
        a.can_start()?;
        b.can_start()?;
        Ok((a, b))
    }

    fn ambiguous_in(&self, pairs: &[(&'static Subject, &'static Subject)]) -> anyhow::Error {
        let mut subjects: Vec<&'static Subject> = Vec::new();
        for (_, subject) in pairs {
            if !subjects.contains(subject) {
                subjects.push(subject);
            }
        }
        ambiguous(&self.shown, &subjects)
    }

    fn within(&self, wanted: Option<&str>) -> Result<Vec<&'static Subject>> {
        let Some(wanted) = wanted else { return Ok(self.subjects.iter().collect()) };
        let path = subjects::current(wanted);
        let path = path.trim_end_matches('/');
        let having = |has: &dyn Fn(&str) -> bool| -> Vec<&'static Subject> {
            self.subjects
                .iter()
                .filter(|subject| has(subject.path) || has(&subject.path_without_revision()))
                .collect()
        };
        let named = having(&|known| known == path);
        let found = match named.is_empty() {
            true => having(&|known| known.strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))),
            false => named,
        };
        if found.is_empty() {
            bail!(
                "`{}` does not serve `{wanted}`; it serves {}",
                self.shown,
                listed(&self.subjects.iter().collect::<Vec<_>>())
            );
        }
        Ok(found)
    }
}

/// Of all pairs those that agree most: in the workload, then in the engine, then in how the server speaks to that.
fn likest(a: &[&'static Subject], b: &[&'static Subject]) -> Vec<(&'static Subject, &'static Subject)> {
    let alike = |(a, b): &(&Subject, &Subject)| {
        (a.workload() == b.workload(), a.how.dialect == b.how.dialect, a.offered() == b.offered())
    };
    let pairs: Vec<_> = a.iter().flat_map(|a| b.iter().map(move |b| (*a, *b))).collect();
    let most = pairs.iter().map(alike).max();
    pairs.into_iter().filter(|pair| Some(alike(pair)) == most).collect()
}

fn ambiguous(shown: &str, subjects: &[&Subject]) -> anyhow::Error {
    anyhow::anyhow!(
        "`{shown}` serves more than one subject: {}\nhint: name one of them with --server",
        listed(subjects)
    )
}

fn listed(subjects: &[&Subject]) -> String {
    subjects.iter().map(|subject| subject.path).collect::<Vec<_>>().join(", ")
}

/// The folder and the revision in what was typed. An `@` may be in either: what is a folder is one.
fn parse(text: &str, is_folder: impl Fn(&str) -> bool) -> Result<(&str, Option<&str>)> {
    if is_folder(text) || !text.contains('@') {
        return Ok((text, None));
    }
    let mut places = text.rmatch_indices('@').map(|(at, _)| at);
    let first = text.find('@').unwrap_or_default();
    let at = places.find(|at| is_folder(&text[..*at])).unwrap_or(first);
    let (folder, revision) = (&text[..at], &text[at + 1..]);
    if folder.is_empty() || revision.is_empty() {
        bail!(
            "`{text}` is not a PATH@REVISION: a folder, an @, and a revision of git's, such as ./mine@main"
        );
    }
    if revision.starts_with('-') {
        bail!("`{text}`: a revision of git's does not begin with `-`");
    }
    Ok((folder, Some(revision)))
}

/// What a revision is called as a part of a subject, whose parts a `/` sets apart.
fn name(revision: &str, commit: &str) -> String {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.~^@{}".contains(letter);
    let name: String = revision.chars().map(|letter| if fits(letter) { letter } else { '-' }).collect();
    if name.len() <= NAME_MAX {
        return name;
    }
    let commit = short(commit);
    format!("{}-{commit}", &name[..NAME_MAX - commit.len() - 1])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Result<(&str, Option<&str>), &str>) {
        let folders = ["mine", "a@b", "./a@b", ".", "x@main"];
        match (parse(text, |folder| folders.contains(&folder)), expected) {
            (Ok(found), Ok(expected)) => assert_eq!(found, expected, "{text}"),
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{error}"),
            (found, expected) => panic!("{text}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn a_path_and_a_revision_are_told_apart_whichever_has_an_at() {
        check("mine", Ok(("mine", None)));
        check("nowhere", Ok(("nowhere", None)));
        check("mine@main", Ok(("mine", Some("main"))));
        check("mine@feature/x", Ok(("mine", Some("feature/x"))));
        check("mine@HEAD@{1}", Ok(("mine", Some("HEAD@{1}"))));
        check("mine@@", Ok(("mine", Some("@"))));
        check(".@HEAD~1", Ok((".", Some("HEAD~1"))));
        check("a@b", Ok(("a@b", None)));
        check("x@main", Ok(("x@main", None)));
        check("./a@b@main", Ok(("./a@b", Some("main"))));
        check("a@b@HEAD@{1}", Ok(("a@b", Some("HEAD@{1}"))));
        check("gone@main", Ok(("gone", Some("main"))));
        check("mine@", Err("is not a PATH@REVISION"));
        check("@main", Err("is not a PATH@REVISION"));
        check("@", Err("is not a PATH@REVISION"));
        check("mine@--output=x", Err("does not begin with `-`"));
        check("mine@-", Err("does not begin with `-`"));
    }

    #[test]
    fn a_revision_is_one_part_of_a_subject_however_it_is_spelled() {
        let commit = "0123456789abcdef0123456789abcdef01234567";
        assert_eq!(name("HEAD~1", commit), "HEAD~1");
        assert_eq!(name("feature/x", commit), "feature-x");
        assert_eq!(name(":/say \u{1b}é", commit), "--say---");
        let long = name(&"x".repeat(200), commit);
        assert!(long.len() == NAME_MAX && long.ends_with("x-0123456789"), "{long}");
        assert_eq!(name(commit, commit), commit);
    }
}
