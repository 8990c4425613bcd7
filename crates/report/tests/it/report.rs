//! Documents in, reports out: what a reader can rely on in every format.

use super::formats;
use contract::schema::Schema;
use report::text::{Colour, Style};
use report::{html, markdown, text};
use result::{self, Document, Loss, State};
use std::path::Path;

fn samples() -> impl Iterator<Item = (&'static str, Document)> {
    sample_documents::samples().into_iter().chain([("busy", sample_documents::busy_trial(60))])
}

fn schema() -> Schema {
    let schema =
        serde_json::from_str(include_str!("../../../../spec/result.schema.json")).expect("schema is JSON");
    Schema::whole(schema).expect("schema is a schema")
}

#[test]
fn every_document_keeps_to_the_published_schema() {
    let schema = schema();
    for (name, document) in samples() {
        let value: serde_json::Value = serde_json::from_str(&result::to_json(&document)).unwrap();
        let violations = schema.violations(&value);
        assert!(violations.is_empty(), "{name}: {violations:#?}");
    }
}

/// Adds a field to every object, one at a time, and expects schema and reader to refuse it alike.
#[test]
fn a_field_that_the_schema_does_not_know_is_refused_everywhere() {
    fn objects(value: &serde_json::Value, path: String, out: &mut Vec<String>) {
        match value {
            serde_json::Value::Object(fields) => {
                out.push(path.clone());
                fields.iter().for_each(|(name, field)| objects(field, format!("{path}/{name}"), out));
            }
            // The first item stands for the others.
            serde_json::Value::Array(items) => {
                items.iter().take(1).for_each(|item| objects(item, format!("{path}/0"), out));
            }
            _ => {}
        }
    }
    let schema = schema();
    let mut comparison = sample_documents::comparison();
    comparison.experiment = sample_documents::experiment().experiment;
    let further = sample_documents::two_metrics().experiment.unwrap().further_metrics;
    comparison.experiment.as_mut().unwrap().further_metrics = further;
    comparison.curve = sample_documents::sweep().curve;
    comparison.search = sample_documents::search().search;
    comparison.drill = sample_documents::drill().drill;
    // One trial shows all that a trial has, once its data is split.
    comparison.trials.truncate(1);
    comparison.trials[0].data.stores = sample_documents::two_stores();
    assert_eq!(schema.violations(&serde_json::to_value(&comparison).unwrap()), [""; 0]);
    let value = serde_json::to_value(comparison).unwrap();
    let mut paths = Vec::new();
    objects(&value, String::new(), &mut paths);
    assert!(paths.len() > 60, "only {} objects found", paths.len());
    for path in paths {
        let mut value = value.clone();
        let object = value.pointer_mut(&path).and_then(serde_json::Value::as_object_mut).unwrap();
        object.insert("surprise".to_owned(), 1.into());
        assert!(!schema.is_valid(&value), "the schema accepts a surprise in {path}");
        assert!(
            result::parse(&value.to_string(), Path::new("x")).is_err(),
            "the reader accepts a surprise in {path}"
        );
    }
}

#[test]
fn a_document_survives_being_written_and_read() {
    for (name, document) in samples() {
        let read = result::parse(&result::to_json(&document), Path::new("x")).unwrap();
        assert!(read == document, "{name} changed on the way");
    }
}

#[test]
fn nothing_from_the_data_becomes_markup() {
    let document = sample_documents::hostile_trial();
    let page = html::render(&document);
    assert!(page.contains("&lt;script&gt;alert(&#39;x&#39;)"), "the data is on the page");
    assert!(!page.contains("<script>alert"), "a script from the data");
    // Two elements of our own making, style and script, one each.
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("</svg>").count(), page.matches("<svg").count());
    let markdown = markdown::render(&document);
    let outside_code: String = markdown.split('`').step_by(2).collect();
    assert!(!outside_code.contains("<script>"), "a script from the data in Markdown");
}

#[test]
fn a_page_refers_to_nothing_outside() {
    for (name, document) in samples() {
        let page = html::render(&document);
        for reference in ["src=", "href=", "url(", "@import", "https:"] {
            assert!(!page.contains(reference), "{name} has {reference}");
        }
        // The one address is the name of a namespace.
        assert_eq!(
            page.matches("http://").count(),
            page.matches("http://www.w3.org/2000/svg").count(),
            "{name}"
        );
    }
}

#[test]
fn every_colour_of_a_chart_is_one_of_the_style_sheet() {
    for (name, document) in samples() {
        let page = html::render(&document);
        for variable in page.split("=\"var(").skip(1).filter_map(|rest| rest.split(')').next()) {
            assert!(page.contains(&format!("{variable}: #")), "{name}: no value for {variable}");
        }
    }
}

/// Where `first` and `second` stand in every format.
fn check_order(document: &Document, first: &str, second: &str) {
    for report in formats(document) {
        let report = report.replace('\\', "").replace("<wbr>", "");
        let body = report.find("<body").unwrap_or(0);
        let at = |text: &str| {
            report[body..].find(text).unwrap_or_else(|| panic!("`{text}` is missing:\n{report}"))
        };
        assert!(at(first) < at(second), "`{first}` comes after `{second}`:\n{report}");
    }
}

#[test]
fn what_the_kernel_took_to_write_back_stands_beside_the_processes_or_is_said_not_to_be_visible() {
    let mut document = sample_documents::trial();
    let check = |document: &Document, words: &str| {
        for report in formats(document) {
            assert!(words.is_empty() != report.contains("kernel: writeback and journal"), "{report}");
            assert!(report.contains(words), "`{words}` is missing:\n{report}");
        }
    };
    let writeback = document.trials[0].writeback.as_mut().unwrap();
    writeback.cpu_ms_per_1000_committed = Some(71.25);
    check(&document, "71 ms");
    let writeback = document.trials[0].writeback.as_mut().unwrap();
    (writeback.cpu_s, writeback.cpu_ms_per_1000_committed) = (None, None);
    writeback.samples.clear();
    check(&document, "not visible here");
    document.trials[0].writeback = None;
    check(&document, "");
}

#[test]
fn a_void_variant_has_no_number_in_any_format() {
    let mut document = sample_documents::experiment();
    // A value that nothing else on the page has.
    let experiment = document.experiment.as_mut().unwrap();
    let invalid =
        experiment.variants.iter().find(|variant| variant.state == result::VariantState::Invalid).unwrap();
    for trial in invalid.trials.iter().flatten() {
        let headline = &mut document.trials[*trial].headline.value;
        *headline = result::Interval { value: 31_337.0, low: Some(31_300.0), high: Some(31_400.0) };
    }
    for report in formats(&document) {
        for number in ["31,337", "31,340", "31,300"] {
            assert!(!report.contains(number), "{report}");
        }
        assert!(report.contains("the audit warehouse-ytd failed in 2 of 5 trials"), "{report}");
    }
}

#[test]
fn an_experiment_whose_variants_did_not_all_run_is_not_good() {
    let mut document = sample_documents::experiment();
    assert!(!document.is_good());
    let experiment = document.experiment.as_mut().unwrap();
    for variant in &mut experiment.variants {
        variant.state = result::VariantState::Measured;
    }
    document.trials.iter_mut().flat_map(|trial| &mut trial.audits).for_each(|audit| {
        audit.check = result::Check::Passed;
    });
    assert!(document.is_good());
    document.experiment.as_mut().unwrap().comparisons[0].loss_max = Some(0.1);
    assert!(!document.is_good());
}

#[test]
fn an_interrupted_experiment_says_how_far_it_came() {
    let mut document = sample_documents::experiment();
    let experiment = document.experiment.as_mut().unwrap();
    experiment.blocks.truncate(2);
    for variant in &mut experiment.variants {
        variant.trials.truncate(2);
    }
    for report in formats(&document) {
        assert!(report.contains("2 of 5 blocks"), "{report}");
    }
    // Nothing ran yet.
    let experiment = document.experiment.as_mut().unwrap();
    experiment.blocks.clear();
    experiment.comparisons.clear();
    experiment.variants.iter_mut().for_each(|variant| variant.trials.clear());
    document.trials.clear();
    let page = html::render(&document);
    assert!(page.contains("No result yet."), "{page}");
    let _ = (text::render(&document, Style::PLAIN), markdown::render(&document));
}

#[test]
fn where_less_is_better_the_picture_says_left() {
    let mut document = sample_documents::experiment();
    document.experiment.as_mut().unwrap().metric.higher_is_better = false;
    assert!(html::render(&document).contains("Left of 100\u{a0}% is better"));
    let mut document = sample_documents::comparison();
    sample_documents::compared_mut(&mut document).metric = "new-order.p99, ms".to_owned();
    sample_documents::compared_mut(&mut document).higher_is_better = false;
    sample_documents::redraw(&mut document);
    let page = html::render(&document);
    assert!(page.contains("Left of 100\u{a0}% is better") && !page.contains("keeps"), "{page}");
}

#[test]
fn work_that_the_factor_changes_is_no_other_work() {
    let mut document = sample_documents::comparison();
    let comparison = sample_documents::compared_mut(&mut document);
    comparison.fingerprint_differences = vec![result::FingerprintDifference {
        kind: "payment".to_owned(),
        measure: "statements".to_owned(),
        a: 5.6,
        b: 1.0,
    }];
    let listed =
        |document: &Document| text::render(document, Style::PLAIN).contains("statements per call of payment");
    assert!(listed(&document));
    sample_documents::compared_mut(&mut document).factors = vec!["style".to_owned()];
    assert!(!listed(&document));
    assert!(html::render(&document).contains("statements per call of payment"), "it is told, as intended");
}

/// Variants may make calls of a mix each.
#[test]
fn each_way_to_count_is_said_once() {
    let mut document = sample_documents::experiment();
    for (at, trial) in document.trials.iter_mut().enumerate() {
        trial.headline = trial.headline.clone().of_mix(["payment 100 %", "delivery 100 %"][at % 2]);
    }
    let sentence = markdown::render(&document);
    for mix in ["payment", "delivery"] {
        assert_eq!(sentence.matches(&format!("custom mix ({mix} 100 %)")).count(), 1, "{sentence}");
    }
}

#[test]
fn an_unintended_difference_stands_below_the_verdict() {
    let mut document = sample_documents::comparison();
    let comparison = sample_documents::compared_mut(&mut document);
    comparison.key_differences[1].intended = false;
    comparison.key_differences[1].field = "plan.clients".to_owned();
    check_order(&document, "HTTP costs 3 to 5 %", "plan.clients");
}

#[test]
fn a_hidden_percentile_is_a_dash_in_every_format() {
    let mut document = sample_documents::trial();
    let latency = &mut document.trials[0].kinds[2].tally.latency[0];
    // 100 samples: fewer than ten lie beyond the 99th percentile.
    latency.response = result::Quantiles::new(100, 5e6, 77_000_000, |quantile| (quantile * 1e9) as u64);
    assert_eq!(latency.response.p99_ns, None);
    for (name, report, dash) in [
        ("text", text::render(&document, Style::PLAIN), "         –         –     77 ms"),
        ("markdown", markdown::render(&document), "| – | – | 77 ms |"),
        (
            "html",
            html::render(&document).replace('\u{a0}', " "),
            "<td class=\"figure\">–</td><td class=\"figure\">77 ms</td>",
        ),
    ] {
        assert!(report.contains(dash), "{name}:\n{report}");
        assert!(!report.contains("990 ms"), "{name} shows it");
    }
}

#[test]
fn what_was_accepted_and_what_became_of_it_are_two_rows() {
    let mut document = sample_documents::trial();
    let trial = &mut document.trials[0];
    let kind = trial.kinds[0].name.clone();
    let times = result::Quantiles::new(4_321, 5e6, 67_000_000, |quantile| (quantile * 1e9) as u64);
    let settlement = result::Settlement { kind, times, undone: 3, backlog: vec![5, 61, 2] };
    let (pending_first, pending_last, duration_s, max_s) = (2, 0, 0.2, 60.0);
    trial.settled = Some(result::Settled {
        pending_first,
        pending_last,
        duration_s,
        max_s,
        settlement: Some(settlement),
    });
    assert!(schema().is_valid(&serde_json::to_value(&document).unwrap()));
    for report in super::formats(&document) {
        let report = report.replace('\u{a0}', " ");
        for words in ["4,321 calls", "990 ms", "61 at the end of a second, 2 at the end; 3 were undone"] {
            assert!(report.contains(words), "{words}:\n{report}");
        }
    }
}

#[test]
fn no_line_of_a_terminal_is_wider_than_a_hundred_columns() {
    for (name, document) in samples().filter(|(name, _)| *name != "hostile") {
        for line in text::render(&document, Style::PLAIN).lines() {
            assert!(line.chars().count() <= 100, "{name}: {line}");
        }
    }
}

#[test]
fn colour_adds_nothing_but_colour() {
    for (name, document) in samples() {
        let coloured = text::render(&document, Style { colour: Colour::Always, ..Style::PLAIN });
        let mut plain = String::new();
        let mut parts = coloured.split("\x1b[");
        plain.push_str(parts.next().unwrap_or_default());
        parts.for_each(|part| plain.push_str(part.split_once('m').map_or(part, |(_, rest)| rest)));
        assert_eq!(plain, text::render(&document, Style::PLAIN), "{name}");
    }
}

#[test]
fn data_cannot_steer_the_terminal() {
    let mut document = sample_documents::failed_trial();
    document.trials[0].defects = vec!["\x1b[2Jgone\n  audits       99 of 99 passed\r".to_owned()];
    let report = text::render(&document, Style::PLAIN);
    assert!(report.contains(" [2Jgone   audits       99 of 99 passed"), "{report}");
    assert!(!report.contains(['\x1b', '\r']));
}

#[test]
fn a_result_is_good_only_if_nothing_speaks_against_it() {
    let check = |name: &str, spoil: fn(&mut result::Trial), good: bool| {
        let mut document = sample_documents::trial();
        spoil(&mut document.trials[0]);
        assert_eq!(document.is_good(), good, "{name}");
    };
    use result::{Check, Severity, State};
    check("as it is", |_| (), true);
    check("interrupted", |trial| trial.state = State::Interrupted, true);
    check("failed", |trial| trial.state = State::Failed, false);
    check("audit not run", |trial| trial.audits[3].check = Check::NotRun, true);
    check("warning", |trial| trial.rules[0].severity = Severity::Warning, true);
    check("bad rule", |trial| trial.rules[0].severity = Severity::Bad, false);
    let mut comparison = sample_documents::comparison();
    assert!(comparison.is_good());
    sample_documents::compared_mut(&mut comparison).loss_max = Some(0.01);
    assert!(!comparison.is_good());
}

#[test]
fn a_limit_is_exceeded_only_when_the_whole_interval_says_so() {
    let mut comparison = sample_documents::compared(&sample_documents::comparison()).clone();
    for (loss_max, exceeded) in [(None, false), (Some(0.05), false), (Some(0.04), false), (Some(0.02), true)]
    {
        comparison.loss_max = loss_max;
        assert_eq!(comparison.loses_too_much(), exceeded, "{loss_max:?}");
    }
    // The sample keeps 94.9 to 96.6 %.
    for (loss_max, loss, words) in [
        (0.02, Loss::Exceeded, "is exceeded"),
        (0.04, Loss::Inconclusive, "is inconclusive"),
        (0.06, Loss::Met, "is met"),
    ] {
        comparison.loss_max = Some(loss_max);
        assert_eq!((comparison.loss(), comparison.loss_words()), (Some(loss), Some(words)));
    }
    comparison.ratio = None;
    assert_eq!(comparison.loss_words(), Some("is inconclusive"));
}

/// Whatever is missing from a document, a report of it must not panic.
#[test]
fn reports_of_half_empty_documents_are_made() {
    let mut document = sample_documents::comparison();
    document.trials.truncate(3);
    let mut empty = sample_documents::trial();
    let trial = &mut empty.trials[0];
    trial.kinds.clear();
    trial.slices.clear();
    trial.processes.clear();
    trial.audits.clear();
    trial.rules.clear();
    let mut silent = sample_documents::trial();
    for kind in &mut silent.trials[0].kinds {
        kind.tally.latency.clear();
        kind.tally.budget = None;
        kind.tally.work = None;
        kind.tally.rate_per_s.value = 0.0;
    }
    for slice in &mut silent.trials[0].slices {
        slice.kinds.iter_mut().for_each(|kind| *kind = result::KindSlice::default());
    }
    for document in [document, empty, silent] {
        assert!(!text::render(&document, Style { colour: Colour::Always, ..Style::PLAIN }).is_empty());
        assert!(!markdown::render(&document).is_empty());
        assert!(html::render(&document).ends_with("</html>"));
    }
}

/// A kind that is one call in 23 may not have been called at all.
#[test]
fn what_was_never_called_has_no_slowest_call() {
    let mut sample = sample_documents::trial();
    let kind = &mut sample.trials[0].kinds[2];
    kind.tally.latency[0].response = result::Quantiles::new(0, 0.0, 0, |_| 0);
    kind.tally.latency[0].spectrum.clear();
    let [text, markdown, page] = formats(&sample);
    for written in [text, markdown] {
        assert!(!written.contains("0 ns"), "{written}");
        assert!(written.contains(&sample.trials[0].kinds[2].name), "{written}");
    }
    assert!(!page.contains(">0 ns<"));
}

/// A run that was killed before its first slice was written: what was not counted is not shown as 0.
#[test]
fn counts_of_a_run_that_measured_nothing_are_not_shown() {
    let mut document = sample_documents::trial();
    document.state = State::Running;
    let trial = &mut document.trials[0];
    trial.state = State::Running;
    (trial.measured_s, trial.overall, trial.demand) = (0.0, result::Tally::default(), None);
    trial.kinds.iter_mut().for_each(|kind| kind.tally = result::Tally::default());
    let report = text::render(&document, Style::PLAIN);
    assert!(report.contains("had not measured anything"), "{report}");
    for unknown in ["declined 0", "dropped 0", "in doubt 0", "conflicts 0"] {
        assert!(!report.contains(unknown), "{unknown}: {report}");
    }
    assert!(!html::render(&document).contains("Where every call that was due went"));
}

#[test]
fn an_experiment_of_several_bases_is_one_matrix_and_leaves_out_a_rate_that_was_given() {
    let document = sample_documents::groups();
    let shown = text::render(&document, Style::PLAIN).replace('\u{a0}', " ");
    let matrix: Vec<&str> =
        shown.lines().skip_while(|line| !line.starts_with("  new orders/min ")).take(4).collect();
    let columns = |line: &str| line.split("  ").filter(|cell| !cell.trim().is_empty()).count();
    assert_eq!(columns(matrix[0]), 4, "{shown}");
    assert!(matrix[1].starts_with("  PostgreSQL ") && matrix[1].contains(" −"), "{shown}");
    assert!(matrix[2].starts_with("  SQLite ") && columns(matrix[2]) == 4, "{shown}");
    assert!(!matrix[3].starts_with("  SQLite, open loop"), "its rate was given: {shown}");
    assert!(shown.contains("Throughput is not compared where the rate was given and kept."), "{shown}");
    // Its latency is compared.
    let times = shown.lines().skip_while(|line| !line.starts_with("  p99, ms ")).take(4);
    assert!(times.clone().any(|line| line.starts_with("  SQLite, open loop ")), "{shown}");
    // A rate that one side does not keep makes throughput a finding again.
    let mut late = document.clone();
    for comparison in &mut late.experiment.as_mut().unwrap().comparisons {
        comparison.rate_given = false;
    }
    let shown = text::render(&late, Style::PLAIN).replace('\u{a0}', " ");
    let matrix = shown.lines().skip_while(|line| !line.starts_with("  new orders/min "));
    assert!(matrix.take(4).any(|line| line.starts_with("  SQLite, open loop ")), "{shown}");
}

#[test]
fn variants_without_names_in_common_are_listed() {
    let mut document = sample_documents::groups();
    let experiment = document.experiment.as_mut().unwrap();
    for (at, variant) in experiment.variants.iter_mut().enumerate() {
        variant.name = format!("variant {at}");
    }
    for comparison in &mut experiment.comparisons {
        comparison.a.label = "variant 0".to_owned();
    }
    let shown = text::render(&document, Style::PLAIN);
    assert!(shown.contains("variant     verdict"), "{shown}");
}

/// The sample of several bases after a change, in each format, with plain spaces.
fn groups_after(change: impl FnOnce(&mut result::Document)) -> [String; 3] {
    let mut document = sample_documents::groups();
    change(&mut document);
    super::formats(&document).map(|report| report.replace('\u{a0}', " "))
}

/// Gives a variant another name, also where comparisons have it.
fn rename(document: &mut result::Document, at: usize, name: &str) {
    let experiment = document.experiment.as_mut().unwrap();
    let old = std::mem::replace(&mut experiment.variants[at].name, name.to_owned());
    for comparison in &mut experiment.comparisons {
        for party in [&mut comparison.a, &mut comparison.b] {
            if party.label == old {
                name.clone_into(&mut party.label);
            }
        }
    }
}

#[test]
fn where_there_are_more_variants_than_bases_a_variant_is_a_row() {
    let [shown, ..] = groups_after(|document| {
        rename(document, 6, "SQLite, through HTTP, 2 threads");
        rename(document, 10, "SQLite, open loop, on a socket");
    });
    let rows: Vec<&str> = shown.lines().skip_while(|line| !line.starts_with("  new orders/min ")).collect();
    assert!(rows[0].contains("PostgreSQL") && rows[0].contains("SQLite"), "{shown}");
    assert!(rows[1].starts_with("  direct ") && rows[2].starts_with("  through HTTP "), "{shown}");
    // A label of the group that is left out has no row.
    let matrix = shown.split("\n\n").find(|part| part.contains("  new orders/min ")).unwrap();
    assert!(matrix.contains("  through HTTP, 2 threads ") && !matrix.contains("on a socket"), "{shown}");
}

#[test]
fn names_that_leave_it_open_who_is_meant_form_no_matrix() {
    let is_listed = |change: fn(&mut result::Document)| {
        for report in groups_after(change) {
            assert!(report.contains("verdict"), "{report}");
        }
    };
    // Two variants of one label, and two bases of one group.
    is_listed(|document| rename(document, 3, "PostgreSQL: through HTTP"));
    is_listed(|document| {
        for (at, label) in [(4, "another"), (6, "a third"), (7, "a fourth")] {
            rename(document, at, &format!("PostgreSQL, {label}"));
        }
    });
}

#[test]
fn bases_of_different_names_and_weak_tiers_are_named_under_the_matrix() {
    for report in groups_after(|document| {
        rename(document, 4, "SQLite, pool 8");
        for trial in &mut document.trials {
            if trial.plan.arrivals.is_open() {
                trial.stack.durability.tier = result::Tier::Delayed;
            }
        }
    }) {
        assert!(
            report.contains("Bases: PostgreSQL, direct; SQLite, pool 8; SQLite, open loop, direct."),
            "{report}"
        );
        let plain = report.replace("\n                ", " ");
        assert!(plain.contains("SQLite, open loop, through HTTP"), "{report}");
        assert!(report.contains("delayed"), "{report}");
    }
}

#[test]
fn what_has_no_result_says_so_in_its_cell_and_is_not_counted_as_inconclusive() {
    for report in groups_after(|document| {
        let experiment = document.experiment.as_mut().unwrap();
        experiment.variants[0].state = result::VariantState::Invalid;
        experiment.variants[6].state = result::VariantState::NotStarted;
        for comparison in &mut experiment.comparisons {
            if comparison.a.label == "PostgreSQL, direct" || comparison.b.label == "SQLite, through HTTP" {
                comparison.ratio = None;
                comparison.verdict = result::Verdict::Inconclusive;
                comparison.sentence = "No ratio: it is invalid.".to_owned();
            }
        }
    }) {
        assert!(report.contains("invalid") && report.contains("not started"), "{report}");
        assert!(
            report.contains("Verdicts in throughput: 1 inconclusive, 2 without a ratio; in p99: "),
            "{report}"
        );
        assert!(!report.contains("? inconclusive, ?"), "{report}");
    }
}

#[test]
fn each_comparison_in_words_begins_with_the_surest_and_largest() {
    let [_, markdown, _] = groups_after(|_| ());
    let all = markdown.split("## Each comparison").nth(1).expect("Markdown has them all");
    let sentences: Vec<&str> = all.lines().filter(|line| line.starts_with("- ")).take(4).collect();
    assert!(sentences[0].contains("through HTTP costs 11.3 %"), "{sentences:?}");
    assert!(sentences[1].contains("through HTTP costs 10.9 %"), "{sentences:?}");
    assert!(
        sentences[2].contains("1 connection vs ") && sentences[2].contains("Inconclusive"),
        "{sentences:?}"
    );
}

#[test]
fn two_metrics_with_the_same_finding_are_both_told() {
    let mut document = sample_documents::two_metrics();
    for comparison in &mut document.experiment.as_mut().unwrap().comparisons {
        comparison.verdict = result::Verdict::NoDifference;
        comparison.sentence = "No difference beyond ±1.4 %.".to_owned();
    }
    for report in super::formats(&document) {
        assert!(report.replace('\u{a0}', " ").contains("vs direct: +3.4 % p99"), "{report}");
    }
}
