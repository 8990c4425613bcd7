//! Experiments as files.

pub(crate) mod file;
