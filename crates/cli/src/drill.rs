//! `stackmark drill`: faults under load, and what is stored in the end, checked against what was acknowledged.

use crate::args;
use crate::args::{Limited, MixArgs, Stores};
use crate::outcome::CommandOutcome;
use crate::relay::parse_sink;
use crate::run::can_be_limited;
use crate::serve;
use crate::settings::{self, Choice};
use crate::ui::Ui;
use anyhow::{Context, Result, bail};
use deploy::{BrokerSpec, Deployment, Interrupt, RelayOptions, ServerSettings, SinkKind, Spec, Subject};
use drill::{COMPONENTS, Component, DrillPlan, Parts};
use model::{HttpOptions, Nanos};
use result::{Drill, FaultAction, RunKind, State};
use schedule::pool;
use sql::Dialect;
use std::io::BufReader;
use targets::{Driven, Style};
use trial::{Folder, RunReporter};
use workload::split_for;

/// Default number of stores where calls cross them.
const SHARDS: u32 = 2;

/// Makes calls for a drill, and reports each to its parent.
pub(crate) fn generate<W: Driven>(args: &args::Generate) -> Result<CommandOutcome> {
    let urls = Stores::of(&args.db, None)?.urls(None)?;
    let _producing = parse_sink(args.sink.as_deref())?.map(|sink| sink.produce()).transpose()?;
    drill::generate::<W>(&args.order, &urls, BufReader::new(std::io::stdin()), Box::new(std::io::stdout()))?;
    Ok(CommandOutcome::Good)
}

pub(crate) fn drill<W: Driven>(
    subject: &'static Subject,
    args: &args::Drill,
    ui: &Ui,
) -> Result<CommandOutcome> {
    let limits = |who| args.engine.limits_of(who);
    let relaying = RelayOptions {
        sink: sink(args, subject)?,
        limits: limits(Limited::Relay),
        batch: args.batch,
        connections: args.relay_connections,
        consumer: args.consumer,
        ..RelayOptions::default()
    };
    let interrupt = Interrupt::listen()?;
    let shards = args.shards.unwrap_or(if subject.how.style.crosses() { SHARDS } else { 1 });
    let scale = args.amounts.scale::<W>()?.unwrap_or(shards.max(W::SCALE_DEFAULT));
    let chosen = args.amounts.chosen::<W>()?;
    split_for::<W>(W::standard(scale), shards, subject.how.style.name())?;
    can_be_limited(&args.engine, &[subject], false, shards)?;
    let (style, stores) = (subject.how.style, shards as usize);
    for (option, is_given, has_effect, missing) in [
        ("--batch", args.batch.is_some(), style.is_relayed_over(stores), "relay"),
        (
            "--relay-connections",
            args.relay_connections > 1,
            style.is_settled_over(stores),
            "relay between stores",
        ),
    ] {
        if is_given && !has_effect {
            bail!(
                "{option} has no effect on {}: it has no {missing}\nhint: leave {option} out",
                subject.path
            );
        }
    }
    relaying.check(subject, stores)?;
    let has_broker = subject.publishes() && relaying.sink == SinkKind::Kafka;
    if limits(Limited::Broker).is_some() && !has_broker {
        bail!("--limit broker:… needs --sink kafka");
    }
    let choice = Choice::single(&args.engine)?;
    settings::check(&args.engine, &[subject.how.dialect], &[])?;
    let number = |wanted: &str| {
        let found = choice.settings.iter().rev().find(|(name, _)| name == wanted);
        found.and_then(|(_, number)| number.parse().ok())
    };
    let parts = Parts {
        subject,
        shards: shards as usize,
        nodes: number(sql::GALERA).unwrap_or(1),
        data_nodes: number(sql::SPIDER).unwrap_or(0),
        has_broker,
        has_consumer: args.consumer,
    };
    let among = among(args, &parts)?;
    let mix = MixArgs { mix: args.mix.clone(), ..MixArgs::default() }.of::<W>()?;
    let mut spec = Spec::of_options(subject.how.dialect, shards, &[], &args.engine.engine_options());
    let attached = (subject.how.style == Style::Attached).then_some("journal=truncate");
    let cuts_power = among.iter().any(|(_, action)| *action == FaultAction::PowerCut);
    let is_embedded = subject.how.dialect == Dialect::Sqlite;
    // Files of SQLite lose power also where no file system can be mounted: what was not flushed is recorded and taken back.
    let is_recorded = is_embedded && cuts_power && !(args.power_cut && rig::can_have_own_disk().is_ok());
    let recorded = is_recorded.then_some("power_cut=on");
    spec.options = attached.into_iter().chain(recorded).collect::<Vec<_>>().join("&");
    spec.power_cut = cuts_power && !is_recorded;
    if spec.power_cut {
        rig::can_have_own_disk()?;
    }
    choice.put_into(&mut spec);
    if has_broker {
        let limits = limits(Limited::Broker).map(|limits| limits.to_string());
        let own_disk = among.iter().any(|(_, action)| *action == FaultAction::DiskFull);
        if own_disk {
            rig::can_have_own_disk()?;
        }
        let broker = BrokerSpec { named: None, limits, own_disk };
        broker.check_available()?;
        spec.broker = Some(broker);
    }
    spec.chosen = chosen;
    spec.suits::<W>(subject.how)?;

    let locked = trial::hold(false)?;
    let (folder, started, id) = Folder::create(&args.out.out, &format!("drill-{}", subject.path))?;
    locked.works_in(folder.path());
    let sessions = subject.sessions(args.clients, pool(None, args.clients));
    let mut deployment =
        Deployment::create(folder.path(), &spec, &[], &args.engine.engine_options(), sessions, ui)?;
    let databases = deployment.load::<W>(scale, ui, &interrupt).inspect_err(|_| folder.empty())?;
    let audits = trial::before(&databases, ui, &interrupt)?;
    if let Some(audit) = trial::forbids::<W>(&audits, false) {
        bail!("data audit failed before the first call ({}): {}", audit.full_name(), audit.sentence);
    }
    let mut document = trial::document(id, started, RunKind::Drill, &[subject.path]);
    document.notes = deployment.notes();
    if is_embedded && cuts_power {
        document.notes.push(match is_recorded {
            true => "Power cuts take back writes to SQLite's files that were recorded and not flushed.".into(),
            false => "SQLite's files are on an ext4 file system of their own, which is shut down at each power cut.".into(),
        });
    }
    let mut found = Drill {
        seed: args.seed,
        scale: scale.into(),
        scale_unit: W::SCALE_UNIT.into(),
        shards,
        rate_per_s: args.rate,
        clients: args.clients,
        mix: mix.as_ref().map_or_else(Vec::new, |mix| drive::shares(mix, W::KINDS)),
        planned: args.faults,
        faults: Vec::new(),
    };
    document.drill = Some(found.clone());
    folder.put_document(&document)?;
    let asked = DrillPlan {
        faults: args.faults,
        among,
        seed: args.seed,
        rate: args.rate,
        clients: args.clients,
        mix,
        deadline: Nanos::from(args.deadline),
        settle_max: Nanos::from(args.settle),
        server: ServerSettings {
            limits: limits(Limited::Server),
            relaying,
            pool: pool(None, args.clients),
            threads: serve::threads_default(),
            http: HttpOptions::default(),
        },
    };
    let mut keep = |drill: &Drill| {
        document.drill = Some(drill.clone());
        folder.put_document(&document).map(drop)
    };
    let around: (_, &dyn RunReporter, _) = (folder.path(), ui, &interrupt);
    let drilled =
        drill::drill(subject, (&databases, &mut deployment), &audits, &asked, around, &mut found, &mut keep);
    let failure = drilled.err().filter(|_| !interrupt.requested());
    document.state = match (&failure, interrupt.requested()) {
        (Some(_), _) => State::Failed,
        (None, true) => State::Interrupted,
        (None, false) => State::Complete,
    };
    document.notes.extend(failure.as_ref().map(|error| format!("The drill ended early: {error:#}.")));
    let good = found.is_passed();
    let is_wrong = found.faults.iter().any(|fault| !fault.is_passed());
    document.drill = Some(found);
    let json = folder.put_document(&document)?;
    ui.publish(&folder, &document, &json)?;
    match failure {
        // What did not come back has been reported as found.
        Some(error) if !is_wrong => Err(error.context("the drill ended early")),
        _ => Ok(if good { CommandOutcome::Good } else { CommandOutcome::Bad }),
    }
}

/// Where messages go. It must be readable: a drill without checks shows nothing.
fn sink(args: &args::Drill, subject: &Subject) -> Result<SinkKind> {
    if args.consumer && !subject.publishes_events() {
        bail!(
            "--consumer has no effect on {}: it publishes no events\nhint: choose a subject in style `outbox` or `dual-write`",
            subject.path
        );
    }
    match args.sink {
        Some(sink) if !subject.publishes() => bail!(
            "--sink {sink} has no effect on {}: it publishes no messages\nhint: choose a subject in style `outbox`, `dual-write` or `log-first`",
            subject.path
        ),
        Some(SinkKind::Null) => {
            bail!(
                "a drill cannot check messages with --sink null: they are not stored\nhint: --sink file or --sink kafka"
            )
        }
        sink => Ok(sink.unwrap_or_default()),
    }
}

/// What may be struck, of all that can be. The power of engines is cut and disks are filled only on request, since that needs root; and a
/// coordinator ends between two phases on request where the calls are not those of the workload's mix.
fn among(args: &args::Drill, parts: &Parts) -> Result<Vec<(Component, FaultAction)>> {
    let (only, all, subject) = (&args.only, Component::faults_of(parts), parts.subject);
    if args.power_cut {
        let cuts: Vec<_> = all.into_iter().filter(|(_, action)| *action == FaultAction::PowerCut).collect();
        if cuts.is_empty() {
            bail!(
                "{} has no storage whose power could be cut: Stackmark does not write its files",
                subject.path
            );
        }
        return Ok(cuts);
    }
    let is_usual = |fault: &&(Component, FaultAction)| {
        let (component, action) = fault;
        match action {
            FaultAction::PowerCut => !matches!(component, Component::Engine(_)),
            FaultAction::DiskFull => false,
            // Another mix may have no transfers between stores.
            FaultAction::KillAfterPrepare | FaultAction::KillAfterDecision => args.mix.is_none(),
            _ => true,
        }
    };
    if only.is_empty() {
        return Ok(all.iter().filter(is_usual).copied().collect());
    }
    let mut among = Vec::new();
    for wanted in only {
        let (component, action) = match wanted.split_once(':') {
            Some((component, action)) => (component, Some(action_of(action)?)),
            None => (wanted.as_str(), None),
        };
        // `node-2` is that of any store.
        let is_named = |of: &Component| {
            let name = of.name(parts.shards);
            let is_of_store = component == "head" || component.starts_with("node-");
            of.group() == component
                || name == component
                || is_of_store && name.ends_with(&format!("-{component}"))
        };
        if !COMPONENTS.contains(&component) && !all.iter().any(|(of, _)| is_named(of)) {
            bail!("there is no component `{component}`\nhint: there are {}", COMPONENTS.join(", "));
        }
        let before = among.len();
        let meant = |of: &&(Component, FaultAction)| {
            is_named(&of.0) && action.map_or_else(|| is_usual(of), |action| action == of.1)
        };
        among
            .extend(all.iter().filter(meant).copied().filter(|one| !among.contains(one)).collect::<Vec<_>>());
        if among.len() == before && !all.iter().any(|one| meant(&one)) {
            let is_single = parts.nodes < 2 && parts.data_nodes == 0 && subject.how.dialect == Dialect::MySql;
            if is_single && (component == "head" || component.starts_with("node")) {
                let setting = if component == "head" { sql::SPIDER } else { sql::GALERA };
                bail!("{} has no `{component}` without a cluster\nhint: --setting {setting}=3", subject.path);
            }
            bail!("{} has nothing that `{wanted}` names\nhint: of it {}", subject.path, named(&all));
        }
    }
    Ok(among)
}

/// All that can be struck, as it is written behind `--only`.
fn named(all: &[(Component, FaultAction)]) -> String {
    let mut names: Vec<String> = Vec::new();
    for (component, action) in all {
        let name = format!("{}:{}", component.group(), action.word().replace(' ', "-"));
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

fn action_of(name: &str) -> Result<FaultAction> {
    use FaultAction::{
        CutOff, DiskFull, Kill, KillAfterDecision, KillAfterPrepare, KillAfterPublishing, Pause, PowerCut,
    };
    let all =
        [Kill, Pause, CutOff, PowerCut, DiskFull, KillAfterPublishing, KillAfterPrepare, KillAfterDecision]
            .map(|action| (action, action.word().replace(' ', "-")));
    let found = all.iter().find(|(_, word)| word == name).map(|(action, _)| *action);
    found.with_context(|| {
        format!("there is no fault `{name}`\nhint: {}", all.map(|(_, word)| word).join(", "))
    })
}
