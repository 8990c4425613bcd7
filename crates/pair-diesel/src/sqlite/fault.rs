//! What SQLite's errors become. Diesel keeps their result codes to itself, and passes on what SQLite says, which is always
//! English: each text stands for one code.

use diesel::result::{DatabaseErrorKind, Error};
use model::{DefectKind, Fault};
use sql::sqlite_fault;

/// SQLite's texts (`sqlite3ErrStr`) and their result codes, as far as a call can meet them and they mean something else
/// than a defect. What a text begins with decides: SQLite may say more.
const TEXTS: [(&str, i32); 12] = [
    ("database is locked", 5),
    ("database table is locked", 6),
    ("database schema is locked", 6),
    ("attempt to write a readonly database", 8),
    ("interrupted", 9),
    ("disk I/O error", 10),
    ("database disk image is malformed", 11),
    ("database or disk is full", 13),
    ("unable to open database file", 14),
    ("file is not a database", 26),
    ("out of memory", 7),
    ("locking protocol", 15),
];

/// The result code of what SQLite says; 1, which is its own "some error", for what is not known.
pub(super) fn code(message: &str) -> i32 {
    TEXTS.iter().find(|(text, _)| message.starts_with(text)).map_or(1, |(_, code)| *code)
}

#[cold]
pub(super) fn fault(error: &Error, at_commit: bool) -> Fault {
    const CONSTRAINT: i32 = 19;
    match error {
        Error::DatabaseError(DatabaseErrorKind::Unknown, info) => {
            sqlite_fault(code(info.message()), at_commit, info.message())
        }
        Error::DatabaseError(_, info) => sqlite_fault(CONSTRAINT, at_commit, info.message()),
        Error::DeserializationError(error) => Fault::defect(DefectKind::BadData, error.to_string()),
        other => Fault::defect(DefectKind::Engine, format!("Diesel: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rusqlite::ffi;
    use std::ffi::CStr;

    #[test]
    #[expect(unsafe_code, reason = "SQLite is asked for its own texts")]
    fn texts_are_those_of_the_sqlite_that_is_compiled_in() {
        for (text, code) in TEXTS {
            if text == "database schema is locked" {
                // Said with a name behind it, for the same code.
                continue;
            }
            // SAFETY: the text of a code is static.
            let words = unsafe { CStr::from_ptr(ffi::sqlite3_errstr(code)) };
            assert_eq!(words.to_str().unwrap(), text);
        }
    }
}
