//! Documents as files: broken ones, those of other versions, and none at all.
use result::{self, ReadError};
use std::path::Path;

fn check_unreadable(text: &str, message: &str) {
    let error = result::parse(text, Path::new("results/a/result.json")).expect_err("it is not a document");
    assert_eq!(error.to_string(), message);
}

#[test]
fn a_broken_file_is_named_with_line_and_reason() {
    check_unreadable(
        "{\n  \"schema\": \"stackmark-result/5\",\n  \"id\": }",
        "results/a/result.json, line 3: expected value",
    );
    check_unreadable("{\"id\": 1}", "results/a/result.json, line 1: missing field `schema`");
    let json = result::to_json(&sample_documents::trial()).replacen(
        "\"state\": \"complete\"",
        "\"state\": \"done\"",
        1,
    );
    let line = json.lines().position(|line| line.contains("\"done\"")).unwrap() + 1;
    check_unreadable(
        &json,
        &format!(
            "results/a/result.json, line {line}: unknown variant `done`, expected one of `running`, `complete`, \
             `interrupted`, `failed`"
        ),
    );
}

#[test]
fn another_version_is_refused_by_its_name() {
    check_unreadable(
        "{\"schema\": \"stackmark-result/99\", \"anything\": []}",
        "results/a/result.json is in the format `stackmark-result/99`; this version of stackmark reads `stackmark-result/5`\n\
         hint: render it with the version that wrote it, which its field `stackmark` names",
    );
}

#[test]
fn a_missing_file_is_named() {
    let error = result::read(Path::new("no/such/result.json")).expect_err("there is no such file");
    assert!(matches!(error, ReadError::Unreadable { .. }));
    assert_eq!(error.to_string(), "could not read no/such/result.json");
}
