//! Parameters are written `?1`, `?2`, … in `spec/sql`; engines have their own ways to write them.

/// A statement whose parameters are bound in the order in which they are mentioned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Positional {
    /// The text with a bare `?` for each parameter.
    pub text: String,
    /// For each `?`, the index from 0 of the parameter that belongs there. A parameter may be mentioned twice, or never.
    pub order: Vec<u16>,
}

/// For MySQL: bare question marks, and what belongs to each.
pub fn positional(text: &str) -> Positional {
    let mut order = Vec::new();
    let text = rewritten(text, |number, into| {
        order.push(number - 1);
        into.push('?');
    });
    Positional { text, order }
}

/// For PostgreSQL: `$1`, `$2`, …
pub fn dollars(text: &str) -> String {
    rewritten(text, |number, into| {
        into.push('$');
        into.push_str(&number.to_string());
    })
}

/// The numbers of the parameters, in the order in which they are mentioned.
pub(crate) fn numbers(text: &str) -> Vec<u16> {
    let mut numbers = Vec::new();
    rewritten(text, |number, _| numbers.push(number));
    numbers
}

/// The text with every parameter's number greater by `by`.
pub(crate) fn shifted(text: &str, by: u16) -> String {
    rewritten(text, |number, into| {
        into.push('?');
        into.push_str(&(number + by).to_string());
    })
}

/// Replaces each `?N` outside of quotes.
fn rewritten(text: &str, mut write: impl FnMut(u16, &mut String)) -> String {
    let mut written = String::with_capacity(text.len());
    let (mut rest, mut quoted) = (text, false);
    while let Some(at) = rest.find(['?', '\'']) {
        written.push_str(&rest[..at]);
        let (found, after) = (&rest[at..=at], &rest[at + 1..]);
        let digits = after.len() - after.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        match after[..digits].parse::<u16>() {
            Ok(number) if found == "?" && !quoted && number > 0 => {
                write(number, &mut written);
                rest = &after[digits..];
            }
            _ => {
                quoted ^= found == "'";
                written.push_str(found);
                rest = after;
            }
        }
    }
    written.push_str(rest);
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_engine_gets_its_own_parameters_and_quoted_text_is_left_alone() {
        let text = "update t set a = ?12 + ?2, b = 'really?1 it''s ?2' where c = ?1 or d = ?2";
        assert_eq!(
            dollars(text),
            "update t set a = $12 + $2, b = 'really?1 it''s ?2' where c = $1 or d = $2"
        );
        let bare = positional(text);
        assert_eq!(bare.text, "update t set a = ? + ?, b = 'really?1 it''s ?2' where c = ? or d = ?");
        assert_eq!(bare.order, [11, 1, 0, 1]);
        assert_eq!(positional("select 1 ? 2").text, "select 1 ? 2");
    }
}
