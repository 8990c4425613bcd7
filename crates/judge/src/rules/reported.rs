//! What servers report of themselves, compared.

use result::{Setting, StatementPlan};

/// What is said of a setting that one side does not have.
pub(super) const NOT_SET: &str = "not set";

/// Settings by name, whatever their order; those of A first, then those that only B has.
pub(super) fn setting_differences(a: &[Setting], b: &[Setting]) -> Vec<(String, String, String)> {
    let value = |settings: &[Setting], name: &str| {
        settings
            .iter()
            .find(|setting| setting.name == name)
            .map_or_else(|| NOT_SET.to_owned(), |setting| setting.value.clone())
    };
    let only_b = b.iter().filter(|setting| a.iter().all(|other| other.name != setting.name));
    a.iter()
        .chain(only_b)
        .map(|setting| {
            let name = &setting.name;
            (format!("stack.settings.{name}"), value(a, name), value(b, name))
        })
        .filter(|(_, a, b)| a != b)
        .collect()
}

/// Plans of statements that both sides have, before their first calls.
pub(super) fn plan_differences(a: &[StatementPlan], b: &[StatementPlan]) -> Vec<(String, String, String)> {
    let differing = |a: &StatementPlan| {
        let b = b.iter().find(|b| b.statement == a.statement && b.plan != a.plan)?;
        Some((format!("stack.plans.{}", a.statement), a.plan.clone(), b.plan.clone()))
    };
    a.iter().filter_map(differing).collect()
}

/// Whether two versions differ by no more than patches of libraries: the words are the same, and of each version the first two numbers of
/// three.
pub(super) fn differ_by_patches(a: &str, b: &str) -> bool {
    let release = |word: &str| -> String {
        let numbers: Vec<&str> = word.split('.').collect();
        match &numbers[..] {
            [major, minor, patch, ..] if patch.starts_with(|c: char| c.is_ascii_digit()) => {
                format!("{major}.{minor}")
            }
            _ => word.to_owned(),
        }
    };
    let words = |text: &str| -> Vec<String> { text.split(' ').map(release).collect() };
    words(a) == words(b)
}

/// Settings that Stackmark adds to what a server reports, where they are not the default.
pub(super) fn is_added_by_stackmark(field: &str) -> bool {
    let name = field.trim_start_matches("stack.settings.");
    matches!(name, "connections" | "storage") || name.starts_with("outbox")
}
