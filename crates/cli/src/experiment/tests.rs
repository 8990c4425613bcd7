//! What is right resolves to what was meant, and what is wrong is said with its line.

use super::*;
use drive::Arrivals;
use schedule::plan::{Criterion, Variant};
use std::env;
use std::process::Command;
use workload_booking::Bookings;

/// Reads the rest of a file of any workload.
fn any(file: ExperimentFile<'_>) -> Result<Experiment> {
    (crate::workloads::of(file.workload)?.read)(file)
}

fn good(text: &str) -> Experiment {
    parse(text, Path::new("x.toml"), &any).unwrap_or_else(|error| panic!("{error}\nin\n{text}"))
}

fn names(experiment: &Experiment) -> Vec<&str> {
    experiment.variants.iter().map(|variant| variant.name.as_str()).collect()
}

/// A whole file with these lines of a first variant on line 3 and on.
fn first(lines: &str) -> String {
    format!("workload = \"tpcc\"\n[[variant]]\n{lines}\n[[variant]]\nsubject = \"sqlite/sqlx\"\n")
}

fn first_of(lines: &str) -> Variant {
    good(&first(lines)).variants.remove(0)
}

#[track_caller]
fn wrong(text: &str, place: &str, says: &[&str]) {
    let error = match parse(text, Path::new("x.toml"), &any) {
        Ok(experiment) => panic!("{experiment:?} from\n{text}"),
        Err(error) => error.to_string(),
    };
    assert!(error.starts_with(&format!("x.toml:{place}: ")), "not at {place}: {error}\nin\n{text}");
    let line: usize = place.split(':').next().unwrap().parse().unwrap();
    let shown = text.lines().nth(line - 1).unwrap_or_default();
    assert!(error.contains(&format!("{line} | {shown}")), "does not show `{shown}`: {error}");
    assert!(error.contains('^'), "marks nothing: {error}");
    for part in says {
        assert!(error.contains(part), "does not say `{part}`: {error}");
    }
}

fn criterion(metric: &str, margin: f64, max_loss: Option<f64>) -> Criterion {
    Criterion { metric: metric.into(), margin, max_loss }
}

#[test]
fn what_is_left_out_gets_the_defaults_of_the_command_line() {
    let experiment = good(&first("subject = \"sqlite/rusqlite\""));
    assert_eq!(experiment.name, "x");
    assert_eq!((experiment.scale, experiment.blocks, experiment.seed), (1, 5, 1));
    assert!(experiment.control);
    assert_eq!(experiment.criteria, [criterion("throughput", 0.02, None)]);
    let variant = &experiment.variants[0];
    assert_eq!(variant.subject, "tpcc/sqlite/rusqlite");
    assert_eq!(variant.name, "sqlite/rusqlite");
    assert_eq!((variant.plan.workers, variant.plan.measured.as_secs_f64()), (8, 60.0));
    assert_eq!(variant.plan.arrivals, Arrivals::Closed);
    assert_eq!((variant.spec.durability.as_str(), variant.spec.options.as_str()), ("durable", ""));
    assert_eq!(experiment.variants[1].base, Some(0));
    assert_eq!(experiment.variants[1].factors, ["adapter"]);
}

#[test]
fn a_variant_lays_its_own_plan_over_that_of_all() {
    let text = "workload = \"tpcc\"\nscale = 2\n[plan]\nclients = 4\nduration = \"2m\"\nseed = 7\nblocks = 3\n\
                control = false\n[verdict]\nmetric = \"new-order.p99\"\nmargin = 0.05\nmax-loss = \"10%\"\n\
                [[variant]]\nsubject = \"sqlite\"\n\
                [[variant]]\nsubject = \"tpcc/sqlite/axum+rusqlite\"\nclients = 16\nrate = 12.5\narrivals = \"constant\"\n\
                pool = 2\nserver-threads = 3\nlimits = { server = \"cpu=0.5\" }\n";
    let experiment = good(text);
    assert_eq!((experiment.scale, experiment.blocks, experiment.seed), (2, 3, 7));
    assert!(!experiment.control);
    assert_eq!(experiment.criteria, [criterion("new-order.p99", 0.05, Some(0.1))]);
    let [base, other] = experiment.variants.as_slice() else { panic!("two variants") };
    assert_eq!((base.plan.workers, base.plan.measured.as_secs_f64(), base.plan.seed), (4, 120.0, 7));
    assert_eq!((other.plan.workers, other.plan.measured.as_secs_f64()), (16, 120.0));
    assert_eq!(other.plan.arrivals, Arrivals::Constant(drive::RatePerSecond(12.5)));
    assert_eq!((other.pool, other.server_threads), (2, 3));
    assert_eq!(other.server_limits.as_deref(), Some("cpu=0.5"));
    assert_eq!(other.factors, ["route", "clients", "rate", "pool", "limits"]);
    let asked: Vec<_> = other.asked.iter().map(|(name, value)| format!("{name} {value}")).collect();
    assert_eq!(
        asked,
        [
            "clients 16",
            "rate 12.5",
            "arrivals constant",
            "pool 2",
            "server-threads 3",
            "server limits cpu=0.5"
        ]
    );
}

#[test]
fn a_file_may_ask_for_turns_and_for_whole_trials() {
    let mut experiment = good(
        "workload = \"tpcc\"\n\
         [[variant]]\nname = \"in turn, direct\"\nsubject = \"sqlite/rusqlite\"\n\
         [[variant]]\nname = \"in turn, HTTP\"\nsubject = \"sqlite/axum+rusqlite\"\nagainst = \"in turn, direct\"\n\
         [[variant]]\nname = \"whole, direct\"\nsubject = \"sqlite/rusqlite\"\nbase = true\ntrials = true\n\
         [[variant]]\nname = \"whole, HTTP\"\nsubject = \"sqlite/axum+rusqlite\"\nagainst = \"whole, direct\"\ntrials = true\n",
    );
    experiment.alternate().unwrap();
    let in_turn: Vec<bool> =
        experiment.variants.iter().map(|variant| variant.plan.rounds.is_some()).collect();
    assert_eq!(in_turn, [true, true, false, false]);
    let [note] = &experiment.notes[..] else { panic!("{:?}", experiment.notes) };
    assert!(note.starts_with("Whole, direct and whole, HTTP were measured in trials"), "{note}");
    assert!(note.ends_with("whole trials were asked for (`trials`)."), "{note}");
    wrong(
        "workload = \"tpcc\"\n[[variant]]\nsubject = \"sqlite/rusqlite\"\n\
         [[variant]]\nsubject = \"sqlite/axum+rusqlite\"\ntrials = true\n",
        "4:1",
        &["`trials` is not that of its base", "give both the same"],
    );
}

#[test]
fn a_switch_is_on_or_off() {
    let through = |lines: &str| first_of(&format!("subject = \"sqlite\"\n{lines}")).through_checkpoints;
    assert_eq!(
        [through("through-checkpoints = true"), through("through-checkpoints = false")],
        [true, false]
    );
    let text = "workload = \"booking\"\n[[variant]]\nsubject = \"sqlite/rusqlite/outbox\"\nconsumer = [false, true]\n";
    let experiment = good(text);
    let consumers: Vec<_> = experiment.variants.iter().map(|variant| variant.relaying.consumer).collect();
    assert_eq!(consumers, [false, true]);
    assert_eq!(names(&experiment), ["consumer off", "consumer on"]);
    wrong(&first("subject = \"sqlite\"\nthrough-checkpoints = 1"), "4:23", &["true or false"]);
    wrong(
        &first("subject = \"sqlite\"\nconsumer = true"),
        "4:1",
        &["`consumer` needs events that are published"],
    );
}

#[test]
fn several_metrics_have_one_margin_or_one_each() {
    let verdict = |lines: &str| {
        let text = first("subject = \"sqlite/rusqlite\"");
        good(&text.replacen('\n', &format!("\n[verdict]\n{lines}\n"), 1)).criteria
    };
    assert_eq!(
        verdict("metrics = [\"throughput\", \"payment.p99\", \"cpu\"]\nmargin = \"3%\""),
        [
            criterion("throughput", 0.03, None),
            criterion("payment.p99", 0.03, None),
            criterion("cpu", 0.03, None)
        ]
    );
    assert_eq!(
        verdict(
            "metrics = [\"p99\", \"payment.p99.9\", \"cpu\"]\nmargin = { p99 = \"10%\" }\n\
             max-loss = { cpu = 0.2, \"payment.p99.9\" = \"30%\", p99 = \"40%\" }"
        ),
        [
            criterion("p99", 0.1, Some(0.4)),
            criterion("payment.p99.9", 0.3, Some(0.3)),
            criterion("cpu", 0.2, Some(0.2))
        ]
    );
    assert_eq!(verdict("metrics = [\"cpu\"]"), [criterion("cpu", 0.02, None)]);
}

#[test]
fn lists_make_one_variant_of_each_combination() {
    let experiment = good(
        "workload = \"tpcc\"\n[[variant]]\nname = \"SQLite\"\nsubject = \"sqlite/rusqlite\"\n\
         sqlite = { journal = [\"wal\", \"truncate\"], cache = [\"2MiB\", \"32MiB\"] }\n",
    );
    assert_eq!(
        names(&experiment),
        [
            "SQLite: wal, cache 2MiB",
            "SQLite: wal, cache 32MiB",
            "SQLite: truncate, cache 2MiB",
            "SQLite: truncate, cache 32MiB"
        ]
    );
    let bases: Vec<_> = experiment.variants.iter().map(|variant| variant.base).collect();
    assert_eq!(bases, [None, Some(0), Some(0), Some(0)]);
    assert_eq!(experiment.variants[3].spec.options, "journal=truncate");
    let factors: Vec<_> = experiment.variants.iter().map(|variant| variant.factors.join("+")).collect();
    assert_eq!(factors, ["", "cache", "journal", "journal+cache"]);

    let pools =
        good("workload = \"tpcc\"\n[[variant]]\nsubject = \"postgres/axum+tokio-postgres\"\npool = [1, 2]\n");
    assert_eq!(names(&pools), ["pool 1", "pool 2"]);
    assert_eq!(pools.variants[1].factors, ["pool"]);

    let subjects =
        good("workload = \"tpcc\"\n[[variant]]\nsubject = [\"sqlite/rusqlite\", \"postgres/sqlx\"]\n");
    assert_eq!(names(&subjects), ["sqlite/rusqlite", "postgres/sqlx"]);
    assert_eq!(subjects.variants[1].factors, ["engine"]);
}

#[test]
fn a_variant_is_held_against_the_base_that_it_names() {
    let experiment = good(
        "workload = \"tpcc\"\n\
         [[variant]]\nname = \"a\"\nsubject = \"postgres\"\n\
         [[variant]]\nname = \"b\"\nsubject = \"postgres/sqlx\"\n\
         [[variant]]\nname = \"c\"\nsubject = \"sqlite\"\nbase = true\nsqlite.synchronous = [\"full\", \"normal\"]\n\
         [[variant]]\nname = \"d\"\nsubject = \"sqlite/axum+rusqlite\"\nagainst = \"c: full\"\nfactor = [\"route\"]\n\
         [[variant]]\nname = \"e\"\nsubject = \"sqlite/sqlx\"\nagainst = \"c\"\n",
    );
    let bases: Vec<_> =
        experiment.variants.iter().map(|variant| (variant.name.as_str(), variant.base)).collect();
    assert_eq!(
        bases,
        [
            ("a", None),
            ("b", Some(0)),
            ("c: full", None),
            ("c: normal", Some(2)),
            ("d", Some(2)),
            ("e", Some(2))
        ]
    );
    assert_eq!(experiment.variants[3].factors, ["durability"]);
    assert_eq!(experiment.variants[4].factors, ["route"]);
}

#[test]
fn what_a_commit_survives_is_a_factor_wherever_it_comes_from() {
    let experiment = good(
        "workload = \"tpcc\"\n[[variant]]\nsubject = \"sqlite\"\nsqlite.journal = [\"truncate\", \"delete\"]\n",
    );
    // The removal of the journal is not flushed.
    assert_eq!(experiment.variants[1].factors, ["durability", "journal"]);
    let delayed = good(
        "workload = \"tpcc\"\n[[variant]]\nsubject = \"postgres\"\ndurability = [\"durable\", \"delayed\"]\n",
    );
    assert_eq!(names(&delayed), ["durable", "delayed"]);
    assert_eq!(delayed.variants[1].spec.durability, "delayed");
    assert_eq!(delayed.variants[1].factors, ["durability"]);
}

#[test]
fn a_default_that_is_written_out_is_no_difference() {
    let experiment = good(
        "workload = \"tpcc\"\n[[variant]]\nsubject = \"sqlite\"\nsqlite = { journal = \"wal\", cache = \"32MiB\" }\n\
         [[variant]]\nsubject = \"sqlite/axum+rusqlite\"\npool = 8\n\
         [[variant]]\nsubject = \"sqlite/axum+rusqlite\"\npool = 2\nsqlite.read_delay = \"1ms\"\n",
    );
    assert_eq!(experiment.variants[1].factors, ["route"]);
    assert_eq!(experiment.variants[2].factors, ["route", "pool", "storage"]);
}

#[test]
fn settings_of_a_private_engine_are_kept_as_they_are() {
    let variant = first_of(
        "subject = \"postgres\"\nsettings = { work_mem = \"8MB\", jit = false, max_wal_senders = 0 }\n\
         limits = { engine = \"cpu=1,mem=1GiB\" }\nstatement-statistics = true",
    );
    let settings: Vec<_> =
        variant.spec.settings.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(settings, ["jit=off", "max_wal_senders=0", "work_mem=8MB"]);
    assert_eq!(variant.spec.limits.as_deref(), Some("cpu=1,mem=1GiB"));
    assert!(variant.spec.statement_statistics);
}

#[test]
fn places_are_equal_whatever_the_order_of_their_options() {
    let a = first_of("subject = \"sqlite\"\nsqlite = { journal = \"wal\", cache = \"2MiB\" }");
    let b = first_of("subject = \"sqlite\"\nsqlite = { cache = \"2MiB\", journal = \"wal\" }");
    assert_eq!(a.spec, b.spec);
}

#[test]
fn what_is_no_toml_is_shown_where_it_ends_to_be() {
    wrong("workload = \"tpcc\"\nscale = \n", "2:9", &[]);
    wrong("workload = \"tpcc\nscale = 1\n", "1:17", &[]);
    wrong("workload = \"tpcc\"\nscale = 1\nscale = 2\n", "3:1", &["duplicate key"]);
    wrong("workload = \"tpcc\"\n[plan\n", "2:6", &[]);
    // A column counts letters and not bytes.
    wrong("question = \"Größe?\" x\n", "1:21", &[]);
}

#[test]
fn what_the_whole_experiment_has_wrong_is_said_with_its_line() {
    for (text, place, says) in [
        ("", "1:1", "the workload is missing"),
        ("workload = \"tpc\"\n", "1:12", "nearest: `tpcc`"),
        ("workload = 5\n", "1:12", "`workload` is text, such as \"tpcc\", and not a whole number"),
        ("workload = \"tpcc\"\nquestoin = \"?\"\n", "2:1", "no key `questoin`; nearest: `question`"),
        ("workload = \"tpcc\"\nscale = 0\n", "2:9", "`scale` is 0; it must be 1 to"),
        ("workload = \"tpcc\"\nscale = \"10\"\n", "2:9", "a whole number, such as 10"),
        ("workload = \"tpcc\"\nnotes = \"x\"\n", "1:1", "there is no variant"),
        ("workload = \"tpcc\"\nvariant = 3\n", "2:11", "a list of tables"),
        ("workload = \"tpcc\"\n[plan]\nclients = 0\n", "3:11", "`clients`: 0 is not in 1 to 100000"),
        (
            "workload = \"tpcc\"\n[plan]\ncalls = 0\n",
            "3:9",
            "`calls`: write a whole number of calls, 1 or more",
        ),
        ("workload = \"tpcc\"\n[plan]\nclients = \"8\"\n", "3:11", "a whole number, such as 8, and not text"),
        ("workload = \"tpcc\"\n[plan]\nclients = 1.5\n", "3:11", "and not a number with a fraction"),
        ("workload = \"tpcc\"\n[plan]\nclients = [1, 2]\n", "3:11", "lists are for variants"),
        ("workload = \"tpcc\"\n[plan]\nduration = 30\n", "3:12", "text, such as \"30s\""),
        ("workload = \"tpcc\"\n[plan]\nduration = \"30\"\n", "3:12", "write 500ms, 60s, 5m or 1h"),
        ("workload = \"tpcc\"\n[plan]\nduration = \"3weeks\"\n", "3:12", "a week is the most"),
        ("workload = \"tpcc\"\n[plan]\nwarmup = \"fast\"\n", "3:10", "write 500ms"),
        ("workload = \"tpcc\"\n[plan]\nrate = -1\n", "3:8", "more than 0"),
        ("workload = \"tpcc\"\n[plan]\nrate = nan\n", "3:8", "more than 0"),
        ("workload = \"tpcc\"\n[plan]\nblocks = 0\n", "3:10", "0 is not in 1 to 1000"),
        ("workload = \"tpcc\"\n[plan]\nseed = -3\n", "3:8", "`seed`"),
        ("workload = \"tpcc\"\n[plan]\ncontrol = 1\n", "3:11", "true or false"),
        (
            "workload = \"tpcc\"\n[plan]\nthink = \"long\"\n",
            "3:9",
            "`think`: `long` is not a think time; write none, spec, 100ms",
        ),
        ("workload = \"tpcc\"\n[plan]\ngenerator-threads = 5000\n", "3:21", "1 to 1024"),
        ("workload = \"tpcc\"\n[plan]\npool = 3\n", "3:1", "the plan has no key `pool`"),
        ("workload = \"tpcc\"\nplan = 3\n", "2:8", "a table, such as [plan]"),
        ("workload = \"tpcc\"\n[plan]\narrivals = \"constant\"\n", "3:12", "give `rate` too"),
        ("workload = \"tpcc\"\n[plan]\nrate = 5\nthink = \"spec\"\n", "3:8", "exclude each other"),
        ("workload = \"tpcc\"\n[verdict]\nmetric = \"speed\"\n", "3:10", "no metric `speed`"),
        ("workload = \"tpcc\"\n[verdict]\nmetric = \"neworder.p99\"\n", "3:10", "kinds: new-order"),
        ("workload = \"tpcc\"\n[verdict]\nmetrics = [\"cpu\", \"speed\"]\n", "3:19", "no metric `speed`"),
        ("workload = \"tpcc\"\n[verdict]\nmetrics = [\"cpu\", \"pay.p99\"]\n", "3:19", "kinds: new-order"),
        ("workload = \"tpcc\"\n[verdict]\nmetrics = [\"cpu\", 3]\n", "3:11", "a list of texts"),
        ("workload = \"tpcc\"\n[verdict]\nmetrics = \"cpu\"\n", "3:11", "a list of texts"),
        ("workload = \"tpcc\"\n[verdict]\nmetrics = []\n", "3:11", "name a metric"),
        ("workload = \"tpcc\"\n[verdict]\nmetrics = [\"cpu\", \"cpu\"]\n", "3:19", "`cpu` is named twice"),
        (
            "workload = \"tpcc\"\n[verdict]\nmetric = \"cpu\"\nmetrics = [\"p99\"]\n",
            "4:1",
            "`metric` and `metrics` exclude each other",
        ),
        ("workload = \"tpcc\"\n[verdict]\nmargin = { p99 = \"5%\" }\n", "3:12", "no key `p99`"),
        ("workload = \"tpcc\"\n[verdict]\nmargin = { throughput = 7 }\n", "3:25", "write a share such as 5%"),
        ("workload = \"tpcc\"\n[verdict]\nmargin = \"2\"\n", "3:10", "write a share such as 5%"),
        ("workload = \"tpcc\"\n[verdict]\nmax-loss = true\n", "3:12", "a share"),
        ("workload = \"tpcc\"\n[verdict]\nmaxloss = 0.1\n", "3:1", "nearest: `max-loss`"),
    ] {
        wrong(text, place, &[says]);
    }
    let notes = first("subject = \"sqlite\"")
        .replace("[[variant]]\nsubject = \"sqlite\"", "notes = \"x\"\n[[variant]]\nsubject = \"sqlite\"");
    wrong(&notes, "2:9", &["a list of texts"]);
}

#[test]
fn what_a_variant_has_wrong_is_said_with_its_line() {
    for (lines, place, says) in [
        ("subject = \"sqlite/rusqlight\"", "3:11", "nearest: `tpcc/sqlite/rusqlite`"),
        ("subject = \"tpcb/sqlite/rusqlite\"", "3:11", "another workload than tpcc"),
        ("subject = 1", "3:11", "`subject` is text"),
        ("name = \"x\"", "2:1", "a variant needs a `subject`, such as \"tpcc/sqlite/rusqlite\""),
        ("subject = \"sqlite\"\nname = \"\"", "4:8", "a name on one line"),
        ("subject = \"sqlite\"\nname = [\"a\", \"b\"]", "4:8", "one value, and no list"),
        ("subject = \"sqlite\"\npol = 3", "4:1", "no key `pol`; nearest: `pool`"),
        ("subject = \"sqlite\"\nblocks = 3", "4:1", "belongs under [plan]"),
        ("subject = \"sqlite\"\nseed = 3", "4:1", "belongs under [plan]"),
        (
            "subject = \"sqlite\"\npool = 3",
            "4:1",
            "`pool` is for a server, and tpcc/sqlite/rusqlite is direct",
        ),
        ("subject = \"sqlite\"\ntransport = \"unix\"", "4:1", "is direct"),
        ("subject = \"sqlite/axum+rusqlite\"\npool = 0", "4:8", "0 is not in 1 to 4096"),
        ("subject = \"sqlite/axum+rusqlite\"\npool = [2, 5000]", "4:12", "5000 is not in 1 to 4096"),
        ("subject = \"sqlite/axum+rusqlite\"\npool = []", "4:8", "an empty list"),
        ("subject = \"sqlite/axum+rusqlite\"\npool = [[1]]", "4:9", "a whole number"),
        ("subject = \"sqlite/axum+rusqlite\"\nserver-threads = 0", "4:18", "1 to 1024"),
        ("subject = \"sqlite\"\nduration = \"0s\"", "4:12", "longer than zero"),
        ("subject = \"sqlite\"\ndrain = \"0s\"", "4:9", "longer than zero"),
        ("subject = \"sqlite\"\ndeadline = \"0s\"", "4:12", "longer than zero"),
        ("subject = \"sqlite\"\nthink = \"spec\"\nrate = 3", "4:9", "exclude each other"),
        ("subject = \"sqlite\"\narrivals = \"poisson\"", "4:12", "give `rate` too"),
        ("subject = \"sqlite\"\nonly = \"pay\"", "4:8", "`only`: no kind of call `pay`; there are new-order"),
        (
            "subject = \"sqlite\"\nmix = { pay = 1 }",
            "4:7",
            "`mix`: no kind of call `pay`; there are new-order",
        ),
        ("subject = \"sqlite\"\nmix = { payment = -1 }", "4:7", "write new-order=45,payment=43"),
        ("subject = \"sqlite\"\nmix = \"payment\"", "4:7", "a table, such as { new-order = 45"),
        ("subject = \"sqlite\"\nmix = { payment = 1 }\nonly = \"payment\"", "2:1", "cannot be used with"),
        (
            "subject = \"sqlite\"\nonly = \"payment\"\ndelivery = \"deferred\"",
            "4:8",
            "no calls that may be deferred",
        ),
        ("subject = \"sqlite\"\ndurability = \"volatile\"", "4:14", "it is one of durable, delayed"),
        ("subject = \"sqlite\"\nlimits = { engine = \"cpu=1\" }", "4:12", "SQLite has no process to limit"),
        ("subject = \"postgres\"\nlimits = { server = \"cpu=1\" }", "4:12", "`server` is for a server"),
        ("subject = \"postgres\"\nlimits = { engine = \"cpu=0\" }", "4:21", "0.01 to 1024"),
        ("subject = \"postgres\"\nlimits = { engin = \"cpu=1\" }", "4:12", "nearest: `engine`"),
        ("subject = \"postgres\"\nlimits = \"cpu=1\"", "4:10", "a table, such as { engine"),
        ("subject = \"sqlite\"\nsettings = { work_mem = \"1MB\" }", "4:1", "use `sqlite` for SQLite options"),
        ("subject = \"postgres\"\nsettings = { \"work mem\" = 1 }", "4:14", "not a name of a setting"),
        ("subject = \"postgres\"\nsettings = { work_mem = {} }", "4:25", "text, a number, or true or false"),
        ("subject = \"postgres\"\nsqlite = { journal = \"wal\" }", "4:1", "runs on postgres"),
        ("subject = \"sqlite\"\nsqlite = { jurnal = \"wal\" }", "4:12", "no option `jurnal`"),
        ("subject = \"sqlite\"\nsqlite = { journal = \"fast\" }", "4:22", "one of wal, delete, truncate"),
        ("subject = \"sqlite\"\nsqlite = { cache = [\"2MiB\", \"2MB\"] }", "4:29", "such as 32MiB"),
        ("subject = \"sqlite\"\nsqlite.cache = \"2MB\"", "4:16", "such as 32MiB"),
        ("subject = \"sqlite\"\nsqlite = { cache = \"2MiB&mmap=1\" }", "4:20", "none of the letters"),
        ("subject = \"sqlite\"\nsqlite = { shared_memory = false }", "4:28", "write journal=truncate"),
        (
            "subject = \"sqlite\"\ndurability = \"delayed\"\nsqlite.synchronous = \"full\"",
            "4:1",
            "leave one out",
        ),
        ("subject = \"sqlite\"\nstatement-statistics = true", "4:1", "counted by PostgreSQL"),
        ("subject = \"sqlite\"\nfactor = \"rout\"", "4:10", "nearest: `route`"),
        ("subject = \"sqlite\"\nfactor = [\"route\", 3]", "4:10", "a list of texts"),
        ("subject = \"sqlite\"\nagainst = \"x\"", "4:11", "the first variant is a base"),
        ("subject = \"sqlite\"\nbase = 1", "4:8", "true or false"),
    ] {
        wrong(&first(lines), place, &[says]);
    }
    wrong(
        "workload = \"tpcb\"\n[[variant]]\nsubject = \"sqlite\"\nthink = \"spec\"\n",
        "4:9",
        &["has no think times"],
    );
    wrong(
        "workload = \"tpcb\"\n[[variant]]\nsubject = \"sqlite\"\ndelivery = \"deferred\"\n",
        "4:12",
        &["deferred"],
    );
    wrong("workload = \"tpcc\"\n[[variant]]\nsubject = \"sqlite\"\n", "2:3", &["nothing to compare"]);
}

#[test]
fn bases_and_names_that_do_not_fit_are_said_with_their_line() {
    let two = "workload = \"tpcc\"\n[[variant]]\nname = \"plain\"\nsubject = \"sqlite\"\n[[variant]]\nname = \"other\"\nsubject = \"sqlite/sqlx\"\n";
    let with = |rest: &str| format!("{two}{rest}");
    wrong(&with("against = \"plane\"\n"), "8:11", &["nearest: `plain`", "bases above are `plain`"]);
    wrong(&with("base = true\nagainst = \"plain\"\n"), "9:11", &["compared with nothing"]);
    wrong(
        &with("[[variant]]\nname = \"third\"\nsubject = \"sqlite/axum\"\n"),
        "10:11",
        &["nearest: `tpcc/sqlite/axum+rusqlite`"],
    );
    wrong(
        &with("[[variant]]\nname = \"third\"\nsubject = \"sqlite/axum+rusqlite\"\nagainst = \"other\"\n"),
        "11:11",
        &["`other` is not a base: it is compared with `plain` itself", "base = true"],
    );
    wrong(
        &with("[[variant]]\nname = \"plain\"\nsubject = \"sqlite/sqlx\"\n"),
        "9:8",
        &["two variants are called `plain`"],
    );
    wrong(
        "workload = \"tpcc\"\n[[variant]]\nsubject = \"sqlite\"\n[[variant]]\nsubject = \"sqlite\"\n",
        "4:1",
        &["give each a `name`"],
    );
}

#[test]
fn more_variants_than_a_night_is_long_are_refused() {
    let caches: Vec<String> = (1..=9).map(|size| format!("\"{size}MiB\"")).collect();
    let caches = caches.join(", ");
    let text = |busy: &str| {
        first(&format!("subject = \"sqlite\"\nsqlite = {{ cache = [{caches}], busy_ms = [{busy}] }}"))
    };
    wrong(&text("1, 2, 3, 4, 5, 6, 7, 8"), "2:1", &["72 variants, and 64 are the most"]);
    // 63 and one more are as many as there may be; another is one too many.
    assert_eq!(good(&text("1, 2, 3, 4, 5, 6, 7")).variants.len(), 64);
    let one_more = text("1, 2, 3, 4, 5, 6, 7") + "[[variant]]\nsubject = \"sqlite/axum\"\n";
    wrong(&one_more, "7:1", &["65 variants"]);
}

#[test]
fn a_long_line_is_shown_in_part() {
    let text = format!("workload = \"tpcc\"\nquestion = \"{}\" x\n", "long ".repeat(1_000));
    let error = parse(&text, Path::new("x.toml"), &any).unwrap_err().to_string();
    assert!(error.starts_with("x.toml:2:"), "{error}");
    assert!(error.len() < 600, "{} letters", error.len());
}

#[test]
fn every_experiment_of_the_repository_can_be_run_in_ninety_minutes() {
    // Servers are looked for from where a command is given, and once in a process: so in one of its own, at the root.
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if env::current_dir().unwrap() != root.canonicalize().unwrap() {
        let test = "experiment::tests::every_experiment_of_the_repository_can_be_run_in_ninety_minutes";
        let mut again = Command::new(env::current_exe().unwrap());
        let ended = again.args(["--exact", test, "--nocapture"]).current_dir(root).output().unwrap();
        let words = String::from_utf8_lossy(&ended.stdout);
        assert!(words.contains("1 passed"), "{words}{}", String::from_utf8_lossy(&ended.stderr));
        return;
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(FOLDER).unwrap() {
        let path = entry.unwrap().path();
        let mut experiment = read(&path, &any).unwrap_or_else(|error| panic!("{error}"));
        // With the room of a machine of 24 GiB, whatever this one has.
        experiment.alternate_where(&|engines| engines <= 8).unwrap();
        assert!(
            experiment.question.as_deref().is_some_and(|asked| asked.ends_with('?')),
            "{}",
            experiment.name
        );
        let minutes = experiment.block_s() * f64::from(experiment.blocks) / 60.0;
        assert!(minutes < 90.0, "{}: {minutes} minutes", experiment.name);
        // What the comment on top promises.
        let promised = format!("{} minutes of measuring", minutes.round());
        let text = fs::read_to_string(&path).unwrap();
        let text = text.replace("\n# ", " ");
        assert!(text.contains(&promised), "{} does not say `{promised}`", experiment.name);
        for variant in experiment.variants.iter().filter(|variant| variant.base.is_some()) {
            assert!(!variant.factors.is_empty(), "{}: {} differs in nothing", experiment.name, variant.name);
            // An ORM of a server that is not ours is one too, and not a driver with a style.
            let orm = variant.factors.iter().any(|factor| factor == "orm");
            assert!(orm || !variant.subject.ends_with("/orm"), "{}: {:?}", variant.name, variant.factors);
        }
        found.push(experiment.name);
    }
    found.sort();
    let mut built_in: Vec<_> = BUILT_IN.iter().map(|(name, _)| *name).chain(OF_SERVERS).collect();
    built_in.sort_unstable();
    assert_eq!(found, built_in, "the program carries every file of the folder but those");
}

#[test]
fn an_experiment_is_found_by_its_name_or_its_path() {
    let found = find("pool-size", &any).unwrap();
    assert_eq!((found.name.as_str(), found.variants.len()), ("pool-size", 4));
    let error = find("pool-sice", &any).unwrap_err().to_string();
    assert!(error.contains("nearest: `pool-size`") && error.contains("http-settings, drivers"), "{error}");
    let error = format!("{:#}", find("nowhere/http-tax.toml", &any).unwrap_err());
    assert!(error.contains("could not read nowhere/http-tax.toml"), "{error}");
}

#[test]
fn what_is_no_text_is_refused_by_its_line() {
    let folder = std::env::temp_dir().join(format!("stackmark-experiment-{}", std::process::id()));
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("x.toml");
    fs::write(&path, b"workload = \"tpcc\"\n# \xff\n").unwrap();
    let error = read(&path, &any).unwrap_err().to_string();
    fs::remove_dir_all(folder).unwrap();
    assert!(error.contains("x.toml:2: not text in UTF-8"), "{error}");
}

/// Blocks of a Markdown text, each with the language it is marked with.
fn blocks(markdown: &str) -> Vec<(&str, &str)> {
    let mut parts = markdown.split("\n```");
    parts.next();
    parts
        .step_by(2)
        .map(|block| block.split_once('\n').expect("a block has a line of its own for its language"))
        .collect()
}

#[test]
fn the_files_in_the_documentation_are_right_or_as_wrong_as_they_say() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/experiments.md");
    let page = fs::read_to_string(page).unwrap();
    let blocks = blocks(&page);
    let mut seen = (0, 0);
    for (index, (language, text)) in blocks.iter().enumerate() {
        if *language != "toml" {
            continue;
        }
        let parsed = parse(text, Path::new("mine.toml"), &any);
        match blocks.get(index + 1) {
            Some(("text", shown)) => {
                let error = parsed.expect_err("the next block shows what is wrong").to_string();
                let ended = |line: &str| {
                    line.split_once("...").map_or(line.to_owned(), |(start, _)| start.to_owned())
                };
                for (shown, words) in shown.lines().zip(error.lines()) {
                    assert!(words.starts_with(&ended(shown)), "{error}\nis not\n{shown}");
                }
                assert_eq!(shown.lines().count(), error.lines().count(), "{error}");
                seen.1 += 1;
            }
            _ => {
                parsed.unwrap_or_else(|error| panic!("{error}"));
                seen.0 += 1;
            }
        }
    }
    assert_eq!(seen, (3, 1), "files that are right, and wrong");
    for key in variant::keys::<Bookings>().iter().chain(PLAN_WHOLE).chain(factors::FACTORS) {
        assert!(page.contains(&format!("`{key}`")), "{key} is not explained");
    }
    for (name, _) in BUILT_IN {
        assert!(page.contains(&format!("| `{name}` |")), "{name} is not in the table");
    }
}
