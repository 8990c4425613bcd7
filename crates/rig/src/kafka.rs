//! How Kafka is found or fetched, configured, started and asked whether it is ready: one node that is broker and controller.

use crate::command::run;
use crate::running::free_port;
use crate::settings::Settings;
use crate::state::{self, USER};
use crate::technology::{About, Making, Programs, Starting, Technology};
use crate::{Engine, Installation, Options, RigError, base};
use rustix::process::Signal;
use sql::Secret;
use std::env;
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub(crate) struct Kafka;

static ABOUT: About = About {
    name: "kafka",
    title: "Kafka",
    alias: "broker",
    account: None,
    prefix: "kafka-",
    small: &[],
    dashes: false,
    halt: Signal::TERM,
    end: (Signal::KILL, "KILL"),
    old_processes: None,
    programs: Programs {
        server: &["java"],
        initialiser: &["java"],
        client: &["java"],
        folders: &["/usr/bin", "/usr/local/bin"],
        variable: "STACKMARK_KAFKA_HOME",
        packages: "Debian and Ubuntu: apt-get install openjdk-17-jre-headless maven",
    },
    sql: None,
};

/// The artefacts, which Maven's ordinary client fetches with all that they need.
const POM: &str = include_str!("kafka.pom.xml");
/// Brokers of this version need it.
const JAVA_MIN: u32 = 17;
/// How long Maven may take: some 45 MB.
const FETCH_MAX: Duration = Duration::from_secs(600);
const MIB: u64 = 1 << 20;

/// The version of Kafka in [`POM`].
fn pinned() -> &'static str {
    let after = POM.split_once("kafka_2.13</artifactId><version>").expect("the artefact is there").1;
    after.split_once('<').expect("a tag ends").0
}

/// A log of warnings, and the line that says when the server has started.
const LOGGING: &str = "\
rootLogger.level=WARN
rootLogger.appenderRef.c.ref=C
appender.c.type=Console
appender.c.name=C
appender.c.layout.type=PatternLayout
appender.c.layout.pattern=[%d] %p %m (%c)%n
logger.k.name=kafka.server.KafkaRaftServer
logger.k.level=INFO
";

/// A request for the versions of requests that a broker knows, which it answers before anyone says who they are: a length, the
/// kind 18 in its version 0, a number that comes back, and no name.
const API_VERSIONS: [u8; 14] = [0, 0, 0, 10, 0, 18, 0, 0, 0, 0, 0, 1, 0xff, 0xff];

impl Technology for Kafka {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn find(&self) -> Result<Installation, RigError> {
        let path: Vec<PathBuf> = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
        let java = java(&path)?;
        let wanted = env::var_os(ABOUT.programs.variable).filter(|home| !home.is_empty());
        let libraries = match wanted.map(PathBuf::from) {
            Some(home) => Some(libraries(&home).ok_or_else(|| {
                RigError::Missing(format!(
                    "{} is {}: there is no kafka_2.13-VERSION.jar in it or in its folder libs\nhint: set it to the folder of a Kafka \
                     distribution, or unset it to have Kafka {} fetched",
                    ABOUT.programs.variable,
                    home.display(),
                    pinned()
                ))
            })?),
            None => libraries(&fetched(&Options::default())),
        };
        if libraries.is_none() && maven(&path).is_none() {
            return Err(RigError::Missing(format!(
                "Kafka is fetched by Maven, and `mvn` was not found on PATH\nhint: {}; or set {} to the folder of a Kafka distribution",
                ABOUT.programs.packages, ABOUT.programs.variable
            )));
        }
        let version =
            libraries.as_deref().and_then(broker_jar).map_or(pinned().to_owned(), |(_, version)| version);
        Ok(Installation {
            engine: Engine::Kafka,
            server: java.clone(),
            initialiser: java.clone(),
            client: java,
            version: format!("Kafka {version}"),
            libraries,
        })
    }

    /// Fetches the jars if they are not there yet, lays out the data folder and the files next to it.
    fn make(&self, making: &Making<'_>, began: &mut dyn FnMut(u32)) -> Result<Option<PathBuf>, RigError> {
        let Making { installation, options, home, .. } = making;
        home.write_private("log4j2.properties", LOGGING)?;
        let libraries = self.libraries(installation, options, began)?;
        // Where it will listen is not known yet, and nothing of that is kept in the data.
        let settings = self.settings(options, &home.path, 1, None);
        let file = home.write_private("format.conf", &self.file(&settings))?;
        let mut command = Command::new(&installation.initialiser);
        command.arg(logging(&home.path)).arg("-cp").arg(libraries.join("*"));
        command.args(["kafka.tools.StorageTool", "format", "--cluster-id", CLUSTER, "--config"]).arg(&file);
        let command = making.account.command(command, &home.path);
        let ended = run(command, "", options.start_max, began);
        let removed = std::fs::remove_file(&file).map_err(|error| RigError::folder(&file, error));
        let ended = ended?;
        removed?;
        if ended.is_success() {
            return Ok(None);
        }
        Err(RigError::failed("could not format Kafka's data folder", ended.err + &ended.out))
    }

    fn settings(&self, _: &Options, folder: &Path, port: u16, memory: Option<u64>) -> Settings {
        let mut settings = Settings::default();
        // Another free one, for the controller, which is the same process.
        let controller = free_port().unwrap_or(port.wrapping_add(1));
        settings.set("process.roles", "broker,controller");
        settings.set("node.id", 1);
        settings.set(
            "listeners",
            format!("SASL_PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}"),
        );
        settings.set("advertised.listeners", format!("SASL_PLAINTEXT://127.0.0.1:{port}"));
        settings.set("controller.listener.names", "CONTROLLER");
        settings.set("controller.quorum.voters", format!("1@127.0.0.1:{controller}"));
        settings
            .set("listener.security.protocol.map", "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT");
        settings.set("inter.broker.listener.name", "SASL_PLAINTEXT");
        settings.set("sasl.enabled.mechanisms", "PLAIN");
        settings.set("sasl.mechanism.controller.protocol", "PLAIN");
        settings.set("sasl.mechanism.inter.broker.protocol", "PLAIN");
        settings.set("log.dirs", state::data(folder).display());
        settings.set("auto.create.topics.enable", "false");
        settings.set("offsets.topic.replication.factor", 1);
        settings.set("offsets.topic.num.partitions", 4);
        settings.set("transaction.state.log.replication.factor", 1);
        settings.set("transaction.state.log.min.isr", 1);
        settings.set("transaction.state.log.num.partitions", 4);
        settings.set("share.coordinator.state.topic.replication.factor", 1);
        settings.set("share.coordinator.state.topic.min.isr", 1);
        settings.set("group.initial.rebalance.delay.ms", 0);
        settings.set("num.network.threads", 2);
        settings.set("num.io.threads", 4);
        settings.set(HEAP, format!("{}m", heap_mib(memory)));
        settings
    }

    fn file(&self, settings: &Settings) -> String {
        // Of properties files: a backslash begins an escape.
        let line = |(key, value): &(String, String)| format!("{key}={}\n", value.replace('\\', "\\\\"));
        settings.0.iter().filter(|(key, _)| key != HEAP).map(line).collect()
    }

    fn arguments(&self, command: &mut Command, starting: &Starting<'_>) {
        let Starting { installation, options, home, settings, .. } = starting;
        let heap = settings.0.iter().find(|(key, _)| key == HEAP).map_or("512m", |(_, heap)| heap);
        command.args([format!("-Xms{heap}"), format!("-Xmx{heap}"), "-XX:+UseG1GC".into()]);
        command.arg(format!("-Djava.security.auth.login.config={}", home.join("client.conf").display()));
        command.arg(logging(home)).arg("-cp").arg(found(installation, options).join("*"));
        command.arg("kafka.Kafka").arg(home.join("engine.conf"));
    }

    fn is_ready(&self, _: &Path, _: u32, port: u16) -> bool {
        let address = (Ipv4Addr::LOCALHOST, port).into();
        let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_millis(100)) else {
            return false;
        };
        let mut length = [0_u8; 4];
        stream.set_read_timeout(Some(Duration::from_millis(500))).is_ok()
            && stream.write_all(&API_VERSIONS).is_ok()
            && stream.read_exact(&mut length).is_ok()
    }

    /// Who may enter, as Kafka reads it.
    fn client_file(&self, password: &Secret) -> String {
        let password = password.reveal();
        format!(
            "KafkaServer {{\n  org.apache.kafka.common.security.plain.PlainLoginModule required\n  username=\"{USER}\" \
             password=\"{password}\" user_{USER}=\"{password}\";\n}};\n"
        )
    }

    fn places(&self) -> &'static [&'static str] {
        &[
            "advertised.listeners",
            "controller.listener.names",
            "controller.quorum.bootstrap.servers",
            "controller.quorum.voters",
            "inter.broker.listener.name",
            "listener.security.protocol.map",
            "listeners",
            "log.dir",
            "log.dirs",
            "metadata.log.dir",
            "node.id",
            "process.roles",
        ]
    }
}

/// Not one of Kafka's own settings: what its virtual machine gets for its objects. Files are cached by the system.
const HEAP: &str = "java.heap";
/// Each node is a cluster of its own, so that all may have one name.
const CLUSTER: &str = "c3RhY2ttYXJrLWthZmthIQ";

/// 512 MiB, or half of what there is if that is less.
fn heap_mib(memory: Option<u64>) -> u64 {
    memory.map_or(512, |bytes| (bytes / 2 / MIB).clamp(128, 512))
}

fn logging(home: &Path) -> String {
    format!("-Dlog4j2.configurationFile={}", home.join("log4j2.properties").display())
}

/// Java's program, which is new enough.
fn java(path: &[PathBuf]) -> Result<PathBuf, RigError> {
    let home =
        env::var_os("JAVA_HOME").filter(|home| !home.is_empty()).map(|home| PathBuf::from(home).join("bin"));
    let folders = home.into_iter().chain(path.iter().cloned());
    let java = folders.map(|folder| folder.join("java")).find(|file| file.is_file()).ok_or_else(|| {
        RigError::Missing(format!(
            "Kafka needs Java {JAVA_MIN}; `java` was not found in JAVA_HOME or on PATH\nhint: {}",
            ABOUT.programs.packages
        ))
    })?;
    let output = Command::new(&java).arg("-version").output();
    let said =
        output.map_err(|error| RigError::Missing(format!("could not run {}: {error}", java.display())))?;
    let text = String::from_utf8_lossy(&said.stderr).into_owned();
    match java_version(&text) {
        Some(version) if version >= JAVA_MIN => Ok(java),
        version => Err(RigError::Missing(format!(
            "Kafka needs Java {JAVA_MIN} or newer; {} is {} ({})",
            java.display(),
            version.map_or_else(|| "of an unknown version".to_owned(), |version| format!("Java {version}")),
            ABOUT.programs.packages
        ))),
    }
}

/// `openjdk version "17.0.15" 2025-04-15` is 17; before 9 it was `1.8.0`.
fn java_version(said: &str) -> Option<u32> {
    let version = said.split('"').nth(1)?.trim_start_matches("1.");
    version.split(|letter: char| !letter.is_ascii_digit()).next()?.parse().ok()
}

fn maven(path: &[PathBuf]) -> Option<PathBuf> {
    path.iter().map(|folder| folder.join("mvn")).find(|file| file.is_file())
}

/// The folder of jars in a distribution, or in one that holds nothing else.
fn libraries(home: &Path) -> Option<PathBuf> {
    [home.join("libs"), home.to_owned()].into_iter().find(|folder| broker_jar(folder).is_some())
}

/// The jar of the broker in a folder, and its version.
fn broker_jar(folder: &Path) -> Option<(PathBuf, String)> {
    std::fs::read_dir(folder).ok()?.flatten().find_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        let version = name.strip_prefix("kafka_2.13-")?.strip_suffix(".jar")?;
        let is_version = version.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
        is_version.then(|| (entry.path(), version.to_owned()))
    })
}

/// Where fetched jars are kept: they outlive the brokers that run on them.
fn fetched(options: &Options) -> PathBuf {
    base::path(options).join(format!("kafka-{}-jars", pinned()))
}

fn found(installation: &Installation, options: &Options) -> PathBuf {
    installation.libraries.clone().unwrap_or_else(|| fetched(options))
}

impl Kafka {
    /// The folder of jars, which Maven fetches unless they are there. Others who want them wait meanwhile.
    fn libraries(
        &self,
        installation: &Installation,
        options: &Options,
        began: &mut dyn FnMut(u32),
    ) -> Result<PathBuf, RigError> {
        let folder = found(installation, options);
        if broker_jar(&folder).is_some() {
            return Ok(folder);
        }
        let failed = |error: std::io::Error| RigError::folder(&folder, error);
        let sibling = |end: &str| folder.with_file_name(format!("kafka-{}-{end}", pinned()));
        let lock = base::lock_file(&sibling("lock"))?;
        lock.lock().map_err(failed)?;
        if broker_jar(&folder).is_some() {
            return Ok(folder);
        }
        // Into a folder next to it that is renamed when it is whole.
        let part = sibling("part");
        let _ = std::fs::remove_dir_all(&part);
        std::fs::create_dir(&part).map_err(failed)?;
        std::fs::write(part.join("pom.xml"), POM).map_err(failed)?;
        let path: Vec<PathBuf> = env::var_os("PATH").iter().flat_map(env::split_paths).collect();
        let program = maven(&path).ok_or_else(|| {
            RigError::Missing(format!("there is no `mvn` on PATH ({})", ABOUT.programs.packages))
        })?;
        let mut command = Command::new(program);
        command.args(["--batch-mode", "--quiet", "dependency:copy-dependencies", "-DincludeScope=runtime"]);
        command.arg(format!("-DoutputDirectory={}", part.display())).current_dir(&part);
        let ended = run(command, "", FETCH_MAX, began)?;
        if !ended.is_success() {
            let _ = std::fs::remove_dir_all(&part);
            return Err(RigError::Missing(format!(
                "Maven could not fetch the jars of Kafka {}; it said:\n{}\nhint: set {} to a folder with the jars",
                pinned(),
                (ended.out + &ended.err).trim(),
                ABOUT.programs.variable
            )));
        }
        // A folder that someone else has half removed.
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::rename(&part, &folder).map_err(failed)?;
        Ok(folder)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_java_are_read_as_they_were_written_before_and_after_the_ninth() {
        for (said, version) in [
            ("openjdk version \"17.0.15\" 2025-04-15\nOpenJDK Runtime", Some(17)),
            ("java version \"1.8.0_202\"", Some(8)),
            ("openjdk version \"21\" 2023-09-19", Some(21)),
            ("openjdk version \"25-ea\"", Some(25)),
            ("not Java", None),
        ] {
            assert_eq!(java_version(said), version, "{said}");
        }
    }

    #[test]
    fn the_jars_of_a_distribution_are_found_and_other_files_are_not_taken_for_them() {
        let root = tempfile::tempdir().unwrap();
        let libs = root.path().join("libs");
        std::fs::create_dir(&libs).unwrap();
        for other in ["kafka-clients-4.3.1.jar", "kafka_2.13-4.3.1-sources.jar", "kafka_2.13-4.3.1.pom"] {
            std::fs::write(libs.join(other), "").unwrap();
        }
        assert_eq!(libraries(root.path()), None);
        std::fs::write(libs.join("kafka_2.13-4.2.0.jar"), "").unwrap();
        assert_eq!(libraries(root.path()), Some(libs.clone()));
        assert_eq!(libraries(&libs), Some(libs.clone()));
        assert_eq!(broker_jar(&libs).unwrap().1, "4.2.0");
    }

    #[test]
    fn the_heap_is_half_a_gibibyte_or_half_of_the_memory() {
        assert_eq!([None, Some(64 << 30), Some(512 * MIB)].map(heap_mib), [512, 512, 256]);
        assert_eq!(heap_mib(Some(MIB)), 128);
        assert!(pinned().starts_with("4."));
    }

    #[test]
    fn the_heap_is_no_setting_of_the_file_and_a_password_is_none_either() {
        let settings = Kafka.settings(&Options::default(), Path::new("/x"), 9, None);
        let file = Kafka.file(&settings);
        assert!(file.contains("log.dirs=/x/data\n") && !file.contains(HEAP), "{file}");
        assert!(!file.contains("jaas"), "{file}");
        assert!(Kafka.client_file(&Secret::new("0a")).contains("user_stackmark=\"0a\";"));
    }
}
