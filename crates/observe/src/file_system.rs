//! What a path is stored on: whether a database is in memory or on a disk decides what its durability means.

use std::io;
use std::path::Path;

/// The file system that holds a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileSystem {
    /// Its type as the kernel names it: `ext4`, `tmpfs`, `overlay`; `unknown` where the system does not report.
    pub kind: String,
    /// Whether its contents live in memory and are lost with the machine.
    pub in_memory: bool,
    /// The block device under it, the whole disk rather than its partition: `nvme0n1`. `None` for a file system without
    /// one, and for `overlay`, where only the outer system knows.
    pub device: Option<String>,
    /// Whether the device spins; `None` when unknown. Virtual disks often claim to.
    pub rotational: Option<bool>,
    /// How it is mounted, sorted: `discard,relatime,rw`. Empty where the system does not report.
    pub options: String,
    /// Bytes that we could still write; `None` where the system does not report.
    pub free_bytes: Option<u64>,
    /// Its size; `None` where the system does not report.
    pub total_bytes: Option<u64>,
}

impl FileSystem {
    /// Looks up what holds `path`. A path that does not exist yet counts as lying in its nearest existing parent.
    ///
    /// # Errors
    /// When no parent of the path exists or may be entered.
    pub fn of(path: &Path) -> io::Result<FileSystem> {
        let absolute = std::path::absolute(path)?;
        let nearest = absolute
            .ancestors()
            .find(|parent| parent.try_exists().unwrap_or(false))
            .ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "no part of the path exists"))?;
        system::look_up(&nearest.canonicalize()?)
    }

    /// Whether other machines, or the host of a virtual one, have the files too, so that programs here and there do not see
    /// each other's shared memory. By the name of its type, that of a helper in user space behind a dot: `fuse.sshfs`.
    pub fn is_network(&self) -> bool {
        NETWORK.contains(&self.kind.strip_prefix("fuse.").unwrap_or(&self.kind))
    }

    /// For people: `ext4 on nvme0n1`, `tmpfs (memory)`.
    pub fn describe(&self) -> String {
        match (&self.device, self.in_memory) {
            (_, true) => format!("{} (memory)", self.kind),
            (Some(device), false) => format!("{} on {device}", self.kind),
            (None, false) => self.kind.clone(),
        }
    }
}

/// Names of file systems over a network, and of those that a host shares with its guests in the same manner.
const NETWORK: &[&str] = &[
    "9p",
    "afs",
    "beegfs",
    "ceph",
    "ceph-fuse",
    "cifs",
    "coda",
    "davfs",
    "gcsfuse",
    "gfs2",
    "glusterfs",
    "gpfs",
    "juicefs",
    "lustre",
    "ncpfs",
    "nfs",
    "nfs4",
    "ocfs2",
    "orangefs",
    "pvfs2",
    "rclone",
    "s3fs",
    "smb2",
    "smb3",
    "smbfs",
    "sshfs",
    "vboxsf",
    "vmhgfs",
    "vmhgfs-fuse",
];

/// Numbers by which the kernel answers for a file (statfs(2)), where the list of mounts does not report.
const MAGIC: &[(u32, &str)] = &[
    (0x0102_1997, "9p"),
    (0x5346_414f, "afs"),
    (0x6b41_4653, "afs"),
    (0x00c3_6400, "ceph"),
    (0xff53_4d42, "cifs"),
    (0xfe53_4d42, "smb2"),
    (0x517b, "smbfs"),
    (0x7375_7245, "coda"),
    (0x0116_1970, "gfs2"),
    (0x4750_4653, "gpfs"),
    (0x0bd0_0bd0, "lustre"),
    (0x564c, "ncpfs"),
    (0x6969, "nfs"),
    (0x7461_636f, "ocfs2"),
    (0x2003_0528, "orangefs"),
    (0x786f_4256, "vboxsf"),
];

/// The name of a file system by its number, of those that matter.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux answers with such numbers"))]
fn by_magic(number: u32) -> &'static str {
    MAGIC.iter().find(|(magic, _)| *magic == number).map_or("unknown", |(_, name)| name)
}

#[cfg(target_os = "linux")]
mod system {
    use super::FileSystem;
    use procfs::FromBufRead as _;
    use procfs::process::{MountInfo, MountInfos};
    use std::collections::BTreeSet;
    use std::fs;
    use std::io;
    use std::path::Path;

    pub(super) fn look_up(path: &Path) -> io::Result<FileSystem> {
        let space = rustix::fs::statvfs(path)?;
        let mounts = mounts(&fs::read("/proc/self/mountinfo")?)?;
        let mount = holding(path, &mounts.0);
        let kind = match mount {
            Some(mount) => mount.fs_type.clone(),
            // Its lowest 32 bits, whatever the width and sign that an architecture gives the field.
            None => super::by_magic(rustix::fs::statfs(path)?.f_type as u32).to_owned(),
        };
        let device = mount.and_then(device);
        Ok(FileSystem {
            in_memory: matches!(kind.as_str(), "tmpfs" | "ramfs" | "devtmpfs")
                || device.as_deref().is_some_and(|name| name.starts_with("zram") || name.starts_with("ram")),
            rotational: device.as_deref().and_then(rotational),
            options: mount.map_or_else(String::new, options),
            kind,
            device,
            free_bytes: Some(space.f_bavail * space.f_frsize),
            total_bytes: Some(space.f_blocks * space.f_frsize),
        })
    }

    /// What `/proc/self/mountinfo` lists. The name of a folder need not be UTF-8, and procfs takes nothing else.
    pub(super) fn mounts(text: &[u8]) -> io::Result<MountInfos> {
        MountInfos::from_buf_read(String::from_utf8_lossy(text).as_bytes()).map_err(io::Error::other)
    }

    /// The mount with the longest matching mount point; of equals the last, which covers the others.
    pub(super) fn holding<'a>(path: &Path, mounts: &'a [MountInfo]) -> Option<&'a MountInfo> {
        mounts
            .iter()
            .filter(|mount| path.starts_with(&mount.mount_point))
            .max_by_key(|mount| mount.mount_point.components().count())
    }

    /// Those of the mount and those of the file system that matter to how fast it is; paths of layers do not.
    fn options(mount: &MountInfo) -> String {
        let all = mount.mount_options.iter().chain(&mount.super_options);
        let listed = all.filter(|(name, _)| !name.ends_with("dir")).map(|(name, value)| match value {
            Some(value) => format!("{name}={value}"),
            None => name.clone(),
        });
        listed.collect::<BTreeSet<String>>().into_iter().collect::<Vec<_>>().join(",")
    }

    fn device(mount: &MountInfo) -> Option<String> {
        // By number, since a mount's source may be a name that no longer exists (`/dev/root`). Some file systems have a
        // number of their own; for them the source is the better witness.
        let by_number = format!("/sys/dev/block/{}", mount.majmin);
        let entry = fs::canonicalize(by_number)
            .or_else(|_| {
                let source = fs::canonicalize(mount.mount_source.as_deref().unwrap_or_default())?;
                let name = source.file_name().ok_or(io::ErrorKind::NotFound)?;
                fs::canonicalize(Path::new("/sys/class/block").join(name))
            })
            .ok()?;
        // Flushes are counted for the whole disk only.
        let disk = if entry.join("partition").exists() { entry.parent()? } else { &entry };
        Some(disk.file_name()?.to_string_lossy().into_owned())
    }

    fn rotational(device: &str) -> Option<bool> {
        let flag = fs::read_to_string(format!("/sys/class/block/{device}/queue/rotational")).ok()?;
        Some(flag.trim() == "1")
    }
}

#[cfg(not(target_os = "linux"))]
mod system {
    use super::FileSystem;
    use std::io;
    use std::path::Path;

    #[expect(clippy::unnecessary_wraps, reason = "the same signature as on Linux")]
    pub(super) fn look_up(_path: &Path) -> io::Result<FileSystem> {
        Ok(FileSystem {
            kind: "unknown".to_owned(),
            in_memory: false,
            device: None,
            rotational: None,
            options: String::new(),
            free_bytes: None,
            total_bytes: None,
        })
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use procfs::process::MountInfo;

    #[test]
    fn shared_memory_is_recognised_as_memory() {
        let found = FileSystem::of(Path::new("/dev/shm")).expect("mounted on every Linux we test on");
        assert_eq!(found.kind, "tmpfs");
        assert!(found.in_memory);
        assert_eq!(found.device, None);
        assert!(found.free_bytes <= found.total_bytes && found.total_bytes > Some(0), "{found:?}");
    }

    #[test]
    fn a_file_that_does_not_exist_yet_lies_where_its_folder_lies() {
        let shm = FileSystem::of(Path::new("/dev/shm")).expect("mounted on every Linux we test on");
        let file = FileSystem::of(Path::new("/dev/shm/no-such-folder/bench.db")).expect("its parent exists");
        assert_eq!((shm.kind, shm.in_memory), (file.kind, file.in_memory));
    }

    #[test]
    fn a_network_file_system_is_recognised_by_name_and_by_number() {
        let shm = FileSystem::of(Path::new("/dev/shm")).expect("mounted on every Linux we test on");
        let on = |kind: &str| FileSystem { kind: kind.into(), ..shm.clone() }.is_network();
        for kind in
            ["nfs", "nfs4", "cifs", "smb3", "9p", "ceph", "fuse.sshfs", "fuse.ceph-fuse", "fuse.juicefs"]
        {
            assert!(on(kind), "{kind}");
        }
        for kind in
            ["ext4", "xfs", "btrfs", "zfs", "tmpfs", "overlay", "fuse.ntfs-3g", "fuseblk", "unknown", ""]
        {
            assert!(!on(kind), "{kind}");
        }
        for number in [0x6969, 0xff53_4d42, 0xfe53_4d42, 0x517b, 0x0102_1997, 0x00c3_6400] {
            assert!(on(by_magic(number)), "{number:x}");
        }
        // ext4, xfs, btrfs, tmpfs and overlay.
        for number in [0xef53, 0x5846_5342, 0x9123_683e, 0x0102_1994, 0x794c_7630] {
            assert_eq!(by_magic(number), "unknown", "{number:x}");
        }
        assert!(MAGIC.iter().all(|(_, name)| on(name)));
    }

    #[test]
    fn a_mount_whose_name_is_not_utf_8_hides_no_other() {
        let text =
            b"1 0 8:1 / / rw - ext4 /dev/sda1 rw\n2 1 7:0 / /not\xff\xfetext rw - ext4 /dev/loop0 rw\n\
                     3 1 0:9 / /data rw - tmpfs tmpfs rw\n";
        let mounts = system::mounts(text).expect("three lines as the kernel writes them");
        let found = system::holding(Path::new("/data/bench.db"), &mounts.0).expect("it is there");
        assert_eq!((mounts.0.len(), found.fs_type.as_str()), (3, "tmpfs"));
    }

    #[test]
    fn the_innermost_and_last_mount_holds_a_path() {
        let check = |path: &str, kind: &str| {
            let mounts: Vec<MountInfo> = [
                "1 0 8:1 / / rw - ext4 /dev/sda1 rw",
                "2 1 0:9 / /data rw - tmpfs tmpfs rw",
                "3 1 8:2 / /data rw - xfs /dev/sda2 rw",
            ]
            .iter()
            .map(|line| MountInfo::from_line(line).expect("a valid line"))
            .collect();
            let locked = system::holding(Path::new(path), &mounts).map(|mount| mount.fs_type.as_str());
            assert_eq!(locked, Some(kind), "{path}");
        };
        check("/srv/a", "ext4");
        check("/data/a", "xfs");
        check("/database", "ext4");
    }
}
