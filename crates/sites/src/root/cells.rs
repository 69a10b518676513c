//! The canonical page of seen cells: their values, in order, whatever way a site stores them.
//!
//! A value is a number in groups of seven bits, lowest first, a byte each; the highest bit says that another group
//! follows. The last group is not zero unless it is the only one, so that one page has one form.

use thiserror::Error;

/// Bits of a value in a byte.
const GROUP_BITS: u32 = 7;

/// The bit that says: another group follows.
const MORE: u8 = 0x80;

/// Why bytes are no page of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PageError {
    /// Not as many cells as a page of its place has.
    #[error("a page of {found} cells, not {expected}")]
    Cells {
        /// How many it must have.
        expected: usize,
        /// How many it has, or one more than it may have.
        found: usize,
    },
    /// A value that is cut off, has a group for nothing, or goes beyond 64 bits.
    #[error("cell {0} of the page has a value in no form")]
    Value(usize),
}

/// A page in the making: nothing but zeros at first. Most cells are zero, so who makes a page sets the others, in
/// order.
#[derive(Clone, Debug)]
pub struct PageOfCells {
    bytes: Vec<u8>,
    /// Bytes that the cells so far have beyond one each.
    beyond: usize,
}

impl PageOfCells {
    /// So many cells, all zero.
    pub fn zeroed(cells: usize) -> Self {
        PageOfCells { bytes: vec![0; cells], beyond: 0 }
    }

    /// Sets a cell that lies after those that were set before. One beyond the page is left out.
    pub fn set(&mut self, cell: usize, mut value: u64) {
        let mut place = cell.saturating_add(self.beyond);
        while value >> GROUP_BITS > 0 && place < self.bytes.len() {
            self.bytes[place] = value as u8 | MORE;
            value >>= GROUP_BITS;
            // All that follows is zero: a byte more at the end is one more here.
            self.bytes.push(0);
            (place, self.beyond) = (place + 1, self.beyond + 1);
        }
        if let Some(byte) = self.bytes.get_mut(place) {
            *byte = value as u8;
        }
    }

    /// Its canonical bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// The values of a page that must have so many. No more are read, whatever is there.
pub fn decode_cells(page: &[u8], expected: usize) -> Result<Vec<u64>, PageError> {
    let mut values = Vec::with_capacity(expected.min(page.len()));
    let mut rest = page;
    while !rest.is_empty() {
        if values.len() == expected {
            return Err(PageError::Cells { expected, found: expected.saturating_add(1) });
        }
        let (value, after) = value_of(rest).ok_or(PageError::Value(values.len()))?;
        values.push(value);
        rest = after;
    }
    match values.len() {
        found if found == expected => Ok(values),
        found => Err(PageError::Cells { expected, found }),
    }
}

/// The value in front, and what follows it.
fn value_of(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (mut value, mut shift, mut rest) = (0, 0, bytes);
    loop {
        let (&byte, after) = rest.split_first()?;
        let group = u64::from(byte & !MORE);
        let placed = group.checked_shl(shift).filter(|placed| placed >> shift == group)?;
        (value, rest) = (value | placed, after);
        if byte & MORE == 0 {
            let spare = byte == 0 && shift > 0;
            return (!spare).then_some((value, rest));
        }
        shift += GROUP_BITS;
    }
}
