//! `plan.json` in the folder of an experiment: what is to be done, written at once, so that an interrupted one can go on.

use super::bench::trial_name;
use super::order::order;
use super::plan::Experiment;
use crate::folder::Folder;
use anyhow::{Context, Result, bail};
use report::document::{Moment, RunKind, Spent, VariantState};
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::Read;
use std::path::Path;
use xxhash_rust::xxh3::{Xxh3, xxh3_64};

/// The name of the file.
const FILE: &str = "plan.json";

/// An experiment that has been begun.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Underway {
    /// Our version: another one may measure otherwise.
    pub(crate) stackmark: String,
    /// The checksum of our program: so may another build of a version.
    pub(crate) program: String,
    /// The checksum of the file as it is without it; known in the file only.
    pub(crate) checksum: String,
    /// Names the run and its folder.
    pub(crate) id: String,
    /// When it was begun.
    pub(crate) started: Moment,
    /// The command line that began it.
    pub(crate) command: Vec<String>,
    /// [`RunKind::Comparison`] or [`RunKind::Experiment`].
    pub(crate) kind: RunKind,
    /// What is to be done.
    pub(crate) experiment: Experiment,
    /// Blocks that are being run again from their first trial, until the last of them has ended.
    pub(crate) again: Vec<u32>,
    /// Where its time went so far.
    pub(crate) spent: Spent,
}

/// Who takes part in each block: a variant of the plan, or one once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its variant, by its place in the plan.
    pub(crate) variant: usize,
    /// Whether it is there for the noise floor alone.
    pub(crate) control: bool,
    /// What it is called.
    pub(crate) name: String,
}

/// One trial that is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) block: u32,
    /// Its part, by its place in the cast.
    pub(crate) part: usize,
    /// The name of its folder.
    pub(crate) name: String,
}

impl Underway {
    /// Everybody who takes part: the variants in their order, the control of a base right after it.
    pub(crate) fn cast(&self) -> Vec<Part> {
        let variants = &self.experiment.variants;
        let mut cast = Vec::new();
        for (variant, of) in variants.iter().enumerate() {
            cast.push(Part { variant, control: false, name: of.name.clone() });
            if self.experiment.control && variants.iter().any(|other| other.base == Some(variant)) {
                cast.push(Part { variant, control: true, name: format!("{}, again", of.name) });
            }
        }
        cast
    }

    /// Every trial, in the order in which they run.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        let cast = self.cast();
        let mut slots: Vec<Slot> = Vec::new();
        for block in 0..self.experiment.blocks {
            for part in order(block, cast.len(), self.experiment.seed) {
                let name = trial_name(slots.len() + 1, &cast[part].name);
                slots.push(Slot { block, part, name });
            }
        }
        slots
    }

    /// Writes it down, in the place of what was there.
    pub(crate) fn put(&self, folder: &Folder) -> Result<()> {
        let text = serde_json::to_string_pretty(&Underway { checksum: String::new(), ..self.clone() })?;
        let checksum = checksum_of(text.as_bytes());
        folder.put(FILE, text.replacen(EMPTY, &sealed(&checksum), 1).as_bytes()).map(drop)
    }

    /// Reads it back.
    ///
    /// # Errors
    /// The folder is none of an experiment, or one of another version or build, or its plan has been changed.
    pub(crate) fn read(folder: &Path) -> Result<Underway> {
        #[derive(Deserialize)]
        struct Head {
            program: String,
            checksum: String,
        }
        #[derive(Deserialize)]
        struct Version {
            stackmark: String,
        }
        let path = folder.join(FILE);
        let text = fs::read_to_string(&path).with_context(|| {
            format!("{} is no experiment that can go on: could not read {}", folder.display(), path.display())
        })?;
        let broken = || format!("{} is no plan of an experiment", path.display());
        // The version first: a plan of another version may have other fields.
        let Version { stackmark } = serde_json::from_str(&text).with_context(broken)?;
        let ours = env!("CARGO_PKG_VERSION");
        if stackmark != ours {
            bail!(
                "{} was begun by stackmark {stackmark}, and this is {ours}: trials of two versions are not one experiment\n\
                 hint: begin it anew",
                folder.display()
            );
        }
        let head: Head = serde_json::from_str(&text).with_context(broken)?;
        let us = program()?;
        if head.program != us {
            bail!(
                "{} was begun by another build of stackmark {ours} (its program is {}, and this one is {us}): trials of two \
                 programs are not one experiment\nhint: go on with the program that began it, or begin it anew",
                folder.display(),
                head.program
            );
        }
        let found = checksum_of(text.replacen(&sealed(&head.checksum), EMPTY, 1).as_bytes());
        if found != head.checksum {
            bail!(
                "{} has been changed: its checksum is {found}, and was {} when it was written; the trials so far are of \
                 another plan\nhint: begin it anew",
                path.display(),
                head.checksum
            );
        }
        let read = serde_json::from_str(&text).with_context(broken)?;
        Ok(Underway { checksum: String::new(), ..read })
    }
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
pub(crate) fn program() -> Result<String> {
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
    let sum = read().context("could not read our own program, which an experiment is told by")?;
    Ok(format!("xxh3:{:016x}", sum.digest()))
}

/// What has become of a part so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) state: VariantState,
    pub(crate) reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::EngineArgs;
    use crate::experiment::plan::{Place, Variant};
    use sql::Dialect;

    fn underway() -> Underway {
        let variant = |name: &str, base| Variant {
            name: name.into(),
            subject: "tpcc/sqlite/rusqlite".into(),
            base,
            factors: vec!["pool".into()],
            plan: drive::Plan::default(),
            pool: 8,
            server_threads: 1,
            server_limits: None,
            place: Place::of_wishes(Dialect::Sqlite, None, &EngineArgs::default()),
            asked: vec![("pool".into(), "8".into())],
        };
        let experiment = Experiment {
            name: "three".into(),
            question: None,
            workload: "tpcc".into(),
            scale: 1,
            blocks: 3,
            control: true,
            metric: "throughput".into(),
            margin: 0.02,
            max_loss: None,
            seed: 7,
            variants: vec![variant("base", None), variant("B: 8", Some(0)), variant("alone", None)],
            notes: Vec::new(),
            suspicion: None,
        };
        Underway {
            stackmark: env!("CARGO_PKG_VERSION").into(),
            program: program().unwrap(),
            checksum: String::new(),
            id: "x".into(),
            started: crate::folder::now(),
            command: vec!["stackmark".into()],
            kind: RunKind::Experiment,
            experiment,
            again: Vec::new(),
            spent: Spent { total_s: 1.0, ..Spent::default() },
        }
    }

    #[test]
    fn each_base_that_something_is_held_against_runs_once_more() {
        let names = |underway: &Underway| -> Vec<String> {
            underway.cast().into_iter().map(|part| part.name).collect()
        };
        let mut plan = underway();
        assert_eq!(names(&plan), ["base", "base, again", "B: 8", "alone"]);
        plan.experiment.control = false;
        assert_eq!(names(&plan), ["base", "B: 8", "alone"]);
    }

    #[test]
    fn the_same_plan_gives_the_same_slots_so_that_it_can_go_on() {
        let plan = underway();
        let slots = plan.slots();
        assert_eq!(slots.len(), 12);
        assert_eq!(slots, underway().slots());
        assert!(slots[11].name.starts_with("012-"), "{slots:?}");
        assert!(slots.iter().any(|slot| slot.name.ends_with("-b-8")), "{slots:?}");
    }

    #[test]
    fn a_plan_is_read_as_it_was_written_and_one_of_another_version_or_build_is_refused() {
        let out = std::env::temp_dir().join(format!("stackmark-plan-{}", std::process::id()));
        let (folder, ..) = Folder::create(&out, "plan").unwrap();
        let missing = Underway::read(folder.path()).unwrap_err().to_string();
        assert!(missing.contains("no experiment that can go on"), "{missing}");
        let plan = underway();
        plan.put(&folder).unwrap();
        assert_eq!(Underway::read(folder.path()).unwrap(), plan);
        let refused = |other: &Underway, words: &str| {
            other.put(&folder).unwrap();
            let refused = Underway::read(folder.path()).unwrap_err().to_string();
            assert!(refused.contains(words) && refused.contains("begin it anew"), "{refused}");
        };
        refused(&Underway { stackmark: "0.0.1".into(), ..plan.clone() }, "begun by stackmark 0.0.1");
        refused(&Underway { program: "xxh3:1".into(), ..plan.clone() }, "another build of stackmark");
        fs::remove_dir_all(out).unwrap();
    }
}
