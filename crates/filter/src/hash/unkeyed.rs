//! A fast unkeyed hash of integers, for races against filters and maps that hash likewise.

use super::{Hash128, KeyHasher};

/// A folded multiply (one 64 x 64 -> 128 bit product, halves xored), then one multiply more for the second word.
///
/// As strong as the fast hashers of hash tables: fine for keys nobody chose, useless against a sender who
/// chooses them. Production keys go through [`SipKey`](super::SipKey).
#[derive(Clone, Copy, Debug, Default)]
pub struct Unkeyed;

/// Odd numbers without structure: the fractional digits of pi, and of the golden ratio.
const PI_DIGITS: u64 = 0x243f_6a88_85a3_08d3;
const PI_DIGITS_NEXT: u64 = 0x1319_8a2e_0370_7345;
const GOLDEN: u64 = 0x9e37_79b9_7f4a_7c15;

impl KeyHasher<u64> for Unkeyed {
    #[inline(always)]
    fn hash(&self, key: &u64) -> Hash128 {
        folded(key ^ PI_DIGITS, PI_DIGITS_NEXT)
    }
}

impl KeyHasher<u128> for Unkeyed {
    #[inline(always)]
    fn hash(&self, key: &u128) -> Hash128 {
        folded(*key as u64 ^ PI_DIGITS, (*key >> 64) as u64 ^ PI_DIGITS_NEXT)
    }
}

#[inline(always)]
fn folded(a: u64, b: u64) -> Hash128 {
    let product = u128::from(a) * u128::from(b);
    let hi = (product as u64) ^ ((product >> 64) as u64);
    Hash128 { lo: hi.wrapping_mul(GOLDEN), hi }
}
