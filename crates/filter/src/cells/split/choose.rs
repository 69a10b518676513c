//! Which shape of split storage is best for counts like these, and what it saves.

use super::table::memory_of;
use super::{Chunk, LOW_BITS_MAX, Split};
use crate::cells::shared::LOCKS_MAX;
use crate::error::GeometryError;
use crate::layout::MAX_BITS;
use crate::maths::binomial_mean;
use crate::memory::PAGE_BYTES;

/// Chunks may cost this much more memory than the best number of them: each is one more writer at a time.
const CHUNKS_WORTH: f64 = 1.01;

/// The best shape for some counts, and what flat cells would take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Savings {
    /// The shape.
    pub split: Split,
    /// Expected bytes: base, chunks and tables.
    pub bytes: f64,
    /// The same counts in flat cells of 8, 16 and 32 bits.
    pub flat: [FlatCells; 3],
}

/// The same counts in flat cells of one width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FlatCells {
    /// Bits a cell.
    pub bits: u32,
    /// Bytes they take.
    pub bytes: f64,
    /// The share of memory that split storage saves; negative where it takes more.
    pub saved: f64,
    /// Cells whose count does not fit.
    pub too_small_for: u64,
}

/// Chooses s and N for `cells` cells of which `histogram` says how many hold which value; the others hold zero.
///
/// For each s the flagged cells, those of 2^s and more, fall into N chunks at random, Binomial(flagged, 1/N) each, and
/// the memory of a table is known for every number of entries. Chosen is the s of the least memory, and then the most
/// chunks that cost at most a hundredth more.
pub fn choose(cells: u64, histogram: &[(u64, u64)]) -> Result<Savings, GeometryError> {
    crate::layout::within("cells", cells, MAX_BITS)?;
    let counted = histogram.iter().fold(0u64, |sum, &(_, count)| sum.saturating_add(count));
    if counted > cells {
        return Err(GeometryError::TooLarge {
            field: "cells in the histogram",
            value: counted,
            limit: cells,
        });
    }
    let above = |limit: u64| -> u64 {
        histogram.iter().filter(|&&(value, _)| value > limit).map(|&(_, count)| count).sum()
    };
    let bytes_of = |split: &Split| expected_bytes(split, cells, histogram);
    let mut all = Vec::new();
    for low_bits in 1..=LOW_BITS_MAX {
        for doublings in 0..=LOCKS_MAX.ilog2() {
            let split = Split::new(low_bits, 1 << doublings)?;
            if doublings == 0 || split.chunks() <= split.base().pages(cells) {
                all.push((split, bytes_of(&split)));
            }
        }
    }
    let least = |best: &(Split, f64), next: &(Split, f64)| if next.1 < best.1 { *next } else { *best };
    let best = all.iter().fold(all[0], |best, next| least(&best, next));
    let worth = |(split, bytes): &&(Split, f64)| {
        split.low_bits() == best.0.low_bits() && *bytes <= best.1 * CHUNKS_WORTH
    };
    let (split, bytes) = all
        .iter()
        .filter(worth)
        .fold(best, |most, next| if next.0.chunks() > most.0.chunks() { *next } else { most });
    let flat = [8, 16, 32].map(|bits| {
        let flat_bytes = (cells * u64::from(bits) / 8).next_multiple_of(PAGE_BYTES as u64) as f64;
        FlatCells {
            bits,
            bytes: flat_bytes,
            saved: 1.0 - bytes / flat_bytes,
            too_small_for: above((1 << bits) - 1),
        }
    });
    Ok(Savings { split, bytes, flat })
}

/// The memory that `cells` cells are expected to take in this shape, in bytes: base, chunks and tables. `histogram` is
/// as for [`choose`].
pub fn expected_bytes(split: &Split, cells: u64, histogram: &[(u64, u64)]) -> f64 {
    let flagged =
        histogram.iter().filter(|&&(value, _)| split.high_of(value) > 0).map(|&(_, count)| count).sum();
    // Chunks have equal numbers of pages, but for the last one.
    let pages = split.base().pages(cells);
    let chunk_cells = split.pages_per_chunk(pages) * split.base().per_page();
    let table = |cells_of_chunk: u64| {
        let share = cells_of_chunk as f64 / cells as f64;
        binomial_mean(flagged, share, |entries| memory_of(entries as u64) as f64)
    };
    let whole = cells / chunk_cells;
    let tables = whole as f64 * table(chunk_cells.min(cells)) + table(cells % chunk_cells);
    let chunks = cells.div_ceil(chunk_cells) as f64 * size_of::<Chunk<std::sync::atomic::AtomicU64>>() as f64;
    (pages * PAGE_BYTES as u64) as f64 + chunks + tables
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::{CellsMut, SplitCells};
    use crate::memory::HugePages;
    use crate::random::SplitMix;

    /// A hundred thousand cells of which the n-th largest holds about 40,000/n.
    fn zipf(cells: u64) -> Vec<(u64, u64)> {
        let mut values = std::collections::BTreeMap::new();
        for rank in 1..=cells / 2 {
            *values.entry(40_000 / rank).or_insert(0) += 1;
        }
        values.into_iter().filter(|&(value, _)| value > 0).collect()
    }

    fn built(split: Split, cells: u64, histogram: &[(u64, u64)], seed: u64) -> f64 {
        let mut storage = SplitCells::zeroed(split, cells, HugePages::Default).expect("memory");
        // A random order of the cells: each value lands anywhere.
        let mut order: Vec<u64> = (0..cells).collect();
        let mut rng = SplitMix(seed);
        for i in (1..order.len()).rev() {
            order.swap(i, (rng.next() % (i as u64 + 1)) as usize);
        }
        let values = histogram.iter().flat_map(|&(value, count)| (0..count).map(move |_| value));
        for (&cell, value) in order.iter().zip(values) {
            storage.set(cell, value);
        }
        storage.memory_bytes() as f64
    }

    #[test]
    fn expected_bytes_are_those_of_storage_that_was_built() {
        let cells = 200_000;
        let histogram = zipf(cells);
        for (low_bits, chunks) in [(1, 1), (2, 8), (3, 32), (5, 4), (8, 1), (3, 1000)] {
            let split = Split::new(low_bits, chunks).expect("a shape");
            let expected = expected_bytes(&split, cells, &histogram);
            let mean = (0..8).map(|seed| built(split, cells, &histogram, seed)).sum::<f64>() / 8.0;
            // Tables of chunks that grow together grow by jumps: the mean of eight has some percent of scatter there.
            assert!((mean / expected - 1.0).abs() < 0.02, "{split:?}: {mean} {expected}");
        }
    }

    #[test]
    fn the_choice_is_the_best_of_all_that_can_be_built() {
        let cells = 200_000;
        let histogram = zipf(cells);
        let choice = choose(cells, &histogram).expect("a choice");
        let bytes = built(choice.split, cells, &histogram, 9);
        for low_bits in 1..=LOW_BITS_MAX {
            let other = Split::new(low_bits, choice.split.chunks()).expect("a shape");
            let other_bytes = built(other, cells, &histogram, 9);
            assert!(
                bytes <= other_bytes * 1.02,
                "{bytes} for {:?}, {other_bytes} for {other:?}",
                choice.split
            );
        }
        let [eight, sixteen, thirty_two] = choice.flat;
        assert_eq!((eight.bytes, eight.too_small_for), (200_704.0, 156));
        assert_eq!((sixteen.too_small_for, thirty_two.too_small_for), (0, 0));
        assert!(eight.saved > 0.0 && sixteen.saved > 0.5 && thirty_two.saved > 0.7, "{choice:?}");
    }

    #[test]
    fn counts_that_are_all_small_or_all_huge_and_histograms_that_lie() {
        let small = choose(100_000, &[(1, 50_000)]).expect("a choice");
        assert_eq!(small.split.low_bits(), 1);
        let huge = choose(100_000, &[(30_000, 100_000)]).expect("a choice");
        assert_eq!(huge.split.low_bits(), LOW_BITS_MAX);
        assert!(choose(10, &[(1, 11)]).expect_err("more than there are").to_string().contains("11"));
        assert!(choose(0, &[]).is_err());
    }
}
