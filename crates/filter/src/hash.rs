//! Hash once: a key becomes one 128-bit hash, and every position in every layout is derived from it.
//!
//! Senders choose the digests that reach a clearinghouse. With an unkeyed hash they could aim: fill one page,
//! or search offline for a signature that collides with a victim's message. So production keys go through
//! [`SipKey`], a pseudo-random function under a secret. [`Unkeyed`] is for races and for keys nobody chose.

mod sip;
#[cfg(target_arch = "x86_64")]
mod sip_x86;
mod unkeyed;

pub use sip::{KeyFingerprint, SipKey};
pub use unkeyed::Unkeyed;

/// How many keys are hashed and prefetched ahead of their probes.
///
/// A core keeps some 10 to 50 cache misses in flight; 64 keys are enough to fill that queue and small enough
/// (1 KiB of hashes) to stay in the first-level cache. Measured over 63 MB: 16 keys cost a sixth more, 32 to 256
/// make no difference beyond the noise.
pub const BATCH_KEYS: usize = 64;

/// One key's hash: 128 bits, of which `hi` chooses where (page, line) and `lo` chooses the bits there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Hash128 {
    /// Chooses the bits within a page or line.
    pub lo: u64,
    /// Chooses the page or line.
    pub hi: u64,
}

/// Turns keys of type `K` into hashes, one at a time or many at once with the same results.
pub trait KeyHasher<K> {
    /// The hash of one key.
    fn hash(&self, key: &K) -> Hash128;

    /// The hashes of `keys`, in order, into the front of `hashes`.
    ///
    /// # Panics
    /// When `hashes` is shorter than `keys`.
    fn hash_many(&self, keys: &[K], hashes: &mut [Hash128]) {
        let hashes = &mut hashes[..keys.len()];
        for (hash, key) in hashes.iter_mut().zip(keys) {
            *hash = self.hash(key);
        }
    }
}

/// The upper half of a 64 x 64 bit product: maps a uniform `x` onto `0..n` without division.
///
/// Every value below `n` is reached, each by `2^64/n` values of `x` give or take one.
#[inline(always)]
pub(crate) fn scale(x: u64, n: u64) -> u64 {
    ((u128::from(x) * u128::from(n)) >> 64) as u64
}
