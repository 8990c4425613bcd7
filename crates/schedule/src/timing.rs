//! How long an experiment takes, and the plan that fits a time.

use crate::plan::Experiment;
use anyhow::{Result, bail};
use deploy::Spec;
use measure::{BLOCKS_BEFORE_LOOKS, BLOCKS_MIN};
use model::Nanos;
use result::text::seconds;

/// Blocks of a plan that is made to fit a time, where that is long enough.
const BLOCKS: u32 = 5;
/// More than this no plan has.
const BLOCKS_MAX: u32 = 1_000;
/// Times the time that was asked for, which warming up and measuring may take: engines may need longer to be steady than a plan knows.
const TIME_MARGIN: f64 = 1.1;
/// The measured time of a side in a block is so long at least.
const MEASURED_MIN_S: f64 = 3.0;

impl Experiment {
    /// Seconds of warming up and measuring in a block, without what engines may ask for until they are steady.
    pub fn block_s(&self) -> f64 {
        let arms = self.arms();
        let unit_s = |unit: &Vec<usize>| -> f64 {
            let specs: Vec<&Spec> =
                unit.iter().map(|part| &self.variants[arms[*part].variant].spec).collect();
            let places = specs.iter().enumerate().filter(|(at, spec)| !specs[..*at].contains(spec)).count();
            let of = |part: &usize| {
                let plan = &self.variants[arms[*part].variant].plan;
                let (warmup_s, parts) = (plan.warmup.as_secs_f64(), unit.len() as f64);
                let places = places as f64;
                let Some(rounds) = plan.rounds else { return warmup_s + plan.measured.as_secs_f64() };
                let uncounted_s = rounds.uncounted.as_secs_f64() * f64::from(rounds.number - 1);
                // The first one on each engine warms up, the others for a quarter of that.
                warmup_s * (3.0 * places / parts + 1.0) / 4.0 + uncounted_s + plan.measured.as_secs_f64()
            };
            unit.iter().map(of).sum()
        };
        self.units(&arms).iter().map(unit_s).sum()
    }

    /// Changes blocks, and where `precision` is not asked for the measured time of each block, so that warming up and measuring take
    /// about `time`.
    ///
    /// # Errors
    /// The time is too short; says what would be enough.
    pub fn fit(&mut self, time: Nanos) -> Result<()> {
        let time_s = time.as_secs_f64();
        if self.precision.is_some() {
            let (block_s, least) = (self.block_s(), f64::from(BLOCKS_BEFORE_LOOKS));
            if block_s * least > time_s {
                bail!(
                    "{} are too short for --precision: {BLOCKS_BEFORE_LOOKS} blocks take {}\nhint: give more with --time, or a \
                     shorter --duration or --warmup",
                    seconds(time_s),
                    seconds(block_s * least)
                );
            }
            self.blocks = ((time_s / block_s) as u32).min(BLOCKS_MAX);
            self.time = Some(time);
            return Ok(());
        }
        for blocks in (1..=BLOCKS).rev() {
            let mut fitted = Experiment { blocks, ..self.clone() };
            fitted.measure_for(MEASURED_MIN_S)?;
            let least_s = fitted.block_s();
            let of_block_s = time_s / f64::from(blocks);
            // What a second more of measuring takes, settling included.
            fitted.measure_for(2.0 * MEASURED_MIN_S)?;
            let each_s = (fitted.block_s() - least_s) / MEASURED_MIN_S;
            fitted.measure_for(MEASURED_MIN_S + ((of_block_s - least_s) / each_s).max(0.0))?;
            if of_block_s >= least_s && fitted.has_interval(blocks) {
                *self = Experiment { time: Some(time), ..fitted };
                return Ok(());
            }
        }
        // The shortest that has an interval.
        let mut least = Experiment { blocks: 1, ..self.clone() };
        least.measure_for(3.0 * MEASURED_MIN_S)?;
        if !least.has_interval(1) {
            least.blocks = BLOCKS_MIN as u32;
            least.measure_for(MEASURED_MIN_S)?;
        }
        bail!(
            "--time {} is too short for a confidence interval, which takes {}\nhint: give more, or a shorter --warmup",
            seconds(time_s),
            seconds(least.block_s() * f64::from(least.blocks))
        )
    }

    /// Whether one more block would take longer than was asked for, as `blocks` have taken `measured_s` seconds of warming up and
    /// measuring; never before there are enough for an interval.
    pub(crate) fn is_out_of_time(&self, blocks: u32, measured_s: f64) -> bool {
        let Some(time) = self.time.filter(|_| blocks > 0) else { return false };
        let with_next_s = measured_s * f64::from(blocks + 1) / f64::from(blocks);
        let is_looked_at = self.precision.is_none() || blocks >= BLOCKS_BEFORE_LOOKS;
        with_next_s > time.as_secs_f64() * TIME_MARGIN && self.has_interval(blocks) && is_looked_at
    }

    /// Whether so many blocks, or the groups of rounds within them, are enough for an interval in each metric.
    fn has_interval(&self, blocks: u32) -> bool {
        let compared = self.variants.iter().filter(|variant| variant.base.is_some());
        let groups = compared.map(|variant| variant.plan.rounds.map_or(0, |rounds| rounds.number / 2));
        let by_rounds = self.criteria.iter().all(|criterion| criterion.metric == "throughput");
        let groups = if by_rounds { groups.min().unwrap_or(0) } else { 0 };
        blocks.max(blocks * groups) as usize >= BLOCKS_MIN
    }

    fn measure_for(&mut self, measured_s: f64) -> Result<()> {
        for variant in &mut self.variants {
            variant.plan.measured = Nanos((measured_s * 1e9) as u64);
        }
        let in_turn = self.variants.iter().any(|variant| variant.plan.rounds.is_some());
        let notes = self.notes.clone();
        if in_turn {
            self.alternate()?;
            self.notes = notes;
        }
        Ok(())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::plan::{Criterion, Variant};
    use deploy::{EngineOptions, RelayOptions};
    use sql::Dialect;

    /// A subject directly and through HTTP, in turn or not.
    pub(crate) fn pair(in_turn: bool) -> Experiment {
        let variant = |name: &str, subject: &str, base| Variant {
            name: name.into(),
            subject: subject.into(),
            base,
            factors: Vec::new(),
            plan: drive::Plan { measured: Nanos::from_secs(12), ..drive::Plan::default() },
            pool: 1,
            server_threads: 1,
            http: model::HttpOptions::default(),
            server_limits: None,
            relaying: RelayOptions::default(),
            spec: Spec::of_options(Dialect::Sqlite, 1, &[], &EngineOptions::default()),
            through_checkpoints: false,
            whole: false,
            asked: Vec::new(),
        };
        let mut experiment = Experiment {
            name: "pair".into(),
            question: None,
            workload: "tpcc".into(),
            scale: 1,
            blocks: 5,
            control: true,
            criteria: vec![Criterion { metric: "throughput".into(), margin: 0.02, max_loss: None }],
            accept_inconclusive: false,
            require_audit: false,
            seed: 1,
            variants: vec![
                variant("direct", "tpcc/sqlite/rusqlite", None),
                variant("through HTTP", "tpcc/sqlite/axum+rusqlite", Some(0)),
            ],
            notes: Vec::new(),
            precision: None,
            time: None,
            suspicion: None,
        };
        if in_turn {
            experiment.alternate().unwrap();
        }
        experiment
    }

    #[test]
    fn a_block_takes_its_warm_ups_its_windows_and_the_beginnings_of_rounds() {
        // Three whole trials: twice the base.
        assert_eq!(pair(false).block_s(), 3.0 * 22.0);
        // 10 s and a quarter of that twice; three times 12 s in 8 rounds, of which the first begins with the warm-up.
        assert_eq!(pair(true).block_s(), 15.0 + 3.0 * (12.0 + 7.0 * 0.5));
    }

    #[test]
    fn engines_of_their_own_take_turns_where_there_is_room_and_each_warms_up() {
        let base = Spec::of_options(Dialect::Postgres, 1, &[], &EngineOptions::default());
        let with = |settings: usize| {
            let mut experiment = pair(false);
            for variant in &mut experiment.variants {
                variant.subject = "tpcc/postgres/tokio-postgres".into();
                variant.spec = base.clone();
            }
            let other = experiment.variants.remove(1);
            for value in 0..settings {
                let mut variant = other.clone();
                variant.spec.set(vec![("work_mem".into(), format!("{}MB", value + 1))], None);
                experiment.variants.push(variant);
            }
            experiment.alternate_where(&|engines| engines <= 6).unwrap();
            experiment
        };
        let two = with(1);
        assert!(two.variants.iter().all(|variant| variant.plan.rounds.is_some()) && two.notes.is_empty());
        // The base once more, on the same engine, warms up for a quarter of the time.
        assert_eq!(two.block_s(), 10.0 + 10.0 + 2.5 + 3.0 * (12.0 + 7.0 * 0.5));
        // The base and six others are more than can be up at once.
        let seven = with(6);
        assert!(seven.variants.iter().all(|variant| variant.plan.rounds.is_none()));
        assert_eq!(seven.notes.len(), 6);
        assert!(seven.notes[0].ends_with("each with a copy of the data, at once."), "{}", seven.notes[0]);
    }

    #[test]
    fn a_plan_that_fits_a_time_takes_about_that_and_has_an_interval() {
        for (in_turn, time_s) in [(true, 60), (true, 180), (true, 600), (false, 150), (false, 600)] {
            let mut fitted = pair(in_turn);
            fitted.fit(Nanos::from_secs(time_s)).unwrap();
            let takes_s = fitted.block_s() * f64::from(fitted.blocks);
            let share = takes_s / time_s as f64;
            assert!(
                (0.85..1.1).contains(&share),
                "{in_turn}, {time_s} s: {takes_s} s, {} blocks",
                fitted.blocks
            );
            assert!(fitted.has_interval(fitted.blocks) && fitted.notes.is_empty());
        }
    }

    #[test]
    fn a_time_that_is_too_short_is_refused_with_what_is_enough() {
        for (in_turn, time_s) in [(true, 20), (false, 100)] {
            let refused = pair(in_turn).fit(Nanos::from_secs(time_s)).unwrap_err().to_string();
            assert!(refused.contains("is too short for a confidence interval"), "{refused}");
        }
        let mut precise = Experiment { precision: Some(0.02), ..pair(true) };
        let refused = precise.fit(Nanos::from_secs(60)).unwrap_err().to_string();
        assert!(refused.contains("5 blocks take 5 min 8 s"), "{refused}");
        precise.fit(Nanos::from_secs(1_200)).unwrap();
        assert_eq!((precise.blocks, precise.variants[0].plan.measured), (19, Nanos::from_secs(12)));
    }
}
