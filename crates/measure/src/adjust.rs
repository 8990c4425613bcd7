//! Ratios adjusted for how fast the machine was at each trial (analysis of covariance), where trials follow one another.

use crate::compare::Better;
use crate::student::{INTERVAL_95, Tail, student_t};

/// Fewer blocks leave no freedom to tell a slope from scatter.
const BLOCKS_MIN: usize = 4;

/// What a trial did, and what a probe of the machine took around it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Observed {
    /// The figure that is compared, more than zero.
    pub value: f64,
    /// The time of a fixed piece of work, more than zero, in any unit.
    pub probe: f64,
}

/// The trials of a block: those of the base, and that of what is compared with it.
#[derive(Debug, Clone, PartialEq)]
pub struct ObservedBlock {
    pub a: Vec<Observed>,
    pub b: Observed,
}

/// What is left of a difference when that of the machine is taken out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Adjusted {
    /// B through A on a machine of one speed.
    pub effect: f64,
    /// Its 95 % interval.
    pub interval: (f64, f64),
    /// By how much per cent the figure changes for a probe that takes one per cent longer.
    pub slope: f64,
    /// The slope through its standard error.
    pub t: f64,
}

/// Adjusts the ratios of blocks. Absent where the probes say nothing: blocks are too few, or the figure does not clearly get worse
/// with a slower probe over the trials of each side (the slope's 95 % interval holds zero, or it has the wrong sign); or where the probes
/// of the sides differ significantly: then they show what the sides run, not how fast the machine is.
///
/// The slope is that within each side, so that a difference between the sides is not taken for one of the machine. Its own
/// error widens the interval by as much as the sides met machines of different speed.
pub fn adjust(blocks: &[ObservedBlock], better: Better, comparisons: u32) -> Option<Adjusted> {
    let sides = [
        blocks.iter().flat_map(|block| &block.a).copied().collect::<Vec<_>>(),
        blocks.iter().map(|block| block.b).collect(),
    ];
    let is_known = |of: &Observed| [of.value, of.probe].iter().all(|value| value.is_finite() && *value > 0.0);
    if blocks.len() < BLOCKS_MIN || !sides.iter().flatten().all(is_known) {
        return None;
    }
    let centred = |side: &Vec<Observed>| -> Vec<(f64, f64)> {
        let logs: Vec<(f64, f64)> = side.iter().map(|of| (of.probe.ln(), of.value.ln())).collect();
        let count = logs.len() as f64;
        let (x, y) = logs.iter().fold((0.0, 0.0), |(x, y), of| (x + of.0 / count, y + of.1 / count));
        logs.into_iter().map(|of| (of.0 - x, of.1 - y)).collect()
    };
    let all: Vec<(f64, f64)> = sides.iter().flat_map(centred).collect();
    let sum = |of: &dyn Fn(&(f64, f64)) -> f64| all.iter().map(of).sum::<f64>();
    let (xx, xy) = (sum(&|(x, _)| x * x), sum(&|(x, y)| x * y));
    let slope = xy / xx;
    // A mean of each side, and the slope.
    let freedom = all.len() as u32 - 3;
    let error = (sum(&|(x, y)| (y - slope * x).powi(2)) / f64::from(freedom) / xx).sqrt();
    let t = slope / error;
    let is_sound = match better {
        Better::Higher => slope < 0.0,
        Better::Lower => slope > 0.0,
    };
    if !t.is_finite() || !is_sound || t.abs() < student_t(INTERVAL_95, freedom) {
        return None;
    }
    let (count, blocks_freedom) = (blocks.len() as f64, blocks.len() as u32 - 1);
    let pairs: Vec<(f64, f64)> = blocks
        .iter()
        .map(|block| {
            let base = |of: fn(&Observed) -> f64| block.a.iter().map(of).sum::<f64>() / block.a.len() as f64;
            let probe = block.b.probe.ln() - base(|of| of.probe.ln());
            (probe, block.b.value.ln() - base(|of| of.value.ln()) - slope * probe)
        })
        .collect();
    let (met, mean) =
        pairs.iter().fold((0.0, 0.0), |(met, mean), of| (met + of.0 / count, mean + of.1 / count));
    let variance = |of: &dyn Fn(&(f64, f64)) -> f64| {
        pairs.iter().map(|pair| of(pair).powi(2)).sum::<f64>() / f64::from(blocks_freedom)
    };
    let spread = variance(&|of| of.1 - mean);
    let met_error = (variance(&|of| of.0 - met) / count).sqrt();
    if met.abs() > student_t(INTERVAL_95, blocks_freedom) * met_error {
        return None;
    }
    let half = student_t(Tail::of_intervals(comparisons), blocks_freedom)
        * (spread / count + (met * error).powi(2)).sqrt();
    Some(Adjusted { effect: mean.exp(), interval: ((mean - half).exp(), (mean + half).exp()), slope, t })
}
