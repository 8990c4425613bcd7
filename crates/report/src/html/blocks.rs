//! Prints the blocks of a report as a page.

use super::markup::Markup;
use crate::block::{Block, Cell, Format, Headline, Row, Table, Tone};
use judge::figures;
use judge::findings::Failure;
use result::{Rule, Verdict};

/// Writes what a page shows of the blocks.
pub(super) fn print(markup: &mut Markup, blocks: &[Block<'_>]) {
    for block in blocks.iter().filter(|block| block.is_shown(Format::Page)) {
        one(markup, block);
    }
}

fn one(markup: &mut Markup, block: &Block<'_>) {
    match block {
        Block::Title { title, lead } => {
            markup.line("h1", "", title);
            if !lead.is_empty() {
                markup.line("p", "lead", lead);
            }
        }
        Block::Headline(of) => headline(markup, of),
        Block::Answer(sentences) => answer(markup, sentences),
        Block::Section { title, id, blocks, .. } => {
            let id = [("id", id.as_str())];
            markup.raw("\n").element("section", if id[0].1.is_empty() { &[] } else { &id }, |section| {
                section.line("h2", "", title);
                print(section, blocks);
            });
        }
        Block::Heading(title) => _ = markup.line("h3", "", title),
        Block::Sentence(text) => _ = markup.line("p", "", text),
        Block::Caption(text) => _ = markup.line("p", "caption", text),
        Block::Link(target, text) => {
            markup.element("p", &[], |p| link(p, target, text));
        }
        Block::Alarm(heading, failures) => alarm(markup, heading, failures),
        Block::Loud(label, meaning) => {
            markup.element("div", &[("class", "alarm"), ("role", "note")], |alarm| {
                alarm.line("h2", "", label).line("p", "", &format!("{}.", figures::capital(meaning)));
            });
        }
        Block::Rule(of) => rule(markup, of),
        Block::Fact { name, words, tone } => {
            markup.element("p", &[], |p| {
                match tone {
                    Some(tone) => p.badge(*tone, name).raw(" ").prose(words),
                    None => p.prose(&figures::capital(words)),
                };
                p.raw(".");
            });
        }
        Block::List(items) => list(markup, items),
        Block::Notes(notes) => {
            markup.raw("\n").element("section", &[], |section| {
                section.line("h2", "", "Notes");
                list(section, notes);
            });
        }
        Block::Pairs(groups) => pairs(markup, groups),
        Block::Table(of) => match &of.fold {
            None => table(markup, of),
            Some(title) => {
                markup.element("details", &[], |details| {
                    details.line("summary", "", title);
                    table(details, of);
                });
            }
        },
        Block::Chart(draw) => draw(markup),
        Block::At(_, blocks) | Block::Aside(_, blocks) | Block::Late(blocks) => print(markup, blocks),
        Block::Gap => {}
    }
}

fn link(markup: &mut Markup, target: &str, text: &str) {
    markup.element("a", &[("href", target)], |link| _ = link.text(text));
}

fn headline(markup: &mut Markup, headline: &Headline) {
    let class = if headline.invalid { "headline invalid" } else { "headline" };
    markup.element("div", &[("class", class)], |band| {
        band.element("div", &[("class", "number")], |column| {
            if let Some(number) = &headline.number {
                column.element("p", &[("class", "figure-large")], |line| {
                    line.prose(&number.value);
                    if !number.margin.is_empty() {
                        line.raw(" ").line("small", "", &number.margin);
                    }
                });
                column.element("p", &[("class", "figure-unit")], |line| {
                    line.text(&number.unit);
                    if !number.label.is_empty() {
                        line.raw(" · ").line("strong", "", &number.label);
                    }
                });
            }
            for badge in headline.badges.iter().filter(|badge| badge.level.shows(Format::Page)) {
                column.element("p", &[("class", "badges")], |line| {
                    line.badge(badge.tone, badge.word);
                    if !badge.meaning.is_empty() {
                        line.raw(" ").line("span", "", badge.meaning);
                    }
                });
            }
        });
        let class = if headline.words.is_empty() { "" } else { "verdict" };
        band.element("div", &[("class", class)], |words| {
            verdict(words, headline);
            if !headline.facts.is_empty() {
                words.element("dl", &[("class", "facts")], |list| facts(list, &headline.facts));
            }
        });
    });
}

fn facts(list: &mut Markup, facts: &[(String, String)]) {
    for (name, value) in facts {
        list.element("div", &[], |fact| {
            fact.line("dt", "", name).line("dd", "", value);
        });
    }
}

fn verdict(words: &mut Markup, headline: &Headline) {
    for (i, sentence) in headline.words.iter().enumerate() {
        words.line("p", if i == 0 { "sentence" } else { "" }, sentence);
    }
    for [letter, name, subject] in &headline.parties {
        words.element("p", &[("class", "party")], |p| {
            p.line("b", "", letter).raw(" ").text(name).raw(" ").line("code", "", subject);
        });
    }
}

fn answer(markup: &mut Markup, sentences: &[String]) {
    markup.element("div", &[("class", "answer")], |band| {
        if let Some((first, rest)) = sentences.split_first() {
            band.line("p", "sentence", first);
            if !rest.is_empty() {
                list(band, rest);
            }
        }
    });
}

fn alarm(markup: &mut Markup, heading: &str, failures: &[Failure]) {
    markup.element("div", &[("class", "alarm"), ("role", "alert")], |alarm| {
        alarm.line("h2", "", heading).raw("<ul>");
        for failure in failures {
            alarm.element("li", &[], |item| {
                item.line("strong", "", &failure.what).raw(": ").prose(&failure.sentence);
                for evidence in &failure.evidence {
                    item.line("small", "", evidence);
                }
            });
        }
        alarm.raw("</ul>");
    });
}

fn rule(markup: &mut Markup, rule: &Rule) {
    markup.element("p", &[("class", "warning")], |p| {
        p.badge(rule.severity.into(), &rule.name);
        p.raw(" ").prose(&rule.sentence);
        if let Some(advice) = &rule.advice {
            p.raw("; ").prose(advice);
        }
    });
}

fn list(markup: &mut Markup, items: &[String]) {
    markup.element("ul", &[], |list| items.iter().for_each(|item| _ = list.line("li", "", item)));
}

fn pairs(markup: &mut Markup, groups: &[(&'static str, Vec<(String, String)>)]) {
    markup.element("div", &[("class", "keys")], |keys| {
        for (title, pairs) in groups {
            keys.element("div", &[], |group| {
                group.line("h3", "", title);
                group.element("dl", &[], |list| {
                    for (name, value) in pairs {
                        list.line("dt", "", name).line("dd", "", value);
                    }
                });
            });
        }
    });
}

fn table(markup: &mut Markup, table: &Table) {
    let columns = table.shown(Format::Page);
    let class = |at: usize| if table.columns[at].is_figure { "figure" } else { "words" };
    // Focusable, so that a keyboard can scroll what a narrow screen cannot hold.
    let frame =
        [("class", "scroll"), ("tabindex", "0"), ("role", "group"), ("aria-label", table.caption.as_str())];
    markup.element("div", &frame, |frame| {
        let kind = match (table.breaks, is_named(table)) {
            (true, _) => "breaking",
            (false, true) => "named",
            (false, false) => "numbered",
        };
        frame.element("table", &[("class", kind)], |element| {
            element.element("caption", &[], |caption| {
                // A span, so that a narrow screen breaks the line where a wide table would not.
                caption.line("span", "", &table.caption);
            });
            element.raw("<thead><tr>");
            for at in &columns {
                element.element("th", &[("scope", "col"), ("class", class(*at))], |cell| {
                    cell.text(&table.columns[*at].title);
                });
            }
            element.raw("</tr></thead><tbody>");
            for row in table.rows_of(Format::Page) {
                element.raw("<tr>");
                for at in &columns {
                    table_cell(element, table, row, *at, class(*at));
                }
                element.raw("</tr>");
            }
            element.raw("</tbody>");
        });
    });
}

/// Whether its rows have names that need room, not just numbers.
fn is_named(table: &Table) -> bool {
    /// A number or a word or two.
    const SHORT_MAX: usize = 10;
    table.rows_of(Format::Page).any(|row| row.cells[0].words().chars().count() > SHORT_MAX)
}

fn table_cell(body: &mut Markup, table: &Table, row: &Row, at: usize, class: &'static str) {
    let content = |td: &mut Markup| {
        match &row.cells[at] {
            Cell::Text(text) if table.breaks && class == "words" => _ = td.breakable(text),
            Cell::Badge(tone, words) => {
                // What is said beyond the state stands under it, so that a badge stays short.
                let (word, rest) = words.split_once(", ").unwrap_or((words, ""));
                td.badge(*tone, word);
                if !rest.is_empty() {
                    td.line("small", "", rest);
                }
            }
            Cell::Link(target, text, _) => link(td, target, text),
            Cell::Marked(tone, _) => _ = td.line("span", badge(*tone), &row.cells[at].words()),
            cell => _ = td.text(&cell.words()),
        }
        if let Cell::Detailed(_, details) | Cell::Link(_, _, details) = &row.cells[at] {
            details.iter().for_each(|detail| _ = td.line("small", "", detail));
        }
        if at == 0 {
            row.remarks.iter().for_each(|remark| _ = td.line("small", "", remark));
        }
    };
    match at {
        0 => body.element("th", &[("scope", "row"), ("class", class)], content),
        _ => body.element("td", &[("class", class)], content),
    };
}

/// The class of a badge.
fn badge(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "badge good",
        Tone::Plain | Tone::Of(Verdict::NoDifference | Verdict::Inconclusive) => "badge plain",
        Tone::Warn => "badge warn",
        Tone::Bad | Tone::Of(Verdict::NotComparable) => "badge bad",
        Tone::Of(Verdict::Better) => "badge better",
        Tone::Of(Verdict::Worse) => "badge worse",
    }
}

impl Markup {
    /// Writes one word that stands for a state, with a sign of its own so that colour is not needed.
    fn badge(&mut self, tone: Tone, word: &str) -> &mut Markup {
        self.element("span", &[("class", badge(tone))], |span| {
            if !tone.sign().is_empty() {
                span.raw(tone.sign()).raw("\u{a0}");
            }
            span.text(word);
        })
    }
}
