//! What the tests of each engine share: data, a runtime, a connection that breaks, and the same checks for all.

use admin::{LoadPlan, LoadRecord};
use measure::Monotonic;
use model::rows::Dataset;
use model::{Conflict, Doubt, Fault, Home, Target as _};
use sql::{Dialect, Param, ServerUrl, SqlConn, SqlOpener, StmtId, TxKind};
use std::future::Future;
use std::sync::Arc;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use workload_tpcc::conformance::GOLDEN_LOAD_SEED;

/// Random calls behind the golden ones.
const RANDOM_CALLS: u32 = 500;

/// Statements on a table of two counters, `counter (id, n)`.
pub(crate) const ADD: StmtId = StmtId(0);
pub(crate) const READ: StmtId = StmtId(1);
pub(crate) const COUNTER: [&str; 2] =
    ["update counter set n = n + ?2 where id = ?1", "select n from counter where id = ?1"];
pub(crate) const COUNTERS: &str = "create table counter (id integer primary key, n bigint not null); \
                                   insert into counter values (1, 0), (2, 0)";

pub(crate) fn counter_statements() -> Vec<String> {
    COUNTER.map(String::from).to_vec()
}

pub(crate) fn wait<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(future)
}

fn plan(workload: &str, dialect: Dialect, dataset: Arc<dyn Dataset>) -> LoadPlan {
    let schema = match workload {
        "tpcc" => workload_tpcc::schema(dialect),
        _ => workload_tpcb::schema(dialect),
    };
    LoadPlan {
        dataset,
        schema: schema.unwrap(),
        references: false,
        record: LoadRecord {
            tool: "stackmark".into(),
            tool_version: "0.0.0".into(),
            workload: workload.into(),
            scale: 1,
            size: "{}".into(),
            seed: GOLDEN_LOAD_SEED,
        },
        threads: 1,
        fresh: false,
        reload: String::new(),
    }
}

/// The golden rows of TPC-C.
pub(crate) fn tpcc(dialect: Dialect) -> LoadPlan {
    plan(
        "tpcc",
        dialect,
        Arc::new(workload_tpcc::Data::new(workload_tpcc::Cardinality::tiny(), GOLDEN_LOAD_SEED)),
    )
}

/// The golden rows of tpcb.
pub(crate) fn tpcb(dialect: Dialect) -> LoadPlan {
    plan("tpcb", dialect, Arc::new(workload_tpcb::Data::new(workload_tpcb::Cardinality::tiny())))
}

pub(crate) async fn tpcc_conforms(opener: impl SqlOpener) {
    use workload_tpcc::conformance::{ConformancePlan, conform};
    let target = workload_tpcc::SqlTarget::new(opener, Monotonic::start());
    let stack = target.stack();
    assert_eq!((stack.adapter.as_str(), stack.style.as_str()), ("sqlx", "plain"));
    let mut session = target.open(0).await.unwrap();
    let done = conform(&mut session, &ConformancePlan::golden(3, RANDOM_CALLS)).await;
    let done = done.unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(
        done.golden > 20 && done.random == RANDOM_CALLS && done.declined > 0 && done.rejected > 0,
        "{done:?}"
    );
}

pub(crate) async fn tpcb_conforms(opener: impl SqlOpener) {
    use workload_tpcb::conformance::{ConformancePlan, conform};
    let target = workload_tpcb::SqlTarget::new(opener, Monotonic::start());
    let mut session = target.open(0).await.unwrap();
    let done = conform(&mut session, &ConformancePlan::golden(3, RANDOM_CALLS)).await;
    let done = done.unwrap_or_else(|wrong| panic!("{wrong}"));
    assert!(done.golden > 0 && done.random == RANDOM_CALLS, "{done:?}");
}

pub(crate) async fn add(conn: &mut impl SqlConn, id: i64, amount: i64) -> Result<u64, Fault> {
    conn.exec(ADD, &[Param::Int(id), Param::Int(amount)]).await
}

pub(crate) async fn counter(conn: &mut impl SqlConn, id: i64) -> Result<Option<i64>, Fault> {
    conn.row(READ, &[Param::Int(id)], |row| row.int(0)).await
}

/// Two transactions block each other: one is undone, the other goes on.
pub(crate) async fn one_of_two_is_a_deadlock<O: SqlOpener>(opener: &O) {
    assert_eq!(O::HOME, Home::Task);
    let (mut a, mut b) = (opener.open().await.unwrap(), opener.open().await.unwrap());
    for (conn, id) in [(&mut a, 1), (&mut b, 2)] {
        conn.begin(TxKind::Write).await.unwrap();
        assert_eq!(add(conn, id, 1).await, Ok(1));
    }
    let cross = async |mut conn: O::Conn, id| {
        let result = add(&mut conn, id, 1).await;
        match result {
            Ok(_) => conn.commit().await.unwrap(),
            Err(_) => conn.rollback().await.unwrap(),
        }
        (result, conn)
    };
    let ((first, mut a), (second, _)) = tokio::join!(cross(a, 2), cross(b, 1));
    let deadlock = Err(Fault::Conflict(Conflict::Deadlock));
    assert!(
        (first == Ok(1) && second == deadlock) || (second == Ok(1) && first == deadlock),
        "{first:?} {second:?}"
    );
    // One transaction added one to each, and nothing is left of the other.
    a.begin(TxKind::Read).await.unwrap();
    assert_eq!((counter(&mut a, 1).await, counter(&mut a, 2).await), (Ok(Some(1)), Ok(Some(1))));
    a.rollback().await.unwrap();
}

/// A transaction that no one ended is undone by the next one, and an update counts what it found.
pub(crate) async fn what_was_given_up_is_undone<O: SqlOpener>(opener: &O) {
    let mut conn = opener.open().await.unwrap();
    conn.begin(TxKind::Write).await.unwrap();
    let before = counter(&mut conn, 1).await;
    assert_eq!(add(&mut conn, 1, 7).await, Ok(1));
    conn.begin(TxKind::Write).await.unwrap();
    assert_eq!(counter(&mut conn, 1).await, before);
    assert_eq!(add(&mut conn, 1, 0).await, Ok(1), "found, and left as it was");
    assert_eq!(add(&mut conn, 3, 1).await, Ok(0));
    assert_eq!(counter(&mut conn, 3).await, Ok(None));
    conn.rollback().await.unwrap();
    conn.rollback().await.unwrap();
}

/// One statement is all that is sent of a transaction of one; if it wrote and its answer is lost, it is in doubt.
pub(crate) async fn one_statement_is_all_that_is_sent<C: SqlConn>(
    direct: &ServerUrl,
    open: impl AsyncFn(&ServerUrl) -> C,
) {
    let mut witness = open(direct).await;
    let unanswered = Err(Fault::InDoubt(Doubt::CommitUnanswered));
    let proxy = Proxy::before(direct).await;
    let mut conn = open(&proxy.url).await;
    proxy.cut(Cut::Answer);
    conn.begin(TxKind::OneWrite).await.unwrap();
    assert_eq!(add(&mut conn, 1, 10).await, unanswered);
    // It was committed: the doubt was right.
    assert_eq!(counter(&mut witness, 1).await, Ok(Some(10)));

    let proxy = Proxy::before(direct).await;
    let mut conn = open(&proxy.url).await;
    conn.begin(TxKind::OneWrite).await.unwrap();
    assert_eq!(add(&mut conn, 2, 1).await, Ok(1));
    // Whatever is sent from now on is lost.
    proxy.cut(Cut::Now);
    conn.commit().await.unwrap();
    conn.begin(TxKind::OneRead).await.unwrap();
    assert_eq!(counter(&mut conn, 2).await, Err(Fault::InDoubt(Doubt::ConnectionLost)));
    conn.begin(TxKind::OneWrite).await.unwrap();
    assert_eq!(add(&mut conn, 2, 1).await, unanswered);
    assert_eq!(counter(&mut witness, 2).await, Ok(Some(1)));
}

/// Stands between a client and a server, and can end what passes.
pub(crate) struct Proxy {
    pub(crate) url: ServerUrl,
    cut: watch::Sender<Cut>,
}

/// What a proxy lets through.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Cut {
    Nothing,
    /// The next question reaches the server, and its answer is lost.
    Answer,
    /// The connection is closed at once.
    Now,
}

impl Proxy {
    pub(crate) async fn before(url: &ServerUrl) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let (cut, seen) = watch::channel(Cut::Nothing);
        let server = url.place();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&server).await.unwrap();
                tokio::spawn(pass(client, server, seen.clone()));
            }
        });
        Proxy { url: ServerUrl { port, host: "127.0.0.1".into(), socket: None, ..url.clone() }, cut }
    }

    pub(crate) fn cut(&self, cut: Cut) {
        self.cut.send_replace(cut);
    }
}

async fn pass(mut client: TcpStream, mut server: TcpStream, mut cut: watch::Receiver<Cut>) {
    let (mut up, mut down) = ([0; 65_536], [0; 65_536]);
    loop {
        if *cut.borrow_and_update() == Cut::Now {
            return;
        }
        tokio::select! {
            read = client.read(&mut up) => match read {
                Ok(count @ 1..) => server.write_all(&up[..count]).await.unwrap(),
                _ => return,
            },
            read = server.read(&mut down) => match read {
                Ok(count @ 1..) if *cut.borrow() != Cut::Answer => client.write_all(&down[..count]).await.unwrap(),
                _ => return,
            },
            _ = cut.changed() => {}
        }
    }
}
