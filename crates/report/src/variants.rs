//! The variants of an experiment, as every format tells them: what became of each, its values and its effect.

use crate::block::Tone;
use crate::pooled::{self, Pooled};
use judge::findings::{self, Failure};
use judge::{engine_findings, figures, rules};
use measure::{Better, Terms};
use result::{
    Comparison, Document, Experiment, Interval, Level, Metric, RunKind, Tier, Trial, Variant, VariantState,
    Verdict,
};
use std::rc::Rc;

/// From this ratio on, an effect is told as a multiple.
const MULTIPLE_MIN: f64 = 2.0;
/// An interval of this width leaves decimals without a meaning.
const SHORT_FROM: f64 = 0.05;

/// A variant with everything that belongs to it.
pub(crate) struct VariantRow<'a> {
    pub(crate) variant: &'a Variant,
    /// How it is compared with its base; nothing for a base and for a control.
    pub(crate) comparison: Option<&'a Comparison>,
    /// What may be said of it.
    pub(crate) status: RowStatus,
    /// Its effect: the ratio to its base with its interval; nothing for a base and without a result.
    pub(crate) effect: Option<Interval>,
    /// The A/A control of its base, where one ran.
    pub(crate) noise: Option<Interval>,
    /// A value a block in the unit of the metric; empty without a result.
    pub(crate) values: Vec<Option<f64>>,
    /// The geometric mean of them with its interval, as ratios are taken.
    pub(crate) mean: Option<Interval>,
    /// Whether throughput, the metric, was given: see [`Comparison::rate_given`].
    pub(crate) rate_is_given: bool,
    /// Its trials together, invalid ones included.
    pub(crate) pooled: Pooled<'a>,
}

/// What may be said of a variant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RowStatus {
    /// Others are compared with it.
    Base,
    /// Its base once more.
    Control,
    /// Compared with its base.
    Compared(Verdict),
    /// No number of it is shown.
    Invalid,
    NotStarted,
}

impl RowStatus {
    /// The words for reports.
    pub(crate) fn words(self) -> &'static str {
        match self {
            RowStatus::Base => "base",
            RowStatus::Control => "A/A control",
            RowStatus::Compared(verdict) => verdict.words(),
            RowStatus::Invalid => "invalid",
            RowStatus::NotStarted => "not started",
        }
    }

    /// How it is meant.
    pub(crate) fn tone(self) -> Tone {
        match self {
            RowStatus::Compared(verdict) => Tone::Of(verdict),
            RowStatus::NotStarted => Tone::Warn,
            RowStatus::Invalid => Tone::Bad,
            RowStatus::Base | RowStatus::Control => Tone::Plain,
        }
    }

    /// The words with the sign in front of them.
    pub(crate) fn signed(self) -> String {
        let sign = self.tone().sign();
        if sign.is_empty() { self.words().to_owned() } else { format!("{sign}\u{a0}{}", self.words()) }
    }

    /// Whether numbers of it are shown.
    pub(crate) fn is_measured(self) -> bool {
        !matches!(self, RowStatus::Invalid | RowStatus::NotStarted)
    }
}

/// What a difference between a variant and its base means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Difference {
    /// It is what is studied.
    Intended,
    /// Another version of a library, which is shown and no reason against the comparison.
    Library,
    /// More than what is studied.
    Unintended,
}

/// The variants by a metric.
#[derive(Clone)]
pub(crate) struct ByMetric<'a> {
    pub(crate) metric: &'a Metric,
    /// The variants in their order.
    pub(crate) rows: Rc<[VariantRow<'a>]>,
    comparisons: &'a [Comparison],
}

impl<'a> ByMetric<'a> {
    /// The variants without those whose throughput, the metric, was given.
    pub(crate) fn shown(&self) -> impl Iterator<Item = &VariantRow<'a>> + Clone {
        self.rows.iter().filter(|row| !row.rate_is_given)
    }
}

/// The variants by each metric, the headline first.
pub(crate) fn by_metric<'a>(document: &'a Document, experiment: &'a Experiment) -> Vec<ByMetric<'a>> {
    let told = experiment.by_metric().map(|(metric, comparisons)| {
        let mut told = ByMetric { metric, rows: Rc::default(), comparisons };
        let row = |index| row(document, experiment, &told, index);
        let mut rows: Vec<VariantRow<'_>> = (0..experiment.variants.len()).map(row).collect();
        // A base is left out with all that is compared with it.
        let of_base = |base: usize| {
            let others = rows.iter().filter(move |row| row.variant.base == Some(base));
            others.filter_map(|row| row.comparison).collect::<Vec<_>>()
        };
        let given: Vec<bool> = (0..rows.len())
            .map(|at| match rows[at].comparison {
                Some(comparison) => comparison.rate_given,
                None => {
                    let others = of_base(rows[at].variant.base.unwrap_or(at));
                    !others.is_empty() && others.iter().all(|comparison| comparison.rate_given)
                }
            })
            .collect();
        rows.iter_mut().zip(given).for_each(|(row, given)| row.rate_is_given = given);
        told.rows = rows.into();
        told
    });
    told.collect()
}

fn row<'a>(
    document: &'a Document,
    experiment: &'a Experiment,
    by: &ByMetric<'a>,
    index: usize,
) -> VariantRow<'a> {
    let variant = &experiment.variants[index];
    let comparison = comparison_of(experiment, by.comparisons, variant);
    let status = match (variant.state, comparison, variant.base) {
        (VariantState::NotStarted, ..) => RowStatus::NotStarted,
        (VariantState::Invalid, ..) => RowStatus::Invalid,
        (VariantState::Measured, ..) if variant.control => RowStatus::Control,
        (VariantState::Measured, Some(comparison), _) => RowStatus::Compared(comparison.verdict),
        (VariantState::Measured, None, Some(_)) => RowStatus::Compared(Verdict::Inconclusive),
        (VariantState::Measured, None, None) => RowStatus::Base,
    };
    let of_base = by.comparisons.iter().find(|other| {
        let base = variant.base.and_then(|base| experiment.variants.get(base));
        other.noise.is_some() && base.is_some_and(|base| base.name == other.a.label)
    });
    let noise = comparison.or(of_base).and_then(|comparison| Some(comparison.noise.as_ref()?.ratio));
    let effect = match status {
        RowStatus::Compared(_) => comparison.and_then(|comparison| comparison.ratio),
        RowStatus::Control => noise,
        _ => None,
    };
    let values: Vec<Option<f64>> = match status.is_measured() {
        true => variant.trials.iter().map(|trial| value(document, by, (*trial)?)).collect(),
        false => Vec::new(),
    };
    // The trials of its control are a base's own, so that times and costs are means over all of them.
    let again = |other: &&Variant| other.control && other.base == Some(index) && !variant.control;
    let again =
        experiment.variants.iter().filter(again).filter(|other| other.state == VariantState::Measured);
    let all = std::iter::once(variant).chain(again).flat_map(|variant| &variant.trials);
    let trials = all.flatten().filter_map(|trial| document.trials.get(*trial)).collect();
    VariantRow {
        variant,
        comparison,
        status,
        effect,
        noise,
        mean: mean(&values),
        values,
        rate_is_given: false,
        pooled: pooled::of(trials),
    }
}

fn comparison_of<'a>(
    experiment: &Experiment,
    comparisons: &'a [Comparison],
    variant: &Variant,
) -> Option<&'a Comparison> {
    let base = experiment.variants.get(variant.base?)?;
    let is_its = |comparison: &&Comparison| {
        comparison.b.label == variant.name && comparison.a.label == base.name && !variant.control
    };
    comparisons.iter().find(is_its)
}

/// The value of a trial in the unit of the metric: as the comparison has it, or as the trial says.
fn value(document: &Document, by: &ByMetric<'_>, trial: usize) -> Option<f64> {
    let mut entries = by.comparisons.iter().flat_map(|comparison| &comparison.blocks);
    let known = entries.find_map(|block| block.trials.iter().find(|entry| entry.trial == trial));
    known.map(|entry| entry.rate).or_else(|| measured(by.metric, document.trials.get(trial)?))
}

/// The metric of a trial, for those that no comparison names.
fn measured(metric: &Metric, trial: &Trial) -> Option<f64> {
    let (kind, name) = match metric.name.split_once('.') {
        Some((kind, name)) if trial.kinds.iter().any(|known| known.name == kind) => (Some(kind), name),
        _ => (None, metric.name.as_str()),
    };
    let tally = match kind {
        Some(kind) => &trial.kinds.iter().find(|known| known.name == kind)?.tally,
        None => &trial.overall,
    };
    let level = |thousandths| match tally.level(thousandths) {
        Level::Known(ns) => Some(ns as f64 / 1e6),
        Level::Unbounded | Level::TooFew => None,
    };
    match name {
        "throughput" => Some(trial.headline.value.value),
        "p50" => level(500),
        "p90" => level(900),
        "p95" => level(950),
        "p99" => level(990),
        "p99.9" => level(999),
        "cpu" => {
            let cpu_s: f64 = trial.processes.iter().map(|process| process.cpu_s()).sum();
            let committed = trial.committed();
            (committed > 0.0).then(|| cpu_s * 1_000.0 / committed)
        }
        _ => None,
    }
}

/// The geometric mean over blocks with its interval: the same arithmetic as that of ratios.
fn mean(values: &[Option<f64>]) -> Option<Interval> {
    let values: Vec<f64> = values.iter().flatten().copied().filter(|value| *value > 0.0).collect();
    if values.is_empty() {
        return None;
    }
    let terms = Terms { better: Better::Higher, margin: 0.0, comparisons: 1 };
    let found = measure::compare(&values, &terms);
    Some(Interval {
        value: found.effect,
        low: found.interval.map(|(low, _)| low),
        high: found.interval.map(|(_, high)| high),
    })
}

impl VariantRow<'_> {
    /// Its name, with the durability tier where that is not the strongest: a number that a crash may take back is not
    /// read without knowing so.
    pub(crate) fn label(&self) -> String {
        match self.weak_tier() {
            Some(tier) => format!("{} ({})", self.variant.name, tier.word()),
            None => self.variant.name.clone(),
        }
    }

    /// Its durability tier where that is not the strongest.
    pub(crate) fn weak_tier(&self) -> Option<Tier> {
        let tiers = self.pooled.trials.iter().map(|trial| trial.stack.durability.tier);
        tiers.into_iter().find(|tier| *tier != Tier::Durable)
    }

    /// Why it has no result.
    pub(crate) fn reason(&self) -> &str {
        self.variant.reason.as_deref().unwrap_or("no reason was given")
    }

    /// What likely limits its throughput.
    pub(crate) fn limit(&self) -> Option<&'static str> {
        self.pooled.limit().filter(|_| self.status.is_measured())
    }

    /// Where it differs from its base: the field and both values, and what that means.
    pub(crate) fn differences(&self) -> Vec<([String; 3], Difference)> {
        let of = |intended: bool| if intended { Difference::Intended } else { Difference::Unintended };
        let Some(comparison) = self.comparison else { return Vec::new() };
        let keys = comparison.key_differences.iter().map(|difference| {
            let meaning = if difference.library { Difference::Library } else { of(difference.intended) };
            ([difference.field.clone(), difference.a.clone(), difference.b.clone()], meaning)
        });
        let work = comparison.fingerprint_differences.iter().map(|difference| {
            let [a, b] = figures::both(difference);
            ([difference.words(), a, b], of(rules::work_is_intended(comparison, &difference.measure)))
        });
        keys.chain(work).collect()
    }

    /// What failed in its trials, each said once with the number of trials.
    pub(crate) fn failures(&self) -> Vec<Failure> {
        let all = self.pooled.trials.len();
        let failures = self.pooled.trials.iter().flat_map(|trial| findings::failures(trial));
        let found = findings::gathered(failures, |a, b| a.what == b.what);
        let text = |(failure, count): (Failure, usize)| Failure {
            what: format!("{}, {} in {count} of {all} trials", self.variant.name, failure.what),
            ..failure
        };
        found.into_iter().map(text).collect()
    }
}

/// An effect with its interval: `95.8 % (94.9–96.6)`, and from twice as much on `×3.39 (3.36–3.42)`.
pub(crate) fn effect_words(effect: Interval) -> String {
    if effect.value < MULTIPLE_MIN {
        return figures::ratio(effect);
    }
    let number = |value: f64| if value < 9.995 { format!("{value:.2}") } else { format!("{value:.1}") };
    match (effect.low, effect.high) {
        (Some(low), Some(high)) => format!("×{} ({}–{})", number(effect.value), number(low), number(high)),
        _ => format!("×{} (no interval)", number(effect.value)),
    }
}

/// The same in a table of many: without decimals where the interval is wide.
pub(crate) fn effect_short(effect: Interval) -> String {
    match (effect.low, effect.high) {
        (Some(low), Some(high)) if effect.value < MULTIPLE_MIN && high - low >= SHORT_FROM => {
            // What is just beside 100 % or 0 does not become it.
            let number = |ratio: f64| {
                let decimals = usize::from((ratio - 1.0).abs() < 0.005 || ratio < 0.01);
                format!("{:.decimals$}", ratio * 100.0)
            };
            format!("{} % ({}–{})", number(effect.value), number(low), number(high))
        }
        _ => effect_words(effect),
    }
}

/// What the experiment asks, or what it is called; a comparison with its workload and the engines:
/// `tpcc on PostgreSQL: through HTTP vs direct`.
pub(crate) fn title(document: &Document, experiment: &Experiment) -> String {
    let question = experiment.question.as_deref().unwrap_or(&experiment.name);
    let compared = experiment.comparisons.first().map(|of| format!("{} vs {}", of.b.label, of.a.label));
    let engines =
        findings::gathered(document.trials.iter().map(|trial| trial.stack.engine.as_str()), |a, b| a == b);
    match document.trials.first() {
        Some(first) if document.kind == RunKind::Comparison => {
            let engines: Vec<&str> =
                engines.into_iter().map(|(engine, _)| figures::engine_title(engine)).collect();
            let compared = compared.as_deref().unwrap_or(question);
            format!("{} on {}: {compared}", first.data.workload, engines.join(" and "))
        }
        _ => question.to_owned(),
    }
}

/// What all trials have in common, in one line: `tpcc, 1 warehouse, 8 clients, closed loop, 30 s a trial; 5 blocks`.
pub(crate) fn common_line(document: &Document, experiment: &Experiment) -> String {
    let parts: [fn(&Trial) -> String; 7] = [
        |trial| trial.data.workload.clone(),
        |trial| findings::scale_words(&trial.data),
        |trial| format!("{} {}", trial.stack.engine, trial.stack.engine_version),
        |trial| trial.stack.durability.word().to_owned(),
        |trial| figures::counted(trial.plan.clients.into(), "client"),
        |trial| trial.plan.arrivals_words(),
        |trial| format!("{} per trial", findings::measured_words(&trial.plan)),
    ];
    let mut common: Vec<String> = Vec::new();
    for part in parts {
        let mut text = document.trials.iter().map(part);
        if let Some(first) = text.next()
            && text.all(|other| other == first)
        {
            common.push(first);
        }
    }
    let (run, planned) = (experiment.blocks.len(), experiment.blocks_planned);
    let blocks = figures::counted(planned.into(), "block");
    let blocks = if run as u32 == planned { blocks } else { format!("{run} of {blocks}") };
    if common.is_empty() { blocks } else { format!("{}; {blocks}", common.join(", ")) }
}

/// How sure the ratios are: what the blocks could have found, for what the intervals are adjusted, the A/A controls and how the
/// permitted losses were kept. `in_short` gives one range for all A/A controls, of which a table has each.
pub(crate) fn confidence(all: &[ByMetric<'_>], in_short: bool) -> Vec<String> {
    let several = all.len() > 1;
    let of = |by: &ByMetric<'_>| if several { format!(" in {}", by.metric.name) } else { String::new() };
    let found: Vec<String> =
        all.iter().filter_map(|by| Some(format!("{}{}", minimum_detectable_effect(by)?, of(by)))).collect();
    let found = found.join(", ");
    let mut sentences = Vec::new();
    if !found.is_empty() {
        sentences.push(format!("Minimum detectable effect: {found}."));
    }
    let Some((headline, _)) = all.split_first() else { return sentences };
    sentences.extend(adjusted(all));
    let controls = (0..headline.rows.len()).filter(|at| headline.rows[*at].status == RowStatus::Control);
    if controls.clone().next().is_none() {
        sentences.push("No A/A control was run.".to_owned());
    }
    if in_short {
        sentences.extend(range_of_controls(all, &of));
    }
    sentences.extend(controls.filter(|_| !in_short).filter_map(|control| {
        let base = headline.rows[control].variant.base.and_then(|base| headline.rows.get(base))?;
        let ratio = |by: &ByMetric<'_>| Some(figures::ratio(by.rows[control].noise?) + &of(by));
        let ratios: Vec<String> = all.iter().filter_map(ratio).collect();
        let (name, ratios) = (&base.variant.name, ratios.join(", "));
        (!ratios.is_empty()).then(|| {
            format!(
                "A/A control: measuring {name} twice gave {ratios}; the base of a block is the mean of both trials."
            )
        })
    }));
    sentences.extend(all.iter().flat_map(|by| losses(by, &of(by))));
    sentences
}

/// What all A/A controls together gave.
fn range_of_controls(all: &[ByMetric<'_>], of: &dyn Fn(&ByMetric<'_>) -> String) -> Option<String> {
    let range = |by: &ByMetric<'_>| {
        let ratios = by.shown().filter(|row| row.status == RowStatus::Control);
        let ratios = || ratios.clone().filter_map(|row| Some(row.noise?.value));
        let (least, most) = (ratios().min_by(f64::total_cmp)?, ratios().max_by(f64::total_cmp)?);
        let (least, most) = (figures::percent(least), figures::percent(most));
        let range = if least == most { least } else { format!("{least} to {most}") };
        Some(range + &of(by))
    };
    let ranges: Vec<String> = all.iter().filter_map(range).collect();
    let rows = &all.first()?.rows;
    let measured = |status| rows.iter().filter(move |row| row.status == status).count();
    let (controls, bases) = (measured(RowStatus::Control), measured(RowStatus::Base));
    let bases =
        if controls == bases { "each base".to_owned() } else { format!("{controls} of {bases} bases") };
    (!ranges.is_empty()).then(|| {
        let ranges = ranges.join(", ");
        format!("A/A controls: measuring {bases} twice gave {ranges}; both trials count for their base.")
    })
}

/// The smallest effects that could have been found, of the steadiest variant to the least steady.
fn minimum_detectable_effect(by: &ByMetric<'_>) -> Option<String> {
    let found = by.shown().filter_map(|row| row.comparison?.minimum_detectable_effect);
    let (least, most) = found.fold((f64::INFINITY, 0.0_f64), |(least, most), minimum_detectable_effect| {
        (least.min(minimum_detectable_effect), most.max(minimum_detectable_effect))
    });
    // No one looks for an effect of more than the whole: such blocks find none.
    let words = |effect: f64| if effect <= 1.0 { figures::percent(effect) } else { "over 100 %".to_owned() };
    let most_words = words(most);
    let range = || match words(least) {
        least if least == most_words => least,
        least => format!("{least} (the steadiest variant) to {most_words} (the least steady)"),
    };
    (least <= most).then(range)
}

/// For how many comparisons with each base the intervals are widened.
fn adjusted(all: &[ByMetric<'_>]) -> Vec<String> {
    let several = all.len() > 1;
    let rows = all.iter().flat_map(|by| by.rows.iter());
    let found =
        rows.filter_map(|row| Some((row.comparison?.a.label.as_str(), row.comparison?.adjusted_for?)));
    let bases: Vec<(&str, u32)> =
        findings::gathered(found, |a, b| a == b).into_iter().map(|(base, _)| base).collect();
    let compared = all.iter().flat_map(|by| by.shown()).filter_map(|row| row.comparison);
    let number_of_bases = findings::gathered(compared.map(|of| &of.a.label), |a, b| a == b).len();
    let text = findings::gathered(bases, |a, b| a.1 == b.1).into_iter().map(|((base, count), bases)| {
        let what = if several { "comparisons with" } else { "variants compared with" };
        let over = if several { ", in all metrics," } else { "" };
        let base = match bases {
            1 => base.to_owned(),
            all if all == number_of_bases => "each base".to_owned(),
            some => format!("each of {some} bases"),
        };
        format!(
            "The intervals of the {count} {what} {base}{over} are widened so that all of them hold at once with 95 % \
             (Bonferroni)."
        )
    });
    text.collect()
}

/// `of` ends what is said of one metric among several: ` in p99`.
fn losses(by: &ByMetric<'_>, of: &str) -> Vec<String> {
    let text = by.shown().filter_map(|row| {
        let comparison = row.comparison?;
        let (permitted, words) = (figures::percent(comparison.loss_max?), comparison.loss_words()?);
        Some(format!("The permitted loss of {permitted}{of} {words} by {}.", row.variant.name))
    });
    text.collect()
}

/// What the engine's sessions mostly did: `running 52.0 %, Lock:tuple 31.0 %`; nothing where no one looked.
pub(crate) fn waits_words(row: &VariantRow<'_>) -> Option<String> {
    let waits = row.pooled.waits();
    let told: Vec<String> = waits
        .iter()
        .take(3)
        .filter(|(_, share)| *share >= 0.005)
        .map(|(name, share)| match engine_findings::meaning(name) {
            "" => format!("{name} {}", figures::percent(*share)),
            meaning => format!("{name} {} ({meaning})", figures::percent(*share)),
        })
        .collect();
    (!told.is_empty()).then(|| told.join(", "))
}

/// Where the time of the experiment went, in seconds, by name.
pub(crate) fn spent(experiment: &Experiment) -> [(&'static str, f64); 5] {
    let spent = &experiment.spent;
    let known = spent.load_s + spent.restore_s + spent.measured_s + spent.check_s;
    [
        ("warm-up and measuring", spent.measured_s),
        ("loading", spent.load_s),
        ("restoring", spent.restore_s),
        ("audits and conformance", spent.check_s),
        ("starting, stopping, waiting", (spent.total_s - known).max(0.0)),
    ]
}

/// A time of the wall: `45 min 12 s`, `38 s`.
pub(crate) fn wall(s: f64) -> String {
    let whole = s.round().max(0.0) as u64;
    match (whole / 3_600, whole / 60 % 60, whole % 60) {
        (0, 0, _) => figures::seconds(s),
        (0, minutes, seconds) => format!("{minutes}\u{a0}min {seconds}\u{a0}s"),
        (hours, minutes, _) => format!("{hours}\u{a0}h {minutes}\u{a0}min"),
    }
}

/// The time that is neither measuring nor loading, as a share of the whole; nothing where nothing was spent.
pub(crate) fn overhead(experiment: &Experiment) -> Option<f64> {
    let spent = &experiment.spent;
    (spent.total_s > 0.0)
        .then(|| ((spent.total_s - spent.measured_s - spent.load_s) / spent.total_s).max(0.0))
}
