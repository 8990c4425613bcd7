//! TPC-C: besides the statements that every driver runs one at a time, what is written by hand for one engine.

use crate::{Driver, How, Style, generic, wait_for};
use anyhow::Result;
use measure::Monotonic;
use model::AnyTarget;
use pair_diesel::{DieselPostgres, DieselSqlite};
use sql::DbUrl;
use workload_tpcc::{Tpcc, catalogue};

pub(crate) fn open(how: How, url: &DbUrl, clock: Monotonic) -> Result<AnyTarget<Tpcc>> {
    Ok(match (how.driver, how.style) {
        (Driver::TokioPostgres, Style::Pipelined) => {
            let reaching = pair_tpcc::postgres::PipelinedTarget::reach(url.server()?, clock);
            AnyTarget::new(wait_for(reaching)??)
        }
        (Driver::TokioPostgres, Style::Procedure) => {
            let reaching = pair_tpcc::postgres::ProcedureTarget::reach(url.server()?, clock);
            AnyTarget::new(wait_for(reaching)??)
        }
        (Driver::MySqlAsync, Style::Procedure) => {
            let reaching = pair_tpcc::mysql::ProcedureTarget::reach(url.server()?, clock);
            AnyTarget::new(wait_for(reaching)??)
        }
        (Driver::Diesel, Style::Orm) => match url {
            DbUrl::Sqlite(url) => AnyTarget::new(DieselSqlite::new(url, clock)?),
            DbUrl::Server(url) => AnyTarget::new(DieselPostgres::reach(url, clock)?),
        },
        _ => generic::target(how, url, catalogue(how.dialect)?, clock)?,
    })
}
