//! A watched process, alone or with all its descendants: PostgreSQL has a process a connection, and they come and go.
//!
//! No CPU time is lost and none is counted twice. What a process used is in its own counters as long as it runs and until
//! its parent has waited for it; from then on it is in the parent's counters of waited-for children. The sum of both over
//! all that live is what the whole family has ever used, as long as no parent dies before its children.

use crate::reading::{Detail, ProcessReading, ThreadReading};
use crate::watch::Watched;
use procfs::process::{Process, Stat, Task};
use result::Role;
use std::path::PathBuf;

/// A child that ends and is waited for between the reading of its parent and its own is in neither; then all is read again,
/// up to this often.
const READS_MAX: u32 = 4;

/// Open handles on the processes, bound to them and not to their numbers, so that a reused number is never mistaken for one.
pub(crate) struct Family {
    root: Process,
    /// Without the root, and always empty for a process that is watched alone.
    descendants: Vec<Process>,
    is_alone: bool,
    /// Where a root that comes back writes its number.
    pid_file: Option<PathBuf>,
    /// Used by roots that have ended.
    before: Used,
    last: ProcessReading,
    detail: Detail,
}

/// CPU time in seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Used {
    user_s: f64,
    system_s: f64,
}

/// Resident memory of one process by what others may share of it.
#[derive(Default)]
struct Resident {
    private: u64,
    shared: u64,
    mapped: u64,
}

impl Family {
    /// `None` when there is no such process.
    pub(crate) fn open(watched: &Watched) -> Option<Family> {
        let root = Process::new(i32::try_from(watched.pid).ok()?).ok()?;
        Some(Family {
            root,
            descendants: Vec::new(),
            is_alone: watched.role == Role::Generator,
            pid_file: watched.pid_file.clone(),
            before: Used::default(),
            last: ProcessReading::default(),
            detail: Detail::default(),
        })
    }

    pub(crate) fn pid(&self) -> i32 {
        self.root.pid()
    }

    /// Whether the bytes that it reads and writes are not ours to know.
    pub(crate) fn hides_io(&self) -> bool {
        self.root.io().is_err()
    }

    pub(crate) fn read(&mut self, tick_s: f64) -> ProcessReading {
        if self.last.gone {
            self.find_again();
        }
        let Ok(mut root) = self.root.stat() else { return self.ended() };
        // A zombie still tells its CPU time, all of it.
        let gone = matches!(root.state, 'Z' | 'X' | 'x');
        let mut stats = Vec::new();
        if !self.is_alone && !gone {
            for _ in 0..READS_MAX {
                stats = self.stats();
                let Ok(again) = self.root.stat() else { return self.ended() };
                let is_same = (again.cutime, again.cstime) == (root.cutime, root.cstime);
                root = again;
                if is_same {
                    break;
                }
            }
        }
        let mut used = self.before;
        used.add(&root, tick_s, !self.is_alone);
        stats.iter().for_each(|stat| used.add(stat, tick_s, true));
        let rss_bytes = if self.is_alone { root.rss * procfs::page_size() } else { self.resident() };
        self.last = ProcessReading {
            gone,
            // An orphan that ended has taken its time with it; what was counted stays counted.
            cpu_user_s: used.user_s.max(self.last.cpu_user_s),
            cpu_system_s: used.system_s.max(self.last.cpu_system_s),
            rss_bytes: if gone { self.last.rss_bytes } else { rss_bytes },
        };
        self.last.clone()
    }

    /// What takes longer, at the edges of a window.
    pub(crate) fn details(&mut self) -> Detail {
        // A process that has ended keeps what was known of it.
        if let Ok(stat) = self.root.stat() {
            self.detail.name = stat.comm;
        }
        // Like CPU time, the bytes of a child that was waited for are in its parent's counters.
        if let Ok(io) = self.root.io() {
            let others = self.descendants.iter().filter_map(|process| process.io().ok());
            let sum = others.fold((io.read_bytes, io.write_bytes), |sum, io| {
                (sum.0 + io.read_bytes, sum.1 + io.write_bytes)
            });
            self.detail.io = Some(sum);
        }
        if !self.last.gone {
            let processes = std::iter::once(&self.root).chain(&self.descendants);
            let tasks = processes.filter_map(|process| process.tasks().ok()).flat_map(Iterator::flatten);
            self.detail.threads = tasks.filter_map(|task| thread(&task)).collect();
        }
        self.detail.clone()
    }

    fn ended(&mut self) -> ProcessReading {
        self.last.gone = true;
        self.last.clone()
    }

    /// Looks whether the root has come back under another number.
    fn find_again(&mut self) {
        let Some(text) = self.pid_file.as_ref().and_then(|path| std::fs::read_to_string(path).ok()) else {
            return;
        };
        let number = text.lines().next().and_then(|line| line.trim().parse::<i32>().ok());
        let found = number.filter(|pid| *pid != self.root.pid()).and_then(|pid| Process::new(pid).ok());
        let Some(root) = found.filter(|process| process.stat().is_ok_and(|stat| stat.state != 'Z')) else {
            return;
        };
        self.root = root;
        self.descendants.clear();
        self.before = Used { user_s: self.last.cpu_user_s, system_s: self.last.cpu_system_s };
    }

    /// The descendants that live, those found for the first time included.
    fn stats(&mut self) -> Vec<Stat> {
        let mut stats = Vec::new();
        // The kernel's list of children may leave some out while others end; who is known is asked directly.
        self.descendants.retain(|process| process.stat().map(|stat| stats.push(stat)).is_ok());
        let mut parents = vec![self.root.pid()];
        parents.extend(self.descendants.iter().map(Process::pid));
        let mut next = 0;
        while let Some(parent) = parents.get(next).copied() {
            next += 1;
            for child in self.children(parent) {
                if parents.contains(&child) {
                    continue;
                }
                if let Ok(process) = Process::new(child)
                    && let Ok(stat) = process.stat()
                {
                    stats.push(stat);
                    self.descendants.push(process);
                    parents.push(child);
                }
            }
        }
        stats
    }

    fn children(&self, parent: i32) -> Vec<i32> {
        let mut processes = std::iter::once(&self.root).chain(&self.descendants);
        let Some(tasks) = processes.find(|one| one.pid() == parent).and_then(|one| one.tasks().ok()) else {
            return Vec::new();
        };
        let children = tasks.flatten().filter_map(|task| task.children().ok()).flatten();
        children.filter_map(|child| i32::try_from(child).ok()).collect()
    }

    /// Private memory of all, and once what they share, by whoever has mapped the most of it: adding the buffers up once a
    /// connection would give more memory than the machine has.
    fn resident(&self) -> u64 {
        let all = std::iter::once(&self.root).chain(&self.descendants);
        let of = |process: &Process| -> Option<Resident> {
            let status = process.status().ok()?;
            Some(Resident {
                private: status.rssanon?,
                shared: status.rssshmem.unwrap_or(0),
                mapped: status.rssfile.unwrap_or(0),
            })
        };
        let sum = all.filter_map(of).fold(Resident::default(), |sum, one| Resident {
            private: sum.private + one.private,
            shared: sum.shared.max(one.shared),
            mapped: sum.mapped.max(one.mapped),
        });
        (sum.private + sum.shared + sum.mapped) * 1024
    }
}

impl Used {
    fn add(&mut self, stat: &Stat, tick_s: f64, with_children: bool) {
        let children = if with_children { (stat.cutime.max(0), stat.cstime.max(0)) } else { (0, 0) };
        self.user_s += (stat.utime + children.0 as u64) as f64 * tick_s;
        self.system_s += (stat.stime + children.1 as u64) as f64 * tick_s;
    }
}

/// `None` when the thread has just exited.
fn thread(task: &Task) -> Option<ThreadReading> {
    let status = task.status().ok()?;
    let counted = task.schedstat().ok();
    Some(ThreadReading {
        cpu_ns: counted.as_ref().map(|counted| counted.sum_exec_runtime),
        run_queue_ns: counted.map(|counted| counted.run_delay),
        tid: task.tid,
        switches_voluntary: status.voluntary_ctxt_switches.unwrap_or(0),
        switches_involuntary: status.nonvoluntary_ctxt_switches.unwrap_or(0),
    })
}
