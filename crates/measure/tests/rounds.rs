//! How often intervals are right that come from rounds of subjects that take turns, in simulations of whole comparisons on
//! machines as they are. docs/decisions/0034 has the table that
//! `cargo test --release -p stackmark-measure --test rounds extended -- --nocapture` prints; the other test does the same with fewer
//! comparisons, and with bounds as much wider as chance is.

use measure::{Better, LOOKS, Terms, compare, group_ratios, is_narrow_enough, ratio_to_base, turns};
use model::random::Random;

/// Of a turn: in seconds, and in steps.
const TURN_S: f64 = 2.0;
const STEPS: usize = 20;
/// Of a turn, in which nothing counts.
const UNCOUNTED: usize = 5;
const STEP_S: f64 = TURN_S / STEPS as f64;

/// From so many blocks on an interval is from the ratios of blocks.
const BLOCKS_ENOUGH: u32 = 4;

/// Standard normal, by Box and Muller.
fn normal(random: &mut Random) -> f64 {
    (2.0 * random.exponential(1.0)).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
}

/// What a machine does to the logarithm of its speed over time.
#[derive(Debug, Clone, Copy)]
enum Machine {
    /// Nothing but the scatter of each round.
    Quiet,
    /// It wanders by 6 %, and has forgotten after 10 s where it was.
    Drifts,
    /// Someone else takes 30 % of it for a second, every ten seconds.
    Bursts,
    /// Once a minute it goes on at a speed that is some 8 % away.
    Steps,
    /// It is 10 % faster and slower in turn, and this many turns make a period.
    Periodic(f64),
    /// All of it at once.
    All,
}

impl Machine {
    /// Its speed in each step of so many turns.
    fn speeds(self, random: &mut Random, turns: usize) -> Vec<f64> {
        let is = |other: fn(&Machine) -> bool| other(&self) || matches!(self, Machine::All);
        let (drifts, bursts) =
            (is(|of| matches!(of, Machine::Drifts)), is(|of| matches!(of, Machine::Bursts)));
        let steps = is(|of| matches!(of, Machine::Steps));
        let period = match self {
            Machine::Periodic(turns) => Some(turns * TURN_S),
            Machine::All => Some(3.0 * TURN_S),
            _ => None,
        };
        let kept = (-STEP_S / 10.0_f64).exp();
        let fresh = 0.06 * (1.0 - kept * kept).sqrt();
        let (mut at, mut level, mut busy_s, phase) = (0.06 * normal(random), 0.0, 0.0_f64, random.unit());
        let step = |step: usize| {
            let mut speed = level;
            if drifts {
                at = kept * at + fresh * normal(random);
                speed += at;
            }
            if bursts {
                if random.unit() < STEP_S / 10.0 {
                    busy_s = random.exponential(1.0);
                }
                speed -= if busy_s > 0.0 { 0.3 } else { 0.0 };
                busy_s -= STEP_S;
            }
            if steps && random.unit() < STEP_S / 60.0 {
                level += 0.08 * normal(random);
            }
            if let Some(period) = period {
                let at = step as f64 * STEP_S / period + phase;
                speed += 0.1 * (std::f64::consts::TAU * at).sin();
            }
            speed
        };
        (0..turns * STEPS).map(step).collect()
    }
}

/// A comparison of two, or of one with two that are the same.
#[derive(Debug, Clone, Copy)]
struct Plan {
    control: bool,
    /// Rounds of each part in a block.
    rounds: u32,
    blocks: u32,
}

impl Plan {
    /// The ratios from which the interval is, where there is no difference.
    fn run(self, machine: Machine, random: &mut Random) -> Vec<f64> {
        let parts = if self.control { 3 } else { 2 };
        let mut ratios = Vec::new();
        for _ in 0..self.blocks {
            let order = turns(parts, self.rounds, random.bits());
            let speeds = machine.speeds(random, order.len());
            // What differs between starts is of each part by itself; below some blocks it is no part of the truth.
            let starts = if self.blocks >= BLOCKS_ENOUGH { 0.01 } else { 0.0 };
            let start: Vec<f64> = (0..parts).map(|_| starts * normal(random)).collect();
            let mut rates = vec![Vec::new(); parts];
            for (part, steps) in order.into_iter().zip(speeds.chunks(STEPS)) {
                let counted = &steps[UNCOUNTED..];
                let mean = counted.iter().map(|speed| speed.exp()).sum::<f64>() / counted.len() as f64;
                rates[part].push(mean * (start[part] + 0.02 * normal(random)).exp());
            }
            let (above, base) = (&rates[0], &rates[1..]);
            if self.blocks >= BLOCKS_ENOUGH {
                let mean = |rates: &Vec<f64>| rates.iter().sum::<f64>() / rates.len() as f64;
                let base: Vec<f64> = base.iter().map(mean).collect();
                ratios.push(ratio_to_base(mean(above), &base).expect("a base has a rate"));
            } else {
                ratios.extend(group_ratios(above, base).expect("all have equally many rounds"));
            }
        }
        ratios
    }
}

/// The share of intervals that hold the truth, and half their median width.
fn simulate(machine: Machine, plan: Plan, comparisons: usize) -> (f64, f64) {
    let seed = u64::from(plan.rounds) << 32 | u64::from(plan.blocks);
    let mut random = Random::stream(41, &[seed, u64::from(plan.control)]);
    let terms = Terms { better: Better::Higher, margin: 0.02, comparisons: 1 };
    let (mut covered, mut widths) = (0, Vec::new());
    for _ in 0..comparisons {
        let (low, high) =
            compare(&plan.run(machine, &mut random), &terms).interval.expect("three ratios or more");
        covered += usize::from(low <= 1.0 && 1.0 <= high);
        widths.push((high - low) / 2.0);
    }
    widths.sort_by(f64::total_cmp);
    (covered as f64 / comparisons as f64, widths[comparisons / 2])
}

/// Coverage of 93 to 97 %; of a few groups on a machine that is disturbed now and then it is more, because a group that is hit
/// widens the interval for all.
fn covers(comparisons: usize) {
    let chance = 3.0 * (0.05 * 0.95 / comparisons as f64).sqrt();
    let machines = [
        Machine::Quiet,
        Machine::Drifts,
        Machine::Bursts,
        Machine::Steps,
        Machine::Periodic(1.0),
        Machine::Periodic(0.5),
        Machine::Periodic(2.0),
        Machine::All,
    ];
    // Rounds of two parts are half of those of a block: 4 to 60 rounds a block, 1 to 10 blocks.
    let plans = [(6, 1), (10, 1), (30, 1), (2, 3), (8, 3), (30, 3), (2, 4), (8, 5), (2, 10), (8, 10)];
    for machine in machines {
        for (rounds, blocks) in plans {
            for control in [false, true] {
                let plan = Plan { control, rounds, blocks };
                let (covered, half) = simulate(machine, plan, comparisons);
                eprintln!(
                    "| {machine:?} | {rounds} | {blocks} | {} | {:.1} % | ±{:.1} % |",
                    if control { "yes" } else { "no" },
                    covered * 100.0,
                    half * 100.0
                );
                let most = if matches!(machine, Machine::Bursts | Machine::Steps | Machine::All) {
                    1.0
                } else {
                    0.97
                };
                let words = format!("{machine:?}, {plan:?}: {covered}");
                assert!((0.93 - chance..=most + chance).contains(&covered), "{words}");
            }
        }
    }
}

#[test]
fn intervals_from_rounds_hold_the_truth() {
    covers(500);
}

mod extended {
    #[test]
    fn intervals_from_rounds_hold_the_truth_in_many_more_comparisons() {
        super::covers(6_000);
    }

    #[test]
    fn intervals_that_decide_when_to_end_hold_the_truth_in_many_more_comparisons() {
        super::ends_on_disturbed_machines(4_000);
    }
}

/// Never changing places finds a difference where a machine goes slower all the while.
#[test]
fn turns_that_are_not_mirrored_would_be_misled() {
    let terms = Terms { better: Better::Higher, margin: 0.02, comparisons: 1 };
    let mut random = Random::stream(42, &[]);
    let mut alarms = |order: &dyn Fn(u64) -> Vec<usize>| {
        let found = (0..500).filter(|_| {
            let mut rates = [Vec::new(), Vec::new()];
            for (at, part) in order(random.bits()).into_iter().enumerate() {
                rates[part].push((-0.01 * at as f64 + 0.005 * normal(&mut random)).exp());
            }
            let [above, base] = rates;
            let ratios = group_ratios(&above, &[base]).unwrap();
            compare(&ratios, &terms).interval.is_some_and(|(low, high)| low > 1.0 || high < 1.0)
        });
        found.count()
    };
    let in_turn = alarms(&|_| [0, 1].repeat(16));
    let mirrored = alarms(&|seed| turns(2, 16, seed));
    assert!(in_turn > 400 && mirrored < 50, "{in_turn} and {mirrored} of 500");
}

/// The interval at the end of a comparison that goes on until it is narrow enough; 40 blocks at most.
fn until_narrow(mut block: impl FnMut() -> f64, half: f64, comparisons: u32) -> (f64, f64) {
    let terms = Terms { better: Better::Higher, margin: 0.02, comparisons };
    let mut ratios = Vec::new();
    loop {
        ratios.push(block());
        let (blocks, interval) = (ratios.len() as u32, compare(&ratios, &terms).interval);
        if is_narrow_enough(half, blocks, [interval]) || blocks == 40 {
            return interval.expect("five ratios");
        }
    }
}

/// Whoever ends when the scatter happens to look small has too narrow intervals. Intervals that miss half as often make good for
/// that, whatever the precision; those of a fixed number of blocks would not.
#[test]
fn intervals_that_decide_when_to_end_hold_the_truth() {
    let covered = |comparisons: u32, half: f64| {
        let mut random = Random::stream(43, &[(half * 1e6) as u64]);
        let holds = |(low, high): (f64, f64)| low <= 1.0 && 1.0 <= high;
        let mut one = || until_narrow(|| (0.02 * normal(&mut random)).exp(), half, comparisons);
        (0..4_000).filter(|_| holds(one())).count() as f64 / 4_000.0
    };
    let halves = [0.006, 0.008, 0.01, 0.012, 0.014, 0.018, 0.025];
    let least =
        |comparisons: u32| halves.map(|half| covered(comparisons, half)).into_iter().fold(1.0, f64::min);
    let (doubled, plain) = (least(LOOKS), least(1));
    // Three standard errors of a share of 5 %.
    assert!(doubled >= 0.95 - 0.0104, "{doubled}");
    assert!(plain < 0.935, "{plain}");
}

/// The same on machines that drift, burst and step, in blocks of eight rounds a side.
fn ends_on_disturbed_machines(comparisons: u32) {
    let chance = 3.0 * (0.05 * 0.95 / f64::from(comparisons)).sqrt();
    // The ratios of single blocks, a few at a time.
    let plan = Plan { control: false, rounds: 8, blocks: BLOCKS_ENOUGH };
    for machine in [Machine::Drifts, Machine::Bursts, Machine::Steps, Machine::All] {
        for half in [0.01, 0.02, 0.04] {
            let mut random = Random::stream(44, &[(half * 1e6) as u64]);
            let mut ratios = Vec::new();
            let mut block = || {
                if ratios.is_empty() {
                    ratios = plan.run(machine, &mut random);
                }
                ratios.pop().expect("a plan has blocks")
            };
            let mut covered = 0;
            for _ in 0..comparisons {
                let (low, high) = until_narrow(&mut block, half, LOOKS);
                covered += u32::from(low <= 1.0 && 1.0 <= high);
            }
            let share = f64::from(covered) / f64::from(comparisons);
            eprintln!("| {machine:?} | ±{:.0} % | {:.1} % |", half * 100.0, share * 100.0);
            assert!(share >= 0.95 - chance, "{machine:?}, ±{half}: {share}");
        }
    }
}

#[test]
fn intervals_that_decide_when_to_end_hold_the_truth_on_disturbed_machines() {
    ends_on_disturbed_machines(200);
}
