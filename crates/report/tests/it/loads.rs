//! What reports say of sweeps and searches.

use crate::report::check_order;
use report::text::Colour;
use report::{html, markdown, testing, text};

#[test]
fn a_sweep_says_where_load_stops_paying_before_anything_else() {
    check_order(&testing::sweep(), "Throughput stops paying at 16 clients", "56 700");
    check_order(&testing::rate_sweep(), "Calls are served as they are due up to 400/s", "74.3 %");
}

#[test]
fn a_search_says_its_rate_and_what_gives_out_before_its_steps() {
    check_order(&testing::search(), "1 220 calls a second kept it", "212 ms");
    check_order(&testing::search(), "one writer likely gives out", "212 ms");
}

#[test]
fn a_step_that_was_ended_early_says_so_and_why_in_every_format() {
    let document = testing::search();
    for said in [
        text::render(&document, Colour::Never),
        markdown::render(&document),
        html::render(&document).replace('\u{a0}', " "),
    ] {
        assert!(said.contains("ended early after 15 s"), "{said}");
        assert!(said.contains("of at most 391 that its p99 allows"), "{said}");
    }
    let json = result::to_json(&document);
    assert!(json.contains("\"ended_early_s\": 15.0"), "{json}");
}
