//! SipHash in four lanes (AVX2) and eight (AVX-512): the rounds of `sip.rs`, one key a lane.
//!
//! Blocks are gathered straight from the keys. The last, partial block of a key of `n >= 8` bytes is its last
//! 8 bytes shifted down, so that no load reaches beyond the key.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::Hash128;
use super::sip::{Lanes, SipKey, SipState};
use crate::simd::{Level, Simd};

/// Proof that the processor has AVX2: only `of` makes one.
#[derive(Clone, Copy)]
struct Avx2(());

impl Avx2 {
    fn of(simd: Simd) -> Self {
        assert!(matches!(simd.0, Level::Avx2 | Level::Avx512));
        Avx2(())
    }
}

/// Proof that the processor has AVX-512F: only `of` makes one.
#[derive(Clone, Copy)]
struct Avx512(());

impl Avx512 {
    fn of(simd: Simd) -> Self {
        assert!(simd.0 == Level::Avx512);
        Avx512(())
    }
}

/// Hashes eight keys of one length, at least 8 bytes.
pub(super) fn hash_8(simd: Simd, key: &SipKey, keys: &[&[u8]; 8], hashes: &mut [Hash128; 8]) {
    let proof = Avx2::of(simd);
    // SAFETY: `proof` says that the processor has AVX2.
    unsafe { avx2(proof, key, keys, hashes) }
}

/// Hashes sixteen keys of one length, at least 8 bytes.
pub(super) fn hash_16(simd: Simd, key: &SipKey, keys: &[&[u8]; 16], hashes: &mut [Hash128; 16]) {
    let proof = Avx512::of(simd);
    // SAFETY: `proof` says that the processor has AVX-512F.
    unsafe { avx512(proof, key, keys, hashes) }
}

#[target_feature(enable = "avx2")]
fn avx2(proof: Avx2, key: &SipKey, keys: &[&[u8]; 8], hashes: &mut [Hash128; 8]) {
    in_lanes::<8, Pair<Four>>(proof, key, keys, hashes);
}

#[target_feature(enable = "avx512f")]
fn avx512(proof: Avx512, key: &SipKey, keys: &[&[u8]; 16], hashes: &mut [Hash128; 16]) {
    in_lanes::<16, Pair<Eight>>(proof, key, keys, hashes);
}

/// # Panics
/// When keys have different lengths, or less than 8 bytes.
#[inline(always)]
fn in_lanes<const N: usize, L: KeyLanes<N>>(
    proof: L::Proof,
    key: &SipKey,
    keys: &[&[u8]; N],
    hashes: &mut [Hash128; N],
) {
    let length = keys[0].len();
    assert!(length >= 8 && keys.iter().all(|key| key.len() == length));
    let mut state = SipState::<L>::new(proof, key.k0, key.k1);
    for block in 0..length / 8 {
        // SAFETY: all keys have `length` bytes, and `block * 8 + 8 <= length`.
        state.absorb(unsafe { L::gather(proof, keys, block * 8) });
    }
    let mut last = L::splat(proof, (length as u64) << 56);
    let rest = length % 8;
    if rest > 0 {
        // SAFETY: all keys have `length` bytes, at least 8, so the last 8 bytes are theirs.
        last = last.xor(unsafe { L::gather(proof, keys, length - 8) }.shift_down(8 * (8 - rest) as i32));
    }
    state.absorb(last);
    let (lo, hi) = state.finish();
    let lo = lo.words();
    let hi = hi.words();
    *hashes = std::array::from_fn(|i| Hash128 { lo: lo[i], hi: hi[i] });
}

/// Lanes that can be loaded from `N` keys.
trait KeyLanes<const N: usize>: Lanes {
    /// The 8 bytes at `offset` of each key.
    ///
    /// # Safety
    /// Every key has at least `offset + 8` bytes.
    unsafe fn gather(proof: Self::Proof, keys: &[&[u8]; N], offset: usize) -> Self;
    fn shift_down(self, bits: i32) -> Self;
    fn words(self) -> [u64; N];
}

/// Two vectors in turn. A round is one long chain of dependent steps; the second chain fills the gaps of the
/// first.
#[derive(Clone, Copy)]
struct Pair<L>(L, L);

impl<L: Lanes> Lanes for Pair<L> {
    type Proof = L::Proof;
    #[inline(always)]
    fn splat(proof: L::Proof, word: u64) -> Self {
        Pair(L::splat(proof, word), L::splat(proof, word))
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        Pair(self.0.add(other.0), self.1.add(other.1))
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Pair(self.0.xor(other.0), self.1.xor(other.1))
    }
    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        Pair(self.0.rotate::<LEFT, RIGHT>(), self.1.rotate::<LEFT, RIGHT>())
    }
}

/// Pairs of each width: the first half of the keys in one vector, the second in the other.
macro_rules! key_pairs {
    ($lanes:ident, $half:literal, $all:literal) => {
        impl KeyLanes<$all> for Pair<$lanes> {
            #[inline(always)]
            unsafe fn gather(proof: Self::Proof, keys: &[&[u8]; $all], offset: usize) -> Self {
                let halves: &[[&[u8]; $half]] = keys.as_chunks().0;
                // SAFETY: the caller's duty is that of the halves.
                unsafe {
                    Pair($lanes::gather(proof, &halves[0], offset), $lanes::gather(proof, &halves[1], offset))
                }
            }
            #[inline(always)]
            fn shift_down(self, bits: i32) -> Self {
                Pair(self.0.shift_down(bits), self.1.shift_down(bits))
            }
            #[inline(always)]
            fn words(self) -> [u64; $all] {
                let first = self.0.words();
                let second = self.1.words();
                std::array::from_fn(|i| if i < $half { first[i] } else { second[i - $half] })
            }
        }
    };
}

key_pairs!(Four, 4, 8);
key_pairs!(Eight, 8, 16);

/// Four lanes. `splat` and `gather` alone make values, from a proof: whoever has one may use the intrinsics of AVX2.
#[derive(Clone, Copy)]
struct Four(__m256i);

/// Eight lanes. `splat` and `gather` alone make values, from a proof: whoever has one may use those of AVX-512F.
#[derive(Clone, Copy)]
struct Eight(__m512i);

impl Lanes for Four {
    type Proof = Avx2;
    #[inline(always)]
    fn splat(_: Avx2, word: u64) -> Self {
        // SAFETY: the proof says that the processor has AVX2.
        Four(unsafe { _mm256_set1_epi64x(word as i64) })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof.
        Four(unsafe { _mm256_add_epi64(self.0, other.0) })
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof.
        Four(unsafe { _mm256_xor_si256(self.0, other.0) })
    }
    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: `self` was made from a proof.
        Four(unsafe {
            if LEFT == 32 {
                _mm256_shuffle_epi32::<0b10_11_00_01>(self.0)
            } else {
                _mm256_or_si256(_mm256_slli_epi64::<LEFT>(self.0), _mm256_srli_epi64::<RIGHT>(self.0))
            }
        })
    }
}

impl KeyLanes<4> for Four {
    #[inline(always)]
    unsafe fn gather(_: Avx2, keys: &[&[u8]; 4], offset: usize) -> Self {
        let at = |i: usize| keys[i].as_ptr().expose_provenance() as i64;
        // SAFETY: the proof says that the processor has the instructions, and the caller vouches for 8 readable bytes
        // at `offset` of each key; the addresses are absolute and their provenance exposed.
        Four(unsafe {
            let addresses = _mm256_set_epi64x(at(3), at(2), at(1), at(0));
            let addresses = _mm256_add_epi64(addresses, _mm256_set1_epi64x(offset as i64));
            _mm256_i64gather_epi64::<1>(std::ptr::null(), addresses)
        })
    }
    #[inline(always)]
    fn shift_down(self, bits: i32) -> Self {
        // SAFETY: `self` was made from a proof.
        Four(unsafe { _mm256_srl_epi64(self.0, _mm_cvtsi32_si128(bits)) })
    }
    #[inline(always)]
    fn words(self) -> [u64; 4] {
        let mut words = [0; 4];
        // SAFETY: `self` was made from a proof; `words` is 32 writable bytes.
        unsafe { _mm256_storeu_si256(words.as_mut_ptr().cast(), self.0) };
        words
    }
}

impl Lanes for Eight {
    type Proof = Avx512;
    #[inline(always)]
    fn splat(_: Avx512, word: u64) -> Self {
        // SAFETY: the proof says that the processor has AVX-512F.
        Eight(unsafe { _mm512_set1_epi64(word as i64) })
    }
    #[inline(always)]
    fn add(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof.
        Eight(unsafe { _mm512_add_epi64(self.0, other.0) })
    }
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        // SAFETY: `self` was made from a proof.
        Eight(unsafe { _mm512_xor_si512(self.0, other.0) })
    }
    #[inline(always)]
    fn rotate<const LEFT: i32, const RIGHT: i32>(self) -> Self {
        // SAFETY: `self` was made from a proof.
        Eight(unsafe { _mm512_rol_epi64::<LEFT>(self.0) })
    }
}

impl KeyLanes<8> for Eight {
    #[inline(always)]
    unsafe fn gather(_: Avx512, keys: &[&[u8]; 8], offset: usize) -> Self {
        let at = |i: usize| keys[i].as_ptr().expose_provenance() as i64;
        // SAFETY: the proof says that the processor has the instructions, and the caller vouches for 8 readable bytes
        // at `offset` of each key; the addresses are absolute and their provenance exposed.
        Eight(unsafe {
            let addresses = _mm512_set_epi64(at(7), at(6), at(5), at(4), at(3), at(2), at(1), at(0));
            let addresses = _mm512_add_epi64(addresses, _mm512_set1_epi64(offset as i64));
            _mm512_i64gather_epi64::<1>(addresses, std::ptr::null())
        })
    }
    #[inline(always)]
    fn shift_down(self, bits: i32) -> Self {
        // SAFETY: `self` was made from a proof.
        Eight(unsafe { _mm512_srl_epi64(self.0, _mm_cvtsi32_si128(bits)) })
    }
    #[inline(always)]
    fn words(self) -> [u64; 8] {
        let mut words = [0; 8];
        // SAFETY: `self` was made from a proof; `words` is 64 writable bytes.
        unsafe { _mm512_storeu_si512(words.as_mut_ptr().cast(), self.0) };
        words
    }
}
