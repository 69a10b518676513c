//! Changes of bits: which of the places where a bit can change it did.
//!
//! Bits can be gained where the old filter has zeros and lost where it has ones: those are the *places*, and only
//! they are counted, so that `log2 C(places, changes)` is the bound and not `log2 C(m, changes)`. Few changes are a
//! [list](super::list); many are *marks*, one bit a place.

use super::DeltaError;
use super::gather::{gather, scatter};
use super::list::{ListReader, ListWriter};
use super::stream::{BitReader, BitWriter};
use crate::memory::PAGE_WORDS;

/// From this share of changed places on there are marks: the list would save less than a fifth of them, and take
/// longer than the copy of the filter that it saves.
const MARKS_SHARE: f64 = 0.24;

/// Places and changes of a pair of filters, word by word. Equal numbers of words, and no bits from `bits` on.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    /// The old words.
    old: &'a [u64],
    /// How many bits there are; what is behind them is padding and no place.
    bits: u64,
    /// Flips words so that places are ones.
    flip: u64,
}

impl<'a> Side<'a> {
    /// The places where bits can be gained.
    pub(super) fn gains(old: &'a [u64], bits: u64) -> Self {
        Side { old, bits, flip: u64::MAX }
    }

    /// The places where bits can be lost.
    pub(super) fn losses(old: &'a [u64], bits: u64) -> Self {
        Side { old, bits, flip: 0 }
    }

    /// The places of word `index`.
    #[inline(always)]
    fn places(&self, index: usize) -> u64 {
        let places = self.old[index] ^ self.flip;
        match self.bits.saturating_sub(index as u64 * 64) {
            64.. => places,
            live => places & ((1 << live) - 1),
        }
    }

    /// The places of word `index` that change.
    #[inline(always)]
    fn changed(&self, new: &[u64], index: usize) -> u64 {
        self.places(index) & (self.old[index] ^ new[index])
    }

    /// How many places there are, and how many of them change.
    pub(super) fn count(&self, new: &[u64]) -> (u64, u64) {
        let ones = |word: u64| u64::from(word.count_ones());
        (0..self.old.len()).fold((0, 0), |(places, changed), index| {
            (places + ones(self.places(index)), changed + ones(self.changed(new, index)))
        })
    }

    /// Writes what changes from the old words to `new`.
    pub(super) fn write(&self, out: BitWriter, new: &[u64]) -> BitWriter {
        let (places, changed) = self.count(new);
        let marked = changed as f64 > MARKS_SHARE * places as f64;
        if marked { self.write_marks(out, new) } else { self.write_list(out, new) }
    }

    fn write_marks(&self, mut out: BitWriter, new: &[u64]) -> BitWriter {
        out.push(1, 1);
        for (index, &word) in new.iter().enumerate() {
            let places = self.places(index);
            out.push(gather(word ^ self.old[index], places), places.count_ones());
        }
        out
    }

    fn write_list(&self, mut out: BitWriter, new: &[u64]) -> BitWriter {
        out.push(0, 1);
        let mut list = ListWriter::new(out, false);
        // Places since the last change.
        let mut gap = 0;
        for index in 0..self.old.len() {
            let (places, mut changed) = (self.places(index), self.changed(new, index));
            let mut passed = 0;
            while changed != 0 {
                let below = (changed & changed.wrapping_neg()) - 1;
                let rank = u64::from((places & below).count_ones());
                list.add(gap + rank - passed, 1);
                (gap, passed) = (0, rank + 1);
                changed &= changed - 1;
            }
            gap += u64::from(places.count_ones()) - passed;
        }
        list.finish().0
    }

    /// Reads what [`write`](Self::write) wrote and changes `new`, which is a copy of the old words. After an error
    /// `new` is worthless.
    pub(super) fn read(&self, reader: &mut BitReader, new: &mut [u64]) -> Result<(), DeltaError> {
        if reader.take(1) == 1 {
            return self.read_marks(reader, new);
        }
        let mut cursor = Cursor { side: self, index: 0, places: self.places(0) };
        ListReader::new(false).read(reader, |gaps, _| {
            for &gap in gaps {
                let (index, bit) = cursor.next(gap)?;
                new[index] ^= bit;
            }
            Ok(())
        })
    }

    fn read_marks(&self, reader: &mut BitReader, new: &mut [u64]) -> Result<(), DeltaError> {
        for (page, words) in new.chunks_mut(PAGE_WORDS).enumerate() {
            for (i, word) in words.iter_mut().enumerate() {
                let places = self.places(page * PAGE_WORDS + i);
                *word ^= scatter(reader.take(places.count_ones()), places);
            }
            reader.check()?;
        }
        Ok(())
    }
}

/// Walks the places in order.
struct Cursor<'a> {
    side: &'a Side<'a>,
    index: usize,
    /// Places of the word at `index` that were not passed yet.
    places: u64,
}

impl Cursor<'_> {
    /// Passes `gap` places and takes the next.
    #[inline(always)]
    fn next(&mut self, mut gap: u64) -> Result<(usize, u64), DeltaError> {
        loop {
            let here = u64::from(self.places.count_ones());
            if gap < here {
                break;
            }
            gap -= here;
            self.index += 1;
            if self.index == self.side.old.len() {
                return Err(DeltaError::Payload("a change lies beyond the end of the filter"));
            }
            self.places = self.side.places(self.index);
        }
        for _ in 0..gap {
            self.places &= self.places - 1;
        }
        let bit = self.places & self.places.wrapping_neg();
        self.places ^= bit;
        Ok((self.index, bit))
    }
}
