//! What two variants differ in: one word each, and the fields of the comparison key that go with it.

use crate::plan::Variant;
use anyhow::{Result, bail};
use deploy::subjects::{self, Route};
use deploy::{BrokerSpec, RelayOptions, Spec};
use judge::rules::ENGINE_SETTING;
use model::Tier;
use sql::Dialect;
use strsim::jaro_winkler;

/// Words for a difference, each of which [`judge::rules::intended_by`] knows. A setting of a private engine is named by itself, `setting
/// work_mem`, and what has no word by the field of the comparison key: `stack.settings.outbox sink`.
pub const FACTORS: &[&str] = &[
    "route",
    "server",
    "transport",
    "connections",
    "revision",
    "adapter",
    "style",
    "orm",
    "engine",
    "version",
    "durability",
    "journal",
    "cache",
    "storage",
    "pool",
    "limits",
    "shards",
    "settings",
    "clients",
    "rate",
    "mix",
    "skew",
    "parameters",
    "announcing",
];

/// What fields of the comparison key begin with, before the point.
const FIELDS: [&str; 7] = ["stack", "plan", "data", "machine", "limits", "rates", "fingerprint"];

/// Fails where a word is neither a factor nor a field of the comparison key, which stands for itself: says what would be right.
///
/// # Errors
/// There is no such factor.
pub fn check(factor: &str) -> Result<()> {
    let is_field = factor.split_once('.').is_some_and(|(part, _)| FIELDS.contains(&part));
    if FACTORS.contains(&factor) || is_field {
        return Ok(());
    }
    let nearest = FACTORS.iter().max_by(|a, b| jaro_winkler(a, factor).total_cmp(&jaro_winkler(b, factor)));
    bail!(
        "no factor `{factor}`; nearest: `{}`\nhint: there are {}, and fields of the comparison key such as \
         stack.settings.work_mem",
        nearest.unwrap_or(&""),
        FACTORS.join(", ")
    )
}

/// Everything that `other` does otherwise than `base`.
pub fn between(base: &Variant, other: &Variant) -> Vec<String> {
    let mut found: Vec<String> = Vec::new();
    let mut note = |differs: bool, factor: &str| {
        if differs && found.iter().all(|known| known != factor) {
            found.push(factor.to_owned());
        }
    };
    let engines = base.spec.engine != other.spec.engine;
    let (mut served, mut routes, mut announcing) = (false, false, false);
    let (mut publish, mut styles, mut settle) = ([false; 2], [None; 2], false);
    if let (Ok(a), Ok(b)) = (subjects::find(&base.subject), subjects::find(&other.subject)) {
        routes = a.route() != b.route();
        served = !routes && a.route() == Route::Http;
        note(routes, "route");
        let revisions = a.is_revision_of(b);
        note(revisions, "revision");
        note(served && !revisions && a.server() != b.server(), "server");
        note(engines, "engine");
        // An ORM is driver and style in one.
        let orm = a.is_orm() != b.is_orm();
        note(orm, "orm");
        note(!orm && !engines && !revisions && a.adapter() != b.adapter(), "adapter");
        note(!orm && a.style() != b.style(), "style");
        announcing = (a.announces() || b.announces()) && a.style() != b.style();
        note(announcing, "announcing");
        publish = [a, b].map(|subject| subject.publishes());
        settle = [(a, base), (b, other)]
            .iter()
            .all(|(subject, variant)| subject.how.style.is_settled_over(variant.spec.shards as usize));
        // How a relay works matters only where both have one.
        if [a, b].iter().all(|subject| subject.how.style.has_outbox()) {
            styles = [a, b].map(|subject| Some(subject.how.style));
        }
    }
    let (a, b) = (&base.plan, &other.plan);
    let clients = a.workers != b.workers;
    note(clients, "clients");
    note(a.arrivals != b.arrivals || a.think != b.think || a.stages != b.stages, "rate");
    note(a.mix != b.mix, "mix");
    note(a.skew != b.skew, "skew");
    note(a.deferred != b.deferred, "plan.deferred");
    note(a.measured != b.measured, "plan.measured_s");
    note(a.calls != b.calls, "plan.calls");
    note(a.warmup != b.warmup, "plan.warmup_s");
    note(a.warmup_max != b.warmup_max, "plan.warmup_max_s");
    note(a.deadline != b.deadline, "plan.deadline_ns");
    note(a.drain_max != b.drain_max, "plan.drain_s");
    note(a.settle_max != b.settle_max, "plan.settle_s");
    note(!clients && !routes && a.runtimes != b.runtimes, "plan.generator_threads");
    // A pool that no one asked for follows the clients.
    let pool_asked = [base, other].iter().any(|variant| variant.asked.iter().any(|(name, _)| name == "pool"));
    note(sessions(base) != sessions(other) && (pool_asked || !clients), "pool");
    note(served && base.server_threads != other.server_threads, "server");
    note(served && base.http.transport != other.http.transport, "transport");
    note(served && base.http.connections != other.http.connections, "connections");
    note(base.server_limits != other.server_limits, "limits");
    let relays = [&base.relaying, &other.relaying];
    note(relays[0].limits != relays[1].limits, "limits");
    if settle {
        let [a, b] = relays.map(RelayOptions::described_between_stores);
        for name in differing(&a, &b) {
            note(true, &format!("stack.settings.{name}"));
        }
    }
    let limits_of = |broker: &Option<BrokerSpec>| broker.as_ref().and_then(|broker| broker.limits.clone());
    let brokers = [&base.spec.broker, &other.spec.broker];
    note(limits_of(brokers[0]) != limits_of(brokers[1]), "limits");
    // Where only one side publishes, how it does is part of that.
    if !announcing || publish.iter().all(|publishes| *publishes) {
        let [published, otherwise] = [0, 1].map(|side| relays[side].described(styles[side]));
        for name in differing(&published, &otherwise) {
            note(true, &format!("stack.settings.{name}"));
        }
        let named = |broker: &Option<BrokerSpec>| broker.as_ref().map(|broker| broker.named.clone());
        note(named(brokers[0]) != named(brokers[1]), "stack.settings.outbox broker");
    }
    spec_differences(&base.spec, &other.spec, engines, &mut note);
    found
}

/// Sessions on the engine: behind a server as many as its pool, else one a client.
fn sessions(variant: &Variant) -> u32 {
    match subjects::find(&variant.subject) {
        Ok(subject) if subject.route() == Route::Http => variant.pool,
        _ => variant.plan.workers,
    }
}

fn spec_differences(a: &Spec, b: &Spec, engines: bool, note: &mut impl FnMut(bool, &str)) {
    note(tier(a) != tier(b), "durability");
    // What only one of two engines has is part of being another engine.
    if engines {
        return;
    }
    note(a.programs != b.programs, "version");
    note(a.limits != b.limits, "limits");
    note(a.shards != b.shards, "shards");
    note(a.chosen != b.chosen, "parameters");
    note(a.statement_statistics != b.statement_statistics, "settings");
    for name in differing(&options(a), &options(b)) {
        note(true, factor_of_option(name));
    }
    for name in differing(&a.settings, &b.settings) {
        note(true, &format!("{ENGINE_SETTING}{name}"));
    }
}

/// What a commit survives there, as far as that is known before anything is started.
fn tier(spec: &Spec) -> Option<Tier> {
    match spec.dialect() {
        Ok(Dialect::Sqlite) => {
            let url = spec.sqlite().ok()?;
            Some(sql::sqlite_durability(url.journal, url.synchronous).tier)
        }
        _ => spec.tier().ok(),
    }
}

/// Options of a SQLite database with their defaults: a default that is written out is not a difference.
fn options(spec: &Spec) -> Vec<(String, String)> {
    let Ok(url) = spec.sqlite() else { return Vec::new() };
    let url = url.to_string();
    let pairs = url.split_once('?').map_or("", |(_, options)| options).split('&');
    pairs
        .filter_map(|option| option.split_once('='))
        .map(|(name, value)| (name.into(), value.into()))
        .collect()
}

/// Names that one side alone has, or with another value.
fn differing<'s>(a: &'s [(String, String)], b: &'s [(String, String)]) -> impl Iterator<Item = &'s str> {
    let only = |own: &'s [(String, String)], other: &'s [(String, String)]| {
        own.iter().filter(move |one| !other.contains(one)).map(|(name, _)| name.as_str())
    };
    only(a, b).chain(only(b, a))
}

/// The factor that an option of a SQLite database's address belongs to.
fn factor_of_option(name: &str) -> &str {
    match name {
        "journal" | "checkpoint" => "journal",
        "synchronous" => "durability",
        "cache" | "mmap" => "cache",
        "sync_delay" | "lock_delay" | "read_delay" | "shared_memory" => "storage",
        _ => "settings",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_word_stands_for_fields_of_the_key() {
        for factor in FACTORS {
            assert!(!judge::rules::intended_by(factor).is_empty(), "{factor}");
        }
    }
}
