//! What an adjustment for the machine's speed gives, in simulations of trials that follow one another on a machine that wanders.

use measure::{Adjusted, Better, Observed, ObservedBlock, Terms, adjust, compare, ratio_to_base};
use model::random::Random;

/// Simulated comparisons.
const ROUNDS: usize = 3_000;
/// Standard deviation of what a trial shows, by itself.
const SCATTER: f64 = 0.01;
/// That of a machine which is another at each trial.
const WANDER: f64 = 0.06;
/// What B really keeps.
const EFFECT: f64 = 0.95;

/// Standard normal, by Box and Muller.
fn normal(random: &mut Random) -> f64 {
    (2.0 * random.exponential(1.0)).sqrt() * (std::f64::consts::TAU * random.unit()).cos()
}

/// Blocks of A, B and A once more, in which a probe sees the machine's speed with an error, or something else entirely.
fn blocks(random: &mut Random, count: usize, probe_error: f64, is_related: bool) -> Vec<ObservedBlock> {
    let mut trial = |effect: f64| {
        let slowness = WANDER * normal(random);
        let value = (effect.ln() - slowness + SCATTER * normal(random)).exp();
        let seen = if is_related { slowness } else { WANDER * normal(random) };
        Observed { value, probe: (seen + probe_error * normal(random)).exp() }
    };
    let block = |_| {
        let (first, b, again) = (trial(1.0), trial(EFFECT), trial(1.0));
        ObservedBlock { a: vec![first, again], b }
    };
    (0..count).map(block).collect()
}

/// All that were adjusted of so many, with the half-width of the unadjusted intervals next to them.
fn adjusted(seed: u64, count: usize, probe_error: f64, is_related: bool) -> Vec<(Adjusted, f64)> {
    let mut random = Random::stream(seed, &[]);
    let mut found = Vec::new();
    for _ in 0..ROUNDS {
        let blocks = blocks(&mut random, count, probe_error, is_related);
        let ratio = |block: &ObservedBlock| {
            ratio_to_base(block.b.value, &block.a.iter().map(|of| of.value).collect::<Vec<_>>())
        };
        let ratios: Vec<f64> = blocks.iter().filter_map(ratio).collect();
        let raw = compare(&ratios, &Terms { better: Better::Higher, margin: 0.02, comparisons: 1 });
        let (low, high) = raw.interval.expect("there are enough blocks");
        found.extend(adjust(&blocks, Better::Higher, 1).map(|found| (found, (high - low) / 2.0)));
    }
    found
}

#[test]
fn adjusted_intervals_hold_the_truth_and_are_narrower() {
    for (count, probe_error) in [(4, 0.0), (5, 0.02), (10, 0.02)] {
        let found = adjusted(7, count, probe_error, true);
        assert!(found.len() > ROUNDS * 9 / 10, "{count} blocks: {} of {ROUNDS} were adjusted", found.len());
        let holds = |of: &&(Adjusted, f64)| of.0.interval.0 <= EFFECT && EFFECT <= of.0.interval.1;
        let covered = found.iter().filter(holds).count() as f64 / found.len() as f64;
        assert!((0.93..=0.98).contains(&covered), "{count} blocks, error {probe_error}: {covered}");
        let mean =
            |of: &dyn Fn(&(Adjusted, f64)) -> f64| found.iter().map(of).sum::<f64>() / found.len() as f64;
        let (half, raw) = (mean(&|of| (of.0.interval.1 - of.0.interval.0) / 2.0), mean(&|of| of.1));
        assert!(half < raw * 0.75, "{count} blocks, error {probe_error}: {half} in place of {raw}");
    }
}

#[test]
fn a_probe_of_something_else_adjusts_nothing_but_by_chance() {
    let share = adjusted(8, 5, 0.0, false).len() as f64 / ROUNDS as f64;
    assert!(share < 0.035, "{share}");
}

#[test]
fn what_gets_better_on_a_slower_machine_is_not_adjusted() {
    let of = |value: f64, probe: f64| Observed { value, probe };
    let block = |speed: f64| ObservedBlock {
        a: vec![of(100.0 * speed, speed), of(100.1 * speed, speed)],
        b: of(90.0 * speed * speed.powf(0.01), speed),
    };
    let blocks: Vec<ObservedBlock> = [1.0, 1.1, 0.9, 1.05, 1.2].map(block).to_vec();
    assert_eq!(adjust(&blocks, Better::Higher, 1), None);
    let found = adjust(&blocks, Better::Lower, 1).expect("a time grows with the probe's");
    assert!((found.effect - 0.9).abs() < 0.01 && (found.slope - 1.0).abs() < 0.05, "{found:?}");
    assert_eq!(adjust(&blocks[..3], Better::Lower, 1), None, "too few blocks");
    let mut slowed = blocks.clone();
    slowed.iter_mut().enumerate().for_each(|(at, block)| block.b.probe *= 1.1 + at as f64 / 1_000.0);
    assert_eq!(adjust(&slowed, Better::Lower, 1), None, "what B runs slows the probe down");
    let mut unknown = blocks;
    unknown[0].b.probe = 0.0;
    assert_eq!(adjust(&unknown, Better::Lower, 1), None);
}
