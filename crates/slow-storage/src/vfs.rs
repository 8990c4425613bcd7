//! The VFS: names, and files opened under them.
#![expect(unsafe_code, reason = "SQLite's interface to file systems is one of C")]

use crate::file;
use crate::unflushed::{self, Unflushed};
use crate::wait::wait;
use rusqlite::Connection;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods, sqlite3_vfs};
use sql::Storage;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr::null_mut;
use std::sync::Mutex;

/// A registered VFS. It lives as long as the process: SQLite does not report that the last file is closed.
pub(crate) struct Slow {
    pub(crate) storage: Storage,
    base: *mut sqlite3_vfs,
    name: CString,
}

// SAFETY: nothing in it changes after registration, and SQLite's default VFS is made to be called from all threads.
unsafe impl Sync for Slow {}
// SAFETY: as above; it belongs to no thread.
unsafe impl Send for Slow {}

impl Slow {
    /// For a file that can share memory and be mapped, or not. What is mapped would be read past us.
    pub(crate) fn methods(&self, shared: bool, mapped: bool) -> *const sqlite3_io_methods {
        static VERSIONS: [sqlite3_io_methods; 3] = [file::methods(1), file::methods(2), file::methods(3)];
        let shared = shared && self.storage.shared_memory;
        let mapped = mapped && self.storage.read.is_zero();
        match (shared, mapped) {
            (false, _) => &raw const VERSIONS[0],
            (true, false) => &raw const VERSIONS[1],
            (true, true) => &raw const VERSIONS[2],
        }
    }
}

/// Why the VFS could not be registered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RegisterError {
    /// This build of SQLite has no VFS of its own to stand on.
    #[error("SQLite has no default VFS")]
    NoBase,
    /// SQLite's message.
    #[error("SQLite would not register a VFS: code {0}")]
    Refused(i32),
}

/// All that are registered.
static REGISTERED: Mutex<Vec<&'static Slow>> = Mutex::new(Vec::new());

/// The name of the VFS for such storage, as `file:…?vfs=NAME` or `sqlite3_open_v2` take it. Registered at the first call
/// for each different storage, and never freed: a process knows a handful. It does not become the default.
///
/// # Errors
/// When SQLite has no VFS to stand on, or no memory.
pub fn register(storage: Storage) -> Result<&'static str, RegisterError> {
    // A panic in here leaves nothing half done: the list is extended last.
    let mut registered = REGISTERED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(slow) = registered.iter().find(|slow| slow.storage == storage) {
        return Ok(name_of(slow));
    }
    // SAFETY: both calls are allowed from any thread at any time; the name is ended by a zero.
    let base = unsafe {
        ffi::sqlite3_initialize();
        ffi::sqlite3_vfs_find(std::ptr::null())
    };
    if base.is_null() {
        return Err(RegisterError::NoBase);
    }
    let name = format!("stackmark-slow-{}", registered.len() + 1);
    let name = CString::new(name).expect("no zero in it");
    let slow: &'static Slow = Box::leak(Box::new(Slow { storage, base, name }));
    // SAFETY: SQLite's default VFS lives as long as the process.
    let vfs = Box::leak(Box::new(unsafe { table(slow, &*base) }));
    // SAFETY: the table is whole, and it and all it points to live as long as the process.
    match unsafe { ffi::sqlite3_vfs_register(vfs, 0) } {
        ffi::SQLITE_OK => {
            registered.push(slow);
            Ok(name_of(slow))
        }
        code => Err(RegisterError::Refused(code)),
    }
}

fn name_of(slow: &'static Slow) -> &'static str {
    slow.name.to_str().expect("letters and digits")
}

/// The storage that the main database of a connection is really on, asked of the connection.
pub fn storage_of(connection: &Connection) -> Storage {
    let mut vfs: *mut sqlite3_vfs = null_mut();
    // SAFETY: the connection is open while it is borrowed, and this operation writes one pointer to a VFS, which is
    // registered and therefore still there.
    let name = unsafe {
        ffi::sqlite3_file_control(
            connection.handle(),
            c"main".as_ptr(),
            ffi::SQLITE_FCNTL_VFS_POINTER,
            (&raw mut vfs).cast(),
        );
        match vfs.as_ref() {
            Some(vfs) if !vfs.zName.is_null() => CStr::from_ptr(vfs.zName),
            _ => c"",
        }
    };
    let registered = REGISTERED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    registered.iter().find(|slow| slow.name.as_c_str() == name).map_or(Storage::AS_IT_IS, |slow| slow.storage)
}

/// Ours around `base`.
fn table(slow: &'static Slow, base: &sqlite3_vfs) -> sqlite3_vfs {
    sqlite3_vfs {
        // Without the overriding of system calls, which only SQLite's own tests use.
        iVersion: 2,
        szOsFile: base.szOsFile + file::BEFORE as c_int,
        mxPathname: base.mxPathname,
        pNext: null_mut(),
        zName: slow.name.as_ptr(),
        pAppData: std::ptr::from_ref(slow).cast_mut().cast(),
        xOpen: Some(open),
        xDelete: Some(delete),
        xAccess: Some(access),
        xFullPathname: Some(full_pathname),
        xDlOpen: base.xDlOpen.map(|_| dl_open as _),
        xDlError: base.xDlError.map(|_| dl_error as _),
        xDlSym: base.xDlSym.map(|_| dl_sym as _),
        xDlClose: base.xDlClose.map(|_| dl_close as _),
        xRandomness: Some(randomness),
        xSleep: Some(sleep),
        xCurrentTime: Some(current_time),
        xGetLastError: Some(last_error),
        xCurrentTimeInt64: base.xCurrentTimeInt64.map(|_| current_time_int64 as _),
        xSetSystemCall: None,
        xGetSystemCall: None,
        xNextSystemCall: None,
    }
}

/// # Safety
/// `vfs` is a table that [`table`] made.
unsafe fn slow(vfs: *mut sqlite3_vfs) -> &'static Slow {
    // SAFETY: by the caller: then its data is a `Slow` that was leaked for it.
    unsafe { &*(*vfs).pAppData.cast::<Slow>() }
}

/// Calls a function of the VFS below, with that VFS as its own.
macro_rules! below {
    ($vfs:expr, $function:ident $(, $arg:expr)*) => {{
        // SAFETY: SQLite calls our functions with our table. The VFS below lives as long as the process and has every
        // function that we have. Arguments are passed on as they came.
        unsafe {
            let base = slow($vfs).base;
            ((*base).$function.expect("a function that the VFS below has"))(base $(, $arg)*)
        }
    }};
}

unsafe extern "C" fn open(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_out: *mut c_int,
) -> c_int {
    // SAFETY: SQLite hands over as many bytes as our table asks for, ours and those of the file below. That has to begin
    // without methods, which is how SQLite knows a file that was not opened.
    let inner = unsafe {
        let inner = file::below(file);
        (*file).pMethods = std::ptr::null();
        (*inner).pMethods = std::ptr::null();
        inner
    };
    let code = below!(vfs, xOpen, name, inner, flags, flags_out);
    // SAFETY: SQLite calls with our table, and with a name that is ended by a zero or with none.
    let record = unsafe { record_of(slow(vfs), name, flags) }.filter(|_| code == ffi::SQLITE_OK);
    let (record, code) = match record.transpose() {
        Ok(record) => (record, code),
        Err(_) => (None, ffi::SQLITE_CANTOPEN),
    };
    // SAFETY: as above. A file that failed to open and has methods will be closed through ours.
    unsafe {
        if !(*inner).pMethods.is_null() {
            file::wrap(file, slow(vfs), record.map(Box::new));
        }
    }
    code
}

/// The record of what a power cut would take back, for a file of a database on storage that has one.
///
/// # Safety
/// `name` is null or ended by a zero.
unsafe fn record_of(slow: &Slow, name: *const c_char, flags: c_int) -> Option<std::io::Result<Unflushed>> {
    let of_database = ffi::SQLITE_OPEN_MAIN_DB | ffi::SQLITE_OPEN_WAL | ffi::SQLITE_OPEN_MAIN_JOURNAL;
    if !slow.storage.power_cut || name.is_null() || flags & of_database == 0 {
        return None;
    }
    // SAFETY: by the caller.
    let name = unsafe { CStr::from_ptr(name) };
    Some(Unflushed::of(Path::new(OsStr::from_bytes(name.to_bytes()))))
}

unsafe extern "C" fn delete(vfs: *mut sqlite3_vfs, name: *const c_char, sync_folder: c_int) -> c_int {
    let code = below!(vfs, xDelete, name, sync_folder);
    // SAFETY: SQLite calls with our table, and with a name that is ended by a zero.
    let (storage, name) = unsafe { (slow(vfs).storage, CStr::from_ptr(name)) };
    if storage.power_cut && code == ffi::SQLITE_OK {
        // A file that has gone has nothing to be taken back.
        unflushed::gone(Path::new(OsStr::from_bytes(name.to_bytes())));
    }
    if sync_folder != 0 {
        wait(storage.sync);
    }
    code
}

unsafe extern "C" fn access(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    flags: c_int,
    answer: *mut c_int,
) -> c_int {
    below!(vfs, xAccess, name, flags, answer)
}

unsafe extern "C" fn full_pathname(
    vfs: *mut sqlite3_vfs,
    name: *const c_char,
    bytes: c_int,
    out: *mut c_char,
) -> c_int {
    below!(vfs, xFullPathname, name, bytes, out)
}

unsafe extern "C" fn dl_open(vfs: *mut sqlite3_vfs, name: *const c_char) -> *mut c_void {
    below!(vfs, xDlOpen, name)
}

unsafe extern "C" fn dl_error(vfs: *mut sqlite3_vfs, bytes: c_int, message: *mut c_char) {
    below!(vfs, xDlError, bytes, message);
}

/// What a symbol is, as SQLite declares it.
type Symbol = Option<unsafe extern "C" fn(*mut sqlite3_vfs, *mut c_void, *const c_char)>;

unsafe extern "C" fn dl_sym(vfs: *mut sqlite3_vfs, library: *mut c_void, name: *const c_char) -> Symbol {
    below!(vfs, xDlSym, library, name)
}

unsafe extern "C" fn dl_close(vfs: *mut sqlite3_vfs, library: *mut c_void) {
    below!(vfs, xDlClose, library);
}

unsafe extern "C" fn randomness(vfs: *mut sqlite3_vfs, bytes: c_int, out: *mut c_char) -> c_int {
    below!(vfs, xRandomness, bytes, out)
}

unsafe extern "C" fn sleep(vfs: *mut sqlite3_vfs, micros: c_int) -> c_int {
    below!(vfs, xSleep, micros)
}

unsafe extern "C" fn current_time(vfs: *mut sqlite3_vfs, out: *mut f64) -> c_int {
    below!(vfs, xCurrentTime, out)
}

unsafe extern "C" fn last_error(vfs: *mut sqlite3_vfs, bytes: c_int, message: *mut c_char) -> c_int {
    below!(vfs, xGetLastError, bytes, message)
}

unsafe extern "C" fn current_time_int64(vfs: *mut sqlite3_vfs, out: *mut sqlite3_int64) -> c_int {
    below!(vfs, xCurrentTimeInt64, out)
}
