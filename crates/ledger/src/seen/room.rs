//! How many signatures the own index of a generation holds, and how many it may.
//!
//! Beyond its capacity an index takes absent keys for known ones more often than it promises. So it never holds more:
//! a sighting of a new signature is refused then. Small counts lie in the index itself, large ones in tables that
//! grow: so those have a limit of their own, which bounds memory.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

/// Signatures with large counts, in percent of the capacity. Few messages have so many recipients.
const LARGE_PERCENT: u64 = 10;

/// The least count that is large: what a cell of few bits does not hold.
const LARGE_FROM: u64 = 8;

/// Why a sighting cannot be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// The index holds as many signatures as it was made for.
    Signatures { held: u64, most: u64 },
    /// As many signatures as may have `from` recipients or more.
    Large { held: u64, most: u64, from: u64 },
}

/// What an index holds. Two threads that count a new signature at once may both be let in: the limits are exceeded by
/// no more than there are threads.
#[derive(Debug)]
pub(crate) struct Room {
    signatures: AtomicU64,
    signatures_max: u64,
    large: AtomicU64,
    /// Sightings that were refused.
    refused: AtomicU64,
}

impl Room {
    pub(crate) fn new(capacity: u64) -> Self {
        let zero = || AtomicU64::new(0);
        Room { signatures: zero(), signatures_max: capacity, large: zero(), refused: zero() }
    }

    /// Whether a signature that has a count may get `more`.
    pub(crate) fn check(&self, before: u64, more: u64) -> Result<(), NoRoom> {
        let (held, most) = (self.signatures.load(Relaxed), self.signatures_max);
        if before == 0 && held >= most {
            return Err(NoRoom::Signatures { held, most });
        }
        let (held, most) = (self.large.load(Relaxed), self.signatures_max / 100 * LARGE_PERCENT);
        if becomes_large(before, more) && held >= most {
            return Err(NoRoom::Large { held, most, from: LARGE_FROM });
        }
        Ok(())
    }

    /// Notes that it did.
    pub(crate) fn note(&self, before: u64, more: u64) {
        if before == 0 {
            self.signatures.fetch_add(1, Relaxed);
        }
        if becomes_large(before, more) {
            self.large.fetch_add(1, Relaxed);
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

fn becomes_large(before: u64, more: u64) -> bool {
    before < LARGE_FROM && before.saturating_add(more) >= LARGE_FROM
}
