//! What users can choose of a workload besides its scale, its mix and its skew.

use crate::Benchmark;
use anyhow::{Result, bail};
use std::collections::BTreeMap;

/// A whole number that users can choose, on the command line as `--stock N` and in experiment files as `stock = N`.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// One word, or several joined by hyphens; no other workload has it, and no option of a command.
    pub name: &'static str,
    /// What it is, for the help of the command line; it begins with a small letter and ends without a stop.
    pub help: &'static str,
    /// The least that can be chosen.
    pub min: u64,
    /// The most that can be chosen.
    pub max: u64,
    /// What it is unless something is chosen.
    pub default: u64,
    /// What it belongs to.
    pub of: Of,
}

/// What a parameter belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// The stored data: data that is there has it already.
    Data,
    /// The calls, whatever data they are made on.
    Calls,
}

/// What was chosen, by the names of parameters.
pub type Chosen = BTreeMap<String, u64>;

/// The size of data at a scale, and of calls on it, with what was chosen.
///
/// # Errors
/// A name that is none of the workload's, a value outside its range, or values that do not go together.
pub fn sized<W: Benchmark>(scale: u32, chosen: &Chosen) -> Result<W::Extent> {
    resized::<W>(W::standard(scale), chosen)
}

/// A size with other values of some parameters.
pub fn resized<W: Benchmark>(size: W::Extent, chosen: &Chosen) -> Result<W::Extent> {
    for (name, value) in chosen {
        let parameter = parameter::<W>(name)?;
        if !(parameter.min..=parameter.max).contains(value) {
            bail!("--{name} is {value}; it must be {} to {}", parameter.min, parameter.max);
        }
    }
    let values = W::PARAMETERS.iter().zip(W::values(&size));
    let values = values.map(|(parameter, value)| chosen.get(parameter.name).copied().unwrap_or(value));
    W::with(size, &values.collect::<Vec<_>>())
}

/// The values of all parameters of a size.
pub fn values<W: Benchmark>(size: &W::Extent) -> Chosen {
    let pairs = W::PARAMETERS.iter().zip(W::values(size));
    pairs.map(|(parameter, value)| (parameter.name.to_owned(), value)).collect()
}

/// A parameter of a workload.
///
/// # Errors
/// The workload has none of that name; which it has.
pub fn parameter<W: Benchmark>(name: &str) -> Result<&'static Parameter> {
    let found = W::PARAMETERS.iter().find(|parameter| parameter.name == name);
    match (found, W::PARAMETERS) {
        (Some(parameter), _) => Ok(parameter),
        (None, []) => bail!("--{name} is not an option of {}, which has none of its own", W::NAME),
        (None, all) => {
            let all: Vec<String> = all.iter().map(|parameter| format!("--{}", parameter.name)).collect();
            bail!("--{name} is not an option of {}; its own are {}", W::NAME, all.join(", "))
        }
    }
}
