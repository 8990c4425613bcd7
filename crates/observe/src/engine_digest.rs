//! Turns what an engine said into time lines. Pure.

use crate::engine::{EngineReading, EngineSamples, Mark, StatementCount};
use model::Nanos;
use result::{Engine, Gauge, GaugeKind, Statement, Wait};

/// Steps of a time line: more say nothing more on a screen, and swell the result.
const STEPS_MAX: usize = 600;
/// The shortest step: an engine adds to its counters in lumps, up to a second apart, and a lump over the moment between a
/// reading and the edge of the window next to it would be a rate that never was.
const STEP_MIN: Nanos = Nanos::from_millis(500);
/// States with a time line of their own; the rest is summed.
const STATES_MAX: usize = 12;
/// Statements told.
const STATEMENTS_MAX: usize = 12;
/// Bytes of a statement's text that are kept.
const TEXT_MAX: usize = 240;

/// `opens` is when the window opened.
pub(crate) fn digest(samples: &EngineSamples, opens: Nanos) -> Engine {
    let readings = apart(&samples.readings);
    let several = readings.len().saturating_sub(1).div_ceil(STEPS_MAX).max(1);
    let ends: Vec<&EngineReading> = readings.iter().step_by(several).collect();
    let steps: Vec<&[EngineReading]> =
        readings.get(1..).map_or_else(Vec::new, |rest| rest.chunks_exact(several).collect());
    let window = Window::of(samples);
    let since = |at: Nanos| at.as_secs_f64() - opens.as_secs_f64();
    Engine {
        t_s: steps.iter().map(|step| since(step[step.len() - 1].at)).collect(),
        gauges: gauges(samples, &ends, steps.len(), &window),
        waits: waits(samples, &steps, &window),
        samples: window.looks(samples).map(|answer| u64::from(answer.samples)).sum(),
        statements: statements(samples),
        other_sessions: samples.others.as_ref().map(|others| others.iter().cloned().collect()),
        missing_s: missing_s(&samples.readings),
    }
}

/// The readings without those that the next one follows too soon; its looks are then of both.
fn apart(readings: &[EngineReading]) -> Vec<EngineReading> {
    let mut kept: Vec<EngineReading> = Vec::new();
    for reading in readings {
        match kept.pop() {
            Some(last) if reading.at - last.at < STEP_MIN => {
                kept.push(EngineReading::joined(&[last, reading.clone()]));
            }
            last => kept.extend(last.into_iter().chain([reading.clone()])),
        }
    }
    kept
}

/// The span that sums are for: all there is where the window was never opened or closed.
struct Window {
    from: Nanos,
    until: Nanos,
}

impl Window {
    fn of(samples: &EngineSamples) -> Window {
        Window {
            from: samples.opened.as_ref().map_or(Nanos::ZERO, |mark| mark.at),
            until: samples.closed.as_ref().map_or(Nanos::MAX, |mark| mark.at),
        }
    }

    /// The answers whose looks lie in it.
    fn looks<'a>(&self, samples: &'a EngineSamples) -> impl Iterator<Item = &'a EngineReading> {
        let (from, until) = (self.from, self.until);
        samples.readings.iter().filter(move |answer| from < answer.at && answer.at <= until)
    }
}

fn gauges(samples: &EngineSamples, ends: &[&EngineReading], steps: usize, window: &Window) -> Vec<Gauge> {
    let value = |answer: &EngineReading, at: usize| answer.values.as_ref()?.get(at).copied().flatten();
    let line = |(at, gauge): (usize, &crate::engine::GaugeName)| {
        let values = ends
            .windows(2)
            .take(steps)
            .enumerate()
            .map(|(step, pair)| match gauge.kind {
                GaugeKind::Level => value(pair[1], at),
                // What sessions had counted before the watch and not yet reported comes with the second reading.
                GaugeKind::Counter if step == 0 => None,
                GaugeKind::Counter => {
                    let duration_s = (pair[1].at - pair[0].at).as_secs_f64();
                    grown(value(pair[0], at), value(pair[1], at))
                        .filter(|_| duration_s > 0.0)
                        .map(|grown| grown / duration_s)
                }
            })
            .map(|value| value.map(rounded))
            .collect();
        let marked = |mark: &Option<Mark>| mark.as_ref()?.values.as_ref()?.get(at).copied().flatten();
        let total = match gauge.kind {
            GaugeKind::Counter => grown(marked(&samples.opened), marked(&samples.closed)),
            GaugeKind::Level => {
                let values: Vec<f64> = window.looks(samples).filter_map(|answer| value(answer, at)).collect();
                (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
            }
        };
        Gauge {
            name: gauge.name.clone(),
            group: gauge.group.clone(),
            unit: gauge.unit.clone(),
            kind: gauge.kind,
            total: total.map(rounded),
            values,
        }
    };
    samples.gauges.iter().enumerate().map(line).collect()
}

/// A counter that went back began again with its engine: what it counted in between is not known.
fn grown(from: Option<f64>, until: Option<f64>) -> Option<f64> {
    let (from, until) = (from?, until?);
    (until >= from).then_some(until - from)
}

fn waits(samples: &EngineSamples, steps: &[&[EngineReading]], window: &Window) -> Vec<Wait> {
    let mut sums = vec![0; samples.states.len()];
    for answer in window.looks(samples) {
        answer.sessions.iter().for_each(|(at, sessions)| sums[*at] += sessions);
    }
    let all: u64 = sums.iter().sum();
    let mut order: Vec<usize> = (0..sums.len()).filter(|at| sums[*at] > 0).collect();
    order.sort_by_key(|at| std::cmp::Reverse(sums[*at]));
    let (kept, rest) = order.split_at(order.len().min(STATES_MAX));
    let line = |name: &str, places: &[usize]| Wait {
        name: name.to_owned(),
        share: rounded(places.iter().map(|at| sums[*at]).sum::<u64>() as f64 / all.max(1) as f64),
        sessions: steps.iter().map(|step| mean_sessions(step, places)).collect(),
    };
    let mut lines: Vec<Wait> =
        kept.iter().map(|at| line(&samples.states[*at], std::slice::from_ref(at))).collect();
    if !rest.is_empty() {
        lines.push(line("all others", rest));
    }
    lines
}

fn mean_sessions(step: &[EngineReading], places: &[usize]) -> Option<f64> {
    let samples: u32 = step.iter().map(|answer| answer.samples).sum();
    let of = |answer: &EngineReading| -> u64 { places.iter().filter_map(|at| answer.sessions.get(at)).sum() };
    let sessions: u64 = step.iter().map(of).sum();
    (samples > 0).then(|| rounded(sessions as f64 / f64::from(samples)))
}

/// What statements took between the edges of the window, the most first. An engine counts since it began to.
fn statements(samples: &EngineSamples) -> Vec<Statement> {
    let (Some(opened), Some(closed)) = (&samples.opened, &samples.closed) else { return Vec::new() };
    let before = |text: &str| -> Option<&StatementCount> {
        opened.statements.iter().find(|statement| statement.text == text)
    };
    let mut loads: Vec<Statement> = closed
        .statements
        .iter()
        .map(|after| {
            let before = before(&after.text);
            Statement {
                text: shortened(&after.text),
                calls: after.calls.saturating_sub(before.map_or(0, |before| before.calls)),
                total_ms: rounded((after.total_ms - before.map_or(0.0, |before| before.total_ms)).max(0.0)),
                rows: after.rows.saturating_sub(before.map_or(0, |before| before.rows)),
            }
        })
        .filter(|load| load.calls > 0)
        .collect();
    loads.sort_by(|a, b| b.total_ms.total_cmp(&a.total_ms));
    loads.truncate(STATEMENTS_MAX);
    loads
}

fn shortened(text: &str) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(TEXT_MAX) {
        Some((at, _)) => format!("{}…", &line[..at]),
        None => line,
    }
}

/// Spans before a reading that failed, and what two readings lie too far apart.
fn missing_s(readings: &[EngineReading]) -> f64 {
    let lengths = || readings.windows(2).map(|pair| (pair[1].at - pair[0].at).as_secs_f64());
    let mut sorted: Vec<f64> = lengths().collect();
    sorted.sort_by(f64::total_cmp);
    let usual = sorted.get(sorted.len() / 2).copied().unwrap_or(0.0);
    let missing = readings.windows(2).zip(lengths()).map(|(pair, duration_s)| match pair[1].values {
        None => duration_s,
        Some(_) if duration_s > 2.0 * usual.max(1.0) => duration_s - usual,
        Some(_) => 0.0,
    });
    rounded(missing.sum())
}

/// Four decimals, or what a large number needs not.
fn rounded(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::GaugeName;
    use std::collections::BTreeMap;

    fn answer(second: u64, value: Option<f64>, running: u64, waiting: u64) -> EngineReading {
        EngineReading {
            at: Nanos::from_secs(second),
            values: value.map(|value| vec![Some(value), Some(7.0)]),
            sessions: BTreeMap::from([(0, running), (1, waiting)]),
            samples: 10,
        }
    }

    fn mark(second: u64, value: f64) -> Option<Mark> {
        let at = Nanos::from_secs(second);
        let statement = |text: &str| StatementCount {
            text: text.to_owned(),
            calls: value as u64,
            total_ms: value * 2.0,
            rows: 0,
        };
        let statements = vec![statement("select  1"), statement("update t")];
        Some(Mark { at, values: Some(vec![Some(value), Some(7.0)]), statements })
    }

    fn samples() -> EngineSamples {
        let gauge = |name: &str, kind| GaugeName {
            name: name.to_owned(),
            group: "wal".to_owned(),
            unit: "bytes".to_owned(),
            kind,
            late: false,
        };
        EngineSamples {
            gauges: vec![gauge("written", GaugeKind::Counter), gauge("dirty", GaugeKind::Level)],
            states: vec!["running".to_owned(), "LWLock:WALWrite".to_owned()],
            readings: vec![
                answer(0, Some(0.0), 70, 0),
                answer(1, Some(0.0), 20, 0),
                answer(2, Some(100.0), 20, 60),
                answer(3, None, 20, 60),
                answer(4, Some(500.0), 40, 40),
                answer(5, Some(10.0), 0, 0),
            ],
            opened: mark(1, 0.0),
            closed: mark(4, 500.0),
            ..EngineSamples::default()
        }
    }

    #[test]
    fn waits_are_shares_of_the_window_alone() {
        let load = digest(&samples(), Nanos::ZERO);
        let shares: Vec<_> = load.waits.iter().map(|state| (state.name.as_str(), state.share)).collect();
        assert_eq!(shares, [("LWLock:WALWrite", 0.6667), ("running", 0.3333)]);
        assert_eq!(load.waits[0].sessions, [Some(0.0), Some(6.0), Some(6.0), Some(4.0), Some(0.0)]);
        assert_eq!(load.samples, 30);
    }

    #[test]
    fn a_counter_is_told_by_its_growth_and_an_answer_that_is_missing_is_a_gap() {
        let load = digest(&samples(), Nanos::ZERO);
        let [written, dirty] = &load.gauges[..] else { panic!("{load:?}") };
        // The engine that was away counts again.
        assert_eq!(written.values, [None, Some(100.0), None, None, None]);
        assert_eq!((written.total, dirty.total), (Some(500.0), Some(7.0)));
        assert_eq!(load.missing_s, 1.0);
        assert_eq!(load.t_s.len(), dirty.values.len());
    }

    /// A time line began with 5,000 commits/s at 0.01 s, made of what others had counted before.
    #[test]
    fn what_was_counted_before_and_told_late_is_no_spike() {
        let at = |millis: u64, value: f64| EngineReading {
            at: Nanos::from_millis(millis),
            ..answer(0, Some(value), 1, 0)
        };
        let samples = EngineSamples {
            // The load is told of at the first reading after the watch began, and the window opens 10 ms after a reading,
            // between which a session told of its last second.
            readings: vec![
                at(0, 0.0),
                at(1_000, 5_000.0),
                at(2_000, 5_100.0),
                at(2_010, 5_200.0),
                at(3_000, 5_200.0),
                at(4_000, 5_300.0),
            ],
            opened: None,
            closed: None,
            ..samples()
        };
        let load = digest(&samples, Nanos::ZERO);
        assert_eq!(load.t_s, [1.0, 2.01, 3.0, 4.0]);
        let rates = &load.gauges[0].values;
        assert_eq!(rates[0], None);
        assert!(rates[1..].iter().all(|rate| rate.is_some_and(|rate| rate < 200.0)), "{rates:?}");
        // No look is lost.
        assert!(load.waits[0].sessions.iter().all(Option::is_some), "{load:?}");
    }

    #[test]
    fn statements_are_told_by_what_they_took_in_the_window() {
        let load = digest(&samples(), Nanos::ZERO);
        let rows: Vec<_> = load.statements.iter().map(|one| (one.text.as_str(), one.calls)).collect();
        assert_eq!(rows, [("select 1", 500), ("update t", 500)]);
    }

    #[test]
    fn hours_are_told_in_no_more_steps_than_a_screen_shows() {
        let mut samples = samples();
        samples.readings = (0..1_199).map(|second| answer(second, Some(second as f64), 1, 1)).collect();
        let load = digest(&samples, Nanos::ZERO);
        assert!(load.t_s.len() <= STEPS_MAX && load.t_s.len() > STEPS_MAX / 2);
        let (first, rates) = load.gauges[0].values.split_first().unwrap();
        assert!(first.is_none() && rates.iter().all(|rate| *rate == Some(1.0)), "{:?}", load.gauges[0]);
        assert_eq!(load.waits[0].sessions.len(), load.t_s.len());
    }
}
