//! Server manifests: `server.toml`, how a server in any language is built, started, found ready and stopped, and what it
//! serves. See `docs/servers.md`.

use crate::DeployError;
use crate::mistake;
use model::Transport;
use serde::Deserialize;
use sql::Dialect;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::ops::{Range, RangeInclusive};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Mutex;
use std::time::Duration;
use targets::Combination;
use toml::Spanned;

/// The manifest of the server that comes with the program.
const OURS: &str = include_str!("rust.toml");
const RELAY: &str = include_str!("relay.toml");
const GENERATOR: &str = include_str!("generator.toml");
const CONSUMER: &str = include_str!("consumer.toml");
/// What a manifest is called in the folder of its server.
pub(crate) const FILE: &str = "server.toml";
/// Bytes of a manifest: more is another file by mistake.
const BYTES_MAX: u64 = 1 << 20;
/// Stands for this program in `start` and `build`.
const THIS_PROGRAM: &str = "${STACKMARK}";
/// Sets the name of a server apart from its revision. No name has it.
const AT: char = '@';
/// Seconds until a server has failed that is not ready yet, unless its manifest says otherwise.
const READY_S: u64 = 60;
/// Seconds until a server is killed that was asked to end, unless its manifest says otherwise: ours drains 10 s at most.
const STOP_S: u64 = 15;
/// Seconds that a manifest may ask for.
const SECONDS: RangeInclusive<u64> = 1..=600;
/// Characters of a name.
const NAME_MAX: usize = 40;

/// The file as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    name: Spanned<String>,
    language: String,
    build: Option<Spanned<Vec<String>>>,
    start: Spanned<Vec<String>>,
    ready_s_max: Option<Spanned<u64>>,
    stop_s_max: Option<Spanned<u64>>,
    #[serde(default)]
    transports: Vec<Spanned<Transport>>,
    serves: Spanned<Vec<Spanned<WrittenOffer>>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenOffer {
    workload: String,
    engine: Spanned<String>,
    how: Option<Spanned<String>>,
    about: String,
}

/// A server, as its manifest describes it.
#[derive(Debug)]
pub struct Manifest {
    /// What it is called in subjects: `axum`.
    pub name: String,
    /// What it is written in: `Rust`.
    pub language: String,
    /// What it serves, at least one.
    pub serves: Vec<Offer>,
    /// Where it can listen besides TCP.
    pub transports: Vec<Transport>,
    pub(crate) ready_max: Duration,
    pub(crate) stop_max: Duration,
    build: Option<Spanned<Vec<String>>>,
    start: Spanned<Vec<String>>,
    name_at: Range<usize>,
    file: PathBuf,
    text: String,
    /// Where its programs run; nothing for the one that comes with the program, which runs where we do.
    pub(crate) folder: Option<PathBuf>,
    /// The commit that it was checked out from, in full, where it was.
    pub(crate) commit: Option<String>,
    /// Whether it has been built by this process.
    pub(crate) is_built: Mutex<bool>,
}

/// One combination that a server can be started for.
#[derive(Debug, Clone)]
pub struct Offer {
    /// The workload's name.
    pub workload: String,
    /// The engine behind it.
    pub engine: Dialect,
    /// What tells several combinations for the same workload and engine apart: `rusqlite/grouped`; empty where there is but
    /// one. It follows the server's name in the subject, behind a `+`.
    pub how: String,
    /// One line for lists.
    pub about: String,
    at: Range<usize>,
}

impl Manifest {
    /// That of the server that comes with the program.
    pub fn ours() -> Manifest {
        let file = Path::new("servers/rust").join(FILE);
        Manifest::parse(OURS.to_owned(), file, None).expect("a test has read what is compiled in")
    }

    /// That of the relay, which comes with the program too.
    pub(crate) fn relay() -> Manifest {
        let file = PathBuf::from("crates/deploy/src/relay.toml");
        Manifest::parse(RELAY.to_owned(), file, None).expect("a test has read what is compiled in")
    }

    /// The consumer of published messages.
    pub(crate) fn consumer() -> Manifest {
        let file = PathBuf::from("crates/deploy/src/consumer.toml");
        Manifest::parse(CONSUMER.to_owned(), file, None).expect("a test has read what is compiled in")
    }

    /// The load generator of a drill.
    pub(crate) fn generator() -> Manifest {
        let file = PathBuf::from("crates/deploy/src/generator.toml");
        Manifest::parse(GENERATOR.to_owned(), file, None).expect("a test has read what is compiled in")
    }

    /// The same, which also serves what a program brings along, all of it: our server has whatever sessions there are.
    #[must_use]
    pub fn serving(mut self, more: &[Combination]) -> Manifest {
        let offer = |combination: &Combination| Offer {
            workload: combination.path.split('/').next().unwrap_or_default().to_owned(),
            engine: combination.how.dialect,
            how: combination.how.path(),
            about: "the same sessions behind the HTTP server".to_owned(),
            at: self.name_at.clone(),
        };
        self.serves.extend(more.iter().map(offer));
        self
    }

    /// All under a folder, `NAME/server.toml`, by name of their folders, without that of ours; none where there is no such
    /// folder.
    ///
    /// # Errors
    /// A manifest cannot be read, or has a mistake.
    pub fn all_in(folder: &Path) -> Result<Vec<Manifest>, DeployError> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut files: Vec<PathBuf> =
            entries.map(|entry| entry.path().join(FILE)).filter(|file| file.exists()).collect();
        files.sort();
        let read = files.iter().map(|file| Manifest::read(file));
        // In a source tree of ours there is also what is compiled in. Another one of its name is a mistake that shows up
        // when both are put into one list.
        read.filter(|read| !read.as_ref().is_ok_and(|manifest| manifest.text == OURS)).collect()
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// It cannot be read, or has a mistake: file, line, and what would be right.
    pub fn read(file: &Path) -> Result<Manifest, DeployError> {
        Manifest::read_as(file, file)
    }

    /// Reads the manifest of a server in a folder that `commit` was checked out into. It is called after `revision` too, and in
    /// errors it is in the folder `shown`.
    ///
    /// # Errors
    /// Those of [`Manifest::read`], or the server would not be that of the commit.
    pub(crate) fn of_revision(
        folder: &Path,
        shown: &str,
        revision: &str,
        commit: &str,
    ) -> Result<Manifest, DeployError> {
        let manifest = Manifest::read_as(&folder.join(FILE), &Path::new(shown).join(FILE))?;
        if manifest.start.get_ref()[0].contains(THIS_PROGRAM) {
            let message =
                "it is started as this program, which is the same at every revision: give only its folder";
            return Err(manifest.mistake(&manifest.start.span(), message));
        }
        let name = format!("{}{AT}{revision}", manifest.name);
        Ok(Manifest { name, commit: Some(commit.to_owned()), ..manifest })
    }

    /// Reads a manifest that is `shown` in errors.
    fn read_as(file: &Path, shown: &Path) -> Result<Manifest, DeployError> {
        let failed = |why: &dyn std::fmt::Display| {
            DeployError::Manifest(format!("could not read the server manifest {}: {why}", shown.display()))
        };
        let bytes = fs::metadata(file).map_err(|error| failed(&error))?.len();
        if bytes > BYTES_MAX {
            return Err(failed(&format!("it has {bytes} bytes, and at most {BYTES_MAX} are read")));
        }
        let text = fs::read_to_string(file).map_err(|error| failed(&error))?;
        let folder = file.parent().map(std::path::absolute).transpose().map_err(|error| failed(&error))?;
        Manifest::parse(text, shown.to_owned(), folder)
    }

    fn parse(text: String, file: PathBuf, folder: Option<PathBuf>) -> Result<Manifest, DeployError> {
        let wrong = |at: &Range<usize>, message: &str| {
            DeployError::Manifest(mistake::at(&file, &text, at, &format!("{message}{HINT}")))
        };
        let written: Written = toml::from_str(&text).map_err(|error| {
            let end = text.trim_end().len();
            wrong(&error.span().unwrap_or(end..end), error.message())
        })?;
        let Written { name, language, build, start, ready_s_max, stop_s_max, transports, serves } = written;
        let name_at = name.span();
        let name = name.into_inner();
        if !is_name(&name, "") {
            return Err(wrong(&name_at, &named("name", &name, "")));
        }
        for command in [Some(&start), build.as_ref()].into_iter().flatten() {
            if command.get_ref().first().is_none_or(String::is_empty) {
                return Err(wrong(&command.span(), "there is no program: write [\"PROGRAM\", \"ARGUMENT\"]"));
            }
        }
        let seconds = |given: Option<Spanned<u64>>, usual: u64| match given {
            Some(given) if !SECONDS.contains(given.get_ref()) => Err(wrong(
                &given.span(),
                &format!(
                    "it is {} s; it must be {} to {} s",
                    given.get_ref(),
                    SECONDS.start(),
                    SECONDS.end()
                ),
            )),
            given => Ok(Duration::from_secs(given.map_or(usual, Spanned::into_inner))),
        };
        let (ready_max, stop_max) = (seconds(ready_s_max, READY_S)?, seconds(stop_s_max, STOP_S)?);
        let mut known = Vec::new();
        for transport in transports {
            let name = *transport.get_ref();
            if name == Transport::Tcp || known.contains(&name) {
                return Err(wrong(&transport.span(), "list each transport besides tcp once: unix, tls"));
            }
            known.push(name);
        }
        let serves_at = serves.span();
        let offer = |written: Spanned<WrittenOffer>| {
            let at = written.span();
            let WrittenOffer { workload, engine, how, about } = written.into_inner();
            let engine = dialect(engine.get_ref()).ok_or_else(|| {
                let known = DIALECTS.map(Dialect::name).join(", ");
                wrong(&engine.span(), &format!("no engine `{}`; there are {known}", engine.get_ref()))
            })?;
            if let Some(how) = how.as_ref().filter(|how| !is_name(how.get_ref(), "/")) {
                return Err(wrong(&how.span(), &named("how", how.get_ref(), ", /")));
            }
            let how = how.map(Spanned::into_inner).unwrap_or_default();
            Ok(Offer { workload, engine, how, about, at })
        };
        let serves: Vec<Offer> = serves.into_inner().into_iter().map(offer).collect::<Result<_, _>>()?;
        if serves.is_empty() {
            return Err(wrong(
                &serves_at,
                "it serves nothing: write { workload = \"tpcb\", engine = \"sqlite\", … }",
            ));
        }
        let is_built = Mutex::new(false);
        Ok(Manifest {
            name,
            language,
            serves,
            transports: known,
            ready_max,
            stop_max,
            build,
            start,
            name_at,
            file,
            text,
            folder,
            commit: None,
            is_built,
        })
    }

    /// Whether it is that of the server that comes with the program.
    pub fn is_ours(&self) -> bool {
        self.folder.is_none()
    }

    /// What its file calls it, whatever its revision.
    pub fn own_name(&self) -> &str {
        self.name.split(AT).next().unwrap_or_default()
    }

    /// An offer of it that is wrong, for whoever knows what can be offered; without an offer its name.
    pub fn wrong(&self, offer: Option<&Offer>, message: &str) -> DeployError {
        self.mistake(offer.map_or(&self.name_at, |offer| &offer.at), message)
    }

    fn mistake(&self, at: &Range<usize>, message: &str) -> DeployError {
        DeployError::Manifest(mistake::at(&self.file, &self.text, at, &format!("{message}{HINT}")))
    }

    /// The program that has to be on the machine: what builds the server where that is to be built, else what starts it.
    pub fn program(&self) -> &str {
        let command = self.build.as_ref().unwrap_or(&self.start);
        &command.get_ref()[0]
    }

    /// Fails where it could not be started on this machine.
    ///
    /// # Errors
    /// There is no such program: file, line, and what would be right.
    pub fn can_start(&self) -> Result<(), DeployError> {
        self.words(self.build.as_ref().unwrap_or(&self.start)).map(drop)
    }

    /// The command that builds it, if there is one.
    pub(crate) fn build(&self) -> Result<Option<Command>, DeployError> {
        self.build.as_ref().map(|build| self.launched(build)).transpose()
    }

    /// The command that starts it.
    pub(crate) fn start(&self) -> Result<Command, DeployError> {
        self.launched(&self.start)
    }

    /// A command through this program, see [`crate::launch`].
    fn launched(&self, command: &Spanned<Vec<String>>) -> Result<Command, DeployError> {
        let mut launch = Command::new(self.this_program()?);
        launch.arg("launch").args(self.words(command)?);
        self.confine(&mut launch);
        Ok(launch)
    }

    /// Programs run in the manifest's folder, and know of our variables only what the contract says.
    fn confine(&self, command: &mut Command) {
        if let Some(folder) = &self.folder {
            command.current_dir(folder);
        }
        without_ours(command);
    }

    /// Program and arguments with paths as they are on this machine.
    fn words(&self, command: &Spanned<Vec<String>>) -> Result<Vec<OsString>, DeployError> {
        let ours = self.this_program()?;
        let mut words: Vec<OsString> =
            command.get_ref().iter().map(|word| with_program(word, &ours)).collect();
        let given = words[0].clone();
        let is_path = given.as_encoded_bytes().contains(&b'/');
        let found = match &self.folder {
            Some(folder) if is_path => Some(folder.join(&given)).filter(|path| is_program(path)),
            _ => on_path(&given),
        };
        let found = found.ok_or_else(|| {
            let given = given.display();
            let message = if is_path {
                format!("there is no program {given} in the folder of the manifest")
            } else {
                format!("there is no program `{given}` on the PATH; one in the folder of the manifest is ./{given}")
            };
            self.mistake(&command.span(), &message)
        })?;
        words[0] = found.into();
        Ok(words)
    }

    fn this_program(&self) -> Result<OsString, DeployError> {
        let path = std::env::current_exe().map_err(|error| {
            DeployError::Server(format!("could not find this program's own file: {error}"))
        })?;
        Ok(path.into())
    }
}

/// A word of a manifest, with the path of this program where it stands for that. A path need not be UTF-8.
fn with_program(word: &str, program: &OsStr) -> OsString {
    let mut parts = word.split(THIS_PROGRAM);
    let mut whole = OsString::from(parts.next().unwrap_or_default());
    for part in parts {
        whole.push(program);
        whole.push(part);
    }
    whole
}

/// Takes our variables, of which some are secrets, from what a command is told.
pub(crate) fn without_ours(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("STACKMARK_") {
            command.env_remove(name);
        }
    }
}

/// Where everything that may be in a manifest is written down.
const HINT: &str = "\nhint: docs/servers.md has a whole manifest, and every key";

const DIALECTS: [Dialect; 3] = [Dialect::Sqlite, Dialect::Postgres, Dialect::MySql];

fn dialect(name: &str) -> Option<Dialect> {
    Dialect::named(name)
}

/// Whether a word can be a part of a subject's path.
fn is_name(word: &str, more: &str) -> bool {
    let fits = |letter: char| {
        letter.is_ascii_lowercase()
            || letter.is_ascii_digit()
            || "-_.".contains(letter)
            || more.contains(letter)
    };
    (1..=NAME_MAX).contains(&word.len())
        && word.chars().all(fits)
        && word.split('/').all(|part| !part.is_empty())
}

fn named(key: &str, word: &str, more: &str) -> String {
    format!(
        "`{key}` is `{word}`; it is a part of subjects: 1 to {NAME_MAX} of the characters a to z, 0 to 9, -, _, .{more}"
    )
}

fn is_program(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| about.is_file() && about.permissions().mode() & 0o111 != 0)
}

fn on_path(program: &OsStr) -> Option<PathBuf> {
    if program.as_encoded_bytes().contains(&b'/') {
        return Some(PathBuf::from(program)).filter(|path| is_program(path));
    }
    let folders = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| is_program(path))
}

#[cfg(test)]
mod tests {
    use super::*;
    use targets::COMBINATIONS;

    const GOOD: &str = r#"name = "py"
language = "Python"
start = ["sh", "-c", "exit 0"]
serves = [
  { workload = "tpcb", engine = "sqlite", about = "pgbench's transaction on SQLite" },
]
"#;

    fn parse(text: &str) -> Result<Manifest, DeployError> {
        let folder = Some(std::env::temp_dir());
        Manifest::parse(text.to_owned(), PathBuf::from("servers/py/server.toml"), folder)
    }

    #[test]
    fn ours_is_read_and_can_be_started_anywhere() {
        Manifest::relay().can_start().unwrap();
        Manifest::generator().can_start().unwrap();
        let ours = Manifest::ours();
        assert!(ours.is_ours() && ours.name == "axum" && ours.serves.len() >= 12);
        ours.can_start().unwrap();
    }

    #[test]
    fn ours_serves_what_a_program_brings_along() {
        let more = &COMBINATIONS[..1];
        let ours = Manifest::ours().serving(more);
        assert_eq!(ours.serves.len(), Manifest::ours().serves.len() + 1);
        let Some(offer) = ours.serves.last() else { panic!("{ours:?}") };
        let listed = format!("{}/{}/{}", offer.workload, offer.engine.name(), offer.how);
        assert_eq!(listed, more[0].path);
    }

    #[test]
    fn what_is_left_out_has_its_default() {
        let manifest = parse(GOOD).unwrap();
        assert_eq!((manifest.ready_max.as_secs(), manifest.stop_max.as_secs()), (READY_S, STOP_S));
        let [offer] = &manifest.serves[..] else { panic!("{manifest:?}") };
        assert_eq!((&*offer.workload, offer.engine, &*offer.how), ("tpcb", Dialect::Sqlite, ""));
        manifest.can_start().unwrap();
    }

    /// `from` in a good manifest becomes `to`, and the error names the line and says `words`.
    #[track_caller]
    fn check(from: &str, to: &str, line: usize, words: &str) {
        let text = GOOD.replacen(from, to, 1);
        assert_ne!(text, GOOD, "{from} is not in it");
        let error = match parse(&text) {
            Ok(manifest) => manifest.can_start().expect_err(&text),
            Err(error) => error,
        };
        let listed = error.to_string();
        let place = format!("servers/py/server.toml:{line}:");
        assert!(listed.starts_with(&place) && listed.contains(words), "{place} {words:?}: {listed}");
        assert!(listed.contains("\nhint: docs/servers.md"), "{listed}");
    }

    #[test]
    fn a_mistake_is_named_with_its_line_and_what_would_be_right() {
        check("language", "langauge", 2, "unknown field `langauge`, expected one of `name`, `language`");
        check("language = \"Python\"\n", "", 1, "missing field `language`");
        check("\"Python\"", "3", 2, "invalid type: integer `3`, expected a string");
        check("name = \"py\"", "name = \"Py 3\"", 1, "`name` is `Py 3`");
        check("name = \"py\"", "name = \"\"", 1, "1 to 40 of the characters");
        check("name = \"py\"", "name = py", 1, "");
        check("[\"sh\", \"-c\", \"exit 0\"]", "[]", 3, "there is no program");
        check("[\"sh\"", "[\"no-such-program\"", 3, "no program `no-such-program` on the PATH");
        check("[\"sh\"", "[\"./no-such-program\"", 3, "in the folder of the manifest");
        check("\"sqlite\"", "\"oracle\"", 5, "no engine `oracle`; there are sqlite, postgres, mariadb");
        check("about", "how = \"a b\", about", 5, "`how` is `a b`");
        check("about", "why", 5, "unknown field `why`");
        check("serves = [\n", "serves = []\nother = [\n", 5, "unknown field `other`");
        check("language", "stop_s_max = 0\nlanguage", 2, "it must be 1 to 600 s");
        check(
            "language",
            "transports = [\"tcp\"]\nlanguage",
            2,
            "list each transport besides tcp once: unix, tls",
        );
        check("language", "transports = [\"tls\", \"tls\"]\nlanguage", 2, "besides tcp once");
        check("language", "transports = [\"quic\"]\nlanguage", 2, "unknown variant `quic`");
        check("language", "build = [\"no-such-builder\"]\nlanguage", 2, "no program `no-such-builder`");
    }

    #[test]
    fn manifests_are_found_by_their_folders_and_ours_is_not_found_twice() {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in
            [("b", GOOD.replace("\"py\"", "\"b\"")), ("a", GOOD.to_owned()), ("rust", OURS.into())]
        {
            fs::create_dir(folder.path().join(name)).unwrap();
            fs::write(folder.path().join(name).join(FILE), text).unwrap();
        }
        fs::create_dir(folder.path().join("without")).unwrap();
        let found = Manifest::all_in(folder.path()).unwrap();
        assert_eq!(found.iter().map(|manifest| &*manifest.name).collect::<Vec<_>>(), ["py", "b"]);
        assert!(Manifest::all_in(&folder.path().join("nowhere")).unwrap().is_empty());
        fs::write(folder.path().join("b").join(FILE), "name = 1").unwrap();
        let listed = Manifest::all_in(folder.path()).unwrap_err().to_string();
        assert!(listed.contains("/b/server.toml:1:"), "{listed}");
    }
}
