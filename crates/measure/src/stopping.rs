//! When a comparison that goes on until its intervals are narrow may end (docs/decisions/0034).

/// Blocks before the intervals are looked at for the first time.
///
/// Whoever ends when the scatter happens to look small has too narrow intervals. From five blocks on, intervals that each miss the truth
/// half as often ([`LOOKS`]) make good for that, wherever the end is.
pub const BLOCKS_BEFORE_LOOKS: u32 = 5;

/// As many times as many intervals hold together where they are looked at after each block.
pub const LOOKS: u32 = 2;

/// Whether a comparison may end after so many blocks: whether half the width of each interval, given as the lower and the upper end of a
/// ratio, is `precision` of the base or less. Not while one is unknown, nor where there is none.
pub fn is_narrow_enough(
    precision: f64,
    blocks: u32,
    intervals: impl IntoIterator<Item = Option<(f64, f64)>>,
) -> bool {
    let mut intervals = intervals.into_iter().peekable();
    blocks >= BLOCKS_BEFORE_LOOKS
        && intervals.peek().is_some()
        && intervals.all(|ends| ends.is_some_and(|(low, high)| (high - low) / 2.0 <= precision))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_ends_when_all_intervals_are_known_and_narrow_and_not_before_the_fifth_block() {
        let narrow = Some((0.98, 1.02));
        assert!(is_narrow_enough(0.0201, 5, [narrow, Some((0.5, 0.5))]));
        assert!(!is_narrow_enough(0.0201, 4, [narrow]));
        assert!(!is_narrow_enough(0.0199, 5, [narrow]));
        assert!(!is_narrow_enough(0.0201, 9, [narrow, Some((0.9, 1.1))]));
        assert!(!is_narrow_enough(0.0201, 9, [narrow, None]));
        assert!(!is_narrow_enough(0.0201, 9, []));
    }
}
