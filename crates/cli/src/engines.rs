//! `stackmark rig`: private engines that stay until `rig down`.

use crate::args::{self, RigCommand, Setting};
use crate::outcome::CommandOutcome;
use crate::settings::Choice;
use crate::ui::Ui;
use anyhow::{Result, bail};
use rig::{Engine, EngineKind, NamedEngine, Options};
use serde::Serialize;
use std::fmt::Write;
use std::path::PathBuf;

#[derive(Serialize)]
struct EngineRow {
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
            let Choice { mut settings, programs } = Choice::single(&up.engine)?;
            // A broker is fetched when it is named, and a cluster is started when it is; not before.
            let kinds = named(&up.engines, &Engine::DATABASES.map(EngineKind::Single))?;
            settings.extend(nodes(&kinds, up.nodes, &settings)?);
            let options = Options {
                durability: up.engine.durability.tier(),
                limits: up.engine.limits_of(args::Limited::Engine),
                statement_statistics: up.engine.statement_statistics,
                settings,
                programs: programs.map(PathBuf::from),
                ..Options::default()
            };
            if kinds.len() > 1 && (!options.settings.is_empty() || options.programs.is_some()) {
                bail!(
                    "each engine has settings and programs of its own\nhint: name one, as in `stackmark rig up postgres --setting …`"
                );
            }
            if let Some(name) = &up.database {
                kinds.iter().try_for_each(|kind| rig::can_have_database(kind.engine(), name))?;
            }
            let running = rig::up(&kinds, &options)?;
            for engine in &running {
                is_as_asked(engine, &options, up.nodes)?;
                up.database.iter().try_for_each(|name| engine.create_database(name))?;
            }
            show(&running, up.database.as_deref(), ui)
        }
        RigCommand::Status => show(&rig::status(&Options::default()), None, ui),
        RigCommand::Down(down) => {
            let gone = rig::down(&named(&down.engines, &EngineKind::ALL)?, &Options::default())?;
            let names: Vec<_> = gone.iter().map(|kind| kind.name()).collect();
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
fn named(names: &[String], otherwise: &[EngineKind]) -> Result<Vec<EngineKind>> {
    if names.is_empty() {
        return Ok(otherwise.to_vec());
    }
    names
        .iter()
        .map(|name| match EngineKind::named(name) {
            Some(kind) => Ok(kind),
            None => {
                let all: Vec<_> = EngineKind::ALL.iter().map(|kind| kind.name()).collect();
                bail!("no engine `{name}` to start; there are {}", all.join(", "))
            }
        })
        .collect()
}

/// The setting for how many nodes a cluster has, where one is to be started.
fn nodes(kinds: &[EngineKind], asked: Option<u32>, settings: &[Setting]) -> Result<Option<Setting>> {
    let of_all: Vec<(&str, u32)> = EngineKind::ALL.iter().filter_map(|kind| kind.nodes()).collect();
    if let Some((name, _)) = settings.iter().find(|(name, _)| of_all.iter().any(|(known, _)| known == name)) {
        bail!(
            "{name} is set by --nodes here\nhint: `stackmark rig up galera --nodes 3`, `stackmark rig up spider --nodes 2`"
        );
    }
    match (kinds.iter().find_map(|kind| kind.nodes()), asked) {
        (None, Some(_)) => {
            bail!("--nodes requires a cluster engine\nhint: `stackmark rig up galera --nodes 3`")
        }
        (None, None) => Ok(None),
        (Some(_), _) if kinds.len() > 1 => {
            bail!("a cluster is started by itself\nhint: name it alone, as in `stackmark rig up galera`")
        }
        (Some((name, otherwise)), asked) => {
            Ok(Some((name.to_owned(), asked.unwrap_or(otherwise).to_string())))
        }
    }
}

/// Fails where an engine was up before and has another version or other settings than those that are asked for.
fn is_as_asked(engine: &NamedEngine, asked: &Options, nodes: Option<u32>) -> Result<()> {
    // How many nodes there are was decided at the start, unless it is asked for now.
    let is_default =
        |name: &str| nodes.is_none() && engine.kind.nodes().is_some_and(|(known, _)| known == name);
    let has = |asked: &&Setting| is_default(&asked.0) || engine.settings.contains(asked);
    let wanted = match &asked.programs {
        Some(programs) => Some(rig::find_in(engine.kind.engine(), Some(programs))?.version),
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
        engine.kind.name()
    )
}

/// `database` is that of the addresses, where one was asked for.
fn show(running: &[NamedEngine], database: Option<&str>, ui: &Ui) -> Result<CommandOutcome> {
    let rows: Vec<EngineRow> = running
        .iter()
        .map(|engine| EngineRow {
            engine: engine.kind.name(),
            url: match engine.kind.engine() {
                Engine::Kafka => format!("kafka://stackmark@{}", engine.address().0),
                _ => engine.url(database.unwrap_or("DATABASE")).to_string(),
            },
            version: engine.version.clone(),
            alive: engine.alive,
            pid: engine.pid,
            password_file: engine.password_file().display().to_string(),
            settings: engine.settings.clone(),
        })
        .collect();
    if ui.json {
        ui.data(&(serde_json::to_string_pretty(&rows)? + "\n"));
        return Ok(CommandOutcome::Good);
    }
    let mut text = String::new();
    for EngineRow { engine, version, alive, pid, url, password_file, settings } in &rows {
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
