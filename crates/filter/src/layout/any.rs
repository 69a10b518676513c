//! A layout whose kind is known at run time only: what a file says, what a user asks for.

use std::str::FromStr;

use super::{Flat, Layout, Line, Paged};
use crate::cells::Cells;
use crate::error::{GeometryError, Unlike};
use crate::hash::Hash128;
use crate::maths::cardinality::ZeroOdds;
use crate::simd::Simd;

/// The names of the layouts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LayoutName {
    /// [`Flat`]
    Flat,
    /// [`Paged`]
    Paged,
    /// [`Line`]
    Line,
}

impl LayoutName {
    /// `flat`, `paged` or `line`.
    pub fn as_str(self) -> &'static str {
        match self {
            LayoutName::Flat => "flat",
            LayoutName::Paged => "paged",
            LayoutName::Line => "line",
        }
    }
}

impl FromStr for LayoutName {
    type Err = GeometryError;

    fn from_str(name: &str) -> Result<Self, GeometryError> {
        [LayoutName::Flat, LayoutName::Paged, LayoutName::Line]
            .into_iter()
            .find(|layout| layout.as_str() == name)
            .ok_or_else(|| GeometryError::Layout(name.to_owned()))
    }
}

/// One of the three layouts. Batched calls choose the kind once a batch, single calls once a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnyLayout {
    /// k bits anywhere.
    Flat(Flat),
    /// k bits in one page.
    Paged(Paged),
    /// Eight bits in one line.
    Line(Line),
}

/// `each!(self, layout => expression)`: the expression, whichever layout it is.
macro_rules! each {
    ($any:expr, $layout:ident => $expression:expr) => {
        match $any {
            AnyLayout::Flat($layout) => $expression,
            AnyLayout::Paged($layout) => $expression,
            AnyLayout::Line($layout) => $expression,
        }
    };
}

impl AnyLayout {
    /// The smallest filter of the named layout that holds `capacity` keys at `rate`.
    pub fn sized(name: LayoutName, capacity: u64, rate: f64) -> Result<Self, GeometryError> {
        Ok(match name {
            LayoutName::Flat => AnyLayout::Flat(Flat::sized(capacity, rate)?),
            LayoutName::Paged => AnyLayout::Paged(Paged::sized(capacity, rate)?),
            LayoutName::Line => AnyLayout::Line(Line::sized(capacity, rate)?),
        })
    }

    /// Which layout it is.
    pub fn name(&self) -> LayoutName {
        match self {
            AnyLayout::Flat(_) => LayoutName::Flat,
            AnyLayout::Paged(_) => LayoutName::Paged,
            AnyLayout::Line(_) => LayoutName::Line,
        }
    }

    /// Bits a key sets in each of its pages (flat: in the filter; line: in its line).
    pub fn k(&self) -> u32 {
        match self {
            AnyLayout::Flat(flat) => flat.k(),
            AnyLayout::Paged(paged) => paged.k(),
            AnyLayout::Line(line) => line.probes() as u32,
        }
    }

    /// Pages a key is confined to; 0 where it is not (flat).
    pub fn pages_per_key(&self) -> u32 {
        match self {
            AnyLayout::Flat(_) => 0,
            AnyLayout::Paged(paged) => paged.pages_per_key(),
            AnyLayout::Line(_) => 1,
        }
    }

    /// Positions a page of the paged layout has; 0 for layouts that know no pages.
    pub(crate) fn slots(&self) -> u64 {
        match self {
            AnyLayout::Flat(_) | AnyLayout::Line(_) => 0,
            AnyLayout::Paged(paged) => paged.slots(),
        }
    }

    /// The first field in which two layouts differ.
    pub(crate) fn like(&self, other: &Self) -> Result<(), Unlike> {
        same("layout", self.name().as_str(), other.name().as_str())?;
        same("bits", self.bits(), other.bits())?;
        same("k", self.k(), other.k())?;
        same("pages per key", self.pages_per_key(), other.pages_per_key())?;
        same("slots per page", self.slots(), other.slots())
    }
}

/// An error that names `field` and both values unless they are equal.
pub(crate) fn same<T: PartialEq + ToString>(field: &'static str, left: T, right: T) -> Result<(), Unlike> {
    if left == right {
        return Ok(());
    }
    Err(Unlike { field, left: left.to_string(), right: right.to_string() })
}

impl Layout for AnyLayout {
    fn bits(&self) -> u64 {
        each!(self, layout => layout.bits())
    }
    fn probes(&self) -> usize {
        each!(self, layout => layout.probes())
    }
    #[inline]
    fn position(&self, hash: Hash128, probe: usize) -> u64 {
        each!(self, layout => layout.position(hash, probe))
    }
    #[inline(always)]
    fn for_each_address<C: Cells>(&self, cells: &C, hash: Hash128, visit: impl FnMut(u64)) {
        each!(self, layout => layout.for_each_address(cells, hash, visit));
    }
    fn expected_rate(&self, keys: u64) -> f64 {
        each!(self, layout => layout.expected_rate(keys))
    }
    fn present_rate(&self, words: &[u64]) -> f64 {
        each!(self, layout => layout.present_rate(words))
    }
    fn expected_pages(&self) -> f64 {
        each!(self, layout => layout.expected_pages())
    }
    fn zero_odds(&self) -> ZeroOdds {
        each!(self, layout => layout.zero_odds())
    }
    fn any(self) -> AnyLayout {
        self
    }
    #[inline]
    fn contains(&self, simd: Simd, words: &[u64], hash: Hash128) -> bool {
        each!(self, layout => layout.contains(simd, words, hash))
    }
    #[inline]
    fn insert(&self, simd: Simd, words: &mut [u64], hash: Hash128) {
        each!(self, layout => layout.insert(simd, words, hash));
    }
    fn prefetch_lookups<W>(&self, words: &[W], hashes: &[Hash128]) {
        each!(self, layout => layout.prefetch_lookups(words, hashes));
    }
    fn prefetch_inserts<W>(&self, words: &[W], hashes: &[Hash128]) {
        each!(self, layout => layout.prefetch_inserts(words, hashes));
    }
    fn contains_batch(&self, simd: Simd, words: &[u64], hashes: &[Hash128], found: &mut [bool]) {
        each!(self, layout => layout.contains_batch(simd, words, hashes, found));
    }
    fn insert_batch(&self, simd: Simd, words: &mut [u64], hashes: &[Hash128]) {
        each!(self, layout => layout.insert_batch(simd, words, hashes));
    }
}
