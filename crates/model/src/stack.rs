//! What was measured: read back from the live system, never assumed.

use serde::{Deserialize, Serialize};

/// The stack under a target, as a part of the comparison key.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Stack {
    pub engine: String,
    /// Its version, as it reports it.
    pub engine_version: String,
    /// The crate or service between us and the engine: `rusqlite`.
    pub adapter: String,
    pub adapter_version: String,
    /// How transactions are expressed: `plain`.
    pub style: String,
    /// `direct` or `http`.
    pub route: String,
    /// The server in front of the engine, for the route `http`: name and version.
    pub server: Option<String>,
    /// Isolation of writing transactions.
    pub isolation: String,
    /// What an acknowledged commit survives.
    pub durability: Durability,
    /// Engine and pool settings that a reader may want to compare, in the order of the report.
    pub settings: Vec<(String, String)>,
}

/// How messages and results call a store of several: `shard-1`.
pub fn store_name(shard: usize) -> String {
    format!("shard-{shard}")
}

impl Stack {
    /// What the first of several stores reports, how many there are, and in what the others differ from it. An acknowledged commit
    /// survives what it does in the weakest.
    ///
    /// # Panics
    /// When there is no store.
    pub fn joined(stacks: &[Stack]) -> Stack {
        let mut all = stacks[0].clone();
        all.settings.push(("stores".into(), stacks.len().to_string()));
        for (shard, stack) in stacks.iter().enumerate().skip(1) {
            let mut differs = |what: &str, value: &str| {
                all.settings.push((format!("{} {what}", store_name(shard)), value.to_owned()));
            };
            for (what, theirs, first) in [
                ("engine version", &stack.engine_version, &stacks[0].engine_version),
                ("isolation", &stack.isolation, &stacks[0].isolation),
                ("durability", &stack.durability.detail, &stacks[0].durability.detail),
            ] {
                if theirs != first {
                    differs(what, theirs);
                }
            }
            for setting in stack.settings.iter().filter(|setting| !stacks[0].settings.contains(setting)) {
                differs(&setting.0, &setting.1);
            }
            if stack.durability.tier > all.durability.tier {
                all.durability = stack.durability.clone();
            }
        }
        all
    }
}

/// What an acknowledged commit survives, and by which settings.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Durability {
    /// The tier by name.
    pub tier: Tier,
    /// The settings that make it so, and anything a reader must know.
    pub detail: String,
}

/// Durability by name, from the strongest to the weakest.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Tier {
    /// Every commit is flushed before it is acknowledged.
    Durable,
    /// A crash of the machine may lose the last moments.
    Delayed,
    /// A crash loses everything, or may corrupt it.
    #[default]
    Volatile,
}

impl std::fmt::Display for Tier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Tier::Durable => "durable",
            Tier::Delayed => "delayed",
            Tier::Volatile => "volatile",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stores_that_differ_say_so_and_the_weakest_durability_counts() {
        let stack = |version: &str, tier, cache: &str| Stack {
            engine: "sqlite".into(),
            engine_version: version.into(),
            durability: Durability { tier, detail: format!("{tier} by settings") },
            settings: vec![("page_size".into(), "4096".into()), ("cache_size".into(), cache.into())],
            ..Stack::default()
        };
        let same = Stack::joined(&vec![stack("3", Tier::Durable, "1"); 2]);
        assert_eq!(same.settings[2..], [("stores".to_owned(), "2".to_owned())]);
        assert_eq!((same.engine_version.as_str(), same.durability.tier), ("3", Tier::Durable));
        let one_differs = Stack::joined(&[stack("3", Tier::Durable, "1"), stack("4", Tier::Delayed, "2")]);
        let described: Vec<String> =
            one_differs.settings[3..].iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let expected =
            ["shard-1 engine version: 4", "shard-1 durability: delayed by settings", "shard-1 cache_size: 2"];
        assert_eq!(described, expected);
        assert_eq!(one_differs.durability.detail, "delayed by settings");
    }
}
