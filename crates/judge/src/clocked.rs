//! What reports say of the calls with a clock around each statement.

use crate::figures;
use result::{Clocked, ClockedPart, Trial};

/// Parts of a call below this share are counted together where room is short.
const SHARE_MIN: f64 = 0.02;
/// Calls below which their mean would be an anecdote.
const CALLS_MIN: u64 = 10;

/// What stands above them.
pub const CAPTION: &str = "One call in 64 has a clock around each statement. Shares are of the service time of the same calls as seen by the client; the rest is logic and transport";

/// Each kind with such calls, and each part of a kind that is shown apart.
pub fn accounts(trial: &Trial) -> Vec<(String, &Clocked)> {
    let mut accounts = Vec::new();
    for kind in &trial.kinds {
        accounts.extend(kind.clocked.as_ref().map(|clocked| (kind.name.clone(), clocked)));
        for facet in &kind.facets {
            let name = format!("{} {}", kind.name, facet.name);
            accounts.extend(facet.clocked.as_ref().map(|clocked| (name, clocked)));
        }
    }
    accounts
}

/// A kind's account on a line or two: the largest parts first. Parts of kinds have theirs in the tables of the pages.
pub fn line(clocked: &Clocked) -> String {
    if clocked.calls < CALLS_MIN {
        return format!("too few calls ({})", figures::count(clocked.calls));
    }
    let mut parts = clocked.parts();
    parts.sort_by(|one, other| other.of_call_ns.total_cmp(&one.of_call_ns));
    let (large, small): (Vec<ClockedPart<'_>>, Vec<ClockedPart<'_>>) =
        parts.into_iter().partition(|part| clocked.share(part.of_call_ns) >= SHARE_MIN);
    let mut words: Vec<String> = large
        .iter()
        .map(|part| format!("{} {}", figures::percent(clocked.share(part.of_call_ns)), sent(part)))
        .collect();
    if !small.is_empty() {
        let rest: f64 = small.iter().map(|part| part.of_call_ns).sum();
        words.push(format!("{} {} more", figures::percent(clocked.share(rest)), small.len()));
    }
    format!(
        "{} of {} ({} calls): {}",
        figures::percent(clocked.measured_share()),
        figures::duration(clocked.service_ns),
        figures::count(clocked.calls),
        words.join(", ")
    )
}

/// `read_stock (×10.0)`, or the name alone of what a call has once.
fn sent(part: &ClockedPart<'_>) -> String {
    if (part.times - 1.0).abs() < 0.005 {
        part.name.to_owned()
    } else {
        format!("{} (×{})", part.name, figures::trimmed(part.times, 1))
    }
}

/// The rows of the full table, a part each: whose, which, how often in a call, one of them, all of them, their share.
pub fn rows(trial: &Trial) -> Vec<[String; 6]> {
    let mut rows = Vec::new();
    for (name, clocked) in accounts(trial).into_iter().filter(|(_, clocked)| clocked.calls >= CALLS_MIN) {
        let parts = clocked.parts();
        let measured: f64 = parts.iter().map(|part| part.of_call_ns).sum();
        let figures_of = |ns: f64| [figures::duration(ns), figures::percent(clocked.share(ns))];
        let mut row = |part: &str, times: String, each: String, ns: f64| {
            let [together, share] = figures_of(ns);
            rows.push([name.clone(), part.to_owned(), times, each, together, share]);
        };
        for part in &parts {
            let each = figures::duration(part.of_call_ns / part.times);
            row(part.name, figures::trimmed(part.times, 2), each, part.of_call_ns);
        }
        let none = String::new;
        row("measured", none(), none(), measured);
        row("logic between statements", none(), none(), clocked.logic_ns);
        row("not clocked", none(), none(), clocked.service_ns - measured - clocked.logic_ns);
        let calls = format!("{} calls", figures::count(clocked.calls));
        row("service time", calls, none(), clocked.service_ns);
    }
    rows
}
