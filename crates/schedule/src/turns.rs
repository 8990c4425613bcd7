//! Which variants make calls in turn on the same data, and why others do not.

use crate::plan::{Arm, Experiment, Variant};
use anyhow::Result;
use deploy::{Spec, subjects};
use drive::{Arrivals, Rounds};
use model::Nanos;
use result::text::capital;

/// Length of the window of a round: shorter than the time in which the speed of a machine wanders, some ten seconds, and long enough
/// to count thousands of calls.
const ROUND: Nanos = Nanos::from_millis(1_500);
/// The time at the beginning of a round in which nothing is counted.
const UNCOUNTED: Nanos = Nanos::from_millis(500);
/// Engines, and copies of the data, that variants which take turns have at once.
const PLACES_MAX: usize = 6;
/// Why variants that could have engines of their own do not.
const NO_ROOM: &str = "there is no room for so many engines, each with a copy of the data, at once";
/// Percentiles of response times beyond this one, in thousandths, are of rare events, which rounds cannot tell whose they are.
const QUANTILE_MAX: u64 = 990;

impl Experiment {
    /// Lets a base and all that is compared with it make calls in turn, where they have the same data, on one engine or on engines of their
    /// own; and notes why others do not.
    ///
    /// # Errors
    /// A variant is of no subject.
    pub fn alternate(&mut self) -> Result<()> {
        self.alternate_where(&deploy::fit_in_memory)
    }

    /// The same on a machine that has room for so many engines as `fit` says.
    ///
    /// # Errors
    /// Those of [`Experiment::alternate`].
    pub fn alternate_where(&mut self, fit: &dyn Fn(usize) -> bool) -> Result<()> {
        let variants = &self.variants;
        let mut reasons: Vec<Option<String>> = Vec::with_capacity(variants.len());
        for variant in variants {
            reasons.push(self.tail().or(why_whole(variant)?));
        }
        let why_apart = |at: usize| {
            let root = self.root(at);
            if at == root || self.alike(root, at, fit) {
                return None;
            }
            let why = if variants[at].plan.measured != variants[root].plan.measured {
                "they are measured for different times"
            } else if variants[at].spec.can_take_turns(&variants[root].spec) {
                NO_ROOM
            } else {
                "their engines or their data differ"
            };
            Some(why.to_owned())
        };
        let reasons: Vec<Option<String>> =
            reasons.into_iter().enumerate().map(|(at, reason)| reason.or_else(|| why_apart(at))).collect();
        // What is compared with one base is measured in one way: rounds leave out what whole trials have.
        let roots: Vec<usize> = (0..variants.len()).map(|at| self.root(at)).collect();
        let group =
            |at: usize| (0..roots.len()).filter(|other| roots[*other] == roots[at]).collect::<Vec<_>>();
        let whole = |at: usize| group(at).into_iter().find(|other| reasons[*other].is_some());
        let in_turn: Vec<bool> =
            (0..roots.len()).map(|at| group(at).len() > 1 && whole(at).is_none()).collect();
        for (at, variant) in variants.iter().enumerate() {
            let (Some(base), Some(other)) = (variant.base, whole(at)) else { continue };
            let why = match reasons[at].as_ref().or(reasons[base].as_ref()) {
                Some(why) => why.clone(),
                None => format!(
                    "{}, which is compared with the same base, cannot take turns ({})",
                    variants[other].name,
                    reasons[other].as_deref().unwrap_or_default()
                ),
            };
            self.notes.push(format!(
                "{} and {} were measured in trials that followed one another, not in turn: {why}.",
                capital(&variants[base].name),
                variant.name
            ));
        }
        for (variant, in_turn) in self.variants.iter_mut().zip(in_turn) {
            variant.plan.rounds = in_turn.then(|| rounds(variant.plan.measured));
        }
        Ok(())
    }

    /// The base of a variant, or that of its base.
    fn root(&self, variant: usize) -> usize {
        self.variants[variant].base.map_or(variant, |base| self.root(base))
    }

    /// Whether two variants that are compared with one base, or with each other, can make calls in turn: on the same copy of the data, or each
    /// on an engine and a copy of its own.
    fn alike(&self, one: usize, other: usize, fit: &dyn Fn(usize) -> bool) -> bool {
        let (a, b) = (&self.variants[one], &self.variants[other]);
        let same_place =
            a.spec == b.spec || self.has_room(self.root(one), fit) && a.spec.can_take_turns(&b.spec);
        same_place && a.plan.measured == b.plan.measured
    }

    /// Whether all variants that are compared with this base can have their engines up at once.
    fn has_room(&self, root: usize, fit: &dyn Fn(usize) -> bool) -> bool {
        let mut specs: Vec<&Spec> = Vec::new();
        for (at, variant) in self.variants.iter().enumerate() {
            if self.root(at) == root && !specs.contains(&&variant.spec) {
                specs.push(&variant.spec);
            }
        }
        let engines = specs.iter().map(|spec| spec.private_engines()).sum();
        specs.len() <= PLACES_MAX && fit(engines)
    }

    /// Why none of its variants does, if a percentile that is compared is of rare events.
    fn tail(&self) -> Option<String> {
        let quantile = |metric: &str| {
            let is = |name: &str| metric == name || metric.ends_with(&format!(".{name}"));
            crate::metric::QUANTILES.iter().find(|(name, _)| is(name))
        };
        let mut quantiles = self.criteria.iter().filter_map(|criterion| quantile(&criterion.metric));
        let (name, _) = quantiles.find(|(_, place)| *place > QUANTILE_MAX)?;
        Some(format!("the {name} is of rare events, which may come in the turn of either"))
    }

    /// The parts of a block that are run at once, which are a base and what is compared with it; and the others each by itself.
    pub(crate) fn units(&self, arms: &[Arm]) -> Vec<Vec<usize>> {
        let mut units: Vec<Vec<usize>> = Vec::new();
        for (at, arm) in arms.iter().enumerate() {
            let variant = &self.variants[arm.variant];
            let same = |unit: &&mut Vec<usize>| {
                let first = &self.variants[arms[unit[0]].variant];
                let both = first.plan.rounds.is_some() && variant.plan.rounds.is_some();
                both && self.root(arms[unit[0]].variant) == self.root(arm.variant)
            };
            match units.iter_mut().find(same) {
                Some(unit) => unit.push(at),
                None => units.push(vec![at]),
            }
        }
        units
    }
}

/// Rounds of a window of this length.
fn rounds(measured: Nanos) -> Rounds {
    // The nearest even number.
    let number = ((measured.0 / ROUND.0).div_ceil(2) * 2).clamp(2, u64::from(Rounds::MAX)) as u32;
    let uncounted = UNCOUNTED.min(Nanos(measured.0 / u64::from(number) / 3));
    Rounds { number, uncounted }
}

/// Why trials of a variant are whole, if so.
fn why_whole(variant: &Variant) -> Result<Option<String>> {
    let (plan, subject) = (&variant.plan, subjects::find(&variant.subject)?);
    let stores = variant.spec.named.len().max(variant.spec.shards as usize);
    let style = subject.how.style;
    let why = if plan.arrivals == Arrivals::Paced {
        Some("clients that think between their calls are not idle when their turn ends")
    } else if !plan.stages.is_empty() {
        Some("the rate changes with time, which rounds would cut up")
    } else if plan.calls.is_some() {
        Some("the window ends with a number of calls")
    } else if plan.deferred.is_some() || subject.has_relay(stores) || subject.publishes() {
        Some("what calls leave to be done later would be done in the turn of the other")
    } else if stores > 1 || style.crosses() {
        Some("calls over several stores can be completed after they were answered")
    } else if variant.through_checkpoints {
        Some("each trial goes through checkpoints of its own")
    } else if variant.whole {
        Some("whole trials were asked for (`trials`)")
    } else {
        None
    };
    Ok(why.map(str::to_owned))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::tests::pair;
    use deploy::EngineOptions;
    use drive::{RatePerSecond, Stage};
    use sql::Dialect;

    /// What is noted of a pair whose variants are changed.
    fn why(change: impl Fn(&mut Experiment)) -> String {
        let mut experiment = pair(false);
        change(&mut experiment);
        experiment.alternate().unwrap();
        let is_whole = |variant: &Variant| variant.plan.rounds.is_none();
        assert_eq!(experiment.variants.iter().all(is_whole), !experiment.notes.is_empty());
        assert_eq!(experiment.variants.iter().any(is_whole), !experiment.notes.is_empty());
        experiment.notes.concat()
    }

    #[test]
    fn whole_trials_have_their_reason() {
        assert_eq!(why(|_| {}), "");
        let both = |change: fn(&mut Variant), reason: &str| {
            let found = why(|experiment| experiment.variants.iter_mut().for_each(change));
            assert!(found.contains(reason), "{found}");
            // Of one of them it is a reason for both.
            let found = why(|experiment| change(&mut experiment.variants[1]));
            assert!(found.contains(reason), "{found}");
        };
        both(|variant| variant.plan.arrivals = Arrivals::Paced, "clients that think between their calls");
        let rate = RatePerSecond(100.0);
        let stage = move || Stage { length: Nanos::from_secs(12), from: rate, to: rate };
        let staged = why(|experiment| {
            experiment.variants.iter_mut().for_each(|variant| variant.plan.stages = vec![stage()]);
        });
        assert!(staged.contains("the rate changes with time"), "{staged}");
        both(|variant| variant.plan.calls = Some(100), "the window ends with a number of calls");
        both(|variant| variant.through_checkpoints = true, "checkpoints of its own");
        both(|variant| variant.whole = true, "whole trials were asked for");
        let over_two = |experiment: &mut Experiment, style: &str| {
            experiment.workload = "transfer".into();
            for (variant, how) in experiment.variants.iter_mut().zip(["rusqlite", "axum+rusqlite"]) {
                variant.subject = format!("transfer/sqlite/{how}{style}");
                variant.spec = Spec::of_options(Dialect::Sqlite, 2, &[], &EngineOptions::default());
            }
        };
        let settles = why(|experiment| over_two(experiment, "/saga"));
        assert!(settles.contains("what calls leave to be done later"), "{settles}");
        let crosses = why(|experiment| over_two(experiment, ""));
        assert!(crosses.contains("calls over several stores"), "{crosses}");
        let rare = why(|experiment| experiment.criteria[0].metric = "new-order.p99.9".into());
        assert!(rare.contains("the p99.9 is of rare events"), "{rare}");
        let apart = why(|experiment| {
            experiment.variants[1].spec =
                Spec::of_options(Dialect::Postgres, 1, &[], &EngineOptions::default());
        });
        assert!(apart.contains("their engines or their data differ"), "{apart}");
    }

    #[test]
    fn what_is_compared_with_one_base_is_measured_in_one_way() {
        let with_third = |change: fn(&mut Variant)| {
            let mut experiment = pair(false);
            let mut third = Variant { name: "third".into(), ..experiment.variants[1].clone() };
            change(&mut third);
            experiment.variants.push(third);
            experiment.alternate().unwrap();
            let in_turn = experiment.variants.iter().map(|variant| variant.plan.rounds.is_some());
            (in_turn.collect::<Vec<_>>(), experiment.notes)
        };
        assert_eq!(with_third(|_| {}), (vec![true; 3], Vec::new()));
        let (in_turn, notes) = with_third(|variant| variant.plan.calls = Some(100));
        assert_eq!(in_turn, [false; 3]);
        assert!(
            notes[0]
                .contains("third, which is compared with the same base, cannot take turns (the window ends"),
            "{notes:?}"
        );
        assert!(notes[1].contains("not in turn: the window ends with a number of calls"), "{notes:?}");
        // A base of its own is another comparison.
        let (in_turn, _) = with_third(|variant| {
            variant.plan.calls = Some(100);
            variant.base = None;
        });
        assert_eq!(in_turn, [true, true, false]);
    }

    #[test]
    fn rounds_are_an_even_number_of_short_windows() {
        let of = |seconds: f64| rounds(Nanos((seconds * 1e9) as u64));
        let is = |found: Rounds, number: u32, uncounted_ms: u64| {
            assert_eq!((found.number, found.uncounted), (number, Nanos::from_millis(uncounted_ms)));
        };
        is(of(12.0), 8, 500);
        is(of(30.0), 20, 500);
        is(of(4.0), 2, 500);
        is(of(5.4), 4, 450);
        // Of a short window it is a third of each round.
        is(of(0.6), 2, 100);
    }
}
