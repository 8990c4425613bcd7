//! Reports for the terminal: readable without colour, and as wide as 100 columns. By default the answer alone; in full where that is
//! asked for.

use crate::block::{Block, Cell, Format, Headline, Level, Table, Tone};
use crate::content;
use judge::figures;
use result::{Document, Rule, Severity, Verdict};

/// The widest line, and that of a narrower terminal or of none.
pub const WIDTH: usize = 100;
pub const NARROW: usize = 80;
/// Rules that a short report has at most, unless more of them make the result invalid.
const RULES_MAX: usize = 2;
/// Between the columns of a table.
const GAP: usize = 2;
/// The least width of a column of figures: those of several tables stand below each other.
const FIGURE_MIN: usize = 8;
/// The widest name of a row.
const NAME_MAX: usize = 40;
/// The least room in which the words of a last column are broken.
const WORDS_MIN: usize = 24;
/// Where a text stands whose label has a line of its own.
const ALONE_INDENT: usize = 6;
/// The least room for the name of a fact, so that the facts of a report stand below each other.
const FACT_MIN: usize = 11;

/// Whether colours are used. The caller knows the terminal and `NO_COLOR`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// Plain text.
    Never,
    /// With ANSI escapes.
    Always,
}

/// How words are set apart.
#[derive(Clone, Copy)]
enum Ink {
    Bold,
    Dim,
    Good,
    Warn,
    Bad,
}

impl From<Tone> for Option<Ink> {
    fn from(tone: Tone) -> Option<Ink> {
        match tone {
            Tone::Good | Tone::Of(Verdict::Better) => Some(Ink::Good),
            Tone::Plain | Tone::Of(Verdict::NoDifference | Verdict::Inconclusive) => None,
            Tone::Warn | Tone::Of(Verdict::Worse) => Some(Ink::Warn),
            Tone::Bad | Tone::Of(Verdict::NotComparable) => Some(Ink::Bad),
        }
    }
}

/// How a report is printed.
#[derive(Debug, Clone, Copy)]
pub struct Style {
    pub colour: Colour,
    /// Columns of the widest line: [`WIDTH`] or [`NARROW`].
    pub width: usize,
    /// Everything, and not the answer alone.
    pub in_full: bool,
}

impl Style {
    /// Everything, without colour, on lines of [`WIDTH`] columns.
    pub const PLAIN: Style = Style { colour: Colour::Never, width: WIDTH, in_full: true };
}

impl Colour {
    fn paint(self, ink: impl Into<Option<Ink>>, text: &str) -> String {
        let code = match (self, ink.into()) {
            (Colour::Never, _) | (_, None) => return text.to_owned(),
            (_, Some(Ink::Bold)) => "1",
            (_, Some(Ink::Dim)) => "2",
            (_, Some(Ink::Good)) => "32",
            (_, Some(Ink::Warn)) => "33",
            (_, Some(Ink::Bad)) => "1;31",
        };
        format!("\x1b[{code}m{text}\x1b[0m")
    }
}

/// The report of a run, ending with a newline.
pub fn render(document: &Document, style: Style) -> String {
    print(&content::of(document), style)
}

/// A tree as text, ending with a newline.
pub(crate) fn print(blocks: &[Block<'_>], style: Style) -> String {
    let mut printer = Printer { out: String::new(), style };
    let (mut now, mut late) = (Vec::new(), Vec::new());
    flatten(blocks, "  ", &mut now, &mut late);
    if style.in_full {
        printer.leaves(&now);
        if !late.is_empty() {
            printer.gap();
            printer.leaves(&late);
        }
        return printer.out;
    }
    let mut answer = Vec::new();
    vital(blocks, true, &mut answer);
    printer.leaves(&answer);
    let names_bottleneck = answer.iter().any(|(_, block)| is_bottleneck(block));
    // What the bottleneck says already.
    let is_said =
        |rule: &Rule| names_bottleneck && rule.name == "saturation" && rule.severity != Severity::Bad;
    let rules = now.iter().chain(&late).filter_map(|(_, block)| match block {
        Block::Rule(rule) => Some(rule),
        _ => None,
    });
    printer.weightiest(rules.filter(|rule| !is_said(rule)).collect());
    printer.out
}

fn is_bottleneck(block: &Block<'_>) -> bool {
    matches!(block, Block::Fact { name, .. } if name == content::BOTTLENECK)
}

/// What a short report has of a tree: what stands outside of all sections and is no remark, and what is vital within them.
fn vital<'b, 'a>(blocks: &'b [Block<'a>], outside: bool, found: &mut Vec<(&'static str, &'b Block<'a>)>) {
    for block in blocks.iter().filter(|block| block.is_shown(Format::Text)) {
        match block {
            Block::At(Level::Vital, blocks) => flatten(blocks, "  ", found, &mut Vec::new()),
            Block::At(_, blocks) | Block::Aside(_, blocks) => vital(blocks, outside, found),
            Block::Section { blocks, .. } => vital(blocks, false, found),
            Block::Title { .. }
            | Block::Headline(_)
            | Block::Answer(_)
            | Block::Alarm(..)
            | Block::Loud(..)
            | Block::Table(_)
            | Block::Gap
                if outside =>
            {
                found.push(("  ", block));
            }
            Block::Fact { tone: Some(_), .. } if outside => found.push(("  ", block)),
            _ => {}
        }
    }
}

/// What is printed of a tree, in order, each with its indent: what comes last apart.
fn flatten<'b, 'a>(
    blocks: &'b [Block<'a>],
    indent: &'static str,
    now: &mut Vec<(&'static str, &'b Block<'a>)>,
    late: &mut Vec<(&'static str, &'b Block<'a>)>,
) {
    for block in blocks.iter().filter(|block| block.is_shown(Format::Text)) {
        match block {
            Block::At(_, blocks) | Block::Aside(_, blocks) => flatten(blocks, indent, now, late),
            Block::Section { named, blocks, .. } => {
                if *named {
                    now.push((indent, block));
                }
                flatten(blocks, "  ", now, late);
            }
            Block::Late(blocks) => {
                let mut last = Vec::new();
                flatten(blocks, "", &mut last, late);
                late.extend(last);
            }
            leaf => now.push((indent, leaf)),
        }
    }
}

/// With plain spaces, and without control characters: some texts come from servers, and must neither move the cursor nor
/// fake a line of the report.
fn plain(text: &str) -> String {
    figures::plain(text).replace(char::is_control, " ")
}

/// Characters, which is what a terminal has columns for.
fn width(text: &str) -> usize {
    text.chars().count()
}

/// The lines of a text of at most `room` columns. They end nowhere within a number or between it and its unit, and a word
/// that is longer has a line of its own.
fn lines(text: &str, room: usize) -> Vec<String> {
    let mut lines: Vec<String> = vec![String::new()];
    for (i, word) in figures::bound(&text.replace(char::is_control, " ")).split(' ').enumerate() {
        let word = plain(word);
        let line = lines.last_mut().expect("there is always one");
        if i == 0 {
            line.push_str(&word);
        } else if width(line) + 1 + width(&word) > room {
            lines.push(word);
        } else {
            line.push(' ');
            line.push_str(&word);
        }
    }
    lines
}

struct Printer {
    out: String,
    style: Style,
}

impl Printer {
    fn line(&mut self, line: &str) {
        self.out.push_str(line);
        self.out.push('\n');
    }

    /// An empty line, but never two.
    fn gap(&mut self) {
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    /// A text that hangs under its label; `mark` at its beginning is set apart.
    fn hung(&mut self, label: &str, mark: (Option<Ink>, usize), text: &str, ink: Option<Ink>) {
        // A label that leaves no room has a line of its own.
        let is_alone = width(label) > self.style.width - WORDS_MIN;
        let indent = " ".repeat(if is_alone { ALONE_INDENT } else { width(label) });
        if is_alone {
            self.line(&self.style.colour.paint(mark.0, label.trim_end()));
        }
        for (i, line) in lines(text, self.style.width - indent.len()).into_iter().enumerate() {
            let text = self.style.colour.paint(ink, &line);
            if i == 0 && !is_alone {
                let blank = label.len() - label.trim_start().len();
                let (marked, rest) = label[blank..].split_at(mark.1.min(label.len() - blank));
                let line =
                    format!("{}{}{rest}{text}", &label[..blank], self.style.colour.paint(mark.0, marked));
                self.line(line.trim_end());
            } else {
                self.line(&format!("{indent}{text}"));
            }
        }
    }

    fn sentence(&mut self, label: &str, text: &str) {
        self.hung(label, (None, 0), text, None);
    }

    fn leaves(&mut self, leaves: &[(&'static str, &Block<'_>)]) {
        let of_fact = |block: &Block<'_>| match block {
            Block::Fact { name, .. } => Some(width(&plain(name))),
            _ => None,
        };
        for run in leaves.chunk_by(|a, b| of_fact(a.1).is_some() && of_fact(b.1).is_some()) {
            let names = run.iter().filter_map(|(_, block)| of_fact(block)).max().unwrap_or(0).max(FACT_MIN);
            for (indent, block) in run {
                self.leaf(indent, block, names);
            }
        }
    }

    /// One block; `names` is the room for the name of a fact.
    fn leaf(&mut self, indent: &str, block: &Block<'_>, names: usize) {
        match block {
            Block::Title { title, lead } => self.title(&plain(title), &plain(lead)),
            Block::Headline(headline) => self.headline(headline),
            Block::Answer(sentences) => {
                sentences.iter().for_each(|message| self.sentence("", message));
                self.gap();
            }
            Block::Section { title, .. } | Block::Heading(title) => {
                let title = self.style.colour.paint(Ink::Bold, &plain(title));
                self.line(&title);
            }
            Block::Sentence(text) | Block::Caption(text) => self.sentence(indent, text),
            Block::Alarm(_, failures) => {
                for failure in failures {
                    let label = format!("  FAILED  {}: ", plain(&failure.what));
                    let text = format!("{}: {}", failure.what, failure.sentence);
                    match width(&label) <= self.style.width / 2 {
                        true => {
                            self.hung(&label, (Some(Ink::Bad), width(&label) - 4), &failure.sentence, None)
                        }
                        false => self.hung("  FAILED  ", (Some(Ink::Bad), 6), &text, None),
                    }
                    for evidence in &failure.evidence {
                        self.sentence("          ", evidence);
                    }
                }
            }
            Block::Loud(label, meaning) => {
                self.hung(&format!("  {label}: "), (Some(Ink::Bad), label.len()), meaning, None);
            }
            Block::Rule(rule) => self.rule(rule),
            Block::Fact { name, words, tone } => {
                let label = format!("  {:<names$}  ", plain(name));
                self.hung(&label, (None, 0), words, tone.and_then(Into::into));
            }
            Block::List(items) => items.iter().for_each(|item| self.sentence("  ", item)),
            Block::Notes(notes) => notes.iter().for_each(|note| self.sentence("note: ", note)),
            Block::Pairs(groups) => {
                for (name, value) in groups.iter().flat_map(|(_, pairs)| pairs) {
                    self.sentence(&format!("  {}  ", plain(name)), value);
                }
            }
            Block::Table(table) => self.table(table),
            Block::Gap => self.gap(),
            // Their contents are leaves of their own, and pictures are not for terminals.
            Block::At(..) | Block::Aside(..) | Block::Late(_) | Block::Chart(_) | Block::Link(..) => {}
        }
    }

    fn title(&mut self, title: &str, lead: &str) {
        let (bold, dim) =
            (self.style.colour.paint(Ink::Bold, title), |text: &str| self.style.colour.paint(Ink::Dim, text));
        if lead.is_empty() {
            self.line(&bold);
        } else if width(title) + 6 + width(lead) <= self.style.width {
            self.line(&format!("{bold}      {}", dim(lead)));
        } else {
            self.line(&bold);
            self.hung("  ", (None, 0), lead, Some(Ink::Dim));
        }
    }

    fn headline(&mut self, headline: &Headline) {
        let badges: Vec<_> = headline.badges.iter().filter(|badge| badge.level.shows(Format::Text)).collect();
        if let Some((first, rest)) = headline.words.split_first() {
            let label = badges.first().map_or_else(String::new, |badge| format!("{}: ", badge.word));
            let ink = badges.first().and_then(|badge| badge.tone.into());
            // The first sentence goes on at the margin, as a paragraph.
            for (i, line) in lines(&format!("{label}{first}"), self.style.width).into_iter().enumerate() {
                let marked = if i == 0 { label.trim_end().trim_end_matches(':').len() } else { 0 };
                let (mark, rest) = line.split_at(marked);
                let line = format!(
                    "{}{rest}",
                    if i == 0 { self.style.colour.paint(ink, mark) } else { String::new() }
                );
                self.line(&line);
            }
            rest.iter().for_each(|message| self.sentence("", message));
            self.gap();
        } else if let Some(number) = &headline.number {
            let mut line = format!("{} {}", number.value, number.margin);
            line = self.style.colour.paint(Ink::Bold, plain(&line).trim_end());
            line = format!("  {line} {}", plain(&number.unit));
            if !number.label.is_empty() {
                line = format!("{line} ({})", plain(&number.label));
            }
            for badge in badges {
                line = format!("{line}  {}", self.style.colour.paint(badge.tone, badge.word));
            }
            self.line(&line);
        }
        let names = headline.parties.iter().map(|[_, name, _]| width(&plain(name))).max().unwrap_or(0);
        for [letter, name, subject] in &headline.parties {
            self.line(&format!("  {letter}  {:names$}  {}", plain(name), plain(subject)));
        }
    }

    /// The rules that matter most, and how many more there are.
    fn weightiest(&mut self, mut rules: Vec<&Rule>) {
        rules.sort_by_key(|rule| rule.severity != Severity::Bad);
        let bad = rules.iter().filter(|rule| rule.severity == Severity::Bad).count();
        let shown = rules.len().min(RULES_MAX.max(bad));
        let more = rules.len() - shown;
        self.gap();
        rules[..shown].iter().for_each(|rule| self.rule(rule));
        let more = match more {
            0 => String::new(),
            _ => format!("{}; ", figures::counted(more as u64, "more warning")),
        };
        self.sentence("", &format!("{more}everything: `stackmark report --explain RESULT`"));
    }

    fn rule(&mut self, rule: &Rule) {
        let (label, ink) = match rule.severity {
            Severity::Bad => ("bad", Ink::Bad),
            _ => ("warning", Ink::Warn),
        };
        let advice = rule.advice.as_ref().map_or_else(String::new, |advice| format!("; {advice}"));
        let text = format!("{}{advice} [{}]", rule.sentence, rule.name);
        self.hung(&format!("{label}: "), (Some(ink), label.len()), &text, None);
    }

    /// A table, as several below each other where its columns need more room than there is: no figure is cut.
    fn table(&mut self, table: &Table) {
        let columns = table.shown(Format::Text);
        let cells = |row: &crate::block::Row| -> Vec<String> {
            columns.iter().map(|at| cell(&row.cells[*at], *at == 0)).collect()
        };
        let is_part = |row: &&crate::block::Row| matches!(row.cells.first(), Some(Cell::Part(..)));
        let rows = table.rows_of(Format::Text).filter(|row| self.style.in_full || !is_part(row));
        let rows: Vec<(&crate::block::Row, Vec<String>)> = rows.map(|row| (row, cells(row))).collect();
        let widths: Vec<usize> = (0..columns.len())
            .map(|at| {
                let column = &table.columns[columns[at]];
                let least = if column.is_figure { FIGURE_MIN } else { 0 };
                let most = rows.iter().map(|(_, cells)| width(&cells[at])).max().unwrap_or(0);
                most.max(width(&column.title)).max(least)
            })
            .collect();
        let mut from = 1;
        while from < columns.len() || from == 1 {
            let mut part = vec![(0, widths.first().copied().unwrap_or(0))];
            let mut used = GAP + part[0].1;
            for at in from..columns.len() {
                let is_last = at + 1 == columns.len() && !table.columns[columns[at]].is_figure;
                let room = self.style.width.saturating_sub(used + GAP);
                let takes = match widths[at] <= room {
                    true => widths[at],
                    false if is_last && room >= WORDS_MIN => room,
                    false if part.len() > 1 => break,
                    false => widths[at],
                };
                part.push((at, takes));
                used += GAP + takes;
            }
            from += part.len() - 1;
            if columns.len() <= 1 {
                from = usize::MAX;
            }
            self.part(table, &columns, &part, &rows);
        }
    }

    /// Some columns of a table, by their places, each with its width.
    fn part(
        &mut self,
        table: &Table,
        columns: &[usize],
        part: &[(usize, usize)],
        rows: &[(&crate::block::Row, Vec<String>)],
    ) {
        let titles: Vec<(String, Option<Ink>)> =
            part.iter().map(|(at, _)| (plain(&table.columns[columns[*at]].title), None)).collect();
        let is_figure = |at: usize| table.columns[columns[at]].is_figure;
        self.cells(part, &is_figure, titles, Some(Ink::Dim));
        for (row, cells) in rows {
            let inked = part.iter().map(|(at, _)| {
                let ink = match &row.cells[columns[*at]] {
                    Cell::Badge(tone, _) | Cell::Marked(tone, ..) => (*tone).into(),
                    _ => None,
                };
                (cells[*at].clone(), ink)
            });
            let whole = matches!(row.cells.first(), Some(Cell::Part(..))).then_some(Ink::Dim);
            self.cells(part, &is_figure, inked.collect(), whole);
            for remark in &row.remarks {
                self.sentence("    ", remark);
            }
        }
    }

    /// A row of cells; the last one is broken where it is too wide.
    fn cells(
        &mut self,
        part: &[(usize, usize)],
        is_figure: &dyn Fn(usize) -> bool,
        cells: Vec<(String, Option<Ink>)>,
        whole: Option<Ink>,
    ) {
        let last = cells.iter().rposition(|(text, _)| !text.is_empty()).unwrap_or(0);
        let mut line = String::new();
        let mut column = 0;
        let mut more = Vec::new();
        for (i, ((text, ink), (at, room))) in cells.into_iter().zip(part).enumerate().take(last + 1) {
            let mut broken = match is_figure(*at) || width(&text) <= *room {
                true => vec![text],
                false => lines(&text, *room),
            };
            let text = broken.remove(0);
            let space = room.saturating_sub(width(&text));
            let (before, after) =
                if is_figure(*at) { (space, 0) } else { (0, if i == last { 0 } else { space }) };
            line.push_str(&" ".repeat(GAP + before));
            line.push_str(&self.style.colour.paint(ink.filter(|_| whole.is_none()), &text));
            line.push_str(&" ".repeat(after));
            more.extend(broken.into_iter().map(|text| format!("{}{text}", " ".repeat(column + GAP))));
            column += GAP + room;
        }
        let line = self.style.colour.paint(whole, line.trim_end());
        self.line(&line);
        more.iter().for_each(|line| self.line(line));
    }
}

/// A cell in one line; the name of a row is cut where it is very long.
fn cell(cell: &Cell, is_name: bool) -> String {
    let text = match cell {
        Cell::Part(_, name) => format!("  {name}"),
        _ => cell.words(),
    };
    let text = plain(&text);
    match is_name && width(&text) > NAME_MAX {
        true => text.chars().take(NAME_MAX - 1).chain(['…']).collect(),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::block::{Level, figure, words};

    fn check(table: Table, expected: &str) {
        assert_eq!(print(&[Block::Table(table)], Style::PLAIN), expected);
    }

    #[test]
    fn a_table_that_is_too_wide_goes_on_below_itself_and_no_figure_is_cut() {
        let mut columns = vec![words("name")];
        columns.extend((1..=4).map(|at| figure(format!("figure {at}"))));
        let mut table = Table::new("", columns);
        let figures = [40, 30, 20, 10].map(|digits| "7".repeat(digits));
        table.row(["x".repeat(41)].into_iter().chain(figures.clone()));
        let name = "x".repeat(39) + "…";
        let [a, b, c, d] = figures;
        let rows = [
            format!("  {:40}  {:>40}", "name", "figure 1"),
            format!("  {name}  {a}"),
            format!("  {:40}  {:>30}  {:>20}", "name", "figure 2", "figure 3"),
            format!("  {name}  {b}  {c}"),
            format!("  {:40}  {:>10}", "name", "figure 4"),
            format!("  {name}  {d}"),
        ];
        check(table, &(rows.join("\n") + "\n"));
    }

    #[test]
    fn words_of_a_last_column_are_broken_and_columns_of_other_formats_left_out() {
        let columns = [words("step"), figure("p90").at(Level::Full), words("why")];
        let mut table = Table::new("", columns);
        table.row(["1".to_owned(), "9 ms".to_owned(), "word ".repeat(20).trim().to_owned()]);
        let first = "word ".repeat(18);
        check(table, &format!("  step  why\n  1     {}\n        word word\n", first.trim()));
    }

    #[test]
    fn text_from_elsewhere_moves_no_cursor_and_what_is_late_comes_last() {
        let late = Block::Late(vec![Block::Notes(vec!["ended\nearly".to_owned()])]);
        let blocks = [late, Block::fact("audits", "3 of\x1b[2J 3 passed")];
        assert_eq!(print(&blocks, Style::PLAIN), "  audits       3 of [2J 3 passed\n\nnote: ended early\n");
    }
}
