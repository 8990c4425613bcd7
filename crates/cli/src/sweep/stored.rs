//! What a sweep or a search that was cut off goes on with: its trials from the first to the last that has ended.
//!
//! Which trial comes next follows from what was asked and from the trials before it. So the run goes the same way again, and
//! takes each stored trial that is the one it wants there; from the first that is not, everything is measured.

use crate::folder::Folder;
use crate::resume::read_trial;
use anyhow::Result;
use result::{Arrivals, Plan, Trial};
use std::collections::VecDeque;
use std::mem::discriminant;

/// How far two numbers may differ, as a share: one of them was written down and read back.
const ROUNDING: f64 = 1e-9;

/// Trials that have ended before and have not been taken yet, by the names of their folders, in the order of these.
#[derive(Debug, Default)]
pub(crate) struct Stored {
    trials: VecDeque<(String, Trial)>,
}

impl Stored {
    /// The trials of a run up to the first that was cut off or cannot be believed, and what a reader must know of that.
    /// `block` trials belong together: they ran next to each other, so that a block with one that cannot be believed is
    /// measured again as a whole.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub(crate) fn read(folder: &Folder, run: &str, block: usize) -> Result<(Stored, Vec<String>)> {
        let (mut trials, mut notes) = (VecDeque::new(), Vec::new());
        for (at, (number, name)) in folder.trials()?.into_iter().enumerate() {
            match read_trial(folder.path(), run, &name) {
                Ok(Some(trial)) if number == at + 1 => trials.push_back((name, trial)),
                Ok(_) => break,
                Err(why) => {
                    trials.truncate(at - at % block);
                    notes.push(format!(
                        "Trial {name} cannot be believed ({why}): all from trial {} on are measured again.",
                        trials.len() + 1
                    ));
                    break;
                }
            }
        }
        Ok((Stored { trials }, notes))
    }

    /// Those that are left.
    pub(crate) fn trials(&self) -> impl Iterator<Item = &Trial> {
        self.trials.iter().map(|(_, trial)| trial)
    }

    pub(crate) fn len(&self) -> usize {
        self.trials.len()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }

    /// The next trial, if one is left.
    ///
    /// # Errors
    /// Why it is not the one that is wanted. Then none is left: those after it followed from it.
    pub(crate) fn take(&mut self, name: &str, plan: &Plan) -> Result<Option<Trial>, String> {
        let Some((stored, trial)) = self.trials.pop_front() else { return Ok(None) };
        let differs = match (stored == name, is_same(&trial.plan, plan)) {
            (true, true) => return Ok(Some(trial)),
            (false, _) => format!("{name} is wanted in its place"),
            (true, false) => "it was measured by another plan".into(),
        };
        self.trials.clear();
        Err(format!("Trial {stored} cannot be believed ({differs}): it and all after it are measured again."))
    }
}

/// Whether a trial was measured as is wanted now.
fn is_same(then: &Plan, now: &Plan) -> bool {
    let rate = |plan: &Plan| match plan.arrivals {
        Arrivals::Constant { rate_per_s } | Arrivals::Poisson { rate_per_s } => rate_per_s,
        Arrivals::Closed {} | Arrivals::Paced { .. } => 0.0,
    };
    let numbers = |plan: &Plan| {
        [plan.warmup_s, plan.warmup_max_s.unwrap_or(0.0), plan.measured_s, plan.drain_s, rate(plan)]
    };
    let near = |(a, b): (f64, f64)| (a - b).abs() <= ROUNDING * a.abs().max(b.abs());
    let Plan { warmup_s, warmup_max_s, measured_s, drain_s, arrivals, .. } = now.clone();
    discriminant(&then.arrivals) == discriminant(&arrivals)
        && numbers(then).into_iter().zip(numbers(now)).all(near)
        && Plan { warmup_s, warmup_max_s, measured_s, drain_s, arrivals, ..then.clone() } == *now
}

#[cfg(test)]
mod tests {
    use super::*;
    use report::testing;
    use result::{Document, State};
    use std::fs;

    fn plan(clients: u32) -> Plan {
        Plan { clients, ..testing::trial().trials[0].plan.clone() }
    }

    fn trial(clients: u32) -> Trial {
        Trial { plan: plan(clients), ..testing::trial().trials[0].clone() }
    }

    /// `001-a` with one client, `002-b` with two, `003-c` with three.
    fn three() -> Stored {
        let named = |(name, clients): (&str, u32)| (name.to_owned(), trial(clients));
        Stored { trials: [("001-a", 1), ("002-b", 2), ("003-c", 3)].map(named).into() }
    }

    #[test]
    fn the_trial_that_is_wanted_is_taken_from_the_store_and_where_there_is_none_it_is_measured() {
        let mut stored = three();
        for (name, clients) in [("001-a", 1), ("002-b", 2), ("003-c", 3)] {
            assert_eq!(stored.take(name, &plan(clients)), Ok(Some(trial(clients))));
        }
        assert_eq!(stored.take("004-d", &plan(4)), Ok(None));
    }

    #[test]
    fn from_the_first_trial_that_is_not_wanted_everything_is_measured() {
        let refused = |name: &str, plan: &Plan, words: &str| {
            let mut stored = three();
            assert!(stored.take("001-a", &super::tests::plan(1)).unwrap().is_some());
            let why = stored.take(name, plan).unwrap_err();
            assert!(why.contains(words) && why.contains("002-b") && why.contains("measured again"), "{why}");
            // Though it is there, and would be the right one.
            assert_eq!(stored.take("003-c", &super::tests::plan(3)), Ok(None));
        };
        refused("002-x", &plan(2), "002-x is wanted in its place");
        let other = "another plan";
        refused("002-b", &plan(3), other);
        refused("002-b", &Plan { seed: plan(2).seed + 1, ..plan(2) }, other);
        refused("002-b", &Plan { measured_s: plan(2).measured_s * 2.0, ..plan(2) }, other);
        refused("002-b", &Plan { deadline_ns: 1, ..plan(2) }, other);
        refused("002-b", &Plan { arrivals: Arrivals::Poisson { rate_per_s: 9.0 }, ..plan(2) }, other);
    }

    #[test]
    fn a_rate_that_was_written_down_and_read_back_is_the_same_and_any_other_is_not() {
        let poisson = |rate_per_s: f64| Plan { arrivals: Arrivals::Poisson { rate_per_s }, ..plan(1) };
        let rate = 1_234.567_890_123_4_f64;
        assert!(is_same(&poisson(rate.next_up()), &poisson(rate)));
        assert!(!is_same(&poisson(rate * 1.0001), &poisson(rate)));
        let constant = Plan { arrivals: Arrivals::Constant { rate_per_s: rate }, ..plan(1) };
        assert!(!is_same(&constant, &poisson(rate)));
    }

    /// What is read of trials that say that they are of these runs and ended so, two of which are a block.
    fn read(trials: &[(&str, &str, State)]) -> (usize, Vec<String>) {
        let out = tempdir();
        let (folder, ..) = Folder::create(&out, "sweep").unwrap();
        for (name, run, state) in trials {
            let mut document = Document { id: format!("{run}/{name}"), state: *state, ..testing::trial() };
            document.trials[0].state = *state;
            let own = folder.path().join("trials").join(name);
            fs::create_dir_all(&own).unwrap();
            fs::write(own.join("result.json"), result::to_json(&document)).unwrap();
        }
        let (stored, notes) = Stored::read(&folder, "run", 2).unwrap();
        drop(folder);
        fs::remove_dir_all(out).unwrap();
        (stored.len(), notes)
    }

    fn tempdir() -> std::path::PathBuf {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let next = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        std::env::temp_dir().join(format!("stackmark-stored-{}-{next}", std::process::id()))
    }

    #[test]
    fn trials_are_stored_up_to_the_first_that_was_cut_off_or_is_missing() {
        let done = State::Complete;
        let (one, two, three) =
            (("001-a", "run", done), ("002-b", "run", State::Failed), ("003-c", "run", done));
        assert_eq!(read(&[one, two, three]), (3, Vec::new()));
        assert_eq!(read(&[one, ("002-b", "run", State::Running), three]), (1, Vec::new()));
        assert_eq!(read(&[one, ("002-b", "run", State::Interrupted), three]), (1, Vec::new()));
        assert_eq!(read(&[one, three]), (1, Vec::new()));
        assert_eq!(read(&[two, three]), (0, Vec::new()));
        assert_eq!(read(&[]), (0, Vec::new()));
    }

    #[test]
    fn a_trial_of_another_run_costs_its_block_and_all_after_it() {
        let of = |name, run| (name, run, State::Complete);
        let (kept, notes) =
            read(&[of("001-a", "run"), of("002-b", "run"), of("003-c", "run"), of("004-d", "other")]);
        assert_eq!(kept, 2, "the third ran next to it");
        let [note] = &notes[..] else { panic!("{notes:?}") };
        assert!(note.contains("004-d") && note.contains("other/004-d"), "{note}");
        assert!(note.contains("from trial 3 on"), "{note}");
    }

    #[test]
    fn a_step_that_ended_early_has_ended_and_one_that_the_user_interrupted_has_not() {
        let mut trial = trial(1);
        trial.state = State::Interrupted;
        assert!(!crate::resume::has_ended(&trial));
        trial.ended_early = Some("102 calls had taken longer than 50 ms".into());
        assert!(crate::resume::has_ended(&trial));
        // What it is while it runs: nothing of it has been audited.
        trial.state = State::Running;
        assert!(!crate::resume::has_ended(&trial));
    }
}
