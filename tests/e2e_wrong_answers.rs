//! A server with wrong responses shows in the call counts, and never in the throughput.

use crate::e2e_impostor::{Asked, Reply, answer, before, changed, forward};
use crate::e2e_workdir::{Ran, Workdir, parse};
use measure::Monotonic;
use model::{Clock, Nanos};
use serde_json::Value;
use std::fs;
use std::path::PathBuf;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

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
        Lied::of("tpcc", &format!("--clients 2 {options}"), twist)
    }

    /// The same with another workload.
    fn of(
        workload: &str,
        options: &str,
        twist: impl Fn(&Asked, &dyn Fn() -> Vec<u8>) -> Reply + Send + Sync + 'static,
    ) -> Lied {
        Lied::of_server(workload, options, |_, _| twist)
    }

    /// The same where what it does depends on the address of the real one, or its database.
    fn of_server<T: Fn(&Asked, &dyn Fn() -> Vec<u8>) -> Reply + Send + Sync + 'static>(
        workload: &str,
        options: &str,
        twist: impl FnOnce(&str, PathBuf) -> T,
    ) -> Lied {
        let workdir = Workdir::loaded();
        let database = if workload == "tpcc" { "bench.db" } else { "other.db" };
        if workload != "tpcc" {
            assert_eq!(workdir.run(&format!("load {workload} --db sqlite:{database} --golden")).code(), 0);
        }
        let (_server, real) = workdir.serve_workload(workload, database);
        let twist = twist(real.strip_prefix("http://").unwrap(), workdir.path(database));
        let url = before(&real, twist);
        let warmup = if options.contains("--warmup") { "" } else { "--warmup 0s" };
        let line = format!("run {workload} --url {url} --db sqlite:{database} {warmup} {options}");
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

    /// No call had a wrong answer, and the questions after the last one show that they are answered otherwise than stored.
    #[track_caller]
    fn shows_when_it_is_asked(&self, audit: &str) {
        assert_eq!(self.ran.code(), 1, "{:?}", self.ran);
        let trial = &self.document["trials"][0];
        let audits = trial["audits"].as_array().unwrap();
        let named: Vec<&Value> = audits.iter().filter(|found| found["family"] == "responses").collect();
        let failed: Vec<&Value> = named.iter().copied().filter(|found| found["check"] == "failed").collect();
        assert!(failed.len() == 1 && failed[0]["name"] == audit, "{named:?}\n{:?}", self.ran);
        assert!(
            failed[0]["violations"][0].as_str().is_some_and(|what| what.contains("answered {")),
            "{failed:?}"
        );
        assert!(named.len() >= 2 && self.ran.out.contains(audit), "{:?}", self.ran);
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

/// A change of the answers at a path.
type Change = (&'static str, fn(&mut Value));

#[test]
fn what_no_answer_gives_away_shows_when_the_data_is_compared_with_them() {
    let lies: [(&str, Change, &str); 3] = [
        (
            "tpcc",
            ("/tpcc/stock-level", |json| {
                // A threshold that no stock is below shows at once.
                let low = json["low_stock"].as_i64().unwrap();
                json["low_stock"] = (low + i64::from(low > 0)).into();
            }),
            "closing-stock-level",
        ),
        (
            "catalogue",
            ("/foods?", |json| {
                // As its next version would be, so that the food by itself is right.
                if let Some(food) = json["foods"].get_mut(0) {
                    food["version"] = (food["version"].as_i64().unwrap() + 1).into();
                    food["price"] = (100 + (food["price"].as_i64().unwrap() - 87) % 900).into();
                }
            }),
            "closing-foods-list",
        ),
        (
            "catalogue",
            ("/categories", |json| json["categories"][0]["version"] = 999.into()),
            "closing-categories",
        ),
    ];
    for (workload, (path, change), audit) in lies {
        let options = if workload == "tpcc" { "--calls 300" } else { "--calls 300 --clients 1" };
        let lied = Lied::of(workload, options, move |asked, pass_on| {
            let honest = pass_on();
            let is_it = match path {
                "/categories" => asked.path == path && asked.method() == "GET",
                path => asked.path.starts_with(path) && asked.method() != "PUT",
            };
            let good = honest.starts_with(b"HTTP/1.1 200");
            Reply::Bytes(if is_it && good { changed(&honest, change) } else { honest })
        });
        lied.shows_when_it_is_asked(audit);
    }
}

/// What had a wrong answer once is not forgotten because the same question is not answered again.
#[test]
fn a_server_that_answers_a_closing_question_wrongly_and_then_no_more_is_found() {
    const CALLS: u64 = 300;
    let (asked_so_far, lies) = (AtomicU64::new(0), AtomicU64::new(0));
    let lied = Lied::to(&format!("--calls {CALLS}"), move |asked, pass_on| {
        let is_closing = asked_so_far.fetch_add(1, Ordering::SeqCst) >= CALLS;
        if is_closing && lies.load(Ordering::SeqCst) > 0 {
            return Reply::Close;
        }
        let honest = pass_on();
        let is_it = is_closing && asked.path.starts_with("/tpcc/order-status");
        if !is_it || !honest.starts_with(b"HTTP/1.1 200") {
            return Reply::Bytes(honest);
        }
        lies.fetch_add(1, Ordering::SeqCst);
        Reply::Bytes(changed(&honest, |json| {
            json["o_entry_d"] = (json["o_entry_d"].as_i64().unwrap() - 1).into();
        }))
    });
    lied.shows_when_it_is_asked("closing-order-status");
}

#[test]
fn what_no_call_changes_and_what_calls_make_of_a_balance_is_known_at_once() {
    let lies: [(Change, &str); 4] = [
        (
            ("/tpcc/order-status", |json| {
                json["c_balance"] = (json["c_balance"].as_i64().unwrap() - 1).into();
            }),
            "a customer's balance is not what payments and deliveries have made of it",
        ),
        (
            ("/tpcc/payment", |json| {
                let balance = &mut json["customer"]["c_balance"];
                *balance = (balance.as_i64().unwrap() - 1).into();
            }),
            "a customer's balance is not what payments and deliveries have made of it",
        ),
        (
            ("/tpcc/payment", |json| json["warehouse"]["city"] = "Nowhere".into()),
            "an address is not as loaded",
        ),
        (
            ("/tpcc/payment", |json| json["h_date"] = (json["h_date"].as_i64().unwrap() - 7_200).into()),
            "a payment's date is not that of its call",
        ),
    ];
    for ((path, change), why) in lies {
        let lied = Lied::to(UNTIL_FOUND_OUT, move |asked, pass_on| {
            let honest = pass_on();
            Reply::Bytes(if asked.path == path { changed(&honest, change) } else { honest })
        });
        lied.is_invalid(why);
    }
}

/// What became of the calls that were looked up at once.
fn looked_up(lied: &Lied) -> &Value {
    let audits = lied.document["trials"][0]["audits"].as_array().unwrap();
    audits.iter().find(|audit| audit["name"] == "acknowledged-at-once").unwrap_or(&Value::Null)
}

#[test]
fn acknowledged_calls_are_looked_up_at_once_outside_the_measured_time() {
    let options = "--warmup 3s --duration 500ms --clients 2 --mix book=100";
    let honest = Lied::of("booking", options, |_, pass_on| Reply::Bytes(pass_on()));
    let found = looked_up(&honest);
    assert_eq!(found["check"], "passed", "{found} {:?}", honest.ran);
    assert!(
        found["sentence"]
            .as_str()
            .unwrap()
            .starts_with("acknowledged calls looked up at once, outside the measured time, and found: "),
        "{found}"
    );
    // Each booking is answered as booked, and none is stored: from the first on, and from the middle of the measured time on.
    let in_between = "--warmup 1s --duration 1s --clients 2 --mix book=100";
    for (options, from) in [(options, Nanos::ZERO), (in_between, Nanos::from_millis(1_500))] {
        let first = OnceLock::new();
        let lying = Lied::of("booking", options, move |asked, pass_on| {
            if asked.method() != "POST" || first.get_or_init(Monotonic::start).now() < from {
                return Reply::Bytes(pass_on());
            }
            let mut booking = asked.body();
            booking["id"] = asked.header("idempotency-key").into();
            Reply::Bytes(answer("201 Created", "application/json", &booking.to_string()))
        });
        let found = looked_up(&lying);
        assert_eq!(found["check"], "failed", "{from:?}: {found} {:?}", lying.ran);
        assert!(found["violations"][0].as_str().unwrap().contains("no-such-booking"), "{found}");
        assert!(lying.ran.out.contains("acknowledged-at-once"), "{:?}", lying.ran);
    }
    // Each order is answered with another second than the one that is stored. So few orders leave each the newest of its customer for a
    // while.
    let options = "--warmup 3s --duration 500ms --clients 2 --rate 30 --mix new-order=100";
    let lying = Lied::of("tpcc", options, |asked, pass_on| {
        let later = |order: &mut Value| {
            if let Some(stored) = order["o_entry_d"].as_i64() {
                order["o_entry_d"] = (stored + 1).into();
            }
        };
        let honest = pass_on();
        // A declined order has no date.
        let is_placed = asked.path == "/tpcc/new-order" && honest.starts_with(b"HTTP/1.1 200");
        Reply::Bytes(if is_placed { changed(&honest, later) } else { honest })
    });
    let found = looked_up(&lying);
    assert_eq!(found["check"], "failed", "{found} {:?}", lying.ran);
    // What each payment takes from the customer's balance is given back at once.
    // So few, that no customer pays twice, whose balance would give it away.
    let options = "--warmup 5s --duration 500ms --clients 2 --rate 3 --mix payment=100";
    let lying = Lied::of_server("tpcc", options, |_, database| {
        move |asked: &Asked, pass_on: &dyn Fn() -> Vec<u8>| {
            let honest = pass_on();
            if asked.path == "/tpcc/payment" {
                let (_, body) = std::str::from_utf8(&honest).unwrap().split_once("\r\n\r\n").unwrap();
                let paid: Value = serde_json::from_str(body).unwrap();
                let body = asked.body();
                let of = |value: &Value| value.as_i64().unwrap();
                let store = rusqlite::Connection::open(&database).unwrap();
                store.busy_timeout(std::time::Duration::from_secs(10)).unwrap();
                let back = "update customer set c_balance = c_balance + ?1 where c_w_id = ?2 and c_d_id = ?3 and c_id = ?4";
                let customer =
                    [&body["h_amount"], &body["c_w_id"], &body["c_d_id"], &paid["customer"]["c_id"]];
                store.execute(back, customer.map(of)).unwrap();
            }
            Reply::Bytes(honest)
        }
    });
    let found = looked_up(&lying);
    assert_eq!(found["check"], "failed", "{found} {:?}", lying.ran);
    // Foods that are answered as inserted, or as removed, and are not.
    let undone = [
        ("bulk-insert=1", "POST", "201 Created", r#"{"inserted":50}"#, "no-such-food"),
        ("food-create=1,food-delete=1", "DELETE", "204 No Content", "", "status 200"),
        ("category-create=1,category-delete=1", "DELETE", "204 No Content", "", "status 200"),
    ];
    let honest = "--warmup 2s --duration 500ms --clients 2 --mix bulk-insert=1,food-create=4,food-delete=4,category-create=4,category-delete=4";
    let honest = Lied::of("catalogue", honest, |_, pass_on| Reply::Bytes(pass_on()));
    assert_eq!(looked_up(&honest)["check"], "passed", "{} {:?}", looked_up(&honest), honest.ran);
    for (mix, method, status, body, instead) in undone {
        let options = format!("--warmup 5s --duration 500ms --clients 2 --rate 30 --mix {mix}");
        let lying = Lied::of("catalogue", &options, move |asked, pass_on| match asked.method() == method {
            true => Reply::Bytes(answer(status, "application/json", body)),
            false => Reply::Bytes(pass_on()),
        });
        let found = looked_up(&lying);
        assert_eq!(found["check"], "failed", "{found} {:?}", lying.ran);
        let violation = found["violations"][0].as_str().unwrap();
        let (_, later) = violation.split_once("acknowledged, then ").unwrap();
        assert!(later.contains(instead), "{found}");
    }
    // Without a warm-up no call is held up for that, and nothing is said to have been checked.
    let options = "--warmup 0s --calls 50 --clients 2 --mix book=100";
    assert!(looked_up(&Lied::of("booking", options, |_, pass_on| Reply::Bytes(pass_on()))).is_null());
}

/// It answers each booking as booked, and forwards it when something is read for the first time: that is when the last call has
/// been answered.
#[test]
fn what_is_acknowledged_before_it_is_stored_is_invalid_though_it_is_stored_in_the_end() {
    let kept = std::sync::Mutex::new(Vec::new());
    let lied = Lied::of_server("booking", "--calls 60 --clients 2 --mix book=100", move |real, _| {
        let real = real.to_owned();
        move |asked, pass_on| {
            let mut kept = kept.lock().unwrap();
            if asked.method() == "POST" {
                let mut booking = asked.body();
                booking["id"] = asked.header("idempotency-key").into();
                kept.push(asked.whole());
                return Reply::Bytes(answer("201 Created", "application/json", &booking.to_string()));
            }
            kept.drain(..).for_each(|booking| drop(forward(&real, &booking)));
            Reply::Bytes(pass_on())
        }
    });
    assert_eq!(lied.ran.code(), 1, "{:?}", lied.ran);
    let ledger = lied.document["trials"][0]["ledger"].as_array().unwrap();
    let failed: Vec<&Value> = ledger.iter().filter(|found| found["check"] == "failed").collect();
    let words = "Calls were acknowledged before they were stored. When the last one had been answered: ";
    assert!(!failed.is_empty(), "{:?}", lied.ran);
    assert!(failed.iter().all(|found| found["sentence"].as_str().unwrap().starts_with(words)), "{failed:?}");
}

#[test]
fn what_is_written_after_the_last_answer_is_invalid_though_all_audits_pass_then() {
    // Customers are asked for once the last payment has been answered.
    let lied = Lied::of_server("tpcc", "--calls 60 --clients 2 --mix payment=100", |_, database| {
        let written = AtomicU64::new(0);
        let add = move |cents: i64| {
            let conn = rusqlite::Connection::open(&database).unwrap();
            conn.busy_timeout(std::time::Duration::from_secs(60)).unwrap();
            conn.execute("update warehouse set w_ytd = w_ytd + ?1 where w_id = 1", [cents]).unwrap();
        };
        move |asked, pass_on| {
            let wanted = u64::from(asked.path == "/tpcc/order-status");
            let turn = written.compare_exchange(wanted, wanted + 1, Ordering::SeqCst, Ordering::SeqCst);
            let answer = pass_on();
            if turn.is_ok() {
                add(if wanted == 0 { -100 } else { 100 });
            }
            Reply::Bytes(answer)
        }
    });
    assert_eq!(lied.ran.code(), 1, "{:?}", lied.ran);
    let trial = &lied.document["trials"][0];
    let checks = ["audits", "ledger"].map(|of| trial[of].as_array().unwrap().clone()).concat();
    let failed: Vec<&Value> = checks.iter().filter(|found| found["check"] == "failed").collect();
    let [one] = failed[..] else { panic!("{failed:?}\n{:?}", lied.ran) };
    assert_eq!(one["name"], "last-answer", "{one}");
    assert!(one["violations"][0].as_str().unwrap().contains(" later"), "{one}");
}

/// A user who has no booking of an event is told to have one, which such an event allows only once.
#[test]
fn a_booking_that_is_declined_as_made_already_and_is_not_is_invalid() {
    let reason = |lied: &Lied| {
        let ledger = lied.document["trials"][0]["ledger"].as_array().unwrap();
        ledger.iter().find(|found| found["name"] == "already-booked").cloned().unwrap_or_default()
    };
    let few = "--calls 200 --clients 2 --mix book=1 --users 3";
    let honest = Lied::of("booking", few, |_, pass_on| Reply::Bytes(pass_on()));
    let found = reason(&honest);
    assert!(found["check"] == "passed" && found["stored"].as_u64() > Some(5), "{found} {:?}", honest.ran);
    assert_eq!(honest.ran.code(), 0, "{:?}", honest.ran);
    let limited = AtomicU64::new(0);
    let lying = Lied::of("booking", "--calls 200 --clients 2 --mix book=1", move |asked, pass_on| {
        let is_limited =
            asked.method() == "POST" && asked.body()["event"].as_u64().unwrap().is_multiple_of(4);
        if !is_limited || !limited.fetch_add(1, Ordering::Relaxed).is_multiple_of(3) {
            return Reply::Bytes(pass_on());
        }
        let problem = r#"{"type":"urn:stackmark:problem:already-booked","title":"t","status":409,"detail":"d","applied":"no"}"#;
        Reply::Bytes(answer("409 Conflict", "application/problem+json", problem))
    });
    let found = reason(&lying);
    assert!(lying.ran.code() == 1 && found["check"] == "failed", "{found} {:?}", lying.ran);
    assert!(found["sentence"].as_str().unwrap().contains("has no booking of event"), "{found}");
}
