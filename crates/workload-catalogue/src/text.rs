//! Short texts of fixed size: names of foods, categories and templates, and what is searched for.

use arrayvec::ArrayString;
use std::fmt;

/// The most bytes of a name.
pub const NAME_MAX: usize = 48;

/// A name: 1 to [`NAME_MAX`] of the characters `a` to `z`, `0` to `9`, space and hyphen, with no space at either end.
///
/// Names are compared byte by byte on every engine, whatever its collation is by default; within these characters no
/// collation that tells letters from digits has room for an opinion on equality.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Name(ArrayString<NAME_MAX>);

/// A text that is not a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a name is 1 to {NAME_MAX} of a-z, 0-9, space and hyphen, with no space at either end")]
pub struct NotAName;

impl Name {
    /// No text at all, which is not a name: where there is none yet.
    pub(crate) const EMPTY: Name = Name(ArrayString::new_const());

    /// Reads a name.
    pub fn new(text: &str) -> Result<Name, NotAName> {
        let fits = (1..=NAME_MAX).contains(&text.len())
            && text.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b' ' | b'-'))
            && text.trim_ascii().len() == text.len();
        if fits { Ok(Name::of(text)) } else { Err(NotAName) }
    }

    /// The first [`NAME_MAX`] bytes of a text that need be not a name, without half a character: of what a database holds.
    pub(crate) fn of(text: &str) -> Name {
        let mut name = Name::EMPTY;
        name.push(text);
        name
    }

    /// Adds a text as far as there is room.
    pub(crate) fn push(&mut self, text: &str) {
        let fitting = text.floor_char_boundary(self.0.remaining_capacity());
        self.0.push_str(&text[..fitting]);
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl serde::Serialize for Name {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl<'de> serde::Deserialize<'de> for Name {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Name, D::Error> {
        struct Text;
        impl serde::de::Visitor<'_> for Text {
            type Value = Name;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(
                    f,
                    "a name of 1 to {NAME_MAX} of a-z, 0-9, space and hyphen, with no space at either end"
                )
            }

            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Name, E> {
                Name::new(text).map_err(|_| E::invalid_value(serde::de::Unexpected::Str(text), &self))
            }
        }
        deserializer.deserialize_str(Text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_few_characters_and_no_space_at_an_end() {
        for good in ["a", "brown rice 12", "semi-skimmed", &"x".repeat(NAME_MAX)] {
            assert_eq!(Name::new(good).unwrap().as_str(), good);
        }
        for bad in ["", " a", "a ", "A", "ä", "a'b", "a%", "a_b", "a\tb", &"x".repeat(NAME_MAX + 1)] {
            assert_eq!(Name::new(bad), Err(NotAName), "{bad:?}");
        }
    }

    #[test]
    fn they_are_ordered_by_bytes() {
        let mut names = ["b", "a 1", "a-1", "a1", "a", "10", "9"].map(|name| Name::new(name).unwrap());
        names.sort_unstable();
        assert_eq!(names.map(|name| name.to_string()), ["10", "9", "a", "a 1", "a-1", "a1", "b"]);
    }
}
