//! Documents of earlier versions say the same as today's, in the words of today.
use result::Document;
use serde_json::{Value, json};
use std::path::Path;

/// A comparison as version 2 stored it, on MariaDB, and with another factor.
fn earlier(factor: &str) -> Document {
    let mut document = sample_documents::comparison();
    let mut comparison = sample_documents::compared(&document).clone();
    comparison.factor = factor.to_owned();
    comparison.factors = vec![factor.to_owned()];
    document.trials[0].notes.push("It was ended early: enough was seen.".to_owned());
    let mut value = serde_json::to_value(&document).unwrap();
    let fields = value.as_object_mut().unwrap();
    fields.remove("experiment");
    let mut stored = serde_json::to_value(&comparison).unwrap();
    stored.as_object_mut().unwrap().remove("factors");
    fields.insert("comparison".to_owned(), stored);
    fields.insert("schema".to_owned(), json!("stackmark-result/2"));
    for trial in fields["trials"].as_array_mut().unwrap() {
        trial["stack"]["engine"] = json!("mysql");
        let trial = trial.as_object_mut().unwrap();
        trial.remove("ended_early");
        for rule in trial["rules"].as_array_mut().unwrap() {
            rule.as_object_mut().unwrap().remove("full");
        }
    }
    let text = value.to_string().replace("tpcc/sqlite/", "tpcc/mysql/");
    result::parse(&text, Path::new("result.json")).unwrap()
}

#[test]
fn a_comparison_is_an_experiment_and_mysql_is_mariadb() {
    let document = earlier("engine, pool and limits");
    let compared = sample_documents::compared(&document);
    assert_eq!(compared.factors, ["engine", "pool", "limits"]);
    let experiment = document.experiment.as_ref().unwrap();
    assert_eq!(experiment.variants.len(), 3);
    let subjects = document.trials.iter().map(|trial| &trial.subject).chain(&document.subjects);
    let subjects = subjects.chain(experiment.variants.iter().map(|variant| &variant.subject));
    for subject in subjects.chain([&compared.a.subject, &compared.b.subject]) {
        assert!(subject.starts_with("tpcc/mariadb/"), "{subject}");
    }
    assert!(document.trials.iter().all(|trial| trial.stack.engine == "mariadb"));
    assert_eq!(document.trials[0].ended_early.as_deref(), Some("enough was seen"));
    // What is written and read once more is the same.
    let again: Value = serde_json::from_str(&result::to_json(&document)).unwrap();
    assert_eq!(again["comparison"], Value::Null);
    assert_eq!(result::parse(&result::to_json(&document), Path::new("result.json")).unwrap(), document);
}

#[test]
fn what_stands_for_no_factor_is_none() {
    assert!(sample_documents::compared(&earlier("stored results")).factors.is_empty());
}
