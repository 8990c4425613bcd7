//! The rules of a comparison: whether its ratio may be put down to the factor under study.

use super::compared::{intended_by_all, is_intended};
use super::{bad, fine, hint, listed, named, note, warning};
use crate::figures;
use result::{Comparison, Rule};

/// Differences named in a sentence; the report lists all of them.
const NAMED_MAX: usize = 4;

/// One rule; nothing where it does not apply.
type Judge = fn(&Comparison) -> Option<Rule>;

/// By name, in the order of reports.
pub(super) const RULES: [(&str, Judge); 3] = [("key", key), ("fingerprint", fingerprint), ("noise", noise)];

/// What the rules `key`, `fingerprint` and `noise` say about a comparison, in this order.
pub fn judge_comparison(comparison: &Comparison) -> Vec<Rule> {
    RULES.iter().filter_map(|(name, rule)| Some(named(name, rule(comparison)?))).collect()
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

#[cfg(test)]
mod tests {
    use super::*;
    use result::Severity::{Bad, Info, Ok as Fine, Warning};
    use result::{FingerprintDifference, Interval, KeyDifference};

    /// What a rule says of the sample comparison after a change.
    fn judged(name: &str, change: impl FnOnce(&mut Comparison)) -> Rule {
        let mut comparison = sample_documents::compared(&sample_documents::comparison()).clone();
        change(&mut comparison);
        let rules = judge_comparison(&comparison);
        rules.into_iter().find(|rule| rule.name == name).unwrap_or_else(|| panic!("{name} says nothing"))
    }

    fn differs(field: &str, intended: bool) -> KeyDifference {
        KeyDifference { field: field.to_owned(), a: "1".to_owned(), b: "2".to_owned(), intended }
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
            judge_comparison(&invalid).iter().all(|rule| rule.name != "noise"),
            "no ratio, nothing to judge"
        );
    }
}
