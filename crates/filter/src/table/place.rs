//! Where a key lies: its print, the two lines it is looked for in first, and the further ones.

use super::{LINES_MAX, PRINTS, VALUE_BITS};
use crate::hash::{Hash128, scale};
use crate::random::SplitMix;

/// An odd multiplier without structure: spreads prints over the lines.
const SPREAD: u64 = 0xd1b5_4a32_d192_ed03;

/// A key as the table knows it.
///
/// The second line follows from the first one and the print, and the first follows from the second in the same way:
/// `first + second = sum(print)` modulo the number of lines. So keys that agree in print and in one line agree in
/// both, and are one key to the table. Were the two lines independent, a key could be put between another one and
/// its value: into the first line of a key with its print that lies in its second.
///
/// There is an even number of lines and the sum is odd: one of the two lines is odd and the other even, never the
/// same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// In the upper bits, where a slot has it.
    pub(super) print: u64,
    pub(super) pair: [u64; 2],
    lines: u64,
}

impl Place {
    /// The place of a key in a table of so many lines, an even number.
    #[inline(always)]
    pub(super) fn new(hash: Hash128, lines: u64) -> Self {
        let print = 1 + scale(hash.lo, PRINTS);
        let first = scale(hash.hi, lines);
        let sum = 2 * scale(print.wrapping_mul(SPREAD), lines / 2) + 1;
        let second = if sum >= first { sum - first } else { sum + lines - first };
        Place { print: print << VALUE_BITS, pair: [first, second], lines }
    }

    /// Lines 3, 4, ... in the order they are tried: the same for keys that are one key to the table. A line may
    /// come twice.
    pub(super) fn further(&self) -> impl Iterator<Item = u64> + use<> {
        let lines = self.lines;
        let mut rng = SplitMix(self.print | self.pair[0].min(self.pair[1]));
        (2..LINES_MAX).map(move |_| scale(rng.next(), lines))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_two_lines_differ_and_each_leads_to_the_other() {
        let mut rng = SplitMix(7);
        for lines in [2, 64, 128, 1 << 20, (1 << 34) - 64] {
            for _ in 0..2000 {
                let hash = rng.hash();
                let place = Place::new(hash, lines);
                let [first, second] = place.pair;
                assert!(first < lines && second < lines && first != second, "{lines}: {place:?}");
                assert!(place.print >> VALUE_BITS != 0 && place.further().all(|line| line < lines));
                // A key with this print whose first line is our second.
                let hi = ((u128::from(second) << 64).div_ceil(u128::from(lines))) as u64;
                let other = Place::new(Hash128 { hi, ..hash }, lines);
                assert_eq!(other.pair, [second, first]);
                assert!(other.further().eq(place.further()));
            }
        }
    }

    #[test]
    fn the_least_and_the_greatest_hash_have_a_print() {
        for lo in [0, u64::MAX] {
            let print = Place::new(Hash128 { lo, hi: 0 }, 64).print >> VALUE_BITS;
            assert_eq!(print, if lo == 0 { 1 } else { PRINTS });
        }
    }
}
