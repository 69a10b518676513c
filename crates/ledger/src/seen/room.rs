//! An index that holds as many signatures as it was made for.
//!
//! Beyond its capacity an index takes absent keys for known ones more often than it promises. So it never holds more:
//! a sighting of a new signature is refused then. That also bounds memory, since large counts take a few bytes more
//! for each signature that has one.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use seenit_filter::GeometryError;
use seenit_filter::sightings::{AnySeen, Fingerprint, SeenIndex, Structure};

/// A sighting cannot be counted: the index holds as many signatures as it was made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoRoom {
    pub(crate) held: u64,
    pub(crate) most: u64,
}

/// An index and what it holds. Two threads that count a new signature at once may both be let in: the limit is exceeded
/// by no more than there are threads.
pub(crate) struct BoundedIndex {
    pub(crate) index: AnySeen,
    capacity: u64,
    signatures: AtomicU64,
    refused: AtomicU64,
}

impl BoundedIndex {
    pub(crate) fn new(structure: Structure, capacity: u64) -> Result<Self, GeometryError> {
        let signatures = AtomicU64::new(0);
        let refused = AtomicU64::new(0);
        Ok(BoundedIndex { index: AnySeen::new(structure, capacity)?, capacity, signatures, refused })
    }

    /// What a signature has, if it may get more.
    pub(crate) fn admit(&self, fingerprint: Fingerprint) -> Result<u64, NoRoom> {
        let before = self.index.count(fingerprint).value;
        let held = self.signatures.load(Relaxed);
        let most = self.capacity;
        if before == 0 && held >= most {
            self.refused.fetch_add(1, Relaxed);
            return Err(NoRoom { held, most });
        }
        Ok(before)
    }

    /// Notes that a signature that had so many got more.
    pub(crate) fn note(&self, before: u64) {
        if before == 0 {
            self.signatures.fetch_add(1, Relaxed);
        }
    }

    /// Sightings that were refused.
    pub(crate) fn refused(&self) -> u64 {
        self.refused.load(Relaxed)
    }
}
