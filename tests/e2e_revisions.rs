//! Servers that are given by their folders, and by revisions of these: what is measured is what was committed, two revisions are
//! distinguished wherever they are named, and nothing of them is left behind.

use crate::e2e_experiments::{ended, resume};
use crate::e2e_servers::{SHORT, bank, python_in};
use crate::e2e_workdir::{INTERRUPTED, Ran, Running, Workdir, assert_good, parse, write};
use rustix::process::Signal;
use serde_json::Value;
use stackmark_tests::repository::{binary, root};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Output};

/// A loaded bank, and next to it a git repository with the server in Python under `mine`, which reports which of its states
/// it is: `one` at `main`, `two` at `topic/x`, and `three` as it is there. It starts only what has been built next to it.
struct Repository(Workdir);

impl Repository {
    fn new() -> Option<Repository> {
        let workdir = bank();
        python_in(&workdir.path("git/mine")).then(|| {
            let repository = Repository(workdir);
            repository.git("init --quiet");
            repository.git("symbolic-ref HEAD refs/heads/main");
            let manifest = repository.0.path("git/mine/server.toml");
            let text = fs::read_to_string(&manifest).unwrap();
            // One workload, so that it need not be named.
            let one = text.lines().filter(|line| !line.contains("catalogue"));
            let text: String = one.map(|line| format!("{line}\n")).collect();
            let start = r#"start = ["python3", "server.py"]"#;
            let built = r#"build = ["cp", "server.py", "built.py"]
start = ["python3", "built.py"]"#;
            assert!(text.contains(start), "{text}");
            write(manifest, &text.replacen(start, built, 1));
            repository.says("python-http-server", "one");
            repository.commit();
            repository.git("checkout --quiet -b topic/x");
            repository.says("one", "two");
            repository.commit();
            repository.says("two", "three");
            // A hook of the user's is for work of theirs.
            let hook = repository.0.path("git/.git/hooks/post-checkout");
            let touch = format!("#!/bin/sh\ntouch {}\n", repository.0.path("hooked").display());
            write(hook.clone(), &touch);
            fs::set_permissions(hook, fs::Permissions::from_mode(0o755)).unwrap();
            repository
        })
    }

    /// What the server calls itself from now on.
    fn says(&self, from: &str, to: &str) {
        let file = self.0.path("git/mine/server.py");
        let text = fs::read_to_string(&file).unwrap();
        let (from, to) = (format!("\"name\": \"{from}\""), format!("\"name\": \"{to}\""));
        assert!(text.contains(&from), "{from}");
        write(file, &text.replacen(&from, &to, 1));
    }

    fn git(&self, words: &str) -> String {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=a", "-c", "user.email=a@b", "-c", "core.hooksPath=/dev/null"]);
        let ran = command.args(words.split(' ')).current_dir(self.0.path("git")).output().unwrap();
        assert!(ran.status.success(), "{words}: {ran:?}");
        String::from_utf8(ran.stdout).unwrap().trim_end().to_owned()
    }

    fn commit(&self) {
        self.git("add .");
        self.git("commit --quiet --message=state");
    }

    /// The commit of a revision, as results show it.
    fn short(&self, revision: &str) -> String {
        self.git(&format!("rev-parse {revision}"))[..10].to_owned()
    }

    fn start(&self, line: &str) -> Running {
        let mut command = self.0.command(line);
        // As in a hook of git's, which is told of another repository.
        command.env("STACKMARK_RIG_DIR", self.0.path("base")).env("GIT_DIR", self.0.path("nowhere"));
        Running::start(command)
    }

    /// Runs a command that leaves nothing behind: no work tree, neither in what the repository knows nor on the disk, and nothing
    /// in the user's.
    #[track_caller]
    fn run(&self, line: &str) -> Ran {
        let ran = self.start(line).end();
        self.assert_nothing_is_left(&ran);
        ran
    }

    #[track_caller]
    fn assert_nothing_is_left(&self, ran: &Ran) {
        assert_eq!(self.trees(), 1, "{} {ran:?}", self.git("worktree list"));
        let left = fs::read_dir(self.0.path("base/revisions")).into_iter().flatten().count();
        assert_eq!(left, 0, "{ran:?}");
        assert_eq!(self.git("status --short --untracked-files=no"), " M mine/server.py");
        assert!(!self.0.path("hooked").exists());
    }

    /// Work trees that it knows of.
    fn trees(&self) -> usize {
        self.git("worktree list").lines().count()
    }

    #[track_caller]
    fn refused(&self, line: &str, words: &[&str]) {
        let ran = self.run(line);
        ran.refused(words);
        assert!(self.0.runs().is_empty(), "{:?}", self.0.runs());
    }
}

fn server(trial: &Value) -> &str {
    trial["stack"]["server"].as_str().unwrap()
}

#[test]
fn a_revision_is_measured_as_it_was_committed_and_a_folder_as_it_is() {
    let Some(repository) = Repository::new() else { return };
    for (given, subject, name, commit) in [
        ("git/mine@HEAD~1", "tpcb/sqlite/python@HEAD~1", "one ", Some("main")),
        ("git/mine@topic/x", "tpcb/sqlite/python@topic-x", "two ", Some("topic/x")),
        ("git/mine", "tpcb/sqlite/python", "three ", None),
    ] {
        let ran = repository.run(&format!("run --server {given} --db sqlite:bank.db {SHORT}"));
        let document = parse(&ran.out);
        assert_good(&ran, &document);
        let trial = &document["trials"][0];
        assert_eq!((&document["subjects"][0], &trial["subject"]), (&subject.into(), &subject.into()));
        let is_built = repository.0.path("git/mine/built.py").exists();
        assert_eq!((server(trial).starts_with(name), is_built), (true, commit.is_none()), "{trial}");
        let at = commit.map(|commit| format!(" at {}", repository.short(commit)));
        assert_eq!(at.as_deref(), server(trial).find(" at ").map(|at| &server(trial)[at..]), "{trial}");
    }
}

#[test]
fn two_revisions_are_compared_and_a_killed_comparison_goes_on_with_the_same_commits() {
    let Some(repository) = Repository::new() else { return };
    let workdir = &repository.0;
    let two = "compare --server git/mine@main --server git/mine@topic/x --blocks 2 --no-control";
    let run = repository.start(&format!("{two} --db sqlite:bank.db {SHORT}"));
    run.until("a trial has ended", || !ended(workdir).is_empty());
    run.signal(Signal::KILL);
    let ran = run.end();
    assert_eq!(ran.status.code(), None, "{ran:?}");
    assert_eq!(repository.trees(), 3, "{ran:?}");
    let (one, two) = (repository.short("main"), repository.short("topic/x"));
    // By now the branch is somewhere else.
    repository.git("branch --force main topic/x");
    let ran = repository.run(&format!("{} --json", resume(workdir)));
    assert_eq!(ran.code(), 0, "{}", ran.err);
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let trials = document["trials"].as_array().unwrap();
    assert_eq!(trials.len(), 4, "{ran:?}");
    for trial in trials {
        let (of, name, commit) = match trial["subject"].as_str().unwrap() {
            "tpcb/sqlite/python@main" => ("main", "one ", &one),
            "tpcb/sqlite/python@topic-x" => ("topic/x", "two ", &two),
            other => panic!("{other}"),
        };
        let sentence = server(trial);
        assert!(
            sentence.starts_with(name) && sentence.ends_with(&format!(" at {commit}")),
            "{of}: {sentence}"
        );
    }
    let comparison = &document["experiment"]["comparisons"][0];
    assert_eq!(comparison["factor"], "revision", "{comparison}");
    let label = |side: &str| comparison[side]["label"].as_str().unwrap().to_owned();
    assert_eq!((label("a"), label("b")), ("python@main".into(), "python@topic-x".into()), "{comparison}");
    let differences = comparison["key_differences"].as_array().unwrap();
    assert!(differences.iter().any(|field| field["field"] == "stack.server"), "{comparison}");
    assert!(differences.iter().all(|field| field["intended"] == true), "{comparison}");
    let history = workdir.run("report --history results --format csv").out;
    for subject in ["tpcb/sqlite/python@main", "tpcb/sqlite/python@topic-x"] {
        assert!(history.lines().any(|row| row.starts_with(subject)), "{history}");
    }
}

#[test]
fn a_revision_is_held_against_another_subject_and_in_an_experiment_against_its_work_tree() {
    let Some(repository) = Repository::new() else { return };
    let plan = format!("--blocks 1 --no-control --db sqlite:bank.db {SHORT}");
    let ran = repository.run(&format!("compare tpcb/sqlite/axum+rusqlite --server git/mine@main {plan}"));
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let subjects = serde_json::json!(["tpcb/sqlite/axum+rusqlite", "tpcb/sqlite/python@main"]);
    assert_eq!(document["subjects"], subjects);
    assert_ne!(document["experiment"]["comparisons"][0]["factor"], "revision");
    let file = r#"workload = "tpcb"
plan = { blocks = 1, control = false, duration = "1s", warmup = "0s", clients = 4, generator-threads = 2 }
[[variant]]
server = "git/mine@main"
[[variant]]
name = "changed"
server = "git/mine"
subject = "sqlite"
"#;
    write(repository.0.path("change.toml"), file);
    let ran = repository.run("experiment change.toml --json");
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    let variants = document["experiment"]["variants"].as_array().unwrap();
    let names: Vec<&Value> = variants.iter().map(|variant| &variant["name"]).collect();
    assert_eq!(names, ["sqlite/python@main", "changed"]);
    assert_eq!(document["experiment"]["comparisons"][0]["factor"], "revision", "{document}");
    write(repository.0.path("change.toml"), &file.replacen("@main", "@gone", 1));
    repository.run("experiment change.toml").refused(&["change.toml:4:", "no revision `gone`"]);
}

/// The steps of the action for CI, as GitHub runs them: lines of the shell, with inputs in the environment.
#[test]
fn the_action_compares_a_server_with_its_base_and_ends_as_the_comparison_does() {
    let Some(repository) = Repository::new() else { return };
    let folder = root().join("packaging/action");
    let action = fs::read_to_string(folder.join("action.yml")).unwrap();
    let lines = || action.lines().map(str::trim);
    let steps: Vec<&str> =
        lines().filter_map(|line| line.strip_prefix("run: '")?.strip_suffix('\'')).collect();
    assert_eq!(steps.len(), 2);
    let inputs = lines().filter_map(|line| line.strip_suffix(" }}")?.split_once(": ${{ inputs."));
    let variables: Vec<(&str, &str)> = inputs.collect();
    let options = format!("--db sqlite:bank.db --blocks 1 --no-control {SHORT}");
    let path = format!("{}:{}", binary().parent().unwrap().display(), std::env::var("PATH").unwrap());
    let run = |base: &str, accepts: &str| {
        let value = |input: &str| match input {
            "server" => "git/mine",
            "base" => base,
            "subject" => "",
            "max-loss" => "99%",
            "accept-inconclusive" => accepts,
            "options" => &options,
            "results" => "results",
            other => panic!("{other} is not given"),
        };
        let ran: Vec<Output> = steps
            .iter()
            .map(|step| {
                let mut command = Command::new("bash");
                command.args(["-c", step]).current_dir(repository.0.path("")).env("PATH", &path);
                command
                    .env("GITHUB_ACTION_PATH", &folder)
                    .env("GITHUB_STEP_SUMMARY", repository.0.path("summary.md"));
                command
                    .env("STACKMARK_RIG_DIR", repository.0.path("base"))
                    .env("STACKMARK_LOCK", repository.0.path("lock"));
                command.envs(variables.iter().map(|(name, input)| (name, value(input)))).output().unwrap()
            })
            .collect();
        ran[1].clone()
    };
    // A single block has no interval, so that nothing is known of a loss.
    let ran = run("topic/x", "true");
    assert_eq!(ran.status.code(), Some(0), "{ran:?}");
    let summary = fs::read_to_string(repository.0.path("summary.md")).unwrap();
    assert!(summary.starts_with("# ") && summary.contains("python@topic-x"), "{summary}");
    let junit = fs::read_to_string(repository.0.path("results/junit.xml")).unwrap();
    assert!(junit.contains("<testsuites name=\"stackmark\"") && junit.contains("python"), "{junit}");
    assert_eq!(run("topic/x", "false").status.code(), Some(3));
    for base in ["", "0000000000000000000000000000000000000000", "gone"] {
        let ran = run(base, "false");
        assert_eq!(ran.status.code(), Some(2), "{ran:?}");
    }
}

#[test]
fn what_cannot_be_given_is_refused_before_anything_is_started() {
    let Some(repository) = Repository::new() else { return };
    let refused = |given: &str, words: &[&str]| {
        repository.refused(&format!("run {given} --db sqlite:bank.db {SHORT}"), words);
    };
    refused("--server git/mine@gone", &["no revision `gone` in the git repository of", "git/mine"]);
    refused("--server git/mine@--upload-pack=x", &["does not begin with `-`"]);
    refused("--server git/mine@", &["is not a PATH@REVISION"]);
    refused("--server servers@main", &["servers is in no git repository", "not a git repository"]);
    refused("--server git/nothing@main", &["revision `main` (", ") has no nothing/server.toml"]);
    refused("--server git@main", &[") has no server.toml"]);
    refused("--server nothing", &["could not read the server manifest", "nothing/server.toml"]);
    refused(
        "tpcb/postgres --server git/mine@main",
        &["does not serve `tpcb/postgres`; it serves tpcb/sqlite/python@main"],
    );
    refused("tpcb --url http://127.0.0.1:1 --server git/mine", &["cannot be used with"]);
    // Two of one name, and more of one name than one can be meant.
    fs::create_dir_all(repository.0.path("twin")).unwrap();
    let manifest = fs::read_to_string(repository.0.path("git/mine/server.toml")).unwrap();
    write(repository.0.path("twin/server.toml"), &manifest);
    let two = format!("--db sqlite:bank.db {SHORT}");
    repository.refused(
        &format!("compare --server git/mine --server twin {two}"),
        &["twin/server.toml:3:", "a subject `tpcb/sqlite/python` already: give the server another name"],
    );
    let serves =
        "serves = [\n  { workload = \"tpcb\", engine = \"sqlite\", how = \"other\", about = \"another\" },";
    write(repository.0.path("twin/server.toml"), &manifest.replacen("serves = [", serves, 1));
    refused(
        "--server twin",
        &[
            "`twin` serves more than one subject: tpcb/sqlite/python+other, tpcb/sqlite/python",
            "name one of them with --server",
        ],
    );
    repository.refused(&format!("compare --server twin tpcb tpcb {two}"), &["compare takes 2 sides"]);
    // A mistake is shown where it is in the revision, and what starts is never another program than that of the revision.
    let manifest_of = |change: &dyn Fn(&str) -> String| {
        write(repository.0.path("git/mine/server.toml"), &change(&manifest));
        repository.git("add mine/server.toml");
        repository.git("commit --quiet --message=mistake");
        write(repository.0.path("git/mine/server.toml"), &manifest);
        repository.git("commit --quiet --all --message=mended");
        repository.says("three", "four");
    };
    repository.git("checkout --quiet -- mine/server.py");
    repository.says("two", "three");
    manifest_of(&|manifest| manifest.replacen("language =", "langauge =", 1));
    refused("--server git/mine@HEAD~1", &["git/mine@HEAD~1/server.toml:4:", "unknown field `langauge`"]);
    repository.says("four", "three");
    manifest_of(&|manifest| manifest.replacen("\"python3\"", "\"${STACKMARK}\"", 1));
    refused("--server git/mine@HEAD~1", &["git/mine@HEAD~1/server.toml:6:", "the same at every revision"]);
}

#[test]
fn nothing_is_left_of_a_revision_whose_run_fails_or_is_interrupted() {
    let Some(repository) = Repository::new() else { return };
    let line =
        "run --server git/mine@main --db sqlite:bank.db --warmup 0s --duration 300s --think 10ms --json";
    let run = repository.start(line);
    run.until("calls are committed", || repository.0.has_committed());
    assert_eq!(repository.trees(), 2);
    run.signal(Signal::INT);
    let ran = run.end();
    assert_eq!(ran.code(), INTERRUPTED, "{ran:?}");
    repository.assert_nothing_is_left(&ran);
    assert_eq!(parse(&ran.out)["state"], "interrupted");
    fs::remove_dir_all(repository.0.path("results")).unwrap();
    // One that cannot be built.
    let manifest = repository.0.path("git/mine/server.toml");
    let good = fs::read_to_string(&manifest).unwrap();
    write(manifest.clone(), &good.replacen("\"cp\"", "\"false\"", 1));
    repository.git("commit --quiet --message=unbuilt mine/server.toml");
    repository.refused(
        &format!("run --server git/mine@HEAD --db sqlite:bank.db {SHORT}"),
        &["could not build the server `python@HEAD`"],
    );
    // A folder with an `@` in its name is that folder.
    fs::rename(repository.0.path("git"), repository.0.path("a@b")).unwrap();
    let ran = repository.start(&format!("run --server a@b/mine@HEAD~1 --db sqlite:bank.db {SHORT}")).end();
    let document = parse(&ran.out);
    assert_good(&ran, &document);
    assert!(server(&document["trials"][0]).starts_with("two "), "{ran:?}");
}
