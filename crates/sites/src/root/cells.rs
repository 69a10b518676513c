//! The canonical page of seen cells: those that are not zero, in order, whatever way a site stores them.
//!
//! Of each cell there are two numbers: how many zeros lie between it and the one before, and its value, which is not
//! zero. A number is in groups of seven bits, lowest first, a byte each; the highest bit says that another group
//! follows. The last group is not zero unless it is the only one, so that one page has one form. A page costs what it
//! holds: most cells are zero in all but the fullest filters.

use thiserror::Error;

/// Bits of a number in a byte.
const GROUP_BITS: u32 = 7;

/// The bit that says: another group follows.
const MORE: u8 = 0x80;

/// Why bytes are no page of cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PageError {
    /// A cell that is not on the page.
    #[error("a page of {cells} cells has no cell after {zeros} zeros from cell {from} on")]
    Beyond {
        /// How many cells it has.
        cells: usize,
        /// The cell after the one before.
        from: usize,
        /// How many are passed over.
        zeros: u64,
    },
    /// A number that is cut off, has a group for nothing, or goes beyond 64 bits; or a value of zero.
    #[error("from cell {0} on, the page has a number in no form")]
    Number(usize),
}

/// A page in the making.
#[derive(Clone, Debug, Default)]
pub struct PageOfCells {
    bytes: Vec<u8>,
    /// The first cell that can be put.
    next: u64,
}

impl PageOfCells {
    /// Puts a cell of the page, counted from 0. Whoever makes a page puts the cells that are not zero, in order;
    /// another one is left out.
    pub fn put(&mut self, cell: u64, value: u64) {
        if let (Some(zeros), 1..) = (cell.checked_sub(self.next), value) {
            push(&mut self.bytes, zeros);
            push(&mut self.bytes, value);
            self.next = cell.saturating_add(1);
        }
    }

    /// Its canonical bytes.
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

fn push(bytes: &mut Vec<u8>, mut number: u64) {
    while number >> GROUP_BITS > 0 {
        bytes.push(number as u8 | MORE);
        number >>= GROUP_BITS;
    }
    bytes.push(number as u8);
}

/// The values of a page of so many cells.
pub fn decode_cells(page: &[u8], cells: usize) -> Result<Vec<u64>, PageError> {
    let mut values = vec![0; cells];
    let (mut rest, mut from) = (page, 0);
    while !rest.is_empty() {
        let none = PageError::Number(from);
        let (zeros, after) = number_of(rest).ok_or(none)?;
        let (value, after) = number_of(after).filter(|(value, _)| *value > 0).ok_or(none)?;
        let beyond = PageError::Beyond { cells, from, zeros };
        let cell = usize::try_from(zeros).ok().and_then(|zeros| from.checked_add(zeros)).ok_or(beyond)?;
        *values.get_mut(cell).ok_or(beyond)? = value;
        (rest, from) = (after, cell + 1);
    }
    Ok(values)
}

/// The number in front, and what follows it.
fn number_of(bytes: &[u8]) -> Option<(u64, &[u8])> {
    let (mut number, mut shift, mut rest) = (0, 0, bytes);
    loop {
        let (&byte, after) = rest.split_first()?;
        let group = u64::from(byte & !MORE);
        let placed = group.checked_shl(shift).filter(|placed| placed >> shift == group)?;
        (number, rest) = (number | placed, after);
        if byte & MORE == 0 {
            let spare = byte == 0 && shift > 0;
            return (!spare).then_some((number, rest));
        }
        shift += GROUP_BITS;
    }
}
