//! Counting filters, one a generation, with the cells of one position side by side.

use std::marker::PhantomData;

use super::epochs::{Array, Epochs};
use super::{LinesPerLookup, Terms, Window};
use crate::cells::sweep::Sweep;
use crate::cells::{Cells, CellsMut, LINE_WORDS, LaneCells, Lanes, PackedCells, lanes};
use crate::counting::{Count, CountingFilter, Refined, Rule};
use crate::error::{GenerationError, GeometryError};
use crate::filter::Promise;
use crate::hash::{Fingerprint, Hash128, KeyHasher};
use crate::layout::{AnyLayout, Layout};
use crate::maths::MAX_K;
use crate::maths::tagged::share_of_rate;
use crate::memory::{HugePages, PageBuf, prefetch};
use crate::pipeline::Pipeline;
use crate::tagged::Tags;

/// One generation among the others, used as a counting filter: to be looked up, cut, merged or written.
pub type GenerationCells<R, L, S> = CountingFilter<R, L, LaneCells<S>>;

/// Counts of keys, one filter a generation: `R` is the insertion rule, `L` says which cells are a key's.
///
/// A key's count is the sum over the live generations of its count in each: never below the truth.
#[derive(Debug)]
pub struct CountingGenerations<R = Refined, L = AnyLayout> {
    epochs: Epochs<Groups<L>>,
    rule: PhantomData<R>,
}

/// The cells of one epoch.
#[derive(Debug)]
struct Groups<L> {
    layout: L,
    lanes: Lanes,
    /// Of one generation.
    promise: Option<Promise>,
    fingerprint: Fingerprint,
    words: PageBuf,
    sweep: Sweep,
    /// The lowest bits that the cells of live generations have in each word of a group.
    shown: Vec<u64>,
}

/// One lane of an epoch; its words are borrowed apart, for reading or for writing.
struct View<L> {
    layout: L,
    lanes: Lanes,
    lane: u32,
    per_page: u64,
    promise: Option<Promise>,
    fingerprint: Fingerprint,
}

impl<L: Layout> View<L> {
    #[inline]
    fn of<R: Rule, S: AsRef<[u64]>>(self, words: S) -> Result<GenerationCells<R, L, S>, GeometryError> {
        let cells = LaneCells::new(self.lanes, self.lane, self.layout.bits(), self.per_page, words);
        CountingFilter::new(self.layout, cells, self.promise, self.fingerprint)
    }
}

impl<L: Layout> Array for Groups<L> {
    fn show(&mut self, lanes: u64) {
        self.shown = vec![0; self.lanes.words_per_group() as usize];
        for lane in Tags(lanes).iter() {
            let (word, shift) = self.lanes.lane_place(lane);
            self.shown[word] |= 1 << shift;
        }
    }
    fn forget(&mut self, lanes: u64) {
        self.sweep.add(lanes);
    }
    fn stale(&self) -> u64 {
        self.sweep.stale()
    }
    fn clear_some(&mut self, words: usize) -> bool {
        self.sweep.clear_some(&self.lanes, self.words.as_mut(), words)
    }
}

impl<L: Layout> Groups<L> {
    fn new(terms: &Terms<L>, window: Window) -> Result<Self, GeometryError> {
        let Terms { layout, packing, promise, fingerprint, huge } = *terms;
        lanes::check_layout(&layout)?;
        let lanes = Lanes::new(packing, window.lanes())?;
        let promise =
            promise.map(|promise| Promise { rate: share_of_rate(promise.rate, window.live()), ..promise });
        let words = PageBuf::zeroed(lanes.pages(layout.bits())?, huge)?;
        Ok(Groups { layout, lanes, promise, fingerprint, words, sweep: Sweep::default(), shown: Vec::new() })
    }

    /// Cells of a page as the layout knows it.
    fn per_page(&self) -> u64 {
        match self.layout.any().slots() {
            0 => self.lanes.per_page(),
            slots => slots,
        }
    }

    /// What a lane is as a filter by itself, without its words.
    fn view(&self, lane: u32) -> View<L> {
        let (layout, lanes, per_page) = (self.layout, self.lanes, self.per_page());
        View { layout, lanes, lane, per_page, promise: self.promise, fingerprint: self.fingerprint }
    }

    /// Calls `visit` with each shown lane whose count is not zero, and the count.
    ///
    /// Reads the group of each probe once, and stops at the one where the last lane has met a zero: with half of the
    /// cells zero and seven lanes, a stranger is done after about four probes.
    #[inline]
    fn for_each_count(&self, hash: Hash128, mut visit: impl FnMut(u32, Count)) {
        let (words, packing) = (self.words.as_ref(), self.lanes.packing());
        let mut groups = [0; MAX_K as usize];
        let groups = &mut groups[..self.layout.probes()];
        for (in_group, &shown) in self.shown.iter().enumerate() {
            let mut counted = shown;
            for (probe, group) in groups.iter_mut().enumerate() {
                if counted == 0 {
                    break;
                }
                let (word, shift) = self.lanes.place(self.layout.position(hash, probe));
                *group = words[word + in_group] >> shift;
                counted &= packing.smeared(*group);
            }
            packing.for_each_marked(in_group, counted, |lane, shift| {
                let least =
                    groups.iter().fold(u64::MAX, |least, &group| least.min(packing.read(group, shift)));
                visit(lane as u32, Count { value: least, saturated: least == packing.cap() });
            });
        }
    }

    #[inline]
    fn sum(&self, hash: Hash128) -> Count {
        let mut sum = Count::default();
        self.for_each_count(hash, |_, count| add(&mut sum, count));
        sum
    }

    #[inline(always)]
    fn prefetch(&self, hashes: &[Hash128]) {
        for &hash in hashes {
            for probe in 0..self.layout.probes() {
                let first = self.lanes.place(self.layout.position(hash, probe)).0;
                // A group is one line, or begins where the first of its lines does.
                for word in (0..self.shown.len()).step_by(LINE_WORDS) {
                    prefetch(self.words.as_ref(), first + word);
                }
            }
        }
    }
}

#[inline(always)]
fn add(sum: &mut Count, count: Count) {
    sum.value = sum.value.saturating_add(count.value);
    sum.saturated |= count.saturated;
}

impl<R: Rule, L: Layout> CountingGenerations<R, L> {
    /// `live` generations without a count, the last of them `newest`.
    pub fn new(live: u32, newest: u64, terms: Terms<L>) -> Result<Self, GeometryError> {
        let window = Window::new(live, newest)?;
        Ok(CountingGenerations {
            epochs: Epochs::new(window, Groups::new(&terms, window)?),
            rule: PhantomData,
        })
    }

    /// Which generations are live.
    pub fn window(&self) -> Window {
        self.epochs.window()
    }

    /// Opens all generations up to `to`, and expires those that are then too old: they do not count any more.
    ///
    /// Going on by one takes no time if [`clear_some`](Self::clear_some) was called until it was done. Otherwise, and
    /// when a generation is skipped, the lanes that are needed are cleared now: one or two passes over the memory.
    pub fn advance(&mut self, to: u64) -> Result<(), GenerationError> {
        self.epochs.advance(to)
    }

    /// Advances to generation `first`, which begins a new epoch.
    pub fn start_epoch(&mut self, first: u64, terms: Terms<L>) -> Result<(), GenerationError> {
        let array = Groups::new(&terms, self.window())?;
        self.epochs.start(first, array)
    }

    /// Clears at most `words` words of expired generations. True when all is done.
    pub fn clear_some(&mut self, words: usize) -> bool {
        self.epochs.clear_some(words)
    }

    /// The fingerprint of the key of each epoch, oldest first.
    pub fn fingerprints(&self) -> impl Iterator<Item = Fingerprint> {
        self.epochs.iter().map(|epoch| epoch.array.fingerprint)
    }

    /// How often a key was inserted into all live generations. Never below the truth; "at least" when it is saturated
    /// in one of them. `hash_of` gives its hash under the key with a fingerprint.
    #[inline]
    pub fn count(&self, mut hash_of: impl FnMut(Fingerprint) -> Hash128) -> Count {
        let mut sum = Count::default();
        for epoch in self.epochs.iter() {
            add(&mut sum, epoch.array.sum(hash_of(epoch.array.fingerprint)));
        }
        sum
    }

    /// The generations in which a key counts more than zero, and its count in each; oldest epoch first.
    pub fn counts(&self, mut hash_of: impl FnMut(Fingerprint) -> Hash128) -> Vec<(u64, Count)> {
        let (window, mut counts) = (self.window(), Vec::new());
        for epoch in self.epochs.iter() {
            epoch.array.for_each_count(hash_of(epoch.array.fingerprint), |lane, count| {
                let generation = window.held(1 << lane).newest().expect("only live generations are shown");
                counts.push((generation, count));
            });
        }
        counts.sort_unstable_by_key(|&(generation, _)| generation);
        counts
    }

    /// Counts many keys at once, one epoch after the other. `hasher_of` gives the key with a fingerprint.
    ///
    /// # Panics
    /// When `counts` is not as long as `keys`.
    pub fn count_many<'h, K, H: KeyHasher<K> + 'h>(
        &self,
        mut hasher_of: impl FnMut(Fingerprint) -> &'h H,
        keys: &[K],
        counts: &mut [Count],
    ) {
        assert_eq!(keys.len(), counts.len(), "one answer a key");
        counts.fill(Count::default());
        for epoch in self.epochs.iter() {
            let mut pipeline = Pipeline::new(hasher_of(epoch.array.fingerprint), keys);
            epoch.array.prefetch(pipeline.ahead());
            let mut counts = counts.iter_mut();
            while pipeline.advance() {
                epoch.array.prefetch(pipeline.ahead());
                for (&hash, count) in pipeline.current().iter().zip(&mut counts) {
                    add(count, epoch.array.sum(hash));
                }
            }
        }
    }

    /// Counts a key `weight` times more in a live generation, looking at that generation's cells only.
    #[inline]
    pub fn insert_weighted(
        &mut self,
        generation: u64,
        weight: u64,
        hash_of: impl FnOnce(Fingerprint) -> Hash128,
    ) -> Result<(), GenerationError> {
        let (array, _) = self.epochs.of(generation)?;
        let hash = hash_of(array.fingerprint);
        self.generation_mut(generation)?.insert_weighted(hash, weight);
        Ok(())
    }

    /// Counts many keys once more each in a live generation.
    pub fn insert_many<'h, K, H: KeyHasher<K> + 'h>(
        &mut self,
        generation: u64,
        hasher_of: impl FnOnce(Fingerprint) -> &'h H,
        keys: &[K],
    ) -> Result<(), GenerationError> {
        let (array, _) = self.epochs.of(generation)?;
        let hasher = hasher_of(array.fingerprint);
        self.generation_mut(generation)?.insert_many(hasher, keys);
        Ok(())
    }

    /// A live generation as a counting filter that is read where it lies.
    pub fn generation(&self, generation: u64) -> Result<GenerationCells<R, L, &[u64]>, GenerationError> {
        let (array, lane) = self.epochs.of(generation)?;
        Ok(array.view(lane).of(array.words.as_ref())?)
    }

    /// A live generation as a counting filter that is written where it lies: to insert, and to merge others into.
    pub fn generation_mut(
        &mut self,
        generation: u64,
    ) -> Result<GenerationCells<R, L, &mut [u64]>, GenerationError> {
        let (array, lane) = self.epochs.of_mut(generation)?;
        Ok(array.view(lane).of(array.words.as_mut())?)
    }

    /// A copy of one generation as an ordinary counting filter with cells packed by themselves, as files have them.
    /// A paged layout must have the pages of such a filter, as that of [`Terms::sized`] has.
    pub fn packed(&self, generation: u64) -> Result<CountingFilter<R, L>, GenerationError> {
        let view = self.generation(generation)?;
        let (array, _) = self.epochs.of(generation)?;
        let (layout, packing) = (array.layout, array.lanes.packing());
        let mut cells = PackedCells::zeroed(packing, layout.bits(), HugePages::Default)?;
        view.cells().for_each_nonzero(|cell, value| cells.set(cell, value));
        Ok(CountingFilter::new(layout, cells, array.promise, array.fingerprint)?)
    }

    /// Cache lines of one lookup of all live generations.
    pub fn lines_per_lookup(&self) -> LinesPerLookup {
        let mut lines = LinesPerLookup::default();
        for epoch in self.epochs.iter() {
            lines.add(&epoch.array.layout, &epoch.array.lanes, epoch.shown);
        }
        lines
    }
}
