//! The load generator of a drill, as the process of its own that it is.

use crate::lines::{CallReporter, CallResponse, Line, Sort, digest};
use anyhow::{Context, Result};
use deploy::subjects;
use drive::{Arrivals, Plan, RatePerSecond, Stop, TrialProgress};
use measure::Monotonic;
use model::{
    AnyTarget, CallWork, Fault, Home, Mix, Nanos, OpenError, RetryPolicy, RetryingTarget, Session, Stack,
    StatementTimes, Target, Wanted,
};
use serde::{Deserialize, Serialize};
use sql::DbUrl;
use std::io::{BufRead, Write};
use std::sync::Arc;
use targets::{Driven, Sampled, TrialSession, TrialTarget};
use workload::Streams;

/// Longer than any fault: the parent says when it is enough.
const LONG: Nanos = Nanos::from_secs(3_600);
/// How long calls may take that are under way when the load ends.
const DRAIN_MAX: Nanos = Nanos::from_secs(30);
/// How long a target may then take to complete what it answered as in doubt.
const FINISH_MAX: Nanos = Nanos::from_secs(60);

/// What a load generator is to do, as JSON in its argument. A line on its standard input ends the load, and the end of the input
/// the process.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LoadOrder {
    /// What calls go through, by its path.
    pub subject: String,
    /// Where its server is, if it has one; its databases otherwise are in the environment.
    pub url: Option<String>,
    /// How much they hold, as their workload writes it.
    pub size: serde_json::Value,
    /// Seed of the load of the data.
    pub load: u64,
    /// Seed of the calls.
    pub seed: u64,
    /// Number of the run, which keys are made of.
    pub run: u64,
    /// Calls a second, over all clients.
    pub rate: f64,
    pub clients: u32,
    /// Which kinds of call, if not the workload's own mix.
    pub mix: Option<Mix>,
    /// How long a call may take, in milliseconds.
    pub deadline_ms: u64,
}

impl LoadOrder {
    pub(crate) fn streams(&self) -> Streams<'_> {
        // Faults may take what was acknowledged: that is found in the data, and reported.
        Streams {
            seed: self.seed,
            load: Some(self.load),
            run: self.run,
            mix: self.mix.as_ref(),
            skew: None,
            begin: None,
            lossy: true,
            outlasts_keys: false,
        }
    }
}

/// Makes calls on databases in their order until a line comes `from` its parent, says `into` it what becomes of each, and ends
/// with it.
pub fn generate<W: Driven>(
    order: &str,
    urls: &[DbUrl],
    mut from: impl BufRead + Send + 'static,
    into: Box<dyn Write + Send>,
) -> Result<()> {
    let order: LoadOrder = serde_json::from_str(order).context("what is to be done cannot be read")?;
    let size: W::Extent = serde_json::from_value(order.size.clone()).context("the size cannot be read")?;
    let teller = Arc::new(CallReporter::new(into));
    let stop = Stop::new();
    let (ending, end) = std::sync::mpsc::channel::<()>();
    let asked = stop.clone();
    std::thread::spawn(move || {
        let _ = from.read_line(&mut String::new());
        asked.request();
        let _ = std::io::copy(&mut from, &mut std::io::sink());
        drop(ending);
    });
    // It stays until the data has settled: what it left undecided is decided by it.
    let opened = target::<W>(&order, urls, &size);
    let driven =
        opened.and_then(|target| load::<W>(&order, &size, &target, &teller, &stop).map(|why| (why, target)));
    let (failure, target) = match driven {
        Ok((failure, target)) => (failure, Some(target)),
        Err(error) => (Some(format!("{error:#}")), None),
    };
    if let Some(target) = &target {
        trial::finish::<W>(target, Monotonic::start(), FINISH_MAX);
    }
    teller.send(&Line::Ended { failure });
    // Nothing is ever sent: it ends with whoever reads standard input.
    let _ = end.recv();
    Ok(())
}

fn target<W: Driven>(order: &LoadOrder, urls: &[DbUrl], size: &W::Extent) -> Result<TrialTarget<W>> {
    match &order.url {
        Some(url) => Ok(trial::of_server(trial::reach::<W>(url, Some(W::scale(size).into()))?)),
        None => targets::target_over::<W>(subjects::find(&order.subject)?.how, urls, size),
    }
}

/// Makes calls until that is enough; gives why they ended by themselves, if they did.
fn load<W: Driven>(
    order: &LoadOrder,
    size: &W::Extent,
    target: &TrialTarget<W>,
    teller: &Arc<CallReporter>,
    stop: &Stop,
) -> Result<Option<String>> {
    let telling = ReportingTarget { target: target.clone(), teller: Arc::clone(teller) };
    let telling = Arc::new(RetryingTarget::new(AnyTarget::new(telling), RetryPolicy::ONCE));
    let plan = Plan {
        arrivals: Arrivals::Poisson(RatePerSecond(order.rate)),
        workers: order.clients,
        warmup: Nanos::ZERO,
        measured: LONG,
        drain_max: DRAIN_MAX,
        deadline: Nanos::from_millis(order.deadline_ms),
        seed: order.seed,
        mix: order.mix.clone(),
        ..Plan::default()
    };
    let streams = order.streams();
    let inputs = workload::inputs::<W>(size, &streams);
    let mut nobody = |_: &TrialProgress<'_, W>| {};
    let (clock, ledger) = (Monotonic::start(), || W::new_ledger(size));
    let trial = W::drive(&plan, Sampled::new(&telling, None), &inputs, &ledger, clock, stop, &mut nobody)?;
    Ok(trial.failure)
}

/// Opens sessions that say what becomes of each call.
struct ReportingTarget<W: Driven> {
    target: TrialTarget<W>,
    teller: Arc<CallReporter>,
}

impl<W: Driven> Target<W> for ReportingTarget<W> {
    type Session = ReportingSession<W>;

    fn home(&self) -> Home {
        self.target.home()
    }

    /// A session that cannot be opened, or not in time, is one that a call was drawn for and not sent.
    async fn open(&self, worker: u32) -> Result<ReportingSession<W>, OpenError> {
        let mut unless = Unless { teller: &self.teller, line: Some(Line::Unsent { worker }) };
        let session = self.target.open(worker).await?;
        unless.line = None;
        Ok(ReportingSession { session, worker, teller: Arc::clone(&self.teller) })
    }

    fn stack(&self) -> Stack {
        self.target.stack()
    }
}

struct ReportingSession<W: Driven> {
    session: TrialSession<W>,
    worker: u32,
    teller: Arc<CallReporter>,
}

impl<W: Driven> Session<W> for ReportingSession<W> {
    async fn run(&mut self, call: &W::Call, work: &mut CallWork) -> Result<W::Outcome, Fault> {
        let worker = self.worker;
        self.teller.send(&Line::Begun { worker, digest: digest::<W>(call) });
        let given_up = Line::Failed { worker, how: Sort::Doubt, why: "no answer in time".into() };
        let mut unless = Unless { teller: &self.teller, line: Some(given_up) };
        // The body to tell it, and the digest for who checks it here.
        let wanted = std::mem::replace(&mut work.wanted, Wanted::Both);
        let result = self.session.run(call, work).await;
        work.wanted = wanted;
        unless.line = None;
        self.teller.send(&match &result {
            Ok(outcome) => Line::Answered { worker, answer: CallResponse::of::<W>(outcome) },
            Err(fault) => Line::Failed { worker, how: Sort::of(fault), why: fault.to_string() },
        });
        result
    }

    fn statement_times(&self) -> Option<&StatementTimes> {
        self.session.statement_times()
    }
}

/// Says a line when it is dropped, unless that has been taken away.
struct Unless<'a> {
    teller: &'a CallReporter,
    line: Option<Line>,
}

impl Drop for Unless<'_> {
    fn drop(&mut self) {
        if let Some(line) = self.line.take() {
            self.teller.send(&line);
        }
    }
}
