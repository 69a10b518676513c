//! A map of counts, until the lines of slots are there.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Added, COUNT_MAX, Fingerprint, SeenIndex};
use crate::counting::Count;
use crate::error::GeometryError;

/// Counts of signatures.
#[derive(Debug)]
pub struct SeenTable {
    capacity: u64,
    counts: Mutex<HashMap<Fingerprint, u64>>,
}

impl SeenTable {
    /// An empty table for so many signatures.
    pub fn new(capacity: u64) -> Result<Self, GeometryError> {
        Ok(SeenTable { capacity, counts: Mutex::default() })
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Fingerprint, u64>> {
        self.counts.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl SeenIndex for SeenTable {
    fn add(&self, fingerprint: Fingerprint, increment: u64) -> Added {
        if increment == 0 {
            let after = self.count(fingerprint);
            return Added { before: after.value, after };
        }
        let mut counts = self.lock();
        let count = counts.entry(fingerprint).or_default();
        let before = *count;
        *count = count.saturating_add(increment).min(COUNT_MAX);
        Added { before, after: Count { value: *count, saturated: *count == COUNT_MAX } }
    }

    fn count(&self, fingerprint: Fingerprint) -> Count {
        let value = self.lock().get(&fingerprint).copied().unwrap_or(0);
        Count { value, saturated: value == COUNT_MAX }
    }

    fn count_many(&self, fingerprints: &[Fingerprint], counts: &mut [Count]) {
        assert_eq!(fingerprints.len(), counts.len(), "one answer a signature");
        for (count, &fingerprint) in counts.iter_mut().zip(fingerprints) {
            *count = self.count(fingerprint);
        }
    }

    fn signatures(&self) -> u64 {
        self.lock().len() as u64
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn memory_bytes(&self) -> u64 {
        self.signatures() * 48
    }

    fn promised_rate(&self, _least: u64) -> f64 {
        0.0
    }

    fn present_rate(&self, _least: u64) -> f64 {
        0.0
    }
}
