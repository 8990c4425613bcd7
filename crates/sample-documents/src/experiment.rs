//! A sample experiment: what embedding the database gives, twelve variants in five blocks. Every verdict occurs in it, one
//! variant is invalid and one never started.

use super::checks;
use super::trial::{direct, document, engine_trial, through_http};
use judge::rules;
use measure::{Better, Terms};
use result::{
    Block, BlockTrial, Budget, Comparison, Document, Engine, Experiment, Interval, KeyDifference, Metric,
    Noise, Party, Role, RunKind, Setting, Side, Spent, Tally, Tier, Trial, Variant, VariantState, Verdict,
};

const BLOCKS: usize = 5;
const BASE: usize = 0;
const CONTROL: usize = 1;
const INVALID: usize = 10;
const NOT_STARTED: usize = 11;
/// Variants with a figure that are compared with the base.
const HELD: u32 = (INVALID - CONTROL - 1) as u32;

/// How the machine did in each block; it hits all variants alike.
const BLOCK_PACES: [f64; BLOCKS] = [1.00, 1.03, 0.96, 1.01, 0.99];

/// One variant of the sample: its name, subject, factor, pace next to the base, scatter of a block, and what it changes.
struct Sketch {
    name: &'static str,
    subject: &'static str,
    factor: &'static str,
    pace: f64,
    scatter: f64,
    settings: &'static [(&'static str, &'static str)],
    change: fn(&mut Trial),
}

/// The variants, those without a result last.
#[rustfmt::skip]
fn sketches() -> [Sketch; 12] {
    let sketch = |name, factor, pace, scatter, settings, change| {
        Sketch { name, subject: "tpcc/sqlite/rusqlite", factor, pace, scatter, settings, change }
    };
    [
        sketch("SQLite, WAL", "nothing", 1.0, 0.004, &[], |_| ()),
        sketch("SQLite, WAL, again", "nothing", 1.0, 0.006, &[], |_| ()),
        sketch("rollback journal", "journal", 0.41, 0.01, &[("journal", "delete")], |trial| set(trial, 0, "delete")),
        sketch("synchronous=normal", "durability", 2.31, 0.012, &[("synchronous", "normal")], delayed),
        sketch("cache of 2 MiB", "cache", 0.997, 0.003, &[("cache", "2MiB")], |trial| set(trial, 2, "2097152")),
        sketch("cache of 256 MiB", "cache", 1.03, 0.06, &[("cache", "256MiB")], |trial| set(trial, 2, "268435456")),
        Sketch { subject: "tpcc/sqlite/diesel", ..sketch("Diesel", "adapter", 0.88, 0.008, &[], diesel) },
        Sketch { subject: "tpcc/sqlite/rusqlite/grouped", ..sketch("grouped commits", "style", 3.4, 0.02, &[], grouped) },
        sketch("slow storage, sync takes 2 ms", "storage", 0.16, 0.006, &[("storage", "sync=2ms")], slow),
        Sketch { subject: "tpcc/postgres/axum+tokio-postgres", ..sketch("PostgreSQL through HTTP", "engine and route", 0.62, 0.01, &[("pool", "8")], postgres) },
        Sketch { subject: "tpcc/sqlite/axum+rusqlite", ..sketch("through HTTP, 1 connection", "route and pool", 0.81, 0.01, &[("pool", "1")], |_| ()) },
        Sketch { subject: "tpcc/mariadb/mysql-async", ..sketch("MariaDB", "engine", 1.0, 0.0, &[], |_| ()) },
    ]
}

fn set(trial: &mut Trial, setting: usize, value: &str) {
    trial.stack.settings[setting].value = value.to_owned();
}

fn delayed(trial: &mut Trial) {
    set(trial, 1, "normal");
    trial.stack.durability.tier = Tier::Delayed;
    trial.stack.durability.detail = "journal_mode=wal, synchronous=normal".to_owned();
}

fn diesel(trial: &mut Trial) {
    trial.stack.adapter = "diesel".to_owned();
    trial.stack.adapter_version = "2.3.4".to_owned();
    // A second factor that no one meant.
    set(trial, 3, "200 pages");
}

fn grouped(trial: &mut Trial) {
    trial.stack.style = "grouped".to_owned();
    for work in trial.kinds.iter_mut().filter_map(|kind| kind.tally.work.as_mut()) {
        work.commits = 0.21;
    }
}

/// Makes commits take most of the time.
fn slow(trial: &mut Trial) {
    trial.stack.settings.push(Setting { name: "storage_sync_us".to_owned(), value: "2000".to_owned() });
    let slower = |tally: &mut Tally| {
        tally.budget = tally.budget.map(|budget| {
            let commit_ns = (budget.response_ns * 0.14).max(budget.commit_ns);
            let pool_wait_ns = budget.pool_wait_ns * 0.97 - commit_ns;
            Budget { commit_ns, pool_wait_ns: pool_wait_ns.max(0.0), ..budget }.balanced()
        });
    };
    trial.kinds.iter_mut().map(|kind| &mut kind.tally).chain([&mut trial.overall]).for_each(slower);
}

fn postgres(trial: &mut Trial) {
    let sample = engine_trial().trials.remove(0);
    trial.stack.engine = sample.stack.engine;
    trial.stack.engine_version = sample.stack.engine_version;
    trial.stack.adapter = "tokio-postgres".to_owned();
    trial.stack.adapter_version = "0.7.15".to_owned();
    trial.stack.isolation = "read committed".to_owned();
    trial.stack.durability.detail = "fsync=on, synchronous_commit=on".to_owned();
    trial.engine = sample.engine;
    add_engine_process(trial);
}

/// An engine with a process of its own, behind a server that is no more than one.
pub(super) fn add_engine_process(trial: &mut Trial) {
    let mut engine = trial.processes[1].clone();
    trial.processes[1].roles = vec![Role::Server];
    engine.roles = vec![Role::Engine];
    engine.name = "postgres".to_owned();
    engine.pid += 1;
    trial.processes.push(engine);
}

/// What a run keeps of a trial of many: no time lines.
pub(super) fn without_time_lines(mut trial: Trial) -> Trial {
    trial.slices.clear();
    trial.processes.iter_mut().for_each(|process| process.samples.clear());
    if let Some(engine) = &mut trial.engine {
        let waits = engine.waits.drain(..).map(|wait| result::Wait { sessions: Vec::new(), ..wait });
        let waits = waits.collect();
        *engine = Engine { t_s: Vec::new(), gauges: Vec::new(), waits, ..engine.clone() };
    }
    trial
}

fn trial_of(sketch: &Sketch, block: usize, index: usize) -> Trial {
    // Scatter without chance: ±1 by block and variant.
    let wobble = [0.9, -0.6, 0.3, -1.0, 0.4][(block + index * 2) % BLOCKS];
    let pace = sketch.pace * BLOCK_PACES[block] * (1.0 + sketch.scatter * wobble);
    let is_http = sketch.subject.contains("axum");
    let mut trial = if is_http { through_http(pace, 30) } else { direct(pace, 30) };
    sketch.subject.clone_into(&mut trial.subject);
    // As the adapter names it.
    trial.stack.settings[2].name = "cache_bytes".to_owned();
    trial.plan.seed += block as u64;
    (sketch.change)(&mut trial);
    without_time_lines(trial)
}

/// The sample; 55 trials.
pub fn experiment() -> Document {
    let sketches = sketches();
    let mut variants: Vec<Variant> = sketches.iter().enumerate().map(variant).collect();
    let (mut trials, mut blocks) = (Vec::new(), Vec::new());
    for block in 0..BLOCKS {
        // Another order in every block.
        let order: Vec<usize> =
            (0..NOT_STARTED).map(|i| (i * (block + 2) + block * 3) % NOT_STARTED).collect();
        for index in &order {
            variants[*index].trials[block] = Some(trials.len());
            let mut trial = trial_of(&sketches[*index], block, *index);
            if *index == INVALID && block >= 3 {
                checks::fail(&mut trial.audits);
            }
            trials.push(trial);
        }
        blocks.push(order);
    }
    let noise = compared(&trials, &variants, BASE, CONTROL, 1);
    let noise = Noise { subject: variants[BASE].subject.clone(), blocks: BLOCKS as u32, ratio: noise.0 };
    let comparisons: Vec<Comparison> = (CONTROL + 1..variants.len())
        .map(|index| comparison(&sketches[index], &trials, &variants, index, &noise))
        .collect();
    let mut document = document("experiment", RunKind::Experiment, trials);
    document.command = ["stackmark", "experiment", "experiments/embedded.toml"].map(str::to_owned).to_vec();
    document.subjects = Vec::new();
    for variant in &variants {
        if !document.subjects.contains(&variant.subject) {
            document.subjects.push(variant.subject.clone());
        }
    }
    document.experiment = Some(Experiment {
        name: "embedded".to_owned(),
        question: Some("What does it give to have the database inside of the process?".to_owned()),
        metric: Metric {
            name: "throughput".to_owned(),
            unit: "new orders/min".to_owned(),
            higher_is_better: true,
        },
        further_metrics: Vec::new(),
        variants,
        blocks,
        blocks_planned: BLOCKS as u32,
        comparisons,
        spent: Spent { total_s: 2_712.0, load_s: 41.0, restore_s: 88.0, measured_s: 2_200.0, check_s: 214.0 },
    });
    document
}

fn variant((index, sketch): (usize, &Sketch)) -> Variant {
    let (state, reason) = match index {
        INVALID => (VariantState::Invalid, Some("the audit warehouse-ytd failed in 2 of 5 trials")),
        NOT_STARTED => (VariantState::NotStarted, Some("no MariaDB server was found on this machine")),
        _ => (VariantState::Measured, None),
    };
    let setting = |(name, value): &(&str, &str)| Setting { name: (*name).into(), value: (*value).into() };
    Variant {
        name: sketch.name.to_owned(),
        subject: sketch.subject.to_owned(),
        settings: sketch.settings.iter().map(setting).collect(),
        base: (index != BASE).then_some(BASE),
        control: index == CONTROL,
        stored: false,
        state,
        reason: reason.map(str::to_owned),
        trials: vec![None; BLOCKS],
    }
}

fn rates(trials: &[Trial], variant: &Variant) -> Vec<f64> {
    variant.trials.iter().flatten().map(|trial| trials[*trial].headline.value.value).collect()
}

/// The ratio of two variants with its interval, the smallest effect that could be found, and the verdict.
fn compared(
    trials: &[Trial],
    variants: &[Variant],
    base: usize,
    index: usize,
    comparisons: u32,
) -> (Interval, Option<f64>, measure::Verdict) {
    let (a, b) = (rates(trials, &variants[base]), rates(trials, &variants[index]));
    let ratios: Vec<f64> = a.iter().zip(&b).map(|(a, b)| b / a).collect();
    let terms = Terms { better: Better::Higher, margin: 0.02, comparisons };
    let found = measure::compare(&ratios, &terms);
    let (low, high) = found.interval.map_or((None, None), |(low, high)| (Some(low), Some(high)));
    let minimum_detectable_effect = measure::minimum_detectable_effect(&ratios, comparisons);
    (Interval { value: found.effect, low, high }, minimum_detectable_effect, found.verdict)
}

fn comparison(
    sketch: &Sketch,
    trials: &[Trial],
    variants: &[Variant],
    index: usize,
    noise: &Noise,
) -> Comparison {
    let (base, variant) = (&variants[BASE], &variants[index]);
    let side = |variant: &Variant| -> Vec<&Trial> {
        variant.trials.iter().flatten().map(|trial| &trials[*trial]).collect()
    };
    let intended = rules::intended_by_all(sketch.factor.split(" and "));
    let found = rules::comparable(&side(base), &side(variant), &intended);
    let is_measured = variant.state == VariantState::Measured;
    let (ratio, minimum_detectable_effect, verdict) = compared(trials, variants, BASE, index, HELD);
    let (words, verdict) = match verdict {
        _ if !is_measured => ("has no ratio".to_owned(), Verdict::Inconclusive),
        _ if found.different_work => ("differs in more than the factor".to_owned(), Verdict::NotComparable),
        measure::Verdict::Better => (String::new(), Verdict::Better),
        measure::Verdict::Worse => (String::new(), Verdict::Worse),
        measure::Verdict::NoDifference { beyond } => {
            (format!("makes no difference beyond ±{:.1} %", beyond * 100.0), Verdict::NoDifference)
        }
        measure::Verdict::Inconclusive => ("is too noisy to tell".to_owned(), Verdict::Inconclusive),
    };
    let party = |variant: &Variant| Party { subject: variant.subject.clone(), label: variant.name.clone() };
    let mut comparison = Comparison {
        factor: sketch.factor.to_owned(),
        factors: sketch.factor.split(" and ").map(str::to_owned).collect(),
        a: party(base),
        b: party(variant),
        metric: "new orders/min".to_owned(),
        higher_is_better: true,
        key_differences: found.key.into_iter().collect::<Vec<KeyDifference>>(),
        fingerprint_differences: found.fingerprint,
        blocks: if is_measured { blocks_of(trials, base, variant) } else { Vec::new() },
        ratio: is_measured.then_some(ratio),
        rate_given: false,
        round_groups: None,
        adjusted: None,
        minimum_detectable_effect: if is_measured { minimum_detectable_effect } else { None },
        adjusted_for: is_measured.then_some(HELD),
        noise: Some(noise.clone()),
        loss_max: None,
        verdict,
        sentence: format!("{} {words}.", sketch.name),
    };
    if let (true, Some(effect)) = (words.is_empty(), comparison.effect()) {
        comparison.sentence = format!("{}.", result::text::capital(&effect));
    }
    comparison
}

fn blocks_of(trials: &[Trial], base: &Variant, variant: &Variant) -> Vec<Block> {
    let block = |(a, b): (&Option<usize>, &Option<usize>)| {
        let entry = |index: usize, side| BlockTrial {
            order: index as u32,
            side,
            subject: trials[index].subject.clone(),
            rate: trials[index].headline.value.value,
            trial: index,
        };
        let (a, b) = (entry((*a)?, Side::A), entry((*b)?, Side::B));
        let ratio = Some(b.rate / a.rate);
        let trials = if a.order < b.order { vec![a, b] } else { vec![b, a] };
        Some(Block { trials, ratio })
    };
    base.trials.iter().zip(&variant.trials).filter_map(block).collect()
}
