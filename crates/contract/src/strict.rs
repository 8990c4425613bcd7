//! Reading JSON strictly: where a type has fields an object must stand, at every depth, and errors speak of JSON.
//!
//! What `serde` derives for a struct also takes an array of its values in order, and names the Rust type where neither
//! stands. A contract that asks for an object may do neither. [`read`] stands between a type and the parser of a
//! self-describing format, so no type has to do anything for it; it copies nothing and allocates nothing.

use crate::{BadCall, BadCallKind};
use serde::Deserialize;
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, Expected, MapAccess, SeqAccess, Unexpected,
    VariantAccess, Visitor,
};
use std::cell::Cell;
use std::fmt;

/// Reads a value, and says with an error in which field the reader was: the innermost one whose value was being read,
/// none where the outermost object itself is wrong (a field is missing, unknown or given twice).
///
/// # Errors
/// Those of the parser, and an array in place of an object at any depth.
pub fn read<'de, T, D>(parser: D) -> Result<T, (Option<&'de str>, D::Error)>
where
    T: Deserialize<'de>,
    D: Deserializer<'de>,
{
    let trail = Trail::default();
    T::deserialize(Strict { inner: parser, trail: &trail }).map_err(|error| (trail.within.get(), error))
}

/// Reads the body of a call, which is JSON and nothing else.
///
/// # Errors
/// It is malformed, in particular where it is not UTF-8, or JSON of another shape: what is wrong, and in which field.
pub fn body<'de, T: Deserialize<'de>>(body: &'de [u8]) -> Result<T, BadCall> {
    // Before anything else, so that it does not depend on what the parser would meet first.
    let text = std::str::from_utf8(body);
    let text = text.map_err(|error| BadCall::unread(BadCallKind::Malformed, None, &error))?;
    let mut json = serde_json::Deserializer::from_str(text);
    let read = read(&mut json);
    read.and_then(|call| json.end().map(|()| call).map_err(|error| (None, error))).map_err(
        |(field, error)| {
            let kind = if error.is_data() { BadCallKind::Invalid } else { BadCallKind::Malformed };
            BadCall::unread(kind, field, &error)
        },
    )
}

/// Where the reader is, for its errors.
#[derive(Default)]
struct Trail<'de> {
    /// The field whose name was read last.
    named: Cell<Option<&'de str>>,
    /// The field whose value is being read.
    within: Cell<Option<&'de str>>,
}

/// A part of the parser, as a value sees it: a deserializer, the access to members or items, a visitor of either.
struct Strict<'t, 'de, T> {
    inner: T,
    trail: &'t Trail<'de>,
}

impl<'t, 'de, T> Strict<'t, 'de, T> {
    fn around<U>(&self, inner: U) -> Strict<'t, 'de, U> {
        Strict { inner, trail: self.trail }
    }
}

/// What a value without parts is.
#[derive(Clone, Copy)]
enum Plain {
    Truth,
    Text,
    Number,
    Whole { least: i64, most: u64 },
}

impl fmt::Display for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Plain::Truth => f.write_str("true or false"),
            Plain::Text => f.write_str("a string"),
            Plain::Number => f.write_str("a number"),
            Plain::Whole { least, most } => write!(f, "a whole number from {least} to {most}"),
        }
    }
}

impl Expected for Plain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

const ARRAY: Unexpected<'static> = Unexpected::Other("array");
const OBJECT: Unexpected<'static> = Unexpected::Other("object");

/// Each a whole number of its own width.
macro_rules! whole_numbers {
    ($($method:ident $least:expr, $most:expr;)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.deserialize_any(Leaf { visitor, plain: Plain::Whole { least: $least, most: $most } })
        }
    )* };
}

/// Those that are plain values otherwise.
macro_rules! plain_values {
    ($($method:ident $plain:ident;)*) => { $(
        fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
            self.inner.deserialize_any(Leaf { visitor, plain: Plain::$plain })
        }
    )* };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Strict<'_, 'de, D> {
    type Error = D::Error;

    whole_numbers! {
        deserialize_i8 i8::MIN.into(), i8::MAX.unsigned_abs().into();
        deserialize_i16 i16::MIN.into(), i16::MAX.unsigned_abs().into();
        deserialize_i32 i32::MIN.into(), i32::MAX.unsigned_abs().into();
        deserialize_i64 i64::MIN, i64::MAX.unsigned_abs();
        deserialize_u8 0, u8::MAX.into();
        deserialize_u16 0, u16::MAX.into();
        deserialize_u32 0, u32::MAX.into();
        deserialize_u64 0, u64::MAX;
    }

    plain_values! {
        deserialize_bool Truth;
        deserialize_f32 Number;
        deserialize_f64 Number;
        deserialize_char Text;
        deserialize_str Text;
        deserialize_string Text;
    }

    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_any(visitor)
    }

    fn deserialize_bytes<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_bytes(visitor)
    }

    fn deserialize_byte_buf<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_byte_buf(visitor)
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = Maybe(self.around(visitor));
        self.inner.deserialize_option(visitor)
    }

    fn deserialize_unit<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_unit(visitor)
    }

    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.inner.deserialize_unit_struct(name, visitor)
    }

    /// A type around one value is that value, as in `serde_json`.
    fn deserialize_newtype_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        visitor.visit_newtype_struct(self)
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = Array(self.around(visitor));
        self.inner.deserialize_any(visitor)
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, _: usize, visitor: V) -> Result<V::Value, D::Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_tuple_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: usize,
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_seq(visitor)
    }

    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = Object(self.around(visitor));
        self.inner.deserialize_any(visitor)
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        _: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        self.deserialize_map(visitor)
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        variants: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, D::Error> {
        let visitor = Choice(self.around(visitor));
        self.inner.deserialize_enum(name, variants, visitor)
    }

    fn deserialize_identifier<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        let visitor = Name(self.around(visitor));
        self.inner.deserialize_identifier(visitor)
    }

    fn deserialize_ignored_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, D::Error> {
        self.inner.deserialize_ignored_any(visitor)
    }

    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// Takes a plain value of one sort.
struct Leaf<V> {
    visitor: V,
    plain: Plain,
}

impl<V> Leaf<V> {
    fn is_whole(&self) -> bool {
        matches!(self.plain, Plain::Whole { .. })
    }

    /// An error that says what was found, and what stands there in the contract.
    fn not<T, E: Error>(&self, found: Unexpected<'_>) -> Result<T, E> {
        Err(E::invalid_type(found, &self.plain))
    }
}

impl<'de, V: Visitor<'de>> Visitor<'de> for Leaf<V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.plain, f)
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<V::Value, E> {
        match self.plain {
            Plain::Truth => self.visitor.visit_bool(value),
            _ => self.not(Unexpected::Bool(value)),
        }
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<V::Value, E> {
        let found = Unexpected::Signed(value);
        match self.plain {
            Plain::Number => self.visitor.visit_i64(value),
            plain if self.is_whole() => {
                self.visitor.visit_i64(value).map_err(|_: Silent| E::invalid_value(found, &plain))
            }
            _ => self.not(found),
        }
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<V::Value, E> {
        let found = Unexpected::Unsigned(value);
        match self.plain {
            Plain::Number => self.visitor.visit_u64(value),
            plain if self.is_whole() => {
                self.visitor.visit_u64(value).map_err(|_: Silent| E::invalid_value(found, &plain))
            }
            _ => self.not(found),
        }
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<V::Value, E> {
        match self.plain {
            Plain::Number => self.visitor.visit_f64(value),
            _ => self.not(Unexpected::Float(value)),
        }
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<V::Value, E> {
        match self.plain {
            Plain::Text => self.visitor.visit_str(value),
            _ => self.not(Unexpected::Str(value)),
        }
    }

    fn visit_borrowed_str<E: Error>(self, value: &'de str) -> Result<V::Value, E> {
        match self.plain {
            Plain::Text => self.visitor.visit_borrowed_str(value),
            _ => self.not(Unexpected::Str(value)),
        }
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.not(Unexpected::Other("null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<V::Value, A::Error> {
        self.not(ARRAY)
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<V::Value, A::Error> {
        self.not(OBJECT)
    }
}

/// An error whose words are not wanted: those of a number name a Rust type.
#[derive(Debug)]
struct Silent;

impl fmt::Display for Silent {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl std::error::Error for Silent {}

impl Error for Silent {
    fn custom<T: fmt::Display>(_: T) -> Silent {
        Silent
    }
}

/// Takes null, or a value.
struct Maybe<'t, 'de, V>(Strict<'t, 'de, V>);

impl<'de, V: Visitor<'de>> Visitor<'de> for Maybe<'_, 'de, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.inner.expecting(f)
    }

    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.0.inner.visit_none()
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.0.inner.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, parser: D) -> Result<V::Value, D::Error> {
        let parser = self.0.around(parser);
        self.0.inner.visit_some(parser)
    }
}

struct Array<'t, 'de, V>(Strict<'t, 'de, V>);

impl<'de, V: Visitor<'de>> Visitor<'de> for Array<'_, 'de, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array")
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        Err(E::invalid_type(Unexpected::Other("null"), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, items: A) -> Result<V::Value, A::Error> {
        let items = self.0.around(items);
        self.0.inner.visit_seq(items)
    }

    fn visit_map<A: MapAccess<'de>>(self, _: A) -> Result<V::Value, A::Error> {
        Err(A::Error::invalid_type(OBJECT, &self))
    }
}

/// Takes an object, and no array: that is what all of this is for.
struct Object<'t, 'de, V>(Strict<'t, 'de, V>);

impl<'de, V: Visitor<'de>> Visitor<'de> for Object<'_, 'de, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        Err(E::invalid_type(Unexpected::Other("null"), &self))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, _: A) -> Result<V::Value, A::Error> {
        Err(A::Error::invalid_type(ARRAY, &self))
    }

    fn visit_map<A: MapAccess<'de>>(self, members: A) -> Result<V::Value, A::Error> {
        let members = self.0.around(members);
        self.0.inner.visit_map(members)
    }
}

/// Takes the name of a field or variant, and remembers it.
struct Name<'t, 'de, V>(Strict<'t, 'de, V>);

impl<'de, V: Visitor<'de>> Visitor<'de> for Name<'_, 'de, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name")
    }

    fn visit_str<E: Error>(self, name: &str) -> Result<V::Value, E> {
        // Written with escapes, it lies nowhere to be remembered.
        self.0.trail.named.set(None);
        self.0.inner.visit_str(name)
    }

    fn visit_borrowed_str<E: Error>(self, name: &'de str) -> Result<V::Value, E> {
        self.0.trail.named.set(Some(name));
        self.0.inner.visit_borrowed_str(name)
    }
}

/// Takes one of several forms.
struct Choice<'t, 'de, V>(Strict<'t, 'de, V>);

impl<'de, V: Visitor<'de>> Visitor<'de> for Choice<'_, 'de, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one of several forms")
    }

    fn visit_enum<A: EnumAccess<'de>>(self, forms: A) -> Result<V::Value, A::Error> {
        let forms = self.0.around(forms);
        self.0.inner.visit_enum(forms)
    }
}

impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Strict<'_, 'de, S> {
    type Value = S::Value;

    fn deserialize<D: Deserializer<'de>>(self, parser: D) -> Result<S::Value, D::Error> {
        let parser = self.around(parser);
        self.inner.deserialize(parser)
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Strict<'_, 'de, A> {
    type Error = A::Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.around(seed);
        self.inner.next_element_seed(seed)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Strict<'_, 'de, A> {
    type Error = A::Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let seed = self.around(seed);
        self.inner.next_key_seed(seed)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.around(seed);
        let outer = self.trail.within.replace(self.trail.named.get());
        let value = self.inner.next_value_seed(seed)?;
        // After an error it stays, so that the innermost one is told.
        self.trail.within.set(outer);
        Ok(value)
    }

    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'t, 'de, A: EnumAccess<'de>> EnumAccess<'de> for Strict<'t, 'de, A> {
    type Error = A::Error;
    type Variant = Strict<'t, 'de, A::Variant>;

    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let trail = self.trail;
        let (form, content) = self.inner.variant_seed(Strict { inner: seed, trail })?;
        Ok((form, Strict { inner: content, trail }))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Strict<'_, 'de, A> {
    type Error = A::Error;

    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        let seed = self.around(seed);
        self.inner.newtype_variant_seed(seed)
    }

    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, A::Error> {
        let visitor = Array(self.around(visitor));
        self.inner.tuple_variant(length, visitor)
    }

    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        let visitor = Object(self.around(visitor));
        self.inner.struct_variant(fields, visitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_that_is_not_utf_8_is_malformed_whatever_else_is_wrong_with_it() {
        let kind = |bytes: &'static [u8]| body::<Vec<u32>>(bytes).map_err(|error| error.kind);
        assert_eq!(kind(b"[1]"), Ok(vec![1]));
        assert_eq!(kind(b"{}"), Err(BadCallKind::Invalid));
        assert_eq!(kind(b"{\"name\":\"\xff\"}"), Err(BadCallKind::Malformed));
        assert_eq!(kind(b"[1]]"), Err(BadCallKind::Malformed));
    }
}
