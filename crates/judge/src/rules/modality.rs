//! Two populations of calls under one average.

use super::{hint, listed, whole_percent};
use crate::{figures, findings};
use result::{BUCKETS_A_DECADE, Bucket, Rule, Trial};

/// Calls below which a valley may be chance.
const CALLS_MIN: u64 = 2_000;
/// Share of the calls that the smaller population has at least.
const PART_MIN: f64 = 0.1;
/// How high the valley may be, as a share of the lower of the two peaks.
const VALLEY_MAX: f64 = 0.5;
/// How far apart the peaks are at least, in buckets: a factor of two.
const APART_MIN: usize = 12;

/// Speaks only where a kind of call has two populations.
pub(super) fn modality(trial: &Trial) -> Option<Rule> {
    let split: Vec<String> = findings::timed(trial)
        .filter_map(|(name, latency)| Some((name, populations(&latency.spectrum)?)))
        .map(|(name, (low, high))| {
            let words = |part: Population| {
                format!("{} around {}", whole_percent(part.share), figures::duration(part.peak_ns))
            };
            format!("{name} ({}, {})", words(low), words(high))
        })
        .collect();
    if split.is_empty() {
        return None;
    }
    hint(
        format!(
            "two populations of response times: {}; a mean or a median describes neither",
            listed(&split)
        ),
        "look at the spectrum, not at the mean",
    )
}

#[derive(Clone, Copy)]
struct Population {
    share: f64,
    peak_ns: f64,
}

/// The two populations on either side of the deepest valley, if there is one.
fn populations(spectrum: &[Bucket]) -> Option<(Population, Population)> {
    let calls: u64 = spectrum.iter().map(|bucket| bucket.count()).sum();
    if calls < CALLS_MIN {
        return None;
    }
    let step =
        |bucket: &Bucket| ((bucket.upper_ns().max(1) as f64).log10() * BUCKETS_A_DECADE).round() as usize;
    let (first, last) = (step(spectrum.first()?), step(spectrum.last()?));
    let mut counts = vec![0.0; last - first + 1];
    for bucket in spectrum {
        counts[step(bucket) - first] += bucket.count() as f64;
    }
    // Twice over five buckets: single ones scatter, and below 16 µs the histogram's own steps leave some empty.
    let smooth = smoothed(&smoothed(&counts));
    let top = |range: std::ops::Range<usize>| range.max_by(|a, b| smooth[*a].total_cmp(&smooth[*b]));
    let mut deepest: Option<(f64, f64, usize, usize)> = None;
    let mut below = 0.0;
    for cut in 1..smooth.len().saturating_sub(1) {
        below += counts[cut - 1];
        let part = below / calls as f64;
        let (Some(low), Some(high)) = (top(0..cut), top(cut + 1..smooth.len())) else { continue };
        let depth = smooth[cut] / smooth[low].min(smooth[high]);
        if part.min(1.0 - part) >= PART_MIN
            && high - low >= APART_MIN
            && depth <= VALLEY_MAX
            && deepest.is_none_or(|(least, ..)| depth < least)
        {
            deepest = Some((depth, part, low, high));
        }
    }
    let (_, part, low, high) = deepest?;
    let peak_ns = |index: usize| 10_f64.powf((first + index) as f64 / BUCKETS_A_DECADE);
    Some((
        Population { share: part, peak_ns: peak_ns(low) },
        Population { share: 1.0 - part, peak_ns: peak_ns(high) },
    ))
}

/// The mean of each bucket and two on either side.
fn smoothed(counts: &[f64]) -> Vec<f64> {
    let around = |index: usize| &counts[index.saturating_sub(2)..(index + 3).min(counts.len())];
    (0..counts.len()).map(|index| around(index).iter().sum::<f64>() / around(index).len() as f64).collect()
}
