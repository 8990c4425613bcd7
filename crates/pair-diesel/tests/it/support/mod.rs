//! Tiny databases of both engines, loaded as a user would, and sessions that run at once.

use admin::{LoadPlan, LoadRecord};
use model::{CallWork, Conflict, Fault, Session, Target};
use rig::Engine;
use rig::for_tests::{SharedEngine, shared};
use sql::{Dialect, ServerUrl, SqliteUrl};
use std::future::Future;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Barrier};
use workload_tpcc::conformance::GOLDEN_LOAD_SEED;
use workload_tpcc::{Call, Cardinality, Data, Outcome, Tpcc};

pub(crate) type Answers = Vec<Result<Outcome, Fault>>;

fn plan(dialect: Dialect) -> LoadPlan {
    let size = Cardinality::tiny();
    LoadPlan {
        dataset: Arc::new(Data::new(size, GOLDEN_LOAD_SEED)),
        schema: workload_tpcc::schema(dialect).unwrap(),
        record: LoadRecord {
            tool: "stackmark".into(),
            tool_version: "0.0.0".into(),
            workload: "tpcc".into(),
            scale: u64::from(size.warehouses),
            size: "tiny".into(),
            seed: GOLDEN_LOAD_SEED,
        },
        threads: 1,
        fresh: false,
        references: false,
        reload: "stackmark load tpcc --fresh".into(),
    }
}

/// A file with the tiny data of the golden vectors.
pub(crate) fn tiny_file(folder: &Path, name: &str) -> SqliteUrl {
    let url = SqliteUrl::file(folder.join(name));
    admin::store(&url).load(plan(Dialect::Sqlite), &mut |_| {}, &AtomicBool::new(false)).unwrap();
    url
}

/// The server, which others may share.
pub(crate) fn server() -> &'static SharedEngine {
    shared(Engine::Postgres)
}

/// A database of that name with the tiny data of the golden vectors.
pub(crate) fn tiny(name: &str) -> ServerUrl {
    server().create_database(name).unwrap();
    let url = server().url(name);
    admin::store(&url).load(plan(Dialect::Postgres), &mut |_| {}, &AtomicBool::new(false)).unwrap();
    url
}

/// What a future gives, whose driver may be asynchronous.
pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

/// One call, tried again as the one retry policy does where nothing was applied.
async fn answer(session: &mut impl Session<Tpcc>, call: &Call) -> Result<Outcome, Fault> {
    loop {
        match session.run(call, &mut CallWork::default()).await {
            Err(Fault::Conflict(Conflict::Serialization)) => {}
            answer => return answer,
        }
    }
}

/// Opens a session and makes the calls once everybody is ready. Who cannot open fails then: the others wait for all.
pub(crate) fn answers<T: Target<Tpcc>>(target: &T, calls: &[Call], start: &Barrier) -> Answers {
    wait(async {
        let opened = target.open(0).await;
        start.wait();
        let mut session = opened.unwrap();
        let mut answers = Vec::with_capacity(calls.len());
        for call in calls {
            answers.push(answer(&mut session, call).await);
        }
        answers
    })
}
