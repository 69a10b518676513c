//! How many signatures the own index of a generation holds, and how many it may.
//!
//! Beyond its capacity an index takes absent keys for known ones more often than it promises. So it never holds more:
//! a sighting of a new signature is refused then. That also bounds memory, since large counts take a few bytes more
//! for each signature that has one.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// A sighting cannot be counted: the index holds as many signatures as it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom {
    pub(crate) held: u64,
    pub(crate) most: u64,
}

/// What an index holds. Two threads that count a new signature at once may both be let in: the limit is exceeded by no
/// more than there are threads.
#[derive(Debug)]
pub(crate) struct Room {
    signatures: AtomicU64,
    signatures_max: u64,
    /// Sightings that were refused.
    refused: AtomicU64,
}

impl Room {
    pub(crate) fn new(capacity: u64) -> Self {
        Room { signatures: AtomicU64::new(0), signatures_max: capacity, refused: AtomicU64::new(0) }
    }

    /// Whether a signature that has a count may get more.
    pub(crate) fn check(&self, before: u64) -> Result<(), NoRoom> {
        let (held, most) = (self.signatures.load(Relaxed), self.signatures_max);
        if before == 0 && held >= most { Err(NoRoom { held, most }) } else { Ok(()) }
    }

    /// Notes that it did.
    pub(crate) fn note(&self, before: u64) {
        if before == 0 {
            self.signatures.fetch_add(1, Relaxed);
        }
    }

    /// Notes that a sighting was refused.
    pub(crate) fn note_refused(&self) {
        self.refused.fetch_add(1, Relaxed);
    }

    /// Sightings that were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
}
