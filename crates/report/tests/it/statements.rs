//! Statements of calls and parts of kinds, in every format.

use report::testing;
use report::text::Colour;
use report::{html, markdown, text};

#[test]
fn statements_and_parts_of_kinds_are_shown_in_every_format() {
    let mut document = testing::trial();
    for (name, report, words) in [
        ("text", text::render(&document, Colour::Never), "99.4 % of 5.2 ms (700 calls): 82.8 % pool wait"),
        ("markdown", markdown::render(&document), "| payment by last name | customers\\_by\\_name | 1 |"),
        (
            "html",
            html::render(&document),
            ">payment by last name</th><td class=\"words\">customers_by_name</td>",
        ),
    ] {
        assert!(report.contains(words), "{name}:\n{report}");
    }
    let kind = &mut document.trials[0].kinds[0];
    kind.clocked.as_mut().unwrap().calls = 9;
    assert!(text::render(&document, Colour::Never).contains("new-order     too few calls (9)"));
    assert!(!html::render(&document).contains(">new-order</th><td class=\"words\">read_stock"));
    // Results of versions without them.
    for kind in &mut document.trials[0].kinds {
        kind.clocked = None;
        kind.facets.clear();
    }
    for report in
        [text::render(&document, Colour::Never), markdown::render(&document), html::render(&document)]
    {
        assert!(!report.contains("One call in 64") && !report.contains("by id"), "{report}");
    }
}
