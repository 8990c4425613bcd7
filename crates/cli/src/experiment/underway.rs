//! An experiment under way: its plan, how far it has come, and the trials that follow from it.

use super::bench::trial_name;
use super::plan::Experiment;
use measure::Design;
use result::{Spent, VariantState};
use serde::{Deserialize, Serialize};

/// What is to be done, and what it has taken so far.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Agenda {
    pub(crate) experiment: Experiment,
    /// Blocks that are being run again from their first trial, until the last of them has ended.
    pub(crate) again: Vec<u32>,
    /// Where its time went so far.
    pub(crate) spent: Spent,
}

/// Who takes part in each block: a variant of the plan, or one once more.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Part {
    /// Its variant, by its place in the plan.
    pub(crate) variant: usize,
    /// Whether it is its base once more: an A/A control, whose trials count for the base as well.
    pub(crate) control: bool,
    /// What it is called.
    pub(crate) name: String,
}

/// One trial that is to be run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) block: u32,
    /// Its part, by its place in the cast.
    pub(crate) part: usize,
    /// The name of its folder.
    pub(crate) name: String,
}

impl Agenda {
    /// Everybody who takes part: the variants in their order, the control of a base right after it.
    pub(crate) fn cast(&self) -> Vec<Part> {
        let variants = &self.experiment.variants;
        let mut cast = Vec::new();
        for (variant, of) in variants.iter().enumerate() {
            cast.push(Part { variant, control: false, name: of.name.clone() });
            if self.experiment.control && variants.iter().any(|other| other.base == Some(variant)) {
                cast.push(Part { variant, control: true, name: format!("{}, again", of.name) });
            }
        }
        cast
    }

    /// Every trial, in the order in which they run.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        let cast = self.cast();
        let (blocks, seed) = (self.experiment.blocks, self.experiment.seed);
        let controls = (1..cast.len()).filter(|part| cast[*part].control);
        let twins: Vec<(usize, usize)> = controls.map(|control| (control - 1, control)).collect();
        let design = Design { parts: cast.len(), twins: &twins, blocks, seed };
        let mut slots: Vec<Slot> = Vec::new();
        for block in 0..blocks {
            for part in design.order(block) {
                let name = trial_name(slots.len() + 1, &cast[part].name);
                slots.push(Slot { block, part, name });
            }
        }
        slots
    }
}

/// What has become of a part so far.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Standing {
    pub(crate) state: VariantState,
    pub(crate) reason: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::EngineArgs;
    use crate::experiment::plan::{Place, Variant};
    use sql::Dialect;

    fn agenda() -> Agenda {
        let variant = |name: &str, base| Variant {
            name: name.into(),
            subject: "tpcc/sqlite/rusqlite".into(),
            base,
            factors: vec!["pool".into()],
            plan: drive::Plan::default(),
            pool: 8,
            server_threads: 1,
            server_limits: None,
            place: Place::of_wishes(Dialect::Sqlite, None, &EngineArgs::default()),
            through_checkpoints: false,
            asked: vec![("pool".into(), "8".into())],
        };
        let experiment = Experiment {
            name: "three".into(),
            question: None,
            workload: "tpcc".into(),
            scale: 1,
            blocks: 3,
            control: true,
            metric: "throughput".into(),
            margin: 0.02,
            max_loss: None,
            accept_inconclusive: false,
            require_audit: false,
            seed: 7,
            variants: vec![variant("base", None), variant("B: 8", Some(0)), variant("alone", None)],
            notes: Vec::new(),
            suspicion: None,
        };
        Agenda { experiment, again: Vec::new(), spent: Spent::default() }
    }

    #[test]
    fn each_base_that_something_is_held_against_runs_once_more() {
        let names =
            |agenda: &Agenda| -> Vec<String> { agenda.cast().into_iter().map(|part| part.name).collect() };
        let mut run = agenda();
        assert_eq!(names(&run), ["base", "base, again", "B: 8", "alone"]);
        run.experiment.control = false;
        assert_eq!(names(&run), ["base", "B: 8", "alone"]);
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let text = serde_json::to_string(&agenda()).unwrap();
        assert_eq!(serde_json::from_str::<Agenda>(&text).unwrap(), agenda());
    }

    /// A drift that goes on evenly through a block does the same to the mean of both trials of the base as to what lies
    /// between them.
    #[test]
    fn a_base_and_its_control_lie_around_the_middle_of_each_block() {
        let plan = agenda();
        let slots = plan.slots();
        for block in slots.chunks(4) {
            let place = |part: usize| block.iter().position(|slot| slot.part == part).unwrap();
            assert_eq!(place(0) + place(1), 3, "{block:?}");
        }
    }

    #[test]
    fn the_same_plan_gives_the_same_slots_so_that_it_can_go_on() {
        let plan = agenda();
        let slots = plan.slots();
        assert_eq!(slots.len(), 12);
        assert_eq!(slots, agenda().slots());
        assert!(slots[11].name.starts_with("012-"), "{slots:?}");
        assert!(slots.iter().any(|slot| slot.name.ends_with("-b-8")), "{slots:?}");
    }
}
