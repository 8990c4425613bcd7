//! The short text: the answer, and what weakens it.

use report::text::{self, NARROW, Style, WIDTH};
use result::{Class, Document};

fn short(document: &Document) -> String {
    text::render(document, Style { width: NARROW, in_full: false, ..Style::PLAIN })
}

#[test]
fn it_is_short_and_as_wide_as_asked_and_says_where_the_rest_is() {
    for (name, document) in sample_documents::samples() {
        let text = short(&document);
        let full = text::render(&document, Style::PLAIN);
        // A word that is longer has a line of its own.
        let fits = |line: &str, width| line.chars().count() <= width || line.contains("<script>");
        assert!(text.lines().all(|line| fits(line, NARROW)), "{name}: {text}");
        assert!(full.lines().all(|line| fits(line, WIDTH)), "{name}: {full}");
        assert!(text.trim_end().ends_with("`stackmark report --explain RESULT`"), "{name}: {text}");
    }
}

#[test]
fn the_number_the_audits_and_what_limits_it_are_kept() {
    let text = short(&sample_documents::trial());
    for kept in ["44,900 ± 400 new orders/min", "new-order  ", "17 of 17 passed", "bottleneck"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    for left_out in ["by last name", "CPU / 1000 calls", "Derived from TPC-C"] {
        assert!(!text.contains(left_out), "{left_out}: {text}");
    }
}

#[test]
fn a_comparison_keeps_its_verdict_and_both_sides() {
    let text = short(&sample_documents::comparison());
    for kept in ["worse: ", "A  direct", "B  through HTTP", "audits of all trials"] {
        assert!(text.contains(kept), "{kept}: {text}");
    }
    assert!(!text.contains("engine sessions of"), "{text}");
}

#[test]
fn what_makes_a_result_invalid_is_never_left_out() {
    let text = short(&sample_documents::failed_trial());
    assert!(text.contains("FAILED"), "{text}");
}

#[test]
fn of_several_variants_the_legend_and_why_one_is_missing_are_kept() {
    let text = short(&sample_documents::experiment());
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(text.contains("no MariaDB server was found on this machine"), "{text}");
    let matrix = sample_documents::samples().into_iter().map(|(_, document)| short(&document));
    let matrix: Vec<String> = matrix.filter(|text| text.contains(" −") && text.contains(" %")).collect();
    assert!(matrix.iter().any(|text| text.contains("Effects are relative to")), "{matrix:?}");
}

#[test]
fn a_kind_whose_calls_are_all_declined_is_shown_with_their_times() {
    let mut document = sample_documents::trial();
    let kind = &mut document.trials[0].kinds[0];
    let call_counts = &mut kind.tally.call_counts;
    (call_counts.declined, call_counts.committed) = (call_counts.started, 0);
    kind.tally.latency.retain(|latency| latency.class == Class::Committed);
    kind.tally.latency[0].class = Class::Declined;
    let text = short(&document);
    let row = text.lines().find(|line| line.contains("all declined")).unwrap();
    assert!(row.trim_start().starts_with("new-order") && row.contains(" ms"), "{row}");
    let page = report::markdown::render(&document);
    assert!(page.contains("or of declined ones where all are"), "{page}");
}
