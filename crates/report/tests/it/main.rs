//! Documents in, reports out.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod control;
mod files;
mod problems;
mod progress;
mod report;
mod short;
mod short_line;
mod sizes;
mod snapshots;
mod statements;

/// A report as text, as Markdown and as a page, with plain spaces.
fn formats(document: &result::Document) -> [String; 3] {
    use ::report::{html, markdown, text};
    let text = text::render(document, text::Style::PLAIN);
    [text, markdown::render(document), html::render(document)].map(|report| report.replace('\u{a0}', " "))
}
