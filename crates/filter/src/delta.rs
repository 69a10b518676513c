//! Deltas: what changed between two states of a filter, in little more than the fewest bytes that can say it.
//!
//! There are two sorts, three types, one file form (`docs/reference/delta.md` draws it byte by byte):
//!
//! | | tells | applies to | twice |
//! |---|---|---|---|
//! | [`BitGain`] | bits that were set | the old state of a filter that only grows | changes nothing |
//! | [`CountGain`] | increments of cells | the state before it in a sequence, see [`Follower`] | changes nothing |
//! | [`Diff`] | what to change in a file to have another | the old file | refused: it is no longer the old file |
//!
//! A delta takes at most 1.15 times the bits it must take ([`Bound`]) as long as up to a tenth changes at random, and
//! never more than the changed thing itself would; 64 bytes before it say what it is ([`Envelope`]).
//!
//! Nothing in a delta is believed: a checksum shows damage, every length and position is checked, nothing is half
//! applied, and memory is bounded by the filter at hand.
//!
//! ```
//! use seenit_filter::delta::{Applied, BitGain};
//! use seenit_filter::hash::{KeyHasher, SipKey};
//! use seenit_filter::{AnyLayout, Filter, HugePages, LayoutName};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = SipKey::public();
//! let layout = AnyLayout::sized(LayoutName::Flat, 100_000, 0.01)?;
//! let mut here = Filter::new(layout, None, key.fingerprint(), HugePages::Default)?;
//! let mut there = Filter::new(layout, None, key.fingerprint(), HugePages::Default)?;
//! here.insert(key.hash(b"news"));
//!
//! let gain = BitGain::between(&there, &here)?;
//! assert!(gain.bytes().len() < 100);
//! assert_eq!(BitGain::open(gain.bytes())?.apply(&mut there)?, Applied::Now);
//! assert_eq!(gain.apply(&mut there)?, Applied::Already);
//! assert!(there.contains(key.hash(b"news")));
//! # Ok(())
//! # }
//! ```

mod bit_gain;
mod bits;
pub mod cells;
mod code;
mod count_gain;
mod diff;
mod envelope;
mod error;
mod gather;
#[cfg(target_arch = "x86_64")]
mod gather_x86;
mod lanes;
mod list;
mod marks;
mod set;
mod stream;

pub use bit_gain::{BitGain, bound_of_bits};
pub use count_gain::{CountGain, Follower, bound_of_cells};
pub use diff::{Diff, NewFile};
pub(crate) use envelope::MAGIC;
pub use envelope::{DeltaKind, ENVELOPE_BYTES, Envelope, ShortDigest};
pub use error::DeltaError;

/// What came of a gain that was not refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It was applied.
    Now,
    /// It had been applied before; nothing changed.
    Already,
}

/// How much changed, and the fewest bits that can say it to someone who has the old state.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Bound {
    /// Bits or cells that changed.
    pub changed: u64,
    /// The bits it takes.
    pub bits: f64,
}

impl Bound {
    /// The same in whole bytes.
    pub fn bytes(&self) -> u64 {
        (self.bits / 8.0).ceil() as u64
    }
}
