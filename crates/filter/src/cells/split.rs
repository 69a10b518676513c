//! Split storage: true counts in little memory.
//!
//! Most counts are small, a few are huge. A *base* cell has s low bits and a flag; where a count needs more, the flag
//! is set and the *high part* lies in a hash table. The base is cut into N *chunks* of whole pages, each with its own
//! table and its own writer. Counts are exact to `2^(32+s) - 1`.
//!
//! Readers take no lock. A table only grows, by adding a segment, so nothing a reader looks at is ever moved or
//! freed. A writer stores the high part before the base wraps around, and a reader reads the base before the high
//! part: so nobody sees a wrapped base with its old high part, which would be a count far below the truth. What is
//! left, the new high part beside the old base, is caught by the chunk's version (odd while a high part changes).
//! Where a count falls, the base goes first, and the version catches a reader that came between.

mod choose;
mod table;
#[cfg(test)]
mod tests;

pub use choose::{Savings, choose, expected_bytes};

use std::ops::Range;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use self::table::{Entry, Table};
use super::shared::SharedCells;
use super::word::AtomicWord;
use super::{CELL_BITS_MAX, CellWords, Cells, CellsMut, Packing, address_of, place_at};
use crate::error::GeometryError;
use crate::memory::{HugePages, PAGE_WORDS, PageBuf, SharedPages, prefetch};

/// The most low bits: with the flag they make the widest packed cell.
pub const LOW_BITS_MAX: u32 = CELL_BITS_MAX - 1;

/// Bits of a high part, in the lower half of a table's entry; the offset of its cell in the chunk is in the upper half.
const HIGH_BITS: u32 = 32;

/// The most cells of a chunk: their offsets, and one value for "no entry", fit the upper half of an entry.
const CHUNK_CELLS_MAX: u64 = (1 << 32) - 1;

/// How often a reader looks again when a high part changes under its eyes. A change is a handful of stores; a reader
/// that is out of luck this often answers with the most it saw: a writer that was stopped halfway leaves a count that
/// is too high, never one below the truth.
const READS_MAX: u32 = 64;

/// The shape of split storage: how many low bits, how many chunks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    base: Packing,
    chunks: u64,
}

impl Split {
    /// `low_bits` bits in the base (1 to [`LOW_BITS_MAX`]), `chunks` tables for the rest, or somewhat fewer: chunks
    /// have whole pages, and all but the last as many.
    pub fn new(low_bits: u32, chunks: u64) -> Result<Self, GeometryError> {
        if !(1..=LOW_BITS_MAX).contains(&low_bits) {
            return Err(GeometryError::SplitBits { bits: low_bits.saturating_add(1), most: CELL_BITS_MAX });
        }
        if chunks == 0 {
            return Err(GeometryError::Zero("chunks"));
        }
        Ok(Split { base: Packing::new(low_bits + 1)?, chunks })
    }

    /// s: the bits of a count that the base holds.
    pub fn low_bits(&self) -> u32 {
        self.base.bits() - 1
    }

    /// N: how many tables hold high parts.
    pub fn chunks(&self) -> u64 {
        self.chunks
    }

    /// How base cells lie: s + 1 bits each.
    pub fn base(&self) -> Packing {
        self.base
    }

    /// The largest count.
    #[inline(always)]
    pub(crate) fn cap(&self) -> u64 {
        (1 << (HIGH_BITS + self.low_bits())) - 1
    }

    fn pages_per_chunk(&self, pages: u64) -> u64 {
        pages.div_ceil(self.chunks).max(1)
    }

    #[inline(always)]
    fn flag(&self) -> u64 {
        1 << self.low_bits()
    }

    /// The base cell of a count.
    #[inline(always)]
    pub(crate) fn base_of(&self, value: u64) -> u64 {
        let high = self.high_of(value);
        value & (self.flag() - 1) | if high > 0 { self.flag() } else { 0 }
    }

    /// The high part of a count.
    #[inline(always)]
    pub(crate) fn high_of(&self, value: u64) -> u64 {
        value >> self.low_bits()
    }

    /// Whether a base cell has a high part.
    #[inline(always)]
    pub(crate) fn is_flagged(&self, base: u64) -> bool {
        base & self.flag() != 0
    }

    /// The count of a base cell and its high part.
    #[inline(always)]
    pub(crate) fn join(&self, base: u64, high: u64) -> u64 {
        base & (self.flag() - 1) | high << self.low_bits()
    }
}

/// One chunk's high parts. `version` is odd while one of them changes.
#[derive(Debug)]
struct Chunk<W> {
    version: W,
    highs: Table<W>,
}

impl<W: AtomicWord> Chunk<W> {
    fn new() -> Self {
        Chunk { version: W::zero(), highs: Table::new() }
    }
}

/// Where one cell lies.
#[derive(Clone, Copy)]
struct CellPlace<'a, W> {
    split: Split,
    word: &'a W,
    shift: u32,
    chunk: &'a Chunk<W>,
    /// The number of the cell in its chunk.
    offset: u64,
}

impl<W: AtomicWord> CellPlace<'_, W> {
    #[inline(always)]
    fn base(&self) -> u64 {
        self.split.base.read(self.word.load(Acquire), self.shift)
    }

    /// Base first, high part second: see the top of this file.
    fn value(&self) -> u64 {
        let base = self.base();
        if !self.split.is_flagged(base) {
            return base;
        }
        // A flag is stored after its high part, and the high part stays in the table when a removal takes the flag.
        self.split.join(base, self.high(base, &self.chunk.highs.find(self.offset)))
    }

    /// The value of a flagged cell as it was at one moment.
    fn read(&self) -> u64 {
        let mut most = 0;
        for _ in 0..READS_MAX {
            let before = self.chunk.version.load(Acquire);
            let value = self.value();
            most = most.max(value);
            W::fence(Acquire);
            if before.is_multiple_of(2) && self.chunk.version.load(Relaxed) == before {
                return value;
            }
            W::pause();
        }
        most
    }

    /// Sets the cell; the caller is the chunk's only writer.
    fn write(&self, value: u64) {
        self.write_with(self.chunk.highs.find(self.offset), value);
    }

    /// Raises the cell to at least `value`, with one look at the table.
    fn raise(&self, value: u64) {
        let base = self.base();
        let entry = self.chunk.highs.find(self.offset);
        if self.split.join(base, self.high(base, &entry)) < value {
            self.write_with(entry, value);
        }
    }

    /// The high part that goes with a base cell. An entry whose cell fell again stays in the table, unflagged.
    fn high(&self, base: u64, entry: &Option<Entry<'_, W>>) -> u64 {
        entry.as_ref().filter(|_| self.split.is_flagged(base)).map_or(0, Entry::high)
    }

    fn write_with(&self, entry: Option<Entry<'_, W>>, value: u64) {
        let split = self.split;
        let base = self.base();
        let high = split.high_of(value);
        let old = self.high(base, &entry);
        if high == 0 || high == old {
            self.store_base(value);
            return;
        }
        let version = self.chunk.version.load(Relaxed);
        self.chunk.version.store(version + 1, Relaxed);
        W::fence(Release);
        match entry {
            // Falling, the base goes first: halfway the count is too high, not too low.
            Some(entry) if high < old => {
                self.store_base(value);
                entry.set_high(high);
            }
            Some(entry) => {
                entry.set_high(high);
                self.store_base(value);
            }
            None => {
                self.chunk.highs.add(self.offset, high);
                self.store_base(value);
            }
        }
        self.chunk.version.store(version + 2, Release);
    }

    #[inline(always)]
    fn store_base(&self, value: u64) {
        let word = self.split.base.write(self.word.load(Relaxed), self.shift, self.split.base_of(value));
        self.word.store(word, Release);
    }
}

/// Cells that count beyond any packed width, for one owner or many threads.
#[derive(Debug)]
pub struct SplitCells {
    split: Split,
    len: u64,
    base: SharedPages,
    pages_per_chunk: u64,
    chunks: Box<[Chunk<AtomicU64>]>,
}

impl SplitCells {
    /// `len` cells, all zero.
    pub fn zeroed(split: Split, len: u64, huge: HugePages) -> Result<Self, GeometryError> {
        let pages = split.base.pages(len);
        let pages_per_chunk = split.pages_per_chunk(pages);
        let chunk_cells = pages_per_chunk.saturating_mul(split.base.per_page());
        if chunk_cells.min(len) > CHUNK_CELLS_MAX {
            let limit = CHUNK_CELLS_MAX;
            return Err(GeometryError::TooLarge { field: "cells per chunk", value: chunk_cells, limit });
        }
        let base = PageBuf::zeroed(pages, huge)?.share();
        let chunks = (0..pages.div_ceil(pages_per_chunk)).map(|_| Chunk::new()).collect();
        Ok(SplitCells { split, len, base, pages_per_chunk, chunks })
    }

    /// Its shape.
    pub(crate) fn split(&self) -> Split {
        self.split
    }

    /// The memory it takes now: base, chunks and tables.
    pub fn memory_bytes(&self) -> u64 {
        let chunks = self.chunks.len() * size_of::<Chunk<AtomicU64>>();
        let tables: usize = self.chunks.iter().map(|chunk| chunk.highs.memory_bytes()).sum();
        (self.words().len() * 8 + chunks + tables) as u64
    }

    #[inline(always)]
    fn words(&self) -> &[AtomicU64] {
        self.base.words()
    }

    /// How many counts have a high part.
    pub(crate) fn highs(&self) -> u64 {
        let mut highs = 0;
        self.for_each_nonzero(|_, value| highs += u64::from(self.split.high_of(value) > 0));
        highs
    }

    /// A page of the base.
    pub(crate) fn base_page(&self, page: usize) -> [u64; PAGE_WORDS] {
        std::array::from_fn(|word| self.words()[page * PAGE_WORDS + word].load(Acquire))
    }

    /// The value is taken from the word at hand; only a count with a high part is looked up.
    fn for_each_nonzero_in(&self, words: Range<usize>, mut visit: impl FnMut(u64, u64)) {
        let base = self.split.base;
        for index in words {
            let word = self.words()[index].load(Acquire);
            base.for_each_marked(index, word, |cell, shift| {
                let low = base.read(word, shift);
                let address = address_of(index as u64, u64::from(shift));
                visit(cell, if self.split.is_flagged(low) { self.get_flagged(address) } else { low });
            });
        }
    }

    #[inline(always)]
    fn chunk_of(&self, word: usize) -> usize {
        (word / PAGE_WORDS) / self.pages_per_chunk as usize
    }

    /// Out of line, so that the way of the many counts without a high part stays short.
    #[cold]
    #[inline(never)]
    fn get_flagged(&self, address: u64) -> u64 {
        self.place(address).read()
    }

    /// Likewise.
    #[cold]
    #[inline(never)]
    fn raise_flagged(&self, address: u64, value: u64) {
        self.place(address).raise(value);
    }

    /// Likewise.
    #[cold]
    #[inline(never)]
    fn store_flagged(&self, address: u64, value: u64) {
        self.place(address).write(value);
    }

    fn place(&self, address: u64) -> CellPlace<'_, AtomicU64> {
        let (word, shift) = place_at(address);
        let chunk = self.chunk_of(word);
        let first = chunk as u64 * self.pages_per_chunk * self.split.base.per_page();
        CellPlace {
            split: self.split,
            word: &self.words()[word],
            shift,
            chunk: &self.chunks[chunk],
            offset: self.split.base.cell_at(address) - first,
        }
    }

    /// The flags of all cells of a word.
    fn flags_of_word(&self) -> u64 {
        let base = self.split.base;
        (0..base.per_word())
            .fold(0, |flags, slot| flags | self.split.flag() << (slot * u64::from(base.bits())))
    }
}

impl Cells for SplitCells {
    #[inline(always)]
    fn cap(&self) -> u64 {
        self.split.cap()
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn per_page(&self) -> u64 {
        self.split.base.per_page()
    }

    #[inline(always)]
    fn get(&self, cell: u64) -> u64 {
        self.get_at(self.split.base.address(cell))
    }

    #[inline(always)]
    fn packing(&self) -> Option<Packing> {
        Some(self.split.base)
    }

    #[inline(always)]
    fn get_at(&self, address: u64) -> u64 {
        let base = self.hint_at(address);
        if self.split.is_flagged(base) { self.get_flagged(address) } else { base }
    }

    /// The base cell. The flag is its highest bit, so that it is at least 2^s exactly where there is a high part.
    ///
    /// Relaxed: a count without a high part guards no other memory, and who wants a high part reads the base again.
    #[inline(always)]
    fn hint_at(&self, address: u64) -> u64 {
        let (word, shift) = place_at(address);
        self.split.base.read(self.words()[word].load(Relaxed), shift)
    }

    #[inline(always)]
    fn hint_limit(&self) -> u64 {
        self.split.flag()
    }

    #[inline(always)]
    fn prefetch(&self, address: u64) {
        prefetch(self.words(), place_at(address).0);
    }

    #[inline(always)]
    fn words(&self) -> Option<CellWords<'_>> {
        Some(CellWords::Shared(self.words()))
    }

    fn for_each_nonzero(&self, visit: impl FnMut(u64, u64)) {
        self.for_each_nonzero_in(0..self.words().len(), visit);
    }

    fn for_each_nonzero_on(&self, page: u64, visit: impl FnMut(u64, u64)) {
        let pages = self.words().len() / PAGE_WORDS;
        let first = page.min(pages as u64) as usize;
        let end = pages.min(first + 1);
        self.for_each_nonzero_in(first * PAGE_WORDS..end * PAGE_WORDS, visit);
    }

    /// A count that gained a multiple of 2^s has the base it had before: flagged cells are always looked at.
    fn for_each_change(&self, old: &Self, mut visit: impl FnMut(u64, u64, u64)) {
        assert_eq!(
            (self.len, self.split.base),
            (old.len, old.split.base),
            "cells of one shape on both sides"
        );
        let flags = self.flags_of_word();
        for (index, (new_word, old_word)) in self.words().iter().zip(old.words()).enumerate() {
            let new_word = new_word.load(Acquire);
            let old_word = old_word.load(Acquire);
            let marks = new_word ^ old_word | new_word & flags;
            self.split.base.for_each_marked(index, marks, |cell, _| {
                let old = old.get(cell);
                let new = self.get(cell);
                if old != new {
                    visit(cell, old, new);
                }
            });
        }
    }
}

impl CellsMut for SplitCells {
    #[inline(always)]
    fn set(&mut self, cell: u64, value: u64) {
        self.store(self.split.base.address(cell), value);
    }

    #[inline(always)]
    fn set_at(&mut self, address: u64, value: u64) {
        self.store(address, value);
    }

    #[inline(always)]
    fn raise_at(&mut self, address: u64, value: u64) {
        self.raise(address, value);
    }
}

impl SharedCells for SplitCells {
    fn locks(&self) -> usize {
        self.chunks.len()
    }

    #[inline(always)]
    fn lock_of(&self, address: u64) -> usize {
        self.chunk_of(place_at(address).0)
    }

    #[inline(always)]
    fn store(&self, address: u64, value: u64) {
        debug_assert!(value <= self.cap());
        let (word, shift) = place_at(address);
        let word = &self.words()[word];
        let base = self.split.base;
        let old = word.load(Relaxed);
        // Most counts have no high part, neither before nor after.
        if self.split.high_of(value) == 0 && !self.split.is_flagged(base.read(old, shift)) {
            word.store(base.write(old, shift, value), Release);
            return;
        }
        self.store_flagged(address, value);
    }

    #[inline(always)]
    fn raise(&self, address: u64, value: u64) {
        let hint = self.hint_at(address);
        if hint >= self.hint_limit() {
            self.raise_flagged(address, value);
        } else {
            self.store(address, hint.max(value));
        }
    }
}
