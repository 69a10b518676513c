//! Cells side by side: the cells that several filters have at one position lie in one *group*, one *lane* a filter.
//!
//! Filters that are looked up together with the same positions (the tags of a tagged filter, the generations of an
//! epoch) then cost one lookup the lines of one filter. A lane is one of those filters: a tag, or a place in a ring.
//!
//! A group that fits a word lies in one; a larger one takes a power of two of whole words. So no group straddles a
//! cache line, unless it is larger than one, and then it begins where a line does. Words of a power of two waste no
//! more than any other rule for that: of three to eight words, one or two groups fit a line anyway.

use super::{Cells, CellsMut, LINE_WORDS, Packing};
use crate::error::GeometryError;
use crate::layout::{AnyLayout, Layout, MAX_BITS, within};
use crate::memory::{PAGE_WORDS, prefetch};

/// The most lanes: a set of them is one word.
pub const LANES_MAX: u32 = 64;

/// How the cells of `lanes` filters lie in words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lanes {
    packing: Packing,
    lanes: u32,
    /// Bits from a group to the next in a word.
    group_bits: u32,
    /// Groups a word holds; 1 where a group takes one or more whole words.
    per_word: u64,
    /// Words a group takes; 1 where one holds several.
    words_per_group: u64,
    /// As in [`Packing`]; 0 where no word holds two groups.
    reciprocal: u64,
}

impl Lanes {
    /// `lanes` filters, 1 to [`LANES_MAX`], of cells packed like this.
    pub fn new(packing: Packing, lanes: u32) -> Result<Self, GeometryError> {
        within("lanes", u64::from(lanes), u64::from(LANES_MAX))?;
        let group_bits = lanes * packing.bits();
        let per_word = u64::from(64 / group_bits).max(1);
        let words_per_group = u64::from(lanes).div_ceil(packing.per_word()).next_power_of_two();
        let reciprocal = if per_word == 1 { 0 } else { (1u128 << 64).div_ceil(u128::from(per_word)) as u64 };
        Ok(Lanes { packing, lanes, group_bits, per_word, words_per_group, reciprocal })
    }

    /// How many lanes there are.
    pub fn lanes(&self) -> u32 {
        self.lanes
    }

    /// How the cells of one lane would lie by themselves.
    pub fn packing(&self) -> Packing {
        self.packing
    }

    /// Words a group takes; 1 where a word holds several groups.
    pub fn words_per_group(&self) -> u64 {
        self.words_per_group
    }

    /// Groups of one page, and so the positions.
    pub fn per_page(&self) -> u64 {
        PAGE_WORDS as u64 * self.per_word / self.words_per_group
    }

    /// Groups of one cache line; 1 where a group takes one or more whole lines.
    pub fn per_line(&self) -> u64 {
        (LINE_WORDS as u64 * self.per_word / self.words_per_group).max(1)
    }

    /// Cache lines of a group that hold a cell of these lanes.
    pub fn lines_per_group(&self, set: u64) -> u64 {
        let words: Vec<u64> =
            (0..self.words_per_group as usize).map(|word| self.in_group(set, word)).collect();
        words.chunks(LINE_WORDS).filter(|line| line.iter().any(|&word| word != 0)).count() as u64
    }

    /// The pages that `positions` groups take, if that is within the limits.
    pub fn pages(&self, positions: u64) -> Result<u64, GeometryError> {
        let pages = positions.div_ceil(self.per_page());
        within("bits", pages.saturating_mul(crate::memory::PAGE_BITS), MAX_BITS)?;
        Ok(pages)
    }

    /// The share of memory that holds no cell.
    pub fn waste(&self) -> f64 {
        1.0 - (u64::from(self.group_bits) * self.per_word) as f64 / (64 * self.words_per_group) as f64
    }

    /// The set of all lanes.
    #[inline(always)]
    pub fn all(&self) -> u64 {
        u64::MAX >> (LANES_MAX - self.lanes)
    }

    /// The first word of a position's group, and how far the group's lowest bit lies from the word's.
    #[inline(always)]
    pub fn place(&self, position: u64) -> (usize, u32) {
        if self.reciprocal == 0 {
            return ((position * self.words_per_group) as usize, 0);
        }
        let word = ((u128::from(position) * u128::from(self.reciprocal)) >> 64) as u64;
        (word as usize, (position - word * self.per_word) as u32 * self.group_bits)
    }

    /// Where a lane's cell lies in its group: the word from the first on, and the shift there.
    #[inline(always)]
    pub fn lane_place(&self, lane: u32) -> (usize, u32) {
        let (per_word, bits) = (self.packing.per_word() as u32, self.packing.bits());
        ((lane / per_word) as usize, lane % per_word * bits)
    }

    /// The bits that the cells of these lanes have in word `word` of a group with no shift.
    pub(crate) fn in_group(&self, set: u64, word: usize) -> u64 {
        (0..self.lanes)
            .filter(|lane| set >> lane & 1 == 1)
            .map(|lane| self.lane_place(lane))
            .filter(|&(lane_word, _)| lane_word == word)
            .fold(0, |bits, (_, shift)| bits | self.packing.cap() << shift)
    }

    /// The bits that the cells of these lanes have in each word of memory: word i has those at
    /// `i % words_per_group`.
    pub(crate) fn patterns(&self, set: u64) -> Vec<u64> {
        (0..self.words_per_group as usize)
            .map(|word| {
                let one = self.in_group(set, word);
                (0..self.per_word as u32).fold(0, |bits, group| bits | one << (group * self.group_bits))
            })
            .collect()
    }
}

/// Refuses layouts whose keys' cells cannot lie side by side.
///
/// A line of 512 positions would be as many groups, 16 lines of memory for 16 tags: no line layout any more.
pub(crate) fn check_layout<L: Layout>(layout: &L) -> Result<(), GeometryError> {
    match layout.any() {
        AnyLayout::Line(_) => Err(GeometryError::NotForLanes("line".into())),
        AnyLayout::Paged(paged) if paged.pages_per_key() != 1 => {
            Err(GeometryError::NotForLanes(format!("paged with {} pages a key", paged.pages_per_key())))
        }
        AnyLayout::Flat(_) | AnyLayout::Paged(_) => Ok(()),
    }
}

/// The cells of one lane, seen as those of a filter by itself.
#[derive(Debug)]
pub struct LaneCells<S> {
    lanes: Lanes,
    /// Where the lane's cells lie in their groups.
    word: usize,
    shift: u32,
    len: u64,
    per_page: u64,
    words: S,
}

impl<S: AsRef<[u64]>> LaneCells<S> {
    /// Lane `lane` of the `len` groups in `words`, `per_page` of them a page of the layout.
    pub(crate) fn new(lanes: Lanes, lane: u32, len: u64, per_page: u64, words: S) -> Self {
        debug_assert!(lane < lanes.lanes && lanes.place(len - 1).0 < words.as_ref().len());
        let (word, shift) = lanes.lane_place(lane);
        LaneCells { lanes, word, shift, len, per_page, words }
    }

    #[inline(always)]
    fn place(&self, cell: u64) -> (usize, u32) {
        let (word, shift) = self.lanes.place(cell);
        (word + self.word, shift + self.shift)
    }
}

impl<S: AsRef<[u64]>> Cells for LaneCells<S> {
    #[inline(always)]
    fn cap(&self) -> u64 {
        self.lanes.packing.cap()
    }

    fn len(&self) -> u64 {
        self.len
    }

    fn per_page(&self) -> u64 {
        self.per_page
    }

    #[inline(always)]
    fn get(&self, cell: u64) -> u64 {
        let (word, shift) = self.place(cell);
        self.lanes.packing.read(self.words.as_ref()[word], shift)
    }

    #[inline(always)]
    fn prefetch(&self, cell: u64) {
        prefetch(self.words.as_ref(), self.place(cell).0);
    }

    fn for_each_nonzero(&self, mut visit: impl FnMut(u64, u64)) {
        for cell in 0..self.len {
            let value = self.get(cell);
            if value > 0 {
                visit(cell, value);
            }
        }
    }

    fn for_each_change(&self, old: &Self, mut visit: impl FnMut(u64, u64, u64)) {
        assert_eq!(self.len, old.len, "as many cells on both sides");
        for cell in 0..self.len {
            let (old, new) = (old.get(cell), self.get(cell));
            if old != new {
                visit(cell, old, new);
            }
        }
    }
}

impl<S: AsRef<[u64]> + AsMut<[u64]>> CellsMut for LaneCells<S> {
    #[inline(always)]
    fn set(&mut self, cell: u64, value: u64) {
        let (word, shift) = self.place(cell);
        let word = &mut self.words.as_mut()[word];
        *word = self.lanes.packing.write(*word, shift, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cells::CELL_BITS_MAX;
    use crate::random::SplitMix;

    /// Every width and number of lanes: groups that neither overlap nor straddle, as dense as stated.
    #[test]
    fn groups_keep_to_themselves() {
        for (bits, count) in
            (1..=CELL_BITS_MAX).flat_map(|bits| (1..=LANES_MAX).map(move |count| (bits, count)))
        {
            let lanes = Lanes::new(Packing::new(bits).expect("a width"), count).expect("in range");
            let (per_line, words) = (lanes.per_line(), lanes.words_per_group());
            let cells: Vec<(usize, u32)> = (0..2 * per_line)
                .flat_map(|position| {
                    (0..count).map(move |lane| (lanes.place(position), lanes.lane_place(lane)))
                })
                .map(|((word, shift), (lane_word, lane_shift))| (word + lane_word, shift + lane_shift))
                .collect();
            let mut taken = vec![0u64; 2 * words.max(LINE_WORDS as u64) as usize];
            for (cell, &(word, shift)) in cells.iter().enumerate() {
                let mask = lanes.packing.cap() << shift;
                assert!(shift + bits <= 64 && taken[word] & mask == 0, "{bits} bits, {count} lanes");
                taken[word] |= mask;
                let first = cells[cell / count as usize * count as usize].0;
                assert!(words > LINE_WORDS as u64 || first / 8 == word / 8, "a group straddles a line");
            }
            let whole = lanes.patterns(lanes.all());
            assert!(taken.iter().enumerate().all(|(i, &word)| word == whole[i % whole.len()]));
            let ones: u32 = taken.iter().map(|word| word.count_ones()).sum();
            let waste = 1.0 - f64::from(ones) / (64 * taken.len()) as f64;
            assert!((waste - lanes.waste()).abs() < 1e-12, "{bits} bits, {count} lanes: {waste}");
        }
        assert!(Lanes::new(Packing::new(1).expect("a width"), 0).is_err());
        assert!(Lanes::new(Packing::new(1).expect("a width"), 65).is_err());
    }

    #[test]
    fn the_place_of_a_group_is_that_of_division() {
        for count in 1..=LANES_MAX {
            let lanes = Lanes::new(Packing::new(1).expect("a width"), count).expect("in range");
            for position in (0..1000).chain((1 << 43) - 100..1 << 43) {
                let per_word = u64::from(64 / count);
                let expected = ((position / per_word) as usize, (position % per_word) as u32 * count);
                assert_eq!(lanes.place(position), expected, "{count} lanes, position {position}");
            }
        }
    }

    #[test]
    fn lanes_are_arrays_of_numbers_beside_each_other() {
        for (bits, count) in [(1, 16), (1, 7), (4, 8), (4, 32), (5, 13), (16, 64)] {
            let lanes = Lanes::new(Packing::new(bits).expect("a width"), count).expect("in range");
            let len = 300;
            let mut words = vec![0u64; lanes.place(len).0 + lanes.words_per_group() as usize];
            let mut oracle = vec![vec![0; len as usize]; count as usize];
            let mut rng = SplitMix(u64::from(bits + count));
            for _ in 0..5000 {
                let (lane, cell) = (rng.next() % u64::from(count), rng.next() % len);
                let value = rng.next() & lanes.packing.cap();
                LaneCells::new(lanes, lane as u32, len, 512, &mut words[..]).set(cell, value);
                oracle[lane as usize][cell as usize] = value;
            }
            for lane in 0..count {
                let cells = LaneCells::new(lanes, lane, len, 512, &words[..]);
                let expected = &oracle[lane as usize];
                assert!((0..len).all(|cell| cells.get(cell) == expected[cell as usize]), "{bits} {count}");
                let mut sum = 0;
                cells.for_each_nonzero(|_, value| sum += value);
                assert_eq!(sum, expected.iter().sum::<u64>());
            }
        }
    }
}
