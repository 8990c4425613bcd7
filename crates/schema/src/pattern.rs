//! Regular expressions of the plainest kind: `^`, characters and classes of them, each with a count, `$`.

/// One character of a text, this often.
#[derive(Debug)]
pub(crate) struct Piece {
    /// Ranges of characters, ends included.
    among: Vec<(char, char)>,
    least: usize,
    most: usize,
}

/// Reads a pattern for a whole text.
pub(crate) fn parse(text: &str) -> Result<Vec<Piece>, String> {
    let beyond =
        |rest: &str| format!("the pattern `{text}` is beyond what is known here, at `{}`", first(rest));
    let mut rest = text.strip_prefix('^').ok_or_else(|| beyond(text))?;
    let mut pieces = Vec::new();
    while rest != "$" {
        let (among, after) = characters(rest).ok_or_else(|| beyond(rest))?;
        let ((least, most), after) = count(after).ok_or_else(|| beyond(after))?;
        pieces.push(Piece { among, least, most });
        rest = after;
    }
    Ok(pieces)
}

fn first(rest: &str) -> &str {
    rest.get(..1).unwrap_or("its end")
}

fn characters(text: &str) -> Option<(Vec<(char, char)>, &str)> {
    let Some(class) = text.strip_prefix('[') else {
        let one = text.chars().next().filter(|one| !r"\^$.|?*+()[]{}".contains(*one))?;
        return Some((vec![(one, one)], &text[one.len_utf8()..]));
    };
    let (class, rest) = class.split_once(']')?;
    let mut among = Vec::new();
    let mut left = class.chars().peekable();
    while let Some(low) = left.next().filter(|low| !r"\^-[".contains(*low)) {
        let high = if left.next_if_eq(&'-').is_some() { left.next()? } else { low };
        among.push((low, high));
    }
    (left.next().is_none() && !among.is_empty()).then_some((among, rest))
}

fn count(text: &str) -> Option<((usize, usize), &str)> {
    let Some(counts) = text.strip_prefix('{') else {
        return Some(match text.chars().next() {
            Some('*') => ((0, usize::MAX), &text[1..]),
            Some('+') => ((1, usize::MAX), &text[1..]),
            _ => ((1, 1), text),
        });
    };
    let (counts, rest) = counts.split_once('}')?;
    let counts = match counts.split_once(',') {
        Some((least, "")) => (least.parse().ok()?, usize::MAX),
        Some((least, most)) => (least.parse().ok()?, most.parse().ok()?),
        None => (counts.parse().ok()?, counts.parse().ok()?),
    };
    Some((counts, rest))
}

/// Whether the whole text fits.
pub(crate) fn matches(pieces: &[Piece], text: &str) -> bool {
    let Some((piece, later)) = pieces.split_first() else { return text.is_empty() };
    let is_among = |one: char| piece.among.iter().any(|(low, high)| (*low..=*high).contains(&one));
    let mut rest = text;
    for taken in 0..=piece.most {
        if taken >= piece.least && matches(later, rest) {
            return true;
        }
        match rest.chars().next().filter(|one| is_among(*one)) {
            Some(one) => rest = &rest[one.len_utf8()..],
            None => return false,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::{matches, parse};

    #[test]
    fn a_text_fits_as_a_whole() {
        let check = |pattern: &str, text: &str, fits: bool| {
            assert_eq!(matches(&parse(pattern).unwrap(), text), fits, "{pattern} on {text}");
        };
        let date = "^[0-9]{4,}-[0-9]{2}T[0-9]{1,2}Z$";
        check(date, "2026-11T7Z", true);
        check(date, "12026-11T07Z", true);
        check(date, "226-11T07Z", false);
        check(date, "2026-11T07Z ", false);
        check(date, "2026-1xT07Z", false);
        check("^a*ab+[b-d_]$", "aaabb", true);
        check("^a*ab+[b-d_]$", "ab_", true);
        check("^a*ab+[b-d_]$", "ab", false);
        check("^$", "", true);
    }

    #[test]
    fn what_is_beyond_it_is_an_error() {
        for pattern in
            ["a$", "^a", "^(a)$", "^a|b$", "^a?$", "^.$", r"^\d$", "^[^a]$", "^[]$", "^a{x}$", "^[a$"]
        {
            assert!(parse(pattern).is_err(), "{pattern}");
        }
    }
}
