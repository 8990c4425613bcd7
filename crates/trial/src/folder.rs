//! The folder of a run: what is measured is written there as it comes, so that nothing is lost when the run is cut off.

use anyhow::{Context, Result};
use deploy::Private;
use result::{Document, Moment, PROGRESS_FILE, RunKind, SCHEMA, State};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

/// A run's folder under `--out`.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Locked as long as we live, so that no other process goes on with this run; not for the folder of a trial.
    _owned: Option<fs::File>,
}

/// What a run has claimed so far: enough to hold the data to it after the run was killed.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClaimsFile<S, C> {
    pub workload: String,
    pub database: String,
    /// What was stored before the first call.
    pub before: S,
    /// What was acknowledged since.
    pub claims: C,
}

impl Folder {
    /// Makes a new folder; its name begins with the time, so that folders sort.
    pub fn create(out: &Path, subject: &str) -> Result<(Folder, Moment, String)> {
        fs::create_dir_all(out).with_context(|| format!("could not create {}", out.display()))?;
        Private::sweep(out);
        let started = now();
        let digits: String = started.utc.chars().filter(char::is_ascii_digit).collect();
        let name: String = subject.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect();
        let base = format!("{}-{}-{name}", &digits[..8], &digits[8..]);
        // Two runs that start in the same second get folders of their own.
        for id in std::iter::once(base.clone()).chain((2..1_000).map(|n| format!("{base}-{n}"))) {
            let path = out.join(&id);
            match fs::create_dir(&path) {
                Ok(()) => return Ok((Folder::own(path)?, started, id)),
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(error).with_context(|| format!("could not create {}", path.display()));
                }
            }
        }
        anyhow::bail!("{} has a thousand runs of this second", out.display())
    }

    /// A new folder of that name.
    ///
    /// # Errors
    /// It exists, or cannot be made.
    pub fn named(out: &Path, name: &str) -> Result<Folder> {
        fs::create_dir_all(out).with_context(|| format!("could not create {}", out.display()))?;
        let path = out.join(name);
        match fs::create_dir(&path) {
            Ok(()) => Folder::own(path),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
                anyhow::bail!(
                    "{} exists: this part has been made, or is under way\nhint: a plan is for one run; write another",
                    path.display()
                )
            }
            Err(error) => Err(error).with_context(|| format!("could not create {}", path.display())),
        }
    }

    /// The folder of a run that goes on. What it has left behind in it is taken away, but for its results.
    ///
    /// # Errors
    /// Another process works on it, or what is left cannot be removed.
    pub fn reopen(path: &Path) -> Result<Folder> {
        let folder = Folder::own(path.to_owned())?;
        Private::discard(path)?;
        Ok(folder)
    }

    fn own(path: PathBuf) -> Result<Folder> {
        let owned = fs::File::open(&path).with_context(|| format!("could not open {}", path.display()))?;
        if owned.try_lock().is_err() {
            anyhow::bail!("another process works on {}", path.display());
        }
        Ok(Folder { path, _owned: Some(owned) })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// An empty folder for one of the run's trials. What an unfinished trial of the same number has left is taken away.
    pub fn trial(&self, name: &str) -> Result<Folder> {
        let number = number_of(name);
        self.discard_trials(|other| Some(other) == number)?;
        let trials = self.path.join("trials");
        let path = trials.join(name);
        let make = || fs::create_dir_all(&trials).and_then(|()| fs::create_dir(&path));
        make().with_context(|| format!("could not create {}", path.display()))?;
        Ok(Folder { path, _owned: None })
    }

    /// Names of the folders of its trials with the numbers that these begin with, in the order of the numbers.
    pub fn trials(&self) -> Result<Vec<(usize, String)>> {
        let trials = self.path.join("trials");
        let list = || -> std::io::Result<Vec<(usize, String)>> {
            if !trials.exists() {
                return Ok(Vec::new());
            }
            let names: Vec<std::ffi::OsString> =
                fs::read_dir(&trials)?.map(|trial| Ok(trial?.file_name())).collect::<std::io::Result<_>>()?;
            let named = names.iter().map(|name| name.to_string_lossy().into_owned());
            let mut found: Vec<(usize, String)> =
                named.filter_map(|name| Some((number_of(&name)?, name))).collect();
            found.sort();
            Ok(found)
        };
        list().with_context(|| format!("could not read {}", trials.display()))
    }

    /// Takes away trials by their number.
    pub fn discard_trials(&self, is_meant: impl Fn(usize) -> bool) -> Result<()> {
        for (_, name) in self.trials()?.into_iter().filter(|(number, _)| is_meant(*number)) {
            let path = self.path.join("trials").join(name);
            fs::remove_dir_all(&path).with_context(|| format!("could not remove {}", path.display()))?;
        }
        Ok(())
    }

    /// Replaces a file as a whole: a reader sees the old one or the new one.
    pub fn put(&self, name: &str, bytes: &[u8]) -> Result<PathBuf> {
        let (path, new) = (self.path.join(name), self.path.join(format!("{name}.new")));
        let write = || -> std::io::Result<()> {
            let mut file = fs::File::create(&new)?;
            file.write_all(bytes)?;
            file.sync_data()?;
            fs::rename(&new, &path)
        };
        write().with_context(|| format!("could not write {}", path.display()))?;
        Ok(path)
    }

    /// Replaces the document, and says where it is.
    pub fn put_document(&self, document: &Document) -> Result<PathBuf> {
        self.put("result.json", result::to_json(document).as_bytes())
    }

    /// What a trial comes to while it runs; goes when its document has been written.
    pub fn progress(&self) -> Result<ProgressFile> {
        let path = self.path.join(PROGRESS_FILE);
        let file = fs::File::create(&path).with_context(|| format!("could not create {}", path.display()))?;
        Ok(ProgressFile { path, file })
    }

    /// Takes away what has been written: there is nothing to tell. The folder itself goes with this value.
    pub fn empty(&self) {
        for name in ["result.json", "part.json", "plan.json", "claims.json", PROGRESS_FILE, "server.log"] {
            // What cannot be removed is seen by the user, and says that it is not a finished result.
            let _ = fs::remove_file(self.path.join(name));
        }
    }

    /// Replaces what has been claimed.
    pub fn put_claims<S: Serialize, C: Serialize>(&self, claims: &ClaimsFile<S, C>) -> Result<PathBuf> {
        self.put("claims.json", &serde_json::to_vec(claims)?)
    }
}

/// An append-only file that is never flushed: nothing of ours disturbs the disk that is measured, and what our process has
/// written survives its own death.
#[derive(Debug)]
pub struct ProgressFile {
    path: PathBuf,
    file: fs::File,
}

impl ProgressFile {
    pub fn append<C: Serialize>(&mut self, line: &result::Progress<C>) -> Result<()> {
        let mut bytes = serde_json::to_vec(line)?;
        bytes.push(b'\n');
        self.file.write_all(&bytes).with_context(|| format!("could not write {}", self.path.display()))
    }

    /// Takes the file away: everything in it has been written elsewhere.
    pub fn discard(self) -> Result<()> {
        fs::remove_file(&self.path).with_context(|| format!("could not remove {}", self.path.display()))
    }
}

impl Drop for Folder {
    /// A run that ended before anything was measured leaves no folder: this fails where there is something in it.
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.path);
    }
}

/// The number that the name of a trial begins with.
fn number_of(trial: &str) -> Option<usize> {
    trial.split('-').next()?.parse().ok()
}

/// The moment of the calendar.
pub(crate) fn now() -> Moment {
    Moment::from_unix(measure::unix_seconds())
}

/// Reads the claims of a run from its folder.
pub fn read_claims<S: DeserializeOwned, C: DeserializeOwned>(folder: &Path) -> Result<ClaimsFile<S, C>> {
    let path = folder.join("claims.json");
    let bytes = fs::read(&path).with_context(|| format!("could not read {}", path.display()))?;
    let mut claims: ClaimsFile<S, C> = serde_json::from_slice(&bytes)
        .with_context(|| format!("{} is not a run's claims", path.display()))?;
    // Of a run that was killed within a trial, the last that it has told.
    let progress = folder.join(PROGRESS_FILE);
    let last =
        result::last_claims(folder).with_context(|| format!("could not read {}", progress.display()))?;
    claims.claims = last.unwrap_or(claims.claims);
    Ok(claims)
}

/// A document without trials.
pub fn document(id: String, started: Moment, kind: RunKind, subjects: &[&str]) -> Document {
    Document {
        schema: SCHEMA.into(),
        id,
        started,
        stackmark: env!("CARGO_PKG_VERSION").into(),
        command: command_line(),
        state: State::Running,
        kind,
        subjects: subjects.iter().map(|subject| (*subject).to_owned()).collect(),
        trials: Vec::new(),
        experiment: None,
        curve: None,
        search: None,
        drill: None,
        confirmation: None,
        notes: Vec::new(),
    }
}

/// The command line that gives this run again. User names and passwords in addresses are left out.
pub(crate) fn command_line() -> Vec<String> {
    let arguments = std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned());
    std::iter::once("stackmark".to_owned())
        .chain(arguments.map(|argument| without_secret(&argument)))
        .collect()
}

/// A text without the user name and password that an address in it may have.
pub(crate) fn without_secret(argument: &str) -> String {
    match (argument.find("://"), argument.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => {
            format!("{}…{}", &argument[..scheme + 3], &argument[at..])
        }
        _ => argument.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_password_gets_into_a_result() {
        assert_eq!(without_secret("http://me:secret@host:80/x"), "http://…@host:80/x");
        assert_eq!(without_secret("--url=http://me:s@cret@host:80"), "--url=http://…@host:80");
        assert_eq!(without_secret("sqlite:a@b.db"), "sqlite:a@b.db");
    }

    #[test]
    fn two_runs_of_one_second_have_two_folders() {
        let out = std::env::temp_dir().join(format!("stackmark-folder-{}", std::process::id()));
        let (one, ..) = Folder::create(&out, "tpcc/x").unwrap();
        let (two, ..) = Folder::create(&out, "tpcc/x").unwrap();
        assert_ne!(one.path(), two.path());
        fs::remove_dir_all(out).unwrap();
    }
}
