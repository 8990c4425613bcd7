//! Whether a likely bottleneck limits throughput: one factor is changed, and throughput must follow as it would if that is
//! right.

mod change;

use crate::plan::Suspicion;
use result::{Comparison, Confirmation, Interval, Verdict};

pub use change::{Change, Expected, of};

/// What the comparison says about the suspicion that it was made for.
pub fn judge(suspicion: &Suspicion, comparison: Option<&Comparison>) -> Confirmation {
    let Suspicion { suspect, change, ratio_min, ratio_max } = suspicion.clone();
    let wanted = match (ratio_min, ratio_max) {
        (Some(min), Some(max)) => format!("{min:.2} to {max:.2} times as much"),
        (Some(min), None) => format!("{min} times as much or more"),
        (None, Some(max)) => format!("{max} times as much or less"),
        (None, None) => "nothing".into(),
    };
    let found = comparison.filter(|comparison| comparison.verdict != Verdict::NotComparable);
    let interval = found.and_then(|comparison| comparison.ratio).and_then(|ratio| {
        let Interval { value, low, high } = ratio;
        Some((value, low?, high?))
    });
    let confirmed = interval.is_some_and(|(_, low, high)| {
        (ratio_min.is_some() || ratio_max.is_some())
            && ratio_min.is_none_or(|min| low > min)
            && ratio_max.is_none_or(|max| high < max)
    });
    let measured = match interval {
        Some((value, low, high)) => {
            format!("with {change}, throughput is {value:.2} times as much ({low:.2} to {high:.2})")
        }
        // A ratio of different work is no evidence, however large.
        None if comparison.is_some_and(|comparison| comparison.verdict == Verdict::NotComparable) => {
            format!("with {change}, more than that differed or the work did (see the differences)")
        }
        None => format!("with {change}, no interval of the effect could be given"),
    };
    let words = suspect.words();
    let sentence = if confirmed {
        format!("confirmed: {words} limits throughput; {measured} (expected: {wanted})")
    } else {
        format!("not confirmed: {measured} (expected {wanted} if only {words} limited throughput)")
    };
    Confirmation { suspect, change, ratio_min, ratio_max, confirmed, sentence }
}

#[cfg(test)]
mod tests {
    use super::*;
    use result::Suspect;

    fn check(bounds: (Option<f64>, Option<f64>), ratio: (f64, f64, f64), confirmed: bool) {
        let suspicion = Suspicion {
            suspect: Suspect::Pool,
            change: "8 sessions instead of 1".into(),
            ratio_min: bounds.0,
            ratio_max: bounds.1,
        };
        let mut comparison = sample_documents::compared(&sample_documents::comparison()).clone();
        comparison.ratio = Some(Interval { value: ratio.0, low: Some(ratio.1), high: Some(ratio.2) });
        let found = judge(&suspicion, Some(&comparison));
        assert_eq!(found.confirmed, confirmed, "{}", found.sentence);
        let begins = if confirmed {
            "confirmed: the number of sessions limits throughput"
        } else {
            "not confirmed: with 8 sessions"
        };
        assert!(found.sentence.starts_with(begins), "{}", found.sentence);
    }

    #[test]
    fn only_a_whole_interval_beyond_what_was_expected_confirms() {
        check((Some(1.1), None), (2.0, 1.8, 2.2), true);
        check((Some(1.1), None), (1.2, 1.05, 1.4), false);
        check((Some(1.1), None), (1.0, 0.98, 1.02), false);
        check((Some(1.1), None), (0.5, 0.4, 0.6), false);
        check((Some(0.375), Some(0.6)), (0.5, 0.45, 0.55), true);
        check((Some(0.375), Some(0.6)), (0.3, 0.25, 0.36), false);
        check((Some(0.375), Some(0.6)), (0.98, 0.9, 1.1), false);
        check((None, Some(0.8)), (0.5, 0.4, 0.6), true);
        check((None, Some(0.8)), (0.7, 0.6, 0.9), false);
        check((Some(0.9), None), (1.02, 0.95, 1.08), true);
        check((Some(0.9), None), (0.7, 0.6, 0.8), false);
        check((None, None), (2.0, 1.8, 2.2), false);
    }

    #[test]
    fn without_a_ratio_or_with_different_work_nothing_is_confirmed() {
        let suspicion = Suspicion {
            suspect: Suspect::Pool,
            change: "8 sessions instead of 1".into(),
            ratio_min: Some(1.1),
            ratio_max: None,
        };
        assert!(!judge(&suspicion, None).confirmed);
        let mut comparison = sample_documents::compared(&sample_documents::comparison()).clone();
        comparison.ratio = Some(Interval { value: 2.0, low: Some(1.8), high: Some(2.2) });
        comparison.verdict = Verdict::NotComparable;
        let different = judge(&suspicion, Some(&comparison));
        assert!(
            !different.confirmed && different.sentence.contains("see the differences"),
            "{}",
            different.sentence
        );
        comparison.verdict = Verdict::Better;
        assert!(judge(&suspicion, Some(&comparison)).confirmed);
        comparison.ratio = Some(Interval { value: 2.0, low: None, high: None });
        assert!(!judge(&suspicion, Some(&comparison)).confirmed);
    }
}
