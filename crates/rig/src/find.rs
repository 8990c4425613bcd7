//! Finds the programs of an engine in the usual places of Debian, Fedora, macOS and on `PATH`.

use crate::{Engine, RigError};
use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The programs of an engine on this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Installation {
    pub engine: Engine,
    pub server: PathBuf,
    /// The program that makes a data folder.
    pub initialiser: PathBuf,
    /// The command-line client.
    pub client: PathBuf,
    /// What the server says of its version, as a whole line.
    pub version: String,
    /// Of an engine that runs in a virtual machine: the folder of its jars; none where they are still to be fetched.
    pub libraries: Option<PathBuf>,
}

/// Finds an engine: the folder in `STACKMARK_POSTGRES_BIN` or `STACKMARK_MARIADB_BIN` when that is set, else the newest in
/// the usual places, else on `PATH`. Kafka's jars are those in `STACKMARK_KAFKA_HOME`, or are fetched when it is made.
///
/// # Errors
///
/// [`RigError::Missing`] names what was looked for and the package that has it.
pub fn find(engine: Engine) -> Result<Installation, RigError> {
    engine.technology().find()
}

/// Finds an engine in this folder of its programs, or in this version (`18`) in the usual places; where nothing is chosen, as
/// [`find`] does.
///
/// # Errors
///
/// [`RigError::Missing`] names the folder, or where the version was looked for.
pub fn find_in(engine: Engine, programs: Option<&Path>) -> Result<Installation, RigError> {
    let Some(given) = programs else { return find(engine) };
    let path: Vec<PathBuf> = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
    match given.to_str().filter(|text| text.starts_with(|c: char| c.is_ascii_digit()) && !given.is_dir()) {
        None => {
            of_folder(engine, given, &path).ok_or_else(|| not_in(engine, "the folder of --engine-bin", given))
        }
        Some(version) => {
            let usual = engine.about().programs.folders.iter().map(|pattern| pattern.replace('*', version));
            let folders: Vec<PathBuf> = usual.map(PathBuf::from).chain(path.iter().cloned()).collect();
            let installed: Vec<Installation> =
                folders.iter().filter_map(|folder| of_folder(engine, folder, &path)).collect();
            let found = installed.iter().find(|found| is_version(&found.version, version));
            found.cloned().ok_or_else(|| {
                let looked: Vec<String> = folders.iter().map(|folder| folder.display().to_string()).collect();
                RigError::Missing(format!(
                    "{} {version} is not installed: it is not in {}; the folder of its programs can be given instead",
                    engine.title(),
                    looked.join(", ")
                ))
            })
        }
    }
}

/// Whether what a server says of itself has a version, or one that begins with it: `15.18` is a 15.
fn is_version(says: &str, version: &str) -> bool {
    let words = says.split(|c: char| c.is_whitespace() || c == '-' || c == ',');
    let mut numbers = words.filter_map(|word| word.strip_prefix(version));
    numbers.any(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// An engine that consists of programs, all of which may be in one folder.
fn of_folder(engine: Engine, folder: &Path, path: &[PathBuf]) -> Option<Installation> {
    // Kafka's are jars.
    engine.about().sql.as_ref().and_then(|_| at(engine, folder, path))
}

fn not_in(engine: Engine, what: &str, folder: &Path) -> RigError {
    let programs = &engine.about().programs;
    RigError::Missing(format!(
        "{what} is {}, which has no working `{}` with `{}`; give the folder of {}'s programs, or leave it out",
        folder.display(),
        programs.server[0],
        programs.initialiser[0],
        engine.title(),
    ))
}

/// An engine that consists of programs.
pub(crate) fn of_programs(engine: Engine) -> Result<Installation, RigError> {
    let programs = &engine.about().programs;
    let path: Vec<PathBuf> = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
    search(engine, env::var_os(programs.variable), &path)
}

fn search(engine: Engine, given: Option<OsString>, path: &[PathBuf]) -> Result<Installation, RigError> {
    let programs = &engine.about().programs;
    if let Some(folder) = given {
        let folder = Path::new(&folder);
        return at(engine, folder, path).ok_or_else(|| not_in(engine, programs.variable, folder));
    }
    let usual = programs.folders.iter().flat_map(|pattern| expanded(pattern));
    usual.chain(path.iter().cloned()).find_map(|folder| at(engine, &folder, path)).ok_or_else(|| {
        RigError::Missing(format!(
            "{} is not installed ({}); a folder of its programs can be given in {}",
            engine.title(),
            programs.packages,
            programs.variable
        ))
    })
}

fn at(engine: Engine, folder: &Path, path: &[PathBuf]) -> Option<Installation> {
    let programs = &engine.about().programs;
    let server = programs.server.iter().map(|name| folder.join(name)).find(|file| file.is_file())?;
    let near = [folder.to_owned(), folder.join("../bin"), folder.join("../scripts"), "/usr/bin".into()];
    let tool = |names: &[&str]| {
        let folders = || near.iter().chain(path);
        names.iter().flat_map(|name| folders().map(move |at| at.join(name))).find(|file| file.is_file())
    };
    let (initialiser, client) = (tool(programs.initialiser)?, tool(programs.client)?);
    let text = Command::new(&server).arg("--version").output().ok()?;
    let version = String::from_utf8_lossy(&text.stdout).trim().to_owned();
    // A `mysqld` may be Oracle's, which makes its data folder in another way.
    (version.contains(engine.title())).then_some(Installation {
        engine,
        server,
        initialiser,
        client,
        version,
        libraries: None,
    })
}

/// The folders that a pattern with at most one `*` names, the highest number first.
fn expanded(pattern: &str) -> Vec<PathBuf> {
    let Some((before, after)) = pattern.split_once('*') else { return vec![pattern.into()] };
    let (parent, start) = before.rsplit_once('/').expect("patterns are absolute");
    let Ok(entries) = std::fs::read_dir(parent) else { return Vec::new() };
    let mut found: Vec<(f64, PathBuf)> = entries
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version: f64 = name.strip_prefix(start)?.parse().ok()?;
            Some((version, format!("{parent}/{name}{after}").into()))
        })
        .collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    found.into_iter().map(|(_, folder)| folder).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::PermissionsExt;

    /// Written by another process: what another test starts meanwhile has the open files of this one for a moment, and a
    /// program that someone has open for writing cannot be started (`ETXTBSY`).
    fn program(folder: &Path, name: &str, says: &str) {
        fs::create_dir_all(folder).unwrap();
        let file = folder.join(name);
        let mut writer = Command::new("/bin/sh");
        writer.args(["-c", r#"printf '%s\n' "$2" >"$1""#, "write"]).arg(&file);
        assert!(writer.arg(format!("#!/bin/sh\necho '{says}'")).status().unwrap().success());
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    #[test]
    fn the_newest_version_of_several_is_found() {
        let root = tempfile::tempdir().unwrap();
        for version in ["9.6", "15", "13", "notes"] {
            fs::create_dir_all(root.path().join(version).join("bin")).unwrap();
        }
        let found = expanded(&format!("{}/*/bin", root.path().display()));
        let expected: Vec<PathBuf> =
            ["15/bin", "13/bin", "9.6/bin"].iter().map(|end| root.path().join(end)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_folder_that_is_given_is_used_or_refused_never_replaced() {
        let root = tempfile::tempdir().unwrap();
        for name in ["postgres", "initdb", "psql"] {
            program(root.path(), name, "postgres (PostgreSQL) 99.1");
        }
        let found = search(Engine::Postgres, Some(root.path().into()), &[]).unwrap();
        assert_eq!(
            (found.version.as_str(), found.server),
            ("postgres (PostgreSQL) 99.1", root.path().join("postgres"))
        );
        let error = search(Engine::Postgres, Some("/nowhere".into()), &[]).unwrap_err().to_string();
        assert!(error.contains("STACKMARK_POSTGRES_BIN is /nowhere"), "{error}");
    }

    #[test]
    fn a_folder_or_a_version_that_is_asked_for_is_found_or_refused() {
        let root = tempfile::tempdir().unwrap();
        for name in ["postgres", "initdb", "psql"] {
            program(root.path(), name, "postgres (PostgreSQL) 99.1");
        }
        let found = find_in(Engine::Postgres, Some(root.path())).unwrap();
        assert_eq!(found.version, "postgres (PostgreSQL) 99.1");
        let refused = |engine, asked: &str| find_in(engine, Some(Path::new(asked))).unwrap_err().to_string();
        let of_folder = refused(Engine::Postgres, "/nowhere");
        assert!(
            of_folder.contains("--engine-bin is /nowhere") && of_folder.contains("initdb"),
            "{of_folder}"
        );
        let of_version = refused(Engine::Postgres, "98");
        assert!(
            of_version.contains("PostgreSQL 98") && of_version.contains("/usr/lib/postgresql/98/bin"),
            "{of_version}"
        );
        let is = |says: &str, version: &str| is_version(says, version);
        assert!(is("postgres (PostgreSQL) 15.18 (Debian 15.18-0+deb12u1)", "15"));
        assert!(is("/usr/sbin/mariadbd  Ver 10.11.14-MariaDB-0+deb12u2", "10.11"));
        assert!(!is("postgres (PostgreSQL) 15.18", "1") && !is("postgres (PostgreSQL) 15.18", "5.18"));
        assert!(refused(Engine::Kafka, &root.path().display().to_string()).contains("Kafka"));
    }

    #[test]
    fn a_mysqld_that_is_not_mariadb_is_not_taken_for_it() {
        let root = tempfile::tempdir().unwrap();
        for name in ["mysqld", "mysql_install_db", "mysql"] {
            program(root.path(), name, "mysqld Ver 8.0.36 for Linux (MySQL Community Server)");
        }
        assert!(at(Engine::MariaDb, root.path(), &[]).is_none());
    }

    #[test]
    fn what_is_missing_is_named_with_its_package() {
        for (engine, package) in [(Engine::Postgres, "postgresql"), (Engine::MariaDb, "mariadb-server")] {
            let error = search(engine, Some("/nowhere".into()), &[]).unwrap_err();
            assert!(matches!(error, RigError::Missing(_)));
            assert!(engine.about().programs.packages.contains(&format!("apt-get install {package}")));
        }
    }
}
