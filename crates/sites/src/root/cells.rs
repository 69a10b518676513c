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

/// The page of these values.
pub fn encode_cells(values: impl IntoIterator<Item = u64>) -> Vec<u8> {
    let mut page = Vec::new();
    for mut value in values {
        while value >> GROUP_BITS > 0 {
            page.push(value as u8 | MORE);
            value >>= GROUP_BITS;
        }
        page.push(value as u8);
    }
    page
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
