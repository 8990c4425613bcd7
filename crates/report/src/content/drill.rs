//! The report of a drill: whether it is passed, what each fault did, and what became of calls in doubt.

use super::{columns, state_words};
use crate::block::{Badge, Block, Headline, Level, Table, Tone};
use judge::figures;
use judge::findings::Failure;
use model::store_name;
use result::{Document, Drill, DrillFault, Share, State};
use std::collections::BTreeMap;

pub(super) fn drill<'a>(document: &'a Document, drill: &'a Drill) -> Vec<Block<'a>> {
    let title = format!("{} under faults", document.subjects.join(" and "));
    let mut blocks = vec![
        Block::Title { title, lead: circumstances(drill) + &state_words(document) },
        Block::Alarm("Data was lost, or something was done twice or not at all", failures(drill)),
        Block::Gap,
        Block::Headline(headline(document, drill)),
        Block::Gap,
        by_fault(drill).into(),
        Block::Gap,
    ];
    blocks.extend(without_answer(drill).into_iter().flat_map(|table| [table.into(), Block::Gap]));
    blocks.extend(doubts(drill).map(|words| Block::fact("calls in doubt", words)));
    blocks.push(Block::fact("calls", calls(drill)));
    blocks.push(Block::chart(|markup| crate::html::drill::render(markup, drill)));
    blocks.push(Block::section("Each fault", vec![each(drill).into()]).at(Level::Full));
    blocks.push(Block::section("Each call in doubt", vec![each_doubt(drill).into()]).at(Level::Page));
    blocks
}

fn circumstances(drill: &Drill) -> String {
    let unit = &drill.scale_unit;
    let mix = Share::words(&drill.mix).map_or_else(String::new, |mix| format!(", {mix}"));
    let stores = if drill.shards == 1 { String::new() } else { format!(" over {} stores", drill.shards) };
    format!(
        "{} calls/s by {}{mix}, {} {unit}{stores}, seed {}",
        figures::trimmed(drill.rate_per_s, 1),
        figures::counted(drill.clients.into(), "client"),
        figures::count(drill.scale),
        drill.seed
    )
}

fn headline(document: &Document, drill: &Drill) -> Headline {
    let came = drill.faults.len() as u64;
    let failed = drill.faults.iter().filter(|fault| !fault.is_passed()).count() as u64;
    let badge = match (failed, drill.is_passed()) {
        (1.., _) => Badge::new(Tone::Bad, "failed"),
        (0, true) => Badge::new(Tone::Good, "passed"),
        (0, false) => Badge::new(Tone::Plain, "not finished"),
    };
    let found = match failed {
        _ if came == 0 => "no fault came to its end".to_owned(),
        0 => format!("{}: nothing was lost, and nothing was done twice", figures::counted(came, "fault")),
        failed => format!(
            "{} of {} left wrong data, or could not be checked",
            figures::count(failed),
            figures::counted(came, "fault")
        ),
    };
    let of = if came < u64::from(drill.planned) && document.state != State::Running {
        format!("; {} were asked for", figures::count(drill.planned.into()))
    } else {
        String::new()
    };
    Headline {
        invalid: failed > 0,
        badges: vec![badge],
        words: vec![format!("{found}{of}.")],
        ..Headline::default()
    }
}

fn failures(drill: &Drill) -> Vec<Failure> {
    let faults = drill.faults.iter().enumerate();
    let failed = faults.filter(|(_, fault)| !fault.is_passed()).map(|(at, fault)| Failure {
        what: format!("fault {}, {}", at + 1, name(fault)),
        sentence: fault.failures[0].clone(),
        evidence: fault.failures[1..].to_vec(),
    });
    failed.collect()
}

fn name(fault: &DrillFault) -> String {
    format!("{} {}", fault.component, fault.action.word())
}

/// Faults of one component and action, by their names in their order.
fn alike(drill: &Drill) -> BTreeMap<String, Vec<&DrillFault>> {
    let mut alike: BTreeMap<String, Vec<&DrillFault>> = BTreeMap::new();
    for fault in &drill.faults {
        alike.entry(name(fault)).or_default().push(fault);
    }
    alike
}

fn by_fault(drill: &Drill) -> Table {
    let titles = [
        "fault",
        "times",
        "passed",
        "unavailable",
        "committed again after",
        "longest call",
        "in doubt",
        "refused",
    ];
    let rows = alike(drill).into_iter().map(|(name, faults)| {
        let passed = faults.iter().filter(|fault| fault.is_passed()).count();
        let in_doubt: u64 = faults.iter().map(|fault| fault.calls.in_doubt).sum();
        let refused: u64 = faults.iter().map(|fault| fault.refused_after).sum();
        [
            name,
            figures::count(faults.len() as u64),
            figures::count(passed as u64),
            spread(faults.iter().map(|fault| Some(fault.unavailable_s))),
            spread(faults.iter().map(|fault| fault.first_commit_s)),
            spread(faults.iter().map(|fault| Some(fault.longest_s))),
            figures::count(in_doubt),
            figures::count(refused),
        ]
    });
    let caption = "Times are the median and the longest; those of commits are from the fault to the first call that began after it";
    Table::new(caption, columns(titles, 1..)).of(rows.collect::<Vec<_>>())
}

/// How long which calls had no answer: a column for each kind of call in each store. Nothing where there is one column, which says no more
/// than the time until a commit.
fn without_answer(drill: &Drill) -> Option<Table> {
    let mut kinds: Vec<(&str, Option<u32>)> = Vec::new();
    for found in drill.faults.iter().flat_map(|fault| &fault.without_answer) {
        let of = (found.kind.as_str(), found.store);
        if !kinds.contains(&of) {
            kinds.push(of);
        }
    }
    if kinds.len() < 2 {
        return None;
    }
    let named = |(kind, store): &(&str, Option<u32>)| match store {
        Some(store) => format!("{kind}, {}", store_name(*store as usize)),
        None => (*kind).to_owned(),
    };
    let titles: Vec<String> = std::iter::once("fault".to_owned()).chain(kinds.iter().map(named)).collect();
    let rows = alike(drill).into_iter().map(|(name, faults)| {
        let longest = |of: &(&str, Option<u32>)| {
            spread(faults.iter().map(|fault| {
                let mut all = fault.without_answer.iter();
                let found = all.find(|found| (found.kind.as_str(), found.store) == *of);
                found.map(|found| found.longest_s)
            }))
        };
        std::iter::once(name.clone()).chain(kinds.iter().map(longest)).collect::<Vec<_>>()
    });
    let caption = "Longest time without an answered call of a kind, from the fault to the end of the load: median and longest";
    Some(Table::new(caption, columns(titles.iter().map(String::as_str), 1..)).of(rows.collect::<Vec<_>>()))
}

/// The median and the longest of several times, in seconds.
fn spread(times: impl Iterator<Item = Option<f64>>) -> String {
    let mut times: Vec<f64> = times.flatten().collect();
    times.sort_by(f64::total_cmp);
    match times[..] {
        [] => figures::or_none(None::<f64>, figures::seconds),
        [only] => figures::seconds(only),
        [.., longest] => {
            format!("{}, {}", figures::seconds(times[times.len() / 2]), figures::seconds(longest))
        }
    }
}

fn each(drill: &Drill) -> Table {
    let titles = [
        "fault",
        "after",
        "unavailable",
        "back in",
        "committed again after",
        "longest call",
        "calls",
        "in doubt",
        "refused",
        "left",
        "writes lost",
        "duplicates",
        "missing",
        "settled in",
        "checks",
        "passed",
    ];
    let rows = drill.faults.iter().enumerate().map(|(at, fault)| {
        let time = |s: Option<f64>| figures::or_none(s, figures::seconds);
        [
            format!("{}: {}", at + 1, name(fault)),
            figures::seconds(fault.after_s),
            figures::seconds(fault.unavailable_s),
            figures::seconds(fault.recovery_s),
            time(fault.first_commit_s),
            figures::seconds(fault.longest_s),
            figures::count(fault.calls.started),
            figures::count(fault.calls.in_doubt),
            figures::count(fault.refused_after),
            figures::or_none(fault.left, figures::count),
            figures::or_none(fault.lost_writes, figures::count),
            figures::or_none(fault.duplicates, figures::count),
            missing(fault),
            time(fault.settled_s),
            figures::count(fault.checks_passed),
            if fault.is_passed() { "yes".to_owned() } else { "no".to_owned() },
        ]
    });
    let caption = "`left` had not come to its end when the component was back; `checks` are those of the stored data that passed";
    Table::new(caption, columns(titles, 1..)).of(rows.collect::<Vec<_>>()).folded("Each fault as a table")
}

/// What acknowledged calls imply and is not stored: `12 rows of history`.
fn missing(fault: &DrillFault) -> String {
    let words: Vec<String> = fault
        .missing
        .iter()
        .map(|missing| format!("{} {}", figures::count(missing.amount), missing.unit))
        .collect();
    if words.is_empty() { figures::or_none(None::<u64>, figures::count) } else { words.join(", ") }
}

fn calls(drill: &Drill) -> String {
    let calls = drill.calls();
    let defects = match calls.defects {
        0 => String::new(),
        defects => format!(", {} with an unexpected error", figures::count(defects)),
    };
    format!(
        "{} sent, {} committed, {} declined, {} refused, {} in conflict, {} in doubt{defects}",
        figures::count(calls.started),
        figures::count(calls.committed),
        figures::count(calls.declined),
        figures::count(calls.refused),
        figures::count(calls.conflicts),
        figures::count(calls.in_doubt)
    )
}

/// What became of those of which stores can tell.
fn doubts(drill: &Drill) -> Option<String> {
    let mut found: BTreeMap<&str, u64> = BTreeMap::new();
    for doubt in drill.faults.iter().flat_map(|fault| &fault.in_doubt_calls) {
        *found.entry(&doubt.found).or_default() += 1;
    }
    let words: Vec<String> =
        found.iter().map(|(found, calls)| format!("{} {found}", figures::count(*calls))).collect();
    (!words.is_empty()).then(|| format!("of those that leave a row: {}", words.join(", ")))
}

fn each_doubt(drill: &Drill) -> Table {
    let faults = drill.faults.iter().enumerate();
    let rows = faults.flat_map(|(at, fault)| {
        fault.in_doubt_calls.iter().map(move |doubt| {
            [format!("{}: {}", at + 1, name(fault)), doubt.call.clone(), doubt.found.clone()]
        })
    });
    let titles = columns(["fault", "call", "what became of it"], 9..);
    Table::new("Found in the stores after all had settled", titles)
        .of(rows.collect::<Vec<_>>())
        .folded("Each call in doubt")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::Style;
    use result::Shortfall;

    /// The text and the page of the sample with a change.
    fn told(change: impl FnOnce(&mut Drill)) -> (String, String) {
        let mut document = sample_documents::drill();
        change(document.drill.as_mut().expect("the sample is a drill"));
        (crate::text::render(&document, Style::PLAIN), crate::html::render(&document))
    }

    #[test]
    fn a_drill_says_what_was_struck_and_whether_all_is_right() {
        let (text, page) = told(|_| ());
        for words in ["passed", "6 faults: nothing was lost", "server kill", "6 not done", "seed 7"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(page.contains("transfer 4 of worker 1") && !page.contains("Data was lost"));
        let (text, page) = told(|drill| {
            drill.planned = 7;
            drill.faults[1].failures = vec!["none was committed".into()];
            drill.faults[1].missing =
                vec![Shortfall { name: "history".into(), unit: "rows of history".into(), amount: 12 }];
        });
        for words in ["failed", "1 of 6 faults left wrong data", "7 were asked for", "none was committed"] {
            assert!(text.contains(words), "{words}: {text}");
        }
        assert!(page.contains("12 rows of history") && page.contains("Data was lost"));
    }

    #[test]
    fn the_time_line_marks_each_fault() {
        let (_, page) = told(|_| ());
        let figure = |page: &str| -> String {
            let from = page.find("<strong>Time line</strong>").expect("there is a time line");
            page[from..].split("</figure>").next().expect("it ends").to_owned()
        };
        let marks = |figure: &str| figure.matches("fill=\"var(--bad)\"").count();
        // Wide and narrow, each with two shades a fault.
        assert_eq!(marks(&figure(&page)), 2 * 2 * 6);
        assert!(figure(&page).contains("with 6 faults; up to 200 calls/s"), "{}", figure(&page));
        // Of many faults, those with the longest time until a commit.
        let (_, page) = told(|drill| {
            let one = drill.faults[0].clone();
            drill.faults = (0..90).map(|_| one.clone()).collect();
            drill.faults[80].first_commit_s = None;
        });
        let many = figure(&page);
        assert!(many.contains("Of 90 faults, these are the 40 with"), "{many}");
        assert_eq!(marks(&many), 2 * 2 * 40);
        assert!(page.contains("after fault 81, server kill"));
        // No figure where no fault has a time line.
        let (_, page) =
            told(|drill| drill.faults.iter_mut().for_each(|fault| fault.line = Default::default()));
        assert!(!page.contains("<strong>Time line</strong>"));
    }
}
