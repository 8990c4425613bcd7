//! A disk for tests: counts the flushes of a thread that reach the operating system, and fails them when asked to.
#![expect(unsafe_code, reason = "SQLite's interface to file systems is one of C")]

use rusqlite::ffi::{self, sqlite3_file, sqlite3_filename, sqlite3_io_methods, sqlite3_vfs};
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::{Mutex, Once, OnceLock};

thread_local! {
    static FLUSHES: Cell<u32> = const { Cell::new(0) };
    static FAILING: Cell<bool> = const { Cell::new(false) };
}

/// Flushes of this thread so far.
pub(crate) fn flushes() -> u32 {
    FLUSHES.get()
}

/// From now on flushes of this thread fail, or succeed again.
pub(crate) fn fail(failing: bool) {
    FAILING.set(failing);
}

type Sync = unsafe extern "C" fn(*mut sqlite3_file, c_int) -> c_int;

/// The default VFS before ours, and its way to flush, which is one for all its kinds of files.
static BASE: OnceLock<Base> = OnceLock::new();
static SYNC: OnceLock<Sync> = OnceLock::new();
/// The methods of a kind of file, by address, and ours in their place.
static METHODS: Mutex<Vec<(usize, &'static sqlite3_io_methods)>> = Mutex::new(Vec::new());

struct Base(*mut sqlite3_vfs);

// SAFETY: SQLite's default VFS is made to be called from all threads, and lives as long as the process.
unsafe impl std::marker::Sync for Base {}
// SAFETY: as above.
unsafe impl Send for Base {}

/// Makes it what every database of this process is on that is opened from now on, with simulated storage above it or not.
pub(crate) fn install() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        // SAFETY: allowed from any thread; the default VFS is there in every build that has one, as ours has.
        unsafe {
            assert_eq!(ffi::sqlite3_initialize(), ffi::SQLITE_OK);
            let base = ffi::sqlite3_vfs_find(std::ptr::null());
            BASE.get_or_init(|| Base(base));
            let own = sqlite3_vfs {
                zName: c"stackmark-test-disk".as_ptr(),
                xOpen: Some(open),
                pNext: std::ptr::null_mut(),
                ..*base
            };
            assert_eq!(ffi::sqlite3_vfs_register(Box::leak(Box::new(own)), 1), ffi::SQLITE_OK);
        }
    });
}

unsafe extern "C" fn open(
    _: *mut sqlite3_vfs,
    name: sqlite3_filename,
    file: *mut sqlite3_file,
    flags: c_int,
    flags_now: *mut c_int,
) -> c_int {
    let base = BASE.get().expect("set before this VFS is registered").0;
    // SAFETY: arguments as SQLite gave them, to the VFS whose files ours are; its methods live as long as the process.
    unsafe {
        let code = (*base).xOpen.expect("every VFS opens files")(base, name, file, flags, flags_now);
        if let Some(methods) = (*file).pMethods.as_ref() {
            (*file).pMethods = counting(methods);
        }
        code
    }
}

/// The same methods, of which the one that flushes is ours.
fn counting(methods: &'static sqlite3_io_methods) -> &'static sqlite3_io_methods {
    let address = std::ptr::from_ref(methods) as usize;
    let mut known = METHODS.lock().unwrap();
    if let Some((_, own)) = known.iter().find(|(base, _)| *base == address) {
        return own;
    }
    SYNC.get_or_init(|| methods.xSync.expect("every file can be flushed"));
    let own = Box::leak(Box::new(sqlite3_io_methods { xSync: Some(sync), ..*methods }));
    known.push((address, own));
    own
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    if FAILING.get() {
        return ffi::SQLITE_IOERR_FSYNC;
    }
    FLUSHES.set(FLUSHES.get() + 1);
    // SAFETY: the file is of the VFS below, which this is a method of.
    unsafe { SYNC.get().expect("known before a file is open")(file, flags) }
}
