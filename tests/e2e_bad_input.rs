//! What cannot be done is said before anything starts: what, where, and what would be right; exit status 2, nothing made.

use crate::e2e_impostor::{Reply, answer, listen};
use crate::e2e_workdir::{Ran, Running, Workdir, parse, write};
use rustix::process::Signal;
use serde_json::Value;
use std::fs;
use std::net::TcpListener;

/// Holds a command line to exit status 2, `words` in its message, and a folder in which nothing has changed.
#[track_caller]
pub(crate) fn refused(workdir: &Workdir, line: &str, words: &[&str]) -> Ran {
    let before = workdir.files();
    let ran = workdir.run(line);
    ran.refused(words);
    assert_eq!(workdir.files(), before, "{line} left something: {ran:?}");
    ran
}

#[test]
fn what_does_not_exist_names_what_is_nearest() {
    let workdir = Workdir::empty();
    refused(
        &workdir,
        "run tpcc/sqlite/axum",
        &["no subject `tpcc/sqlite/axum`", "nearest: `tpcc/sqlite/axum+rusqlite`"],
    );
    refused(&workdir, "run tpc", &["no subject `tpc`", "nearest: `tpcc/sqlite/", "stackmark list"]);
    refused(&workdir, "compare tpcc tpc", &["nearest: `tpcc/sqlite/"]);
    refused(&workdir, "load tpch --db sqlite:x.db", &["no subject `tpch`", "nearest: `tpcc/sqlite/"]);
    for command in ["audit tppc --db sqlite:x.db", "serve tppc --db sqlite:x.db", "list tppc"] {
        refused(&workdir, command, &["no workload `tppc`", "nearest: `tpcc`"]);
    }
    refused(&workdir, "serve tpcc --engine oracle --db sqlite:x.db", &["no engine `oracle`", "`sqlite`"]);
    refused(&workdir, "quickstrat", &["unrecognized subcommand 'quickstrat'", "'quickstart'"]);
    refused(&workdir, "run tpcc/sqlite/rusqlite --url http://127.0.0.1:1", &["is direct"]);
}

#[test]
fn a_number_that_makes_no_sense_is_named_with_what_would_be_right() {
    let workdir = Workdir::empty();
    let scales = ["load tpcc --db sqlite:x.db", "run tpcc", "compare tpcc tpcc"];
    for (line, scale) in scales.into_iter().flat_map(|line| ["0", "1000000000"].map(|scale| (line, scale))) {
        refused(
            &workdir,
            &format!("{line} --scale {scale}"),
            &[&format!("--scale is {scale}"), "1 to 100000 warehouses"],
        );
    }
    refused(&workdir, "quickstart --scale 0", &["--scale", "1..=100000"]);
    refused(&workdir, "load tpcc --db sqlite:x.db --scale -1", &["'-1'"]);
    // A whole warehouse takes 80 MB: no one has the room, and nothing was begun that would find out.
    refused(&workdir, "load tpcc --db sqlite:x.db --scale 100000", &["are needed for x.db", "MB are free"]);
    for rate in ["0", "-1", "nan", "inf", "1e300", "fast"] {
        refused(&workdir, &format!("run tpcc --rate {rate}"), &["'--rate <RATE>'", "more than 0"]);
    }
    for line in ["--duration 0s", "--duration 0ms"] {
        refused(&workdir, &format!("run tpcc {line}"), &["the measured window is zero", "longer than zero"]);
    }
    refused(&workdir, "quickstart --duration 0s", &["the measured window is zero"]);
    for span in ["-1s", "5", "99weeks", "soon"] {
        refused(
            &workdir,
            &format!("run tpcc --duration {span}"),
            &[&format!("'{span}' for '--duration <DURATION>'")],
        );
    }
    refused(&workdir, "run tpcc --deadline 0s", &["the deadline per call is zero"]);
    refused(&workdir, "run tpcc --drain 0s", &["the drain is zero"]);
    for option in ["clients", "generator-threads", "pool", "server-threads"] {
        for count in ["0", "1000000000", "many"] {
            let wanted = format!("'{count}' for '--{option} <");
            refused(&workdir, &format!("run tpcc/sqlite/axum+rusqlite --{option} {count}"), &[&wanted]);
        }
    }
    refused(&workdir, "run tpcc --rate 10 --think spec", &["cannot be used with"]);
    let kinds = "there are new-order, payment, order-status, delivery, stock-level";
    for command in ["run tpcc", "compare tpcc tpcc", "sweep tpcc", "find-max tpcc --slo p99<50ms"] {
        refused(&workdir, &format!("{command} --only pament"), &["--only: no kind of call `pament`", kinds]);
        refused(
            &workdir,
            &format!("{command} --mix payment=0"),
            &["--mix: no kind of call has a weight", kinds],
        );
    }
    for mix in ["payment=-1", "payment=nan", "payment=inf", "payment", "payment=1,", "=", ""] {
        refused(
            &workdir,
            &format!("run tpcc --mix={mix}"),
            &["--mix <KIND=WEIGHT,…>", "new-order=45,payment=43"],
        );
    }
    refused(&workdir, "run tpcc --mix =1", &["--mix: no kind of call ``", kinds]);
    refused(&workdir, "run tpcc --mix payment=1,payment=2", &["`payment` has two weights", kinds]);
    for stages in ["", "30s", "30s@", "30@100", "30s@0", "30s@-1", "30s@nan", "30s@1~", "30s@1,"] {
        refused(&workdir, &format!("run tpcc --stages={stages}"), &["30s@100 or 30s@100~500"]);
    }
    refused(&workdir, "run tpcc --stages 500ms@5", &["the length of a stage is 0.5 s", "a multiple of 1 s"]);
    for other in ["--rate 5", "--think spec", "--duration 5s", "--calls 5"] {
        refused(&workdir, &format!("run tpcc --stages 5s@5 {other}"), &["cannot be used with"]);
    }
    for think in ["0s", "exp:0s", "-1s", "exp:", "long"] {
        refused(
            &workdir,
            &format!("run tpcc --think={think}"),
            &[&format!("'{think}' for '--think <THINK>'")],
        );
    }
    for calls in ["0", "-1", "1.5", "many"] {
        refused(&workdir, &format!("run tpcc --calls={calls}"), &[&format!("'{calls}' for '--calls <N>'")]);
    }
    refused(&workdir, "run tpcc --only payment --mix payment=1", &["cannot be used with"]);
    refused(
        &workdir,
        "run tpcc --only payment --delivery deferred",
        &["--only has no calls that may be deferred", "leave --delivery out"],
    );
    refused(&workdir, "run tpcc --arrivals constant", &["--rate <RATE>"]);
    refused(&workdir, "compare tpcc tpcc --max-loss 120%", &["5%"]);
    refused(&workdir, "compare tpcc", &["two subjects", "got: tpcc"]);
    refused(&workdir, "run tpcc --seed x", &["'x' for '--seed <SEED>'"]);
}

#[test]
fn a_database_that_cannot_be_run_on_says_why() {
    let workdir = Workdir::loaded_in_full();
    write(workdir.path("text.db"), "hello, this is a text of more than sixteen bytes");
    let make = |name: &str, tables: &[&str]| {
        let made = rusqlite::Connection::open(workdir.path(name)).unwrap();
        tables
            .iter()
            .for_each(|table| made.execute_batch(&format!("create table {table} (w_id int)")).unwrap());
    };
    make("other.db", &["item", "blog"]);
    make(
        "tables.db",
        &[
            "warehouse",
            "district",
            "customer",
            "history",
            "new_order",
            "orders",
            "order_line",
            "item",
            "stock",
        ],
    );
    fs::create_dir(workdir.path("folder.db")).unwrap();

    let users = ["run tpcc", "serve tpcc --listen 127.0.0.1:0", "compare tpcc tpcc", "audit tpcc"];
    for user in users {
        refused(&workdir, &format!("{user} --db sqlite:gone.db"), &["there is no database at gone.db"]);
        refused(
            &workdir,
            &format!("{user} --db sqlite:text.db"),
            &["text.db is a file that is not a SQLite database"],
        );
        refused(
            &workdir,
            &format!("{user} --db sqlite:other.db"),
            &["other.db is a SQLite database with the tables blog, item"],
        );
        refused(&workdir, &format!("{user} --db sqlite:folder.db"), &["folder.db", "it is a folder"]);
    }
    for user in &users[..3] {
        refused(
            &workdir,
            &format!("{user} --db sqlite:tables.db"),
            &["no record of a Stackmark load", "stackmark audit tpcc"],
        );
    }
    refused(
        &workdir,
        "audit tpcc --db sqlite:tables.db",
        &["tables.db is a SQLite database", "it has no warehouse"],
    );
    let wanted = &[
        "bench.db has 1 warehouse, requested 2",
        "stackmark load tpcc --scale 2 --db sqlite:bench.db --fresh",
    ];
    refused(&workdir, "run tpcc --scale 2 --db sqlite:bench.db", wanted);
    refused(&workdir, "compare tpcc tpcc --scale 2 --db sqlite:bench.db", wanted);
}

#[test]
fn a_load_never_takes_the_place_of_what_it_did_not_make() {
    let workdir = Workdir::loaded();
    write(workdir.path("text.db"), "hello, this is a text of more than sixteen bytes");
    let other = rusqlite::Connection::open(workdir.path("other.db")).unwrap();
    other.execute_batch("create table blog (a int)").unwrap();
    drop(other);
    let bytes = |name: &str| fs::read(workdir.path(name)).unwrap();
    for name in ["text.db", "other.db"] {
        let before = bytes(name);
        for fresh in ["", "--fresh"] {
            refused(
                &workdir,
                &format!("load tpcc --db sqlite:{name} {fresh}"),
                &[name, "was not created by Stackmark"],
            );
        }
        assert!(bytes(name) == before, "{name} has been written to");
    }
    let before = bytes("bench.db");
    for line in ["--scale 2", "--seed 2"] {
        refused(
            &workdir,
            &format!("load tpcc --db sqlite:bench.db {line}"),
            &["replace it with `stackmark load tpcc", "--fresh"],
        );
    }
    assert!(bytes("bench.db") == before, "bench.db has been written to");
}

#[test]
fn an_address_of_a_database_that_is_none_says_what_would_be_right() {
    let workdir = Workdir::empty();
    let check = |url: &str, words: &[&str]| {
        refused(&workdir, &format!("load tpcc --db {url}"), words);
    };
    check("bench.db", &["a database is `sqlite:FILE`", "`postgres://USER@HOST/DATABASE`"]);
    check("sqlite:", &["the file name is missing"]);
    check("sqlite::memory:", &["a file on tmpfs"]);
    check("sqlite:x.db?journal=fast", &["journal is one of wal, delete"]);
    check("sqlite:x.db?colour=red", &["no option `colour`"]);
    check("sqlite:x.db?cache", &["option `cache` has no value"]);
    check("sqlite:gone/x.db", &["the folder gone does not exist"]);
    check("postgres://host/db", &["the user is missing", "postgres://user@127.0.0.1/tpcc"]);
    check("mysql://me@host", &["the database is missing"]);
    check("oracle://me:secret@host/db", &["a database is `sqlite:FILE`"]);
}

#[test]
fn a_place_that_cannot_be_written_to_is_named() {
    let workdir = Workdir::loaded();
    write(workdir.path("file"), "");
    refused(&workdir, "load tpcc --db sqlite:file/x.db", &["file is not a folder"]);
    for out in ["file/results", "file"] {
        refused(&workdir, &format!("run tpcc --db sqlite:bench.db --out {out}"), &["could not create file"]);
        refused(&workdir, &format!("quickstart --out {out}"), &["could not create file"]);
    }
    // Even root may not make folders here.
    refused(&workdir, "run tpcc --db sqlite:bench.db --out /proc", &["could not create /proc/"]);
    refused(&workdir, "load tpcc --db sqlite:/proc/x.db", &["could not create /proc/x.db"]);
}

/// A command of a shell that may write files of so many kibibytes. To a program that is as a full disk.
fn limited(workdir: &Workdir, kib: u32, line: &str) -> Ran {
    // dash counts blocks of 512 bytes, bash of 1,024 unless it is told to be strict.
    Running::start(workdir.shell(&format!("ulimit -f {}; exec \"$STACKMARK\" {line}", kib * 2))).end()
}

#[test]
fn a_load_that_meets_the_limit_of_a_file_leaves_nothing() {
    let workdir = Workdir::empty();
    limited(&workdir, 10_000, "load tpcc --db sqlite:bench.db").refused(&["could not write bench.db"]);
    assert_eq!(workdir.files(), [""; 0]);
    limited(&workdir, 10_000, "run tpcc").refused(&["could not write results/"]);
    assert_eq!(workdir.files(), ["results"]);
}

#[test]
fn a_run_that_meets_the_limit_of_a_file_harms_no_data() {
    let workdir = Workdir::loaded();
    let ran = limited(&workdir, 100, "run tpcc --db sqlite:bench.db --duration 20s --warmup 0s --clients 1");
    ran.refused(&["could not write results/"]);
    assert_eq!(workdir.run("audit tpcc --db sqlite:bench.db").code(), 0);
}

/// Runs `script` where the folder `disk` is a file system of so many kibibytes, and gone afterwards. `None`, said
/// loudly, where no one may make one.
fn small_disk(workdir: &Workdir, kib: u64, script: &str) -> Option<Ran> {
    // A name space of its own, in which we may mount, and which goes with the shell.
    let mount = format!("mkdir disk && mount -t tmpfs -o size={kib}k tmpfs disk || exit 77; {script}");
    let mut inside = workdir.shell("exec unshare --user --map-root-user --mount sh -c \"$SCRIPT\"");
    inside.env("SCRIPT", mount);
    let ran = Running::start(inside).end();
    if ran.code() == 77 || ran.code() == 127 || ran.err.contains("unshare: ") {
        rig::for_tests::not_run(format!("no small disk can be made here: {}", ran.err));
        return None;
    }
    Some(ran)
}

#[test]
fn a_disk_that_fills_up_shows_in_the_call_counts_and_not_in_the_data() {
    let workdir = Workdir::loaded();
    let room = fs::metadata(workdir.path("bench.db")).unwrap().len() / 1024 + 4_000;
    let script = "cp bench.db disk/; $STACKMARK load tpcc --db sqlite:disk/more.db; echo load $?
        $STACKMARK run tpcc --json --db 'sqlite:disk/bench.db?checkpoint=16000000' --duration 5s --warmup 0s \
            --drain 1s > run.json; echo run $?
        $STACKMARK audit tpcc --db sqlite:disk/bench.db --run results/*; echo audit $?";
    let Some(ran) = small_disk(&workdir, room, script) else { return };
    assert!(ran.out.contains("load 2\n") && ran.err.contains("MB are free"), "{ran:?}");
    let document = parse(&fs::read_to_string(workdir.path("run.json")).unwrap());
    let call_counts = &document["trials"][0]["overall"]["call_counts"];
    assert!(
        call_counts["refused"].as_u64().unwrap() > 0 && call_counts["in_doubt"].as_u64().unwrap() <= 8,
        "{call_counts}"
    );
    assert!(ran.out.contains("audit 0\n"), "{ran:?}");
}

#[test]
fn a_result_that_cannot_be_written_ends_the_run_and_leaves_the_last_one_readable() {
    let workdir = Workdir::loaded();
    let script =
        "$STACKMARK run tpcc --db sqlite:bench.db --out disk --duration 60s --warmup 0s --clients 1 &
        until ls disk/*/result.json; do sleep 0.1; done > ls.txt 2>&1
        cat /dev/zero > disk/filler; wait $!; echo run $?
        rm disk/filler; $STACKMARK report disk/*; echo report $?";
    let Some(ran) = small_disk(&workdir, 8_000, script) else { return };
    assert!(ran.out.contains("run 2\n") && ran.out.contains("report 0\n"), "{ran:?}");
    assert!(ran.err.contains("error: could not write disk/") && ran.err.contains("No space left"), "{ran:?}");
    assert_eq!(workdir.run("audit tpcc --db sqlite:bench.db").code(), 0);
}

#[test]
fn a_port_in_use_is_named() {
    let workdir = Workdir::loaded();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    refused(
        &workdir,
        &format!("serve tpcc --db sqlite:bench.db --listen {address}"),
        &[&address, "the port is in use"],
    );
    refused(&workdir, "serve tpcc --db sqlite:bench.db --listen nowhere", &["'nowhere' for '--listen"]);
}

#[test]
fn a_server_that_is_not_ours_is_not_measured() {
    let workdir = Workdir::empty();
    let check = |url: &str, words: &[&str]| {
        refused(&workdir, &format!("run tpcc --url {url}"), words);
    };
    let html = "<html><body>Welcome</body></html>";
    let page = listen(move |_| Reply::Bytes(answer("404 Not Found", "text/html", html)));
    check(&page, &[&page, "not a Stackmark server", "404"]);
    let welcome = listen(move |_| Reply::Bytes(answer("200 OK", "text/html", html)));
    check(&welcome, &[&welcome, "not a Stackmark server"]);
    check(
        &listen(|_| Reply::Bytes(b"\x00\xff SSH-2.0 not http\r\n\r\n".to_vec())),
        &["not a Stackmark server"],
    );
    check(&listen(|_| Reply::Close), &["closed without an answer"]);
    check(&listen(|_| Reply::Silence), &["was not answered within 5 s"]);
    let about =
        r#"{"name":"x","version":"1","contract":"tpcb/1","workload":"tpcb","scale":1,"pool":1,"stack":{}}"#;
    check(&listen(move |_| Reply::Bytes(answer("200 OK", "application/json", about))), &["/about"]);
    // A port that no one listens on, and that no other test is given meanwhile.
    check("http://127.0.0.1:1", &["127.0.0.1:1", "refused"]);
    check("https://127.0.0.1:1", &["use http://"]);
    check("127.0.0.1:1", &["no scheme"]);
}

#[test]
fn a_server_with_other_data_than_db_is_not_measured() {
    let workdir = Workdir::loaded_in_full();
    let (server, real) = workdir.serve();
    let twice = crate::e2e_impostor::before(&real, |_, pass_on| Reply::Bytes(pass_on()));
    let larger = crate::e2e_impostor::listen_instead(&twice, "/about", |json| json["scale"] = Value::from(2));
    // The server is at work in the same folder, where the files of its write-ahead log come and go.
    let check = |line: &str, words: &[&str]| {
        workdir.run(line).refused(words);
        assert!(workdir.runs().is_empty(), "{line} left {:?}", workdir.runs());
    };
    check(
        &format!("run tpcc --url {larger} --db sqlite:bench.db"),
        &["2 warehouses", "--db has 1", "not the same"],
    );
    check(&format!("run tpcc --url {larger} --scale 3"), &["scale 2", "wanted is 3"]);
    server.signal(Signal::TERM);
    assert_eq!(server.end().code(), 0);
}

#[test]
fn a_result_that_cannot_be_read_is_named_with_its_line() {
    let workdir = Workdir::empty();
    write(workdir.path("broken.json"), "{\n  \"schema\": \"stackmark-result/5\",\n  oops\n}");
    write(workdir.path("other.json"), "{\"schema\": \"stackmark-result/99\"}");
    write(workdir.path("list.json"), "[1, 2]");
    fs::create_dir(workdir.path("empty")).unwrap();
    for (result, words) in [
        ("gone.json", &["could not read gone.json", "No such file"][..]),
        ("empty", &["could not read empty/result.json"]),
        ("broken.json", &["broken.json, line 3"]),
        ("other.json", &["`stackmark-result/99`", "reads `stackmark-result/5`"]),
        ("list.json", &["list.json, line 1"]),
    ] {
        refused(&workdir, &format!("report {result}"), words);
        if result.ends_with(".json") {
            refused(&workdir, &format!("report --history {result}"), words);
        }
    }
    refused(&workdir, "compare broken.json other.json", &["broken.json, line 3"]);
    refused(&workdir, "audit tpcc --db sqlite:x.db --run empty", &["could not read empty/claims.json"]);
    refused(&workdir, "report gone.json --format pdf", &["'pdf' for '--format", "html"]);
    refused(&workdir, "report --history gone", &["could not read gone", "No such file"]);
    refused(&workdir, "report --history other.json gone", &["could not read gone"]);
    refused(&workdir, "report --history empty", &["empty: no results", "hint: name a result"]);
}

#[test]
fn a_password_never_shows() {
    let workdir = Workdir::loaded();
    let check = |line: &str| {
        let ran = refused(&workdir, line, &[]);
        assert!(!ran.err.contains("hunter2"), "{ran:?}");
    };
    check("run tpcc --url http://me:hunter2@127.0.0.1:1");
    check("run tpcc --url=http://me:hunter2@127.0.0.1:1 --db sqlite:bench.db");
    for scheme in ["postgres", "mysql", "http", "sqlserver"] {
        check(&format!("run tpcc --db {scheme}://me:hunter2@host/db"));
        check(&format!("audit tpcc --db {scheme}://me:hunter2@host/db"));
    }
    // Neither does what the environment holds, where help would show it.
    let mut help = workdir.command("run --help");
    help.env("STACKMARK_DB", "postgres://me:hunter2@host/db");
    let ran = Running::start(help).end();
    assert!(ran.code() == 0 && !ran.out.contains("hunter2"), "{ran:?}");
}

#[test]
fn data_that_cannot_be_written_is_an_error() {
    let workdir = Workdir::loaded();
    let ran = workdir.run("run tpcc --db sqlite:bench.db --warmup 0s --duration 1s");
    assert_eq!(ran.code(), 0, "{ran:?}");
    for line in [
        "list",
        "report results/*",
        "report results/* --format csv",
        "audit tpcc --db sqlite:bench.db",
        "man",
    ] {
        let mut command = workdir.shell(&format!("exec $STACKMARK {line} > /dev/full"));
        let ended = command.output().unwrap();
        let text = String::from_utf8_lossy(&ended.stderr).into_owned();
        assert_eq!(ended.status.code(), Some(2), "{line}: {text}");
        assert!(text.contains("could not write to standard output: No space left"), "{line}: {text}");
        // A reader that has seen enough is none.
        let mut command = workdir.shell(&format!("{{ $STACKMARK {line}; echo $? >&2; }} | true"));
        let ended = command.output().unwrap();
        assert_eq!(String::from_utf8_lossy(&ended.stderr).trim(), "0", "{line}");
    }
}

#[test]
fn an_audit_of_another_workloads_data_names_the_workload() {
    let workdir = Workdir::loaded();
    workdir
        .run("audit tpcb --db sqlite:bench.db")
        .refused(&["was loaded for `tpcc`, not for `tpcb`", "hint: `stackmark audit tpcc` checks it"]);
    assert_eq!(workdir.run("load tpcb --db sqlite:other.db").code(), 0);
    workdir.run("audit tpcc --db sqlite:other.db").refused(&["was loaded for `tpcb`, not for `tpcc`"]);
}

#[test]
fn more_clients_than_the_machine_lets_connect_are_refused_before_anything_starts() {
    let workdir = Workdir::empty();
    for (subject, files) in [("tpcb", 1_628), ("tpcb/sqlite/axum+rusqlite --clients 1500", 1_628)] {
        let more = if subject == "tpcb" { " --clients 500" } else { "" };
        let line = format!("run {subject}{more} --calls 10");
        let ran = Running::start(workdir.shell(&format!("ulimit -n 1000; exec \"$STACKMARK\" {line}"))).end();
        ran.refused(&[&format!("{files} open files"), "may have 1000", &format!("ulimit -Hn {files}")]);
    }
    assert!(workdir.runs().is_empty(), "{:?}", workdir.files());
    assert_eq!(workdir.run("load tpcb --golden --db sqlite:bank.db").code(), 0);
    let line = "serve tpcb --db sqlite:bank.db --listen 127.0.0.1:0 --pool 500";
    let ran = Running::start(workdir.shell(&format!("ulimit -n 1000; exec \"$STACKMARK\" {line}"))).end();
    ran.refused(&["a pool of 500 sessions needs 1628 open files", "smaller --pool"]);
    assert_eq!(ran.out, "", "it listened");
}
