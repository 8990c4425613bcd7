//! Data over several stores: a session has one in each, and passes each call on to the store that the call is for.

use anyhow::{Context, Result};
use benchmark::Benchmark;
use model::{AnySession, AnyTarget, Effort, Fault, Home, OpenError, Session, Stack, StatementTimes, Target};
use sql::DbUrl;

/// Targets of the same subject on each store, in order; at least one.
pub(crate) struct Sharded<W: Benchmark> {
    pub(crate) stores: Vec<AnyTarget<W>>,
    pub(crate) size: W::Extent,
}

/// How messages and results call a store of several.
pub(crate) fn name(shard: usize) -> String {
    format!("shard-{shard}")
}

impl<W: Benchmark> Target<W> for Sharded<W> {
    type Session = ShardedSession<W>;

    fn home(&self) -> Home {
        // One driver reaches all of them.
        self.stores[0].home()
    }

    async fn open(&self, worker: u32) -> Result<ShardedSession<W>, OpenError> {
        let mut sessions = Vec::with_capacity(self.stores.len());
        for (shard, store) in self.stores.iter().enumerate() {
            sessions.push(store.open(worker).await.map_err(|error| in_store(shard, error))?);
        }
        Ok(ShardedSession { sessions, size: self.size.clone(), last: 0 })
    }

    fn stack(&self) -> Stack {
        joined(self.stores.iter().map(AnyTarget::stack).collect())
    }
}

/// What is made of the address of each store, in order.
pub(crate) fn each<T>(stores: &[DbUrl], open: impl Fn(&DbUrl) -> Result<T>) -> Result<Vec<T>> {
    let named = |(shard, url)| open(url).with_context(|| name(shard));
    stores.iter().enumerate().map(named).collect()
}

pub(crate) fn in_store(shard: usize, error: OpenError) -> OpenError {
    let named = |what: String| format!("{}, {what}", name(shard));
    match error {
        OpenError::Unreachable { what, why } => OpenError::Unreachable { what: named(what), why },
        OpenError::Unusable { what, why } => OpenError::Unusable { what: named(what), why },
    }
}

/// What the first store says, how many there are, and in what the others differ from it. An acknowledged commit survives what
/// it does in the weakest.
pub(crate) fn joined(stacks: Vec<Stack>) -> Stack {
    let mut all = stacks[0].clone();
    all.settings.push(("stores".into(), stacks.len().to_string()));
    for (shard, stack) in stacks.iter().enumerate().skip(1) {
        let mut differs = |what: &str, value: &str| {
            all.settings.push((format!("{} {what}", name(shard)), value.to_owned()));
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

/// One session in each store.
pub(crate) struct ShardedSession<W: Benchmark> {
    sessions: Vec<AnySession<W>>,
    size: W::Extent,
    /// The store of the last call.
    last: usize,
}

impl<W: Benchmark> Session<W> for ShardedSession<W> {
    async fn run(&mut self, call: &W::Call, effort: &mut Effort) -> Result<W::Outcome, Fault> {
        self.last = W::shard(&self.size, call);
        self.sessions[self.last].run(call, effort).await
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.sessions[self.last].statement_times()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::{Durability, Tier};

    #[test]
    fn stores_that_differ_say_so_and_the_weakest_durability_counts() {
        let stack = |version: &str, tier, cache: &str| Stack {
            engine: "sqlite".into(),
            engine_version: version.into(),
            durability: Durability { tier, detail: format!("{tier} by settings") },
            settings: vec![("page_size".into(), "4096".into()), ("cache_size".into(), cache.into())],
            ..Stack::default()
        };
        let same = joined(vec![stack("3", Tier::Durable, "1"); 2]);
        assert_eq!(same.settings[2..], [("stores".to_owned(), "2".to_owned())]);
        assert_eq!((same.engine_version.as_str(), same.durability.tier), ("3", Tier::Durable));
        let one_differs = joined(vec![stack("3", Tier::Durable, "1"), stack("4", Tier::Delayed, "2")]);
        let told: Vec<String> =
            one_differs.settings[3..].iter().map(|(name, value)| format!("{name}: {value}")).collect();
        let expected =
            ["shard-1 engine version: 4", "shard-1 durability: delayed by settings", "shard-1 cache_size: 2"];
        assert_eq!(told, expected);
        assert_eq!(one_differs.durability.detail, "delayed by settings");
    }
}
