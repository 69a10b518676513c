//! One sighting, what a list of them must be, and what can be wrong with it.

use std::fmt;

use crate::hash::Hash128;
use crate::table::VALUE_MAX;

/// The most sightings of one delta: at 4 to 5 bytes each it fits a message between sites with room to spare.
pub const SIGHTINGS_MAX: usize = 65_536;

/// The most bytes of one encoded delta. A message between sites holds 511,735 bytes of payload; what is left over is
/// for whatever frames the delta there. Only lists of counts in the millions come near: see
/// [`encode_all`](super::encode_all), which cuts them.
pub const BYTES_MAX: usize = 500_000;

/// The largest count: what a value of the 64-bit [`Table`](crate::table::Table) holds.
pub const COUNT_MAX: u64 = VALUE_MAX;

/// 44 bits of a signature's keyed hash: how sites name it to each other.
///
/// Of `n` signatures counted, an absent one has the fingerprint of one of them with probability `n / 2^44`: 6e-8 for a
/// million, 6e-6 for a hundred million. One more bit would cost an eighth of a byte in every delta.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fingerprint(u64);

impl Fingerprint {
    /// Bits of a fingerprint.
    pub const BITS: u32 = 44;

    /// The upper bits of the word of a hash that chooses where.
    #[inline(always)]
    pub fn of(hash: Hash128) -> Self {
        Fingerprint(hash.hi >> (64 - Self::BITS))
    }

    /// The fingerprint with this number; `None` where it has more than [`BITS`](Self::BITS) bits.
    pub fn new(number: u64) -> Option<Self> {
        (number >> Self::BITS == 0).then_some(Fingerprint(number))
    }

    /// Its number.
    #[inline(always)]
    pub fn get(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:011x}", self.0)
    }
}

/// What a site says of one signature: so many recipients more, and so many in all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sighting {
    /// Which signature.
    pub fingerprint: Fingerprint,
    /// How many recipients since the site last spoke of it: at least 1, at most `count`.
    pub increment: u64,
    /// How many the site has counted in all in this generation: at most [`COUNT_MAX`].
    pub count: u64,
}

/// A list that cannot be encoded, or bytes that are no delta.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SightingsError {
    /// Nothing to say.
    #[error("a delta of sightings has at least one, not none")]
    Empty,
    /// More sightings than one delta may have.
    #[error("a delta of sightings has at most {SIGHTINGS_MAX} of them, not {0}")]
    TooMany(usize),
    /// More bytes than one delta may have.
    #[error("a delta of sightings has at most {BYTES_MAX} bytes, not {0}")]
    TooLong(usize),
    /// A list that does not ascend, or names one signature twice.
    #[error("sightings ascend by fingerprint: {next} does not follow {last}")]
    Order {
        /// The one before.
        last: Fingerprint,
        /// The one that should be greater.
        next: Fingerprint,
    },
    /// An increment or count that cannot be.
    #[error(
        "fingerprint {fingerprint}: an increment of {increment} to a count of {count} is not possible: \
         the increment is at least 1 and at most the count, which is at most {COUNT_MAX}"
    )]
    Numbers {
        /// Of which signature.
        fingerprint: Fingerprint,
        /// The increment.
        increment: u64,
        /// The count after it.
        count: u64,
    },
    /// Bytes that no list is encoded as.
    #[error("the {bytes} bytes are no delta of sightings: {why}")]
    Damaged {
        /// How many bytes there are.
        bytes: usize,
        /// What is wrong with them.
        why: &'static str,
    },
}

/// Refuses what no delta may hold.
pub(super) fn check(sightings: &[Sighting]) -> Result<(), SightingsError> {
    if sightings.is_empty() {
        return Err(SightingsError::Empty);
    }
    if sightings.len() > SIGHTINGS_MAX {
        return Err(SightingsError::TooMany(sightings.len()));
    }
    let mut last = None;
    for &Sighting { fingerprint, increment, count } in sightings {
        if let Some(last) = last.replace(fingerprint)
            && last >= fingerprint
        {
            return Err(SightingsError::Order { last, next: fingerprint });
        }
        if increment == 0 || increment > count || count > COUNT_MAX {
            return Err(SightingsError::Numbers { fingerprint, increment, count });
        }
    }
    Ok(())
}
