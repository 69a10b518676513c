//! Two batches of hashes: one being probed, one ahead of it being fetched.
//!
//! Hashing and prefetching batch n+1 before batch n is probed keeps memory busy all the time; with one batch at
//! a time every batch would end with the queue of cache misses running empty.

use crate::hash::{BATCH_KEYS, Hash128, KeyHasher};

pub(crate) struct Pipeline<'a, K, H> {
    hasher: &'a H,
    /// Keys not yet hashed.
    keys: &'a [K],
    batches: [[Hash128; BATCH_KEYS]; 2],
    /// How many hashes each batch holds.
    lengths: [usize; 2],
    /// Which batch is the current one; the other is ahead.
    turn: usize,
}

impl<'a, K, H: KeyHasher<K>> Pipeline<'a, K, H> {
    /// The first batch is ahead, none is current.
    #[inline]
    pub(crate) fn new(hasher: &'a H, keys: &'a [K]) -> Self {
        let batches = [[Hash128::default(); BATCH_KEYS]; 2];
        let mut pipeline = Pipeline { hasher, keys, batches, lengths: [0; 2], turn: 0 };
        pipeline.hash_ahead();
        pipeline
    }

    /// The batch ahead becomes the current one, and the next keys are hashed. False when all keys are done.
    #[inline]
    pub(crate) fn advance(&mut self) -> bool {
        self.turn ^= 1;
        self.hash_ahead();
        self.lengths[self.turn] > 0
    }

    /// The hashes to prefetch for.
    #[inline(always)]
    pub(crate) fn ahead(&self) -> &[Hash128] {
        &self.batches[self.turn ^ 1][..self.lengths[self.turn ^ 1]]
    }

    /// The hashes to probe.
    #[inline(always)]
    pub(crate) fn current(&self) -> &[Hash128] {
        &self.batches[self.turn][..self.lengths[self.turn]]
    }

    #[inline(always)]
    fn hash_ahead(&mut self) {
        let ahead = self.turn ^ 1;
        let (batch, rest) = self.keys.split_at(self.keys.len().min(BATCH_KEYS));
        self.hasher.hash_many(batch, &mut self.batches[ahead]);
        self.lengths[ahead] = batch.len();
        self.keys = rest;
    }
}
