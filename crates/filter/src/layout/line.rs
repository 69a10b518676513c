//! The cache-line layout: one 512-bit line a key, eight 64-bit sectors, one bit in each.
//!
//! One cache miss a lookup, and the eight tests are one vector operation. The price is memory: 5 % more than
//! flat at a rate of 1 % (see [`maths::line`](crate::maths::line)).

use super::{AnyLayout, Layout, MAX_BITS};
use crate::error::GeometryError;
use crate::hash::{Hash128, scale};
use crate::maths::{cardinality::ZeroOdds, check_promise, line};
use crate::memory::prefetch;
use crate::simd::{Level, Simd};

/// Bits of a line: one cache line.
pub(crate) const LINE_BITS: u64 = 512;
/// Sectors of a line, and so the bits a key sets.
pub(crate) const LINE_SECTORS: usize = 8;
/// Bits of a sector: one word.
pub(crate) const SECTOR_BITS: u64 = 64;

/// The bits for the sectors are the upper 48 of `lo`, six a sector; the lower ones are the weakest of a
/// multiplicative hash.
pub(super) const FIRST_SHIFT: u32 = 16;
pub(super) const SHIFT_STEP: u32 = 6;

/// One line a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line {
    lines: u64,
}

impl Line {
    /// `lines` lines of 512 bits.
    pub fn new(lines: u64) -> Result<Self, GeometryError> {
        super::within("lines", lines, MAX_BITS / LINE_BITS)?;
        Ok(Line { lines })
    }

    /// The smallest that holds `capacity` keys at `rate`.
    pub fn sized(capacity: u64, rate: f64) -> Result<Self, GeometryError> {
        check_promise(capacity, rate)?;
        let lines = line::size(capacity, rate, MAX_BITS / LINE_BITS).ok_or(GeometryError::OutOfReach {
            layout: "line",
            capacity,
            rate,
        })?;
        Line::new(lines)
    }

    /// The line of `hash`.
    #[inline(always)]
    pub(super) fn line_of(&self, hash: Hash128) -> usize {
        scale(hash.hi, self.lines) as usize
    }
}

/// The bit of each sector.
#[inline(always)]
fn sector_bits(lo: u64) -> [u64; LINE_SECTORS] {
    std::array::from_fn(|sector| 1 << ((lo >> (FIRST_SHIFT + SHIFT_STEP * sector as u32)) % SECTOR_BITS))
}

/// The lines of a filter; the padding of the last page is none.
#[inline(always)]
pub(super) fn lines_of(words: &[u64]) -> &[[u64; LINE_SECTORS]] {
    words.as_chunks().0
}

#[inline(always)]
pub(super) fn lines_of_mut(words: &mut [u64]) -> &mut [[u64; LINE_SECTORS]] {
    words.as_chunks_mut().0
}

impl Layout for Line {
    fn bits(&self) -> u64 {
        self.lines * LINE_BITS
    }

    fn probes(&self) -> usize {
        LINE_SECTORS
    }

    #[inline(always)]
    fn position(&self, hash: Hash128, probe: usize) -> u64 {
        let bit = (hash.lo >> (FIRST_SHIFT + SHIFT_STEP * probe as u32)) % SECTOR_BITS;
        self.line_of(hash) as u64 * LINE_BITS + probe as u64 * SECTOR_BITS + bit
    }

    fn expected_rate(&self, keys: u64) -> f64 {
        line::rate(self.lines, keys)
    }

    /// The mean over the lines of the product of the sectors' shares of set bits.
    fn present_rate(&self, words: &[u64]) -> f64 {
        let share = |word: &u64| f64::from(word.count_ones()) / SECTOR_BITS as f64;
        let lines = lines_of(words).iter().take(self.lines as usize);
        lines.map(|line| line.iter().map(share).product::<f64>()).sum::<f64>() / self.lines as f64
    }

    fn expected_pages(&self) -> f64 {
        1.0
    }

    /// A key leaves a bit alone unless it falls on its line (1/lines) and on it in its sector (1/64).
    fn zero_odds(&self) -> ZeroOdds {
        let lines = self.lines as f64;
        let sector = 1.0 / SECTOR_BITS as f64;
        let alone = |chance: f64| (-chance / lines).ln_1p();
        let either_of_one_sector = 2.0 * sector;
        let either_of_two_sectors = 1.0 - (1.0 - sector) * (1.0 - sector);
        ZeroOdds {
            bits: self.bits() as f64,
            one: alone(sector),
            pairs: vec![
                (SECTOR_BITS as f64 - 1.0, alone(either_of_one_sector)),
                ((LINE_BITS - SECTOR_BITS) as f64, alone(either_of_two_sectors)),
                ((self.bits() - LINE_BITS) as f64, alone(either_of_one_sector)),
            ],
        }
    }

    fn any(self) -> AnyLayout {
        AnyLayout::Line(self)
    }

    #[inline]
    fn contains(&self, simd: Simd, words: &[u64], hash: Hash128) -> bool {
        let line = &lines_of(words)[self.line_of(hash)];
        match simd.0 {
            Level::Scalar => contains(line, hash.lo),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => super::line_x86::contains_avx2(simd, line, hash.lo),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => super::line_x86::contains_avx512(simd, line, hash.lo),
        }
    }

    #[inline]
    fn insert(&self, simd: Simd, words: &mut [u64], hash: Hash128) {
        let line = &mut lines_of_mut(words)[self.line_of(hash)];
        match simd.0 {
            Level::Scalar => insert(line, hash.lo),
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => super::line_x86::insert_avx2(simd, line, hash.lo),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => super::line_x86::insert_avx512(simd, line, hash.lo),
        }
    }

    #[inline]
    fn prefetch_lookups<W>(&self, words: &[W], hashes: &[Hash128]) {
        for &hash in hashes {
            prefetch(words, self.line_of(hash) * LINE_SECTORS);
        }
    }

    #[inline]
    fn prefetch_inserts<W>(&self, words: &[W], hashes: &[Hash128]) {
        self.prefetch_lookups(words, hashes);
    }

    fn contains_batch(&self, simd: Simd, words: &[u64], hashes: &[Hash128], found: &mut [bool]) {
        match simd.0 {
            Level::Scalar => {
                let lines = lines_of(words);
                for (&hash, found) in hashes.iter().zip(found) {
                    *found = contains(&lines[self.line_of(hash)], hash.lo);
                }
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => super::line_x86::contains_batch_avx2(simd, self, words, hashes, found),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => super::line_x86::contains_batch_avx512(simd, self, words, hashes, found),
        }
    }

    fn insert_batch(&self, simd: Simd, words: &mut [u64], hashes: &[Hash128]) {
        match simd.0 {
            Level::Scalar => {
                let lines = lines_of_mut(words);
                for &hash in hashes {
                    insert(&mut lines[self.line_of(hash)], hash.lo);
                }
            }
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => super::line_x86::insert_batch_avx2(simd, self, words, hashes),
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => super::line_x86::insert_batch_avx512(simd, self, words, hashes),
        }
    }
}

/// Out of line, as its vector twins must be: inlined it would crowd their callers' registers.
#[inline(never)]
fn contains(line: &[u64; LINE_SECTORS], lo: u64) -> bool {
    let missing = line.iter().zip(sector_bits(lo)).fold(0, |missing, (word, bit)| missing | (!word & bit));
    missing == 0
}

#[inline(never)]
fn insert(line: &mut [u64; LINE_SECTORS], lo: u64) {
    for (word, bit) in line.iter_mut().zip(sector_bits(lo)) {
        *word |= bit;
    }
}
