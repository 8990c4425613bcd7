//! The processes that made the calls of a trial, where they were several.

use crate::block::{Block, Level, Table, figure, words};
use judge::figures;
use result::{LoadPart, PartState, Trial};

/// A row for each; nothing where the trial is of one process.
pub(super) fn parts(trial: &Trial) -> Option<Block<'_>> {
    let columns = [
        words("part"),
        words("state"),
        words("machine"),
        figure("clients"),
        figure("calls due"),
        figure("committed/s"),
        figure("CPU of the load generator"),
        figure("clock behind the database"),
        figure("opened after the first"),
    ];
    let table = Table::new("Processes that made the calls", columns).of(trial.parts.iter().map(row));
    (!trial.parts.is_empty()).then(|| Block::from(table).at(Level::Full))
}

fn row(part: &LoadPart) -> [String; 9] {
    let state = match part.state {
        PartState::Complete => "complete",
        PartState::Interrupted => "interrupted",
        PartState::Failed => "failed",
        PartState::Unfinished => "no result",
        PartState::Missing => "missing",
        PartState::Foreign => "of another run",
    };
    let counted = part.is_counted();
    let seconds = |s| figures::or_none(s, |s: f64| figures::duration(s * 1e9));
    let offset = part.clock_offset_ms.zip(part.clock_error_ms).map(|(offset_ms, error_ms)| {
        let sign = if offset_ms < 0.0 { "−" } else { "" };
        let offset = figures::duration(offset_ms.abs() * 1e6);
        format!("{sign}{offset} ± {}", figures::duration(error_ms * 1e6))
    });
    [
        part.part.to_string(),
        state.to_owned(),
        part.host.clone().unwrap_or_else(|| figures::NONE.to_owned()),
        figures::or_none(counted.then_some(u64::from(part.clients)), figures::count),
        figures::or_none(counted.then_some(part.due), figures::count),
        figures::or_none(counted.then_some(part.rate_per_s), figures::short),
        seconds(part.generator_cpu_s),
        figures::or_none(offset, |offset| offset),
        seconds(part.opened_s),
    ]
}
