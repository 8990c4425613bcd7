//! Small parts of sentences.

/// Seconds for people: `0.5 s`, `8 s`, `3 min 20 s`.
pub fn seconds(seconds: f64) -> String {
    if (0.05..9.95).contains(&seconds) && seconds.fract() != 0.0 {
        return format!("{seconds:.1} s");
    }
    let whole = seconds.max(0.0).round() as u64;
    match (whole / 60, whole % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, 0) => format!("{minutes} min"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

/// A sentence begins with a capital letter.
pub fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::seconds;

    #[test]
    fn spans_read_well() {
        let spans = [0.0, 0.52, 3.0, 3.26, 59.6, 60.0, 200.0];
        let read = ["0 s", "0.5 s", "3 s", "3.3 s", "1 min", "1 min", "3 min 20 s"];
        assert_eq!(spans.map(seconds), read.map(str::to_owned));
    }
}
