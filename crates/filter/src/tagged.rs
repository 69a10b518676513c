//! Tagged filters: which of up to 64 sets hold this key? One probe answers for all of them.
//!
//! Each position holds a small bitmap, one bit a tag. Inserting a key under a tag sets the tag's bit at the key's k
//! positions; a lookup ANDs the k bitmaps. Tags are labels (kinds of spam, lists) or days: a month of days and one
//! to spare are 32 tags. Sixteen and 32 fill words without waste, and so do the other powers of two.
//!
//! ```
//! use seenit_filter::hash::{KeyHasher, SipKey};
//! use seenit_filter::tagged::{TaggedFilter, layout_sized};
//! use seenit_filter::{HugePages, LayoutName, Promise};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A thousand keys under each of 16 tags; a stranger is shown with any tag once in a hundred times.
//! let (key, promise) = (SipKey::public(), Promise { capacity: 1000, rate: 0.01 });
//! let layout = layout_sized(LayoutName::Paged, 16, promise)?;
//! let mut filter = TaggedFilter::new(layout, 16, Some(promise), key.fingerprint(), HugePages::Default)?;
//! let hash = key.hash(b"a digest");
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

mod gate;
mod one_tag;
mod shared;
mod tags;

pub use one_tag::FilterOfError;
pub use shared::SharedTagged;
pub use tags::Tags;

use crate::cells::sweep::Sweep;
use crate::cells::{LANES_MAX, Lanes, Packing, lanes};
use crate::error::{GeometryError, TagError, Unlike};
use crate::filter::{Promise, same_promise};
use crate::generations::Terms;
use crate::hash::{Fingerprint, Hash128, KeyHasher};
use crate::layout::{AnyLayout, Flat, Layout, LayoutName, Paged, same};
use crate::maths::tagged::share_of_rate;
use crate::memory::{HugePages, PageBuf, prefetch};
use crate::pipeline::Pipeline;

/// The most tags: a lookup's answer is one word.
pub const TAGS_MAX: u32 = LANES_MAX;

/// A filter with tags: `L` says which positions are a key's.
#[derive(Debug)]
pub struct TaggedFilter<L = AnyLayout> {
    layout: L,
    lanes: Lanes,
    promise: Option<Promise>,
    /// How many tags the promised rate is split between: all of them, or the generations that are live.
    parts: u32,
    fingerprint: Fingerprint,
    words: PageBuf,
    sweep: Sweep,
}

/// How the bitmaps of `tags` tags lie: tag t is lane t, of cells of one bit.
pub fn lanes_of(tags: u32) -> Result<Lanes, GeometryError> {
    crate::layout::within("tags", u64::from(tags), u64::from(TAGS_MAX))?;
    Lanes::new(Packing::new(1)?, tags)
}

/// The smallest layout, flat or paged, that keeps the promise: `capacity` keys under *each* tag, and a `rate` at which
/// a stranger is shown with *any* tag. What each tag alone promises is `rate / tags`.
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
    let (lanes, Promise { capacity, rate }) = (lanes_of(tags)?, promise);
    crate::maths::check_promise(capacity, rate)?;
    let rate = share_of_rate(rate, tags);
    match name {
        LayoutName::Flat => Ok(Flat::sized(capacity, rate)?.any()),
        LayoutName::Paged => Ok(Paged::sized_with_slots(capacity, rate, lanes.per_page())?.any()),
        LayoutName::Line => Err(GeometryError::NotForLanes(name.as_str().into())),
    }
}

/// The tags that all positions of a key have, of those in `shown`.
#[inline(always)]
fn lookup_in<L: Layout>(
    layout: &L,
    lanes: &Lanes,
    shown: u64,
    hash: Hash128,
    read: impl Fn(usize) -> u64,
) -> Tags {
    let mut found = shown;
    for probe in 0..layout.probes() {
        let (word, shift) = lanes.place(layout.position(hash, probe));
        found &= read(word) >> shift;
        if found == 0 {
            break;
        }
    }
    Tags(found)
}

/// Calls `raise` with a word and the bit that `tag` has there, for each position of a key.
#[inline(always)]
fn insert_in<L: Layout>(
    layout: &L,
    lanes: &Lanes,
    tag: u32,
    hash: Hash128,
    mut raise: impl FnMut(usize, u64),
) {
    for probe in 0..layout.probes() {
        let (word, shift) = lanes.place(layout.position(hash, probe));
        raise(word, 1 << (shift + tag));
    }
}

/// Asks for the lines of these keys. All of them: with many tags most strangers survive the first probes of some tag.
#[inline(always)]
fn prefetch_all<L: Layout, W>(layout: &L, lanes: &Lanes, words: &[W], hashes: &[Hash128]) {
    for &hash in hashes {
        for probe in 0..layout.probes() {
            prefetch(words, lanes.place(layout.position(hash, probe)).0);
        }
    }
}

/// A tag that exists and is not stale.
fn usable(lanes: &Lanes, stale: u64, tag: u32) -> Result<u32, TagError> {
    if tag >= lanes.lanes() {
        return Err(TagError::NoSuch { tag, tags: lanes.lanes() });
    }
    if stale >> tag & 1 == 1 {
        return Err(TagError::Clearing(tag));
    }
    Ok(tag)
}

impl<L: Layout> TaggedFilter<L> {
    /// An empty filter of `tags` tags, for hashes under the key with this fingerprint. A paged layout has as many
    /// positions a page as bitmaps fit into one, [`Lanes::per_page`] of [`lanes_of`]: 2048 for 16 tags.
    pub fn new(
        layout: L,
        tags: u32,
        promise: Option<Promise>,
        fingerprint: Fingerprint,
        huge: HugePages,
    ) -> Result<Self, GeometryError> {
        let cells = lanes_of(tags)?.per_page();
        match layout.any() {
            AnyLayout::Paged(paged) if paged.slots() != cells => {
                Err(GeometryError::SlotsOfCells { slots: paged.slots(), cells })
            }
            _ => Self::in_any_pages(layout, tags, promise, fingerprint, huge),
        }
    }

    /// The same with pages of any size: those of a generation by itself, which are larger side by side.
    fn in_any_pages(
        layout: L,
        tags: u32,
        promise: Option<Promise>,
        fingerprint: Fingerprint,
        huge: HugePages,
    ) -> Result<Self, GeometryError> {
        lanes::check_layout(&layout)?;
        let lanes = lanes_of(tags)?;
        let words = PageBuf::zeroed(lanes.pages(layout.bits())?, huge)?;
        let sweep = Sweep::default();
        Ok(TaggedFilter { layout, lanes, promise, parts: tags, fingerprint, words, sweep })
    }

    /// One tag for each of `live` generations and one to spare.
    pub(crate) fn of_generations(terms: &Terms<L>, live: u32) -> Result<Self, GeometryError> {
        let Terms { layout, promise, fingerprint, huge, .. } = *terms;
        Ok(TaggedFilter { parts: live, ..Self::in_any_pages(layout, live + 1, promise, fingerprint, huge)? })
    }

    /// Which positions are a key's.
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// How the bitmaps lie in the words.
    pub fn lanes(&self) -> Lanes {
        self.lanes
    }

    /// How many tags there are.
    pub fn tags(&self) -> u32 {
        self.lanes.lanes()
    }

    /// What it was sized for: keys under each tag, and the rate for any tag.
    pub fn promise(&self) -> Option<Promise> {
        self.promise
    }

    /// The fingerprint of the key its hashes are made with.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// Its bitmaps, in whole pages. Tags in [`clearing`](Self::clearing) have bits that no longer count.
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// The tags that are not shown, because their memory is being cleared.
    pub fn clearing(&self) -> Tags {
        Tags(self.sweep.stale())
    }

    /// The tags that can be shown.
    #[inline(always)]
    fn shown(&self) -> u64 {
        self.lanes.all() & !self.sweep.stale()
    }

    /// The tags under which the key with this hash may have been inserted. Never without one under which it was.
    #[inline]
    pub fn lookup(&self, hash: Hash128) -> Tags {
        self.lookup_of(Tags(u64::MAX), hash)
    }

    /// The same for some tags only.
    #[inline]
    pub(crate) fn lookup_of(&self, wanted: Tags, hash: Hash128) -> Tags {
        let words = self.words();
        lookup_in(&self.layout, &self.lanes, self.shown() & wanted.0, hash, |word| words[word])
    }

    /// Looks up many keys at once: hashes and prefetches one batch while it probes the one before.
    ///
    /// # Panics
    /// When `found` is not as long as `keys`.
    pub fn lookup_many<K, H: KeyHasher<K>>(&self, hasher: &H, keys: &[K], found: &mut [Tags]) {
        assert_eq!(keys.len(), found.len(), "one answer a key");
        let mut found = found.iter_mut();
        self.for_each_lookup(Tags(u64::MAX), hasher, keys, |tags| {
            if let Some(found) = found.next() {
                *found = tags;
            }
        });
    }

    /// Calls `visit` with the answer for each key, in order.
    pub(crate) fn for_each_lookup<K, H: KeyHasher<K>>(
        &self,
        wanted: Tags,
        hasher: &H,
        keys: &[K],
        mut visit: impl FnMut(Tags),
    ) {
        let mut pipeline = Pipeline::new(hasher, keys);
        prefetch_all(&self.layout, &self.lanes, self.words(), pipeline.ahead());
        while pipeline.advance() {
            prefetch_all(&self.layout, &self.lanes, self.words(), pipeline.ahead());
            for &hash in pipeline.current() {
                visit(self.lookup_of(wanted, hash));
            }
        }
    }

    /// Puts the key with this hash under `tag`. Refused while the tag is being cleared: the clearing would take part
    /// of the key with it. [`finish_clearing`](Self::finish_clearing) is for those who cannot wait.
    #[inline]
    pub fn insert(&mut self, hash: Hash128, tag: u32) -> Result<(), TagError> {
        let tag = usable(&self.lanes, self.sweep.stale(), tag)?;
        let words = self.words.as_mut();
        insert_in(&self.layout, &self.lanes, tag, hash, |word, bit| words[word] |= bit);
        Ok(())
    }

    /// Inserts many keys at once under one tag.
    pub fn insert_many<K, H: KeyHasher<K>>(
        &mut self,
        hasher: &H,
        keys: &[K],
        tag: u32,
    ) -> Result<(), TagError> {
        let tag = usable(&self.lanes, self.sweep.stale(), tag)?;
        let words = self.words.as_mut();
        let mut pipeline = Pipeline::new(hasher, keys);
        prefetch_all(&self.layout, &self.lanes, words, pipeline.ahead());
        while pipeline.advance() {
            prefetch_all(&self.layout, &self.lanes, words, pipeline.ahead());
            for &hash in pipeline.current() {
                insert_in(&self.layout, &self.lanes, tag, hash, |word, bit| words[word] |= bit);
            }
        }
        Ok(())
    }

    /// Forgets all keys of a tag: no lookup shows it any more. [`clear_some`](Self::clear_some) does the work.
    pub fn clear_tag(&mut self, tag: u32) -> Result<(), TagError> {
        usable(&self.lanes, 0, tag)?;
        self.sweep.add(1 << tag);
        Ok(())
    }

    /// Clears at most `words` words of what [`clear_tag`](Self::clear_tag) left to do. True when all is done and every
    /// tag can be used. One pass over the memory clears all tags that waited when it began.
    pub fn clear_some(&mut self, words: usize) -> bool {
        self.sweep.clear_some(&self.lanes, self.words.as_mut(), words)
    }

    /// The same for a set of tags that exist.
    pub(crate) fn clear_tags(&mut self, tags: Tags) {
        self.sweep.add(tags.0);
    }

    /// Clears all that is left to do, at once.
    pub fn finish_clearing(&mut self) {
        self.sweep.finish(&self.lanes, self.words.as_mut());
    }

    /// The first field in which `other` is not of the same kind: layout, tags, key, promise.
    pub fn like<M: Layout>(&self, other: &TaggedFilter<M>) -> Result<(), Unlike> {
        self.layout.any().like(&other.layout.any())?;
        same("tags", self.tags(), other.tags())?;
        same("key fingerprint", self.fingerprint.to_string(), other.fingerprint.to_string())?;
        same_promise(self.promise, other.promise)
    }

    /// Adds everything `other` shows: a bitwise OR. Refuses a filter of another kind and changes nothing then.
    ///
    /// What the other is clearing is not taken. A tag that is being cleared *here* takes nothing either: it must not
    /// come back by way of somebody who has not heard yet. The answer is the set of tags left out for that reason.
    pub fn union<M: Layout>(&mut self, other: &TaggedFilter<M>) -> Result<Tags, Unlike> {
        self.like(other)?;
        let taken = self.lanes.patterns(other.shown() & self.shown());
        for (index, (word, theirs)) in self.words.as_mut().iter_mut().zip(other.words()).enumerate() {
            *word |= theirs & taken[index & (taken.len() - 1)];
        }
        Ok(Tags(self.sweep.stale() & other.shown()))
    }

    /// Hands the filter to many threads at once.
    pub fn share(self) -> SharedTagged<L> {
        SharedTagged::from_owned(self)
    }
}
