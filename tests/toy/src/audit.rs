//! What must hold in the stored data. Queries are in `spec/sql/audits.sql`.

use crate::{Cardinality, Ledger};
use result::{Check, InputCheck};
use sql::audit::{About, AuditGroup, AuditSet, SIGMAS, groups};
use sql::{Catalogue, CatalogueError};

pub(crate) fn audits() -> Result<Vec<AuditGroup<Cardinality>>, CatalogueError> {
    groups(GROUPS, &catalogue()?)
}

/// The query whose rows [`crate::StoredBox::from_row`] reads.
pub(crate) fn stored() -> Result<String, CatalogueError> {
    catalogue()?.text("stored")
}

fn catalogue() -> Result<Catalogue, CatalogueError> {
    Catalogue::parse(include_str!("../spec/sql/audits.sql"))
}

type Ask = About<Cardinality>;

const GROUPS: &[AuditSet<Cardinality>] = &[AuditSet {
    prepare: &[],
    audits: &[
        Ask::condition(
            "box_notes",
            "post",
            "each box holds the notes that were posted into it",
            &["box", "notes", "posted", "total", "total posted"],
        ),
        Ask::condition("note_boxes", "post", "each note is in a box that exists", &["box", "number"]),
        Ask::shape(
            "box_ids",
            "boxes",
            "boxes are all there, numbered without a gap",
            &["boxes", "lowest", "highest"],
        ),
    ],
}];

/// What was sent, against how it should be drawn: as many numbers in the lower half as in the upper one.
pub(crate) fn input_check(ledger: &Ledger) -> InputCheck {
    let samples = ledger.sent;
    let measured = ledger.low as f64 / samples.max(1) as f64;
    let (expected, tolerance) = (0.5, SIGMAS * (0.25 / samples.max(1) as f64).sqrt());
    InputCheck {
        name: "numbers in the lower half".into(),
        clause: None,
        expected,
        tolerance,
        measured,
        samples,
        check: match samples {
            0 => Check::Inconclusive,
            _ => Check::from_passed((measured - expected).abs() <= tolerance),
        },
    }
}
