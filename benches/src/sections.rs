//! Benches of several sections, of which arguments choose some.

use crate::{output, process};
use std::process::ExitCode;

/// What can be asked for.
#[derive(Debug, Clone, Copy)]
pub struct Section {
    /// As an argument names it.
    pub number: &'static str,
    pub about: &'static str,
    /// Measures and prints it.
    pub run: fn(),
}

/// Runs those that the arguments of this process name, or all of them where there are none, each on two cores.
pub fn run(sections: &[Section]) -> ExitCode {
    let asked: Vec<String> = std::env::args().skip(1).collect();
    if let Some(unknown) = asked.iter().find(|asked| sections.iter().all(|section| section.number != **asked))
    {
        output::skipped(&format!("there is no section `{unknown}`; there are"));
        for section in sections {
            output::figure(section.number, section.about);
        }
        return ExitCode::from(2);
    }
    let is_asked_for =
        |section: &&Section| asked.is_empty() || asked.iter().any(|asked| asked == section.number);
    for section in sections.iter().filter(is_asked_for) {
        process::keep_on_two_cores();
        (section.run)();
    }
    ExitCode::SUCCESS
}
