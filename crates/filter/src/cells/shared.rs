//! Packed cells for many threads: readers take no lock, writers lock the page.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;

use super::word::AtomicWord;
use super::{CellWords, Cells, PackedCells, Packing, place_at};
use crate::memory::{PAGE_WORDS, SharedPages, prefetch};

/// The most locks a filter has; pages share them in turn. So many that a few hundred writers seldom meet, and no more
/// than a handful of pages of memory.
pub(crate) const LOCKS_MAX: u64 = 1024;

/// Cells that threads share: any number of readers, and one writer a page at a time, which a lock of the caller's sees
/// to ([`SharedCountingFilter`](crate::counting::SharedCountingFilter) has them).
pub trait SharedCells: Cells + Sync {
    /// How many locks guard the cells.
    fn locks(&self) -> usize;

    /// The lock that guards the cell at an address, and all cells of its page.
    fn lock_of(&self, address: u64) -> usize;

    /// Sets the cell at an address to `value`, which is at most the cap. The caller holds its lock.
    fn store(&self, address: u64, value: u64);

    /// Raises the cell at an address to at least `value`. The caller holds its lock.
    #[inline(always)]
    fn raise(&self, address: u64, value: u64) {
        self.store(address, self.get_at(address).max(value));
    }
}

/// [`PackedCells`] for many threads.
#[derive(Debug)]
pub struct SharedPackedCells {
    packing: Packing,
    len: u64,
    pages: SharedPages,
}

impl PackedCells {
    /// Hands the cells to many threads at once.
    pub(crate) fn share(self) -> SharedPackedCells {
        let packing = self.shape();
        let len = self.len();
        SharedPackedCells { packing, len, pages: self.into_words().share() }
    }
}

impl SharedPackedCells {
    fn words(&self) -> &[AtomicU64] {
        self.pages.words()
    }

    /// How they lie.
    pub(crate) fn shape(&self) -> Packing {
        self.packing
    }
}

/// A cell never straddles a word, so one load has all of it. Relaxed: cells guard no other memory.
#[inline(always)]
pub(crate) fn read<W: AtomicWord>(words: &[W], packing: Packing, address: u64) -> u64 {
    let (word, shift) = place_at(address);
    packing.read(words[word].load(Relaxed), shift)
}

/// Load and store, no atomic addition: nobody else writes to this word, since its page is locked.
#[inline(always)]
pub(crate) fn write<W: AtomicWord>(words: &[W], packing: Packing, address: u64, value: u64) {
    let (word, shift) = place_at(address);
    let word = &words[word];
    word.store(packing.write(word.load(Relaxed), shift, value), Relaxed);
}

impl Cells for SharedPackedCells {
    #[inline(always)]
    fn cap(&self) -> u64 {
        self.packing.cap()
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn per_page(&self) -> u64 {
        self.packing.per_page()
    }

    #[inline(always)]
    fn get(&self, cell: u64) -> u64 {
        self.get_at(self.packing.address(cell))
    }

    #[inline(always)]
    fn packing(&self) -> Option<Packing> {
        Some(self.packing)
    }

    #[inline(always)]
    fn get_at(&self, address: u64) -> u64 {
        read(self.words(), self.packing, address)
    }

    #[inline(always)]
    fn prefetch(&self, address: u64) {
        prefetch(self.words(), place_at(address).0);
    }

    #[inline(always)]
    fn words(&self) -> Option<CellWords<'_>> {
        Some(CellWords::Shared(self.words()))
    }

    fn for_each_nonzero(&self, mut visit: impl FnMut(u64, u64)) {
        for (index, word) in self.words().iter().enumerate() {
            let word = word.load(Relaxed);
            self.packing.for_each_marked(index, word, |cell, shift| {
                visit(cell, self.packing.read(word, shift));
            });
        }
    }

    fn for_each_change(&self, old: &Self, mut visit: impl FnMut(u64, u64, u64)) {
        assert_eq!(self.len, old.len, "as many cells on both sides");
        for (index, (new, old)) in self.words().iter().zip(old.words()).enumerate() {
            let new = new.load(Relaxed);
            let old = old.load(Relaxed);
            self.packing.for_each_marked(index, new ^ old, |cell, shift| {
                visit(cell, self.packing.read(old, shift), self.packing.read(new, shift));
            });
        }
    }
}

impl SharedCells for SharedPackedCells {
    fn locks(&self) -> usize {
        self.packing.pages(self.len).min(LOCKS_MAX) as usize
    }

    #[inline(always)]
    fn lock_of(&self, address: u64) -> usize {
        place_at(address).0 / PAGE_WORDS % self.locks()
    }

    #[inline(always)]
    fn store(&self, address: u64, value: u64) {
        write(self.words(), self.packing, address, value);
    }
}
