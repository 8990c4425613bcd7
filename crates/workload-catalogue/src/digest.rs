//! Answers in canonical form, as 128 bits: an object is its known fields in the order of the contract, an array its elements
//! one after the other, whoever sent them, in whatever order of fields and with whatever blanks between them.
//!
//! So two routes that answer the same have the same digest, and an outcome stays small however large its answer was.

use xxhash_rust::xxh3::xxh3_128;

/// Room for the longest object: ten numbers and a name.
const BYTES_MAX: usize = 192;

/// An object, or an array, as 128 bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Digest(pub u128);

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:032x}", self.0)
    }
}

/// The known fields of an object, in order. Filled in place: handed on by value they would be copied once a field.
pub(crate) struct Fields {
    bytes: [u8; BYTES_MAX],
    length: usize,
}

impl Fields {
    pub(crate) const fn new() -> Fields {
        Fields { bytes: [0; BYTES_MAX], length: 0 }
    }

    pub(crate) fn int(&mut self, value: i64) -> &mut Fields {
        self.bytes(&value.to_le_bytes())
    }

    /// A number, or none: told from any number that a field can have.
    pub(crate) fn int_or_null(&mut self, value: Option<u32>) -> &mut Fields {
        self.int(value.map_or(-1, i64::from))
    }

    pub(crate) fn text(&mut self, text: &str) -> &mut Fields {
        self.int(text.len() as i64).bytes(text.as_bytes())
    }

    pub(crate) fn digest(&mut self, Digest(part): Digest) -> &mut Fields {
        self.bytes(&part.to_le_bytes())
    }

    pub(crate) fn finish(&self) -> Digest {
        Digest(xxh3_128(&self.bytes[..self.length]))
    }

    #[inline]
    fn bytes(&mut self, bytes: &[u8]) -> &mut Fields {
        self.bytes[self.length..self.length + bytes.len()].copy_from_slice(bytes);
        self.length += bytes.len();
        self
    }
}

/// The elements of an array, so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Fold {
    digest: Digest,
    pub(crate) count: u32,
}

impl Fold {
    /// Adds an element. True where it is the sample of all until now: the first always is, and the latest of `n` in one of `n` arrays, so
    /// that each element of an array is its sample equally often.
    pub(crate) fn push(&mut self, element: Digest) -> bool {
        self.digest = Fields::new().digest(self.digest).digest(element).finish();
        self.count += 1;
        (self.digest.0 as u64).is_multiple_of(self.count.into())
    }

    pub(crate) fn digest(&self) -> Digest {
        Fields::new().int(self.count.into()).digest(self.digest).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_has_another_digest() {
        let one = |number| Fields::new().int(number).finish();
        let all = [
            one(1),
            one(-1),
            Fields::new().int_or_null(Some(2)).finish(),
            Fields::new().text("a").text("bc").finish(),
            Fields::new().text("ab").text("c").finish(),
            Fold::default().digest(),
        ];
        for (at, digest) in all.iter().enumerate() {
            assert_eq!(all.iter().position(|other| other == digest), Some(at));
        }
        let fold = |numbers: &[i64]| {
            let mut fold = Fold::default();
            numbers.iter().for_each(|&number| _ = fold.push(one(number)));
            fold.digest()
        };
        assert_eq!(fold(&[1, 2]), fold(&[1, 2]));
        assert_ne!(fold(&[1, 2]), fold(&[2, 1]));
        assert_ne!(fold(&[1]), fold(&[1, 1]));
    }

    #[test]
    fn each_element_is_the_sample_equally_often() {
        let mut samples = [0; 4];
        for array in 0..8_000 {
            let (mut fold, mut sample) = (Fold::default(), 0);
            for at in 0..samples.len() {
                if fold.push(Fields::new().int(array).int(at as i64).finish()) {
                    sample = at;
                }
            }
            samples[sample] += 1;
        }
        // 2,000 each, with a standard deviation of 39.
        assert!(samples.iter().all(|count: &i32| (count - 2_000).abs() < 150), "{samples:?}");
    }

    /// Results of different versions can be laid side by side.
    #[test]
    fn digests_are_frozen() {
        assert_eq!(Fields::new().int(1).text("a").finish().to_string(), FROZEN);
    }
    const FROZEN: &str = "d66fd64da139ae8b344b32239b61de53";
}
