//! The line layout's kernels: all eight sectors at once (AVX-512), or four and four (AVX2).
//!
//! AVX-512 makes the eight bits with one variable shift and one variable rotate (which takes its count modulo
//! 64 by itself) and tests them with one instruction; AVX2 does the same on two half lines.
#![allow(unsafe_code)]

use std::arch::x86_64::*;

use super::line::{FIRST_SHIFT, LINE_SECTORS, Line, SHIFT_STEP, lines_of, lines_of_mut};
use crate::hash::Hash128;
use crate::simd::{Level, Simd};

type Sectors = [u64; LINE_SECTORS];

/// The shift of sector `i`.
const fn shift(i: u32) -> i64 {
    (FIRST_SHIFT + SHIFT_STEP * i) as i64
}

/// The entrances: `simd` is the proof that the processor has the kernel's instructions.
macro_rules! entrance {
    ($name:ident, $kernel:ident, $($level:ident)|+, ($($argument:ident: $type:ty),+) $(-> $answer:ty)?) => {
        #[inline]
        pub(super) fn $name(simd: Simd, $($argument: $type),+) $(-> $answer)? {
            assert!(matches!(simd.0, $(Level::$level)|+));
            // SAFETY: `simd` proves the instructions of the kernel.
            unsafe { $kernel($($argument),+) }
        }
    };
}

entrance!(contains_avx2, avx2_has, Avx2 | Avx512, (line: &Sectors, lo: u64) -> bool);
entrance!(contains_avx512, avx512_has, Avx512, (line: &Sectors, lo: u64) -> bool);
entrance!(insert_avx2, avx2_set, Avx2 | Avx512, (line: &mut Sectors, lo: u64));
entrance!(insert_avx512, avx512_set, Avx512, (line: &mut Sectors, lo: u64));
entrance!(contains_batch_avx2, avx2_contains, Avx2 | Avx512,
    (layout: &Line, words: &[u64], hashes: &[Hash128], found: &mut [bool]));
entrance!(contains_batch_avx512, avx512_contains, Avx512,
    (layout: &Line, words: &[u64], hashes: &[Hash128], found: &mut [bool]));
entrance!(insert_batch_avx2, avx2_insert, Avx2 | Avx512, (layout: &Line, words: &mut [u64], hashes: &[Hash128]));
entrance!(insert_batch_avx512, avx512_insert, Avx512, (layout: &Line, words: &mut [u64], hashes: &[Hash128]));

#[target_feature(enable = "avx2")]
fn avx2_contains(layout: &Line, words: &[u64], hashes: &[Hash128], found: &mut [bool]) {
    let lines = lines_of(words);
    for (&hash, found) in hashes.iter().zip(found) {
        *found = avx2_has(&lines[layout.line_of(hash)], hash.lo);
    }
}

#[target_feature(enable = "avx2")]
fn avx2_insert(layout: &Line, words: &mut [u64], hashes: &[Hash128]) {
    let lines = lines_of_mut(words);
    for &hash in hashes {
        avx2_set(&mut lines[layout.line_of(hash)], hash.lo);
    }
}

#[target_feature(enable = "avx512f")]
fn avx512_contains(layout: &Line, words: &[u64], hashes: &[Hash128], found: &mut [bool]) {
    let lines = lines_of(words);
    for (&hash, found) in hashes.iter().zip(found) {
        *found = avx512_has(&lines[layout.line_of(hash)], hash.lo);
    }
}

#[target_feature(enable = "avx512f")]
fn avx512_insert(layout: &Line, words: &mut [u64], hashes: &[Hash128]) {
    let lines = lines_of_mut(words);
    for &hash in hashes {
        avx512_set(&mut lines[layout.line_of(hash)], hash.lo);
    }
}

#[inline]
#[target_feature(enable = "avx512f")]
fn avx512_bits(lo: u64) -> __m512i {
    let shifts =
        _mm512_setr_epi64(shift(0), shift(1), shift(2), shift(3), shift(4), shift(5), shift(6), shift(7));
    _mm512_rolv_epi64(_mm512_set1_epi64(1), _mm512_srlv_epi64(_mm512_set1_epi64(lo as i64), shifts))
}

#[inline]
#[target_feature(enable = "avx512f")]
fn avx512_has(line: &Sectors, lo: u64) -> bool {
    // SAFETY: a line is 64 readable bytes.
    let line = unsafe { _mm512_loadu_si512(line.as_ptr().cast()) };
    _mm512_test_epi64_mask(line, avx512_bits(lo)) == 0xff
}

#[inline]
#[target_feature(enable = "avx512f")]
fn avx512_set(line: &mut Sectors, lo: u64) {
    let pointer = line.as_mut_ptr().cast();
    // SAFETY: a line is 64 readable and writable bytes.
    unsafe { _mm512_storeu_si512(pointer, _mm512_or_si512(_mm512_loadu_si512(pointer), avx512_bits(lo))) };
}

/// The bits of the lower four sectors and of the upper four.
#[inline]
#[target_feature(enable = "avx2")]
fn avx2_bits(lo: u64) -> [__m256i; 2] {
    let word = _mm256_set1_epi64x(lo as i64);
    let one = _mm256_set1_epi64x(1);
    let count = _mm256_set1_epi64x(63);
    let low = _mm256_setr_epi64x(shift(0), shift(1), shift(2), shift(3));
    let high = _mm256_setr_epi64x(shift(4), shift(5), shift(6), shift(7));
    [low, high].map(|shifts| _mm256_sllv_epi64(one, _mm256_and_si256(_mm256_srlv_epi64(word, shifts), count)))
}

#[inline]
#[target_feature(enable = "avx2")]
fn avx2_has(line: &Sectors, lo: u64) -> bool {
    let [low, high] = avx2_bits(lo);
    // SAFETY: a line is twice 32 readable bytes.
    let (line_low, line_high) = unsafe {
        (_mm256_loadu_si256(line[..4].as_ptr().cast()), _mm256_loadu_si256(line[4..].as_ptr().cast()))
    };
    let missing = _mm256_or_si256(_mm256_andnot_si256(line_low, low), _mm256_andnot_si256(line_high, high));
    _mm256_testz_si256(missing, missing) == 1
}

#[inline]
#[target_feature(enable = "avx2")]
fn avx2_set(line: &mut Sectors, lo: u64) {
    for (half, bits) in line.as_chunks_mut::<4>().0.iter_mut().zip(avx2_bits(lo)) {
        let pointer = half.as_mut_ptr().cast();
        // SAFETY: half a line is 32 readable and writable bytes.
        unsafe { _mm256_storeu_si256(pointer, _mm256_or_si256(_mm256_loadu_si256(pointer), bits)) };
    }
}
