//! Databases that someone else has made.

use crate::e2e_workdir::{Workdir, assert_good, parse};
use crate::engines_workdir::{SHORT, Server, on};
use rig::Engine;
use std::process::Command;

/// The changes that make of our tables those of HammerDB: numbers without a size, no key in history, no picture of an item.
const LIKE_HAMMERDB: [&str; 8] = [
    "drop table stackmark_load",
    "alter table item drop column i_im_id",
    "alter table orders alter column o_ol_cnt type numeric",
    "alter table orders alter column o_all_local type numeric",
    "alter table stock alter column s_quantity type numeric(6,0)",
    "alter table customer alter column c_credit_lim type numeric(12,2)",
    "alter table district alter column d_next_o_id type numeric",
    "alter table history add column hist_id bigserial primary key",
];

#[test]
fn a_database_of_another_tool_is_audited_and_run_on_and_its_differences_are_named() {
    on(Engine::Postgres, |server| {
        let workdir = Workdir::empty();
        let url = server.loaded(&workdir, "tpcc --scale 1", "tool");
        server.engine.client("tool", &LIKE_HAMMERDB.join(";")).unwrap();
        let found = server.json(&workdir, &format!("audit tpcc --db {url}"));
        assert_eq!(found["scale"], 1, "{found}");
        assert!(found["loaded_by"].as_str().unwrap().starts_with("another tool"), "{found}");
        let notes = found["notes"].to_string();
        for named in ["i_im_id", "hist_id"] {
            assert!(notes.contains(named), "{notes}");
        }
        let line = format!("run tpcc/postgres/tokio-postgres/procedure --db {url} {SHORT} --json");
        let ran = server.run(&workdir, &line);
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        let data = &document["trials"][0]["data"];
        assert!(data["tool_notes"].to_string().contains("hist_id"), "{data}");
        assert!(data["checksum"].is_null() && data["scale"] == 1, "{data}");
        impossible(server, &workdir, &url);
    });
}

/// What makes a run impossible is said before anything starts.
fn impossible(server: &Server, workdir: &Workdir, url: &str) {
    let files = workdir.files();
    server.engine.client("tool", "alter table stock rename column s_dist_05 to s_info_05").unwrap();
    let ran = server.run(workdir, &format!("run tpcc/postgres --db {url}"));
    ran.refused(&["TPC-C cannot run on these tables", "stock", "s_dist_05"]);
    server.engine.client("tool", "drop table new_order").unwrap();
    let ran = server.run(workdir, &format!("audit tpcc --db {url}"));
    ran.refused(&["TPC-C needs the tables new_order too"]);
    assert_eq!(workdir.files(), files);
}

/// go-tpc's tables and what its loader puts there; see the file for what is like it and what is not.
const GO_TPC: [&str; 2] = [include_str!("data/go-tpc.schema.sql"), include_str!("data/go-tpc.load.sql")];

/// What makes of a tool's load one that breaks a rule of the standard, the audit that says so, and what it says. One after
/// the other, on the same database: each leaves what the one before broke.
const BROKEN: [(&str, &str, &str); 3] = [
    // Every name drawn, the first thousand too: the rarest names are no one's.
    (
        "create function pg_temp.drawn_name() returns text volatile language sql as $$
           select syllables[n / 100 + 1] || syllables[n / 10 % 10 + 1] || syllables[n % 10 + 1]
           from (select array['BAR', 'OUGHT', 'ABLE', 'PRI', 'PRES', 'ESE', 'ANTI', 'CALLY', 'ATION', 'EING']) as s(syllables),
             (select (floor(random() * 256)::integer | floor(random() * 1000)::integer) % 1000) as number(n) $$;
         update customer set c_last = pg_temp.drawn_name()",
        "last-names",
        "each last name that calls draw is that of some customer in each district",
    ),
    // The customer of an order drawn, and not a permutation.
    (
        "update orders set o_c_id = 1 + floor(random() * 3000) where o_id <= 3000",
        "order-customers",
        "each customer of a district has one of the orders that were loaded",
    ),
    ("delete from stock where s_i_id = 100000", "cardinality", "and a stock of every item"),
];

#[test]
fn a_database_of_pgbench_runs_unchanged() {
    on(Engine::Postgres, |server| {
        let workdir = Workdir::empty();
        let url = server.database("bank");
        pgbench(server, &["-i", "-s", "2", "-q"]);
        pgbench(server, &["-n", "-c", "2", "-t", "100"]);
        let found = server.json(&workdir, &format!("audit tpcb --db {url}"));
        assert_eq!((&found["scale"], &found["loaded_by"]), (&2.into(), &"pgbench".into()), "{found}");
        for subject in ["tpcb/postgres", "tpcb/postgres/axum+tokio-postgres"] {
            let line = format!("run {subject} --db {url} {SHORT} --json");
            let ran = server.run(&workdir, &line);
            let document = parse(&ran.out);
            assert_good(&ran, &document);
            let trial = &document["trials"][0];
            assert_eq!(trial["headline"]["unit"], "transactions/s");
            // Two rows for four clients is contention, and said to be.
            assert!(trial["rules"].to_string().contains("hot-rows"), "{}", trial["rules"]);
        }
        // And pgbench goes on where we stopped.
        pgbench(server, &["-n", "-c", "2", "-t", "100"]);
        server.json(&workdir, &format!("audit tpcb --db {url}"));
    });
}

fn pgbench(server: &Server, arguments: &[&str]) {
    let url = server.engine.tcp_url("bank");
    let program = server.engine.installation().server.with_file_name("pgbench");
    let ran = Command::new(&program)
        .args(["-h", &url.host, "-p", &url.port.to_string(), "-U", &url.user])
        .args(arguments)
        .arg("bank")
        .env("PGPASSWORD", server.password())
        .output()
        .unwrap_or_else(|error| panic!("{} (package postgresql-contrib): {error}", program.display()));
    assert!(ran.status.success(), "{}", String::from_utf8_lossy(&ran.stderr));
}

#[test]
fn foreign_keys_are_made_when_they_are_asked_for_and_said_to_be_there() {
    for engine in Engine::DATABASES {
        on(engine, |server| {
            let workdir = Workdir::empty();
            let url = server.database("linked");
            let subject = if engine == Engine::Postgres { "tpcc/postgres" } else { "tpcc/mariadb" };
            server.done(&workdir, &format!("load {subject} --golden --db {url} --foreign-keys"));
            let line = format!("run {subject} --db {url} {SHORT} --json");
            let ran = server.run(&workdir, &line);
            let document = parse(&ran.out);
            assert_good(&ran, &document);
            assert_eq!(document["trials"][0]["data"]["references"], true, "{engine:?}");
        });
    }
    let workdir = Workdir::empty();
    workdir.run("load tpcc --db sqlite:x.db --foreign-keys").refused(&["for PostgreSQL and MariaDB"]);
}

mod extended {
    use super::*;

    #[test]
    fn a_load_by_go_tpc_s_rules_is_run_on_and_one_that_breaks_the_standard_s_is_refused_with_the_rule() {
        on(Engine::Postgres, |server| {
            let workdir = Workdir::empty();
            let url = server.database("go_tpc");
            for part in GO_TPC {
                server.engine.client("go_tpc", part).unwrap();
            }
            let found = server.json(&workdir, &format!("audit tpcc --db {url}"));
            assert_eq!(
                (&found["scale"], &found["loaded_by"]),
                (&1.into(), &"another tool, by its tables go-tpc".into())
            );
            let audit = |name: &str| {
                let audits = found["audits"].as_array().unwrap().iter();
                audits.clone().find(|audit| audit["name"] == name).map(|audit| audit["check"].clone())
            };
            for name in
                ["last-names", "order-customers", "cardinality", "customer-balances", "delivery-dates"]
            {
                assert_eq!(audit(name), Some("passed".into()), "{name}: {found}");
            }
            let ran = server.run(&workdir, &format!("run tpcc/postgres --db {url} {SHORT} --json"));
            let document = parse(&ran.out);
            assert_good(&ran, &document);
            assert!(
                document["trials"][0]["overall"]["call_counts"]["committed"].as_u64() > Some(0),
                "{document}"
            );
            let files = workdir.files();
            for (change, audit, sentence) in BROKEN {
                server.engine.client("go_tpc", change).unwrap();
                let ran = server.run(&workdir, &format!("run tpcc/postgres --db {url} {SHORT}"));
                let hint = "reload it with its own tool";
                ran.refused(&["data audit failed before the run", audit, sentence, "warehouse 1", hint]);
                assert_eq!(workdir.files(), files, "{audit}");
            }
        });
    }
}
