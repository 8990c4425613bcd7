//! Several stores cost no allocation a call, and neither do answers that are large.
#![expect(unsafe_code, reason = "a counting allocator must implement an unsafe trait; it only passes on")]

use crate::stores::{Bank, HOW_RUSQLITE, load};
use contract::Wire as _;
use model::{CallWork, Inputs as _, Session, Target, Workload as _};
use sql::SqliteUrl;
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use targets::{How, Style, target, wait_for};
use workload::Streams;
use workload_catalogue::{Cardinality, FoodCatalogue};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more, and makes no calls either.
    let _ = ALLOCATIONS.try_with(|allocations| allocations.set(allocations.get() + 1));
}

// SAFETY: every method passes its arguments on to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.realloc(pointer, layout, size) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the caller's promise is passed on.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Calls before what is made once has been made.
const SETTLING: u32 = 200;
const CALLS: u32 = 1_000;
/// What happens once in a while may fall into a round; what a call does is in each.
const ROUNDS: u32 = 5;

/// The fewest allocations of our thread in a round of calls.
fn allocations(shards: u32) -> u64 {
    let bank = Bank::new(shards);
    let target = bank.target(HOW_RUSQLITE);
    wait_for(async {
        let (mut session, mut inputs) = (target.open(0).await.unwrap(), bank.inputs());
        let mut calls = async |count: u32| {
            let before = ALLOCATIONS.get();
            for _ in 0..count {
                session.run(&inputs.draw(), &mut CallWork::default()).await.unwrap();
            }
            ALLOCATIONS.get() - before
        };
        calls(SETTLING).await;
        let mut fewest = u64::MAX;
        for _ in 0..ROUNDS {
            fewest = fewest.min(calls(CALLS).await);
        }
        fewest
    })
    .unwrap()
}

#[test]
fn a_call_of_one_store_or_of_several_allocates_nothing() {
    for shards in [1, 2] {
        assert_eq!(allocations(shards), 0, "{shards} stores");
    }
}

/// In every form, however much is read: what is kept of an answer is a digest. Of the same answers as a server gives them
/// nothing is allocated either.
#[test]
fn a_call_of_the_catalogue_allocates_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let size = Cardinality::tiny();
    let url = SqliteUrl {
        synchronous: sql::Synchronous::Off,
        ..SqliteUrl::file(folder.path().join("catalogue.db"))
    };
    load::<FoodCatalogue>(url.clone().into(), &size);
    for style in [Style::Plain, Style::Levels, Style::Nested] {
        let target = target::<FoodCatalogue>(How { style, ..HOW_RUSQLITE }, &url.clone().into()).unwrap();
        wait_for(async {
            let mut session = target.open(0).await.unwrap();
            let mut inputs = workload::inputs::<FoodCatalogue>(
                &size,
                &Streams { seed: 7, ..Streams::default() },
            )(style as u32);
            let mut fewest = u64::MAX;
            for round in 0..=ROUNDS {
                let before = ALLOCATIONS.get();
                for _ in 0..CALLS {
                    let call = inputs.draw();
                    let outcome = session.run(&call, &mut CallWork::default()).await.unwrap();
                    FoodCatalogue::check(&call, &outcome).and(inputs.check(&call, &outcome)).unwrap();
                }
                if round > 0 {
                    fewest = fewest.min(ALLOCATIONS.get() - before);
                }
            }
            assert_eq!(fewest, 0, "{style:?}");
        })
        .unwrap();
    }
    let mut oracle = workload_catalogue::Oracle::new(size);
    let mut inputs = workload::inputs::<FoodCatalogue>(&size, &Streams { seed: 8, ..Streams::default() })(0);
    for _ in 0..CALLS {
        let call = inputs.draw();
        let outcome = oracle.answer(&call);
        let (mut body, status) = (Vec::new(), FoodCatalogue::status(&outcome));
        FoodCatalogue::encode_outcome(&outcome, &mut body);
        let answer = contract::Answer { status, is_problem: status >= 400, headers: &(), body: &body };
        let before = ALLOCATIONS.get();
        let read =
            FoodCatalogue::is_outcome(&call, &answer).then(|| FoodCatalogue::decode_outcome(&call, &answer));
        let allocated = ALLOCATIONS.get() - before;
        assert_eq!((read.unwrap().unwrap().reply, allocated), (outcome.reply, 0), "{call:?}");
        inputs.check(&call, &outcome).unwrap();
    }
}
