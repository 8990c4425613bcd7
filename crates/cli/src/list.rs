//! `stackmark list`.

use crate::args;
use crate::ui::Ui;
use anyhow::{Result, bail};
use deploy::subjects;
use schedule::CommandOutcome;
use serde::Serialize;
use sql::Dialect;
use std::fmt::Write;

#[derive(Serialize)]
struct Row<'a> {
    subject: &'a str,
    about: &'a str,
    needs: String,
    /// What the server in front is written in.
    language: Option<&'a str>,
    here: bool,
}

pub(crate) fn list(args: &args::List, ui: &Ui) -> Result<CommandOutcome> {
    let wanted = args.subject.as_deref();
    if let Some(workload) = wanted.and_then(|wanted| wanted.split('/').next()) {
        subjects::workload(workload)?;
    }
    let begins = |path: &str| {
        let rest = wanted.map(|wanted| path.strip_prefix(wanted.trim_end_matches('/')));
        rest.is_none_or(|rest| rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
    };
    let listed: Vec<_> = subjects::all()?.iter().filter(|subject| begins(subject.path)).collect();
    if let (Some(wanted), true) = (wanted, listed.is_empty()) {
        bail!("no subject begins with `{wanted}`\nhint: `stackmark list` prints all of them");
    }
    let here = |dialect| rig::Engine::of(dialect).is_none_or(|engine| rig::find(engine).is_ok());
    let (sqlite, postgres, mysql) = (true, here(Dialect::Postgres), here(Dialect::MySql));
    let rows: Vec<Row<'_>> = listed
        .into_iter()
        .map(|subject| Row {
            subject: subject.path,
            about: subject.about,
            needs: subject.needs(),
            language: subject.language(),
            here: subject.can_start().is_ok()
                && match subject.how.dialect {
                    Dialect::Sqlite => sqlite,
                    Dialect::Postgres => postgres,
                    Dialect::MySql => mysql,
                },
        })
        .collect();
    if ui.json {
        ui.data(&(serde_json::to_string_pretty(&rows)? + "\n"));
        return Ok(CommandOutcome::Good);
    }
    let width = rows.iter().map(|row| row.subject.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Row { subject, about, needs, here, .. } in rows {
        let missing = if here { "" } else { " (not on this machine)" };
        writeln!(text, "{subject:width$}  {about}; needs {needs}{missing}")?;
    }
    ui.data(&text);
    Ok(CommandOutcome::Good)
}
