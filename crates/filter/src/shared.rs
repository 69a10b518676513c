//! The shared twin: many threads look up while others insert, without locks.
//!
//! A bit only ever goes from 0 to 1, and `fetch_or` loses none. So a lookup that runs beside an insert sees some
//! of its bits or all of them: it answers as before the insert or as after. Once an insert happened before a
//! lookup (same thread, a join, a channel), the lookup sees every bit. Relaxed order suffices, because bits guard no
//! other memory.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crate::error::GeometryError;
use crate::filter::{Filter, Promise};
use crate::hash::{Fingerprint, Hash128, KeyHasher};
use crate::layout::{AnyLayout, Layout, bit_of, word_of};
use crate::memory::{HugePages, PageBuf, SharedPages};
use crate::pipeline::Pipeline;

/// A filter for many threads.
#[derive(Debug)]
pub struct SharedFilter<L = AnyLayout> {
    layout: L,
    promise: Option<Promise>,
    fingerprint: Fingerprint,
    cleared: u64,
    pages: SharedPages,
}

/// A word that threads share; a trait so that the model checker can put its own in place.
pub(crate) trait SharedWord {
    fn read(&self) -> u64;
    fn raise(&self, bits: u64);
}

impl SharedWord for AtomicU64 {
    #[inline(always)]
    fn read(&self) -> u64 {
        self.load(Relaxed)
    }
    #[inline(always)]
    fn raise(&self, bits: u64) {
        self.fetch_or(bits, Relaxed);
    }
}

#[inline(always)]
fn contains<L: Layout, W: SharedWord>(layout: &L, words: &[W], hash: Hash128) -> bool {
    (0..layout.probes()).all(|probe| {
        let position = layout.position(hash, probe);
        words[word_of(position)].read() & bit_of(position) != 0
    })
}

/// Reads before it writes: bits that are set already, as most are in a busy site, cost no bus lock.
#[inline(always)]
fn insert<L: Layout, W: SharedWord>(layout: &L, words: &[W], hash: Hash128) {
    for probe in 0..layout.probes() {
        let position = layout.position(hash, probe);
        let (word, bit) = (&words[word_of(position)], bit_of(position));
        if word.read() & bit == 0 {
            word.raise(bit);
        }
    }
}

impl<L: Layout> SharedFilter<L> {
    /// An empty filter for hashes under the key with this fingerprint.
    pub fn new(
        layout: L,
        promise: Option<Promise>,
        fingerprint: Fingerprint,
        huge: HugePages,
    ) -> Result<Self, GeometryError> {
        Ok(Filter::new(layout, promise, fingerprint, huge)?.share())
    }

    pub(crate) fn from_parts(
        layout: L,
        promise: Option<Promise>,
        fingerprint: Fingerprint,
        pages: SharedPages,
    ) -> Self {
        SharedFilter { layout, promise, fingerprint, cleared: 0, pages }
    }

    /// The same filter, of which it is known that `cleared` bits were cleared.
    pub(crate) fn with_cleared(mut self, cleared: u64) -> Self {
        self.cleared = cleared;
        self
    }

    /// Where its bits lie.
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// How many bits were cleared, as [`Filter::cleared_bits`] says.
    pub fn cleared_bits(&self) -> u64 {
        self.cleared
    }

    /// Whether the key with this hash may be in the filter.
    #[inline]
    pub fn contains(&self, hash: Hash128) -> bool {
        contains(&self.layout, self.pages.words(), hash)
    }

    /// Puts the key with this hash into the filter.
    #[inline]
    pub fn insert(&self, hash: Hash128) {
        insert(&self.layout, self.pages.words(), hash);
    }

    /// Looks up many keys at once, prefetching the lines of one batch before it probes the one before.
    ///
    /// # Panics
    /// When `found` is not as long as `keys`.
    pub fn contains_many<K, H: KeyHasher<K>>(&self, hasher: &H, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer a key");
        let words = self.pages.words();
        let mut pipeline = Pipeline::new(hasher, keys);
        self.layout.prefetch_inserts(words, pipeline.ahead());
        let mut found = found.iter_mut();
        while pipeline.advance() {
            self.layout.prefetch_inserts(words, pipeline.ahead());
            for (&hash, found) in pipeline.current().iter().zip(&mut found) {
                *found = contains(&self.layout, words, hash);
            }
        }
    }

    /// Inserts many keys at once, prefetching as [`Filter::insert_many`] does.
    pub fn insert_many<K, H: KeyHasher<K>>(&self, hasher: &H, keys: &[K]) {
        let words = self.pages.words();
        let mut pipeline = Pipeline::new(hasher, keys);
        self.layout.prefetch_inserts(words, pipeline.ahead());
        while pipeline.advance() {
            self.layout.prefetch_inserts(words, pipeline.ahead());
            for &hash in pipeline.current() {
                insert(&self.layout, words, hash);
            }
        }
    }

    /// A copy for one owner: everything inserted before the call, and perhaps part of what is inserted during it.
    pub fn snapshot(&self) -> Result<Filter<L>, GeometryError> {
        let mut copy = PageBuf::zeroed(self.layout.pages(), HugePages::Default)?;
        for (word, shared) in copy.as_mut().iter_mut().zip(self.pages.words()) {
            *word = shared.read();
        }
        Ok(Filter::from_parts(self.layout, self.promise, self.fingerprint, copy).with_cleared(self.cleared))
    }
}

#[cfg(test)]
mod tests;
