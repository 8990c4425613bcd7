//! Control groups that keep a process and its children within limits, version 1 and 2 of them.
//!
//! A group is made below the one that we are in ourselves, so that limits put on us go on to hold. In version 2 a group
//! with processes in it can have no limited children; then the folder next to ours is tried, where its owner allows that.

use crate::{Limits, RigError};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

/// Waits for a line before it becomes the program: by then it is in its group, and nothing of it ran outside.
const GATE: &str = r#"read -r _ && exec "$@" </dev/null"#;
/// The period of a quota, in microseconds: the kernel's default.
const PERIOD_US: u64 = 100_000;

/// What limits did to the processes under them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Throttling {
    /// Periods of 100 ms in which something ran.
    pub periods: u64,
    /// Those in which something had to stop before their end.
    pub throttled: u64,
    /// How long it stood still, summed over cores, in nanoseconds.
    pub throttled_ns: u64,
    /// The highest use of memory in bytes, with the page cache of its files; `None` without a limit of it.
    pub memory_peak: Option<u64>,
}

/// Limits in force. The groups go when this is dropped, once their processes have ended.
#[derive(Debug)]
pub struct Cgroup {
    groups: Vec<ControlGroup>,
}

#[derive(Debug)]
struct ControlGroup {
    folder: PathBuf,
    unified: bool,
    cpu: bool,
    mem: bool,
}

impl Cgroup {
    /// Makes groups with `limits`; `name` becomes a part of a folder's name.
    ///
    /// # Errors
    ///
    /// [`RigError::NotPermitted`] says what is missing and what would help.
    pub fn new(name: &str, limits: &Limits) -> Result<Cgroup, RigError> {
        // The name of a folder need not be UTF-8.
        let read =
            |path| fs::read(path).map(|text| String::from_utf8_lossy(&text).into_owned()).unwrap_or_default();
        Cgroup::within(&Tree::read(&read("/proc/self/mountinfo"), &read("/proc/self/cgroup")), name, limits)
    }

    fn within(tree: &Tree, name: &str, limits: &Limits) -> Result<Cgroup, RigError> {
        let name = format!("stackmark-{name}");
        let wanted = [("cpu", limits.cpu.is_some()), ("memory", limits.mem.is_some())];
        let wanted: Vec<&str> =
            wanted.into_iter().filter(|(_, wanted)| *wanted).map(|(name, _)| name).collect();
        // Groups made so far go again when a later one fails.
        let mut cgroup = Cgroup { groups: Vec::new() };
        let unified: Vec<&str> =
            wanted.iter().copied().filter(|controller| tree.is_unified(controller)).collect();
        if !unified.is_empty() {
            let folder = tree.make_unified(&name, &unified).map_err(|why| not_permitted(&why))?;
            let has = |controller| unified.contains(&controller);
            cgroup.groups.push(ControlGroup { folder, unified: true, cpu: has("cpu"), mem: has("memory") });
        }
        for controller in wanted.iter().copied().filter(|controller| !tree.is_unified(controller)) {
            let folder = tree.make_old(&name, controller).map_err(|why| not_permitted(&why))?;
            let (cpu, mem) = (controller == "cpu", controller == "memory");
            cgroup.groups.push(ControlGroup { folder, unified: false, cpu, mem });
        }
        for group in &cgroup.groups {
            group.limit(limits).map_err(|error| {
                not_permitted(&format!("the limits could not be set in {} ({error})", group.folder.display()))
            })?;
        }
        Ok(cgroup)
    }

    /// Puts a process, with what it starts from now on, under the limits.
    ///
    /// # Errors
    ///
    /// The system refuses, or there is no such process.
    pub fn joins(&self, pid: u32) -> Result<(), RigError> {
        for group in &self.groups {
            let procs = group.folder.join("cgroup.procs");
            fs::write(&procs, pid.to_string()).map_err(|error| {
                not_permitted(&format!(
                    "process {pid} could not be put into {} ({error})",
                    group.folder.display()
                ))
            })?;
        }
        Ok(())
    }

    /// Starts a command made by [`gated`], whose program begins only when it is under the limits.
    ///
    /// # Errors
    ///
    /// It cannot be started, or not be put under the limits; then it never ran.
    pub fn spawn(&self, command: &mut Command) -> Result<Child, RigError> {
        let failed = |error: std::io::Error| {
            RigError::failed(format!("could not start a limited process: {error}"), "")
        };
        let mut child = command.stdin(Stdio::piped()).spawn().map_err(failed)?;
        let mut gate = child.stdin.take().expect("standard input was asked for as a pipe");
        if let Err(error) = self.joins(child.id()) {
            // The gate sees the end of its input and ends.
            drop(gate);
            let _ = child.wait();
            return Err(error);
        }
        gate.write_all(b"\n").map_err(failed)?;
        Ok(child)
    }

    /// What the limits have done so far.
    pub fn throttling(&self) -> Throttling {
        let mut found = Throttling::default();
        for group in &self.groups {
            group.read_into(&mut found);
        }
        found
    }

    /// The folders of its groups, for whoever has to remove them in our place.
    pub fn folders(&self) -> Vec<PathBuf> {
        self.groups.iter().map(|group| group.folder.clone()).collect()
    }

    /// Leaves the groups behind: they stay when this value goes.
    pub(crate) fn leave(mut self) {
        self.groups.clear();
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        remove(&self.folders());
    }
}

/// Removes groups; their processes may take a moment to be gone.
pub(crate) fn remove(folders: &[PathBuf]) {
    for folder in folders {
        crate::command::within(Duration::from_secs(2), || {
            let gone = fs::remove_dir(folder);
            (gone.is_ok() || !folder.exists()).then_some(())
        });
    }
}

/// A command for [`Cgroup::spawn`]: `program` behind a gate. Its arguments, account and output are set as usual; its standard
/// input is the gate's.
pub fn gated(program: &Path) -> Command {
    let mut command = Command::new("/bin/sh");
    command.args(["-c", GATE, "stackmark-gate"]).arg(program);
    command
}

fn not_permitted(why: &str) -> RigError {
    RigError::NotPermitted(format!(
        "limits need control groups of Linux: {why}; they can be set as root, by a user under \
         `systemd-run --user --scope -p Delegate=yes -- stackmark …`, or on the container as a whole (docker run --cpus, \
         --memory)"
    ))
}

impl ControlGroup {
    fn limit(&self, limits: &Limits) -> std::io::Result<()> {
        let write = |file: &str, text: String| fs::write(self.folder.join(file), text);
        if let Some(cores) = limits.cpu.filter(|_| self.cpu) {
            let quota = ((cores * PERIOD_US as f64) as u64).max(1000);
            if self.unified {
                write("cpu.max", format!("{quota} {PERIOD_US}"))?;
            } else {
                write("cpu.cfs_period_us", PERIOD_US.to_string())?;
                write("cpu.cfs_quota_us", quota.to_string())?;
            }
        }
        if let Some(bytes) = limits.mem.filter(|_| self.mem) {
            let (limit, swap) = match self.unified {
                true => ("memory.max", ("memory.swap.max", 0)),
                false => ("memory.limit_in_bytes", ("memory.memsw.limit_in_bytes", bytes)),
            };
            write(limit, bytes.to_string())?;
            // Kernels without accounting of swap do not have the file.
            if self.folder.join(swap.0).exists() {
                write(swap.0, swap.1.to_string())?;
            }
        }
        Ok(())
    }

    fn read_into(&self, found: &mut Throttling) {
        let read = |file: &str| fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        if self.cpu {
            for line in read("cpu.stat").lines() {
                let Some((key, Ok(value))) =
                    line.split_once(' ').map(|(key, value)| (key, value.parse::<u64>()))
                else {
                    continue;
                };
                match key {
                    "nr_periods" => found.periods = value,
                    "nr_throttled" => found.throttled = value,
                    "throttled_time" => found.throttled_ns = value,
                    "throttled_usec" => found.throttled_ns = value * 1000,
                    _ => {}
                }
            }
        }
        if self.mem {
            let file = if self.unified { "memory.peak" } else { "memory.max_usage_in_bytes" };
            found.memory_peak = read(file).trim().parse().ok();
        }
    }
}

/// Where this process stands in the system's control groups.
#[derive(Debug, Default)]
struct Tree {
    /// Version 2: our own group, and where its hierarchy begins.
    unified: Option<(PathBuf, PathBuf)>,
    /// Version 1: controller and our own group.
    old: Vec<(String, PathBuf)>,
}

impl Tree {
    /// From `/proc/self/mountinfo` and `/proc/self/cgroup`.
    fn read(mounts: &str, own: &str) -> Tree {
        let own: Vec<(&str, &str)> =
            own.lines().filter_map(|line| line.split_once(':')?.1.split_once(':')).collect();
        let mut tree = Tree::default();
        for line in mounts.lines() {
            let Some((left, right)) = line.split_once(" - ") else { continue };
            let (left, right): (Vec<&str>, Vec<&str>) =
                (left.split(' ').collect(), right.split(' ').collect());
            let ([_, _, _, root, point, ..], [kind, _, options, ..]) = (&left[..], &right[..]) else {
                continue;
            };
            let at = |path: &str| {
                let below = Path::new(path).strip_prefix(root).unwrap_or(Path::new(""));
                Path::new(point).join(below)
            };
            match *kind {
                "cgroup2" => {
                    let path =
                        own.iter().find(|(controllers, _)| controllers.is_empty()).map(|(_, path)| *path);
                    tree.unified = path.map(|path| (at(path), PathBuf::from(point)));
                }
                "cgroup" => {
                    let known =
                        own.iter().flat_map(|(names, path)| names.split(',').map(move |name| (name, *path)));
                    let here = known.filter(|(name, _)| options.split(',').any(|option| option == *name));
                    tree.old.extend(here.map(|(name, path)| (name.to_owned(), at(path))));
                }
                _ => {}
            }
        }
        tree
    }

    /// Whether a controller belongs to version 2 here. It belongs to one of both.
    fn is_unified(&self, controller: &str) -> bool {
        self.unified.is_some() && !self.old.iter().any(|(name, _)| name == controller)
    }

    fn make_old(&self, name: &str, controller: &str) -> Result<PathBuf, String> {
        let own = self.old.iter().find(|(known, _)| known == controller).map(|(_, folder)| folder);
        let own = own.ok_or_else(|| format!("this system has no controller `{controller}`"))?;
        make(&own.join(name))
    }

    fn make_unified(&self, name: &str, controllers: &[&str]) -> Result<PathBuf, String> {
        let (own, top) = self.unified.as_ref().expect("the caller found controllers in it");
        let mut why = String::new();
        let beside = own.parent().filter(|parent| own != top && parent.starts_with(top));
        for parent in [Some(own.as_path()), beside].into_iter().flatten() {
            let switched_on = |parent: &Path| {
                let on = fs::read_to_string(parent.join("cgroup.subtree_control")).unwrap_or_default();
                controllers.iter().all(|controller| on.split_whitespace().any(|name| name == *controller))
            };
            if !switched_on(parent) && parent == own {
                // Refused where the group has processes in it, unless it is the first of all.
                let switches: Vec<String> = controllers.iter().map(|name| format!("+{name}")).collect();
                let _ = fs::write(parent.join("cgroup.subtree_control"), switches.join(" "));
            }
            let made = match switched_on(parent) {
                true => make(&parent.join(name)),
                false => Err(format!("{} does not pass on {}", parent.display(), controllers.join(" and "))),
            };
            match made {
                Ok(folder) => return Ok(folder),
                Err(reason) if why.is_empty() => why = reason,
                Err(reason) => why = format!("{why}, and {reason}"),
            }
        }
        Err(why)
    }
}

fn make(folder: &Path) -> Result<PathBuf, String> {
    fs::create_dir(folder)
        .map(|()| folder.to_owned())
        .map_err(|error| format!("{} could not be made ({error})", folder.display()))
}

#[cfg(test)]
#[path = "cgroup_tests.rs"]
mod tests;
