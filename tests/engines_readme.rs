//! What a reader of the README alone finds: commands that answer four questions, as they stand there but for addresses and how long they
//! measure.

use crate::e2e_workdir::{Running, Workdir};
use crate::engines_workdir::on;
use rig::Engine;
use serde_json::Value;
use stackmark_tests::repository;
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// Commands of the README, from its blocks.
fn commands() -> Vec<String> {
    let text = fs::read_to_string(repository::root().join("README.md")).unwrap();
    let blocks = text.split("```").skip(1).step_by(2);
    let lines = blocks.flat_map(|block| block.lines().skip(1)).map(|line| line.trim_start_matches("$ "));
    lines.filter_map(|line| line.strip_prefix("stackmark ")).map(str::to_owned).collect()
}

/// The first of them that has all of these words.
#[track_caller]
fn command(words: &[&str]) -> String {
    let has_all = |line: &&String| words.iter().all(|word| line.contains(word));
    commands()
        .iter()
        .find(has_all)
        .unwrap_or_else(|| panic!("the README has no command with {words:?}"))
        .clone()
}

/// The same on little data and for a moment.
fn shortened(command: &str) -> String {
    let command = command.replace("--scale 10", "--scale 1").replace("--precision 2%", "--blocks 1");
    let blocks = if command.contains("compare") && !command.contains("--blocks") { "--blocks 1" } else { "" };
    let lasts = if command.starts_with("load") { "" } else { "--warmup 0s --duration 400ms" };
    format!("{command} {blocks} {lasts}")
}

/// Runs a comparison to its end. Of so little, on a machine that other tests use, the answer may be any; gives the comparison.
#[track_caller]
fn compared(workdir: &Workdir, command: &str) -> Value {
    let ran = workdir.run(&shortened(command));
    assert!([0, 1, 3].contains(&ran.code()), "{command}: {ran:?}");
    let document = workdir.document();
    assert_eq!(document["state"], "complete", "{command}: {ran:?}");
    document["experiment"]["comparisons"][0].clone()
}

#[test]
fn a_reader_of_the_readme_measures_a_server_of_their_own() {
    let workdir = Workdir::empty();
    on(Engine::Postgres, |server| {
        let secret = workdir.path("secret");
        fs::write(&secret, server.password()).unwrap();
        fs::set_permissions(&secret, fs::Permissions::from_mode(0o600)).unwrap();
        let url = server.database("readme");
        for words in ["load tpcc", "run tpcc/postgres", "audit tpcc"] {
            let line = command(&[words, "--db postgres://bench@db.example/tpcc", "--password-file secret"]);
            let line = line.replace("postgres://bench@db.example/tpcc", &url);
            let line = if words.starts_with("audit") { line } else { shortened(&line) };
            let ran = Running::start(workdir.command(&line)).end();
            assert_eq!(ran.code(), 0, "{line}: {ran:?}");
        }
    });
}

mod extended {
    use super::*;

    #[test]
    fn a_reader_of_the_readme_compares_two_settings() {
        let workdir = Workdir::empty();
        let line = command(&[
            "compare tpcc/postgres",
            "--setting shared_buffers=128MB",
            "--setting shared_buffers=1GB",
        ]);
        let comparison = compared(&workdir, &line);
        let labels = [&comparison["a"]["label"], &comparison["b"]["label"]];
        assert_eq!(labels, ["shared_buffers=128MB", "shared_buffers=1GB"]);
    }

    #[test]
    fn a_reader_of_the_readme_fails_a_build_on_a_loss() {
        let workdir = Workdir::empty();
        assert_eq!(compared(&workdir, &command(&["compare", "--max-loss 5%"]))["loss_max"], 0.05);
    }

    #[test]
    fn a_reader_of_the_readme_sees_what_http_costs() {
        let workdir = Workdir::empty();
        let line = command(&["compare tpcc/postgres tpcc/postgres/axum+tokio-postgres", "--precision"]);
        assert_eq!(compared(&workdir, &line)["factors"][0], "route");
    }
}
