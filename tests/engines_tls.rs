//! Encrypted connections, to servers that encrypt.

use crate::e2e_workdir::{Ran, Running, Workdir, assert_good, parse};
use crate::engines_workdir::SHORT;
use rig::Engine;
use rig::for_tests::engines_folder;
use sql::{Secret, ServerUrl, Tls};
use std::fs;
use std::os::unix::fs::{PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::Command;

/// Of a server's certificate, which signs nothing.
const REQUEST: &str = "\
[req]
prompt = no
distinguished_name = name
x509_extensions = extensions
[name]
CN = localhost
[extensions]
basicConstraints = critical, CA:FALSE
subjectAltName = DNS:localhost, IP:127.0.0.1
";

/// A certificate for this machine that no one has signed, where the engine can read it.
struct Certified {
    folder: PathBuf,
}

impl Certified {
    fn for_engine(engine: Engine) -> Certified {
        // Temporary folders are often their owner's alone, and the engine is someone else.
        let name = format!("stackmark-tls-{}-{}", engine.name(), std::process::id());
        let folder = engines_folder().join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755)).unwrap();
        let certified = Certified { folder };
        certified.make();
        fs::set_permissions(certified.key(), fs::Permissions::from_mode(0o600)).unwrap();
        let account = if engine == Engine::Postgres { "postgres" } else { "mysql" };
        if rustix::process::geteuid().is_root() {
            let (user, group) = ids_of(account);
            chown(certified.key(), Some(user), Some(group)).unwrap();
        }
        certified
    }

    fn make(&self) {
        let request = self.folder.join("request.cnf");
        fs::write(&request, REQUEST).unwrap();
        let made = Command::new("openssl")
            .args(["req", "-x509", "-days", "30", "-nodes"])
            .args(["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"])
            .args([Path::new("-config"), &request, Path::new("-out"), &self.certificate()])
            .args([Path::new("-keyout"), &self.key()])
            .output()
            .unwrap_or_else(|error| panic!("could not start openssl: {error}"));
        assert!(made.status.success(), "{made:?}");
    }

    fn certificate(&self) -> PathBuf {
        self.folder.join("certificate.pem")
    }

    fn key(&self) -> PathBuf {
        self.folder.join("key.pem")
    }
}

impl Drop for Certified {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Numbers of an account and its group.
fn ids_of(account: &str) -> (u32, u32) {
    let accounts = fs::read_to_string("/etc/passwd").unwrap();
    let line = accounts.lines().find(|line| line.starts_with(&format!("{account}:"))).unwrap();
    let parts: Vec<&str> = line.split(':').collect();
    (parts[2].parse().unwrap(), parts[3].parse().unwrap())
}

#[test]
fn postgres_is_reached_encrypted_and_its_certificate_is_checked() {
    encrypted(Engine::Postgres, "ssl_cert_file", "ssl_key_file", &["tokio-postgres", "sqlx"]);
}

#[test]
fn mariadb_is_reached_encrypted_and_its_certificate_is_checked() {
    encrypted(Engine::MariaDb, "ssl_cert", "ssl_key", &["mysql-async", "sqlx"]);
}

fn encrypted(engine: Engine, certificate: &str, key: &str, drivers: &[&str]) {
    let certified = Certified::for_engine(engine);
    let path = |file: PathBuf| file.display().to_string();
    let mut options = rig::Options::small(engine);
    options.settings.push((certificate.into(), path(certified.certificate())));
    options.settings.push((key.into(), path(certified.key())));
    if engine == Engine::Postgres {
        options.settings.push(("ssl".into(), "on".into()));
    }
    let server = rig::start(engine, &options).unwrap_or_else(|error| panic!("{error}"));
    server.create_database("bank").unwrap();
    let workdir = Workdir::empty();
    let url = ServerUrl { host: "localhost".into(), tls: Tls::Require, ..server.tcp_url("bank") };
    let loaded = run(&workdir, &url, &format!("load tpcb --golden --db {url}"));
    assert_eq!(loaded.code(), 0, "{loaded:?}");

    let workload = if engine == Engine::Postgres { "tpcb/postgres" } else { "tpcb/mariadb" };
    let verified = ServerUrl { tls: Tls::Verify, authority: Some(certified.certificate()), ..url.clone() };
    for driver in drivers {
        for url in [&url, &verified] {
            let line = format!("run {workload}/{driver} --db {url} {SHORT} --json");
            let ran = run(&workdir, url, &line);
            let document = parse(&ran.out);
            assert_good(&ran, &document);
            let settings = document["trials"][0]["stack"]["settings"].to_string();
            assert!(settings.contains("TLS"), "{driver}: {settings}");
        }
        unknown(&workdir, &verified, workload, driver);
    }
    demanded(&workdir, &server, workload, drivers);
    keyword_string(&workdir, &server);
}

/// On this machine connections are not encrypted unless the URL asks for it: a user who has to encrypt is told what to add.
fn demanded(workdir: &Workdir, server: &rig::Running, workload: &str, drivers: &[&str]) {
    let engine = server.installation().engine;
    match engine {
        Engine::Postgres => {
            server.client("postgres", "create role careful superuser login password 'secret'").unwrap();
            let rules = server.data().join("pg_hba.conf");
            let others = fs::read_to_string(&rules).unwrap();
            fs::write(&rules, format!("hostnossl all careful all reject\n{others}")).unwrap();
            server.client("postgres", "select pg_reload_conf()").unwrap();
        }
        _ => {
            let user = "create user 'careful'@'%' identified by 'secret' require ssl; grant all on *.* to 'careful'@'%'";
            server.client("mysql", user).unwrap();
        }
    }
    let url =
        ServerUrl { user: "careful".into(), password: Some(Secret::new("secret")), ..server.tcp_url("bank") };
    let bare = url.to_string().replace("sslmode=disable&", "");
    for driver in drivers {
        run(workdir, &url, &format!("run {workload}/{driver} --db {bare} --calls 100"))
            .refused(&["add sslmode=require"]);
        let encrypted = bare.replace('?', "?sslmode=require&");
        let ran = run(workdir, &url, &format!("run {workload}/{driver} --db {encrypted} {SHORT} --json"));
        assert_good(&ran, &parse(&ran.out));
    }
}

/// The address that `psql` takes.
fn keyword_string(workdir: &Workdir, server: &rig::Running) {
    let url = server.url("bank");
    let (Engine::Postgres, Some(folder)) = (server.installation().engine, &url.socket) else { return };
    let words = format!("host={} port={} user={} dbname=bank", folder.display(), url.port, url.user);
    let mut command = workdir.command("audit tpcb --db");
    command.arg(format!("{words} options='-c search_path=public'"));
    command.env("STACKMARK_DB_PASSWORD", url.password.as_ref().map(Secret::reveal).unwrap());
    let ran = Running::start(command).end();
    assert_eq!(ran.code(), 0, "{ran:?}");
}

/// A certificate that no known authority has signed is not taken where it is to be checked.
fn unknown(workdir: &Workdir, verified: &ServerUrl, workload: &str, driver: &str) {
    let files = workdir.files();
    let stranger = ServerUrl { authority: None, ..verified.clone() };
    let ran = run(workdir, &stranger, &format!("run {workload}/{driver} --db {stranger} --calls 100"));
    ran.refused(&["certificate", "sslrootcert=FILE"]);
    assert_eq!(workdir.files(), files);
}

fn run(workdir: &Workdir, url: &ServerUrl, line: &str) -> Ran {
    let mut command = workdir.command(line);
    command.env("STACKMARK_DB_PASSWORD", url.password.as_ref().map(Secret::reveal).unwrap());
    assert!(Path::new(&command.get_program()).exists());
    Running::start(command).end()
}
