//! MariaDB: loads, copies and audits, on a server that others may share.

mod audits;
mod loads;
mod witness;

use crate::support;
use admin::{Error, LoadPlan, store};
use mysql_async::prelude::Queryable;
use rig::Engine;
use rig::for_tests::{SharedEngine, shared};
use sql::{Dialect, ServerUrl};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use workload_tpcc::Cardinality;

/// The server, and a database of a name that no one else uses.
struct Database {
    url: ServerUrl,
    server: &'static SharedEngine,
}

impl Database {
    fn new() -> Database {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let server = shared(Engine::MariaDb);
        let name = format!("t`e'st {}", NUMBER.fetch_add(1, Ordering::Relaxed));
        let url = server.url(&name);
        Database { url, server }
    }

    /// With tiny TPC-C in it.
    fn tiny() -> Database {
        let database = Database::new();
        load_quietly(&database.url, plan(support::SEED)).unwrap();
        database
    }

    fn execute(&self, statements: &str) {
        for statement in statements.split(';').filter(|statement| !statement.trim().is_empty()) {
            on_connection(&self.url, async |conn| conn.query_drop(statement).await.unwrap());
        }
    }
}

fn on_connection<T>(url: &ServerUrl, work: impl AsyncFnOnce(&mut mysql_async::Conn) -> T) -> T {
    let opts = mysql_async::OptsBuilder::default()
        .socket(url.socket.as_ref().map(|socket| socket.display().to_string()))
        .user(Some(url.user.clone()))
        .pass(url.password.as_ref().map(sql::Secret::reveal))
        .db_name(Some(url.database.clone()));
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
        let mut conn = mysql_async::Conn::new(opts).await.unwrap();
        let result = work(&mut conn).await;
        conn.disconnect().await.unwrap();
        result
    })
}

fn plan(seed: u64) -> LoadPlan {
    LoadPlan {
        schema: workload_tpcc::schema(Dialect::MySql).unwrap(),
        ..support::plan(Cardinality::tiny(), seed)
    }
}

fn load_quietly(url: &ServerUrl, plan: LoadPlan) -> Result<admin::Loaded, Error> {
    store(url).load(plan, &mut |_| {}, &AtomicBool::new(false))
}
