//! Tagged filters: which of up to 64 sets hold this key? One probe answers for all of them.
//!
//! Each position holds a small bitmap, one bit a tag. Inserting a key under a tag sets the tag's bit at the key's k
//! positions; a lookup ANDs the k bitmaps. Tags are labels (kinds of spam, lists) or days: a month of days and one
//! to spare are 32 tags. Sixteen and 32 fill words without waste, and so do the other powers of two.
//!
//! Many threads look up and insert while others clear, and nobody waits for anybody's memory. Bits are raised by
//! `fetch_or` and cleared by `fetch_and`, so a clearing takes nothing of the other tags with it. Lookups take no lock
//! and announce nothing. A lookup reads which tags are stale *before* it reads words: one that began before a tag was
//! cleared answers as before or as after; one that began later never shows the old keys.
//!
//! ```
//! use seenit_filter::hash::{KeyHasher, SipKey};
//! use seenit_filter::tagged::{TaggedFilter, layout_sized};
//! use seenit_filter::{HugePages, LayoutName, Promise};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A thousand keys under each of 16 tags; an absent key is shown with any tag once in a hundred times.
//! let layout = layout_sized(LayoutName::Paged, 16, Promise { capacity: 1000, rate: 0.01 })?;
//! let filter = TaggedFilter::new(layout, 16, HugePages::Default)?;
//! let hash = SipKey::public().hash(b"a digest");
//! filter.insert(hash, 3)?;
//! filter.insert(hash, 7)?;
//! assert_eq!(filter.lookup(hash).iter().collect::<Vec<_>>(), [3, 7]);
//!
//! // Gone at once; the memory is cleared in steps, and then the tag can be used again.
//! filter.clear_tag(3)?;
//! assert_eq!(filter.lookup(hash).iter().collect::<Vec<_>>(), [7]);
//! assert!(filter.insert(hash, 3).is_err());
//! while !filter.clear_some(4096) {}
//! filter.insert(hash, 3)?;
//! # Ok(())
//! # }
//! ```

mod bitmaps;
mod gate;
mod sweep;
mod tags;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

pub use bitmaps::TAGS_MAX;
pub use tags::Tags;

use crate::error::{GeometryError, TagError};
use crate::filter::Promise;
use crate::hash::{Hash128, KeyHasher};
use crate::layout::{AnyLayout, Flat, Layout, LayoutName, Paged};
use crate::memory::{HugePages, PageBuf, SharedPages, prefetch};
use crate::pipeline::Pipeline;
use bitmaps::Bitmaps;
use gate::Gate;
use sweep::Sweep;

/// A filter with tags, for many threads: `L` says which positions are a key's.
#[derive(Debug)]
pub struct TaggedFilter<L = AnyLayout> {
    layout: L,
    bitmaps: Bitmaps,
    pages: SharedPages,
    gate: Gate,
    /// Only those who clear take this lock.
    sweep: Mutex<Sweep>,
}

/// The smallest layout, flat or paged, that keeps the promise: `capacity` keys under *each* tag, and a `rate` at which
/// an absent key is shown with *any* tag. What each tag alone promises is `rate / tags`, which no dependence between
/// tags can break. By the textbook's `1.44 log2(1/rate)` bits a key that is `1.44 log2(tags)` bits more; as many
/// filters apart would pay it, too.
///
/// Bits a key and tag, for a million keys a tag at 1 %. Bitmaps leave few positions to a page, and the fewer, the more
/// its load scatters:
///
/// | tags | flat | paged |
/// |---|---|---|
/// | 1 | 9.6 | 9.6 |
/// | 16 | 15.4 | 15.7 |
/// | 32 | 16.8 | 17.8 |
pub fn layout_sized(name: LayoutName, tags: u32, promise: Promise) -> Result<AnyLayout, GeometryError> {
    let bitmaps = Bitmaps::new(tags)?;
    let Promise { capacity, rate } = promise;
    crate::maths::check_promise(capacity, rate)?;
    let rate_of_one = rate / f64::from(tags);
    match name {
        LayoutName::Flat => Ok(Flat::sized(capacity, rate_of_one)?.any()),
        LayoutName::Paged => Ok(Paged::sized_with_slots(capacity, rate_of_one, bitmaps.per_page())?.any()),
        LayoutName::Line => Err(GeometryError::NotForTags(name.as_str().into())),
    }
}

impl<L: Layout> TaggedFilter<L> {
    /// An empty filter of `tags` tags, 1 to [`TAGS_MAX`]. A paged layout has as many positions a page as bitmaps fit
    /// into one, 2048 for 16 tags: see [`layout_sized`].
    pub fn new(layout: L, tags: u32, huge: HugePages) -> Result<Self, GeometryError> {
        let bitmaps = Bitmaps::new(tags)?;
        bitmaps::check_layout(&layout)?;
        if let AnyLayout::Paged(paged) = layout.any()
            && paged.slots() != bitmaps.per_page()
        {
            return Err(GeometryError::SlotsOfCells { slots: paged.slots(), cells: bitmaps.per_page() });
        }
        let pages = PageBuf::zeroed(bitmaps.pages(layout.bits())?, huge)?.share();
        Ok(TaggedFilter { layout, bitmaps, pages, gate: Gate::new(tags), sweep: Mutex::default() })
    }

    /// The memory it takes.
    pub fn memory_bytes(&self) -> u64 {
        (self.pages.words().len() * 8) as u64
    }

    /// The tags that are not shown, because their memory is being cleared.
    pub fn clearing(&self) -> Tags {
        Tags(self.gate.stale())
    }

    /// The tags under which the key with this hash may have been inserted. Never without one under which it was.
    #[inline]
    pub fn lookup(&self, hash: Hash128) -> Tags {
        let mut found = self.bitmaps.all() & !self.gate.stale();
        for probe in 0..self.layout.probes() {
            let (word, shift) = self.place(hash, probe);
            found &= self.pages.words()[word].load(Relaxed) >> shift;
            if found == 0 {
                break;
            }
        }
        Tags(found)
    }

    /// Looks up many keys at once: hashes and prefetches one batch while it probes the one before.
    ///
    /// # Panics
    /// When `found` is not as long as `keys`.
    pub fn lookup_many<K, H: KeyHasher<K>>(&self, hasher: &H, keys: &[K], found: &mut [Tags]) {
        assert_eq!(keys.len(), found.len(), "one answer a key");
        let mut pipeline = Pipeline::new(hasher, keys);
        self.prefetch_all(pipeline.ahead());
        let mut found = found.iter_mut();
        while pipeline.advance() {
            self.prefetch_all(pipeline.ahead());
            for (&hash, found) in pipeline.current().iter().zip(&mut found) {
                *found = self.lookup(hash);
            }
        }
    }

    #[inline(always)]
    fn place(&self, hash: Hash128, probe: usize) -> (usize, u32) {
        self.bitmaps.place(self.layout.position(hash, probe))
    }

    /// Asks for the lines of these keys. All of them: with many tags most absent keys survive the first probes of some
    /// tag.
    #[inline(always)]
    fn prefetch_all(&self, hashes: &[Hash128]) {
        for &hash in hashes {
            for probe in 0..self.layout.probes() {
                prefetch(self.pages.words(), self.place(hash, probe).0);
            }
        }
    }

    /// Puts the key with this hash under `tag`. Refused while the tag is being cleared: the clearing would take part
    /// of the key with it.
    #[inline]
    pub fn insert(&self, hash: Hash128, tag: u32) -> Result<(), TagError> {
        let _entered = self.gate.enter(tag)?;
        for probe in 0..self.layout.probes() {
            let (word, shift) = self.place(hash, probe);
            let word = &self.pages.words()[word];
            let bit = 1 << (shift + tag);
            // Reads before it writes: bits that are set already cost no bus lock.
            if word.load(Relaxed) & bit == 0 {
                word.fetch_or(bit, Relaxed);
            }
        }
        Ok(())
    }

    /// Forgets all keys of a tag, those of inserts that are still under way included. Lookups that begin after this
    /// do not show it. [`clear_some`](Self::clear_some) does the work.
    pub fn clear_tag(&self, tag: u32) -> Result<(), TagError> {
        let tags = self.bitmaps.tags();
        if tag >= tags {
            return Err(TagError::NoSuch { tag, tags });
        }
        let mut sweep = self.sweep();
        sweep.add(1 << tag);
        self.gate.set_stale(sweep.stale());
        Ok(())
    }

    /// Clears at most `most` words of what [`clear_tag`](Self::clear_tag) left to do. True when all is done and every
    /// tag can be used. One pass over the memory clears all tags that waited when it began. False without any work when
    /// inserts that began before the tag was cleared are still under way: try again later.
    pub fn clear_some(&self, most: usize) -> bool {
        let words = self.pages.words();
        let mut sweep = self.sweep();
        if let Some(step) = sweep.step(&self.bitmaps, self.gate.quiet(), words.len(), most) {
            words[step.words].iter().for_each(|word| clear(word, step.bits));
        }
        sweep.settle(words.len());
        self.gate.set_stale(sweep.stale());
        sweep.stale() == 0
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
    use crate::layout::Flat;
    use crate::random::SplitMix;

    fn hashes(seed: u64, count: usize) -> Vec<Hash128> {
        let mut rng = SplitMix(seed);
        (0..count).map(|_| Hash128 { lo: rng.next(), hi: rng.next() }).collect()
    }

    fn words<L: Layout>(filter: &TaggedFilter<L>) -> Vec<u64> {
        filter.pages.words().iter().map(|word| word.load(Relaxed)).collect()
    }

    /// Threads insert under tags of their own while one tag is cleared and filled over and over: nothing of the others
    /// is lost, what was cleared does not come back, and in the end the bits are those that one thread would set.
    #[test]
    fn clearing_beside_inserts_loses_nothing_and_leaves_nothing() {
        let layout = Flat::new(20_000, 5).expect("in range").any();
        let make = || TaggedFilter::new(layout, 16, HugePages::Default).expect("memory");
        let shared = make();
        let done = AtomicBool::new(false);
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
        let alone = make();
        for tag in 1..4 {
            hashes(u64::from(tag), 5000).iter().for_each(|&hash| alone.insert(hash, tag).expect("a tag"));
        }
        last.iter().for_each(|&hash| alone.insert(hash, 0).expect("a tag"));
        assert!(words(&shared) == words(&alone));
    }

    #[test]
    fn an_insert_under_way_holds_the_clearing_up() {
        let layout = Flat::new(1000, 3).expect("in range");
        let filter = TaggedFilter::new(layout, 32, HugePages::Default).expect("memory");
        let entered = filter.gate.enter(5).expect("a tag");
        filter.clear_tag(5).expect("a tag");
        assert!(!filter.clear_some(usize::MAX) && !filter.clear_some(usize::MAX), "the tag is in use");
        assert_eq!(filter.insert(Hash128::default(), 5), Err(TagError::Clearing(5)));
        drop(entered);
        assert!(filter.clear_some(usize::MAX));
        assert_eq!(filter.insert(Hash128::default(), 5), Ok(()));
        assert_eq!(filter.insert(Hash128::default(), 32), Err(TagError::NoSuch { tag: 32, tags: 32 }));
    }

    /// A tag's bits are those of an ordinary filter, and none is left when it was cleared.
    #[test]
    fn each_tag_is_an_ordinary_filter() {
        let layout = Flat::new(3000, 4).expect("in range");
        for tags in [1, 7, 16, 33, 64] {
            let filter = TaggedFilter::new(layout, tags, HugePages::Default).expect("memory");
            let bit = |tag: u32, position: u64| {
                let (word, shift) = filter.bitmaps.place(position);
                filter.pages.words()[word].load(Relaxed) >> (shift + tag) & 1 == 1
            };
            for tag in 0..tags {
                hashes(tag.into(), 100).iter().for_each(|&hash| filter.insert(hash, tag).expect("a tag"));
            }
            for tag in 0..tags {
                let set: std::collections::HashSet<u64> = hashes(tag.into(), 100)
                    .into_iter()
                    .flat_map(|hash| (0..layout.probes()).map(move |probe| layout.position(hash, probe)))
                    .collect();
                assert!((0..layout.bits()).all(|position| bit(tag, position) == set.contains(&position)));
            }
            filter.clear_tag(0).expect("a tag");
            while !filter.clear_some(100) {}
            assert!((0..layout.bits()).all(|position| !bit(0, position)), "{tags} tags");
        }
    }
}
