//! `stackmark`: the command line.

fn main() {}
