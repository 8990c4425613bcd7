//! What users install: the tarball and the Debian package, unpacked into an empty folder, work without the repository.

use crate::e2e_workdir::{Running, Workdir};
use stackmark_tests::repository::{binary, root};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Runs a program, which must end well; what it printed.
#[track_caller]
fn done(command: &mut Command) -> String {
    let ran = command.output().unwrap();
    assert!(ran.status.success(), "{command:?}: {ran:?}");
    String::from_utf8(ran.stdout).unwrap()
}

/// The files below a folder, as paths in it.
fn files(folder: &Path) -> Vec<PathBuf> {
    let listed = done(Command::new("find").arg(folder).args(["-type", "f", "-printf", "%P\n"]));
    listed.lines().map(PathBuf::from).collect()
}

/// Checks that a folder in which it was unpacked has all that users look for.
#[track_caller]
fn is_whole(unpacked: &Path) {
    let files = files(unpacked);
    for file in [
        "bin/stackmark",
        "share/man/man1/stackmark.1.gz",
        "share/man/man1/stackmark-run.1.gz",
        "share/bash-completion/completions/stackmark",
        "share/stackmark/experiments/http-tax.toml",
    ] {
        assert!(files.contains(&PathBuf::from(file)), "{file} is not in {files:?}");
    }
}

/// The program of a folder in which it was unpacked, which measures with nothing else there.
#[track_caller]
fn works(workdir: &Workdir, unpacked: &Path) {
    is_whole(unpacked);
    let program = unpacked.join("bin/stackmark");
    let run = |line: &str| {
        let mut command = Command::new(&program);
        command
            .args(line.split(' '))
            .current_dir(workdir.path(""))
            .env("STACKMARK_LOCK", workdir.path("lock"));
        Running::start(command).end()
    };
    let quick = run("quickstart --blocks 1 --duration 200ms --warmup 0s --clients 1 --out dist-results");
    assert_eq!(quick.code(), 0, "{quick:?}");
    // One that needs what is not here says so.
    run("experiment languages").refused(&["starts servers that are built in a clone of the repository"]);
    fs::remove_dir_all(workdir.path("dist-results")).unwrap();
}

#[test]
fn the_tarball_works_without_the_repository_and_the_package_has_the_same_in_it() {
    let workdir = Workdir::empty();
    let mut dist = Command::new(root().join("scripts/dist.sh"));
    let made = done(dist.arg(binary()).arg(workdir.path("dist")).arg("1").current_dir(workdir.path("")));
    let made: Vec<PathBuf> = made.lines().map(|line| workdir.path("").join(line)).collect();
    fs::create_dir_all(workdir.path("tar")).unwrap();
    done(
        Command::new("tar")
            .arg("-xzf")
            .arg(&made[0])
            .args(["--strip-components", "1", "-C"])
            .arg(workdir.path("tar")),
    );
    works(&workdir, &workdir.path("tar"));
    let Some(package) = made.get(1) else {
        return rig::for_tests::not_run("there is no dpkg-deb for a Debian package");
    };
    done(Command::new("dpkg-deb").arg("-x").arg(package).arg(workdir.path("deb")));
    is_whole(&workdir.path("deb/usr"));
    let version = done(Command::new(workdir.path("deb/usr/bin/stackmark")).arg("--version"));
    assert!(version.starts_with("stackmark "), "{version}");
    let fields = done(Command::new("dpkg-deb").arg("--field").arg(package).args(["Package", "Version"]));
    assert!(fields.contains("Package: stackmark"), "{fields}");
}
