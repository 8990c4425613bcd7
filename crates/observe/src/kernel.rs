//! CPU time of the kernel's own threads that write data back and keep journals. They work for whoever dirtied the pages or
//! asked for a flush, and no process is charged for it: without them a database looks cheaper than it is, and its disk work
//! is taken for that of strangers.
//!
//! Most of it is done by workers that any part of the kernel may use (`kworker/u8:2`), which bear the name of what they
//! do now (`+flush-259:0`) or did last (`-flush-259:0`). What one has used since the reading before is put down to the
//! name that it bears now: a worker that has turned to something else hides what it had written, and one that has turned to
//! writing adds what it did before. The errors go both ways, and an interval of few readings is rough.
//!
//! Workers that are bound to one core (`kworker/3:1`), which complete requests, are left out: there are hundreds of them
//! on a large machine, and little of this work is theirs.

use procfs::FromRead;
use procfs::process::Stat;
use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::PathBuf;

/// The kernel's thread that all its other threads descend from, wherever they can be seen.
const ROOT: i32 = 2;
const ROOT_NAME: &str = "kthreadd";
/// Workers that are bound to no core; what follows is the number of their pool.
const WORKER: &str = "kworker/u";
/// How threads are called that write back, keep a journal, or stand between a file system and its device: ext4, XFS,
/// btrfs, loop devices, device mapper, encryption, swapping.
const WRITING: [&str; 14] = [
    "flush-",
    "writeback",
    "jbd2/",
    "ext4-",
    "xfsaild/",
    "xfs-",
    "btrfs-",
    "loop",
    "dm-",
    "dm_",
    "kdmflush",
    "kcryptd",
    "dmcrypt_write",
    "kswapd",
];

/// Whether a thread of the kernel with this name writes data back or keeps a journal, or did last.
pub(crate) fn writes_back(name: &str) -> bool {
    let work = match name.strip_prefix("kworker/") {
        Some(worker) => worker.split_once(['+', '-']).map_or("", |(_, work)| work),
        None => name,
    };
    let of_nvme = work.starts_with("irq/") && work.contains("nvme");
    of_nvme || WRITING.iter().any(|start| work.starts_with(start))
}

/// Reads them, and adds up what they have used.
pub(crate) struct KernelThreads {
    proc: PathBuf,
    /// Those that may write back, with the ticks used at the last reading, by number and birth.
    followed: HashMap<i32, (u64, u64)>,
    /// Those that never do.
    ruled_out: HashSet<i32>,
    /// Ticks since the first reading; `None` where they cannot be seen, as in a container.
    ticks: Option<u64>,
}

impl KernelThreads {
    /// Those of the system whose `/proc` is there, from now on.
    pub(crate) fn open(proc: impl Into<PathBuf>) -> KernelThreads {
        let mut threads = KernelThreads {
            proc: proc.into(),
            followed: HashMap::new(),
            ruled_out: HashSet::new(),
            ticks: None,
        };
        threads.ticks = (threads.stat(ROOT).is_some_and(|root| root.comm == ROOT_NAME)
            && threads.numbers().is_some())
        .then_some(0);
        threads.read();
        // What they had used before counts for nothing.
        threads.ticks = threads.ticks.map(|_| 0);
        threads
    }

    /// Ticks that they have used since they were opened; `None` where they cannot be seen.
    pub(crate) fn read(&mut self) -> Option<u64> {
        self.ticks?;
        let numbers = self.numbers().unwrap_or_default();
        self.ruled_out.retain(|known| numbers.contains(known));
        self.followed.retain(|known, _| numbers.contains(known));
        let mut used = 0;
        for number in numbers {
            if self.ruled_out.contains(&number) {
                continue;
            }
            let Some(stat) = self.stat(number) else { continue };
            let writes = writes_back(&stat.comm);
            if !writes && !stat.comm.starts_with(WORKER) {
                self.ruled_out.insert(number);
                continue;
            }
            let now = stat.utime + stat.stime;
            let before = self.followed.insert(number, (stat.starttime, now));
            // One that was born since then has used all of it since then.
            let before = before.filter(|(born, _)| *born == stat.starttime).map_or(0, |(_, ticks)| ticks);
            if writes {
                used += now.saturating_sub(before);
            }
        }
        self.ticks = self.ticks.map(|ticks| ticks + used);
        self.ticks
    }

    /// All threads of the kernel; `None` where the kernel does not list them.
    fn numbers(&self) -> Option<Vec<i32>> {
        let list = self.proc.join(format!("{ROOT}/task/{ROOT}/children"));
        let list = fs::read_to_string(list).ok()?;
        Some(list.split_whitespace().filter_map(|number| number.parse().ok()).collect())
    }

    /// `None` when it has just ended.
    fn stat(&self, number: i32) -> Option<Stat> {
        Stat::from_file(self.proc.join(format!("{number}/stat"))).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use tempfile::TempDir;

    /// A made-up `/proc` with threads of the kernel.
    struct Made(TempDir);

    impl Made {
        fn new() -> Made {
            let made = Made(tempfile::tempdir().expect("there is a place for temporary files"));
            made.thread(2, "kthreadd", 0, 1);
            made.list(&[]);
            made
        }

        fn path(&self) -> &Path {
            self.0.path()
        }

        fn list(&self, numbers: &[i32]) {
            let folder = self.path().join("2/task/2");
            fs::create_dir_all(&folder).expect("it is ours");
            let numbers: Vec<String> = numbers.iter().map(i32::to_string).collect();
            fs::write(folder.join("children"), numbers.join(" ")).expect("it is ours");
        }

        /// With a third of its ticks in user mode, and born at some tick.
        fn thread(&self, number: i32, name: &str, ticks: u64, born: u64) {
            let folder = self.path().join(number.to_string());
            fs::create_dir_all(&folder).expect("it is ours");
            let (user, system) = (ticks / 3, ticks - ticks / 3);
            let zeros = "0 ".repeat(30);
            let stat = format!(
                "{number} ({name}) I 2 0 0 0 -1 69238880 0 0 0 0 {user} {system} 0 0 20 0 1 0 {born} {zeros}\n"
            );
            fs::write(folder.join("stat"), stat).expect("it is ours");
        }
    }

    #[test]
    fn threads_that_write_back_or_keep_a_journal_are_told_by_their_names() {
        for name in [
            "kworker/u8:2+flush-259:0",
            "kworker/u8:2-flush-259:0",
            "kworker/u16:11-writeback",
            "kworker/u8:0-xfs-cil/dm-0",
            "kworker/u8:0-kcryptd/254:0",
            "kworker/u8:3-loop0",
            "kworker/u9:1+btrfs-endio-write",
            "jbd2/nvme0n1p1-8",
            "xfsaild/dm-0",
            "btrfs-transacti",
            "loop7",
            "dmcrypt_write/254:0",
            "irq/24-nvme0q1",
            "kswapd0",
        ] {
            assert!(writes_back(name), "{name}");
        }
        for name in [
            "kworker/u8:2-events_unbound",
            "kworker/u8:2",
            "kworker/0:1-events",
            "ksoftirqd/0",
            "rcu_preempt",
            "migration/1",
            "irq/9-acpi",
            "kthreadd",
            "khugepaged",
        ] {
            assert!(!writes_back(name), "{name}");
        }
    }

    #[test]
    fn what_they_use_from_the_first_reading_on_is_added_up_and_nothing_else() {
        let made = Made::new();
        made.list(&[30, 31, 32]);
        made.thread(30, "jbd2/sda1-8", 500, 7);
        made.thread(31, "kworker/u8:1-events_unbound", 300, 7);
        made.thread(32, "ksoftirqd/0", 900, 7);
        let mut threads = KernelThreads::open(made.path());
        assert_eq!(threads.read(), Some(0));
        made.thread(30, "jbd2/sda1-8", 504, 7);
        made.thread(32, "ksoftirqd/0", 990, 7);
        assert_eq!(threads.read(), Some(4));
        assert_eq!(threads.read(), Some(4));
    }

    #[test]
    fn what_a_worker_has_used_is_put_down_to_the_name_that_it_bears_when_it_is_read() {
        let made = Made::new();
        made.list(&[31]);
        made.thread(31, "kworker/u8:1-events_unbound", 300, 7);
        let mut threads = KernelThreads::open(made.path());
        made.thread(31, "kworker/u8:1+flush-8:0", 320, 7);
        assert_eq!(threads.read(), Some(20));
        made.thread(31, "kworker/u8:1-flush-8:0", 330, 7);
        assert_eq!(threads.read(), Some(30));
        // It has done something else since, whatever it did first.
        made.thread(31, "kworker/u8:1-events_unbound", 350, 7);
        assert_eq!(threads.read(), Some(30));
    }

    #[test]
    fn workers_come_and_go_and_their_numbers_are_used_again() {
        let made = Made::new();
        made.list(&[31, 32]);
        made.thread(31, "kworker/u8:1-flush-8:0", 300, 7);
        made.thread(32, "rcu_tasks", 3, 7);
        let mut threads = KernelThreads::open(made.path());
        // 31 has ended; 33 was born and has written ever since; 32 has ended too.
        made.list(&[33]);
        made.thread(33, "kworker/u8:4-flush-8:0", 12, 900);
        assert_eq!(threads.read(), Some(12));
        // Both numbers are others' now.
        made.list(&[31, 32, 33]);
        made.thread(31, "kworker/u8:6-flush-8:0", 5, 950);
        made.thread(32, "jbd2/sda1-8", 2, 950);
        assert_eq!(threads.read(), Some(19));
        // So is the number of one that is followed, between two readings.
        made.thread(33, "kworker/u8:9-flush-8:0", 1, 970);
        assert_eq!(threads.read(), Some(20));
    }

    #[test]
    fn where_threads_of_the_kernel_cannot_be_seen_nothing_is_said_of_them() {
        let made = Made::new();
        // In a container the second process is someone's.
        made.thread(2, "postgres", 10, 7);
        assert_eq!(KernelThreads::open(made.path()).read(), None);
        made.thread(2, "kthreadd", 0, 1);
        assert_eq!(KernelThreads::open(made.path()).read(), Some(0));
        // Without the list, which a kernel can be built without.
        fs::remove_file(made.path().join("2/task/2/children")).expect("it was there");
        assert_eq!(KernelThreads::open(made.path()).read(), None);
        assert_eq!(KernelThreads::open("/nowhere").read(), None);
    }
}
