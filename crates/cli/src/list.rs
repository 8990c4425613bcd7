//! `stackmark list`.

use crate::Answer;
use crate::args;
use crate::subjects::{self, SUBJECTS};
use crate::ui::Ui;
use anyhow::Result;
use serde::Serialize;
use std::fmt::Write;

#[derive(Serialize)]
struct Row<'a> {
    subject: &'a str,
    about: &'a str,
    needs: &'a str,
    here: bool,
}

pub(crate) fn list(args: &args::List, ui: &Ui) -> Result<Answer> {
    let wanted = args.workload.as_deref().map(subjects::workload).transpose()?;
    let listed = SUBJECTS
        .iter()
        .filter(|subject| wanted.is_none_or(|workload| subject.workload() == workload));
    // All subjects so far are compiled in; those that need an engine of the machine will have to look for it.
    let rows: Vec<Row<'_>> = listed
        .map(|subject| Row { subject: subject.path, about: subject.about, needs: subject.needs(), here: true })
        .collect();
    if ui.json {
        ui.data(&(serde_json::to_string_pretty(&rows)? + "\n"));
        return Ok(Answer::Good);
    }
    let width = rows.iter().map(|row| row.subject.len()).max().unwrap_or(0);
    let mut text = String::new();
    for Row { subject, about, needs, .. } in rows {
        writeln!(text, "{subject:width$}  {about}; needs {needs}")?;
    }
    ui.data(&text);
    Ok(Answer::Good)
}
