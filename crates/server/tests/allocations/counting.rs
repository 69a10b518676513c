//! The system's allocator, which counts what the threads that answer clients ask of it.
#![allow(unsafe_code, reason = "an allocator is unsafe by its nature; this one hands everything on")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::SeqCst};

/// What the names of the threads begin with.
const THREADS: [&str; 3] = ["seenit-pyzor", "seenit-dcc", "seenit-fuzzy"];

pub(crate) struct Counting;

static IS_COUNTING: AtomicBool = AtomicBool::new(false);
static COUNTED: AtomicU64 = AtomicU64::new(0);

thread_local! {
    /// Whether this thread is one of them, once that is known.
    static ANSWERS: Cell<Option<bool>> = const { Cell::new(None) };
}

/// How many allocations those threads make while something goes on.
pub(crate) fn counted(what: impl FnOnce()) -> u64 {
    COUNTED.store(0, SeqCst);
    IS_COUNTING.store(true, SeqCst);
    what();
    IS_COUNTING.store(false, SeqCst);
    COUNTED.load(SeqCst)
}

fn count() {
    if IS_COUNTING.load(SeqCst) && answers() {
        COUNTED.fetch_add(1, SeqCst);
    }
}

fn answers() -> bool {
    ANSWERS.get().unwrap_or_else(|| {
        // Should asking for the name allocate, that asks no more.
        ANSWERS.set(Some(false));
        let answers = std::thread::current().name().is_some_and(|name| THREADS.contains(&name));
        ANSWERS.set(Some(answers));
        answers
    })
}

// SAFETY: all of it is the system's allocator; counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the same contract.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the same contract.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the same contract.
        unsafe { System.realloc(place, layout, bytes) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        // SAFETY: the caller keeps the same contract.
        unsafe { System.dealloc(place, layout) }
    }
}
