//! Errors that show the place in a file that someone wrote by hand.

use std::ops::Range;
use std::path::Path;

/// Letters of a line that an error shows.
const SHOWN_MAX: usize = 160;

/// What is wrong at a place, in bytes of the text, with the line. A hint in the message comes after the line.
pub fn at(file: &Path, text: &str, place: &Range<usize>, message: &str) -> String {
    let (message, hint) = match message.split_once("\nhint: ") {
        Some((message, hint)) => (message, format!("\nhint: {hint}")),
        None => (message, String::new()),
    };
    let start = place.start.min(text.len());
    let before = &text[..start];
    let line = before.matches('\n').count() + 1;
    let begins = before.rfind('\n').map_or(0, |end| end + 1);
    let column = text[begins..start].chars().count();
    let whole = text[begins..].lines().next().unwrap_or_default();
    // At least one letter is marked; of several lines only what is on the first.
    let marked = text[start..place.end.clamp(start, (begins + whole.len()).max(start))].chars().count();
    let shown: String =
        whole.chars().take(SHOWN_MAX).map(|letter| if letter.is_control() { ' ' } else { letter }).collect();
    let gutter = " ".repeat(line.to_string().len());
    let mark = if column < SHOWN_MAX {
        let marks = "^".repeat(marked.clamp(1, SHOWN_MAX - column));
        format!("\n{gutter} | {}{marks}", " ".repeat(column))
    } else {
        String::new()
    };
    format!("{}:{line}:{}: {message}\n{gutter} |\n{line} | {shown}{mark}{hint}", file.display(), column + 1)
}
