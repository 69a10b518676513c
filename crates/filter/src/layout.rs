//! Where a key's bits lie: three layouts behind one trait.
//!
//! | layout | a key's bits | lines touched | memory at 1 % |
//! |---|---|---|---|
//! | [`Flat`] | k anywhere | up to k | 9.6 bits a key |
//! | [`Paged`] | k in one 4 KiB page | up to k, one TLB entry | 9.6 |
//! | [`Line`] | 8 in one 64-byte line | 1 | 10.1 |
//!
//! [`Layout::position`] is the definition of a layout and the oracle of its fast paths; everything else here
//! must give the same bits.

mod any;
mod flat;
mod line;
#[cfg(target_arch = "x86_64")]
mod line_x86;
mod paged;
#[cfg(target_arch = "x86_64")]
mod paged_x86;
mod rounds;

pub(crate) use any::same;
pub use any::{AnyLayout, LayoutName};
pub use flat::Flat;
pub use line::Line;
pub(crate) use line::{LINE_BITS, LINE_SECTORS, SECTOR_BITS};
#[cfg(target_arch = "x86_64")]
pub(crate) use paged::IN_PAGE;
pub use paged::Paged;

use crate::cells::Cells;
use crate::hash::Hash128;
use crate::maths::{MAX_K, cardinality::ZeroOdds};
use crate::memory::PAGE_BITS;
use crate::simd::Simd;

/// The most bits of one filter: 2^43, a tebibyte. A limit against typing errors and hostile headers; memory that
/// is not there is refused below it.
pub const MAX_BITS: u64 = 1 << 43;

/// A geometry: how many bits, and which of them belong to a key.
pub trait Layout: Copy + PartialEq + std::fmt::Debug {
    /// m: the number of bits.
    fn bits(&self) -> u64;

    /// The number of bits a key sets, repeats included.
    fn probes(&self) -> usize;

    /// The position in `0..bits` of probe `probe` in `0..probes`: the definition of the layout.
    fn position(&self, hash: Hash128, probe: usize) -> u64;

    /// Calls `visit` with the address of each of a key's cells among `cells`, one a probe.
    #[inline(always)]
    fn for_each_address<C: Cells>(&self, cells: &C, hash: Hash128, mut visit: impl FnMut(u64)) {
        for probe in 0..self.probes() {
            visit(cells.address(self.position(hash, probe)));
        }
    }

    /// The expected false-positive rate after `keys` distinct keys.
    fn expected_rate(&self, keys: u64) -> f64;

    /// The false-positive rate that these very bits amount to, for absent keys hashed at random.
    fn present_rate(&self, words: &[u64]) -> f64;

    /// The expected number of distinct pages one lookup touches.
    fn expected_pages(&self) -> f64;

    /// What [`cardinality`](crate::maths::cardinality) needs to know.
    fn zero_odds(&self) -> ZeroOdds;

    /// The same layout, its kind known at run time only.
    fn any(self) -> AnyLayout;

    /// The number of 4 KiB pages, the last one padded with zeros.
    fn pages(&self) -> u64 {
        self.bits().div_ceil(PAGE_BITS)
    }

    /// Whether all bits of `hash` are set.
    fn contains(&self, simd: Simd, words: &[u64], hash: Hash128) -> bool;

    /// Sets the bits of `hash`.
    fn insert(&self, _simd: Simd, words: &mut [u64], hash: Hash128) {
        for probe in 0..self.probes() {
            set(words, self.position(hash, probe));
        }
    }

    /// Asks for the memory that [`contains_batch`](Self::contains_batch) will look at first.
    fn prefetch_lookups<W>(&self, words: &[W], hashes: &[Hash128]);

    /// Asks for the memory that [`insert_batch`](Self::insert_batch) will write.
    fn prefetch_inserts<W>(&self, words: &[W], hashes: &[Hash128]);

    /// [`contains`](Self::contains) for at most [`BATCH_KEYS`](crate::hash::BATCH_KEYS) hashes that were
    /// prefetched; `found` is as long as `hashes`.
    fn contains_batch(&self, simd: Simd, words: &[u64], hashes: &[Hash128], found: &mut [bool]);

    /// [`insert`](Self::insert) for hashes that were prefetched.
    fn insert_batch(&self, simd: Simd, words: &mut [u64], hashes: &[Hash128]) {
        for &hash in hashes {
            self.insert(simd, words, hash);
        }
    }
}

/// The index of the word that holds bit `position`.
#[inline(always)]
pub(crate) fn word_of(position: u64) -> usize {
    (position / 64) as usize
}

/// The bit of `position` within its word.
#[inline(always)]
pub(crate) fn bit_of(position: u64) -> u64 {
    1 << (position % 64)
}

#[inline(always)]
pub(crate) fn is_set(words: &[u64], position: u64) -> bool {
    words[word_of(position)] & bit_of(position) != 0
}

#[inline(always)]
fn set(words: &mut [u64], position: u64) {
    words[word_of(position)] |= bit_of(position);
}

/// Clears a bit and says whether it was set.
pub(crate) fn clear(words: &mut [u64], position: u64) -> bool {
    let was_set = is_set(words, position);
    words[word_of(position)] &= !bit_of(position);
    was_set
}

/// Odd multipliers without structure, one a probe: probe i of a key comes from `lo * MULTIPLIERS[i] + hi`.
///
/// Why not double hashing, `a + i b`: two keys whose progressions share two members share many, which raises
/// small rates. (The enhanced form repairs this with a term in i^3, but that term is lost where,
/// as here, positions come from the upper bits.) With unrelated multipliers two shared members say nothing
/// about a third.
pub(crate) const MULTIPLIERS: [u64; MAX_K as usize] = multipliers();

/// The first outputs of SplitMix64 from seed zero, made odd.
const fn multipliers() -> [u64; MAX_K as usize] {
    let mut all = [0; MAX_K as usize];
    let mut state = 0u64;
    let mut i = 0;
    while i < all.len() {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        all[i] = (z ^ z >> 31) | 1;
        i += 1;
    }
    all
}

/// Refuses zero and more than `limit`.
pub(crate) fn within(field: &'static str, value: u64, limit: u64) -> Result<(), crate::error::GeometryError> {
    use crate::error::GeometryError;
    match value {
        0 => Err(GeometryError::Zero(field)),
        _ if value > limit => Err(GeometryError::TooLarge { field, value, limit }),
        _ => Ok(()),
    }
}
