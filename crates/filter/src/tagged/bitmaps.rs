//! How the bitmaps of a tagged filter lie in words: as many of them in a word as fit.

use crate::error::GeometryError;
use crate::layout::{AnyLayout, Layout, MAX_BITS, within};
use crate::memory::PAGE_WORDS;

/// The most tags: a bitmap fits a word.
pub const TAGS_MAX: u32 = 64;

/// Bitmaps of so many bits, one bit a tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bitmaps {
    tags: u32,
    per_word: u64,
    /// `2^64 / per_word`, rounded up: a multiplication instead of a division. 0 where a word holds one bitmap.
    reciprocal: u64,
}

impl Bitmaps {
    /// Bitmaps of `tags` bits, 1 to [`TAGS_MAX`].
    pub(super) fn new(tags: u32) -> Result<Self, GeometryError> {
        within("tags", u64::from(tags), u64::from(TAGS_MAX))?;
        let per_word = u64::from(64 / tags);
        let reciprocal = if per_word == 1 { 0 } else { (1u128 << 64).div_ceil(u128::from(per_word)) as u64 };
        Ok(Bitmaps { tags, per_word, reciprocal })
    }

    /// How many tags there are.
    pub(super) fn tags(&self) -> u32 {
        self.tags
    }

    /// The set of all tags.
    #[inline(always)]
    pub(super) fn all(&self) -> u64 {
        u64::MAX >> (TAGS_MAX - self.tags)
    }

    /// Bitmaps of one page, and so the positions.
    pub(super) fn per_page(&self) -> u64 {
        PAGE_WORDS as u64 * self.per_word
    }

    /// Pages that so many bitmaps take.
    pub(super) fn pages(&self, bitmaps: u64) -> Result<u64, GeometryError> {
        let pages = bitmaps.div_ceil(self.per_page());
        within("bits", pages.saturating_mul(PAGE_WORDS as u64 * 64), MAX_BITS)?;
        Ok(pages)
    }

    /// The word of a position's bitmap, and how far its lowest bit lies from the word's.
    #[inline(always)]
    pub(super) fn place(&self, position: u64) -> (usize, u32) {
        if self.reciprocal == 0 {
            return (position as usize, 0);
        }
        let word = ((u128::from(position) * u128::from(self.reciprocal)) >> 64) as u64;
        (word as usize, (position - word * self.per_word) as u32 * self.tags)
    }

    /// The bits that these tags have in every word.
    pub(super) fn pattern(&self, tags: u64) -> u64 {
        (0..self.per_word as u32).fold(0, |bits, bitmap| bits | tags << (bitmap * self.tags))
    }
}

/// Refuses layouts under which a key's bitmaps would be scattered more than its bits are.
///
/// A line of 512 positions would be as many bitmaps, 16 lines of memory for 16 tags: no line layout any more.
pub(super) fn check_layout<L: Layout>(layout: &L) -> Result<(), GeometryError> {
    match layout.any() {
        AnyLayout::Line(_) => Err(GeometryError::NotForTags("line".into())),
        AnyLayout::Paged(paged) if paged.pages_per_key() != 1 => {
            Err(GeometryError::NotForTags(format!("paged with {} pages a key", paged.pages_per_key())))
        }
        AnyLayout::Flat(_) | AnyLayout::Paged(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Any number of tags: bitmaps that neither overlap nor straddle words, where division would put them.
    #[test]
    fn bitmaps_keep_to_themselves() {
        for tags in 1..=TAGS_MAX {
            let bitmaps = Bitmaps::new(tags).expect("in range");
            let per_word = u64::from(64 / tags);
            for position in (0..1000).chain((1 << 43) - 100..1 << 43) {
                let expected = ((position / per_word) as usize, (position % per_word) as u32 * tags);
                assert_eq!(bitmaps.place(position), expected, "{tags} tags, position {position}");
            }
            let mut taken = 0u64;
            for position in 0..per_word {
                let bits = bitmaps.all() << bitmaps.place(position).1;
                assert_eq!(taken & bits, 0, "{tags} tags");
                taken |= bits;
            }
            assert_eq!(taken, bitmaps.pattern(bitmaps.all()));
            assert_eq!(taken.count_ones(), tags * per_word as u32);
        }
        assert!(Bitmaps::new(0).is_err() && Bitmaps::new(65).is_err());
    }
}
