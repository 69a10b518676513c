//! How an insertion moves a key's cells: the intuitive rule, and the refined one.
//!
//! Both move a cell that several of the key's probes hit once only (the papers' H2).
//!
//! | | intuitive | refined (H1) |
//! |---|---|---|
//! | moves | all of the key's cells | those that hold the minimum |
//! | a count is too high when | others use each of its cells | others raised each of its cells above it |
//! | can take a key out again | yes | no: a cell may stand for keys that never raised it |

use crate::cells::CellsMut;
use crate::maths::MAX_K;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Intuitive {}
    impl Sealed for super::Refined {}
}

/// An insertion rule. There are two.
pub trait Rule: sealed::Sealed + 'static {
    /// Its name, in files and on the command line.
    const NAME: &'static str;

    /// Counts the key with these cells (at most [`MAX_K`], repeats allowed) `weight` times more.
    fn add<C: CellsMut>(cells: &mut C, key: &[u64], weight: u64);
}

/// Every cell of the key counts the key.
#[derive(Clone, Copy, Debug)]
pub enum Intuitive {}

/// Only cells that hold the key's minimum move: elsewhere called conservative update.
#[derive(Clone, Copy, Debug)]
pub enum Refined {}

impl Rule for Intuitive {
    const NAME: &'static str = "intuitive";

    #[inline]
    fn add<C: CellsMut>(cells: &mut C, key: &[u64], weight: u64) {
        for (i, &cell) in key.iter().enumerate() {
            if !key[..i].contains(&cell) {
                let raised = cells.get(cell).saturating_add(weight).min(cells.cap());
                cells.set(cell, raised);
            }
        }
    }
}

impl Rule for Refined {
    const NAME: &'static str = "refined";

    /// Raises every cell to at least the minimum plus `weight`, which is what `weight` single insertions do.
    #[inline]
    fn add<C: CellsMut>(cells: &mut C, key: &[u64], weight: u64) {
        let mut values = [0; MAX_K as usize];
        let values = &mut values[..key.len()];
        let mut least = u64::MAX;
        for (value, &cell) in values.iter_mut().zip(key) {
            *value = cells.get(cell);
            least = least.min(*value);
        }
        let target = least.saturating_add(weight).min(cells.cap());
        for (&value, &cell) in values.iter().zip(key) {
            if value < target {
                cells.set(cell, target);
            }
        }
    }
}
