//! Whether calls are done whole or not at all: what is stored is looked at while they are made, as the subject warms up.

use crate::closing::{SHOWN, of_answers};
use admin::{SnapshotReader, store};
use measure::Monotonic;
use model::{Clock, Nanos};
use result::{Audit, Check};
use sql::{DbUrl, Dialect, MySqlSettings, Value};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep};
use std::time::Duration;
use targets::Driven;

/// From one look to the next at the least, and how many times as long as a look takes.
const APART: Duration = Duration::from_millis(100);
const TIMES_APART: u32 = 20;
/// No look may take longer, connecting included, and so many are tried: on a busy machine a single one may wait for a core.
const LONGEST: Nanos = Nanos::from_millis(100);
const TRIES: u32 = 4;
/// How soon the end is noticed.
const LOOK: Duration = Duration::from_millis(20);

/// Looks at one store.
pub(crate) struct MomentChecker {
    asked: Option<(DbUrl, String)>,
    thread: Option<JoinHandle<Looks>>,
}

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
    /// Of a store that shows one state to a query. Nothing where the workload has no query of what holds at any moment, where it does not
    /// hold before the first call, where the query takes long, or where the rows are spread over nodes.
    pub(crate) fn of<W: Driven>(url: &DbUrl) -> Option<MomentChecker> {
        let query = W::at_any_moment(url.dialect()).ok()??;
        if store(url).product().ok()?.is_some() || is_spread(url)? {
            return None;
        }
        for _ in 0..TRIES {
            let clock = Monotonic::start();
            if !rows(url, &query).ok()?.is_empty() {
                return None;
            }
            if clock.now() < LONGEST {
                return Some(MomentChecker { asked: Some((url.clone(), query)), thread: None });
            }
        }
        None
    }

    /// Begins, at the first time, and goes on until it is over.
    pub(crate) fn start(&mut self, over: &Arc<AtomicBool>) {
        let Some((url, query)) = self.asked.take() else { return };
        let over = Arc::clone(over);
        let thread = std::thread::Builder::new().name("moments".into());
        // Without a thread nothing is looked at, and nothing is said to have been.
        self.thread = thread.spawn(move || look(&url, &query, &over)).ok();
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

fn look(url: &DbUrl, query: &str, over: &AtomicBool) -> Looks {
    let mut looks = Looks::default();
    while !over.load(Ordering::Relaxed) {
        let clock = Monotonic::start();
        match rows(url, query) {
            Ok(rows) => {
                looks.made += 1;
                looks.partial += u64::from(!rows.is_empty());
                let room = SHOWN.saturating_sub(looks.shown.len());
                looks.shown.extend(rows.iter().take(room).map(|row| in_words(row)));
            }
            Err(error) => {
                looks.ended_by = Some(error.to_string());
                return looks;
            }
        }
        let took = Duration::from_nanos(clock.now().0);
        let mut left = APART.max(took * TIMES_APART);
        while !left.is_zero() && !over.load(Ordering::Relaxed) {
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
        (0, _, Some(why)) => {
            (Check::Inconclusive, format!("no one looked at the store during warm-up ({why})"), shown)
        }
        (_, 0, ended_by) => {
            let early = ended_by.map_or_else(String::new, |why| format!(", until that ended early ({why})"));
            let sentence = format!(
                "changes of a call were stored together at each of {made} moments during warm-up{early}"
            );
            (Check::Passed, sentence, shown)
        }
        _ => {
            let sentence = format!(
                "some changes of a call were stored without the others at {partial} of {made} moments during warm-up"
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
