//! Changes of bits: which of the places where a bit can change it did.
//!
//! Bits can be gained where the old filter has zeros and lost where it has ones: those are the *places*, and only
//! they are counted, so that `log2 C(places, changes)` is the bound and not `log2 C(m, changes)`. Few changes are a
//! [list](super::list); many are [marks](super::marks), one for each place.

use super::DeltaError;
use super::gather::{self, Picker, Work};
use super::list::{ListReader, ListWriter};
use super::marks::{Collector, Counts, MarksReader, MarksWriter, marks_at};
use super::stream::{BitReader, BitWriter};
use crate::layout::{bit_of, word_of};
use crate::maths::entropy::log2_choose;
use crate::memory::PAGE_WORDS;

/// One set of changes among all bits may take this much more than two, among zeros and among ones: it takes about half
/// the time, since nothing must be picked out of words.
const BOTH_MAX: f64 = 1.02;

/// From this share of changed places on there are marks: a list is a few percent shorter below, and its time grows with
/// the changes.
const MARKS_SHARE: f64 = 0.006;

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

    /// The places of word `index`, all of whose bits are bits of the filter.
    #[inline(always)]
    fn whole(&self, index: usize) -> u64 {
        self.old[index] & self.matter ^ self.flip
    }

    /// The places of word `index`.
    #[inline(always)]
    fn places(&self, index: usize) -> u64 {
        match self.bits.saturating_sub(index as u64 * 64) {
            64.. => self.whole(index),
            live => self.whole(index) & ((1 << live) - 1),
        }
    }

    /// Calls `visit` with every word of the page that begins with word `start`, and its places.
    #[inline(always)]
    fn for_each_word(&self, start: usize, mut visit: impl FnMut(usize, u64)) {
        let words = start..start + PAGE_WORDS;
        if words.end as u64 * 64 <= self.bits {
            words.for_each(|index| visit(index, self.whole(index)));
        } else {
            words.for_each(|index| visit(index, self.places(index)));
        }
    }

    /// How many places there are, and how many of them change.
    pub(super) fn count(&self, new: &[u64]) -> Counts {
        gather::run(Counting { side: *self, new })
    }

    /// Writes what changes from the old words to `new`.
    pub(super) fn write(&self, out: BitWriter, new: &[u64]) -> BitWriter {
        self.write_counted(out, new, self.count(new))
    }

    /// The same where places and changes have been counted.
    fn write_counted(&self, out: BitWriter, new: &[u64], counts: Counts) -> BitWriter {
        gather::run(Writing { side: *self, out, new, counts })
    }

    /// Reads what [`write`](Self::write) wrote and changes `new`, which is a copy of the old words. After an error
    /// `new` is worthless.
    pub(super) fn read(&self, reader: &mut BitReader, new: &mut [u64]) -> Result<(), DeltaError> {
        gather::run(Reading { side: *self, reader, new })
    }
}

struct Counting<'a> {
    side: Side<'a>,
    new: &'a [u64],
}

impl Work for Counting<'_> {
    type Output = Counts;

    #[inline(always)]
    fn run<P: Picker>(self, _: P) -> Counts {
        let side = self.side;
        let mut counts = Counts::default();
        for start in (0..side.old.len()).step_by(PAGE_WORDS) {
            side.for_each_word(start, |index, places| {
                counts.places += u64::from(places.count_ones());
                counts.marked += u64::from((places & (side.old[index] ^ self.new[index])).count_ones());
            });
        }
        counts
    }
}

struct Writing<'a> {
    side: Side<'a>,
    out: BitWriter,
    new: &'a [u64],
    counts: Counts,
}

impl Work for Writing<'_> {
    type Output = BitWriter;

    #[inline(always)]
    fn run<P: Picker>(mut self, picker: P) -> BitWriter {
        let counts = self.counts;
        if counts.share() < MARKS_SHARE && counts.places > EMPTY_LIST_BITS {
            return self.write_list(picker);
        }
        self.out.push(1, 1);
        let start = self.out.bits();
        let marks = MarksWriter::new(&mut self.out, counts);
        self.write_marks(picker, marks);
        // A code for marks that stand at random is no good for all others.
        if self.out.bits() > start + 1 + counts.places {
            self.out.rewind(start);
            let marks = MarksWriter::plain(&mut self.out);
            self.write_marks(picker, marks);
        }
        self.out
    }
}

impl Writing<'_> {
    #[inline(always)]
    fn write_marks<P: Picker>(&mut self, picker: P, mut marks: MarksWriter) {
        let mut page = PageMarks::default();
        for start in (0..self.side.old.len()).step_by(PAGE_WORDS) {
            page.gather(picker, &self.side, self.new, start);
            marks.write(picker, &mut self.out, &page.marks, (page.end - page.first) as usize);
        }
    }

    #[inline(always)]
    fn write_list<P: Picker>(mut self, picker: P) -> BitWriter {
        self.out.push(0, 1);
        let mut list = ListWriter::new(self.out, false);
        let mut page = PageMarks::default();
        let mut places = vec![0; PAGE_WORDS * 64 + SLACK];
        // The place behind the last change, counted from the first place of the filter.
        let mut next = 0;
        for start in (0..self.side.old.len()).step_by(PAGE_WORDS) {
            page.gather(picker, &self.side, self.new, start);
            let count = page.collect(&mut places);
            for &place in &places[..count] {
                list.add(place - next, 1);
                next = place + 1;
            }
        }
        list.finish()
    }
}

struct Reading<'a, 'b, 'c> {
    side: Side<'a>,
    reader: &'b mut BitReader<'c>,
    new: &'b mut [u64],
}

impl Work for Reading<'_, '_, '_> {
    type Output = Result<(), DeltaError>;

    #[inline(always)]
    fn run<P: Picker>(self, picker: P) -> Result<(), DeltaError> {
        if self.reader.take(1) == 1 { self.read_marks(picker) } else { self.read_list(picker) }
    }
}

impl Reading<'_, '_, '_> {
    #[inline(always)]
    fn read_marks<P: Picker>(self, picker: P) -> Result<(), DeltaError> {
        let mut marks = MarksReader::new(self.reader)?;
        let mut page = PageMarks::default();
        for start in (0..self.side.old.len()).step_by(PAGE_WORDS) {
            page.begin(&self.side, start);
            marks.read(picker, self.reader, &mut page.marks, (page.end - page.first) as usize)?;
            page.scatter(picker, &self.side, self.new, start);
        }
        Ok(())
    }

    #[inline(always)]
    fn read_list<P: Picker>(self, picker: P) -> Result<(), DeltaError> {
        let side = &self.side;
        let new = self.new;
        let mut page = PageMarks::default();
        let mut start = 0;
        let mut next = 0u64;
        page.begin(side, start);
        ListReader::new(false).read(self.reader, |gaps, _| {
            for &gap in gaps {
                let place = next.saturating_add(gap);
                next = place.saturating_add(1);
                while place >= page.end {
                    page.take_marks(picker, side, new, start);
                    start += PAGE_WORDS;
                    if start >= side.old.len() {
                        return Err(DeltaError::Payload("a change lies beyond the end of the filter"));
                    }
                    page.begin(side, start);
                }
                page.mark(place);
            }
            Ok(())
        })?;
        page.take_marks(picker, side, new, start);
        Ok(())
    }
}

/// Writes what changes from `old` to `new` either way: a bit, then one set (1) or two (0), gained and lost.
///
/// Where as many zeros change as ones, in proportion, one set is as good as two.
pub(super) fn write_changes(mut out: BitWriter, old: &[u64], new: &[u64], bits: u64) -> BitWriter {
    let sides = [Side::gains(old, bits), Side::losses(old, bits)];
    let counts = sides.map(|side| side.count(new));
    let two: f64 = counts.iter().map(|counts| log2_choose(counts.places, counts.marked)).sum();
    let all = Counts { places: bits, marked: counts[0].marked + counts[1].marked };
    let both = log2_choose(all.places, all.marked) <= BOTH_MAX * two;
    out.push(u64::from(both), 1);
    if both {
        return Side::both(old, bits).write_counted(out, new, all);
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

/// The marks of one page's places, side by side. Between them and the words bits are picked once a word, however many
/// changes it has; and between them and a list there is nothing that a processor would have to guess.
struct PageMarks {
    /// One word more than a page has, so that there is always a next one.
    marks: [u64; PAGE_WORDS + 1],
    /// The number of its first place, counted from the first one of the filter.
    first: u64,
    /// The number behind its last place.
    end: u64,
    /// Whether any are set. Only lists ask.
    marked: bool,
}

impl Default for PageMarks {
    fn default() -> Self {
        PageMarks { marks: [0; PAGE_WORDS + 1], first: 0, end: 0, marked: false }
    }
}

impl PageMarks {
    /// Goes on to the page that begins with word `start`; its marks are still to come.
    #[inline(always)]
    fn begin(&mut self, side: &Side<'_>, start: usize) {
        self.first = self.end;
        side.for_each_word(start, |_, places| self.end += u64::from(places.count_ones()));
    }

    #[inline(always)]
    fn mark(&mut self, place: u64) {
        let at = place - self.first;
        self.marks[word_of(at)] |= bit_of(at);
        self.marked = true;
    }

    /// Goes on to the page that begins with word `start` and marks what changes there.
    #[inline(always)]
    fn gather<P: Picker>(&mut self, picker: P, side: &Side<'_>, new: &[u64], start: usize) {
        let mut any = 0;
        let mut marks = Collector::new(&mut self.marks);
        side.for_each_word(start, |index, places| {
            let changed = places & (side.old[index] ^ new[index]);
            any |= changed;
            let gathered = if P::FAST || changed != 0 { picker.gather(changed, places) } else { 0 };
            marks.push(gathered, places.count_ones());
        });
        self.first = self.end;
        self.end += marks.finish() as u64;
        self.marked = any != 0;
    }

    /// The numbers of the places that are marked, in `places`, which is as long as a page has bits and [`SLACK`] more.
    /// Returns how many there are.
    #[inline(always)]
    fn collect(&self, places: &mut [u64]) -> usize {
        let mut count = 0;
        if !self.marked {
            return count;
        }
        let words = (self.end - self.first).div_ceil(64) as usize;
        for (first, &marks) in (self.first..).step_by(64).zip(&self.marks[..words]) {
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
    #[inline(always)]
    fn scatter<P: Picker>(&self, picker: P, side: &Side<'_>, new: &mut [u64], start: usize) {
        let mut at = 0;
        side.for_each_word(start, |index, places| {
            // Marks of later words come along; they find no place in this one.
            let marks = marks_at(&self.marks, at);
            let count = places.count_ones();
            // Without places a shift by 64 would be too far; it finds nothing to do either way.
            if P::FAST || marks << (64 - count.max(1)) != 0 {
                new[index] ^= picker.scatter(marks, places);
            }
            at += count as usize;
        });
    }

    /// The same if there are any marks, and none are left.
    #[inline(always)]
    fn take_marks<P: Picker>(&mut self, picker: P, side: &Side<'_>, new: &mut [u64], start: usize) {
        if std::mem::take(&mut self.marked) {
            self.scatter(picker, side, new, start);
            self.marks.fill(0);
        }
    }
}
