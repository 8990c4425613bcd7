//! What is known of engines that speak PostgreSQL's or MySQL's protocol and are neither: from their documentation, since our tests do
//! not run on them.

use crate::postgres;
use model::{Product, Stack, Tier};

/// Settings of MariaDB and MySQL that TiDB answers for the sake of clients, with values that mean nothing to it.
const INVENTED_BY_TIDB: [&str; 2] = ["log_bin", "sync_binlog"];

/// What a session reports, in the engine's own words where it is one of these: durability as its makers describe it, and of the settings
/// those that mean something to it.
#[must_use]
pub fn in_its_own_words(mut stack: Stack) -> Stack {
    let Some(product) = Product::of(&stack.engine_version) else { return stack };
    let replicated = |log: &str| {
        format!(
            "a commit is acknowledged when a majority of the replicas has written it to {log} (documentation of {}, not read back)",
            product.name()
        )
    };
    match product {
        Product::CockroachDb => {
            stack.durability.tier = Tier::Durable;
            stack.durability.detail = replicated("the Raft log of each range");
            stack.settings.retain(|(name, _)| !postgres::SETTINGS.contains(&of_server(name)));
        }
        Product::YugabyteDb => {
            stack.durability.tier = Tier::Durable;
            stack.durability.detail = replicated("the Raft log of each tablet");
            stack.settings.retain(|(name, _)| !postgres::SETTINGS.contains(&of_server(name)));
        }
        Product::TiDb => {
            stack.durability.tier = Tier::Durable;
            stack.durability.detail = replicated("the Raft log of each region of TiKV");
            stack.settings.retain(|(name, _)| {
                let name = of_server(name);
                !name.starts_with("innodb_") && !INVENTED_BY_TIDB.contains(&name)
            });
        }
        Product::Citus => stack.durability.detail.push_str(
            "; these are the coordinator's settings, and each worker flushes as its own settings say; a transaction on several workers is committed in two phases",
        ),
        Product::Vitess => stack.durability.detail.push_str(
            "; these are the settings of one shard, and each flushes as its own settings say; a transaction on several shards may be committed on some of them only",
        ),
    }
    stack
}

/// A setting without the store of several that it is of: `fsync` of `shard-1 fsync`.
fn of_server(name: &str) -> &str {
    name.rsplit_once(' ').map_or(name, |(_, name)| name)
}

/// Why calls in a style cannot be made on such an engine, if so. `style` is the style's name in subjects.
#[must_use]
pub fn lacks(product: Product, style: &str) -> Option<&'static str> {
    match (product, style) {
        (Product::TiDb, "procedure") => Some("it has no stored procedures"),
        (Product::Vitess, "procedure") => Some("its stored procedures run on databases without shards only"),
        (Product::TiDb | Product::Vitess, "2pc" | "2pc-log") => Some("it has no XA transactions"),
        (Product::CockroachDb | Product::YugabyteDb, "2pc" | "2pc-log") => {
            Some("its documentation names `prepare transaction` as not supported")
        }
        (Product::Citus, "2pc" | "2pc-log") => {
            Some("it prepares no transaction that has changed rows of several servers")
        }
        (Product::CockroachDb | Product::YugabyteDb, "outbox-notify") => {
            Some("it has no `listen` and `notify`")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Durability;

    fn stack(version: &str) -> Stack {
        let setting = |name: &str| (name.to_owned(), "1".to_owned());
        Stack {
            engine_version: version.to_owned(),
            durability: Durability { tier: Tier::Volatile, detail: "fsync=off".to_owned() },
            settings: [
                "fsync",
                "shard-1 fsync",
                "innodb_doublewrite",
                "sync_binlog",
                "sessions",
                "transport",
            ]
            .map(setting)
            .into(),
            ..Stack::default()
        }
    }

    #[test]
    fn what_an_engine_answers_for_the_sake_of_clients_is_not_shown_as_its_own() {
        for (version, names, words) in [
            (
                "13.0.0, CockroachDB CCL v25.3.4",
                "innodb_doublewrite sync_binlog sessions transport",
                "Raft log of each range",
            ),
            (
                "15.12-YB-2025.1.0.0-b0",
                "innodb_doublewrite sync_binlog sessions transport",
                "Raft log of each tablet",
            ),
            (
                "8.0.11-TiDB-v7.5.0",
                "fsync shard-1 fsync sessions transport",
                "the Raft log of each region of TiKV",
            ),
        ] {
            let shown = in_its_own_words(stack(version));
            let listed: Vec<&str> = shown.settings.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(listed.join(" "), names, "{version}");
            let Durability { tier, detail } = &shown.durability;
            assert!(
                *tier == Tier::Durable && detail.contains(words) && !detail.contains("fsync"),
                "{detail}"
            );
        }
        for version in ["15.8, Citus 12.1-1", "8.0.30-Vitess"] {
            let shown = in_its_own_words(stack(version));
            assert!(shown.durability.detail.starts_with("fsync=off; these are the "), "{version}");
            assert_eq!((shown.durability.tier, shown.settings.len()), (Tier::Volatile, 6));
        }
        assert_eq!(in_its_own_words(stack("15.8")), stack("15.8"));
    }

    #[test]
    fn what_an_engine_cannot_do_is_no_subject_there() {
        for product in Product::ALL {
            assert!(lacks(product, "plain").is_none(), "{product:?}");
            assert!(lacks(product, "2pc").is_some(), "{product:?}");
        }
    }
}
