//! Cells in words of one owner: pages in memory, or the words of a mapped file.

use super::{CellWords, Cells, CellsMut, Packing, place_at};
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
    pub(crate) fn shape(&self) -> Packing {
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
        self.get_at(self.packing.address(cell))
    }

    #[inline(always)]
    fn packing(&self) -> Option<Packing> {
        Some(self.packing)
    }

    #[inline(always)]
    fn get_at(&self, address: u64) -> u64 {
        let (word, shift) = place_at(address);
        self.packing.read(self.words()[word], shift)
    }

    #[inline(always)]
    fn prefetch(&self, address: u64) {
        prefetch(self.words(), place_at(address).0);
    }

    #[inline(always)]
    fn words(&self) -> Option<CellWords<'_>> {
        Some(CellWords::Own(self.words.as_ref()))
    }

    fn for_each_nonzero(&self, mut visit: impl FnMut(u64, u64)) {
        for (index, &word) in self.words().iter().enumerate() {
            self.packing.for_each_marked(index, word, |cell, shift| {
                // A file whose pages nobody checked may have something behind its last cell.
                if cell < self.len {
                    visit(cell, self.packing.read(word, shift));
                }
            });
        }
    }

    /// CellWords that are equal, as most are, cost one comparison for all their cells.
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
        self.set_at(self.packing.address(cell), value);
    }

    #[inline(always)]
    fn set_at(&mut self, address: u64, value: u64) {
        let (word, shift) = place_at(address);
        let word = &mut self.words.as_mut()[word];
        *word = self.packing.write(*word, shift, value);
    }

    fn packed_mut(&mut self) -> Option<(Packing, &mut [u64])> {
        Some((self.packing, self.words.as_mut()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::CELL_BITS_MAX;
    use crate::hash::Hash128;
    use crate::layout::{Flat, Layout, Paged};
    use crate::random::SplitMix;

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
                let cell = rng.next() % len;
                let value = rng.next() & packing.cap();
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
            let mut nonzero = Vec::new();
            for page in 0..5 {
                cells.for_each_nonzero_on(page, |cell, value| nonzero.push((cell, 0, value)));
            }
            assert_eq!(nonzero, expected, "{bits} bits, page by page");
        }
    }

    /// Layouts may find addresses in their own way; they must be those of the positions.
    #[test]
    fn addresses_are_those_of_the_positions() {
        let mut rng = SplitMix(9);
        for bits in 1..=CELL_BITS_MAX {
            let packing = Packing::new(bits).expect("a width");
            let paged = |part: u64| Paged::with_slots(7 * part, 1, 32, packing.per_page() / part);
            let layouts = [
                paged(1).expect("in range").any(),
                paged(4).expect("in range").any(),
                paged(64).expect("in range").any(),
                Flat::new(packing.per_page() * 6 + 17, 32).expect("in range").any(),
            ];
            for layout in layouts {
                let cells = PackedCells::zeroed(packing, layout.bits(), HugePages::Default).expect("memory");
                for _ in 0..300 {
                    let hash = Hash128 { lo: rng.next(), hi: rng.next() };
                    let mut addresses = Vec::new();
                    layout.for_each_address(&cells, hash, |address| addresses.push(address));
                    let expected: Vec<u64> =
                        (0..32).map(|probe| cells.address(layout.position(hash, probe))).collect();
                    assert_eq!(addresses, expected, "{layout:?}");
                }
            }
        }
    }
}
