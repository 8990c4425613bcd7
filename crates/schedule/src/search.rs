//! The highest rate of an open loop that keeps a service level.
//!
//! A closed loop says about what the system can do. From there the rate is raised or lowered until one meets the SLO and one
//! misses it, and halved in between, as a share, until they are as near as was asked for. Then the highest that met it is run
//! again to confirm it, since the best of several trials is a lucky one; where a confirming trial breaks it, the next lower
//! rate has to stand the same. A step that can no longer keep the level ends there and then.

use crate::bracket::{Bracket, Try};
use crate::early_stop::Bounds;
use crate::plan::Variant;
use crate::slo::{Objective, SloResult};
use crate::{CompletedTrials, EndEarly, Next, PlannedTrial, Schedule, UnderLoad, has_ended};
use anyhow::{Result, bail};
use judge::search::{self, SearchEnd};
use measure::Totals;
use model::Nanos;
use result::text::seconds;
use result::{Document, RunKind, Search, Step, Trial};
use serde::{Deserialize, Serialize};
use workload::Benchmark;

/// Length of the closed-loop trial that the search begins with, at most.
const ESTIMATE_MAX: Nanos = Nanos::from_secs(10);
/// Its clients: enough to fill most systems, few enough not to drown them.
const ESTIMATE_CLIENTS: u32 = 16;
/// What an open loop is begun at, as a share of what the closed one did: near it waiting alone breaks most levels.
const START_SHARE: f64 = 0.7;
/// How long after its interval a step may go on, at most: a backlog need not be worked off to know that there is one.
const DRAIN_MAX: Nanos = Nanos::from_secs(5);

/// What is searched for, and where.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Searching {
    pub base: UnderLoad,
    /// The service level, in parts as it was typed.
    pub slo: Vec<String>,
    /// How near is near enough, as a share.
    pub resolution: f64,
    /// Trials that must keep a rate again.
    pub confirm: u32,
}

impl Searching {
    /// What every step does but for its rate.
    fn plan(&self) -> drive::Plan {
        drive::Plan { workers: self.base.in_flight, ..self.base.plan.clone() }
    }
}

fn kinds<W: Benchmark>() -> Vec<&'static str> {
    W::KINDS.iter().map(|kind| kind.name).collect()
}

impl<W: Benchmark> Schedule<W> for Searching {
    fn kind(&self) -> RunKind {
        RunKind::Search
    }

    fn name(&self) -> String {
        format!("find-max-{}", self.base.subject)
    }

    fn scale(&self) -> u32 {
        self.base.scale
    }

    fn variants(&self) -> Vec<Variant> {
        self.base.variants([self.plan(), self.capacity()].into_iter())
    }

    fn trials(&self) -> Option<usize> {
        None
    }

    /// Each step stands for itself.
    fn block(&self) -> usize {
        1
    }

    fn next(&self, number: usize, so_far: &CompletedTrials) -> Result<Next> {
        if so_far.trials.is_empty() {
            let plan = self.capacity();
            let announcement = format!("capacity: a closed loop of {} clients", plan.workers);
            let variant = Schedule::<W>::variants(self).len() - 1;
            return Ok(Next::Trial(PlannedTrial {
                announcement,
                ..PlannedTrial::of(number, "capacity", variant, plan)
            }));
        }
        let search = self.search::<W>(&so_far.trials)?;
        let (rate, confirming) = match search.next(self.confirm) {
            Ok(step) => step,
            Err(_) => return Ok(Next::End),
        };
        let base = self.plan();
        let each = (base.warmup + base.measured).as_secs_f64();
        let plan = drive::Plan {
            arrivals: self.base.open_loop(rate),
            drain_max: base.drain_max.min(DRAIN_MAX),
            // Other calls in every trial, so that a rate does not meet the SLO by the luck of one stream.
            seed: base.seed + number as u64 - 1,
            ..base
        };
        let what = if confirming { "confirming " } else { "" };
        let left = seconds(each * f64::from(search.bracket.steps_left(self.confirm)));
        let before = search.steps.iter().filter(|step| step.rate_per_s == rate).count();
        Ok(Next::Trial(PlannedTrial {
            what: format!("{rate:.0} calls/s"),
            round: before as u32,
            announcement: format!("step {}: {what}{rate:.0}/s, about {left} left", number - 1),
            ..PlannedTrial::of(number, &format!("{what}{rate:.0} per s"), 0, plan)
        }))
    }

    fn end_early<'a>(&'a self, plan: &drive::Plan) -> Option<Box<EndEarly<'a>>> {
        let (bounds, kinds) = (Bounds::of(plan)?, kinds::<W>());
        let objective = Objective::parse(&self.slo, &kinds).ok()?;
        Some(Box::new(move |ran, totals: &Totals| bounds.why_stop(&objective, &kinds, ran, totals)))
    }

    fn remark(&self, so_far: &CompletedTrials) -> Option<String> {
        let search = self.search::<W>(&so_far.trials).ok()?;
        let last = so_far.trials.len() - 1;
        if last == 0 {
            return has_ended(&so_far.trials[0])
                .then(|| format!("about {:.0} calls/s in a closed loop", search.capacity));
        }
        let step = search.steps.last().filter(|step| step.trial == last)?;
        let early = match step.ended_early_s {
            Some(s) => format!(", ended early after {}", seconds(s)),
            None => String::new(),
        };
        Some(format!("  {}{early}: {}", if step.met { "met" } else { "missed" }, step.reason))
    }

    fn update(&self, so_far: &CompletedTrials, document: &mut Document) {
        let Ok(objective) = Objective::parse(&self.slo, &kinds::<W>()) else { return };
        let search = self.search::<W>(&so_far.trials).ok();
        document.search = Some(Search {
            slo: objective.words,
            limits: objective.limits,
            steps: search.map_or_else(Vec::new, |search| search.steps),
            highest_per_s: None,
            lowest_missed_per_s: None,
            next_limit: None,
            sentence: "The search has not come to an end.".into(),
        });
        if so_far.trials.len() > 1 {
            search::so_far(document);
        }
    }

    fn conclude(&self, so_far: &CompletedTrials, document: &mut Document) {
        Schedule::<W>::update(self, so_far, document);
        search::so_far(document);
        if let Ok(search) = self.search::<W>(&so_far.trials)
            && let Err(found) = search.next(self.confirm)
        {
            search::conclude(document, &found, self.confirm);
        }
    }
}

/// How far a search has come.
struct Searched {
    /// Calls a second of a closed loop.
    capacity: f64,
    bracket: Bracket,
    steps: Vec<Step>,
    /// What ended it, unless that is the bracket.
    ended: Option<SearchEnd>,
}

impl Searched {
    /// The rate of the next step, and whether it is to confirm it.
    fn next(&self, confirm: u32) -> Result<(f64, bool), SearchEnd> {
        match (&self.ended, self.bracket.next(confirm)) {
            (Some(found), _) => Err(found.clone()),
            (None, Try::Rate(rate)) => Ok((rate, false)),
            (None, Try::Confirm(rate)) => Ok((rate, true)),
            (None, Try::Found(rate)) => Err(SearchEnd::Highest(rate)),
            (None, Try::None) => Err(SearchEnd::None),
        }
    }
}

impl Searching {
    /// The closed loop that the search begins with.
    fn capacity(&self) -> drive::Plan {
        let base = self.plan();
        let (workers, measured) = (ESTIMATE_CLIENTS.min(base.workers), base.measured.min(ESTIMATE_MAX));
        drive::Plan { workers, measured, ..base }
    }

    /// What trials say, of which the first is that of the closed loop.
    ///
    /// # Errors
    /// There is none, or the closed loop gives no rate to search for.
    fn search<W: Benchmark>(&self, trials: &[Trial]) -> Result<Searched> {
        let Some((first, steps)) = trials.split_first() else { bail!("no trial has been run") };
        let objective = Objective::parse(&self.slo, &kinds::<W>())?;
        let call_counts = &first.overall.call_counts;
        let capacity =
            (call_counts.committed + call_counts.declined) as f64 / first.measured_s.max(f64::MIN_POSITIVE);
        if capacity <= 0.0 {
            bail!(
                "nothing was answered in a closed loop of {} clients, so there is no rate to search for",
                self.capacity().workers
            );
        }
        let start = capacity * START_SHARE;
        if let Some(longer) = objective.too_short(first, start, self.base.plan.measured) {
            bail!("{longer}");
        }
        let bracket = Bracket::new(start, self.resolution);
        let mut search = Searched { capacity, bracket, steps: Vec::new(), ended: None };
        for (at, trial) in steps.iter().enumerate().filter(|(_, trial)| has_ended(trial)) {
            let Ok((rate_per_s, confirming)) = search.next(self.confirm) else { break };
            let judged = judge(&objective, trial, trial.ended_early.clone());
            let met = matches!(judged, SloResult::Met(_));
            match &judged {
                SloResult::Met(_) | SloResult::Missed(_) => {
                    search.bracket.record(rate_per_s, confirming, met)
                }
                SloResult::Unknown(why) => search.ended = Some(SearchEnd::NotKnown(why.clone())),
                SloResult::Invalid(why) => search.ended = Some(SearchEnd::Invalid(why.clone())),
            }
            let (SloResult::Met(reason)
            | SloResult::Missed(reason)
            | SloResult::Unknown(reason)
            | SloResult::Invalid(reason)) = judged;
            let ended_early_s = trial.ended_early.as_ref().map(|_| trial.measured_s);
            search.steps.push(Step { rate_per_s, trial: at + 1, confirming, met, reason, ended_early_s });
        }
        Ok(search)
    }
}

/// What a step says; `stopped` is why it was ended early, if it was.
fn judge(objective: &Objective, trial: &Trial, stopped: Option<String>) -> SloResult {
    if let Some(why) = trial.why_invalid().filter(|_| trial.is_invalid_at_any_load()) {
        return SloResult::Invalid(why);
    }
    stopped.map_or_else(|| objective.judge(trial), SloResult::Missed)
}
