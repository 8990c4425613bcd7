//! Whether a session answers as the catalogue asks: the script and random calls, compared with the oracle, body and all.

mod probes;
mod script;
mod vectors;

use crate::outcome::Reply;
use crate::{Cardinality, FoodCatalogue, Oracle, Outcome};
use contract::conformance::Script;
use model::Session;
use probes::Probes;
use serde_json::Value;

pub use contract::conformance::{Conformance, Disagreement};
pub use vectors::recorded;

/// What to hold a session to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ConformancePlan {
    /// How much data is loaded.
    pub size: Cardinality,
    /// Seed of the random calls.
    pub seed: u64,
    pub random_calls: u32,
}

impl ConformancePlan {
    /// A plan on the data of the golden vectors, which is tiny.
    pub const fn golden(seed: u64, random_calls: u32) -> ConformancePlan {
        ConformancePlan { size: Cardinality::tiny(), seed, random_calls }
    }
}

type CallResult = contract::conformance::CallResult<FoodCatalogue>;

/// Holds a session to the script and to random calls.
///
/// The store behind the session must be freshly loaded with the plan's size, and no one else may write to it meanwhile.
/// It is worn out afterwards. Meant for [`Cardinality::tiny`], where random calls meet each other often.
pub async fn conform<S: Session<FoodCatalogue>>(
    session: &mut S,
    plan: &ConformancePlan,
) -> Result<Conformance, Disagreement> {
    let mut oracle = Oracle::new(plan.size);
    let script = match plan.size == Cardinality::tiny() {
        true => Script::Recorded(vectors::golden()),
        false => Script::Asked(script::calls(plan.size)),
    };
    let mut probes = Probes::new(plan);
    let random = (0..plan.random_calls).map(|_| probes.draw());
    contract::conformance::conform(session, script, random, |call| Ok(oracle.answer(call)), agree).await
}

/// Whether `found` says the same as `expected`: fields that the contract does not know are no one's business.
pub fn agree(expected: &Outcome, found: &Outcome) -> Result<(), String> {
    let bodies = (serde_json::from_slice(&expected.body), serde_json::from_slice(&found.body));
    if let (Ok(expected), Ok(found)) = bodies {
        differs("", &expected, &found)?;
    }
    match expected.reply == found.reply {
        true => Ok(()),
        false => Err(format!("expected {}, found {}", words(&expected.reply), words(&found.reply))),
    }
}

/// The first difference of two answers.
fn differs(path: &str, expected: &Value, found: &Value) -> Result<(), String> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            expected.iter().try_for_each(|(name, value)| match found.get(name) {
                Some(found) => differs(&format!("{path}.{name}"), value, found),
                None => Err(format!("{}.{name} is missing", path)),
            })
        }
        (Value::Array(expected), Value::Array(found)) => {
            for (at, (expected, found)) in expected.iter().zip(found).enumerate() {
                differs(&format!("{path}[{at}]"), expected, found)?;
            }
            let (wanted, had) = (expected.len(), found.len());
            match wanted == had {
                true => Ok(()),
                false => Err(format!("{path}: expected {wanted} elements, found {had}")),
            }
        }
        _ if expected == found => Ok(()),
        _ => Err(format!("{path}: expected {expected}, found {found}")),
    }
}

fn words(reply: &Reply) -> String {
    match reply {
        Reply::Declined(why) => format!("{} {}", why.status(), why.name()),
        Reply::Categories { count, .. } => format!("{count} categories"),
        Reply::Category { version, .. } => format!("a category of version {version}"),
        Reply::Foods(listed) => match listed.total {
            Some(total) => format!("{} foods of {total}", listed.count),
            None => format!("{} foods", listed.count),
        },
        Reply::Food { version, .. } => format!("a food of version {version}"),
        Reply::Template { days, meals, items, .. } => {
            format!("a template of {days} days, {meals} meals and {items} items")
        }
        Reply::Stored { version } => format!("version {version} stored"),
        Reply::Deleted => "deleted".to_owned(),
        Reply::Inserted { count } => format!("{count} foods inserted"),
    }
}

/// The script on the data of the golden vectors.
#[cfg(test)]
pub(crate) fn script_of_tests() -> Vec<crate::Call> {
    script::calls(Cardinality::tiny())
}

#[cfg(test)]
mod tests;
