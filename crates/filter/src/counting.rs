//! Counting filters: how often was this key inserted? Never less than it was.
//!
//! A key has k cells; its count is their minimum. [`Refined`] insertion is the one to use: its counts are never above
//! those of [`Intuitive`] insertion, and exact several times as often. [`Intuitive`] is for keys that must be taken
//! out again, and for the papers' experiments.
//!
//! ```
//! use seenit_filter::counting::{CountingFilter, Refined};
//! use seenit_filter::cells::Packing;
//! use seenit_filter::hash::{KeyHasher, SipKey};
//! use seenit_filter::{Flat, HugePages};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = SipKey::public();
//! let (layout, cells) = (Flat::sized(1000, 0.001)?, Packing::new(5)?);
//! let mut counts = CountingFilter::<Refined, _>::packed(layout, cells, None, key.fingerprint(), HugePages::Default)?;
//! let hash = key.hash(b"a digest");
//! counts.insert_weighted(hash, 20);
//! assert_eq!(counts.count(hash).value, 20);
//! counts.insert_weighted(hash, 20);
//! assert_eq!(counts.count(hash).to_string(), "at least 31");
//!
//! // An ordinary filter that answers "at least twenty?" for every key as the counts do.
//! assert!(counts.at_least(20)?.contains(hash));
//! # Ok(())
//! # }
//! ```
//!
//! A refined filter cannot forget a key: cells stand for keys that never raised them. So there is no such method:
//!
//! ```compile_fail,E0599
//! # use seenit_filter::counting::{CountingFilter, Refined};
//! # use seenit_filter::hash::Hash128;
//! fn forget(counts: &mut CountingFilter<Refined>, hash: Hash128) {
//!     let _ = counts.remove(hash);
//! }
//! ```
//!
//! ```compile_fail,E0599
//! # use seenit_filter::counting::{Refined, SharedCountingFilter};
//! # use seenit_filter::hash::Hash128;
//! fn forget(counts: &SharedCountingFilter<Refined>, hash: Hash128) {
//!     let _ = counts.remove_weighted(hash, 1);
//! }
//! ```

mod ahead;
mod one_line;
#[cfg(target_arch = "x86_64")]
mod one_line_x86;
mod rule;
mod shared;

pub use rule::{Intuitive, Refined, Rule, RuleName};
pub use shared::SharedCountingFilter;

use std::fmt;
use std::marker::PhantomData;
use std::mem::swap;

use self::ahead::KeyBatch;
use self::one_line::OneLine;
use crate::cells::{Cells, CellsMut, LINE_WORDS, PackedCells, Packing};
use crate::error::{CutError, GeometryError, NotCounted, Unlike};
use crate::filter::{Filter, Promise, same_promise};
use crate::hash::{Hash128, KeyFingerprint, KeyHasher};
use crate::layout::{AnyLayout, Layout, bit_of, same, word_of};
use crate::maths::MAX_K;
use crate::memory::{HugePages, PAGE_WORDS};
use crate::simd::Simd;

/// Counts of keys: `R` is the insertion rule, `L` says which cells are a key's, `C` holds them.
#[derive(Debug)]
pub struct CountingFilter<R, L = AnyLayout, C = PackedCells> {
    layout: L,
    cells: C,
    one_line: Option<OneLine>,
    promise: Option<Promise>,
    fingerprint: KeyFingerprint,
    rule: PhantomData<R>,
}

/// What a counting filter says of a key: never below the truth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// How often the key was inserted, or a little more.
    pub value: u64,
    /// The cells hold no more: the truth may be any number from `value` on.
    pub saturated: bool,
}

impl fmt::Display for Count {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", if self.saturated { "at least " } else { "" }, self.value)
    }
}

/// Room for the addresses of a key with few probes: quicker to make than room for [`MAX_K`].
const FEW_PROBES: usize = 8;

/// The cut of cells at `least`.
fn cut_of<L: Layout, C: Cells>(
    layout: L,
    cells: &C,
    fingerprint: KeyFingerprint,
    least: u64,
) -> Result<Filter<L>, CutError> {
    if least == 0 || least > cells.cap() {
        return Err(CutError::Threshold { least, cap: cells.cap() });
    }
    let mut cut = Filter::new(layout, None, fingerprint, HugePages::Default)?;
    let words = cut.words_mut();
    cells.for_each_nonzero(|cell, value| {
        if value >= least {
            words[word_of(cell)] |= bit_of(cell);
        }
    });
    Ok(cut)
}

/// The addresses of one key's cells, in probe order; the same may come twice.
#[inline(always)]
fn gathered<'a, L: Layout, C: Cells>(
    layout: &L,
    cells: &C,
    hash: Hash128,
    addresses: &'a mut [u64],
) -> &'a [u64] {
    let mut probes = 0;
    layout.for_each_address(cells, hash, |address| {
        addresses[probes] = address;
        probes += 1;
    });
    &addresses[..probes]
}

/// The minimum over the cells of one key.
#[inline(always)]
pub(crate) fn count_in<L: Layout, C: Cells>(layout: &L, cells: &C, hash: Hash128) -> Count {
    let mut value = u64::MAX;
    layout.for_each_address(cells, hash, |address| value = value.min(cells.hint_at(address)));
    if value >= cells.hint_limit() {
        value = u64::MAX;
        layout.for_each_address(cells, hash, |address| value = value.min(cells.get_at(address)));
    }
    Count { value, saturated: value == cells.cap() }
}

/// The minimum over the cells at these addresses.
#[inline(always)]
fn least_at<C: Cells>(cells: &C, key: &[u64]) -> u64 {
    let least = key.iter().fold(u64::MAX, |least, &address| least.min(cells.hint_at(address)));
    if least < cells.hint_limit() {
        return least;
    }
    key.iter().fold(u64::MAX, |least, &address| least.min(cells.get_at(address)))
}

/// What a counting filter says of a key whose cells lie at these addresses: the counterpart of [`Rule::add_at`], for
/// who finds the cells of a key in a way of their own.
#[inline(always)]
pub fn count_at<C: Cells>(cells: &C, key: &[u64]) -> Count {
    let value = least_at(cells, key);
    Count { value, saturated: value == cells.cap() }
}

/// [`count_at`] for many keys, one batch ahead.
fn count_many_in<L: Layout, C: Cells, K, H: KeyHasher<K>>(
    (layout, cells): (&L, &C),
    one_line: Option<OneLine>,
    hasher: &H,
    keys: &[K],
    counts: &mut [Count],
) {
    assert_eq!(keys.len(), counts.len(), "one answer a key");
    if let Some(way) = one_line {
        return way.count_many((layout, cells), hasher, keys, counts);
    }
    let mut keys = keys;
    let mut counts = counts.iter_mut();
    let mut now = &mut KeyBatch::new();
    let mut ahead = &mut KeyBatch::new();
    let mut more = ahead.fetch(layout, cells, hasher, &mut keys);
    while more {
        swap(&mut now, &mut ahead);
        more = ahead.fetch(layout, cells, hasher, &mut keys);
        for (key, count) in now.keys().zip(&mut counts) {
            *count = count_at(cells, key);
        }
    }
}

/// Whether a block of `slots` cells is a page, or a half, a quarter, ... of one, down to a cache line.
fn is_part(slots: u64, per_page: u64) -> bool {
    const LINES_PER_PAGE: u64 = (PAGE_WORDS / LINE_WORDS) as u64;
    per_page.is_multiple_of(slots) && (slots * LINES_PER_PAGE).is_multiple_of(per_page)
}

/// Refuses layouts whose keys' cells do not lie as the cells do.
pub(crate) fn check_layout<L: Layout>(layout: &L, per_page: u64) -> Result<(), GeometryError> {
    match layout.any() {
        AnyLayout::Flat(_) => Ok(()),
        AnyLayout::Line(_) => Err(GeometryError::NotForCounting("line".into())),
        AnyLayout::Paged(paged) if paged.pages_per_key() != 1 => {
            Err(GeometryError::NotForCounting(format!("paged with {} pages a key", paged.pages_per_key())))
        }
        AnyLayout::Paged(paged) if !is_part(paged.slots(), per_page) => {
            Err(GeometryError::SlotsOfCells { slots: paged.slots(), cells: per_page })
        }
        AnyLayout::Paged(_) => Ok(()),
    }
}

impl<R: Rule, L: Layout> CountingFilter<R, L> {
    /// An empty filter of packed cells, one for each position of `layout`; for a paged one,
    /// [`Packing::per_page`] slots a page.
    pub fn packed(
        layout: L,
        packing: Packing,
        promise: Option<Promise>,
        fingerprint: KeyFingerprint,
        huge: HugePages,
    ) -> Result<Self, GeometryError> {
        check_layout(&layout, packing.per_page())?;
        let cells = PackedCells::zeroed(packing, layout.bits(), huge)?;
        CountingFilter::new(layout, cells, promise, fingerprint)
    }
}

impl<R: Rule, L: Layout, C: Cells> CountingFilter<R, L, C> {
    /// A filter of these cells, one for each position of `layout`.
    pub fn new(
        layout: L,
        cells: C,
        promise: Option<Promise>,
        fingerprint: KeyFingerprint,
    ) -> Result<Self, GeometryError> {
        check_layout(&layout, cells.per_page())?;
        if cells.len() != layout.bits() {
            return Err(GeometryError::CellsOfLayout { positions: layout.bits(), cells: cells.len() });
        }
        let one_line = OneLine::new(Simd::detect(), &layout, &cells);
        Ok(CountingFilter { layout, cells, one_line, promise, fingerprint, rule: PhantomData })
    }

    /// Which cells are a key's.
    pub fn layout(&self) -> &L {
        &self.layout
    }

    /// Its cells.
    pub fn cells(&self) -> &C {
        &self.cells
    }

    /// What it was sized for; `None` when it was given an explicit geometry.
    pub fn promise(&self) -> Option<Promise> {
        self.promise
    }

    /// The fingerprint of the key its hashes are made with.
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.fingerprint
    }

    /// How often the key with this hash was inserted. Never below the truth.
    #[inline]
    pub fn count(&self, hash: Hash128) -> Count {
        match &self.one_line {
            Some(way) => way.count(&self.layout, &self.cells, hash),
            None => count_in(&self.layout, &self.cells, hash),
        }
    }

    /// Counts many keys at once: hashes and prefetches one batch while it reads the one before.
    ///
    /// # Panics
    /// When `counts` is not as long as `keys`.
    pub fn count_many<K, H: KeyHasher<K>>(&self, hasher: &H, keys: &[K], counts: &mut [Count]) {
        count_many_in((&self.layout, &self.cells), self.one_line, hasher, keys, counts);
    }

    /// The *cut* at `least`: a plain filter whose bit i says that cell i holds `least` or more. It answers
    /// "was this key counted at least so often?" for every key exactly as this filter does.
    pub fn at_least(&self, least: u64) -> Result<Filter<L>, CutError> {
        cut_of(self.layout, &self.cells, self.fingerprint, least)
    }

    /// The chance that a key that was never inserted counts `least` or more: the share of cells that do, to the
    /// power of k (paged: averaged over the pages), read off the cells.
    ///
    /// A formula that throws single increments at random is many orders of magnitude too low: a message reported a
    /// hundred times raises the *same* cells a hundred times.
    /// [`maths::counting`](crate::maths::counting::rate_at_least) has the formula for cells nobody has yet.
    pub fn rate_at_least(&self, least: u64) -> Result<f64, CutError> {
        Ok(self.at_least(least)?.present_rate())
    }

    /// The share of cells that are saturated.
    pub fn saturated_share(&self) -> f64 {
        let mut saturated = 0u64;
        self.cells.for_each_nonzero(|_, value| saturated += u64::from(value == self.cells.cap()));
        saturated as f64 / self.cells.len() as f64
    }

    /// The first field in which `other` is not of the same kind: rule, layout, cells, key, promise.
    pub(crate) fn like<Q: Rule, M: Layout, D: Cells>(
        &self,
        other: &CountingFilter<Q, M, D>,
    ) -> Result<(), Unlike> {
        same("rule", R::NAME.as_str(), Q::NAME.as_str())?;
        self.layout.any().like(&other.layout.any())?;
        same("cap of a cell", self.cells.cap(), other.cells.cap())?;
        same("key fingerprint", self.fingerprint.to_string(), other.fingerprint.to_string())?;
        same_promise(self.promise, other.promise)
    }
}

impl<R: Rule, L: Layout, C: CellsMut> CountingFilter<R, L, C> {
    /// Counts the key with this hash once more.
    #[inline]
    pub fn insert(&mut self, hash: Hash128) {
        self.insert_weighted(hash, 1);
    }

    /// Counts the key `weight` times more, exactly as so many single insertions would.
    #[inline]
    pub fn insert_weighted(&mut self, hash: Hash128, weight: u64) {
        if self.layout.probes() <= FEW_PROBES {
            self.add(hash, weight, &mut [0; FEW_PROBES]);
        } else {
            self.add(hash, weight, &mut [0; MAX_K as usize]);
        }
    }

    #[inline(always)]
    fn add(&mut self, hash: Hash128, weight: u64, room: &mut [u64]) {
        let key = gathered(&self.layout, &self.cells, hash, room);
        R::add_at(&mut self.cells, key, weight);
    }

    /// Counts many keys once more each: hashes and prefetches one batch while it writes the one before.
    pub fn insert_many<K, H: KeyHasher<K>>(&mut self, hasher: &H, keys: &[K]) {
        let mut keys = keys;
        let mut now = &mut KeyBatch::new();
        let mut ahead = &mut KeyBatch::new();
        let mut more = ahead.fetch(&self.layout, &self.cells, hasher, &mut keys);
        while more {
            swap(&mut now, &mut ahead);
            more = ahead.fetch(&self.layout, &self.cells, hasher, &mut keys);
            for key in now.keys() {
                R::add_at(&mut self.cells, key, 1);
            }
        }
    }

    /// Adds the counts of `other`, cell by cell, up to the cap. A key's count is then never below the sum of what
    /// both were told. Refuses a filter of another kind and changes nothing then.
    ///
    /// Never insert into the sum when `R` is [`Refined`] and others go on adding to it: insertion would look at cells
    /// that others raised, and leave own ones too low. Keep own counts apart and add up what both say.
    pub fn merge<Q: Rule, M: Layout, D: Cells>(
        &mut self,
        other: &CountingFilter<Q, M, D>,
    ) -> Result<(), Unlike> {
        self.like(other)?;
        let cells = &mut self.cells;
        other.cells.for_each_nonzero(|cell, theirs| {
            let sum = cells.get(cell).saturating_add(theirs).min(cells.cap());
            cells.set(cell, sum);
        });
        Ok(())
    }

    /// Its cells, for deltas to write.
    pub(crate) fn cells_mut(&mut self) -> &mut C {
        &mut self.cells
    }
}

impl<L: Layout, C: CellsMut> CountingFilter<Intuitive, L, C> {
    /// Takes one insertion of the key back: see [`remove_weighted`](Self::remove_weighted).
    pub fn remove(&mut self, hash: Hash128) -> Result<(), NotCounted> {
        self.remove_weighted(hash, 1)
    }

    /// Takes `weight` insertions of the key back, exactly as so many single removals would. Only keys that were
    /// inserted so often may be removed: removing others makes counts fall below the truth. A key whose count is lower
    /// was certainly not inserted so often; it is refused, and nothing changes.
    ///
    /// A saturated cell stays: nobody knows its true value.
    pub fn remove_weighted(&mut self, hash: Hash128, weight: u64) -> Result<(), NotCounted> {
        let mut room = [0; MAX_K as usize];
        let key = gathered(&self.layout, &self.cells, hash, &mut room);
        Intuitive::remove_at(&mut self.cells, key, weight)
    }
}
