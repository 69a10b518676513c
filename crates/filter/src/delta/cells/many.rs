//! Many changes of cells: marks of the cells that change; among these, marks of those whose change is not 1; and those
//! changes.
//!
//! Cells come in blocks, so that one pass is enough and a block stays in the second-level cache.

use super::{FORM_BITS, Sense, Shape, at_most};
use crate::cells::{Cells, CellsMut, Packing};
use crate::delta::DeltaError;
use crate::delta::gather::{self, Picker, Work};
use crate::delta::lanes::Lanes;
use crate::delta::list::{ListReader, write_ladder};
use crate::delta::marks::{Collector, Counts, MarksReader, MarksWriter, marks_at};
use crate::delta::stream::{BitReader, BitWriter};

/// A block has at least so many cells: with fewer, what it says of its changes' values would weigh.
const BLOCK_CELLS_MIN: u64 = 1 << 15;
/// A block is a multiple of so many words of cells.
const BLOCK_WORDS: u64 = 4096;

impl Shape {
    /// Cells of a block.
    fn block(&self) -> u64 {
        BLOCK_CELLS_MIN.next_multiple_of(BLOCK_WORDS * u64::from(64 / self.bits))
    }
}

/// What changes between two states of cells.
#[derive(Clone, Copy, Default)]
pub(super) struct Survey {
    /// Cells that change.
    pub(super) changed: u64,
    /// Those whose change is not 1.
    above_one: u64,
    /// Whether any falls.
    pub(super) fell: bool,
}

pub(super) fn survey<C: Cells>(old: &C, new: &C) -> Survey {
    gather::run(Surveying { old, new })
}

struct Surveying<'a, C> {
    old: &'a C,
    new: &'a C,
}

impl<C: Cells> Work for Surveying<'_, C> {
    type Output = Survey;

    #[inline(always)]
    fn run<P: Picker>(self, _: P) -> Survey {
        let mut survey = Survey::default();
        let (Some((packing, olds)), Some((_, news))) = (self.old.packed(), self.new.packed()) else {
            let cap = self.old.cap();
            self.new.for_each_change(self.old, |_, old, new| {
                survey.changed += 1;
                survey.above_one += u64::from(Sense::Diff.change(old, new, cap) > 1);
                survey.fell |= new < old;
            });
            return survey;
        };
        let lanes = Lanes::new(packing);
        for (&old, &new) in olds.iter().zip(news).filter(|(old, new)| old != new) {
            let rise = lanes.subtract(new, old);
            survey.changed += u64::from(lanes.nonzero(old ^ new).count_ones());
            survey.above_one += u64::from(lanes.above_one(rise).count_ones());
            // Where none falls, subtracting words is subtracting cells. A borrow of the highest cell leaves the word.
            survey.fell |= rise != new.wrapping_sub(old) || new < old;
        }
        survey
    }
}

pub(super) fn write<C: Cells>(old: &C, new: &C, sense: Sense, survey: Survey) -> BitWriter {
    gather::run(Writing { old, new, sense, survey })
}

struct Writing<'a, C> {
    old: &'a C,
    new: &'a C,
    sense: Sense,
    survey: Survey,
}

impl<C: Cells> Work for Writing<'_, C> {
    type Output = BitWriter;

    #[inline(always)]
    fn run<P: Picker>(self, picker: P) -> BitWriter {
        let shape = Shape::of(self.old);
        let survey = self.survey;
        let mut out = BitWriter::default();
        out.push(1, FORM_BITS);
        let mut changes = MarksWriter::new(&mut out, Counts { places: shape.len, marked: survey.changed });
        let mut above =
            MarksWriter::new(&mut out, Counts { places: survey.changed, marked: survey.above_one });
        let room = || vec![0; (shape.block() / 64) as usize + 2];
        let mut change_marks = room();
        let mut above_marks = room();
        let mut values = Vec::new();
        let mut rung = Vec::new();
        for start in (0..shape.len).step_by(shape.block() as usize) {
            let mut block = Block {
                changes: Collector::new(&mut change_marks),
                above: Collector::new(&mut above_marks),
                values: &mut values,
            };
            let cells = start..(start + shape.block()).min(shape.len);
            match (self.old.packed(), self.new.packed()) {
                (Some((packing, old)), Some((_, new))) => {
                    block.gather_words(picker, packing, old, new, cells, self.sense);
                }
                _ => block.gather_cells(self.old, self.new, cells, self.sense),
            }
            let cells = block.changes.finish();
            let changed = block.above.finish();
            changes.write(picker, &mut out, &change_marks, cells);
            above.write(picker, &mut out, &above_marks, changed);
            if !values.is_empty() {
                rung.resize(values.len().max(rung.len()), 0);
                write_ladder(&mut out, &mut values, &mut rung);
                values.clear();
            }
        }
        out
    }
}

/// What changes in a block of cells.
struct Block<'a> {
    changes: Collector<'a>,
    above: Collector<'a>,
    /// The changes that are not 1, each less 1.
    values: &'a mut Vec<u64>,
}

impl Block<'_> {
    #[inline(always)]
    fn gather_words<P: Picker>(
        &mut self,
        picker: P,
        packing: Packing,
        olds: &[u64],
        news: &[u64],
        cells: std::ops::Range<u64>,
        sense: Sense,
    ) {
        let lanes = Lanes::new(packing);
        let cap = packing.cap();
        let words =
            (cells.start / packing.per_word()) as usize..cells.end.div_ceil(packing.per_word()) as usize;
        let mut left = cells.end - cells.start;
        for (&old, &new) in olds[words.clone()].iter().zip(&news[words]) {
            let here = left.min(packing.per_word());
            left -= here;
            let rise = lanes.subtract(new, old);
            let flags = lanes.nonzero(old ^ new);
            self.changes.push(lanes.squeeze(picker, flags), here as u32);
            let mut above = lanes.above_one(rise);
            self.above.push(picker.gather(above, flags), flags.count_ones());
            while above != 0 {
                let by = packing.read(rise, above.trailing_zeros());
                self.values.push(sense.change(0, by, cap) - 1);
                above &= above - 1;
            }
        }
    }

    #[inline(always)]
    fn gather_cells<C: Cells>(&mut self, old: &C, new: &C, cells: std::ops::Range<u64>, sense: Sense) {
        for cell in cells {
            let from = old.get(cell);
            let to = new.get(cell);
            self.changes.push(u64::from(from != to), 1);
            if from != to {
                let change = sense.change(from, to, old.cap());
                self.above.push(u64::from(change > 1), 1);
                if change > 1 {
                    self.values.push(change - 1);
                }
            }
        }
    }
}

/// What a payload says of a block of cells. There is a word more of marks than needed, so that there is always a next
/// one.
struct BlockRead<'a> {
    cells: std::ops::Range<u64>,
    changes: &'a [u64],
    above: &'a [u64],
    values: &'a [u64],
}

/// Calls `each` with every block; `reader` is behind the form.
#[inline(always)]
fn for_each_block<P: Picker>(
    picker: P,
    shape: Shape,
    mut reader: BitReader,
    mut each: impl FnMut(BlockRead),
) -> Result<(), DeltaError> {
    let mut change_reader = MarksReader::new(&mut reader)?;
    let mut above_reader = MarksReader::new(&mut reader)?;
    let room = || vec![0; (shape.block().min(shape.len) / 64) as usize + 2];
    let mut changes = room();
    let mut above = room();
    let mut list = ListReader::new(true);
    for start in (0..shape.len).step_by(shape.block() as usize) {
        let end = (start + shape.block()).min(shape.len);
        let changed =
            read_marks(picker, &mut change_reader, &mut reader, &mut changes, (end - start) as usize)?;
        let count = read_marks(picker, &mut above_reader, &mut reader, &mut above, changed)?;
        let values = list.read_values(&mut reader, count)?;
        // Less than the cap, as a change is one more.
        if values.iter().any(|&value| value >= shape.cap) {
            at_most(shape.cap, u64::MAX)?;
        }
        each(BlockRead { cells: start..end, changes: &changes, above: &above, values });
    }
    reader.finish()
}

/// Reads marks and returns how many are set. None are behind the last.
#[inline(always)]
fn read_marks<P: Picker>(
    picker: P,
    marks: &mut MarksReader,
    reader: &mut BitReader,
    words: &mut [u64],
    places: usize,
) -> Result<usize, DeltaError> {
    marks.read(picker, reader, words, places)?;
    words[places.div_ceil(64)] = 0;
    Ok(words[..places.div_ceil(64)].iter().map(|word| word.count_ones() as usize).sum())
}

/// Reads all and changes nothing.
pub(super) fn check(shape: Shape, reader: BitReader) -> Result<(), DeltaError> {
    read(shape, reader, None::<fn(u64, u64)>)
}

/// Calls `visit`, if there is one, with every change, in order. An error may come after some visits.
pub(super) fn read(
    shape: Shape,
    reader: BitReader,
    visit: Option<impl FnMut(u64, u64)>,
) -> Result<(), DeltaError> {
    gather::run(Reading { shape, reader, visit })
}

struct Reading<'a, V> {
    shape: Shape,
    reader: BitReader<'a>,
    visit: Option<V>,
}

impl<V: FnMut(u64, u64)> Work for Reading<'_, V> {
    type Output = Result<(), DeltaError>;

    #[inline(always)]
    fn run<P: Picker>(mut self, picker: P) -> Self::Output {
        for_each_block(picker, self.shape, self.reader, |block| {
            let Some(visit) = &mut self.visit else { return };
            let mut rank = 0;
            let mut values = block.values.iter();
            for (first, &marks) in block.cells.clone().step_by(64).zip(block.changes) {
                let mut marks = marks;
                while marks != 0 {
                    let more = if marks_at(block.above, rank) & 1 == 1 { values.next() } else { None };
                    visit(first + u64::from(marks.trailing_zeros()), 1 + more.copied().unwrap_or(0));
                    marks &= marks - 1;
                    rank += 1;
                }
            }
        })
    }
}

/// Makes all changes; `reader` is behind the form. After an error some may have been made.
pub(super) fn apply<C: CellsMut>(cells: &mut C, reader: BitReader, sense: Sense) -> Result<(), DeltaError> {
    let shape = Shape::of(cells);
    if let Some((packing, words)) = cells.packed_mut() {
        return gather::run(Applying { shape, packing, words, reader, sense });
    }
    let visit = |cell, change| cells.set(cell, sense.changed(cells.get(cell), change, shape.cap));
    read(shape, reader, Some(visit))
}

struct Applying<'a, 'b> {
    shape: Shape,
    packing: Packing,
    words: &'a mut [u64],
    reader: BitReader<'b>,
    sense: Sense,
}

impl Work for Applying<'_, '_> {
    type Output = Result<(), DeltaError>;

    #[inline(always)]
    fn run<P: Picker>(self, picker: P) -> Self::Output {
        let lanes = Lanes::new(self.packing);
        let packing = self.packing;
        let cap = self.shape.cap;
        let sense = self.sense;
        let per_word = self.packing.per_word();
        for_each_block(picker, self.shape, self.reader, |block| {
            let words = (block.cells.start / per_word) as usize..block.cells.end.div_ceil(per_word) as usize;
            let mut at = 0;
            let mut rank = 0;
            let mut values = block.values.iter();
            for word in &mut self.words[words] {
                let flags = lanes.spread(picker, marks_at(block.changes, at));
                let mut above = picker.scatter(marks_at(block.above, rank), flags);
                let mut rise = flags;
                while above != 0 {
                    let shift = above.trailing_zeros();
                    let change = 1 + values.next().copied().unwrap_or(0);
                    rise = packing.write(rise, shift, sense.changed(0, change, cap));
                    above &= above - 1;
                }
                *word =
                    if sense == Sense::Gain { lanes.add_to_cap(*word, rise) } else { lanes.add(*word, rise) };
                at += per_word as usize;
                rank += flags.count_ones() as usize;
            }
        })
    }
}
