//! What a consumer has done with the messages of a trial or a drill.

use anyhow::{Result, bail};
use consumer::{Inbox, InboxError};
use deploy::Consuming;
use model::Nanos;
use result::{Check, Consumed, LedgerCheck, Quantiles};
use serde::Deserialize;
use targets::{Driven, Style};

/// A consumer that has read what was published, or was given up.
#[derive(Debug)]
pub(crate) struct Caught {
    consuming: Consuming,
    about: About,
}

/// What a consumer reports about itself.
#[derive(Debug, Deserialize)]
struct About {
    /// Messages that it acted on.
    settled: u64,
    lag: Option<Quantiles>,
}

impl Caught {
    /// Waits until a consumer has read everything, at most `max`, and stops it.
    ///
    /// # Errors
    /// It ended by itself, or what it has done cannot be read.
    pub(crate) fn after(mut consuming: Consuming, max: Nanos) -> Result<Caught> {
        let left = consuming.catch_up(max)?;
        if left > 0 {
            bail!("within {} s it did not read {left} {}", max.as_secs_f64(), consuming.unit());
        }
        let about = serde_json::from_str(&consuming.about()?)?;
        consuming.stop()?;
        Ok(Caught { consuming, about })
    }

    /// What it did, and whether that is what was acknowledged and stored. Its inbox is kept only if something is wrong with it.
    ///
    /// # Errors
    /// The inbox cannot be read or removed.
    pub(crate) fn audit<W: Driven>(
        self,
        style: Style,
        size: &W::Extent,
        runs: &[u64],
        before: &W::Evidence,
        claims: &W::Claims,
        stored: &W::Evidence,
    ) -> Result<(Consumed, Vec<LedgerCheck>)> {
        let inbox = self.consuming.inbox()?;
        let checks = consumer_checks::<W>(&inbox, style, size, runs, before, claims, stored)?;
        drop(inbox);
        if checks.iter().all(|check| check.check == Check::Passed) {
            self.consuming.remove()?;
        }
        Ok((Consumed { messages: self.about.settled, lag: self.about.lag }, checks))
    }
}

/// Compares what a consumer acted on with what was acknowledged and stored: everything once, nothing else, and each key's in order.
///
/// # Errors
/// The inbox cannot be read.
pub fn consumer_checks<W: Driven>(
    inbox: &Inbox,
    style: Style,
    size: &W::Extent,
    runs: &[u64],
    before: &W::Evidence,
    claims: &W::Claims,
    stored: &W::Evidence,
) -> Result<Vec<LedgerCheck>> {
    let Some(mut handled) = W::announced(style.name(), size, runs, before) else { return Ok(Vec::new()) };
    inbox.handled::<InboxError>(|number, message| {
        handled.take(&|| format!("action {number}"), message);
        Ok(())
    })?;
    let of_consumer = |check: LedgerCheck| LedgerCheck {
        name: format!("consumer: {}", check.name),
        sentence: match check.check {
            Check::Passed => {
                "The consumer acted on what was acknowledged and stored, and on nothing else.".to_owned()
            }
            _ => format!("What the consumer acted on: {}", check.sentence),
        },
        ..check
    };
    let again = handled.duplicates();
    let mut checks: Vec<_> = handled.checks(claims, stored).into_iter().map(of_consumer).collect();
    checks.push(acted_once(again));
    Ok(checks)
}

/// Whether no message was acted on again.
fn acted_once(again: u64) -> LedgerCheck {
    let (check, sentence) = match again {
        0 => (Check::Passed, "The consumer acted on no message twice.".to_owned()),
        1 => (Check::Failed, "The consumer acted on a message that it had acted on before.".to_owned()),
        _ => (
            Check::Failed,
            format!("The consumer acted {again} times on messages that it had acted on before."),
        ),
    };
    LedgerCheck {
        name: "consumer: repeated actions".into(),
        unit: "messages".into(),
        low: 0,
        high: 0,
        stored: again.cast_signed(),
        check,
        sentence,
    }
}
