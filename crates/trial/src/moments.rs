//! Whether calls are done whole or not at all: what is stored is looked at while they are made, outside the measured time.

use crate::closing::{SHOWN, of_answers};
use crate::lookups::LookupSwitch;
use admin::{SnapshotReader, store};
use measure::Monotonic;
use model::{Clock, Nanos};
use result::{Audit, Check};
use sql::{Catalogue, DbUrl, Dialect, MySqlSettings, Value};
use std::sync::Arc;
use std::thread::{JoinHandle, sleep};
use std::time::Duration;
use targets::Driven;

/// From one look to the next at the least, and how many times as long as a look takes.
const APART: Duration = Duration::from_millis(100);
const TIMES_APART: u32 = 20;
/// No look may take longer, connecting included.
const LONGEST: Nanos = Nanos::from_millis(100);
/// So many are tried, until one takes longer than the second: on a busy machine each may wait for a core.
const TRIES: u32 = 20;
const TRIED_LONGEST: Nanos = Nanos::from_secs(1);
/// How soon the end is noticed.
const LOOK: Duration = Duration::from_millis(20);

/// Looks at one store.
pub(crate) struct MomentChecker {
    asked: Option<(DbUrl, Vec<Condition>)>,
    thread: Option<JoinHandle<Looks>>,
}

/// A name, and the query of what breaks it.
type Condition = (String, String);

/// What was seen.
#[derive(Default)]
struct Looks {
    made: u64,
    /// Those that saw a part of a call.
    partial: u64,
    /// Rows of some of these, in words.
    shown: Vec<String>,
    /// Why there was no other look.
    ended_by: Option<String>,
}

impl MomentChecker {
    /// Of a store that shows one state to a query. Conditions are left out that do not hold before the first call, or of which the query
    /// takes long; and all of them where the rows are spread over nodes.
    pub(crate) fn of<W: Driven>(url: &DbUrl) -> Option<MomentChecker> {
        let file = Catalogue::parse(W::at_any_moment()).ok()?;
        let mut conditions: Vec<Condition> =
            file.iter().map(|(name, query)| (name.to_owned(), query.to_owned())).collect();
        if conditions.is_empty() || store(url).product().ok()?.is_some() || is_spread(url)? {
            return None;
        }
        conditions.retain(|(_, query)| is_usable(url, query).unwrap_or(false));
        (!conditions.is_empty())
            .then(|| MomentChecker { asked: Some((url.clone(), conditions)), thread: None })
    }

    /// Begins, at the first time, and looks whenever the switch is on.
    pub(crate) fn start(&mut self, switch: &Arc<LookupSwitch>) {
        let Some((url, conditions)) = self.asked.take() else { return };
        let switch = Arc::clone(switch);
        let thread = std::thread::Builder::new().name("moments".into());
        // Without a thread nothing is looked at, and nothing is said to have been.
        self.thread = thread.spawn(move || look(&url, &conditions, &switch)).ok();
    }

    /// What came of it, once it is over; nothing where there was no look.
    pub(crate) fn end(self) -> Option<Audit> {
        let looks = self.thread?.join().unwrap_or_else(|_| Looks {
            ended_by: Some("the thread that looks has panicked".into()),
            ..Looks::default()
        });
        judged(looks).map(|found| of_answers("all-or-nothing", found, 0.0))
    }
}

/// Whether a head of Spider has its rows on other nodes, which commit one after the other.
fn is_spread(url: &DbUrl) -> Option<bool> {
    let spread = match url.dialect() {
        Dialect::MySql => rows(url, MySqlSettings::SPREAD).ok()?,
        Dialect::Sqlite | Dialect::Postgres => Vec::new(),
    };
    Some(spread.iter().any(|row| row.get(1) != Some(&Value::Text("0".into()))))
}

/// Over a session that the engine's counts tell from others.
fn rows(url: &DbUrl, query: &str) -> Result<Vec<Vec<Value>>, admin::Error> {
    SnapshotReader::open(url)?.rows(query)
}

/// Whether a condition holds, and can be looked at in time.
fn is_usable(url: &DbUrl, query: &str) -> Result<bool, admin::Error> {
    for _ in 0..TRIES {
        let clock = Monotonic::start();
        if !rows(url, query)?.is_empty() {
            return Ok(false);
        }
        match clock.now() {
            took if took < LONGEST => return Ok(true),
            took if took > TRIED_LONGEST => break,
            _ => {}
        }
    }
    Ok(false)
}

/// One condition after the other.
fn look(url: &DbUrl, conditions: &[Condition], switch: &LookupSwitch) -> Looks {
    let mut looks = Looks::default();
    let mut next = conditions.iter().cycle();
    while !switch.is_over() {
        let Some((name, query)) = next.next().filter(|_| switch.is_on()) else {
            sleep(LOOK);
            continue;
        };
        let clock = Monotonic::start();
        match rows(url, query) {
            Ok(rows) => {
                looks.made += 1;
                looks.partial += u64::from(!rows.is_empty());
                let room = SHOWN.saturating_sub(looks.shown.len());
                looks.shown.extend(rows.iter().take(room).map(|row| format!("{name}: {}", in_words(row))));
            }
            Err(error) => {
                looks.ended_by = Some(error.to_string());
                return looks;
            }
        }
        let took = Duration::from_nanos(clock.now().0);
        let mut left = APART.max(took * TIMES_APART);
        while !left.is_zero() && !switch.is_over() {
            sleep(left.min(LOOK));
            left = left.saturating_sub(LOOK);
        }
    }
    looks
}

fn in_words(row: &[Value]) -> String {
    row.iter().map(Value::to_string).collect::<Vec<_>>().join(", ")
}

fn judged(Looks { made, partial, shown, ended_by }: Looks) -> Option<(Check, String, Vec<String>)> {
    Some(match (made, partial, ended_by) {
        (0, _, None) => return None,
        (0, _, Some(why)) => (
            Check::Inconclusive,
            format!("no one looked at the store outside the measured time ({why})"),
            shown,
        ),
        (_, 0, ended_by) => {
            let early = ended_by.map_or_else(String::new, |why| format!(", until that ended early ({why})"));
            let sentence = format!(
                "changes of a call were stored together at each of {made} moments outside the measured time{early}"
            );
            (Check::Passed, sentence, shown)
        }
        _ => {
            let sentence = format!(
                "some changes of a call were stored without the others at {partial} of {made} moments outside the measured time"
            );
            (Check::Failed, sentence, shown)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_looked_at_is_not_said_to_be_whole() {
        let check = |made, partial, ended_by: Option<&str>| {
            let ended_by = ended_by.map(str::to_owned);
            judged(Looks { made, partial, ended_by, ..Looks::default() }).map(|(check, ..)| check)
        };
        assert_eq!(check(0, 0, None), None);
        assert_eq!(check(0, 0, Some("it was gone")), Some(Check::Inconclusive));
        assert_eq!(check(9, 0, Some("it was gone")), Some(Check::Passed));
        assert_eq!(check(9, 1, None), Some(Check::Failed));
    }
}
