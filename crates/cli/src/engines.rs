//! `stackmark rig`: private engines that stay until they are told to go.

use crate::args::{self, RigCommand};
use crate::ui::Ui;
use anyhow::{Result, bail};
use rig::{Engine, NamedEngine, Options};
use schedule::CommandOutcome;
use serde::Serialize;
use std::fmt::Write;

#[derive(Serialize)]
struct Row {
    engine: &'static str,
    version: String,
    alive: bool,
    pid: u32,
    /// Without the password, which is in the folder, readable by its owner alone.
    url: String,
    folder: String,
    settings: Vec<(String, String)>,
}

pub(crate) fn rig(args: &args::Rig, ui: &Ui) -> Result<CommandOutcome> {
    match &args.command {
        RigCommand::Up(up) => {
            let options = Options {
                durability: up.engine.durability.tier(),
                limits: up.engine.limits_of(args::Limited::Engine),
                statement_statistics: up.engine.statement_statistics,
                ..Options::default()
            };
            // A broker is fetched when it is named, and not before.
            let engines = named(&up.engines, &Engine::DATABASES)?;
            let standing = rig::up(&engines, &options)?;
            show(standing, ui)
        }
        RigCommand::Status => show(rig::status(&Options::default()), ui),
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

fn show(standing: Vec<NamedEngine>, ui: &Ui) -> Result<CommandOutcome> {
    let rows: Vec<Row> = standing
        .into_iter()
        .map(|standing| Row {
            engine: standing.engine.name(),
            url: match standing.engine {
                Engine::Kafka => format!("kafka://stackmark@{}", standing.address().0),
                _ => standing.url("DATABASE").to_string(),
            },
            version: standing.version.clone(),
            alive: standing.alive,
            pid: standing.pid,
            folder: standing.folder.display().to_string(),
            settings: standing.settings.clone(),
        })
        .collect();
    if ui.json {
        ui.data(&(serde_json::to_string_pretty(&rows)? + "\n"));
        return Ok(CommandOutcome::Good);
    }
    let mut text = String::new();
    for Row { engine, version, alive, pid, url, folder, settings } in &rows {
        let state = if *alive { format!("up, process {pid}") } else { "ended".into() };
        writeln!(text, "{engine} {version}: {state}\n  {url}\n  {folder} (the password is in it)")?;
        for (name, value) in settings {
            writeln!(text, "    {name} = {value}")?;
        }
    }
    if rows.is_empty() {
        text.push_str("nothing is up\n");
    } else {
        writeln!(text, "the password goes into {} or into --password-file", deploy::PASSWORD)?;
    }
    ui.data(&text);
    Ok(CommandOutcome::Good)
}
