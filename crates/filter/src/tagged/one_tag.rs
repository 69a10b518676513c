//! One tag among the others as an ordinary filter: taken out, put in, and its rate.

use super::{TaggedFilter, usable};
use crate::cells::{Cells, LaneCells};
use crate::error::{GeometryError, TagError};
use crate::filter::{Filter, Promise, same_promise};
use crate::layout::{Layout, bit_of, is_set, same, word_of};
use crate::maths::tagged::{any_rate, share_of_rate};
use crate::memory::HugePages;

/// A tag that cannot be made a filter of its own.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub enum FilterOfError {
    /// There is no such tag.
    Tag(#[from] TagError),
    /// There is no room.
    Geometry(#[from] GeometryError),
}

impl<L: Layout> TaggedFilter<L> {
    /// One tag's keys as an ordinary filter, with the promise of one tag.
    pub fn filter_of(&self, tag: u32) -> Result<Filter<L>, FilterOfError> {
        let tag = usable(&self.lanes, 0, tag)?;
        let promise = self.promise_of_one();
        let mut filter = Filter::new(self.layout, promise, self.fingerprint, HugePages::Default)?;
        if self.shown() >> tag & 1 == 1 {
            let words = filter.words_mut();
            self.cells_of(tag).for_each_nonzero(|cell, _| words[word_of(cell)] |= bit_of(cell));
        }
        Ok(filter)
    }

    /// Adds the keys of an ordinary filter under `tag`; the way back of [`filter_of`](Self::filter_of).
    pub fn union_filter<M: Layout, T: AsRef<[u64]>>(
        &mut self,
        tag: u32,
        filter: &Filter<M, T>,
    ) -> Result<(), TagError> {
        let tag = usable(&self.lanes, self.sweep.stale(), tag)?;
        self.layout.any().like(&filter.layout().any())?;
        same("key fingerprint", self.fingerprint.to_string(), filter.fingerprint().to_string())?;
        same_promise(self.promise_of_one(), filter.promise())?;
        let words = self.words.as_mut();
        for position in (0..self.layout.bits()).filter(|&position| is_set(filter.words(), position)) {
            let (word, shift) = self.lanes.place(position);
            words[word] |= 1 << (shift + tag);
        }
        Ok(())
    }

    fn cells_of(&self, tag: u32) -> LaneCells<&[u64]> {
        LaneCells::new(self.lanes, tag, self.layout.bits(), self.lanes.per_page(), self.words())
    }

    /// What each tag alone promises.
    pub fn promise_of_one(&self) -> Option<Promise> {
        self.promise.map(|promise| Promise { rate: share_of_rate(promise.rate, self.parts), ..promise })
    }

    /// The rate at which a stranger is shown with `tag`, read off the bits.
    pub fn present_rate(&self, tag: u32) -> Result<f64, FilterOfError> {
        Ok(self.filter_of(tag)?.present_rate())
    }

    /// The rate at which a stranger is shown with any tag, read off the bits: `1 - prod (1 - rate of a tag)`.
    pub fn present_any_rate(&self) -> Result<f64, FilterOfError> {
        let rates: Vec<f64> = (0..self.tags()).map(|tag| self.present_rate(tag)).collect::<Result<_, _>>()?;
        Ok(any_rate(rates))
    }
}
