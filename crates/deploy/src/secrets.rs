//! Passwords: where they come from, and how they stay out of sight.

use crate::server::{PASSWORD, variable};
use anyhow::{Context, Result, bail};
use broker::Address;
use sql::{DbUrl, Dialect, Secret, ServerUrl, split_name};
use std::ffi::OsString;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

static FILE: OnceLock<PathBuf> = OnceLock::new();

/// Notes the file that the user keeps the password in.
pub fn read_from(file: Option<PathBuf>) {
    if let Some(file) = file {
        // Set once, by the command line.
        let _ = FILE.set(file);
    }
}

/// Fills in the password of a store's server: from the URL, else from `--password-file`, else from `STACKMARK_DB_PASSWORD`
/// (of the store at place 1 `STACKMARK_DB_1_PASSWORD`, if that is set), else from where the engine's own tools look for it
/// (`PGPASSWORD` and `.pgpass`, `MYSQL_PWD`).
///
/// # Errors
/// A file of passwords cannot be read, or others may read it.
pub fn with_password(url: DbUrl, store: usize) -> Result<DbUrl> {
    let DbUrl::Server(mut url) = url else { return Ok(url) };
    if let Some(file) = FILE.get() {
        // What is a pipe can be read once only.
        static READ: OnceLock<Secret> = OnceLock::new();
        let secret = match READ.get() {
            Some(secret) => secret.clone(),
            None => {
                let secret = of_file(file)?;
                READ.get_or_init(|| secret).clone()
            }
        };
        url.password = Some(secret);
    } else if url.password.is_none() {
        url.password = elsewhere(&url, store)?;
    }
    Ok(DbUrl::Server(url))
}

/// The variable with the password of a broker's user.
pub(crate) const BROKER_PASSWORD: &str = "STACKMARK_BROKER_PASSWORD";

/// Fills in the password of a broker's user: from its address, else from `STACKMARK_BROKER_PASSWORD`.
pub fn with_brokers_password(address: Address) -> Address {
    let password = address.password.or_else(|| {
        let values = std::env::var(BROKER_PASSWORD).ok().filter(|value| !value.is_empty());
        values.filter(|_| address.user.is_some()).map(Secret::new)
    });
    Address { password, ..address }
}

/// The first line of a file that no one else may read.
fn of_file(file: &Path) -> Result<Secret> {
    let read = || std::fs::read_to_string(file);
    let text = read().with_context(|| format!("could not read the password file {}", file.display()))?;
    ensure_ours_alone(file)?;
    match text.lines().next().filter(|line| !line.is_empty()) {
        Some(line) => Ok(Secret::new(line)),
        None => bail!("the password file {} is empty; its first line is the password", file.display()),
    }
}

fn ensure_ours_alone(file: &Path) -> Result<()> {
    let mode = std::fs::metadata(file).map(|about| about.mode()).unwrap_or(0);
    if mode & 0o077 != 0 {
        bail!(
            "the password file {} can be read by others (mode {:o})\nhint: chmod 600 {}",
            file.display(),
            mode & 0o777,
            file.display()
        );
    }
    Ok(())
}

fn elsewhere(url: &ServerUrl, store: usize) -> Result<Option<Secret>> {
    let of = |name: &str| std::env::var(name).ok().filter(|value| !value.is_empty()).map(Secret::new);
    let engines_own = match url.dialect {
        Dialect::Postgres => "PGPASSWORD",
        Dialect::MySql | Dialect::Sqlite => "MYSQL_PWD",
    };
    if let Some(found) = of(&variable(PASSWORD, store)).or_else(|| of(PASSWORD)).or_else(|| of(engines_own)) {
        return Ok(Some(found));
    }
    let file = match (url.dialect, std::env::var_os("PGPASSFILE"), std::env::var_os("HOME")) {
        (Dialect::Postgres, Some(file), _) => PathBuf::from(file),
        (Dialect::Postgres, None, Some(home)) => PathBuf::from(home).join(".pgpass"),
        _ => return Ok(None),
    };
    // Like PostgreSQL's own tools: a file that is not there says nothing, and one that others may read is not used.
    let Ok(text) = std::fs::read_to_string(&file) else { return Ok(None) };
    ensure_ours_alone(&file)?;
    Ok(of_pgpass(&text, url))
}

/// The password of the first line that matches: `host:port:database:user:password`, each part or `*`, `\` escapes.
fn of_pgpass(text: &str, url: &ServerUrl) -> Option<Secret> {
    let host = if url.socket.is_some() { "localhost" } else { &url.host };
    let wanted = [host, &url.port.to_string(), &url.database, &url.user];
    text.lines().filter(|line| !line.starts_with('#')).find_map(|line| {
        let parts = unescaped_parts(line);
        let (password, keys) = parts.split_last().filter(|(_, keys)| keys.len() == wanted.len())?;
        let fits = keys.iter().zip(wanted).all(|(key, wanted)| key == "*" || key == wanted);
        fits.then(|| Secret::new(password.clone()))
    })
}

fn unescaped_parts(line: &str) -> Vec<String> {
    let (mut parts, mut escaped) = (vec![String::new()], false);
    for c in line.chars() {
        match c {
            '\\' if !escaped => escaped = true,
            ':' if !escaped && parts.len() < 5 => parts.push(String::new()),
            c => {
                parts.last_mut().expect("never empty").push(c);
                escaped = false;
            }
        }
    }
    parts
}

/// Starts this program again without the passwords that are among its arguments, where every user of the machine could read
/// them. Comes back if there are none.
pub fn leave_process_list() -> Result<()> {
    let mut found = Vec::new();
    let arguments: Vec<OsString> = std::env::args_os()
        .skip(1)
        .map(|argument| match argument.to_str().and_then(taken_out) {
            Some((rest, variable, password)) => {
                found.push((variable, password));
                rest.into()
            }
            None => argument,
        })
        .collect();
    if found.is_empty() {
        return Ok(());
    }
    let program = std::env::current_exe().context("could not find this program's own file")?;
    let passwords = found.iter().map(|(name, password)| (name, password.reveal()));
    let error = Command::new(program).args(arguments).envs(passwords).exec();
    Err(error).context("could not take the password out of the process list")
}

/// An argument that is the URL of a server with a password in it: without the password, the variable that takes the password of
/// the store or broker that it names, and the password.
fn taken_out(argument: &str) -> Option<(String, String, Secret)> {
    let (option, text) = match argument.split_once("--db=") {
        Some(("", text)) => ("--db=", text),
        _ => ("", argument),
    };
    // A name that no store has is refused later, and its password is no one's.
    let (name, text) = split_name(text);
    let name = name.map_or_else(String::new, |name| format!("{name}="));
    if name == "broker=" {
        let address: Address = text.parse().ok()?;
        let password = address.password.clone()?;
        return Some((format!("{option}{name}{address}"), BROKER_PASSWORD.to_owned(), password));
    }
    let store = name.trim_end_matches('=').strip_prefix("shard-").and_then(|number| number.parse().ok());
    let url: ServerUrl = text.parse().ok()?;
    let password = url.password.clone()?;
    Some((format!("{option}{name}{url}"), variable(PASSWORD, store.unwrap_or(0)), password))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_leaves_the_arguments_and_the_rest_stays() {
        let (rest, variable, password) =
            taken_out("--db=postgres://me:se%40cret@db:5433/tpcc?sslmode=require").unwrap();
        assert_eq!((variable.as_str(), password.reveal()), ("STACKMARK_DB_PASSWORD", "se@cret"));
        assert_eq!(rest, "--db=postgres://me@db:5433/tpcc?sslmode=require&isolation=read-committed");
        let (rest, variable, password) = taken_out("shard-3=postgres://me:secret@db/tpcb").unwrap();
        assert!(rest.starts_with("shard-3=postgres://me@db:5432/tpcb"), "{rest}");
        assert_eq!((variable.as_str(), password.reveal()), ("STACKMARK_DB_3_PASSWORD", "secret"));
        let (rest, variable, password) = taken_out("--db=broker=kafka://me:secret@host:9092").unwrap();
        assert_eq!((variable.as_str(), password.reveal()), ("STACKMARK_BROKER_PASSWORD", "secret"));
        assert_eq!(rest, "--db=broker=kafka://me@host:9092");
        assert!(taken_out("broker=me:secret@host:1").unwrap().0.ends_with("me@host:1"));
        assert!(taken_out("postgres://me@db/tpcc").is_none());
        assert!(taken_out("--clients=8").is_none());
        assert!(taken_out("sqlite:a:b@c").is_none());
    }

    #[test]
    fn pgpass_is_read_as_its_owner_means_it() {
        let url: ServerUrl = "postgres://me@db:5433/tpcc".parse().unwrap();
        let of = |text: &str| of_pgpass(text, &url).map(|found| found.reveal().to_owned());
        assert_eq!(of("other:*:*:*:no\ndb:5433:*:me:a\\:b\\\\c\n*:*:*:*:late"), Some("a:b\\c".into()));
        assert_eq!(of("# db:5433:tpcc:me:no\n"), None);
        assert_eq!(of("db:5433:tpcc:you:no"), None);
    }
}
