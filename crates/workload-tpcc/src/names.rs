//! Last names (4.3.2.3).

use arrayvec::ArrayString;

const SYLLABLES: [&str; 10] =
    ["BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"];

/// The last name of a number from 0 to 999: a syllable for each of its three digits.
pub fn last_name(number: u32) -> ArrayString<16> {
    let mut name = ArrayString::new();
    for digit in [number / 100 % 10, number / 10 % 10, number % 10] {
        name.push_str(SYLLABLES[digit as usize]);
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_standards_example_holds() {
        assert_eq!(&*last_name(371), "PRICALLYOUGHT");
        assert_eq!(&*last_name(40), "BARPRESBAR");
    }

    #[test]
    fn every_name_fits() {
        assert_eq!((0..1000).map(|number| last_name(number).len()).max(), Some(15));
    }
}
