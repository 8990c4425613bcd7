//! Experiments and comparisons as a schedule: every variant once in each block, in an order of the block's own.

use crate::CommandOutcome;
use crate::conclude::{Findings, VariantStatus};
use crate::confirm;
use crate::metric::{Measured, rate_unit};
use crate::plan::{Arm, BLOCKS_BEFORE_LOOKS, Experiment, Variant};
use crate::{CompletedTrials, Next, PlannedTrial, Schedule};
use anyhow::{Result, bail};
use measure::Design;
use result::words::{capital, seconds};
use result::{Comparison, Document, RunKind, Setting, Spent, State, VariantState};
use serde::{Deserialize, Serialize};
use std::ops::RangeInclusive;
use workload::Benchmark;

/// What is to be done.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interleaved {
    /// An experiment, or a comparison of two, of which nothing is left where one side is invalid.
    kind: RunKind,
    experiment: Experiment,
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
        Ok(Interleaved { kind, experiment })
    }

    /// The block of the trial of a number, from 1, and its part by its place in the cast; nothing beyond the last.
    fn slot(&self, arms: &[Arm], number: usize) -> Option<(u32, usize)> {
        let (block, at) = (((number - 1) / arms.len()) as u32, (number - 1) % arms.len());
        (block < self.experiment.blocks).then(|| (block, self.order(arms, block).concat()[at]))
    }

    /// Whether all intervals are as narrow as was asked for, so that no further block is needed.
    fn is_precise<W: Benchmark>(&self, so_far: &CompletedTrials, block: u32) -> bool {
        let Some(precision) = self.experiment.precision.filter(|_| block >= BLOCKS_BEFORE_LOOKS) else {
            return false;
        };
        let comparisons = self.found::<W>(so_far).comparisons::<W>();
        let mut ratios = comparisons.iter().filter_map(|comparison| comparison.ratio).peekable();
        ratios.peek().is_some()
            && ratios.all(|ratio| half_width(&ratio).is_some_and(|half| half <= precision))
    }

    /// What is run at once in a block, in the order in which it runs.
    fn order(&self, arms: &[Arm], block: u32) -> Vec<Vec<usize>> {
        let (blocks, seed) = (self.experiment.blocks, self.experiment.seed);
        let units = self.experiment.units(arms);
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
        let plan = drive::Plan { seed: plan.seed + u64::from(block), ..plan };
        Some(PlannedTrial { round: block, ..PlannedTrial::of(number, name, *variant, plan) })
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
                    .filter(|part| arms[*part].variant == stopped.variant)
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
        let precision = self.experiment.precision.filter(|_| document.state == State::Complete)? * 100.0;
        let experiment = document.experiment.as_mut()?;
        let blocks = experiment.blocks.len() as u32;
        Some(if self.is_precise::<W>(so_far, blocks) {
            experiment.blocks_planned = blocks;
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

    fn found<'a, W: Benchmark>(&'a self, so_far: &'a CompletedTrials) -> Found<'a> {
        let arms = self.experiment.arms();
        let mut of_parts = vec![vec![None; self.experiment.blocks as usize]; arms.len()];
        for (at, number) in so_far.numbers.iter().enumerate() {
            if let Some((block, part)) = self.slot(&arms, *number) {
                of_parts[part][block as usize] = Some(at);
            }
        }
        let metrics = self.experiment.criteria.iter().map(|criterion| &criterion.metric);
        let measured = metrics.map(|metric| Measured::named(metric, W::KINDS));
        Found {
            plan: &self.experiment,
            metrics: measured.collect::<Result<_>>().expect("the metrics were read before the run began"),
            statuses: self.statuses(&arms, so_far),
            arms,
            of_parts,
            so_far,
        }
    }
}

/// Half the width of an interval, as a share of the base.
fn half_width(ratio: &result::Interval) -> Option<f64> {
    Some((ratio.high? - ratio.low?) / 2.0)
}

/// What the trials so far show.
struct Found<'a> {
    plan: &'a Experiment,
    metrics: Vec<Measured>,
    arms: Vec<Arm>,
    statuses: Vec<VariantStatus>,
    /// For each part its trial in each block.
    of_parts: Vec<Vec<Option<usize>>>,
    so_far: &'a CompletedTrials,
}

impl Found<'_> {
    fn comparisons<W: Benchmark>(&self) -> Vec<Comparison> {
        let findings = Findings {
            plan: self.plan,
            metrics: &self.metrics,
            at: 0,
            arms: &self.arms,
            statuses: &self.statuses,
            of_parts: &self.of_parts,
            trials: &self.so_far.trials,
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
    let question = format!("{} vs {}", capital(&comparison.b.label), comparison.a.label);
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
        self.experiment.variants.clone()
    }

    fn trials(&self) -> Option<usize> {
        Some(self.experiment.arms().len() * self.experiment.blocks as usize)
    }

    fn block(&self) -> usize {
        self.experiment.arms().len()
    }

    fn unit(&self, number: usize) -> RangeInclusive<usize> {
        let arms = self.experiment.arms();
        let block = ((number - 1) / arms.len()) as u32;
        let mut first = block as usize * arms.len() + 1;
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
        let all_s = seconds(self.experiment.block_s() * f64::from(blocks));
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
        if (number - 1).is_multiple_of(arms.len()) && self.is_precise::<W>(so_far, block) {
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
        let is_whole = last.is_multiple_of(arms.len()) && !found.is_empty();
        is_whole.then(|| format!("so far: {} (95 % CI)", found.join(", ")))
    }

    fn update(&self, so_far: &CompletedTrials, document: &mut Document) {
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

    fn answer(
        &self,
        so_far: &CompletedTrials,
        document: &Document,
        print: &dyn Fn(&str),
    ) -> Result<CommandOutcome> {
        let Experiment { ref criteria, accept_inconclusive, require_audit, .. } = self.experiment;
        let limited = criteria.iter().any(|criterion| criterion.max_loss.is_some());
        if document.state == State::Interrupted && limited {
            bail!("interrupted before --max-loss could be judged");
        }
        let found = self.found::<W>(so_far);
        let unsound = found.statuses.iter().any(|status| status.state != VariantState::Measured);
        let unaudited = result::unaudited(&so_far.trials).filter(|_| require_audit);
        if let Some(why) = &unaudited {
            print(why);
        }
        let answer = CommandOutcome::of(&found.comparisons::<W>(), accept_inconclusive);
        Ok(if unsound || unaudited.is_some() { CommandOutcome::Bad } else { answer })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::Criterion;
    use deploy::{EngineOptions, Spec};
    use model::{Mix, Workload};
    use sql::Dialect;
    use workload_tpcc::Tpcc;

    fn three() -> Interleaved {
        let variant = |name: &str, base| Variant {
            name: name.into(),
            subject: "tpcc/sqlite/rusqlite".into(),
            base,
            factors: vec!["pool".into()],
            plan: drive::Plan::default(),
            pool: 8,
            server_threads: 1,
            http: model::HttpOptions::default(),
            server_limits: None,
            relaying: deploy::RelayOptions::default(),
            spec: Spec::of_wishes(Dialect::Sqlite, 1, &[], &EngineOptions::default()),
            through_checkpoints: false,
            whole: false,
            asked: vec![("pool".into(), "8".into())],
        };
        let experiment = Experiment {
            name: "three".into(),
            question: None,
            workload: "tpcc".into(),
            scale: 1,
            blocks: 3,
            control: true,
            criteria: vec![Criterion { metric: "throughput".into(), margin: 0.02, max_loss: None }],
            accept_inconclusive: false,
            require_audit: false,
            seed: 7,
            variants: vec![variant("base", None), variant("B: 8", Some(0)), variant("alone", None)],
            notes: Vec::new(),
            suspicion: None,
            precision: None,
        };
        Interleaved { kind: RunKind::Experiment, experiment }
    }

    #[test]
    fn each_base_that_something_is_held_against_runs_once_more() {
        let names = |run: &Interleaved| -> Vec<String> {
            run.experiment.arms().into_iter().map(|part| part.name).collect()
        };
        let mut run = three();
        assert_eq!(names(&run), ["base", "base, again", "B: 8", "alone"]);
        run.experiment.control = false;
        assert_eq!(names(&run), ["base", "B: 8", "alone"]);
    }

    #[test]
    fn a_metric_of_calls_that_a_variant_does_not_make_is_found_before_anything_runs() {
        let mut experiment = three().experiment;
        let of = |experiment: &Experiment| Interleaved::of::<Tpcc>(experiment.clone(), RunKind::Experiment);
        experiment.criteria[0].metric = "new-order.p99".into();
        assert!(of(&experiment).is_ok());
        experiment.variants[1].plan.mix = Mix::of(Tpcc::KINDS, &[("payment".to_owned(), 1.0)]).unwrap();
        let error = of(&experiment).unwrap_err().to_string();
        assert!(error.starts_with("B: 8 makes no calls that the metric `new-order.p99`"), "{error}");
        experiment.criteria[0].metric = "payment.p99".into();
        assert!(of(&experiment).is_ok());
    }

    /// Blocks of which each has these rates of the base, its control, and the variants.
    fn so_far(run: &Interleaved, blocks: &[[f64; 4]]) -> CompletedTrials {
        let (arms, mut so_far) = (run.experiment.arms(), CompletedTrials::default());
        for number in 1..=blocks.len() * arms.len() {
            let (block, part) = run.slot(&arms, number).unwrap();
            let mut trial = sample_documents::trial().trials[0].clone();
            trial.headline.value.value = blocks[block as usize][part];
            so_far.push(number, arms[part].variant, trial);
        }
        so_far
    }

    #[test]
    fn blocks_are_added_until_intervals_are_narrow_enough_and_five_at_least() {
        let mut run = three();
        run.experiment.blocks = 20;
        let narrow = [[1_000.0, 1_001.0, 900.0, 500.0], [1_002.0, 1_000.0, 905.0, 500.0]];
        let blocks = |count: usize| -> Vec<_> { narrow.into_iter().cycle().take(count).collect() };
        let ends = |run: &Interleaved, blocks: &[[f64; 4]]| {
            let next = Schedule::<Tpcc>::next(run, blocks.len() * 4 + 1, &so_far(run, blocks)).unwrap();
            matches!(next, Next::End)
        };
        assert!(!ends(&run, &blocks(6)), "no precision was asked for");
        run.experiment.precision = Some(0.01);
        assert!(!ends(&run, &blocks(4)) && ends(&run, &blocks(5)));
        let mut wild = blocks(5);
        wild[2][2] = 700.0;
        assert!(!ends(&run, &wild));
        // Nothing ends within a block.
        let next = Schedule::<Tpcc>::next(&run, 22, &so_far(&run, &blocks(5))).unwrap();
        assert!(matches!(next, Next::Trial(_)));
        let mut document = sample_documents::comparison();
        Schedule::<Tpcc>::conclude(&run, &so_far(&run, &blocks(5)), &mut document);
        assert_eq!(document.experiment.unwrap().blocks_planned, 5);
        assert!(
            document.notes.iter().any(|note| note.starts_with("It ended after 5 blocks")),
            "{:?}",
            document.notes
        );
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let text = serde_json::to_string(&three()).unwrap();
        assert_eq!(serde_json::from_str::<Interleaved>(&text).unwrap(), three());
    }

    /// A drift that goes on evenly through a block does the same to the mean of both trials of the base as to what lies
    /// between them.
    #[test]
    fn a_base_and_its_control_lie_around_the_middle_of_each_block() {
        let (run, arms) = (three(), three().experiment.arms());
        let parts: Vec<usize> = (1..=12).map(|number| run.slot(&arms, number).unwrap().1).collect();
        for block in parts.chunks(4) {
            let place = |part: usize| block.iter().position(|of| *of == part).unwrap();
            assert_eq!(place(0) + place(1), 3, "{block:?}");
        }
    }

    #[test]
    fn the_same_plan_gives_the_same_trials_so_that_it_can_be_resumed() {
        let folders = || -> Vec<String> {
            let (run, arms) = (three(), three().experiment.arms());
            (1..).map_while(|number| run.wanted(&arms, number)).map(|wanted| wanted.folder).collect()
        };
        assert_eq!(folders().len(), 12);
        assert_eq!(folders(), folders());
        assert!(folders()[11].starts_with("012-"), "{:?}", folders());
        assert!(folders().iter().any(|folder| folder.ends_with("-b-8")), "{:?}", folders());
    }
}
