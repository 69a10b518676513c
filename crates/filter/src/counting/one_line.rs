//! The quick way to count a key whose cells all lie in one cache line: the line is read once, whole.
//!
//! A lookup in memory beyond the cache waits for lines, and the fewer instructions it takes, the more lookups the
//! processor has waiting at a time. The scalar twin is [`count_in`](super::count_in), which also does what is left:
//! cells whose hint is not their value.

use super::{Count, count_in};
use crate::cells::{CellWords, Cells, LINE_WORDS};
use crate::hash::{BATCH_KEYS, Hash128, KeyHasher, scale};
use crate::layout::{AnyLayout, Layout};
use crate::memory::prefetch;
use crate::pipeline::Pipeline;
use crate::simd::{Level, Simd};

/// Bits of a line.
const LINE_BITS: u64 = LINE_WORDS as u64 * 64;

/// A hash's bit in its line is the upper part of a 32-bit word.
pub(super) const IN_LINE_SHIFT: u32 = 32 - LINE_BITS.ilog2();

/// The most probes the kernel takes: a lane each.
pub(super) const LANES: usize = 8;

/// Where keys lie, what the kernel is told of cells and probes, and the proof that the processor has its
/// instructions.
#[derive(Clone, Copy, Debug)]
pub(super) struct OneLine {
    simd: Simd,
    lines: u64,
    /// The bits of a line at which a cell begins, as a mask of their numbers.
    pub(super) first_bits: u64,
    /// The bits of one cell.
    pub(super) cell: u64,
    /// Ones in the lanes of no probe: they are never the least.
    pub(super) beyond: [u64; LANES],
}

impl OneLine {
    /// `None` where there is no kernel for the processor, the layout or the cells.
    pub(super) fn new<L: Layout, C: Cells>(simd: Simd, layout: &L, cells: &C) -> Option<Self> {
        let (AnyLayout::Paged(paged), Some(packing), Some(_)) =
            (layout.any(), cells.packing(), cells.words())
        else {
            return None;
        };
        let cell_bits = u64::from(packing.bits());
        let probes = paged.probes();
        let fits = paged.slots() * cell_bits == LINE_BITS
            && packing.is_dense()
            && paged.pages_per_key() == 1
            && probes <= LANES;
        (fits && Some(simd) == Simd::avx512()).then(|| OneLine {
            simd,
            lines: paged.bits() / paged.slots(),
            first_bits: !(cell_bits - 1),
            cell: packing.cap(),
            beyond: std::array::from_fn(|lane| if lane < probes { 0 } else { u64::MAX }),
        })
    }

    #[inline(always)]
    pub(super) fn line_of(&self, hash: Hash128) -> usize {
        scale(hash.hi, self.lines) as usize
    }

    /// [`count_in`], for one key.
    #[inline(always)]
    pub(super) fn count<L: Layout, C: Cells>(&self, layout: &L, cells: &C, hash: Hash128) -> Count {
        let words = self.words(cells);
        let least = match self.simd.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => super::one_line_x86::least(self.simd, self, words, hash),
            _ => unreachable!("{} has no kernel", self.simd.name()),
        };
        counted(layout, cells, hash, least)
    }

    /// [`count_in`] for many keys: asks for the lines of one batch while it reads those of the one before.
    pub(super) fn count_many<L: Layout, C: Cells, K, H: KeyHasher<K>>(
        &self,
        (layout, cells): (&L, &C),
        hasher: &H,
        keys: &[K],
        counts: &mut [Count],
    ) {
        let mut counts = counts.iter_mut();
        let mut least = [0; BATCH_KEYS];
        let mut pipeline = Pipeline::new(hasher, keys);
        self.prefetch(cells, pipeline.ahead());
        while pipeline.advance() {
            self.prefetch(cells, pipeline.ahead());
            let hashes = pipeline.current();
            self.least_of_each(cells, hashes, &mut least);
            for ((&hash, &least), count) in hashes.iter().zip(&least).zip(&mut counts) {
                *count = counted(layout, cells, hash, least);
            }
        }
    }

    #[inline(always)]
    fn prefetch<C: Cells>(&self, cells: &C, hashes: &[Hash128]) {
        for &hash in hashes {
            let word = self.line_of(hash) * LINE_WORDS;
            match self.words(cells) {
                CellWords::Own(words) => prefetch(words, word),
                CellWords::Shared(words) => prefetch(words, word),
            }
        }
    }

    #[inline(always)]
    fn words<'a, C: Cells>(&self, cells: &'a C) -> CellWords<'a> {
        cells.words().expect("checked when this way was chosen")
    }

    /// The least hint of each key.
    #[inline(always)]
    fn least_of_each<C: Cells>(&self, cells: &C, hashes: &[Hash128], least: &mut [u16]) {
        let words = self.words(cells);
        match self.simd.0 {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => super::one_line_x86::least_of_each(self.simd, self, words, hashes, least),
            _ => unreachable!("{} has no kernel", self.simd.name()),
        }
    }
}

/// A key's count, from the least of its cells' hints.
#[inline(always)]
fn counted<L: Layout, C: Cells>(layout: &L, cells: &C, hash: Hash128, least: u16) -> Count {
    let value = u64::from(least);
    if value >= cells.hint_limit() {
        return count_in(layout, cells, hash);
    }
    Count { value, saturated: value == cells.cap() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::{CellsMut, PackedCells, Packing, SharedCells, Split, SplitCells};
    use crate::counting::{Refined, Rule, gathered};
    use crate::hash::Unkeyed;
    use crate::layout::Paged;
    use crate::maths::MAX_K;
    use crate::memory::HugePages;

    const LINES: u64 = 128;

    fn layout(bits: u32, k: u32) -> Paged {
        Paged::with_slots(LINES, 1, k, LINE_BITS / u64::from(bits)).expect("in range")
    }

    /// Key i is counted i mod 41 times: some zeros, some saturated, some with a high part.
    fn fill<C: CellsMut>(layout: &Paged, cells: &mut C) {
        for key in 0..1000u64 {
            let mut room = [0; MAX_K as usize];
            let key_at = gathered(layout, cells, Unkeyed.hash(&key), &mut room).to_vec();
            Refined::add_at(cells, &key_at, key % 41);
        }
    }

    fn same_as_the_twin<C: Cells>(layout: &Paged, cells: &C, what: &str) {
        let Some(simd) = Simd::avx512() else { return eprintln!("skipped: this processor has no AVX-512") };
        let way = OneLine::new(simd, layout, cells).expect("cells of one line");
        let keys: Vec<u64> = (0..5000).collect();
        let twin: Vec<_> = keys.iter().map(|key| count_in(layout, cells, Unkeyed.hash(key))).collect();
        let singly: Vec<_> = keys.iter().map(|key| way.count(layout, cells, Unkeyed.hash(key))).collect();
        assert_eq!(singly, twin, "{what}");
        let mut batched = vec![Count::default(); keys.len()];
        way.count_many((layout, cells), &Unkeyed, &keys, &mut batched);
        assert_eq!(batched, twin, "{what}");
    }

    #[test]
    fn the_kernel_counts_as_its_twin() {
        for bits in [1, 2, 4, 8, 16] {
            for k in 1..=LANES as u32 {
                let layout = layout(bits, k);
                let packing = Packing::new(bits).expect("a width");
                let mut cells =
                    PackedCells::zeroed(packing, layout.bits(), HugePages::Default).expect("memory");
                fill(&layout, &mut cells);
                same_as_the_twin(&layout, &cells, &format!("packed, {bits} bits, k = {k}"));
                let cells = cells.share();
                assert!(cells.locks() > 0);
                same_as_the_twin(&layout, &cells, &format!("shared, {bits} bits, k = {k}"));
                if bits > 1 {
                    let split = Split::new(bits - 1, 4).expect("a width");
                    let mut cells =
                        SplitCells::zeroed(split, layout.bits(), HugePages::Default).expect("memory");
                    fill(&layout, &mut cells);
                    same_as_the_twin(&layout, &cells, &format!("split, {bits} bits, k = {k}"));
                }
            }
        }
    }

    #[test]
    fn the_kernel_is_for_dense_cells_of_one_line_and_few_probes() {
        let Some(simd) = Simd::avx512() else { return eprintln!("skipped: this processor has no AVX-512") };
        let way = |layout: Paged, bits| {
            let packing = Packing::new(bits).expect("a width");
            let cells = PackedCells::zeroed(packing, layout.bits(), HugePages::Default).expect("memory");
            (
                OneLine::new(simd, &layout, &cells).is_some(),
                OneLine::new(Simd::SCALAR, &layout, &cells).is_some(),
            )
        };
        assert_eq!(way(layout(4, 8), 4), (true, false));
        assert_eq!(way(layout(4, 9), 4), (false, false), "nine probes");
        assert_eq!(way(Paged::with_slots(64, 1, 3, 256).expect("in range"), 4), (false, false), "two lines");
        assert_eq!(
            way(Paged::with_slots(64, 1, 3, 96).expect("in range"), 5),
            (false, false),
            "cells of five bits"
        );
    }
}
