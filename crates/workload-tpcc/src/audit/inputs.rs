//! The input audit: what was really sent, against the shares that the standard prescribes.

use super::judge::{self, share};
use super::skew::{self, Field};
use super::{AuditOutcome, Figure, Finding, InputFinding};
use crate::{Cardinality, InputCounts, LINES_MAX, LINES_MIN, kind};
use model::Mix;
use sql::audit::SIGMAS;

/// Judges the counts of a ledger: the mix from the deck or as it was asked for, remote shares, by-name shares, rollbacks,
/// lines an order, and the skew of items (`items`: one in sixteen is counted) and customer numbers. Of kinds that were not to
/// be called nothing is judged but that they were not.
pub fn input_audit(
    counts: &InputCounts,
    items: &[u32],
    customers: &[u32],
    size: Cardinality,
    mix: Option<&Mix>,
) -> Vec<InputFinding> {
    let calls: u64 = counts.calls.iter().sum();
    let orders = counts.calls[kind::NEW_ORDER];
    let payments = counts.calls[kind::PAYMENT];
    let statuses = counts.calls[kind::ORDER_STATUS];
    let mut found: Vec<InputFinding> = MIX
        .iter()
        .zip(counts.calls)
        .enumerate()
        .map(|(kind, ((name, cards), count))| match mix {
            None => of_share(name, "5.2.4.2", calls, count, f64::from(*cards) / 23.0),
            Some(mix) => of_mix(name, calls, count, mix.share(kind)),
        })
        .collect();
    let is_made = |kind: usize| mix.is_none_or(|mix| mix.share(kind) > 0.0);
    let with =
        |kinds: &[usize], input: InputFinding| kinds.iter().any(|kind| is_made(*kind)).then_some(input);
    let order = |input| with(&[kind::NEW_ORDER], input);
    let payment = |input| with(&[kind::PAYMENT], input);
    let status = |input| with(&[kind::ORDER_STATUS], input);
    let customer = |input| with(&[kind::NEW_ORDER, kind::PAYMENT, kind::ORDER_STATUS], input);
    let of_kinds = [
        order(lines_an_order(orders, counts.lines)),
        order(remote("remote lines", "2.4.1.5", size, counts.lines, counts.lines_remote, 0.01)),
        payment(remote("remote payments", "2.5.1.2", size, payments, counts.payments_remote, 0.15)),
        payment(of_share("payments by last name", "2.5.1.2", payments, counts.payments_by_name, 0.60)),
        status(of_share("order-status by last name", "2.6.1.2", statuses, counts.statuses_by_name, 0.60)),
        order(of_share("orders with an unused item", "2.4.1.4", orders, counts.rollbacks_asked, 0.01)),
        order(skewed("skew of items", Field::SampledItem, items)),
        customer(skewed("skew of customers", Field::Customer, customers)),
    ];
    found.extend(of_kinds.into_iter().flatten());
    for figure in found.iter_mut().filter_map(|input| input.finding.figure.as_mut()) {
        // Of few samples any share may come: no more than the whole.
        figure.tolerance = figure.tolerance.min(1.0);
    }
    found
}

/// Cards of each kind in a deck of 23, in the order of kinds.
const MIX: [(&str, u32); 5] = [
    ("new-order in the mix", 10),
    ("payment in the mix", 10),
    ("order-status in the mix", 1),
    ("delivery in the mix", 1),
    ("stock-level in the mix", 1),
];

fn of_share(
    name: &'static str,
    clause: &'static str,
    samples: u64,
    hits: u64,
    expected: f64,
) -> InputFinding {
    InputFinding { name, clause, finding: judge::judged_draws(name, samples, hits, expected) }
}

/// The share of a kind in a mix that was asked for. That all calls are of one kind, or none, needs no tolerance.
fn of_mix(name: &'static str, calls: u64, count: u64, expected: f64) -> InputFinding {
    let is_exact = calls > 0 && (expected == 0.0 || expected == 1.0);
    let finding = match is_exact {
        true => judge::held(name, share(calls, count, expected)),
        false => judge::judged_draws(name, calls, count, expected),
    };
    InputFinding { name, clause: "--mix", finding }
}

fn remote(
    name: &'static str,
    clause: &'static str,
    size: Cardinality,
    samples: u64,
    hits: u64,
    expected: f64,
) -> InputFinding {
    if size.warehouses > 1 {
        return of_share(name, clause, samples, hits, expected);
    }
    let figure = Figure { tolerance: 0.0, ..share(samples, hits, 0.0) };
    let (verdict, sentence) = match hits {
        0 => (AuditOutcome::Passed, "with one warehouse nothing is remote".to_owned()),
        hits => (AuditOutcome::Failed, format!("{hits} {name}, and there is one warehouse only")),
    };
    InputFinding { name, clause, finding: Finding::of(verdict, sentence, figure) }
}

/// Lines as a share of the most there could be: 5 to 15 with equal chance, so ten of fifteen.
fn lines_an_order(orders: u64, lines: u64) -> InputFinding {
    let name = "lines of the most an order may have";
    let most = LINES_MAX as f64;
    let kinds = (LINES_MAX - LINES_MIN + 1) as f64;
    let deviation = ((kinds * kinds - 1.0) / 12.0).sqrt() / most;
    let figure = Figure {
        measured: lines as f64 / (orders.max(1) as f64 * most),
        expected: (LINES_MAX + LINES_MIN) as f64 / 2.0 / most,
        tolerance: SIGMAS * deviation / (orders.max(1) as f64).sqrt(),
        samples: orders,
    };
    InputFinding { name, clause: "2.4.1.3", finding: judge::judged(name, figure) }
}

fn skewed(name: &'static str, field: Field, counts: &[u32]) -> InputFinding {
    let draws: u64 = counts.iter().map(|count| u64::from(*count)).sum();
    let top = (crate::top_tenth(counts) * draws as f64).round() as u64;
    let numbers = u32::try_from(counts.len()).expect("as many as there are ids");
    InputFinding { name, clause: "2.1.6", finding: skew::judged(name, field, numbers, draws, top) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::input::nurand;
    use crate::{Call, Data, Inputs, Ledger, Tpcc, Who};
    use model::random::Random;
    use model::{Conflict, Fault, Inputs as _, Ledger as _};

    const SIZE: Cardinality = Cardinality::standard(10);

    /// What the audit of many calls does not pass, where each call is changed before it is counted.
    fn not_passed(size: Cardinality, calls: usize, mut change: impl FnMut(&mut Call)) -> Vec<&'static str> {
        let mut ledger = Ledger::new(size);
        let mut inputs: Vec<Inputs> =
            (0..10).map(|worker| Inputs::new(size, Data::c_load_of(1), 7, worker)).collect();
        for number in 0..calls {
            let mut call = inputs[number % 10].draw();
            change(&mut call);
            ledger.post(&call, &Err(Fault::Conflict(Conflict::Busy)));
        }
        input_audit(ledger.counts(), ledger.item_counts(), ledger.customer_counts(), size, None)
            .into_iter()
            .filter(|found| found.finding.verdict != AuditOutcome::Passed)
            .map(|found| found.name)
            .collect()
    }

    #[test]
    fn our_own_inputs_pass() {
        assert_eq!(not_passed(SIZE, 120_000, |_| {}), [""; 0]);
        assert_eq!(not_passed(Cardinality::standard(1), 120_000, |_| {}), [""; 0]);
    }

    #[test]
    fn even_items_and_customers_are_caught() {
        let random = &mut Random::stream(3, &[]);
        let caught = not_passed(SIZE, 120_000, |call| {
            if let Call::NewOrder(order) = call {
                order.c_id = random.range(1, 3_000) as u32;
                for line in order.lines.iter_mut().filter(|line| line.i_id <= SIZE.items) {
                    line.i_id = random.range(1, 100_000) as u32;
                }
            }
        });
        assert_eq!(caught, ["skew of items", "skew of customers"]);
    }

    #[test]
    fn constants_that_are_drawn_again_are_caught() {
        let random = &mut Random::stream(4, &[]);
        let caught = not_passed(SIZE, 120_000, |call| {
            if let Call::NewOrder(order) = call {
                for line in order.lines.iter_mut().filter(|line| line.i_id <= SIZE.items) {
                    let constant = random.below(8_192) as u32;
                    line.i_id = nurand(random, 8191, constant, 1, 100_000);
                }
            }
        });
        assert_eq!(caught, ["skew of items"]);
    }

    #[test]
    fn inputs_that_never_leave_home_are_caught() {
        let caught = not_passed(SIZE, 60_000, |call| match call {
            Call::NewOrder(order) => {
                let home = order.w_id;
                order.lines.iter_mut().for_each(|line| line.supply_w_id = home);
            }
            Call::Payment(payment) => payment.c_w_id = payment.w_id,
            _ => {}
        });
        assert_eq!(caught, ["remote lines", "remote payments"]);
    }

    #[test]
    fn a_missing_rollback_and_a_missing_look_up_by_name_are_caught() {
        let caught = not_passed(SIZE, 60_000, |call| match call {
            Call::NewOrder(order) => {
                order.lines.iter_mut().for_each(|line| line.i_id = line.i_id.min(SIZE.items));
            }
            Call::Payment(payment) => payment.customer = Who::Id(1),
            _ => {}
        });
        let expected = ["payments by last name", "orders with an unused item", "skew of customers"];
        assert_eq!(caught, expected);
    }

    #[test]
    fn another_mix_and_shorter_orders_are_caught() {
        let caught = not_passed(SIZE, 60_000, |call| match call {
            Call::StockLevel(level) => {
                let delivery = crate::Delivery { w_id: level.w_id, o_carrier_id: 1 };
                *call = Call::Delivery(delivery);
            }
            Call::NewOrder(order) => order.lines.truncate(LINES_MIN),
            _ => {}
        });
        assert!(caught.contains(&"stock-level in the mix") && caught.contains(&"delivery in the mix"));
        assert!(caught.contains(&"lines of the most an order may have"), "{caught:?}");
    }

    /// What the audit makes of `drawn` where `asked` was to be drawn.
    fn of_mixes(drawn: &[(&str, f64)], asked: &[(&str, f64)]) -> Vec<(&'static str, AuditOutcome)> {
        let mix = |weights: &[(&str, f64)]| {
            let weights: Vec<_> =
                weights.iter().map(|(name, weight)| ((*name).to_owned(), *weight)).collect();
            Mix::of(<Tpcc as model::Workload>::KINDS, &weights).unwrap()
        };
        let mut ledger = Ledger::new(SIZE);
        let mut inputs = Inputs::new(SIZE, Data::c_load_of(1), 7, 0).mixed(mix(drawn));
        for _ in 0..60_000 {
            ledger.post(&inputs.draw(), &Err(Fault::Conflict(Conflict::Busy)));
        }
        let (counts, asked) = (ledger.counts(), mix(asked));
        input_audit(counts, ledger.item_counts(), ledger.customer_counts(), SIZE, asked.as_ref())
            .into_iter()
            .map(|found| (found.name, found.finding.verdict))
            .collect()
    }

    #[test]
    fn a_mix_that_was_asked_for_is_what_calls_are_held_to() {
        let (asked, only) = ([("payment", 95.0), ("delivery", 5.0)], [("payment", 1.0)]);
        let names = |mixes: &[(&'static str, AuditOutcome)], check: AuditOutcome| {
            mixes.iter().filter(|(_, found)| *found == check).map(|(name, _)| *name).collect::<Vec<_>>()
        };
        for asked in [&asked[..], &only] {
            let right = of_mixes(asked, asked);
            assert_eq!(names(&right, AuditOutcome::Failed), [""; 0]);
            assert!(
                right.iter().all(|(name, _)| !name.contains("lines") && !name.contains("order-status by"))
            );
            assert_eq!(names(&right, AuditOutcome::Inconclusive), ["order-status in the mix"; 0]);
        }
        let caught = names(&of_mixes(&[("payment", 9.0), ("delivery", 1.0)], &asked), AuditOutcome::Failed);
        assert_eq!(caught, ["payment in the mix", "delivery in the mix"]);
        let caught =
            names(&of_mixes(&[("payment", 999.0), ("stock-level", 1.0)], &only), AuditOutcome::Failed);
        assert_eq!(caught, ["payment in the mix", "stock-level in the mix"]);
    }

    #[test]
    fn a_short_run_tells_little() {
        let mut ledger = Ledger::new(SIZE);
        let mut inputs = Inputs::new(SIZE, Data::c_load_of(1), 7, 0);
        for _ in 0..46 {
            ledger.post(&inputs.draw(), &Err(Fault::Conflict(Conflict::Busy)));
        }
        let found = input_audit(ledger.counts(), ledger.item_counts(), ledger.customer_counts(), SIZE, None);
        assert!(found.iter().all(|found| found.finding.verdict != AuditOutcome::Failed), "{found:?}");
        let listed = |name| found.iter().find(|found| found.name == name).unwrap().finding.verdict;
        assert_eq!(listed("remote lines"), AuditOutcome::Inconclusive);
        assert_eq!(listed("skew of items"), AuditOutcome::Inconclusive);
    }
}
