//! The folder under which all folders of engines are made.

use crate::command::Account;
use crate::{Options, RigError};
use std::fs::{DirBuilder, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Engine accounts pass through it, no one lists it, only we write in it.
const PASSABLE: u32 = 0o711;

/// The base folder that the caller chose, by `STACKMARK_RIG_DIR`, or `/var/tmp/stackmark-UID`: not `/tmp`, which is in memory on many
/// machines, where a commit reaches no disk.
pub(crate) fn path(options: &Options) -> PathBuf {
    let wanted = options.base.clone().or_else(|| std::env::var_os("STACKMARK_RIG_DIR").map(PathBuf::from));
    let wanted = wanted.filter(|path| !path.as_os_str().is_empty());
    wanted.unwrap_or_else(|| format!("/var/tmp/stackmark-{}", rustix::process::geteuid().as_raw()).into())
}

/// Where the base folder is or will be; makes nothing.
pub fn base_folder() -> PathBuf {
    path(&Options::default())
}

/// The base folder, for what else has to be outside of everything that the user works in.
///
/// # Errors
/// It cannot be made, or someone else could have laid it out for us.
pub fn folder() -> Result<PathBuf, RigError> {
    make(&Options::default())
}

/// Makes the base folder if need be, and refuses one that someone else could have laid out for us.
pub(crate) fn make(options: &Options) -> Result<PathBuf, RigError> {
    let path = path(options);
    if !path.exists() {
        let made = DirBuilder::new().recursive(true).mode(PASSABLE).create(&path);
        // The umask may have taken bits away that engine accounts need.
        let opened =
            made.and_then(|()| std::fs::set_permissions(&path, std::fs::Permissions::from_mode(PASSABLE)));
        opened.map_err(|error| {
            RigError::folder(&path, format!("{error}; choose another with STACKMARK_RIG_DIR"))
        })?;
    }
    let kind = path.symlink_metadata().map_err(|error| RigError::folder(&path, error))?;
    let us = rustix::process::geteuid().as_raw();
    if !kind.is_dir() || kind.uid() != us || kind.mode() & 0o022 != 0 {
        return Err(RigError::folder(
            &path,
            "it has to be a folder (no link) of your own that only you can write to; choose another with \
             STACKMARK_RIG_DIR",
        ));
    }
    path.canonicalize().map_err(|error| RigError::folder(&path, error))
}

/// Holds the base folder while folders in it are made or swept; released when dropped.
pub(crate) fn hold(base: &Path) -> Result<File, RigError> {
    let lock = lock_file(&base.join("lock"))?;
    lock.lock().map_err(|error| RigError::folder(base, error))?;
    Ok(lock)
}

pub(crate) fn lock_file(path: &Path) -> Result<File, RigError> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .open(path)
        .map_err(|error| RigError::folder(path, error))
}

/// Refuses a base folder that an engine's account cannot get to.
pub(crate) fn reachable(base: &Path, account: Account, name: &str) -> Result<(), RigError> {
    let Some((user, group)) = account.other else { return Ok(()) };
    for folder in base.ancestors() {
        let about = folder.metadata().map_err(|error| RigError::folder(folder, error))?;
        let shift = match (about.uid() == user, about.gid() == group) {
            (true, _) => 6,
            (false, true) => 3,
            (false, false) => 0,
        };
        if about.mode() >> shift & 1 == 0 {
            return Err(RigError::folder(
                folder,
                format!(
                    "the engine's account `{name}` may not pass through it (chmod o+x), or choose another with \
                     STACKMARK_RIG_DIR"
                ),
            ));
        }
    }
    Ok(())
}

/// What a reader of the numbers must know about where the data is.
pub(crate) fn warnings(base: &Path) -> Vec<String> {
    #[cfg(target_os = "linux")]
    {
        const TMPFS: u64 = 0x0102_1994;
        const RAMFS: u64 = 0x8584_58f6;
        let kind = rustix::fs::statfs(base).map_or(0, |about| about.f_type as u64 & 0xffff_ffff);
        if kind == TMPFS || kind == RAMFS {
            return vec![format!(
                "{} is in memory: a flushed commit reaches no disk there and costs nothing; choose a folder on a disk \
                 with STACKMARK_RIG_DIR",
                base.display()
            )];
        }
    }
    #[cfg(not(target_os = "linux"))]
    let _ = base;
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(base: &Path) -> Result<PathBuf, RigError> {
        make(&Options { base: Some(base.to_owned()), ..Options::default() })
    }

    #[test]
    fn a_base_folder_that_another_could_have_laid_out_is_refused() {
        let root = tempfile::tempdir().unwrap();
        let good = root.path().join("a/b");
        assert_eq!(made(&good).unwrap(), good.canonicalize().unwrap());
        assert_eq!(good.metadata().unwrap().mode() & 0o777, PASSABLE);
        std::os::unix::fs::symlink(&good, root.path().join("link")).unwrap();
        assert!(made(&root.path().join("link")).is_err());
        std::fs::set_permissions(&good, std::fs::Permissions::from_mode(0o777)).unwrap();
        let error = made(&good).unwrap_err().to_string();
        assert!(error.contains("STACKMARK_RIG_DIR"), "{error}");
    }

    #[test]
    fn a_folder_that_the_engine_cannot_pass_through_is_named() {
        let root = tempfile::tempdir().unwrap();
        std::fs::set_permissions(root.path(), std::fs::Permissions::from_mode(0o700)).unwrap();
        let base = root.path().join("base");
        std::fs::create_dir(&base).unwrap();
        // Whatever the umask has taken from it.
        std::fs::set_permissions(&base, std::fs::Permissions::from_mode(PASSABLE)).unwrap();
        let other = Account { other: Some((u32::MAX - 7, u32::MAX - 7)) };
        let error = reachable(&base, other, "postgres").unwrap_err();
        let RigError::Folder { path, why } = error else { panic!("{error}") };
        assert_eq!(path, root.path());
        assert!(why.contains("chmod o+x"), "{why}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_base_folder_in_memory_is_said_to_be() {
        assert!(warnings(Path::new("/proc")).is_empty());
        if Path::new("/dev/shm").is_dir() {
            assert!(warnings(Path::new("/dev/shm"))[0].contains("in memory"));
        }
    }
}
