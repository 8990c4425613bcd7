//! What a consumer has processed of the messages of a trial or a drill.

use crate::destination::Recorded;
use anyhow::{Result, bail};
use consumer::{Inbox, InboxError};
use deploy::{Consuming, Interrupt};
use model::Nanos;
use result::{Check, Consumed, LedgerCheck, Quantiles};
use serde::Deserialize;
use targets::Driven;

/// A consumer that has read all that was published, and was stopped.
#[derive(Debug)]
pub(crate) struct Caught {
    consuming: Consuming,
    about: About,
}

/// What a consumer reports about itself.
#[derive(Debug, Deserialize)]
struct About {
    /// Messages that it processed.
    settled: u64,
    lag: Option<Quantiles>,
}

impl Caught {
    /// Waits until a consumer has read everything, at most `max`, and stops it.
    ///
    /// # Errors
    /// It ended by itself, or what it has done cannot be read.
    pub(crate) fn after(mut consuming: Consuming, max: Nanos, interrupt: &Interrupt) -> Result<Caught> {
        let left = consuming.catch_up(max, interrupt)?;
        if left > 0 {
            bail!("within {} s it did not read {left} {}", max.as_secs_f64(), consuming.unit());
        }
        let about = serde_json::from_str(&consuming.about()?)?;
        consuming.stop()?;
        Ok(Caught { consuming, about })
    }

    /// What it processed, and whether that is what was acknowledged and stored. The inbox is kept only if a check has not passed.
    pub(crate) fn audit<W: Driven>(self, recorded: &Recorded<'_, W>) -> Result<(Consumed, Vec<LedgerCheck>)> {
        let checks = audit_consumer(self.consuming, recorded)?;
        Ok((Consumed { messages: self.about.settled, lag: self.about.lag }, checks))
    }
}

/// The checks of [`consumer_checks`] for a consumer that was stopped. Its inbox is removed if all of them passed.
pub fn audit_consumer<W: Driven>(
    consumer: Consuming,
    recorded: &Recorded<'_, W>,
) -> Result<Vec<LedgerCheck>> {
    let inbox = consumer.inbox()?;
    let checks = consumer_checks(&inbox, recorded)?;
    drop(inbox);
    if checks.iter().all(|check| check.check == Check::Passed) {
        consumer.remove()?;
    }
    Ok(checks)
}

/// Compares the messages that a consumer processed with what was acknowledged and stored: all of it, nothing else, each message once and
/// those of a key in order.
pub fn consumer_checks<W: Driven>(inbox: &Inbox, recorded: &Recorded<'_, W>) -> Result<Vec<LedgerCheck>> {
    let Some(mut processed) = recorded.announced() else { return Ok(Vec::new()) };
    inbox.processed::<InboxError>(|number, message| {
        processed.take(&|| format!("processed message {number}"), message);
        Ok(())
    })?;
    let of_consumer = |check: LedgerCheck| LedgerCheck {
        name: format!("consumer: {}", check.name),
        sentence: match check.check {
            Check::Passed => {
                "The consumer processed what was acknowledged and stored, and nothing else.".to_owned()
            }
            _ => format!("Messages that the consumer processed: {}", check.sentence),
        },
        ..check
    };
    let again = processed.duplicates();
    let mut checks: Vec<_> =
        processed.checks(recorded.claims, recorded.stored).into_iter().map(of_consumer).collect();
    checks.push(processed_once(again));
    Ok(checks)
}

/// Whether each message was processed once.
fn processed_once(again: u64) -> LedgerCheck {
    let (check, sentence) = match again {
        0 => (Check::Passed, "The consumer processed each message once.".to_owned()),
        _ => {
            (Check::Failed, format!("The consumer processed messages more than once ({again} repetitions)."))
        }
    };
    LedgerCheck {
        name: "consumer: repeated processing".into(),
        unit: "messages".into(),
        low: 0,
        high: 0,
        stored: again.cast_signed(),
        check,
        sentence,
    }
}
