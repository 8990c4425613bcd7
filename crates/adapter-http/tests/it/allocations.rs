//! A call that goes well allocates nothing on our side. The count is of the thread that makes the calls, on which everything
//! of ours runs: the server of this test has another, and other tests have theirs.

#![expect(unsafe_code, reason = "a counting allocator cannot be written without; it only forwards")]

use crate::toy::foods::{self, Foods};
use crate::toy::{Add, Toy};
use adapter_http::{Expected, HttpTarget};
use contract::Wire;
use model::{CallWork, Session, Target};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::io::{Read, Write};

const ROUNDS_MAX: usize = 5;

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more, and makes no calls either.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

// SAFETY: forwards to the system's allocator, which keeps the promises; counting touches no memory of the
// caller.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promises are passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }

    unsafe fn realloc(&self, memory: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: as above.
        unsafe { System.realloc(memory, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Answers without allocating, at once and always the same.
fn serve(listener: &std::net::TcpListener, about: &[u8], health: &[u8], right: &[u8]) {
    for stream in listener.incoming() {
        let mut stream = stream.unwrap();
        stream.set_nodelay(true).unwrap();
        let mut buffer = [0; 1024];
        while let Ok(bytes @ 1..) = stream.read(&mut buffer) {
            let answer = match &buffer[..bytes] {
                request if request.starts_with(b"GET /about") => about,
                request if request.starts_with(b"GET /health") => health,
                _ => right,
            };
            stream.write_all(answer).unwrap();
        }
    }
}

/// An answer with a body, `Server-Timing` and this status.
fn answer(status: &str, body: &str) -> Vec<u8> {
    let timing = "server-timing: queue;dur=0.1, query;dur=0.2, total;dur=0.3\r\nstackmark-work: attempts=1, rows=3\r\n\
        stackmark-statements: look;n=1;dur=0.05, add;n=2;dur=0.1\r\netag: \"1\"";
    format!(
        "HTTP/1.1 {status}\r\n{timing}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}

/// Makes calls that are all answered with `right`, and holds the sum of what they allocate to nothing.
fn check<W: Wire>(calls: &[W::Call], right: Vec<u8>) {
    let name = W::NAME;
    let about = answer(
        "200 OK",
        &format!(
            r#"{{"name":"x","version":"1","contract":"{name}/1","workload":"{name}","scale":1,"pool":1,"stack":
        {{"engine":"","engine_version":"","adapter":"","adapter_version":"","style":"","route":"","server":null,
        "isolation":"","durability":{{"tier":"volatile","detail":""}},"settings":[]}}}}"#
        ),
    );
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || serve(&listener, &about, &answer("200 OK", "{}"), &right));

    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let target = HttpTarget::<W>::reach(&url, &Expected::default()).await.unwrap();
        let mut session = target.open(0).await.unwrap();
        let mut work = CallWork::default();
        // The first calls grow the request's buffer and the runtime's queues.
        for call_number in 0..100 {
            work.clocked = call_number % 2 == 0;
            session.run(&calls[call_number % calls.len()], &mut work).await.map(drop).unwrap();
        }
        // What else happens in this process is counted too, once in a while; what a call does is seen in every round.
        let mut rounds = Vec::new();
        while rounds.len() < ROUNDS_MAX && rounds.last() != Some(&0) {
            let before = ALLOCATIONS.get();
            for call_number in 0..1_000 {
                // With clocks and without, as in a trial.
                work.clocked = call_number % 2 == 0;
                let call = &calls[call_number % calls.len()];
                let outcome = session.run(call, &mut work).await.map_err(|_| ()).unwrap();
                W::check(call, &outcome).unwrap();
            }
            rounds.push(ALLOCATIONS.get() - before);
        }
        assert_eq!(rounds.last(), Some(&0), "{rounds:?}");
        let made = 100 + 1_000 * rounds.len() as u32;
        assert_eq!((work.attempts, work.rows), (made, 3 * made));
    });
}

#[test]
fn a_call_that_goes_well_allocates_nothing() {
    check::<Toy>(&[Add { a: 1, b: 2 }], answer("200 OK", r#"{"sum":3}"#));
}

#[test]
fn ids_headers_and_a_declined_call_allocate_nothing_either() {
    let calls = [foods::Call::Look { food: 123 }, foods::Call::Take { food: 4, seen: 56, key: 789 }];
    check::<Foods>(&calls, answer("409 Conflict", "0"));
}
