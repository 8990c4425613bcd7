//! Experiments and comparisons as a schedule: every variant once in each block, in an order of the block's own.

use crate::conclude::{Findings, VariantStatus};
use crate::confirm;
use crate::metric::{Measured, rate_unit};
use crate::plan::{Arm, Experiment, Variant};
use crate::{CompletedTrials, Next, PlannedTrial, Schedule};
use anyhow::{Result, bail};
use measure::{BLOCKS_BEFORE_LOOKS, Design, is_narrow_enough};
use result::text::seconds;
use result::{Comparison, Document, RunKind, Setting, Spent, State, Trial, VariantState};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use workload::Benchmark;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interleaved {
    /// An experiment, or a comparison of two, of which nothing is left where one side is invalid.
    kind: RunKind,
    experiment: Experiment,
    /// The trials of the first variant, one a block, where another run has measured them: none of it runs here.
    stored: Vec<Trial>,
}

impl Interleaved {
    /// An experiment, or a comparison of its two variants.
    ///
    /// # Errors
    /// A metric is none of the workload's, named twice, or of calls that a variant does not make; or throughput counts
    /// different calls in its variants.
    pub fn of<W: Benchmark>(experiment: Experiment, kind: RunKind) -> Result<Interleaved> {
        let mut metrics = Vec::new();
        for criterion in &experiment.criteria {
            let measured = Measured::named(&criterion.metric, W::KINDS)?;
            if metrics.contains(&measured) {
                bail!("the metric `{}` is named twice", criterion.metric);
            }
            let makes = |variant: &&Variant| measured.is_known_of(W::KINDS, &variant.plan);
            if let Some(other) = experiment.variants.iter().find(|variant| !makes(variant)) {
                bail!(
                    "{} makes no calls that the metric `{}` could be of: its mix leaves them out",
                    other.name,
                    criterion.metric
                );
            }
            metrics.push(measured);
        }
        let mut units = experiment.variants.iter().map(|variant| rate_unit::<W>(&variant.plan));
        let first = units.next().unwrap_or(W::RATE_UNIT);
        let counts = metrics.contains(&Measured::Throughput);
        if let Some(other) = units.find(|unit| counts && *unit != first) {
            bail!(
                "the mixes of its variants have throughputs of different units, {first} and {other}, which cannot be compared\n\
                 hint: compare another metric, such as `cpu` or `p99`"
            );
        }
        Ok(Interleaved { kind, experiment, stored: Vec::new() })
    }

    /// The same, where the first variant is not measured: these are its trials, which decide on the number of blocks.
    pub fn with_stored_base(mut self, trials: Vec<Trial>) -> Interleaved {
        self.experiment.blocks = trials.len() as u32;
        self.experiment.control = false;
        self.stored = trials;
        self
    }

    /// What is compared, and to what it is held.
    pub fn experiment(&self) -> &Experiment {
        &self.experiment
    }

    /// Trials that another run has measured.
    pub fn stored(&self) -> &[Trial] {
        &self.stored
    }

    /// How many variants, from the first on, another run has measured.
    fn stored_variants(&self) -> usize {
        usize::from(!self.stored.is_empty())
    }

    /// How many trials a block has.
    fn block_len(&self, arms: &[Arm]) -> usize {
        arms.len() - self.stored_variants()
    }

    /// The block of the trial of a number, from 1, and its part by its place in the cast; nothing beyond the last.
    fn slot(&self, arms: &[Arm], number: usize) -> Option<(u32, usize)> {
        let trials = self.block_len(arms);
        let (block, at) = (((number - 1) / trials) as u32, (number - 1) % trials);
        (block < self.experiment.blocks).then(|| (block, self.order(arms, block).concat()[at]))
    }

    /// Whether all intervals are as narrow as was asked for, so that no further block is needed.
    fn is_precise<W: Benchmark>(&self, so_far: &CompletedTrials, block: u32) -> bool {
        let Some(precision) = self.experiment.precision.filter(|_| block >= BLOCKS_BEFORE_LOOKS) else {
            return false;
        };
        let comparisons = self.found::<W>(so_far).comparisons::<W>();
        let ratios = comparisons.iter().filter_map(|comparison| comparison.ratio);
        is_narrow_enough(precision, block, ratios.map(|ratio| ratio.low.zip(ratio.high)))
    }

    /// What is run at once in a block, in the order in which it runs.
    fn order(&self, arms: &[Arm], block: u32) -> Vec<Vec<usize>> {
        let (blocks, seed) = (self.experiment.blocks, self.experiment.seed);
        let mut units = self.experiment.units(arms);
        // A stored variant is the first part, and by itself: whatever takes turns with another has run here.
        units.drain(..self.stored_variants());
        let controls = (1..arms.len()).filter(|part| arms[*part].control);
        let alone = |part: usize| units.iter().position(|unit| *unit == [part]);
        let twins: Vec<(usize, usize)> =
            controls.filter_map(|control| alone(control - 1).zip(alone(control))).collect();
        let design = Design { parts: units.len(), twins: &twins, blocks, seed };
        design.order(block).into_iter().map(|unit| units[unit].clone()).collect()
    }

    fn wanted(&self, arms: &[Arm], number: usize) -> Option<PlannedTrial> {
        let (block, part) = self.slot(arms, number)?;
        let Arm { variant, name, .. } = &arms[part];
        let plan = self.experiment.variants[*variant].plan.clone();
        // The same calls in whole trials of a block, other ones in every block.
        let stored = self.stored.get(block as usize).map(|trial| trial.plan.seed);
        let plan = drive::Plan { seed: stored.unwrap_or(plan.seed + u64::from(block)), ..plan };
        let variant = variant - self.stored_variants();
        Some(PlannedTrial { round: block, ..PlannedTrial::of(number, name, variant, plan) })
    }

    /// What has become of each part.
    fn statuses(&self, arms: &[Arm], so_far: &CompletedTrials) -> Vec<VariantStatus> {
        let mut statuses = vec![VariantStatus { state: VariantState::Measured, reason: None }; arms.len()];
        let mut stands = |part: usize, state, reason: String| {
            statuses[part] = VariantStatus { state, reason: Some(reason) };
        };
        for stopped in &so_far.stopped {
            let part = stopped.number.and_then(|number| self.slot(arms, number));
            match part {
                Some((_, part)) => stands(part, VariantState::Invalid, stopped.reason.clone()),
                None => (0..arms.len())
                    .filter(|part| arms[*part].variant == stopped.variant + self.stored_variants())
                    .for_each(|part| stands(part, VariantState::NotStarted, stopped.reason.clone())),
            }
        }
        for (number, trial) in so_far.numbers.iter().zip(&so_far.trials) {
            if let (Some((_, part)), Some(why)) = (self.slot(arms, *number), trial.why_invalid()) {
                stands(part, VariantState::Invalid, why);
            }
        }
        statuses
    }

    /// Why it ended with the last block, where that depends on what was found; the blocks that were not needed are not planned then.
    fn ended<W: Benchmark>(&self, so_far: &CompletedTrials, document: &mut Document) -> Option<String> {
        let experiment = document.experiment.as_mut().filter(|_| document.state == State::Complete)?;
        let (blocks, planned) = (experiment.blocks.len() as u32, self.experiment.blocks);
        experiment.blocks_planned = blocks;
        let Some(precision) = self.experiment.precision.map(|precision| precision * 100.0) else {
            let time = self.experiment.time.filter(|_| blocks < planned)?;
            return Some(format!(
                "It ended after {blocks} of {planned} blocks: warming up took longer than planned, and one more block would have \
                 ended after the {} that were asked for.",
                seconds(time.as_secs_f64())
            ));
        };
        Some(if self.is_precise::<W>(so_far, blocks) {
            format!(
                "It ended after {blocks} blocks, when every interval was within ±{precision:.1} %. Because the intervals were \
                 looked at after each block from the {BLOCKS_BEFORE_LOOKS}th on, they are wider than others (decision 0034)."
            )
        } else {
            format!(
                "The time was up after {blocks} blocks, before every interval was within ±{precision:.1} %."
            )
        })
    }

    fn found<'a, W: Benchmark>(&'a self, so_far: &'a CompletedTrials) -> Interim<'a> {
        let arms = self.experiment.arms();
        let mut of_parts = vec![vec![None; self.experiment.blocks as usize]; arms.len()];
        of_parts[0].iter_mut().enumerate().take(self.stored.len()).for_each(|(at, trial)| *trial = Some(at));
        for (at, number) in so_far.numbers.iter().enumerate() {
            if let Some((block, part)) = self.slot(&arms, *number) {
                of_parts[part][block as usize] = Some(self.stored.len() + at);
            }
        }
        let metrics = self.experiment.criteria.iter().map(|criterion| &criterion.metric);
        let measured = metrics.map(|metric| Measured::named(metric, W::KINDS));
        Interim {
            plan: &self.experiment,
            metrics: measured.collect::<Result<_>>().expect("the metrics were read before the run began"),
            statuses: self.statuses(&arms, so_far),
            arms,
            of_parts,
            stored_variants: self.stored_variants(),
            trials: self.trials_with_stored(so_far),
        }
    }

    /// All trials as the document has them: those that are stored before those that have run here.
    fn trials_with_stored<'a>(&self, so_far: &'a CompletedTrials) -> Cow<'a, [Trial]> {
        match self.stored.is_empty() {
            true => Cow::Borrowed(&so_far.trials),
            false => Cow::Owned([&self.stored[..], &so_far.trials[..]].concat()),
        }
    }
}

/// What the trials so far show.
struct Interim<'a> {
    plan: &'a Experiment,
    metrics: Vec<Measured>,
    arms: Vec<Arm>,
    statuses: Vec<VariantStatus>,
    /// For each part its trial in each block.
    of_parts: Vec<Vec<Option<usize>>>,
    /// How many variants, from the first on, another run has measured.
    stored_variants: usize,
    trials: Cow<'a, [Trial]>,
}

impl Interim<'_> {
    fn comparisons<W: Benchmark>(&self) -> Vec<Comparison> {
        let findings = Findings {
            plan: self.plan,
            metrics: &self.metrics,
            at: 0,
            arms: &self.arms,
            statuses: &self.statuses,
            of_parts: &self.of_parts,
            trials: &self.trials,
        };
        findings.comparisons::<W>()
    }

    /// For each block the parts in the order in which they ran.
    fn blocks(&self) -> Vec<Vec<usize>> {
        let parts = 0..self.arms.len();
        let in_block = |block: usize| {
            let mut ran: Vec<(usize, usize)> =
                parts.clone().filter_map(|part| Some((self.of_parts[part][block]?, part))).collect();
            ran.sort_unstable();
            ran.into_iter().map(|(_, part)| part).collect()
        };
        let mut blocks: Vec<Vec<usize>> = (0..self.plan.blocks as usize).map(in_block).collect();
        blocks.truncate(blocks.iter().rposition(|block| !block.is_empty()).map_or(0, |last| last + 1));
        blocks
    }

    fn experiment<W: Benchmark>(&self, spent: Spent) -> result::Experiment {
        let plan = self.plan;
        let place =
            |variant: usize| self.arms.iter().position(|part| part.variant == variant && !part.control);
        let variants =
            self.arms.iter().zip(&self.statuses).zip(&self.of_parts).map(|((part, status), trials)| {
                let variant = &plan.variants[part.variant];
                let setting =
                    |(name, value): &(String, String)| Setting { name: name.clone(), value: value.clone() };
                result::Variant {
                    name: part.name.clone(),
                    subject: variant.subject.clone(),
                    settings: variant.asked.iter().map(setting).collect(),
                    base: if part.control { place(part.variant) } else { variant.base.and_then(place) },
                    control: part.control,
                    stored: part.variant < self.stored_variants,
                    state: status.state,
                    reason: status.reason.clone(),
                    trials: trials.clone(),
                }
            });
        let first = &plan.variants[self.arms[0].variant].plan;
        let mut metrics = self.metrics.iter().map(|measured| measured.described::<W>(first));
        result::Experiment {
            name: plan.name.clone(),
            question: plan.question.clone(),
            metric: metrics.next().expect("there is at least one metric"),
            further_metrics: metrics.collect(),
            variants: variants.collect(),
            blocks: self.blocks(),
            blocks_planned: plan.blocks,
            comparisons: self.comparisons::<W>(),
            spent,
        }
    }
}

/// A comparison as what it is: an experiment of two variants, whose question is its own.
fn of_two(experiment: result::Experiment) -> Option<result::Experiment> {
    let comparison = experiment.comparisons.first()?;
    let question = format!("{} vs {}", comparison.b.label, comparison.a.label);
    Some(result::Experiment { name: String::new(), question: Some(question), ..experiment })
}

impl<W: Benchmark> Schedule<W> for Interleaved {
    fn kind(&self) -> RunKind {
        self.kind
    }

    fn name(&self) -> String {
        match self.kind {
            RunKind::Comparison => self.experiment.name.clone(),
            _ => format!("experiment-{}", self.experiment.name),
        }
    }

    fn scale(&self) -> u32 {
        self.experiment.scale
    }

    fn variants(&self) -> Vec<Variant> {
        self.experiment.variants[self.stored_variants()..].to_vec()
    }

    fn trials(&self) -> Option<usize> {
        Some(Schedule::<W>::block(self) * self.experiment.blocks as usize)
    }

    fn block(&self) -> usize {
        self.block_len(&self.experiment.arms())
    }

    fn unit(&self, number: usize) -> RangeInclusive<usize> {
        let arms = self.experiment.arms();
        let trials = self.block_len(&arms);
        let block = ((number - 1) / trials) as u32;
        let mut first = block as usize * trials + 1;
        if block >= self.experiment.blocks {
            return number..=number;
        }
        for unit in self.order(&arms, block) {
            if number < first + unit.len() {
                return first..=first + unit.len() - 1;
            }
            first += unit.len();
        }
        number..=number
    }

    fn together(&self) -> Vec<Vec<usize>> {
        let arms = self.experiment.arms();
        let units = self.experiment.units(&arms).into_iter().filter(|unit| unit.len() > 1);
        units.map(|unit| unit.into_iter().map(|part| arms[part].variant).collect()).collect()
    }

    fn in_order(&self) -> bool {
        false
    }

    fn has_others(&self) -> bool {
        self.kind == RunKind::Experiment
    }

    fn notes(&self) -> Vec<String> {
        self.experiment.notes.clone()
    }

    fn announcement(&self) -> Option<String> {
        let Experiment { blocks, precision, .. } = self.experiment;
        let own = Experiment { variants: Schedule::<W>::variants(self), ..self.experiment.clone() };
        let all_s = seconds(own.block_s() * f64::from(blocks));
        let (about, until) = match precision {
            None => ("about", String::new()),
            Some(share) => ("at most", format!(", until every interval is within ±{:.1} %", share * 100.0)),
        };
        let word = if blocks == 1 { "block" } else { "blocks" };
        Some(format!(
            "expected: {about} {all_s} for {blocks} {word}{until}, plus loading, restoring and audits"
        ))
    }

    fn next(&self, number: usize, so_far: &CompletedTrials) -> Result<Next> {
        let arms = self.experiment.arms();
        let Some((block, part)) = self.slot(&arms, number) else { return Ok(Next::End) };
        let is_over = || {
            let trials = self.block_len(&arms);
            let others = so_far.numbers.iter().map(|number| ((number - 1) / trials) as u32);
            // One that is made again comes before others that are there.
            let done = others.filter(|other| *other != block).collect::<BTreeSet<_>>().len() as u32;
            self.is_precise::<W>(so_far, block)
                || self.experiment.is_out_of_time(done, so_far.spent.measured_s)
        };
        if (number - 1).is_multiple_of(self.block_len(&arms)) && is_over() {
            return Ok(Next::End);
        }
        let statuses = self.statuses(&arms, so_far);
        let runs = |status: &VariantStatus| status.state == VariantState::Measured;
        // Of two sides one that is invalid leaves nothing to compare.
        if self.kind == RunKind::Comparison && !statuses.iter().all(runs) {
            return Ok(Next::End);
        }
        Ok(match self.wanted(&arms, number).filter(|_| runs(&statuses[part])) {
            Some(wanted) => Next::Trial(wanted),
            None => Next::Skip,
        })
    }

    fn trial(&self, number: usize, _so_far: &CompletedTrials) -> Result<Option<PlannedTrial>> {
        Ok(self.wanted(&self.experiment.arms(), number))
    }

    fn remark(&self, so_far: &CompletedTrials) -> Option<String> {
        let (arms, last) = (self.experiment.arms(), *so_far.numbers.last()?);
        let (_, part) = self.slot(&arms, last)?;
        if let Some(why) = so_far.trials.last()?.why_invalid() {
            return Some(format!("{} is invalid: {why}", arms[part].name));
        }
        // What a block has added.
        let comparisons = self.found::<W>(so_far).comparisons::<W>();
        let words = |comparison: &Comparison| {
            let ratio = comparison.ratio.filter(|ratio| ratio.low.is_some())?;
            Some(format!("{} {}", comparison.b.label, judge::figures::ratio(ratio)))
        };
        let found: Vec<String> = comparisons.iter().filter_map(words).collect();
        let is_whole = last.is_multiple_of(self.block_len(&arms)) && !found.is_empty();
        is_whole.then(|| format!("so far: {} (95 % CI)", found.join(", ")))
    }

    fn update(&self, so_far: &CompletedTrials, document: &mut Document) {
        // Before anything has run, a document with trials would look like a result.
        if !so_far.trials.is_empty() {
            document.trials = self.trials_with_stored(so_far).into_owned();
        }
        if let Some(first) = self.stored.first().filter(|first| !document.subjects.contains(&first.subject)) {
            document.subjects.insert(0, first.subject.clone());
        }
        let experiment = self.found::<W>(so_far).experiment::<W>(so_far.spent);
        document.experiment = if self.kind == RunKind::Experiment {
            Some(experiment)
        } else {
            // Of a comparison only once there is something to compare.
            of_two(experiment).filter(|_| !so_far.trials.is_empty())
        };
    }

    fn conclude(&self, so_far: &CompletedTrials, document: &mut Document) {
        Schedule::<W>::update(self, so_far, document);
        if self.found::<W>(so_far).statuses.iter().all(|status| status.state == VariantState::Measured) {
            let ended = self.ended::<W>(so_far, document);
            document.notes.extend(ended);
        }
        if self.kind != RunKind::Comparison {
            return;
        }
        if so_far.trials.iter().any(|trial| trial.state == State::Failed) {
            document.state = State::Failed;
        }
        let comparisons = self.found::<W>(so_far).comparisons::<W>();
        let suspicion = self.experiment.suspicion.as_ref();
        document.confirmation = suspicion.map(|suspicion| confirm::judge(suspicion, comparisons.first()));
        let spent = so_far.spent;
        let over = spent.total_s - spent.load_s - spent.measured_s;
        document.notes.push(format!(
            "Restoring the state took {} in all, checks {}, loading {}; {} were spent measuring, and the \
             whole took {:.0} % more than measuring and loading.",
            seconds(spent.restore_s),
            seconds(spent.check_s),
            seconds(spent.load_s),
            seconds(spent.measured_s),
            over / (spent.measured_s + spent.load_s).max(1e-9) * 100.0
        ));
    }

    fn shown(&self, so_far: &CompletedTrials) -> Option<result::Experiment> {
        Some(self.found::<W>(so_far).experiment::<W>(so_far.spent))
    }
}

#[cfg(test)]
#[path = "interleaved_tests.rs"]
mod tests;
