//! Rendering: `report`, and the texts that come from the definition of the command line.

use crate::args;
use crate::experiment::BUILT_IN;
use crate::outcome::CommandOutcome;
use crate::ui::Ui;
use anyhow::{Context, Result, bail};
use args::Format;
use clap::CommandFactory;
use clap::builder::PossibleValuesParser;
use deploy::subjects;
use report::history::History;
use report::text::{Colour, Style, WIDTH};
use result::{Document, ShortLine, Trial};
use std::path::{Path, PathBuf};

pub(crate) fn report(args: &args::Report, ui: &Ui) -> Result<CommandOutcome> {
    let format = if ui.json { Format::Json } else { args.format };
    let own = ui.style();
    let style =
        if args.output.is_some() { Style { colour: Colour::Never, width: WIDTH, ..own } } else { own };
    let text = if args.history { history(args, format, style, ui)? } else { documents(args, format, style)? };
    ui.put(args.output.as_deref(), &text)?;
    Ok(CommandOutcome::Good)
}

fn documents(args: &args::Report, format: Format, style: Style) -> Result<String> {
    let documents: Vec<Document> =
        args.results.iter().map(|path| result::read(path)).collect::<Result<_, _>>()?;
    if documents.len() > 1 && format == Format::Html {
        bail!("an HTML page shows one result; got {}", documents.len());
    }
    let each =
        |render: &dyn Fn(&Document) -> String| documents.iter().map(render).collect::<Vec<_>>().join("\n");
    Ok(match format {
        Format::Text => each(&|document| report::text::render(document, style)),
        Format::Md => each(&report::markdown::render),
        Format::Html => each(&report::html::render),
        Format::Json => each(&result::to_json),
        Format::Csv => report::csv::trials(&documents),
        Format::CsvVerdicts => report::csv::verdicts(&documents),
        Format::CsvSlices => {
            let lined =
                documents.into_iter().zip(&args.results).map(|(document, path)| with_lines(document, path));
            report::csv::slices(&lined.collect::<Result<Vec<Document>>>()?)
        }
        Format::Junit => report::junit::render(&documents),
    })
}

/// The document with the time lines of its trials, which a run of several keeps in the folder of each.
fn with_lines(mut document: Document, path: &Path) -> Result<Document> {
    if document.trials.iter().any(|trial| !trial.slices.is_empty()) {
        return Ok(document);
    }
    let run = if path.is_dir() { path } else { path.parent().unwrap_or(Path::new(".")) };
    let mut files = Vec::new();
    if run.join("trials").is_dir() {
        results_under(&run.join("trials"), &mut files)?;
    }
    // In the order in which they ran: short trials of a subject may have begun in the same second.
    files.sort();
    for file in files {
        // One that was cut off before it was written has no trial in the document of the run either.
        let Ok(own) = result::read(&file) else { continue };
        for whole in own.trials {
            let same = |trial: &&mut Trial| {
                trial.slices.is_empty()
                    && (&trial.started, &trial.subject) == (&whole.started, &whole.subject)
                    && trial.headline == whole.headline
            };
            if let Some(trial) = document.trials.iter_mut().find(same) {
                trial.slices = whole.slices;
            }
        }
    }
    for trial in document.trials.iter_mut().filter(|trial| trial.slices.is_empty()) {
        trial.slices = trial.line.as_ref().map(ShortLine::slices).unwrap_or_default();
    }
    if document.trials.iter().all(|trial| trial.slices.is_empty()) {
        bail!(
            "{} has no time lines: those of a run of several trials are in the folder `trials` \
             next to its result, which is not here\nhint: `--format csv` has a row a trial",
            path.display()
        );
    }
    Ok(document)
}

fn history(args: &args::Report, format: Format, style: Style, ui: &Ui) -> Result<String> {
    let mut files = Vec::new();
    for path in &args.results {
        let before = files.len();
        results_under(path, &mut files)?;
        if files.len() == before {
            bail!("{}: no results\nhint: name a result, or a folder that has some below it", path.display());
        }
    }
    files.sort();
    files.dedup();
    let mut read = Vec::new();
    for path in files {
        match result::read(&path) {
            // A file that is found in a folder is skipped with a note.
            Err(error) if args.results.contains(&path) => return Err(error.into()),
            document => read.push((path, document)),
        }
    }
    let history = History::of(read, args.subject.as_deref());
    Ok(match format {
        Format::Text => history.text(style),
        Format::Html => report::html::history::render(&history),
        Format::Json => history.json(),
        Format::Csv => {
            // Rows have no place for what could not be read.
            for skipped in &history.skipped {
                ui.remark(&format!("skipped {}: {}", skipped.path.display(), skipped.why));
            }
            history.csv()
        }
        Format::Md | Format::CsvSlices | Format::CsvVerdicts | Format::Junit => {
            bail!("a history is made as text, html, csv or json")
        }
    })
}

/// The results at `path`: a file, the folder of a run, or every one in the folders below. What is inside the folder of a
/// run, such as the single trials of an experiment, is part of its result already.
fn results_under(path: &Path, found: &mut Vec<PathBuf>) -> Result<()> {
    let kind = std::fs::metadata(path).with_context(|| format!("could not read {}", path.display()))?;
    if !kind.is_dir() {
        found.push(path.to_owned());
        return Ok(());
    }
    let result = path.join("result.json");
    if result.exists() {
        found.push(result);
        return Ok(());
    }
    let entries = std::fs::read_dir(path).with_context(|| format!("could not read {}", path.display()))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("could not read {}", path.display()))?;
        let kind = entry.file_type()?;
        // Links are not followed: they could lead round in a circle.
        if kind.is_dir() {
            results_under(&entry.path(), found)?;
        } else if kind.is_file() && entry.path().extension().is_some_and(|extension| extension == "json") {
            found.push(entry.path());
        }
    }
    Ok(())
}

pub(crate) fn completions(args: &args::Completions, ui: &Ui) -> Result<CommandOutcome> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut with_values(args::Cli::command())?, "stackmark", &mut script);
    ui.data(&String::from_utf8(script)?);
    Ok(CommandOutcome::Good)
}

/// The command line with the subjects and experiments that there are, for shells to offer.
fn with_values(program: clap::Command) -> Result<clap::Command> {
    let subjects: Vec<&str> = subjects::all()?.iter().map(|subject| subject.path).collect();
    let of_subjects = [
        ("run", "subject"),
        ("sweep", "subject"),
        ("find-max", "subject"),
        ("drill", "subject"),
        ("load", "subject"),
        ("list", "subject"),
        ("compare", "sides"),
        ("verify", "target"),
    ];
    let experiments = BUILT_IN.map(|(name, _)| name);
    let offer = |program: clap::Command, command: &str, name: &str, values: &[&str]| {
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        program.mut_subcommand(command, |command| {
            command.mut_arg(name, |arg| arg.value_parser(PossibleValuesParser::new(values)))
        })
    };
    let program = of_subjects
        .into_iter()
        .fold(program, |program, (command, name)| offer(program, command, name, &subjects));
    Ok(offer(program, "experiment", "files", &experiments))
}

pub(crate) fn man(args: &args::Man, ui: &Ui) -> Result<CommandOutcome> {
    let mut program = args::Cli::command();
    // Commands have the options that all of them share once it is built.
    program.build();
    let about = match &args.command {
        None => program,
        Some(name) => {
            let commands = program.get_subcommands().filter(|command| !command.is_hide_set());
            let names: Vec<&str> = commands.map(clap::Command::get_name).collect();
            let Some(command) = program.find_subcommand(name) else {
                bail!("no command `{name}`; there are {}", names.join(", "));
            };
            command.clone().name(format!("stackmark-{name}"))
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(about).render(&mut page)?;
    ui.data(&String::from_utf8(page)?);
    Ok(CommandOutcome::Good)
}
