//! A comparison as what it is: an experiment of two variants.

use super::text::capital;
use super::{
    Block, BlockTrial, Comparison, Experiment, Metric, Party, Side, Spent, Trial, Variant, VariantState,
};

impl Comparison {
    /// The experiment of two variants, and of a third where the base was measured twice. `all` are the trials of its run.
    pub fn of_pair(&self, all: &[Trial]) -> Experiment {
        let (metric, unit) = self.metric.split_once(", ").unwrap_or(("throughput", &self.metric));
        let trial_of = |block: &Block, side: Side, nth: usize| {
            let mut trials = block.trials.iter().filter(|entry| entry.side == side);
            trials.nth(nth).map(|entry| entry.trial)
        };
        let variant = |party: &Party, side: Side, nth: usize| {
            let trials: Vec<Option<usize>> =
                self.blocks.iter().map(|block| trial_of(block, side, nth)).collect();
            let mut measured = trials.iter().flatten().filter_map(|trial| all.get(*trial));
            let reason = measured.find_map(Trial::why_invalid);
            Variant {
                name: party.label.clone(),
                subject: party.subject.clone(),
                settings: Vec::new(),
                base: None,
                control: false,
                stored: false,
                state: if reason.is_some() { VariantState::Invalid } else { VariantState::Measured },
                reason,
                trials,
            }
        };
        let (a, b) = (variant(&self.a, Side::A, 0), variant(&self.b, Side::B, 0));
        let mut variants = vec![a, Variant { base: Some(0), ..b }];
        if self.noise.is_some() {
            let again = variant(&self.a, Side::A, 1);
            let name = format!("{}, the later trial", self.a.label);
            variants.insert(1, Variant { name, base: Some(0), control: true, ..again });
        }
        let place = |(block, entry): (usize, &BlockTrial)| {
            variants.iter().position(|variant| variant.trials[block] == Some(entry.trial))
        };
        let order = |(at, block): (usize, &Block)| {
            block.trials.iter().filter_map(|entry| place((at, entry))).collect()
        };
        Experiment {
            name: String::new(),
            question: Some(format!("{} vs {}", capital(&self.b.label), self.a.label)),
            metric: Metric {
                name: metric.to_owned(),
                unit: unit.to_owned(),
                higher_is_better: self.higher_is_better,
            },
            further_metrics: Vec::new(),
            blocks: self.blocks.iter().enumerate().map(order).collect(),
            blocks_planned: self.blocks.len() as u32,
            comparisons: vec![self.clone()],
            spent: Spent::default(),
            variants,
        }
    }
}
