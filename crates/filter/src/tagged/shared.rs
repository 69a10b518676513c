//! The shared twin: many threads look up and insert while others clear, and nobody waits for anybody's memory.
//!
//! Bits are raised by `fetch_or` and cleared by `fetch_and`, so a clearing takes nothing of the other tags with it.
//! Lookups take no lock and announce nothing. A lookup reads which tags are stale *before* it reads words: one that
//! began before a tag was cleared answers as before or as after; one that began later never shows the old keys.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::gate::Gate;
use super::{TaggedFilter, Tags, insert_in, lookup_in, prefetch_all, usable};
use crate::cells::Lanes;
use crate::cells::sweep::Sweep;
use crate::error::{GeometryError, TagError};
use crate::filter::Promise;
use crate::hash::{Fingerprint, Hash128, KeyHasher};
use crate::layout::{AnyLayout, Layout};
use crate::memory::{HugePages, PageBuf, SharedPages};
use crate::pipeline::Pipeline;

/// A tagged filter for many threads.
#[derive(Debug)]
pub struct SharedTagged<L = AnyLayout> {
    layout: L,
    lanes: Lanes,
    promise: Option<Promise>,
    parts: u32,
    fingerprint: Fingerprint,
    pages: SharedPages,
    gate: Gate,
    /// Only those who clear take this lock, and who copies the whole filter.
    sweep: Mutex<Sweep>,
}

impl<L: Layout> SharedTagged<L> {
    pub(super) fn from_owned(filter: TaggedFilter<L>) -> Self {
        let TaggedFilter { layout, lanes, promise, parts, fingerprint, words, sweep } = filter;
        let gate = Gate::new(lanes.lanes(), sweep.stale());
        let (pages, sweep) = (words.share(), sweep.into());
        SharedTagged { layout, lanes, promise, parts, fingerprint, pages, gate, sweep }
    }

    /// Which positions are a key's.
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// How many tags there are.
    pub fn tags(&self) -> u32 {
        self.lanes.lanes()
    }

    /// The fingerprint of the key its hashes are made with.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The memory it takes.
    pub fn memory_bytes(&self) -> u64 {
        (self.pages.words().len() * 8) as u64
    }

    /// The tags that are not shown, because their memory is being cleared.
    pub fn clearing(&self) -> Tags {
        Tags(self.gate.stale())
    }

    /// The tags under which the key with this hash may have been inserted.
    #[inline]
    pub fn lookup(&self, hash: Hash128) -> Tags {
        let (words, shown) = (self.pages.words(), self.lanes.all() & !self.gate.stale());
        lookup_in(&self.layout, &self.lanes, shown, hash, |word| words[word].load(Relaxed))
    }

    /// Looks up many keys at once: hashes and prefetches one batch while it probes the one before.
    ///
    /// # Panics
    /// When `found` is not as long as `keys`.
    pub fn lookup_many<K, H: KeyHasher<K>>(&self, hasher: &H, keys: &[K], found: &mut [Tags]) {
        assert_eq!(keys.len(), found.len(), "one answer a key");
        let words = self.pages.words();
        let mut pipeline = Pipeline::new(hasher, keys);
        prefetch_all(&self.layout, &self.lanes, words, pipeline.ahead());
        let mut found = found.iter_mut();
        while pipeline.advance() {
            prefetch_all(&self.layout, &self.lanes, words, pipeline.ahead());
            for (&hash, found) in pipeline.current().iter().zip(&mut found) {
                *found = self.lookup(hash);
            }
        }
    }

    /// Puts the key with this hash under `tag`. Refused while the tag is being cleared.
    #[inline]
    pub fn insert(&self, hash: Hash128, tag: u32) -> Result<(), TagError> {
        let _entered = self.gate.enter(tag)?;
        self.raise(hash, tag);
        Ok(())
    }

    /// Inserts many keys at once under one tag: all of them, or none when the tag is being cleared.
    pub fn insert_many<K, H: KeyHasher<K>>(&self, hasher: &H, keys: &[K], tag: u32) -> Result<(), TagError> {
        let _entered = self.gate.enter(tag)?;
        let words = self.pages.words();
        let mut pipeline = Pipeline::new(hasher, keys);
        prefetch_all(&self.layout, &self.lanes, words, pipeline.ahead());
        while pipeline.advance() {
            prefetch_all(&self.layout, &self.lanes, words, pipeline.ahead());
            for &hash in pipeline.current() {
                self.raise(hash, tag);
            }
        }
        Ok(())
    }

    /// Reads before it writes: bits that are set already cost no bus lock.
    #[inline(always)]
    fn raise(&self, hash: Hash128, tag: u32) {
        let words = self.pages.words();
        insert_in(&self.layout, &self.lanes, tag, hash, |word, bit| {
            if words[word].load(Relaxed) & bit == 0 {
                words[word].fetch_or(bit, Relaxed);
            }
        });
    }

    /// Forgets all keys of a tag, those of inserts that are still under way included. Lookups that begin after this
    /// do not show it. [`clear_some`](Self::clear_some) does the work.
    pub fn clear_tag(&self, tag: u32) -> Result<(), TagError> {
        usable(&self.lanes, 0, tag)?;
        let mut sweep = self.sweep();
        sweep.add(1 << tag);
        self.gate.set_stale(sweep.stale());
        Ok(())
    }

    /// Clears at most `most` words of what [`clear_tag`](Self::clear_tag) left to do. True when all is done. False
    /// without any work when inserts that began before the tag was cleared are still under way: try again later.
    pub fn clear_some(&self, most: usize) -> bool {
        let (words, mut sweep) = (self.pages.words(), self.sweep());
        if let Some(step) = sweep.step(&self.lanes, self.gate.quiet(), words.len(), most) {
            for index in step.words.clone() {
                clear(&words[index], step.bits(index));
            }
        }
        sweep.settle(words.len());
        self.gate.set_stale(sweep.stale());
        sweep.stale() == 0
    }

    /// A copy for one owner: everything inserted before the call, and perhaps part of what is inserted during it.
    /// Tags that are being cleared here are empty there.
    pub fn snapshot(&self) -> Result<TaggedFilter<L>, GeometryError> {
        let words = self.pages.words();
        let mut copy = PageBuf::zeroed(self.lanes.pages(self.layout.bits())?, HugePages::Default)?;
        let sweep = self.sweep();
        let shown = self.lanes.patterns(self.lanes.all() & !sweep.stale());
        for (index, (word, shared)) in copy.as_mut().iter_mut().zip(words).enumerate() {
            *word = shared.load(Relaxed) & shown[index & (shown.len() - 1)];
        }
        drop(sweep);
        Ok(TaggedFilter {
            layout: self.layout,
            lanes: self.lanes,
            promise: self.promise,
            parts: self.parts,
            fingerprint: self.fingerprint,
            words: copy,
            sweep: Sweep::default(),
        })
    }

    /// No code that holds the lock can leave the sweep half changed.
    fn sweep(&self) -> MutexGuard<'_, Sweep> {
        self.sweep.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Reads before it writes, as most words have nothing to clear.
#[inline(always)]
fn clear(word: &AtomicU64, bits: u64) {
    if word.load(Relaxed) & bits != 0 {
        word.fetch_and(!bits, Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
    use std::thread;

    use super::*;
    use crate::hash::SipKey;
    use crate::layout::Flat;
    use crate::random::SplitMix;

    fn hashes(seed: u64, count: usize) -> Vec<Hash128> {
        let mut rng = SplitMix(seed);
        (0..count).map(|_| Hash128 { lo: rng.next(), hi: rng.next() }).collect()
    }

    /// Threads insert under tags of their own while one tag is cleared and filled over and over: nothing of the others
    /// is lost, what was cleared does not come back, and in the end the bits are those that one thread would set.
    #[test]
    fn clearing_beside_inserts_loses_nothing_and_leaves_nothing() {
        let layout = Flat::new(20_000, 5).expect("in range").any();
        let make = || {
            TaggedFilter::new(layout, 16, None, SipKey::public().fingerprint(), HugePages::Default)
                .expect("memory")
        };
        let (shared, done) = (make().share(), AtomicBool::new(false));
        let last = hashes(99, 10);
        thread::scope(|scope| {
            let writers: Vec<_> = (1..4u32)
                .map(|tag| {
                    let shared = &shared;
                    scope.spawn(move || {
                        for hash in hashes(u64::from(tag), 5000) {
                            shared.insert(hash, tag).expect("nobody clears this tag");
                            assert!(shared.lookup(hash).contains(tag), "own inserts are seen at once");
                        }
                    })
                })
                .collect();
            scope.spawn(|| {
                while !done.load(SeqCst) {
                    for hash in hashes(1000, 50) {
                        // Refused while the tag is being cleared, and that is all that may happen.
                        let _ = shared.insert(hash, 0);
                    }
                }
            });
            for _ in 0..20 {
                shared.clear_tag(0).expect("a tag");
                assert!(
                    hashes(1000, 50).iter().all(|&hash| !shared.lookup(hash).contains(0)),
                    "masked at once"
                );
                while !shared.clear_some(100) {}
            }
            writers.into_iter().for_each(|writer| writer.join().expect("a writer"));
            done.store(true, SeqCst);
        });
        shared.clear_tag(0).expect("a tag");
        while !shared.clear_some(1000) {}
        last.iter().for_each(|&hash| shared.insert(hash, 0).expect("cleared"));
        let mut alone = make();
        for tag in 1..4 {
            hashes(u64::from(tag), 5000).iter().for_each(|&hash| alone.insert(hash, tag).expect("a tag"));
        }
        last.iter().for_each(|&hash| alone.insert(hash, 0).expect("a tag"));
        assert!(shared.snapshot().expect("memory").words() == alone.words());
    }

    #[test]
    fn an_insert_under_way_holds_the_clearing_up() {
        let layout = Flat::new(1000, 3).expect("in range");
        let fingerprint = SipKey::public().fingerprint();
        let filter =
            TaggedFilter::new(layout, 32, None, fingerprint, HugePages::Default).expect("memory").share();
        let entered = filter.gate.enter(5).expect("a tag");
        filter.clear_tag(5).expect("a tag");
        assert!(!filter.clear_some(usize::MAX) && !filter.clear_some(usize::MAX), "the tag is in use");
        assert_eq!(filter.insert(Hash128::default(), 5), Err(TagError::Clearing(5)));
        drop(entered);
        assert!(filter.clear_some(usize::MAX));
        assert_eq!(filter.insert(Hash128::default(), 5), Ok(()));
        assert_eq!(filter.insert(Hash128::default(), 32), Err(TagError::NoSuch { tag: 32, tags: 32 }));
        let key = SipKey::public();
        filter.insert_many(&key, &[b"one", b"two"], 31).expect("a tag");
        let mut found = [Tags::default(); 2];
        filter.lookup_many(&key, &[b"one", b"two"], &mut found);
        assert!(found.iter().all(|tags| tags.contains(31)));
    }
}
