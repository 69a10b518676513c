//! The log of own sightings in the journal.
//!
//! ```text
//! incarnation, generation, sequence            a delta
//! incarnation, generation, sequence, chunk     a block of a base: all deltas up to that sequence, added up
//! ```
//!
//! Numbers have their highest byte first, so a stream lies in order: its base, then the deltas after it.

use super::{Journal, JournalBatch, JournalError, odd_row};

/// An own stream of sightings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OwnStreamKey {
    pub(crate) incarnation: u64,
    pub(crate) generation: u64,
}

/// Where a row of the log lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SightingsRow {
    pub(crate) stream: OwnStreamKey,
    pub(crate) sequence: u64,
    /// Of a base: which block.
    pub(crate) chunk: Option<u32>,
}

impl SightingsRow {
    pub(crate) fn delta(stream: OwnStreamKey, sequence: u64) -> Self {
        SightingsRow { stream, sequence, chunk: None }
    }

    pub(crate) fn base(stream: OwnStreamKey, sequence: u64, chunk: u32) -> Self {
        SightingsRow { stream, sequence, chunk: Some(chunk) }
    }

    fn key(&self) -> Vec<u8> {
        let mut key = prefix(self.stream);
        key.extend(self.sequence.to_be_bytes());
        key.extend(self.chunk.iter().flat_map(|chunk| chunk.to_be_bytes()));
        key
    }

    fn of(key: &[u8]) -> Option<Self> {
        let (numbers, chunk) = key.split_at_checked(24)?;
        let number = |at: usize| Some(u64::from_be_bytes(numbers[at..at + 8].try_into().ok()?));
        let stream = OwnStreamKey { incarnation: number(0)?, generation: number(8)? };
        let chunk = match chunk {
            [] => None,
            chunk => Some(u32::from_be_bytes(chunk.try_into().ok()?)),
        };
        Some(SightingsRow { stream, sequence: number(16)?, chunk })
    }
}

fn prefix(stream: OwnStreamKey) -> Vec<u8> {
    [stream.incarnation.to_be_bytes(), stream.generation.to_be_bytes()].concat()
}

impl Journal {
    /// Calls `visit` with every row of the log, stream by stream, in order.
    pub(crate) fn each_sightings(
        &self,
        mut visit: impl FnMut(SightingsRow, &[u8]) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        for item in self.sightings.iter() {
            let (key, value) = item.into_inner()?;
            visit(SightingsRow::of(&key).ok_or_else(odd_row)?, &value)?;
        }
        Ok(())
    }

    /// Calls `visit` with the rows of a stream from a sequence on, in order, until it says false.
    pub(crate) fn sightings_from(
        &self,
        stream: OwnStreamKey,
        from: u64,
        mut visit: impl FnMut(SightingsRow, &[u8]) -> Result<bool, JournalError>,
    ) -> Result<(), JournalError> {
        let first = SightingsRow::delta(stream, from).key();
        let end = [prefix(stream), vec![u8::MAX; 12]].concat();
        for item in self.sightings.range(first..=end) {
            let (key, value) = item.into_inner()?;
            if !visit(SightingsRow::of(&key).ok_or_else(odd_row)?, &value)? {
                break;
            }
        }
        Ok(())
    }
}

impl JournalBatch<'_> {
    pub(crate) fn sightings(&mut self, row: SightingsRow, bytes: &[u8]) {
        self.batch.insert(&self.journal.sightings, row.key(), bytes);
    }

    pub(crate) fn remove_sightings(&mut self, row: SightingsRow) {
        self.batch.remove(&self.journal.sightings, row.key());
    }
}
