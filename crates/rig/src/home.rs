//! The folder of one engine: made, locked while we live, removed; and the sweeping of those whose makers were killed.

use crate::command::{Account, lives_in, signal, within};
use crate::state::{self, EngineState};
use crate::{Engine, RigError, base};
use rustix::process::Signal;
use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A socket's path must fit into `sockaddr_un`: 104 bytes on macOS, 108 on Linux, with the closing zero.
const SOCKET_PATH_MAX: usize = 103;
/// Logs of failed starts that are kept; older ones are removed.
const FAILED_LOGS_MAX: usize = 10;

/// A folder that is ours as long as this value lives, which holds its lock.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) path: PathBuf,
    /// Whoever can take this lock knows that the maker of the folder is gone.
    _lock: File,
}

impl Home {
    /// Makes a folder in `base`, and sweeps what killed runs have left there.
    ///
    /// ```text
    /// lock, password, state.json, log    only we write these
    /// engine.conf                        the settings; the engine reads it
    /// data/ run/ tmp/                    0700, of the engine's account
    /// disk.img                           mounted on data/, where power can be cut
    /// ```
    pub(crate) fn make(base: &Path, engine: Engine, account: Account) -> Result<Home, RigError> {
        let _held = base::hold(base)?;
        sweep(base);
        let path = base.join(format!("{}{}", engine.about().prefix, &random_hex()?[..8]));
        Home::lay_out(path, engine, account)
    }

    /// Makes a folder of a known name. The caller holds the base folder.
    pub(crate) fn lay_out(path: PathBuf, engine: Engine, account: Account) -> Result<Home, RigError> {
        let socket = engine.technology().socket_file(&path, u16::MAX);
        if socket.is_some_and(|socket| socket.as_os_str().len() > SOCKET_PATH_MAX) {
            return Err(RigError::folder(
                &path,
                "its path is too long for a unix socket; choose a shorter one with STACKMARK_RIG_DIR",
            ));
        }
        let make = |path: &Path, mode| {
            let made = DirBuilder::new().mode(mode).create(path);
            made.and_then(|()| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)))
                .map_err(|error| RigError::folder(path, error))
        };
        make(&path, 0o711)?;
        let home = Home::open(path)?;
        for inner in [state::data(&home.path), state::run(&home.path), home.path.join("tmp")] {
            make(&inner, 0o700)?;
            account.own(&inner)?;
        }
        Ok(home)
    }

    /// Takes over a folder that is laid out.
    pub(crate) fn open(path: PathBuf) -> Result<Home, RigError> {
        let lock = base::lock_file(&path.join("lock"))?;
        lock.try_lock().map_err(|error| RigError::folder(&path, error))?;
        Ok(Home { path, _lock: lock })
    }

    /// A file that only we can read.
    pub(crate) fn write_private(&self, name: &str, text: &str) -> Result<PathBuf, RigError> {
        let path = self.path.join(name);
        let mut options = OpenOptions::new();
        let file = options.write(true).create(true).truncate(true).mode(0o600).open(&path);
        file.and_then(|mut file| file.write_all(text.as_bytes()))
            .map_err(|error| RigError::folder(&path, error))?;
        Ok(path)
    }

    /// The log, to be appended to by the engine through the handle that it inherits.
    pub(crate) fn log(&self) -> Result<File, RigError> {
        let path = self.path.join("log");
        let opened = OpenOptions::new().append(true).create(true).mode(0o600).open(&path);
        opened.map_err(|error| RigError::folder(&path, error))
    }

    /// Puts the log where it outlives the folder, and says where; the oldest of many go.
    pub(crate) fn keep_log(&self) -> Option<PathBuf> {
        let base = self.path.parent()?;
        let mut logs: Vec<PathBuf> =
            std::fs::read_dir(base).ok()?.flatten().map(|entry| entry.path()).collect();
        logs.retain(|path| path.extension().is_some_and(|end| end == "log"));
        logs.sort_by_key(|path| path.metadata().and_then(|about| about.modified()).ok());
        for old in logs.iter().rev().skip(FAILED_LOGS_MAX - 1) {
            let _ = std::fs::remove_file(old);
        }
        let kept = self.path.with_extension("log");
        std::fs::copy(self.path.join("log"), &kept).ok().map(|_| kept)
    }

    /// Removes the folder and everything in it.
    pub(crate) fn remove(&self) -> Result<(), RigError> {
        remove(&self.path)
    }
}

fn remove(path: &Path) -> Result<(), RigError> {
    crate::disk::release(path, &state::data(path));
    // An engine that ends may still make or remove a file while we go through its folder.
    let gone = within(Duration::from_secs(5), || {
        let _ = std::fs::remove_dir_all(path);
        (!path.exists()).then_some(())
    });
    gone.ok_or_else(|| RigError::folder(path, "it could not be removed"))
}

/// Ends an engine whose data no one wants any more, and waits for its end.
pub(crate) fn end(engine: Engine, pid: u32, folder: &Path) {
    if !lives_in(pid, folder) {
        return;
    }
    signal(pid, engine.about().end.0);
    let ended = || (!lives_in(pid, folder)).then_some(());
    if within(Duration::from_secs(7), ended).is_none() {
        signal(pid, Signal::KILL);
        within(Duration::from_secs(7), ended);
    }
}

/// Removes the folders of runs that were killed, and ends engines that outlived them. The caller holds the base folder.
pub(crate) fn sweep(base: &Path) {
    let Ok(entries) = std::fs::read_dir(base) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let owned = Engine::ALL.iter().any(|engine| {
            let number = name.strip_prefix(engine.about().prefix);
            number.is_some_and(|number| {
                number.len() == 8 && number.bytes().all(|byte| byte.is_ascii_hexdigit())
            })
        });
        if owned && path.is_dir() && is_abandoned(&path) {
            discard(&path);
        }
    }
}

/// Ends the engine of a folder, if it runs, and removes the folder.
pub(crate) fn discard(path: &Path) {
    if let Some(state) = EngineState::read(path) {
        end(state.engine, state.pid, path);
        crate::cgroup::remove(&state.groups);
    }
    // What cannot be removed now is tried again at the next start.
    let _ = remove(path);
}

pub(crate) fn is_abandoned(path: &Path) -> bool {
    match File::open(path.join("lock")) {
        Ok(lock) => lock.try_lock().is_ok(),
        // Folders are made, with their lock, while the base is locked: this one is half removed.
        Err(error) => error.kind() == std::io::ErrorKind::NotFound,
    }
}

/// 128 bits of the kernel's, in 32 hexadecimal digits.
pub(crate) fn random_hex() -> Result<String, RigError> {
    let source = Path::new("/dev/urandom");
    let mut bytes = [0u8; 16];
    File::open(source)
        .and_then(|mut file| file.read_exact(&mut bytes))
        .map_err(|error| RigError::folder(source, error))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
