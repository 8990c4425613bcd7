//! Statements of calls and parts of kinds, in every format.
use report::text::Style;
use report::{html, text};

#[test]
fn statements_of_too_few_calls_are_not_shown() {
    let mut document = sample_documents::trial();
    let kind = &mut document.trials[0].kinds[0];
    kind.clocked.as_mut().unwrap().calls = 9;
    assert!(text::render(&document, Style::PLAIN).contains("new-order     too few calls (9)"));
    assert!(!html::render(&document).contains(">new-order</th><td class=\"words\">read_stock"));
    // No call had a clock around its statements.
    for kind in &mut document.trials[0].kinds {
        kind.clocked = None;
        kind.facets.clear();
    }
    for report in super::formats(&document) {
        assert!(!report.contains("One call in 64") && !report.contains("by id"), "{report}");
    }
}
