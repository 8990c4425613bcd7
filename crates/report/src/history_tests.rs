use super::*;

fn at(mut document: Document, id: &str, day: u64) -> (PathBuf, Result<Document, ReadError>) {
    document.id = id.to_owned();
    for trial in &mut document.trials {
        trial.started = Moment::from_unix(1_795_216_140 + day * 86_400);
    }
    (PathBuf::from(format!("results/{id}/result.json")), Ok(document))
}

fn history(found: Vec<(PathBuf, Result<Document, ReadError>)>) -> History {
    History::of(found, None)
}

#[test]
fn runs_of_one_key_are_one_series_by_time() {
    let history = history(vec![at(sample_documents::trial(), "b", 2), at(sample_documents::trial(), "a", 1)]);
    let [series] = &history.series[..] else { panic!("{history:#?}") };
    let runs: Vec<&str> = series.points.iter().map(|point| point.run.as_str()).collect();
    assert_eq!(runs, ["a", "b"]);
    assert!(
        series
            .points
            .iter()
            .all(|point| point.changes.is_empty() && !point.invalid && point.p99_ns.is_some())
    );
}

#[test]
fn another_load_is_another_series_and_says_what_differs() {
    let mut other = sample_documents::trial();
    other.trials[0].plan.clients = 32;
    other.trials[0].plan.deferred = true;
    let history = history(vec![at(sample_documents::trial(), "a", 1), at(other, "b", 2)]);
    assert_eq!(history.series.len(), 2);
    let has = |name: &str, value: &str| history.series[1].key.contains(&(name.to_owned(), value.to_owned()));
    assert!(has("clients", "32") && has("deferred", "yes"), "{:?}", history.series[1].key);
}

#[test]
fn another_setting_is_told_and_does_not_end_the_series() {
    let mut other = sample_documents::trial();
    let setting = &mut other.trials[0].stack.settings[2];
    let (name, before) = (setting.name.clone(), std::mem::replace(&mut setting.value, "1 GiB".into()));
    let gone = other.trials[0].stack.settings.remove(0);
    let history = history(vec![at(sample_documents::trial(), "a", 1), at(other, "b", 2)]);
    let [series] = &history.series[..] else { panic!("{history:#?}") };
    let changes = &series.points[1].changes;
    assert_eq!(
        *changes,
        [format!("{}: {} → none", gone.name, gone.value), format!("{name}: {before} → 1 GiB")]
    );
}

#[test]
fn a_search_and_a_sweep_are_one_run_each_with_their_answer() {
    let search = sample_documents::search();
    let highest = search.search.as_ref().and_then(|search| search.highest_per_s).unwrap();
    let mut none = sample_documents::search();
    none.search.as_mut().unwrap().highest_per_s = None;
    let found = vec![at(search, "a", 1), at(sample_documents::sweep(), "b", 1), at(none, "c", 1)];
    let history = history(found);
    let [one, other] = &history.series[..] else { panic!("{history:#?}") };
    let of_search = if one.unit == "calls/s within the SLO" { one } else { other };
    assert_eq!((of_search.points.len(), of_search.points[0].value.value), (1, highest));
    assert!(of_search.key.contains(&("SLO".into(), "new-order.p99<50ms".into())), "{:?}", of_search.key);
    assert_eq!(history.skipped.len(), 1);
}

#[test]
fn variants_of_one_run_are_no_repetitions() {
    let mut document = sample_documents::comparison();
    let count = document.trials.len();
    for trial in &mut document.trials {
        (trial.subject, trial.stack.route, trial.stack.server) =
            ("tpcc/postgres/x".into(), "http".into(), None);
    }
    let variants = document.experiment.as_ref().unwrap().variants.clone();
    for at in variants[1].trials.iter().flatten() {
        document.trials[*at].stack.settings[0].value = "another".into();
    }
    let history = history(vec![at(document, "a", 1)]);
    let trials: usize =
        history.series.iter().flat_map(|series| &series.points).map(|point| point.trials).sum();
    assert_eq!((history.series.len(), trials), (2, count), "{history:#?}");
    for (series, variant) in history.series.iter().zip(&variants) {
        assert!(series.key.contains(&("variant".into(), variant.name.clone())), "{:?}", series.key);
    }
}

/// The range is told with as many digits as the latest value, so that it contains it.
#[test]
fn the_range_contains_the_latest_value() {
    let run = |id: &str, day, value, half: Option<f64>| {
        let mut document = sample_documents::trial();
        let limit = |sign: f64| half.map(|half| value + sign * half);
        document.trials[0].headline.value = Interval { value, low: limit(-1.0), high: limit(1.0) };
        at(document, id, day)
    };
    let text =
        history(vec![run("a", 1, 1_900.0, Some(200.0)), run("b", 2, 1_963.0, Some(2.0))]).text(Style::PLAIN);
    assert!(text.contains("Latest: 1,963.0 ± 2.0") && text.contains("and 1,963.0."), "{text}");
}

#[test]
fn a_new_version_is_told_and_does_not_end_the_series() {
    let mut later = sample_documents::trial();
    later.stackmark = "0.2.0".into();
    later.trials[0].stack.engine_version = "3.52.0".into();
    later.trials[0].machine.memory_bytes *= 2;
    let history = history(vec![at(sample_documents::trial(), "a", 1), at(later, "b", 2)]);
    assert_eq!(history.series.len(), 1);
    let changes = history.series[0].points[1].changes.join("\n");
    for word in ["stackmark: 0.1.0 → 0.2.0", "3.52.0", "memory: "] {
        assert!(changes.contains(word), "{changes}");
    }
}

#[test]
fn the_page_says_what_the_latest_run_is_beside_the_one_before() {
    let run = |id: &str, day, value, half| {
        let mut document = sample_documents::trial();
        document.trials[0].headline.value =
            Interval { value, low: Some(value - half), high: Some(value + half) };
        at(document, id, day)
    };
    let page = |found| crate::html::history::render(&history(found)).replace('\u{a0}', " ");
    let apart = page(vec![run("a", 1, 1_000.0, 10.0), run("b", 2, 1_100.0, 10.0)]);
    assert!(apart.contains("110.0 % of the run before; their intervals do not meet"), "{apart}");
    assert!(apart.contains("All runs are between 1,000 and 1,100."), "{apart}");
    let near = page(vec![run("a", 1, 1_000.0, 10.0), run("b", 2, 1_005.0, 10.0)]);
    assert!(near.contains("the intervals of the two overlap"), "{near}");
    let single = page(vec![run("a", 1, 1_000.0, 10.0)]);
    assert!(single.contains("Measured once") && !single.contains("of the run before"), "{single}");
    assert!(page(vec![]).contains("No results."));
}

#[test]
fn a_subject_filter_takes_whole_parts_of_a_path() {
    let found = || vec![at(sample_documents::trial(), "a", 1), at(sample_documents::engine_trial(), "b", 1)];
    let subjects = |filter| -> Vec<String> {
        History::of(found(), Some(filter)).series.into_iter().map(|series| series.subject).collect()
    };
    assert_eq!(subjects("tpcc").len(), 2);
    assert_eq!(subjects("tpcc/sqlite"), ["tpcc/sqlite/rusqlite"]);
    assert_eq!(subjects("tpcc/sql"), [""; 0]);
}

#[test]
fn csv_has_a_row_a_run_and_nothing_from_a_file_moves_the_cursor() {
    let mut hostile = sample_documents::hostile_trial();
    hostile.trials[0].subject.push_str("\x1b[2J");
    let history = history(vec![at(sample_documents::trial(), "a", 1), at(hostile, "h", 2)]);
    assert_eq!(history.csv().lines().count(), 3);
    assert!(!history.text(Style::PLAIN).contains('\x1b'));
    let page = crate::html::history::render(&history);
    assert!(!page.contains("<script>alert") && page.contains("&lt;script&gt;alert"), "escaped");
    let json: serde_json::Value = serde_json::from_str(&history.json()).unwrap();
    assert_eq!(json["series"].as_array().unwrap().len(), 2);
}
