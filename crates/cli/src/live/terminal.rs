//! A trial in a few lines of a terminal, drawn again with every slice. Readable without colour.

use super::snapshot::{BudgetShare, Snapshot};
use result::text::seconds;
use std::collections::VecDeque;

/// Steps of the small curve.
const STEPS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
/// Parts of the budget distinguished without colour, the largest first.
const FILLS: [char; 4] = ['█', '▓', '▒', '░'];
/// And with it: numbers of the 16 colours that every terminal has.
const COLOURS: [u8; 4] = [34, 36, 33, 35];
/// Narrower than this nothing is left out any more; the terminal cuts it off.
const WIDTH_MIN: usize = 40;

/// The view, lines joined by newlines, none wider than `width` columns. Of a trial that is not `alone` the share and the time left are
/// not shown.
pub(super) fn render(
    now: &Snapshot,
    rates: &VecDeque<f64>,
    alone: bool,
    width: usize,
    colour: bool,
) -> String {
    let width = width.max(WIDTH_MIN);
    let lines =
        [head(now, alone, width), rate(now, rates, width), times(now), errors(now, colour), cores(now)];
    let [head, rate, times, errors, cores] = lines;
    [head, rate, times, errors, budget(&now.budget, width, colour), cores]
        .map(|line| cut(&line, width))
        .join("\n")
}

fn head(now: &Snapshot, alone: bool, width: usize) -> String {
    let away = if now.away { ", engine or server unavailable" } else { "" };
    let share = now.share.clamp(0.0, 1.0) * 100.0;
    let tail = match alone {
        true => format!("{share:>3.0} %  {}{away}, {} left", now.phase, seconds(now.left_s)),
        false => format!("{}{away}", now.phase),
    };
    let room = width.saturating_sub(tail.chars().count() + 4);
    // Names come from experiment files: nothing in them may move the cursor.
    let printable = now.what.chars().filter(|char| !char.is_control());
    let name: String = printable.take(room.saturating_sub(10).max(8)).collect();
    let bar = room.saturating_sub(name.chars().count() + 2).min(32);
    let done = (now.share.clamp(0.0, 1.0) * bar as f64).round() as usize;
    format!("{name}  [{}{}] {tail}", "=".repeat(done), " ".repeat(bar - done))
}

fn rate(now: &Snapshot, rates: &VecDeque<f64>, width: usize) -> String {
    let mean = now.rate_mean.map_or_else(String::new, |mean| format!(", mean {}", thousands(mean)));
    let text = format!("  rate    {} {}{mean}  ", thousands(now.rate), now.unit);
    let room = width.saturating_sub(text.chars().count());
    text + &curve(rates, room)
}

fn times(now: &Snapshot) -> String {
    let time = |ns: Option<u64>| ns.map_or_else(|| "–".to_owned(), duration);
    let flight =
        now.in_flight.map_or_else(String::new, |calls| format!("   in flight {calls:.1} of {}", now.clients));
    format!("  times   {} p50 {}   p99 {}{flight}", now.kind, time(now.p50_ns), time(now.p99_ns))
}

fn errors(now: &Snapshot, colour: bool) -> String {
    let call_counts = &now.call_counts;
    let share = |count: u64| 100.0 * count as f64 / call_counts.started.max(1) as f64;
    let mut text = format!(
        "  errors  conflicts {}, refused {}, in doubt {}",
        call_counts.conflict, call_counts.refused, call_counts.in_doubt
    );
    if call_counts.defect > 0 {
        text.push_str(&format!(", defects {}", call_counts.defect));
    }
    let wrong = now.faults > 0 || call_counts.defect > 0;
    text = if wrong { painted(&text, 31, colour) } else { text };
    if wrong {
        text.push_str(&format!(" ({} in the last slice)", now.faults));
    }
    format!("{text}   declined {:.1} %, retries {}", share(call_counts.declined), call_counts.retries)
}

fn budget(parts: &[BudgetShare], width: usize, colour: bool) -> String {
    if parts.is_empty() {
        return "  budget  from the window on".to_owned();
    }
    let mut parts: Vec<&BudgetShare> = parts.iter().filter(|part| part.share >= 0.01).collect();
    parts.sort_by(|a, b| b.share.total_cmp(&a.share));
    let shown = &parts[..parts.len().min(FILLS.len())];
    let length = (width / 3).min(28);
    let (mut bar, mut legend, mut filled) = (String::new(), Vec::new(), 0.0);
    let mut drawn = 0;
    for ((part, fill), paint) in shown.iter().zip(FILLS).zip(COLOURS) {
        filled += part.share;
        let until = ((filled * length as f64).round() as usize).min(length);
        let cells = fill.to_string().repeat(until.saturating_sub(drawn));
        drawn = drawn.max(until);
        bar.push_str(&painted(&cells, paint, colour));
        let key = painted(&fill.to_string(), paint, colour);
        legend.push(format!("{key} {} {:.0} %", part.name, part.share * 100.0));
    }
    bar.push_str(&"·".repeat(length - drawn));
    format!("  budget  {bar}  {}", legend.join("  "))
}

fn cores(now: &Snapshot) -> String {
    let words: Vec<String> =
        now.processes.iter().map(|process| format!("{} {:.2}", process.role, process.cores)).collect();
    let sum: f64 = now.processes.iter().map(|process| process.cores).sum();
    let full = 100.0 * sum / f64::from(now.cores.max(1));
    format!("  cores   {} of {} ({full:.0} %)", words.join(", "), now.cores)
}

/// The latest rates as a small curve from zero, in at most `room` columns.
fn curve(rates: &VecDeque<f64>, room: usize) -> String {
    let latest = rates.iter().skip(rates.len().saturating_sub(room));
    let most = rates.iter().copied().fold(0.0, f64::max);
    let step = |rate: &f64| match most > 0.0 {
        true => STEPS[((rate / most * 7.0).round() as usize).min(7)],
        false => STEPS[0],
    };
    latest.map(step).collect()
}

/// Two digits or three: `9.8 ms`.
fn duration(ns: u64) -> String {
    let (value, unit) = match ns {
        0..1_000_000 => (ns as f64 / 1e3, "µs"),
        1_000_000..1_000_000_000 => (ns as f64 / 1e6, "ms"),
        _ => (ns as f64 / 1e9, "s"),
    };
    if value < 9.95 { format!("{value:.1} {unit}") } else { format!("{value:.0} {unit}") }
}

/// A whole number with commas between thousands.
pub(super) fn thousands(value: f64) -> String {
    let digits = format!("{:.0}", value.max(0.0));
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

fn painted(text: &str, paint: u8, colour: bool) -> String {
    if colour && !text.is_empty() { format!("\x1b[{paint}m{text}\x1b[0m") } else { text.to_owned() }
}

/// Cuts a line after `width` columns, of which colours take none.
fn cut(line: &str, width: usize) -> String {
    let (mut out, mut columns, mut in_code, mut coloured) = (String::new(), 0, false, false);
    for char in line.chars() {
        if char == '\x1b' {
            (in_code, coloured) = (true, true);
        }
        if in_code {
            out.push(char);
            in_code = char != 'm';
            continue;
        }
        if columns == width {
            break;
        }
        columns += 1;
        out.push(char);
    }
    if coloured {
        out.push_str("\x1b[0m");
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::testing;
    use super::*;

    fn columns(line: &str) -> usize {
        let mut in_code = false;
        let visible = line.chars().filter(|char| {
            let shown = !in_code && *char != '\x1b';
            in_code = (in_code || *char == '\x1b') && *char != 'm';
            shown
        });
        visible.count()
    }

    #[test]
    fn everything_worth_a_look_is_in_six_lines() {
        let rates = VecDeque::from([10.0, 20.0, 40.0, 80.0]);
        let view = render(&testing::snapshot(), &rates, true, 100, false);
        let lines: Vec<&str> = view.lines().collect();
        assert_eq!(lines.len(), 6, "{view}");
        let expected = [
            "direct, block 2 of 5  [================                ]  50 %  measured, 30 s left",
            "  rate    41,230 new orders/min, mean 40,870  ▂▃▅█",
            "  times   new-order p50 4.6 ms   p99 14 ms   in flight 7.9 of 8",
            "  errors  conflicts 12, refused 0, in doubt 1 (3 in the last slice)   declined 1.0 %, retries 40",
            "  budget  █████████████████▓▓▓▓▓▓▓▓▒▒▒  █ statements 61 %  ▓ commit 30 %  ▒ pool wait 9 %",
            "  cores   generator 1.80, server 0.90 of 4 (68 %)",
        ];
        assert_eq!(lines, expected);
    }

    #[test]
    fn how_far_a_trial_of_several_is_is_left_to_their_announcement() {
        let view = render(&testing::snapshot(), &VecDeque::new(), false, 100, false);
        let head = view.lines().next().unwrap();
        assert!(head.ends_with("] measured") && !head.contains('%') && !head.contains("left"), "{head}");
    }

    #[test]
    fn no_line_is_wider_than_the_terminal_with_or_without_colour() {
        let rates = (0..48).map(f64::from).collect();
        for width in [40, 60, 80, 200] {
            for colour in [false, true] {
                let view = render(&testing::snapshot(), &rates, true, width, colour);
                let widest = view.lines().map(columns).max().unwrap();
                assert!(widest <= width, "{widest} of {width}: {view}");
                assert_eq!(view.contains('\x1b'), colour, "{view:?}");
            }
        }
    }

    #[test]
    fn a_name_from_a_file_cannot_move_the_cursor() {
        let hostile = Snapshot { what: "a\x07\r\nb\x1b[2J".into(), ..testing::snapshot() };
        let view = render(&hostile, &VecDeque::new(), true, 80, false);
        assert_eq!(view.lines().count(), 6);
        assert!(!view.contains(['\x07', '\r', '\x1b']), "{view:?}");
    }

    #[test]
    fn the_warm_up_has_a_rate_and_no_budget() {
        let warm = Snapshot { phase: "warm-up", rate_mean: None, budget: Vec::new(), ..testing::snapshot() };
        let view = render(&warm, &VecDeque::from([0.0]), true, 80, false);
        assert!(view.contains("from the window on") && !view.contains("mean"), "{view}");
    }
}
