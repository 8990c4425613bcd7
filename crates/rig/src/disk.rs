//! A file system of one engine's own, in an image file, whose power can be cut and which can be filled.
//!
//! Killing an engine tests no flush: what it has written and not flushed is in the system's memory, and gets to the disk all the
//! same. Here the file system is shut down as it stands, so that nothing reaches the image any more; mounted again it replays its
//! journal, and the files are what they are after a power failure. The cache of a device and torn sectors are not modelled.

use crate::command::{Account, run, within};
use crate::watchdog::Watchdog;
use crate::{RigError, state};
use rustix::fs::{FallocateFlags, Mode, OFlags};
use rustix::io::Errno;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Size of an image. It is sparse: what is not written takes no room.
const IMAGE_BYTES: u64 = 8 << 30;
/// The smallest piece of it that can be taken.
const BLOCK_BYTES: u64 = 1 << 10;
/// How long a program that makes, mounts or unmounts a file system may take.
const TOOL_MAX: Duration = Duration::from_secs(60);
/// How long processes that were killed may keep their files open.
const CLOSED_MAX: Duration = Duration::from_secs(30);
/// Seconds after which the file system writes its journal of itself, unless set; the default of ext4.
const COMMIT_S: u32 = 5;

/// Where the image of an engine lies.
fn image(home: &Path) -> PathBuf {
    home.join("disk.img")
}

/// A mounted file system, or one whose power is cut.
#[derive(Debug)]
pub(crate) struct Disk {
    home: PathBuf,
    /// Where it is mounted.
    at: PathBuf,
    commit_s: u32,
    is_mounted: bool,
}

impl Disk {
    /// Makes an empty file system and mounts it over the empty folder `at` in an engine's folder.
    pub(crate) fn make(home: &Path, at: PathBuf, account: Account) -> Result<Disk, RigError> {
        can_have_own_disk()?;
        let path = image(home);
        let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path);
        file.and_then(|file| file.set_len(IMAGE_BYTES)).map_err(|error| RigError::folder(&path, error))?;
        let mut format = Command::new(tool("mkfs.ext4").unwrap_or_else(|| "mkfs.ext4".into()));
        // Everything is laid out now, and not by the system while something is measured.
        format
            .args(["-q", "-F", "-m", "0", "-E", "lazy_itable_init=0,lazy_journal_init=0", "-N", "65536"])
            .arg(&path);
        done(format)?;
        let mut disk = Disk { home: home.to_owned(), at, commit_s: COMMIT_S, is_mounted: false };
        disk.mount()?;
        // Engines want an empty folder for their data.
        let prepared = fs::remove_dir(disk.at.join("lost+found"))
            .and_then(|()| fs::set_permissions(&disk.at, Permissions::from_mode(0o700)));
        prepared.map_err(|error| RigError::folder(&disk.at, error))?;
        account.own(&disk.at)?;
        Ok(disk)
    }

    pub(crate) fn is_mounted(&self) -> bool {
        self.is_mounted
    }

    /// Mounts it: its journal is replayed.
    pub(crate) fn mount(&mut self) -> Result<(), RigError> {
        let mut mount = Command::new("mount");
        mount.args(["-t", "ext4", "-o"]).arg(format!("loop,nodev,nosuid,commit={}", self.commit_s));
        mount.arg(image(&self.home)).arg(&self.at);
        done(mount)?;
        self.is_mounted = true;
        Ok(())
    }

    /// Writes everything to the image.
    pub(crate) fn flush(&self) -> Result<(), RigError> {
        let failed = |error: Errno| RigError::folder(&self.at, format!("it could not be flushed: {error}"));
        self.open().and_then(rustix::fs::syncfs).map_err(failed)
    }

    fn open(&self) -> rustix::io::Result<OwnedFd> {
        rustix::fs::open(&self.at, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())
    }

    /// Shuts it down with all that was not flushed. Every later request to it fails.
    pub(crate) fn cut(&self) -> Result<(), RigError> {
        let failed =
            |error: Errno| RigError::folder(&self.at, format!("its power could not be cut: {error}"));
        self.open().and_then(|at| shut_down(&at)).map_err(failed)
    }

    fn filler(&self) -> PathBuf {
        self.at.join("filler")
    }

    /// Takes all of its free space.
    pub(crate) fn fill(&self) -> Result<(), RigError> {
        let path = self.filler();
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(|error| RigError::folder(&path, error))?;
        let (mut at, mut piece) = (0, IMAGE_BYTES);
        while piece >= BLOCK_BYTES {
            match rustix::fs::fallocate(&file, FallocateFlags::empty(), at, piece) {
                Ok(()) => at += piece,
                Err(Errno::NOSPC | Errno::FBIG) => piece /= 2,
                Err(error) => return Err(RigError::folder(&path, error)),
            }
        }
        Ok(())
    }

    /// Gives the space back.
    pub(crate) fn make_room(&self) -> Result<(), RigError> {
        let path = self.filler();
        match fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(RigError::folder(&path, error)),
            _ => Ok(()),
        }
    }

    /// Unmounts it, once processes that were killed are gone; from the next mount on it writes its journal every `commit_s` seconds.
    pub(crate) fn unmount(&mut self, commit_s: u32) -> Result<(), RigError> {
        let mut last = None;
        within(CLOSED_MAX, || {
            let mut unmount = Command::new("umount");
            unmount.arg(&self.at);
            last = done(unmount).err();
            last.is_none().then_some(())
        });
        if let Some(error) = last {
            return Err(error);
        }
        (self.is_mounted, self.commit_s) = (false, commit_s);
        Ok(())
    }
}

/// A file system for the files of an embedded engine, whose power can be cut. It is unmounted and removed when this is dropped, and by
/// a watchdog when this process is killed.
#[derive(Debug)]
pub struct FileDisk {
    disk: Disk,
    watchdog: Option<Watchdog>,
}

impl FileDisk {
    /// Makes one in a folder of ours.
    ///
    /// # Errors
    /// [`can_have_own_disk`] says why it cannot be, or a program of the system failed.
    pub fn make(folder: &Path) -> Result<FileDisk, RigError> {
        can_have_own_disk()?;
        // The watchdog works elsewhere.
        let home = storage(&folder.canonicalize().map_err(|error| RigError::folder(folder, error))?);
        let at = state::data(&home);
        fs::create_dir_all(&at).map_err(|error| RigError::folder(&at, error))?;
        let watchdog = Watchdog::start("a file system", "KILL", &home, &[])?;
        match Disk::make(&home, at, Account { other: None }) {
            Ok(disk) => Ok(FileDisk { disk, watchdog: Some(watchdog) }),
            Err(error) => {
                remove(&home);
                watchdog.dismiss();
                Err(error)
            }
        }
    }

    /// Where its files are.
    pub fn folder(&self) -> &Path {
        &self.disk.at
    }

    /// Flushes everything, so that a later power cut loses only what is written after this.
    ///
    /// # Errors
    /// It cannot be flushed.
    pub fn flush(&self) -> Result<(), RigError> {
        self.disk.flush()
    }

    /// Cuts its power and puts it back: what was not flushed is lost. Processes that have a file of it open were killed before this: a
    /// flush that is under way while ext4 is shut down may report success. From then on it writes its journal every `commit_s` seconds.
    ///
    /// # Errors
    /// It cannot be shut down, unmounted or mounted.
    pub fn cut_power(&mut self, commit_s: u32) -> Result<(), RigError> {
        self.disk.cut()?;
        self.disk.unmount(commit_s)?;
        self.disk.mount()
    }

    /// Removes what a process has left in a folder that was killed together with its watchdog.
    pub fn remove_left(folder: &Path) {
        remove(&storage(folder));
    }
}

impl Drop for FileDisk {
    fn drop(&mut self) {
        remove(&self.disk.home);
        if let Some(watchdog) = self.watchdog.take() {
            watchdog.dismiss();
        }
    }
}

fn storage(folder: &Path) -> PathBuf {
    folder.join("storage")
}

fn remove(home: &Path) {
    release(home, &state::data(home));
    let _ = fs::remove_dir_all(home);
}

/// Whether an engine's storage can be a file system of its own here ([`crate::Options::own_disk`]).
///
/// # Errors
/// What is missing: Linux, root, loop devices, or `mkfs.ext4`.
pub fn can_have_own_disk() -> Result<(), RigError> {
    let missing = if !cfg!(target_os = "linux") {
        "Linux"
    } else if !rustix::process::geteuid().is_root() {
        "root, who may mount a file system"
    } else if !Path::new("/dev/loop-control").exists() {
        "loop devices (/dev/loop-control)"
    } else if tool("mkfs.ext4").is_none() {
        "mkfs.ext4 (package e2fsprogs)"
    } else {
        return Ok(());
    };
    Err(RigError::NotPermitted(format!(
        "storage of an engine that can lose power or be full needs {missing}"
    )))
}

/// Unmounts what is mounted over a folder of an engine's that is to be removed.
pub(crate) fn release(home: &Path, at: &Path) {
    let device = |path: &Path| fs::symlink_metadata(path).map(|about| about.dev()).ok();
    if image(home).exists() && device(at) != device(home) {
        // What still has a file of it open has been killed; the file system goes with the last of them.
        let _ = Command::new("umount").arg("--lazy").arg(at).output();
    }
}

/// Runs a program whose failure says why.
fn done(command: Command) -> Result<(), RigError> {
    let name =
        Path::new(command.get_program()).file_name().unwrap_or_default().to_string_lossy().into_owned();
    let ended = run(command, "", TOOL_MAX, |_| ())?;
    if ended.is_success() {
        return Ok(());
    }
    Err(RigError::failed(format!("{name} failed on the storage of an engine"), ended.err + &ended.out))
}

/// A program of the system's that an ordinary PATH may not have.
fn tool(name: &str) -> Option<PathBuf> {
    ["/usr/sbin", "/sbin", "/usr/bin", "/bin"]
        .iter()
        .map(|folder| Path::new(folder).join(name))
        .find(|path| path.exists())
}

/// `EXT4_IOC_SHUTDOWN` of Linux, with `EXT4_GOING_FLAGS_NOLOGFLUSH`.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "a request of one file system, which no library offers")]
fn shut_down(file: &impl std::os::fd::AsFd) -> rustix::io::Result<()> {
    use rustix::ioctl::{Setter, ioctl, opcode};
    const SHUTDOWN: rustix::ioctl::Opcode = opcode::read::<u32>(b'X', 125);
    const NO_LOG_FLUSH: u32 = 2;
    // SAFETY: the request reads one u32, as its number says, and `Setter` gives a pointer to one.
    unsafe { ioctl(file, Setter::<SHUTDOWN, u32>::new(NO_LOG_FLUSH)) }
}

#[cfg(not(target_os = "linux"))]
fn shut_down(_: &impl std::os::fd::AsFd) -> rustix::io::Result<()> {
    Err(rustix::io::Errno::NOSYS)
}

/// Flushes all files under a folder. What the engine removes meanwhile needs no flush.
pub(crate) fn flush_all(folder: &Path) -> Result<(), RigError> {
    let gone = |error: &io::Error| error.kind() == io::ErrorKind::NotFound;
    let entries = match fs::read_dir(folder) {
        Err(error) if gone(&error) => return Ok(()),
        entries => entries.map_err(|error| RigError::folder(folder, error))?,
    };
    for entry in entries {
        let path = entry.map_err(|error| RigError::folder(folder, error))?.path();
        let of_kind = fs::symlink_metadata(&path).map(|found| found.file_type());
        match of_kind {
            Ok(kind) if kind.is_dir() => flush_all(&path)?,
            Ok(kind) if kind.is_file() => match File::open(&path).and_then(|file| file.sync_all()) {
                Err(error) if !gone(&error) => return Err(RigError::folder(&path, error)),
                Ok(()) | Err(_) => {}
            },
            Ok(_) | Err(_) => {}
        }
    }
    Ok(())
}
