//! What clocks inside calls add up to, compared with the clock of their caller.

use super::{fine, listed, warning};
use crate::figures;
use result::{Rule, Trial};

/// How far the parts of a call may exceed the whole, as a share: two clocks on one machine, read one after the other.
const EXCESS_MAX: f64 = 0.01;

/// Whether the parts fit into the calls that they were clocked in. Nothing where no call had such clocks.
pub(super) fn clocked(trial: &Trial) -> Option<Rule> {
    let accounts = crate::clocked::accounts(trial);
    let share = |(name, clocked): &(String, &result::Clocked)| {
        format!("{name} {}", figures::percent(clocked.measured_share()))
    };
    let beyond: Vec<String> = accounts
        .iter()
        .filter(|(_, clocked)| {
            clocked.measured_share() > 1.0 + EXCESS_MAX || clocked.share(clocked.logic_ns) < -EXCESS_MAX
        })
        .map(share)
        .collect();
    if !beyond.is_empty() {
        return warning(
            format!(
                "the parts of calls took longer than the calls did, by the clock of their caller ({}): the time budget \
                 cannot be right",
                listed(&beyond)
            ),
            "see whether the server counts a time twice in `Server-Timing` or `stackmark-statements`",
        );
    }
    let kinds: Vec<String> = trial
        .kinds
        .iter()
        .filter_map(|kind| Some((kind.name.clone(), kind.clocked.as_ref()?)))
        .map(|account| share(&account))
        .collect();
    (!kinds.is_empty()).then_some(())?;
    fine(format!("in clocks, of the callers' time: {}", listed(&kinds)))
}
