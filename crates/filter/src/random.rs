//! The one generator of this crate: small, seeded by the caller, the same numbers on every machine. Not for secrets.

use crate::hash::Hash128;

/// SplitMix64.
#[derive(Clone, Debug)]
pub struct SplitMix(pub u64);

impl SplitMix {
    /// The next word.
    #[expect(clippy::should_implement_trait, reason = "nobody wants an endless iterator here")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// A number in `0..n`; zero when `n` is. Some are likelier than others by `n / 2^64`, which nobody could measure.
    pub fn below(&mut self, n: u64) -> u64 {
        ((u128::from(self.next()) * u128::from(n)) >> 64) as u64
    }

    /// A number in `[0, 1)`, a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A hash as a pseudo-random function would give it.
    pub fn hash(&mut self) -> Hash128 {
        Hash128 { lo: self.next(), hi: self.next() }
    }
}
