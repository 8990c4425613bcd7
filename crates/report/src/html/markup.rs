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

    /// Writes what the chart canvas has drawn and escaped.
    pub(super) fn drawing(&mut self, drawing: &super::chart::Drawing) -> &mut Markup {
        self.html.push_str(drawing.svg());
        self
    }

    /// Writes an element with its content.
    pub(super) fn element(
        &mut self,
        tag: &'static str,
        attributes: Attributes<'_>,
        content: impl FnOnce(&mut Markup),
    ) -> &mut Markup {
        self.raw("<").raw(tag);
        for (name, value) in attributes {
            self.raw(" ").raw(name).raw("=\"").text(value).raw("\"");
        }
        self.raw(">");
        content(self);
        self.raw("</").raw(tag).raw(">")
    }

    /// Writes an element that holds nothing but text.
    pub(super) fn line(&mut self, tag: &'static str, class: &'static str, text: &str) -> &mut Markup {
        let attributes: &[_] = &[("class", class)];
        self.element(tag, if class.is_empty() { &[] } else { attributes }, |element| {
            element.text(text);
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
            let attributes: Attributes<'_> = if table.breaks { &[("class", "breaking")] } else { &[] };
            frame.element("table", attributes, |element| {
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

fn table_row(body: &mut Markup, table: &Table, row: &[Cell]) {
    body.raw("<tr>");
    for (column, cell) in row.iter().enumerate() {
        let class = table.class(column);
        let content = |td: &mut Markup| match cell {
            Cell::Text(text) => {
                td.text(text);
            }
            Cell::Badge(tone, word) => {
                td.badge(*tone, word);
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
    /// A state.
    Badge(Tone, String),
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

    fn class(&self, column: usize) -> &'static str {
        if (self.figures_from..self.figures_to).contains(&column) { "figure" } else { "words" }
    }
}

#[cfg(test)]
mod tests {
    use super::Markup;

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
