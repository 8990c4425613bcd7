//! Audits after a trial: the stored data, and what calls have left in an outbox, whether it stayed there or was published.

use crate::Job;
use crate::own::Own;
use crate::relaying::{ANNOUNCED, Relayed};
use crate::validate;
use anyhow::{Context, Result};
use deploy::{SinkKind, tell};
use result::{Check, LedgerCheck, Published, Settled, State, Trial};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use targets::{Driven, Style};

/// What is to be said of rows of earlier runs in the outbox that a relay is to work on.
pub(crate) fn earlier<W: Driven>(job: &Job<'_, W>, before: &W::Evidence) -> Option<String> {
    let rows = W::pending(before).filter(|rows| *rows > 0 && job.subject.how.style == Style::Outbox)?;
    Some(format!(
        "The outbox held {rows} rows of earlier runs. They were published first, and are included in the number of messages and in the \
         delivery lag."
    ))
}

impl<W: Driven> Job<'_, W> {
    /// Audits the stored data, once what was still on its way has come to its end.
    pub(crate) fn audit(
        &self,
        trial: &mut Trial,
        before: &W::Evidence,
        settled: Result<Option<Settled>>,
        (run, relayed): (u64, Option<Relayed>),
        ledger: &W::Ledger,
    ) -> Result<()> {
        trial.settled = settled?;
        // Only who has asked to stop ends the waiting before its time.
        let cut = |settled: &Settled| settled.pending_last > 0 && settled.took_s < settled.max_s;
        if trial.state == State::Complete && trial.settled.as_ref().is_some_and(cut) {
            trial.state = State::Interrupted;
        }
        tell(self.viewer, "auditing");
        let claims = W::claims(ledger, true);
        if let Some(own) = self.own {
            let (stored, audits) = own.evidence::<W>()?;
            trial.audits.extend(audits);
            trial.ledger = W::ledger_checks(before, &stored, &claims);
            trial.notes.push(Own::NOTE.into());
            return Ok(());
        }
        let checked = validate::after(self.databases, before, &trial.audits, &claims, self.interrupt)?;
        trial.audits.extend(checked.audits);
        trial.ledger = checked.ledger;
        audit_messages(self, trial, (run, before), relayed, &claims)
    }
}

/// Holds what was announced of a run to what was acknowledged and stored, and says how it was published.
///
/// # Errors
/// What was published cannot be read.
fn audit_messages<W: Driven>(
    job: &Job<'_, W>,
    trial: &mut Trial,
    (run, before): (u64, &W::Evidence),
    relayed: Option<Relayed>,
    claims: &W::Claims,
) -> Result<()> {
    let style = job.subject.how.style;
    let stored = || validate::evidence::<W>(&job.databases.urls());
    if style == Style::OutboxRow {
        trial.ledger.extend(W::unpublished_checks(style.name(), run, claims, &stored()?));
    }
    if style != Style::Outbox {
        return Ok(());
    }
    let Some(relayed) = relayed else {
        let why = if job.url.is_some() {
            "Messages were not checked: the relay of this server was not started here."
        } else {
            "Messages were not checked: the relay did not answer."
        };
        trial.ledger.push(not_seen(why));
        return Ok(());
    };
    let mut published = Published {
        sink: job.server.relaying.sink.to_string(),
        messages: relayed.messages,
        batches: relayed.batches,
        duplicates: None,
        lag: relayed.lag,
    };
    match job.server.relaying.sink {
        SinkKind::Null => {
            trial.ledger.push(not_seen("Messages were not checked: the sink `null` does not store them."));
        }
        SinkKind::File => {
            let Some(mut announced) = W::announced(&job.databases.size, run, before) else { return Ok(()) };
            let path = job.folder.path().join(ANNOUNCED);
            let file = File::open(&path).with_context(|| format!("could not read {}", path.display()))?;
            for (at, line) in BufReader::new(file).split(b'\n').enumerate() {
                announced.take(&|| format!("line {} of {ANNOUNCED}", at + 1), &line?);
            }
            published.duplicates = Some(announced.duplicates());
            let checks = announced.checks(claims, &stored()?);
            if checks.iter().all(|check| check.check == Check::Passed) {
                fs::remove_file(&path).with_context(|| format!("could not remove {}", path.display()))?;
            }
            trial.ledger.extend(checks);
        }
    }
    trial.published = Some(published);
    Ok(())
}

/// What stands in the place of checks of messages that nobody saw.
fn not_seen(why: &str) -> LedgerCheck {
    LedgerCheck {
        name: "announced bookings".into(),
        unit: "announcements".into(),
        low: 0,
        high: 0,
        stored: 0,
        check: Check::NotRun,
        sentence: why.into(),
    }
}
