//! Others' cells: the sum of what the sites of the network were told, as the link keeps it.

use std::sync::Arc;

use seenit_filter::cells::Cells;

use super::parts::{Generation, SharedCounts};
use super::{NoCells, Seen};
use crate::terms::{Counts, Terms};

impl Seen {
    /// Cells of a generation's terms in the present life, with nothing counted.
    pub(crate) fn empty(&self, generation: u64) -> Result<Counts, NoCells> {
        Ok(self.shared_terms(generation)?.empty()?)
    }

    /// What a cell of others holds.
    pub(crate) fn others_cell(&self, generation: u64, cell: u64) -> u64 {
        let others = self.others(generation);
        others.filter(|others| cell < others.cells().len()).map_or(0, |others| others.cells().get(cell))
    }

    /// Raises others' cells by these amounts. A generation that is too old is not counted any more.
    pub(crate) fn raise_others(&self, generation: u64, gains: &[(u64, u64)]) -> Result<(), NoCells> {
        if !self.counts_of(generation) || gains.is_empty() {
            return Ok(());
        }
        let others = match self.others(generation) {
            Some(others) => others,
            None => self.begin_others(generation, self.empty(generation)?),
        };
        gains.iter().for_each(|&(cell, by)| others.raise_cell(cell, by));
        Ok(())
    }

    /// Puts others' cells as a whole. Cells of other terms are refused.
    pub(crate) fn put_others(&self, generation: u64, counts: Option<Counts>) -> Result<(), NoCells> {
        let Some(counts) = counts else {
            if let Some(generation) = self.write().get_mut(&generation) {
                generation.others = None;
            }
            return Ok(());
        };
        if !self.shared_terms(generation)?.is_of(&counts) {
            return Err(NoCells::Unlike(generation));
        }
        if self.counts_of(generation) {
            self.begin_others(generation, counts);
        }
        Ok(())
    }

    pub(super) fn others(&self, generation: u64) -> Option<Arc<SharedCounts>> {
        self.read().get(&generation)?.others.clone()
    }

    fn begin_others(&self, generation: u64, counts: Counts) -> Arc<SharedCounts> {
        let (others, life) = (Arc::new(counts.share()), self.life());
        let empty = || Generation::new(self.under(&life, generation), life.terms_at(generation).is_some());
        self.write().entry(generation).or_insert_with(empty).others = Some(Arc::clone(&others));
        others
    }

    fn shared_terms(&self, generation: u64) -> Result<Terms, NoCells> {
        self.life().terms_at(generation).cloned().ok_or(NoCells::Private(generation))
    }
}
