//! Changes of cells: which of them changed, and by how much. Payloads alone, for cells of any storage.
//!
//! A change is a number from 1 on. In a gain it is the increment. In a diff it is the difference modulo the number of
//! values a cell has, folded so that small ones come first: a rise by v is `2v - 1`, a fall by v is `2v`. So every
//! change of a diff leads to some value, and the digest of the result says whether it is the right one.
//!
//! A payload is two bits that name its form, then:
//!
//! * 0, few changes: a list;
//! * 1, many: *marks* of the cells that change, of those changes that are not 1, and the latter, each
//!   less 1, block by block;
//! * 2, when neither is shorter: all cells. For a gain the increments, for a diff the new values.
//!
//! Nothing in a payload says how many cells there are or what they hold at most: whoever reads it knows.

mod many;

use self::many::Survey;
use super::DeltaError;
use super::list::{ListReader, ListWriter};
use super::stream::{BitReader, BitWriter};
use crate::cells::{Cells, CellsMut};

/// From this share of changed cells on there are marks: a list is a few percent shorter below, and its time grows with
/// the changes.
const MARKS_SHARE: f64 = 0.02;
/// Bits that name the form.
const FORM_BITS: u32 = 2;

/// What a payload tells.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Sense {
    /// Increments of cells that only grow.
    Gain,
    /// Differences either way.
    Diff,
}

/// What both sides know of the cells.
#[derive(Clone, Copy)]
struct Shape {
    len: u64,
    cap: u64,
    /// Bits a cell takes.
    bits: u32,
}

impl Shape {
    fn of<C: Cells>(cells: &C) -> Self {
        Shape { len: cells.len(), cap: cells.cap(), bits: 64 - cells.cap().leading_zeros() }
    }
}

impl Sense {
    /// The change from one value to another, from 1 on. A gain's cells do not fall.
    #[inline(always)]
    fn change(self, old: u64, new: u64, cap: u64) -> u64 {
        if self == Sense::Gain || new > old && new - old <= cap / 2 + 1 {
            let rise = new - old;
            return if self == Sense::Gain { rise } else { 2 * rise - 1 };
        }
        let fall = if new < old { old - new } else { cap - (new - old) + 1 };
        if fall <= cap / 2 { 2 * fall } else { 2 * (cap - fall + 1) - 1 }
    }

    /// The value after a change of at most the cap.
    #[inline(always)]
    fn changed(self, old: u64, change: u64, cap: u64) -> u64 {
        if self == Sense::Gain {
            return old.saturating_add(change).min(cap);
        }
        let by = change.div_ceil(2);
        match change % 2 {
            1 if by > cap - old => by - (cap - old) - 1,
            1 => old + by,
            _ if by > old => cap - (by - old) + 1,
            _ => old - by,
        }
    }
}

/// The increments from `old` to `new`. Refuses cells that fell.
///
/// # Panics
/// When there are not as many cells on both sides.
pub fn gain<C: Cells>(old: &C, new: &C) -> Result<Vec<u8>, DeltaError> {
    let survey = many::survey(old, new);
    if survey.fell {
        let mut first = (0, 0, 0);
        new.for_each_change(old, |cell, old, new| {
            if new < old && first.1 == first.2 {
                first = (cell, old, new);
            }
        });
        let (cell, old, new) = first;
        return Err(DeltaError::Fell { cell, old, new });
    }
    Ok(write(old, new, Sense::Gain, survey))
}

/// What is to change in `old` to have `new`.
///
/// # Panics
/// When there are not as many cells on both sides.
pub fn diff<C: Cells>(old: &C, new: &C) -> Vec<u8> {
    write(old, new, Sense::Diff, many::survey(old, new))
}

fn write<C: Cells>(old: &C, new: &C, sense: Sense, survey: Survey) -> Vec<u8> {
    let shape = Shape::of(old);
    let bits_max = u64::from(FORM_BITS) + u64::from(shape.bits) * shape.len;
    let marked = survey.changed as f64 > MARKS_SHARE * shape.len as f64;
    let out =
        if marked { many::write(old, new, sense, survey) } else { write_list(old, new, sense, bits_max) };
    if out.bits() <= bits_max { out.finish() } else { write_all(old, new, sense) }
}

fn write_list<C: Cells>(old: &C, new: &C, sense: Sense, bits_max: u64) -> BitWriter {
    let cap = old.cap();
    let mut out = BitWriter::default();
    out.push(0, FORM_BITS);
    let mut list = ListWriter::new(out, true);
    let mut next = 0;
    new.for_each_change(old, |cell, old, new| {
        // Too long already: the rest is not worth writing.
        if list.bits() <= bits_max {
            list.add(cell - next, sense.change(old, new, cap));
        }
        next = cell + 1;
    });
    list.finish()
}

fn write_all<C: Cells>(old: &C, new: &C, sense: Sense) -> Vec<u8> {
    let shape = Shape::of(old);
    let mut out = BitWriter::default();
    out.push(2, FORM_BITS);
    for cell in 0..shape.len {
        let value = new.get(cell) - if sense == Sense::Gain { old.get(cell) } else { 0 };
        out.push(value, shape.bits);
    }
    out.finish()
}

/// Makes of `cells`, a copy of the old ones, the new ones. After an error they are worthless.
pub fn apply_diff<C: CellsMut>(cells: &mut C, payload: &[u8]) -> Result<(), DeltaError> {
    apply(cells, payload, Sense::Diff)
}

/// Adds a gain to `cells`, up to their cap. Changes nothing when the payload is refused.
pub fn apply_gain<C: CellsMut>(cells: &mut C, payload: &[u8]) -> Result<(), DeltaError> {
    check_gain(cells, payload)?;
    apply(cells, payload, Sense::Gain)
}

/// Reads all of a gain and changes nothing.
fn check_gain<C: Cells>(cells: &C, payload: &[u8]) -> Result<(), DeltaError> {
    let shape = Shape::of(cells);
    let mut reader = BitReader::new(payload);
    match reader.take(FORM_BITS) {
        1 => many::check(shape, reader),
        _ => read(shape, payload, |_, _| ()),
    }
}

fn apply<C: CellsMut>(cells: &mut C, payload: &[u8], sense: Sense) -> Result<(), DeltaError> {
    let shape = Shape::of(cells);
    let mut reader = BitReader::new(payload);
    match (reader.take(FORM_BITS), sense) {
        (1, _) => many::apply(cells, reader, sense),
        (2, Sense::Diff) => read(shape, payload, |cell, value| cells.set(cell, value)),
        _ => read(shape, payload, |cell, change| {
            cells.set(cell, sense.changed(cells.get(cell), change, shape.cap));
        }),
    }
}

/// Calls `visit` with a cell and what the payload says of it, in order; for a list or marks these are changes. An error
/// may come after some visits.
#[inline(always)]
fn read(shape: Shape, payload: &[u8], mut visit: impl FnMut(u64, u64)) -> Result<(), DeltaError> {
    let mut reader = BitReader::new(payload);
    match reader.take(FORM_BITS) {
        0 => {
            read_list(shape, &mut reader, |cell, change| {
                visit(cell, change);
                Ok(())
            })?;
        }
        1 => return many::read(shape, reader, Some(visit)),
        2 => {
            reader.expect(shape.len.saturating_mul(u64::from(shape.bits)))?;
            for cell in 0..shape.len {
                visit(cell, at_most(shape.cap, reader.take(shape.bits))?);
            }
        }
        _ => return Err(DeltaError::Payload("there is no form 3 of changes of cells")),
    }
    reader.finish()
}

/// Calls `visit` with the numbers of things that are listed, each below `shape.len`, and their changes.
#[inline(always)]
fn read_list(
    shape: Shape,
    reader: &mut BitReader,
    mut visit: impl FnMut(u64, u64) -> Result<(), DeltaError>,
) -> Result<(), DeltaError> {
    let mut next = 0u64;
    ListReader::new(true).read(reader, |gaps, values| {
        for (&gap, &change) in gaps.iter().zip(values) {
            let thing = next.saturating_add(gap);
            if thing >= shape.len {
                return Err(DeltaError::Payload("a change lies beyond the last cell"));
            }
            visit(thing, at_most(shape.cap, change)?)?;
            next = thing + 1;
        }
        Ok(())
    })
}

#[inline(always)]
fn at_most(cap: u64, value: u64) -> Result<u64, DeltaError> {
    if value <= cap { Ok(value) } else { Err(DeltaError::Payload("a cell changes by more than it can hold")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_are_numbers_from_one_on_and_lead_back() {
        for cap in [1u64, 3, 7, 255] {
            for old in 0..=cap {
                let mut seen = vec![false; cap as usize + 1];
                for new in (0..=cap).filter(|&new| new != old) {
                    let change = Sense::Diff.change(old, new, cap);
                    assert!(!std::mem::replace(&mut seen[change as usize], true), "{cap} {old} {new}");
                    assert_eq!(Sense::Diff.changed(old, change, cap), new, "{cap} {old} {new} {change}");
                    if new > old {
                        assert_eq!(Sense::Gain.changed(old, Sense::Gain.change(old, new, cap), cap), new);
                    }
                }
                assert!(!seen[0]);
            }
        }
        assert_eq!(Sense::Diff.change(5, 6, 15), 1);
        assert_eq!(Sense::Diff.change(5, 4, 15), 2);
        assert_eq!(Sense::Gain.changed(14, 15, 15), 15);
    }
}
