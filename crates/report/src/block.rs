//! What a report says, as a tree: made once from a document, printed as text, as Markdown and as a page.
//!
//! A block knows which formats show it, so that no format works anything out for itself. What a block says is in full words:
//! no-break spaces hold numbers together, and each format escapes what it must.

use crate::html::Markup;
use judge::findings::Failure;
use result::{Check, Rule, Severity, Verdict};

/// What prints a tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Format {
    Text,
    /// Markdown, as for a pull request.
    Markdown,
    Page,
}

/// How much a report has to tell before it shows something.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// The terminal alone: the others have it at length.
    Line,
    /// In short: the page has it at length.
    Brief,
    /// In every format, and also in the short text of a terminal.
    Vital,
    /// In every format.
    Always,
    /// Wherever there is room, which a terminal has not.
    Full,
    /// On the page alone.
    Page,
}

impl Level {
    /// Whether a format shows what is at this level.
    pub(crate) fn shows(self, format: Format) -> bool {
        match self {
            Level::Line => format == Format::Text,
            Level::Brief => format != Format::Page,
            Level::Vital | Level::Always => true,
            Level::Full => format != Format::Text,
            Level::Page => format == Format::Page,
        }
    }
}

/// How a state is meant.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Tone {
    Good,
    Plain,
    Warn,
    Bad,
    /// A verdict, which has one colour and one sign wherever it stands.
    Of(Verdict),
}

impl Tone {
    /// What says the same without colour; empty for what is neither good nor bad.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Tone::Good => "✓",
            Tone::Plain => "",
            Tone::Warn => "▲",
            Tone::Bad => "✕",
            Tone::Of(verdict) => mark(verdict),
        }
    }
}

/// The sign of a verdict.
pub(crate) fn mark(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Better => "+",
        Verdict::Worse => "−",
        Verdict::NoDifference => "=",
        Verdict::Inconclusive => "?",
        Verdict::NotComparable => "!",
    }
}

impl From<Check> for Tone {
    fn from(check: Check) -> Tone {
        match check {
            Check::Passed => Tone::Good,
            Check::Failed => Tone::Bad,
            Check::NotRun => Tone::Warn,
            Check::Inconclusive => Tone::Plain,
        }
    }
}

impl From<Severity> for Tone {
    fn from(severity: Severity) -> Tone {
        match severity {
            Severity::Ok => Tone::Good,
            Severity::Info => Tone::Plain,
            Severity::Warning => Tone::Warn,
            Severity::Bad => Tone::Bad,
        }
    }
}

/// The drawing of a chart, made only for the page.
pub(crate) type Draw<'a> = Box<dyn Fn(&mut Markup) + 'a>;

/// A piece of a report.
pub(crate) enum Block<'a> {
    /// What the report is of, and under what circumstances.
    Title {
        /// In the largest letters.
        title: String,
        /// In a line next to or under it.
        lead: String,
    },
    /// The number, or the verdict, and what is asked next.
    Headline(Headline),
    /// The answer to a question: the most important sentence first.
    Answer(Vec<String>),
    /// A part with a name, which a terminal leaves out unless `named`.
    Section {
        title: String,
        /// What links in the page lead to; empty where none does.
        id: String,
        /// Whether a terminal shows the name.
        named: bool,
        blocks: Vec<Block<'a>>,
    },
    /// A name within a section.
    Heading(String),
    Sentence(String),
    /// A remark on what stands above it.
    Caption(String),
    /// What leads to a place further down a page.
    Link(String, String),
    /// What makes numbers worthless, with the evidence, under a heading.
    Alarm(&'static str, Vec<Failure>),
    /// What must be known before a number is read: a label and what it means.
    Loud(&'static str, &'static str),
    Rule(Rule),
    /// A name and what is to be said of it.
    Fact {
        /// In a word or two: `audits`, `bottleneck`.
        name: String,
        /// Without a full stop.
        words: String,
        /// How it is meant, where that is known.
        tone: Option<Tone>,
    },
    /// Sentences, one below the other.
    List(Vec<String>),
    /// What users and programs noted.
    Notes(Vec<String>),
    /// Names and values in groups.
    Pairs(Vec<(&'static str, Vec<(String, String)>)>),
    /// A table; nothing without a row.
    Table(Table),
    /// A picture, on the page alone.
    Chart(Draw<'a>),
    /// What not every format shows.
    At(Level, Vec<Block<'a>>),
    /// What Markdown folds away under a title.
    Aside(&'static str, Vec<Block<'a>>),
    /// What a terminal, which is read from its end, shows last.
    Late(Vec<Block<'a>>),
    /// An empty line in a terminal.
    Gap,
}

impl<'a> Block<'a> {
    /// A part with a name.
    pub(crate) fn section(title: impl Into<String>, blocks: Vec<Block<'a>>) -> Block<'a> {
        Block::Section { title: title.into(), id: String::new(), named: false, blocks }
    }

    /// A fact that is neither good nor bad.
    pub(crate) fn fact(name: impl Into<String>, words: impl Into<String>) -> Block<'a> {
        Block::Fact { name: name.into(), words: words.into(), tone: None }
    }

    /// A fact that is.
    pub(crate) fn told(name: impl Into<String>, words: impl Into<String>, tone: Tone) -> Block<'a> {
        Block::Fact { name: name.into(), words: words.into(), tone: Some(tone) }
    }

    pub(crate) fn chart(draw: impl Fn(&mut Markup) + 'a) -> Block<'a> {
        Block::Chart(Box::new(draw))
    }

    /// The same, not shown by every format.
    pub(crate) fn at(self, level: Level) -> Block<'a> {
        Block::At(level, vec![self])
    }

    /// Whether a format has anything to print of it.
    pub(crate) fn is_shown(&self, format: Format) -> bool {
        let any = |blocks: &[Block<'_>]| blocks.iter().any(|block| block.is_shown(format));
        match self {
            Block::At(level, blocks) => level.shows(format) && any(blocks),
            Block::Section { blocks, .. } | Block::Aside(_, blocks) | Block::Late(blocks) => any(blocks),
            Block::Table(table) => !table.is_empty(),
            Block::Alarm(_, failures) => !failures.is_empty(),
            Block::List(items) | Block::Notes(items) => !items.is_empty(),
            Block::Chart(_) | Block::Link(..) => format == Format::Page,
            Block::Gap => format == Format::Text,
            _ => true,
        }
    }
}

/// The number of a report or its verdict, with what stands next to it.
#[derive(Default)]
pub(crate) struct Headline {
    /// Whether the number is not to be believed.
    pub(crate) invalid: bool,
    /// The number; said by `words` too where there are any.
    pub(crate) number: Option<Number>,
    /// States, each with its meaning.
    pub(crate) badges: Vec<Badge>,
    /// What people ask for next, on the page.
    pub(crate) facts: Vec<(String, String)>,
    /// The verdict in words, the most important first.
    pub(crate) words: Vec<String>,
    /// Letter, name and subject of each side.
    pub(crate) parties: Vec<[String; 3]>,
}

/// A number in large figures.
pub(crate) struct Number {
    pub(crate) value: String,
    /// How sure it is: `± 400`; empty where nothing tells.
    pub(crate) margin: String,
    pub(crate) unit: String,
    /// What it is called; empty where it has no name.
    pub(crate) label: String,
}

/// A state in a word.
pub(crate) struct Badge {
    /// How it is meant.
    pub(crate) tone: Tone,
    pub(crate) word: &'static str,
    /// What it means; empty where the word says it.
    pub(crate) meaning: &'static str,
    /// Which formats show it next to the number.
    pub(crate) level: Level,
}

impl Badge {
    /// A state that says what it is.
    pub(crate) fn new(tone: Tone, word: &'static str) -> Badge {
        Badge { tone, word, meaning: "", level: Level::Always }
    }
}

/// A table whose first column names the row.
pub(crate) struct Table {
    pub(crate) caption: String,
    pub(crate) columns: Vec<Column>,
    /// Its rows, each with a cell for every column.
    pub(crate) rows: Vec<Row>,
    /// Whether long values may be broken anywhere, so that the table fits.
    pub(crate) breaks: bool,
    /// On the page a reader has to ask for it, by this title.
    pub(crate) fold: Option<String>,
}

pub(crate) struct Column {
    pub(crate) title: String,
    /// Whether it is set flush right.
    pub(crate) is_figure: bool,
    /// Which formats have it.
    pub(crate) level: Level,
}

pub(crate) struct Row {
    /// A cell for every column.
    pub(crate) cells: Vec<Cell>,
    /// Which formats have it.
    pub(crate) level: Level,
    pub(crate) remarks: Vec<String>,
}

/// A cell of a table.
#[derive(Clone)]
pub(crate) enum Cell {
    /// Text or a figure.
    Text(String),
    /// A state; what follows a comma is less important.
    Badge(Tone, String),
    /// A figure and how it is meant, with the sign that says so without colour.
    Marked(Tone, String),
    /// Text with lines of evidence under it, which only the page has.
    Detailed(String, Vec<String>),
    /// A place in the page and the text that leads there, with lines under it.
    Link(String, String, Vec<String>),
    /// A part of what an earlier row is of, and its own name.
    Part(String, String),
}

impl Cell {
    /// What it says in one line.
    pub(crate) fn words(&self) -> String {
        match self {
            Cell::Text(text) | Cell::Badge(_, text) | Cell::Detailed(text, _) | Cell::Link(_, text, _) => {
                text.clone()
            }
            Cell::Marked(tone, figure) => format!("{figure} {}", tone.sign()),
            Cell::Part(of, name) => format!("{of}, {name}"),
        }
    }
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

pub(crate) fn words(title: impl Into<String>) -> Column {
    Column { title: title.into(), is_figure: false, level: Level::Always }
}

pub(crate) fn figure(title: impl Into<String>) -> Column {
    Column { is_figure: true, ..words(title) }
}

impl Column {
    /// The same, not in every format.
    pub(crate) fn at(self, level: Level) -> Column {
        Column { level, ..self }
    }
}

impl Table {
    /// Without a row.
    pub(crate) fn new(caption: impl Into<String>, columns: impl Into<Vec<Column>>) -> Table {
        let (caption, columns) = (caption.into(), columns.into());
        Table { caption, columns, rows: Vec::new(), breaks: false, fold: None }
    }

    /// For long values: they may be broken anywhere, so that the table fits.
    pub(crate) fn breaking(self) -> Table {
        Table { breaks: true, ..self }
    }

    /// Shown on the page to those who ask.
    pub(crate) fn folded(self, title: impl Into<String>) -> Table {
        Table { fold: Some(title.into()), ..self }
    }

    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = impl Into<Cell>>) -> &mut Row {
        let cells: Vec<Cell> = cells.into_iter().map(Into::into).collect();
        assert_eq!(cells.len(), self.columns.len(), "a cell for every column of `{}`", self.caption);
        self.rows.push(Row { cells, level: Level::Always, remarks: Vec::new() });
        self.rows.last_mut().expect("one was added")
    }

    pub(crate) fn of<C: Into<Cell>>(
        mut self,
        rows: impl IntoIterator<Item = impl IntoIterator<Item = C>>,
    ) -> Table {
        rows.into_iter().for_each(|cells| _ = self.row(cells));
        self
    }

    /// Whether it says nothing.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The columns that a format has, by their places.
    pub(crate) fn shown(&self, format: Format) -> Vec<usize> {
        (0..self.columns.len()).filter(|at| self.columns[*at].level.shows(format)).collect()
    }

    /// The rows that a format has.
    pub(crate) fn rows_of(&self, format: Format) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |row| row.level.shows(format))
    }
}

impl From<Table> for Block<'_> {
    fn from(table: Table) -> Self {
        Block::Table(table)
    }
}
