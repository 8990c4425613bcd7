//! What a run that was cut off has: its trials that have ended, each of which is the one that is wanted in its place.

use crate::RunReporter;
use crate::folder::{Folder, now};
use crate::trial_runner::{Prepared, without_lines};
use anyhow::{Result, bail};
use model::RetryPolicy;
use result::{Arrivals, Machine, Plan, Trial};
use schedule::{CompletedTrials, Next, Schedule, has_ended};
use std::mem::discriminant;
use std::path::Path;
use workload::Benchmark;

/// How far two numbers may differ, as a share: one of them was written down and read back.
const ROUNDING: f64 = 1e-9;

#[derive(Debug, Default)]
pub(crate) struct ResumedTrials {
    pub(crate) so_far: CompletedTrials,
    /// Blocks that are run again, because a trial in them cannot be used.
    pub(crate) again: Vec<u32>,
    /// What a reader must know of the interruption, a sentence each.
    pub(crate) notes: Vec<String>,
}

/// Reads the trials of a run that have ended. One that was interrupted, or killed, is run again; and where one cannot be
/// read, or is not of this run, its whole block is: trials of a block have run next to each other. `again` are the blocks
/// that were being run again when the run was cut off: they have trials of two times.
///
/// # Errors
/// The folder cannot be read, or the trials leave nothing to go on with.
pub(crate) fn read<W: Benchmark, S: Schedule<W>>(
    folder: &Folder,
    run: &str,
    schedule: &S,
    again: &[u32],
) -> Result<ResumedTrials> {
    let mut stored = ResumedTrials { again: again.to_vec(), ..ResumedTrials::default() };
    let so_far = &mut stored.so_far;
    for (number, name) in folder.trials()? {
        let is_next = number == so_far.trials.len() + 1;
        if number == 0 || (schedule.in_order() && !is_next) {
            break;
        }
        let block = (number - 1) / schedule.block();
        let why = match read_trial(folder.path(), run, &name) {
            Ok(Some(trial)) => {
                let wanted = schedule.trial(number, so_far)?;
                let differs = match wanted.map(|wanted| (wanted.folder == name, wanted)) {
                    None => "none is wanted in its place".to_owned(),
                    Some((false, wanted)) => format!("{} is wanted in its place", wanted.folder),
                    Some((true, wanted)) => {
                        if is_same(
                            &trial.plan,
                            &wanted.plan.described(W::KINDS, RetryPolicy::default().attempts_max),
                        ) {
                            so_far.push(number, wanted.variant, trial);
                            continue;
                        }
                        "it was measured by another plan".into()
                    }
                };
                if schedule.in_order() {
                    stored.notes.push(format!(
                        "Trial {name} cannot be used ({differs}): this trial and all later ones are run again."
                    ));
                    break;
                }
                differs
            }
            Ok(None) if schedule.in_order() => break,
            Ok(None) => continue,
            Err(why) => why,
        };
        if schedule.in_order() {
            let first = block * schedule.block();
            so_far.retain(|number| number <= first);
            let from = first + 1;
            stored.notes.push(format!(
                "Trial {name} cannot be used ({why}): trial {from} and all later ones are run again."
            ));
            break;
        }
        stored.again.push(block as u32);
        stored.notes.push(format!("Trial {name} cannot be used ({why}): block {} is run again.", block + 1));
    }
    // Trials that ran at once are used together: a run that was killed while it wrote them has only some. Those of a variant
    // that was invalid before are not missed.
    let last = so_far.numbers.iter().copied().max().unwrap_or(0);
    let is_missing = |number: &usize| {
        !so_far.numbers.contains(number) && matches!(schedule.next(*number, so_far), Ok(Next::Trial(_)))
    };
    if let Some(missing) = (last > 0).then(|| schedule.unit(last).find(is_missing)).flatten() {
        let unit = schedule.unit(last);
        stored.notes.push(format!(
            "Trial {missing} is missing, which ran at once with trial {last}: trials {} to {} are run again.",
            unit.start(),
            unit.end()
        ));
        so_far.retain(|number| !unit.contains(&number));
    }
    stored.again.sort_unstable();
    stored.again.dedup();
    let again = &stored.again;
    so_far.retain(|number| !again.contains(&(((number - 1) / schedule.block()) as u32)));
    Ok(stored)
}

/// The trial of a run in the folder `name`, if it has ended.
pub(crate) fn read_trial(folder: &Path, run: &str, name: &str) -> Result<Option<Trial>, String> {
    let path = folder.join("trials").join(name);
    if !path.join("result.json").exists() {
        return Ok(None);
    }
    let document = result::read(&path).map_err(|error| error.to_string())?;
    let id = format!("{run}/{name}");
    if document.id != id {
        return Err(format!("it is {}, not {id}", document.id));
    }
    Ok(document.trials.first().filter(|trial| has_ended(trial)).map(without_lines))
}

/// How the machine or the kernel that trials were measured on differs from this one: `the CPU X, and here it is Y`.
pub fn machine_difference<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Option<String> {
    let now = observe::machine();
    let of_trial = |then: &Machine| machine_pairs(then, &now).into_iter().find(|(_, then, now)| then != now);
    let (what, then, now) = trials.into_iter().find_map(|trial| of_trial(&trial.machine))?;
    Some(format!("{what} {then}, and here it is {now}"))
}

fn machine_pairs(then: &Machine, now: &Machine) -> [(&'static str, String, String); 3] {
    [
        ("the CPU", then.cpu.clone(), now.cpu.clone()),
        ("a number of cores of", then.cores.to_string(), now.cores.to_string()),
        ("the kernel", then.kernel.clone(), now.kernel.clone()),
    ]
}

/// Fails where the engine is of another version by now, or where the data was loaded otherwise. `trials` are those of
/// `name` so far.
pub(crate) fn agrees<'a>(
    name: &str,
    trials: impl Iterator<Item = &'a Trial>,
    ready: &Prepared,
) -> Result<()> {
    for trial in trials {
        let (version, checksum) = (&trial.stack.engine_version, &trial.data.checksum);
        if let Some(now) = ready.engine_version.as_ref().filter(|now| *now != version) {
            bail!(
                "the trials of {name} so far were measured on version {version} of its engine, and here it is {now}: that \
                 would be another run\nhint: start a new run"
            );
        }
        if *checksum != ready.checksum {
            let word = |checksum: &Option<String>| checksum.clone().unwrap_or_else(|| "none".into());
            bail!(
                "the data of {name} has the checksum {}, and the trials so far worked on {}: that would be another \
                 run\nhint: start a new run",
                word(&ready.checksum),
                word(checksum)
            );
        }
    }
    Ok(())
}

/// Says with what a run goes on, and gives that with `found`, what its trials have shown, for the document. `all` are the
/// trials that it is to have, where that is known.
pub(crate) fn announce(
    id: &str,
    done: usize,
    all: Option<usize>,
    found: Vec<String>,
    reporter: &dyn RunReporter,
) -> Vec<String> {
    let trials = trials(done, all);
    let are = if trials == "1 trial" { "is" } else { "are" };
    reporter.remark(&format!("going on with {id}: {trials} {are} done"));
    for note in &found {
        reporter.remark(note);
    }
    let cut_off = format!("It was cut off after {trials}, and went on at {}.", now().readable());
    std::iter::once(cut_off).chain(found).collect()
}

/// `3 of 12 trials`.
pub(crate) fn trials(done: usize, all: Option<usize>) -> String {
    match all {
        Some(all) => format!("{done} of {all} trials"),
        None if done == 1 => "1 trial".into(),
        None => format!("{done} trials"),
    }
}

/// Whether a trial was measured by a plan, whatever the seed.
pub fn is_of_plan<W: Benchmark>(trial: &Trial, plan: &drive::Plan) -> bool {
    let now = plan.described(W::KINDS, RetryPolicy::default().attempts_max);
    is_same(&Plan { seed: now.seed, ..trial.plan.clone() }, &now)
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
    let think = |arrivals: &Arrivals| match arrivals {
        Arrivals::Paced { think } => Some(think.clone()),
        _ => None,
    };
    discriminant(&then.arrivals) == discriminant(&arrivals)
        && think(&then.arrivals) == think(&arrivals)
        && numbers(then).into_iter().zip(numbers(now)).all(near)
        && Plan { warmup_s, warmup_max_s, measured_s, drain_s, arrivals, ..then.clone() } == *now
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Workload;
    use result::State;
    use result::{Document, RunKind};
    use schedule::PlannedTrial;
    use schedule::plan::Variant;
    use serde::Serialize;
    use std::fs;
    use std::ops::RangeInclusive;
    use workload_tpcc::Tpcc;

    /// `001-a`, `002-b`, `003-c` and `004-d`, two of which are a block: as a sweep, or as an experiment.
    #[derive(Clone, Serialize)]
    struct Four {
        in_order: bool,
        /// Whether the two of a block run at once.
        at_once: bool,
    }

    impl Schedule<Tpcc> for Four {
        fn kind(&self) -> RunKind {
            RunKind::Sweep
        }

        fn name(&self) -> String {
            "four".into()
        }

        fn scale(&self) -> u32 {
            1
        }

        fn variants(&self) -> Vec<Variant> {
            Vec::new()
        }

        fn trials(&self) -> Option<usize> {
            Some(4)
        }

        fn block(&self) -> usize {
            2
        }

        fn in_order(&self) -> bool {
            self.in_order
        }

        fn unit(&self, number: usize) -> RangeInclusive<usize> {
            let first = (number - 1) / 2 * 2 + 1;
            if self.at_once { first..=first + 1 } else { number..=number }
        }

        fn next(&self, number: usize, _so_far: &CompletedTrials) -> Result<Next> {
            let plan = drive::Plan { workers: number as u32, ..drive::Plan::default() };
            let label = ["a", "b", "c", "d"].get(number - 1);
            Ok(label.map_or(Next::End, |label| Next::Trial(PlannedTrial::of(number, label, 0, plan))))
        }

        fn update(&self, _so_far: &CompletedTrials, _document: &mut Document) {}
    }

    fn plan(clients: u32) -> Plan {
        drive::Plan { workers: clients, ..drive::Plan::default() }
            .described(Tpcc::KINDS, RetryPolicy::default().attempts_max)
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

    /// A trial in this folder that says that it is of this run, that it ended so, and that it had this plan.
    type Written<'a> = (&'a str, &'a str, State, Plan);

    /// What is read of them, and the notes.
    fn read_of(schedule: &Four, trials: &[Written<'_>]) -> (ResumedTrials, Vec<String>) {
        let out = tempdir();
        let (folder, ..) = Folder::create(&out, "sweep").unwrap();
        for (name, run, state, plan) in trials {
            let mut document =
                Document { id: format!("{run}/{name}"), state: *state, ..sample_documents::trial() };
            let trial = Trial { state: *state, plan: plan.clone(), ..document.trials[0].clone() };
            document.trials[0] = trial;
            let own = folder.path().join("trials").join(name);
            fs::create_dir_all(&own).unwrap();
            fs::write(own.join("result.json"), result::to_json(&document)).unwrap();
        }
        let mut stored = super::read::<Tpcc, Four>(&folder, "run", schedule, &[]).unwrap();
        drop(folder);
        fs::remove_dir_all(out).unwrap();
        let notes = std::mem::take(&mut stored.notes);
        (stored, notes)
    }

    /// The same of a sweep, whose trials have the plans that are wanted; how many are kept, and the notes.
    fn read(trials: &[(&str, &str, State)]) -> (usize, Vec<String>) {
        let clients = |name: &str| name[..3].parse().unwrap();
        let written = trials.iter().map(|(name, run, state)| (*name, *run, *state, plan(clients(name))));
        let trials: Vec<Written<'_>> = written.collect();
        let (stored, notes) = read_of(&Four { in_order: true, at_once: false }, &trials);
        (stored.so_far.trials.len(), notes)
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
        assert!(note.contains("trial 3 and all later ones"), "{note}");
    }

    #[test]
    fn a_trial_that_is_not_the_one_that_is_wanted_costs_all_after_it() {
        let refused = |name: &str, of_second: Plan, words: &str| {
            let done = State::Complete;
            let second = (name, "run", done, of_second);
            let trials = [("001-a", "run", done, plan(1)), second, ("003-c", "run", done, plan(3))];
            let (stored, notes) = read_of(&Four { in_order: true, at_once: false }, &trials);
            assert_eq!(stored.so_far.numbers, [1], "{notes:?}");
            let [note] = &notes[..] else { panic!("{notes:?}") };
            assert!(note.contains(words) && note.contains("this trial and all later ones"), "{note}");
        };
        refused("002-x", plan(2), "002-b is wanted in its place");
        let other = "another plan";
        refused("002-b", plan(3), other);
        refused("002-b", Plan { seed: plan(2).seed + 1, ..plan(2) }, other);
        refused("002-b", Plan { measured_s: plan(2).measured_s * 2.0, ..plan(2) }, other);
        refused("002-b", Plan { deadline_ns: 1, ..plan(2) }, other);
        refused("002-b", Plan { arrivals: Arrivals::Poisson { rate_per_s: 9.0 }, ..plan(2) }, other);
    }

    #[test]
    fn a_trial_of_an_experiment_that_is_not_the_one_that_is_wanted_costs_its_block_alone() {
        let done = State::Complete;
        let of = |name, clients| (name, "run", done, plan(clients));
        let trials = [of("001-a", 1), of("002-b", 9), of("003-c", 3), of("004-d", 4)];
        let (stored, notes) = read_of(&Four { in_order: false, at_once: false }, &trials);
        assert_eq!((&stored.so_far.numbers[..], &stored.again[..]), (&[3, 4][..], &[0][..]));
        let [note] = &notes[..] else { panic!("{notes:?}") };
        assert!(note.contains("another plan") && note.contains("block 1 is run again"), "{note}");
    }

    #[test]
    fn of_trials_that_run_at_once_a_missing_one_costs_the_others_and_no_more() {
        let done = State::Complete;
        let of = |name, clients| (name, "run", done, plan(clients));
        let trials = [of("001-a", 1), of("002-b", 2), of("003-c", 3)];
        let (stored, notes) = read_of(&Four { in_order: false, at_once: true }, &trials);
        assert_eq!((&stored.so_far.numbers[..], &stored.again[..]), (&[1, 2][..], &[][..]));
        let [note] = &notes[..] else { panic!("{notes:?}") };
        assert!(
            note.contains("Trial 4 is missing") && note.contains("trials 3 to 4 are run again"),
            "{note}"
        );
    }

    #[test]
    fn a_step_that_ended_early_has_ended_and_one_that_the_user_interrupted_has_not() {
        let mut trial = sample_documents::trial().trials[0].clone();
        trial.state = State::Interrupted;
        assert!(!has_ended(&trial));
        trial.ended_early = Some("102 calls had taken longer than 50 ms".into());
        assert!(has_ended(&trial));
        // What it is while it runs: nothing of it has been audited.
        trial.state = State::Running;
        assert!(!has_ended(&trial));
    }
}
