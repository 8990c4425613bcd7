//! One subject at increasing load, in interleaved blocks, and the curve that comes of it.

use crate::UnderLoad;
use crate::plan::Variant;
use crate::{CompletedTrials, Next, PlannedTrial, Schedule};
use anyhow::Result;
use judge::curve::{Loaded, clients, draw_up, load_words};
use model::random::Random;
use result::{Axis, Document, RunKind, State};
use serde::{Deserialize, Serialize};
use workload::Benchmark;

/// Path of the random stream that orders the loads of a block.
const ORDER: u64 = 300;

/// What is raised, and to what, on what.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Sweep {
    pub base: UnderLoad,
    pub axis: Axis,
    pub loads: Vec<f64>,
    /// Blocks of one trial a load.
    pub blocks: u32,
}

impl Sweep {
    /// The block of the trial of a number, from 1, and its load by its place in the list; nothing beyond the last.
    fn place(&self, number: usize) -> Option<(u32, usize)> {
        let loads = self.loads.len();
        let block = ((number - 1) / loads) as u32;
        (block < self.blocks).then(|| (block, order(loads, block, self.base.plan.seed)[(number - 1) % loads]))
    }

    /// The plan of one load in one block: the same calls at every load, other ones in every block.
    fn plan(&self, load: f64, block: u32) -> drive::Plan {
        let base = &self.base.plan;
        let seed = base.seed + u64::from(block);
        match self.axis {
            Axis::Clients => drive::Plan { workers: load as u32, seed, ..base.clone() },
            Axis::Rate => drive::Plan {
                workers: self.base.in_flight,
                arrivals: self.base.open_loop(load),
                seed,
                ..base.clone()
            },
        }
    }
}

impl<W: Benchmark> Schedule<W> for Sweep {
    fn kind(&self) -> RunKind {
        RunKind::Sweep
    }

    fn name(&self) -> String {
        format!("sweep-{}", self.base.subject)
    }

    fn scale(&self) -> u32 {
        self.base.scale
    }

    fn variants(&self) -> Vec<Variant> {
        self.base.variants(self.loads.iter().map(|load| self.plan(*load, 0)))
    }

    fn trials(&self) -> Option<usize> {
        Some(self.loads.len() * self.blocks as usize)
    }

    fn block(&self) -> usize {
        self.loads.len()
    }

    fn next(&self, number: usize, _so_far: &CompletedTrials) -> Result<Next> {
        let Some((block, at)) = self.place(number) else { return Ok(Next::End) };
        let (plan, words) = (self.plan(self.loads[at], block), load_words(self.axis, self.loads[at]));
        let sessions = |clients: u32| self.base.sessions(clients);
        let variants = Schedule::<W>::variants(self);
        let same = |variant: &Variant| sessions(variant.plan.workers) == sessions(plan.workers);
        let variant = variants.iter().position(same).expect("every load has its variant");
        let label = format!("block {} {words}", block + 1);
        Ok(Next::Trial(PlannedTrial {
            what: words,
            round: block,
            ..PlannedTrial::of(number, &label, variant, plan)
        }))
    }

    fn update(&self, so_far: &CompletedTrials, document: &mut Document) {
        let blank = |load: &f64| Loaded { load: *load, trials: vec![None; self.blocks as usize] };
        let mut points: Vec<Loaded> = self.loads.iter().map(blank).collect();
        for (index, number) in so_far.numbers.iter().enumerate() {
            // A load that the system does not survive is a point of the curve; what the user has ended is not.
            if let Some((block, at)) = self.place(*number)
                && so_far.trials[index].state != State::Interrupted
            {
                points[at].trials[block as usize] = Some(index);
            }
        }
        document.curve = Some(draw_up(self.axis, &points, &so_far.trials, self.base.plan.seed));
    }

    fn conclude(&self, so_far: &CompletedTrials, document: &mut Document) {
        Schedule::<W>::update(self, so_far, document);
        conclude(document, self.blocks);
    }
}

/// Notes what must be known before the curve is read.
fn conclude(document: &mut Document, blocks: u32) {
    if blocks < 3 {
        document.notes.push(format!(
            "{} of each load ran: with three or more the curve has confidence intervals.",
            if blocks == 1 { "One trial".to_owned() } else { format!("{blocks} trials") }
        ));
    }
    let most = document.trials.iter().map(|trial| trial.plan.clients).max().unwrap_or(0);
    if let Some(trial) = document.trials.iter().find(|trial| trial.stack.route == "http")
        && let Some(sessions) = trial.stack.settings.iter().find(|setting| setting.name == "sessions")
        && document.trials.iter().any(|other| other.stack.settings != trial.stack.settings)
    {
        document.notes.push(format!(
            "The server's sessions grew with the clients ({} at {}); --pool holds them.",
            sessions.value,
            clients(f64::from(trial.plan.clients))
        ));
    }
    let threads = document.trials.first().map_or(0, |trial| trial.plan.generator_threads);
    if most > 256 && threads == 1 {
        document.notes.push(format!(
            "{} shared one thread of the load generator; see its own share of the cores before reading the end of \
             the curve.",
            clients(f64::from(most))
        ));
    }
}

/// The loads of a block in random order.
fn order(loads: usize, block: u32, seed: u64) -> Vec<usize> {
    let mut order: Vec<usize> = (0..loads).collect();
    Random::stream(seed, &[ORDER, u64::from(block)]).shuffle(&mut order);
    order
}

#[cfg(test)]
mod tests {
    use super::order;

    #[test]
    fn every_block_has_every_load_once_in_an_order_of_its_own() {
        let orders: Vec<Vec<usize>> = (0..6).map(|block| order(6, block, 1)).collect();
        for order in &orders {
            let mut sorted = order.clone();
            sorted.sort_unstable();
            assert_eq!(sorted, [0, 1, 2, 3, 4, 5]);
        }
        assert!(orders.windows(2).any(|pair| pair[0] != pair[1]), "{orders:?}");
        assert_eq!(order(6, 2, 1), order(6, 2, 1));
    }
}
