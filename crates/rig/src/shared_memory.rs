//! Shared memory of engines, which outlives them when they are killed: PostgreSQL removes its own when it starts on the same data again,
//! and data that are removed are never started on.

use crate::command::descendants;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};

/// What processes had when they were killed.
#[derive(Debug, Default)]
pub(crate) struct Orphaned {
    /// POSIX segments of PostgreSQL, which are files.
    files: BTreeSet<PathBuf>,
    /// System V segments, by number.
    numbers: BTreeSet<u64>,
}

impl Orphaned {
    /// Notes what a process that lives has mapped, with all that descend from it.
    pub(crate) fn note(&mut self, pid: u32) {
        std::iter::once(pid).chain(descendants(pid)).for_each(|pid| self.note_one(pid));
    }

    fn note_one(&mut self, pid: u32) {
        let maps = std::fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
        for line in maps.lines() {
            // Addresses, access, offset, device, inode, name; the inode of a System V segment is its number.
            let mut words = line.split_whitespace().skip(4);
            let (Some(inode), Some(name)) = (words.next(), words.next()) else { continue };
            if name.starts_with("/dev/shm/PostgreSQL.") {
                self.files.insert(name.into());
            } else if name.starts_with("/SYSV") {
                self.numbers.extend(inode.parse::<u64>());
            }
        }
    }

    /// Forgets all: whoever had it has started again and has removed it.
    pub(crate) fn clear(&mut self) {
        *self = Orphaned::default();
    }

    /// Removes it; what is gone already is fine, and what is left is a few pages.
    pub(crate) fn remove(&mut self) {
        for file in std::mem::take(&mut self.files) {
            let _ = std::fs::remove_file(file);
        }
        for number in std::mem::take(&mut self.numbers) {
            let mut command = Command::new("ipcrm");
            command.args(["-m", &number.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
            let _ = command.status();
        }
    }
}
