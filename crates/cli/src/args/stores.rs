//! The databases of a command: one, or one for each store that the data is split over.

use anyhow::{Result, bail};
use clap::Args;
use deploy::database::parse_url;
use deploy::{DATABASE, variable};
use sql::{DbUrl, Dialect, ServerUrl, split_name};
use std::path::Path;

/// The most stores that may be asked for.
pub(crate) const SHARDS_MAX: u32 = 64;

/// How the data is split.
#[derive(Debug, Args, Clone, Default, PartialEq)]
pub(crate) struct Shards {
    /// Number of stores that the data is split over, each with its own engine: `tpcb` by branch, so that
    /// calls stay within a store.
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=i64::from(SHARDS_MAX)))]
    pub(crate) shards: Option<u32>,
}

/// Databases as they were named, and in how many stores the data is.
#[derive(Debug, Clone)]
pub(crate) struct Stores {
    /// In the order of the stores: none, or one for each.
    named: Vec<String>,
    pub(crate) shards: u32,
    /// The broker of `broker=ADDRESS`, without its password.
    pub(crate) broker: Option<String>,
}

impl Stores {
    /// Reads `URL`, or `shard-0=URL`, `shard-1=URL` and so on.
    pub(crate) fn of(given: &[String], shards: Option<u32>) -> Result<Stores> {
        let mut given = given.to_vec();
        // A server gets one address per database.
        if let [only] = &given[..]
            && std::env::var(DATABASE).is_ok_and(|first| first == *only)
        {
            given.extend(
                (1..SHARDS_MAX).map_while(|store| std::env::var(variable(DATABASE, store as usize)).ok()),
            );
            if given.len() > 1 {
                let named = given.into_iter().enumerate();
                given = named.map(|(store, url)| format!("shard-{store}={url}")).collect();
            }
        }
        let count = given.len() as u32;
        if count > SHARDS_MAX {
            bail!("{count} databases are named; {SHARDS_MAX} are the most");
        }
        let mut named = vec![None; given.len()];
        for one in &given {
            let (name, url) = split_name(one);
            let place = match name {
                None if count == 1 => 0,
                None => bail!(
                    "{count} databases are named without their stores\nhint: write --db shard-0=URL, --db \
                     shard-1=URL and so on"
                ),
                Some(name) => {
                    match name.strip_prefix("shard-").and_then(|number| number.parse::<usize>().ok()) {
                        Some(place) if place < named.len() => place,
                        _ => bail!(
                            "no store `{name}`: the {count} stores are shard-0 to shard-{}\nhint: \
                         write --db shard-0=URL",
                            count - 1
                        ),
                    }
                }
            };
            if named[place].replace(url.to_owned()).is_some() {
                bail!("shard-{place} is named twice");
            }
        }
        if let Some(shards) = shards.filter(|shards| count > 0 && *shards != count) {
            bail!(
                "--shards is {shards}, and --db names {count}: one database is needed for each store\nhint: write --db \
                 shard-0=URL, --db shard-1=URL and so on, or leave --db out for private ones"
            );
        }
        let named: Vec<String> = named.into_iter().flatten().collect();
        Ok(Stores { shards: shards.unwrap_or(count.max(1)), named, broker: None })
    }

    /// The same, with `broker=ADDRESS` among them.
    pub(crate) fn with_broker(given: &[String], shards: Option<u32>) -> Result<Stores> {
        let is_broker = |one: &&String| split_name(one).0 == Some("broker");
        let (brokers, rest): (Vec<&String>, Vec<&String>) = given.iter().partition(is_broker);
        let broker = match brokers[..] {
            [] => None,
            [one] => Some(deploy::broker_address(split_name(one).1)?),
            _ => bail!("--db broker=… is given more than once"),
        };
        let rest: Vec<String> = rest.into_iter().cloned().collect();
        Ok(Stores { broker, ..Stores::of(&rest, shards)? })
    }

    /// Their addresses, with passwords. All must be of one engine: that of the subject, where it is given.
    pub(crate) fn urls(&self, dialect: Option<Dialect>) -> Result<Vec<DbUrl>> {
        let urls = |dialect| -> Result<Vec<DbUrl>> {
            let named = self.named.iter().enumerate();
            named.map(|(store, url)| parse_url(url, dialect, store)).collect()
        };
        // Stores on two engines are wrong whatever the subject.
        let found: Vec<DbUrl> = self.named.iter().map(|url| Ok(url.parse()?)).collect::<Result<_>>()?;
        for (store, url) in found.iter().enumerate().skip(1) {
            if url.dialect() != found[0].dialect() {
                let [first, other] = [found[0].dialect().name(), url.dialect().name()];
                bail!("the stores of one subject are on one engine; --db names {first} and {other}");
            }
            if let Some(twice) = found[..store].iter().position(|other| is_same(other, url)) {
                bail!("shard-{twice} and shard-{store} are the same database, {}", url.place());
            }
        }
        urls(dialect)
    }
}

/// Whether two addresses are certainly of one database.
fn is_same(one: &DbUrl, other: &DbUrl) -> bool {
    match (one, other) {
        (DbUrl::Sqlite(one), DbUrl::Sqlite(other)) => {
            // What is not there yet has no name but this.
            let real = |path: &Path| path.canonicalize().or_else(|_| std::path::absolute(path));
            real(&one.path).is_ok_and(|one| real(&other.path).is_ok_and(|other| one == other))
        }
        (DbUrl::Server(one), DbUrl::Server(other)) => {
            let places = |url: &ServerUrl| url.nodes().iter().map(ServerUrl::place).collect::<Vec<_>>();
            let others = places(other);
            one.database == other.database && places(one).iter().any(|place| others.contains(place))
        }
        (DbUrl::Sqlite(_), DbUrl::Server(_)) | (DbUrl::Server(_), DbUrl::Sqlite(_)) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(given: &[&str], shards: Option<u32>, expected: Result<(&[&str], u32), &str>) {
        let given: Vec<String> = given.iter().map(|one| (*one).to_owned()).collect();
        match (Stores::of(&given, shards), expected) {
            (Ok(found), Ok((named, shards))) => {
                assert_eq!(
                    (found.named.iter().map(String::as_str).collect::<Vec<_>>(), found.shards),
                    (named.to_vec(), shards)
                );
            }
            (Err(error), Err(words)) => assert!(error.to_string().contains(words), "{given:?}: {error}"),
            (found, expected) => panic!("{given:?}: {found:?}, expected {expected:?}"),
        }
    }

    #[test]
    fn databases_are_named_one_by_one_or_alone() {
        check(&[], None, Ok((&[], 1)));
        check(&[], Some(4), Ok((&[], 4)));
        check(&["sqlite:a.db?journal=wal"], None, Ok((&["sqlite:a.db?journal=wal"], 1)));
        check(
            &["shard-1=sqlite:b.db", "shard-0=sqlite:a.db?x=1"],
            None,
            Ok((&["sqlite:a.db?x=1", "sqlite:b.db"], 2)),
        );
        check(&["sqlite:a.db", "sqlite:b.db"], None, Err("write --db shard-0=URL"));
        check(&["shard-0=sqlite:a.db", "shard-0=sqlite:b.db"], None, Err("shard-0 is named twice"));
        check(&["shard-0=sqlite:a.db", "shard-2=sqlite:b.db"], None, Err("no store `shard-2`"));
        let many: Vec<String> = (0..65).map(|store| format!("shard-{store}=sqlite:{store}.db")).collect();
        let error = Stores::of(&many, None).unwrap_err().to_string();
        assert!(error.contains("65 databases are named; 64 are the most"), "{error}");
        check(&["broker=kafka://x:1"], None, Err("no store `broker`"));
        let with_broker = |given: &[&str]| {
            let given: Vec<String> = given.iter().map(|one| (*one).to_owned()).collect();
            Stores::with_broker(&given, None).map(|stores| (stores.named, stores.broker))
        };
        let (named, broker) = with_broker(&["broker=kafka://me:secret@h:1", "sqlite:a.db"]).unwrap();
        assert_eq!((named.len(), broker.as_deref()), (1, Some("kafka://me@h:1")));
        for (given, why) in [
            (&["broker=h:1", "broker=h:2"][..], "--db broker=… is given more than once"),
            (&["broker=kafka://me:secret@h"], "`…@h` is not an address of a broker"),
            (&["shard-1=sqlite:b.db", "broker=h:1"], "no store `shard-1`"),
        ] {
            let error = with_broker(given).unwrap_err().to_string();
            assert!(error.contains(why), "{given:?}: {error}");
        }
        check(&["shard-0=sqlite:a.db"], Some(2), Err("--shards is 2, and --db names 1"));
    }
}
