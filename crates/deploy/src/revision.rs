//! A revision of a folder in a git repository, checked out into a work tree of its own: outside of the user's, whose state it
//! neither sees nor changes, and gone with the value that stands for it.

use crate::Private;
use crate::manifest::{FILE, without_ours};
use anyhow::{Context, Result, bail};
use std::ffi::{OsStr, OsString};
use std::fs::{self, DirBuilder};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

/// Where work trees lie in the base folder of what is private to us.
const FOLDER: &str = "revisions";
/// The work tree in its private folder.
const TREE: &str = "tree";
/// The file next to it that says which repository knows of it.
const REPOSITORY: &str = "repository";
/// Variables by which git is told of another repository than the one that a folder is in, as in a hook of git's.
const ELSEWHERE: [&str; 7] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_COMMON_DIR",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
];

/// A folder with a server as it was at a commit.
#[derive(Debug)]
pub(crate) struct Committed {
    /// The commit, in full.
    pub(crate) commit: String,
    /// What is common to all work trees of the repository.
    repository: PathBuf,
    /// The folder in the repository; empty for the topmost.
    inside: PathBuf,
}

impl Committed {
    /// What a revision (a branch, a tag, a commit, `HEAD~1`) means in the repository that a folder is in.
    ///
    /// # Errors
    /// The folder is in no repository, that has no such revision, or the folder has no manifest there.
    pub(crate) fn of(folder: &Path, revision: &str) -> Result<Committed> {
        // A folder that is gone by now may be there in the revision.
        let here = folder.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
        let gone = folder.strip_prefix(here).unwrap_or(Path::new(""));
        let ask = |arguments: &[&str]| {
            let arguments: Vec<&OsStr> = arguments.iter().map(OsStr::new).collect();
            git(Some(here), &arguments)
        };
        let repository = ask(&["rev-parse", "--git-common-dir"]).with_context(|| {
            format!("{} is in no git repository, so that it has no revision `{revision}`", folder.display())
        })?;
        let inside = Path::new(&ask(&["rev-parse", "--show-prefix"])?).join(gone);
        let found = ask(&["rev-parse", "--verify", "--quiet", &format!("{revision}^{{commit}}")]);
        let commit = found.ok().and_then(|commit| commit.into_string().ok());
        // A range or a negation is something else.
        let commit =
            commit.filter(|commit| commit.len() >= 40 && commit.bytes().all(|b| b.is_ascii_hexdigit()));
        let commit = commit.with_context(|| {
            format!(
                "no revision `{revision}` in the git repository of {}\nhint: a branch, a tag, a commit, or HEAD~1",
                folder.display()
            )
        })?;
        let file = inside.join(FILE);
        let mut object = OsString::from(format!("{commit}:"));
        object.push(&file);
        if !git(Some(here), &["cat-file".as_ref(), "-t".as_ref(), &object]).is_ok_and(|kind| kind == "blob") {
            bail!("revision `{revision}` ({}) has no {}", short(&commit), file.display());
        }
        Ok(Committed { commit, repository: here.join(repository), inside })
    }

    /// Checks it out; and removes what killed runs have left of theirs.
    ///
    /// # Errors
    /// There can be no folder for it, or git says why not.
    pub(crate) fn check_out(&self) -> Result<Tree> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let all = rig::folder()?.join(FOLDER);
        sweep(&all);
        let run = all.join(format!("{}-{}", std::process::id(), NUMBER.fetch_add(1, Ordering::Relaxed)));
        let made = DirBuilder::new().recursive(true).mode(0o700).create(&run);
        made.with_context(|| format!("could not create {}", run.display()))?;
        let private = Private::create(&run)?;
        let repository = self.repository.canonicalize();
        let repository =
            repository.with_context(|| format!("could not find {}", self.repository.display()))?;
        // Before git notes the work tree: nothing that we leave behind may be unknown.
        let file = private.path().join(REPOSITORY);
        fs::write(&file, repository.as_os_str().as_bytes())
            .with_context(|| format!("could not write {}", file.display()))?;
        let tree = Tree { run, folder: private.path().join(TREE).join(&self.inside), private: Some(private) };
        let place = tree.place();
        let words = ["worktree", "add", "--quiet", "--detach"].map(OsStr::new);
        let end = [place.as_os_str(), OsStr::new(&self.commit)];
        git_of(&repository, &[&words[..], &end].concat())
            .with_context(|| format!("could not check out commit {}", short(&self.commit)))?;
        Ok(tree)
    }
}

/// A work tree, which goes with this value.
#[derive(Debug)]
pub(crate) struct Tree {
    /// Holds the private folder.
    run: PathBuf,
    /// What was asked for, in the work tree.
    pub(crate) folder: PathBuf,
    private: Option<Private>,
}

impl Tree {
    fn place(&self) -> PathBuf {
        self.run.join(Private::NAME).join(TREE)
    }
}

impl Drop for Tree {
    fn drop(&mut self) {
        remove_work_tree(&self.run.join(Private::NAME));
        self.private = None;
        let _ = fs::remove_dir(&self.run);
    }
}

/// Removes the work trees of runs that were killed.
fn sweep(all: &Path) {
    for private in Private::abandoned(all) {
        remove_work_tree(&private);
        let _ = fs::remove_dir_all(&private);
        let _ = private.parent().map(fs::remove_dir);
    }
}

/// Takes the work tree in a private folder away, and from what its repository knows. Not by `git worktree prune`: that also
/// forgets work trees of the user's that are on a disk which is not there.
fn remove_work_tree(private: &Path) {
    let Ok(repository) = fs::read(private.join(REPOSITORY)) else { return };
    let tree = private.join(TREE);
    // What is half checked out has no work tree that git would remove; what is gone it forgets.
    let _ = fs::remove_dir_all(&tree);
    // Twice: git holds a work tree locked until it is checked out as a whole.
    let words = ["worktree", "remove", "--force", "--force"].map(OsStr::new);
    // There may be not a repository any more, which then knows of nothing.
    let _ = git_of(Path::new(OsStr::from_bytes(&repository)), &[&words[..], &[tree.as_os_str()]].concat());
}

/// A commit as reports show it.
pub(crate) fn short(commit: &str) -> &str {
    const SHOWN: usize = 10;
    commit.get(..SHOWN).unwrap_or(commit)
}

fn git_of(repository: &Path, arguments: &[&OsStr]) -> Result<OsString> {
    let mut named = OsString::from("--git-dir=");
    named.push(repository);
    git(None, &[&[named.as_os_str()], arguments].concat())
}

/// What git says, in a folder or in ours, without the end of its last line.
fn git(folder: Option<&Path>, arguments: &[&OsStr]) -> Result<OsString> {
    let mut command = Command::new("git");
    // Hooks are for the user's own work: one of them would run at each checkout.
    command.args(["-c", "core.hooksPath=/dev/null"]).args(arguments).stdin(Stdio::null());
    command.envs([("LC_ALL", "C"), ("GIT_TERMINAL_PROMPT", "0")]);
    if let Some(folder) = folder {
        command.current_dir(folder);
    }
    without_ours(&mut command);
    for name in ELSEWHERE {
        command.env_remove(name);
    }
    let ran = command.output().context("could not start git, which revisions of a server are taken from")?;
    if !ran.status.success() {
        let text = String::from_utf8_lossy(&ran.stderr);
        bail!("git: {}", text.trim().trim_start_matches("fatal: "));
    }
    let mut text = ran.stdout;
    text.pop_if(|last| *last == b'\n');
    Ok(OsString::from_vec(text))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with a server in `mine`, and its first commit.
    fn repository() -> (tempfile::TempDir, String) {
        let folder = tempfile::tempdir().unwrap();
        let run = |words: &[&str]| {
            let words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
            git(Some(folder.path()), &words).unwrap()
        };
        run(&["init", "--quiet"]);
        fs::create_dir(folder.path().join("mine")).unwrap();
        fs::write(folder.path().join("mine").join(FILE), "one").unwrap();
        run(&["add", "."]);
        run(&["-c", "user.name=a", "-c", "user.email=a@b", "commit", "--quiet", "--message", "one"]);
        let commit = run(&["rev-parse", "HEAD"]).into_string().unwrap();
        (folder, commit)
    }

    #[test]
    fn what_a_killed_run_has_checked_out_is_forgotten_by_its_repository_too() {
        let (folder, commit) = repository();
        let (out, mine) = (tempfile::tempdir().unwrap(), folder.path().join("mine"));
        let known =
            || git(Some(&mine), &["worktree".as_ref(), "list".as_ref()]).unwrap().into_string().unwrap();
        // One of which only the beginning is there, and one that someone has removed.
        for (run, whole) in [("1-0", true), ("2-0", false)] {
            let private = out.path().join(run).join(Private::NAME);
            fs::create_dir_all(&private).unwrap();
            fs::write(private.join("owner"), "").unwrap();
            let of = folder.path().join(".git");
            fs::write(private.join(REPOSITORY), of.as_os_str().as_bytes()).unwrap();
            let tree = private.join(TREE);
            git_of(&of, &["worktree".as_ref(), "add".as_ref(), "--detach".as_ref(), tree.as_os_str()])
                .unwrap();
            if whole {
                fs::remove_file(tree.join(".git")).unwrap();
            } else {
                fs::remove_dir_all(&tree).unwrap();
            }
        }
        let elsewhere = tempfile::tempdir().unwrap();
        let of_the_user = elsewhere.path().join("mine");
        git(
            Some(&mine),
            &["worktree".as_ref(), "add".as_ref(), "--detach".as_ref(), of_the_user.as_os_str()],
        )
        .unwrap();
        fs::remove_dir_all(&of_the_user).unwrap();
        assert_eq!(known().lines().count(), 4, "{}", known());
        sweep(out.path());
        // The user's own is on a disk that is not there just now.
        assert_eq!(known().lines().count(), 2, "{}", known());
        assert_eq!(fs::read_dir(out.path()).unwrap().count(), 0);
        assert_eq!(Committed::of(&mine, "HEAD").unwrap().commit, commit);
    }

    #[test]
    fn a_folder_that_is_gone_is_found_in_the_revision_that_has_it() {
        let (folder, commit) = repository();
        let mine = folder.path().join("mine");
        fs::remove_dir_all(&mine).unwrap();
        for revision in ["HEAD", "@", &commit, &commit[..8]] {
            let found = Committed::of(&mine, revision).unwrap();
            assert_eq!((found.commit.as_str(), found.inside.as_path()), (commit.as_str(), Path::new("mine")));
        }
        for revision in ["^HEAD", "HEAD..HEAD", "HEAD:mine", "nowhere", "HEAD~1"] {
            let listed = Committed::of(&mine, revision).unwrap_err().to_string();
            assert!(listed.contains(&format!("no revision `{revision}` in the git repository")), "{listed}");
        }
    }
}
