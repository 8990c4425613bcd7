//! What is likely to set the throughput of a trial: where the time of its calls goes, what was full, and what the engine's
//! sessions wait for, in one statement.
//!
//! "Likely", because all three are averages that something else may have caused. What a second measurement with one factor
//! changed said of it is the document's [`result::Confirmation`].

use crate::engine_findings::{cause, meaning};
use crate::figures;
use crate::rules::saturation;
use result::{BudgetPart, Suspect, Trial, Wait};

/// Share of session time from which what takes the most is worth a clause.
const TOLD: f64 = 0.3;
/// Share from which the largest is most of all.
const MOST: f64 = 0.5;

/// States named of one cause.
const STATES_NAMED: usize = 3;

/// What limits throughput, as far as one trial tells.
#[derive(Debug, Clone, PartialEq)]
pub struct Bottleneck {
    pub what: Suspect,
    /// It with what speaks for it, without a full stop: where the time goes, what the engine waits for, what was full.
    pub sentence: String,
}

/// The likely bottleneck of a trial; nothing where neither times nor processes were observed.
pub fn bottleneck(trial: &Trial) -> Option<Bottleneck> {
    let full = saturation::find(trial).filter(|found| found.suspect != Suspect::Unknown);
    let evidence: Vec<String> =
        [spent(trial), waited(trial), full.as_ref().map(|found| found.rule.sentence.clone())]
            .into_iter()
            .flatten()
            .map(|clause| figures::plain(&clause))
            .collect();
    let what = full.map_or(Suspect::Unknown, |found| found.suspect);
    let asked =
        if what != Suspect::Unknown && saturation::keeps_rate(trial) { Suspect::OfferedLoad } else { what };
    let found = match what {
        Suspect::Unknown => "unknown".to_owned(),
        Suspect::Clients => {
            format!("likely: throughput is limited by {}; no resource was saturated", what.words())
        }
        _ if what != asked => {
            format!("likely: throughput is limited by {}; next likely limit: {}", asked.words(), what.words())
        }
        _ => format!("likely: throughput is limited by {}", what.words()),
    };
    (!evidence.is_empty()).then(|| Bottleneck {
        what: asked,
        sentence: format!("{found}. {}", figures::capital(&evidence.join("; "))),
    })
}

/// Where the time of the calls goes.
fn spent(trial: &Trial) -> Option<String> {
    let budget = trial.overall.budget?;
    let (part, share) = BudgetPart::ALL
        .into_iter()
        .map(|part| (part, budget.share(part)))
        .max_by(|a, b| a.1.total_cmp(&b.1))
        .filter(|(part, share)| *share > 0.0 && *part != BudgetPart::Remainder)?;
    let most = if share >= MOST { "most" } else { "the largest part" };
    Some(format!("calls spend {most} of their time in {} ({})", part.words(), figures::percent(share)))
}

/// What the engine's sessions do the most, states of one cause taken together: what is spread over several names is not less
/// than one that has a single name.
fn waited(trial: &Trial) -> Option<String> {
    let engine = trial.engine.as_ref().filter(|engine| engine.samples > 0)?;
    let mut causes: Vec<(&str, Vec<&Wait>)> = Vec::new();
    for wait in &engine.waits {
        match causes.iter_mut().find(|(known, _)| *known == cause(&wait.name)) {
            Some((_, waits)) => waits.push(wait),
            None => causes.push((cause(&wait.name), vec![wait])),
        }
    }
    let sum = |waits: &[&Wait]| waits.iter().map(|wait| wait.share).sum::<f64>();
    let (cause, waits) = causes.into_iter().max_by(|a, b| sum(&a.1).total_cmp(&sum(&b.1)))?;
    let share = Some(sum(&waits)).filter(|share| *share >= TOLD)?;
    let often = if share >= MOST { "mostly" } else { "most often" };
    let share = figures::percent(share);
    Some(match waits.as_slice() {
        [only] => {
            let meaning = match meaning(&only.name) {
                "" => String::new(),
                meaning => format!(", {meaning}"),
            };
            format!("the engine's sessions are {often} in {} ({share}{meaning})", only.name)
        }
        several => {
            let named = |wait: &&Wait| format!("{} {}", wait.name, figures::percent(wait.share));
            let named: Vec<String> = several.iter().take(STATES_NAMED).map(named).collect();
            format!("the engine's sessions are {often} in {cause} ({share}: {})", named.join(", "))
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rules::tests::{sampled, wait_for_nothing};
    use result::{Arrivals, CallCounts};

    fn check(trial: &Trial, what: Suspect, words: &str) {
        let found = bottleneck(trial).expect("the sample is observed");
        assert_eq!(found.what, what, "{}", found.sentence);
        assert!(
            found.sentence.starts_with(if what == Suspect::Unknown { "unknown. " } else { "likely: " })
                && found.sentence.contains(words),
            "{}",
            found.sentence
        );
    }

    #[test]
    fn time_waits_and_what_was_full_make_one_statement() {
        let mut trial = sample_documents::trial().trials.remove(0);
        check(&trial, Suspect::Writer, "throughput is limited by SQLite's one writer");
        trial.stack.engine = "postgres".to_owned();
        wait_for_nothing(&mut trial);
        check(
            &trial,
            Suspect::Clients,
            "throughput is limited by the number of clients; no resource was saturated",
        );
        trial.engine = Some(sampled(&[("IO:WALSync", 0.8), ("running", 0.2)]));
        check(
            &trial,
            Suspect::CommitFlush,
            "engine's sessions are mostly in IO:WALSync (80.0 %, the disk, flushing",
        );
        // Running is the largest of the states, and half as much as the flushes that have several names.
        trial.engine = Some(sampled(&[
            ("running", 0.379),
            ("LWLock:WALWrite", 0.35),
            ("IO:WALSync", 0.253),
            ("Client:ClientRead", 0.018),
        ]));
        let flushes = "sessions are mostly in waits for flushes of the log (60.3 %: LWLock:WALWrite 35.0 %, IO:WALSync 25.3 %)";
        check(&trial, Suspect::CommitFlush, flushes);
        trial.engine = Some(sampled(&[("running", 0.45), ("IO:WALSync", 0.35)]));
        check(&trial, Suspect::Clients, "engine's sessions are most often in running (45.0 %");
        trial.engine = Some(sampled(&[("IO:WALSync", 0.8), ("running", 0.2)]));
        let budget = trial.overall.budget.as_mut().unwrap();
        budget.server_queue_ns = 0.8 * budget.response_ns;
        *budget = budget.balanced();
        check(&trial, Suspect::Pool, "Calls spend most of their time in server queue (80.0 %)");
        trial.plan.arrivals = Arrivals::Poisson { rate_per_s: 100.0 };
        check(&trial, Suspect::OfferedLoad, "think time; next likely limit: the number of sessions.");
        let call_counts = trial.overall.call_counts;
        trial.overall.call_counts.dropped = call_counts.due / 10;
        check(&trial, Suspect::Pool, "throughput is limited by the number of sessions. Calls spend");
        // Kept by no one who was answered.
        trial.overall.call_counts = CallCounts { refused: call_counts.due / 3, ..call_counts };
        check(&trial, Suspect::Pool, "throughput is limited by the number of sessions. Calls spend");
        trial.processes.clear();
        check(&trial, Suspect::Unknown, "unknown. Calls spend");
    }
}
