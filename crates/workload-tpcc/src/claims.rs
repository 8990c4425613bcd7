//! The ledger audit: what is stored against what calls imply.

use crate::{DistrictTally, Ledger, RowSums};
use model::LedgerFinding;
use serde::{Deserialize, Serialize};

/// What the store says about a district, read before and after a trial by the query `district_tallies`.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredTally {
    pub w_id: u32,
    pub d_id: u32,
    pub next_o_id: i64,
    /// d_ytd in cents.
    pub ytd: i64,
    /// Σ o_ol_cnt.
    pub lines: i64,
    /// Rows of new_order.
    pub undelivered: i64,
    /// Rows of history.
    pub payments: i64,
    /// Σ ol_amount in cents.
    pub amount: i64,
    /// Checksums; absent where a server that looks at its own data leaves them out.
    #[serde(default)]
    pub sums: Option<StoredSums>,
}

/// Checksums of a district.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoredSums {
    /// Of its rows, as a ledger has them.
    #[serde(flatten)]
    pub rows: RowSums,
    /// Of the warehouse, the same in all its districts: Σ s_i_id · ((s_quantity + s_ytd) modulo 91). A line takes q from
    /// s_quantity, or 91 − q returns, and adds q to s_ytd, so no order changes it (2.4.2.2).
    pub stock: i64,
}

impl StoredTally {
    /// From a row of `district_tallies`.
    pub fn from_row(row: &[i64]) -> Option<StoredTally> {
        let &[w_id, d_id, next_o_id, ytd, lines, undelivered, payments, amount, ref sums @ ..] = row else {
            return None;
        };
        let &[of_orders, of_lines, of_payments, of_deliveries, stock] = sums else { return None };
        let rows =
            RowSums { orders: of_orders, lines: of_lines, payments: of_payments, deliveries: of_deliveries };
        let sums = Some(StoredSums { rows, stock });
        let (w_id, d_id) = (u32::try_from(w_id).ok()?, u32::try_from(d_id).ok()?);
        Some(StoredTally { w_id, d_id, next_o_id, ytd, lines, undelivered, payments, amount, sums })
    }

    fn delivered(&self) -> i64 {
        self.next_o_id.saturating_sub(1).saturating_sub(self.undelivered)
    }
}

/// What acknowledged and doubtful calls imply, in a form that can be written to a partial result and read back.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Claims {
    /// By district, from acknowledged calls.
    pub sure: Vec<DistrictTally>,
    /// By district, from calls in doubt.
    pub doubtful: Vec<DistrictTally>,
    /// False where calls may have been acknowledged after these claims were written: then only the lower bounds hold.
    pub complete: bool,
}

impl Claims {
    /// The claims of a ledger.
    pub fn of(ledger: &Ledger, complete: bool) -> Claims {
        Claims { sure: ledger.sure().to_vec(), doubtful: ledger.doubtful().to_vec(), complete }
    }

    /// The ledger audit: the store must have grown by what was acknowledged, and by no more than that plus what is in
    /// doubt, in each district. `None` where the three do not speak of the same districts.
    pub fn audit(&self, before: &[StoredTally], after: &[StoredTally]) -> Option<Vec<LedgerFinding>> {
        let same = before.len() == after.len()
            && before.len() == self.sure.len()
            && before.len() == self.doubtful.len()
            && before.iter().zip(after).all(|(old, new)| (old.w_id, old.d_id) == (new.w_id, new.d_id));
        let listed = |measure: &&Measure| before.iter().chain(after).all(|of| (measure.stored)(of).is_some());
        same.then(|| {
            let measured = MEASURES.iter().filter(listed).map(|measure| self.hold(measure, before, after));
            measured.chain(self.skipped(before, after)).collect()
        })
    }

    /// 2.7.4.2: that no order of a district waits can be answered only after all that waited before the first call have been
    /// delivered. Nothing where no district was skipped.
    fn skipped(&self, before: &[StoredTally], after: &[StoredTally]) -> Option<LedgerFinding> {
        let mut finding = LedgerFinding {
            name: "orders left in skipped districts",
            unit: "orders",
            low: 0,
            high: 0,
            stored: 0,
            violations: Vec::new(),
        };
        let mut skipped = 0;
        let districts = self.sure.iter().zip(before).zip(after).filter(|((tally, _), _)| tally.skipped > 0);
        for ((tally, old), new) in districts {
            let delivered = new.delivered().saturating_sub(old.delivered());
            skipped += tally.skipped;
            if delivered < old.undelivered {
                finding.stored = finding.stored.saturating_add(old.undelivered - delivered);
                finding.violations.push(format!(
                    "district {}/{}: was skipped ({}×), although only {delivered} of the {} orders that waited before were delivered",
                    new.w_id, new.d_id, tally.skipped, old.undelivered
                ));
            }
        }
        (skipped > 0).then_some(finding)
    }

    fn hold(&self, measure: &Measure, before: &[StoredTally], after: &[StoredTally]) -> LedgerFinding {
        let (name, unit) = (measure.name, measure.unit);
        let mut finding = LedgerFinding { name, unit, low: 0, high: 0, stored: 0, violations: Vec::new() };
        for (index, (old, new)) in before.iter().zip(after).enumerate() {
            let low = (measure.claimed)(&self.sure[index]);
            let high = low.saturating_add((measure.claimed)(&self.doubtful[index]));
            let (Some(was), Some(is)) = ((measure.stored)(old), (measure.stored)(new)) else { continue };
            let grown = is.saturating_sub(was);
            finding.low = finding.low.saturating_add(low);
            finding.high = finding.high.saturating_add(high);
            finding.stored = finding.stored.saturating_add(grown);
            let at = format!("district {}/{}", new.w_id, new.d_id);
            if grown < low {
                finding.violations.push(format!("{at}: acknowledged {low} {unit}, stored {grown}"));
            } else if (self.complete || measure.constant) && grown > high {
                finding
                    .violations
                    .push(format!("{at}: at most {high} {unit} were asked for, stored {grown}"));
            }
            if measure.numbers && i64::from(self.sure[index].o_id_max) >= new.next_o_id {
                let (acknowledged, next) = (self.sure[index].o_id_max, new.next_o_id);
                finding
                    .violations
                    .push(format!("{at}: order {acknowledged} was acknowledged, the next is {next}"));
            }
        }
        finding
    }
}

struct Measure {
    name: &'static str,
    unit: &'static str,
    /// What calls imply.
    claimed: fn(&DistrictTally) -> i64,
    /// What is stored; nothing where it was not read.
    stored: fn(&StoredTally) -> Option<i64>,
    /// Whether order numbers are checked along with it.
    numbers: bool,
    /// Whether no call changes it, be it known or not.
    constant: bool,
}

const fn measure(
    name: &'static str,
    unit: &'static str,
    claimed: fn(&DistrictTally) -> i64,
    stored: fn(&StoredTally) -> Option<i64>,
) -> Measure {
    Measure { name, unit, claimed, stored, numbers: false, constant: false }
}

/// The unit of what identifies rows.
const CHECKSUM: &str = "in the checksum";

const MEASURES: [Measure; 11] = [
    Measure {
        numbers: true,
        ..measure("orders placed", "orders", |tally| tally.orders as i64, |district| Some(district.next_o_id))
    },
    measure(
        "contents of orders",
        CHECKSUM,
        |tally| tally.sums.orders,
        |district| Some(district.sums?.rows.orders),
    ),
    measure("order lines", "lines", |tally| tally.lines as i64, |district| Some(district.lines)),
    measure(
        "contents of order lines",
        CHECKSUM,
        |tally| tally.sums.lines,
        |district| Some(district.sums?.rows.lines),
    ),
    measure("order amounts", "cents", |tally| tally.amount, |district| Some(district.amount)),
    Measure {
        constant: true,
        // Once a warehouse.
        ..measure(
            "stock of the warehouse",
            "in the weighted sum",
            |_| 0,
            |district| {
                let sums = district.sums?;
                Some(if district.d_id == 1 { sums.stock } else { 0 })
            },
        )
    },
    measure("payments", "rows of history", |tally| tally.payments as i64, |district| Some(district.payments)),
    measure(
        "contents of payments",
        CHECKSUM,
        |tally| tally.sums.payments,
        |district| Some(district.sums?.rows.payments),
    ),
    measure("money received", "cents", |tally| tally.paid, |district| Some(district.ytd)),
    measure(
        "orders delivered",
        "orders",
        |tally| tally.deliveries as i64,
        |district| Some(district.delivered()),
    ),
    measure(
        "contents of deliveries",
        CHECKSUM,
        |tally| tally.sums.deliveries,
        |district| Some(district.sums?.rows.deliveries),
    ),
];
