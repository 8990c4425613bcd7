//! Markup that cannot hold unescaped data: what is written as it stands must be a literal of this crate.

/// HTML in the making.
#[derive(Default)]
pub(super) struct Markup {
    html: String,
}

/// Attributes: names are literals, values are escaped.
pub(super) type Attributes<'a> = &'a [(&'static str, &'a str)];

impl Markup {
    /// Writes a literal as it stands.
    pub(super) fn raw(&mut self, literal: &'static str) -> &mut Markup {
        self.html.push_str(literal);
        self
    }

    /// Writes data, escaped for text and for attribute values alike.
    pub(super) fn text(&mut self, text: &str) -> &mut Markup {
        for char in text.chars() {
            match char {
                '<' => self.html.push_str("&lt;"),
                '>' => self.html.push_str("&gt;"),
                '&' => self.html.push_str("&amp;"),
                '"' => self.html.push_str("&quot;"),
                '\'' => self.html.push_str("&#39;"),
                char => self.html.push(char),
            }
        }
        self
    }

    /// Writes running text, whose lines end nowhere within a number or between it and its unit.
    pub(super) fn prose(&mut self, text: &str) -> &mut Markup {
        self.text(&bound(text))
    }

    /// Writes a long value without spaces, such as a path or a name, and where its line may end.
    fn breakable(&mut self, value: &str) -> &mut Markup {
        for part in value.split_inclusive(['.', '_', '/', '=', ',']) {
            self.text(part).raw("<wbr>");
        }
        self
    }

    /// Writes markup that was made apart.
    pub(super) fn markup(&mut self, markup: Markup) -> &mut Markup {
        self.html.push_str(&markup.html);
        self
    }

    /// Writes an element with its content.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        attributes: Attributes<'_>,
        content: impl FnOnce(&mut Markup),
    ) -> &mut Markup {
        self.start(tag, attributes).raw(">");
        content(self);
        self.raw("</").raw(tag).raw(">")
    }

    /// Writes an element of a drawing that holds nothing, on a line of its own.
    pub(super) fn empty(&mut self, tag: &'static str, attributes: Attributes<'_>) -> &mut Markup {
        self.start(tag, attributes).raw("/>\n")
    }

    fn start(&mut self, tag: &'static str, attributes: Attributes<'_>) -> &mut Markup {
        self.raw("<").raw(tag);
        for (name, value) in attributes {
            self.raw(" ").raw(name).raw("=\"").text(value).raw("\"");
        }
        self
    }

    /// Writes an element that holds nothing but text.
    pub(super) fn line(&mut self, tag: &'static str, class: &'static str, text: &str) -> &mut Markup {
        let attributes: &[_] = &[("class", class)];
        self.element(tag, if class.is_empty() { &[] } else { attributes }, |element| match tag {
            // What is meant to be copied stays as it is.
            "code" => _ = element.text(text),
            _ => _ = element.prose(text),
        })
    }

    /// Writes a titled section.
    pub(super) fn section(&mut self, title: &str, content: impl FnOnce(&mut Markup)) -> &mut Markup {
        self.raw("\n").element("section", &[], |section| {
            section.line("h2", "", title);
            content(section);
        })
    }

    /// Writes sentences as a list.
    pub(super) fn sentences(&mut self, sentences: &[String]) -> &mut Markup {
        self.element("ul", &[], |list| {
            for sentence in sentences {
                list.line("li", "", sentence);
            }
        })
    }

    /// Writes a table whose first column names the row.
    pub(super) fn table(&mut self, table: &Table) -> &mut Markup {
        // Focusable, so that a keyboard can scroll what a narrow screen cannot hold.
        let frame = [
            ("class", "scroll"),
            ("tabindex", "0"),
            ("role", "group"),
            ("aria-label", table.caption.as_str()),
        ];
        self.element("div", &frame, |frame| {
            let class = match (table.breaks, table.is_named()) {
                (true, _) => "breaking",
                (false, true) => "named",
                (false, false) => "numbered",
            };
            frame.element("table", &[("class", class)], |element| {
                element.element("caption", &[], |caption| {
                    // A span, so that a narrow screen breaks the line where a wide table would not.
                    caption.line("span", "", &table.caption);
                });
                element.raw("<thead><tr>");
                for (column, title) in table.titles.iter().enumerate() {
                    element.element("th", &[("scope", "col"), ("class", table.class(column))], |cell| {
                        cell.text(title);
                    });
                }
                element.raw("</tr></thead><tbody>");
                for row in &table.rows {
                    table_row(element, table, row);
                }
                element.raw("</tbody>");
            });
        })
    }

    /// Writes a table that a reader asks for.
    pub(super) fn folded_table(&mut self, summary: &str, table: &Table) -> &mut Markup {
        self.element("details", &[], |details| {
            details.line("summary", "", summary);
            details.table(table);
        })
    }

    /// Writes one word that stands for a state, with a sign of its own so that colour is not needed.
    pub(super) fn badge(&mut self, tone: Tone, word: &str) -> &mut Markup {
        let (class, sign) = match tone {
            Tone::Good => ("badge good", "✓\u{a0}"),
            Tone::Plain => ("badge plain", ""),
            Tone::Warn => ("badge warn", "▲\u{a0}"),
            Tone::Bad => ("badge bad", "✕\u{a0}"),
        };
        self.element("span", &[("class", class)], |span| {
            span.raw(sign).text(word);
        })
    }

    /// The HTML.
    pub(super) fn into_string(self) -> String {
        self.html
    }
}

/// With no-break spaces inside numbers, `20 000 ± 90 000`, and before their units, `19.6 %`, `2 min`.
fn bound(text: &str) -> String {
    const UNITS: [&str; 12] = ["%", "±", "×", "ns", "µs", "ms", "s", "min", "h", "KiB", "MiB", "GiB"];
    let is_number = |word: &str| word.ends_with(|char: char| char.is_ascii_digit()) || word == "±";
    let unpunctuated = |word: &str| word.trim_end_matches(['.', ',', ';', ':', ')']).len();
    let mut out = String::with_capacity(text.len());
    let (mut before, mut is_first) = ("", true);
    for word in text.split(' ') {
        if !is_first {
            let bare = &word[..unpunctuated(word)];
            let is_thousands = bare.len() >= 3
                && bare.as_bytes()[..3].iter().all(u8::is_ascii_digit)
                && !bare.as_bytes().get(3).is_some_and(u8::is_ascii_digit);
            let joined = is_number(before)
                && (UNITS.contains(&bare)
                    || is_thousands
                    || before == "±" && bare.starts_with(|char: char| char.is_ascii_digit()));
            out.push(if joined { '\u{a0}' } else { ' ' });
        }
        out.push_str(word);
        (before, is_first) = (word, false);
    }
    out
}

fn table_row(body: &mut Markup, table: &Table, row: &[Cell]) {
    body.raw("<tr>");
    for (column, cell) in row.iter().enumerate() {
        let class = table.class(column);
        let content = |td: &mut Markup| match cell {
            Cell::Text(text) if table.breaks && class == "words" => {
                td.breakable(text);
            }
            Cell::Text(text) => {
                td.text(text);
            }
            Cell::Badge(tone, words) => {
                // What is said beyond the state stands under it, so that a badge stays short.
                let (word, rest) = words.split_once(", ").unwrap_or((words, ""));
                td.badge(*tone, word);
                if !rest.is_empty() {
                    td.line("small", "", rest);
                }
            }
            Cell::Link(target, text, details) => {
                td.element("a", &[("href", target)], |link| {
                    link.text(text);
                });
                for detail in details {
                    td.line("small", "", detail);
                }
            }
            Cell::Detailed(text, details) => {
                td.text(text);
                for detail in details {
                    td.line("small", "", detail);
                }
            }
        };
        if column == 0 {
            body.element("th", &[("scope", "row"), ("class", class)], content);
        } else {
            body.element("td", &[("class", class)], content);
        }
    }
    body.raw("</tr>");
}

/// How a state is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tone {
    Good,
    Plain,
    Warn,
    Bad,
}

/// A table as data.
pub(super) struct Table {
    caption: String,
    titles: Vec<String>,
    /// From this column on, cells hold figures and are set flush right, up to `figures_to`.
    figures_from: usize,
    figures_to: usize,
    /// Whether long values may be broken anywhere, so that the table fits.
    breaks: bool,
    rows: Vec<Vec<Cell>>,
}

/// A cell of a table.
pub(super) enum Cell {
    /// Text or a figure.
    Text(String),
    /// A state; what follows a comma is set under it.
    Badge(Tone, String),
    /// A place in the page and the text that leads there, with lines of evidence under it.
    Link(String, String, Vec<String>),
    /// Text with lines of evidence under it.
    Detailed(String, Vec<String>),
}

impl From<String> for Cell {
    fn from(text: String) -> Cell {
        Cell::Text(text)
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Cell {
        Cell::Text(text.to_owned())
    }
}

impl Table {
    /// A table whose columns hold figures in the range `figures`, counted from 0.
    pub(super) fn new(caption: &str, titles: &[&str], figures: std::ops::Range<usize>) -> Table {
        Table {
            caption: caption.to_owned(),
            titles: titles.iter().map(|title| (*title).to_owned()).collect(),
            figures_from: figures.start,
            figures_to: figures.end,
            breaks: false,
            rows: Vec::new(),
        }
    }

    /// For long values: they may be broken anywhere, so that the table fits.
    pub(super) fn breaking(mut self) -> Table {
        self.breaks = true;
        self
    }

    /// Adds a row.
    pub(super) fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Whether its rows have names that need room, not just numbers.
    fn is_named(&self) -> bool {
        /// A number or a word or two.
        const SHORT_MAX: usize = 10;
        let name = |row: &Vec<Cell>| match row.first() {
            Some(
                Cell::Text(text) | Cell::Detailed(text, _) | Cell::Link(_, text, _) | Cell::Badge(_, text),
            ) => text.chars().count(),
            None => 0,
        };
        self.rows.iter().any(|row| name(row) > SHORT_MAX)
    }

    fn class(&self, column: usize) -> &'static str {
        if (self.figures_from..self.figures_to).contains(&column) { "figure" } else { "words" }
    }
}

#[cfg(test)]
mod tests {
    use super::{Markup, bound};

    #[test]
    fn lines_end_neither_within_a_number_nor_before_its_unit() {
        let check = |text: &str, expected: &str| assert_eq!(bound(text).replace('\u{a0}', "~"), expected);
        check("highest: 20 000 ± 90 000 new orders/min.", "highest: 20~000~±~90~000 new orders/min.");
        check("lie 19.6 % from it, after 2 min 5 s.", "lie 19.6~% from it, after 2~min 5~s.");
        check("of 8 clients in 2026 1000 calls", "of 8 clients in 2026 1000 calls");
        check(" two  spaces ", " two  spaces ");
        check("", "");
    }

    #[test]
    fn data_is_escaped_in_text_and_in_attributes() {
        let mut markup = Markup::default();
        markup.element("p", &[("title", "\"><script>")], |p| {
            p.text("<b>'&").raw("<br>").text("\"");
        });
        assert_eq!(
            markup.into_string(),
            "<p title=\"&quot;&gt;&lt;script&gt;\">&lt;b&gt;&#39;&amp;<br>&quot;</p>"
        );
    }
}
