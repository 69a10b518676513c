//! Datagrams that came a moment ago: what a network delivers twice must not count twice.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// Copies of one datagram arrive within moments, and rspamd repeats what got no answer after two seconds; who asks
/// again on purpose waits longer or changes something in it.
const COPIES_WITHIN: Duration = Duration::from_secs(10);

/// Places for datagrams in one bucket.
const WAYS: usize = 8;

/// Buckets. Of 16,000 datagrams that come between the two copies of one, one in a thousand makes the table forget the
/// first; it takes 1.1 MB in all, and no allocation for a datagram.
const BUCKETS: usize = 1 << 13;

/// Datagrams that came a moment ago.
pub(crate) struct Recent {
    within: Duration,
    hasher: RandomState,
    began: Instant,
    buckets: Box<[Mutex<[Came; WAYS]>]>,
}

/// A datagram that came: a hash of it, and when, in milliseconds since the table was made.
#[derive(Clone, Copy, Default)]
struct Came {
    hash: u64,
    millis: u64,
}

impl Recent {
    /// For copies of datagrams.
    pub(crate) fn new() -> Self {
        Recent::within(COPIES_WITHIN)
    }

    /// For what came within such a time.
    pub(crate) fn within(within: Duration) -> Self {
        Recent::with_buckets(BUCKETS, within)
    }

    fn with_buckets(number: usize, within: Duration) -> Self {
        let buckets = (0..number).map(|_| Mutex::default()).collect();
        // So that a place that was never used is too old for anything.
        let began = Instant::now().checked_sub(within).unwrap_or_else(Instant::now);
        Recent { within, hasher: RandomState::new(), began, buckets }
    }

    fn came(&self, from: SocketAddr, datagram: &[u8]) -> Came {
        Came { hash: self.hasher.hash_one((from, datagram)), millis: self.began.elapsed().as_millis() as u64 }
    }

    fn bucket(&self, came: Came) -> MutexGuard<'_, [Came; WAYS]> {
        let bucket = &self.buckets[came.hash as usize % self.buckets.len()];
        bucket.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_recent(&self, before: Came, now: Came) -> bool {
        now.millis.saturating_sub(before.millis) < self.within.as_millis() as u64
    }

    /// Whether this very datagram came from there a moment ago.
    pub(crate) fn has(&self, from: SocketAddr, datagram: &[u8]) -> bool {
        let came = self.came(from, datagram);
        self.bucket(came).iter().any(|one| one.hash == came.hash && self.is_recent(*one, came))
    }

    /// It came now.
    pub(crate) fn note(&self, from: SocketAddr, datagram: &[u8]) {
        self.is_copy(from, datagram);
    }

    /// Whether it came a moment ago, and it is remembered now, in place of the oldest one.
    pub(crate) fn is_copy(&self, from: SocketAddr, datagram: &[u8]) -> bool {
        let came = self.came(from, datagram);
        let mut bucket = self.bucket(came);
        let known = bucket.iter().position(|one| one.hash == came.hash);
        let oldest = || (0..WAYS).min_by_key(|&place| bucket[place].millis).unwrap_or(0);
        let place = known.unwrap_or_else(oldest);
        let before = std::mem::replace(&mut bucket[place], came);
        known.is_some() && self.is_recent(before, came)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(port: u16) -> SocketAddr {
        SocketAddr::from(([192, 0, 2, 1], port))
    }

    #[test]
    fn the_same_bytes_from_the_same_place_are_a_copy_and_nothing_else_is() {
        let recent = Recent::new();
        assert!(!recent.is_copy(from(1), b"a report"));
        assert!(recent.is_copy(from(1), b"a report"));
        assert!(!recent.is_copy(from(2), b"a report"));
        assert!(!recent.is_copy(from(1), b"another report"));
        assert!((0..10_000_u32).all(|number| !recent.is_copy(from(3), &number.to_le_bytes())));
    }

    #[test]
    fn to_look_for_something_does_not_make_it_come_and_it_is_forgotten_in_time() {
        let recent = Recent::within(Duration::from_secs(2));
        assert!(!recent.has(from(1), b"a part") && !recent.has(from(1), b"a part"));
        assert!(!recent.is_copy(from(1), b"a part"));
        assert!(recent.has(from(1), b"a part") && !recent.has(from(2), b"a part"));
        std::thread::sleep(Duration::from_millis(2100));
        assert!(!recent.has(from(1), b"a part"));
    }

    #[test]
    fn the_oldest_of_a_bucket_is_forgotten_first() {
        let recent = Recent::with_buckets(1, COPIES_WITHIN);
        assert!(!recent.is_copy(from(1), b"a report"));
        std::thread::sleep(Duration::from_millis(5));
        assert!((1..WAYS as u8).all(|number| !recent.is_copy(from(2), &[number])));
        assert!(recent.is_copy(from(1), b"a report"), "there is room for as many");
        std::thread::sleep(Duration::from_millis(5));
        assert!((0..WAYS as u8).all(|number| !recent.is_copy(from(3), &[number])));
        assert!(!recent.is_copy(from(1), b"a report"), "forgotten: there is no more room");
    }
}
