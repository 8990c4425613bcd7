//! A sweep or a search from its beginning or from where it was cut off, to its result: what both have in common but for the
//! loads.

use super::course::{Course, Ground};
use super::stored::Stored;
use crate::Answer;
use crate::case::{Case, of_workload};
use crate::folder::Folder;
use crate::resume::{announce, goes_on, of_this_machine, partial};
use crate::run::publish;
use crate::subjects;
use crate::ui::Ui;
use crate::underway::{self, Site, Underway};
use anyhow::{Result, bail};
use result::{Document, RunKind, State};
use serde::Serialize;
use std::path::Path;

/// What is to be found out, with every default filled in. Which trials that takes follows from it and from the trials so far,
/// and from nothing else: so a run that goes on goes the same way again, over the trials that it has.
pub(crate) trait Errand: Clone + Serialize {
    const KIND: RunKind;
    /// What the folder of a run is called, before its subject.
    const NAME: &'static str;

    fn ground(&self) -> &Ground;
    /// Trials that it takes, where that is known before the last.
    fn trials(&self) -> Option<usize>;
    /// Trials that are run next to each other, so that they can be compared.
    fn block(&self) -> usize;
    /// Loads whose servers are held to the workload before the first trial, so that none fails in the middle.
    fn first_plans(&self) -> Vec<drive::Plan>;
    /// Runs the trials and draws the conclusions. A document of one that was interrupted says so in its state.
    fn carry_out<W: Case>(&self, course: &mut Course<'_, W>, document: &mut Document) -> Result<()>;
    /// What the document says to who asked.
    ///
    /// # Errors
    /// It says nothing.
    fn answer(document: &Document) -> Result<Answer>;
}

/// Begins in a new folder under `out`.
pub(crate) fn begin<W: Case, E: Errand>(errand: E, out: &Path, ui: &Ui) -> Result<Answer> {
    let name = format!("{}-{}", E::NAME, errand.ground().subject);
    underway::begin(errand, E::KIND, &name, out, ui, |underway, site| {
        carry_out::<W, E>(underway, None, Vec::new(), site)
    })
}

/// Goes on with a run that was cut off.
pub(crate) fn go_on<E: Errand>(underway: Underway<E>, site: &Site<'_>) -> Result<Answer> {
    let errand = &underway.plan;
    let (stored, found) = Stored::read(site.folder, &underway.id, errand.block())?;
    of_this_machine(stored.trials())?;
    let notes = announce(&underway.id, stored.len(), errand.trials(), found, site.ui);
    let subject = subjects::find(&errand.ground().subject)?;
    of_workload!(subject.workload(), W => carry_out::<W, E>(underway, Some(stored), notes, site))
}

/// Carries out what has not been done yet. `stored` are the trials of a run that goes on, and `notes` tell of the interruption.
fn carry_out<W: Case, E: Errand>(
    mut underway: Underway<E>,
    stored: Option<Stored>,
    notes: Vec<String>,
    site: &Site<'_>,
) -> Result<Answer> {
    let folder = site.folder;
    let errand = underway.plan.clone();
    underway.put(folder)?;
    // A run that goes on keeps what it has, whatever becomes of it: it can go on once the reason is gone.
    let goes_on_here = stored.is_some();
    let stored = stored.unwrap_or_default();
    let mut course = Course::<W>::open(errand.ground().clone(), stored, errand.trials(), site)?;
    if let Err(error) = errand.first_plans().iter().try_for_each(|plan| course.prepare(plan)) {
        if site.interrupt.requested() {
            bail!("interrupted while loading\nhint: {}", goes_on(folder));
        }
        if !goes_on_here {
            folder.empty();
        }
        return Err(error);
    }
    // Only now is it sure that it goes on.
    underway.notes.extend(notes);
    underway.put(folder)?;
    let mut document = underway.document(&[&errand.ground().subject]);
    document.notes.extend(course.notes());
    if let Err(error) = errand.carry_out(&mut course, &mut document) {
        match (document.trials.is_empty(), goes_on_here) {
            (false, _) => give_up(folder, &mut document, &error),
            (true, false) => folder.empty(),
            (true, true) => {}
        }
        return Err(error);
    }
    drop(course);
    let interrupted = document.state == State::Interrupted;
    if interrupted {
        document.notes.push(partial(&document, errand.trials(), folder));
        something_measured(folder, &document)?;
    }
    publish(folder, &document, site.ui)?;
    if interrupted {
        site.ui.say(&goes_on(folder));
    }
    E::answer(&document)
}

/// Writes down that a run could not go on, and why.
fn give_up(folder: &Folder, document: &mut Document, error: &anyhow::Error) {
    document.state = State::Failed;
    document.notes.push(format!("It could not go on: {error:#}"));
    // What cannot be written leaves the last state, which says that it is running.
    let _ = folder.put_document(document);
}

/// An interrupted run that has measured nothing has nothing to show but what its trial's folder holds.
///
/// # Errors
/// Nothing was measured.
fn something_measured(folder: &Folder, document: &Document) -> Result<()> {
    if document.trials.is_empty() {
        let json = folder.put_document(document)?;
        bail!(
            "interrupted before anything was measured; what was done until then: {}\nhint: {}",
            json.display(),
            goes_on(folder)
        );
    }
    Ok(())
}
