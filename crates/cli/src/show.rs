//! Rendering: `report`, and the texts that come from the definition of the command line.

use crate::ui::Ui;
use crate::{Answer, args};
use anyhow::{Context, Result, bail};
use args::Format;
use clap::CommandFactory;
use report::document::{self, Document};

pub(crate) fn report(args: &args::Report, ui: &Ui) -> Result<Answer> {
    let documents: Vec<Document> =
        args.results.iter().map(|path| document::read(path)).collect::<Result<_, _>>()?;
    if documents.len() > 1 && args.format == Format::Html && args.output.is_some() {
        bail!("one page is made of one result; give one, or leave out --output");
    }
    let format = if ui.json { Format::Json } else { args.format };
    let colour = if args.output.is_some() { report::text::Colour::Never } else { ui.colour() };
    let texts: Vec<String> = documents
        .iter()
        .map(|document| match format {
            Format::Text => report::text::render(document, colour),
            Format::Md => report::markdown::render(document),
            Format::Html => report::html::render(document),
            Format::Json => document::to_json(document),
        })
        .collect();
    let text = texts.join("\n");
    match &args.output {
        Some(path) => {
            std::fs::write(path, text).with_context(|| format!("could not write {}", path.display()))?;
        }
        None => ui.data(&text),
    }
    Ok(Answer::Good)
}

pub(crate) fn completions(args: &args::Completions, ui: &Ui) -> Result<Answer> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut args::Cli::command(), "stackmark", &mut script);
    ui.data(&String::from_utf8(script)?);
    Ok(Answer::Good)
}

pub(crate) fn man(ui: &Ui) -> Result<Answer> {
    let mut page = Vec::new();
    clap_mangen::Man::new(args::Cli::command()).render(&mut page)?;
    ui.data(&String::from_utf8(page)?);
    Ok(Answer::Good)
}
