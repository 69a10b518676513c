//! The kernel of keys that lie in one line: one load for all of a key's cells, picked out by a permutation of words and
//! a rotation each.
#![allow(unsafe_code)]

use std::arch::asm;
use std::arch::x86_64::*;

use super::one_line::{IN_LINE_SHIFT, LANES, OneLine};
use crate::cells::{CellWords, LINE_WORDS};
use crate::hash::Hash128;
use crate::layout::IN_PAGE;
use crate::simd::{Level, Simd};

/// The least hint of one key.
///
/// # Panics
/// When its line lies beyond the words.
#[inline]
pub(super) fn least(simd: Simd, way: &OneLine, words: CellWords<'_>, hash: Hash128) -> u16 {
    assert!(matches!(simd.0, Level::Avx512));
    // SAFETY: `simd` proves AVX-512F and AVX2.
    unsafe { avx512_least(way, words, hash) }
}

/// The least hint of each of many keys.
///
/// # Panics
/// When a line lies beyond the words.
#[inline]
pub(super) fn least_of_each(
    simd: Simd,
    way: &OneLine,
    words: CellWords<'_>,
    hashes: &[Hash128],
    least: &mut [u16],
) {
    assert!(matches!(simd.0, Level::Avx512));
    // SAFETY: `simd` proves AVX-512F and AVX2.
    unsafe { avx512_least_of_each(way, words, hashes, least) }
}

#[target_feature(enable = "avx512f,avx2")]
fn avx512_least_of_each(way: &OneLine, words: CellWords<'_>, hashes: &[Hash128], least: &mut [u16]) {
    for (&hash, least) in hashes.iter().zip(least) {
        *least = avx512_least(way, words, hash);
    }
}

#[inline]
#[target_feature(enable = "avx512f,avx2")]
fn avx512_least(way: &OneLine, words: CellWords<'_>, hash: Hash128) -> u16 {
    let line = line_at(words, way.line_of(hash));
    // SAFETY: `IN_PAGE` has more than eight entries of four bytes.
    let odd = unsafe { _mm256_loadu_si256(IN_PAGE[..LANES].as_ptr().cast()) };
    let a = _mm256_set1_epi32(hash.lo as i32);
    let b = _mm256_set1_epi32((hash.lo >> 32) as i32);
    let mixed = _mm256_add_epi32(_mm256_mullo_epi32(a, odd), b);
    // The number of the cell's lowest bit in the line; the rotation takes it modulo 64 by itself.
    let bit = _mm512_srli_epi64::<IN_LINE_SHIFT>(_mm512_cvtepu32_epi64(mixed));
    let bit = _mm512_and_si512(bit, _mm512_set1_epi64(way.first_bits as i64));
    let words = _mm512_permutexvar_epi64(_mm512_srli_epi64::<6>(bit), line);
    let cell = _mm512_set1_epi64(way.cell as i64);
    // SAFETY: a lane of eight bytes each.
    let beyond = unsafe { _mm512_loadu_si512(way.beyond.as_ptr().cast()) };
    // (rotated AND cell) OR beyond.
    let cells = _mm512_ternarylogic_epi64::<0xea>(_mm512_rorv_epi64(words, bit), cell, beyond);
    _mm_extract_epi16::<0>(_mm_minpos_epu16(_mm512_cvtepi64_epi16(cells))) as u16
}

/// The eight words of a line, beside threads that may write to them.
///
/// The processor reads each aligned word of a vector whole, so that every lane is what a relaxed load could give. The
/// compiler has no such load; to it this is an instruction it knows nothing about, as it is with any assembly.
#[inline]
#[target_feature(enable = "avx512f")]
fn line_at(words: CellWords<'_>, line: usize) -> __m512i {
    let (start, lines) = match words {
        CellWords::Own(words) => (words.as_ptr(), words.len() / LINE_WORDS),
        CellWords::Shared(words) => (words.as_ptr().cast::<u64>(), words.len() / LINE_WORDS),
    };
    assert!(line < lines, "a line of the filter");
    let words;
    // SAFETY: the 64 bytes are those of eight of the words; nothing else is touched.
    unsafe {
        asm!("vmovdqu64 {words}, [{start}]", words = out(zmm_reg) words, start = in(reg) start.add(line * LINE_WORDS),
             options(nostack, readonly, preserves_flags));
    }
    words
}
