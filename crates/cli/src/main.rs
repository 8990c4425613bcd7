//! `stackmark`.

use std::process::ExitCode;

/// Sessions of the server and its requests allocate; mimalloc keeps that cheap on many threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    cli::main(&[])
}
