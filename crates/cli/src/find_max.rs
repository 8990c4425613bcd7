//! `stackmark find-max`: the highest rate of an open loop that keeps a service level.
//!
//! A closed loop says about what the system can do. From there the rate is raised or lowered until one is kept and one
//! broken, and halved in between, as a share, until they are as near as was asked for. Then the highest that was kept is run
//! again to confirm it, since the best of several trials is a lucky one; where a confirming trial breaks it, the next lower
//! rate has to stand the same. A step that can no longer keep the level ends there and then.

mod bracket;
mod hopeless;
mod outcome;
mod slo;

use crate::case::{Case, of_workload};
use crate::experiment::lock;
use crate::folder::{self, Folder};
use crate::interrupt::Interrupt;
use crate::run::publish;
use crate::subjects::{self, Subject};
use crate::sweep::course::{self, Course, Ground};
use crate::sweep::open_loop;
use crate::ui::Ui;
use crate::{Answer, args};
use anyhow::{Result, bail};
use bracket::{Bracket, Next};
use hopeless::Bounds;
use measure::Totals;
use model::Nanos;
use report::curve::checks_hold;
use report::document::{Document, RunKind, Search, State, Step, Trial};
use slo::{Kept, Objective};
use std::cell::RefCell;

/// Length of the closed-loop trial that the search begins with, at most.
const ESTIMATE_MAX: Nanos = Nanos::from_secs(10);
/// Its clients: enough to fill most systems, few enough not to drown them.
const ESTIMATE_CLIENTS: u32 = 16;
/// What an open loop is begun at, as a share of what the closed one did: near it waiting alone breaks most levels.
const START_SHARE: f64 = 0.7;
/// How long after its interval a step may go on, at most: a backlog need not be worked off to know that there is one.
const DRAIN_MAX: Nanos = Nanos::from_secs(5);

pub(crate) fn find_max(args: &args::FindMax, ui: &Ui) -> Result<Answer> {
    let subject = subjects::find(&args.subject)?;
    of_workload!(subject.workload(), W => run::<W>(subject, args, ui))
}

fn run<W: Case>(subject: &'static Subject, args: &args::FindMax, ui: &Ui) -> Result<Answer> {
    let kinds: Vec<&str> = W::KINDS.iter().map(|kind| kind.name).collect();
    let objective = Objective::parse(&args.slo, &kinds)?;
    let ground = Ground::<W>::find(subject, &args.data, &args.load, &args.server, &args.engine)?;
    let held = lock::hold()?;
    let interrupt = Interrupt::listen()?;
    let (folder, started, id) = Folder::create(&args.out.out, &format!("find-max-{}", subject.path))?;
    let mut document = folder::document(id, started, RunKind::Search, &[subject.path]);
    let base = drive::Plan { workers: args.in_flight, ..ground.plan.clone() };
    held.works_in(folder.path());
    let mut course = Course::open(ground, &folder, ui, &interrupt)?;
    course.prepare(&base)?;
    document.notes = course.notes();
    document.search = Some(Search {
        slo: objective.words.clone(),
        limits: objective.limits.clone(),
        steps: Vec::new(),
        highest_per_s: None,
        broken_per_s: None,
        gives_out: None,
        sentence: "The search has not come to an end.".into(),
    });
    let mut search = Searching { course, args, base, objective, folder: &folder, ui, interrupt: &interrupt };
    let found = match search.run(&mut document) {
        Ok(found) => found,
        Err(error) => {
            course::give_up(&folder, &mut document, &error);
            return Err(error);
        }
    };
    document.state = if found == Found::Interrupted { State::Interrupted } else { State::Complete };
    outcome::conclude(&mut document, &found, args.confirm);
    if found == Found::Interrupted {
        course::something_measured(&folder, &document)?;
    }
    publish(&folder, &document, ui)?;
    let kept = matches!(found, Found::Highest(_));
    let valid = document.trials.iter().all(checks_hold);
    if found == Found::Interrupted {
        bail!("interrupted before a rate was confirmed");
    }
    Ok(if kept && valid { Answer::Good } else { Answer::Bad })
}

/// How a search ended.
#[derive(Debug, Clone, PartialEq)]
enum Found {
    /// This rate was kept in every confirming trial.
    Highest(f64),
    /// No rate that was tried was kept.
    None,
    /// A percentile of the objective is not known: too few calls, and how to get more.
    NotKnown(String),
    /// A trial was void, for this reason; nothing is said of rates.
    Void(String),
    Interrupted,
}

struct Searching<'a, W: Case> {
    course: Course<'a, W>,
    args: &'a args::FindMax,
    base: drive::Plan,
    objective: Objective,
    folder: &'a Folder,
    ui: &'a Ui,
    interrupt: &'a Interrupt,
}

impl<W: Case> Searching<'_, W> {
    fn run(&mut self, document: &mut Document) -> Result<Found> {
        match self.estimate(document)? {
            Some(capacity) => self.search(capacity, document),
            None => Ok(Found::Interrupted),
        }
    }

    /// Calls a second of a closed loop; nothing when interrupted.
    fn estimate(&mut self, document: &mut Document) -> Result<Option<f64>> {
        let clients = ESTIMATE_CLIENTS.min(self.base.workers);
        let plan = drive::Plan {
            workers: clients,
            measured: self.base.measured.min(ESTIMATE_MAX),
            ..self.base.clone()
        };
        self.ui.say(&format!("capacity: a closed loop of {clients} clients"));
        self.ui.live().place("capacity", 1);
        let Some(index) = self.course.trial(&plan, "capacity", None, document)? else { return Ok(None) };
        self.folder.put_document(document)?;
        let trial = &document.trials[index];
        if trial.state == State::Interrupted || self.interrupt.requested() {
            return Ok(None);
        }
        let books = &trial.overall.books;
        let per_s = (books.committed + books.declined) as f64 / trial.measured_s.max(f64::MIN_POSITIVE);
        if per_s <= 0.0 {
            bail!(
                "nothing was answered in a closed loop of {clients} clients, so there is no rate to search for"
            );
        }
        if let Some(longer) = self.objective.too_short(trial, per_s * START_SHARE, self.base.measured) {
            bail!("{longer}");
        }
        self.ui.say(&format!("about {per_s:.0} calls/s in a closed loop"));
        Ok(Some(per_s))
    }

    fn search(&mut self, capacity: f64, document: &mut Document) -> Result<Found> {
        let mut bracket = Bracket::new(capacity * START_SHARE, self.args.resolution);
        loop {
            let (rate, confirming) = match bracket.next(self.args.confirm) {
                Next::Try(rate) => (rate, false),
                Next::Confirm(rate) => (rate, true),
                Next::Found(rate) => return Ok(Found::Highest(rate)),
                Next::None => return Ok(Found::None),
            };
            let left = bracket.steps_left(self.args.confirm);
            let Some((index, hopeless)) = self.step(rate, confirming, left, document)? else {
                return Ok(Found::Interrupted);
            };
            let trial = &document.trials[index];
            let cut = trial.state == State::Interrupted && hopeless.is_none();
            if cut || self.interrupt.requested() {
                return Ok(Found::Interrupted);
            }
            let ended_early_s = hopeless.as_ref().map(|_| trial.measured_s);
            let judged = judge(&self.objective, trial, hopeless);
            let why = match &judged {
                Kept::Yes(why) | Kept::No(why) | Kept::NotKnown(why) | Kept::Void(why) => why.clone(),
            };
            let kept = matches!(judged, Kept::Yes(_));
            let early = match ended_early_s {
                Some(s) => format!(", ended early after {}", crate::ui::seconds(s)),
                None => String::new(),
            };
            self.ui.say(&format!("  {}{early}: {why}", if kept { "kept" } else { "broken" }));
            let step = Step { rate_per_s: rate, trial: index, confirming, kept, why, ended_early_s };
            if let Some(search) = &mut document.search {
                search.steps.push(step);
            }
            outcome::so_far(document);
            self.folder.put_document(document)?;
            self.ui.live().board(document);
            match judged {
                Kept::Yes(_) => bracket.tell(rate, confirming, true),
                Kept::No(_) => bracket.tell(rate, confirming, false),
                Kept::NotKnown(why) => return Ok(Found::NotKnown(why)),
                Kept::Void(why) => return Ok(Found::Void(why)),
            }
        }
    }

    /// One trial at a rate, and why it was ended early, if it was; nothing when interrupted before it has measured
    /// anything.
    fn step(
        &mut self,
        rate: f64,
        confirming: bool,
        left: u32,
        document: &mut Document,
    ) -> Result<Option<(usize, Option<String>)>> {
        let what = if confirming { "confirming " } else { "" };
        let each = (self.base.warmup + self.base.measured).as_secs_f64();
        self.ui.say(&format!(
            "step {}: {what}{rate:.0}/s, about {} left",
            document.trials.len(),
            crate::ui::seconds(each * f64::from(left))
        ));
        let plan = drive::Plan {
            arrivals: open_loop(rate, self.args.load.arrivals),
            drain_max: self.base.drain_max.min(DRAIN_MAX),
            // Other calls in every trial, so that a rate is not kept by the luck of one stream.
            seed: self.base.seed + document.trials.len() as u64,
            ..self.base.clone()
        };
        let steps = document.search.iter().flat_map(|search| &search.steps);
        let before = steps.filter(|step| step.rate_per_s == rate).count();
        self.ui.live().place(&format!("{rate:.0} calls/s"), before as u32 + 1);
        let (objective, bounds) = (&self.objective, Bounds::of(&plan));
        let kinds: Vec<&str> = W::KINDS.iter().map(|kind| kind.name).collect();
        let hopeless = RefCell::new(None);
        let end_early = |ran, totals: &Totals| {
            let why = bounds.and_then(|bounds| bounds.hopeless(objective, &kinds, ran, totals));
            hopeless.borrow_mut().clone_from(&why);
            why
        };
        let index =
            self.course.trial(&plan, &format!("{what}{rate:.0} per s"), Some(&end_early), document)?;
        Ok(index.map(|index| (index, hopeless.take())))
    }
}

/// What a step says; `hopeless` is why it was ended early, if it was.
fn judge(objective: &Objective, trial: &Trial, hopeless: Option<String>) -> Kept {
    if !checks_hold(trial) {
        return Kept::Void(outcome::void(trial));
    }
    hopeless.map_or_else(|| objective.kept_by(trial), Kept::No)
}
