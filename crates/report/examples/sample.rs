//! Writes the reports of the sample documents into the folder given as the only argument, for the browser tests and for
//! whoever works on the pages.

use report::testing;
use result::Document;
use std::path::PathBuf;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args_os().nth(1).ok_or("which folder? give it as the only argument")?;
    let folder = PathBuf::from(folder);
    std::fs::create_dir_all(&folder)?;
    let samples: [(&str, Document); 14] = [
        ("trial", testing::trial()),
        ("comparison", testing::comparison()),
        ("experiment", testing::experiment()),
        ("failed", testing::failed_trial()),
        ("open", testing::open_trial()),
        ("paced", testing::paced_trial()),
        ("deferred", testing::deferred_trial()),
        ("hostile", testing::hostile_trial()),
        ("long", testing::long_trial()),
        ("busy", testing::busy_trial(600)),
        ("running", testing::running()),
        ("sweep", testing::sweep()),
        ("rates", testing::rate_sweep()),
        ("search", testing::search()),
    ];
    let histories = [
        ("history", testing::history()),
        ("history-long", testing::long_history()),
        ("history-short", testing::short_history()),
    ];
    for (name, history) in histories {
        std::fs::write(folder.join(format!("{name}.html")), report::html::history::render(&history))?;
    }
    for (name, document) in samples {
        std::fs::write(folder.join(format!("{name}.json")), result::to_json(&document))?;
        std::fs::write(folder.join(format!("{name}.md")), report::markdown::render(&document))?;
        std::fs::write(folder.join(format!("{name}.html")), report::html::render(&document))?;
        std::fs::write(
            folder.join(format!("{name}.txt")),
            report::text::render(&document, report::text::Colour::Never),
        )?;
    }
    Ok(())
}
