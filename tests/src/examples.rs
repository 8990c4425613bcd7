//! Examples in the documentation: blocks marked `console`, with commands after `$ ` and what they print.

/// One command of a block and what the documentation says of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Example {
    /// The line of its `$ `, counted from 1.
    pub line: usize,
    /// What is typed, without the note on its exit status.
    pub command: String,
    /// The exit status: 0 unless a comment says `# exits N`.
    pub status: i32,
    /// What is printed, as far as it is shown; empty where nothing is shown.
    pub shown: Vec<String>,
}

/// The examples in a Markdown text, in their order.
///
/// # Errors
/// When a block is not closed, or the text of a note on an exit status is not a number.
pub fn parse(markdown: &str) -> Result<Vec<Example>, String> {
    let mut examples: Vec<Example> = Vec::new();
    let mut open = None;
    for (index, line) in markdown.lines().enumerate() {
        let (line, number) = (line.trim_end(), index + 1);
        match open {
            None if line == "```console" => open = Some((number, examples.len())),
            None => {}
            Some(_) if line == "```" => open = None,
            Some((_, first)) => {
                if let Some(typed) = line.strip_prefix("$ ") {
                    examples.push(example(number, typed)?);
                } else if let Some(example) = examples[first..].last_mut() {
                    example.shown.push(line.to_owned());
                }
            }
        }
    }
    for example in &mut examples {
        // A blank line sets the next command apart.
        if example.shown.last().is_some_and(String::is_empty) {
            example.shown.pop();
        }
    }
    match open {
        Some((number, _)) => Err(format!("line {number}: the block is not closed")),
        None => Ok(examples),
    }
}

fn example(line: usize, typed: &str) -> Result<Example, String> {
    let (command, status) = match typed.split_once("# exits ") {
        None => (typed, 0),
        Some((command, status)) => {
            let status = status.trim();
            (command, status.parse().map_err(|_| format!("line {line}: no exit status: {status}"))?)
        }
    };
    Ok(Example { line, command: command.trim_end().to_owned(), status, shown: Vec::new() })
}

/// Whether `printed` is what `shown` says. `...` alone on a line stands for any number of lines, within a line for any
/// text; runs of spaces count as one, since columns move with the width of figures. Nothing shown allows anything.
pub fn agrees(shown: &[String], printed: &str) -> bool {
    if shown.is_empty() {
        return true;
    }
    let shown: Vec<String> = shown.iter().map(|line| squeezed(line)).collect();
    let printed: Vec<String> = printed.lines().map(squeezed).collect();
    lines_agree(&shown, &printed)
}

fn squeezed(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn lines_agree(shown: &[String], printed: &[String]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((any, rest)) if any == "..." => {
            (0..=printed.len()).any(|skipped| lines_agree(rest, &printed[skipped..]))
        }
        Some((line, rest)) => match printed.split_first() {
            Some((first, others)) => line_agrees(line, first) && lines_agree(rest, others),
            None => false,
        },
    }
}

fn line_agrees(shown: &str, printed: &str) -> bool {
    match shown.split_once("...") {
        None => shown == printed,
        Some((start, rest)) => match printed.strip_prefix(start) {
            None => false,
            Some(after) => after
                .char_indices()
                .map(|(at, _)| at)
                .chain([after.len()])
                .any(|at| line_agrees(rest, &after[at..])),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_statuses_and_output_are_told_apart() {
        let text =
            "```console\n$ stackmark list\na\nb\n\n$ stackmark run x  # exits 2\n```\n\n```sh\n$ no\n```\n";
        let examples = parse(text).expect("well formed");
        let [list, run] = &examples[..] else { panic!("{examples:?}") };
        assert_eq!((list.line, list.command.as_str(), list.status), (2, "stackmark list", 0));
        assert_eq!(list.shown, ["a", "b"]);
        assert_eq!((run.line, run.command.as_str(), run.status), (6, "stackmark run x", 2));
    }

    #[test]
    fn a_block_left_open_is_an_error() {
        assert_eq!(parse("```console\n$ a\n"), Err("line 1: the block is not closed".to_owned()));
        assert!(parse("```console\n$ a # exits badly\n```").is_err());
    }

    #[test]
    fn output_agrees_up_to_wildcards() {
        let check = |shown: &str, printed: &str, expected: bool| {
            let shown: Vec<String> = shown.lines().map(str::to_owned).collect();
            assert_eq!(agrees(&shown, printed), expected, "{shown:?} against {printed:?}");
        };
        check("", "anything\n", true);
        check("a\nb", "a\nb\n", true);
        check("a\nb", "a\n", false);
        check("a", "a\nb\n", false);
        check("a\n...\nd", "a\nb\nc\nd\n", true);
        check("a\n...", "a\n", true);
        check("...\nb", "a\nc\n", false);
        check("rate ... /s", "rate   1,204 ± 18 /s", true);
        check("rate ... /s", "rate 1,204 ms", false);
        check("audits ... of ... passed", "audits 14 of 14 passed", true);
    }
}
