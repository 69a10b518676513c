//! How many signatures the cells of a generation hold, and how many they may.
//!
//! Beyond their capacity cells take new signatures for known ones, with counts as high as those that were counted. So
//! they never hold more: a sighting of a new signature is refused then. Small counts lie in the cells themselves, large
//! ones also in tables that grow: so those have a limit of their own. It bounds memory, the bytes of a delta and the
//! time of a start, and it keeps accidents small: where few cells hold large counts, hardly ever do all cells of a new
//! signature.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use seenit_filter::{CutError, GeometryError};

use crate::terms::Counts;

/// Signatures with large counts, in percent of the capacity. Few messages have so many recipients; their high parts
/// take as much memory as all cells do, at this share.
const LARGE_PERCENT: u64 = 10;

/// Why a sighting cannot be counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NoRoom {
    /// The cells hold as many signatures as they were made for.
    Signatures { held: u64, most: u64 },
    /// As many signatures as may have `from` recipients or more.
    Large { held: u64, most: u64, from: u64 },
}

/// What cells hold, as far as it was counted. Two threads that count a new signature at once may both be let in: the
/// limits are exceeded by no more than there are threads.
#[derive(Debug)]
pub(crate) struct Room {
    signatures: AtomicU64,
    signatures_max: u64,
    large: AtomicU64,
    large_max: u64,
    /// The least count that is large.
    large_from: u64,
    /// Sightings that were refused.
    refused: AtomicU64,
}

impl Room {
    /// Reads off the cells how many signatures they hold.
    pub(crate) fn of(counts: &Counts) -> Result<Self, GeometryError> {
        let large_from = 1 << counts.cells().split().low_bits();
        let signatures_max = counts.promise().map_or(u64::MAX, |promise| promise.capacity);
        let large_max = signatures_max / 100 * LARGE_PERCENT;
        let signatures = held(counts, 1)?.into();
        let large = held(counts, large_from)?.into();
        Ok(Room { signatures, signatures_max, large, large_max, large_from, refused: AtomicU64::new(0) })
    }

    /// Whether a signature that has a count may get `more`.
    pub(crate) fn check(&self, before: u64, more: u64) -> Result<(), NoRoom> {
        let (held, most) = (self.signatures.load(Relaxed), self.signatures_max);
        if before == 0 && held >= most {
            return Err(NoRoom::Signatures { held, most });
        }
        let (held, most, from) = (self.large.load(Relaxed), self.large_max, self.large_from);
        if self.becomes_large(before, more) && held >= most {
            return Err(NoRoom::Large { held, most, from });
        }
        Ok(())
    }

    /// Notes that it did.
    pub(crate) fn note(&self, before: u64, more: u64) {
        if before == 0 {
            self.signatures.fetch_add(1, Relaxed);
        }
        if self.becomes_large(before, more) {
            self.large.fetch_add(1, Relaxed);
        }
    }

    fn becomes_large(&self, before: u64, more: u64) -> bool {
        before < self.large_from && before.saturating_add(more) >= self.large_from
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

/// Signatures that were counted `least` times or more; cells that are all full hold more than anybody can tell.
fn held(counts: &Counts, least: u64) -> Result<u64, GeometryError> {
    match counts.at_least(least) {
        Ok(cut) => Ok(cut.cardinality().map_or(u64::MAX, |estimate| estimate.value as u64)),
        Err(CutError::Geometry(error)) => Err(error),
        // No cell can hold that much.
        Err(_) => Ok(0),
    }
}

#[cfg(test)]
mod tests {
    use seenit_filter::hash::{Hash128, KeyHasher, SipKey};

    use super::super::parts::Live;
    use super::*;
    use crate::config::LedgerConfig;
    use crate::terms::Terms;

    const CAPACITY: u64 = 10_000;

    fn live() -> (Live, SipKey) {
        let config = LedgerConfig { seen_capacity: CAPACITY, ..LedgerConfig::default() };
        let terms = Terms::private(&config, [7; 16]).expect("terms");
        (Live::new(terms.empty().expect("cells"), 0).expect("live"), SipKey::new([7; 16]))
    }

    fn hash(sip: &SipKey, number: u64) -> Hash128 {
        sip.hash(&number.to_le_bytes())
    }

    #[test]
    fn new_signatures_are_refused_at_capacity_and_known_ones_counted_on() {
        let (live, sip) = live();
        let counted =
            (0..4 * CAPACITY).filter(|&number| live.add(hash(&sip, number), 1).is_ok()).count() as u64;
        // A few are taken for known ones by accident, and counted with those.
        assert!((CAPACITY..CAPACITY + CAPACITY / 50).contains(&counted), "{counted}");
        assert_eq!(live.add(hash(&sip, 0), 1), Ok(()), "a known one");
        assert_eq!(live.room.refused(), 4 * CAPACITY - counted);
        // The promise holds, whatever was offered.
        let rate = live.own.at_least(1).expect("a cut").present_rate();
        assert!(rate <= 1.1 * 0.001 / 3.0, "{rate}");
    }

    #[test]
    fn large_counts_have_a_limit_and_none_is_seen_by_accident() {
        let (live, sip) = live();
        let counted = (0..CAPACITY).filter(|&number| live.add(hash(&sip, number), 1_000).is_ok()).count();
        assert_eq!(counted as u64, CAPACITY / 10);
        let large = live.own.at_least(8).expect("a cut").cardinality().expect("not full").value;
        assert!((large / (CAPACITY as f64 / 10.0) - 1.0).abs() < 0.05, "{large}");
        let accidents =
            (1 << 32..(1 << 32) + 1_000_000).filter(|&new| live.own.count(hash(&sip, new)).value >= 8);
        assert_eq!(accidents.count(), 0);
    }

    #[test]
    fn what_cells_hold_is_read_off_them_after_a_start() {
        let (live, sip) = live();
        (0..CAPACITY / 2).for_each(|number| live.add(hash(&sip, number), 1 + number % 8).expect("room"));
        let again = Room::of(&live.own.snapshot().expect("a copy")).expect("room");
        for (read, counted) in [(&again.signatures, &live.room.signatures), (&again.large, &live.room.large)]
        {
            let (read, counted) = (read.load(Relaxed) as f64, counted.load(Relaxed) as f64);
            assert!((read / counted - 1.0).abs() < 0.05, "{read} of {counted}");
        }
    }
}
