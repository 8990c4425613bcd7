//! `plan.json` in the folder of a run of several trials: what is to be done, written at once, so that a run that was cut off
//! can go on.

use crate::RunReporter;
use crate::folder::{self, Folder};
use anyhow::{Context, Result, bail};
use deploy::{Interrupt, ServerSource};
use result::{Document, Moment, RunKind, Spent};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The name of the file.
const FILE: &str = "plan.json";

/// A run that has been begun, to carry out a plan.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunState<P> {
    /// Our version: another one may measure otherwise.
    stackmark: String,
    /// The checksum of our program: so may another build of a version.
    program: String,
    /// The checksum of the file as it is without it; known in the file only.
    checksum: String,
    /// Names the run and its folder.
    pub id: String,
    /// When it was begun.
    pub started: Moment,
    /// The command line that began it.
    pub command: Vec<String>,
    /// The workload of all its trials.
    workload: String,
    /// Servers that it was given by their folders.
    servers: Vec<ServerSource>,
    /// What kind of run it is; never [`RunKind::Trial`], which cannot go on.
    pub kind: RunKind,
    /// When it was cut off and went on, and what that cost, a sentence each.
    pub notes: Vec<String>,
    /// Blocks that are being run again from their first trial, until the last of them has ended.
    pub again: Vec<u32>,
    /// Where its time went so far.
    pub spent: Spent,
    /// What is to be done, with every default filled in.
    pub plan: P,
}

/// Where a run is carried out, who sees it, and who may end it.
#[derive(Debug, Clone, Copy)]
pub struct RunContext<'a> {
    /// The folder of the run.
    pub folder: &'a Folder,
    pub reporter: &'a dyn RunReporter,
    /// Who may end it.
    pub interrupt: &'a Interrupt,
}

impl<P: Serialize + Clone> RunState<P> {
    pub(crate) fn new(
        id: String,
        started: Moment,
        workload: &str,
        kind: RunKind,
        plan: P,
    ) -> Result<RunState<P>> {
        Ok(RunState {
            stackmark: env!("CARGO_PKG_VERSION").into(),
            program: program()?,
            checksum: String::new(),
            id,
            started,
            command: folder::command_line(),
            workload: workload.to_owned(),
            servers: deploy::server_sources(),
            kind,
            notes: Vec::new(),
            again: Vec::new(),
            spent: Spent::default(),
            plan,
        })
    }

    /// A document of it without trials.
    pub fn document(&self, subjects: &[&str]) -> Document {
        let mut document = folder::document(self.id.clone(), self.started.clone(), self.kind, subjects);
        document.command.clone_from(&self.command);
        document.notes.clone_from(&self.notes);
        document
    }

    /// Writes it down, in the place of what was there.
    pub fn put(&self, folder: &Folder) -> Result<()> {
        let text = serde_json::to_string_pretty(&RunState { checksum: String::new(), ..self.clone() })?;
        let checksum = checksum_of(text.as_bytes());
        folder.put(FILE, text.replacen(EMPTY, &sealed(&checksum), 1).as_bytes()).map(drop)
    }
}

/// The file of a run that may go on: of this version and build, and as it was written.
#[derive(Debug)]
pub struct SavedPlan {
    path: PathBuf,
    text: String,
    /// The workload of its trials.
    pub workload: String,
    /// Servers that it was given by their folders, to be given again.
    pub servers: Vec<ServerSource>,
    /// Tells what its plan is.
    pub kind: RunKind,
}

impl SavedPlan {
    /// Reads it.
    ///
    /// # Errors
    /// The folder is of no run that can go on, or of one of another version or build, or its plan has been changed.
    pub fn read(folder: &Path) -> Result<SavedPlan> {
        #[derive(Deserialize)]
        struct Head {
            program: String,
            checksum: String,
            workload: String,
            servers: Vec<ServerSource>,
            kind: RunKind,
        }
        #[derive(Deserialize)]
        struct Version {
            stackmark: String,
        }
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path).with_context(|| {
            format!("cannot resume {}: could not read {}", folder.display(), path.display())
        })?;
        // The version first: a plan of another version may have other fields.
        let Version { stackmark } = serde_json::from_str(&text).with_context(|| broken(&path))?;
        let version = env!("CARGO_PKG_VERSION");
        if stackmark != version {
            bail!(
                "{} was started by stackmark {stackmark}, and this is {version}: a run has trials of one version only\n\
                 hint: start a new run",
                folder.display()
            );
        }
        let head: Head = serde_json::from_str(&text).with_context(|| broken(&path))?;
        let program = program()?;
        if head.program != program {
            bail!(
                "{} was started by another build of stackmark {version} (its program is {}, and this one is {program}): a run has trials of one program only\nhint: resume with the program that started it, or start a new run",
                folder.display(),
                head.program
            );
        }
        let found = checksum_of(text.replacen(&sealed(&head.checksum), EMPTY, 1).as_bytes());
        if found != head.checksum {
            bail!(
                "{} has been changed: its checksum is {found}, and was {} when it was written; the trials so far are of \
                 another plan\nhint: start a new run",
                path.display(),
                head.checksum
            );
        }
        Ok(SavedPlan { path, text, workload: head.workload, servers: head.servers, kind: head.kind })
    }

    /// The run.
    pub fn open<P: DeserializeOwned>(&self) -> Result<RunState<P>> {
        let read: RunState<P> = serde_json::from_str(&self.text).with_context(|| broken(&self.path))?;
        Ok(RunState { checksum: String::new(), ..read })
    }
}

fn broken(path: &Path) -> String {
    format!("{} is not a plan of a run", path.display())
}

/// How the checksum stands in the file: while it is not known yet, and then.
const EMPTY: &str = r#""checksum": """#;

fn sealed(checksum: &str) -> String {
    format!(r#""checksum": "{checksum}""#)
}

fn checksum_of(bytes: &[u8]) -> String {
    format!("xxh3:{:016x}", xxh3_64(bytes))
}

/// The checksum of the program that runs.
fn program() -> Result<String> {
    // Where there is one, the link that still leads to a program that has been replaced since it was started.
    let link = Path::new("/proc/self/exe");
    let path = if link.exists() { link.to_owned() } else { std::env::current_exe()? };
    let read = || -> std::io::Result<Xxh3> {
        let (mut file, mut sum, mut part) = (fs::File::open(&path)?, Xxh3::new(), vec![0; 1 << 18]);
        loop {
            match file.read(&mut part)? {
                0 => return Ok(sum),
                bytes => sum.update(&part[..bytes]),
            }
        }
    };
    let sum = read().context("could not read the program file of stackmark, which identifies a run")?;
    Ok(format!("xxh3:{:016x}", sum.digest()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_is_read_as_it_was_written_and_one_of_another_version_build_or_content_is_refused() {
        let out = std::env::temp_dir().join(format!("stackmark-plan-{}", std::process::id()));
        let (folder, ..) = Folder::create(&out, "plan").unwrap();
        let read = || SavedPlan::read(folder.path()).and_then(|sealed| sealed.open::<Vec<f64>>());
        let missing = read().unwrap_err().to_string();
        assert!(missing.contains("cannot resume"), "{missing}");
        let run =
            RunState::new("x".into(), folder::now(), "tpcc", RunKind::Experiment, vec![1.0, 2.5]).unwrap();
        run.put(&folder).unwrap();
        assert_eq!(read().unwrap(), run);
        assert_eq!(SavedPlan::read(folder.path()).unwrap().kind, RunKind::Experiment);
        let refused = |words: &str| {
            let refused = read().unwrap_err().to_string();
            assert!(refused.contains(words) && refused.contains("start a new run"), "{refused}");
        };
        RunState { stackmark: "0.0.1".into(), ..run.clone() }.put(&folder).unwrap();
        refused("started by stackmark 0.0.1");
        RunState { program: "xxh3:1".into(), ..run.clone() }.put(&folder).unwrap();
        refused("another build of stackmark");
        run.put(&folder).unwrap();
        let file = folder.path().join(FILE);
        fs::write(&file, fs::read_to_string(&file).unwrap().replace("2.5", "2.6")).unwrap();
        refused("has been changed");
        fs::remove_dir_all(out).unwrap();
    }
}
