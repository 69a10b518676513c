//! Lean cells: they take the memory of what they hold, not of what they could hold. For a copy of what one of many
//! counted, in cells that are made for all of them.

use std::collections::BTreeMap;

use super::{Cells, CellsMut, Split, SplitCells};
use crate::error::GeometryError;
use crate::memory::HugePages;

/// With so many cells for each one that is not zero, a map of those is worth its time: an entry takes some 30 bytes, a
/// quarter of the cells' memory. With fewer, looking through it costs more than the memory is worth.
const SPARSE: u64 = 256;

/// Split storage whose cells are in a map while few of them are not zero.
#[derive(Debug)]
pub struct LeanCells {
    split: Split,
    len: u64,
    store: Store,
}

#[derive(Debug)]
enum Store {
    /// Those that are not zero.
    Few(BTreeMap<u64, u64>),
    Many(SplitCells),
}

impl LeanCells {
    /// As many cells as there are in `cells`, of the same shape, all zero.
    pub fn zeroed_like(cells: &SplitCells) -> Self {
        LeanCells { split: cells.split(), len: cells.len(), store: Store::Few(BTreeMap::new()) }
    }

    /// Puts all cells where those of split storage lie. If there is no memory for that, the map goes on.
    fn unfold(&mut self) -> Result<(), GeometryError> {
        if let Store::Few(few) = &self.store {
            let mut many = SplitCells::zeroed(self.split, self.len, HugePages::Default)?;
            few.iter().for_each(|(&cell, &value)| many.set(cell, value));
            self.store = Store::Many(many);
        }
        Ok(())
    }

    fn check(&self, cell: u64) {
        assert!(cell < self.len, "cell {cell} of {}", self.len);
    }
}

impl Cells for LeanCells {
    fn cap(&self) -> u64 {
        self.split.cap()
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn per_page(&self) -> u64 {
        self.split.base().per_page()
    }

    fn get(&self, cell: u64) -> u64 {
        self.check(cell);
        match &self.store {
            Store::Few(few) => few.get(&cell).copied().unwrap_or(0),
            Store::Many(many) => many.get(cell),
        }
    }

    fn prefetch(&self, address: u64) {
        if let Store::Many(many) = &self.store {
            many.prefetch(many.address(address));
        }
    }

    fn for_each_nonzero(&self, mut visit: impl FnMut(u64, u64)) {
        match &self.store {
            Store::Few(few) => few.iter().for_each(|(&cell, &value)| visit(cell, value)),
            Store::Many(many) => many.for_each_nonzero(visit),
        }
    }

    fn for_each_nonzero_on(&self, page: u64, mut visit: impl FnMut(u64, u64)) {
        match &self.store {
            Store::Few(few) => {
                let first = page.saturating_mul(self.per_page());
                let cells = few.range(first..first.saturating_add(self.per_page()));
                cells.for_each(|(&cell, &value)| visit(cell, value));
            }
            Store::Many(many) => many.for_each_nonzero_on(page, visit),
        }
    }

    fn for_each_change(&self, old: &Self, mut visit: impl FnMut(u64, u64, u64)) {
        assert_eq!((self.len, self.split), (old.len, old.split), "cells of one shape on both sides");
        match (&self.store, &old.store) {
            (Store::Many(new), Store::Many(old)) => new.for_each_change(old, visit),
            (_, Store::Few(few)) => beside(self, few, visit),
            (Store::Few(few), _) => beside(old, few, |cell, new, old| visit(cell, old, new)),
        }
    }
}

/// Calls `visit` with the number, the value among the few and the value in `cells` of each cell that differs, in order.
fn beside(cells: &LeanCells, few: &BTreeMap<u64, u64>, mut visit: impl FnMut(u64, u64, u64)) {
    let mut few = few.iter().map(|(&cell, &value)| (cell, value)).peekable();
    cells.for_each_nonzero(|cell, value| {
        while let Some((before, alone)) = few.next_if(|(other, _)| *other < cell) {
            visit(before, alone, 0);
        }
        let other = few.next_if(|(other, _)| *other == cell).map_or(0, |(_, value)| value);
        if other != value {
            visit(cell, other, value);
        }
    });
    few.for_each(|(cell, alone)| visit(cell, alone, 0));
}

impl CellsMut for LeanCells {
    fn set(&mut self, cell: u64, value: u64) {
        self.check(cell);
        match &mut self.store {
            Store::Many(many) => many.set(cell, value),
            Store::Few(few) if value == 0 => drop(few.remove(&cell)),
            Store::Few(few) => {
                few.insert(cell, value);
                if few.len() as u64 > self.len / SPARSE {
                    // Without memory for it the map takes more, and is as right.
                    let _ = self.unfold();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    fn zeroed(len: u64) -> SplitCells {
        SplitCells::zeroed(Split::new(3, 4).expect("a shape"), len, HugePages::Default).expect("small")
    }

    /// Whether few or many, on either side, they are what split storage is.
    #[test]
    fn lean_cells_are_split_cells() {
        let (len, mut random) = (40_000, SplitMix(7));
        for (olds, news) in
            [(0, 0), (0, 10), (10, 0), (100, 100), (0, 5000), (100, 5000), (5000, 100), (5000, 5000)]
        {
            let mut sides = [olds, news].map(|count| {
                let mut split = zeroed(len);
                let mut lean = LeanCells::zeroed_like(&split);
                for _ in 0..count {
                    // Some twice, some back to zero, some with a high part.
                    let (cell, value) =
                        (random.next() % (count * 3), (random.next() % 5) * (random.next() % 7));
                    split.set(cell, value);
                    lean.set(cell, value);
                }
                (split, lean)
            });
            for (split, lean) in &mut sides {
                assert!((0..len).all(|cell| split.get(cell) == lean.get(cell)));
                assert_eq!((split.cap(), split.per_page()), (lean.cap(), lean.per_page()));
                for page in 0..7 {
                    let (mut expected, mut found) = (Vec::new(), Vec::new());
                    split.for_each_nonzero_on(page, |cell, value| expected.push((cell, value)));
                    lean.for_each_nonzero_on(page, |cell, value| found.push((cell, value)));
                    assert_eq!(found, expected);
                }
            }
            let [(old_split, old), (new_split, new)] = &sides;
            let (mut expected, mut found) = (Vec::new(), Vec::new());
            new_split.for_each_change(old_split, |cell, old, new| expected.push((cell, old, new)));
            new.for_each_change(old, |cell, old, new| found.push((cell, old, new)));
            assert_eq!(found, expected, "{olds} {news}");
        }
    }

    #[test]
    fn many_cells_leave_the_map() {
        let mut cells = LeanCells::zeroed_like(&zeroed(100 * SPARSE));
        (0..100).for_each(|cell| cells.set(cell, 1));
        assert!(matches!(cells.store, Store::Few(_)));
        cells.set(100, 1);
        assert!(matches!(cells.store, Store::Many(_)));
        assert_eq!((cells.get(100), cells.get(101)), (1, 0));
    }

    #[test]
    #[should_panic(expected = "cell 10 of 10")]
    fn a_cell_that_is_not_there_is_no_zero() {
        LeanCells::zeroed_like(&zeroed(10)).get(10);
    }
}
