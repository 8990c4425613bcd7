//! Results and pages stay small enough to be sent and opened.

use report::html;

#[test]
fn an_hour_stays_below_ten_megabytes_and_its_page_below_two() {
    let document = sample_documents::long_trial();
    let (json, page) = (result::to_json(&document), html::render(&document));
    assert!(json.len() < 10_000_000, "{} bytes of JSON", json.len());
    assert!(page.len() < 2_000_000, "{} bytes of HTML", page.len());
}

#[test]
fn so_do_an_hour_and_ten_minutes_of_the_largest_trial() {
    for (seconds, slices) in [(600, 610), (3_600, 3_610)] {
        let document = sample_documents::busy_trial(seconds);
        let trial = &document.trials[0];
        assert_eq!((trial.slices.len(), trial.processes.len(), trial.kinds.len()), (slices, 3, 5));
        assert!(
            trial.kinds.iter().all(|kind| kind.tally.call_counts.balance() && kind.tally.latency.len() == 6)
        );
        assert!(trial.engine.as_ref().is_some_and(|engine| engine.t_s.len() == 600));
        let (json, page) = (result::to_json(&document), html::render(&document));
        assert!(json.len() < 10_000_000, "{seconds} s: {} bytes of JSON", json.len());
        assert!(page.len() < 2_000_000, "{seconds} s: {} bytes of HTML", page.len());
        println!("{seconds} s: {} bytes of JSON, {} of HTML", json.len(), page.len());
    }
}

#[test]
fn twelve_variants_in_five_blocks_make_a_page_below_two_megabytes() {
    let document = sample_documents::experiment();
    assert_eq!(document.trials.len(), 55);
    let (json, page) = (result::to_json(&document), html::render(&document));
    assert!(json.len() < 4_000_000, "{} bytes of JSON", json.len());
    assert!(page.len() < 2_000_000, "{} bytes of HTML", page.len());
}
