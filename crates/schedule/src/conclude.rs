//! What the trials of an experiment say: a comparison for each variant that has a base, in each metric, and what becomes of
//! those of which a trial is invalid or that could not start.

use crate::factors;
use crate::inconclusive::Inconclusive;
use crate::metric::Measured;
use crate::plan::{Arm, Criterion, Experiment};
use measure::{LOOKS, Observed, ObservedBlock, Terms};
use result::text::capital;
use result::{
    AdjustedRatio, Block, BlockTrial, Comparison, Interval, Noise, Party, Side, SpeedProbe, State, Trial,
    VariantState, Verdict,
};
use workload::Benchmark;

/// Blocks from which an interval is taken from how much they differ, and not from the rounds within them.
const BLOCKS_ENOUGH: usize = 4;

/// Everything that has been found so far.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Findings<'a> {
    pub(crate) plan: &'a Experiment,
    /// What is compared, in the order of the plan's criteria.
    pub(crate) metrics: &'a [Measured],
    /// Which of them this is about.
    pub(crate) at: usize,
    pub(crate) arms: &'a [Arm],
    /// What has become of each part.
    pub(crate) statuses: &'a [VariantStatus],
    /// For each part its trial in each block.
    pub(crate) of_parts: &'a [Vec<Option<usize>>],
    /// All trials, in the order in which they ran.
    pub(crate) trials: &'a [Trial],
}

/// What has become of a part so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VariantStatus {
    pub(crate) state: VariantState,
    pub(crate) reason: Option<String>,
}

/// Blocks that give no ratio.
#[derive(Debug, Clone, Copy)]
struct LeftOut {
    /// A trial of them is missing, or was cut short.
    partial: usize,
    /// Both trials are whole, and the figure of one is not known.
    unknown: usize,
}

impl<'a> Findings<'a> {
    /// One comparison for each metric and each variant with a base: those of the first metric first, in the order of the
    /// variants.
    pub(crate) fn comparisons<W: Benchmark>(self) -> Vec<Comparison> {
        self.in_each().flat_map(Findings::in_metric::<W>).collect()
    }

    /// The same about each metric.
    fn in_each(self) -> impl Iterator<Item = Findings<'a>> {
        (0..self.metrics.len()).map(move |at| Findings { at, ..self })
    }

    fn in_metric<W: Benchmark>(self) -> Vec<Comparison> {
        let parts = (0..self.arms.len()).filter(|part| !self.arms[*part].control);
        parts.filter_map(|b| Some(self.compared::<W>(self.base_of(b)?, b))).collect()
    }

    fn measured(self) -> &'a Measured {
        &self.metrics[self.at]
    }

    fn criterion(self) -> &'a Criterion {
        &self.plan.criteria[self.at]
    }

    /// The part that a part is compared with.
    fn base_of(self, part: usize) -> Option<usize> {
        let base = self.plan.variants[self.arms[part].variant].base?;
        self.part_of(base, false)
    }

    fn part_of(self, variant: usize, control: bool) -> Option<usize> {
        self.arms.iter().position(|part| part.variant == variant && part.control == control)
    }

    fn compared<W: Benchmark>(self, a: usize, b: usize) -> Comparison {
        let factors = self.factors(a, b);
        let mut comparison = self.blank::<W>(a, b, &factors);
        let (of_a, of_b) = (self.trials_of(a), self.trials_of(b));
        // Without trials there is nothing to hold against each other; invalid ones are shown to differ all the same.
        let mut fields = judge::rules::intended_by_all(factors.iter().map(String::as_str));
        // Who took turns follows from what differs.
        fields.push("plan.rounds");
        let comparability = judge::rules::comparable(&of_a, &of_b, &fields);
        comparison.key_differences.clone_from(&comparability.key);
        comparison.fingerprint_differences.clone_from(&comparability.fingerprint);
        let bases = self.bases(a);
        if let Some(why) = self.out(a).or_else(|| self.out(b)) {
            comparison.sentence = format!("No ratio: {why}");
            return comparison;
        }
        for block in &mut comparison.blocks {
            block.ratio = self.ratio(b, &bases, block);
        }
        let mut ratios: Vec<f64> = comparison.blocks.iter().filter_map(|block| block.ratio).collect();
        let whole = comparison.blocks.iter().filter(|block| self.is_whole(b, &bases, block)).count();
        let left_out = LeftOut { partial: comparison.blocks.len() - whole, unknown: whole - ratios.len() };
        if ratios.is_empty() {
            comparison.sentence = match whole {
                0 => "No ratio: no block has two complete trials.".into(),
                whole => format!(
                    "No ratio: {} is unknown on one side in all of the {whole} complete blocks; {}.",
                    self.measured().words(),
                    self.measured().why_unknown()
                ),
            };
            return comparison;
        }
        if let Some(groups) = self.by_rounds(b, &bases, &comparison.blocks) {
            comparison.round_groups = Some(groups.len() as u32);
            ratios = groups;
        }
        comparison.rate_given = self.is_given(&bases, b);
        let terms = self.terms(self.judged_with(a));
        let found = measure::compare(&ratios, &terms);
        comparison.ratio = Some(interval(&found));
        comparison.adjusted = self.adjusted(b, &bases, &comparison.blocks, &terms);
        comparison.minimum_detectable_effect = measure::minimum_detectable_effect(&ratios, terms.comparisons);
        let widened = |comparisons: &u32| *comparisons > 1 && !comparison.rate_given;
        comparison.adjusted_for = Some(self.judged_with(a)).filter(widened);
        // A subject against itself is a control already.
        let control = if factors.is_empty() { ratios } else { self.control_ratios(a) };
        comparison.noise = self.noise(a, &control);
        comparison.verdict = comparability.verdict(match found.verdict {
            measure::Verdict::Better => Verdict::Better,
            measure::Verdict::Worse => Verdict::Worse,
            measure::Verdict::NoDifference { .. } => Verdict::NoDifference,
            measure::Verdict::Inconclusive => Verdict::Inconclusive,
        });
        let by_rounds = comparison.round_groups.is_some();
        let inconclusive = Inconclusive { found: &found, terms: &terms, by_rounds };
        comparison.sentence = match comparison.rate_given {
            true => "The rate was given and both sides kept it: throughput is not compared.".into(),
            false => self.sentence(&comparison, &inconclusive, &factors, left_out),
        };
        comparison
    }

    fn terms(self, comparisons: u32) -> Terms {
        let looks = if self.plan.precision.is_some() { LOOKS } else { 1 };
        let (better, margin) = (self.measured().better(), self.criterion().margin);
        Terms { better, margin, comparisons: comparisons * looks }
    }

    /// The parts whose trials are those of a base: itself, and its control where that is sound.
    fn bases(self, base: usize) -> Vec<usize> {
        let control = self.control_of(base);
        std::iter::once(base).chain(control).collect()
    }

    fn control_of(self, base: usize) -> Option<usize> {
        let control = self.part_of(self.arms[base].variant, true);
        control.filter(|again| self.statuses[*again].state == VariantState::Measured)
    }

    /// How many figures are compared with those of a base: of all variants on it that have one, in all metrics but those that were
    /// given. Whoever looks at three metrics has three chances of a false alarm, as with three variants.
    fn judged_with(self, base: usize) -> u32 {
        self.in_each().map(|found| found.comparison_count(base)).sum::<usize>().max(1) as u32
    }

    /// How many variants that have a figure are compared with a base.
    fn comparison_count(self, base: usize) -> usize {
        let locked = (0..self.arms.len()).filter(|part| {
            !self.arms[*part].control && self.base_of(*part) == Some(base) && self.out(*part).is_none()
        });
        let bases = self.bases(base);
        let locked = locked.filter(|part| !self.is_given(&bases, *part));
        if self.out(base).is_none() { locked.count() } else { 0 }
    }

    /// Whether the metric is a throughput that was given, next to others: calls were due at a rate that all trials of both sides kept.
    fn is_given(self, bases: &[usize], b: usize) -> bool {
        let parts = bases.iter().copied().chain([b]);
        let trials: Vec<&Trial> = parts.flat_map(|part| self.trials_of(part)).collect();
        let kept = !trials.is_empty() && trials.into_iter().all(judge::curve::keeps_given_rate);
        *self.measured() == Measured::Throughput && self.metrics.len() > 1 && kept
    }

    fn blank<W: Benchmark>(self, a: usize, b: usize, factors: &[String]) -> Comparison {
        let party = |part: usize| Party {
            subject: self.plan.variants[self.arms[part].variant].subject.clone(),
            label: self.arms[part].name.clone(),
        };
        Comparison {
            factor: if factors.is_empty() { "nothing (A/A control)".into() } else { together(factors) },
            factors: factors.to_vec(),
            a: party(a),
            b: party(b),
            metric: self.measured().described::<W>(&self.plan.variants[self.arms[a].variant].plan).column(),
            higher_is_better: self.measured().better() == measure::Better::Higher,
            key_differences: Vec::new(),
            fingerprint_differences: Vec::new(),
            blocks: self.blocks(&self.bases(a), b),
            rate_given: false,
            round_groups: None,
            adjusted: None,
            ratio: None,
            minimum_detectable_effect: None,
            adjusted_for: None,
            noise: None,
            loss_max: self.criterion().max_loss,
            verdict: Verdict::Inconclusive,
            sentence: String::new(),
        }
    }

    /// In what two parts differ: as the plan says, or else as it shows.
    fn factors(self, a: usize, b: usize) -> Vec<String> {
        let [a, b] = [a, b].map(|part| &self.plan.variants[self.arms[part].variant]);
        if b.factors.is_empty() { factors::between(a, b) } else { b.factors.clone() }
    }

    fn trials_of(self, part: usize) -> Vec<&'a Trial> {
        self.of_parts[part].iter().flatten().map(|trial| &self.trials[*trial]).collect()
    }

    /// The blocks in which either has run; of a base all parts.
    fn blocks(self, a: &[usize], b: usize) -> Vec<Block> {
        let of = |part: usize, side, block: usize| -> Option<BlockTrial> {
            let trial = self.of_parts[part].get(block).copied().flatten()?;
            let rate = self.measured().of(&self.trials[trial]).unwrap_or(0.0);
            let subject = self.trials[trial].subject.clone();
            Some(BlockTrial { order: trial as u32, side, subject, rate, trial })
        };
        let blocks = (0..self.plan.blocks as usize).map(|block| {
            let of_base = a.iter().filter_map(|part| of(*part, Side::A, block));
            let mut trials: Vec<BlockTrial> = of_base.chain(of(b, Side::B, block)).collect();
            trials.sort_by_key(|trial| trial.order);
            Block { trials, ratio: None }
        });
        blocks.filter(|block| !block.trials.is_empty()).collect()
    }

    /// The whole trial of a part in a block, if it has one there.
    fn whole(self, part: usize, block: &Block) -> Option<&'a Trial> {
        let mine = |trial: &&BlockTrial| self.of_parts[part].contains(&Some(trial.trial));
        let trial = &self.trials[block.trials.iter().find(mine)?.trial];
        (trial.state == State::Complete).then_some(trial)
    }

    /// Whether a part and one of others both have a whole trial in a block.
    fn is_whole(self, above: usize, below: &[usize], block: &Block) -> bool {
        self.whole(above, block).is_some() && below.iter().any(|part| self.whole(*part, block).is_some())
    }

    /// One part through the mean of others within a block, if it and one of them have a whole trial there, of which the
    /// figure is known.
    fn ratio(self, above: usize, below: &[usize], block: &Block) -> Option<f64> {
        let figure = |part: usize| self.measured().of(self.whole(part, block)?);
        let below: Vec<f64> = below.iter().filter_map(|part| figure(*part)).collect();
        measure::ratio_to_base(figure(above)?, &below)
    }

    /// What a part did through what others did, a ratio for each group of rounds, where they took turns and the blocks are too few
    /// to tell how much they differ.
    fn by_rounds(self, above: usize, below: &[usize], blocks: &[Block]) -> Option<Vec<f64>> {
        let units = self.plan.units(self.arms);
        let unit = units.iter().find(|unit| unit.contains(&above))?;
        if !below.iter().all(|part| unit.contains(part)) || *self.measured() != Measured::Throughput {
            return None;
        }
        let whole: Vec<&Block> = blocks.iter().filter(|block| self.is_whole(above, below, block)).collect();
        if whole.len() >= BLOCKS_ENOUGH {
            return None;
        }
        let rates = |part: usize, block: &Block| -> Option<Vec<f64>> {
            Some(self.whole(part, block)?.rounds.iter().map(|round| round.rate_per_s).collect())
        };
        let mut ratios = Vec::new();
        for block in whole {
            let base: Vec<Vec<f64>> = below.iter().filter_map(|part| rates(*part, block)).collect();
            ratios.extend(measure::group_ratios(&rates(above, block)?, &base)?);
        }
        (!ratios.is_empty()).then_some(ratios)
    }

    /// The ratio adjusted by the probe around the trials that explains most of how they differ, if one does.
    fn adjusted(
        self,
        above: usize,
        below: &[usize],
        blocks: &[Block],
        terms: &Terms,
    ) -> Option<AdjustedRatio> {
        let observed = |part: usize, block: &Block, probe: SpeedProbe| -> Option<Observed> {
            let trial = self.whole(part, block)?;
            let (value, probe) = (self.measured().of(trial)?, trial.machine_speed?.mean_ns(probe)?);
            Some(Observed { value, probe })
        };
        let by = |probe: SpeedProbe| {
            let of_block = |block: &Block| {
                let a: Vec<Observed> =
                    below.iter().filter_map(|part| observed(*part, block, probe)).collect();
                let b = observed(above, block, probe)?;
                (!a.is_empty()).then_some(ObservedBlock { a, b })
            };
            let observed: Vec<ObservedBlock> = blocks.iter().filter_map(of_block).collect();
            Some((probe, measure::adjust(&observed, terms.better, terms.comparisons)?))
        };
        let found = [SpeedProbe::Spin, SpeedProbe::Flush].into_iter().filter_map(by);
        let (by, found) = found.max_by(|a, b| a.1.t.abs().total_cmp(&b.1.t.abs()))?;
        let (low, high) = found.interval;
        let ratio = Interval { value: found.effect, low: Some(low), high: Some(high) };
        Some(AdjustedRatio { by, ratio, slope: found.slope })
    }

    /// Why a part has no figure that may be compared, if so.
    fn out(self, part: usize) -> Option<String> {
        let (name, status) = (&self.arms[part].name, &self.statuses[part]);
        let reason = status.reason.as_deref().unwrap_or("no reason is known");
        match status.state {
            VariantState::Measured => self.unbounded(part),
            VariantState::NotStarted => Some(format!("{name} could not be started ({}).", stopped(reason))),
            VariantState::Invalid => Some(format!("{name} is invalid ({}).", stopped(reason))),
        }
    }

    /// A percentile that is a call which was never answered is slower than any figure. To leave out such a block as if too
    /// few calls stood behind it would leave out the worst ones.
    fn unbounded(self, part: usize) -> Option<String> {
        let trials = self.of_parts[part].iter().flatten().map(|trial| &self.trials[*trial]);
        let lost = trials.filter_map(|trial| self.measured().unbounded(trial)).next()?;
        let (name, words) = (&self.arms[part].name, self.measured().words());
        Some(format!("{name} has no {words} to compare: {lost}."))
    }

    /// What the control of a base shows against it, a ratio a block; none where no control was run, or it is invalid.
    fn control_ratios(self, base: usize) -> Vec<f64> {
        let Some(again) = self.control_of(base) else { return Vec::new() };
        let blocks = self.blocks(&[base], again);
        if let Some(groups) = self.by_rounds(again, &[base], &blocks) {
            return groups;
        }
        blocks.iter().filter_map(|block| self.ratio(again, &[base], block)).collect()
    }

    /// What the base shows against itself, if it was asked.
    fn noise(self, base: usize, ratios: &[f64]) -> Option<Noise> {
        let subject = self.plan.variants[self.arms[base].variant].subject.clone();
        let shown = || interval(&measure::compare(ratios, &self.terms(1)));
        (!ratios.is_empty()).then(|| Noise { subject, blocks: ratios.len() as u32, ratio: shown() })
    }

    fn sentence(
        self,
        comparison: &Comparison,
        inconclusive: &Inconclusive<'_>,
        factors: &[String],
        left_out: LeftOut,
    ) -> String {
        let what = match (comparison.verdict, inconclusive.found.verdict) {
            (Verdict::NotComparable, _) => {
                "They did not do the same work, or more than the factor under study differs: see the differences."
                    .into()
            }
            (_, measure::Verdict::NoDifference { beyond }) => {
                format!("No difference beyond ±{:.1} %.", beyond * 100.0)
            }
            (Verdict::Inconclusive, _) => inconclusive.sentence(&self.measured().words()),
            (Verdict::Better | Verdict::Worse | Verdict::NoDifference, _) => {
                let effect = capital(&comparison.effect().unwrap_or_default());
                if factors.len() > 1 {
                    format!("{effect}; {} differ together, so the effect has no single cause.", together(factors))
                } else {
                    format!("{effect}.")
                }
            }
        };
        let partial = match left_out.partial {
            0 => String::new(),
            1 => " A block is left out because a trial of it is missing or not whole.".into(),
            many => format!(" {many} blocks are left out because a trial of theirs is missing or not whole."),
        };
        let (words, why) = (self.measured().words(), self.measured().why_unknown());
        let unknown = match left_out.unknown {
            0 => String::new(),
            1 => format!(" A whole block is left out because {words} is not known of both sides; {why}."),
            many => {
                format!(
                    " {many} whole blocks are left out because {words} is not known of both sides; {why}."
                )
            }
        };
        let starts = match comparison.round_groups.filter(|_| inconclusive.found.interval.is_some()) {
            Some(groups) => format!(
                " The interval is from {groups} groups of rounds; differences between starts were not measured (use --blocks \
                 {BLOCKS_ENOUGH} or more)."
            ),
            None => String::new(),
        };
        let adjusted = comparison.adjusted.map_or_else(String::new, |of| {
            format!(
                " Adjusted for the {} that probes found around each trial: {}.",
                of.by.words(),
                judge::figures::plain(&judge::figures::ratio(of.ratio))
            )
        });
        format!("{what}{partial}{unknown}{starts}{adjusted}")
    }
}

fn interval(found: &measure::Comparison) -> Interval {
    Interval {
        value: found.effect,
        low: found.interval.map(|(low, _)| low),
        high: found.interval.map(|(_, high)| high),
    }
}

/// `a`, `a and b`, `a, b and c`.
fn together(words: &[String]) -> String {
    match words.split_last() {
        None => String::new(),
        Some((last, [])) => last.clone(),
        Some((last, rest)) => format!("{} and {last}", rest.join(", ")),
    }
}

/// A clause without the stop that a sentence has.
fn stopped(reason: &str) -> &str {
    reason.trim_end().trim_end_matches('.')
}

#[cfg(test)]
#[path = "conclude_tests.rs"]
mod tests;
