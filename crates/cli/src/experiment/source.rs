//! The text of an experiment file as a tree in which everything knows where it stands, and errors that show the place.

use anyhow::anyhow;
use std::fmt::Display;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Where something stands: bytes of the text.
pub(super) type Span = Range<usize>;

/// A file, for its errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct Source<'a> {
    path: &'a Path,
    text: &'a str,
}

/// A value where it stands.
#[derive(Debug, Clone)]
pub(super) struct Value {
    pub(super) span: Span,
    pub(super) kind: ValueKind,
}

#[derive(Debug, Clone)]
pub(super) enum ValueKind {
    Text(String),
    /// A whole number, in digits.
    Whole(String),
    /// A number with a fraction or an exponent, as written.
    Decimal(String),
    Truth(bool),
    Date,
    List(Vec<Value>),
    /// In the order of the file.
    Table(Vec<KeyValue>),
}

/// `key = value`.
#[derive(Debug, Clone)]
pub(super) struct KeyValue {
    pub(super) key: String,
    pub(super) key_span: Span,
    pub(super) value: Value,
}

impl<'a> Source<'a> {
    pub(super) fn new(path: &'a Path, text: &'a str) -> Source<'a> {
        Source { path, text }
    }

    /// The whole file.
    pub(super) fn entries(&self) -> anyhow::Result<Vec<KeyValue>> {
        match DeTable::parse(self.text) {
            Ok(table) => Ok(entries(table.get_ref())),
            Err(error) => {
                let end = self.text.trim_end().len();
                Err(self.wrong(&error.span().unwrap_or(end..end), error.message()))
            }
        }
    }

    /// What is wrong at a place, with the line. A hint in the message comes after the line.
    pub(super) fn wrong(&self, span: &Span, message: impl Display) -> anyhow::Error {
        anyhow!(deploy::mistake::at(self.path, self.text, span, &message.to_string()))
    }

    /// Checks that a table has no other keys than `known`. `what` is what the table describes: `a variant`.
    pub(super) fn known(&self, entries: &[KeyValue], what: &str, known: &[&str]) -> anyhow::Result<()> {
        match entries.iter().find(|entry| !known.contains(&entry.key.as_str())) {
            None => Ok(()),
            Some(KeyValue { key, key_span, .. }) => {
                let near = nearest(key, known.iter().copied())
                    .map_or_else(String::new, |nearest| format!("; nearest: `{nearest}`"));
                Err(self.wrong(
                    key_span,
                    format!("{what} has no key `{key}`{near}\nhint: there are {}", known.join(", ")),
                ))
            }
        }
    }

    /// The text of an entry. `such` is an example of what would be right.
    pub(super) fn text<'e>(&self, entry: &'e KeyValue, such: &str) -> anyhow::Result<&'e str> {
        match &entry.value.kind {
            ValueKind::Text(text) => Ok(text),
            _ => Err(self.mistyped(entry, "text", such)),
        }
    }

    /// The truth of an entry.
    pub(super) fn truth(&self, entry: &KeyValue) -> anyhow::Result<bool> {
        match &entry.value.kind {
            ValueKind::Truth(truth) => Ok(*truth),
            _ => Err(self.mistyped(entry, "true or false", "true")),
        }
    }

    /// The entries of a table.
    pub(super) fn table<'e>(&self, entry: &'e KeyValue, such: &str) -> anyhow::Result<&'e [KeyValue]> {
        match &entry.value.kind {
            ValueKind::Table(entries) => Ok(entries),
            _ => Err(self.mistyped(entry, "a table", such)),
        }
    }

    /// A value of another type than it must have.
    pub(super) fn mistyped(&self, entry: &KeyValue, wanted: &str, such: &str) -> anyhow::Error {
        let KeyValue { key, value, .. } = entry;
        self.wrong(&value.span, format!("`{key}` is {wanted}, such as {such}, and not {}", value.kind.name()))
    }
}

impl ValueKind {
    pub(super) fn name(&self) -> &'static str {
        match self {
            ValueKind::Text(_) => "text",
            ValueKind::Whole(_) => "a whole number",
            ValueKind::Decimal(_) => "a number with a fraction",
            ValueKind::Truth(_) => "true or false",
            ValueKind::Date => "a date",
            ValueKind::List(_) => "a list",
            ValueKind::Table(_) => "a table",
        }
    }
}

/// The entry of a key.
pub(super) fn get<'e>(entries: &'e [KeyValue], key: &str) -> Option<&'e KeyValue> {
    entries.iter().find(|entry| entry.key == key)
}

/// The name that was probably meant, if one is near enough.
pub(super) fn nearest<'n>(given: &str, known: impl Iterator<Item = &'n str>) -> Option<&'n str> {
    const NEAR: f64 = 0.75;
    let given = given.to_lowercase();
    known
        .map(|name| (name, strsim::jaro_winkler(&name.to_lowercase(), &given)))
        .filter(|(_, likeness)| *likeness >= NEAR)
        .max_by(|(_, a), (_, b)| a.total_cmp(b))
        .map(|(name, _)| name)
}

fn entries(table: &DeTable<'_>) -> Vec<KeyValue> {
    let mut entries: Vec<KeyValue> = table
        .iter()
        .map(|(key, value)| KeyValue {
            key: key.get_ref().to_string(),
            key_span: key.span(),
            value: self::value(value),
        })
        .collect();
    // The parser keeps keys by name.
    entries.sort_by_key(|entry| entry.key_span.start);
    entries
}

fn value(value: &Spanned<DeValue<'_>>) -> Value {
    let kind = match value.get_ref() {
        DeValue::String(text) => ValueKind::Text(text.to_string()),
        DeValue::Integer(digits) => match i128::from_str_radix(digits.as_str(), digits.radix()) {
            Ok(number) => ValueKind::Whole(number.to_string()),
            Err(_) => ValueKind::Whole(digits.as_str().to_owned()),
        },
        DeValue::Float(number) => ValueKind::Decimal(number.as_str().to_owned()),
        DeValue::Boolean(truth) => ValueKind::Truth(*truth),
        DeValue::Datetime(_) => ValueKind::Date,
        DeValue::Array(values) => ValueKind::List(values.iter().map(self::value).collect()),
        DeValue::Table(table) => ValueKind::Table(entries(table)),
    };
    Value { span: value.span(), kind }
}
