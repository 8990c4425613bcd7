//! The text, read back by a parser that is stricter than Prometheus itself.

use super::super::testing;
use super::*;

/// A sample: its name with its labels, and its value.
type Samples = BTreeMap<(String, BTreeMap<String, String>), f64>;

/// Reads a page; every breach of the format is a panic.
fn parse(text: &str) -> Samples {
    assert!(text.ends_with('\n'), "the last line ends");
    let (mut samples, mut seen, mut family) =
        (Samples::new(), Vec::<String>::new(), None::<(String, String)>);
    let mut help = None::<String>;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("# HELP ") {
            let (name, words) = rest.split_once(' ').unwrap();
            assert!(!words.is_empty() && !seen.contains(&name.to_owned()), "{line}");
            help = Some(name.to_owned());
            continue;
        }
        if let Some(rest) = line.strip_prefix("# TYPE ") {
            let (name, kind) = rest.split_once(' ').unwrap();
            assert_eq!(help.take().as_deref(), Some(name), "HELP comes before TYPE");
            assert!(["counter", "gauge", "histogram"].contains(&kind), "{line}");
            assert_eq!(kind == "counter", name.ends_with("_total"), "{line}");
            seen.push(name.to_owned());
            family = Some((name.to_owned(), kind.to_owned()));
            continue;
        }
        let (name, labels, value) = sample(line);
        let (family, kind) = family.as_ref().expect("a TYPE comes first");
        let suffixes: &[&str] = if kind == "histogram" { &["_bucket", "_sum", "_count"] } else { &[""] };
        assert!(suffixes.iter().any(|suffix| name == format!("{family}{suffix}")), "{line} in {family}");
        assert!(kind == "gauge" || value >= 0.0, "{line}");
        assert!(samples.insert((name, labels), value).is_none(), "twice: {line}");
    }
    samples
}

fn sample(line: &str) -> (String, BTreeMap<String, String>, f64) {
    let end = line.find(['{', ' ']).unwrap();
    let (name, rest) = line.split_at(end);
    let is_name = |text: &str| {
        text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ':')
            && !text.starts_with(|c: char| c.is_ascii_digit())
    };
    assert!(is_name(name) && !name.is_empty(), "{line}");
    let mut labels = BTreeMap::new();
    let mut chars = rest.chars().peekable();
    if chars.next_if_eq(&'{').is_some() {
        loop {
            let label: String = std::iter::from_fn(|| chars.next_if(|c| *c != '=')).collect();
            assert!(is_name(&label) && !label.starts_with("__"), "{line}");
            assert_eq!((chars.next(), chars.next()), (Some('='), Some('"')), "{line}");
            let mut text = String::new();
            loop {
                match chars.next().expect("a label ends") {
                    '"' => break,
                    '\\' => text.push(match chars.next() {
                        Some('n') => '\n',
                        Some(c @ ('\\' | '"')) => c,
                        other => panic!("escape {other:?} in {line}"),
                    }),
                    c => text.push(c),
                }
            }
            assert!(labels.insert(label, text).is_none(), "{line}");
            match chars.next() {
                Some(',') => {}
                Some('}') => break,
                other => panic!("{other:?} in {line}"),
            }
        }
    }
    assert_eq!(chars.next(), Some(' '), "{line}");
    let value: String = chars.collect();
    (name.to_owned(), labels, value.parse().unwrap_or_else(|_| panic!("{line}")))
}

fn find(samples: &Samples, name: &str, wanted: &[(&str, &str)]) -> f64 {
    let has = |labels: &BTreeMap<String, String>| {
        wanted.iter().all(|(name, text)| labels.get(*name).is_some_and(|found| found == text))
    };
    let found: Vec<f64> =
        samples.iter().filter(|((n, labels), _)| n == name && has(labels)).map(|(_, value)| *value).collect();
    assert_eq!(found.len(), 1, "{name} {wanted:?}: {found:?}");
    found[0]
}

fn usage(cpu_s: f64) -> [observe::Usage; 2] {
    let of = |role| observe::Usage { role, cpu_s, cores: 1.0, rss_bytes: 1 };
    [of(result::Role::Generator), of(result::Role::Server)]
}

#[test]
fn the_page_is_well_formed_before_during_and_between_trials() {
    let mut counters = Counters::default();
    let before = parse(&counters.render());
    assert_eq!(find(&before, "stackmark_phase", &[("phase", "idle")]), 1.0);
    counters.begin();
    counters.put(&testing::snapshot(), testing::counted(10), &usage(0.5));
    let during = parse(&counters.render());
    assert_eq!(find(&during, "stackmark_phase", &[("phase", "measured")]), 1.0);
    assert_eq!(find(&during, "stackmark_phase", &[("phase", "idle")]), 0.0);
    let declined = [("kind", "payment"), ("outcome", "declined")];
    assert_eq!(find(&during, "stackmark_calls_total", &declined), 1.0);
    assert_eq!(find(&during, "stackmark_retries_total", &[("kind", "new-order")]), 2.0);
    counters.rest();
    let after = parse(&counters.render());
    assert_eq!(find(&after, "stackmark_phase", &[("phase", "idle")]), 1.0);
    assert!(!after.keys().any(|(name, _)| name == "stackmark_trial_info"));
}

#[test]
fn counters_never_fall_over_the_trials_of_a_command() {
    let mut counters = Counters::default();
    let mut last = Samples::new();
    for trial in 0..3 {
        counters.place(["direct", "through HTTP"][trial % 2], trial as u32 + 1);
        counters.begin();
        for slice in 0..4_u64 {
            counters.put(&testing::snapshot(), testing::counted(slice * 10), &usage(slice as f64));
            let now = parse(&counters.render());
            let monotone =
                |name: &str| ["_total", "_bucket", "_sum", "_count"].iter().any(|end| name.ends_with(end));
            for (key, value) in last.iter().filter(|((name, _), _)| monotone(name)) {
                assert!(now.get(key).is_some_and(|now| now >= value), "{key:?} fell from {value}");
            }
            last = now;
        }
    }
    let committed = [("variant", "direct"), ("kind", "payment"), ("outcome", "committed")];
    assert_eq!(find(&last, "stackmark_calls_total", &committed), 60.0);
    assert_eq!(find(&last, "stackmark_process_cpu_seconds_total", &[("role", "server")]), 9.0);
    assert_eq!(find(&last, "stackmark_trials_total", &[]), 3.0);
}

#[test]
fn buckets_add_up_to_the_count() {
    let mut counters = Counters::default();
    counters.begin();
    counters.put(&testing::snapshot(), testing::counted(10), &usage(0.5));
    let samples = parse(&counters.render());
    let bucket =
        |bound| find(&samples, "stackmark_response_seconds_bucket", &[("kind", "payment"), ("le", bound)]);
    assert_eq!([bucket("0.0005"), bucket("0.001"), bucket("0.0025"), bucket("0.005")], [0.0, 5.0, 5.0, 10.0]);
    assert_eq!(bucket("+Inf"), find(&samples, "stackmark_response_seconds_count", &[("kind", "payment")]));
    assert!((find(&samples, "stackmark_response_seconds_sum", &[("kind", "payment")]) - 0.02).abs() < 1e-9);
}

#[test]
fn bounds_rise_and_say_in_seconds_what_they_are_in_nanoseconds() {
    assert!(BOUNDS.is_sorted_by(|a, b| a.1 < b.1));
    for (seconds, ns) in BOUNDS {
        assert_eq!((seconds.parse::<f64>().unwrap() * 1e9).round() as u64, ns);
    }
}

#[test]
fn a_name_with_quotes_and_newlines_stays_one_label() {
    let mut counters = Counters::default();
    counters.place("a \"b\"\n\\c} 1", 1);
    counters.begin();
    counters.put(&testing::snapshot(), testing::counted(1), &usage(0.0));
    let samples = parse(&counters.render());
    let labels = [("variant", "a \"b\"\n\\c} 1"), ("block", "1")];
    assert_eq!(find(&samples, "stackmark_trial_info", &labels), 1.0);
}
