//! Where two values in JSON differ.

use crate::openapi::cut;
use serde_json::Value;
use std::collections::BTreeSet;

/// Entries that are shown.
const SHOWN: usize = 8;

/// The entries in which two texts in JSON differ, with the value that each has there: `/lines/3/amount: 700`. Nothing where one of them is no
/// JSON, or they do not differ.
pub(crate) fn entries(expected: &str, found: &str) -> Option<[String; 2]> {
    let values = [expected, found].map(|text| serde_json::from_str::<Value>(text).ok());
    let [Some(expected), Some(found)] = &values else { return None };
    let mut all = Vec::new();
    walk("", Some(expected), Some(found), &mut all);
    let more = match all.len().saturating_sub(SHOWN) {
        0 => String::new(),
        more => format!("; and {more} more"),
    };
    all.truncate(SHOWN);
    let side = |value: fn(&DifferingEntry) -> &String| {
        let of_each: Vec<String> =
            all.iter().map(|entry| format!("{}: {}", entry.path, value(entry))).collect();
        of_each.join("; ") + &more
    };
    (!all.is_empty()).then(|| [side(|entry| &entry.expected), side(|entry| &entry.found)])
}

struct DifferingEntry {
    /// A JSON pointer (RFC 6901, names as they are); `/` is the whole.
    path: String,
    expected: String,
    found: String,
}

fn walk(path: &str, expected: Option<&Value>, found: Option<&Value>, into: &mut Vec<DifferingEntry>) {
    match (expected, found) {
        (Some(Value::Object(expected)), Some(Value::Object(found))) => {
            let names: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
            for name in names {
                walk(&format!("{path}/{name}"), expected.get(name), found.get(name), into);
            }
        }
        (Some(Value::Array(expected)), Some(Value::Array(found))) => {
            for at in 0..expected.len().max(found.len()) {
                walk(&format!("{path}/{at}"), expected.get(at), found.get(at), into);
            }
        }
        _ if expected == found => {}
        _ => {
            let words = |value: Option<&Value>| {
                value.map_or_else(|| "missing".to_owned(), |value| cut(&value.to_string()))
            };
            let path = if path.is_empty() { "/".to_owned() } else { path.to_owned() };
            into.push(DifferingEntry { path, expected: words(expected), found: words(found) });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_that_differ_are_shown_with_their_place_and_no_others() {
        let [expected, found] = entries(
            r#"{"a":1,"lines":[{"n":1,"x":"p"},{"n":2}]}"#,
            r#"{"a":1,"lines":[{"n":1,"x":"q"}],"b":true}"#,
        )
        .expect("they differ");
        assert_eq!(expected, r#"/b: missing; /lines/0/x: "p"; /lines/1: {"n":2}"#);
        assert_eq!(found, r#"/b: true; /lines/0/x: "q"; /lines/1: missing"#);
    }

    #[test]
    fn many_entries_are_counted() {
        let numbers =
            |from: u32| serde_json::to_string(&(from..from + 20).collect::<Vec<_>>()).unwrap_or_default();
        let [expected, _] = entries(&numbers(0), &numbers(100)).expect("they differ");
        assert!(expected.starts_with("/0: 0; /1: 1; ") && expected.ends_with("; and 12 more"), "{expected}");
        assert_eq!(entries("1", "2"), Some(["/: 1".to_owned(), "/: 2".to_owned()]));
    }

    #[test]
    fn equal_values_and_what_is_no_json_have_no_entries() {
        assert_eq!(entries(r#"{"a":1}"#, r#"{"a": 1}"#), None);
        assert_eq!(entries("a fault", "{}"), None);
    }
}
