//! Whether the circumstances of a trial are known well enough to compare it, and what they mean.

use super::{fine, hint, listed, note, warning};
use crate::figures;
use model::Product;
use result::{Rule, Tier, Trial};

/// Commits a committed call below one by more than this: not all calls that were acknowledged committed.
const COMMITS_MARGIN: f64 = 0.001;

/// Whether the work that calls took is known.
pub(super) fn fingerprint(trial: &Trial) -> Option<Rule> {
    let committed = || trial.kinds.iter().filter(|kind| kind.tally.call_counts.committed > 0);
    committed().next()?;
    let unknown: Vec<&str> = committed()
        .filter(|kind| kind.tally.work.is_none_or(|work| work.statements <= 0.0))
        .map(|kind| kind.name.as_str())
        .collect();
    if !unknown.is_empty() {
        return warning(
            format!(
                "the statements behind {} are not known, so nothing shows that another subject does the same work",
                listed(&unknown)
            ),
            "let the server report its work in the header `stackmark-work`",
        );
    }
    let odd: Vec<String> = committed()
        .filter_map(|kind| Some((kind, kind.tally.work?)))
        .filter(|(_, work)| {
            // None at all: a kind that reads without a transaction.
            work.attempts < 1.0 - COMMITS_MARGIN
                || (work.commits > 0.0 && work.commits < 1.0 - COMMITS_MARGIN)
        })
        .map(|(kind, work)| {
            format!(
                "{} {} attempts and {} commits",
                kind.name,
                figures::trimmed(work.attempts, 3),
                figures::trimmed(work.commits, 3)
            )
        })
        .collect();
    if !odd.is_empty() {
        return warning(
            format!(
                "fewer than one a committed call ({}): some calls were acknowledged without the work",
                listed(&odd)
            ),
            "check that the server does each call's work before it answers",
        );
    }
    let works: Vec<String> = committed()
        .filter_map(|kind| Some(format!("{} {}", kind.name, figures::short(kind.tally.work?.statements))))
        .collect();
    fine(format!("statements per committed call: {}", works.join(", ")))
}

/// Whether the engine executed the workload's statements in the same way all the time.
pub(super) fn plans(trial: &Trial) -> Option<Rule> {
    /// Changes that are listed in full.
    const LISTED: usize = 3;
    let plans = &trial.stack.plans;
    let changed: Vec<String> = plans
        .iter()
        .filter_map(|of| Some(format!("{} from {} to {}", of.statement, of.plan, of.later.as_ref()?)))
        .collect();
    let number = figures::counted(changed.len() as u64, "statement");
    match (plans.is_empty(), &changed[..]) {
        (true, _) => None,
        (false, []) => fine(format!(
            "the engine planned {} after the load as before it",
            figures::counted(plans.len() as u64, "statement")
        )),
        (false, _) => {
            let more = changed.len().saturating_sub(LISTED);
            let rest = if more == 0 { String::new() } else { format!("; and {more} more") };
            hint(
                format!(
                    "the plan of {number} changed while calls were made, for sessions that plan it again: {}{rest}",
                    changed[..changed.len() - more].join("; ")
                ),
                "gather statistics before the run (`analyze`), or warm up until the plan stays",
            )
        }
    }
}

/// Whether every field of the comparison key is known.
pub(super) fn key(trial: &Trial) -> Option<Rule> {
    let missing = unknown_fields(trial);
    if missing.is_empty() {
        return fine("all fields that a comparison needs are known");
    }
    warning(
        format!(
            "not known: {}; a comparison cannot show that it is the same on both sides",
            listed(&missing)
        ),
        "compare only with trials of the same run",
    )
}

fn unknown_fields(trial: &Trial) -> Vec<&'static str> {
    let (stack, data, machine) = (&trial.stack, &trial.data, &trial.machine);
    let is_unknown = |text: &str| matches!(text.trim(), "" | "unknown" | "not known");
    // How HTTP is carried is told by the load generator.
    let is_of_engine =
        |setting: &result::Setting| !["transport", "connections"].contains(&setting.name.as_str());
    let server_unknown = stack.route == "http" && stack.server.as_deref().is_none_or(is_unknown);
    [
        (is_unknown(&stack.engine) || is_unknown(&stack.engine_version), "the engine's version"),
        (is_unknown(&stack.adapter) || is_unknown(&stack.adapter_version), "the adapter's version"),
        (is_unknown(&stack.style), "the style"),
        (is_unknown(&stack.route), "the route"),
        (server_unknown, "the server"),
        (is_unknown(&stack.isolation), "the isolation"),
        (is_unknown(&stack.durability.detail), "the settings behind the durability"),
        (!stack.settings.iter().any(is_of_engine), "the engine's settings"),
        (data.rows == 0, "the rows at the start"),
        (data.bytes.is_none(), "the size of the data"),
        (data.file_system.as_deref().is_none_or(is_unknown), "the file system"),
        (data.checksum.is_none(), "the checksum of the data"),
        (is_unknown(&machine.cpu) || machine.cores == 0, "the CPU"),
        (is_unknown(&machine.kernel) || is_unknown(&machine.os), "the operating system"),
        (machine.memory_bytes == 0, "the memory"),
    ]
    .into_iter()
    .filter_map(|(missing, what)| missing.then_some(what))
    .collect()
}

/// Whether the data is in memory, so that a flush costs nothing and keeps nothing.
pub(super) fn in_memory(trial: &Trial) -> bool {
    trial.data.file_system.as_deref().is_some_and(|on| on.ends_with("(memory)"))
}

/// Says that the engine is one that our tests do not run on.
pub(super) fn untried_engine(trial: &Trial) -> Option<Rule> {
    let product = Product::of(&trial.stack.engine_version)?;
    hint(product.untried(), "check the audits, and note its version and settings beside the result")
}

/// What an acknowledged commit survives.
pub(super) fn durability(trial: &Trial) -> Option<Rule> {
    let tier = trial.stack.durability.tier;
    if trial.stack.durability.claimed {
        let word = trial.stack.durability.word();
        return note(format!("durability: {word}, not read back: {}", tier.meaning()));
    }
    match tier {
        Tier::Durable | Tier::Volatile if in_memory(trial) => warning(
            "the data is in memory: commits are fast but not durable",
            "put the database on a disk, or compare only with results in memory",
        ),
        Tier::Durable => fine(format!("{}: {}", tier.word(), tier.meaning())),
        Tier::Unknown => warning(
            format!("durability {}: {}", tier.word(), tier.meaning()),
            "compare only with results whose durability is known",
        ),
        Tier::Delayed | Tier::Volatile => {
            note(format!("{}: {}; compare only with results of this tier", tier.word(), tier.meaning()))
        }
    }
}
