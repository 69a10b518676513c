//! The high parts of one chunk: a hash table that readers use without a lock while one writer adds to it.
//!
//! Open addressing in segments. When the newest segment is half full a new one of twice its size is added: entries
//! never move, and a lookup tries the segments from the newest on, which has half of all entries.

use std::sync::OnceLock;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::HIGH_BITS;
use crate::cells::word::AtomicWord;

/// Entries of the first segment: one cache line.
pub(super) const FIRST_ENTRIES: usize = 8;

/// The most segments: their halves hold 2^32 entries, one for each cell a chunk may have.
const SEGMENTS_MAX: usize = 31;

/// An entry has the offset of its cell plus one in the upper half, the high part in the lower; 0 is no entry.
#[derive(Debug)]
pub(super) struct Table<W> {
    /// Made with the first entry: most chunks of a fresh filter have none.
    segments: OnceLock<Box<Segments<W>>>,
}

#[derive(Debug)]
struct Segments<W> {
    /// Those in use come first, each twice as large as the one before.
    all: [OnceLock<Box<[W]>>; SEGMENTS_MAX],
    /// How many are in use.
    count: W,
    /// Entries of the newest one; for the writer alone.
    used: W,
}

impl<W: AtomicWord> Segments<W> {
    fn new() -> Self {
        let segments =
            Segments { all: std::array::from_fn(|_| OnceLock::new()), count: W::zero(), used: W::zero() };
        segments.grow();
        segments
    }

    /// The segments from the newest on.
    fn newest_first(&self) -> impl Iterator<Item = &[W]> {
        let count = self.count.load(Acquire) as usize;
        self.all[..count].iter().rev().filter_map(|segment| segment.get().map(|entries| &**entries))
    }

    fn grow(&self) {
        let count = self.count.load(Relaxed) as usize;
        let entries = || (0..FIRST_ENTRIES << count).map(|_| W::zero()).collect();
        self.all[count].get_or_init(entries);
        self.used.store(0, Relaxed);
        self.count.store(count as u64 + 1, Release);
    }

    /// Adds an entry for an offset that has none.
    fn add(&self, offset: u64, high: u64) {
        let newest = self.newest_first().next().map_or(0, <[W]>::len);
        if self.used.load(Relaxed) as usize >= newest / 2 {
            self.grow();
        }
        let newest = self.newest_first().next().expect("there is a segment from the start");
        let free = run(newest, offset).find(|entry| entry.load(Relaxed) == 0);
        free.expect("half of a segment stays free").store(entry_of(offset, high), Release);
        self.used.store(self.used.load(Relaxed) + 1, Relaxed);
    }
}

/// The entries in the order they are tried for `offset`: a power of two of them, from a place that mixes all bits.
#[inline]
fn run<W>(entries: &[W], offset: u64) -> impl Iterator<Item = &W> {
    let mask = entries.len() - 1;
    let start = (offset.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
    (0..=mask).map(move |step| &entries[(start + step) & mask])
}

fn entry_of(offset: u64, high: u64) -> u64 {
    debug_assert!(high >> HIGH_BITS == 0 && (offset + 1) >> HIGH_BITS == 0);
    (offset + 1) << HIGH_BITS | high
}

/// The entry of one cell.
pub(super) struct Entry<'a, W>(&'a W);

impl<W: AtomicWord> Entry<'_, W> {
    pub(super) fn high(&self) -> u64 {
        self.0.load(Acquire) & ((1 << HIGH_BITS) - 1)
    }

    /// For the writer alone.
    pub(super) fn set_high(&self, high: u64) {
        let offset = self.0.load(Relaxed) >> HIGH_BITS << HIGH_BITS;
        self.0.store(offset | high, Release);
    }
}

impl<W: AtomicWord> Table<W> {
    /// An empty table, which takes no memory beyond itself.
    pub(super) fn new() -> Self {
        Table { segments: OnceLock::new() }
    }

    /// The entry of the cell at `offset`.
    pub(super) fn find(&self, offset: u64) -> Option<Entry<'_, W>> {
        self.segments.get()?.newest_first().find_map(|entries| {
            run(entries, offset)
                .map(|entry| (entry, entry.load(Acquire)))
                .take_while(|&(_, held)| held != 0)
                .find(|&(_, held)| held >> HIGH_BITS == offset + 1)
                .map(|(entry, _)| Entry(entry))
        })
    }

    /// Adds an entry for the cell at `offset`, which has none. One writer at a time.
    pub(super) fn add(&self, offset: u64, high: u64) {
        self.segments.get_or_init(|| Box::new(Segments::new())).add(offset, high);
    }

    pub(super) fn memory_bytes(&self) -> usize {
        let segments = self.segments.get();
        segments.map_or(0, |segments| {
            let entries: usize = segments.newest_first().map(<[W]>::len).sum();
            size_of::<Segments<W>>() + entries * size_of::<W>()
        })
    }
}

/// The memory of a table with `used` entries: what [`Table::memory_bytes`] says of it.
pub(super) fn memory_of(used: u64) -> u64 {
    if used == 0 {
        return 0;
    }
    let mut entries = 0;
    let mut room = 0;
    let mut segment = FIRST_ENTRIES as u64;
    while room < used {
        entries += segment;
        room += segment / 2;
        segment *= 2;
    }
    size_of::<Segments<std::sync::atomic::AtomicU64>>() as u64 + entries * 8
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;
    use std::collections::HashMap;
    use std::sync::atomic::AtomicU64;

    fn set(table: &Table<AtomicU64>, offset: u64, high: u64) {
        match table.find(offset) {
            Some(entry) => entry.set_high(high),
            None => table.add(offset, high),
        }
    }

    #[test]
    fn a_table_is_a_map_and_takes_the_stated_memory() {
        let table = Table::<AtomicU64>::new();
        let high_of = |offset| table.find(offset).map(|entry| entry.high());
        let mut oracle = HashMap::new();
        let mut rng = SplitMix(3);
        assert_eq!(table.memory_bytes(), 0);
        for _ in 0..20_000 {
            let offset = rng.next() % 5000;
            let high = rng.next() >> 32;
            set(&table, offset, high);
            oracle.insert(offset, high);
            assert_eq!(table.memory_bytes() as u64, memory_of(oracle.len() as u64));
        }
        assert!((0..5000).all(|offset| high_of(offset) == oracle.get(&offset).copied()));
        assert_eq!(high_of(u64::from(u32::MAX) - 1), None);
        set(&table, u64::from(u32::MAX) - 1, u64::from(u32::MAX));
        assert_eq!(high_of(u64::from(u32::MAX) - 1), Some(u64::from(u32::MAX)));
    }
}
