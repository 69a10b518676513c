//! The textbook layout: k bits anywhere. The least memory, the most cache misses.

use super::{AnyLayout, Layout, MAX_BITS, MULTIPLIERS, rounds};
use crate::error::GeometryError;
use crate::hash::{Hash128, scale};
use crate::maths::{MAX_K, cardinality::ZeroOdds, check_promise, distinct_pages, flat};
use crate::memory::PAGE_BITS;
use crate::simd::Simd;

/// k bits anywhere in m.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flat {
    bits: u64,
    k: u32,
}

impl Flat {
    /// `bits` bits (1 to [`MAX_BITS`]) and `k` probes (1 to [`MAX_K`]).
    pub fn new(bits: u64, k: u32) -> Result<Self, GeometryError> {
        super::within("bits", bits, MAX_BITS)?;
        super::within("k", u64::from(k), u64::from(MAX_K))?;
        Ok(Flat { bits, k })
    }

    /// The smallest that holds `capacity` keys at `rate`.
    pub fn sized(capacity: u64, rate: f64) -> Result<Self, GeometryError> {
        check_promise(capacity, rate)?;
        let (bits, k) = flat::size(capacity, rate, MAX_BITS).ok_or(GeometryError::OutOfReach {
            layout: "flat",
            capacity,
            rate,
        })?;
        Flat::new(bits, k)
    }

    /// Probes a key.
    pub fn k(&self) -> u32 {
        self.k
    }
}

impl Layout for Flat {
    fn bits(&self) -> u64 {
        self.bits
    }

    fn probes(&self) -> usize {
        self.k as usize
    }

    #[inline(always)]
    fn position(&self, hash: Hash128, probe: usize) -> u64 {
        scale(hash.lo.wrapping_mul(MULTIPLIERS[probe]).wrapping_add(hash.hi), self.bits)
    }

    fn expected_rate(&self, keys: u64) -> f64 {
        flat::rate(self.bits, self.k, keys)
    }

    fn present_rate(&self, words: &[u64]) -> f64 {
        let ones: u64 = words.iter().map(|word| u64::from(word.count_ones())).sum();
        (ones as f64 / self.bits as f64).powi(self.k as i32)
    }

    fn expected_pages(&self) -> f64 {
        distinct_pages(self.bits, PAGE_BITS, self.k)
    }

    /// `q = (1 - 1/m)^k`; of a pair `(1 - 2/m)^k`.
    fn zero_odds(&self) -> ZeroOdds {
        let m = self.bits as f64;
        let k = f64::from(self.k);
        ZeroOdds { bits: m, one: k * (-1.0 / m).ln_1p(), pairs: vec![(m - 1.0, k * (-2.0 / m).ln_1p())] }
    }

    fn any(self) -> AnyLayout {
        AnyLayout::Flat(self)
    }

    /// Scalar at every level. A gathering twin (AVX2 and AVX-512) was measured (docs/notebook/race.md): members 1.5
    /// times slower in the cache, absent keys 1.3 times slower beyond it, because it cannot stop at the first unset
    /// bit.
    #[inline]
    fn contains(&self, _simd: Simd, words: &[u64], hash: Hash128) -> bool {
        (0..self.probes()).all(|probe| super::is_set(words, self.position(hash, probe)))
    }

    #[inline]
    fn prefetch_lookups<W>(&self, words: &[W], hashes: &[Hash128]) {
        rounds::prefetch_first(words, hashes, self.probes(), |hash, probe| self.position(hash, probe));
    }

    #[inline]
    fn prefetch_inserts<W>(&self, words: &[W], hashes: &[Hash128]) {
        rounds::prefetch_probes(words, hashes, 0..self.probes(), |hash, probe| self.position(hash, probe));
    }

    fn contains_batch(&self, simd: Simd, words: &[u64], hashes: &[Hash128], found: &mut [bool]) {
        let position = |hash, probe| self.position(hash, probe);
        let contains = |hash| self.contains(simd, words, hash);
        rounds::contains_batch(words, hashes, found, self.probes(), position, contains);
    }
}
