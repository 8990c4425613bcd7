//! SQLite on storage that is slower than the machine's: a VFS of ours over the default one, which adds latency to flushes,
//! locks and reads, and can forbid shared memory as network file systems do. What SQLite makes of it is then its own
//! doing: without shared memory it refuses a write-ahead log by itself.
//!
//! Nothing else changes. Every call reaches the file system first, and its answer, errors included, comes back later.
//! So a flush has happened when it is acknowledged, and a crash leaves what it would leave without us. Where it is asked for
//! ([`sql::Storage::power_cut`]), what was there before each write that has not been flushed is recorded, so that after all who had
//! the file open have been killed [`cut_power`] can do what the end of a process cannot: lose what was not flushed.
//!
//! It knows no workload and no adapter: the opener of a file names the VFS, as in `file:bench.db?vfs=NAME`.

mod file;
mod unflushed;
mod vfs;
mod wait;

pub use unflushed::{Lost, cut_power, forget};
pub use vfs::{RegisterError, register, storage_of};
