//! A value that was read where speed does not matter: audits and settings.

use std::fmt;

/// A value of a row, owned. For everything outside the measured loop; inside it, see [`crate::Columns`].
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    Null,
    Int(i64),
    /// A number with a fraction: means and shares, and money in other tools' databases.
    Real(f64),
    Text(String),
}

impl Value {
    /// The whole number, if it is one.
    pub fn int(&self) -> Option<i64> {
        match self {
            Value::Int(value) => Some(*value),
            Value::Null | Value::Real(_) | Value::Text(_) => None,
        }
    }

    /// The number, whole or not.
    pub fn number(&self) -> Option<f64> {
        match self {
            Value::Int(value) => Some(*value as f64),
            Value::Real(value) => Some(*value),
            Value::Null | Value::Text(_) => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Value::Null => f.write_str("null"),
            Value::Int(value) => value.fmt(f),
            Value::Real(value) => value.fmt(f),
            Value::Text(value) => value.fmt(f),
        }
    }
}
