//! The rules of a comparison: whether its ratio may be put down to the factor under study.

use super::intended::{intended_by_all, is_intended};
use super::{bad, fine, hint, listed, named, note, warning};
use crate::figures;
use result::{Comparison, Engine, Rule, Trial};

/// Differences named in a sentence; the report lists all of them.
const NAMED_MAX: usize = 4;

/// What calls cost later is said of sides that took turns where it differs by more than this share.
const LATER_MIN: f64 = 0.1;

/// A comparison and the trials of its sides.
pub(super) struct Compared<'a> {
    comparison: &'a Comparison,
    a: &'a [&'a Trial],
    b: &'a [&'a Trial],
}

/// One rule; nothing where it does not apply.
pub(super) type Judge = fn(&Compared<'_>) -> Option<Rule>;

/// By name, in the order of reports.
pub(super) const RULES: [(&str, Judge); 4] = [
    ("key", |of| key(of.comparison)),
    ("fingerprint", |of| fingerprint(of.comparison)),
    ("noise", |of| noise(of.comparison)),
    ("later-costs", later_costs),
];

/// What the rules of comparisons say about one, in their order. `a` and `b` are the trials of its sides.
pub fn judge_comparison(comparison: &Comparison, a: &[&Trial], b: &[&Trial]) -> Vec<Rule> {
    let of = Compared { comparison, a, b };
    RULES.iter().filter_map(|(name, rule)| Some(named(name, rule(&of)?))).collect()
}

/// Whether the work differs only in measures that the factor under study changes by itself.
pub fn work_is_intended(comparison: &Comparison, measure: &str) -> bool {
    let intended = intended_by_all(comparison.factors.iter().map(String::as_str));
    is_intended(&format!("fingerprint.{measure}"), &intended)
}

/// Whether anything differs in the comparison key that should not.
fn key(comparison: &Comparison) -> Option<Rule> {
    let fields: Vec<&str> = comparison
        .key_differences
        .iter()
        .filter(|difference| !difference.intended)
        .map(|difference| difference.field.as_str())
        .collect();
    if fields.is_empty() {
        let sentence = format!("the comparison key differs only in what {} changes", comparison.factor);
        return fine(sentence);
    }
    bad(
        format!(
            "{} is not the only difference: {}; the effect has no single cause",
            comparison.factor,
            listed(&some_of(&fields))
        ),
        "make them equal on both sides, or name them as factors",
    )
}

/// Whether the calls of both sides did the same work.
fn fingerprint(comparison: &Comparison) -> Option<Rule> {
    let differences = &comparison.fingerprint_differences;
    if differences.is_empty() {
        return fine("the work per call is equal on both sides");
    }
    let words = |intended: bool| -> Vec<String> {
        differences
            .iter()
            .filter(|difference| work_is_intended(comparison, &difference.measure) == intended)
            .map(|difference| {
                let [a, b] = figures::both(difference);
                format!("{}: A {a}, B {b}", difference.words())
            })
            .collect()
    };
    let unintended = words(false);
    if unintended.is_empty() {
        let sentence =
            format!("{} changes the work per call: {}", comparison.factor, listed(&some_of(&words(true))));
        return note(sentence);
    }
    bad(
        format!("not comparable: {}", listed(&some_of(&unintended))),
        "compare subjects that do the same work",
    )
}

/// The first differences, and how many more there are.
fn some_of(words: &[impl AsRef<str>]) -> Vec<String> {
    let named = if words.len() > NAMED_MAX { NAMED_MAX - 1 } else { words.len() };
    let mut some: Vec<String> = words.iter().take(named).map(|word| word.as_ref().to_owned()).collect();
    if words.len() > named {
        some.push(format!("{} more", words.len() - named));
    }
    some
}

/// Whether the base differs from itself: a check of bias. How much it scatters is in the interval of the ratio already.
fn noise(comparison: &Comparison) -> Option<Rule> {
    comparison.ratio?;
    let Some(noise) = &comparison.noise else {
        return hint(
            "no A/A control was run, so nothing checks whether the same subject measured twice differs",
            "run with an A/A control",
        );
    };
    let words = figures::ratio(noise.ratio);
    match noise.ratio.low {
        Some(_) if !noise.is_biased() => {
            fine(format!("the A/A control shows no bias: {} measured twice gave {words}", comparison.a.label))
        }
        Some(_) => warning(
            format!(
                "the A/A control shows a bias: {} measured twice gave {words}; by chance this happens in one of 20 controls",
                comparison.a.label
            ),
            "run again; if it shows a bias again, find what differs between trials before using the ratio",
        ),
        None => note(format!("the A/A control has too few blocks for an interval: {words}")),
    }
}

/// Whether one side leaves more to be done later than the other, which falls on both where they took turns, on one copy of the data or
/// on one machine: log that a checkpoint follows, and dead rows for a vacuum or a purge.
fn later_costs(of: &Compared<'_>) -> Option<Rule> {
    let all = || of.a.iter().chain(of.b);
    if of.comparison.ratio.is_none()
        || of.a.is_empty()
        || of.b.is_empty()
        || all().any(|trial| trial.rounds.is_empty())
    {
        return None;
    }
    let log_bytes: fn(&Engine) -> Option<f64> = Engine::log_bytes;
    let measures = [("log bytes", log_bytes), ("dead rows", Engine::dead_rows)];
    let per_call = |trials: &[&Trial], measure: fn(&Engine) -> Option<f64>| {
        let totals: Option<Vec<f64>> = trials.iter().map(|trial| measure(trial.engine.as_ref()?)).collect();
        let committed: f64 = trials.iter().map(|trial| trial.committed()).sum();
        Some(totals?.into_iter().sum::<f64>() / committed).filter(|per_call| per_call.is_finite())
    };
    let (mut more, mut equal, mut unknown) = (Vec::new(), Vec::new(), Vec::new());
    for (name, measure) in measures {
        match per_call(of.a, measure).zip(per_call(of.b, measure)) {
            None => unknown.push(name),
            Some((a, b)) if (a - b).abs() <= LATER_MIN * a.min(b) => equal.push(name),
            Some((a, b)) => {
                let (side, other) = if a > b {
                    (&of.comparison.a, &of.comparison.b)
                } else {
                    (&of.comparison.b, &of.comparison.a)
                };
                let times = match a.min(b) {
                    0.0 => format!("leaves {name}, and {} leaves none", other.label),
                    least => {
                        format!("leaves {:.2} times the {name} per call of {}", a.max(b) / least, other.label)
                    }
                };
                more.push(format!("{} {times}", side.label));
            }
        }
    }
    if !more.is_empty() {
        return warning(
            format!(
                "both sides took turns, so what calls cost later (checkpoints, vacuum) fell on both alike: {}",
                more.join("; ")
            ),
            "use `--trials`, in which each side bears its own",
        );
    }
    match (equal.is_empty(), unknown.is_empty()) {
        (_, true) => fine("both sides leave about as many log bytes and dead rows per call"),
        (false, false) => note(format!(
            "both sides leave about as many {} per call; {} per call are unknown",
            listed(&equal),
            listed(&unknown)
        )),
        (true, false) => note("how much each side leaves to be done later is unknown"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::Severity::{Bad, Info, Ok as Fine, Warning};
    use result::{FingerprintDifference, Gauge, Interval, KeyDifference};

    /// What a rule says of the sample comparison after a change.
    fn judged(name: &str, change: impl FnOnce(&mut Comparison)) -> Rule {
        let mut comparison = sample_documents::compared(&sample_documents::comparison()).clone();
        change(&mut comparison);
        let rules = judge_comparison(&comparison, &[], &[]);
        rules.into_iter().find(|rule| rule.name == name).unwrap_or_else(|| panic!("{name} says nothing"))
    }

    fn differs(field: &str, intended: bool) -> KeyDifference {
        let [a, b] = ["1", "2"].map(str::to_owned);
        KeyDifference { field: field.to_owned(), a, b, intended, library: false }
    }

    #[test]
    fn the_key_rule_fires_on_what_is_not_the_factor() {
        assert_eq!(judged("key", |_| ()).severity, Fine);
        let rule =
            judged("key", |comparison| comparison.key_differences.push(differs("plan.clients", false)));
        assert_eq!(rule.severity, Bad);
        assert!(
            rule.sentence.contains("route is not the only difference: plan.clients"),
            "{}",
            rule.sentence
        );
        let rule = judged("key", |comparison| comparison.key_differences.push(differs("plan.clients", true)));
        assert_eq!(rule.severity, Fine);
    }

    #[test]
    fn a_long_list_of_differences_is_cut() {
        let rule = judged("key", |comparison| {
            comparison.key_differences =
                ["a", "b", "c", "d", "e"].map(|field| differs(field, false)).to_vec();
        });
        assert!(rule.sentence.contains("a, b, c and 2 more"), "{}", rule.sentence);
    }

    #[test]
    fn the_fingerprint_rule_fires_on_work_that_the_factor_does_not_change() {
        assert_eq!(judged("fingerprint", |_| ()).severity, Fine);
        let less = |factors: &[&str], measure: &str| {
            let difference = FingerprintDifference {
                kind: "payment".to_owned(),
                measure: measure.to_owned(),
                a: 5.6,
                b: 1.0,
            };
            judged("fingerprint", |comparison| {
                comparison.factors = factors.iter().map(|factor| (*factor).to_owned()).collect();
                comparison.fingerprint_differences = vec![difference];
            })
        };
        let rule = less(&["route"], "statements");
        assert_eq!(rule.severity, Bad);
        assert!(rule.sentence.contains("statements per call of payment: A 5.6, B 1"), "{}", rule.sentence);
        assert_eq!(less(&["style"], "statements").severity, Info);
        assert_eq!(less(&["route", "style"], "rows").severity, Info);
        assert_eq!(less(&["route", "engine", "pool"], "rows").severity, Info);
        assert_eq!(less(&["engine"], "commits").severity, Bad);
    }

    #[test]
    fn a_control_that_differs_from_itself_is_called_a_bias_and_an_effect_within_its_interval_is_none() {
        let of = |low: f64, high: f64| {
            judged("noise", |comparison| {
                comparison.noise.as_mut().unwrap().ratio =
                    Interval { value: f64::midpoint(low, high), low: Some(low), high: Some(high) };
            })
        };
        assert_eq!(of(0.99, 1.01).severity, Fine);
        assert_eq!(of(1.001, 1.01).severity, Warning);
        assert_eq!(of(0.97, 0.999).severity, Warning);
        assert!(of(0.97, 0.999).sentence.contains("direct measured twice gave 98."), "{:?}", of(0.97, 0.999));
        let within = judged("noise", |comparison| {
            comparison.ratio = Some(Interval { value: 0.997, low: Some(0.996), high: Some(0.998) });
        });
        assert_eq!(within.severity, Fine, "the scatter of a control is demanded once more");
        let few = judged("noise", |comparison| {
            comparison.noise.as_mut().unwrap().ratio = Interval { value: 1.1, low: None, high: None };
        });
        assert_eq!(few.severity, Info);
        assert_eq!(judged("noise", |comparison| comparison.noise = None).severity, Info);
        let mut invalid = sample_documents::compared(&sample_documents::comparison()).clone();
        invalid.ratio = None;
        assert!(
            judge_comparison(&invalid, &[], &[]).iter().all(|rule| rule.name != "noise"),
            "no ratio, nothing to judge"
        );
    }

    /// What is said of sides that took turns, whose engine counted so many log bytes and dead rows for each side.
    fn later(a: [Option<f64>; 2], b: [Option<f64>; 2]) -> Option<Rule> {
        let document = sample_documents::in_turn();
        let of_side = |values: [Option<f64>; 2]| {
            let gauge = |(name, total): (&str, Option<f64>)| Gauge {
                name: name.to_owned(),
                total,
                ..Gauge::default()
            };
            let gauges = ["wal written", "dead rows"].into_iter().zip(values).map(gauge).collect();
            let mut trial = document.trials[0].clone();
            trial.engine = Some(Engine { gauges, ..Engine::default() });
            trial
        };
        let (a, b) = (of_side(a), of_side(b));
        let rules = judge_comparison(sample_documents::compared(&document), &[&a], &[&b]);
        rules.into_iter().find(|rule| rule.name == "later-costs")
    }

    #[test]
    fn what_one_side_leaves_for_both_to_do_is_told() {
        let rule = later([Some(1e6), Some(100.0)], [Some(1.3e6), Some(104.0)]).unwrap();
        assert_eq!(rule.severity, Warning);
        assert!(
            rule.sentence.ends_with("through HTTP leaves 1.30 times the log bytes per call of direct"),
            "{rule:?}"
        );
        let rule = later([Some(1e6), Some(100.0)], [Some(1e6), Some(0.0)]).unwrap();
        assert!(rule.sentence.ends_with("direct leaves dead rows, and through HTTP leaves none"), "{rule:?}");
        assert_eq!(later([Some(1e6), Some(100.0)], [Some(1.05e6), Some(98.0)]).unwrap().severity, Fine);
        let rule = later([Some(1e6), None], [Some(1.05e6), Some(98.0)]).unwrap();
        assert_eq!(rule.severity, Info);
        assert!(rule.sentence.contains("dead rows per call are unknown"), "{rule:?}");
        assert_eq!(later([None; 2], [None; 2]).unwrap().severity, Info);
        // Whole trials bear their own costs.
        let whole = sample_documents::comparison();
        let sides = [&whole.trials[0], &whole.trials[1]];
        let rules = judge_comparison(sample_documents::compared(&whole), &[sides[0]], &[sides[1]]);
        assert!(rules.iter().all(|rule| rule.name != "later-costs"));
    }
}
