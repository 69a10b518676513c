//! The fewest bits that deltas of sightings can take: which fingerprints of all, and the entropy of the pairs.

use std::collections::HashMap;

use seenit_filter::maths::entropy;
use seenit_filter::sightings::{Fingerprint, Sighting};

/// Bits that it takes to say which fingerprints a delta of so many sightings has.
pub(crate) fn of_fingerprints(sightings: usize) -> f64 {
    entropy::log2_choose(1 << Fingerprint::BITS, sightings as u64)
}

/// Bits of the pairs (increment, count) of all these sightings together, whichever delta they are in.
pub(crate) fn of_pairs<'a>(sightings: impl IntoIterator<Item = &'a Sighting>) -> f64 {
    let mut counts: HashMap<(u64, u64), u64> = HashMap::new();
    for said in sightings {
        *counts.entry((said.increment, said.count)).or_default() += 1;
    }
    entropy::of_counts(counts.values().copied())
}
