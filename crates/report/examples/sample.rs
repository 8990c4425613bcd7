//! Writes the reports of the sample documents into the folder given as the only argument, for the browser tests and for
//! whoever works on the pages.
use report::history::History;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("which folder? give it as the only argument")?;
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder)?;
    let large = [("long", sample_documents::long_trial()), ("busy", sample_documents::busy_trial(600))];
    let histories = [
        ("history", sample_documents::history()),
        ("history-long", sample_documents::long_history()),
        ("history-short", sample_documents::short_history()),
    ];
    for (name, found) in histories {
        let history = History::of(found, None);
        std::fs::write(folder.join(format!("{name}.html")), report::html::history::render(&history))?;
    }
    for (name, document) in sample_documents::samples().into_iter().chain(large) {
        std::fs::write(folder.join(format!("{name}.json")), result::to_json(&document))?;
        std::fs::write(folder.join(format!("{name}.md")), report::markdown::render(&document))?;
        std::fs::write(folder.join(format!("{name}.html")), report::html::render(&document))?;
        std::fs::write(
            folder.join(format!("{name}.txt")),
            report::text::render(&document, report::text::Style::PLAIN),
        )?;
    }
    Ok(())
}
