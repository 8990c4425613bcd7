//! What each keyword asks of a value.

use super::Schema;
use regex_lite::Regex;
use serde_json::{Map, Number, Value};
use std::cmp::Ordering;
use std::collections::BTreeSet;

/// Keywords that ask nothing: notes, and schemas that count only where they are referred to.
const SILENT: [&str; 5] = ["$schema", "$id", "$defs", "title", "description"];

/// Goes through all that a schema can lead to, and fails where a keyword is unknown or stands for something else.
pub(crate) fn understand(schema: &Schema) -> Result<(), String> {
    let mut known: BTreeSet<*const Value> = BTreeSet::new();
    let mut open = vec![&schema.root];
    while let Some(next) = open.pop() {
        // A schema may lead back to itself.
        if next.is_boolean() || !known.insert(next) {
            continue;
        }
        let keywords = next.as_object().ok_or_else(|| format!("no schema: {next}"))?;
        for (keyword, wants) in keywords {
            match keyword.as_str() {
                "$ref" => open.push(schema.referred(wants)?),
                "properties" => open.extend(wants.as_object().ok_or("properties is an object")?.values()),
                "items" | "additionalProperties" => open.push(wants),
                "prefixItems" | "anyOf" | "oneOf" | "allOf" => {
                    open.extend(wants.as_array().ok_or_else(|| format!("{keyword} is a list"))?);
                }
                "pattern" => {
                    let pattern = wants.as_str().ok_or("pattern is a text")?;
                    Regex::new(pattern).map_err(|error| format!("the pattern `{pattern}`: {error}"))?;
                }
                "required" | "enum" => _ = wants.as_array().ok_or_else(|| format!("{keyword} is a list"))?,
                "minItems" | "maxItems" | "minLength" | "maxLength" => {
                    wants.as_u64().ok_or_else(|| format!("{keyword} is a count"))?;
                }
                "minimum" | "maximum" | "exclusiveMinimum" => {
                    wants.as_number().ok_or_else(|| format!("{keyword} is a number"))?;
                }
                "type" => types(wants)?,
                "const" => {}
                keyword if SILENT.contains(&keyword) => {}
                keyword => return Err(format!("the keyword `{keyword}` is not known")),
            }
        }
    }
    Ok(())
}

fn types(wants: &Value) -> Result<(), String> {
    const KNOWN: [&str; 7] = ["null", "boolean", "integer", "number", "string", "array", "object"];
    let is_known = |name: &Value| name.as_str().is_some_and(|name| KNOWN.contains(&name));
    if list(wants).iter().all(is_known) { Ok(()) } else { Err(format!("no type: {wants}")) }
}

/// A list, or the one that stands for a list of one.
fn list(wants: &Value) -> &[Value] {
    wants.as_array().map_or(std::slice::from_ref(wants), Vec::as_slice)
}

/// Adds to `found` what of `value`, which is at `place`, does not keep to `wanted`.
pub(crate) fn check(schema: &Schema, wanted: &Value, value: &Value, place: &str, found: &mut Vec<String>) {
    let Some(keywords) = wanted.as_object() else {
        if wanted == &Value::Bool(false) {
            found.push(format!("{place}: nothing may be here"));
        }
        return;
    };
    for (keyword, wants) in keywords {
        if !keeps(keyword, wants, value) {
            found.push(format!("{place}: {value} does not keep to {keyword} {wants}"));
        }
    }
    if let Some(reference) = keywords.get("$ref") {
        let referred = schema.referred(reference).expect("was understood");
        check(schema, referred, value, place, found);
    }
    for keyword in ["anyOf", "oneOf", "allOf"] {
        let Some(branches) = keywords.get(keyword).and_then(Value::as_array) else { continue };
        let fits = |branch: &&Value| {
            let mut found = Vec::new();
            check(schema, branch, value, place, &mut found);
            found.is_empty()
        };
        let count = branches.iter().filter(fits).count();
        let is_right = match keyword {
            "anyOf" => count >= 1,
            "oneOf" => count == 1,
            _ => count == branches.len(),
        };
        if !is_right {
            found.push(format!("{place}: {value} fits {count} of {} of {keyword}", branches.len()));
        }
    }
    match value {
        Value::Object(members) => check_members(schema, keywords, members, place, found),
        Value::Array(items) => check_items(schema, keywords, items, place, found),
        _ => {}
    }
}

fn check_members(
    schema: &Schema,
    keywords: &Map<String, Value>,
    members: &Map<String, Value>,
    place: &str,
    found: &mut Vec<String>,
) {
    let properties = keywords.get("properties").and_then(Value::as_object);
    for (name, member) in members {
        let property = properties.and_then(|properties| properties.get(name));
        if let Some(wanted) = property.or_else(|| keywords.get("additionalProperties")) {
            check(schema, wanted, member, &format!("{place}/{name}"), found);
        }
    }
}

fn check_items(
    schema: &Schema,
    keywords: &Map<String, Value>,
    items: &[Value],
    place: &str,
    found: &mut Vec<String>,
) {
    let first = keywords.get("prefixItems").and_then(Value::as_array);
    for (index, item) in items.iter().enumerate() {
        let own = first.and_then(|first| first.get(index));
        if let Some(wanted) = own.or_else(|| keywords.get("items")) {
            check(schema, wanted, item, &format!("{place}/{index}"), found);
        }
    }
}

/// Whether a value keeps to a keyword that looks at nothing within it.
fn keeps(keyword: &str, wants: &Value, value: &Value) -> bool {
    let count = || wants.as_u64().expect("was understood");
    let chars = |text: &str| text.chars().count() as u64;
    match (keyword, value) {
        ("type", _) => list(wants).iter().any(|name| is_of_type(name, value)),
        ("const", _) => wants == value,
        ("enum", _) => list(wants).contains(value),
        ("minimum", Value::Number(number)) => order(number, wants).is_ge(),
        ("exclusiveMinimum", Value::Number(number)) => order(number, wants).is_gt(),
        ("maximum", Value::Number(number)) => order(number, wants).is_le(),
        ("minLength", Value::String(text)) => chars(text) >= count(),
        ("maxLength", Value::String(text)) => chars(text) <= count(),
        ("minItems", Value::Array(items)) => items.len() as u64 >= count(),
        ("maxItems", Value::Array(items)) => items.len() as u64 <= count(),
        ("pattern", Value::String(text)) => {
            Regex::new(wants.as_str().expect("was understood")).expect("was understood").is_match(text)
        }
        ("required", Value::Object(members)) => {
            list(wants).iter().all(|name| name.as_str().is_some_and(|name| members.contains_key(name)))
        }
        _ => true,
    }
}

fn is_of_type(name: &Value, value: &Value) -> bool {
    match value {
        Value::Null => name == "null",
        Value::Bool(_) => name == "boolean",
        Value::String(_) => name == "string",
        Value::Array(_) => name == "array",
        Value::Object(_) => name == "object",
        // In JSON 3.0 is an integer.
        Value::Number(number) => {
            name == "number"
                || name == "integer" && number.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
    }
}

/// Whole numbers are compared as such: the ends of 64 bits lie closer than a fraction can tell.
fn order(number: &Number, limit: &Value) -> Ordering {
    let limit = limit.as_number().expect("was understood");
    let order = match (number.as_i128(), limit.as_i128()) {
        (Some(number), Some(limit)) => Some(number.cmp(&limit)),
        _ => number.as_f64().zip(limit.as_f64()).and_then(|(number, limit)| number.partial_cmp(&limit)),
    };
    order.expect("JSON knows finite numbers only")
}

#[cfg(test)]
mod tests {
    use super::Schema;
    use serde_json::{Value, from_str};

    /// Whether each of the values, in JSON, keeps to the schema.
    fn check(schema: &str, valid: &[&str], invalid: &[&str]) {
        let value =
            |text: &str| -> Value { from_str(text).unwrap_or_else(|error| panic!("{error}: {text}")) };
        let schema = Schema::whole(value(schema)).unwrap();
        for text in valid {
            assert_eq!(schema.violations(&value(text)), [""; 0], "{text}");
        }
        for text in invalid {
            assert_ne!(schema.violations(&value(text)), [""; 0], "{text}");
        }
    }

    #[test]
    fn types_are_told_apart() {
        check(
            r#"{"type":"integer"}"#,
            &["1", "-7", "1.0", "18446744073709551615"],
            &["1.5", "\"1\"", "null"],
        );
        check(r#"{"type":["string","null"]}"#, &["\"\"", "null"], &["0", "[]", "{}", "false"]);
        check(r#"{"type":"number"}"#, &["1", "1.5"], &["true"]);
        check("true", &["1", "null"], &[]);
        check("false", &[], &["1", "null"]);
    }

    #[test]
    fn numbers_have_limits_to_the_last_digit() {
        check(
            r#"{"minimum":-9223372036854775808,"maximum":9223372036854775807}"#,
            &["-9223372036854775808", "9223372036854775807", "0.5", "\"text\""],
            &["9223372036854775808", "18446744073709551615", "1e30"],
        );
        check(r#"{"exclusiveMinimum":0,"maximum":1}"#, &["0.001", "1"], &["0", "0.0", "1.001"]);
    }

    #[test]
    fn members_are_required_known_or_of_one_kind() {
        let closed =
            r#"{"required":["a"],"properties":{"a":{"type":"integer"}},"additionalProperties":false}"#;
        check(closed, &[r#"{"a":1}"#, "7"], &["{}", r#"{"a":"x"}"#, r#"{"a":1,"b":1}"#]);
        let map = r#"{"type":"object","additionalProperties":{"minLength":2,"maxLength":3}}"#;
        check(map, &["{}", r#"{"a":"äöü"}"#], &[r#"{"a":"ä"}"#, r#"{"a":"four"}"#]);
    }

    #[test]
    fn items_are_counted_and_the_first_have_schemas_of_their_own() {
        let pair = r#"{"prefixItems":[{"const":1}],"items":{"enum":["x",null]},"minItems":1,"maxItems":3}"#;
        check(pair, &["[1]", r#"[1,"x",null]"#], &["[]", "[2]", "[1,2]", r#"[1,"x","x","x"]"#]);
    }

    #[test]
    fn branches_are_counted() {
        let branches = r#"[{"minimum":2},{"maximum":4}]"#;
        check(&format!(r#"{{"anyOf":{branches}}}"#), &["1", "3", "5"], &[]);
        check(&format!(r#"{{"oneOf":{branches}}}"#), &["1", "5"], &["3"]);
        check(&format!(r#"{{"allOf":{branches}}}"#), &["3"], &["1", "5"]);
    }

    #[test]
    fn references_are_followed_beside_what_else_is_asked_and_back_to_themselves() {
        let tree = r##"{"$ref":"#/$defs/tree","maxItems":2,
            "$defs":{"tree":{"type":"array","items":{"$ref":"#/$defs/tree"}}}}"##;
        check(tree, &["[]", "[[],[[],[],[]]]"], &["[1]", "[[[1]]]", "[[],[],[]]"]);
    }

    #[test]
    fn what_is_not_known_is_said() {
        let check = |schema: &str, why: &str| {
            assert_eq!(Schema::whole(from_str(schema).unwrap()).unwrap_err(), why);
        };
        check(r#"{"items":{"uniqueItems":true}}"#, "the keyword `uniqueItems` is not known");
        check(r#"{"type":"int"}"#, "no type: \"int\"");
        check(r##"{"anyOf":[{"$ref":"#/$defs/a"}]}"##, "\"#/$defs/a\" leads nowhere in this document");
        check(r#"{"pattern":"^(a"}"#, "the pattern `^(a`: found open group without closing ')'");
    }

    #[test]
    fn a_violation_names_its_place() {
        let schema = r#"{"properties":{"a":{"items":{"type":"string"}}}}"#;
        let schema = Schema::whole(from_str(schema).unwrap()).unwrap();
        let found = schema.violations(&from_str(r#"{"a":["x",7]}"#).unwrap());
        assert_eq!(found, ["/a/1: 7 does not keep to type \"string\""]);
    }
}
