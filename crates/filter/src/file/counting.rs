//! Counting filters out of files: packed ones in place or as a copy, split ones as a copy.

use super::kind::{HIGH_BYTES, impossible};
use super::{FileKind, FileView};
use crate::cells::{Cells, CellsMut, PackedCells, Packing, Split, SplitCells};
use crate::counting::{CountingFilter, Rule};
use crate::error::FormatError;
use crate::layout::{AnyLayout, Layout};
use crate::memory::HugePages;

impl<'a> FileView<'a> {
    /// The counting filter of packed cells, in place and unchecked. The bytes must be aligned for words.
    pub fn packed<R: Rule>(
        &self,
    ) -> Result<CountingFilter<R, AnyLayout, PackedCells<&'a [u64]>>, FormatError> {
        self.expect_rule::<R>()?;
        self.counting(self.packed_cells()?)
    }

    /// A copy of the counting filter of packed cells in memory of its own, unchecked.
    pub fn to_packed<R: Rule>(&self, huge: HugePages) -> Result<CountingFilter<R>, FormatError> {
        self.expect_rule::<R>()?;
        self.counting(self.copied_packed_cells(huge)?)
    }

    /// A copy of the counting filter in split storage. The pages are unchecked, but flags and high parts must match.
    pub fn to_split<R: Rule>(
        &self,
        huge: HugePages,
    ) -> Result<CountingFilter<R, AnyLayout, SplitCells>, FormatError> {
        self.expect_rule::<R>()?;
        self.counting(self.copied_split_cells(huge)?)
    }

    /// Packed cells, in place.
    pub(crate) fn packed_cells(&self) -> Result<PackedCells<&'a [u64]>, FormatError> {
        let packing = self.expect_packed()?;
        Ok(PackedCells::from_parts(packing, self.header.layout.bits(), self.words_in_place()?))
    }

    /// A copy of packed cells.
    pub(crate) fn copied_packed_cells(&self, huge: HugePages) -> Result<PackedCells, FormatError> {
        let packing = self.expect_packed()?;
        Ok(PackedCells::from_parts(packing, self.header.layout.bits(), self.copied_words(huge)?))
    }

    /// A copy of split cells.
    pub(crate) fn copied_split_cells(&self, huge: HugePages) -> Result<SplitCells, FormatError> {
        let (split, count) = self.expect_split()?;
        let mut cells = SplitCells::zeroed(split, self.header.layout.bits(), huge)?;
        let base_pages = self.header.kind.base_pages(&self.header.layout) as usize;
        let (base, highs) = self.pages.split_at(base_pages);
        let highs = highs.as_flattened().as_chunks::<{ HIGH_BYTES as usize }>().0;
        let mut highs = highs.iter().take(count as usize).map(|bytes| u64::from(u32::from_le_bytes(*bytes)));
        let mut matched = true;
        for (index, word) in base.as_flattened().as_chunks::<8>().0.iter().enumerate() {
            let word = u64::from_le_bytes(*word);
            split.base().for_each_marked(index, word, |cell, shift| {
                let base = split.base().read(word, shift);
                let high = if split.is_flagged(base) { highs.next().unwrap_or(0) } else { 0 };
                matched &= split.is_flagged(base) == (high > 0) && cell < cells.len();
                if matched {
                    cells.set(cell, split.join(base, high));
                }
            });
        }
        if !matched || highs.next().is_some() {
            return Err(impossible("high parts", count, "flags and high parts do not match"));
        }
        Ok(cells)
    }

    fn counting<R: Rule, C: Cells>(&self, cells: C) -> Result<CountingFilter<R, AnyLayout, C>, FormatError> {
        let header = self.header;
        Ok(CountingFilter::new(header.layout, cells, header.promise, header.fingerprint)?)
    }

    fn expect_rule<R: Rule>(&self) -> Result<(), FormatError> {
        match self.header.kind.rule() {
            Some(rule) if rule != R::NAME => {
                Err(FormatError::OtherRule { found: rule.as_str(), wanted: R::NAME.as_str() })
            }
            _ => Ok(()),
        }
    }

    fn expect_packed(&self) -> Result<Packing, FormatError> {
        match self.header.kind {
            FileKind::Packed { packing, .. } => Ok(packing),
            other => Err(other_kind(other, "a counting filter of packed cells")),
        }
    }

    fn expect_split(&self) -> Result<(Split, u64), FormatError> {
        match self.header.kind {
            FileKind::Split { split, highs, .. } => Ok((split, highs)),
            other => Err(other_kind(other, "a counting filter in split storage")),
        }
    }
}

fn other_kind(found: FileKind, wanted: &'static str) -> FormatError {
    FormatError::OtherKind { found: found.as_str(), wanted }
}
