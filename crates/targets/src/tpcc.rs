//! TPC-C.

use crate::{Driven, Driver, How, Style, TrialTarget, generic, server_only, wait_for};
use anyhow::Result;
use drive::{Observer, Plan, RunError, Stop, Trial};
use measure::Monotonic;
use model::{AnyTarget, Target};
use pair_diesel::{DieselPostgres, DieselSqlite};
use sql::DbUrl;
use std::sync::Arc;
use workload_tpcc::conformance::{ConformancePlan, conform};
use workload_tpcc::{Cardinality, Inputs, Ledger, Tpcc, catalogue};

impl Driven for Tpcc {
    fn open(how: How, url: &DbUrl, clock: Monotonic) -> Result<AnyTarget<Tpcc>> {
        Ok(match (how.driver, how.style) {
            (Driver::TokioPostgres, Style::Pipelined) => {
                let reaching = pair_tpcc_postgres::PipelinedTarget::reach(server_only(url)?, clock);
                AnyTarget::new(wait_for(reaching)??)
            }
            (Driver::TokioPostgres, Style::Procedure) => {
                let reaching = pair_tpcc_postgres::ProcedureTarget::reach(server_only(url)?, clock);
                AnyTarget::new(wait_for(reaching)??)
            }
            (Driver::MySqlAsync, Style::Procedure) => {
                let reaching = pair_tpcc_mysql::ProcedureTarget::reach(server_only(url)?, clock);
                AnyTarget::new(wait_for(reaching)??)
            }
            (Driver::Diesel, Style::Orm) => match url {
                DbUrl::Sqlite(url) => AnyTarget::new(DieselSqlite::new(url, clock)?),
                DbUrl::Server(url) => AnyTarget::new(DieselPostgres::reach(url, clock)?),
            },
            _ => generic::target(how, url, catalogue(how.dialect)?, clock)?,
        })
    }

    fn drive(
        plan: &Plan,
        target: &Arc<TrialTarget<Tpcc>>,
        inputs: &dyn Fn(u32) -> Inputs,
        ledger: &dyn Fn() -> Ledger,
        clock: Monotonic,
        stop: &Stop,
        observer: &mut dyn Observer<Tpcc>,
    ) -> Result<Trial<Tpcc>, RunError> {
        drive::run(plan, target, inputs, ledger, clock, stop, observer)
    }

    fn conform(
        target: &TrialTarget<Tpcc>,
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
