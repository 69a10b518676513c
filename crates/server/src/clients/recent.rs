//! Datagrams that came a moment ago: what a network delivers twice must not count twice.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use lru::LruCache;

/// Copies of one datagram arrive within moments; who asks again on purpose waits longer or changes something in it.
const COPIES_WITHIN: Duration = Duration::from_secs(10);

/// Datagrams that are remembered: more than are written in that time by all that may.
const DATAGRAMS_MAX: NonZeroUsize = NonZeroUsize::new(1 << 14).expect("not zero");

/// Datagrams that came a moment ago.
pub(crate) struct Recent {
    hasher: RandomState,
    seen: Mutex<LruCache<u64, Instant>>,
}

impl Recent {
    pub(crate) fn new() -> Self {
        Recent { hasher: RandomState::new(), seen: Mutex::new(LruCache::new(DATAGRAMS_MAX)) }
    }

    /// Whether this very datagram came from there a moment ago. It is remembered now.
    pub(crate) fn is_copy(&self, from: SocketAddr, datagram: &[u8]) -> bool {
        let (key, now) = (self.hasher.hash_one((from, datagram)), Instant::now());
        let before = self.seen.lock().unwrap_or_else(PoisonError::into_inner).put(key, now);
        before.is_some_and(|before| now.duration_since(before) < COPIES_WITHIN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_bytes_from_the_same_place_are_a_copy_and_nothing_else_is() {
        let recent = Recent::new();
        let from = |port| SocketAddr::from(([192, 0, 2, 1], port));
        assert!(!recent.is_copy(from(1), b"a report"));
        assert!(recent.is_copy(from(1), b"a report"));
        assert!(!recent.is_copy(from(2), b"a report"));
        assert!(!recent.is_copy(from(1), b"another report"));
        assert!(
            (0..DATAGRAMS_MAX.get() as u32).all(|number| !recent.is_copy(from(3), &number.to_le_bytes()))
        );
        assert!(!recent.is_copy(from(1), b"a report"), "forgotten: there is no more room");
    }
}
