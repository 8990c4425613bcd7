//! Whole reports as they are read. A change of a sentence or a table shows up here, and in review.

use insta::{Settings, assert_snapshot};
use report::history::History;
use report::text::Style;
use report::{html, markdown, text};
use result::Document;

fn check(name: &str, report: &str) {
    let mut settings = Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| assert_snapshot!(name, report));
}

/// What is between the tags of a page, and the tags, an element a line. Drawings are left out, and what the pointer reads.
fn body(page: &str) -> String {
    let mut body = page[page.find("<body").expect("a page has a body")..].to_owned();
    for (start, end) in [("<svg", "</svg>"), ("<script", "</script>"), (" data-readout=\"", "\"")] {
        while let Some(from) = body.find(start) {
            let to = from + start.len() + body[from + start.len()..].find(end).expect("it ends");
            body.replace_range(from..to + end.len(), "");
        }
    }
    for tag in
        ["p", "h1", "h2", "h3", "tr", "table", "section", "div", "li", "figure", "details", "dt", "footer"]
    {
        for rest in [">", " "] {
            body = body.replace(&format!("<{tag}{rest}"), &format!("\n<{tag}{rest}"));
        }
    }
    body.lines().filter(|line| !line.trim().is_empty()).collect::<Vec<_>>().join("\n")
}

fn check_written(name: &str, document: &Document) {
    check(&format!("{name}.txt"), &text::render(document, Style::PLAIN));
    check(&format!("{name}.md"), &markdown::render(document));
}

fn check_all(name: &str, document: &Document) {
    check_written(name, document);
    check(&format!("{name}.html"), &body(&html::render(document)));
}

#[test]
fn trials() {
    check_all("trial", &sample_documents::trial());
    check_all("failed", &sample_documents::failed_trial());
    check_all("engine", &sample_documents::engine_trial());
    check_written("open", &sample_documents::open_trial());
    check_written("deferred", &sample_documents::deferred_trial());
    check_written("paced", &sample_documents::paced_trial());
    check_written("hostile", &sample_documents::hostile_trial());
}

#[test]
fn comparisons_and_experiments() {
    check_all("comparison", &sample_documents::comparison());
    check_all("two-metrics", &sample_documents::two_metrics());
    check_all("experiment", &sample_documents::experiment());
    check_all("groups", &sample_documents::groups());
    check_all("running", &sample_documents::running());
}

#[test]
fn sweeps_and_searches() {
    check_all("sweep", &sample_documents::sweep());
    check_written("rates", &sample_documents::rate_sweep());
    check_all("search", &sample_documents::search());
}

#[test]
fn drills() {
    check_all("drill", &sample_documents::drill());
}

#[test]
fn histories() {
    let history = History::of(sample_documents::history(), None);
    check("history.txt", &history.text(Style::PLAIN));
    check("history.html", &body(&html::history::render(&history)));
}
