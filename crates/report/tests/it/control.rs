//! What every format says of A/A controls.

use report::text;
use report::text::Style;

#[test]
fn a_control_that_differs_from_itself_is_said_in_every_format_and_once() {
    let mut document = sample_documents::comparison();
    let noise = sample_documents::compared_mut(&mut document).noise.as_mut().unwrap();
    (noise.ratio.value, noise.ratio.low, noise.ratio.high) = (1.03, Some(1.01), Some(1.05));
    for report in super::formats(&document) {
        assert!(report.contains("shows a bias"), "{report}");
    }
    let mut document = sample_documents::experiment();
    for comparison in &mut document.experiment.as_mut().unwrap().comparisons {
        let noise = comparison.noise.as_mut().unwrap();
        (noise.ratio.value, noise.ratio.low, noise.ratio.high) = (1.03, Some(1.01), Some(1.05));
    }
    let report = text::render(&document, Style::PLAIN);
    assert_eq!(report.matches("control shows a bias").count(), 1, "{report}");
}
