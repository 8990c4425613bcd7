//! `stackmark compare`, `stackmark quickstart` and `stackmark experiment`: what is to be compared, as a plan that the runner
//! of experiments carries out; and two stored results compared with each other.

use crate::against::StoredBase;
use crate::args::{self, Limited};
use crate::confirm;
use crate::data::Data;
use crate::outcome::{CommandOutcome, RunTerms, is_audited};
use crate::run::{broker_for, can_be_limited, check_message_options, plan, server_settings, warmup_max};
use crate::settings::{self, Choice};
use crate::ui::Ui;
use anyhow::{Result, bail};
use deploy::subjects::{self, Route, Subject};
use deploy::{BrokerSpec, RelayOptions, Spec};
use drive::Arrivals;
use model::{HttpOptions, Nanos, Tier};
use result::{Block, BlockTrial, Comparison, Interval, Party, RunKind, Side, State, Verdict};
use schedule::plan::{self as planned, Criterion, Experiment, Variant};
use schedule::{Interleaved, factors};
use std::path::Path;
use targets::Driven;
use workload::CLIENTS;
use workload_tpcc::Tpcc;

/// Blocks of `--quick`: the fewest that give an interval.
const BLOCKS_QUICK: u32 = 3;
/// The measured time of a side in each block, where sides make calls in turn.
const TURNS_MEASURED: Nanos = Nanos::from_secs(12);
/// Calls in a block that have a p99, with some to spare: 1,000 are enough.
const CALLS_FOR_P99: f64 = 1_200.0;
/// The longest that `--precision` goes on for without `--time`.
const PRECISION_TIME: Nanos = Nanos::from_secs(20 * 60);
/// Differences within this share do not matter by default.
pub(crate) const MARGIN: f64 = 0.02;

pub(crate) fn quickstart(args: &args::Quickstart, ui: &Ui) -> Result<CommandOutcome> {
    let plan_args = args::PlanArgs {
        clients: Some(args.clients),
        duration: Some(args.duration),
        calls: None,
        warmup: args.warmup,
        warmup_max: None,
        through_checkpoints: false,
        rate: None,
        stages: None,
        arrivals: args::ArrivalsArg::Poisson,
        think: args::ThinkArg(None),
        mix: args::MixArgs::default(),
        delivery: args::DeliveryArg::Inline,
        deadline: std::time::Duration::from_secs(30),
        drain: std::time::Duration::from_secs(30),
        settle: std::time::Duration::from_secs(60),
        generator_threads: 1,
        seed: 1,
    };
    let sides = Sides {
        a: subjects::find("tpcc/sqlite/rusqlite")?,
        b: subjects::find("tpcc/sqlite/axum+rusqlite")?,
        scale: args.scale,
        data: Data::<Tpcc>::of(&args::DataArgs::default(), &[])?,
        plan: plan::<Tpcc>(&plan_args, args.scale)?,
        through_checkpoints: false,
        server: args::ServerArgs::default(),
        engine: args::EngineArgs::default(),
        choice: Choice::default(),
        broker: None,
    };
    let mut experiment = sides.experiment();
    experiment.blocks = args.blocks;
    experiment.control = false;
    experiment.alternate()?;
    experiment
        .notes
        .push("Noise floor unknown: quickstart runs no A/A control; `stackmark compare` does.".into());
    ui.remark(
        "Stackmark: TPC-C on SQLite, direct driver vs HTTP server. The same transactions and \
         data; every commit flushed; both sides in turn; all calls audited.",
    );
    let schedule = Interleaved::of::<Tpcc>(experiment, RunKind::Comparison)?;
    ui.finish(trial::begin::<Tpcc, _>(schedule, &args.out.out, ui)?, RunTerms::default())
}

pub(crate) fn compare<W: Driven>(
    a: &'static Subject,
    b: &'static Subject,
    args: &args::Compare,
    base: Option<StoredBase>,
    ui: &Ui,
) -> Result<CommandOutcome> {
    let data = Data::<W>::of(&args.data, &[a, b])?;
    let scale = data.scale(&args.data, &[a, b], args.plan.clients.unwrap_or(CLIENTS), ui)?;
    let plan = plan::<W>(&args.plan, scale)?;
    let (server, engine) = (args.server.clone(), args.engine.clone());
    let through_checkpoints = args.plan.through_checkpoints;
    let alone = args.sides.len() == 1 && args.source.is_empty() && !args.confirm_bottleneck;
    let names = |versions: &[Option<&str>]| settings::version_names(a.how.dialect, versions);
    settings::check(&engine, &[a.how.dialect, b.how.dialect], &data.named)?;
    let (choice, varied) = match settings::of_sides(&engine.setting, &engine.engine_bin, alone, &names)? {
        settings::Sides::Same(choice) => (choice, Vec::new()),
        settings::Sides::Varied(_) if !data.named.is_empty() => bail!(
            "settings can be compared on private engines only: Stackmark does not change your server\nhint: leave --db out"
        ),
        settings::Sides::Varied(varied) => (Choice::default(), varied),
    };
    let mut sides =
        Sides { a, b, scale, data, plan, through_checkpoints, server, engine, choice, broker: None };
    sides.check_options()?;
    for side in [a, b] {
        sides.broker = sides.broker.or(broker_for(side, &sides.server, &sides.engine, &sides.data.stores)?);
    }
    let mut experiment = sides.experiment();
    if !varied.is_empty() {
        sides.vary(&mut experiment, &varied);
    }
    args.factor.iter().try_for_each(|factor| factors::check(factor))?;
    if let Some(base) = &base {
        base.put_into::<W>(&mut experiment)?;
    }
    let (first, others) = experiment.variants.split_first_mut().expect("there are two variants");
    for other in others.iter_mut().filter(|_| !args.factor.is_empty()) {
        if other.factors.is_empty() {
            other.factors = factors::between(first, other);
        }
        other.factors.extend(args.factor.iter().cloned());
    }
    experiment.blocks = args.blocks;
    let criterion = |metric: &String| Criterion {
        metric: metric.clone(),
        margin: args.max_loss.unwrap_or(MARGIN),
        max_loss: args.max_loss,
    };
    let metrics = match (args.metric.is_empty(), sides.plan.arrivals) {
        (false, _) => args.metric.clone(),
        (true, _) if args.confirm_bottleneck => vec!["throughput".into()],
        // At a rate that both sides keep, throughput is the same.
        (true, Arrivals::Constant(_) | Arrivals::Poisson(_)) => vec!["p99".into(), "cpu".into()],
        (true, _) => vec!["throughput".into()],
    };
    experiment.criteria = metrics.iter().map(criterion).collect();
    experiment.accept_inconclusive = args.accept_inconclusive;
    experiment.require_audit = args.checks.require_audit;
    // A subject against itself is a control already.
    experiment.control = !args.no_control && (a.path != b.path || !varied.is_empty());
    if args.quick && base.is_none() {
        make_quick(&mut experiment);
    }
    if args.confirm_bottleneck {
        planned::go_through_checkpoints(&mut experiment.variants)?;
        return confirm::begin::<W>(experiment, &args.out.out, ui);
    }
    if let Some(base) = base {
        planned::go_through_checkpoints(&mut experiment.variants)?;
        let schedule = Interleaved::of::<W>(experiment, RunKind::Comparison)?;
        let schedule = schedule.with_stored_base(base.trials);
        let terms = RunTerms::of(&schedule);
        return ui.finish(trial::begin::<W, _>(schedule, &args.out.out, ui)?, terms);
    }
    if !args.trials {
        experiment.alternate()?;
        let in_turn = experiment.variants.iter().all(|variant| variant.plan.rounds.is_some());
        if args.plan.duration.is_none() && in_turn {
            let measured = turns_measured(&sides.plan);
            experiment.variants.iter_mut().for_each(|variant| variant.plan.measured = measured);
            experiment.alternate()?;
        }
    }
    experiment.precision = args.precision;
    if args.time.is_some() && args.precision.is_none() && args.plan.duration.is_some() {
        bail!(
            "--time decides how long each side is measured\nhint: leave --duration out, or give --precision"
        );
    }
    if args.precision.is_some() || args.time.is_some() {
        experiment.fit(args.time.map_or(PRECISION_TIME, Nanos::from))?;
    }
    planned::go_through_checkpoints(&mut experiment.variants)?;
    let schedule = Interleaved::of::<W>(experiment, RunKind::Comparison)?;
    let terms = RunTerms::of(&schedule);
    ui.finish(trial::begin::<W, _>(schedule, &args.out.out, ui)?, terms)
}

/// What a file asks for, as the command line wants it instead.
pub(crate) fn adjusted(mut experiment: Experiment, args: &args::Experiment) -> Result<Experiment> {
    if args.quick {
        make_quick(&mut experiment);
    }
    experiment.blocks = args.blocks.unwrap_or(experiment.blocks);
    experiment.control &= !args.no_control;
    for criterion in &mut experiment.criteria {
        criterion.max_loss = args.max_loss.or(criterion.max_loss);
    }
    experiment.accept_inconclusive = args.accept_inconclusive;
    for variant in &mut experiment.variants {
        variant.plan.measured = args.duration.map_or(variant.plan.measured, Nanos::from);
        let warmup = args.warmup.map_or(variant.plan.warmup, Nanos::from);
        if args.warmup.is_some() || args.warmup_max.is_some() {
            let through = variant.through_checkpoints;
            variant.plan.warmup_max = warmup_max(warmup.into(), args.warmup_max, through)?;
        }
        variant.plan.warmup = warmup;
    }
    planned::go_through_checkpoints(&mut experiment.variants)?;
    if !args.trials {
        experiment.alternate()?;
    }
    Ok(experiment)
}

/// How long sides that take turns are measured in each block: at a low rate until there are enough calls for a p99.
fn turns_measured(plan: &drive::Plan) -> Nanos {
    let for_p99_s = plan.arrivals.rate().map_or(0.0, |rate| CALLS_FOR_P99 / rate.0);
    Nanos((for_p99_s * 1e9) as u64).max(TURNS_MEASURED).min(plan.measured.max(TURNS_MEASURED))
}

fn make_quick(experiment: &mut Experiment) {
    let planned = experiment.blocks;
    experiment.blocks = BLOCKS_QUICK;
    experiment.notes.push(format!(
        "--quick ran {BLOCKS_QUICK} blocks instead of {planned}: the interval is about twice as wide, and smaller \
         differences cannot be resolved."
    ));
}

/// Two subjects under one plan.
struct Sides<W: Driven> {
    a: &'static Subject,
    b: &'static Subject,
    scale: u32,
    /// Databases that the user named are of the engine of one or of both.
    data: Data<W>,
    plan: drive::Plan,
    through_checkpoints: bool,
    server: args::ServerArgs,
    engine: args::EngineArgs,
    /// Of private engines.
    choice: Choice,
    /// Of the sides that publish to one.
    broker: Option<BrokerSpec>,
}

impl<W: Driven> Sides<W> {
    /// Fails where something was asked for that neither side could have.
    fn check_options(&self) -> Result<()> {
        let specs = [self.spec(self.a), self.spec(self.b)];
        for (spec, side) in specs.iter().zip([self.a, self.b]) {
            spec.suits::<W>(side.how)?;
        }
        let private = |spec: &&Spec| spec.named.is_empty();
        if self.engine.durability.tier() != Tier::Durable && specs.iter().all(|spec| !private(&spec)) {
            bail!(
                "--durability is for private engines; what the database of --db flushes is its own setting\nhint: leave \
                 --db out, or change the setting there"
            );
        }
        if self.engine.limits_of(Limited::Engine).is_some() && specs.iter().all(|spec| spec.limits.is_none())
        {
            bail!(
                "--limit engine:… is for a private engine; there is none here\nhint: SQLite runs inside the generator or \
                 the server, and Stackmark does not limit your server"
            );
        }
        let sides = [self.a, self.b];
        let served: Vec<_> = sides.iter().filter(|side| side.route() == Route::Http).collect();
        for side in if served.is_empty() { sides.iter().collect() } else { served } {
            side.check_http(self.server.http())?;
        }
        check_message_options(&self.server, &self.engine, &self.data.stores, &sides, false)?;
        can_be_limited(&self.engine, &sides, false, self.data.stores.shards)
    }

    fn spec(&self, subject: &Subject) -> Spec {
        let broker = self.broker.clone().filter(|_| subject.publishes());
        let mut spec = Spec { broker, ..self.data.spec(subject.how.dialect, &self.engine) };
        self.choice.clone().put_into(&mut spec);
        spec
    }

    fn variant(&self, subject: &Subject, name: String, base: Option<usize>) -> Variant {
        let server = server_settings(&self.server, &self.engine, self.plan.workers);
        let limits = server.limits.filter(|_| subject.route() == Route::Http);
        Variant {
            name,
            subject: subject.path.into(),
            base,
            factors: Vec::new(),
            plan: self.plan.clone(),
            pool: server.pool,
            server_threads: server.threads,
            // A direct side has no server to reach.
            http: if subject.route() == Route::Http { server.http } else { HttpOptions::default() },
            server_limits: limits.map(|limits| limits.to_string()),
            // A side without a relay has nothing to set up.
            relaying: match subject.how.style.is_relayed_over(self.data.stores.shards as usize)
                || subject.publishes()
            {
                // A relay within a server has its limits.
                true => RelayOptions {
                    limits: server
                        .relaying
                        .limits
                        .filter(|_| subject.has_relay(self.data.stores.shards as usize)),
                    ..server.relaying
                },
                false => RelayOptions::default(),
            },
            spec: self.spec(subject),
            through_checkpoints: self.through_checkpoints,
            whole: false,
            asked: Vec::new(),
        }
    }

    /// Makes of an experiment one of a single subject on engines that differ in settings or version.
    fn vary(&self, experiment: &mut Experiment, varied: &[(String, Choice)]) {
        let variant = |(at, (name, choice)): (usize, &(String, Choice))| {
            let mut variant = self.variant(self.a, name.clone(), (at > 0).then_some(0));
            choice.clone().put_into(&mut variant.spec);
            variant
        };
        let versions = varied.iter().any(|(_, choice)| choice.programs != varied[0].1.programs);
        experiment.name = format!("{}-{}", self.a.path, if versions { "versions" } else { "settings" });
        experiment.variants = varied.iter().enumerate().map(variant).collect();
    }

    /// The plan of five blocks with a control, to be changed as the user wishes.
    fn experiment(&self) -> Experiment {
        let (a, b) = (self.a, self.b);
        let label = b.label_beside(a);
        let label = if a.path == b.path { format!("{label}, again") } else { label };
        Experiment {
            name: format!("{}-vs-{}", a.path, b.path),
            question: None,
            workload: a.workload().into(),
            scale: self.scale,
            blocks: 5,
            control: true,
            criteria: vec![Criterion { metric: "throughput".into(), margin: MARGIN, max_loss: None }],
            accept_inconclusive: false,
            require_audit: false,
            seed: self.plan.seed,
            variants: vec![self.variant(a, a.label_beside(b), None), self.variant(b, label, Some(0))],
            notes: Vec::new(),
            suspicion: None,
            precision: None,
            time: None,
        }
    }
}

/// Two stored results: one trial each, so there is a difference and no interval.
pub(crate) fn stored(a: &Path, b: &Path, args: &args::Compare, ui: &Ui) -> Result<CommandOutcome> {
    let only = |path: &Path| -> Result<result::Trial> {
        let document = result::read(path)?;
        match <[result::Trial; 1]>::try_from(document.trials) {
            Ok([trial]) if document.experiment.is_none() => Ok(trial),
            Err(trials) if trials.is_empty() => {
                bail!("{} has no trial: its run is {}", path.display(), document.state.word())
            }
            _ => bail!("{} is a comparison; give results of single trials", path.display()),
        }
    };
    let (trial_a, trial_b) = (only(a)?, only(b)?);
    let [name_a, name_b] = names(a, b);
    let label =
        |trial: &result::Trial, name: &str| Party { subject: trial.subject.clone(), label: name.to_owned() };
    args.factor.iter().try_for_each(|factor| factors::check(factor))?;
    let factors: Vec<String> =
        std::iter::once("route".to_owned()).chain(args.factor.iter().cloned()).collect();
    let intended = judge::rules::intended_by_all(factors.iter().map(String::as_str));
    let comparability = judge::rules::comparable(&[&trial_a], &[&trial_b], &intended);
    let rates = (trial_a.headline.value.value, trial_b.headline.value.value);
    let invalid = [(a, &trial_a), (b, &trial_b)].into_iter().find_map(|(path, trial)| why_out(path, trial));
    let is_invalid = invalid.is_some();
    let audited = !args.checks.require_audit || is_audited(&[trial_a.clone(), trial_b.clone()], ui);
    let comparison = Comparison {
        factor: "stored results".into(),
        factors,
        a: label(&trial_a, &name_a),
        b: label(&trial_b, &name_b),
        metric: trial_a.headline.unit.clone(),
        higher_is_better: true,
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
            ratio: (!is_invalid).then(|| rates.1 / rates.0),
        }],
        rate_given: false,
        round_groups: None,
        adjusted: None,
        ratio: (!is_invalid).then(|| Interval { value: rates.1 / rates.0, low: None, high: None }),
        minimum_detectable_effect: None,
        adjusted_for: None,
        noise: None,
        loss_max: args.max_loss,
        verdict: comparability.verdict(Verdict::Inconclusive),
        sentence: invalid.unwrap_or_else(|| {
            let ratio = judge::figures::percent(rates.1 / rates.0);
            let is_same_work = !comparability.different_work && trial_a.headline.unit == trial_b.headline.unit;
            let ratio = match is_same_work {
                true => format!("{name_b} has {ratio} of the {} of {name_a}. ", trial_a.headline.unit),
                false => String::new(),
            };
            format!(
                "{ratio}Two trials measured at different times give no confidence interval; compare the subjects to get one."
            )
        }),
    };
    let started = trial_b.started.clone();
    let mut document = trial::document("stored".into(), started, RunKind::Comparison, &[]);
    document.subjects = vec![trial_a.subject.clone(), trial_b.subject.clone()];
    document.trials = vec![trial_a, trial_b];
    document.state = State::Complete;
    let answer = if is_invalid || !audited {
        CommandOutcome::Bad
    } else {
        CommandOutcome::of([&comparison], args.accept_inconclusive)
    };
    document.experiment = Some(comparison.of_pair(&document.trials));
    if ui.json {
        ui.data(&result::to_json(&document));
    } else {
        ui.data(&report::text::render(&document, ui.style()));
    }
    Ok(answer)
}

/// What two stored results are called: the last part of their paths in which they differ, the file itself left out.
fn names(a: &Path, b: &Path) -> [String; 2] {
    let parts = |path: &Path| -> Vec<String> {
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let parts = path.components().map(|part| part.as_os_str().to_string_lossy().into_owned());
        let mut parts: Vec<String> = parts.collect();
        if parts.len() > 1 && parts.last().is_some_and(|last| last == "result.json") {
            parts.pop();
        }
        parts
    };
    let (a, b) = (parts(a), parts(b));
    let differing = a.iter().rev().zip(b.iter().rev()).find(|(a, b)| a != b);
    match differing.or(a.last().zip(b.last())) {
        Some((a, b)) if a == b => [a.clone(), format!("{b}, again")],
        Some((a, b)) => [a.clone(), b.clone()],
        None => ["A".to_owned(), "B".to_owned()],
    }
}

/// Why a stored result has no rate that may be compared, if so.
fn why_out(path: &Path, trial: &result::Trial) -> Option<String> {
    let why = match trial.why_invalid() {
        Some(why) => why,
        None if trial.state != State::Complete => format!("its trial is {}", trial.state.word()),
        None if trial.headline.value.value > 0.0 => return None,
        None => "nothing that the headline counts was committed".into(),
    };
    Some(format!("No ratio: {} is invalid ({}).", path.display(), why.trim_end_matches('.')))
}
