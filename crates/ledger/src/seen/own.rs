//! What this site itself saw in one generation under one hash key: an index, and what no delta has yet.
//!
//! A sighting raises the index and is noted in a map of what is *pending*, both under the lock of one shard. A delta
//! takes all maps, and reads the new count of each fingerprint under the same lock: so a count in a delta is the sum of
//! all increments that were journalled, this delta's included, and of nothing else but accidents.

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Release};
use std::sync::{Mutex, MutexGuard, PoisonError};

use seenit_filter::GeometryError;
use seenit_filter::sightings::{Fingerprint, SeenIndex, Sighting, Structure};

use super::room::{BoundedIndex, NoRoom};

/// Maps of what is pending: so many threads can count at once without waiting for each other.
const SHARDS: usize = 64;

/// Own sightings of a generation. What is pending is bounded by the signatures that the index may hold.
pub(crate) struct OwnSeen {
    pub(crate) counts: BoundedIndex,
    pending: [Mutex<HashMap<Fingerprint, u64>>; SHARDS],
    /// Something is pending.
    changed: AtomicBool,
}

impl OwnSeen {
    pub(crate) fn new(structure: Structure, capacity: u64) -> Result<Self, GeometryError> {
        let pending = std::array::from_fn(|_| Mutex::default());
        let counts = BoundedIndex::new(structure, capacity)?;
        Ok(OwnSeen { counts, pending, changed: AtomicBool::new(false) })
    }

    fn shard(&self, fingerprint: Fingerprint) -> MutexGuard<'_, HashMap<Fingerprint, u64>> {
        lock(&self.pending[fingerprint.get() as usize % SHARDS])
    }

    /// Counts so many more, where there is room for them.
    pub(crate) fn add(&self, fingerprint: Fingerprint, recipients: u64) -> Result<(), NoRoom> {
        if recipients == 0 {
            return Ok(());
        }
        self.counts.admit(fingerprint)?;
        let before = {
            let mut pending = self.shard(fingerprint);
            let noted = pending.entry(fingerprint).or_default();
            *noted = noted.saturating_add(recipients);
            self.counts.index.add(fingerprint, recipients).before
        };
        self.counts.note(before);
        self.changed.store(true, Release);
        Ok(())
    }

    /// Counts what the log has already, whatever the index holds.
    pub(crate) fn load(&self, fingerprint: Fingerprint, increment: u64) {
        let before = self.counts.index.add(fingerprint, increment).before;
        self.counts.note(before);
    }

    /// Whether anything is pending.
    pub(crate) fn is_changed(&self) -> bool {
        self.changed.load(Acquire)
    }

    /// What is pending, in order of fingerprints. From then on nothing is.
    pub(crate) fn take(&self) -> Vec<Sighting> {
        if !self.changed.swap(false, AcqRel) {
            return Vec::new();
        }
        let mut taken = Vec::new();
        for shard in &self.pending {
            let mut pending = lock(shard);
            for (fingerprint, increment) in std::mem::take(&mut *pending) {
                let count = self.counts.index.count(fingerprint).value;
                taken.push(Sighting { fingerprint, increment: increment.min(count), count });
            }
        }
        taken.sort_unstable_by_key(|sighting| sighting.fingerprint);
        taken
    }

    /// Puts back what was taken and could not be journalled.
    pub(crate) fn put_back(&self, sightings: &[Sighting]) {
        for sighting in sightings {
            let mut pending = self.shard(sighting.fingerprint);
            let noted = pending.entry(sighting.fingerprint).or_default();
            *noted = noted.saturating_add(sighting.increment);
        }
        if !sightings.is_empty() {
            self.changed.store(true, Release);
        }
    }
}

fn lock(shard: &Mutex<HashMap<Fingerprint, u64>>) -> MutexGuard<'_, HashMap<Fingerprint, u64>> {
    shard.lock().unwrap_or_else(PoisonError::into_inner)
}
