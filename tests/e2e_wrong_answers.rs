//! A server that answers wrongly shows in the call counts, and never in the throughput.

use crate::e2e_impostor::{Asked, Reply, answer, before, changed};
use crate::e2e_workdir::{Ran, Workdir, parse};
use serde_json::Value;
use std::fs;

/// For servers whose first wrong answer ends the trial: long enough for it to come, however long a disk stalls.
const UNTIL_FOUND_OUT: &str = "--duration 60s";

/// A run against a server that does as `twist` says, on the database that the real one behind it writes to.
struct Lied {
    workdir: Workdir,
    ran: Ran,
    document: Value,
}

impl Lied {
    fn to(
        options: &str,
        twist: impl Fn(&Asked, &dyn Fn() -> Vec<u8>) -> Reply + Send + Sync + 'static,
    ) -> Lied {
        let workdir = Workdir::loaded();
        let (_server, real) = workdir.serve();
        let url = before(&real, twist);
        let line = format!("run tpcc --url {url} --db sqlite:bench.db --warmup 0s --clients 2 {options}");
        let ran = workdir.run(&line);
        // A run that could not take place at all has no result.
        let text = fs::read_to_string(workdir.only_run().join("result.json"));
        let document = text.map_or(Value::Null, |text| parse(&text));
        Lied { workdir, ran, document }
    }

    fn book(&self, column: &str) -> u64 {
        self.document["trials"][0]["overall"]["call_counts"][column].as_u64().unwrap()
    }

    /// The answer is bad, none of the calls counts, and all of them are in one column.
    #[track_caller]
    fn counts_none_but(&self, column: &str) {
        assert_eq!(self.ran.code(), 1, "{:?}", self.ran);
        assert!(self.ran.out.contains("FAILED  trial: none of "), "{:?}", self.ran);
        let trial = &self.document["trials"][0];
        assert_eq!(self.book("committed") + self.book("declined"), 0, "{}", self.ran.out);
        assert_eq!(trial["headline"]["value"]["value"], 0.0);
        assert!(self.book(column) > 0 && self.book(column) == self.book("started"), "{}", self.ran.out);
        self.workdir.assert_sound("bench.db");
    }

    /// The trial was ended by a wrong answer.
    #[track_caller]
    fn is_invalid(&self, why: &str) {
        assert_eq!(self.ran.code(), 1, "{:?}", self.ran);
        let trial = &self.document["trials"][0];
        assert_eq!((&self.document["state"], &trial["state"]), (&"failed".into(), &"failed".into()));
        let defects = trial["defects"].to_string();
        assert!(defects.contains(why), "{defects}");
        assert!(
            trial["failure"].as_str().is_some_and(|failure| self.ran.out.contains(failure)),
            "{:?}",
            self.ran
        );
        assert!(self.book("defect") > 0);
    }
}

#[test]
fn a_wrong_total_ends_the_trial() {
    let lied = Lied::to(UNTIL_FOUND_OUT, |asked, pass_on| {
        let honest = pass_on();
        Reply::Bytes(if asked.path == "/tpcc/new-order" {
            changed(&honest, |json| {
                if let Some(total) = json["total_amount"].as_i64() {
                    json["total_amount"] = (total + 1).into();
                }
            })
        } else {
            honest
        })
    });
    lied.is_invalid("total");
    assert_eq!(
        lied.document["trials"][0]["headline"]["value"]["value"], 0.0,
        "no order was answered rightly"
    );
}

/// It passed once, with a rate of nothing and every check green.
#[test]
fn a_server_that_declines_every_order_ends_the_trial() {
    let lied = Lied::to(UNTIL_FOUND_OUT, |asked, pass_on| {
        let honest = pass_on();
        Reply::Bytes(if asked.path == "/tpcc/new-order" {
            changed(&honest, |json| json["status"] = "item-not-valid".into())
        } else {
            honest
        })
    });
    lied.is_invalid("an order of items that are all sold was declined");
}

#[test]
fn a_missing_field_ends_the_trial() {
    let lied = Lied::to(UNTIL_FOUND_OUT, |asked, pass_on| {
        let honest = pass_on();
        Reply::Bytes(if asked.path == "/tpcc/payment" {
            changed(&honest, |json| drop(json["customer"].as_object_mut().unwrap().remove("c_id").unwrap()))
        } else {
            honest
        })
    });
    lied.is_invalid("c_id");
}

#[test]
fn what_is_no_json_ends_the_trial() {
    Lied::to(UNTIL_FOUND_OUT, |_, _| Reply::Bytes(answer("200 OK", "application/json", "{\"o_id\":")))
        .is_invalid("EOF while parsing");
}

#[test]
fn a_server_that_only_fails_leaves_every_call_in_doubt() {
    Lied::to("--calls 100", |_, _| Reply::Bytes(answer("500 Internal Server Error", "text/plain", "oops")))
        .counts_none_but("in_doubt");
}

#[test]
fn a_server_that_never_answers_leaves_every_call_in_doubt_after_its_deadline() {
    let lied = Lied::to("--calls 10 --deadline 200ms", |_, _| Reply::Silence);
    lied.counts_none_but("in_doubt");
    assert_eq!(lied.book("started"), 10, "{}", lied.ran.out);
}

#[test]
fn a_call_that_was_stored_and_not_answered_is_in_doubt() {
    let lied = Lied::to("--calls 100", |_, pass_on| {
        drop(pass_on());
        Reply::Close
    });
    lied.counts_none_but("in_doubt");
    let ledger = lied.document["trials"][0]["ledger"].as_array().unwrap();
    let orders = ledger.iter().find(|found| found["name"] == "orders placed").unwrap();
    assert!(orders["stored"].as_i64() > orders["low"].as_i64(), "they were stored: {orders}");
}

#[test]
fn calls_that_are_shed_are_refused() {
    let problem =
        r#"{"type":"urn:stackmark:problem:refused","status":503,"applied":"no","reason":"no-session"}"#;
    Lied::to("--calls 100", move |_, _| {
        Reply::Bytes(answer("503 Service Unavailable", "application/problem+json", problem))
    })
    .counts_none_but("refused");
}
