//! Parts of a load that several processes made.

use super::{bad, fine, listed, warning};
use crate::figures;
use result::{LoadPart, PartState, Rule, Trial};
use std::collections::BTreeSet;

/// Windows that open further apart than this, in seconds, are not of the same time: slices of the time line are a second.
const APART_MAX_S: f64 = 0.5;
/// What may be done.
const ADVICE: &str = "write a new plan, run all of its parts, and merge exactly those";

/// Whether all parts are there, whole, and of the same time.
pub(super) fn parts(trial: &Trial) -> Option<Rule> {
    let parts = &trial.parts;
    if parts.is_empty() {
        return None;
    }
    let wrong: Vec<String> = parts.iter().filter_map(why_not).collect();
    if !wrong.is_empty() {
        return bad(listed(&wrong), ADVICE);
    }
    let saturated: Vec<String> = parts
        .iter()
        .filter(|part| part.saturated)
        .map(|part| format!("that of part {}", part.part))
        .collect();
    if !saturated.is_empty() {
        let sentence = format!("load generators were saturated: {}", listed(&saturated));
        return bad(sentence, "make more parts, on more machines, or plan for more generator threads");
    }
    let latest =
        parts.iter().filter_map(|part| Some((part.opened_s?, part))).max_by(|a, b| a.0.total_cmp(&b.0));
    let (apart_s, last) = latest?;
    let error_ms = parts.iter().filter_map(|part| part.clock_error_ms).fold(0.0, f64::max);
    let hosts: BTreeSet<_> = parts.iter().filter_map(|part| part.host.as_deref()).collect();
    if apart_s + error_ms / 1e3 > APART_MAX_S {
        let sentence = format!(
            "the window of part {} opened {} (±{}) after the first one: the parts did not make their calls at the same time",
            last.part,
            figures::duration(apart_s * 1e9),
            figures::duration(error_ms * 1e6)
        );
        return bad(sentence, "give all parts the same --start-at, late enough that all of them are ready");
    }
    let clocks = match (parts.iter().all(|part| part.clock_offset_ms.is_some()), hosts.len()) {
        (true, _) => format!("by the clock of the database (±{})", figures::duration(error_ms * 1e6)),
        (false, 0 | 1) => "by the clock of their machine".to_owned(),
        (false, _) => {
            let sentence = "the clocks of the machines were not compared: it is not known whether the parts made their calls at the same time";
            return warning(sentence, "use a database on a server, whose clock can be asked for");
        }
    };
    let apart = match apart_s > 0.0 {
        true => format!("within {}", figures::duration(apart_s * 1e9)),
        false => "at the same moment".to_owned(),
    };
    fine(format!(
        "{} on {} made the calls; their windows opened {apart} {clocks}",
        figures::counted(parts.len() as u64, "load generator"),
        figures::counted(hosts.len() as u64, "machine")
    ))
}

/// Why a part's calls are not in the result as they should be.
fn why_not(part: &LoadPart) -> Option<String> {
    let number = part.part;
    let told = |words: &str| match &part.why {
        Some(why) => format!("part {number} {words} ({why})"),
        None => format!("part {number} {words}"),
    };
    Some(match part.state {
        PartState::Complete => return None,
        PartState::Interrupted => told("was interrupted"),
        PartState::Failed => told("failed"),
        PartState::Unfinished => told("has no result"),
        PartState::Missing => told("is missing"),
        PartState::Foreign => told("belongs to another run"),
    })
}
