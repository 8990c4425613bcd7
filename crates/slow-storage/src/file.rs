//! An open file: the default VFS's own, with ours around it.
#![expect(unsafe_code, reason = "SQLite's interface to files is one of C")]

use crate::unflushed::Unflushed;
use crate::vfs::Slow;
use crate::wait::wait;
use rusqlite::ffi::{self, sqlite3_file, sqlite3_int64, sqlite3_io_methods};
use sql::Storage;
use std::ffi::{c_int, c_void};

/// What SQLite takes for the file. It allocates `szOsFile` bytes, and the file of the VFS below follows right behind this.
///
/// SQLite never uses a file from two threads at a time.
#[repr(C, align(8))]
pub(crate) struct SlowFile {
    base: sqlite3_file,
    slow: &'static Slow,
    /// The lock that is held, `SQLITE_LOCK_NONE` to `SQLITE_LOCK_EXCLUSIVE`.
    level: c_int,
    /// What a power cut would take back of it, where that is recorded; dropped when it is closed.
    record: Option<Box<Unflushed>>,
}

/// Bytes before the file below.
pub(crate) const BEFORE: usize = size_of::<SlowFile>();

/// The file of the VFS below.
///
/// # Safety
/// `file` has `BEFORE` bytes of ours and the file of the VFS below behind them, as SQLite allocates them for our VFS.
pub(crate) unsafe fn below(file: *mut sqlite3_file) -> *mut sqlite3_file {
    // SAFETY: by the caller, within one allocation.
    unsafe { file.byte_add(BEFORE) }
}

/// Makes `file` one of ours, once the VFS below has opened its own. What that file cannot do, ours cannot do either.
///
/// # Safety
/// As for [`below`], and the file below has methods.
pub(crate) unsafe fn wrap(file: *mut sqlite3_file, slow: &'static Slow, record: Option<Box<Unflushed>>) {
    // SAFETY: by the caller; methods live as long as the process.
    let offered = unsafe { &*(*below(file)).pMethods };
    let shared = offered.iVersion >= 2 && offered.xShmMap.is_some();
    let mapped = offered.iVersion >= 3 && offered.xFetch.is_some();
    let base = sqlite3_file { pMethods: slow.methods(shared, mapped) };
    let opened = SlowFile { base, slow, level: ffi::SQLITE_LOCK_NONE, record };
    // SAFETY: the memory is SQLite's for this file, aligned to 8 as it promises; what was there was no file.
    unsafe { file.cast::<SlowFile>().write(opened) }
}

/// Calls a method of the file below, which has every method that ours has: see [`wrap`].
macro_rules! call {
    ($file:expr, $method:ident $(, $arg:expr)*) => {{
        // SAFETY: SQLite calls our methods with files that our VFS opened, so what is behind is open as well, and its
        // methods live as long as it does. Arguments are passed on as they came.
        unsafe {
            let file = below($file);
            ((*(*file).pMethods).$method.expect("a method that the file below has"))(file $(, $arg)*)
        }
    }};
}

/// What we know of a file of ours.
///
/// # Safety
/// `file` was made by [`wrap`], and nothing else refers to what we know of it now.
unsafe fn known<'a>(file: *mut sqlite3_file) -> &'a mut SlowFile {
    // SAFETY: by the caller.
    unsafe { &mut *file.cast::<SlowFile>() }
}

/// The storage that a file of ours is on.
///
/// # Safety
/// As for [`known`].
unsafe fn storage(file: *mut sqlite3_file) -> Storage {
    // SAFETY: by the caller.
    unsafe { known(file) }.slow.storage
}

// A panic cannot leave these functions: it ends the process, as in every `extern "C"` function. None of them has a reason to.

unsafe extern "C" fn close(file: *mut sqlite3_file) -> c_int {
    // SAFETY: SQLite calls with a file of ours, from one thread, and never again.
    drop(unsafe { known(file) }.record.take());
    call!(file, xClose)
}

/// Does with a file what a record of it has to know of, or only does it where there is none; `failed` is the code where the
/// record cannot be kept.
macro_rules! recorded {
    ($file:expr, $failed:expr, |$record:ident, $act:ident| $noted:expr, $call:expr) => {{
        // SAFETY: SQLite calls with a file of ours, from one thread. The record does not move while it is in use.
        let record = unsafe { known($file) }.record.as_deref().map(std::ptr::from_ref);
        let $act = || $call;
        match record {
            None => $act(),
            Some(record) => {
                // SAFETY: it is dropped only when the file is closed.
                let $record = unsafe { &*record };
                $noted.unwrap_or($failed)
            }
        }
    }};
}

unsafe extern "C" fn read(
    file: *mut sqlite3_file,
    into: *mut c_void,
    bytes: c_int,
    at: sqlite3_int64,
) -> c_int {
    let code = call!(file, xRead, into, bytes, at);
    // SAFETY: SQLite calls with a file of ours, from one thread.
    wait(unsafe { storage(file) }.read);
    code
}

unsafe extern "C" fn write(
    file: *mut sqlite3_file,
    from: *const c_void,
    bytes: c_int,
    at: sqlite3_int64,
) -> c_int {
    let (begin, length) = (at.cast_unsigned(), u64::from(bytes.cast_unsigned()));
    recorded!(
        file,
        ffi::SQLITE_IOERR_WRITE,
        |record, act| record.write(begin, length, act),
        call!(file, xWrite, from, bytes, at)
    )
}

unsafe extern "C" fn truncate(file: *mut sqlite3_file, size: sqlite3_int64) -> c_int {
    recorded!(
        file,
        ffi::SQLITE_IOERR_TRUNCATE,
        |record, act| record.resize(size.cast_unsigned(), act),
        call!(file, xTruncate, size)
    )
}

unsafe extern "C" fn sync(file: *mut sqlite3_file, flags: c_int) -> c_int {
    let code = recorded!(
        file,
        ffi::SQLITE_IOERR_FSYNC,
        |record, act| record.flush(act, |code| *code == ffi::SQLITE_OK),
        call!(file, xSync, flags)
    );
    // SAFETY: as in `read`.
    wait(unsafe { storage(file) }.sync);
    code
}

unsafe extern "C" fn size(file: *mut sqlite3_file, size: *mut sqlite3_int64) -> c_int {
    call!(file, xFileSize, size)
}

unsafe extern "C" fn lock(file: *mut sqlite3_file, level: c_int) -> c_int {
    let code = call!(file, xLock, level);
    // SAFETY: as in `read`.
    let known = unsafe { known(file) };
    // A lock that is held already is not requested.
    if level > known.level {
        wait(known.slow.storage.lock);
        if code == ffi::SQLITE_OK {
            known.level = level;
        }
    }
    code
}

unsafe extern "C" fn unlock(file: *mut sqlite3_file, level: c_int) -> c_int {
    let code = call!(file, xUnlock, level);
    // SAFETY: as in `read`.
    let known = unsafe { known(file) };
    known.level = known.level.min(level);
    code
}

unsafe extern "C" fn check_reserved_lock(file: *mut sqlite3_file, reserved: *mut c_int) -> c_int {
    let code = call!(file, xCheckReservedLock, reserved);
    // SAFETY: as in `read`.
    wait(unsafe { storage(file) }.lock);
    code
}

unsafe extern "C" fn control(file: *mut sqlite3_file, op: c_int, arg: *mut c_void) -> c_int {
    call!(file, xFileControl, op, arg)
}

unsafe extern "C" fn sector_size(file: *mut sqlite3_file) -> c_int {
    call!(file, xSectorSize)
}

unsafe extern "C" fn characteristics(file: *mut sqlite3_file) -> c_int {
    call!(file, xDeviceCharacteristics)
}

unsafe extern "C" fn shm_map(
    file: *mut sqlite3_file,
    region: c_int,
    bytes: c_int,
    extend: c_int,
    at: *mut *mut c_void,
) -> c_int {
    call!(file, xShmMap, region, bytes, extend, at)
}

unsafe extern "C" fn shm_lock(file: *mut sqlite3_file, offset: c_int, count: c_int, flags: c_int) -> c_int {
    let code = call!(file, xShmLock, offset, count, flags);
    if flags & ffi::SQLITE_SHM_LOCK != 0 {
        // SAFETY: as in `read`.
        wait(unsafe { storage(file) }.lock);
    }
    code
}

unsafe extern "C" fn shm_barrier(file: *mut sqlite3_file) {
    call!(file, xShmBarrier);
}

unsafe extern "C" fn shm_unmap(file: *mut sqlite3_file, delete: c_int) -> c_int {
    call!(file, xShmUnmap, delete)
}

unsafe extern "C" fn fetch(
    file: *mut sqlite3_file,
    at: sqlite3_int64,
    bytes: c_int,
    found: *mut *mut c_void,
) -> c_int {
    call!(file, xFetch, at, bytes, found)
}

unsafe extern "C" fn unfetch(file: *mut sqlite3_file, at: sqlite3_int64, found: *mut c_void) -> c_int {
    call!(file, xUnfetch, at, found)
}

/// The methods of a file, by version: 1 has no shared memory, 2 has it, 3 has memory maps as well.
pub(crate) const fn methods(version: c_int) -> sqlite3_io_methods {
    let (shared, mapped) = (version >= 2, version >= 3);
    sqlite3_io_methods {
        iVersion: version,
        xClose: Some(close),
        xRead: Some(read),
        xWrite: Some(write),
        xTruncate: Some(truncate),
        xSync: Some(sync),
        xFileSize: Some(size),
        xLock: Some(lock),
        xUnlock: Some(unlock),
        xCheckReservedLock: Some(check_reserved_lock),
        xFileControl: Some(control),
        xSectorSize: Some(sector_size),
        xDeviceCharacteristics: Some(characteristics),
        xShmMap: if shared { Some(shm_map) } else { None },
        xShmLock: if shared { Some(shm_lock) } else { None },
        xShmBarrier: if shared { Some(shm_barrier) } else { None },
        xShmUnmap: if shared { Some(shm_unmap) } else { None },
        xFetch: if mapped { Some(fetch) } else { None },
        xUnfetch: if mapped { Some(unfetch) } else { None },
    }
}
