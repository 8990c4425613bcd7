//! Counts the allocations of each thread.
#![expect(unsafe_code, reason = "a counting allocator must implement an unsafe trait; it only passes on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

/// The system's allocator, counted.
pub(crate) struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    static CALLS: Cell<u64> = const { Cell::new(0) };
    static BEFORE: Cell<u64> = const { Cell::new(0) };
}

/// Enters a call of this thread, and gives how many there were since the first `settled` ones, and how often memory was
/// taken from the allocator meanwhile.
pub(crate) fn so_far(settled: u64) -> Option<(u64, u64)> {
    let calls = CALLS.get() + 1;
    CALLS.set(calls);
    let allocations = ALLOCATIONS.get();
    if calls <= settled {
        BEFORE.set(allocations);
        return None;
    }
    Some((calls - settled, allocations - BEFORE.get()))
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

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller's promise is passed on.
        unsafe { System.alloc_zeroed(layout) }
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
