//! TPC-C through the real server and the real client, in this process: the answers are right, the calls and the work are
//! those of the direct route, and the server's account of its time is whole.

#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use model::{CallWork, Inputs as _, Session, Target, Verdict, Workload};
use stackmark_tests::calls::{Log, Recorded, drive_tpcc, inputs, now, runtime};
use stackmark_tests::served::Served;
use stackmark_tests::store::Store;
use workload_tpcc::conformance::{ConformancePlan, agree, conform};
use workload_tpcc::{Call, Tpcc};

const SEED: u64 = 11;

#[test]
fn tpcc_through_http_answers_what_the_vectors_and_the_oracle_say() {
    let store = Store::tiny();
    let served = Served::start(store.target(), store.size, 4);
    let target = served.target();
    let plan = ConformancePlan::golden(20, 2_000);
    let done = runtime().block_on(async {
        let mut session = target.open(0).await.unwrap();
        conform(&mut session, &plan).await.unwrap_or_else(|wrong| panic!("{wrong}"))
    });
    assert_eq!((done.golden > 60, done.random), (true, 2_000));
    assert!(done.rejected > 0 && done.declined > 0, "the ways to say no were not asked for: {done:?}");
    drop(target);
    assert_eq!(served.log(), [""; 0], "the server complained");
    drop(served);
    store.assert_sound();
}

/// The calls that reach the sessions of each home warehouse, in order, from one worker a warehouse.
fn reaching(http: bool, calls: u64) -> [Vec<Call>; 2] {
    let store = Store::tiny();
    let log = Log::default();
    let target = Recorded { target: store.target(), log: log.clone() };
    let trial = if http {
        let served = Served::start(target, store.size, 2);
        drive_tpcc(&store, served.target(), 2, calls, SEED)
    } else {
        drive_tpcc(&store, target, 2, calls, SEED)
    };
    assert_eq!(trial.failure, None);
    let all = log.lock().unwrap();
    assert!(all.len() as u64 >= calls, "{} calls arrived", all.len());
    [1, 2].map(|w_id| all.iter().filter(|call| home(call) == w_id).cloned().collect())
}

fn home(call: &Call) -> u32 {
    match call {
        Call::NewOrder(call) => call.w_id,
        Call::Payment(call) => call.w_id,
        Call::OrderStatus(call) => call.w_id,
        Call::Delivery(call) => call.w_id,
        Call::StockLevel(call) => call.w_id,
    }
}

#[test]
fn the_same_seed_sends_the_same_calls_on_both_routes() {
    let (direct, through_http) = (reaching(false, 1_000), reaching(true, 1_000));
    for (direct, through_http) in direct.iter().zip(&through_http) {
        // Which worker was ahead when the trial ended is chance; what each sent is not.
        let common = direct.len().min(through_http.len());
        assert!(common > 100, "a worker made {common} calls only");
        assert_eq!(direct[..common], through_http[..common]);
    }
}

#[test]
fn each_call_takes_the_same_work_and_has_the_same_answer_on_both_routes() {
    let stores = [Store::tiny(), Store::tiny()];
    let served = Served::start(stores[1].target(), stores[1].size, 1);
    let (direct, through_http) = (stores[0].target(), served.target());
    let runtime = runtime();
    let mut direct = now(direct.open(0)).unwrap();
    let mut through_http = runtime.block_on(through_http.open(0)).unwrap();
    let mut stream = inputs(&stores[0], SEED, 0);
    let mut sums = [[0_u32; 3]; 5];
    for _ in 0..2_000 {
        let call = stream.draw();
        let (mut here, mut there) = (CallWork::default(), CallWork::default());
        let (expected, found) =
            (now(direct.run(&call, &mut here)), runtime.block_on(through_http.run(&call, &mut there)));
        let (expected, found) = (expected.unwrap(), found.unwrap());
        agree(&expected, &found).unwrap_or_else(|what| panic!("{call:?}: {what}"));
        let work = |work: &CallWork| (work.attempts, work.statements, work.rows, work.commits);
        assert_eq!(work(&here), work(&there), "{call:?}");
        let committed = u32::from(Tpcc::verdict(&expected) == Verdict::Committed);
        assert_eq!((here.attempts, here.commits), (1, committed), "{call:?}");
        let sum = &mut sums[Tpcc::kind(&call)];
        sum.iter_mut().zip([here.statements, here.rows, 1]).for_each(|(sum, more)| *sum += more);
    }
    for (kind, [statements, rows, calls]) in Tpcc::KINDS.iter().zip(sums) {
        assert!(calls > 50 && statements >= calls && rows >= calls, "{}: {sums:?}", kind.name);
    }
    // Zero attempts or statements on both routes would be alike, too: an order of ten lines takes 5 and 4 a line.
    let [statements, _, orders] = sums[0];
    assert!((35..55).contains(&(statements / orders)), "{sums:?}");
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

#[test]
fn the_parts_of_the_server_s_time_add_up_to_its_total() {
    // A flush takes nearly all of a call that writes, however fast disk and processor are.
    let slow = "journal=truncate&synchronous=full&shared_memory=off&sync_delay=5ms";
    let store = Store::new(workload_tpcc::Cardinality::tiny(), slow);
    let served = Served::start(store.target(), store.size, 4);
    let target = served.target();
    let runtime = runtime();
    let mut session = runtime.block_on(target.open(0)).unwrap();
    let mut stream = inputs(&store, SEED, 0);
    let mut covered = Vec::new();
    for _ in 0..100 {
        let call = stream.draw();
        let mut work = CallWork::default();
        runtime.block_on(session.run(&call, &mut work)).unwrap();
        let (parts, total) = (work.spent.parts(), work.spent.server);
        assert!(parts <= total, "{call:?}: parts of {parts:?} in {total:?}");
        assert!(work.spent.commit.0 > 0 && work.spent.statements.0 > 0, "{work:?}");
        if matches!(call, Call::NewOrder(_) | Call::Payment(_) | Call::Delivery(_)) {
            covered.push(parts.0 as f64 / total.0 as f64);
        }
    }
    // The median, because a busy machine may take the processor away between two readings of the clock.
    let covered = median(covered);
    assert!(covered >= 0.98, "the parts cover {:.1} % of the total", covered * 100.0);
}
