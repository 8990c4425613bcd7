//! A variant in which values are lists stands for one variant of each value; with several lists, of each combination.

use super::source::{KeyValue, Source, Span, Value, ValueKind};
use anyhow::Result;

/// Variants that an experiment may have, controls aside: what runs longer than a night is a typing error.
pub(super) const VARIANTS_MAX: usize = 64;

/// Keys of a variant that are lists in their own right.
const LISTS: &[&str] = &["factor"];
/// Keys that belong to a variant as it is written, whatever it expands to.
const SINGLE: &[&str] = &["name", "against", "base"];

/// The key of a list, and the value chosen of it.
type Choice = (String, String);

#[derive(Debug, Clone)]
pub(super) struct ExpandedVariant {
    /// The variant without lists.
    pub(super) entries: Vec<KeyValue>,
    /// What was chosen where there was a list: the key, as `journal` or `pool`, and the value.
    pub(super) chosen: Vec<Choice>,
}

/// All combinations; the list that is written last changes fastest.
pub(super) fn expand(source: &Source<'_>, entries: &[KeyValue], span: &Span) -> Result<Vec<ExpandedVariant>> {
    let mut combinations = vec![ExpandedVariant { entries: Vec::new(), chosen: Vec::new() }];
    for entry in entries {
        let alternatives = alternatives(source, entry, span)?;
        check_number(source, combinations.len() * alternatives.len(), span)?;
        combinations = combinations
            .iter()
            .flat_map(|so_far| {
                alternatives.iter().map(|(entry, chosen)| {
                    let mut next = so_far.clone();
                    next.entries.push(entry.clone());
                    next.chosen.extend(chosen.iter().cloned());
                    next
                })
            })
            .collect();
    }
    Ok(combinations)
}

/// Refuses more variants than there may be.
pub(super) fn check_number(source: &Source<'_>, number: usize, span: &Span) -> Result<()> {
    if number <= VARIANTS_MAX {
        return Ok(());
    }
    Err(source.wrong(
        span,
        format!("with this there are {number} variants, and {VARIANTS_MAX} are the most\nhint: shorten a list, or make two experiments"),
    ))
}

/// What an entry stands for: itself, or itself with each of its values.
fn alternatives(source: &Source<'_>, entry: &KeyValue, span: &Span) -> Result<Vec<(KeyValue, Vec<Choice>)>> {
    let with = |value: Value| KeyValue { value, ..entry.clone() };
    match &entry.value.kind {
        ValueKind::List(_) if LISTS.contains(&entry.key.as_str()) => Ok(vec![(entry.clone(), Vec::new())]),
        ValueKind::List(_) if SINGLE.contains(&entry.key.as_str()) => {
            Err(source.wrong(&entry.value.span, format!("`{}` is one value, and no list", entry.key)))
        }
        ValueKind::List(values) if values.is_empty() => Err(source.wrong(
            &entry.value.span,
            format!("`{}` is an empty list: give values, or leave it out", entry.key),
        )),
        ValueKind::List(values) => {
            let names: Vec<String> = values.iter().map(plain).collect();
            let names = if entry.key == "subject" { without_shared(&names) } else { names };
            let chosen =
                |(value, name): (&Value, String)| (with(value.clone()), vec![(entry.key.clone(), name)]);
            Ok(values.iter().zip(names).map(chosen).collect())
        }
        ValueKind::Table(inner) => {
            let table = |entries| Value { span: entry.value.span.clone(), kind: ValueKind::Table(entries) };
            let combinations = expand(source, inner, span)?;
            Ok(combinations.into_iter().map(|one| (with(table(one.entries)), one.chosen)).collect())
        }
        _ => Ok(vec![(entry.clone(), Vec::new())]),
    }
}

/// Paths without the parts that all of them begin with: `2pc` and `saga` of `postgres/tokio-postgres/2pc` and
/// `postgres/tokio-postgres/saga`.
fn without_shared(paths: &[String]) -> Vec<String> {
    let parts: Vec<Vec<&str>> = paths.iter().map(|path| path.split('/').collect()).collect();
    let shared_max = parts.iter().map(|parts| parts.len() - 1).min().unwrap_or(0);
    let is_shared = |at: &usize| parts.iter().all(|of| of[*at] == parts[0][*at]);
    let shared = (0..shared_max).take_while(is_shared).count();
    parts.iter().map(|parts| parts[shared..].join("/")).collect()
}

/// A value as it is named. What is not a plain value is refused where it is read.
pub(super) fn plain(value: &Value) -> String {
    match &value.kind {
        ValueKind::Text(text) | ValueKind::Whole(text) | ValueKind::Decimal(text) => text.clone(),
        ValueKind::Truth(true) => "on".to_owned(),
        ValueKind::Truth(false) => "off".to_owned(),
        other => other.name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn subjects_are_named_by_what_tells_them_apart() {
        let named =
            |paths: &[&str]| without_shared(&paths.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>());
        let both = named(&["postgres/tokio-postgres/2pc", "postgres/tokio-postgres/saga"]);
        assert_eq!(both, ["2pc", "saga"]);
        // The shorter one keeps its last part.
        let longer = named(&["postgres/sqlx", "postgres/sqlx/levels"]);
        assert_eq!(longer, ["sqlx", "sqlx/levels"]);
        assert_eq!(named(&["sqlite/rusqlite", "postgres/sqlx"]), ["sqlite/rusqlite", "postgres/sqlx"]);
    }
}
