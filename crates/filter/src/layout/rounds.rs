//! Batched lookups in two rounds, for layouts whose keys touch several cache lines.
//!
//! An absent key is found out by its first two bits three times in four, when half of the bits are set. So the
//! first round looks at two bits of every key (at more where k is large), and only the keys that pass have their
//! other lines fetched: an absent key costs 2 + (k-2)/4 lines, a member k, and either way the misses of many keys
//! overlap.
//!
//! `position` is the layout's, handed over as a closure so that what does not change from probe to probe (the
//! page of a key, say) is computed once.

use std::ops::Range;

use super::{is_set, word_of};
use crate::hash::{BATCH_KEYS, Hash128};
use crate::memory::prefetch;

/// Bits looked at in the first round: the r at which the expected lines of an absent key, `r + (k-r)/2^r`, are fewest.
#[inline(always)]
fn first_round(probes: usize) -> usize {
    match probes {
        0..10 => probes.min(2),
        10..19 => 3,
        _ => 4,
    }
}

/// Asks for the lines of the first round.
#[inline(always)]
pub(super) fn prefetch_first<W>(
    words: &[W],
    hashes: &[Hash128],
    probes: usize,
    position: impl Fn(Hash128, usize) -> u64,
) {
    prefetch_probes(words, hashes, 0..first_round(probes), position);
}

/// Asks for the lines of these probes.
#[inline(always)]
pub(super) fn prefetch_probes<W>(
    words: &[W],
    hashes: &[Hash128],
    probes: Range<usize>,
    position: impl Fn(Hash128, usize) -> u64,
) {
    for &hash in hashes {
        for probe in probes.clone() {
            prefetch(words, word_of(position(hash, probe)));
        }
    }
}

/// Both rounds. At most [`BATCH_KEYS`] hashes; `contains` answers for one key, all its bits.
#[inline(always)]
pub(super) fn contains_batch(
    words: &[u64],
    hashes: &[Hash128],
    found: &mut [bool],
    probes: usize,
    position: impl Fn(Hash128, usize) -> u64,
    contains: impl Fn(Hash128) -> bool,
) {
    let first = first_round(probes);
    let mut passed = [0u8; BATCH_KEYS];
    let mut count = 0;
    for (i, (&hash, found)) in hashes.iter().zip(found.iter_mut()).enumerate() {
        *found = (0..first).fold(true, |all, probe| all & is_set(words, position(hash, probe)));
        passed[count] = i as u8;
        count += usize::from(*found);
    }
    let passed = &passed[..count];
    for &i in passed {
        prefetch_probes(words, &[hashes[usize::from(i)]], first..probes, &position);
    }
    for &i in passed {
        found[usize::from(i)] = contains(hashes[usize::from(i)]);
    }
}
