//! How response times are distributed, a lane for each kind of call on one axis in powers of ten.

use super::chart::{Canvas, Figure, Hold, Key, Paint, Readout, Scale};
use super::markup::Markup;
use judge::figures;
use result::{BUCKETS_A_DECADE, Bucket, Quantiles};

/// Columns a decade: one a bucket.
const COLUMNS_A_DECADE: f64 = BUCKETS_A_DECADE;

/// Spectra that one lane can hold and still be distinguished.
pub(crate) const OVERLAID_MAX: usize = 6;

/// One lane: one spectrum, or several that are compared with each other.
pub(crate) struct Lane<'a> {
    /// The kind of call.
    pub(crate) name: &'a str,
    pub(crate) spectra: Vec<&'a [Bucket]>,
    /// Percentiles to mark, where there is one spectrum.
    pub(crate) marks: Option<Quantiles>,
}

/// Writes up to [`OVERLAID_MAX`] spectra of one kind of call over each other, tall enough to be distinguished.
pub(crate) fn overlaid(markup: &mut Markup, lane: Lane<'_>, sides: &[&str], caption: &str) {
    let title = format!("Latency spectrum, {}", lane.name);
    let lanes = [Lane { name: "", ..lane }];
    let Some(ends) = ends(&lanes) else { return };
    let figure = Figure {
        title: &title,
        caption,
        description: format!(
            "Distributions of response times of {} on a logarithmic axis.",
            sides.join(", ")
        ),
        legend: sides_legend(sides),
    };
    figure.write(
        markup,
        Some(readout(&lanes, ends)),
        |_| TALL + 34.0,
        |canvas| Some(draw(canvas, &lanes, ends, TALL)),
    );
}

/// Height of a lane that stands alone.
const TALL: f64 = 190.0;

fn sides_legend(sides: &[&str]) -> Vec<Key> {
    let key = |(i, side): (usize, &&str)| Key::new(format!("line s{}", i + 1), *side);
    sides.iter().enumerate().map(key).collect()
}

/// The ends of the axis: all samples, and some air; nothing without a sample.
fn ends(lanes: &[Lane<'_>]) -> Option<(f64, f64)> {
    let buckets = || lanes.iter().flat_map(|lane| &lane.spectra).flat_map(|spectrum| spectrum.iter());
    let least = buckets().map(|bucket| bucket.upper_ns()).min()?;
    let most = buckets().map(|bucket| bucket.upper_ns()).max()?;
    Some((least.max(1) as f64 * 0.8, most.max(1) as f64 * 1.25))
}

/// Writes the lanes; nothing without a sample. `sides` names the spectra where there are two.
pub(crate) fn render(markup: &mut Markup, lanes: &[Lane<'_>], sides: &[&str]) {
    let Some(ends) = ends(lanes) else { return };
    let (caption, legend) = if sides.is_empty() {
        (
            "Height is the square root of the share of calls, so that rare slow calls stay in sight. The tall line \
             marks p50, the short one p99, the dot the slowest call. Under the pointer: the share of calls that were \
             at least as fast.",
            lanes.iter().map(|lane| Key::new("none", lane.name)).collect(),
        )
    } else {
        (
            "All blocks together. Height is the square root of the share of calls, so that rare slow calls stay in \
             sight.",
            sides_legend(sides),
        )
    };
    let figure = Figure { title: "Latency spectrum", caption, description: description(lanes), legend };
    let pitch = |narrow: bool| if narrow { 62.0 } else { 50.0 };
    figure.write(
        markup,
        sides.is_empty().then(|| readout(lanes, ends)),
        |narrow| pitch(narrow) * lanes.len() as f64 + 34.0,
        |canvas| Some(draw(canvas, lanes, ends, pitch(canvas.narrow))),
    );
}

fn description(lanes: &[Lane<'_>]) -> String {
    let lanes: Vec<String> = lanes
        .iter()
        .map(|lane| match lane.marks {
            Some(marks) => format!(
                "{}: median {}, slowest {}",
                lane.name,
                figures::maybe_duration(marks.p50_ns),
                figures::duration(marks.max_ns as f64)
            ),
            None => lane.name.to_owned(),
        })
        .collect();
    format!("Distributions of response times on a logarithmic axis. {}.", lanes.join("; "))
}

fn readout(lanes: &[Lane<'_>], ends: (f64, f64)) -> Readout {
    let (low, high) = (ends.0.log10(), ends.1.log10());
    let steps = ((high - low) * COLUMNS_A_DECADE).ceil() as usize;
    let positions: Vec<f64> = (0..=steps).map(|i| low + i as f64 / COLUMNS_A_DECADE).collect();
    let share = |spectrum: &[Bucket], below: f64| {
        let all: u64 = spectrum.iter().map(|bucket| bucket.count()).sum();
        let fast: u64 = spectrum
            .iter()
            .filter(|bucket| (bucket.upper_ns() as f64) <= below)
            .map(|bucket| bucket.count())
            .sum();
        percent_floor(fast, all)
    };
    Readout {
        labels: positions
            .iter()
            .map(|at| format!("within {}", figures::duration(10_f64.powf(*at))))
            .collect(),
        values: lanes
            .iter()
            .flat_map(|lane| &lane.spectra)
            .map(|spectrum| positions.iter().map(|at| share(spectrum, 10_f64.powf(*at))).collect())
            .collect(),
        positions,
    }
}

/// Cut rather than rounded: 100 % is only said when it is all of them.
fn percent_floor(part: u64, all: u64) -> String {
    let hundredths = (part as f64 / all.max(1) as f64 * 10_000.0).floor() / 100.0;
    format!("{} %", figures::trimmed(hundredths, 2))
}

fn draw(canvas: &mut Canvas, lanes: &[Lane<'_>], ends: (f64, f64), pitch: f64) -> Scale {
    // A lane that stands alone is named by the title.
    let is_alone = lanes.len() == 1 && lanes[0].name.is_empty();
    let left = if canvas.narrow || is_alone { 8.0 } else { 112.0 };
    let right = canvas.width - 12.0;
    let x = Scale::log(ends, (left, right));
    let bottom = pitch * lanes.len() as f64 + 4.0;
    let ticks = x.ticks(if canvas.narrow { 6 } else { 14 });
    for tick in &ticks {
        canvas.line(&[(x.at(*tick), 4.0), (x.at(*tick), bottom)], Paint::Grid, 1.0);
    }
    canvas.below(x, &ticks, bottom + 14.0, &figures::duration);
    for (i, lane) in lanes.iter().enumerate() {
        let base = pitch * (i + 1) as f64;
        let name_at = if canvas.narrow { (left, base - pitch + 14.0) } else { (left - 12.0, base - 9.0) };
        if !is_alone {
            canvas.text(name_at, lane.name, Paint::Ink, if canvas.narrow { Hold::Left } else { Hold::Right });
        }
        let height = if canvas.narrow { pitch - 24.0 } else { pitch - 8.0 };
        draw_lane(canvas, lane, x, base, height);
        canvas.line(&[(left, base), (right, base)], Paint::Muted, 0.8);
    }
    x
}

fn draw_lane(canvas: &mut Canvas, lane: &Lane<'_>, x: Scale, base: f64, height: f64) {
    // One height for all spectra of a lane, so that they can be compared with each other.
    let columns: Vec<_> = lane.spectra.iter().map(|spectrum| columns(spectrum)).collect();
    let most = columns.iter().flatten().map(|(_, share)| *share).fold(f64::MIN_POSITIVE, f64::max);
    for (i, columns) in columns.iter().enumerate() {
        let paint = Paint::Series(i as u8 + 1);
        let curve: Vec<(f64, f64)> = columns
            .iter()
            .map(|(log, share)| (x.at(10_f64.powf(*log)), base - (share / most).sqrt() * height))
            .collect();
        if i == 0 {
            canvas.shape(&curve, paint, 0.22);
        }
        canvas.line(&curve, paint, 1.6);
    }
    if let Some(marks) = lane.marks {
        for (quantile, part) in [(marks.p50_ns, 1.0), (marks.p99_ns, 0.45)] {
            if let Some(ns) = quantile {
                let at = x.at(ns as f64);
                canvas.line(&[(at, base), (at, base - height * part)], Paint::Ink, 1.4);
            }
        }
        canvas.dot((x.at(marks.max_ns as f64), base), 3.2, Paint::Ink);
    }
}

/// Shares of a spectrum by columns of even width on the logarithmic axis, smoothed over neighbours, from and to zero.
fn columns(spectrum: &[Bucket]) -> Vec<(f64, f64)> {
    let column =
        |bucket: &Bucket| ((bucket.upper_ns().max(1) as f64).log10() * COLUMNS_A_DECADE).round() as i64;
    let (Some(first), Some(last)) = (spectrum.first().map(column), spectrum.last().map(column)) else {
        return Vec::new();
    };
    let all: u64 = spectrum.iter().map(|bucket| bucket.count()).sum();
    // Three empty columns on either side bring the smoothed curve down to zero.
    let mut shares = vec![0.0; (last - first + 7).max(0) as usize];
    for bucket in spectrum {
        let at = (column(bucket) - first + 3).clamp(0, shares.len() as i64 - 1) as usize;
        shares[at] += bucket.count() as f64 / all.max(1) as f64;
    }
    let share = |at: i64| usize::try_from(at).ok().and_then(|at| shares.get(at)).copied().unwrap_or(0.0);
    (0..shares.len() as i64)
        .map(|at| {
            // Binomial weights: the least smoothing that takes the comb of a coarse histogram away.
            let smooth =
                (share(at - 2) + 4.0 * share(at - 1) + 6.0 * share(at) + 4.0 * share(at + 1) + share(at + 2))
                    / 16.0;
            ((first - 3 + at) as f64 / COLUMNS_A_DECADE, smooth)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn smoothing_keeps_the_number_of_calls() {
        let spectrum = [Bucket(1_000, 10), Bucket(1_060, 30), Bucket(90_000, 1)];
        let sum: f64 = columns(&spectrum).iter().map(|(_, share)| share).sum();
        assert!((sum - 1.0).abs() < 1e-9, "{sum}");
    }

    #[test]
    fn all_calls_are_never_claimed_by_rounding() {
        assert_eq!(percent_floor(999_999, 1_000_000), "99.99 %");
        assert_eq!(percent_floor(1_000_000, 1_000_000), "100 %");
    }
}
