//! A filter: a layout, the pages it describes, and the promise made about them.

use crate::error::{GeometryError, Unlike};
use crate::hash::{Hash128, KeyFingerprint, KeyHasher};
use crate::layout::{AnyLayout, Layout, clear, same};
use crate::maths::cardinality::Estimate;
use crate::memory::{HugePages, PageBuf};
use crate::pipeline::Pipeline;
use crate::simd::Simd;

/// What a filter was sized for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Promise {
    /// Keys it holds.
    pub capacity: u64,
    /// Its false-positive rate when it holds them.
    pub rate: f64,
}

/// A Bloom filter: `L` says where bits lie, `S` holds them (owned pages, or words of a mapped file).
#[derive(Clone, Debug)]
pub struct Filter<L = AnyLayout, S = PageBuf> {
    layout: L,
    promise: Option<Promise>,
    fingerprint: KeyFingerprint,
    cleared: u64,
    words: S,
    simd: Simd,
}

/// How full a filter is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fill {
    /// Set bits.
    pub ones: u64,
    /// All bits.
    pub bits: u64,
}

impl Fill {
    /// The share of set bits.
    pub fn ratio(&self) -> f64 {
        self.ones as f64 / self.bits as f64
    }
}

impl<L: Layout> Filter<L> {
    /// An empty filter for hashes under the key with this fingerprint.
    pub fn new(
        layout: L,
        promise: Option<Promise>,
        fingerprint: KeyFingerprint,
        huge: HugePages,
    ) -> Result<Self, GeometryError> {
        let words = PageBuf::zeroed(layout.pages(), huge)?;
        Ok(Self::from_parts(layout, promise, fingerprint, words))
    }
}

impl<L: Layout, S: AsRef<[u64]>> Filter<L, S> {
    /// `words` are exactly the pages of `layout`: the callers in this crate made sure.
    pub(crate) fn from_parts(
        layout: L,
        promise: Option<Promise>,
        fingerprint: KeyFingerprint,
        words: S,
    ) -> Self {
        debug_assert_eq!(words.as_ref().len() as u64 * 64, layout.pages() * crate::memory::PAGE_BITS);
        Filter { layout, promise, fingerprint, cleared: 0, words, simd: Simd::detect() }
    }

    /// The same filter, of which it is known that `cleared` bits were cleared.
    pub(crate) fn with_cleared(mut self, cleared: u64) -> Self {
        self.cleared = cleared;
        self
    }

    /// The same filter with its kernels limited to `simd`; for comparing the twins.
    pub fn with_simd(mut self, simd: Simd) -> Self {
        self.simd = simd;
        self
    }

    /// Where its bits lie.
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// What it was sized for; `None` when it was given an explicit geometry.
    pub fn promise(&self) -> Option<Promise> {
        self.promise
    }

    /// The fingerprint of the key its hashes are made with.
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.fingerprint
    }

    /// How many bits [retouching](crate::retouch) cleared, in this filter and in those united with it. When it is
    /// not zero the filter may miss keys that were inserted.
    pub fn cleared_bits(&self) -> u64 {
        self.cleared
    }

    /// Its bits, in whole pages.
    #[inline(always)]
    pub fn words(&self) -> &[u64] {
        self.words.as_ref()
    }

    /// Whether the key with this hash may be in the filter. Never false for one that is, unless
    /// [bits were cleared](Self::cleared_bits).
    #[inline]
    pub fn contains(&self, hash: Hash128) -> bool {
        self.layout.contains(self.simd, self.words(), hash)
    }

    /// Looks up many keys at once: hashes and prefetches one batch while it probes the one before.
    ///
    /// # Panics
    /// When `found` is not as long as `keys`.
    pub fn contains_many<K, H: KeyHasher<K>>(&self, hasher: &H, keys: &[K], found: &mut [bool]) {
        assert_eq!(keys.len(), found.len(), "one answer a key");
        let words = self.words();
        let mut pipeline = Pipeline::new(hasher, keys);
        self.layout.prefetch_lookups(words, pipeline.ahead());
        let mut rest = found;
        while pipeline.advance() {
            self.layout.prefetch_lookups(words, pipeline.ahead());
            let (batch, others) = rest.split_at_mut(pipeline.current().len());
            self.layout.contains_batch(self.simd, words, pipeline.current(), batch);
            rest = others;
        }
    }

    /// How many bits are set. Reads the whole filter, as do the three methods below.
    pub fn fill(&self) -> Fill {
        let ones = self.words().iter().map(|word| u64::from(word.count_ones())).sum();
        Fill { ones, bits: self.layout.bits() }
    }

    /// How many distinct keys it holds, with an error bar; `None` when every bit is set.
    ///
    /// Too low when [bits were cleared](Self::cleared_bits): it is read off the zeros, and the error bar knows
    /// nothing of zeros that were made.
    pub fn cardinality(&self) -> Option<Estimate> {
        let fill = self.fill();
        // A file whose pages nobody checked may have bits set behind its last one.
        self.layout.zero_odds().estimate(fill.bits.saturating_sub(fill.ones))
    }

    /// The false-positive rate its bits amount to now.
    pub fn present_rate(&self) -> f64 {
        self.layout.present_rate(self.words())
    }

    /// The first field in which `other` is not of the same kind: layout, key, promise.
    pub(crate) fn like<M: Layout, T: AsRef<[u64]>>(&self, other: &Filter<M, T>) -> Result<(), Unlike> {
        self.layout.any().like(&other.layout.any())?;
        same("key fingerprint", self.fingerprint.to_string(), other.fingerprint.to_string())?;
        same_promise(self.promise, other.promise)
    }
}

/// An error that names what two promises differ in.
pub(crate) fn same_promise(left: Option<Promise>, right: Option<Promise>) -> Result<(), Unlike> {
    let capacity = |promise: Option<Promise>| promise.map_or(0, |promise| promise.capacity);
    let rate = |promise: Option<Promise>| promise.map_or(0.0, |promise| promise.rate);
    same("capacity", capacity(left), capacity(right))?;
    same("rate", rate(left), rate(right))
}

impl<L: Layout, S: AsRef<[u64]> + AsMut<[u64]>> Filter<L, S> {
    /// Its bits, for those who know what they are doing to them.
    #[inline(always)]
    pub(crate) fn words_mut(&mut self) -> &mut [u64] {
        self.words.as_mut()
    }

    /// Puts the key with this hash into the filter.
    #[inline]
    pub fn insert(&mut self, hash: Hash128) {
        self.layout.insert(self.simd, self.words.as_mut(), hash);
    }

    /// Inserts many keys at once: hashes and prefetches one batch while it writes the one before.
    pub fn insert_many<K, H: KeyHasher<K>>(&mut self, hasher: &H, keys: &[K]) {
        let words = self.words.as_mut();
        let mut pipeline = Pipeline::new(hasher, keys);
        self.layout.prefetch_inserts(words, pipeline.ahead());
        while pipeline.advance() {
            self.layout.prefetch_inserts(words, pipeline.ahead());
            self.layout.insert_batch(self.simd, words, pipeline.current());
        }
    }

    /// Adds everything `other` holds: a bitwise OR. Refuses a filter of another kind and changes nothing then.
    ///
    /// Where either misses keys the union may miss them too, so the numbers of cleared bits are added.
    pub fn union<M: Layout, T: AsRef<[u64]>>(&mut self, other: &Filter<M, T>) -> Result<(), Unlike> {
        self.like(other)?;
        for (word, theirs) in self.words.as_mut().iter_mut().zip(other.words()) {
            *word |= theirs;
        }
        self.cleared = self.cleared.saturating_add(other.cleared);
        Ok(())
    }

    /// Clears the bit at `position`, if it is set, and counts it.
    pub(crate) fn clear(&mut self, position: u64) {
        if clear(self.words.as_mut(), position) {
            self.cleared = self.cleared.saturating_add(1);
        }
    }
}
