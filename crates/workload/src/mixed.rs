//! Checksums over rows, which engines and code compute alike.

/// The largest prime below 2^31: no row adds more than this to a sum.
pub const PRIME: i64 = 2_147_483_647;

/// What multiplies the parts of a row, in their order.
const WEIGHTS: [i64; 4] = [16_807, 69_621, 40_692, 39_373];

/// What one row adds to the sum of its table, 0 to [`PRIME`]: its key times what it has under that key, modulo [`PRIME`]. A
/// row that is lost, or has another part, changes the sum, and so do two rows that have each other's parts.
///
/// In SQL, of columns `key`, `a`, `b` and `c` of up to 2^31, in 64 bits:
/// `key * 48271 % 2147483647 * ((a * 16807 + b * 69621 + c * 40692) % 2147483647) % 2147483647`.
pub const fn mixed<const N: usize>(key: i64, parts: [i64; N]) -> i64 {
    let (mut of_parts, mut at) = (0, 0);
    while at < N {
        of_parts += parts[at] % PRIME * WEIGHTS[at];
        at += 1;
    }
    key % PRIME * 48_271 % PRIME * (of_parts % PRIME) % PRIME
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_that_are_lost_changed_or_swapped_change_the_sum() {
        let rows = [(7, [1, 2, 3]), (8, [4, 5, 6])];
        let sum = |rows: &[(i64, [i64; 3])]| rows.iter().map(|(key, parts)| mixed(*key, *parts)).sum::<i64>();
        let whole = sum(&rows);
        for other in [
            &rows[..1],
            &[(7, [4, 5, 6]), (8, [1, 2, 3])],
            &[(7, [2, 1, 3]), (8, [4, 5, 6])],
            &[(7, [1, 2, 4]), (8, [4, 5, 5])],
            &[(8, [1, 2, 3]), (7, [4, 5, 6])],
        ] {
            assert_ne!(sum(other), whole, "{other:?}");
        }
        // As the text of a query has it.
        let (key, a, b, c) = (70_000_i64, 1_000_003_i64, 2_i64, 999_999_999_i64);
        let by_hand = key * 48_271 % 2_147_483_647 * ((a * 16_807 + b * 69_621 + c * 40_692) % 2_147_483_647)
            % 2_147_483_647;
        assert_eq!(mixed(key, [a, b, c]), by_hand);
        // No number is too large, whatever a server has answered.
        assert!((-PRIME..=PRIME).contains(&mixed(i64::MAX, [i64::MAX, i64::MIN, i64::MAX])));
        assert_eq!((mixed(0, [1]), mixed(1, [1])), (0, 48_271 * 16_807 % PRIME));
    }
}
