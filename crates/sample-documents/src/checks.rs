//! Audits, ledger, inputs, conformance and rules of the samples.

use result::{Audit, AuditFamily, AuditWhen, Check, Conformance, InputCheck, LedgerCheck, Rule, Severity};

pub(super) fn audits() -> Vec<Audit> {
    let consistency = [
        ("warehouse-ytd", "w_ytd equals the sum of d_ytd of its districts"),
        ("next-order-id", "d_next_o_id − 1 equals the highest o_id and the highest no_o_id"),
        ("new-order-gaps", "new_order holds a run of numbers without gaps in each district"),
        ("line-count-district", "the sum of o_ol_cnt equals the rows of order_line, a district"),
        ("carrier-null", "o_carrier_id is null exactly where new_order has the order"),
        ("line-count-order", "o_ol_cnt equals the rows of order_line, an order"),
        ("delivery-date-null", "ol_delivery_d is null exactly where o_carrier_id is null"),
        ("warehouse-history", "w_ytd equals the sum of h_amount"),
        ("district-history", "d_ytd equals the sum of h_amount of the district"),
        ("customer-balance", "c_balance equals delivered amounts less payments"),
        ("delivered-orders", "orders less new_order is 2,100 in each district at load"),
        ("customer-total", "c_balance + c_ytd_payment equals delivered amounts"),
    ];
    let shape = [
        ("stock-counters", "stock counters agree with the order lines of the supplying warehouse"),
        ("customer-counters", "payment and delivery counters agree with history and orders"),
        ("no-ghost-items", "no order line names an unknown item"),
        ("line-amounts", "every amount is quantity times price"),
        ("item-skew", "the top 10 % of items have 72.6 % of the lines"),
    ];
    let consistency = consistency.into_iter().enumerate().map(|(i, (name, sentence))| {
        audit(name, AuditFamily::Consistency, Some(format!("3.3.2.{}", i + 1)), sentence)
    });
    let shape = shape.into_iter().map(|(name, sentence)| audit(name, AuditFamily::Shape, None, sentence));
    consistency.chain(shape).collect()
}

fn audit(name: &str, family: AuditFamily, clause: Option<String>, sentence: &str) -> Audit {
    Audit {
        store: None,
        name: name.to_owned(),
        family,
        when: AuditWhen::AfterRun,
        clause,
        check: Check::Passed,
        sentence: sentence.to_owned(),
        violations: Vec::new(),
        duration_s: 0.012 + name.len() as f64 * 0.004,
    }
}

/// A lost update that the audit of warehouse totals found.
pub(super) fn fail(audits: &mut [Audit]) {
    audits[0].check = Check::Failed;
    audits[0].sentence = "w_ytd differs from the sum of d_ytd in 1 of 1 warehouses".to_owned();
    audits[0].violations = vec!["warehouse 1: w_ytd 398,214.11, sum of d_ytd 402,377.90".to_owned()];
}

pub(super) fn ledger(new_orders: u64, payments: u64) -> Vec<LedgerCheck> {
    let check = |name: &str, unit: &str, value: u64| LedgerCheck {
        name: name.to_owned(),
        unit: unit.to_owned(),
        low: value as i64,
        high: value as i64,
        stored: value as i64,
        check: Check::Passed,
        sentence: "the store holds what was acknowledged".to_owned(),
    };
    vec![
        check("orders placed", "rows", new_orders),
        check("payments entered", "rows", payments),
        check("payment amount", "cents", payments * 250_113),
    ]
}

pub(super) fn inputs(calls: u64) -> Vec<InputCheck> {
    let check = |name: &str, clause: &str, expected: f64, tolerance: f64, measured: f64| InputCheck {
        name: name.to_owned(),
        clause: Some(clause.to_owned()),
        expected,
        tolerance,
        measured,
        samples: calls,
        check: Check::Passed,
    };
    vec![
        check("payments by last name", "2.5.1.2", 0.60, 0.010, 0.6011),
        check("orders that roll back", "2.4.1.4", 0.01, 0.002, 0.0099),
        check("payments of the mix", "5.2.3", 0.4348, 0.001, 0.4348),
        check("lines of the top 10 % of items", "2.1.6", 0.725, 0.010, 0.7262),
    ]
}

pub(super) fn conformance() -> Conformance {
    Conformance {
        check: Check::Passed,
        vectors: 64,
        random_calls: 10_000,
        duration_s: 2.4,
        sentence: "golden vectors and random calls agree with the oracle".to_owned(),
        mismatches: Vec::new(),
    }
}

pub(super) fn rules() -> Vec<Rule> {
    let rule = |name: &str, severity, sentence: &str, advice: Option<&str>| Rule {
        name: name.to_owned(),
        severity,
        sentence: sentence.to_owned(),
        advice: advice.map(str::to_owned),
        saturated: None,
    };
    vec![
        rule("call-accounting", Severity::Ok, "every call that was due is accounted for", None),
        rule("audit", Severity::Ok, "all audits passed", None),
        rule(
            "saturation",
            Severity::Info,
            "the write lane of SQLite was busy 97 % of the time: this is likely its maximum throughput",
            None,
        ),
        rule("little", Severity::Ok, "8 clients = 1,817/s × 4.4 ms", None),
        rule("outcome-mix", Severity::Ok, "0.4 % declined, as the workload plans", None),
        rule(
            "steady",
            Severity::Warning,
            "3 of 60 slices ran 20 % slower than the rest; something else may have used the machine",
            Some("run again on a quiet machine, or for longer"),
        ),
        rule(
            "co-located",
            Severity::Info,
            "generator and engine share the cores; the generator's part is in the table of costs",
            None,
        ),
    ]
}
