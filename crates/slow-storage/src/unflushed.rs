//! What a power cut would take back: what was there before each write that has not been flushed since.
//!
//! Kept in a file next to the one that is written, `FILE.unflushed`, so that it outlives the processes that write, and under its
//! lock, so that writes and flushes of all of them have one order. Killing a process loses nothing that it has written; whoever
//! wants to know what a power cut does kills it first and then calls [`cut_power`].

use std::ffi::OsString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

/// Behind the name of a file.
const ENDING: &str = ".unflushed";
/// Files of a database, by the ends of their names; the last is made again from the others.
const FILES: [&str; 3] = ["", "-wal", "-journal"];
const SHARED: &str = "-shm";
/// Numbers before the bytes of an entry.
const HEAD: usize = 4 * 8;

/// The record of one file.
#[derive(Debug)]
pub(crate) struct Unflushed {
    record: File,
    /// The file itself, to read what is there.
    file: File,
}

/// What a power cut has taken back.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Lost {
    /// Writes that were not flushed and are lost.
    pub lost: u64,
    /// Writes that were not flushed and had reached the disk all the same.
    pub kept: u64,
}

/// One write, or one change of length.
struct UnflushedWrite {
    at: u64,
    /// Bytes that were written; of a file that was cut off none.
    written: u64,
    /// The length of the file before it.
    length: u64,
    /// What was there before, as far as the file went.
    before: Vec<u8>,
}

fn with_ending(file: &Path, ending: &str) -> PathBuf {
    let mut name = OsString::from(file);
    name.push(ending);
    name.into()
}

impl Unflushed {
    pub(crate) fn of(path: &Path) -> io::Result<Unflushed> {
        let mut options = OpenOptions::new();
        let options = options.read(true).append(true).create(true);
        Ok(Unflushed { record: options.open(with_ending(path, ENDING))?, file: File::open(path)? })
    }

    /// Does something to the file while no other process does.
    fn exclusive<T>(&self, act: impl FnOnce(&Unflushed) -> io::Result<T>) -> io::Result<T> {
        self.record.lock()?;
        let done = act(self);
        self.record.unlock()?;
        done
    }

    /// Notes what a write is about to replace, and has it made by `write`.
    pub(crate) fn write<T>(&self, at: u64, written: u64, write: impl FnOnce() -> T) -> io::Result<T> {
        self.exclusive(|this| {
            let length = this.file.metadata()?.len();
            let mut before = vec![0; written.min(length.saturating_sub(at)) as usize];
            this.file.read_exact_at(&mut before, at)?;
            this.note(&UnflushedWrite { at, written, length, before })?;
            Ok(write())
        })
    }

    /// The same of a file that is about to be cut off, or made longer.
    pub(crate) fn resize<T>(&self, length: u64, resize: impl FnOnce() -> T) -> io::Result<T> {
        self.exclusive(|this| {
            let before = this.file.metadata()?.len();
            let mut tail = vec![0; before.saturating_sub(length) as usize];
            this.file.read_exact_at(&mut tail, length)?;
            this.note(&UnflushedWrite { at: length, written: 0, length: before, before: tail })?;
            Ok(resize())
        })
    }

    /// Flushes by `flush`, which gives whether that went well; then nothing is to be taken back.
    pub(crate) fn flush<T>(
        &self,
        flush: impl FnOnce() -> T,
        went_well: impl FnOnce(&T) -> bool,
    ) -> io::Result<T> {
        self.exclusive(|this| {
            let done = flush();
            if went_well(&done) {
                this.record.set_len(0)?;
            }
            Ok(done)
        })
    }

    fn note(&self, entry: &UnflushedWrite) -> io::Result<()> {
        let mut bytes = Vec::with_capacity(HEAD + entry.before.len());
        for number in [entry.at, entry.written, entry.length, entry.before.len() as u64] {
            bytes.extend_from_slice(&number.to_le_bytes());
        }
        bytes.extend_from_slice(&entry.before);
        // In one piece: what a process that is killed has not noted it has not written either.
        (&self.record).write_all(&bytes)
    }
}

/// Entries in the order in which they were noted. The last may be half there: its write was never made.
fn entries(record: &Path) -> io::Result<Vec<UnflushedWrite>> {
    let mut bytes = Vec::new();
    match File::open(record) {
        Ok(mut file) => file.read_to_end(&mut bytes)?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => 0,
        Err(error) => return Err(error),
    };
    let mut entries = Vec::new();
    let mut rest = &bytes[..];
    while let Some((head, more)) = rest.split_at_checked(HEAD) {
        let mut numbers =
            head.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap_or_default()));
        let mut next = || numbers.next().unwrap_or_default();
        let (at, written, length, kept) = (next(), next(), next(), next());
        let Some((before, more)) = more.split_at_checked(kept as usize) else { break };
        entries.push(UnflushedWrite { at, written, length, before: before.to_vec() });
        rest = more;
    }
    Ok(entries)
}

/// Does to a database what a power cut would: of each write to its files that was not flushed, `keeps` says whether it had
/// reached the disk all the same. Every process that had the database open must have been killed, and no one may have opened it
/// since.
pub fn cut_power(database: &Path, mut keeps: impl FnMut() -> bool) -> io::Result<Lost> {
    let mut all = Lost::default();
    for ending in FILES {
        let path = with_ending(database, ending);
        let record = with_ending(&path, ENDING);
        let entries = entries(&record)?;
        if !entries.is_empty() && path.exists() {
            let of_file = take_back(&path, &entries, &mut keeps)?;
            all = Lost { lost: all.lost + of_file.lost, kept: all.kept + of_file.kept };
        }
    }
    forget(database)?;
    // It is in memory in truth, and is gone.
    remove(&with_ending(database, SHARED))?;
    Ok(all)
}

/// Forgets the record of a file that has been removed.
pub(crate) fn gone(path: &Path) {
    // What cannot be removed belongs to no file, and is not read.
    let _ = remove(&with_ending(path, ENDING));
}

/// Forgets what has not been flushed, as if it had: for a database that was used without being recorded meanwhile.
pub fn forget(database: &Path) -> io::Result<()> {
    FILES.iter().try_for_each(|ending| remove(&with_ending(&with_ending(database, ending), ENDING)))
}

fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(error),
        _ => Ok(()),
    }
}

/// The last first, so that of several writes to one place the first that is lost says what is there.
fn take_back(path: &Path, entries: &[UnflushedWrite], keeps: &mut dyn FnMut() -> bool) -> io::Result<Lost> {
    let mut file = OpenOptions::new().read(true).write(true).open(path)?;
    let mut found = Lost::default();
    let mut kept = vec![false; entries.len()];
    for (entry, kept) in entries.iter().zip(&mut kept).rev() {
        *kept = keeps();
        if *kept {
            found.kept += 1;
            continue;
        }
        found.lost += 1;
        file.seek(SeekFrom::Start(entry.at))?;
        file.write_all(&entry.before)?;
        // Where the file did not reach, nothing was: as far as later writes reach, that is zeros.
        let beyond = entry.written.saturating_sub(entry.before.len() as u64);
        let end = file.metadata()?.len().min(entry.at + entry.written);
        let zeros = end.saturating_sub(entry.at + entry.before.len() as u64).min(beyond);
        file.write_all(&vec![0; zeros as usize])?;
    }
    // The length is what the changes that are left make of the first.
    let first = entries.first().map_or(0, |entry| entry.length);
    let length = entries.iter().zip(&kept).filter(|(_, kept)| **kept).fold(first, |length, (entry, _)| {
        if entry.written == 0 { entry.at } else { length.max(entry.at + entry.written) }
    });
    file.set_len(length)?;
    file.sync_all()?;
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(file: &File, record: &Unflushed, at: u64, bytes: &[u8]) {
        record.write(at, bytes.len() as u64, || file.write_all_at(bytes, at).unwrap()).unwrap();
    }

    /// A file of `abcdef` that is flushed, and then overwritten, made longer and cut off.
    fn check(keeps: &[bool], expected: &[u8]) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        let file = OpenOptions::new().read(true).write(true).create_new(true).open(&path).unwrap();
        let record = Unflushed::of(&path).unwrap();
        written(&file, &record, 0, b"abcdef");
        record.flush(|| (), |()| true).unwrap();
        written(&file, &record, 1, b"XY");
        written(&file, &record, 2, b"Z");
        written(&file, &record, 6, b"ghi");
        record.resize(4, || file.set_len(4).unwrap()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), b"aXZd");
        let mut answers = keeps.iter().copied();
        let lost = cut_power(&path, || answers.next().unwrap()).unwrap();
        assert_eq!(fs::read(&path).unwrap(), expected, "{keeps:?}");
        assert_eq!(lost.kept, keeps.iter().filter(|kept| **kept).count() as u64);
        assert_eq!(cut_power(&path, || false).unwrap(), Lost::default(), "it is forgotten by then");
    }

    #[test]
    fn any_of_what_was_not_flushed_may_be_lost() {
        // From the last to the first.
        check(&[false, false, false, false], b"abcdef");
        check(&[true, true, true, true], b"aXZd");
        check(&[false, true, true, true], b"aXZdefghi");
        check(&[false, true, false, true], b"aXYdefghi");
        check(&[false, false, true, false], b"abcdef");
        check(&[true, false, false, true], b"aXYd");
    }

    #[test]
    fn an_entry_that_was_cut_off_was_never_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.db");
        fs::write(&path, b"abcdef").unwrap();
        let record = Unflushed::of(&path).unwrap();
        (&record.record).write_all(&[0; HEAD + 1][..HEAD - 1]).unwrap();
        assert_eq!(cut_power(&path, || false).unwrap(), Lost::default());
        assert_eq!(fs::read(&path).unwrap(), b"abcdef");
    }
}
