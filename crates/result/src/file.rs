//! Documents as files.

use super::{Document, progress};
use serde::{Deserialize, Serialize};
use serde_json::ser::{Formatter, PrettyFormatter};
use std::io;
use std::path::{Path, PathBuf};

/// Name and version of the format that this crate writes.
pub const SCHEMA: &str = "stackmark-result/5";

/// Containers nested deeper than this are written on one line: a slice or an audit a line keeps a file readable, its
/// differences small and its size close to that of compact JSON.
const DEPTH_OPEN_MAX: usize = 4;

/// Why a document could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The file cannot be read at all.
    #[error("could not read {}", path.display())]
    Unreadable { path: PathBuf, source: io::Error },
    /// It is not a result document, or a broken one.
    #[error("{}, line {line}: {what}", path.display())]
    Malformed {
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong there.
        what: String,
    },
    /// It is a result document of another version.
    #[error(
        "{} is in the format `{found}`; this version of stackmark reads `{SCHEMA}`\nhint: render it with the version that wrote it, \
         which its field `stackmark` names",
        path.display()
    )]
    OtherSchema {
        path: PathBuf,
        /// The name and version it states.
        found: String,
    },
}

/// Reads the document at `path`, or `result.json` in the folder at `path`; a trial that runs, or did when its process was
/// killed, as far as it had come.
///
/// # Errors
/// The file is missing or unreadable, is not a result document, or one of another version.
pub fn read(path: &Path) -> Result<Document, ReadError> {
    let path = if path.is_dir() { path.join("result.json") } else { path.to_owned() };
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(source) => return Err(ReadError::Unreadable { path, source }),
    };
    let mut document = parse(&text, &path)?;
    if let Some(folder) = path.parent().filter(|_| path.ends_with("result.json")) {
        progress::bring_up_to_date(&mut document.trials, folder)
            .map_err(|source| ReadError::Unreadable { path: folder.join(progress::PROGRESS_FILE), source })?;
    }
    Ok(document)
}

/// Reads a document from `text`; `path` is for messages.
///
/// # Errors
/// The text is not a result document, or one of another version.
pub fn parse(text: &str, path: &Path) -> Result<Document, ReadError> {
    /// The one field that every version has. It is read first, so that the error names the version and not the first unknown
    /// field.
    #[derive(Deserialize)]
    struct Head {
        schema: String,
    }
    let malformed = |error: serde_json::Error| {
        let message = error.to_string();
        // The position is a field of its own; serde_json repeats it at the end of its message.
        let what = message.rsplit_once(" at line ").map_or(message.as_str(), |(what, _)| what);
        ReadError::Malformed { path: path.to_owned(), line: error.line(), what: what.to_owned() }
    };
    let head: Head = serde_json::from_str(text).map_err(malformed)?;
    if head.schema != SCHEMA {
        return Err(ReadError::OtherSchema { path: path.to_owned(), found: head.schema });
    }
    serde_json::from_str(text).map_err(malformed)
}

/// The document as JSON, ending with a newline.
pub fn to_json(document: &Document) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Shallow::default());
    document.serialize(&mut serializer).expect("a document is a tree of structs without maps, in memory");
    bytes.push(b'\n');
    String::from_utf8(bytes).expect("serde_json writes UTF-8")
}

/// Indents the outer levels and leaves the inner ones on one line.
#[derive(Default)]
struct Shallow {
    pretty: PrettyFormatter<'static>,
    depth: usize,
}

impl Shallow {
    fn is_open(&self) -> bool {
        self.depth <= DEPTH_OPEN_MAX
    }
}

impl Formatter for Shallow {
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.is_open() { self.pretty.begin_array(writer) } else { writer.write_all(b"[") }
    }

    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let open = self.is_open();
        self.depth -= 1;
        if open { self.pretty.end_array(writer) } else { writer.write_all(b"]") }
    }

    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        match (self.is_open(), first) {
            (true, _) => self.pretty.begin_array_value(writer, first),
            (false, true) => Ok(()),
            (false, false) => writer.write_all(b","),
        }
    }

    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.is_open() { self.pretty.end_array_value(writer) } else { Ok(()) }
    }

    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.depth += 1;
        if self.is_open() { self.pretty.begin_object(writer) } else { writer.write_all(b"{") }
    }

    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        let open = self.is_open();
        self.depth -= 1;
        if open { self.pretty.end_object(writer) } else { writer.write_all(b"}") }
    }

    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        match (self.is_open(), first) {
            (true, _) => self.pretty.begin_object_key(writer, first),
            (false, true) => Ok(()),
            (false, false) => writer.write_all(b","),
        }
    }

    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.is_open() { self.pretty.begin_object_value(writer) } else { writer.write_all(b":") }
    }

    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        if self.is_open() { self.pretty.end_object_value(writer) } else { Ok(()) }
    }
}
