//! The page-local layout's kernels: sixteen (AVX-512) or eight (AVX2) bits of a page gathered at once.
//!
//! They touch every line of a key where the scalar twin stops at the first unset bit, and spare its coin-toss
//! branches: absent keys are found out twice as fast in a cached filter, and as fast in one beyond the cache.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::paged::{IN_PAGE, IN_PAGE_SHIFT};
use crate::memory::PAGE_WORDS;
use crate::simd::{Level, Simd};

type Page = [u64; PAGE_WORDS];

#[inline]
pub(super) fn contains_avx2(simd: Simd, page: &Page, lo: u64, k: u32) -> bool {
    assert!(matches!(simd.0, Level::Avx2 | Level::Avx512));
    // SAFETY: `simd` proves AVX2.
    unsafe { avx2_has(page, lo, k) }
}

#[inline]
pub(super) fn contains_avx512(simd: Simd, page: &Page, lo: u64, k: u32) -> bool {
    assert!(matches!(simd.0, Level::Avx512));
    // SAFETY: `simd` proves AVX-512F.
    unsafe { avx512_has(page, lo, k) }
}

#[target_feature(enable = "avx2")]
fn avx2_has(page: &Page, lo: u64, k: u32) -> bool {
    let a = _mm256_set1_epi32(lo as i32);
    let b = _mm256_set1_epi32((lo >> 32) as i32);
    let lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    (0..k).step_by(8).all(|first| {
        // SAFETY: `IN_PAGE` has 32 entries and `first` is 0, 8, 16 or 24, since k is at most 32.
        let odd = unsafe { _mm256_loadu_si256(IN_PAGE[first as usize..][..8].as_ptr().cast()) };
        let mixed = _mm256_add_epi32(_mm256_mullo_epi32(a, odd), b);
        let position = _mm256_srli_epi32::<{ IN_PAGE_SHIFT as i32 }>(mixed);
        let wanted = _mm256_cmpgt_epi32(_mm256_set1_epi32((k - first) as i32), lanes);
        let bits = _mm256_sllv_epi32(_mm256_set1_epi32(1), _mm256_and_si256(position, _mm256_set1_epi32(31)));
        let bits = _mm256_and_si256(bits, wanted);
        // SAFETY: `position` has 15 bits, so its 32-bit word lies within the 4096 bytes of the page.
        let words =
            unsafe { _mm256_i32gather_epi32::<4>(page.as_ptr().cast(), _mm256_srli_epi32::<5>(position)) };
        _mm256_testc_si256(words, bits) == 1
    })
}

#[target_feature(enable = "avx512f")]
fn avx512_has(page: &Page, lo: u64, k: u32) -> bool {
    let a = _mm512_set1_epi32(lo as i32);
    let b = _mm512_set1_epi32((lo >> 32) as i32);
    let zero = _mm512_setzero_si512();
    (0..k).step_by(16).all(|first| {
        // SAFETY: `IN_PAGE` has 32 entries and `first` is 0 or 16, since k is at most 32.
        let odd = unsafe { _mm512_loadu_si512(IN_PAGE[first as usize..][..16].as_ptr().cast()) };
        let mixed = _mm512_add_epi32(_mm512_mullo_epi32(a, odd), b);
        let position = _mm512_srli_epi32::<IN_PAGE_SHIFT>(mixed);
        let wanted = ((1u32 << (k - first).min(16)) - 1) as u16;
        let bits = _mm512_rolv_epi32(_mm512_set1_epi32(1), position);
        let index = _mm512_srli_epi32::<5>(position);
        // SAFETY: `position` has 15 bits, so its 32-bit word lies within the 4096 bytes of the page.
        let words = unsafe { _mm512_mask_i32gather_epi32::<4>(zero, wanted, index, page.as_ptr().cast()) };
        _mm512_mask_test_epi32_mask(wanted, words, bits) == wanted
    })
}
