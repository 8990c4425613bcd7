//! What a server says about its own work in answer headers.

use model::{CallWork, Nanos, StatementTimes};

/// Adds the metrics of one `Server-Timing` header to `work`.
///
/// Standard names and milliseconds. Unknown metrics, and ones without a duration, are skipped: a proxy may add to the header. A duration
/// that is not a number of milliseconds of 0 or more makes the times unreadable.
pub(crate) fn read_server_timing(value: &[u8], work: &mut CallWork) {
    let spent = &mut work.spent;
    for metric in split_outside_quotes(value, b',') {
        let mut parts = split_outside_quotes(metric, b';');
        let Some(name) = parts.next().map(<[u8]>::trim_ascii) else { continue };
        let slot = match name {
            b"queue" => &mut spent.queue,
            b"pool" => &mut spent.pool,
            b"begin" => &mut spent.begin,
            b"query" => &mut spent.statements,
            b"commit" => &mut spent.commit,
            b"encode" => &mut spent.encode,
            b"total" => &mut spent.server,
            _ => continue,
        };
        // The first `dur` counts (Server Timing, section 4.2).
        let duration = parts.find_map(|part| {
            let at = part.iter().position(|&byte| byte == b'=')?;
            part[..at].trim_ascii().eq_ignore_ascii_case(b"dur").then(|| &part[at + 1..])
        });
        let duration = duration.map(|text| unquoted(text.trim_ascii()));
        let Some(text) = duration else { continue };
        let Some(span) = millis(text) else {
            spent.unreadable = true;
            continue;
        };
        // A metric that comes again is one time in two parts.
        if *slot == Nanos::ZERO && spent.rounded < ROUNDED_MAX {
            spent.rounded += unit(text);
        }
        *slot += span;
    }
}

/// Rounding error of all metrics together, at most: seven in whole milliseconds.
const ROUNDED_MAX: Nanos = Nanos::from_millis(7);

/// What the last of the digits stands for: a server that writes `0.3` may mean 0.25 ms.
fn unit(millis: &[u8]) -> Nanos {
    let decimals = millis.iter().rev().position(|&byte| byte == b'.').unwrap_or(0);
    Nanos(1_000_000 / 10_u64.pow(decimals.min(6) as u32))
}

/// Adds the counts of one `stackmark-work` header to `work`: `attempts=1, statements=46, rows=33,
/// commits=1`.
pub(crate) fn read_work(value: &[u8], work: &mut CallWork) {
    for item in value.split(|&byte| byte == b',') {
        let Some(at) = item.iter().position(|&byte| byte == b'=') else { continue };
        let slot = match item[..at].trim_ascii() {
            b"attempts" => &mut work.attempts,
            b"statements" => &mut work.statements,
            b"rows" => &mut work.rows,
            b"commits" => &mut work.commits,
            b"reconnects" => &mut work.reconnects,
            b"grouped" => &mut work.grouped,
            b"groups" => &mut work.groups,
            _ => continue,
        };
        if let Some(count) = whole(item[at + 1..].trim_ascii()) {
            *slot = slot.saturating_add(count);
        }
    }
}

/// Adds a `stackmark-statements` header to `times`: `read_item;n=10;dur=0.123, update_stock;n=10;dur=0.456`, by names among
/// `names`. Others, and what lacks a count or a duration, are skipped.
pub(crate) fn read_statements(value: &[u8], names: &[&str], times: &mut StatementTimes) {
    for statement in value.split(|&byte| byte == b',') {
        let mut parts = statement.split(|&byte| byte == b';').map(<[u8]>::trim_ascii);
        let Some(name) = parts.next() else { continue };
        let Some(index) = names.iter().position(|known| known.as_bytes() == name) else { continue };
        let (mut executions, mut spent) = (None, None);
        for part in parts {
            match part.split_first_chunk::<2>() {
                Some((b"n=", count)) => executions = whole(count),
                _ => spent = part.strip_prefix(b"dur=").and_then(millis).or(spent),
            }
        }
        if let (Some(executions), Some(spent)) = (executions, spent) {
            times.add(index, executions, spent);
        }
    }
}

fn unquoted(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
}

/// Digits of at most nine places; anything else is nothing.
fn whole(text: &[u8]) -> Option<u32> {
    if text.is_empty() || text.len() > 9 {
        return None;
    }
    text.iter().try_fold(0u32, |sum, byte| byte.is_ascii_digit().then(|| sum * 10 + u32::from(byte - b'0')))
}

/// Decimal milliseconds to whole nanoseconds, cut rather than rounded; at most `u64::MAX`. Negative or odd texts are nothing.
fn millis(text: &[u8]) -> Option<Nanos> {
    plain_millis(text).or_else(|| {
        let millis: f64 = str::from_utf8(text).ok()?.parse().ok()?;
        (millis >= 0.0).then_some(Nanos((millis * 1e6) as u64))
    })
}

/// The same of digits with at most one point, of at most nine places before it, as servers write them.
fn plain_millis(text: &[u8]) -> Option<Nanos> {
    let (whole_part, fraction) = match text.iter().position(|&byte| byte == b'.') {
        Some(at) => (&text[..at], &text[at + 1..]),
        None => (text, &[][..]),
    };
    if whole_part.is_empty() && fraction.is_empty() {
        return None;
    }
    let millis = if whole_part.is_empty() { 0 } else { u64::from(whole(whole_part)?) };
    let mut nanos = 0;
    for place in 0..6 {
        nanos *= 10;
        nanos += u64::from(
            fraction.get(place).map_or(Some(0), |byte| byte.is_ascii_digit().then(|| byte - b'0'))?,
        );
    }
    fraction.iter().all(u8::is_ascii_digit).then_some(Nanos(millis * 1_000_000 + nanos))
}

/// Splits at `separator` except inside double quotes (descriptions may hold commas).
fn split_outside_quotes(text: &[u8], separator: u8) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    let mut escaped = false;
    // Most have no description.
    let plain = !text.contains(&b'"');
    text.split(move |&byte| {
        if plain {
            return byte == separator;
        }
        if escaped {
            escaped = false;
        } else if quoted && byte == b'\\' {
            escaped = true;
        } else if byte == b'"' {
            quoted = !quoted;
        }
        !quoted && byte == separator
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::Spent;

    fn check(header: &str, want: Spent) {
        let mut work = CallWork::default();
        read_server_timing(header.as_bytes(), &mut work);
        assert_eq!(work.spent, want, "{header}");
    }

    #[test]
    fn server_timing_is_read_in_any_order() {
        let want = Spent {
            queue: Nanos(12_000),
            pool: Nanos(1_000_000),
            begin: Nanos(2_500),
            statements: Nanos(1_234_567),
            commit: Nanos(300_000),
            encode: Nanos(4_000),
            server: Nanos(2_600_001),
            // Of the first text: 1 ms, 0.1 ms, twice 1 µs, 0.1 µs, and twice 1 ns.
            rounded: Nanos(1_102_102),
            unreadable: false,
        };
        check(
            "queue;dur=0.012, pool;dur=1, begin;dur=.0025, query;dur=1.2345678, commit;dur=0.3, encode;dur=0.004, total;dur=2.600001",
            want,
        );
        // Of this one pool and commit are told to 0.1 ms, encode to 1 µs, begin to 0.1 µs, and three to 1 ns.
        let want = Spent { rounded: Nanos(201_103), ..want };
        check(
            "total;dur=2.600001,commit;dur=.3,query;dur=1.234567,encode;dur=\"0.004\",begin;dur=0.0025,pool;dur=1.0,queue;dur=0.012000",
            want,
        );
    }

    #[test]
    fn unknown_metrics_and_missing_durations_are_skipped() {
        let want = Spent { commit: Nanos(500_000), rounded: Nanos(100_000), ..Spent::default() };
        check(
            "cache;desc=\"hit, query;dur=9\";dur=-3, pool, begin, total;desc=x, commit;desc=\"a;dur=7\";DUR=0.5;dur=8",
            want,
        );
        check("", Spent::default());
        check(";;,,=;dur", Spent::default());
    }

    #[test]
    fn what_is_longer_than_any_call_is_read_and_what_is_no_time_is_unreadable() {
        let query = |statements| Spent {
            statements: Nanos(statements),
            rounded: Nanos(1_000_000),
            ..Spent::default()
        };
        check("query;dur=1e3", query(1_000_000_000));
        check("query;dur=99999999999", query(99_999_999_999_000_000));
        check("query;dur=1e300", query(u64::MAX));
        check("query;dur=inf", query(u64::MAX));
        for odd in ["-5", "nan", "", "fast", "0x10"] {
            check(&format!("query;dur={odd}"), Spent { unreadable: true, ..Spent::default() });
        }
        // Said again and again, its rounding does not grow.
        check("query;dur=1, query;dur=1, query;dur=1", query(3_000_000));
        let zeros = "query;dur=0, ".repeat(100);
        check(&zeros, Spent { rounded: Nanos(7_000_000), ..Spent::default() });
    }

    #[test]
    fn statements_are_read_by_name_and_odd_ones_are_skipped() {
        let mut times = StatementTimes::default();
        let header = b"b;n=10;dur=0.5, a; dur=1 ;n=2, c;n=1;dur=1, b;n=x;dur=1, b;dur=1, , a;n=1;dur=-1, a;n=1;dur=0.25";
        read_statements(header, &["a", "b"], &mut times);
        let found: Vec<_> = times.executed().map(|(at, time)| (at, time.executions, time.spent.0)).collect();
        assert_eq!(found, [(0, 3, 1_250_000), (1, 10, 500_000)]);
    }

    #[test]
    fn work_is_read_and_odd_counts_are_skipped() {
        let mut work = CallWork::default();
        read_work(
            b"attempts=2, rows=33,statements=46 , commits=1, planets=8, grouped=1,groups=1, rows=x, rows=, =4",
            &mut work,
        );
        let counts = CallWork { attempts: 2, statements: 46, rows: 33, commits: 1, ..CallWork::default() };
        let want = CallWork { grouped: 1, groups: 1, ..counts };
        assert_eq!(work, want);
    }
}
