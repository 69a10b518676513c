//! How long an input may take: one that costs far more than its length is a way to keep a server busy.
//!
//! The time is that of the thread's own work, so that a busy machine is no finding.

use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};

/// The most time for each byte that is worked on: 1 s for a megabyte, though targets carry coverage counters and check
/// every law besides.
const NANOS_PER_BYTE: u64 = 1_000;

/// What any input may take, however short.
const FLOOR: Duration = Duration::from_millis(100);

/// Checks an input, and how long that takes.
///
/// # Panics
/// When it takes too long, or a law is broken.
pub fn bounded(input: &[u8], check: impl FnOnce(&[u8])) {
    bounded_by_work(|| {
        check(input);
        input.len()
    });
}

/// Does a piece of work that says how many bytes it was: more than the input, where that was unpacked.
///
/// # Panics
/// When it takes too long, or a law is broken.
pub fn bounded_by_work(work: impl FnOnce() -> usize) {
    let start = worked();
    let bytes = work();
    let took = worked().saturating_sub(start);
    let allowed = FLOOR.max(Duration::from_nanos(NANOS_PER_BYTE.saturating_mul(bytes as u64)));
    assert!(took <= allowed, "slow: {bytes} bytes took {took:?} of the processor, and may take {allowed:?}");
}

/// How long this thread has had a processor.
fn worked() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}
