//! A filter in a mapped file whose pages are checked when a lookup first touches them.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::FileView;
use crate::error::FormatError;
use crate::filter::Filter;
use crate::hash::Hash128;
use crate::layout::{AnyLayout, Layout};
use crate::memory::PAGE_BITS;

/// Opens by looking at the header and the table, less than a hundredth of the file, and never answers from a page
/// that is damaged or another file's.
#[derive(Debug)]
pub struct LazyFilter<'a> {
    view: FileView<'a>,
    filter: Filter<AnyLayout, &'a [u64]>,
    /// One bit a page: it was checked and found sound. Two threads may check one page twice; no harm done.
    sound: Vec<AtomicU64>,
}

impl<'a> LazyFilter<'a> {
    /// Takes an opened file, whose bytes must be usable in place, and checks its table.
    pub fn new(view: FileView<'a>) -> Result<Self, FormatError> {
        view.check_table()?;
        let filter = view.filter()?;
        let pages = view.header().layout.pages();
        let sound = (0..pages.div_ceil(64)).map(|_| AtomicU64::new(0)).collect();
        Ok(LazyFilter { view, filter, sound })
    }

    /// Whether the key with this hash may be in the filter; an error when a page it needs is damaged.
    pub fn contains(&self, hash: Hash128) -> Result<bool, FormatError> {
        let layout = self.filter.layout();
        for probe in 0..layout.probes() {
            self.check((layout.position(hash, probe) / PAGE_BITS) as usize)?;
        }
        Ok(self.filter.contains(hash))
    }

    /// How many pages have been checked so far.
    pub fn pages_checked(&self) -> u64 {
        self.sound.iter().map(|word| u64::from(word.load(Relaxed).count_ones())).sum()
    }

    #[inline]
    fn check(&self, page: usize) -> Result<(), FormatError> {
        let (word, bit) = (&self.sound[page / 64], 1 << (page % 64));
        if word.load(Relaxed) & bit == 0 {
            self.view.check_page(page)?;
            word.fetch_or(bit, Relaxed);
        }
        Ok(())
    }
}
