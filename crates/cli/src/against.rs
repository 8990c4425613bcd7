//! `stackmark compare BASE SUBJECT`, where BASE is a stored result: the subject is measured as the base was, trial by trial, and
//! compared with it.

use crate::args::{self, Cli, Command};
use anyhow::{Context, Result, bail};
use clap::Parser;
use deploy::{SourceSubjects, Subject, subjects};
use model::Nanos;
use result::{Document, State, Trial};
use schedule::factors;
use schedule::plan::Experiment;
use std::path::Path;
use workload::Benchmark;

/// The fewest trials of a base that an interval can be given for.
const TRIALS_MIN: usize = 3;

/// The first side of a comparison, which another run has measured.
#[derive(Debug)]
pub(crate) struct StoredBase {
    /// Where it is stored.
    path: String,
    subject: String,
    /// All its trials, each whole.
    pub(crate) trials: Vec<Trial>,
}

/// The stored result that a subject is to be compared with, and what names the subject, if one of the sides is such a result.
pub(crate) fn base_of(args: &args::Compare) -> Option<(&Path, Option<&str>)> {
    if args.confirm_bottleneck || args.source.len() > 1 {
        return None;
    }
    let (base, subject) = match args.sides.as_slice() {
        [base] => (base, None),
        [base, subject] if !Path::new(subject).exists() => (base, Some(subject.as_str())),
        _ => return None,
    };
    let base = Path::new(base);
    // A folder may have the name of a subject.
    (base.is_file() || base.join("result.json").is_file()).then_some((base, subject))
}

/// Reads a base; gives as well the subject that is to be measured, and the command that measures it as the base was.
///
/// # Errors
/// The base cannot be read, is of another machine, has too few trials, or its command cannot be carried out again; or more is asked
/// for than can be chosen here.
pub(crate) fn read(
    path: &Path,
    subject: Option<&str>,
    args: &args::Compare,
) -> Result<(StoredBase, &'static Subject, args::Compare)> {
    only_choices(args)?;
    let document = result::read(path)?;
    let named = path.display().to_string();
    let trials = trials_of(&document, &named)?;
    if let Some(difference) = trial::machine_difference(&trials) {
        bail!(
            "{named} was measured with {difference}: results of two machines or kernels cannot be compared\nhint: measure both sides \
             here, with `stackmark compare`"
        );
    }
    let base = StoredBase { path: named, subject: trials[0].subject.clone(), trials };
    let mut asked = repeated(&document, &base.path)?;
    // The environment may name a database as well, now or then.
    let names_db = |words: &[String]| words.iter().any(|word| word == "--db" || word.starts_with("--db="));
    if names_db(&std::env::args().collect::<Vec<_>>()) {
        asked.data.db.clone_from(&args.data.db);
    } else if !names_db(&document.command) {
        asked.data.db.clear();
    }
    // User names and passwords are not in a result.
    if let Some(url) = asked.data.db.iter().find(|url| url.contains("://…@")) {
        bail!(
            "{} was measured at {url}\nhint: give its address with the user name again, by --db",
            base.path
        );
    }
    let subject = match &args.source[..] {
        [] => subjects::find_here(subject.unwrap_or(&base.subject))?,
        [server, ..] => {
            let offered = SourceSubjects::of(server)?;
            let of_base = format!("{}/{}", base.trials[0].data.workload, base.trials[0].stack.engine);
            match subject {
                Some(subject) => offered.only(Some(subject))?,
                None => offered.only(Some(&base.subject)).or_else(|_| offered.only(Some(&of_base)))?,
            }
        }
    };
    if subject.workload() != base.trials[0].data.workload {
        bail!(
            "{} is of the workload {}, and {} of {}: their rates cannot be compared",
            base.path,
            base.trials[0].data.workload,
            subject.path,
            subject.workload()
        );
    }
    let asked = args::Compare {
        sides: vec![subject.path.to_owned(); 2],
        data: asked.data.clone(),
        // The trials are as many and as long as those of the base.
        quick: false,
        time: None,
        precision: None,
        ..with_choices(asked, args)
    };
    Ok((base, subject, asked))
}

/// A command with what can be chosen although there is a base, as another one has it.
fn with_choices(of: args::Compare, chosen: &args::Compare) -> args::Compare {
    args::Compare {
        sides: chosen.sides.clone(),
        source: chosen.source.clone(),
        max_loss: chosen.max_loss,
        accept_inconclusive: chosen.accept_inconclusive,
        metric: chosen.metric.clone(),
        factor: chosen.factor.clone(),
        data: args::DataArgs { db: chosen.data.db.clone(), ..of.data },
        checks: chosen.checks.clone(),
        live: chosen.live.clone(),
        out: chosen.out.clone(),
        ..of
    }
}

/// Fails where an option was given that the base decides on.
fn only_choices(args: &args::Compare) -> Result<()> {
    let words = ["stackmark", "compare"].into_iter().chain(args.sides.iter().map(String::as_str));
    let Command::Compare(plain) = Cli::try_parse_from(words)?.command else {
        unreachable!("the command is compare");
    };
    if *args != with_choices(plain, args) {
        bail!(
            "a subject that is compared with a stored result is measured as that was: its load, data, engine, server and number of \
             trials\nhint: leave these options out; --db, --metric, --max-loss, --accept-inconclusive, --factor, --require-audit and \
             those of the output can be chosen"
        );
    }
    Ok(())
}

/// The trials of a result that count for its first variant: its own, those of its A/A control, and of what is the same once more.
fn trials_of(document: &Document, path: &str) -> Result<Vec<Trial>> {
    if document.state != State::Complete {
        bail!("{path} is {}, and only a complete result can be a base", document.state.word());
    }
    let again = |subject: &str| {
        format!(
            "a base is made by `stackmark compare {subject} {subject} --trials`, which measures ten trials of it"
        )
    };
    let numbers: Vec<usize> = match &document.experiment {
        Some(experiment) if experiment.variants.iter().any(|variant| variant.stored) => {
            bail!("{path} compares with a stored result itself\nhint: give that one, or make a base again")
        }
        Some(experiment) => {
            let first = experiment.variants.first().context("the experiment has no variant")?;
            let same = |variant: &&result::Variant| {
                variant.subject == first.subject && variant.settings == first.settings
            };
            let mut numbers: Vec<usize> = experiment
                .variants
                .iter()
                .filter(same)
                .flat_map(|variant| variant.trials.iter().flatten())
                .copied()
                .collect();
            numbers.sort_unstable();
            numbers
        }
        None if document.search.is_none() && document.curve.is_none() => (0..document.trials.len()).collect(),
        None => bail!("{path} is a sweep or a search, whose trials have different loads"),
    };
    let trials: Vec<Trial> =
        numbers.iter().filter_map(|number| document.trials.get(*number)).cloned().collect();
    let Some(first) = trials.first() else { bail!("{path} has no trial") };
    if first.plan.rounds.is_some() {
        bail!(
            "the sides of {path} made calls in turn on the same data, which a subject by itself cannot repeat\nhint: {}",
            again(&first.subject)
        );
    }
    if let Some(why) = trials.iter().find_map(Trial::why_invalid) {
        bail!("{path} is invalid: {why}");
    }
    if trials.iter().any(|trial| trial.state != State::Complete) {
        bail!("a trial of {path} was cut short");
    }
    if trials.len() < TRIALS_MIN {
        bail!(
            "{path} has {} of {}, and a confidence interval takes {TRIALS_MIN} at least\nhint: {}",
            judge::figures::counted(trials.len() as u64, "trial"),
            first.subject,
            again(&first.subject)
        );
    }
    Ok(trials)
}

/// The command that measured a base, as one that compares.
fn repeated(document: &Document, path: &str) -> Result<args::Compare> {
    let words = document.command.join(" ");
    let cli = Cli::try_parse_from(&document.command)
        .ok()
        .with_context(|| format!("{path} was measured by `{words}`, which this version of stackmark does not understand\nhint: measure the base again"))?;
    let Command::Compare(asked) = cli.command else {
        bail!(
            "{path} was measured by `{words}`; a base is a comparison\nhint: measure it by `stackmark compare`"
        );
    };
    // One subject by itself was compared with different settings.
    if asked.confirm_bottleneck || (asked.sides.len() == 1 && asked.source.is_empty()) {
        bail!(
            "the sides of {path} differ in a setting\nhint: measure the base by `stackmark compare SUBJECT SUBJECT --trials`"
        );
    }
    Ok(asked)
}

impl StoredBase {
    /// Makes of an experiment of a subject and the same subject one in which the first is this base.
    ///
    /// # Errors
    /// The plan of the base cannot be carried out again.
    pub(crate) fn put_into<W: Benchmark>(&self, experiment: &mut Experiment) -> Result<()> {
        let measured = self.trials[0].started.readable();
        let [base, other] = &mut experiment.variants[..] else {
            unreachable!("a comparison has two variants")
        };
        // It may have followed from the time that there was.
        other.plan.measured = Nanos((self.trials[0].plan.measured_s * 1e9).round() as u64);
        if !self.trials.iter().all(|trial| trial::is_of_plan::<W>(trial, &other.plan)) {
            bail!(
                "the command that measured {} gives another plan in this version of stackmark\nhint: measure the base again",
                self.path
            );
        }
        base.name = format!("stored ({measured})");
        base.subject.clone_from(&self.subject);
        other.name = "now".into();
        other.factors = factors::between(base, other);
        // A program of another time, whatever it is called.
        if other.factors.is_empty() {
            other.factors.push("revision".into());
        }
        experiment.name = format!("{}-vs-stored", other.subject);
        experiment.notes.push(format!(
            "The trials of the first side are those of {}, from {measured} on: what the machine did differently at that time is a \
             part of the difference, and the interval does not cover it.",
            self.path
        ));
        Ok(())
    }
}
