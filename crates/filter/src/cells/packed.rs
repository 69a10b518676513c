//! Cells in words of one owner: pages in memory, or the words of a mapped file.

use super::{Cells, CellsMut, Packing};
use crate::error::GeometryError;
use crate::memory::{HugePages, PageBuf, prefetch};

/// `len` packed cells in `words`.
#[derive(Debug)]
pub struct PackedCells<S = PageBuf> {
    packing: Packing,
    len: u64,
    words: S,
}

impl PackedCells {
    /// `len` cells, all zero.
    pub fn zeroed(packing: Packing, len: u64, huge: HugePages) -> Result<Self, GeometryError> {
        Ok(PackedCells { packing, len, words: PageBuf::zeroed(packing.pages(len), huge)? })
    }

    /// A copy in memory of its own.
    pub fn try_clone(&self) -> Result<Self, GeometryError> {
        let mut copy = Self::zeroed(self.packing, self.len, HugePages::Default)?;
        copy.words.as_mut().copy_from_slice(self.words());
        Ok(copy)
    }
}

impl<S: AsRef<[u64]>> PackedCells<S> {
    /// `words` are exactly the pages of `len` cells: the callers in this crate made sure.
    pub(crate) fn from_parts(packing: Packing, len: u64, words: S) -> Self {
        debug_assert_eq!(words.as_ref().len() as u64, packing.pages(len) * crate::memory::PAGE_WORDS as u64);
        PackedCells { packing, len, words }
    }

    /// How they lie.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// The words they lie in, whole pages of them.
    #[inline(always)]
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    pub(crate) fn into_words(self) -> S {
        self.words
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> PackedCells<S> {
    #[inline(always)]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.words.as_mut()
    }
}

impl<S: AsRef<[u64]>> Cells for PackedCells<S> {
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
        let (word, shift) = self.packing.place(cell);
        self.packing.read(self.words()[word], shift)
    }

    #[inline(always)]
    fn prefetch(&self, cell: u64) {
        prefetch(self.words(), self.packing.place(cell).0);
    }

    fn for_each_nonzero(&self, mut visit: impl FnMut(u64, u64)) {
        for (index, &word) in self.words().iter().enumerate() {
            self.packing.for_each_marked(index, word, |cell, shift| {
                visit(cell, self.packing.read(word, shift));
            });
        }
    }

    /// Words that are equal, as most are, cost one comparison for all their cells.
    fn for_each_change(&self, old: &Self, mut visit: impl FnMut(u64, u64, u64)) {
        assert_eq!(self.len, old.len, "as many cells on both sides");
        let packing = self.packing;
        for (index, (&new, &old)) in self.words().iter().zip(old.words()).enumerate() {
            packing.for_each_marked(index, new ^ old, |cell, shift| {
                visit(cell, packing.read(old, shift), packing.read(new, shift));
            });
        }
    }

    fn packed(&self) -> Option<(Packing, &[u64])> {
        Some((self.packing, self.words()))
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> CellsMut for PackedCells<S> {
    #[inline(always)]
    fn set(&mut self, cell: u64, value: u64) {
        let (word, shift) = self.packing.place(cell);
        let word = &mut self.words.as_mut()[word];
        *word = self.packing.write(*word, shift, value);
    }

    fn packed_mut(&mut self) -> Option<(Packing, &mut [u64])> {
        Some((self.packing, self.words_mut()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::CELL_BITS_MAX;
    use crate::testing::SplitMix;

    #[test]
    fn cells_are_an_array_of_numbers() {
        for bits in 1..=CELL_BITS_MAX {
            let packing = Packing::new(bits).expect("a width");
            let len = packing.per_page() * 2 + 17;
            let mut cells = PackedCells::zeroed(packing, len, HugePages::Default).expect("three pages");
            let before = cells.try_clone().expect("three pages");
            let mut oracle = vec![0; len as usize];
            let mut rng = SplitMix(u64::from(bits));
            for _ in 0..2000 {
                let (cell, value) = (rng.next() % len, rng.next() & packing.cap());
                cells.set(cell, value);
                oracle[cell as usize] = value;
            }
            assert!((0..len).all(|cell| cells.get(cell) == oracle[cell as usize]), "{bits} bits");
            let mut changes = Vec::new();
            cells.for_each_change(&before, |cell, old, new| changes.push((cell, old, new)));
            let expected: Vec<_> = (0..len)
                .zip(&oracle)
                .filter(|&(_, &new)| new > 0)
                .map(|(cell, &new)| (cell, 0, new))
                .collect();
            assert_eq!(changes, expected, "{bits} bits");
        }
    }
}
