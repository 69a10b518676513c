//! Arithmetic on all cells of a packed word at once. A flag of a cell is a one in its lowest bit.

use super::gather::Picker;
use crate::cells::Packing;

/// Masks for the cells of one packing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Lanes {
    bits: u32,
    per_word: u32,
    /// The lowest bit of each cell.
    lows: u64,
    /// The highest bit of each cell.
    highs: u64,
    /// All other bits of each cell.
    below: u64,
    /// `groups[i]`: flags that stand together in groups of `2^i`, a group as far from the next as its cells are.
    groups: [u64; 7],
}

impl Lanes {
    pub(super) fn new(packing: Packing) -> Self {
        let bits = packing.bits();
        let per_word = packing.per_word() as u32;
        let lows = (0..per_word).fold(0, |lows, cell| lows | 1 << (cell * bits));
        let group = |size: u32| {
            (0..per_word).fold(0, |group, cell| group | 1u64 << (cell / size * size * bits + cell % size))
        };
        let highs = lows << (bits - 1);
        // Every cell filled with ones, without its highest.
        let below = (0..bits - 1).fold(0, |below, bit| below | lows << bit);
        let groups = std::array::from_fn(|i| group(1 << i));
        Lanes { bits, per_word, lows, highs, below, groups }
    }

    /// Flags the cells that are not zero.
    #[inline(always)]
    pub(super) fn nonzero(&self, word: u64) -> u64 {
        // A carry reaches the highest bit when any below it is set, and never goes further.
        ((((word & self.below) + self.below) | word) & self.highs) >> (self.bits - 1)
    }

    /// Flags the cells that are above 1.
    #[inline(always)]
    pub(super) fn above_one(&self, word: u64) -> u64 {
        self.nonzero(word & !self.lows)
    }

    /// The differences of cells, each modulo the number of its values.
    #[inline(always)]
    pub(super) fn subtract(&self, word: u64, other: u64) -> u64 {
        ((word | self.highs) - (other & !self.highs)) ^ ((word ^ !other) & self.highs)
    }

    /// The sums of cells, each modulo the number of its values.
    #[inline(always)]
    pub(super) fn add(&self, word: u64, other: u64) -> u64 {
        ((word & !self.highs) + (other & !self.highs)) ^ ((word ^ other) & self.highs)
    }

    /// The sums of cells, none above the cap.
    #[inline(always)]
    pub(super) fn add_to_cap(&self, word: u64, other: u64) -> u64 {
        let sum = self.add(word, other);
        let over = (word & other | (word | other) & !sum) & self.highs;
        // All bits of each cell that ran over.
        sum | (over << 1).wrapping_sub(over >> (self.bits - 1))
    }

    /// Flags side by side, one bit a cell.
    #[inline(always)]
    pub(super) fn squeeze<P: Picker>(&self, picker: P, mut flags: u64) -> u64 {
        if P::FAST {
            return picker.gather(flags, self.lows);
        }
        for i in 0..6 {
            if 1 << i >= self.per_word {
                break;
            }
            flags = (flags | flags >> ((self.bits - 1) << i)) & self.groups[i + 1];
        }
        flags
    }

    /// Undoes [`squeeze`](Self::squeeze). Bits beyond the cells of a word go nowhere.
    #[inline(always)]
    pub(super) fn spread<P: Picker>(&self, picker: P, mut flags: u64) -> u64 {
        if P::FAST {
            return picker.scatter(flags, self.lows);
        }
        flags &= u64::MAX >> (64 - self.per_word);
        for i in (0..6).rev() {
            if 1 << i < self.per_word {
                flags = (flags | flags << ((self.bits - 1) << i)) & self.groups[i];
            }
        }
        flags
    }
}

#[cfg(test)]
mod tests {
    use super::super::gather::{Tables, Work, run};
    use super::*;
    use crate::cells::CELL_BITS_MAX;
    use crate::random::SplitMix;

    struct Compare;

    impl Work for Compare {
        type Output = ();

        fn run<P: Picker>(self, picker: P) {
            all_cells_at_once_as_one_by_one(picker);
        }
    }

    #[test]
    fn all_cells_at_once() {
        Compare.run(Tables);
        run(Compare);
    }

    fn all_cells_at_once_as_one_by_one<P: Picker>(picker: P) {
        let mut rng = SplitMix(3);
        for bits in 1..=CELL_BITS_MAX {
            let packing = Packing::new(bits).expect("a width");
            let lanes = Lanes::new(packing);
            let cap = packing.cap();
            let per_word = packing.per_word() as u32;
            let each = |word: u64, other: u64, law: &dyn Fn(u64, u64) -> u64| {
                (0..per_word).fold(0, |sum, cell| {
                    let at = |word: u64| word >> (cell * bits) & cap;
                    sum | law(at(word), at(other)) << (cell * bits)
                })
            };
            for round in 0..300 {
                let used = each(u64::MAX, 0, &|value, _| value);
                // Often at the cap, often zero.
                let (word, other) = match round % 3 {
                    0 => (rng.next(), rng.next()),
                    1 => (rng.next() | rng.next() | rng.next(), rng.next()),
                    _ => (rng.next() & rng.next() & rng.next(), rng.next()),
                };
                let word = word & used;
                let other = other & used;
                assert_eq!(lanes.nonzero(word), each(word, 0, &|value, _| u64::from(value > 0)), "{bits}");
                assert_eq!(lanes.above_one(word), each(word, 0, &|value, _| u64::from(value > 1)), "{bits}");
                let difference = each(word, other, &|value, other| value.wrapping_sub(other) & cap);
                assert_eq!(lanes.subtract(word, other) & used, difference, "{bits}");
                assert_eq!(lanes.add(word, other) & used, each(word, other, &|a, b| (a + b) & cap), "{bits}");
                let flags = lanes.nonzero(other);
                let capped = each(word, other, &|a, b| (a + b).min(cap));
                assert_eq!(lanes.add_to_cap(word, other) & used, capped, "{bits}");
                let squeezed = (0..per_word).fold(0, |sum, cell| sum | (flags >> (cell * bits) & 1) << cell);
                assert_eq!(
                    (lanes.squeeze(picker, flags), lanes.spread(picker, squeezed)),
                    (squeezed, flags),
                    "{bits}"
                );
            }
        }
    }
}
