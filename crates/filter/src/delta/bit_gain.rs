//! A gain of bits: what a filter that only grows has come to hold.

use std::borrow::Cow;

use super::bits::Side;
use super::envelope::{DeltaKind, Envelope, ShortDigest};
use super::stream::{BitReader, BitWriter};
use super::{Applied, Bound, DeltaError};
use crate::file;
use crate::filter::Filter;
use crate::layout::{Layout, same};
use crate::memory::{HugePages, PageBuf};

/// The bits that were set between two states of one filter, told by their places among the zeros of the old state.
///
/// So it belongs to that state: a filter in any other is refused, but for the new one, in which nothing is left to do.
/// (Places among *all* bits would fit any state and cost one bit more a change at half fill: a fifth too much where
/// many change. Whoever wants to add bits to any state has [`Filter::union`].)
#[derive(Clone, Debug)]
pub struct BitGain<'a> {
    envelope: Envelope,
    bytes: Cow<'a, [u8]>,
}

impl<'a> BitGain<'a> {
    /// What `new` holds beyond `old`. Refuses filters of two kinds, and one that lost bits.
    pub fn between<L: Layout, M: Layout, S: AsRef<[u64]>, T: AsRef<[u64]>>(
        old: &Filter<L, S>,
        new: &Filter<M, T>,
    ) -> Result<Self, DeltaError> {
        old.like(new)?;
        same("cleared bits", old.cleared_bits(), new.cleared_bits())?;
        let bits = old.layout().bits();
        if old.words().iter().zip(new.words()).any(|(old, new)| old & !new != 0) {
            return Err(DeltaError::Cleared(Side::losses(old.words(), bits).count(new.words()).marked));
        }
        let payload = Side::gains(old.words(), bits).write(BitWriter::default(), new.words()).finish();
        let old = digest(old);
        let new = digest(new);
        let envelope = Envelope { kind: DeltaKind::BitGain, old, new };
        Ok(BitGain { envelope, bytes: envelope.seal(&payload).into() })
    }

    /// Reads a gain; its payload is looked at when it is applied.
    pub fn open(bytes: impl Into<Cow<'a, [u8]>>) -> Result<Self, DeltaError> {
        let bytes = bytes.into();
        let (envelope, _) = Envelope::open_as(DeltaKind::BitGain, &bytes)?;
        Ok(BitGain { envelope, bytes })
    }

    /// The whole of it, to be sent or stored.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What it belongs to.
    pub fn envelope(&self) -> &Envelope {
        &self.envelope
    }

    /// Sets the bits in `filter`, or in case of an error none. A filter that has them already stays as it is.
    pub fn apply<L: Layout, S: AsRef<[u64]> + AsMut<[u64]>>(
        &self,
        filter: &mut Filter<L, S>,
    ) -> Result<Applied, DeltaError> {
        let found = digest(filter);
        if found == self.envelope.new {
            return Ok(Applied::Already);
        }
        if found != self.envelope.old {
            return Err(DeltaError::OtherOld { expected: self.envelope.old, found });
        }
        // A copy takes the changes, so that nothing is half applied if the payload lies.
        let mut copy = PageBuf::zeroed(filter.layout().pages(), HugePages::Default)?;
        copy.as_mut().copy_from_slice(filter.words());
        let mut reader = BitReader::new(&self.bytes[super::ENVELOPE_BYTES..]);
        Side::gains(filter.words(), filter.layout().bits()).read(&mut reader, copy.as_mut())?;
        reader.finish()?;
        let new = Filter::from_parts(*filter.layout(), filter.promise(), filter.fingerprint(), copy)
            .with_cleared(filter.cleared_bits());
        let expected = self.envelope.new;
        let found = digest(&new);
        if found != expected {
            return Err(DeltaError::OtherNew { expected, found });
        }
        filter.words_mut().copy_from_slice(new.words());
        Ok(Applied::Now)
    }
}

/// The digest that the filter's file would have.
fn digest<L: Layout, S: AsRef<[u64]>>(filter: &Filter<L, S>) -> ShortDigest {
    ShortDigest::of(&file::digest(filter))
}

/// The fewest bits that a gain between these filters can take, or a diff, which may clear bits too:
/// `log2 C(zeros, gained) + log2 C(ones, lost)`.
pub fn bound_of_bits<L: Layout, M: Layout, S: AsRef<[u64]>, T: AsRef<[u64]>>(
    old: &Filter<L, S>,
    new: &Filter<M, T>,
) -> Result<Bound, DeltaError> {
    old.like(new)?;
    let words = old.words();
    let bits = old.layout().bits();
    let mut bound = Bound::default();
    for side in [Side::gains(words, bits), Side::losses(words, bits)] {
        let counts = side.count(new.words());
        bound.changed += counts.marked;
        bound.bits += crate::maths::entropy::log2_choose(counts.places, counts.marked);
    }
    Ok(bound)
}
