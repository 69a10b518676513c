//! The high parts of one chunk: a hash table that readers use without a lock while one writer adds to it.
//!
//! Open addressing in segments. When the last segment is three quarters full a new one of twice its size is added:
//! entries never move, and a lookup tries the segments in turn. Half of all entries are in the last one.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::HIGH_BITS;
use crate::cells::word::AtomicWord;

/// Entries of the first segment: one cache line.
pub(super) const FIRST_ENTRIES: usize = 8;

/// A segment takes another entry while at most three quarters of it are used: beyond, runs of entries get long.
const FULL: (usize, usize) = (3, 4);

/// An entry has the offset of its cell plus one in the upper half, the high part in the lower; 0 is no entry.
#[derive(Debug)]
pub(super) struct Table<W> {
    first: OnceLock<Box<Segment<W>>>,
}

#[derive(Debug)]
struct Segment<W> {
    entries: Box<[W]>,
    /// How many are used; for the writer alone.
    used: W,
    next: OnceLock<Box<Segment<W>>>,
}

impl<W: AtomicWord> Segment<W> {
    fn new(entries: usize) -> Box<Self> {
        let entries = (0..entries).map(|_| W::zero()).collect();
        Box::new(Segment { entries, used: W::zero(), next: OnceLock::new() })
    }

    /// The entries in the order they are tried for `offset`: a power of two of them, from a place that mixes all bits.
    fn run(&self, offset: u64) -> impl Iterator<Item = &W> {
        let mask = self.entries.len() - 1;
        let start = (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        (0..=mask).map(move |step| &self.entries[(start + step) & mask])
    }

    /// The entry of `offset`.
    fn find(&self, offset: u64) -> Option<&W> {
        self.run(offset)
            .map(|entry| (entry, entry.load(Acquire)))
            .take_while(|&(_, held)| held != 0)
            .find(|&(_, held)| held >> HIGH_BITS == offset + 1)
            .map(|(entry, _)| entry)
    }

    fn is_full(&self) -> bool {
        (self.used.load(Relaxed) as usize + 1) * FULL.1 > self.entries.len() * FULL.0
    }

    /// Adds an entry for an offset that has none; not when full.
    fn add(&self, offset: u64, high: u64) {
        let free = self.run(offset).find(|entry| entry.load(Relaxed) == 0);
        free.expect("a segment that is not full has a free entry").store(entry_of(offset, high), Release);
        self.used.store(self.used.load(Relaxed) + 1, Relaxed);
    }
}

fn entry_of(offset: u64, high: u64) -> u64 {
    debug_assert!(high >> HIGH_BITS == 0 && (offset + 1) >> HIGH_BITS == 0);
    (offset + 1) << HIGH_BITS | high
}

impl<W: AtomicWord> Table<W> {
    /// An empty table, which takes no memory beyond itself.
    pub(super) fn new() -> Self {
        Table { first: OnceLock::new() }
    }

    fn segments(&self) -> impl Iterator<Item = &Segment<W>> {
        std::iter::successors(self.first.get(), |segment| segment.next.get()).map(|segment| &**segment)
    }

    /// The high part of the cell at `offset`.
    pub(super) fn get(&self, offset: u64) -> Option<u64> {
        let entry = self.segments().find_map(|segment| segment.find(offset))?;
        Some(entry.load(Acquire) & ((1 << HIGH_BITS) - 1))
    }

    /// Sets the high part of the cell at `offset`. One writer at a time.
    pub(super) fn set(&self, offset: u64, high: u64) {
        if let Some(entry) = self.segments().find_map(|segment| segment.find(offset)) {
            entry.store(entry_of(offset, high), Release);
            return;
        }
        let mut last = self.first.get_or_init(|| Segment::new(FIRST_ENTRIES));
        while let Some(next) = last.next.get() {
            last = next;
        }
        if last.is_full() {
            last = last.next.get_or_init(|| Segment::new(last.entries.len() * 2));
        }
        last.add(offset, high);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.segments().map(|segment| memory_of_segment(segment.entries.len())).sum()
    }
}

/// The memory of one segment.
fn memory_of_segment(entries: usize) -> usize {
    size_of::<Segment<std::sync::atomic::AtomicU64>>() + entries * 8
}

/// The memory of a table with `used` entries: what [`Table::memory_bytes`] says of it.
pub(super) fn memory_of(used: u64) -> u64 {
    let (mut memory, mut room, mut entries) = (0, 0, FIRST_ENTRIES);
    while room < used {
        memory += memory_of_segment(entries) as u64;
        room += (entries * FULL.0 / FULL.1) as u64;
        entries *= 2;
    }
    memory
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;
    use std::collections::HashMap;
    use std::sync::atomic::AtomicU64;

    #[test]
    fn a_table_is_a_map_and_takes_the_stated_memory() {
        let table = Table::<AtomicU64>::new();
        let mut oracle = HashMap::new();
        let mut rng = SplitMix(3);
        assert_eq!(table.memory_bytes(), 0);
        for _ in 0..20_000 {
            let (offset, high) = (rng.next() % 5000, rng.next() >> 32);
            table.set(offset, high);
            oracle.insert(offset, high);
            assert_eq!(table.memory_bytes() as u64, memory_of(oracle.len() as u64));
        }
        assert!((0..5000).all(|offset| table.get(offset) == oracle.get(&offset).copied()));
        assert_eq!(table.get(u64::from(u32::MAX) - 1), None);
        table.set(u64::from(u32::MAX) - 1, u64::from(u32::MAX));
        assert_eq!(table.get(u64::from(u32::MAX) - 1), Some(u64::from(u32::MAX)));
    }
}
