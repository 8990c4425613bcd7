//! A server of TPC-C that loads its own data, which no one else can see: its answers are compared with what it was to load.

use crate::e2e_impostor::{Reply, answer, changed, forward, listen};
use crate::e2e_workdir::{Ran, Running, Workdir, parse};
use serde_json::{Value, json};
use sql::DbUrl;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use workload_tpcc::Tpcc;

const TOKEN: &str = "open sesame";

/// One of our servers, and the database that it works on.
struct Behind {
    /// Ends with this value.
    _server: Running,
    address: String,
    database: String,
    /// One warehouse as the standard has it, or the golden data.
    in_full: bool,
}

impl Behind {
    fn in_full(workdir: &Workdir) -> Behind {
        Behind::on(workdir, "bench.db".into(), true)
    }

    /// The `number`th on golden data.
    fn golden(workdir: &Workdir, number: u32) -> Behind {
        let database = format!("golden-{number}.db");
        let loaded = workdir.run(&format!("load tpcc --golden --db sqlite:{database}"));
        assert_eq!(loaded.code(), 0, "{loaded:?}");
        Behind::on(workdir, database, false)
    }

    fn on(workdir: &Workdir, database: String, in_full: bool) -> Behind {
        let (server, url) = workdir.serve_workload("tpcc", &database);
        Behind {
            _server: server,
            address: url.strip_prefix("http://").unwrap().to_owned(),
            database,
            in_full,
        }
    }
}

/// A run against a server that loads what it is asked for, and whose good answers to orders on the whole data are changed so.
fn run(lie: Option<fn(&mut Value)>) -> Ran {
    let workdir = Arc::new(Workdir::loaded_in_full());
    let loads = AtomicU32::new(1);
    // It is taken away in the end: what listens goes on for as long as the program.
    let kept = Arc::new(Mutex::new(Some((Arc::clone(&workdir), Behind::golden(&workdir, 0)))));
    let answering = Arc::clone(&kept);
    let url = listen(move |asked| {
        let mut answering = answering.lock().unwrap();
        let Some((of_server, behind)) = &mut *answering else { return Reply::Close };
        let is_admin = asked.path.starts_with("/admin/");
        assert!(!is_admin || asked.header("authorization") == format!("Bearer {TOKEN}"));
        Reply::Bytes(match asked.path.as_str() {
            "/admin/load" => {
                let body = asked.body();
                let warehouses = body["size"]["warehouses"].as_u64().unwrap();
                *behind = match warehouses {
                    1 => {
                        // It is there, and no one has used it.
                        assert!(body["seed"] == workload::LOAD_SEED && !behind.in_full, "{body}");
                        Behind::in_full(of_server)
                    }
                    _ => Behind::golden(of_server, loads.fetch_add(1, Ordering::Relaxed)),
                };
                answer("200 OK", "application/json", "{}")
            }
            "/admin/evidence" => {
                let url = format!("sqlite:{}", of_server.path(&behind.database).display());
                let url: DbUrl = url.parse().unwrap();
                let audit = json!({ "name": "all", "passed": true, "sentence": "all is well" });
                let evidence = trial::evidence::<Tpcc>(&[url]).unwrap();
                let body = json!({ "evidence": evidence, "audits": [audit] });
                answer("200 OK", "application/json", &body.to_string())
            }
            path => {
                let honest = forward(&behind.address, &asked.whole());
                match lie.filter(|_| behind.in_full && path == "/tpcc/new-order") {
                    Some(lie) => changed(&honest, lie),
                    None => honest,
                }
            }
        })
    });
    let line = "--scale 1 --warmup 0s --calls 200 --clients 2 --require-audit --json";
    let mut command = workdir.command(&format!("run tpcc/sqlite --url {url} {line}"));
    command.env("STACKMARK_ADMIN_TOKEN", TOKEN);
    let ran = Running::start(command).end();
    kept.lock().unwrap().take();
    ran
}

#[test]
fn answers_of_a_server_that_loads_its_own_orders_are_compared_with_what_it_was_to_load() {
    let ran = run(None);
    assert_eq!(ran.code(), 0, "{ran:?}");
    let trial = &parse(&ran.out)["trials"][0];
    assert!(trial["notes"].to_string().contains("there was no independent audit"), "{}", trial["notes"]);
    assert!(trial["audits"].to_string().contains("the server reports: all is well"), "{}", trial["audits"]);
    assert_eq!(trial["conformance"]["check"], "passed", "{}", trial["conformance"]);
    let ledger = trial["ledger"].as_array().unwrap();
    assert!(!ledger.is_empty() && ledger.iter().all(|found| found["check"] == "passed"), "{ledger:?}");
    // The name of an item fits its length and changes no sum.
    let ran = run(Some(|answered| {
        if answered["status"] == "placed" {
            answered["lines"][0]["i_name"] = "anotherThingAltogether".into();
        }
    }));
    assert_eq!(ran.code(), 1, "{ran:?}");
    let trial = &parse(&ran.out)["trials"][0];
    assert_eq!(trial["conformance"]["check"], "passed", "{}", trial["conformance"]);
    assert!(
        trial["defects"].to_string().contains("an item of the order is not as loaded"),
        "{}",
        trial["defects"]
    );
}
