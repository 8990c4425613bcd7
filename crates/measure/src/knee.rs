//! Where more load brings no more throughput.

/// A load at which this share of the highest throughput is reached has as good as all of it.
pub const KNEE_SHARE: f64 = 0.95;
/// How much farther, as a factor, load must have been raised before a stop of growth means anything: 16 clients after 15
/// could bring 7 % at best.
pub const KNEE_BEYOND: f64 = 1.5;

/// The knee of a load curve, as an index into `points` of (load, throughput) by rising load: the smallest load that reaches
/// [`KNEE_SHARE`] of the highest throughput seen at any load. Nothing where load was not raised to [`KNEE_BEYOND`] times
/// that, so that throughput may still have been rising; nothing without throughput.
///
/// Not Kneedle and its kin: what they find moves with the scale of the axes and with the last load that was tried. This
/// moves only with throughput.
pub fn knee(points: &[(f64, f64)]) -> Option<usize> {
    let highest = points.iter().map(|(_, rate)| *rate).fold(0.0, f64::max);
    let at = points.iter().position(|(_, rate)| highest > 0.0 && *rate >= KNEE_SHARE * highest)?;
    let (last, _) = points.last()?;
    (*last >= KNEE_BEYOND * points[at].0).then_some(at)
}

#[cfg(test)]
mod tests {
    use super::knee;

    #[test]
    fn the_knee_is_the_smallest_load_with_as_good_as_all_throughput() {
        assert_eq!(knee(&[(1.0, 10.0), (2.0, 19.0), (4.0, 30.0), (8.0, 31.0), (16.0, 29.0)]), Some(2));
        // Falling from the start: one client is enough.
        assert_eq!(knee(&[(1.0, 10.0), (2.0, 9.0), (4.0, 8.0)]), Some(0));
    }

    #[test]
    fn a_curve_that_still_rises_has_no_knee() {
        assert_eq!(knee(&[(1.0, 10.0), (2.0, 19.0), (4.0, 36.0), (8.0, 60.0)]), None);
        // As flat as it looks, sixteen clients could hardly have done more than fifteen.
        assert_eq!(knee(&[(1.0, 10.0), (15.0, 100.0), (16.0, 101.0)]), None);
        assert_eq!(knee(&[]), None);
        assert_eq!(knee(&[(1.0, 0.0), (2.0, 0.0)]), None);
        assert_eq!(knee(&[(1.0, f64::NAN), (2.0, f64::NAN)]), None);
    }
}
