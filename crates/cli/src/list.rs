//! `stackmark list`.

use crate::args;
use crate::ui::Ui;
use anyhow::Result;
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
    let wanted = args.workload.as_deref().map(subjects::workload).transpose()?;
    let listed = subjects::all()?
        .iter()
        .filter(|subject| wanted.is_none_or(|workload| subject.workload() == workload));
    let here = |dialect| rig::Engine::of(dialect).is_none_or(|engine| rig::find(engine).is_ok());
    let (sqlite, postgres, mysql) = (true, here(Dialect::Postgres), here(Dialect::MySql));
    let rows: Vec<Row<'_>> = listed
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
