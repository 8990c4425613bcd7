//! `stackmark rig`: private engines that stay until they are told to go.

use crate::args::{self, RigCommand, Setting};
use crate::settings::Choice;
use crate::ui::Ui;
use anyhow::{Result, bail};
use rig::{Engine, NamedEngine, Options};
use schedule::CommandOutcome;
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(Serialize)]
struct Row {
    engine: &'static str,
    version: String,
    alive: bool,
    pid: u32,
    /// Without the password.
    url: String,
    password_file: String,
    settings: Vec<(String, String)>,
}

pub(crate) fn rig(args: &args::Rig, ui: &Ui) -> Result<CommandOutcome> {
    match &args.command {
        RigCommand::Up(up) => {
            let Choice { settings, programs } = Choice::single(&up.engine)?;
            let options = Options {
                durability: up.engine.durability.tier(),
                limits: up.engine.limits_of(args::Limited::Engine),
                statement_statistics: up.engine.statement_statistics,
                settings,
                programs: programs.map(PathBuf::from),
                ..Options::default()
            };
            // A broker is fetched when it is named, and not before.
            let engines = named(&up.engines, &Engine::DATABASES)?;
            if engines.len() > 1 && (!options.settings.is_empty() || options.programs.is_some()) {
                bail!(
                    "each engine has settings and programs of its own\nhint: name one, as in `stackmark rig up postgres --setting …`"
                );
            }
            if let Some(name) = &up.database {
                engines.iter().try_for_each(|engine| rig::can_have_database(*engine, name))?;
            }
            let standing = rig::up(&engines, &options)?;
            for engine in &standing {
                is_as_asked(engine, &options)?;
                up.database.iter().try_for_each(|name| engine.create_database(name))?;
            }
            show(&standing, up.database.as_deref(), ui)
        }
        RigCommand::Status => show(&rig::status(&Options::default()), None, ui),
        RigCommand::Down(down) => {
            let gone = rig::down(&named(&down.engines, &Engine::ALL)?, &Options::default())?;
            let names: Vec<_> = gone.iter().map(|engine| engine.name()).collect();
            if ui.json {
                ui.data(&(serde_json::to_string_pretty(&names)? + "\n"));
            } else if names.is_empty() {
                ui.data("nothing was up\n");
            } else {
                ui.data(&format!("stopped {} and deleted its data\n", names.join(", ")));
            }
            Ok(CommandOutcome::Good)
        }
    }
}

/// The engines by their names; where none is named `otherwise`.
fn named(names: &[String], otherwise: &[Engine]) -> Result<Vec<Engine>> {
    if names.is_empty() {
        return Ok(otherwise.to_vec());
    }
    names
        .iter()
        .map(|name| match Engine::named(name) {
            Some(engine) => Ok(engine),
            None => {
                let all: Vec<_> = Engine::ALL.iter().map(|engine| engine.name()).collect();
                bail!("no engine `{name}` to start; there are {}", all.join(", "))
            }
        })
        .collect()
}

/// Fails where an engine was up before and has another version or other settings than those that are asked for.
fn is_as_asked(engine: &NamedEngine, asked: &Options) -> Result<()> {
    let has = |asked: &&Setting| engine.settings.contains(asked);
    let wanted = match &asked.programs {
        Some(programs) => Some(rig::find_in(engine.engine, Some(programs))?.version),
        None => None,
    };
    let otherwise = match (wanted, asked.settings.iter().find(|setting| !has(setting))) {
        (Some(wanted), _) if wanted != engine.version => {
            format!("as {}, and not as {wanted}", engine.version)
        }
        (_, Some((name, value))) => format!("without {name} = {value}"),
        _ => return Ok(()),
    };
    bail!(
        "{} is already running {otherwise}\nhint: `stackmark rig down {0}` removes it and its data",
        engine.engine.name()
    )
}

/// `database` is that of the addresses, where one was asked for.
fn show(standing: &[NamedEngine], database: Option<&str>, ui: &Ui) -> Result<CommandOutcome> {
    let rows: Vec<Row> = standing
        .iter()
        .map(|standing| Row {
            engine: standing.engine.name(),
            url: match standing.engine {
                Engine::Kafka => format!("kafka://stackmark@{}", standing.address().0),
                _ => standing.url(database.unwrap_or("DATABASE")).to_string(),
            },
            version: standing.version.clone(),
            alive: standing.alive,
            pid: standing.pid,
            password_file: standing.password_file().display().to_string(),
            settings: standing.settings.clone(),
        })
        .collect();
    if ui.json {
        ui.data(&(serde_json::to_string_pretty(&rows)? + "\n"));
        return Ok(CommandOutcome::Good);
    }
    let mut text = String::new();
    for Row { engine, version, alive, pid, url, password_file, settings } in &rows {
        let state = if *alive { format!("up, process {pid}") } else { "ended".into() };
        // As options of the other commands; an address has characters that a shell would read.
        let name = if url.starts_with("kafka:") { "broker=" } else { "" };
        writeln!(text, "{engine} {version}: {state}\n  --db '{name}{url}' --password-file {password_file}")?;
        for (name, value) in settings {
            writeln!(text, "    {name} = {value}")?;
        }
    }
    if rows.is_empty() {
        text.push_str("nothing is up\n");
    }
    ui.data(&text);
    Ok(CommandOutcome::Good)
}
