//! Bookings from the command line: what can be chosen of them, and what selling out does to their rates.

use crate::e2e_bad_input::refused;
use crate::e2e_desk::{Desk, assert_good, parse, write};
use serde_json::{Value, json};

fn run(desk: &Desk, line: &str) -> Value {
    let ran = desk.run(line);
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    document
}

#[test]
fn events_tickets_users_and_quantities_are_chosen_and_recorded() {
    let desk = Desk::empty();
    let line = "run booking --json --warmup 0s --duration 1s";
    let document = run(&desk, &format!("{line} --events 5 --stock 50 --limited 1 --users 7 --quantity 1"));
    let data = &document["trials"][0]["data"];
    assert_eq!((&data["scale"], &data["rows"]), (&json!(5), &json!(5)));
    assert_eq!(data["parameters"], json!({"stock": 50, "limited": 1, "users": 7, "quantity": 1}));
    let document = run(&desk, line);
    let data = &document["trials"][0]["data"];
    assert_eq!(data["scale"], 100);
    assert_eq!(
        data["parameters"],
        json!({"stock": 100_000, "limited": 0, "users": 9_999_999, "quantity": 4})
    );

    assert_eq!(desk.run("load booking --db sqlite:b.db --events 3 --stock 60").code(), 0);
    let on_it = "run booking --db sqlite:b.db --json --warmup 0s --duration 1s";
    let document = run(&desk, &format!("{on_it} --stock 60 --users 8"));
    let parameters = &document["trials"][0]["data"]["parameters"];
    assert_eq!(*parameters, json!({"stock": 60, "limited": 0, "users": 8, "quantity": 4}));
    refused(&desk, &format!("{on_it} --stock 61"), &["b.db was loaded with --stock 60, asked for is 61"]);
    refused(&desk, &format!("{on_it} --limited 1"), &["loaded with --limited 0, asked for is 1"]);
    refused(&desk, "load booking --db sqlite:c.db --users 8", &["--users is about calls"]);
    refused(&desk, "run tpcc --stock 3", &["--stock is not an option of tpcc"]);
    refused(&desk, "compare tpcc tpcc --events 3", &["--events is the scale of another workload"]);
    refused(&desk, "run booking --events 3 --scale 3", &["cannot be used with"]);
    refused(&desk, "run booking --stock 3", &["--quantity is 4, and an event has 3 tickets"]);
    for (option, wrong) in [("stock", "0"), ("stock", "-1"), ("users", "0"), ("quantity", "11")] {
        refused(&desk, &format!("run booking --{option} {wrong}"), &[&format!("--{option}"), wrong]);
    }
}

#[test]
fn what_is_chosen_can_be_what_variants_differ_in() {
    let desk = Desk::empty();
    let file = |second: &str| {
        let plan = "warmup = \"0s\"\nduration = \"1s\"\nblocks = 1\ncontrol = false\nstock = 70\n";
        let text = format!(
            "workload = \"booking\"\nscale = 4\n[plan]\n{plan}[[variant]]\nsubject = \"sqlite/rusqlite\"\n[[variant]]\n\
             subject = \"sqlite/rusqlite\"\n{second}\n"
        );
        write(desk.path("x.toml"), &text);
    };
    file("quantity = 1\nstock = 90");
    let ran = desk.run("experiment x.toml --json");
    let document = parse(&ran.out);
    assert_eq!(document["experiment"]["comparisons"][0]["factors"], json!(["parameters"]), "{ran:?}");
    let chosen = |at: usize| &document["trials"][at]["data"]["parameters"];
    let mut found = [chosen(0), chosen(1)]
        .map(|parameters| (parameters["stock"].clone(), parameters["quantity"].clone()));
    found.sort_by_key(|(stock, _)| stock.as_u64());
    assert_eq!(found, [(json!(70), json!(4)), (json!(90), json!(1))]);
    file("quantity = 80");
    refused(&desk, "experiment x.toml", &["x.toml:13:12: `quantity`", "80"]);
    file("quantity = 10\nstock = 9");
    refused(&desk, "experiment x.toml", &["x.toml:13:12: `quantity` is 10, and an event has 9 tickets"]);
}

/// Half of the calls book: 200 tickets a second.
#[test]
fn rates_before_and_after_the_last_ticket_are_not_averaged() {
    let desk = Desk::empty();
    let line = "run booking --json --warmup 0s --duration 12s --rate 400 --arrivals constant --events 1";
    let document = run(&desk, &format!("{line} --quantity 1 --stock 1200"));
    let trial = &document["trials"][0];
    let turn = &trial["turn"];
    assert_eq!((&turn["kind"], &turn["declined_after"]), (&json!("book"), &json!(1.0)));
    let from_s = turn["from_s"].as_f64().unwrap();
    assert!((4.0..=7.5).contains(&from_s), "{turn}");
    // Of 400 calls all are committed before, and about half of them afterwards.
    let rate = trial["headline"]["value"]["value"].as_f64().unwrap();
    let after = turn["committed_after_per_s"].as_f64().unwrap();
    assert!((380.0..=420.0).contains(&rate) && (170.0..=230.0).contains(&after), "{rate} {turn}");
    let all = trial["overall"]["books"]["committed"].as_u64().unwrap();
    assert!((f64::from(3_100)..3_900.0).contains(&(all as f64)), "{all}");
    let rules = trial["rules"].as_array().unwrap();
    let regime = rules.iter().find(|rule| rule["name"] == "regime").unwrap();
    assert!(
        regime["sentence"].as_str().unwrap().contains("of the calls of book were declined instead of"),
        "{regime}"
    );
    let page = std::fs::read_to_string(desk.only_run().join("report.html")).unwrap();
    assert!(page.contains("At the vertical line calls came to be declined."));
}
