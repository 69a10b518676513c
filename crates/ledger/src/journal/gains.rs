//! Deltas of seen counts in the journal.

use super::{Batch, Journal, JournalError, odd_row};

impl Journal {
    /// Calls `visit` with every delta of seen counts that is kept, by generation and sequence.
    pub(crate) fn each_delta(
        &self,
        incarnation: u64,
        mut visit: impl FnMut(u64, u64, &[u8]) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        for item in self.seen.prefix(incarnation.to_be_bytes()) {
            let (key, value) = item.into_inner()?;
            let (generation, sequence) = delta_place(&key).ok_or_else(odd_row)?;
            visit(generation, sequence, &value)?;
        }
        Ok(())
    }

    /// Deltas of a generation from the one after `after` up to `last`, without gaps: at least one if there is one, then
    /// as many as have `bytes_max` bytes together.
    pub(crate) fn deltas_after(
        &self,
        (incarnation, generation): (u64, u64),
        (after, last): (u64, u64),
        bytes_max: usize,
    ) -> Result<Vec<Vec<u8>>, JournalError> {
        let (mut deltas, mut bytes) = (Vec::new(), 0);
        let Some(first) = after.checked_add(1).filter(|first| *first <= last) else {
            return Ok(deltas);
        };
        let key = |sequence| delta_key(incarnation, generation, sequence);
        for (item, expected) in self.seen.range(key(first)..=key(last)).zip(first..) {
            let (key, value) = item.into_inner()?;
            let (_, sequence) = delta_place(&key).ok_or_else(odd_row)?;
            bytes += value.len();
            if sequence != expected || bytes > bytes_max && !deltas.is_empty() {
                break;
            }
            deltas.push(value.to_vec());
        }
        Ok(deltas)
    }
}

impl Batch<'_> {
    pub(crate) fn delta(&mut self, incarnation: u64, generation: u64, sequence: u64, bytes: &[u8]) {
        self.batch.insert(&self.journal.seen, delta_key(incarnation, generation, sequence), bytes);
    }

    pub(crate) fn remove_delta(&mut self, incarnation: u64, generation: u64, sequence: u64) {
        self.batch.remove(&self.journal.seen, delta_key(incarnation, generation, sequence));
    }
}

fn delta_key(incarnation: u64, generation: u64, sequence: u64) -> [u8; 24] {
    let mut key = [0; 24];
    for (place, number) in key.chunks_exact_mut(8).zip([incarnation, generation, sequence]) {
        place.copy_from_slice(&number.to_be_bytes());
    }
    key
}

fn delta_place(key: &[u8]) -> Option<(u64, u64)> {
    let key: &[u8; 24] = key.try_into().ok()?;
    let number = |at: usize| Some(u64::from_be_bytes(key[at..at + 8].try_into().ok()?));
    Some((number(8)?, number(16)?))
}
