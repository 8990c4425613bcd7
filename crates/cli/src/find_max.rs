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
use crate::subjects::{self, Subject};
use crate::sweep::course::{Course, Ground, Wanted};
use crate::sweep::errand::{self, Errand};
use crate::ui::{self, Ui};
use crate::{Answer, args};
use anyhow::{Result, bail};
use bracket::{Bracket, Next};
use hopeless::Bounds;
use measure::Totals;
use model::Nanos;
use result::{Document, RunKind, Search, State, Step, Trial};
use serde::{Deserialize, Serialize};
use slo::{Kept, Objective};

/// Length of the closed-loop trial that the search begins with, at most.
const ESTIMATE_MAX: Nanos = Nanos::from_secs(10);
/// Its clients: enough to fill most systems, few enough not to drown them.
const ESTIMATE_CLIENTS: u32 = 16;
/// What an open loop is begun at, as a share of what the closed one did: near it waiting alone breaks most levels.
const START_SHARE: f64 = 0.7;
/// How long after its interval a step may go on, at most: a backlog need not be worked off to know that there is one.
const DRAIN_MAX: Nanos = Nanos::from_secs(5);

pub(crate) fn find_max(args: &args::FindMax, ui: &Ui) -> Result<Answer> {
    let subject = subjects::find_here(&args.subject)?;
    of_workload!(subject.workload(), W => errand::begin::<W, _>(Asked::of::<W>(subject, args)?, &args.out.out, ui))
}

/// What is searched for, and where.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Asked {
    ground: Ground,
    /// The service level, in parts as it was typed.
    slo: Vec<String>,
    /// How near is near enough, as a share.
    resolution: f64,
    /// Trials that must keep a rate again.
    confirm: u32,
}

impl Asked {
    fn of<W: Case>(subject: &'static Subject, args: &args::FindMax) -> Result<Asked> {
        let (slo, resolution, confirm) = (args.slo.clone(), args.resolution, args.confirm);
        Objective::parse(&slo, &kinds::<W>())?;
        let ground =
            Ground::find::<W>(subject, &args.data, &args.load, &args.server, &args.engine, args.in_flight)?;
        Ok(Asked { ground, slo, resolution, confirm })
    }

    /// What every step does but for its rate.
    fn plan(&self) -> drive::Plan {
        drive::Plan { workers: self.ground.in_flight, ..self.ground.plan.clone() }
    }
}

fn kinds<W: Case>() -> Vec<&'static str> {
    W::KINDS.iter().map(|kind| kind.name).collect()
}

impl Errand for Asked {
    const KIND: RunKind = RunKind::Search;
    const NAME: &'static str = "find-max";

    fn ground(&self) -> &Ground {
        &self.ground
    }

    fn trials(&self) -> Option<usize> {
        None
    }

    /// Each step stands for itself.
    fn block(&self) -> usize {
        1
    }

    fn first_plans(&self) -> Vec<drive::Plan> {
        vec![self.plan()]
    }

    fn carry_out<W: Case>(&self, course: &mut Course<'_, W>, document: &mut Document) -> Result<()> {
        let objective = Objective::parse(&self.slo, &kinds::<W>())?;
        document.search = Some(Search {
            slo: objective.words.clone(),
            limits: objective.limits.clone(),
            steps: Vec::new(),
            highest_per_s: None,
            broken_per_s: None,
            gives_out: None,
            sentence: "The search has not come to an end.".into(),
        });
        let found = Searching { course, asked: self, base: self.plan(), objective }.run(document)?;
        document.state = if found == Found::Interrupted { State::Interrupted } else { State::Complete };
        outcome::conclude(document, &found, self.confirm);
        Ok(())
    }

    fn answer(document: &Document) -> Result<Answer> {
        if document.state == State::Interrupted {
            bail!("interrupted before a rate was confirmed");
        }
        let kept = document.search.as_ref().is_some_and(|search| search.highest_per_s.is_some());
        Ok(if kept && !document.trials.iter().any(Trial::is_void_at_any_load) {
            Answer::Good
        } else {
            Answer::Bad
        })
    }
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

struct Searching<'a, 'c, W: Case> {
    course: &'a mut Course<'c, W>,
    asked: &'a Asked,
    base: drive::Plan,
    objective: Objective,
}

impl<W: Case> Searching<'_, '_, W> {
    fn run(&mut self, document: &mut Document) -> Result<Found> {
        match self.estimate(document)? {
            Some(capacity) => self.search(capacity, document),
            None => Ok(Found::Interrupted),
        }
    }

    fn say(&self, text: &str) {
        self.course.site.ui.say(text);
    }

    /// Not while stored trials are taken: stopping there would put a shorter document in the place of the stored one.
    fn interrupted(&self) -> bool {
        self.course.site.interrupt.requested() && !self.course.has_stored()
    }

    /// Calls a second of a closed loop; nothing when interrupted.
    fn estimate(&mut self, document: &mut Document) -> Result<Option<f64>> {
        let clients = ESTIMATE_CLIENTS.min(self.base.workers);
        self.course.site.ui.live().place("capacity", 1);
        let wanted = Wanted {
            plan: drive::Plan {
                workers: clients,
                measured: self.base.measured.min(ESTIMATE_MAX),
                ..self.base.clone()
            },
            label: "capacity".into(),
            announcement: format!("capacity: a closed loop of {clients} clients"),
            end_early: None,
        };
        let Some(index) = self.course.trial(&wanted, document)? else { return Ok(None) };
        self.course.write(document)?;
        let trial = &document.trials[index];
        if trial.state == State::Interrupted || self.interrupted() {
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
        self.say(&format!("about {per_s:.0} calls/s in a closed loop"));
        Ok(Some(per_s))
    }

    fn search(&mut self, capacity: f64, document: &mut Document) -> Result<Found> {
        let mut bracket = Bracket::new(capacity * START_SHARE, self.asked.resolution);
        loop {
            let (rate, confirming) = match bracket.next(self.asked.confirm) {
                Next::Try(rate) => (rate, false),
                Next::Confirm(rate) => (rate, true),
                Next::Found(rate) => return Ok(Found::Highest(rate)),
                Next::None => return Ok(Found::None),
            };
            if self.interrupted() {
                return Ok(Found::Interrupted);
            }
            let left = bracket.steps_left(self.asked.confirm);
            let Some(index) = self.step(rate, confirming, left, document)? else {
                return Ok(Found::Interrupted);
            };
            let trial = &document.trials[index];
            let hopeless = trial.ended_early.clone();
            if trial.state == State::Interrupted && hopeless.is_none() {
                return Ok(Found::Interrupted);
            }
            let ended_early_s = hopeless.as_ref().map(|_| trial.measured_s);
            let judged = judge(&self.objective, trial, hopeless);
            let why = match &judged {
                Kept::Yes(why) | Kept::No(why) | Kept::NotKnown(why) | Kept::Void(why) => why.clone(),
            };
            let kept = matches!(judged, Kept::Yes(_));
            let early = match ended_early_s {
                Some(s) => format!(", ended early after {}", ui::seconds(s)),
                None => String::new(),
            };
            self.say(&format!("  {}{early}: {why}", if kept { "kept" } else { "broken" }));
            let step = Step { rate_per_s: rate, trial: index, confirming, kept, why, ended_early_s };
            if let Some(search) = &mut document.search {
                search.steps.push(step);
            }
            outcome::so_far(document);
            self.course.write(document)?;
            match judged {
                Kept::Yes(_) => bracket.tell(rate, confirming, true),
                Kept::No(_) => bracket.tell(rate, confirming, false),
                Kept::NotKnown(why) => return Ok(Found::NotKnown(why)),
                Kept::Void(why) => return Ok(Found::Void(why)),
            }
        }
    }

    /// One trial at a rate; nothing when interrupted before it has measured anything.
    fn step(
        &mut self,
        rate: f64,
        confirming: bool,
        left: u32,
        document: &mut Document,
    ) -> Result<Option<usize>> {
        let (what, number) = (if confirming { "confirming " } else { "" }, document.trials.len());
        let each = (self.base.warmup + self.base.measured).as_secs_f64();
        let plan = drive::Plan {
            arrivals: self.asked.ground.open_loop(rate),
            drain_max: self.base.drain_max.min(DRAIN_MAX),
            // Other calls in every trial, so that a rate is not kept by the luck of one stream.
            seed: self.base.seed + number as u64,
            ..self.base.clone()
        };
        let steps = document.search.iter().flat_map(|search| &search.steps);
        let before = steps.filter(|step| step.rate_per_s == rate).count();
        self.course.site.ui.live().place(&format!("{rate:.0} calls/s"), before as u32 + 1);
        let (objective, bounds, kinds) = (&self.objective, Bounds::of(&plan), kinds::<W>());
        let end_early =
            |ran, totals: &Totals| bounds.and_then(|bounds| bounds.hopeless(objective, &kinds, ran, totals));
        let wanted = Wanted {
            plan,
            label: format!("{what}{rate:.0} per s"),
            announcement: format!(
                "step {number}: {what}{rate:.0}/s, about {} left",
                ui::seconds(each * f64::from(left))
            ),
            end_early: Some(&end_early),
        };
        self.course.trial(&wanted, document)
    }
}

/// What a step says; `hopeless` is why it was ended early, if it was.
fn judge(objective: &Objective, trial: &Trial, hopeless: Option<String>) -> Kept {
    if let Some(why) = trial.why_void().filter(|_| trial.is_void_at_any_load()) {
        return Kept::Void(why);
    }
    hopeless.map_or_else(|| objective.kept_by(trial), Kept::No)
}
