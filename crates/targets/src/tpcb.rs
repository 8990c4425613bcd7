//! pgbench's transaction.

use crate::{Driven, How, TrialTarget, generic, wait_for};
use anyhow::Result;
use drive::{Observer, Plan, RunError, Stop, Trial};
use measure::Monotonic;
use model::{AnyTarget, Target};
use sql::DbUrl;
use std::sync::Arc;
use workload_tpcb::conformance::{ConformancePlan, conform};
use workload_tpcb::{Cardinality, Inputs, Ledger, Tpcb, catalogue};

impl Driven for Tpcb {
    fn open(how: How, url: &DbUrl, clock: Monotonic) -> Result<AnyTarget<Tpcb>> {
        generic::target(how, url, catalogue(how.dialect)?, clock)
    }

    fn drive(
        plan: &Plan,
        target: &Arc<TrialTarget<Tpcb>>,
        inputs: &dyn Fn(u32) -> Inputs,
        ledger: &dyn Fn() -> Ledger,
        clock: Monotonic,
        stop: &Stop,
        observer: &mut dyn Observer<Tpcb>,
    ) -> Result<Trial<Tpcb>, RunError> {
        drive::run(plan, target, inputs, ledger, clock, stop, observer)
    }

    fn conform(
        target: &TrialTarget<Tpcb>,
        size: &Cardinality,
        seed: u64,
        random_calls: u32,
    ) -> Result<Result<(u32, u32), String>> {
        wait_for(async {
            let mut session = target.open(0).await?;
            let plan = ConformancePlan { size: *size, ..ConformancePlan::golden(seed, random_calls) };
            let conformed = conform(&mut session, &plan).await;
            Ok(conformed.map(|done| (done.golden, done.random)).map_err(|wrong| wrong.to_string()))
        })?
    }
}
