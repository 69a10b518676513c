//! A batch of keys' addresses, fetched while the batch before is read or written.
//!
//! [`Pipeline`](crate::pipeline) keeps hashes ahead, from which positions are cheap to make again. Addresses of cells
//! are not, so they are made once and kept.

use std::slice::ChunksExact;

use crate::cells::{Cells, LINE_WORDS, place_at};
use crate::hash::{BATCH_KEYS, Hash128, KeyHasher};
use crate::layout::Layout;

/// Addresses of one batch: the cells of [`BATCH_KEYS`] keys with eight probes, of fewer keys with more.
const ADDRESSES: usize = BATCH_KEYS * 8;

/// The addresses of some keys' cells, key by key.
pub(super) struct KeyBatch {
    addresses: [u64; ADDRESSES],
    used: usize,
    probes: usize,
}

impl KeyBatch {
    /// No keys yet.
    #[inline]
    pub(super) fn new() -> Self {
        KeyBatch { addresses: [0; ADDRESSES], used: 0, probes: 1 }
    }

    /// The next of `keys`, which it is shortened by: hashed, their cells asked for. False when there are none left.
    #[inline(always)]
    pub(super) fn fetch<L: Layout, C: Cells, K, H: KeyHasher<K>>(
        &mut self,
        layout: &L,
        cells: &C,
        hasher: &H,
        keys: &mut &[K],
    ) -> bool {
        // A copy that nothing else can change: what is the same for all keys is then computed once.
        let layout = *layout;
        let packed = cells.packing().is_some();
        let probes = layout.probes();
        let (batch, rest) = keys.split_at(keys.len().min(BATCH_KEYS).min(ADDRESSES / probes));
        let mut hashes = [Hash128::default(); BATCH_KEYS];
        hasher.hash_many(batch, &mut hashes);
        self.used = batch.len() * probes;
        let mut places = self.addresses[..self.used].iter_mut();
        for &hash in &hashes[..batch.len()] {
            // Cells of one line are asked for once where they follow each other.
            let mut asked = usize::MAX;
            layout.for_each_address(cells, hash, |address| {
                if let Some(place) = places.next() {
                    *place = address;
                }
                let line = place_at(address).0 / LINE_WORDS;
                if line != asked || !packed {
                    asked = line;
                    cells.prefetch(address);
                }
            });
        }
        self.probes = probes;
        *keys = rest;
        !batch.is_empty()
    }

    /// The addresses of one key after the other.
    #[inline(always)]
    pub(super) fn keys(&self) -> ChunksExact<'_, u64> {
        self.addresses[..self.used].chunks_exact(self.probes)
    }
}
