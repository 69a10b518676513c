//! Generations: filters of consecutive slices of time that are looked up together and age out as a whole.
//!
//! A lookup asks all live generations at once. As filters of their own each would cost its cache lines; here the
//! cells that the generations have at one position lie side by side, so all of them cost the lines of about one.
//! Expected lines of one lookup, where each generation has a million keys and the rate over all of them is 1 %:
//!
//! | live | | bits a cell | side by side | as filters apart |
//! |---|---|---|---|---|
//! | 7 | [`Generations`], flat | 1 | 9.0 | 63.0 |
//! | 7 | [`Generations`], paged | 1 | 8.9 | 59.2 |
//! | 31 | [`Generations`], flat | 1 | 12.0 | 371.9 |
//! | 31 | [`Generations`], paged | 1 | 11.0 | 315.6 |
//! | 7 | [`CountingGenerations`], flat | 4 | 9.0 | 63.0 |
//! | 7 | [`CountingGenerations`], paged | 4 | 8.9 | 59.2 |
//! | 31 | [`CountingGenerations`], flat | 4 | 12.0 | 372.0 |
//! | 31 | [`CountingGenerations`], paged | 4 | 11.0 | 315.6 |
//!
//! (A lookup of filters apart may stop early in each when it meets a zero; so may this one, when all are zero.)
//!
//! That holds within an *epoch*: consecutive generations of one hash key and geometry. A new key or geometry starts
//! a new epoch; both are looked up until the last generation of the old one has expired, and then it is dropped. An
//! epoch has memory for all generations of the ring from its beginning, and for one more, so that the one that
//! expired last can be cleared in the background; while two epochs overlap, there is twice as much.
//!
//! ```
//! use seenit_filter::generations::{Generations, Terms};
//! use seenit_filter::hash::{KeyHasher, SipKey};
//! use seenit_filter::{LayoutName, Promise};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! // A week of days, a thousand keys a day, one false hit in a hundred lookups of the whole week.
//! let (key, promise) = (SipKey::public(), Promise { capacity: 1000, rate: 0.01 });
//! let terms = Terms::sized(LayoutName::Paged, 7, 1, promise, key.fingerprint())?;
//! let mut week = Generations::new(7, 20_000, terms)?;
//! let hash = key.hash(b"a digest");
//! week.insert(20_000, |_| hash)?;
//! week.advance(20_003)?;
//! week.insert(20_002, |_| hash)?;
//! assert_eq!(week.lookup(|_| hash).iter().collect::<Vec<_>>(), [20_000, 20_002]);
//!
//! // From the next day on under another key. Lookups are told the key of each epoch.
//! let next = SipKey::derive(b"next");
//! week.start_epoch(20_004, Terms { fingerprint: next.fingerprint(), ..terms })?;
//! let hash_of = |fingerprint| if fingerprint == key.fingerprint() { hash } else { next.hash(b"a digest") };
//! week.advance(20_007)?;
//! assert_eq!(week.lookup(hash_of).newest(), Some(20_002));
//! while !week.clear_some(4096) {}
//! # Ok(())
//! # }
//! ```

mod counting;
mod epochs;

pub use counting::{CountingGenerations, GenerationCells};
pub use epochs::{Held, LIVE_MAX, Window};

use epochs::{Array, Epochs};

use crate::cells::{LINE_WORDS, Lanes, Packing};
use crate::error::{GenerationError, GeometryError, TagError};
use crate::filter::{Filter, Promise};
use crate::hash::{Fingerprint, Hash128, KeyHasher};
use crate::layout::{AnyLayout, Flat, Layout, LayoutName, Paged};
use crate::maths::lines::lines_per_lookup;
use crate::maths::tagged::share_of_rate;
use crate::memory::HugePages;
use crate::tagged::{FilterOfError, TaggedFilter, Tags};

/// What all generations of an epoch have in common.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terms<L = AnyLayout> {
    /// Which cells are a key's: the layout of one generation by itself, flat or paged.
    pub layout: L,
    /// The cells: of one bit for [`Generations`].
    pub packing: Packing,
    /// Keys of *one* generation, and the rate over *all* live ones. Each keeps `rate / live` for itself.
    pub promise: Option<Promise>,
    /// The fingerprint of the key that hashes are made with.
    pub fingerprint: Fingerprint,
    /// Advice for the memory.
    pub huge: HugePages,
}

impl Terms {
    /// The smallest geometry that keeps the promise with `live` generations and cells of `cell_bits` bits.
    ///
    /// A paged one has the pages that a generation has by itself, so that a generation can be taken out as an ordinary
    /// filter. Side by side such a page is as many pages of memory as there are lanes; huge pages help the TLB there.
    pub fn sized(
        name: LayoutName,
        live: u32,
        cell_bits: u32,
        promise: Promise,
        fingerprint: Fingerprint,
    ) -> Result<Self, GeometryError> {
        let (packing, capacity) = (Packing::new(cell_bits)?, promise.capacity);
        crate::maths::check_promise(capacity, promise.rate)?;
        let rate = share_of_rate(promise.rate, Window::new(live, 0)?.live());
        let layout = match name {
            LayoutName::Flat => Flat::sized(capacity, rate)?.any(),
            LayoutName::Paged => Paged::sized_with_slots(capacity, rate, packing.per_page())?.any(),
            LayoutName::Line => return Err(GeometryError::NotForLanes(name.as_str().into())),
        };
        Ok(Terms { layout, packing, promise: Some(promise), fingerprint, huge: HugePages::Default })
    }
}

/// Expected cache lines of one lookup that reads all of a key's cells.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LinesPerLookup {
    /// As the generations lie.
    pub side_by_side: f64,
    /// As they would be if each generation were a filter of its own.
    pub separate: f64,
}

impl LinesPerLookup {
    /// The lines of one epoch, with the live generations in the lanes `shown`.
    fn add<L: Layout>(&mut self, layout: &L, lanes: &Lanes, shown: u64) {
        let cells_of_a_line = LINE_WORDS as u64 * lanes.packing().per_word();
        self.side_by_side += lines_per_lookup(layout, lanes.per_line()) * lanes.lines_per_group(shown) as f64;
        self.separate += lines_per_lookup(layout, cells_of_a_line) * f64::from(shown.count_ones());
    }
}

/// Plain filters, one a generation: in which of the live generations was this key inserted?
#[derive(Debug)]
pub struct Generations<L = AnyLayout> {
    epochs: Epochs<TaggedFilter<L>>,
}

impl<L: Layout> Array for TaggedFilter<L> {
    /// Lookups say which tags they want.
    fn show(&mut self, _lanes: u64) {}
    fn forget(&mut self, lanes: u64) {
        self.clear_tags(Tags(lanes));
    }
    fn stale(&self) -> u64 {
        self.clearing().0
    }
    fn clear_some(&mut self, words: usize) -> bool {
        TaggedFilter::clear_some(self, words)
    }
}

/// A lane of the ring is always a tag, and that of a live generation is never being cleared.
const LANE_IS_USABLE: &str = "the lane of a live generation can be used";

impl<L: Layout> Generations<L> {
    /// `live` empty generations, the last of them `newest`.
    pub fn new(live: u32, newest: u64, terms: Terms<L>) -> Result<Self, GeometryError> {
        let window = Window::new(live, newest)?;
        Ok(Generations { epochs: Epochs::new(window, plain(&terms, live)?) })
    }

    /// Which generations are live.
    pub fn window(&self) -> Window {
        self.epochs.window()
    }

    /// Opens all generations up to `to`, and expires those that are then too old: they are not found any more.
    ///
    /// Going on by one takes no time if [`clear_some`](Self::clear_some) was called until it was done. Otherwise, and
    /// when a generation is skipped, the lanes that are needed are cleared now: one or two passes over the memory.
    pub fn advance(&mut self, to: u64) -> Result<(), GenerationError> {
        self.epochs.advance(to)
    }

    /// Advances to generation `first`, which begins a new epoch.
    pub fn start_epoch(&mut self, first: u64, terms: Terms<L>) -> Result<(), GenerationError> {
        let array = plain(&terms, self.window().live())?;
        self.epochs.start(first, array)
    }

    /// Clears at most `words` words of expired generations. True when all is done.
    pub fn clear_some(&mut self, words: usize) -> bool {
        self.epochs.clear_some(words)
    }

    /// The fingerprint of the key of each epoch, oldest first.
    pub fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> {
        self.epochs.iter().map(|epoch| epoch.array.fingerprint())
    }

    /// The live generations that may hold a key. `hash_of` gives its hash under the key with a fingerprint.
    #[inline]
    pub fn lookup(&self, mut hash_of: impl FnMut(Fingerprint) -> Hash128) -> Held {
        let found = self.epochs.iter().fold(0, |found, epoch| {
            found | epoch.array.lookup_of(Tags(epoch.shown), hash_of(epoch.array.fingerprint())).0
        });
        self.window().held(found)
    }

    /// Looks up many keys at once, one epoch after the other. `hasher_of` gives the key with a fingerprint.
    ///
    /// # Panics
    /// When `held` is not as long as `keys`.
    pub fn lookup_many<'h, K, H: KeyHasher<K> + 'h>(
        &self,
        mut hasher_of: impl FnMut(Fingerprint) -> &'h H,
        keys: &[K],
        held: &mut [Held],
    ) {
        assert_eq!(keys.len(), held.len(), "one answer a key");
        let window = self.window();
        held.fill(window.held(0));
        for epoch in self.epochs.iter() {
            let mut held = held.iter_mut();
            let hasher = hasher_of(epoch.array.fingerprint());
            epoch.array.for_each_lookup(Tags(epoch.shown), hasher, keys, |tags| {
                if let Some(held) = held.next() {
                    held.add(window.held(tags.0));
                }
            });
        }
    }

    /// Puts a key into a live generation.
    #[inline]
    pub fn insert(
        &mut self,
        generation: u64,
        hash_of: impl FnOnce(Fingerprint) -> Hash128,
    ) -> Result<(), GenerationError> {
        let (array, lane) = self.epochs.of_mut(generation)?;
        let hash = hash_of(array.fingerprint());
        array.insert(hash, lane).expect(LANE_IS_USABLE);
        Ok(())
    }

    /// Puts many keys into a live generation.
    pub fn insert_many<'h, K, H: KeyHasher<K> + 'h>(
        &mut self,
        generation: u64,
        hasher_of: impl FnOnce(Fingerprint) -> &'h H,
        keys: &[K],
    ) -> Result<(), GenerationError> {
        let (array, lane) = self.epochs.of_mut(generation)?;
        let hasher = hasher_of(array.fingerprint());
        array.insert_many(hasher, keys, lane).expect(LANE_IS_USABLE);
        Ok(())
    }

    /// A copy of one generation as an ordinary filter, with the promise of one generation.
    pub fn generation(&self, generation: u64) -> Result<Filter<L>, GenerationError> {
        let (array, lane) = self.epochs.of(generation)?;
        match array.filter_of(lane) {
            Ok(filter) => Ok(filter),
            Err(FilterOfError::Geometry(error)) => Err(error.into()),
            Err(FilterOfError::Tag(error)) => unreachable!("{LANE_IS_USABLE}: {error}"),
        }
    }

    /// Adds everything an ordinary filter holds to a live generation; the way back of
    /// [`generation`](Self::generation).
    pub fn union<M: Layout, T: AsRef<[u64]>>(
        &mut self,
        generation: u64,
        filter: &Filter<M, T>,
    ) -> Result<(), GenerationError> {
        let (array, lane) = self.epochs.of_mut(generation)?;
        match array.union_filter(lane, filter) {
            Ok(()) => Ok(()),
            Err(TagError::Unlike(unlike)) => Err(unlike.into()),
            Err(error) => unreachable!("{LANE_IS_USABLE}: {error}"),
        }
    }

    /// Cache lines of one lookup of all live generations.
    pub fn lines_per_lookup(&self) -> LinesPerLookup {
        let mut lines = LinesPerLookup::default();
        for epoch in self.epochs.iter() {
            lines.add(epoch.array.layout(), &epoch.array.lanes(), epoch.shown);
        }
        lines
    }
}

/// The cells of a plain epoch.
fn plain<L: Layout>(terms: &Terms<L>, live: u32) -> Result<TaggedFilter<L>, GeometryError> {
    match terms.packing.bits() {
        1 => TaggedFilter::of_generations(terms, live),
        bits => Err(GeometryError::CellBits { bits, most: 1 }),
    }
}
