//! Shingles: how many of a message's shingles were seen in spam, and not nearly as often in ham?
//!
//! A message is some 32 min-hash shingles, each a slot (which hash function) and a value (its minimum). A
//! near replica shares most of them with its original. A shingle *matches* when its spam count exceeds
//! `ratio` times its ham count, so shared footers and stock sentences, which are in ham as well, are no
//! evidence, and a single forged ham report does not erase a campaign. How many match by accident is in
//! [`maths::shingles`](crate::maths::shingles).
//!
//! ```
//! use seenit_filter::cells::Packing;
//! use seenit_filter::counting::{CountingFilter, Refined};
//! use seenit_filter::hash::{KeyHasher, SipKey};
//! use seenit_filter::shingles::{Choice, Ratio, Shingle, Wanted};
//! use seenit_filter::{HugePages, LayoutName};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A message of absent shingles may reach 17 of 32 once in a thousand million.
//! let wanted = Wanted { shingles: 32, threshold: 17, listed: 0, bound: 1e-9, capacity: 32_000 };
//! let choice = Choice::new(wanted, LayoutName::Flat, Packing::new(4)?)?;
//! assert!(choice.bits_per_shingle < 21.0);
//!
//! let key = SipKey::public();
//! let tally = || {
//!     let cells = Packing::new(4)?;
//!     CountingFilter::<Refined>::packed(choice.layout, cells, None, key.fingerprint(), HugePages::Default)
//! };
//! let (mut spam, ham) = (tally()?, tally()?);
//! let message: Vec<Shingle> = (0..32).map(|slot| Shingle { slot, value: 77 + u64::from(slot) }).collect();
//! message.iter().for_each(|shingle| spam.insert_weighted(key.hash(&shingle.to_bytes()), 3));
//!
//! let hashes = message.iter().map(|shingle| key.hash(&shingle.to_bytes()));
//! let matched = hashes.filter(|&hash| Ratio::default().is_exceeded(spam.count(hash), ham.count(hash)));
//! assert_eq!(matched.count(), 32);
//! # Ok(())
//! # }
//! ```

use std::num::NonZeroU32;

use crate::cells::Packing;
use crate::counting::Count;
use crate::error::{ChoiceError, GeometryError};
use crate::layout::{AnyLayout, Flat, Layout, LayoutName, Paged};
use crate::maths::shingles::spam_rate_max;
use crate::memory::PAGE_BITS;

/// Bytes of a shingle as a key.
pub const SHINGLE_BYTES: usize = 9;

/// One shingle of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Shingle {
    /// Which hash function.
    pub slot: u8,
    /// Its minimum over the message.
    pub value: u64,
}

impl Shingle {
    /// The key that is hashed: the slot, then the value, little endian.
    pub fn to_bytes(self) -> [u8; SHINGLE_BYTES] {
        let mut bytes = [0; SHINGLE_BYTES];
        bytes[0] = self.slot;
        bytes[1..].copy_from_slice(&self.value.to_le_bytes());
        bytes
    }
}

/// How many times its ham count the spam count of a shingle must exceed: `over / under`, a fraction, so that
/// no rounding decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ratio {
    over: u32,
    under: NonZeroU32,
}

impl Ratio {
    /// The ratio `over / under`.
    pub fn new(over: u32, under: NonZeroU32) -> Self {
        Ratio { over, under }
    }

    /// The ratio `times`.
    pub(crate) fn times(times: u32) -> Self {
        Ratio { over: times, under: NonZeroU32::MIN }
    }

    /// Whether the spam count is surely more than this times the ham count.
    ///
    /// A saturated spam count is at least its value: if that value suffices, so does the truth, and if it
    /// does not, nobody knows. A saturated ham count may stand for any number, so nothing is surely more (but
    /// for a ratio of 0, which does not ask for ham). Let ham cells be wide enough that no forger can
    /// saturate them.
    pub fn is_exceeded(&self, spam: Count, ham: Count) -> bool {
        if ham.saturated && self.over > 0 {
            return false;
        }
        u128::from(spam.value) * u128::from(self.under.get()) > u128::from(ham.value) * u128::from(self.over)
    }
}

/// The matches of 32 from which a message is called a replica where nobody says otherwise (`lab run replicas`).
pub const DEFAULT_THRESHOLD: u32 = 17;

impl Default for Ratio {
    /// Four: in a trial with one forged ham copy, "not in ham" lost all but 6 of 153 caught; with four times
    /// none was lost.
    fn default() -> Self {
        Ratio::times(4)
    }
}

/// What is asked of a spam tally.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wanted {
    /// Distinct shingles of a message.
    pub shingles: u32,
    /// Matches that count as a replica.
    pub threshold: u32,
    /// Shingles that an innocent message is allowed to share with spam: 0 for one that has nothing to do with it.
    pub listed: u32,
    /// How likely such a message may reach the threshold.
    pub bound: f64,
    /// Distinct shingles the tally holds.
    pub capacity: u64,
}

/// The smallest spam tally that does it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Choice {
    /// The false-positive rate it needs, and no lower one.
    pub rate: f64,
    /// The geometry that has it at capacity.
    pub layout: AnyLayout,
    /// Its cells for each shingle it holds.
    pub cells_per_shingle: f64,
    /// Its memory for each shingle it holds: whole pages, waste included.
    pub bits_per_shingle: f64,
}

impl Choice {
    /// Chooses a flat or a paged geometry of such cells.
    pub fn new(wanted: Wanted, layout: LayoutName, packing: Packing) -> Result<Self, ChoiceError> {
        let rate = spam_rate_max(wanted.shingles, wanted.threshold, wanted.listed, wanted.bound)?;
        let layout = match layout {
            LayoutName::Flat => Flat::sized(wanted.capacity, rate)?.any(),
            LayoutName::Paged => Paged::sized_with_slots(wanted.capacity, rate, packing.per_page())?.any(),
            LayoutName::Line => Err(GeometryError::NotForCounting("line".into()))?,
        };
        let capacity = wanted.capacity as f64;
        let bits = packing.pages(layout.bits()) * PAGE_BITS;
        Ok(Choice {
            rate,
            layout,
            cells_per_shingle: layout.bits() as f64 / capacity,
            bits_per_shingle: bits as f64 / capacity,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(value: u64) -> Count {
        Count { value, saturated: false }
    }

    fn saturated(value: u64) -> Count {
        Count { value, saturated: true }
    }

    #[test]
    fn a_key_is_the_slot_and_the_value_in_nine_bytes() {
        let shingle = Shingle { slot: 0xab, value: 0x0102_0304_0506_0708 };
        assert_eq!(shingle.to_bytes(), [0xab, 8, 7, 6, 5, 4, 3, 2, 1]);
    }

    #[test]
    fn ratios_are_compared_without_rounding() {
        let four = Ratio::default();
        assert!(four.is_exceeded(count(1), count(0)) && !four.is_exceeded(count(0), count(0)));
        assert!(four.is_exceeded(count(5), count(1)) && !four.is_exceeded(count(4), count(1)));
        let four_and_a_half = Ratio::new(9, NonZeroU32::new(2).expect("not zero"));
        assert!(four_and_a_half.is_exceeded(count(10), count(2)));
        assert!(!four_and_a_half.is_exceeded(count(9), count(2)));
        // Beyond what 64 bits or a float hold.
        let most = Ratio::times(u32::MAX);
        assert!(!most.is_exceeded(count(u64::MAX), count((1 << 32) + 1)));
        assert!(most.is_exceeded(count(u64::MAX), count(1 << 32)));
        assert!(!Ratio::times(1).is_exceeded(count(u64::MAX - 1), count(u64::MAX - 1)));
        assert!(Ratio::times(1).is_exceeded(count(u64::MAX), count(u64::MAX - 1)));
    }

    /// Nothing is claimed that larger true counts could take back.
    #[test]
    fn saturated_counts_are_evidence_only_where_more_changes_nothing() {
        let four = Ratio::default();
        assert!(four.is_exceeded(saturated(31), count(7)));
        assert!(!four.is_exceeded(saturated(31), count(8)), "the spam count may be 31");
        assert!(!four.is_exceeded(saturated(65_535), saturated(3)), "the ham count may be any");
        assert!(Ratio::times(0).is_exceeded(count(1), saturated(3)), "a ratio of 0 does not ask for ham");
    }

    /// What 17 and 9 of 32 cost in cells of four bits, a million shingles, one accident in a thousand
    /// million.
    #[test]
    fn a_choice_is_the_smallest_that_keeps_the_bound() {
        let packing = Packing::new(4).expect("a width");
        let wanted = Wanted { shingles: 32, threshold: 17, listed: 0, bound: 1e-9, capacity: 1_000_000 };
        let choose = |threshold, layout| {
            let wanted = Wanted { threshold, ..wanted };
            let choice = Choice::new(wanted, layout, packing).expect("within reach");
            assert!(choice.layout.expected_rate(wanted.capacity) <= choice.rate);
            format!("{:.2} cells, {:.1} bits", choice.cells_per_shingle, choice.bits_per_shingle)
        };
        assert_eq!(
            [choose(17, LayoutName::Flat), choose(17, LayoutName::Paged)],
            ["4.84 cells, 19.4 bits", "4.85 cells, 19.4 bits"]
        );
        assert_eq!(
            [choose(9, LayoutName::Flat), choose(9, LayoutName::Paged)],
            ["8.68 cells, 34.8 bits", "8.70 cells, 34.8 bits"]
        );
        // Waste is paid for: cells of three bits leave one bit of a word unused.
        let three = Packing::new(3).expect("a width");
        let choice = Choice::new(wanted, LayoutName::Flat, three).expect("within reach");
        assert!((choice.bits_per_shingle / choice.cells_per_shingle - 64.0 / 21.0).abs() < 0.01);
        assert!(Choice::new(wanted, LayoutName::Line, packing).is_err());
        let error = Choice::new(Wanted { threshold: 1, ..wanted }, LayoutName::Flat, packing);
        assert!(error.expect_err("below what can be promised").to_string().contains("too small"));
    }
}
