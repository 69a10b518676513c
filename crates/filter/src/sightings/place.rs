//! Where a fingerprint lies: hashes and places that derive from its 44 bits alone.
//!
//! A fingerprint is random already, being part of a keyed hash. But structures take their lines from its upper bits and
//! their short parts from its lower ones, and 44 bits are too few for both once there are millions of lines. So it
//! is spread over 128 bits first, one-to-one: distinct fingerprints have distinct hashes.

use super::Fingerprint;
use crate::hash::{Hash128, KeyHasher, scale};

/// What spreads fingerprints: one for each purpose, so that keys which crowd one structure do not crowd the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spread(u64);

/// For lines of slots and for cells.
pub(super) const FRONT: Spread = Spread(0x243f_6a88_85a3_08d3);
/// For what these have no room for.
pub(super) const BEHIND: Spread = Spread(0x1319_8a2e_0370_7344);

/// Bits of a count in a slot. A count asks two indexes, the site's own and the peer sum, so that an absent key has two
/// chances to collide: with 23 bits of the fingerprint both together stay below 1e-5. Counts above 511 are so few that
/// the bit is cheap: 0.1 bytes a signature where three in ten are bulk.
pub(super) const COUNT_BITS: u32 = 9;
/// The largest count of a slot; one that holds it may have more behind it.
pub(super) const SLOT_FULL: u32 = (1 << COUNT_BITS) - 1;
/// How many parts there are: 23 bits, of which 0 stands for none.
pub(super) const PARTS: u32 = (1 << (32 - COUNT_BITS)) - 1;

impl KeyHasher<Fingerprint> for Spread {
    #[inline(always)]
    fn hash(&self, fingerprint: &Fingerprint) -> Hash128 {
        let hi = mixed(fingerprint.get() ^ self.0);
        Hash128 { lo: mixed(hi ^ self.0.rotate_left(32)), hi }
    }
}

/// A permutation of words in which every bit depends on every bit: the end of SplitMix64.
#[inline(always)]
fn mixed(word: u64) -> u64 {
    let word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}

/// A fingerprint as lines of slots know it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct SeenPlace {
    /// In the upper bits, where a slot has it; never 0.
    pub(super) part: u32,
    /// Two different lines.
    pub(super) pair: [u64; 2],
}

impl SeenPlace {
    /// Its place among so many lines, at least two.
    #[inline(always)]
    pub(super) fn new(fingerprint: Fingerprint, lines: u64) -> Self {
        let hash = FRONT.hash(&fingerprint);
        let part = 1 + scale(hash.lo << 32, u64::from(PARTS)) as u32;
        let first = scale(hash.hi, lines);
        let other = first + 1 + scale(hash.lo, lines - 1);
        let second = if other >= lines { other - lines } else { other };
        SeenPlace { part: part << COUNT_BITS, pair: [first, second] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    #[test]
    fn lines_differ_and_are_there_and_parts_are_never_zero() {
        let mut rng = SplitMix(3);
        for lines in [2, 64, 65, 1 << 20, (1 << 34) - 64] {
            for _ in 0..5000 {
                let fingerprint = Fingerprint::of(rng.hash());
                let SeenPlace { part, pair: [first, second] } = SeenPlace::new(fingerprint, lines);
                assert!(first < lines && second < lines && first != second, "{lines}: {first} {second}");
                assert!(part > SLOT_FULL && part & SLOT_FULL == 0);
            }
        }
    }

    /// Fingerprints that differ in a few low bits only, as a list of neighbours has them, go everywhere.
    #[test]
    fn neighbours_are_spread_evenly() {
        let mut lines = [0u32; 64];
        let mut parts = [0u32; 64];
        for number in 0..64_000 {
            let place = SeenPlace::new(Fingerprint::new(number).expect("44 bits"), 64);
            place.pair.iter().for_each(|&line| lines[line as usize] += 1);
            parts[(place.part >> (32 - 6)) as usize] += 1;
        }
        assert!(lines.iter().all(|&keys| (1800..2200).contains(&keys)), "{lines:?}");
        assert!(parts.iter().all(|&keys| (850..1150).contains(&keys)), "{parts:?}");
    }
}
