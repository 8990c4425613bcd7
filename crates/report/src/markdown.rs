//! Reports in Markdown, for issues, wikis and pull requests.

use crate::block::{Block, Cell, Format, Headline, Table};
use crate::content;
use judge::figures;
use result::{Document, Rule};

/// The report of a run.
pub fn render(document: &Document) -> String {
    let mut out = String::new();
    print(&mut out, &content::of(document));
    paragraph(
        &mut out,
        &format!(
            "Run {}, {}, stackmark {}: {}",
            code(&document.id),
            document.started.readable(),
            escaped(&document.stackmark),
            code(&document.command.join(" "))
        ),
    );
    figures::plain(&out)
}

fn print(out: &mut String, blocks: &[Block<'_>]) {
    for block in blocks.iter().filter(|block| block.is_shown(Format::Markdown)) {
        match block {
            Block::Title { title, lead } => {
                paragraph(out, &format!("# {}", escaped(title)));
                paragraph(out, &escaped(lead));
            }
            Block::Headline(headline) => number(out, headline),
            Block::Answer(sentences) => answer(out, sentences),
            Block::Section { title, blocks, .. } => {
                paragraph(out, &format!("## {}", escaped(title)));
                print(out, blocks);
            }
            Block::Heading(title) => paragraph(out, &format!("### {}", escaped(title))),
            Block::Sentence(text) | Block::Caption(text) => paragraph(out, &escaped(text)),
            Block::Alarm(_, failures) => {
                for failure in failures {
                    let what =
                        format!("> **FAILED {}**: {}", escaped(&failure.what), escaped(&failure.sentence));
                    let evidence =
                        failure.evidence.iter().map(|evidence| format!("\n> - {}", code(evidence)));
                    paragraph(out, &std::iter::once(what).chain(evidence).collect::<String>());
                }
            }
            Block::Loud(label, meaning) => paragraph(out, &format!("> **{label}**: {meaning}")),
            Block::Rule(rule) => item(out, &said(rule)),
            Block::Fact { name, words, .. } => {
                item(out, &format!("**{}**: {}", escaped(name), escaped(words)))
            }
            Block::List(items) => items.iter().for_each(|text| item(out, &escaped(text))),
            Block::Notes(notes) => {
                paragraph(out, "## Notes");
                notes.iter().for_each(|note| item(out, &escaped(note)));
            }
            Block::Pairs(groups) => {
                let rows = groups.iter().flat_map(|(_, pairs)| pairs);
                table(
                    out,
                    &["", ""],
                    &[false; 2],
                    rows.map(|(name, value)| vec![name.clone(), value.clone()]),
                );
            }
            Block::Table(of) => whole_table(out, of),
            Block::At(_, blocks) | Block::Late(blocks) => print(out, blocks),
            Block::Aside(title, blocks) => {
                paragraph(out, &format!("<details><summary>{}</summary>", escaped(title)));
                print(out, blocks);
                paragraph(out, "</details>");
            }
            Block::Chart(_) | Block::Link(..) | Block::Gap => {}
        }
    }
}

/// Something with an empty line around it.
fn paragraph(out: &mut String, text: &str) {
    if text.is_empty() {
        return;
    }
    if !out.is_empty() && !out.ends_with("\n\n") {
        out.push('\n');
    }
    out.push_str(text);
    out.push_str("\n\n");
}

/// An item of a list that goes on until something else comes.
fn item(out: &mut String, text: &str) {
    let goes_on = out.trim_end().lines().last().is_some_and(|line| line.starts_with("- "));
    if goes_on && out.ends_with("\n\n") {
        out.pop();
    }
    out.push_str("- ");
    out.push_str(text);
    out.push_str("\n\n");
}

fn number(out: &mut String, headline: &Headline) {
    let badges: Vec<String> = headline
        .badges
        .iter()
        .filter(|badge| badge.level.shows(Format::Markdown))
        .map(|badge| badge.word.to_owned())
        .collect();
    if let Some((first, rest)) = headline.words.split_first() {
        let badges = badges.first().map_or_else(String::new, |word| format!("{word}: "));
        paragraph(out, &format!("**{badges}{}**", escaped(first)));
        rest.iter().for_each(|said| paragraph(out, &escaped(said)));
    } else if let Some(number) = &headline.number {
        let value = format!("{} {}", number.value, number.margin);
        let mut line = format!("**{} {}**", value.trim_end(), escaped(&number.unit));
        if !number.label.is_empty() {
            line.push_str(&format!(" ({})", escaped(&number.label)));
        }
        badges.iter().for_each(|word| line.push_str(&format!(" **{word}**")));
        paragraph(out, &line);
    }
    for [letter, name, subject] in &headline.parties {
        item(out, &format!("**{letter}** {}: {}", escaped(name), code(subject)));
    }
}

fn answer(out: &mut String, sentences: &[String]) {
    if let Some((first, rest)) = sentences.split_first() {
        paragraph(out, &format!("**{}**", escaped(first)));
        rest.iter().for_each(|said| item(out, &escaped(said)));
    }
}

fn said(rule: &Rule) -> String {
    let advice = rule.advice.as_ref().map_or_else(String::new, |advice| format!("; {advice}"));
    let (name, word) = (escaped(&rule.name), rule.severity.word());
    format!("**{name}** ({word}): {}{}", escaped(&rule.sentence), escaped(&advice))
}

fn whole_table(out: &mut String, of: &Table) {
    let columns = of.shown(Format::Markdown);
    let titles: Vec<&str> = columns.iter().map(|at| of.columns[*at].title.as_str()).collect();
    let figures: Vec<bool> = columns.iter().map(|at| of.columns[*at].is_figure).collect();
    let rows = of.rows_of(Format::Markdown).map(|row| {
        let cells = columns.iter().map(|at| cell(&row.cells[*at]));
        cells.collect()
    });
    if !of.caption.is_empty() {
        paragraph(out, &format!("{}:", escaped(of.caption.trim_end_matches('.'))));
    }
    table(out, &titles, &figures, rows);
}

/// A cell; a state with a sign that is seen in a list of many.
fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Badge(tone, words) => format!("{} {words}", tone.sign()).trim_start().to_owned(),
        _ => cell.words(),
    }
}

fn table(out: &mut String, titles: &[&str], figures: &[bool], rows: impl Iterator<Item = Vec<String>>) {
    let row = |cells: Vec<String>| format!("| {} |\n", cells.join(" | "));
    let rule = figures.iter().map(|is_figure| if *is_figure { "---:" } else { "---" }.to_owned());
    let mut text = row(titles.iter().map(|title| escaped(title)).collect()) + &row(rule.collect());
    rows.for_each(|cells| text.push_str(&row(cells.iter().map(|cell| escaped(cell)).collect())));
    paragraph(out, text.trim_end());
}

/// Data as it stands: no markup, no HTML, no new row or line.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '\\' | '`' | '*' | '_' | '[' | ']' | '|' | '#' => out.extend(['\\', char]),
            '\n' | '\r' => out.push(' '),
            char => out.push(char),
        }
    }
    out
}

/// Data as code; a backtick in it would end it early.
fn code(text: &str) -> String {
    format!("`{}`", text.replace(['`', '\n', '\r'], " "))
}
