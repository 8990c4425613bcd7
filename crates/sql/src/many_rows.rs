//! Statements for many rows are written for one: `insert into t (a, b) values (?1, ?2)`, and get the others here.

use crate::placeholders::{numbers, shifted};
use std::fmt::Write as _;

/// The most parameters that every engine takes of one statement; SQLite takes the fewest.
pub(crate) const PARAMS_MAX: usize = 32_766;

/// Why a statement cannot be one for many rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ManyRowsError {
    /// Not exactly one list of values.
    #[error("it needs one list `values (…)`, and has {0}")]
    Lists(usize),
    /// A list without parameters, of which all rows would be the same.
    #[error("its list of values has no parameter")]
    Constant,
    /// A parameter elsewhere, whose number no row could keep.
    #[error("?{0} stands outside of its list of values")]
    Outside(u16),
    /// More than an engine takes.
    #[error("it would have {0} parameters, and {PARAMS_MAX} are the most")]
    TooMany(usize),
}

/// The text with `rows` lists of values instead of one: the parameters of each go on where those of the one before end.
pub(crate) fn many_rows(text: &str, rows: u16) -> Result<String, ManyRowsError> {
    let lists = lists(text);
    let &[(from, to)] = lists.as_slice() else { return Err(ManyRowsError::Lists(lists.len())) };
    let (before, list, after) = (&text[..from], &text[from..to], &text[to..]);
    let columns = numbers(list).into_iter().max().ok_or(ManyRowsError::Constant)?;
    if let Some(outside) = numbers(before).into_iter().chain(numbers(after)).next() {
        return Err(ManyRowsError::Outside(outside));
    }
    let params = usize::from(columns) * usize::from(rows);
    if params > PARAMS_MAX {
        return Err(ManyRowsError::TooMany(params));
    }
    let mut many = String::from(before);
    for row in 0..rows {
        let between = if row == 0 { "" } else { ", " };
        write!(many, "{between}{}", shifted(list, row * columns)).expect("a text takes everything");
    }
    many.push_str(after);
    Ok(many)
}

/// Where each list behind the word `values` begins and ends, with its parentheses.
fn lists(text: &str) -> Vec<(usize, usize)> {
    let (mut found, mut list) = (Vec::new(), None);
    let (mut quoted, mut depth) = (false, 0_u32);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'\'' => quoted = !quoted,
            _ if quoted => {}
            b'(' => {
                let behind = text[..at].split_whitespace().next_back();
                if depth == 0 && behind.is_some_and(|word| word.eq_ignore_ascii_case("values")) {
                    list = Some(at);
                }
                depth += 1;
            }
            b')' => {
                depth = depth.saturating_sub(1);
                if depth == 0
                    && let Some(from) = list.take()
                {
                    found.push((from, at + 1));
                }
            }
            _ => {}
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_row_has_parameters_of_its_own_and_what_follows_the_list_follows_all() {
        let text = "insert into t (a, b, at)\nvalues (?1, coalesce(?2, 'v) values (?1'), now())\non conflict (a) do nothing";
        let expected = "insert into t (a, b, at)\n\
             values (?1, coalesce(?2, 'v) values (?1'), now()), (?3, coalesce(?4, 'v) values (?1'), now())\n\
             on conflict (a) do nothing";
        assert_eq!(many_rows(text, 2).as_deref(), Ok(expected));
        assert_eq!(many_rows(text, 1).as_deref(), Ok(text));
        // A parameter may stand twice in a row, and one that is left out keeps its place.
        assert_eq!(
            many_rows("insert into t values(?3, ?1, ?3)", 2).unwrap(),
            "insert into t values(?3, ?1, ?3), (?6, ?4, ?6)"
        );
        assert!(many_rows("insert into t VALUES (?1, ?2)", 500).unwrap().ends_with("(?999, ?1000)"));
    }

    #[test]
    fn what_is_no_statement_for_many_rows_says_why() {
        for (text, rows, why) in [
            ("insert into t select ?1", 2, ManyRowsError::Lists(0)),
            ("insert into t values (?1), (?2)", 2, ManyRowsError::Outside(2)),
            ("insert into values_t (?1)", 2, ManyRowsError::Lists(0)),
            ("insert into t values (?1", 2, ManyRowsError::Lists(0)),
            ("insert into t values (1)", 2, ManyRowsError::Constant),
            ("insert into t values (?1) on conflict do update set a = ?2", 2, ManyRowsError::Outside(2)),
            ("insert into t values (?1, ?2)", 20_000, ManyRowsError::TooMany(40_000)),
        ] {
            assert_eq!(many_rows(text, rows), Err(why), "{text}");
        }
    }
}
