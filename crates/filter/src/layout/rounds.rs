//! Batched lookups in two rounds, for layouts whose keys touch several cache lines.
//!
//! A stranger is found out by its first two bits three times in four, when half of the bits are set. So the
//! first round looks at two bits of every key, and only the keys that pass have their other lines fetched: a
//! stranger costs 2 + (k-2)/4 lines, a member k, and either way the misses of many keys overlap.

use super::{Layout, is_set, word_of};
use crate::hash::{BATCH_KEYS, Hash128};
use crate::memory::prefetch;

/// Bits looked at in the first round. The expected lines of a stranger, `r + (k-r)/2^r`, are least at 2.
const FIRST_ROUND: usize = 2;

/// Asks for the lines of the first round.
#[inline(always)]
pub(super) fn prefetch_first<L: Layout, W>(layout: &L, words: &[W], hashes: &[Hash128]) {
    for &hash in hashes {
        for probe in 0..FIRST_ROUND.min(layout.probes()) {
            prefetch(words, word_of(layout.position(hash, probe)));
        }
    }
}

/// Both rounds. At most [`BATCH_KEYS`] hashes.
#[inline(always)]
pub(super) fn contains_batch<L: Layout>(layout: &L, words: &[u64], hashes: &[Hash128], found: &mut [bool]) {
    let first = FIRST_ROUND.min(layout.probes());
    let mut passed = [0u8; BATCH_KEYS];
    let mut count = 0;
    for (i, (&hash, found)) in hashes.iter().zip(found.iter_mut()).enumerate() {
        *found = (0..first).fold(true, |all, probe| {
            all & is_set(words, layout.position(hash, probe))
        });
        passed[count] = i as u8;
        count += usize::from(*found);
    }
    let passed = &passed[..count];
    for &i in passed {
        for probe in first..layout.probes() {
            prefetch(words, word_of(layout.position(hashes[usize::from(i)], probe)));
        }
    }
    for &i in passed {
        let hash = hashes[usize::from(i)];
        found[usize::from(i)] =
            (first..layout.probes()).all(|probe| is_set(words, layout.position(hash, probe)));
    }
}
