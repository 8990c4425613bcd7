//! The rules of a comparison: whether its ratio may be put down to the factor under study.

use super::compared::{factors, intended_by_all, is_intended};
use super::{advises, listed, says};
use crate::document::{Comparison, Interval, Rule, Severity, Verdict};
use crate::figures;

/// Differences named in a sentence; the report lists all of them.
const NAMED_MAX: usize = 4;

/// What the rules `key`, `fingerprint` and `noise` say about a comparison, in this order.
#[must_use]
pub fn judge_comparison(comparison: &Comparison) -> Vec<Rule> {
    [key(comparison), fingerprint(comparison), noise(comparison)].into_iter().flatten().collect()
}

/// Whether the work differs only in measures that the factor under study changes by itself.
#[must_use]
pub(crate) fn work_is_intended(comparison: &Comparison, measure: &str) -> bool {
    let intended = intended_by_all(factors(&comparison.factor));
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
        let sentence =
            format!("nothing differs in the comparison key but what {} changes", comparison.factor);
        return says("key", Severity::Ok, sentence);
    }
    advises(
        "key",
        Severity::Bad,
        format!(
            "more differs than {}: {}; the ratio cannot be put down to any one of them",
            comparison.factor,
            listed(&some_of(&fields))
        ),
        "make these the same on both sides, or name them as factors",
    )
}

/// Whether the calls of both sides did the same work.
fn fingerprint(comparison: &Comparison) -> Option<Rule> {
    let differences = &comparison.fingerprint_differences;
    if differences.is_empty() {
        return says("fingerprint", Severity::Ok, "a call takes the same work on both sides");
    }
    let words = |intended: bool| -> Vec<String> {
        differences
            .iter()
            .filter(|difference| work_is_intended(comparison, &difference.measure) == intended)
            .map(|difference| {
                let [a, b] = [difference.a, difference.b].map(|value| figures::trimmed(value, 2));
                format!("{} a call of {}, {a} and {b}", difference.measure, difference.kind)
            })
            .collect()
    };
    let unintended = words(false);
    if unintended.is_empty() {
        let sentence =
            format!("{} changes the work of a call: {}", comparison.factor, listed(&some_of(&words(true))));
        return says("fingerprint", Severity::Info, sentence);
    }
    advises(
        "fingerprint",
        Severity::Bad,
        format!(
            "the two do different work: {}; their rates are not of the same thing",
            listed(&some_of(&unintended))
        ),
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

/// Whether the effect is more than a subject against itself shows on this machine.
fn noise(comparison: &Comparison) -> Option<Rule> {
    let ratio = comparison.ratio?;
    let Some(noise) = &comparison.noise else {
        return advises(
            "noise",
            Severity::Info,
            "the noise of this machine was not measured, so the ratio is judged by its own scatter alone",
            "run with an A/A control",
        );
    };
    let spread = spread(noise.ratio);
    let effect = distance(ratio.value);
    let (effect_words, spread_words) = (figures::percent(effect.exp_m1()), figures::percent(spread.exp_m1()));
    if effect <= spread {
        // Where no difference is said to be there, noise is what is left.
        let is_said = comparison.verdict == Verdict::NoDifference;
        return advises(
            "noise",
            if is_said { Severity::Info } else { Severity::Warning },
            format!(
                "the effect of {effect_words} lies within the noise of this machine: the same subject against itself \
                 differs by up to {spread_words}"
            ),
            "run more or longer blocks, or on a quieter machine",
        );
    }
    says(
        "noise",
        Severity::Ok,
        format!("the effect is beyond the noise of this machine, which is up to {spread_words}"),
    )
}

/// How far from 1 a control shows that nothing can be: the far end of its interval, as a logarithm.
fn spread(control: Interval) -> f64 {
    [Some(control.value), control.low, control.high].into_iter().flatten().map(distance).fold(0.0, f64::max)
}

/// How far a ratio is from 1, up or down alike.
fn distance(ratio: f64) -> f64 {
    if ratio > 0.0 { ratio.ln().abs() } else { f64::INFINITY }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::{FingerprintDifference, KeyDifference};
    use crate::testing;

    /// What a rule says of the sample comparison after a change.
    fn said(name: &str, change: impl FnOnce(&mut Comparison)) -> Rule {
        let mut comparison = testing::comparison().comparison.unwrap();
        change(&mut comparison);
        let rules = judge_comparison(&comparison);
        rules.into_iter().find(|rule| rule.name == name).unwrap_or_else(|| panic!("{name} says nothing"))
    }

    fn differs(field: &str, intended: bool) -> KeyDifference {
        KeyDifference { field: field.to_owned(), a: "1".to_owned(), b: "2".to_owned(), intended }
    }

    #[test]
    fn the_key_rule_fires_on_what_is_not_the_factor() {
        assert_eq!(said("key", |_| ()).severity, Severity::Ok);
        let rule = said("key", |comparison| comparison.key_differences.push(differs("plan.clients", false)));
        assert_eq!(rule.severity, Severity::Bad);
        assert!(rule.sentence.contains("more differs than route: plan.clients"), "{}", rule.sentence);
        let rule = said("key", |comparison| comparison.key_differences.push(differs("plan.clients", true)));
        assert_eq!(rule.severity, Severity::Ok);
    }

    #[test]
    fn a_long_list_of_differences_is_cut() {
        let rule = said("key", |comparison| {
            comparison.key_differences =
                ["a", "b", "c", "d", "e"].map(|field| differs(field, false)).to_vec();
        });
        assert!(rule.sentence.contains("a, b, c and 2 more"), "{}", rule.sentence);
    }

    #[test]
    fn the_fingerprint_rule_fires_on_work_that_the_factor_does_not_change() {
        assert_eq!(said("fingerprint", |_| ()).severity, Severity::Ok);
        let less = |factor: &str, measure: &str| {
            let difference = FingerprintDifference {
                kind: "payment".to_owned(),
                measure: measure.to_owned(),
                a: 5.6,
                b: 1.0,
            };
            said("fingerprint", |comparison| {
                comparison.factor = factor.to_owned();
                comparison.fingerprint_differences = vec![difference];
            })
        };
        let rule = less("route", "statements");
        assert_eq!(rule.severity, Severity::Bad);
        assert!(rule.sentence.contains("statements a call of payment, 5.6 and 1"), "{}", rule.sentence);
        assert_eq!(less("style", "statements").severity, Severity::Info);
        assert_eq!(less("route and style", "rows").severity, Severity::Info);
        assert_eq!(less("route, engine and pool", "rows").severity, Severity::Info);
        assert_eq!(less("engine", "commits").severity, Severity::Bad);
    }

    #[test]
    fn an_effect_within_the_control_is_called_noise() {
        let of = |value: f64| {
            said("noise", |comparison| {
                comparison.ratio =
                    Some(Interval { value, low: Some(value - 0.001), high: Some(value + 0.001) });
            })
        };
        // The control's interval ends at 1.1 %.
        assert_eq!(of(1.009).severity, Severity::Warning);
        assert_eq!(of(0.991).severity, Severity::Warning);
        assert!(of(0.991).sentence.contains("by up to 1.1 %"), "{}", of(0.991).sentence);
        assert_eq!(of(0.95).severity, Severity::Ok);
        assert_eq!(of(1.05).severity, Severity::Ok);
        assert_eq!(said("noise", |comparison| comparison.noise = None).severity, Severity::Info);
        let none = said("noise", |comparison| {
            comparison.ratio = Some(Interval { value: 1.001, low: Some(0.997), high: Some(1.004) });
            comparison.verdict = Verdict::NoDifference;
        });
        assert_eq!(none.severity, Severity::Info);
        let mut void = testing::comparison().comparison.unwrap();
        void.ratio = None;
        assert!(
            judge_comparison(&void).iter().all(|rule| rule.name != "noise"),
            "no ratio, nothing to judge"
        );
    }
}
