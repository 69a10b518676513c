//! Two batches of keys' addresses: one being read or written, one ahead of it being fetched.
//!
//! [`Pipeline`](crate::pipeline) keeps hashes ahead, from which positions are cheap to make again. Addresses of cells
//! are not, so they are made once and kept.

use std::slice::ChunksExact;

use crate::cells::Cells;
use crate::hash::{BATCH_KEYS, Hash128, KeyHasher};
use crate::layout::Layout;

/// Addresses of one batch: the cells of [`BATCH_KEYS`] keys with eight probes, of fewer keys with more.
const ADDRESSES: usize = BATCH_KEYS * 8;

pub(super) struct Ahead<'a, L, H, K> {
    layout: L,
    hasher: &'a H,
    /// Keys not yet hashed.
    keys: &'a [K],
    batches: [[u64; ADDRESSES]; 2],
    /// How many addresses each batch holds.
    lengths: [usize; 2],
    /// Which batch is the current one; the other is ahead.
    turn: usize,
}

impl<'a, L: Layout, H: KeyHasher<K>, K> Ahead<'a, L, H, K> {
    /// The first batch is ahead, none is current.
    #[inline]
    pub(super) fn new<C: Cells>(layout: &L, cells: &C, hasher: &'a H, keys: &'a [K]) -> Self {
        let batches = [[0; ADDRESSES]; 2];
        let mut ahead = Ahead { layout: *layout, hasher, keys, batches, lengths: [0; 2], turn: 0 };
        ahead.fetch(cells);
        ahead
    }

    /// Fetches the next batch, and gives the one before: its keys' addresses, key by key. `None` when all are done.
    #[inline]
    pub(super) fn next<C: Cells>(&mut self, cells: &C) -> Option<ChunksExact<'_, u64>> {
        self.turn ^= 1;
        self.fetch(cells);
        let current = &self.batches[self.turn][..self.lengths[self.turn]];
        (!current.is_empty()).then(|| current.chunks_exact(self.layout.probes()))
    }

    #[inline(always)]
    fn fetch<C: Cells>(&mut self, cells: &C) {
        let (ahead, probes) = (self.turn ^ 1, self.layout.probes());
        let count = self.keys.len().min(BATCH_KEYS).min(ADDRESSES / probes);
        let (batch, rest) = self.keys.split_at(count);
        let mut hashes = [Hash128::default(); BATCH_KEYS];
        self.hasher.hash_many(batch, &mut hashes);
        let addresses = &mut self.batches[ahead][..count * probes];
        for (key, &hash) in addresses.chunks_exact_mut(probes).zip(&hashes) {
            let mut places = key.iter_mut();
            self.layout.for_each_address(cells, hash, |address| {
                cells.prefetch(address);
                if let Some(place) = places.next() {
                    *place = address;
                }
            });
        }
        self.lengths[ahead] = count * probes;
        self.keys = rest;
    }
}
