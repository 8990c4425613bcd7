//! Audits after a trial: the stored data, and what calls have left in an outbox, whether it stayed there or was published.

use crate::Job;
use crate::destination::Recorded;
use crate::relaying::Relayed;
use crate::server_admin::ServerAdmin;
use crate::settle;
use crate::validate;
use anyhow::Result;
use deploy::announce;
use result::{Check, LedgerCheck, Published, Settled, State, Trial};
use sql::Dialect;
use targets::Driven;
use workload::unchecked_reasons;

/// What is to be said of rows of earlier runs in the outbox that a relay is to work on.
pub(crate) fn earlier<W: Driven>(job: &Job<'_, W>, before: &W::Evidence) -> Option<String> {
    let rows = W::pending(before).filter(|rows| *rows > 0 && job.subject.how.style.has_outbox())?;
    Some(format!(
        "The outbox held {rows} rows of earlier runs. They were published first and are included in the number of messages, and in \
         the delivery lag where that is measured."
    ))
}

impl<W: Driven> Job<'_, W> {
    /// Audits the stored data, once what was still on its way has come to its end.
    pub(crate) fn audit(
        &self,
        trial: &mut Trial,
        before: &W::Evidence,
        settled: Result<Option<Settled>>,
        (run, within, relayed): (u64, settle::Interval, Option<Relayed>),
        claims: &W::Claims,
    ) -> Result<()> {
        trial.settled = settled?;
        // Only who has asked to stop ends the waiting before its time.
        let cut = |settled: &Settled| settled.pending_last > 0 && settled.duration_s < settled.max_s;
        if trial.state == State::Complete && trial.settled.as_ref().is_some_and(cut) {
            trial.state = State::Interrupted;
        }
        announce(self.reporter, "auditing");
        if let Some(own) = self.own {
            let (stored, audits) = own.evidence::<W>()?;
            trial.audits.extend(audits);
            trial.ledger = W::ledger_checks(before, &stored, claims);
            // What it says of its store, it would say of these too.
            trial.ledger.extend(W::reasons(claims, Dialect::Sqlite)?.as_ref().map(unchecked_reasons));
            trial.notes.push(ServerAdmin::NOTE.into());
            return Ok(());
        }
        let checked = validate::after(
            self.databases,
            before,
            &trial.audits,
            run / 1_000_000_000,
            claims,
            self.interrupt,
        )?;
        trial.audits.extend(checked.audits);
        trial.ledger = checked.ledger;
        audit_messages(self, trial, (run, within, before), relayed, claims)
    }
}

/// Holds what was announced of a run to what was acknowledged and stored, and says how it was published.
fn audit_messages<W: Driven>(
    job: &Job<'_, W>,
    trial: &mut Trial,
    (run, within, before): (u64, settle::Interval, &W::Evidence),
    relayed: Option<Relayed>,
    claims: &W::Claims,
) -> Result<()> {
    let style = job.subject.how.style;
    let stored = || validate::evidence::<W>(&job.databases.urls());
    if style.keeps_outbox() {
        trial.ledger.extend(W::unpublished_checks(style.name(), &[run], claims, &stored()?));
    }
    if !job.subject.publishes() {
        return Ok(());
    }
    let Some(relayed) = relayed else {
        trial
            .ledger
            .push(not_seen("Messages were not checked: Stackmark did not start the publisher behind --url."));
        return Ok(());
    };
    let pending = trial.settled.as_ref().map_or(0, |settled| settled.pending_last);
    // The relay of a saga publishes nothing.
    let of_outbox = |count: Option<u64>| count.filter(|_| style.has_outbox());
    let mut published = Published {
        sink: job.server.relaying.sink.to_string(),
        messages: of_outbox(relayed.messages),
        batches: of_outbox(relayed.batches),
        duplicates: None,
        line: relayed.line(within, pending),
        lag: relayed.lag,
        consumed: None,
    };
    let (destination, stored, size) = (relayed.destination, stored()?, &job.databases.size);
    let recorded = Recorded::<W> { style, size, runs: &[run], before, claims, stored: &stored };
    if let Some(caught) = relayed.consumer {
        let (consumed, checks) = caught.audit(&recorded)?;
        published.consumed = Some(consumed);
        trial.ledger.extend(checks);
    }
    match destination.audit(&recorded)? {
        None => {
            trial.ledger.push(not_seen("Messages were not checked: the sink `null` does not store them."))
        }
        Some(arrived) => {
            published.messages = published.messages.or(Some(arrived.messages));
            published.duplicates = Some(arrived.duplicates);
            if let Err(error) = destination.close(arrived.is_right()) {
                trial.notes.push(format!("{error:#}."));
            }
            trial.ledger.extend(arrived.checks);
        }
    }
    trial.published = Some(published);
    Ok(())
}

/// What stands in the place of checks of messages that no one saw.
fn not_seen(why: &str) -> LedgerCheck {
    LedgerCheck {
        name: "messages".into(),
        unit: "messages".into(),
        low: 0,
        high: 0,
        stored: 0,
        check: Check::NotRun,
        sentence: why.into(),
    }
}
