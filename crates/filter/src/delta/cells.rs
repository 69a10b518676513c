//! Changes of cells: which of them changed, and by how much. Payloads alone, for cells of any storage.
//!
//! A payload is one bit, then a [list](super::list) (0) or all cells one after the other (1), whichever is shorter. A
//! gain lists increments; all cells of it are increments too. A diff lists changes either way, folded: a rise by v is
//! `2v - 1`, a fall by v is `2v`; all cells of it are the new values.
//!
//! Nothing in a payload says how many cells there are or what they hold at most: whoever reads it knows.

use super::DeltaError;
use super::list::{ListReader, ListWriter};
use super::stream::{BitReader, BitWriter};
use crate::cells::{Cells, CellsMut};

/// The increments from `old` to `new`. Refuses cells that fell.
///
/// # Panics
/// When there are not as many cells on both sides.
pub fn gain<C: Cells>(old: &C, new: &C) -> Result<Vec<u8>, DeltaError> {
    let mut fell = None;
    let listed = list(old, new, |cell, old, new| {
        if new < old && fell.is_none() {
            fell = Some(DeltaError::Fell { cell, old, new });
        }
        new.wrapping_sub(old)
    });
    match (fell, listed) {
        (Some(error), _) => Err(error),
        (None, Some(payload)) => Ok(payload),
        (None, None) => Ok(all(old, |cell| new.get(cell) - old.get(cell))),
    }
}

/// What is to change in `old` to have `new`.
///
/// # Panics
/// When there are not as many cells on both sides.
pub fn diff<C: Cells>(old: &C, new: &C) -> Vec<u8> {
    list(old, new, |_, old, new| fold(old, new)).unwrap_or_else(|| all(old, |cell| new.get(cell)))
}

/// A change other than none, as a number from 1 on: small ones first, rises before falls.
#[inline(always)]
fn fold(old: u64, new: u64) -> u64 {
    if new > old { 2 * (new - old) - 1 } else { 2 * (old - new) }
}

/// The new value of a cell, if that is a number at all.
#[inline(always)]
fn unfold(old: u64, change: u64) -> Option<u64> {
    let by = change.div_ceil(2);
    if change % 2 == 1 { old.checked_add(by) } else { old.checked_sub(by) }
}

/// The payload with a list; `None` when it is longer than the one with all cells.
fn list<C: Cells>(old: &C, new: &C, mut value: impl FnMut(u64, u64, u64) -> u64) -> Option<Vec<u8>> {
    let bits_max = 1 + u64::from(bits_of(old)) * old.len();
    let mut out = BitWriter::default();
    out.push(0, 1);
    let mut list = ListWriter::new(out, true);
    let mut next = 0;
    new.for_each_change(old, |cell, old, new| {
        let value = value(cell, old, new);
        // Too long already: the rest is not worth writing.
        if list.bits() <= bits_max {
            list.add(cell - next, value);
        }
        next = cell + 1;
    });
    let (out, _) = list.finish();
    (out.bits() <= bits_max).then(|| out.finish())
}

/// The payload with all cells.
fn all<C: Cells>(cells: &C, value: impl Fn(u64) -> u64) -> Vec<u8> {
    let mut out = BitWriter::default();
    out.push(1, 1);
    for cell in 0..cells.len() {
        out.push(value(cell), bits_of(cells));
    }
    out.finish()
}

/// The bits a cell of these takes.
fn bits_of<C: Cells>(cells: &C) -> u32 {
    64 - cells.cap().leading_zeros()
}

/// What a reader knows of the cells.
#[derive(Clone, Copy)]
pub(super) struct Shape {
    len: u64,
    cap: u64,
    bits: u32,
}

impl Shape {
    pub(super) fn of<C: Cells>(cells: &C) -> Self {
        Shape { len: cells.len(), cap: cells.cap(), bits: bits_of(cells) }
    }

    /// Calls `visit` with the cells a gain raises, in order, and by how much. An error may come after some visits.
    #[inline(always)]
    pub(super) fn read_gain(self, payload: &[u8], mut visit: impl FnMut(u64, u64)) -> Result<(), DeltaError> {
        self.read(payload, |_, cell, increment| {
            if increment > self.cap {
                return Err(DeltaError::Payload("an increment is above what a cell can hold"));
            }
            visit(cell, increment);
            Ok(())
        })
    }

    /// Calls `visit` with whether there is a list, a cell, and its value in the payload.
    #[inline(always)]
    fn read(
        self,
        payload: &[u8],
        mut visit: impl FnMut(bool, u64, u64) -> Result<(), DeltaError>,
    ) -> Result<(), DeltaError> {
        let mut reader = BitReader::new(payload);
        if reader.take(1) == 1 {
            return self.read_all(reader, visit);
        }
        let mut next = 0u64;
        ListReader::new(true).read(&mut reader, |gaps, values| {
            for (&gap, &value) in gaps.iter().zip(values) {
                let cell = next.saturating_add(gap);
                if cell >= self.len {
                    return Err(DeltaError::Payload("a change lies beyond the last cell"));
                }
                visit(true, cell, value)?;
                next = cell + 1;
            }
            Ok(())
        })?;
        reader.finish()
    }

    fn read_all(
        self,
        mut reader: BitReader,
        mut visit: impl FnMut(bool, u64, u64) -> Result<(), DeltaError>,
    ) -> Result<(), DeltaError> {
        reader.expect(self.len.saturating_mul(u64::from(self.bits)))?;
        for cell in 0..self.len {
            visit(false, cell, reader.take(self.bits))?;
        }
        reader.finish()
    }
}

/// Makes of `cells`, a copy of the old ones, the new ones. After an error they are worthless.
pub fn apply_diff<C: CellsMut>(cells: &mut C, payload: &[u8]) -> Result<(), DeltaError> {
    let shape = Shape::of(cells);
    shape.read(payload, |listed, cell, value| {
        let new = if listed { unfold(cells.get(cell), value) } else { Some(value) };
        let new = new.filter(|&new| new <= shape.cap);
        cells.set(cell, new.ok_or(DeltaError::Payload("a cell leaves what it can hold"))?);
        Ok(())
    })
}

/// Adds a gain to `cells`, up to their cap. Changes nothing when the payload is refused.
pub fn apply_gain<C: CellsMut>(cells: &mut C, payload: &[u8]) -> Result<(), DeltaError> {
    add_gain(cells, payload, |_| true)
}

/// The same for those cells that `wanted` says yes to. All of the payload is read before the first cell is raised.
pub(super) fn add_gain<C: CellsMut>(
    cells: &mut C,
    payload: &[u8],
    mut wanted: impl FnMut(u64) -> bool,
) -> Result<(), DeltaError> {
    let shape = Shape::of(cells);
    shape.read_gain(payload, |_, _| ())?;
    shape.read_gain(payload, |cell, increment| {
        if wanted(cell) {
            cells.set(cell, cells.get(cell).saturating_add(increment).min(shape.cap));
        }
    })
}
