//! The page-local layout: a key's bits lie in one 4 KiB page (or in l of them).
//!
//! A lookup costs one TLB entry, and one page read where the filter is on disk. The price in memory is below
//! 1 % of flat: see [`maths::paged`](crate::maths::paged).

use super::{AnyLayout, Layout, MAX_BITS, MULTIPLIERS, is_set, rounds, set, within, word_of};
use crate::cells::{Cells, address_of};
use crate::error::GeometryError;
use crate::hash::{Hash128, scale};
use crate::maths::{MAX_K, cardinality::ZeroOdds, check_promise, distinct_pages, paged};
use crate::memory::{PAGE_BITS, PAGE_WORDS};
use crate::simd::{Level, Simd};

/// The most pages a key may use; more would only be a slow flat filter.
pub(crate) const MAX_PAGES_PER_KEY: u32 = 8;

/// A bit of a page is named by 15 bits, the upper ones of a 32-bit word.
pub(super) const IN_PAGE_SHIFT: u32 = 32 - PAGE_BITS.ilog2();

/// w blocks, l of them a key, k positions in each.
///
/// A block is a page: of a plain filter 32,768 positions, of a counting filter as many as cells fit into a page. It may
/// also be a part of one, down to a cache line of cells: fewer lines a lookup for a somewhat higher rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Paged {
    blocks: u64,
    pages_per_key: u32,
    k: u32,
    slots: u64,
}

impl Paged {
    /// `pages` pages of 4096 bytes, of which a key uses `pages_per_key`, `k` bits in each.
    pub fn new(pages: u64, pages_per_key: u32, k: u32) -> Result<Self, GeometryError> {
        Paged::with_slots(pages, pages_per_key, k, PAGE_BITS)
    }

    /// The same with blocks of `slots` positions, at most [`PAGE_BITS`].
    pub fn with_slots(blocks: u64, pages_per_key: u32, k: u32, slots: u64) -> Result<Self, GeometryError> {
        within("slots per page", slots, PAGE_BITS)?;
        within("pages", blocks, MAX_BITS / slots)?;
        within("pages per key", u64::from(pages_per_key), u64::from(MAX_PAGES_PER_KEY))?;
        within("k", u64::from(k), u64::from(MAX_K))?;
        Ok(Paged { blocks, pages_per_key, k, slots })
    }

    /// The smallest that holds `capacity` keys at `rate`, one page a key.
    pub fn sized(capacity: u64, rate: f64) -> Result<Self, GeometryError> {
        Paged::sized_with_slots(capacity, rate, PAGE_BITS)
    }

    /// The same with blocks of `slots` positions.
    pub fn sized_with_slots(capacity: u64, rate: f64, slots: u64) -> Result<Self, GeometryError> {
        check_promise(capacity, rate)?;
        Paged::with_slots(1, 1, 1, slots)?;
        let (pages, k) = paged::size(slots, capacity, rate, MAX_BITS / slots)
            .ok_or(GeometryError::OutOfReach { layout: "paged", capacity, rate })?;
        Paged::with_slots(pages, 1, k, slots)
    }

    /// Bits a key sets in each of its pages.
    pub fn k(&self) -> u32 {
        self.k
    }

    /// Pages a key uses.
    pub(crate) fn pages_per_key(&self) -> u32 {
        self.pages_per_key
    }

    /// Positions a block has.
    pub(crate) fn slots(&self) -> u64 {
        self.slots
    }

    /// Whether its pages are those of memory, as the kernels take for granted.
    #[inline(always)]
    fn is_whole(&self) -> bool {
        self.slots == PAGE_BITS
    }

    #[inline(always)]
    fn page_of(&self, hash: Hash128) -> usize {
        scale(hash.hi, self.blocks) as usize
    }

    /// The position of bit `i` in the first page of a key.
    #[inline(always)]
    fn in_first_page(&self, hash: Hash128, i: usize) -> u64 {
        self.page_of(hash) as u64 * self.slots + in_slots(hash.lo, i, self.slots)
    }
}

/// The hash that governs a key's `nth` page: the key's own for the first, remixed for the others.
#[inline(always)]
fn nth_hash(hash: Hash128, nth: usize) -> Hash128 {
    if nth == 0 {
        return hash;
    }
    let mix = |word: u64, by: u64| {
        let word = (word ^ by).wrapping_mul(MULTIPLIERS[0]);
        (word ^ word >> 32).wrapping_mul(MULTIPLIERS[1]) ^ word >> 29
    };
    let by = MULTIPLIERS[nth + 1];
    Hash128 { lo: mix(hash.lo, by), hi: mix(hash.hi ^ hash.lo.rotate_left(32), by) }
}

/// The multipliers within a page: the upper halves of the general ones, odd again.
pub(crate) static IN_PAGE: [u32; MAX_K as usize] = {
    let mut halves = [0; MAX_K as usize];
    let mut i = 0;
    while i < halves.len() {
        halves[i] = (MULTIPLIERS[i] >> 32) as u32 | 1;
        i += 1;
    }
    halves
};

/// Bit `i` of a key within its page: `lo` taken as two 32-bit words a (low) and b (high), `a * odd_i + b`.
///
/// In 32 bits, so that a vector holds eight or sixteen of them; from both words, so that two keys of one page
/// share all of seven bits with probability 2^-49; one word alone would give 2^-32, which would show at rates of 1e-5.
#[inline(always)]
fn in_page(lo: u64, i: usize) -> u64 {
    u64::from(mixed(lo, IN_PAGE[i]) >> IN_PAGE_SHIFT)
}

/// The same in a page of `slots` positions: the upper part of a product, which is the shift above for 32,768 of them.
#[inline(always)]
fn in_slots(lo: u64, i: usize, slots: u64) -> u64 {
    (u64::from(mixed(lo, IN_PAGE[i])) * slots) >> 32
}

#[inline(always)]
fn mixed(lo: u64, odd: u32) -> u32 {
    let a = lo as u32;
    let b = (lo >> 32) as u32;
    a.wrapping_mul(odd).wrapping_add(b)
}

/// Set bits from position `from` up to `to`.
fn ones_between(words: &[u64], from: u64, to: u64) -> u64 {
    let first = word_of(from);
    let last = word_of(to - 1);
    let mut ones = 0;
    for (index, &word) in words[first..=last].iter().enumerate() {
        let mut word = word;
        if index == 0 {
            word &= u64::MAX << (from % 64);
        }
        if index == last - first {
            word &= u64::MAX >> (63 - (to - 1) % 64);
        }
        ones += u64::from(word.count_ones());
    }
    ones
}

/// The pages of a filter.
#[inline(always)]
fn pages_of(words: &[u64]) -> &[[u64; PAGE_WORDS]] {
    words.as_chunks().0
}

impl Layout for Paged {
    fn bits(&self) -> u64 {
        self.blocks * self.slots
    }

    fn probes(&self) -> usize {
        (self.pages_per_key * self.k) as usize
    }

    #[inline(always)]
    fn position(&self, hash: Hash128, probe: usize) -> u64 {
        let k = self.k as usize;
        let (nth, i) = if probe < k { (0, probe) } else { (probe / k, probe % k) };
        self.in_first_page(nth_hash(hash, nth), i)
    }

    /// Where words are full of cells, an address is the number of a bit. Otherwise a block of packed cells is a power
    /// of two of words: the upper bits of a mixed word are the word, the others say which of its cells. That is where
    /// the position would lead, without its division.
    #[inline(always)]
    fn for_each_address<C: Cells>(&self, cells: &C, hash: Hash128, mut visit: impl FnMut(u64)) {
        if let Some(packing) = cells.packing() {
            let per_word = packing.per_word();
            let slots = self.slots;
            if packing.is_dense() && self.pages_per_key == 1 {
                let bits = u64::from(packing.bits());
                let first = self.page_of(hash) as u64 * slots * bits;
                for &odd in &IN_PAGE[..self.k as usize] {
                    visit(first + ((u64::from(mixed(hash.lo, odd)) * slots) >> 32) * bits);
                }
                return;
            }
            let doublings = slots.trailing_zeros().saturating_sub(per_word.trailing_zeros());
            if per_word << doublings == slots && self.pages_per_key == 1 {
                let words = 1 << doublings;
                let first_word = self.page_of(hash) as u64 * words;
                for &odd in &IN_PAGE[..self.k as usize] {
                    // The word in the upper half, and in the lower one how far into it, in 2^-32 of a word.
                    let into_block = u64::from(mixed(hash.lo, odd)) * words;
                    let slot = (u64::from(into_block as u32) * per_word) >> 32;
                    visit(address_of(first_word + (into_block >> 32), slot * u64::from(packing.bits())));
                }
                return;
            }
        }
        (0..self.probes()).for_each(|probe| visit(cells.address(self.position(hash, probe))));
    }

    fn expected_rate(&self, keys: u64) -> f64 {
        paged::rate(self.slots, self.blocks, self.pages_per_key, self.k, keys)
    }

    /// The mean over the blocks of `fill^k`, to the power of the pages a key uses.
    fn present_rate(&self, words: &[u64]) -> f64 {
        let rate_of = |block: u64| {
            let ones = ones_between(words, block * self.slots, (block + 1) * self.slots);
            (ones as f64 / self.slots as f64).powi(self.k as i32)
        };
        let mean = (0..self.blocks).map(rate_of).sum::<f64>() / self.blocks as f64;
        mean.powi(self.pages_per_key as i32)
    }

    fn expected_pages(&self) -> f64 {
        distinct_pages(self.blocks, 1, self.pages_per_key)
    }

    /// One of a key's pages leaves a bit alone unless it is the bit's own (1/w) and one of k throws hits it.
    fn zero_odds(&self) -> ZeroOdds {
        let pages = self.blocks as f64;
        let l = f64::from(self.pages_per_key);
        let page_bits = self.slots as f64;
        let k = f64::from(self.k);
        let hit = |bits: f64| -(k * (-bits / page_bits).ln_1p()).exp_m1();
        let alone = |chance: f64| l * (-chance / pages).ln_1p();
        ZeroOdds {
            bits: self.bits() as f64,
            one: alone(hit(1.0)),
            pairs: vec![
                (page_bits - 1.0, alone(hit(2.0))),
                (self.bits() as f64 - page_bits, alone(2.0 * hit(1.0))),
            ],
        }
    }

    fn any(self) -> AnyLayout {
        AnyLayout::Paged(self)
    }

    #[inline]
    fn contains(&self, simd: Simd, words: &[u64], hash: Hash128) -> bool {
        if !self.is_whole() {
            return (0..self.probes()).all(|probe| is_set(words, self.position(hash, probe)));
        }
        let pages = pages_of(words);
        (0..self.pages_per_key as usize).all(|nth| {
            let hash = nth_hash(hash, nth);
            let page = &pages[self.page_of(hash)];
            match simd.0 {
                Level::Scalar => contains(page, hash.lo, self.k),
                #[cfg(target_arch = "x86_64")]
                Level::Avx2 => super::paged_x86::contains_avx2(simd, page, hash.lo, self.k),
                #[cfg(target_arch = "x86_64")]
                Level::Avx512 => super::paged_x86::contains_avx512(simd, page, hash.lo, self.k),
            }
        })
    }

    fn insert(&self, _simd: Simd, words: &mut [u64], hash: Hash128) {
        if !self.is_whole() {
            (0..self.probes()).for_each(|probe| set(words, self.position(hash, probe)));
            return;
        }
        for nth in 0..self.pages_per_key as usize {
            let hash = nth_hash(hash, nth);
            let page = &mut words.as_chunks_mut::<PAGE_WORDS>().0[self.page_of(hash)];
            for i in 0..self.k as usize {
                set(page, in_page(hash.lo, i));
            }
        }
    }

    /// The first page of a key decides about most absent keys; further ones, where there are any, are not prefetched.
    #[inline]
    fn prefetch_lookups<W>(&self, words: &[W], hashes: &[Hash128]) {
        rounds::prefetch_first(words, hashes, self.k as usize, |hash, i| self.in_first_page(hash, i));
    }

    #[inline]
    fn prefetch_inserts<W>(&self, words: &[W], hashes: &[Hash128]) {
        rounds::prefetch_probes(words, hashes, 0..self.k as usize, |hash, i| self.in_first_page(hash, i));
    }

    fn contains_batch(&self, simd: Simd, words: &[u64], hashes: &[Hash128], found: &mut [bool]) {
        let position = |hash, i| self.in_first_page(hash, i);
        let contains = |hash| self.contains(simd, words, hash);
        rounds::contains_batch(words, hashes, found, self.k as usize, position, contains);
    }
}

#[inline(always)]
fn contains(page: &[u64; PAGE_WORDS], lo: u64, k: u32) -> bool {
    (0..k as usize).all(|i| is_set(page, in_page(lo, i)))
}
