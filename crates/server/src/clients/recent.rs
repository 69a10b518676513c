//! Datagrams that came a moment ago: what a network delivers twice must not count twice.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::sync::{Mutex, PoisonError};
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
    pub(crate) fn new() -> Self {
        Recent::with_buckets(BUCKETS)
    }

    fn with_buckets(number: usize) -> Self {
        let buckets = (0..number).map(|_| Mutex::default()).collect();
        // So that a place that was never used is too old for anything.
        let began = Instant::now().checked_sub(COPIES_WITHIN).unwrap_or_else(Instant::now);
        Recent { hasher: RandomState::new(), began, buckets }
    }

    /// Whether this very datagram came from there a moment ago. It is remembered now, in place of the oldest one.
    pub(crate) fn is_copy(&self, from: SocketAddr, datagram: &[u8]) -> bool {
        let came = Came {
            hash: self.hasher.hash_one((from, datagram)),
            millis: self.began.elapsed().as_millis() as u64,
        };
        let bucket = &self.buckets[came.hash as usize % self.buckets.len()];
        let mut bucket = bucket.lock().unwrap_or_else(PoisonError::into_inner);
        let known = bucket.iter().position(|one| one.hash == came.hash);
        let oldest = || (0..WAYS).min_by_key(|&place| bucket[place].millis).unwrap_or(0);
        let place = known.unwrap_or_else(oldest);
        let before = std::mem::replace(&mut bucket[place], came);
        known.is_some() && came.millis.saturating_sub(before.millis) < COPIES_WITHIN.as_millis() as u64
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
    fn the_oldest_of_a_bucket_is_forgotten_first() {
        let recent = Recent::with_buckets(1);
        assert!(!recent.is_copy(from(1), b"a report"));
        std::thread::sleep(Duration::from_millis(5));
        assert!((1..WAYS as u8).all(|number| !recent.is_copy(from(2), &[number])));
        assert!(recent.is_copy(from(1), b"a report"), "there is room for as many");
        std::thread::sleep(Duration::from_millis(5));
        assert!((0..WAYS as u8).all(|number| !recent.is_copy(from(3), &[number])));
        assert!(!recent.is_copy(from(1), b"a report"), "forgotten: there is no more room");
    }
}
