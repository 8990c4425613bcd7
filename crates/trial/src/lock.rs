//! One comparison, experiment, sweep, search or drill at a time on a machine, and no run beside it: two that measure at once measure each
//! other.

use anyhow::{Context, Result, bail};
use std::fs::{self, File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Names another file than the one that all users share.
const VARIABLE: &str = "STACKMARK_LOCK";

/// The right to measure on this machine. The kernel takes it back when this process ends, in whatever way.
#[derive(Debug)]
pub struct MachineLock(File);

/// Takes the right to measure on this machine, beside others who have it too if `shared`.
///
/// # Errors
/// Someone else has it: says who, and where they work. Or the file cannot be used.
pub fn hold(shared: bool) -> Result<MachineLock> {
    let named = std::env::var_os(VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    hold_file(&named.unwrap_or_else(|| std::env::temp_dir().join("stackmark.lock")), shared)
}

fn hold_file(path: &Path, shared: bool) -> Result<MachineLock> {
    let file = open(path).with_context(|| {
        format!(
            "could not open {}, which prevents concurrent experiments on this machine (see {VARIABLE})",
            path.display()
        )
    })?;
    let locked = if shared { file.try_lock_shared() } else { file.try_lock() };
    if locked.is_err() {
        let mut holder = String::new();
        // Whoever holds it may be about to write who they are.
        let _ = (&file).read_to_string(&mut holder);
        let holder = holder.trim();
        bail!(
            "another run is measuring on this machine ({}); concurrent runs disturb each other\nhint: wait \
             for its end, or set {VARIABLE} to a file of your own if it runs on other cores and disks",
            if holder.is_empty() { "which one is not known" } else { holder }
        );
    }
    let locked = MachineLock(file);
    locked.write(&format!("process {}", std::process::id()));
    Ok(locked)
}

impl Drop for MachineLock {
    fn drop(&mut self) {
        let mut who = String::new();
        let mut file = &self.0;
        // Another who has the right too may have written there since.
        let read = file.rewind().and_then(|()| file.read_to_string(&mut who));
        let holder = who.split([',', ' ']).nth(1).unwrap_or_default();
        if read.is_ok() && holder == std::process::id().to_string() {
            let _ = file.set_len(0);
        }
    }
}

impl MachineLock {
    /// Tells those who are refused where we work.
    pub fn works_in(&self, folder: &Path) {
        let folder = folder.canonicalize().unwrap_or_else(|_| folder.to_owned());
        self.write(&format!("process {}, {}", std::process::id(), folder.display()));
    }

    fn write(&self, who: &str) {
        let mut file = &self.0;
        // It is for people: what counts is the lock.
        let _ = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(who.as_bytes()));
    }
}

/// Opens a file that all users of the machine can lock.
fn open(path: &Path) -> std::io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    // First without making it: in a folder such as /tmp the kernel refuses to "make" what belongs to someone else.
    match options.open(path) {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let file = options.create(true).truncate(false).open(path)?;
            // Fails only when someone else has just made it, and does the same.
            let _ = fs::set_permissions(path, fs::Permissions::from_mode(0o666));
            Ok(file)
        }
        opened => opened,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_refused_with_the_name_of_the_first_until_that_has_ended() {
        let path = std::env::temp_dir().join(format!("stackmark-lock-{}", std::process::id()));
        let first = hold_file(&path, false).unwrap();
        first.works_in(Path::new("results/somewhere"));
        let refused = hold_file(&path, true).unwrap_err().to_string();
        let us = format!("process {}, results/somewhere", std::process::id());
        assert!(refused.contains(&us) && refused.contains(VARIABLE), "{refused}");
        drop(first);
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o666);
        let runs = [hold_file(&path, true).unwrap(), hold_file(&path, true).unwrap()];
        assert!(hold_file(&path, false).is_err());
        drop(runs);
        drop(hold_file(&path, false).unwrap());
        fs::remove_file(path).unwrap();
    }
}
