//! SQLite through rusqlite.
