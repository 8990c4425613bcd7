//! What the kernel knows of files: who has them open, and what of them is only in memory.

use procfs::process::{FDTarget, Process, all_processes};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How often a process and those that it has started have a file open; nothing where that cannot be seen.
pub(crate) fn times_open(file: &Path, process: u32) -> Option<u64> {
    let file = file.canonicalize().ok()?;
    // One that ends in between has nothing open.
    let all: Vec<Process> = all_processes().ok()?.flatten().collect();
    let parents: Vec<(i32, i32)> =
        all.iter().filter_map(|process| Some((process.pid, process.stat().ok()?.ppid))).collect();
    let mut ours = vec![i32::try_from(process).ok()?];
    let mut at = 0;
    while let Some(parent) = ours.get(at).copied() {
        let children = parents.iter().filter(|(child, of)| *of == parent && !ours.contains(child));
        let children: Vec<i32> = children.map(|(child, _)| *child).collect();
        ours.extend(children);
        at += 1;
    }
    let is_it = |target: &FDTarget| matches!(target, FDTarget::Path(path) if *path == file);
    let open = all.iter().filter(|process| ours.contains(&process.pid)).filter_map(|process| {
        Some(process.fd().ok()?.flatten().filter(|descriptor| is_it(&descriptor.target)).count() as u64)
    });
    Some(open.sum()).filter(|open| *open > 0)
}

/// Pages of files that have been written to and are only in memory; a file that is not there has none. Nothing where the kernel
/// or the file system does not count them, which a file without a name in the folder of the first shows.
pub(crate) fn unwritten(files: &[PathBuf]) -> Option<u64> {
    let mut pages = 0;
    for file in files {
        match File::open(file) {
            Ok(file) => pages += unwritten_pages(&file).ok()?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(_) => return None,
        }
    }
    // Afterwards: a flush of one file may write others of the same file system.
    is_told(files.first()?.parent()?).ok()?.then_some(pages)
}

/// Whether what is written and not flushed is seen in a folder, and what is flushed is seen to be so.
fn is_told(folder: &Path) -> io::Result<bool> {
    use rustix::fs::{Mode, OFlags, open};
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let mut file = File::from(open(folder, flags, Mode::RUSR | Mode::WUSR)?);
    file.write_all(&[1; 4_096])?;
    let before = unwritten_pages(&file)?;
    file.sync_all()?;
    Ok(before > 0 && unwritten_pages(&file)? == 0)
}

/// `cachestat`, which is the same call on every architecture of Linux.
#[cfg(target_os = "linux")]
#[expect(unsafe_code, reason = "neither the standard library nor rustix has cachestat(2)")]
fn unwritten_pages(file: &File) -> io::Result<u64> {
    use std::os::fd::AsRawFd;
    const CACHESTAT: libc::c_long = 451;
    // The offset and the length, of which 0 is all.
    let range = [0_u64; 2];
    // Pages in the cache, dirty ones, those being written, evicted ones, and those evicted not long ago.
    let mut pages = [0_u64; 5];
    // SAFETY: both point to as many numbers as the kernel reads and writes, and live until it returns.
    let done = unsafe { libc::syscall(CACHESTAT, file.as_raw_fd(), range.as_ptr(), pages.as_mut_ptr(), 0) };
    match done {
        0 => Ok(pages[1] + pages[2]),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(target_os = "linux"))]
fn unwritten_pages(_: &File) -> io::Result<u64> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_this_process_has_open_twice_is_seen_twice() {
        let path = std::env::temp_dir().join(format!("stackmark-open-{}", std::process::id()));
        let _two = (File::create(&path).unwrap(), File::open(&path).unwrap());
        let found = times_open(&path, std::process::id());
        std::fs::remove_file(&path).unwrap();
        assert!(!cfg!(target_os = "linux") || found == Some(2), "{found:?}");
        assert_eq!(times_open(Path::new("/nowhere"), std::process::id()), None);
    }
}
