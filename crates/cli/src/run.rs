//! `stackmark run`: one audited trial.

use crate::args::{self, ArrivalsArg, DeliveryArg, EngineArgs, Limited, PlanArgs, ServerArgs, Stores};
use crate::data::Data;
use crate::outcome::{self, CommandOutcome};
use crate::parts;
use crate::serve;
use crate::settings::{self, Choice};
use crate::ui::Ui;
use adapter_http::About;
use anyhow::{Result, bail};
use deploy::Interrupt;
use deploy::Reporter;
use deploy::ServerSettings;
use deploy::SourceSubjects;
use deploy::database::scale_of;
use deploy::in_use;
use deploy::subjects::{self, Route, Subject};
use deploy::{BrokerSpec, Databases, Deployment, SinkKind, Spec};
use drive::{Arrivals, PlanError, RatePerSecond, Stage, Think};
use model::Nanos;
use result::{Audit, Check, Conformance, RunKind};
use schedule::{Gate, pool};
use sql::Dialect;
use std::cell::Cell;
use std::path::Path;
use std::time::Duration;
use targets::Driven;
use trial::Folder;
use trial::{Before, Job, MachineLock, ServerAdmin, SharedPlan, reach};
use workload::{CLIENTS, LOAD_SEED, amount};

/// How many times as long as planned a warm-up gets at most, by default.
const WARMUP_GROWS: u32 = 4;

pub(crate) fn run<W: Driven>(subject: &'static Subject, args: &args::Run, ui: &Ui) -> Result<CommandOutcome> {
    if let Some((file, which)) = args.shared_plan.as_deref().zip(args.part) {
        return parts::part::<W>(subject, args, file, which, ui);
    }
    let interrupt = Interrupt::listen()?;
    let Some(asked) = Asked::<W>::of(subject, args, ui)? else { return Ok(CommandOutcome::Bad) };
    let Asked { gates, data, own, scale, plan, spec, audited, running, locked, in_use } = asked;

    let (folder, started, id) = Folder::create(&args.out.out, subject.path)?;
    locked.works_in(folder.path());
    for in_use in &in_use {
        in_use.works_in(folder.path());
    }
    // A server that is running has its own, and calls on it have none of ours.
    let sessions = if args.url.is_some() {
        0
    } else {
        let relay = args.server.relay_connections.unwrap_or_default();
        subject.sessions(plan.workers, pool(args.server.pool, plan.workers)) + relay
    };
    let deployment =
        Deployment::create(folder.path(), &spec, &data.named, &args.engine.engine_options(), sessions, ui)?;
    let mut document = trial::document(id, started, RunKind::Trial, &[subject.path]);
    let databases = match data.existing {
        Some(databases) => databases,
        None if audited => {
            // A run that is killed while it loads leaves a document that names its subject.
            folder.put_document(&document)?;
            deployment.load::<W>(scale, ui, &interrupt).inspect_err(|_| folder.empty())?
        }
        None => Databases::unseen(scale, &data.chosen, data.stores.shards)?,
    };
    document.notes = deployment.notes();
    let server = server_settings(&args.server, &args.engine, plan.workers);
    let before = Before {
        conformance: match &args.url {
            // What failed before a call was made leaves no folder: the end of its log is in the error.
            None => trial::conformance::<W>(subject, &server, &deployment, &folder, ui, &interrupt)
                .inspect_err(|_| folder.empty())?,
            // The server is someone's and holds data that conformance would wear out.
            Some(_) => running,
        },
        audits: match audited {
            true => trial::before(&databases, ui, &interrupt).inspect_err(|_| folder.empty())?,
            false => Vec::new(),
        },
    };
    let forbidden = trial::forbids::<W>(&before.audits, databases.is_foreign());
    if before.conformance.check == Check::Failed || forbidden.is_some() {
        folder.empty();
        return refuse(&before.conformance, forbidden, databases.is_foreign(), subject);
    }
    let job = Job {
        subject,
        databases: &databases,
        deployment: &deployment,
        plan,
        server,
        url: args.url.as_deref(),
        audited,
        own: own.as_ref(),
        folder: &folder,
        checked_s: Cell::new(0.0),
        what: subject.path,
        reporter: ui,
        interrupt: &interrupt,
        probes_speed: false,
        end_early: None,
        part: None,
    };
    if let Some(path) = &args.write_plan {
        let plan = job.shared_plan(before)?;
        folder.empty();
        return write_plan(path, &plan, &args.out.out, ui);
    }
    let index = match job.run(before, &mut document) {
        Ok(index) => index,
        Err(error) => {
            // What failed before a call was made has no result, not even a partial one.
            if document.trials.last().is_none_or(|trial| trial.slices.is_empty()) {
                folder.empty();
            }
            return Err(error);
        }
    };
    let trial = &mut document.trials[index];
    let answer = outcome::of_trial(trial, &gates, &args.checks, ui);
    let nothing = trial::is_empty(trial);
    document.state = trial.state;
    if nothing {
        // Calls were made, and their audits are worth keeping; a rate of zero would not be one.
        let json = folder.put_document(&document)?;
        bail!("interrupted before anything was measured; what was done until then: {}", json.display());
    }
    let json = folder.put_document(&document)?;
    ui.publish(&folder, &document, &json)?;
    Ok(answer)
}

/// Writes the plan of a run in parts, and says how it is used.
fn write_plan<W: Driven>(path: &Path, plan: &SharedPlan<W>, out: &Path, ui: &Ui) -> Result<CommandOutcome> {
    ui.put(Some(path), &serde_json::to_string_pretty(plan)?)?;
    let (path, id) = (path.display(), &plan.id);
    ui.remark(&format!(
        "{path}: `stackmark run --plan {path} --part 1/N --start-at TIME --db …` makes a part of it\n`stackmark merge {}/{id}-part-* \
         --db …` puts all parts together",
        out.display()
    ));
    Ok(CommandOutcome::Good)
}

/// What a run was asked for. Nothing has been made or started yet, but that a server which loads its own data has done so.
struct Asked<W: Driven> {
    gates: Vec<Gate>,
    data: Data<W>,
    /// The server that loads its own data.
    own: Option<ServerAdmin>,
    scale: u32,
    plan: drive::Plan,
    spec: Spec,
    /// Whether the stored data is seen.
    audited: bool,
    /// What is known of a server that was running.
    running: Conformance,
    locked: MachineLock,
    in_use: Vec<in_use::InUse>,
}

impl<W: Driven> Asked<W> {
    /// Nothing where it cannot be what `--require-audit` asks for, after a remark on that.
    fn of(subject: &'static Subject, args: &args::Run, ui: &Ui) -> Result<Option<Asked<W>>> {
        let kinds: Vec<&str> = W::KINDS.iter().map(|kind| kind.name).collect();
        let gates = Gate::parse_all(&args.slo, &kinds)?;
        let data = Data::<W>::of(&args.data, &[subject])?;
        let own = args.url.as_deref().filter(|_| data.named.is_empty()).and_then(ServerAdmin::of);
        if args.checks.require_audit && args.url.is_some() && data.named.is_empty() && own.is_none() {
            ui.remark(
                "--require-audit cannot be met: the data behind --url is not audited\nhint: give --db with the database behind \
                 the server",
            );
            return Ok(None);
        }
        let in_use = data.named.iter().filter_map(|url| in_use::lock_exclusive(url).transpose());
        let in_use: Vec<in_use::InUse> = in_use.collect::<Result<_>>()?;
        let locked = trial::hold(true)?;
        // A server that loads its own data has what is asked for once it has been asked.
        let wanted = data.asked.map(u64::from).filter(|_| own.is_none());
        if args.url.is_some() && args.server.transport.is_some() {
            bail!(
                "--transport is for a server that is started here; the one behind --url is reached over plain HTTP"
            );
        }
        let remote = args.url.as_deref().map(|url| reach::<W>(url, wanted)).transpose()?;
        let remote = remote.map(|server| server.through(args.server.http())).transpose()?;
        let clients = args.plan.clients.unwrap_or(CLIENTS);
        let scale = match (&data.existing, &remote) {
            _ if own.is_some() => data.splittable(data.asked.unwrap_or(W::SCALE_DEFAULT), subject)?,
            (Some(database), Some(server)) if server.about().scale != u64::from(database.scale()) => {
                bail!(
                    "the server has {} and --db has {}: they are not the same database",
                    amount::<W>(server.about().scale),
                    database.scale()
                )
            }
            (None, Some(server)) => data.splittable(scale_of::<W>(server.about().scale)?, subject)?,
            (Some(_), _) | (None, None) => data.scale(&args.data, &[subject], clients, ui)?,
        };
        let about = remote.as_ref().map(|server| server.about().clone());
        if let Some(about) = &about {
            is_split_alike(about, data.stores.shards)?;
        }
        let plan = plan::<W>(&args.plan, scale)?;
        if args.write_plan.is_some() {
            parts::can_be_shared(subject, &data, &plan, args.url.as_deref())?;
        }
        if let Some(server) = &about {
            server.admits(plan.workers).map_err(anyhow::Error::msg)?;
        }
        let audited = data.existing.is_some() || args.url.is_none();
        // Without sight of the data there is nothing to load, and no engine to start.
        let dialect = if audited { subject.how.dialect } else { Dialect::Sqlite };
        if !audited && !args.engine.setting.is_empty() {
            bail!(
                "--setting cannot be checked: the database behind --url is not known\nhint: give --db with it"
            );
        }
        if args.url.is_some() && !args.engine.engine_bin.is_empty() {
            bail!(
                "--engine-bin is for private engines, and the server at --url has one\nhint: leave --engine-bin out"
            );
        }
        let choice = Choice::single(&args.engine)?;
        settings::check(&args.engine, &[dialect], &data.named)?;
        if let Some(databases) = &data.existing
            && args.url.is_none()
        {
            trial::reachable(subject, databases)?;
        }

        let mut spec = data.spec(dialect, &args.engine);
        choice.put_into(&mut spec);
        subject.check_clients(plan.workers)?;
        if args.url.is_none() {
            subject.check_http(args.server.http())?;
        }
        can_be_limited(&args.engine, &[subject], args.url.is_some(), data.stores.shards)?;
        check_message_options(&args.server, &args.engine, &data.stores, &[subject], args.url.is_some())?;
        spec.broker = broker_for(subject, &args.server, &args.engine, &data.stores)?;
        spec.suits::<W>(subject.how)?;
        if args.plan.through_checkpoints {
            if args.url.is_some() {
                bail!(
                    "--through-checkpoints needs a private PostgreSQL; the engine behind --url is not started here\nhint: leave --url out"
                );
            }
            spec.go_through_checkpoints(plan.measured)?;
        }

        // Last of all: it changes what the server has.
        let mut running = trial::no_conformance("not run: the server was already running");
        if let (Some(own), Some(url)) = (&own, &args.url) {
            running = trial::own_conformance::<W>(own, url, data.stores.shards, ui)?;
            ui.doing("the server loads its data");
            let size = workload::sized::<W>(scale, &data.chosen)?;
            own.load::<W>(&W::over(size, data.stores.shards), LOAD_SEED)?;
        }
        Ok(Some(Asked { gates, data, own, scale, plan, spec, audited, running, locked, in_use }))
    }
}

/// Fails where a server says that its data is split over another number of stores: calls would not stay within one of them.
fn is_split_alike(server: &About, shards: u32) -> Result<()> {
    let stores = server.stack.settings.iter().find(|(name, _)| name == "stores");
    // One that speaks of no stores has one, or does not care to say.
    match stores.and_then(|(_, count)| count.parse::<u32>().ok()) {
        Some(count) if count != shards => bail!(
            "the server's data is split over {count} stores, and this run's over {shards}\nhint: --shards {count}, or --db for \
             each of its stores"
        ),
        // The calls are drawn as for so many stores, whatever is behind the server.
        None if shards > 1 => bail!(
            "the server reports no split data, but --shards is {shards}\nhint: leave \
             --shards out, or have /about name the setting `stores`"
        ),
        _ => Ok(()),
    }
}

/// A subject that fails conformance, or data that is wrong from the start, is not measured.
fn refuse(
    conformance: &Conformance,
    forbidden: Option<&Audit>,
    foreign: bool,
    subject: &Subject,
) -> Result<CommandOutcome> {
    if let Some(mismatch) = conformance.mismatches.first() {
        bail!("{} failed conformance; not measured: {mismatch}", subject.path);
    }
    let hint = if foreign { "reload it with its own tool" } else { "reload with --fresh" };
    match forbidden {
        Some(audit) => bail!(
            "data audit failed before the run ({}: {}; {})\nhint: {hint}",
            audit.full_name(),
            audit.sentence,
            audit.violations.first().map_or("", String::as_str)
        ),
        None => bail!("nothing to measure"),
    }
}

pub(crate) fn subject_of(args: &args::Run) -> Result<&'static Subject> {
    if let Some(plan) = &args.shared_plan {
        return parts::subject_of(plan);
    }
    let wanted = args.subject.as_deref();
    if let Some(server) = &args.source {
        return SourceSubjects::of(server)?.only(wanted);
    }
    let wanted = wanted.unwrap_or_default();
    let subject = subjects::find(wanted)?;
    let named: Vec<&str> = wanted.split('/').collect();
    match (&args.url, subject.route(), named.as_slice()) {
        // An address without more is a wish to go there.
        (Some(_), Route::Direct, [_] | [_, _]) => {
            subjects::served(subject.workload(), subject.how.dialect.name(), None)
        }
        (Some(_), Route::Direct, _) => {
            bail!("--url is for subjects through HTTP; {} is direct", subject.path)
        }
        (Some(_), Route::Http, _) => Ok(subject),
        (None, _, _) => {
            subject.can_start()?;
            Ok(subject)
        }
    }
}

/// Fails where a server or a relay is to be limited that none of the subjects has, or that is not started here since its address
/// is given.
pub(crate) fn can_be_limited(
    engine: &EngineArgs,
    subjects: &[&Subject],
    is_given: bool,
    stores: u32,
) -> Result<()> {
    let have = |has: &dyn Fn(&Subject) -> bool| !is_given && subjects.iter().any(|subject| has(subject));
    let names = || subjects.iter().map(|subject| subject.path).collect::<Vec<_>>().join(" or ");
    if engine.limits_of(Limited::Server).is_some() && !have(&|subject| subject.route() == Route::Http) {
        bail!("--limit server:… is for an HTTP server that is started here; there is none of {}", names());
    }
    if engine.limits_of(Limited::Relay).is_some() && !have(&|subject| subject.has_relay(stores as usize)) {
        bail!(
            "--limit relay:… is for the relay of an outbox, or of a saga over several stores, that is started here; there is none of {}",
            names()
        );
    }
    Ok(())
}

/// Whether a relay publishes from its outbox.
pub(crate) fn has_outbox(subject: &Subject) -> bool {
    subject.how.style.has_outbox()
}

/// Rejects options about messages, their relay and their broker that no subject can use.
pub(crate) fn check_message_options(
    server: &ServerArgs,
    engine: &EngineArgs,
    stores: &Stores,
    subjects: &[&Subject],
    has_url: bool,
) -> Result<()> {
    use OptionScope::{BetweenStores, Broker, Messages, Outbox, Relay};
    let count = stores.shards as usize;
    let of_broker = [
        (Broker, "--db broker=…", stores.broker.is_some()),
        (Broker, "--limit broker:…", engine.limits_of(Limited::Broker).is_some()),
    ];
    let values = message_options(server).into_iter().chain(of_broker);
    let names = || subjects.iter().map(|subject| subject.path).collect::<Vec<_>>().join(" or ");
    for (scope, option, _) in values.filter(|(.., is_given)| *is_given) {
        let has_outbox = subjects.iter().any(|subject| has_outbox(subject));
        let settles = subjects.iter().any(|subject| subject.how.style.is_settled_over(count));
        let publishes = subjects.iter().any(|subject| subject.publishes());
        let publishes_events = subjects.iter().any(|subject| subject.publishes_events());
        match scope {
            Messages if option == CONSUMER && server.sink == Some(SinkKind::Null) => bail!(
                "{CONSUMER} needs messages, and the sink `null` discards them\nhint: --sink file or --sink kafka"
            ),
            _ if has_url => {
                bail!(
                    "{option} needs a server that Stackmark starts, and --url names another\nhint: leave --url out"
                )
            }
            Outbox if !has_outbox => bail!(
                "{option} has no effect on {}: it has no outbox relay\nhint: choose a subject in style `outbox`; `stackmark list booking` \
                 prints them",
                names()
            ),
            Relay if !has_outbox && !settles => bail!(
                "{option} has no effect on {}: it has no relay\nhint: choose a subject in style `outbox`, or `saga` or `log-first` of \
                 transfer over several stores; `stackmark list` prints them",
                names()
            ),
            BetweenStores if !settles => bail!(
                "{option} has no effect on {}: it has no relay between stores\nhint: choose `saga` or `log-first` of transfer, over \
                 several stores (--shards)",
                names()
            ),
            Messages if option == CONSUMER && !publishes_events => bail!(
                "{option} has no effect on {}: it publishes no events\nhint: choose a subject in style `outbox`; `stackmark list \
                 booking` prints them",
                names()
            ),
            Messages | Broker if !publishes => bail!(
                "{option} has no effect on {}: it publishes no messages\nhint: choose a subject in style `outbox`, or `log-first` of \
                 transfer; `stackmark list` prints them",
                names()
            ),
            Broker if server.sink != Some(SinkKind::Kafka) => bail!("{option} needs --sink kafka"),
            _ => {}
        }
    }
    let relaying = server.relaying(None);
    subjects.iter().try_for_each(|subject| relaying.check(subject, count))?;
    if engine.limits_of(Limited::Broker).is_some() && stores.broker.is_some() {
        bail!("--limit broker:… applies only to a private broker\nhint: leave out --db broker=… or the limit")
    }
    Ok(())
}

const CONSUMER: &str = "--consumer";

/// Options about messages, and whether each was given.
pub(crate) fn message_options(server: &ServerArgs) -> [(OptionScope, &'static str, bool); 6] {
    use OptionScope::{BetweenStores, Broker, Messages, Outbox, Relay};
    [
        (Outbox, "--polling", server.polling.is_some()),
        (Relay, "--batch", server.batch.is_some()),
        (BetweenStores, "--relay-connections", server.relay_connections.is_some()),
        (Messages, "--sink", server.sink.is_some()),
        (Messages, CONSUMER, server.consumer),
        (Broker, "--partitions", server.partitions.is_some()),
    ]
}

/// What an option is about.
pub(crate) enum OptionScope {
    /// The relay of an outbox.
    Outbox,
    /// A relay, of an outbox or between stores.
    Relay,
    /// The relay between stores.
    BetweenStores,
    /// Messages, whoever publishes them.
    Messages,
    /// The broker that they go to.
    Broker,
}

/// The broker that a subject needs, if it publishes to one; it was found to be available.
pub(crate) fn broker_for(
    subject: &Subject,
    server: &ServerArgs,
    engine: &EngineArgs,
    stores: &Stores,
) -> Result<Option<BrokerSpec>> {
    let broker = broker_wanted(subject, server, engine, stores);
    broker.as_ref().map_or(Ok(()), BrokerSpec::check_available)?;
    Ok(broker)
}

/// The broker that a subject needs, not checked for availability.
pub(crate) fn broker_wanted(
    subject: &Subject,
    server: &ServerArgs,
    engine: &EngineArgs,
    stores: &Stores,
) -> Option<BrokerSpec> {
    let publishes = subject.publishes() && server.sink == Some(SinkKind::Kafka);
    publishes.then(|| BrokerSpec {
        named: stores.broker.clone(),
        limits: engine.limits_of(Limited::Broker).map(|limits| limits.to_string()),
        own_disk: false,
    })
}

pub(crate) fn server_settings(args: &ServerArgs, engine: &EngineArgs, clients: u32) -> ServerSettings {
    ServerSettings {
        limits: engine.limits_of(Limited::Server),
        relaying: args.relaying(engine.limits_of(Limited::Relay)),
        pool: pool(args.pool, clients),
        threads: args.server_threads.unwrap_or_else(serve::threads_default),
        http: args.http(),
    }
}

/// The load generator's plan.
pub(crate) fn plan<W: Driven>(args: &PlanArgs, scale: u32) -> Result<drive::Plan> {
    let stages = args.stages.as_ref().map_or_else(Vec::new, |stages| stages.0.clone());
    let mean = (!stages.is_empty()).then(|| Stage::mean_rate(&stages).0);
    let arrivals = match (args.rate.or(mean), args.think.0, args.arrivals) {
        (Some(rate), _, ArrivalsArg::Poisson) => Arrivals::Poisson(RatePerSecond(rate)),
        (Some(rate), _, ArrivalsArg::Constant) => Arrivals::Constant(RatePerSecond(rate)),
        (None, Some(_), _) => Arrivals::Paced,
        (None, None, _) => Arrivals::Closed,
    };
    let terminals = match (args.think.0, W::terminals(scale)) {
        (Some(Think::Spec), Some(terminals)) => terminals,
        (Some(Think::Spec), None) => {
            bail!("{} has no think times; leave --think out, or give one of your own", W::NAME)
        }
        _ => CLIENTS,
    };
    if args.delivery == DeliveryArg::Deferred && W::KINDS.iter().all(|kind| kind.deferred_p90_max.is_none()) {
        bail!("{} has no calls that may be deferred; leave --delivery out", W::NAME);
    }
    let plan = drive::Plan {
        arrivals,
        think: args.think.0.unwrap_or_default(),
        mix: args.mix.of::<W>()?,
        skew: args.mix.skew_of::<W>()?,
        workers: args.clients.unwrap_or(terminals),
        runtimes: args.generator_threads,
        warmup: Nanos::from(args.warmup),
        warmup_max: warmup_max(args.warmup, args.warmup_max, args.through_checkpoints)?,
        measured: match stages.is_empty() {
            true => Nanos::from(args.duration()),
            false => stages.iter().map(|stage| stage.length).fold(Nanos::ZERO, |sum, length| sum + length),
        },
        stages,
        calls: args.calls,
        drain_max: Nanos::from(args.drain),
        settle_max: Nanos::from(args.settle),
        deadline: Nanos::from(args.deadline),
        seed: args.seed,
        deferred: (args.delivery == DeliveryArg::Deferred).then(drive::Deferred::default),
        ..drive::Plan::default()
    };
    match plan.validate(W::KINDS) {
        Err(PlanError::NothingToDefer) => bail!(
            "{} has no calls that may be deferred; leave --delivery out\nhint: or give `delivery` a weight",
            args.mix.option()
        ),
        checked => checked?,
    }
    Ok(plan)
}

/// How long a warm-up may get. A log that comes in waves, as through checkpoints, never stays the same.
pub(crate) fn warmup_max(
    warmup: Duration,
    asked: Option<Duration>,
    through_checkpoints: bool,
) -> Result<Nanos> {
    match asked {
        Some(_) if through_checkpoints => bail!("--warmup-max and --through-checkpoints exclude each other"),
        None if through_checkpoints => Ok(Nanos::from(warmup)),
        Some(most) if most < warmup => bail!(
            "--warmup-max {} is shorter than --warmup {}; it must be as long at least",
            humantime::format_duration(most),
            humantime::format_duration(warmup)
        ),
        Some(most) => Ok(Nanos::from(most)),
        None => Ok(Nanos::from(warmup.saturating_mul(WARMUP_GROWS))),
    }
}
