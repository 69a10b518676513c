//! Small counters packed into 64-bit words: where a cell lies, and who holds it.
//!
//! A cell of w bits never straddles a word, hence no line and no page: a reader beside a writer sees the cell before or
//! after, and one packing serves owned memory, memory that threads share, and files. A word holds `floor(64/w)` cells;
//! what is left over is waste:
//!
//! | bits a cell | cells a word | waste |
//! |---|---|---|
//! | 1, 2, 4, 8, 16 | 64, 32, 16, 8, 4 | none |
//! | 3, 7, 9 | 21, 9, 7 | 1.6 % |
//! | 5, 6, 10, 12, 15 | 12, 10, 6, 5, 4 | 6.2 % |
//! | 14 | 4 | 12.5 % |
//! | 11 | 5 | 14.1 % |
//! | 13 | 4 | 18.8 % |

mod packed;
mod shared;
pub mod split;
mod word;

pub use packed::PackedCells;
pub use shared::{SharedCells, SharedPackedCells};
#[cfg(test)]
pub(crate) use shared::{read as read_shared, write as write_shared};
pub use split::{Split, SplitCells};
pub(crate) use word::AtomicWord;

use std::sync::atomic::AtomicU64;

use crate::error::GeometryError;
use crate::memory::PAGE_WORDS;

/// The widest packed cell. Counts beyond 65,535 are what split storage is for.
pub const CELL_BITS_MAX: u32 = 16;

/// CellWords of a cache line.
pub(crate) const LINE_WORDS: usize = 8;

/// How cells of one width lie in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Packing {
    bits: u32,
    per_word: u64,
    /// `ceil(2^64 / per_word)`: its product with a cell number has the number of the word in its upper half.
    reciprocal: u64,
    /// `ceil(2^16 / bits)`.
    slot_reciprocal: u32,
}

impl Packing {
    /// Cells of `bits` bits, 1 to [`CELL_BITS_MAX`].
    pub fn new(bits: u32) -> Result<Self, GeometryError> {
        if !(1..=CELL_BITS_MAX).contains(&bits) {
            return Err(GeometryError::CellBits { bits, most: CELL_BITS_MAX });
        }
        let per_word = u64::from(64 / bits);
        let reciprocal = (1u128 << 64).div_ceil(u128::from(per_word)) as u64;
        Ok(Packing { bits, per_word, reciprocal, slot_reciprocal: (1u32 << 16).div_ceil(bits) })
    }

    /// Bits of a cell.
    pub fn bits(&self) -> u32 {
        self.bits
    }

    /// The largest value of a cell; one that holds it is *saturated* and may stand for more.
    #[inline(always)]
    pub fn cap(&self) -> u64 {
        (1 << self.bits) - 1
    }

    /// Cells a word holds.
    pub fn per_word(&self) -> u64 {
        self.per_word
    }

    /// Cells a page holds.
    pub fn per_page(&self) -> u64 {
        self.per_word * PAGE_WORDS as u64
    }

    /// The pages that `cells` cells take.
    pub fn pages(&self, cells: u64) -> u64 {
        cells.div_ceil(self.per_page())
    }

    /// The word of a cell, and how far its lowest bit lies from the word's.
    ///
    /// Exact for cells below 2^58: the reciprocal is too large by less than `per_word / 2^64`.
    #[inline(always)]
    pub(crate) fn place(&self, cell: u64) -> (usize, u32) {
        let word = ((u128::from(cell) * u128::from(self.reciprocal)) >> 64) as u64;
        (word as usize, (cell - word * self.per_word) as u32 * self.bits)
    }

    /// Whether words are full of cells: then the address of a cell is the number of its lowest bit.
    #[inline(always)]
    pub(crate) fn is_dense(&self) -> bool {
        self.bits.is_power_of_two()
    }

    /// The same in one number.
    #[inline(always)]
    pub(crate) fn address(&self, cell: u64) -> u64 {
        if self.is_dense() {
            return cell * u64::from(self.bits);
        }
        let (word, shift) = self.place(cell);
        address_of(word as u64, u64::from(shift))
    }

    /// The number of the cell at an address.
    #[inline(always)]
    pub(crate) fn cell_at(&self, address: u64) -> u64 {
        let (word, shift) = place_at(address);
        word as u64 * self.per_word + u64::from(shift / self.bits)
    }

    /// The cell at `shift` of a word.
    #[inline(always)]
    pub(crate) fn read(&self, word: u64, shift: u32) -> u64 {
        word >> shift & self.cap()
    }

    /// The word with the cell at `shift` set to `value`, which is at most the cap.
    #[inline(always)]
    pub(crate) fn write(&self, word: u64, shift: u32, value: u64) -> u64 {
        debug_assert!(value <= self.cap());
        word & !(self.cap() << shift) | value << shift
    }

    /// The number, within its word, of the cell that bit `bit` belongs to: `bit / bits` without a division.
    /// Exact, because `bit` is below 64 and the reciprocal too large by less than
    /// `bits / 2^16`.
    #[inline(always)]
    fn slot(&self, bit: u32) -> u32 {
        (bit * self.slot_reciprocal) >> 16
    }

    /// Calls `visit` with the number and the shift of each cell of word `index` that has a bit in `marks`.
    #[inline(always)]
    pub(crate) fn for_each_marked(&self, index: usize, mut marks: u64, mut visit: impl FnMut(u64, u32)) {
        let first = index as u64 * self.per_word;
        // Bits beside the cells mean nothing, whatever a file has there.
        marks &= u64::MAX >> (64 - self.per_word as u32 * self.bits);
        while marks != 0 {
            let slot = self.slot(marks.trailing_zeros());
            let shift = slot * self.bits;
            visit(first + u64::from(slot), shift);
            marks &= !(self.cap() << shift);
        }
    }
}

/// A word and a shift in one number; a shift is less than 64, and the compiler is told so: it can then take the two
/// apart again at no cost.
#[inline(always)]
pub(crate) fn address_of(word: u64, shift: u64) -> u64 {
    word << 6 | shift & 63
}

/// The word and the shift of an address.
#[inline(always)]
pub(crate) fn place_at(address: u64) -> (usize, u32) {
    ((address >> 6) as usize, (address & 63) as u32)
}

/// The words of packed cells, with or without writers beside the reader.
#[derive(Clone, Copy, Debug)]
pub enum CellWords<'a> {
    /// Nobody writes to them meanwhile.
    Own(&'a [u64]),
    /// Threads share them.
    Shared(&'a [AtomicU64]),
}

/// Numbered cells that can be read.
///
/// Who looks at a cell more than once turns its number into an *address* first: packed cells lie at a word and a shift,
/// which take a division to find. For other cells the address is the number.
pub trait Cells {
    /// The largest value a cell can hold.
    fn cap(&self) -> u64;

    /// How many cells there are.
    fn len(&self) -> u64;

    /// Cells of one page: the unit of locality, locking, digesting and repair.
    fn per_page(&self) -> u64;

    /// Whether there are none.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The value of a cell.
    ///
    /// # Panics
    /// When there is no such cell.
    fn get(&self, cell: u64) -> u64;

    /// How the cells are packed, for layouts that find an address more quickly than by the number of the cell.
    #[inline(always)]
    fn packing(&self) -> Option<Packing> {
        None
    }

    /// The address of a cell.
    #[inline(always)]
    fn address(&self, cell: u64) -> u64 {
        match self.packing() {
            Some(packing) => packing.address(cell),
            None => cell,
        }
    }

    /// The value of the cell at an address.
    #[inline(always)]
    fn get_at(&self, address: u64) -> u64 {
        self.get(address)
    }

    /// Something quicker than the value of the cell at an address: the value itself where that is below
    /// [`hint_limit`](Self::hint_limit), and any number from there on where it is not.
    #[inline(always)]
    fn hint_at(&self, address: u64) -> u64 {
        self.get_at(address)
    }

    /// Below this a hint is the value. A key of which one cell has such a hint needs no other look at any.
    #[inline(always)]
    fn hint_limit(&self) -> u64 {
        u64::MAX
    }

    /// Asks for the memory at an address.
    fn prefetch(&self, address: u64);

    /// Calls `visit` with the number and the value of each cell that is not zero, in ascending order.
    fn for_each_nonzero(&self, visit: impl FnMut(u64, u64));

    /// The same for the cells of one page. There are none on a page that is not there.
    fn for_each_nonzero_on(&self, page: u64, mut visit: impl FnMut(u64, u64)) {
        let first = page.saturating_mul(self.per_page()).min(self.len());
        for cell in first..first.saturating_add(self.per_page()).min(self.len()) {
            let value = self.get(cell);
            if value > 0 {
                visit(cell, value);
            }
        }
    }

    /// Calls `visit` with the number, the value in `old` and the value here of each cell that differs, in
    /// ascending order.
    ///
    /// # Panics
    /// When `old` has another number of cells.
    fn for_each_change(&self, old: &Self, visit: impl FnMut(u64, u64, u64));

    /// The words that hints are read from, where hints are packed in words.
    #[inline(always)]
    fn words(&self) -> Option<CellWords<'_>> {
        None
    }

    /// The words of cells that are packed, for those who can do a word at a time.
    fn packed(&self) -> Option<(Packing, &[u64])> {
        None
    }
}

/// Cells that can be written by one owner.
pub trait CellsMut: Cells {
    /// Sets a cell to `value`, which is at most the cap.
    fn set(&mut self, cell: u64, value: u64);

    /// Sets the cell at an address.
    #[inline(always)]
    fn set_at(&mut self, address: u64, value: u64) {
        self.set(address, value);
    }

    /// Raises the cell at an address to at least `value`.
    ///
    /// Cells that hold more are written as they were: a branch on what lies there could not be foreseen, and cost
    /// batched insertions half as much again.
    #[inline(always)]
    fn raise_at(&mut self, address: u64, value: u64) {
        self.set_at(address, self.get_at(address).max(value));
    }

    /// The words of cells that are packed, to be written. What is left over in a word stays zero.
    fn packed_mut(&mut self) -> Option<(Packing, &mut [u64])> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_division() {
        for bits in 1..=CELL_BITS_MAX {
            let packing = Packing::new(bits).expect("a width");
            let cells =
                (0..1000).chain((0..40).map(|i| (1 << 57) + i * 0x1_2345_6789)).chain([(1 << 58) - 1]);
            for cell in cells {
                let expected =
                    ((cell / packing.per_word()) as usize, (cell % packing.per_word()) as u32 * bits);
                assert_eq!(packing.place(cell), expected, "{bits} bits, cell {cell}");
                assert!(expected.1 + bits <= 64, "no cell straddles a word");
                assert_eq!(packing.cell_at(packing.address(cell)), cell);
            }
        }
        for bits in 1..=CELL_BITS_MAX {
            let packing = Packing::new(bits).expect("a width");
            assert!((0..64).all(|bit| packing.slot(bit) == bit / bits), "{bits} bits");
        }
        assert!(Packing::new(0).is_err() && Packing::new(17).is_err());
    }

    /// The table above.
    #[test]
    fn the_waste_is_as_stated() {
        let stated = [
            (&[1, 2, 4, 8, 16][..], "0.0"),
            (&[3, 7, 9], "1.6"),
            (&[5, 6, 10, 12, 15], "6.2"),
            (&[14], "12.5"),
            (&[11], "14.1"),
            (&[13], "18.8"),
        ];
        let mut widths = 0;
        for (bits, percent) in stated {
            for &bits in bits {
                let packing = Packing::new(bits).expect("a width");
                let held = packing.per_word() * u64::from(packing.bits());
                let waste = 1.0 - held as f64 / 64.0;
                assert_eq!(format!("{:.1}", waste * 100.0), percent, "{bits} bits");
                widths += 1;
            }
        }
        assert_eq!(widths, CELL_BITS_MAX);
    }
}
