//! Where a key lies: its print and its two lines.

use super::{PRINTS, VALUE_BITS};
use crate::hash::{Hash128, scale};

/// An odd multiplier without structure: spreads prints over the lines.
const SPREAD: u64 = 0xd1b5_4a32_d192_ed03;

/// A key as the table knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct KeyPlace {
    /// In the upper bits, where a slot has it.
    pub(super) print: u64,
    pub(super) pair: [u64; 2],
}

impl KeyPlace {
    /// The place of a key in a table of so many lines, an even number.
    #[inline(always)]
    pub(super) fn new(hash: Hash128, lines: u64) -> Self {
        let print = (1 + scale(hash.lo, PRINTS)) << VALUE_BITS;
        let first = scale(hash.hi, lines);
        KeyPlace { print, pair: [first, other_line(print, first, lines)] }
    }
}

/// The other line of a key that has this print (where a slot has it, the value may be there too) and this line.
///
/// The two lines of a key add up to a number that its print gives, modulo the number of lines. So each leads to the
/// other, and a key can be moved without its hash. And keys that agree in print and one line agree in both: they are
/// one key to the table. With two independent lines, a key could come to lie before the value of another one: in the
/// first line of a key with the same print that lies in its second.
///
/// The sum is odd and the number of lines even: one line is odd and the other even, never the same.
#[inline(always)]
pub(super) fn other_line(word: u64, line: u64, lines: u64) -> u64 {
    let sum = 2 * scale((word >> VALUE_BITS).wrapping_mul(SPREAD), lines / 2) + 1;
    if sum >= line { sum - line } else { sum + lines - line }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    #[test]
    fn the_two_lines_differ_and_each_leads_to_the_other() {
        let mut rng = SplitMix(7);
        for lines in [2, 64, 128, 1 << 20, (1 << 34) - 64] {
            for _ in 0..2000 {
                let place = KeyPlace::new(rng.hash(), lines);
                let [first, second] = place.pair;
                assert!(first < lines && second < lines && first != second, "{lines}: {place:?}");
                assert_eq!(other_line(place.print | rng.below(1 << VALUE_BITS), second, lines), first);
            }
        }
    }

    #[test]
    fn the_least_and_the_greatest_hash_have_a_print() {
        for (lo, print) in [(0, 1), (u64::MAX, PRINTS)] {
            assert_eq!(KeyPlace::new(Hash128 { lo, hi: 0 }, 64).print >> VALUE_BITS, print);
        }
    }
}
