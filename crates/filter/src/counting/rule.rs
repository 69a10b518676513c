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
use crate::error::NotCounted;
use crate::maths::MAX_K;

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Intuitive {}
    impl Sealed for super::Refined {}
}

/// An insertion rule. There are two.
pub trait Rule: sealed::Sealed + 'static {
    /// Its name, in files and on the command line.
    const NAME: RuleName;

    /// Counts the key whose cells lie at these addresses (at most [`MAX_K`], repeats allowed) `weight` times more.
    fn add_at<C: CellsMut>(cells: &mut C, key: &[u64], weight: u64);

    /// The same for the numbers of the cells.
    ///
    /// # Panics
    /// When there are more than [`MAX_K`] of them.
    fn add<C: CellsMut>(cells: &mut C, key: &[u64], weight: u64) {
        let mut addresses = [0; MAX_K as usize];
        let addresses = &mut addresses[..key.len()];
        for (address, &cell) in addresses.iter_mut().zip(key) {
            *address = cells.address(cell);
        }
        Self::add_at(cells, addresses, weight);
    }
}

/// The names of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuleName {
    /// [`Intuitive`]
    Intuitive,
    /// [`Refined`]
    Refined,
}

impl RuleName {
    /// `intuitive` or `refined`.
    pub fn as_str(self) -> &'static str {
        match self {
            RuleName::Intuitive => "intuitive",
            RuleName::Refined => "refined",
        }
    }

    /// The number that stands for it in files.
    pub(crate) fn code(self) -> u32 {
        match self {
            RuleName::Intuitive => 1,
            RuleName::Refined => 2,
        }
    }

    pub(crate) fn from_code(code: u32) -> Option<Self> {
        [RuleName::Intuitive, RuleName::Refined].into_iter().find(|rule| rule.code() == code)
    }
}

/// Every cell of the key counts the key.
#[derive(Clone, Copy, Debug)]
pub enum Intuitive {}

/// Only cells that hold the key's minimum move: elsewhere called conservative update.
#[derive(Clone, Copy, Debug)]
pub enum Refined {}

impl Rule for Intuitive {
    const NAME: RuleName = RuleName::Intuitive;

    #[inline]
    fn add_at<C: CellsMut>(cells: &mut C, key: &[u64], weight: u64) {
        for (i, &address) in key.iter().enumerate() {
            if !key[..i].contains(&address) {
                let raised = cells.get_at(address).saturating_add(weight).min(cells.cap());
                cells.set_at(address, raised);
            }
        }
    }
}

impl Intuitive {
    /// Takes `weight` countings of the key whose cells lie at these addresses back: each cell that counted it, once. A
    /// saturated cell stays. A key that was counted less often is refused, and nothing changes.
    pub(super) fn remove_at<C: CellsMut>(cells: &mut C, key: &[u64], weight: u64) -> Result<(), NotCounted> {
        let count = super::least_at(cells, key);
        if count < weight && count < cells.cap() {
            return Err(NotCounted { count, weight });
        }
        for (i, &address) in key.iter().enumerate() {
            let value = cells.get_at(address);
            if value < cells.cap() && !key[..i].contains(&address) {
                cells.set_at(address, value - weight);
            }
        }
        Ok(())
    }
}

impl Rule for Refined {
    const NAME: RuleName = RuleName::Refined;

    /// Raises every cell to at least the minimum plus `weight`, which is what `weight` single insertions do.
    #[inline]
    fn add_at<C: CellsMut>(cells: &mut C, key: &[u64], weight: u64) {
        let least = super::least_at(cells, key);
        let target = least.saturating_add(weight).min(cells.cap());
        for &address in key {
            cells.raise_at(address, target);
        }
    }
}
