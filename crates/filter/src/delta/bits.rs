//! Changes of bits: which of the places where a bit can change it did.
//!
//! Bits can be gained where the old filter has zeros and lost where it has ones: those are the *places*, and only
//! they are counted, so that `log2 C(places, changes)` is the bound and not `log2 C(m, changes)`. Few changes are a
//! [list](super::list); many are *marks*, one bit a place.

use super::DeltaError;
use super::gather::{gather, scatter};
use super::list::{ListReader, ListWriter};
use super::stream::{BitReader, BitWriter};
use crate::layout::{bit_of, word_of};
use crate::maths::entropy::log2_choose;
use crate::memory::PAGE_WORDS;

/// One set of changes among all bits may take this much more than two, among zeros and among ones: it takes about half
/// the time, since nothing must be picked out of words.
const BOTH_MAX: f64 = 1.02;

/// From this share of changed places on there are marks: a list would save a fifth of them at most, and its time grows
/// with the changes.
const MARKS_SHARE: f64 = 0.24;

/// What a list without changes takes. So few places are marked, and the whole is never longer than one bit a place.
const EMPTY_LIST_BITS: u64 = 13;

/// Marked places are collected by so many at a time.
const SLACK: usize = 8;

/// Places and changes of a pair of filters, word by word. Equal numbers of words, and no bits from `bits` on.
#[derive(Clone, Copy)]
pub(super) struct Side<'a> {
    /// The old words.
    old: &'a [u64],
    /// How many bits there are; what is behind them is padding and no place.
    bits: u64,
    /// Which bits of the old words matter: all, or none where every bit is a place.
    matter: u64,
    /// Flips them so that places are ones.
    flip: u64,
}

impl<'a> Side<'a> {
    /// The places where bits can be gained.
    pub(super) fn gains(old: &'a [u64], bits: u64) -> Self {
        Side { old, bits, matter: u64::MAX, flip: u64::MAX }
    }

    /// The places where bits can be lost.
    pub(super) fn losses(old: &'a [u64], bits: u64) -> Self {
        Side { old, bits, matter: u64::MAX, flip: 0 }
    }

    /// All places: bits that change either way.
    pub(super) fn both(old: &'a [u64], bits: u64) -> Self {
        Side { old, bits, matter: 0, flip: u64::MAX }
    }

    /// The places of word `index`.
    #[inline(always)]
    fn places(&self, index: usize) -> u64 {
        let places = self.old[index] & self.matter ^ self.flip;
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
        let whole = (self.bits / 64) as usize;
        let mut counts = (0, 0);
        for (old, new) in self.old[..whole].iter().zip(&new[..whole]) {
            let places = old & self.matter ^ self.flip;
            counts.0 += ones(places);
            counts.1 += ones(places & (old ^ new));
        }
        if !self.bits.is_multiple_of(64) {
            counts.0 += ones(self.places(whole));
            counts.1 += ones(self.changed(new, whole));
        }
        counts
    }

    /// Writes what changes from the old words to `new`.
    pub(super) fn write(&self, out: BitWriter, new: &[u64]) -> BitWriter {
        self.write_counted(out, new, self.count(new))
    }

    /// The same where places and changes have been counted.
    fn write_counted(&self, out: BitWriter, new: &[u64], (places, changed): (u64, u64)) -> BitWriter {
        let marked = changed as f64 > MARKS_SHARE * places as f64 || places <= EMPTY_LIST_BITS;
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
        let mut page = PageMarks::default();
        let mut places = vec![0; PAGE_WORDS * 64 + SLACK];
        // The place behind the last change, counted from the first place of the filter.
        let mut next = 0;
        for start in (0..self.old.len()).step_by(PAGE_WORDS) {
            page.gather(self, new, start);
            let count = page.collect(&mut places);
            for &place in &places[..count] {
                list.add(place - next, 1);
                next = place + 1;
            }
        }
        list.finish()
    }

    /// Reads what [`write`](Self::write) wrote and changes `new`, which is a copy of the old words. After an error
    /// `new` is worthless.
    pub(super) fn read(&self, reader: &mut BitReader, new: &mut [u64]) -> Result<(), DeltaError> {
        if reader.take(1) == 1 {
            return self.read_marks(reader, new);
        }
        let mut page = PageMarks::default();
        let (mut start, mut next) = (0, 0u64);
        page.begin(self, start);
        ListReader::new(false).read(reader, |gaps, _| {
            for &gap in gaps {
                let place = next.saturating_add(gap);
                next = place.saturating_add(1);
                while place >= page.end {
                    page.scatter(self, new, start);
                    start += PAGE_WORDS;
                    if start >= self.old.len() {
                        return Err(DeltaError::Payload("a change lies beyond the end of the filter"));
                    }
                    page.begin(self, start);
                }
                page.mark(place);
            }
            Ok(())
        })?;
        page.scatter(self, new, start);
        Ok(())
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

/// How many places a word has. All of them, often; and counting takes a dozen instructions, since not every processor
/// has one for it.
#[inline(always)]
fn ones(places: u64) -> u32 {
    if places == u64::MAX { 64 } else { places.count_ones() }
}

/// Writes what changes from `old` to `new` either way: a bit, then one set (1) or two (0), gained and lost.
///
/// Where as many zeros change as ones, in proportion, one set is as good as two.
pub(super) fn write_changes(mut out: BitWriter, old: &[u64], new: &[u64], bits: u64) -> BitWriter {
    let sides = [Side::gains(old, bits), Side::losses(old, bits)];
    let counts = sides.map(|side| side.count(new));
    let two: f64 = counts.iter().map(|&(places, changed)| log2_choose(places, changed)).sum();
    let changed = counts[0].1 + counts[1].1;
    let one = log2_choose(bits, changed);
    let both = one <= BOTH_MAX * two;
    out.push(u64::from(both), 1);
    if both {
        return Side::both(old, bits).write_counted(out, new, (bits, changed));
    }
    sides.iter().zip(counts).fold(out, |out, (side, counts)| side.write_counted(out, new, counts))
}

/// Reads what [`write_changes`] wrote and changes `new`, which is a copy of `old`. After an error `new` is worthless.
pub(super) fn read_changes(
    reader: &mut BitReader,
    old: &[u64],
    new: &mut [u64],
    bits: u64,
) -> Result<(), DeltaError> {
    if reader.take(1) == 1 {
        return Side::both(old, bits).read(reader, new);
    }
    Side::gains(old, bits).read(reader, new)?;
    Side::losses(old, bits).read(reader, new)
}

/// The marks of one page's places, side by side. Between them and the words there is one [`gather`] or [`scatter`] a
/// word, however many changes it has; and between them and a list nothing that a processor would have to guess.
struct PageMarks {
    /// One word more than a page has, so that there is always a next one.
    marks: [u64; PAGE_WORDS + 1],
    /// The number of its first place, counted from the first one of the filter.
    first: u64,
    /// The number behind its last place.
    end: u64,
    marked: bool,
}

impl Default for PageMarks {
    fn default() -> Self {
        PageMarks { marks: [0; PAGE_WORDS + 1], first: 0, end: 0, marked: false }
    }
}

impl PageMarks {
    /// Goes on to the page that begins with word `start`, without marks.
    fn begin(&mut self, side: &Side<'_>, start: usize) {
        let words = start..start + PAGE_WORDS;
        self.first = self.end;
        self.end += words.map(|index| u64::from(ones(side.places(index)))).sum::<u64>();
        if std::mem::take(&mut self.marked) {
            self.marks.fill(0);
        }
    }

    #[inline(always)]
    fn mark(&mut self, place: u64) {
        let at = place - self.first;
        self.marks[word_of(at)] |= bit_of(at);
        self.marked = true;
    }

    /// Goes on to the page that begins with word `start` and marks what changes there.
    fn gather(&mut self, side: &Side<'_>, new: &[u64], start: usize) {
        self.first = self.end;
        if std::mem::take(&mut self.marked) {
            self.marks.fill(0);
        }
        let mut at = 0;
        for index in start..start + PAGE_WORDS {
            let (places, changed) = (side.places(index), side.changed(new, index));
            if changed != 0 {
                let marks = gather(changed, places);
                self.marks[at / 64] |= marks << (at % 64);
                self.marks[at / 64 + 1] |= marks >> 1 >> (63 - at % 64);
                self.marked = true;
            }
            at += ones(places) as usize;
        }
        self.end = self.first + at as u64;
    }

    /// The numbers of the places that are marked, in `places`, which is as long as a page has bits and [`SLACK`] more.
    /// Returns how many there are.
    #[inline(always)]
    fn collect(&self, places: &mut [u64]) -> usize {
        let mut count = 0;
        if !self.marked {
            return count;
        }
        for (first, &marks) in (self.first..).step_by(64).zip(&self.marks) {
            let (mut marks, here) = (marks, marks.count_ones() as usize);
            // By the eight, too many rather than just enough: how many there are is not to be guessed.
            for eight in places[count..].as_chunks_mut::<SLACK>().0.iter_mut().take(here.div_ceil(SLACK)) {
                for place in eight {
                    *place = first + u64::from(marks.trailing_zeros());
                    marks &= marks.wrapping_sub(1);
                }
            }
            count += here;
        }
        count
    }

    /// Changes the words of the page, which begins with word `start`, at the marked places.
    fn scatter(&self, side: &Side<'_>, new: &mut [u64], start: usize) {
        if !self.marked {
            return;
        }
        let mut at = 0;
        for (index, word) in (start..).zip(&mut new[start..start + PAGE_WORDS]) {
            let places = side.places(index);
            // Marks of later words come along; they find no place in this one.
            let marks = self.marks[at / 64] >> (at % 64) | self.marks[at / 64 + 1] << 1 << (63 - at % 64);
            let count = ones(places);
            // Without places a shift by 64 would be too far; it finds nothing to do either way.
            if marks << (64 - count.max(1)) != 0 {
                *word ^= scatter(marks, places);
            }
            at += count as usize;
        }
    }
}
