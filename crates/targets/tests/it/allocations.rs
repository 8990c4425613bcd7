//! Several stores cost no allocation a call.
#![expect(unsafe_code, reason = "a counting allocator must implement an unsafe trait; it only passes on")]

use crate::stores::{Bank, HOW_RUSQLITE, HOW_SQLX};
use model::{Effort, Inputs as _, Session, Target};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use targets::{How, wait_for};

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
fn allocations(how: How, shards: u32) -> u64 {
    let bank = Bank::new(shards);
    let target = bank.target(how);
    wait_for(async {
        let (mut session, mut inputs) = (target.open(0).await.unwrap(), bank.inputs());
        let mut calls = async |count: u32| {
            let before = ALLOCATIONS.get();
            for _ in 0..count {
                session.run(&inputs.draw(), &mut Effort::default()).await.unwrap();
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
fn a_call_of_one_store_or_of_several_allocates_what_its_driver_does() {
    for shards in [1, 2] {
        assert_eq!(allocations(HOW_RUSQLITE, shards), 0, "{shards} stores");
    }
    // This driver allocates in each call, and where its session lies changes nothing of that: a call more or less a round.
    let (one, two) = (allocations(HOW_SQLX, 1), allocations(HOW_SQLX, 2));
    assert!(two < one + u64::from(CALLS) / 10, "{one} on one store, {two} on two");
}
