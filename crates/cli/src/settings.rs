//! Settings of engines that are asked for by name and value.

use crate::args::{EngineArgs, Setting};
use anyhow::{Context, Result, bail};
use deploy::Spec;
use sql::{DbUrl, Dialect, Value};
use std::path::Path;

/// What the base of a comparison is called that has none of the settings.
const DEFAULT: &str = "default settings";

/// What is asked of a private engine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Choice {
    pub(crate) settings: Vec<Setting>,
    /// The folder of its programs, or its version.
    pub(crate) programs: Option<String>,
}

/// What is asked of the private engines of the sides of a comparison.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Sides {
    /// All sides have the same.
    Same(Choice),
    /// Sides that differ in it, each with what it is called; the first is the base.
    Varied(Vec<(String, Choice)>),
}

impl Choice {
    /// What is asked of one engine.
    ///
    /// # Errors
    /// A setting has several values, or there are several versions.
    pub(crate) fn single(args: &EngineArgs) -> Result<Choice> {
        let programs = match &args.engine_bin[..] {
            [] => None,
            [one] => Some(one.clone()),
            [..] => bail!(
                "--engine-bin is given twice\nhint: `stackmark compare` compares two versions of an engine"
            ),
        };
        Ok(Choice { settings: single(&args.setting)?, programs })
    }

    /// Asks it of a private engine.
    pub(crate) fn put_into(self, spec: &mut Spec) {
        spec.set(self.settings, self.programs);
    }
}

/// What versions of an engine are called: the first word of what each says of itself that begins with a digit; where two say the same,
/// what was typed.
pub(crate) fn version_names(dialect: Dialect, programs: &[Option<&str>]) -> Result<Vec<String>> {
    let engine = rig::Engine::of(dialect).context("SQLite is compiled in and has one version")?;
    let version = |programs: &Option<&str>| -> Result<String> {
        let found = rig::find_in(engine, programs.map(Path::new))?.version;
        let number = found.split_whitespace().find(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        Ok(format!("{} {}", engine.title(), number.unwrap_or(&found)))
    };
    let versions = programs.iter().map(version).collect::<Result<Vec<String>>>()?;
    let is_twice = |name: &String| versions.iter().filter(|other| *other == name).count() > 1;
    let name = |(version, typed): (&String, &Option<&str>)| match typed {
        Some(typed) if is_twice(version) => format!("{version} ({typed})"),
        _ => version.clone(),
    };
    Ok(versions.iter().zip(programs).map(name).collect())
}

/// Settings of one engine, in the order of their names.
///
/// # Errors
/// One has several values.
pub(crate) fn single(given: &[Setting]) -> Result<Vec<Setting>> {
    let mut settings = given.to_vec();
    settings.sort();
    settings.dedup();
    if let Some(pair) = settings.windows(2).find(|pair| pair[0].0 == pair[1].0) {
        let [(name, one), (_, other)] = pair else { unreachable!("windows of two") };
        bail!("--setting {name} has two values, {one} and {other}\nhint: `stackmark compare` compares them");
    }
    Ok(settings)
}

/// What versions of an engine are called.
type Named<'a> = dyn Fn(&[Option<&str>]) -> Result<Vec<String>> + 'a;

/// What is asked of the sides of a comparison, of one subject `alone` or of two. `named` says what versions of the engine are called.
///
/// # Errors
/// Two settings have several values, or one has and there are two subjects or versions as well.
pub(crate) fn of_sides(
    given: &[Setting],
    versions: &[String],
    alone: bool,
    named: &Named<'_>,
) -> Result<Sides> {
    let versions = distinct(versions.iter());
    let of_settings = |alone: bool, programs: Option<&String>| -> Result<Sides> {
        let choice = |settings: Vec<Setting>| Choice { settings, programs: programs.cloned() };
        Ok(match settings_of_sides(given, alone)? {
            Settings::Same(settings) => Sides::Same(choice(settings)),
            Settings::Varied(sides) => {
                Sides::Varied(sides.into_iter().map(|(name, settings)| (name, choice(settings))).collect())
            }
        })
    };
    let asked: Vec<Option<&str>> = match &versions[..] {
        [] => return of_settings(alone, None),
        [one] if !alone || !given.is_empty() => return of_settings(alone, Some(one)),
        [one] => vec![None, Some(one)],
        several if alone => several.iter().map(|version| Some(version.as_str())).collect(),
        _ => bail!(
            "--engine-bin is given several times; compare takes that with one subject alone\nhint: leave a subject or all but one \
             version out"
        ),
    };
    let Sides::Same(same) = of_settings(false, None)? else {
        unreachable!("two subjects have the same settings")
    };
    let choice = |programs: &Option<&str>| Choice { programs: programs.map(str::to_owned), ..same.clone() };
    Ok(Sides::Varied(named(&asked)?.into_iter().zip(asked.iter().map(choice)).collect()))
}

enum Settings {
    Same(Vec<Setting>),
    Varied(Vec<(String, Vec<Setting>)>),
}

fn settings_of_sides(given: &[Setting], alone: bool) -> Result<Settings> {
    let values = |name: &str| -> Vec<&String> {
        distinct(given.iter().filter(|(of, _)| of == name).map(|(_, value)| value))
    };
    let names = distinct(given.iter().map(|(name, _)| name));
    let (several, fixed): (Vec<&String>, Vec<&String>) =
        names.into_iter().partition(|name| values(name).len() > 1);
    let fixed: Vec<Setting> = fixed.into_iter().map(|name| (name.clone(), values(name)[0].clone())).collect();
    match several[..] {
        [] if alone && !fixed.is_empty() => {
            let names: Vec<String> = fixed.iter().map(|(name, value)| format!("{name}={value}")).collect();
            Ok(Settings::Varied(vec![(DEFAULT.to_owned(), Vec::new()), (names.join(", "), single(&fixed)?)]))
        }
        [] => Ok(Settings::Same(single(&fixed)?)),
        [name] if alone => {
            let of_value = |value: &String| {
                let own = [(name.clone(), value.clone())];
                Ok((format!("{name}={value}"), single(&[&fixed[..], &own[..]].concat())?))
            };
            Ok(Settings::Varied(values(name).into_iter().map(of_value).collect::<Result<_>>()?))
        }
        [name] => bail!(
            "--setting {name} has several values; compare takes them with one subject alone\nhint: leave a subject or all values but \
             one out, or write an experiment file"
        ),
        [one, other, ..] => bail!(
            "--setting {one} and --setting {other} have several values each; compare varies one setting\nhint: an experiment file \
             can vary more"
        ),
    }
}

/// Each once, in the order in which they came first.
fn distinct<'a>(all: impl Iterator<Item = &'a String>) -> Vec<&'a String> {
    let mut found: Vec<&String> = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

/// Fails where no engine can have what is asked for, or the user's servers have other settings.
pub(crate) fn check(args: &EngineArgs, engines: &[Dialect], named: &[DbUrl]) -> Result<()> {
    let given = &args.setting;
    let embedded = engines.iter().all(|engine| *engine == Dialect::Sqlite);
    for programs in &args.engine_bin {
        if embedded || !named.is_empty() {
            let has = if embedded { "SQLite is compiled in" } else { "the server of --db runs already" };
            bail!("--engine-bin is for private engines, and {has}\nhint: leave --engine-bin out");
        }
        // Before anything starts.
        for engine in engines.iter().filter_map(|engine| rig::Engine::of(*engine)) {
            rig::find_in(engine, Some(Path::new(programs)))?;
        }
    }
    if given.is_empty() {
        return Ok(());
    }
    if embedded {
        bail!(
            "--setting is for PostgreSQL and MariaDB; SQLite has no server to set\nhint: options of a file are in its address, \
             as in sqlite:FILE?cache=32MiB"
        );
    }
    for (name, value) in given {
        for engine in engines.iter().filter(|engine| **engine != Dialect::Sqlite) {
            sql::check_setting(*engine, name, value)
                .map_err(|wrong| anyhow::anyhow!("--setting {name}={value}: {wrong}"))?;
        }
        if engines.iter().any(|engine| sql::is_set_by_sessions(*engine, name)) {
            bail!(
                "--setting {name} would have no effect: each session of a measured subject sets it\nhint: isolation and the timeout of \
                 statements are options of --db, see docs/engines.md"
            );
        }
    }
    let wanted = if named.is_empty() { Vec::new() } else { single(given)? };
    for url in named.iter().filter(|url| url.dialect() != Dialect::Sqlite) {
        for (name, value) in &wanted {
            if sql::is_hidden_from_control(url.dialect(), name) {
                bail!(
                    "{name} of the server of --db cannot be read: the session that asks sets it\nhint: leave --setting {name} out"
                );
            }
            let found = of_server(url, name)?;
            if !found.is(value) {
                bail!(
                    "{name} of the server of --db is {}{}, and not {value}: Stackmark does not change your server\nhint: set it \
                     there, or leave --db out, so that a private engine is started with it",
                    found.value,
                    found.unit
                );
            }
        }
    }
    Ok(())
}

/// A setting as a server has it.
struct ServerValue {
    value: String,
    /// What a whole number counts, such as `8kB`; empty where it has no unit.
    unit: String,
}

/// What new sessions on a server have of a setting.
fn of_server(url: &DbUrl, name: &str) -> Result<ServerValue> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_.".contains(&byte)) {
        bail!("`{name}` is not the name of a setting");
    }
    let query = match url.dialect() {
        Dialect::MySql if name == sql::WRITERS => {
            let writers = if let DbUrl::Server(url) = url { url.writers().len() } else { 1 };
            return Ok(ServerValue { value: writers.to_string(), unit: String::new() });
        }
        Dialect::MySql if name == sql::GALERA => {
            "select variable_value, '' from information_schema.global_status \
                                                  where variable_name = 'WSREP_CLUSTER_SIZE'"
                .to_owned()
        }
        Dialect::MySql if name == sql::SPIDER => {
            // Of a database that is not loaded yet, those that a load would spread it over.
            format!(
                "select if(value = '0', (select cast(count(*) as char) from mysql.servers where wrapper = 'mysql' \
                 and server_name like 'stackmark\\_%'), value), '' from ({}) found",
                sql::MySqlSettings::SPREAD
            )
        }
        Dialect::MySql => format!("select cast(@@global.{name} as char), ''"),
        // The server knows it only as a name that someone has set.
        Dialect::Postgres if name == sql::postgres::FILLFACTOR => {
            format!("select current_setting('{name}', true), '' where current_setting('{name}', true) <> ''")
        }
        // The session that asks has settings of its own.
        Dialect::Sqlite | Dialect::Postgres => {
            format!("select reset_val, coalesce(unit, '') from pg_settings where lower(name) = '{name}'")
        }
    };
    let rows = admin::store(url).rows(&query, &[]);
    let rows = rows.with_context(|| format!("could not read the setting {name} of the server of --db"))?;
    match rows.into_iter().next().as_deref() {
        Some([Value::Text(value), Value::Text(unit)]) => {
            Ok(ServerValue { value: value.clone(), unit: unit.clone() })
        }
        _ => bail!("the server of --db has no setting {name}"),
    }
}

impl ServerValue {
    /// Whether it is what was asked for: numbers may have another unit, and switches another of their words.
    fn is(&self, wanted: &str) -> bool {
        let number = |text: &str, otherwise: f64| {
            let end = text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap_or(text.len());
            let (number, unit) = text.split_at(end);
            let unit = if unit.trim().is_empty() { otherwise } else { amount(unit)? };
            Some(number.parse::<f64>().ok()? * unit)
        };
        let base = amount(&self.unit).unwrap_or(1.0);
        match (number(&self.value, base), number(wanted, base)) {
            (Some(found), Some(wanted)) => (found - wanted).abs() <= f64::EPSILON * found.abs(),
            _ => word(&self.value) == word(wanted),
        }
    }
}

/// What a unit of an engine is worth, in bytes or in milliseconds: `kB`, `8kB`, `min`, and `M` of MariaDB.
fn amount(unit: &str) -> Option<f64> {
    const KIB: f64 = 1024.0;
    let unit = unit.trim();
    let letters = unit.trim_start_matches(|c: char| c.is_ascii_digit());
    let times = &unit[..unit.len() - letters.len()];
    let times = if times.is_empty() { 1.0 } else { times.parse().ok()? };
    let worth = match letters {
        "us" => 0.001,
        "B" | "ms" => 1.0,
        "s" => 1_000.0,
        "min" => 60_000.0,
        "h" => 3_600_000.0,
        "d" => 86_400_000.0,
        _ => match letters.to_ascii_lowercase().as_str() {
            "k" | "kb" => KIB,
            "m" | "mb" => KIB * KIB,
            "g" | "gb" => KIB * KIB * KIB,
            "t" | "tb" => KIB * KIB * KIB * KIB,
            _ => return None,
        },
    };
    Some(times * worth)
}

/// A value in one of the words for it.
fn word(value: &str) -> String {
    match value.to_ascii_lowercase().as_str() {
        "on" | "true" | "yes" | "1" => "on".to_owned(),
        "off" | "false" | "no" | "0" => "off".to_owned(),
        other => other.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn given(all: &[&str]) -> Vec<Setting> {
        let pair = |text: &&str| {
            text.split_once('=').map(|(name, value)| (name.into(), value.into())).expect("NAME=VALUE")
        };
        all.iter().map(pair).collect()
    }

    fn sides(settings: &[&str], versions: &[&str], alone: bool) -> Result<Sides> {
        let versions: Vec<String> = versions.iter().map(|version| (*version).to_owned()).collect();
        let named = |versions: &[Option<&str>]| {
            Ok(versions.iter().map(|version| version.unwrap_or("newest").to_owned()).collect())
        };
        of_sides(&given(settings), &versions, alone, &named)
    }

    fn choice(settings: &[&str], version: Option<&str>) -> Choice {
        Choice { settings: given(settings), programs: version.map(str::to_owned) }
    }

    fn varied(all: &[(&str, Choice)]) -> Sides {
        Sides::Varied(all.iter().map(|(name, choice)| ((*name).to_owned(), choice.clone())).collect())
    }

    #[test]
    fn one_subject_with_settings_is_compared_with_itself_without_them() {
        let expected = [("default settings", choice(&[], None)), ("b=2, a=1", choice(&["a=1", "b=2"], None))];
        assert_eq!(sides(&["b=2", "a=1"], &[], true).unwrap(), varied(&expected));
        let expected = [("default settings", choice(&[], Some("18"))), ("a=1", choice(&["a=1"], Some("18")))];
        assert_eq!(sides(&["a=1"], &["18"], true).unwrap(), varied(&expected));
    }

    #[test]
    fn values_of_one_setting_are_compared_and_other_settings_are_those_of_all() {
        let expected = [("a=1", choice(&["a=1", "b=2"], None)), ("a=3", choice(&["a=3", "b=2"], None))];
        assert_eq!(sides(&["a=1", "b=2", "a=3", "a=1"], &[], true).unwrap(), varied(&expected));
    }

    #[test]
    fn versions_of_an_engine_are_compared_with_each_other_or_with_the_newest() {
        let expected = [("newest", choice(&[], None)), ("15", choice(&[], Some("15")))];
        assert_eq!(sides(&[], &["15"], true).unwrap(), varied(&expected));
        let expected = [("15", choice(&["a=1"], Some("15"))), ("18", choice(&["a=1"], Some("18")))];
        assert_eq!(sides(&["a=1"], &["15", "18", "15"], true).unwrap(), varied(&expected));
        assert_eq!(sides(&[], &["15"], false).unwrap(), Sides::Same(choice(&[], Some("15"))));
    }

    #[test]
    fn two_subjects_have_the_same_settings() {
        assert_eq!(sides(&["b=2", "a=1"], &[], false).unwrap(), Sides::Same(choice(&["a=1", "b=2"], None)));
        assert_eq!(sides(&[], &[], true).unwrap(), Sides::Same(Choice::default()));
        let why =
            |all: &[&str], versions: &[&str], alone| sides(all, versions, alone).unwrap_err().to_string();
        assert!(why(&["a=1", "a=2"], &[], false).contains("one subject alone"));
        assert!(why(&["a=1", "a=2", "b=1", "b=2"], &[], true).contains("varies one setting"));
        assert!(why(&[], &["15", "18"], false).contains("one subject alone"));
        assert!(why(&["a=1", "a=2"], &["15", "18"], true).contains("one subject alone"));
        assert!(single(&given(&["a=1", "a=2"])).unwrap_err().to_string().contains("two values, 1 and 2"));
    }

    #[test]
    fn values_are_compared_by_what_they_mean() {
        let is = |value: &str, unit: &str, wanted: &str| {
            ServerValue { value: value.into(), unit: unit.into() }.is(wanted)
        };
        assert!(is("on", "", "1") && is("OFF", "", "false") && is("1", "", "on"));
        assert!(is("replica", "", "Replica") && is("0.9", "", "0.90"));
        assert!(is("16384", "8kB", "128MB") && is("16384", "8kB", "16384") && is("4096", "kB", "4MB"));
        assert!(is("900", "s", "15min") && is("1000", "ms", "1s") && is("134217728", "", "128M"));
        assert!(!is("on", "", "off") && !is("10", "", "1") && !is("4096", "kB", "7MB") && !is("1", "", "1M"));
    }

    #[test]
    fn sqlite_has_no_settings_and_no_programs() {
        let settings = EngineArgs { setting: given(&["a=1"]), ..EngineArgs::default() };
        assert!(check(&settings, &[Dialect::Sqlite], &[]).is_err());
        assert!(check(&settings, &[Dialect::Sqlite, Dialect::Postgres], &[]).is_ok());
        assert!(check(&EngineArgs::default(), &[Dialect::Sqlite], &[]).is_ok());
        let version = EngineArgs { engine_bin: vec!["18".to_owned()], ..EngineArgs::default() };
        let refused = check(&version, &[Dialect::Sqlite], &[]).unwrap_err().to_string();
        assert!(refused.contains("SQLite is compiled in"), "{refused}");
        let theirs = "postgres://me@127.0.0.1:1/x".parse().unwrap();
        let refused = check(&version, &[Dialect::Postgres], &[theirs]).unwrap_err().to_string();
        assert!(refused.contains("runs already"), "{refused}");
    }
}
