//! Many changes of cells: a mark for each cell, and a list of the changes that are not 1.

use super::{FORM_BITS, Sense, Shape, at_most, read_list};
use crate::cells::{Cells, CellsMut};
use crate::delta::DeltaError;
use crate::delta::lanes::Lanes;
use crate::delta::list::ListWriter;
use crate::delta::stream::{BitReader, BitWriter};

/// Marks that are taken from a reader at a time.
const MARKS_TAKEN: u64 = 56;

/// How many cells changed, and whether any fell.
pub(super) fn survey<C: Cells>(old: &C, new: &C) -> (u64, bool) {
    let (mut changed, mut fell) = (0, false);
    let (Some((packing, olds)), Some((_, news))) = (old.packed(), new.packed()) else {
        new.for_each_change(old, |_, old, new| {
            changed += 1;
            fell |= new < old;
        });
        return (changed, fell);
    };
    let lanes = Lanes::new(packing);
    for (&old, &new) in olds.iter().zip(news).filter(|(old, new)| old != new) {
        changed += u64::from(lanes.nonzero(old ^ new).count_ones());
        // Where none falls, subtracting words is subtracting cells.
        fell |= lanes.subtract(new, old) != new.wrapping_sub(old);
    }
    (changed, fell)
}

pub(super) fn write<C: Cells>(old: &C, new: &C, sense: Sense) -> BitWriter {
    let mut out = BitWriter::default();
    out.push(1, FORM_BITS);
    let mut list = ListWriter::new(BitWriter::default(), true);
    // Changes before the one at hand, and behind the last one listed.
    let (mut rank, mut next) = (0, 0);
    let cap = old.cap();
    let mut add = |rank: u64, change: u64| {
        list.add(rank - next, change - 1);
        next = rank + 1;
    };
    if let (Some((packing, olds)), Some((_, news))) = (old.packed(), new.packed()) {
        let lanes = Lanes::new(packing);
        let mut left = old.len();
        for (&old, &new) in olds.iter().zip(news) {
            let here = left.min(packing.per_word());
            left -= here;
            let rise = lanes.subtract(new, old);
            let flags = lanes.nonzero(old ^ new);
            out.push(lanes.squeeze(flags), here as u32);
            packing.for_each_marked(0, lanes.above_one(rise) & flags, |_, shift| {
                let before = rank + u64::from((flags & ((1 << shift) - 1)).count_ones());
                add(before, sense.change(packing.read(old, shift), packing.read(new, shift), cap));
            });
            rank += u64::from(flags.count_ones());
        }
    } else {
        for cell in 0..old.len() {
            let (old, new) = (old.get(cell), new.get(cell));
            out.push(u64::from(old != new), 1);
            if old != new {
                let change = sense.change(old, new, cap);
                if change > 1 {
                    add(rank, change);
                }
                rank += 1;
            }
        }
    }
    out.append(list.finish());
    out
}

/// Reads what is listed and changes nothing: every change that is listed must have a mark.
pub(super) fn check(shape: Shape, mut reader: BitReader) -> Result<(), DeltaError> {
    reader.expect(shape.len)?;
    let (mut marked, mut left) = (0, shape.len);
    while left > 0 {
        let here = left.min(MARKS_TAKEN);
        marked += u64::from(reader.take(here as u32).count_ones());
        left -= here;
    }
    read_list(Shape { len: marked, ..shape }, &mut reader, |_, more| {
        at_most(shape.cap, more + 1)?;
        Ok(())
    })?;
    reader.finish()
}

/// Applies marks and list; `reader` is behind the form. Before marks are wrong nothing has changed.
pub(super) fn apply<C: CellsMut>(cells: &mut C, reader: BitReader, sense: Sense) -> Result<(), DeltaError> {
    let shape = Shape::of(cells);
    let Some((packing, words)) = cells.packed_mut() else {
        return read(shape, reader, |cell, change| {
            cells.set(cell, sense.changed(cells.get(cell), change, shape.cap));
        });
    };
    reader.expect(shape.len)?;
    let (lanes, mut marks, mut left) = (Lanes::new(packing), reader.clone(), shape.len);
    for word in words {
        let here = left.min(packing.per_word());
        left -= here;
        let flags = lanes.spread(marks.take(here as u32));
        *word = if sense == Sense::Gain { lanes.raise(*word, flags) } else { lanes.add(*word, flags) };
    }
    // All changes are 1 by now; what is listed takes the rest of its change.
    for_each_listed(shape, reader, |cell, change| {
        let value = cells.get(cell);
        let value = if sense == Sense::Gain {
            sense.changed(value, change - 1, shape.cap)
        } else {
            let old = value.checked_sub(1).unwrap_or(shape.cap);
            sense.changed(old, change, shape.cap)
        };
        cells.set(cell, value);
    })
}

/// Calls `visit` with every change, in order.
pub(super) fn read(
    shape: Shape,
    reader: BitReader,
    mut visit: impl FnMut(u64, u64),
) -> Result<(), DeltaError> {
    reader.expect(shape.len)?;
    let mut marks = Marks { reader: reader.clone(), next: 0, len: shape.len, marks: 0, first: 0 };
    for_each_listed(shape, reader, |cell, change| {
        while let Some(other) = marks.next_cell().filter(|&other| other < cell) {
            visit(other, 1);
        }
        visit(cell, change);
    })?;
    while let Some(cell) = marks.next_cell() {
        visit(cell, 1);
    }
    Ok(())
}

/// Calls `visit` with the changes that are listed: those that are not 1.
fn for_each_listed(
    shape: Shape,
    mut reader: BitReader,
    mut visit: impl FnMut(u64, u64),
) -> Result<(), DeltaError> {
    reader.expect(shape.len)?;
    let mut marks = Marks { reader: reader.clone(), next: 0, len: shape.len, marks: 0, first: 0 };
    reader.skip(shape.len)?;
    let mut passed = 0;
    read_list(shape, &mut reader, |rank, more| {
        marks.pass(rank - passed);
        passed = rank + 1;
        let cell = marks.next_cell().ok_or(DeltaError::Payload("a change is listed that has no mark"))?;
        visit(cell, at_most(shape.cap, more + 1)?);
        Ok(())
    })?;
    reader.finish()
}

/// Walks the cells that are marked.
struct Marks<'a> {
    reader: BitReader<'a>,
    /// Cells whose marks were taken from the reader.
    next: u64,
    len: u64,
    /// Marks that were taken and not passed.
    marks: u64,
    /// The cell of the lowest of them.
    first: u64,
}

impl Marks<'_> {
    /// Takes marks of cells, at least one of them set, unless there are no more.
    #[inline(always)]
    fn fill(&mut self) {
        while self.marks == 0 && self.next < self.len {
            let here = (self.len - self.next).min(MARKS_TAKEN);
            self.marks = self.reader.take(here as u32);
            self.first = self.next;
            self.next += here;
        }
    }

    /// Passes `count` marked cells over.
    #[inline(always)]
    fn pass(&mut self, mut count: u64) {
        loop {
            self.fill();
            let here = u64::from(self.marks.count_ones());
            if count < here || here == 0 {
                break;
            }
            count -= here;
            self.marks = 0;
        }
        for _ in 0..count.min(64) {
            self.marks &= self.marks.wrapping_sub(1);
        }
    }

    /// The next marked cell.
    #[inline(always)]
    fn next_cell(&mut self) -> Option<u64> {
        self.fill();
        let cell = self.first + u64::from(self.marks.trailing_zeros());
        (self.marks != 0).then(|| {
            self.marks &= self.marks - 1;
            cell
        })
    }
}
