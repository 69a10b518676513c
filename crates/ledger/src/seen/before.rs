//! Counts that a release before the log of sightings kept as cells: read, and added to until they are too old.
//!
//! Cells cannot become fingerprints. The migration writes them to files of their own (`before-GENERATION-N.counts`);
//! nobody counts in them any more.

use seenit_filter::AnyLayout;
use seenit_filter::cells::SplitCells;
use seenit_filter::counting::{Count, CountingFilter, Refined};
use seenit_filter::hash::Hash128;

use super::part::{Hashes, Under};

/// Cells of one generation.
pub(crate) type Counts = CountingFilter<Refined, AnyLayout, SplitCells>;

pub(crate) struct Before {
    counts: Counts,
    under: Under,
}

impl Before {
    pub(crate) fn new(counts: Counts, under: Under) -> Self {
        Before { counts, under }
    }

    pub(crate) fn count(&self, hashes: &mut Hashes<'_>) -> Count {
        self.counts.count(hashes.under(&self.under))
    }

    pub(crate) fn is_counted(&self, hash: Hash128) -> bool {
        self.counts.count(hash).value > 0
    }

    pub(crate) fn promised_rate(&self) -> f64 {
        self.counts.promise().map_or(0.0, |promise| promise.rate)
    }

    pub(crate) fn memory_bytes(&self) -> u64 {
        self.counts.cells().memory_bytes()
    }
}
