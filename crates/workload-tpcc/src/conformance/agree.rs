//! Comparing two outcomes field by field.

use crate::Outcome;
use serde_json::{Number, Value};

type Fields = serde_json::Map<String, Value>;

/// Fields that hold the time of the call. The expected value is a lower bound; null means null.
pub(super) const TIMES: [&str; 3] = ["o_entry_d", "h_date", "ol_delivery_d"];

/// No time of ours is later: the year 5138. What is, counts something else than seconds.
pub(super) const TIME_MAX: i64 = 100_000_000_000;

/// Whether `found` says the same as `expected`.
///
/// Times (`o_entry_d`, `h_date`, `ol_delivery_d`) must be there or not alike, and be not an earlier than expected and in
/// seconds; anything else must be equal.
///
/// # Errors
/// The path of the first field that differs, in alphabetical order at each level, with both values.
pub fn agree(expected: &Outcome, found: &Outcome) -> Result<(), String> {
    let ((name, expected), (found_name, found)) = (fields(expected), fields(found));
    if name != found_name {
        return Err(format!("expected {name}, found {found_name}"));
    }
    same("", &expected, &found)
}

/// What the outcome is, and its fields as they are declared, so that none can be forgotten.
fn fields(outcome: &Outcome) -> (&'static str, Value) {
    let (name, value) = match outcome {
        Outcome::Placed(placed) => ("a placed order", serde_json::to_value(placed)),
        Outcome::Unused(unused) => ("an order rolled back for an unused item", serde_json::to_value(unused)),
        Outcome::Paid(paid) => ("a payment", serde_json::to_value(paid)),
        Outcome::Status(report) => ("the status of an order", serde_json::to_value(report)),
        Outcome::Delivered(delivered) => ("a delivery", serde_json::to_value(delivered)),
        Outcome::Short(short) => ("a stock level", serde_json::to_value(short)),
    };
    (name, value.expect("plain structs always become JSON"))
}

fn same(path: &str, expected: &Value, found: &Value) -> Result<(), String> {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => same_fields(path, expected, found),
        (Value::Array(expected), Value::Array(found)) => {
            if expected.len() != found.len() {
                return Err(format!("{path}: expected {} entries, found {}", expected.len(), found.len()));
            }
            let mut pairs = (0..).zip(expected.iter().zip(found));
            pairs
                .try_for_each(|(index, (expected, found))| same(&format!("{path}[{index}]"), expected, found))
        }
        _ if expected == found => Ok(()),
        _ => Err(format!("{path}: expected {expected}, found {found}")),
    }
}

fn same_fields(path: &str, expected: &Fields, found: &Fields) -> Result<(), String> {
    let path_of = |name: &str| if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") };
    for (name, expected) in expected {
        let path = path_of(name);
        match (expected, found.get(name)) {
            (_, None) => return Err(format!("{path}: expected {expected}, found nothing")),
            (Value::Number(least), Some(Value::Number(time))) if TIMES.contains(&&**name) => {
                plausible(&path, least, time)?;
            }
            (_, Some(found)) => same(&path, expected, found)?,
        }
    }
    match found.iter().find(|(name, _)| !expected.contains_key(*name)) {
        Some((name, found)) => Err(format!("{}: expected nothing, found {found}", path_of(name))),
        None => Ok(()),
    }
}

fn plausible(path: &str, least: &Number, time: &Number) -> Result<(), String> {
    if time.as_i64() < least.as_i64() {
        return Err(format!("{path}: expected {least} or later, found {time}"));
    }
    if time.as_i64() > Some(TIME_MAX) {
        return Err(format!("{path}: expected seconds since 1970, found {time}"));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Delivered, LOADED_AT, OrderReport, ReportLine, Short, Text};
    use model::Cents;

    fn report(edit: impl FnOnce(&mut OrderReport)) -> Outcome {
        let line = ReportLine {
            ol_supply_w_id: 1,
            ol_i_id: 7,
            ol_quantity: 5,
            ol_amount: Cents(12),
            ol_delivery_d: Some(LOADED_AT),
        };
        let mut report = OrderReport {
            c_id: 3,
            c_first: Text::from("Ann").unwrap(),
            c_middle: Text::from("OE").unwrap(),
            c_last: Text::from("BARBARBAR").unwrap(),
            c_balance: Cents(-1_000),
            o_id: 9,
            o_entry_d: LOADED_AT,
            o_carrier_id: Some(4),
            lines: [line; 2].into_iter().collect(),
        };
        edit(&mut report);
        Outcome::Status(report)
    }

    fn difference(edit: impl FnOnce(&mut OrderReport)) -> String {
        agree(&report(|_| {}), &report(edit)).unwrap_err()
    }

    #[test]
    fn the_field_that_differs_is_named_with_both_values() {
        assert_eq!(difference(|report| report.o_id = 8), "o_id: expected 9, found 8");
        assert_eq!(
            difference(|report| report.lines[1].ol_amount = Cents(13)),
            "lines[1].ol_amount: expected 12, found 13"
        );
        assert_eq!(
            difference(|report| report.c_first = Text::from("Eve").unwrap()),
            "c_first: expected \"Ann\", found \"Eve\""
        );
        assert_eq!(difference(|report| report.o_carrier_id = None), "o_carrier_id: expected 4, found null");
        assert_eq!(
            difference(|report| {
                report.lines.pop();
            }),
            "lines: expected 2 entries, found 1"
        );
    }

    #[test]
    fn a_time_may_be_later_but_not_earlier_nor_absent() {
        let later = report(|report| {
            report.o_entry_d += 1_000_000;
            report.lines[0].ol_delivery_d = Some(LOADED_AT + 5);
        });
        assert_eq!(agree(&report(|_| {}), &later), Ok(()));
        assert_eq!(
            difference(|report| report.o_entry_d -= 1),
            format!("o_entry_d: expected {LOADED_AT} or later, found {}", LOADED_AT - 1)
        );
        assert_eq!(
            difference(|report| report.o_entry_d *= 1_000),
            format!("o_entry_d: expected seconds since 1970, found {}", LOADED_AT * 1_000)
        );
        assert_eq!(
            difference(|report| report.lines[0].ol_delivery_d = None),
            format!("lines[0].ol_delivery_d: expected {LOADED_AT}, found null")
        );
        let undelivered = report(|report| report.lines[0].ol_delivery_d = None);
        assert!(agree(&undelivered, &report(|_| {})).unwrap_err().contains("expected null, found"));
    }

    #[test]
    fn an_answer_of_another_sort_is_named() {
        let delivered = Outcome::Delivered(Delivered { o_ids: Default::default() });
        let short = Outcome::Short(Short { low_stock: 0 });
        assert_eq!(agree(&delivered, &short).unwrap_err(), "expected a delivery, found a stock level");
    }
}
