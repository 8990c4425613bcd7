//! Numbers at the ends of their range, in answers that are right otherwise: a verdict, and never the end of the process.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use crate::e2e_workdir::{Running, Workdir};
use stackmark_tests::extremes::{Extreme, proxy};

const WORKLOADS: [&str; 5] = ["tpcc", "tpcb", "catalogue", "transfer", "booking"];

/// A server of ours on tiny data, and its port.
fn serving(workdir: &Workdir, workload: &str, data: &str) -> (Running, u16) {
    let load = workdir.run(&format!("load {workload} {data} --fresh --db sqlite:{workload}.db"));
    assert_eq!(load.code(), 0, "{load:?}");
    let line = format!("serve {workload} --db sqlite:{workload}.db --listen 127.0.0.1:0 --pool 4");
    let server = workdir.start(&line);
    server.until("it listens", || server.out().ends_with('\n'));
    let port = server.out().trim().rsplit(':').next().unwrap().parse().unwrap();
    (server, port)
}

const VERIFY: (&str, &str) =
    ("--golden", "verify --idle 0s URL --workload WORKLOAD --db sqlite:WORKLOAD.db --json");
/// Without what takes long and sums nothing.
const VERIFY_SUMS: (&str, &str) = (
    "--golden",
    "verify --idle 0s URL --workload WORKLOAD --db sqlite:WORKLOAD.db --only golden,random,race,stored",
);
const RUN: (&str, &str) =
    ("", "run WORKLOAD --url URL --db sqlite:WORKLOAD.db --duration 1s --warmup 0s --clients 4");

/// Commands on a server of which every so many answers are spoiled, each on data of its own.
fn check(extreme: Extreme, workloads: &[&str], commands: &[(&str, &str)]) {
    let workdir = Workdir::empty();
    for workload in workloads {
        for (data, command) in commands {
            let (_server, port) = serving(&workdir, workload, data);
            let url = format!("http://127.0.0.1:{}", proxy(port, extreme).unwrap());
            let ran = workdir.run(&command.replace("URL", &url).replace("WORKLOAD", workload));
            assert_eq!(ran.code(), 1, "{workload}, {extreme:?}: {ran:?}");
            assert!(!ran.err.contains("panicked") && !ran.out.contains("panicked"), "{workload}: {ran:?}");
        }
    }
}

#[test]
fn the_largest_numbers_give_a_verdict() {
    check(
        Extreme { number: i64::MAX, status: None, to: &[], every: 3, field: None },
        &WORKLOADS,
        &[VERIFY_SUMS],
    );
}

/// Numbers that are of one field alone come through to what is summed.
const RACES: (&str, &str) =
    ("--golden", "verify --idle 0s URL --workload WORKLOAD --db sqlite:WORKLOAD.db --only race");

#[test]
fn the_smallest_balance_of_a_payment_gives_a_verdict() {
    check(
        Extreme { number: i64::MIN, status: None, to: &[], every: 1, field: Some("c_balance") },
        &["tpcc"],
        &[RACES],
    );
}

/// Golden calls have versions at the end of their range, which count where a wrong answer says that they were done, or leaves it open.
#[test]
fn the_largest_numbers_of_calls_give_a_verdict() {
    for status in [204, 418] {
        check(
            Extreme {
                number: 0,
                status: Some(status),
                to: &["DELETE", "9223372036854775806"],
                every: 1,
                field: None,
            },
            &["catalogue"],
            &[VERIFY_SUMS],
        );
    }
}

mod extended {
    use super::*;

    #[test]
    fn extreme_numbers_give_a_verdict_in_runs_too() {
        check(
            Extreme { number: i64::MAX, status: None, to: &[], every: 3, field: None },
            &WORKLOADS,
            &[VERIFY, RUN],
        );
        check(
            Extreme { number: i64::MIN, status: None, to: &[], every: 1, field: None },
            &WORKLOADS,
            &[VERIFY, RUN],
        );
    }

    #[test]
    fn an_extreme_number_in_one_field_gives_a_verdict() {
        let fields: [(&str, &[&str]); 5] = [
            ("tpcc", &["c_balance", "o_id", "s_quantity", "ol_amount", "i_price", "c_credit_lim", "h_date"]),
            ("tpcb", &["abalance"]),
            ("catalogue", &["id", "version", "price", "kcal", "total", "inserted"]),
            ("transfer", &["balance"]),
            ("booking", &["available", "quantity", "stock"]),
        ];
        for (workload, fields) in fields {
            for &field in fields {
                for number in [i64::MIN, i64::MAX] {
                    let extreme = Extreme { number, status: None, to: &[], every: 1, field: Some(field) };
                    check(extreme, &[workload], &[VERIFY_SUMS]);
                }
            }
        }
    }
}
