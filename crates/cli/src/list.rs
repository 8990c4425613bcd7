//! `stackmark list`.

use crate::args;
use crate::outcome::CommandOutcome;
use crate::ui::Ui;
use anyhow::{Result, bail};
use deploy::{Subject, subjects};
use model::Product;
use serde::Serialize;
use sql::Dialect;
use std::fmt::Write;

#[derive(Serialize)]
struct SubjectRow<'a> {
    subject: &'a str,
    about: &'a str,
    needs: String,
    /// What the server in front is written in.
    language: Option<&'a str>,
    here: bool,
    /// Engines that speak the protocol of its engine and on which we have not tried it, by their names.
    untried: Vec<&'static str>,
}

/// Engines that a subject can be tried on by their address.
fn untried(subject: &Subject) -> Vec<&'static str> {
    let speaks = |product: &Product| match subject.how.dialect {
        Dialect::Sqlite => false,
        Dialect::Postgres => product.protocol() == "PostgreSQL",
        // The servers in other languages are for MariaDB alone.
        Dialect::MySql => product.protocol() == "MySQL" && subject.language().is_none(),
    };
    let can = |product: &Product| sql::product::lacks(*product, subject.how.style.name()).is_none();
    Product::ALL.into_iter().filter(speaks).filter(can).map(Product::name).collect()
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
    let rows: Vec<SubjectRow<'_>> = listed
        .into_iter()
        .map(|subject| SubjectRow {
            subject: subject.path,
            about: subject.about,
            needs: subject.needs(),
            language: subject.language(),
            untried: untried(subject),
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
    for SubjectRow { subject, about, needs, here, .. } in rows {
        let missing = if here { "" } else { " (not on this machine)" };
        writeln!(text, "{subject:width$}  {about}; needs {needs}{missing}")?;
    }
    for (protocol, engine) in [("PostgreSQL", "postgres"), ("MySQL", "mariadb")] {
        let speaks = Product::ALL.into_iter().filter(|product| product.protocol() == protocol);
        let names: Vec<&str> = speaks.map(Product::name).collect();
        writeln!(text, "untested: subjects of {engine} on {}, by --db (docs/clusters.md)", names.join(", "))?;
    }
    ui.data(&text);
    Ok(CommandOutcome::Good)
}
