//! The time that a thread works. What else the machine does in the meantime is not counted.

use std::time::Duration;
#[cfg(not(target_os = "linux"))]
use std::time::Instant;

/// Started, and asked for what has been spent since.
pub(super) struct Stopwatch {
    #[cfg(target_os = "linux")]
    start: Duration,
    #[cfg(not(target_os = "linux"))]
    start: Instant,
}

#[cfg(target_os = "linux")]
impl Stopwatch {
    pub(super) fn start() -> Self {
        Stopwatch { start: of_thread() }
    }

    pub(super) fn spent(&self) -> Duration {
        of_thread().saturating_sub(self.start)
    }
}

/// Of the processor, by this thread, since it began.
#[cfg(target_os = "linux")]
fn of_thread() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// Elsewhere, what a clock on the wall says.
#[cfg(not(target_os = "linux"))]
impl Stopwatch {
    pub(super) fn start() -> Self {
        Stopwatch { start: Instant::now() }
    }

    pub(super) fn spent(&self) -> Duration {
        self.start.elapsed()
    }
}
