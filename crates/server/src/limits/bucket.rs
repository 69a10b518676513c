//! The token bucket: so many a second, and so many at once after a silence.
//!
//! It keeps one moment, that of the next free token (the generic cell rate algorithm). Tokens that nobody took lie in
//! the past, a burst of them at most; tokens that were promised lie in the future.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

/// A bucket that is full when it is made.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    /// Between two tokens.
    every_nanos: u64,
    burst: u32,
    /// What moments are counted from.
    began: Instant,
    /// When the next token is free, in nanoseconds; a whole burst is added to all moments, so that none is negative.
    next_nanos: AtomicU64,
}

impl TokenBucket {
    /// So many tokens a second, and a burst of so many; both are at least one.
    pub(crate) fn new(per_sec: u32, burst: u32) -> Self {
        let every_nanos = 1_000_000_000 / u64::from(per_sec.max(1));
        TokenBucket { every_nanos, burst: burst.max(1), began: Instant::now(), next_nanos: AtomicU64::new(0) }
    }

    /// Takes tokens that are free within a time, and says when they are. Where they are not, nothing is taken, and the
    /// error is how long to wait for them. Whoever asks for more than a burst gets all of one.
    pub(crate) fn take(&self, number: u32, now: Instant, wait_max: Duration) -> Result<Instant, Duration> {
        let more = u64::from(number.min(self.burst).saturating_sub(1)) * self.every_nanos;
        let whole_burst = u64::from(self.burst) * self.every_nanos;
        let now_nanos = now.saturating_duration_since(self.began).as_nanos() as u64 + whole_burst;
        let oldest_saved = now_nanos - whole_burst + self.every_nanos;
        let latest = now_nanos.saturating_add(wait_max.as_nanos() as u64);
        let mut last = 0;
        let taken = self.next_nanos.fetch_update(Relaxed, Relaxed, |next| {
            last = next.max(oldest_saved) + more;
            (last <= latest).then_some(last + self.every_nanos)
        });
        let wait = Duration::from_nanos(last.saturating_sub(now_nanos));
        if taken.is_ok() { Ok(now + wait) } else { Err(wait) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_burst_is_there_at_once_and_the_rest_comes_at_its_pace() {
        let bucket = TokenBucket::new(10, 5);
        let now = Instant::now();
        let take = |number, at| bucket.take(number, at, Duration::ZERO);
        assert_eq!(take(5, now), Ok(now));
        assert_eq!(take(1, now), Err(SECOND / 10));
        assert_eq!(bucket.take(3, now, SECOND), Ok(now + SECOND * 3 / 10), "promised");
        assert_eq!(take(1, now + SECOND / 10), Err(SECOND * 3 / 10), "behind the promise");
        let later = now + 9 * SECOND;
        assert_eq!(take(9, later), Ok(later), "no more than a burst");
        assert_eq!(take(1, later), Err(SECOND / 10), "however long the silence was");
    }

    #[test]
    fn what_is_refused_takes_nothing() {
        let bucket = TokenBucket::new(1, 3);
        let now = Instant::now();
        bucket.take(2, now, Duration::ZERO).expect("two of three");
        bucket.take(2, now, Duration::ZERO).expect_err("one is left");
        bucket.take(1, now, Duration::ZERO).expect("it is still there");
    }

    #[test]
    fn threads_that_race_get_no_more_than_there_is() {
        let bucket = TokenBucket::new(1, 1000);
        let now = Instant::now();
        let take = || (0..1000).filter(|_| bucket.take(1, now, Duration::ZERO).is_ok()).count();
        let taken: usize = std::thread::scope(|scope| {
            let threads = [0; 4].map(|_| scope.spawn(take));
            threads.into_iter().map(|thread| thread.join().expect("no panic")).sum()
        });
        assert_eq!(taken, 1000);
    }
}
