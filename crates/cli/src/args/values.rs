//! Values as they are typed: spans, shares, rates, limits, lists; and the errors for those that are wrong.

use drive::{RatePerSecond, Stage, Think};
use model::Nanos;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

/// Which process is limited, and to what.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Limit {
    pub(crate) who: Limited,
    pub(crate) limits: rig::Limits,
}

/// Processes that can be limited: those that are started here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Limited {
    Engine,
    Server,
    Relay,
    Broker,
}

pub(super) fn limit(text: &str) -> Result<Limit, String> {
    let (who, rest) = match text.split_once(':') {
        Some(("engine", rest)) => (Limited::Engine, rest),
        Some(("server", rest)) => (Limited::Server, rest),
        Some(("relay", rest)) => (Limited::Relay, rest),
        Some(("broker", rest)) => (Limited::Broker, rest),
        _ => return Err("write engine:cpu=0.5,mem=1GiB, server:cpu=1, relay:cpu=0.5 or broker:cpu=1".into()),
    };
    let limits = rest.parse::<rig::Limits>().map_err(|error| error.to_string())?;
    Ok(Limit { who, limits })
}

/// A setting of an engine: its name in small letters, and its value.
pub(crate) type Setting = (String, String);

/// The folder of an engine's programs, wherever it is named from, or a version of it.
pub(crate) fn programs(text: &str) -> Result<String, String> {
    let is_version = text.starts_with(|c: char| c.is_ascii_digit()) && !Path::new(text).is_dir();
    match std::path::absolute(text) {
        _ if is_version => Ok(text.to_owned()),
        Ok(path) => path.into_os_string().into_string().map_err(|_| "not a text".to_owned()),
        Err(error) => Err(format!("not a path: {error}")),
    }
}

pub(super) fn setting(text: &str) -> Result<Setting, String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => {
            Ok((name.trim().to_ascii_lowercase().replace('-', "_"), value.trim().to_owned()))
        }
        _ => Err("a setting is NAME=VALUE".into()),
    }
}

/// Longest span that may be asked for: a week.
const SPAN_MAX: Duration = Duration::from_secs(7 * 24 * 3600);

pub(super) fn span(text: &str) -> Result<Duration, String> {
    let span =
        humantime::parse_duration(text).map_err(|error| format!("{error}; write 500ms, 60s, 5m or 1h"))?;
    if span > SPAN_MAX { Err("a week is the most".into()) } else { Ok(span) }
}

/// What clients do between their calls, if anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ThinkArg(pub(crate) Option<Think>);

pub(super) fn think(text: &str) -> Result<ThinkArg, String> {
    let time = |text: &str| {
        let time = Nanos::from(span(text).map_err(|_| {
            format!("`{text}` is not a think time; write none, spec, 100ms or exp:100ms, a week at most")
        })?);
        if time > Nanos::ZERO {
            Ok(time)
        } else {
            Err("a think time is longer than zero; write none".to_owned())
        }
    };
    let think = match (text, text.strip_prefix("exp:")) {
        ("none", _) => None,
        ("spec", _) => Some(Think::Spec),
        (_, Some(mean)) => Some(Think::Exponential(time(mean)?)),
        (_, None) => Some(Think::Constant(time(text)?)),
    };
    Ok(ThinkArg(think))
}

/// Most threads that a server may be asked for.
const THREADS_MAX: usize = 1_024;

pub(super) fn threads(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(threads) if (1..=THREADS_MAX).contains(&threads) => Ok(threads),
        _ => Err(format!("write a number from 1 to {THREADS_MAX}")),
    }
}

pub(super) fn calls(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(calls) if calls > 0 => Ok(calls),
        _ => Err("write a whole number of calls, 1 or more".into()),
    }
}

/// Far beyond what one generator can send.
const RATE_MAX: f64 = 1e7;

pub(super) fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if rate > 0.0 && rate <= RATE_MAX => Ok(rate),
        _ => Err(format!("write calls per second, more than 0 and at most {RATE_MAX}")),
    }
}

/// Stages of an open loop.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Stages(pub(crate) Vec<Stage>);

pub(super) fn stages(text: &str) -> Result<Stages, String> {
    let one = |part: &str| -> Option<Stage> {
        let (length, rates) = part.trim().split_once('@')?;
        let (from, to) = rates.split_once('~').unwrap_or((rates, rates));
        let rate = |text: &str| rate(text.trim()).ok().map(RatePerSecond);
        Some(Stage { length: Nanos::from(span(length).ok()?), from: rate(from)?, to: rate(to)? })
    };
    let sentence = |part: &str| {
        one(part).ok_or_else(|| format!("`{part}` is not a stage; write 30s@100 or 30s@100~500"))
    };
    text.split(',').map(sentence).collect::<Result<_, _>>().map(Stages)
}

/// Weights of kinds of call, as typed.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Weights(pub(crate) Vec<(String, f64)>);

pub(super) fn weights(text: &str) -> Result<Weights, String> {
    let one = |part: &str| {
        let weight = part.split_once('=').and_then(|(kind, weight)| {
            let weight: f64 = weight.trim().parse().ok()?;
            (weight >= 0.0 && weight.is_finite()).then(|| (kind.trim().to_owned(), weight))
        });
        weight.ok_or_else(|| {
            format!("`{part}` is not a kind and its weight of 0 or more; write new-order=45,payment=43")
        })
    };
    text.split(',').map(one).collect::<Result<_, _>>().map(Weights)
}

/// One of several processes that make the calls of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PartArg {
    /// From 1.
    pub(crate) part: u32,
    pub(crate) of: u32,
}

impl FromStr for PartArg {
    type Err = String;

    fn from_str(text: &str) -> Result<PartArg, String> {
        let number = |text: &str| text.parse::<u32>().ok().filter(|number| *number > 0);
        let both = text.split_once('/').and_then(|(part, of)| Some((number(part)?, number(of)?)));
        match both {
            Some((part, of)) if part <= of => Ok(PartArg { part, of }),
            Some((part, of)) => Err(format!("there is no part {part} of {of}; write 1/{of} to {of}/{of}")),
            None => Err(format!("`{text}` is not a part; write 1/4 for the first of four")),
        }
    }
}

/// A moment, in nanoseconds of Unix time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct StartArg(pub(crate) u64);

impl FromStr for StartArg {
    type Err = String;

    fn from_str(text: &str) -> Result<StartArg, String> {
        let seconds = text.strip_prefix('@').map(|seconds| seconds.parse::<f64>().ok());
        let since = match seconds {
            Some(seconds) => seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok()),
            None => humantime::parse_rfc3339_weak(text)
                .ok()
                .and_then(|moment| moment.duration_since(std::time::UNIX_EPOCH).ok()),
        };
        let nanoseconds = since.and_then(|since| u64::try_from(since.as_nanos()).ok());
        let latest =
            (u128::from(measure::unix_nanoseconds()) + SPAN_MAX.as_nanos()).try_into().unwrap_or(u64::MAX);
        if nanoseconds.is_some_and(|at| at > latest) {
            return Err("a week from now is the latest".into());
        }
        nanoseconds.map(StartArg).ok_or_else(|| {
            format!(
                "`{text}` is not a moment; write 2026-11-29T10:00:00Z, or @1795946400 in seconds of Unix time"
            )
        })
    }
}

/// Loads of a sweep, rising.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Loads(pub(crate) Vec<f64>);

/// Most loads of a sweep.
const LOADS_MAX: usize = 64;

pub(super) fn clients_list(text: &str) -> Result<Loads, String> {
    let one = |text: &str| match text.trim().parse::<u32>() {
        Ok(clients) if (1..=100_000).contains(&clients) => Ok(f64::from(clients)),
        _ => Err(format!("`{text}` is not a number of clients from 1 to 100000; write 1,2,4,8 or 1..32")),
    };
    loads(text, one)
}

pub(super) fn rates_list(text: &str) -> Result<Loads, String> {
    loads(text, |text| rate(text.trim()).map_err(|error| format!("`{text}`: {error}, as in 100,200,400")))
}

/// A list, or two ends and every doubling between them.
fn loads(text: &str, one: impl Fn(&str) -> Result<f64, String>) -> Result<Loads, String> {
    let loads: Vec<f64> = match text.split_once("..") {
        Some((low, high)) => {
            let (low, high) = (one(low)?, one(high)?);
            if low >= high {
                return Err(falling(low, high));
            }
            let mut loads: Vec<f64> = std::iter::successors(Some(low), |load| Some(load * 2.0))
                .take_while(|load| *load < high)
                .collect();
            loads.push(high);
            loads
        }
        None => text.split(',').map(one).collect::<Result<_, _>>()?,
    };
    if let Some(pair) = loads.windows(2).find(|pair| pair[0] >= pair[1]) {
        return Err(falling(pair[0], pair[1]));
    }
    if loads.len() < 2 || loads.len() > LOADS_MAX {
        return Err(format!("a sweep has from 2 to {LOADS_MAX} loads; for one there is `stackmark run`"));
    }
    Ok(Loads(loads))
}

fn falling(before: f64, after: f64) -> String {
    format!("each load must be larger than the one before it; {after} follows {before}")
}

pub(super) fn resolution(text: &str) -> Result<f64, String> {
    match share(text) {
        Ok(share) if (0.001..=0.5).contains(&share) => Ok(share),
        _ => Err("write a share from 0.1% to 50%, such as 5%".into()),
    }
}

pub(super) fn share(text: &str) -> Result<f64, String> {
    let share = match text.strip_suffix('%') {
        Some(percent) => percent.trim().parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse(),
    };
    match share {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err("write a share such as 5% or 0.05".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_loads_rise_and_say_what_would_be_right() {
        assert_eq!(clients_list("1,2, 8"), Ok(Loads(vec![1.0, 2.0, 8.0])));
        assert_eq!(clients_list("1..8"), Ok(Loads(vec![1.0, 2.0, 4.0, 8.0])));
        assert_eq!(clients_list("3..20"), Ok(Loads(vec![3.0, 6.0, 12.0, 20.0])));
        assert_eq!(rates_list("50.5,100"), Ok(Loads(vec![50.5, 100.0])));
        for (wrong, words) in [
            ("4,2", "2 follows 4"),
            ("4,4", "4 follows 4"),
            ("8..2", "2 follows 8"),
            ("0,1", "from 1 to 100000"),
            ("1,x", "`x` is not a number of clients"),
            ("", "1,2,4,8"),
            ("8", "`stackmark run`"),
        ] {
            let error = clients_list(wrong).unwrap_err();
            assert!(error.contains(words), "{wrong}: {error}");
        }
        assert!(rates_list("100,-1").unwrap_err().contains("100,200,400"));
        assert_eq!(resolution("2%"), Ok(0.02));
        assert!(resolution("80%").unwrap_err().contains("5%"));
    }

    #[test]
    fn think_times_are_the_standards_or_ones_own() {
        let hundred = Nanos::from_millis(100);
        assert_eq!(think("none"), Ok(ThinkArg(None)));
        assert_eq!(think("spec"), Ok(ThinkArg(Some(Think::Spec))));
        assert_eq!(think("100ms"), Ok(ThinkArg(Some(Think::Constant(hundred)))));
        assert_eq!(think("exp:100ms"), Ok(ThinkArg(Some(Think::Exponential(hundred)))));
        assert_eq!(Think::Exponential(Nanos::from_millis(1_500)).words(), "exp:1.5s");
        for wrong in ["0s", "exp:0ms"] {
            assert!(think(wrong).unwrap_err().contains("longer than zero"), "{wrong}");
        }
        for wrong in ["", "long", "-1s", "exp:", "exp:100", "uniform:1s", "3weeks"] {
            assert!(think(wrong).unwrap_err().contains("write none, spec, 100ms or exp:100ms"), "{wrong}");
        }
    }

    #[test]
    fn stages_have_a_length_and_a_rate_or_two() {
        let stage = |seconds, from, to| Stage {
            length: Nanos::from_secs(seconds),
            from: RatePerSecond(from),
            to: RatePerSecond(to),
        };
        let wanted = vec![stage(30, 100.0, 100.0), stage(60, 100.0, 500.0)];
        assert_eq!(stages("30s@100, 1m@100~500"), Ok(Stages(wanted)));
        for wrong in
            ["", "30s", "30s@", "@100", "30@100", "30s@0", "30s@-1", "30s@nan", "30s@1~", "30s@1,", "-1s@5"]
        {
            assert!(stages(wrong).unwrap_err().contains("write 30s@100 or 30s@100~500"), "{wrong}");
        }
    }

    #[test]
    fn weights_are_kinds_with_numbers_of_0_or_more() {
        let pair = |kind: &str, weight| (kind.to_owned(), weight);
        assert_eq!(weights("pay=45, look=0.5"), Ok(Weights(vec![pair("pay", 45.0), pair("look", 0.5)])));
        for wrong in ["", "pay", "pay=", "pay=-1", "pay=nan", "pay=inf", "pay=many", "pay=1,,look=1"] {
            assert!(weights(wrong).unwrap_err().contains("new-order=45,payment=43"), "{wrong}");
        }
    }

    #[test]
    fn spans_and_shares_say_what_would_be_right() {
        assert_eq!(span("1m"), Ok(Duration::from_secs(60)));
        assert!(span("5").unwrap_err().contains("60s"));
        assert!(span("3weeks").unwrap_err().contains("week"));
        assert_eq!(share("5%"), Ok(0.05));
        assert_eq!(share("0.2"), Ok(0.2));
        assert!(share("120%").unwrap_err().contains("5%"));
        assert_eq!(rate("0.5"), Ok(0.5));
        for wrong in ["0", "-1", "nan", "inf", "1e8", "fast"] {
            assert!(rate(wrong).unwrap_err().contains("more than 0"), "{wrong}");
        }
        assert_eq!("2/4".parse(), Ok(PartArg { part: 2, of: 4 }));
        for wrong in ["5/4", "0/4", "2", "2/", "a/b"] {
            assert!(wrong.parse::<PartArg>().unwrap_err().contains("write 1/4"), "{wrong}");
        }
        assert_eq!("2026-11-29T10:00:00Z".parse(), Ok(StartArg(1_795_946_400_000_000_000)));
        assert_eq!("@1795946400.5".parse(), Ok(StartArg(1_795_946_400_500_000_000)));
        for wrong in ["10:00", "@-1", "@soon", "2026-13-01T00:00:00Z", ""] {
            assert!(wrong.parse::<StartArg>().unwrap_err().contains("write 2026-"), "{wrong}");
        }
        assert!(threads("0").unwrap_err().contains("1 to 1024"));
        assert_eq!(limit("server:cpu=0.5").unwrap().who, Limited::Server);
        assert_eq!(limit("relay:mem=1GiB").unwrap().who, Limited::Relay);
        assert!(limit("cpu=0.5").unwrap_err().contains("engine:cpu=0.5"));
        assert!(limit("engine:speed=9").is_err());
    }
}
