//! The table of seen counts: 4.5 bytes a signature, two cache lines a lookup.
//!
//! [`Lines`] of 32-bit slots hold what fits them. What does not goes into exact 64-bit tables behind them: a key that
//! found both its lines full, and what a key counts above 511. A key's count is the sum of both. A lookup goes to
//! the second only where a slot of the key is full, or both its lines are.
//!
//! In theory ([`maths::sightings`](crate::maths::sightings)), and as tests measure it, 9.0e-5 of keys find no room at
//! capacity, and an absent key reads at least 1 with probability 3.5e-6.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::lines::Lines;
use super::overflow::Overflow;
use super::place::SLOT_FULL;
use super::slots::Put;
use super::{Added, COUNT_MAX, Fingerprint, SeenIndex};
use crate::counting::Count;
use crate::error::GeometryError;
use crate::hash::BATCH_KEYS;
use crate::maths::sightings::table_rate;

/// Counts of signatures in lines of short slots.
#[derive(Debug)]
pub struct SeenTable {
    capacity: u64,
    lines: Lines,
    overflow: Overflow,
    signatures: AtomicU64,
}

impl SeenTable {
    /// An empty table for so many signatures, at least one.
    pub(crate) fn new(capacity: u64) -> Result<Self, GeometryError> {
        let lines = Lines::new(capacity)?;
        let overflow = Overflow::new(capacity);
        Ok(SeenTable { capacity, lines, overflow, signatures: AtomicU64::new(0) })
    }

    /// The count of which the slots have this sum, and which may go on behind them.
    #[inline(always)]
    fn whole(&self, fingerprint: Fingerprint, sum: u64, more: bool) -> Count {
        if !more {
            return Count { value: sum, saturated: false };
        }
        total(sum, self.overflow.count(fingerprint))
    }

    /// How many signatures have something behind their slots, or have no slot.
    #[cfg(test)]
    pub(crate) fn overflowing(&self) -> u64 {
        self.overflow.len()
    }
}

fn total(sum: u64, behind: Count) -> Count {
    let value = (sum + behind.value).min(COUNT_MAX);
    Count { value, saturated: behind.saturated || value == COUNT_MAX }
}

impl SeenIndex for SeenTable {
    fn add(&self, fingerprint: Fingerprint, increment: u64) -> Added {
        if increment == 0 {
            let after = self.count(fingerprint);
            return Added { before: after.value, after };
        }
        let Put { sum, rest, held, more } = self.lines.add(&self.lines.place(fingerprint), increment);
        let (after, is_new) = if rest > 0 {
            let (behind, is_new) = self.overflow.add(fingerprint, rest);
            (total(sum, behind), is_new)
        } else {
            (self.whole(fingerprint, sum, more), true)
        };
        if is_new && !held {
            self.signatures.fetch_add(1, Relaxed);
        }
        Added { before: after.value.saturating_sub(increment), after }
    }

    #[inline]
    fn count(&self, fingerprint: Fingerprint) -> Count {
        let seen = self.lines.get(&self.lines.place(fingerprint));
        self.whole(fingerprint, seen.sum, seen.more)
    }

    fn count_many(&self, fingerprints: &[Fingerprint], counts: &mut [Count]) {
        assert_eq!(fingerprints.len(), counts.len(), "one answer a signature");
        let mut batches = fingerprints.chunks(BATCH_KEYS);
        let ahead = |batch: &[Fingerprint]| {
            batch.iter().for_each(|&fingerprint| self.lines.prefetch(&self.lines.place(fingerprint)));
        };
        let mut counts = counts.iter_mut();
        let mut next = batches.next();
        next.into_iter().for_each(ahead);
        while let Some(batch) = next {
            next = batches.next();
            next.into_iter().for_each(ahead);
            for (&fingerprint, count) in batch.iter().zip(&mut counts) {
                *count = self.count(fingerprint);
            }
        }
    }

    fn signatures(&self) -> u64 {
        self.signatures.load(Relaxed)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn memory_bytes(&self) -> u64 {
        self.lines.memory_bytes() + self.overflow.memory_bytes()
    }

    /// Whatever `least` is: it may be that all signatures count so much.
    fn promised_rate(&self, _least: u64) -> f64 {
        table_rate(self.capacity, self.capacity as f64 / self.lines.lines() as f64)
    }

    /// Of the slots, each full one taken for as much as is asked; and of what lies behind them, which is looked at
    /// where both lines are full.
    fn present_rate(&self, least: u64) -> f64 {
        let load = self.lines.load(least.clamp(1, u64::from(SLOT_FULL)));
        table_rate(self.signatures(), load.high) + load.full.powi(2) * self.overflow.present_rate()
    }
}
