//! `stackmark sweep` and `find-max`: one subject at increasing load, in interleaved blocks: the curve that comes of it, and the highest rate
//! of an open loop that keeps a service level.

use crate::args::{self, ArrivalsArg};
use crate::data::Data;
use crate::run::{self, server_settings};
use crate::settings::{self, Choice};
use crate::ui::Ui;
use anyhow::{Result, bail};
use deploy::{Route, Subject};
use result::Axis;
use schedule::{Objective, Searching, Spacing, Sweep, UnderLoad};
use targets::Driven;

pub(crate) fn asked<W: Driven>(subject: &'static Subject, args: &args::Sweep, ui: &Ui) -> Result<Sweep> {
    let (axis, loads) = match (&args.clients, &args.rates) {
        (Some(_), Some(_)) => bail!(
            "--clients and --rates are two sweeps; for the clients that share the calls of a sweep over rates use \
             --in-flight"
        ),
        (_, Some(rates)) => (Axis::Rate, rates.0.clone()),
        (Some(clients), None) => (Axis::Clients, clients.0.clone()),
        (None, None) => (Axis::Clients, vec![1.0, 2.0, 4.0, 8.0, 16.0, 32.0]),
    };
    let most =
        if axis == Axis::Clients { loads.iter().copied().fold(1.0, f64::max) as u32 } else { args.in_flight };
    let base = under_load::<W>(
        subject,
        &args.data,
        &args.load,
        &args.server,
        &args.engine,
        (args.in_flight, most),
        ui,
    )?;
    Ok(Sweep { base, axis, loads, blocks: args.blocks })
}

pub(crate) fn search<W: Driven>(
    subject: &'static Subject,
    args: &args::FindMax,
    ui: &Ui,
) -> Result<Searching> {
    let kinds: Vec<&str> = W::KINDS.iter().map(|kind| kind.name).collect();
    Objective::parse(&args.slo, &kinds)?;
    let clients = (args.in_flight, args.in_flight);
    let base = under_load::<W>(subject, &args.data, &args.load, &args.server, &args.engine, clients, ui)?;
    Ok(Searching { base, slo: args.slo.clone(), resolution: args.resolution, confirm: args.confirm })
}

/// What is the same under every load: `in_flight` in an open loop, and `clients` at most. All that can be wrong is found here,
/// before there is a folder.
pub(crate) fn under_load<W: Driven>(
    subject: &'static Subject,
    data: &args::DataArgs,
    load: &args::LoadArgs,
    server: &args::ServerArgs,
    engine: &args::EngineArgs,
    (in_flight, clients): (u32, u32),
    ui: &Ui,
) -> Result<UnderLoad> {
    let found = Data::<W>::of(data, &[subject])?;
    run::can_be_limited(engine, &[subject], false, found.stores.shards)?;
    run::check_message_options(server, engine, &found.stores, &[subject], false)?;
    if let Some(databases) = &found.existing {
        trial::reachable(subject, databases)?;
    }
    let scale = found.scale(data, &[subject], clients, ui)?;
    subject.check_http(server.http())?;
    let of_server = server_settings(server, engine, 1);
    let choice = Choice::single(engine)?;
    settings::check(engine, &[subject.how.dialect], &found.named)?;
    let mut spec = found.spec(subject.how.dialect, engine);
    choice.put_into(&mut spec);
    spec.broker = run::broker_for(subject, server, engine, &found.stores)?;
    spec.suits::<W>(subject.how)?;
    if load.through_checkpoints {
        spec.go_through_checkpoints(load.duration.into())?;
    }
    Ok(UnderLoad {
        subject: subject.path.into(),
        scale,
        spec,
        served: subject.route() == Route::Http,
        pool: server.pool,
        server_threads: of_server.threads,
        http: of_server.http,
        server_limits: of_server.limits.map(|limits| limits.to_string()),
        relaying: of_server.relaying,
        in_flight,
        arrivals: match load.arrivals {
            ArrivalsArg::Poisson => Spacing::Poisson,
            ArrivalsArg::Constant => Spacing::Constant,
        },
        plan: run::plan::<W>(&load.closed(), scale)?,
    })
}
