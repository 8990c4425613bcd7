//! Sample documents for tests of what judges and prints them. Invented figures, but such as hang together: call counts add up,
//! budgets sum, percentiles follow from the spectrum, clients = rate × response time.

mod busy;
mod checks;
mod clocked;
mod comparison;
mod curve;
mod drill;
mod experiment;
mod groups;
mod history;
mod shape;
mod trial;

pub use busy::busy_trial;
pub use comparison::{compared, compared_mut, comparison, in_turn, redraw, two_metrics};
pub use curve::{rate_sweep, search, sweep};
pub use drill::drill;
pub use experiment::experiment;
pub use groups::groups;
pub use history::{HistoryFile, history, long_history, short_history};
use result::Document;
pub use trial::{
    deferred_trial, engine_trial, failed_trial, long_trial, open_trial, paced_trial, running, trial,
    two_stores,
};

/// One of each, by name, but for the large ones.
pub fn samples() -> Vec<(&'static str, Document)> {
    vec![
        ("trial", trial()),
        ("comparison", comparison()),
        ("in-turn", in_turn()),
        ("two-metrics", two_metrics()),
        ("experiment", experiment()),
        ("groups", groups()),
        ("failed", failed_trial()),
        ("open", open_trial()),
        ("paced", paced_trial()),
        ("deferred", deferred_trial()),
        ("engine", engine_trial()),
        ("hostile", hostile_trial()),
        ("running", running()),
        ("sweep", sweep()),
        ("rates", rate_sweep()),
        ("search", search()),
        ("drill", drill()),
    ]
}

/// A trial in which every text field holds markup, as a hostile server might send it.
pub fn hostile_trial() -> Document {
    fn strings(value: &mut serde_json::Value, hostile: &str) {
        match value {
            // Words of an enumeration, the schema and times have no free text.
            serde_json::Value::String(text) => text.push_str(hostile),
            serde_json::Value::Array(items) => items.iter_mut().for_each(|item| strings(item, hostile)),
            serde_json::Value::Object(fields) => fields
                .iter_mut()
                .filter(|(name, _)| {
                    ![
                        "schema", "utc", "state", "tier", "class", "roles", "check", "family", "when",
                        "severity",
                    ]
                    .contains(&name.as_str())
                        && (name.as_str() != "kind" && name.as_str() != "arrivals")
                })
                .for_each(|(_, field)| strings(field, hostile)),
            _ => {}
        }
    }
    let mut value = serde_json::to_value(failed_trial()).expect("a document is JSON");
    strings(&mut value, "<script>alert('x')</script>&\"</svg>");
    serde_json::from_value(value).expect("only free text was changed")
}
