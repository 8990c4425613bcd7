//! `stackmark compare` and `stackmark quickstart`: interleaved trials of two subjects, and what they say about each other.

use crate::args;
use crate::case::{Case, of_workload};
use crate::database::{Database, parse_url, scale_of};
use crate::folder::{self, Folder};
use crate::interrupt::Interrupt;
use crate::process::ServerSettings;
use crate::run::{plan, publish, server_settings};
use crate::stage::Stage;
use crate::subjects::{self, Subject};
use crate::trial::{Before, Job, is_bad};
use crate::ui::{self, Ui, capital};
use crate::{Answer, vouch};
use anyhow::{Result, bail};
use measure::{Better, Monotonic, Terms};
use model::Clock;
use model::random::Random;
use report::document::{
    self, Block, BlockTrial, Check, Comparison, Document, Interval, Noise, Party, RunKind, Side, State,
    Verdict,
};
use std::path::Path;
use workload_tpcc::Tpcc;

/// Blocks of `--quick`: the fewest that give an interval.
const BLOCKS_QUICK: u32 = 3;
/// Differences within this share do not matter unless the user says otherwise.
const MARGIN: f64 = 0.02;
/// Path of the random stream that orders the trials of a block.
const ORDER: u64 = 200;

pub(crate) fn quickstart(args: &args::Quickstart, ui: &Ui) -> Result<Answer> {
    let plan_args = args::PlanArgs {
        clients: Some(args.clients),
        duration: args.duration,
        warmup: args.warmup,
        rate: None,
        arrivals: args::ArrivalsArg::Poisson,
        think: args::Think::None,
        delivery: args::DeliveryArg::Inline,
        deadline: std::time::Duration::from_secs(30),
        drain: std::time::Duration::from_secs(30),
        generator_threads: 1,
        seed: 1,
    };
    let server = args::ServerArgs { pool: None, server_threads: None };
    let order = Order {
        a: subjects::find("tpcc/sqlite/rusqlite")?,
        b: subjects::find("tpcc/sqlite/axum+rusqlite")?,
        blocks: args.blocks,
        max_loss: None,
        plan: plan::<Tpcc>(&plan_args, args.scale)?,
        server: server_settings(&server, &args::EngineArgs::default(), args.clients),
        engine: args::EngineArgs::default(),
        notes: Vec::new(),
    };
    ui.say(
        "Stackmark: TPC-C on SQLite, straight through the driver and through an HTTP server. The same transactions, data \
         and random stream; every commit flushed; trials interleaved; every trial audited.",
    );
    interleave::<Tpcc>(&order, None, args.scale, &args.out.out, ui)
}

pub(crate) fn compare(args: &args::Compare, ui: &Ui) -> Result<Answer> {
    let [a, b] = args.sides.as_slice() else { bail!("compare takes two subjects, or two stored results") };
    if Path::new(a).exists() || Path::new(b).exists() {
        return stored(Path::new(a), Path::new(b), args.max_loss, ui);
    }
    let (a, b) = (subjects::find(a)?, subjects::find(b)?);
    if a.workload() != b.workload() {
        bail!("{} and {} are different workloads: their rates cannot be compared", a.path, b.path);
    }
    if a.how.dialect != b.how.dialect {
        bail!("{} and {} run on different engines, which `compare` cannot do yet", a.path, b.path);
    }
    of_workload!(a.workload(), W => compare_subjects::<W>(a, b, args, ui))
}

fn compare_subjects<W: Case>(
    a: &'static Subject,
    b: &'static Subject,
    args: &args::Compare,
    ui: &Ui,
) -> Result<Answer> {
    let asked = args.data.db.as_deref().map(|url| parse_url(url, Some(a.how.dialect))).transpose()?;
    let scale = args.data.scale.map(scale_of::<W>).transpose()?;
    let existing = asked.map(|url| Database::<W>::existing(url, scale.map(u64::from))).transpose()?;
    let within = existing.as_ref().map_or(scale.unwrap_or(1), Database::scale);
    let plan = plan::<W>(&args.plan, within)?;
    let mut notes = Vec::new();
    if args.quick {
        notes.push(format!(
            "--quick ran {BLOCKS_QUICK} blocks instead of 5: the interval is about twice as wide, and smaller \
             differences cannot be told."
        ));
    }
    let server = server_settings(&args.server, &args.engine, plan.workers);
    let blocks = if args.quick { BLOCKS_QUICK } else { args.blocks };
    let engine = args.engine.clone();
    let order = Order { a, b, blocks, max_loss: args.max_loss, plan, server, engine, notes };
    interleave(&order, existing, within, &args.out.out, ui)
}

/// What to compare, and how.
struct Order {
    a: &'static Subject,
    b: &'static Subject,
    blocks: u32,
    max_loss: Option<f64>,
    plan: drive::Plan,
    server: ServerSettings,
    engine: args::EngineArgs,
    notes: Vec<String>,
}

fn interleave<W: Case>(
    order: &Order,
    existing: Option<Database<W>>,
    scale: u32,
    out: &Path,
    ui: &Ui,
) -> Result<Answer> {
    let interrupt = Interrupt::listen()?;
    let (folder, started, id) = Folder::create(out, &format!("{}-vs-{}", order.a.path, order.b.path))?;
    let named = existing.as_ref().map(|database| database.url.clone());
    let stage = Stage::create(folder.path(), order.a.how.dialect, named, &order.engine, ui)?;
    // An existing database is never written to: every trial runs on a copy.
    let template = match existing {
        Some(database) => database,
        None => stage.load::<W>(scale, ui, &interrupt)?,
    };
    let mut subjects = vec![order.a.path, order.b.path];
    subjects.dedup();
    let mut document = folder::document(id, started, RunKind::Comparison, &subjects);
    document.notes.clone_from(&order.notes);
    document.notes.extend(stage.notes());
    let before = Befores::find(order, &template, &stage, &folder, ui, &interrupt)?;

    let mut comparison = blank::<W>(order);
    let total = order.blocks * 2;
    let clock = Monotonic::start();
    for block in 0..order.blocks {
        let mut trials = Vec::new();
        for side in sides_of(block, order.plan.seed) {
            let done = block * 2 + trials.len() as u32;
            let subject = if side == Side::A { order.a } else { order.b };
            let left = match done {
                0 => String::new(),
                done => {
                    let each = clock.now().as_secs_f64() / f64::from(done);
                    format!(", {} left", ui::seconds(each * f64::from(total - done)))
                }
            };
            ui.say(&format!("trial {} of {total}: {}{left}", done + 1, subject.path));
            let database = stage.copy(&template, "trial")?;
            let label = label_of(order, side);
            let job = Job {
                subject,
                database: &database,
                stage: &stage,
                // The same calls on both sides, other ones in every block.
                plan: drive::Plan { seed: order.plan.seed + u64::from(block), ..order.plan.clone() },
                server: order.server.clone(),
                url: None,
                audited: true,
                folder: &folder,
                what: &label,
                ui,
                interrupt: &interrupt,
            };
            let index = job.run(before.of(side), &mut document)?;
            trials.push(BlockTrial {
                order: done,
                side,
                subject: subject.path.into(),
                rate: document.trials[index].headline.value.value,
                trial: index,
            });
            if document.trials[index].state != State::Complete {
                break;
            }
        }
        let ratio = ratio_of(&trials, &document);
        comparison.blocks.push(Block { trials, ratio });
        folder.put_document(&document)?;
        if document.trials.last().is_some_and(|trial| trial.state != State::Complete) {
            break;
        }
    }
    conclude(&mut comparison, &document);
    document.state = document
        .trials
        .iter()
        .map(|trial| trial.state)
        .find(|state| *state != State::Complete)
        .unwrap_or(State::Complete);
    let bad = document.trials.iter().any(is_bad) || comparison.loses_too_much();
    document.comparison = Some(comparison);
    publish(&folder, &document, ui)?;
    if document.state == State::Interrupted && order.max_loss.is_some() {
        bail!("interrupted before --max-loss could be judged");
    }
    Ok(if bad { Answer::Bad } else { Answer::Good })
}

/// What was found once, before the first block.
struct Befores {
    a: document::Conformance,
    b: document::Conformance,
    audits: Vec<document::Audit>,
}

impl Befores {
    fn find<W: Case>(
        order: &Order,
        template: &Database<W>,
        stage: &Stage,
        folder: &Folder,
        ui: &Ui,
        interrupt: &Interrupt,
    ) -> Result<Befores> {
        let conforms = |subject| vouch::conformance::<W>(subject, &order.server, stage, folder, ui);
        let befores = Befores {
            a: conforms(order.a)?,
            b: conforms(order.b)?,
            audits: vouch::before(template, interrupt)?,
        };
        for (subject, conformance) in [(order.a, &befores.a), (order.b, &befores.b)] {
            if conformance.check == Check::Failed {
                let mismatch = conformance.mismatches.first().map_or("", String::as_str);
                bail!("{} answers wrongly, so it is not measured: {mismatch}", subject.path);
            }
        }
        if let Some(audit) = befores.audits.iter().find(|audit| audit.check == Check::Failed) {
            bail!("the data is wrong before the first trial: {}", audit.sentence);
        }
        Ok(befores)
    }

    fn of(&self, side: Side) -> Before {
        let conformance = if side == Side::A { &self.a } else { &self.b };
        Before { conformance: conformance.clone(), audits: self.audits.clone() }
    }
}

/// A B or B A: by a coin for the first of two blocks, and the other way round for the second, so that neither side is
/// always the one that comes first.
fn sides_of(block: u32, seed: u64) -> [Side; 2] {
    let coin = Random::stream(seed, &[ORDER, u64::from(block / 2)]).chance(1, 2);
    if coin == block.is_multiple_of(2) { [Side::A, Side::B] } else { [Side::B, Side::A] }
}

/// B through A. A trial that is void has no rate.
fn ratio_of(trials: &[BlockTrial], document: &Document) -> Option<f64> {
    let rate = |side| {
        let trial = trials.iter().find(|trial| trial.side == side)?;
        let valid = !is_bad(&document.trials[trial.trial]) && trial.rate > 0.0;
        valid.then_some(trial.rate)
    };
    Some(rate(Side::B)? / rate(Side::A)?)
}

fn label_of(order: &Order, side: Side) -> String {
    match side {
        Side::A => order.a.label_beside(order.b),
        Side::B if order.a.path == order.b.path => format!("{}, again", order.b.label_beside(order.a)),
        Side::B => order.b.label_beside(order.a),
    }
}

fn blank<W: Case>(order: &Order) -> Comparison {
    let party =
        |subject: &Subject, side| Party { subject: subject.path.into(), label: label_of(order, side) };
    Comparison {
        factor: order.a.factor_beside(order.b).into(),
        a: party(order.a, Side::A),
        b: party(order.b, Side::B),
        metric: W::RATE_UNIT.into(),
        key_differences: Vec::new(),
        fingerprint_differences: Vec::new(),
        blocks: Vec::new(),
        ratio: None,
        detectable: None,
        noise: None,
        loss_max: order.max_loss,
        verdict: Verdict::CannotTell,
        sentence: String::new(),
    }
}

/// Draws the conclusion from the blocks.
fn conclude(comparison: &mut Comparison, document: &Document) {
    let of = |side: Side| -> Vec<&document::Trial> {
        let trials = comparison.blocks.iter().flat_map(|block| &block.trials);
        trials.filter(|trial| trial.side == side).map(|trial| &document.trials[trial.trial]).collect()
    };
    let (a, b) = (of(Side::A), of(Side::B));
    if a.is_empty() || b.is_empty() {
        comparison.sentence = "Not both sides were measured.".into();
        return;
    }
    let comparability = report::rules::comparable(&a, &b, report::rules::intended_by(&comparison.factor));
    comparison.key_differences = comparability.key.clone();
    comparison.fingerprint_differences = comparability.fingerprint.clone();
    let ratios: Vec<f64> = comparison.blocks.iter().filter_map(|block| block.ratio).collect();
    let void = comparison.blocks.len() - ratios.len();
    if ratios.is_empty() {
        comparison.sentence = "No block has two valid trials, so no ratio is given.".into();
        return;
    }
    let terms = Terms {
        better: Better::Higher,
        margin: comparison.loss_max.unwrap_or(MARGIN),
        noise_floor: 0.0,
        seed: 1,
    };
    let found = measure::compare(&ratios, &terms);
    comparison.ratio = Some(Interval {
        value: found.effect,
        low: found.interval.map(|(low, _)| low),
        high: found.interval.map(|(_, high)| high),
    });
    comparison.detectable = found.detectable;
    // A subject against itself is a control: what it shows is the noise floor of this machine.
    comparison.noise = (comparison.a.subject == comparison.b.subject).then(|| Noise {
        subject: comparison.a.subject.clone(),
        blocks: ratios.len() as u32,
        ratio: comparison.ratio.expect("set just above"),
    });
    comparison.verdict = comparability.verdict(match found.verdict {
        measure::Verdict::Better => Verdict::Better,
        measure::Verdict::Worse => Verdict::Worse,
        measure::Verdict::NoDifference { .. } => Verdict::NoDifference,
        measure::Verdict::CannotTell => Verdict::CannotTell,
    });
    comparison.sentence = sentence(comparison, &found, void);
}

fn sentence(comparison: &Comparison, found: &measure::Comparison, void: usize) -> String {
    let what = match (comparison.verdict, found.verdict) {
        (Verdict::DifferentWork, _) => {
            "They did not do the same work, or more than the factor under study differs: see the differences."
                .into()
        }
        (_, measure::Verdict::NoDifference { beyond }) => {
            format!("No difference beyond ±{:.1} %.", beyond * 100.0)
        }
        (Verdict::CannotTell, _) if found.interval.is_none() => {
            format!("Too few blocks for an interval: it takes {} or more.", measure::BLOCKS_MIN)
        }
        (Verdict::CannotTell, _) => "The trials are too few or too noisy to tell.".into(),
        (verdict, _) => format!("{} is {} in throughput.", capital(&comparison.b.label), verdict.words()),
    };
    let void = match void {
        0 => String::new(),
        void => format!(" {void} blocks are left out because a trial of theirs is void."),
    };
    format!("{what}{void}")
}

/// Two stored results: one trial each, so there is a difference and no interval.
fn stored(a: &Path, b: &Path, max_loss: Option<f64>, ui: &Ui) -> Result<Answer> {
    let only = |path: &Path| -> Result<document::Trial> {
        let document = document::read(path)?;
        match <[document::Trial; 1]>::try_from(document.trials) {
            Ok([trial]) if document.comparison.is_none() => Ok(trial),
            _ => bail!("{} is a comparison; give results of single trials", path.display()),
        }
    };
    let (trial_a, trial_b) = (only(a)?, only(b)?);
    let label = |trial: &document::Trial, path: &Path| Party {
        subject: trial.subject.clone(),
        label: path.display().to_string(),
    };
    let comparability =
        report::rules::comparable(&[&trial_a], &[&trial_b], report::rules::intended_by("route"));
    let rates = (trial_a.headline.value.value, trial_b.headline.value.value);
    let void = is_bad(&trial_a) || is_bad(&trial_b) || rates.0 <= 0.0;
    let comparison = Comparison {
        factor: "stored results".into(),
        a: label(&trial_a, a),
        b: label(&trial_b, b),
        metric: trial_a.headline.unit.clone(),
        key_differences: comparability.key.clone(),
        fingerprint_differences: comparability.fingerprint.clone(),
        blocks: vec![Block {
            trials: vec![
                BlockTrial {
                    order: 0,
                    side: Side::A,
                    subject: trial_a.subject.clone(),
                    rate: rates.0,
                    trial: 0,
                },
                BlockTrial {
                    order: 1,
                    side: Side::B,
                    subject: trial_b.subject.clone(),
                    rate: rates.1,
                    trial: 1,
                },
            ],
            ratio: (!void).then(|| rates.1 / rates.0),
        }],
        ratio: (!void).then(|| Interval { value: rates.1 / rates.0, low: None, high: None }),
        detectable: None,
        noise: None,
        loss_max: max_loss,
        verdict: Verdict::CannotTell,
        sentence: if void {
            "One of the two results is void, so no ratio is given.".into()
        } else {
            "Two trials measured at different times say nothing about how sure the difference is; compare the subjects \
             to get an interval."
                .into()
        },
    };
    let started = trial_b.started.clone();
    let mut document = folder::document("stored".into(), started, RunKind::Comparison, &[]);
    document.subjects = vec![trial_a.subject.clone(), trial_b.subject.clone()];
    document.trials = vec![trial_a, trial_b];
    document.state = State::Complete;
    let bad = void || comparison.loses_too_much();
    document.comparison = Some(comparison);
    if ui.json {
        ui.data(&document::to_json(&document));
    } else {
        ui.data(&report::text::render(&document, ui.colour()));
    }
    Ok(if bad { Answer::Bad } else { Answer::Good })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_side_always_comes_first_and_nobody_knows_which_does() {
        let first = |block, seed| sides_of(block, seed)[0];
        for seed in 0..20 {
            let a_first = (0..10).filter(|block| first(*block, seed) == Side::A).count();
            assert_eq!(a_first, 5, "seed {seed}");
        }
        let openings = (0..200).filter(|seed| first(0, *seed) == Side::A).count();
        assert!((70..130).contains(&openings), "{openings} of 200 runs begin with A");
    }
}
