//! On folders laid out like control groups, both versions; on the system's own where that is permitted.

use super::*;

/// A folder that looks like version 2 mounted, with ourselves in `own`.
fn unified(root: &Path, own: &str, passed_on: &[&str]) -> Tree {
    fs::create_dir_all(root.join(own)).unwrap();
    for folder in passed_on {
        fs::write(root.join(folder).join("cgroup.subtree_control"), "cpuset cpu io memory pids\n").unwrap();
    }
    let mounts =
        format!("29 23 0:26 / {} rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n", root.display());
    Tree::read(&mounts, &format!("0::/{own}\n"))
}

fn both() -> Limits {
    "cpu=0.5,mem=64MiB".parse().unwrap()
}

#[test]
fn version_2_gets_one_group_with_both_limits() {
    let root = tempfile::tempdir().unwrap();
    let cgroup = Cgroup::within(&unified(root.path(), "a/b", &["a/b"]), "x", &both()).unwrap();
    let group = root.path().join("a/b/stackmark-x");
    assert_eq!(cgroup.folders(), std::slice::from_ref(&group));
    assert_eq!(fs::read_to_string(group.join("cpu.max")).unwrap(), "50000 100000");
    assert_eq!(fs::read_to_string(group.join("memory.max")).unwrap(), (64 << 20).to_string());
    cgroup.joins(77).unwrap();
    assert_eq!(fs::read_to_string(group.join("cgroup.procs")).unwrap(), "77");
    fs::write(group.join("cpu.stat"), "usage_usec 9\nnr_periods 8\nnr_throttled 3\nthrottled_usec 70\n")
        .unwrap();
    fs::write(group.join("memory.peak"), "4096\n").unwrap();
    let expected = Throttling { periods: 8, throttled: 3, throttled_ns: 70_000, memory_peak: Some(4096) };
    assert_eq!(cgroup.throttling(), expected);
}

#[test]
fn version_2_goes_beside_a_group_that_has_processes_in_it() {
    let root = tempfile::tempdir().unwrap();
    let tree = unified(root.path(), "user/app", &["user"]);
    // The kernel refuses the switch there; a folder in its place does too.
    fs::create_dir(root.path().join("user/app/cgroup.subtree_control")).unwrap();
    let cgroup = Cgroup::within(&tree, "x", &both()).unwrap();
    assert_eq!(cgroup.folders(), [root.path().join("user/stackmark-x")]);
}

#[test]
fn version_1_gets_a_group_a_controller() {
    let root = tempfile::tempdir().unwrap();
    let (cpu, memory) = (root.path().join("cpu"), root.path().join("memory"));
    fs::create_dir_all(memory.join("box")).unwrap();
    fs::create_dir_all(&cpu).unwrap();
    let mounts = format!(
        "30 25 0:27 / {} rw - cgroup cgroup rw,cpu,cpuacct\n31 25 0:28 /docker/1 {} rw - cgroup cgroup rw,memory\n",
        cpu.display(),
        memory.display()
    );
    let tree = Tree::read(&mounts, "4:memory:/docker/1/box\n2:cpu,cpuacct:/\n0::/\n");
    let cgroup = Cgroup::within(&tree, "x", &both()).unwrap();
    let (cpu, memory) = (cpu.join("stackmark-x"), memory.join("box/stackmark-x"));
    assert_eq!(cgroup.folders(), [cpu.clone(), memory.clone()]);
    assert_eq!(fs::read_to_string(cpu.join("cpu.cfs_quota_us")).unwrap(), "50000");
    assert_eq!(fs::read_to_string(memory.join("memory.limit_in_bytes")).unwrap(), (64 << 20).to_string());
    fs::write(cpu.join("cpu.stat"), "nr_periods 8\nnr_throttled 3\nthrottled_time 70\n").unwrap();
    fs::write(memory.join("memory.max_usage_in_bytes"), "4096\n").unwrap();
    let expected = Throttling { periods: 8, throttled: 3, throttled_ns: 70, memory_peak: Some(4096) };
    assert_eq!(cgroup.throttling(), expected);
}

#[test]
fn what_is_not_permitted_says_what_would_help_and_leaves_nothing() {
    let root = tempfile::tempdir().unwrap();
    let tree = unified(root.path(), "a/b", &[]);
    fs::create_dir(root.path().join("a/b/cgroup.subtree_control")).unwrap();
    let error = Cgroup::within(&tree, "x", &both()).unwrap_err();
    let text = error.to_string();
    assert!(matches!(error, RigError::NotPermitted(_)), "{text}");
    assert!(text.contains("does not pass on cpu and memory") && text.contains("systemd-run"), "{text}");
    assert!(!root.path().join("a/b/stackmark-x").exists());
    let none = Cgroup::within(&Tree::default(), "x", &both()).unwrap_err().to_string();
    assert!(none.contains("no controller `cpu`"), "{none}");
}

/// Only the processor: a limit of memory would make a group below one that may not be ours to change.
#[test]
fn a_limited_process_is_throttled_and_its_group_goes_with_it() {
    let name = format!("test-{}", std::process::id());
    // So little that the loop gets more of the busiest machine.
    let cgroup = match Cgroup::new(&name, &"cpu=0.01".parse().unwrap()) {
        Ok(cgroup) => cgroup,
        Err(error) => return crate::for_tests::not_run(error),
    };
    let mut command = gated(Path::new("/bin/sh"));
    let mut child = cgroup.spawn(command.args(["-c", "while :; do :; done"])).unwrap();
    // Time is counted when it ends, which with so little may be several periods later.
    let throttled = crate::command::within(Duration::from_secs(300), || {
        let found = cgroup.throttling();
        (found.throttled >= 3 && found.throttled_ns > 0).then_some(found)
    });
    child.kill().unwrap();
    child.wait().unwrap();
    let throttled = throttled.expect("a loop wants more than a hundredth of a core");
    assert!(throttled.periods >= throttled.throttled, "{throttled:?}");
    let folders = cgroup.folders();
    drop(cgroup);
    assert!(folders.iter().all(|folder| !folder.exists()));
}
