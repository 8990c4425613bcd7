//! Evidence that disagrees names no bottleneck, and a thread that is always busy is one.

use super::saturation::find;
use super::tests::{check, on_postgres, sampled, through_http};
use result::Severity::Info;
use result::{Budget, Limits, Role, Setting, Suspect, Throttling, Trial};

const RULE: &str = "saturation";

/// A server's trial on PostgreSQL in which its process kept so many of four cores busy, and its busiest thread one for such a share
/// of the time.
fn served(cores: f64, thread: f64) -> Trial {
    let mut trial = through_http();
    on_postgres(&mut trial);
    (trial.machine.steal_share, trial.machine.other_load_share) = (Some(0.0), Some(0.0));
    trial.writeback = None;
    for (process, used) in trial.processes.iter_mut().zip([0.2, cores]) {
        (process.cpu_user_s, process.cpu_system_s) = (used * trial.measured_s, 0.0);
        process.busiest_thread_s = Some(0.1 * trial.measured_s);
    }
    trial.processes[1].busiest_thread_s = Some(thread * trial.measured_s);
    trial
}

fn suspect(trial: &Trial) -> Suspect {
    find(trial).unwrap().suspect
}

/// "Likely: the engine's CPU limits" stood next to "sessions mostly wait for flushes (88.7 %), 9.3 % running".
#[test]
fn busy_processors_and_sessions_that_wait_for_something_else_name_no_bottleneck() {
    for (state, words) in [
        ("IO:WALSync", "spent 88 % of their time waiting for the log to be flushed: the evidence disagrees"),
        ("Lock:transactionid", "waiting for row locks of other sessions: the evidence disagrees"),
    ] {
        let mut trial = served(3.7, 0.4);
        check(RULE, &trial, Info, "likely the maximum throughput on this machine");
        trial.engine = Some(sampled(&[(state, 0.88), ("running", 0.12)]));
        check(RULE, &trial, Info, words);
        check(RULE, &trial, Info, "all 4 cores of the machine were busy (");
        assert_eq!(suspect(&trial), Suspect::Unknown);
        assert_eq!(find(&trial).unwrap().rule.saturated, None);
    }
    // Where they agree the processors are named.
    let mut trial = served(3.7, 0.4);
    trial.engine = Some(sampled(&[("IO:WALSync", 0.2), ("running", 0.8)]));
    check(RULE, &trial, Info, "likely the maximum throughput on this machine");
}

/// A CPU limit, a busy thread and a full pool were named without a look at what was waited for.
#[test]
fn whatever_is_full_is_weighed_against_what_was_waited_for() {
    type Change = fn(&mut Trial);
    let limited: Change = |trial| {
        trial.processes[1].roles = vec![Role::Engine];
        trial.processes[1].limits = Some(Limits { cpu: Some(1.0), memory_bytes: None, throttling: None });
    };
    let limited_server: Change = |trial| {
        trial.processes[1].roles = vec![Role::Server];
        trial.processes[1].limits = Some(Limits { cpu: Some(1.0), memory_bytes: None, throttling: None });
    };
    let flushes: Change = |trial| trial.engine = Some(sampled(&[("IO:WALSync", 0.88), ("running", 0.12)]));
    let locks: Change = |trial| trial.engine = Some(sampled(&[("Lock:tuple", 0.83), ("running", 0.17)]));
    let commits: Change = |trial| spend(trial, |budget| &mut budget.commit_ns);
    let queued: Change = |trial| spend(trial, |budget| &mut budget.pool_wait_ns);
    let one_thread: Change = |trial| trial.processes[1].busiest_thread_s = Some(trial.measured_s);
    for (full, waits, suspect_alone, words) in [
        (
            limited,
            flushes,
            Suspect::Limit,
            "used all the CPU time that its limit of 1 core gives, but sessions",
        ),
        (limited, locks, Suspect::Limit, "waiting for row locks of other sessions: the evidence disagrees"),
        (
            limited_server,
            commits,
            Suspect::Limit,
            "gives, but calls spent 80 % of their time in commit: the evid",
        ),
        (
            one_thread,
            commits,
            Suspect::ServerThread,
            "of the time, but calls spent 80 % of their time in commit",
        ),
        (queued, locks, Suspect::Pool, "waiting for a connection, but sessions of the engine spent 83 % of"),
    ] {
        let mut trial = served(1.0, 0.3);
        full(&mut trial);
        assert_eq!(suspect(&trial), suspect_alone, "{words}");
        waits(&mut trial);
        check(RULE, &trial, Info, words);
        assert_eq!(suspect(&trial), Suspect::Unknown, "{words}");
        assert_eq!(find(&trial).unwrap().rule.saturated, None);
    }
    // What the scheduler counted is no inference, and a server that is held back takes longer for its commits too.
    let mut trial = served(1.0, 0.3);
    limited_server(&mut trial);
    commits(&mut trial);
    let held = Throttling { periods: 100, throttled_periods: 90, throttled_s: 4.0 };
    trial.processes[1].limits.as_mut().unwrap().throttling = Some(held);
    assert_eq!(suspect(&trial), Suspect::Limit);
    // More connections share a flush.
    let mut trial = served(1.0, 0.3);
    queued(&mut trial);
    flushes(&mut trial);
    assert_eq!(suspect(&trial), Suspect::Pool);
}

/// Calls that spend 80 % of their response time in one part of it.
fn spend(trial: &mut Trial, part: fn(&mut Budget) -> &mut f64) {
    let budget = trial.overall.budget.as_mut().unwrap();
    *part(budget) = budget.response_ns * 0.8;
    *budget = budget.balanced();
}

/// Of a server with one thread was said that nothing was full, at 4, 8 and 16 clients with one rate.
#[test]
fn a_thread_of_the_server_that_is_busy_all_the_time_is_full() {
    let trial = served(1.1, 0.97);
    check(RULE, &trial, Info, "one thread of ");
    check(RULE, &trial, Info, "busy 97 % of the time");
    assert_eq!(suspect(&trial), Suspect::ServerThread);
    // A thread for each client: more clients bring more threads.
    let mut each = served(1.0, 0.97);
    each.plan.clients = 1;
    assert_ne!(suspect(&each), Suspect::ServerThread);
    // Nearly full: what more clients could bring is bounded by it.
    let nearly = served(1.0, 0.84);
    check(RULE, &nearly, Info, "is nearly full; more clients could bring at most 19 % more throughput");
    assert_eq!(suspect(&nearly), Suspect::ServerThread);
    // Not counted by this system.
    let mut unknown = served(1.1, 0.97);
    unknown.processes[1].busiest_thread_s = None;
    assert_ne!(suspect(&unknown), Suspect::ServerThread);
}

#[test]
fn with_a_session_for_each_client_none_waits_for_one() {
    let mut trial = served(1.0, 0.3);
    let budget = trial.overall.budget.as_mut().unwrap();
    budget.server_queue_ns = budget.response_ns * 0.7;
    *budget = budget.balanced();
    let clients = trial.plan.clients;
    let sessions = |trial: &mut Trial, count: u32| {
        trial.stack.settings.retain(|setting| setting.name != "sessions");
        trial.stack.settings.push(Setting { name: "sessions".into(), value: count.to_string() });
    };
    sessions(&mut trial, clients - 1);
    check(RULE, &trial, Info, "waiting for a session of the server");
    assert_eq!(suspect(&trial), Suspect::Pool);
    sessions(&mut trial, clients);
    assert_ne!(suspect(&trial), Suspect::Pool);
}
