//! Results as comma-separated values (RFC 4180), for spreadsheets and scripts: [`trials`] has a row a trial and kind of call,
//! [`slices`] a row a slice and kind, [`verdicts`] a row a comparison.
//!
//! Numbers are plain, with a point and without units: the unit is in the name of the column. A cell without a number is one
//! that is not known or that too few samples stand behind. Text that a spreadsheet would take for a formula is led by an
//! apostrophe.

use judge::curve;
use judge::figures;
use result::{Class, Comparison, Document, KindTally, Tally, Trial};
use std::fmt::Display;

/// Columns of [`trials`]; `docs/live.md` says what each means.
const TRIAL_COLUMNS: &str = "run,run_kind,run_state,stackmark,trial,subject,variant,block,outcome,started,state,validated,engine,\
    engine_version,durability,clients,arrivals,scale,measured_s,headline_unit,headline,\
    headline_low,headline_high,kind,due,dropped,committed,declined,conflict,refused,\
    in_doubt,defect,retries,rate_per_s,rate_low_per_s,rate_high_per_s,mean_ns,p50_ns,p90_ns,\
    p95_ns,p99_ns,p999_ns,max_ns,statements_per_call";

const VERDICT_COLUMNS: &str = "run,run_kind,run_state,stackmark,experiment,metric,unit,base_subject,base,subject,variant,factor,blocks,\
    ratio,ratio_low,ratio_high,minimum_detectable_effect,adjusted_for,loss_max,verdict,sentence";

const SLICE_COLUMNS: &str =
    "run,trial,subject,t_s,duration_s,warmup,kind,committed,declined,faults,p50_ns,p99_ns";

/// One row per trial and kind of call, and one for all kinds together (`all`). One header, however many documents.
pub fn trials(documents: &[Document]) -> String {
    let mut table = Table::new(TRIAL_COLUMNS);
    for document in documents {
        for (index, trial) in document.trials.iter().enumerate() {
            let place = TrialPosition::of(document, index);
            let mut row = |name: &str, tally: &Tally| {
                about(&mut table, document, trial, index, &place);
                counted(&mut table, name, trial, tally);
                table.end();
            };
            for KindTally { name, tally, .. } in &trial.kinds {
                row(name, tally);
            }
            row("all", &trial.overall);
        }
    }
    table.text
}

/// One row per slice and kind of call. The document of a run of several trials has none of its own: theirs are in the folders of
/// the trials, and whoever calls this has put them in.
pub fn slices(documents: &[Document]) -> String {
    let mut table = Table::new(SLICE_COLUMNS);
    for document in documents {
        for (index, trial) in document.trials.iter().enumerate() {
            for slice in &trial.slices {
                for (kind, of_kind) in trial.kinds.iter().zip(&slice.kinds) {
                    table.text(&document.id).number(index + 1).text(&trial.subject);
                    table
                        .number(slice.t_s)
                        .number(slice.duration_s)
                        .text(yes_no(slice.warmup))
                        .text(&kind.name);
                    table.number(of_kind.committed).number(of_kind.declined).number(of_kind.faults);
                    table.maybe(of_kind.p50_ns).maybe(of_kind.p99_ns);
                    table.end();
                }
            }
        }
    }
    table.text
}

/// A row for each metric and each variant that is compared with a base. A trial on its own, a sweep and a search have none.
pub fn verdicts(documents: &[Document]) -> String {
    let mut table = Table::new(VERDICT_COLUMNS);
    let listed = documents.iter().filter_map(|document| Some((document, document.experiment.as_ref()?)));
    for (document, experiment) in listed {
        for (metric, comparisons) in experiment.by_metric() {
            for comparison in comparisons {
                let Comparison { a, b, ratio, .. } = comparison;
                table
                    .text(&document.id)
                    .text(document.kind.word())
                    .text(document.state.word())
                    .text(&document.stackmark);
                table.text(&experiment.name).text(&metric.name).text(&metric.unit);
                table.text(&a.subject).text(&a.label).text(&b.subject).text(&b.label);
                table.text(&comparison.factor);
                table.number(comparison.blocks.iter().filter(|block| block.ratio.is_some()).count());
                table.maybe(ratio.map(|ratio| ratio.value));
                table.maybe(ratio.and_then(|ratio| ratio.low)).maybe(ratio.and_then(|ratio| ratio.high));
                table
                    .maybe(comparison.minimum_detectable_effect)
                    .maybe(comparison.adjusted_for)
                    .maybe(comparison.loss_max);
                table.text(comparison.verdict.words()).text(&comparison.sentence);
                table.end();
            }
        }
    }
    table.text
}

/// Where a trial belongs in a run of several.
#[derive(Debug, Default)]
struct TrialPosition {
    /// The variant of an experiment, the side of a comparison, the load of a sweep, the rate of a search.
    variant: String,
    /// Counted from 1.
    block: Option<usize>,
    /// What a search found of it: `met`, `missed`.
    outcome: &'static str,
}

impl TrialPosition {
    fn of(document: &Document, trial: usize) -> TrialPosition {
        let found = of_experiment(document, trial)
            .or_else(|| of_curve(document, trial))
            .or_else(|| of_search(document, trial));
        found.unwrap_or_default()
    }

    fn within(variant: String, block: usize) -> TrialPosition {
        TrialPosition { variant, block: Some(block + 1), outcome: "" }
    }
}

fn of_experiment(document: &Document, trial: usize) -> Option<TrialPosition> {
    document.experiment.as_ref()?.variants.iter().find_map(|variant| {
        let block = variant.trials.iter().position(|at| *at == Some(trial))?;
        Some(TrialPosition::within(variant.name.clone(), block))
    })
}

fn of_curve(document: &Document, trial: usize) -> Option<TrialPosition> {
    let found = document.curve.as_ref()?;
    found.points.iter().find_map(|point| {
        let block = point.trials.iter().position(|at| *at == trial)?;
        Some(TrialPosition::within(figures::plain(&curve::load_words(found.axis, point.load)), block))
    })
}

/// A search begins with a closed loop that belongs to no rate.
fn of_search(document: &Document, trial: usize) -> Option<TrialPosition> {
    let steps = &document.search.as_ref()?.steps;
    let Some(step) = steps.iter().find(|step| step.trial == trial) else {
        return Some(TrialPosition { variant: "capacity".to_owned(), ..TrialPosition::default() });
    };
    let variant = format!("{} calls/s", figures::trimmed(step.rate_per_s, 1).replace(',', ""));
    let of_rate = |other: &&result::Step| other.rate_per_s == step.rate_per_s && other.trial <= trial;
    let outcome = if step.met { "met" } else { "missed" };
    Some(TrialPosition { variant, block: Some(steps.iter().filter(of_rate).count()), outcome })
}

fn about(table: &mut Table, document: &Document, trial: &Trial, index: usize, place: &TrialPosition) {
    table
        .text(&document.id)
        .text(document.kind.word())
        .text(document.state.word())
        .text(&document.stackmark)
        .number(index + 1)
        .text(&trial.subject);
    table.text(&place.variant).maybe(place.block).text(place.outcome);
    table.text(&trial.started.utc).text(trial.state.word());
    table.text(yes_no(trial.is_validated()));
    table.text(&trial.stack.engine).text(&trial.stack.engine_version);
    table.text(trial.stack.durability.word()).number(trial.plan.clients).text(&trial.plan.arrivals_words());
    table.number(trial.data.scale).number(trial.measured_s).text(&trial.headline.unit);
    let headline = trial.headline.value;
    table.maybe(known(trial, headline.value)).maybe(headline.low).maybe(headline.high);
}

/// A rate, unless the window had not opened when the document was written.
fn known(trial: &Trial, rate: f64) -> Option<f64> {
    (trial.measured_s > 0.0).then_some(rate)
}

fn counted(table: &mut Table, name: &str, trial: &Trial, tally: &Tally) {
    let call_counts = &tally.call_counts;
    table.text(name);
    for count in [
        call_counts.due,
        call_counts.dropped,
        call_counts.committed,
        call_counts.declined,
        call_counts.conflict,
        call_counts.refused,
        call_counts.in_doubt,
        call_counts.defect,
        call_counts.retries,
    ] {
        table.number(count);
    }
    let rate = tally.rate_per_s;
    table.maybe(known(trial, rate.value)).maybe(rate.low).maybe(rate.high);
    let times = tally.latency(Class::Committed).map(|latency| latency.response);
    table.maybe(times.filter(|times| times.count > 0).map(|times| times.mean_ns));
    let quantiles = times.map_or([None; 6], |times| {
        [times.p50_ns, times.p90_ns, times.p95_ns, times.p99_ns, times.p999_ns, times.slowest_ns()]
    });
    for quantile in quantiles {
        table.maybe(quantile);
    }
    table.maybe(tally.work.map(|work| work.statements));
}

fn yes_no(yes: bool) -> &'static str {
    if yes { "yes" } else { "no" }
}

/// Rows in the making.
pub(crate) struct Table {
    text: String,
    columns: usize,
    cells: usize,
}

impl Table {
    /// With its header, as it stands in the file.
    pub(crate) fn new(header: &str) -> Table {
        Table { text: format!("{header}\r\n"), columns: header.split(',').count(), cells: 0 }
    }

    fn begin(&mut self) {
        if self.cells > 0 {
            self.text.push(',');
        }
        self.cells += 1;
    }

    /// A cell of text.
    pub(crate) fn text(&mut self, text: &str) -> &mut Table {
        self.begin();
        // A spreadsheet runs what begins so; the apostrophe makes it text again.
        let guard = if text.starts_with(['=', '+', '-', '@', '\t', '\r']) { "'" } else { "" };
        if text.contains([',', '"', '\r', '\n']) {
            self.text.push_str(&format!("\"{guard}{}\"", text.replace('"', "\"\"")));
        } else {
            self.text.push_str(guard);
            self.text.push_str(text);
        }
        self
    }

    /// A cell with a number.
    pub(crate) fn number(&mut self, number: impl Display) -> &mut Table {
        self.begin();
        self.text.push_str(&number.to_string());
        self
    }

    /// A cell with a number, or an empty one.
    pub(crate) fn maybe(&mut self, number: Option<impl Display>) -> &mut Table {
        match number {
            Some(number) => self.number(number),
            None => self.text(""),
        }
    }

    /// The row is complete.
    pub(crate) fn end(&mut self) {
        assert_eq!(self.cells, self.columns, "a cell for every column");
        self.cells = 0;
        self.text.push_str("\r\n");
    }

    pub(crate) fn into_text(self) -> String {
        self.text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads RFC 4180 back; every row has as many cells as the header.
    fn parse(text: &str) -> Vec<Vec<String>> {
        let (mut rows, mut row, mut cell) = (Vec::new(), Vec::new(), String::new());
        let mut chars = text.chars().peekable();
        let mut quoted = false;
        while let Some(char) = chars.next() {
            match (char, quoted) {
                ('"', true) if chars.next_if_eq(&'"').is_some() => cell.push('"'),
                ('"', _) => quoted = !quoted,
                (',', false) => row.push(std::mem::take(&mut cell)),
                ('\r', false) => {
                    assert_eq!(chars.next(), Some('\n'), "lines end with CRLF");
                    row.push(std::mem::take(&mut cell));
                    rows.push(std::mem::take(&mut row));
                }
                (char, _) => cell.push(char),
            }
        }
        assert!(row.is_empty() && cell.is_empty() && !quoted, "the last row ends");
        assert!(rows.iter().all(|row| row.len() == rows[0].len()), "{rows:?}");
        rows
    }

    fn cell<'a>(rows: &'a [Vec<String>], row: usize, column: &str) -> &'a str {
        let at = rows[0].iter().position(|name| name == column).expect("a column");
        &rows[row][at]
    }

    #[test]
    fn a_trial_has_a_row_a_kind_and_one_for_all() {
        let document = sample_documents::trial();
        let rows = parse(&trials(std::slice::from_ref(&document)));
        assert_eq!(rows.len(), 1 + 5 + 1);
        assert_eq!(cell(&rows, 1, "kind"), "new-order");
        assert_eq!(cell(&rows, 6, "kind"), "all");
        let committed = document.trials[0].overall.call_counts.committed;
        assert_eq!(cell(&rows, 6, "committed"), committed.to_string());
        assert_eq!(cell(&rows, 1, "validated"), "yes");
        assert!(cell(&rows, 1, "p99_ns").parse::<u64>().is_ok_and(|p99| p99 > 1_000_000));
    }

    #[test]
    fn trials_of_a_comparison_say_their_side_and_block() {
        let rows = parse(&trials(&[sample_documents::comparison(), sample_documents::trial()]));
        let labels: Vec<&str> = (1..rows.len()).map(|row| cell(&rows, row, "variant")).collect();
        assert!(labels.contains(&"direct") && labels.contains(&"through HTTP"), "{labels:?}");
        assert_eq!(labels.last(), Some(&""), "a trial on its own is of no variant");
    }

    #[test]
    fn trials_of_a_sweep_say_their_load_and_block_and_those_of_a_search_their_rate_and_outcome() {
        let rows = parse(&trials(&[sample_documents::sweep()]));
        let of = |rows: &[Vec<String>], trial: usize, column: &str| {
            let at = (1..rows.len()).find(|row| cell(rows, *row, "trial") == trial.to_string()).unwrap();
            cell(rows, at, column).to_owned()
        };
        assert_eq!((of(&rows, 1, "variant"), of(&rows, 1, "block")), ("1 client".into(), "1".into()));
        let last = sample_documents::sweep().trials.len();
        assert_eq!(of(&rows, last, "block"), "3");
        assert!(of(&rows, last, "variant").ends_with(" clients"), "{}", of(&rows, last, "variant"));
        let rows = parse(&trials(&[sample_documents::search()]));
        let message =
            |trial| [of(&rows, trial, "variant"), of(&rows, trial, "block"), of(&rows, trial, "outcome")];
        assert_eq!(message(2), ["1350 calls/s", "1", "missed"]);
        assert_eq!(message(8), ["1220 calls/s", "4", "met"]);
    }

    #[test]
    fn hostile_text_stays_in_its_cell_and_is_no_formula() {
        let mut document = sample_documents::hostile_trial();
        document.id = "=HYPERLINK(\"x\")\r\n,".into();
        let rows = parse(&trials(&[document]));
        assert_eq!(cell(&rows, 1, "run"), "'=HYPERLINK(\"x\")\r\n,");
    }

    #[test]
    fn each_metric_has_a_row_a_variant_with_its_verdict() {
        let rows = parse(&verdicts(&[sample_documents::two_metrics(), sample_documents::trial()]));
        assert_eq!(rows.len(), 1 + 2);
        let message = |row| ["metric", "unit", "variant", "verdict"].map(|column| cell(&rows, row, column));
        assert_eq!(message(1), ["throughput", "new orders/min", "through HTTP", "worse"]);
        assert_eq!(message(2), ["p99", "ms", "through HTTP", "inconclusive"]);
    }

    #[test]
    fn slices_have_a_row_a_kind() {
        let document = sample_documents::trial();
        let expected = document.trials[0].slices.len() * document.trials[0].kinds.len();
        let rows = parse(&slices(&[document]));
        assert_eq!(rows.len(), 1 + expected);
        assert_eq!(cell(&rows, 1, "warmup"), "yes");
    }
}
