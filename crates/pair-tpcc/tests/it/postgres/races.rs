//! Eight sessions at once on tiny data: all three styles next to each other, and in the extended tests each next to itself.
//! Nothing is lost, nothing is done twice, and the order of locks leaves no deadlock.

use super::support::{number, tiny, wait};
use adapter_tokio_postgres::PostgresOpener;
use measure::Monotonic;
use model::{CallWork, Cents, Conflict, Fault, Inputs as _, OpenError, Session, Target};
use pair_tpcc::postgres::{PipelinedTarget, ProcedureTarget};
use sql::{Dialect, ServerUrl};
use std::collections::BTreeMap;
use std::sync::Barrier;
use workload_tpcc::conformance::GOLDEN_LOAD_SEED;
use workload_tpcc::{
    Call, Cardinality, Data, Delivery, Inputs, Line, NewOrder, Outcome, Payment, SqlTarget, Tpcc, Who,
    catalogue,
};

const SESSIONS: usize = 8;

type Answers = Vec<Result<Outcome, Fault>>;

#[derive(Debug, Clone, Copy)]
enum Style {
    Plain,
    Pipelined,
    Procedure,
}

/// Who cannot reach the server or open fails once everybody is ready: the others wait for all.
async fn answers<T: Target<Tpcc>>(target: Result<T, OpenError>, calls: &[Call], start: &Barrier) -> Answers {
    let opened = match target {
        Ok(target) => target.open(0).await,
        Err(error) => Err(error),
    };
    start.wait();
    let mut session = opened.unwrap();
    let mut answers = Vec::with_capacity(calls.len());
    for call in calls {
        let mut answer = session.run(call, &mut CallWork::default()).await;
        // What the one retry policy does: nothing of a conflict was applied.
        while matches!(answer, Err(Fault::Conflict(Conflict::Serialization))) {
            answer = session.run(call, &mut CallWork::default()).await;
        }
        answers.push(answer);
    }
    answers
}

/// Makes lists of calls at once; styles take turns among the sessions.
fn at_once(url: &ServerUrl, styles: &[Style], lists: &[Vec<Call>]) -> Vec<Answers> {
    let start = Barrier::new(lists.len());
    std::thread::scope(|scope| {
        let sessions: Vec<_> = lists
            .iter()
            .zip(styles.iter().cycle())
            .map(|(calls, style)| {
                let (clock, start) = (Monotonic::start(), &start);
                scope.spawn(move || {
                    wait(async {
                        match style {
                            Style::Plain => {
                                let texts = catalogue(Dialect::Postgres).unwrap();
                                let opener = PostgresOpener::reach(url, texts).await;
                                answers(opener.map(|opener| SqlTarget::new(opener, clock)), calls, start)
                                    .await
                            }
                            Style::Pipelined => {
                                let target = PipelinedTarget::reach(url, clock).await;
                                answers(target, calls, start).await
                            }
                            Style::Procedure => {
                                let target = ProcedureTarget::reach(url, clock).await;
                                answers(target, calls, start).await
                            }
                        }
                    })
                })
            })
            .collect();
        sessions.into_iter().map(|session| session.join().expect("a session panicked")).collect()
    })
}

/// The styles of sessions that run at once, with a name.
type Styles = (&'static str, &'static [Style]);

const TOGETHER: &[Styles] = &[("all", &[Style::Plain, Style::Pipelined, Style::Procedure])];

fn in_groups(
    groups: &[Styles],
    name: &str,
    list: impl Fn(u32) -> Vec<Call>,
    check: impl Fn(&ServerUrl, &[Answers]),
) {
    for (group, styles) in groups {
        let url = tiny(&format!("{name}_{group}"));
        let lists: Vec<Vec<Call>> = (0..SESSIONS as u32).map(&list).collect();
        let answers = at_once(&url, styles, &lists);
        if let Some(fault) = answers.iter().flatten().find_map(|answer| answer.as_ref().err()) {
            panic!("{group}: {fault}");
        }
        check(&url, &answers);
        assert_sound(&url);
    }
}

/// The conditions that a lost update or half an order would break (3.3.2).
fn assert_sound(url: &ServerUrl) {
    for (condition, text) in [
        (
            "1",
            "select count(*) from warehouse
             where w_ytd <> (select sum(d_ytd) from district where d_w_id = w_id)",
        ),
        (
            "2",
            "select count(*) from district
             where d_next_o_id - 1 <> (select max(o_id) from orders where o_w_id = d_w_id and o_d_id = d_id)",
        ),
        (
            "3",
            "select count(*) from (
               select 1 from new_order group by no_w_id, no_d_id having max(no_o_id) - min(no_o_id) + 1 <> count(*)
             ) as gaps",
        ),
        (
            "6",
            "select count(*) from orders where o_ol_cnt <> (
               select count(*) from order_line where ol_w_id = o_w_id and ol_d_id = o_d_id and ol_o_id = o_id)",
        ),
        (
            "7",
            "select count(*) from order_line join orders on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
             where (ol_delivery_d is null) <> (o_carrier_id is null)",
        ),
        (
            "9",
            "select count(*) from district where d_ytd <> (
               select sum(h_amount) from history where h_w_id = d_w_id and h_d_id = d_id)",
        ),
        (
            "10 and 12",
            "select count(*) from customer where c_balance + c_ytd_payment <> coalesce((
               select sum(ol_amount) from order_line join orders
                 on o_w_id = ol_w_id and o_d_id = ol_d_id and o_id = ol_o_id
               where o_w_id = c_w_id and o_d_id = c_d_id and o_c_id = c_id and ol_delivery_d is not null), 0)",
        ),
        (
            "stock",
            "select count(*) from (
               select s_w_id, sum(s_ytd) as ytd, sum(s_order_cnt) as cnt, sum(s_remote_cnt) as far
               from stock group by s_w_id) as taken
             join (
               select ol_supply_w_id, sum(ol_quantity) as ytd, count(*) as cnt,
                 count(*) filter (where ol_supply_w_id <> ol_w_id) as far
               from order_line where ol_o_id > 30 group by ol_supply_w_id) as ordered on s_w_id = ol_supply_w_id
             where taken.ytd <> ordered.ytd or taken.cnt <> ordered.cnt or taken.far <> ordered.far",
        ),
    ] {
        assert_eq!(number(url, text), 0, "condition {condition}");
    }
}

fn orders(groups: &[Styles]) {
    // Lines in any order, from both warehouses, items twice: all sessions want the same stock rows.
    let order = |seed: u32| {
        let mut lines: arrayvec::ArrayVec<Line, 15> = (0..9)
            .map(|at| seed * 31 + at * 17)
            .map(|mixed| Line {
                i_id: mixed % 12 + 1,
                supply_w_id: mixed / 3 % 2 + 1,
                quantity: mixed % 10 + 1,
            })
            .collect();
        if seed.is_multiple_of(9) {
            lines[4].i_id = 101;
        }
        Call::NewOrder(NewOrder { w_id: 1, d_id: 3, c_id: seed % 30 + 1, lines })
    };
    in_groups(
        groups,
        "orders",
        |session| (0..40).map(|turn| order(session * 40 + turn)).collect(),
        |url, answers| {
            let placed = answers.iter().flatten().filter_map(|answer| match answer {
                Ok(Outcome::Placed(placed)) => Some(placed.o_id),
                _ => None,
            });
            let mut numbers: Vec<u32> = placed.collect();
            numbers.sort_unstable();
            assert_eq!(numbers, (31..31 + numbers.len() as u32).collect::<Vec<_>>());
            assert_eq!(numbers.len(), 320 - 36);
            // Of an unused item nothing is stored.
            assert_eq!(number(url, "select count(*) from orders where o_id > 30"), 284);
            assert_eq!(number(url, "select count(*) from order_line where ol_o_id > 30"), 284 * 9);
            assert_eq!(number(url, "select sum(s_order_cnt) from stock"), 284 * 9);
            assert_eq!(number(url, "select count(*) from order_line where ol_i_id > 100"), 0);
        },
    );
}

fn payments(groups: &[Styles]) {
    let amount = |session: u32, turn: u32| i64::from(100 + session * 1_000 + turn * 37);
    in_groups(
        groups,
        "payments",
        |session| {
            let pay = |turn| Payment {
                w_id: 1,
                d_id: 2,
                c_w_id: 2,
                c_d_id: 4,
                customer: Who::Id(5),
                h_amount: Cents(amount(session, turn)),
            };
            (0..40).map(|turn| Call::Payment(pay(turn))).collect()
        },
        |url, answers| {
            let paid: i64 = (0..SESSIONS as u32).flat_map(|s| (0..40).map(move |turn| amount(s, turn))).sum();
            // 10.00 was there for each customer, or for each of its district or warehouse.
            for (query, expected) in [
                ("select 100 * w_ytd from warehouse where w_id = 1", 300_000 + paid),
                ("select 100 * d_ytd from district where d_w_id = 1 and d_id = 2", 30_000 + paid),
                (
                    "select -100 * c_balance from customer where c_w_id = 2 and c_d_id = 4 and c_id = 5",
                    1_000 + paid,
                ),
                ("select c_payment_cnt from customer where c_w_id = 2 and c_d_id = 4 and c_id = 5", 321),
            ] {
                assert_eq!(number(url, query), expected, "{query}");
            }
            // Each answer shows the balance that its own payment left: no two are alike.
            let mut balances: Vec<i64> = answers
                .iter()
                .flatten()
                .map(|answer| match answer {
                    Ok(Outcome::Paid(paid)) => paid.customer.c_balance.0,
                    other => panic!("{other:?}"),
                })
                .collect();
            balances.sort_unstable();
            balances.dedup();
            assert_eq!(balances.len(), 320);
        },
    );
}

fn deliveries(groups: &[Styles]) {
    in_groups(
        groups,
        "deliveries",
        // Nine orders wait in each district: most of these find nothing left.
        |session| {
            let call = |turn: u32| Delivery { w_id: turn % 2 + 1, o_carrier_id: session + 1 };
            (0..10).map(|turn| Call::Delivery(call(turn))).collect()
        },
        |url, answers| {
            let mut delivered: BTreeMap<(usize, usize), Vec<u32>> = BTreeMap::new();
            for answers in answers {
                for (turn, answer) in answers.iter().enumerate() {
                    let Ok(Outcome::Delivered(found)) = answer else { panic!("{answer:?}") };
                    for (district, o_id) in found.o_ids.iter().enumerate() {
                        delivered.entry((turn % 2 + 1, district)).or_default().extend(o_id);
                    }
                }
            }
            assert_eq!(delivered.len(), 20);
            for o_ids in delivered.values_mut() {
                o_ids.sort_unstable();
                assert_eq!(*o_ids, (22..=30).collect::<Vec<_>>());
            }
            assert_eq!(number(url, "select count(*) from new_order"), 0);
        },
    );
}

fn mix(groups: &[Styles]) {
    in_groups(
        groups,
        "mix",
        |session| {
            let c_load = Data::c_load_of(GOLDEN_LOAD_SEED);
            let mut stream = Inputs::new(Cardinality::tiny(), c_load, 3, session);
            (0..250).map(|_| stream.draw()).collect()
        },
        |_, _| {},
    );
}

#[test]
fn orders_placed_at_once_in_one_district_get_numbers_without_twins_and_gaps() {
    orders(TOGETHER);
}

#[test]
fn payments_made_at_once_to_one_customer_lose_not_a_cent() {
    payments(TOGETHER);
}

#[test]
fn deliveries_made_at_once_deliver_each_order_once() {
    deliveries(TOGETHER);
}

#[test]
fn the_whole_mix_from_eight_sessions_leaves_sound_data_and_meets_no_deadlock() {
    mix(TOGETHER);
}

mod extended {
    use super::*;

    const ALONE: &[Styles] = &[("pipelined", &[Style::Pipelined]), ("procedure", &[Style::Procedure])];

    #[test]
    fn sessions_of_one_style_at_once_lose_nothing_and_do_nothing_twice() {
        orders(ALONE);
        payments(ALONE);
        deliveries(ALONE);
        mix(ALONE);
    }
}
