//! The rules of the repository, held to every file of it, and the examples in its documentation.

mod docs_examples;
mod edges;
mod sources;
mod statement_files;
