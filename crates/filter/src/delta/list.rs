//! A list of changes: which of many things changed, and by how much, in blocks.
//!
//! Blocks make one pass enough, whatever the number of changes, and follow them where they come in clusters. A block
//! is:
//!
//! * one bit: 1 for a block of [`BLOCK_CHANGES`], 0 for the last one, whose number of changes follows in 12 bits;
//! * the number of unchanged things among its changes, and where they stand: a [set](super::set). The last change ends
//!   the block, so it is no member of the set;
//! * where changes have values, a *ladder*: of all changes those above 1, of these those above 2, and so on, each a
//!   set. By the chain rule this is the entropy of the values, whether nearly all are 1 or nearly none. When few are
//!   left, or after [`RUNGS_MAX`] rungs, the rest are numbers in a Rice code.

use super::DeltaError;
use super::set::{read_numbers, read_set, write_numbers, write_set};
use super::stream::{BitReader, BitWriter};

/// Changes of a full block: enough that its dozen bytes of parameters cost less than 1 %, few enough that it stays in
/// the second-level cache.
const BLOCK_CHANGES: usize = 1 << LAST_BITS;
/// Bits for the number of changes of the last block.
const LAST_BITS: u32 = 12;
/// Each rung is one more pass over what is left of a block. Values that climb higher are widely spread, and a
/// Rice code suits them.
const RUNGS_MAX: u64 = 24;
/// For fewer than this a set's parameters cost more than it saves.
const RUNG_CHANGES_MIN: usize = 16;

/// Writes a list.
#[derive(Debug)]
pub(super) struct ListWriter {
    out: BitWriter,
    valued: bool,
    gaps: Vec<u64>,
    values: Vec<u64>,
    rung: Vec<u64>,
}

impl ListWriter {
    /// A list behind what `out` holds already, with values or without.
    pub(super) fn new(out: BitWriter, valued: bool) -> Self {
        let room = || Vec::with_capacity(BLOCK_CHANGES);
        ListWriter { out, valued, gaps: room(), values: room(), rung: vec![0; BLOCK_CHANGES] }
    }

    /// One change, `gap` unchanged things after the one before, by `value`, which is at least 1.
    #[inline(always)]
    pub(super) fn add(&mut self, gap: u64, value: u64) {
        self.gaps.push(gap);
        if self.valued {
            self.values.push(value);
        }
        if self.gaps.len() == BLOCK_CHANGES {
            self.full();
        }
    }

    #[cold]
    #[inline(never)]
    fn full(&mut self) {
        self.out.push(1, 1);
        self.write_block();
    }

    fn write_block(&mut self) {
        if let Some((&last, inner)) = self.gaps.split_last() {
            self.out.push_number(inner.iter().sum::<u64>() + last);
            write_set(&mut self.out, inner, last);
            if self.valued {
                write_ladder(&mut self.out, &mut self.values, &mut self.rung);
            }
        }
        self.gaps.clear();
        self.values.clear();
    }

    /// Bits so far, but for the block that is not full yet.
    pub(super) fn bits(&self) -> u64 {
        self.out.bits()
    }

    /// The end of the list.
    pub(super) fn finish(mut self) -> BitWriter {
        self.out.push(0, 1);
        self.out.push(self.gaps.len() as u64, LAST_BITS);
        self.write_block();
        self.out
    }
}

/// Writes values that are all at least 1. `gaps` is room for as many.
pub(super) fn write_ladder(out: &mut BitWriter, values: &mut Vec<u64>, gaps: &mut [u64]) {
    for level in 1.. {
        let mut above = 0;
        let mut gap = 0;
        for i in 0..values.len() {
            let value = values[i];
            // Written always and kept if it is above: faster than a branch that goes either way.
            (gaps[above], values[above]) = (gap, value);
            (above, gap) = if value > level { (above + 1, 0) } else { (above, gap + 1) };
        }
        out.push_number(above as u64);
        write_set(out, &gaps[..above], gap);
        values.truncate(above);
        if above == 0 {
            return;
        }
        let another = above >= RUNG_CHANGES_MIN && level < RUNGS_MAX;
        out.push(u64::from(another), 1);
        if !another {
            values.iter_mut().for_each(|value| *value -= level + 1);
            let sum = values.iter().fold(0, |sum: u64, &value| sum.saturating_add(value));
            return write_numbers(out, values, sum);
        }
    }
}

/// Reads a list block by block.
#[derive(Debug)]
pub(super) struct ListReader {
    valued: bool,
    gaps: Vec<u64>,
    values: Vec<u64>,
    rung: Vec<u64>,
    /// Which changes are still on the ladder.
    left: Vec<u32>,
}

impl ListReader {
    pub(super) fn new(valued: bool) -> Self {
        let room = || Vec::with_capacity(BLOCK_CHANGES);
        ListReader { valued, gaps: room(), values: room(), rung: room(), left: Vec::new() }
    }

    /// Hands every block's gaps and values (no values for a list without) to `each`, until one is refused.
    pub(super) fn read(
        &mut self,
        reader: &mut BitReader,
        mut each: impl FnMut(&[u64], &[u64]) -> Result<(), DeltaError>,
    ) -> Result<(), DeltaError> {
        loop {
            let full = reader.take(1) == 1;
            let changes = if full { BLOCK_CHANGES } else { reader.take(LAST_BITS) as usize };
            reader.check()?;
            if changes > 0 {
                self.read_block(reader, changes)?;
                each(&self.gaps, &self.values)?;
            }
            if !full {
                return Ok(());
            }
        }
    }

    fn read_block(&mut self, reader: &mut BitReader, changes: usize) -> Result<(), DeltaError> {
        let unchanged = reader.take_number()?;
        self.gaps.resize(changes, 0);
        self.gaps[changes - 1] = read_set(reader, &mut self.gaps[..changes - 1], unchanged)?;
        if self.valued { self.read_ladder(reader, changes) } else { Ok(()) }
    }

    /// Reads so many values as [`write_ladder`] wrote them; nothing was written if there are none.
    pub(super) fn read_values(&mut self, reader: &mut BitReader, count: usize) -> Result<&[u64], DeltaError> {
        self.values.clear();
        if count > 0 {
            self.read_ladder(reader, count)?;
        }
        Ok(&self.values)
    }

    fn read_ladder(&mut self, reader: &mut BitReader, changes: usize) -> Result<(), DeltaError> {
        self.values.clear();
        self.values.resize(changes, 1);
        self.left.clear();
        self.left.extend(0..changes as u32);
        for level in 1..=RUNGS_MAX {
            let above = reader.take_number()? as usize;
            let others = self.left.len().checked_sub(above);
            let others = others.ok_or(DeltaError::Payload("a rung is longer than the one below"))?;
            self.rung.resize(above, 0);
            read_set(reader, &mut self.rung, others as u64)?;
            self.climb(level + 1);
            if above == 0 {
                return Ok(());
            }
            if reader.take(1) == 0 {
                return self.read_rest(reader, level + 1);
            }
        }
        Err(DeltaError::Payload("a ladder has too many rungs"))
    }

    /// Raises the members of the rung to `value` and leaves only them on the ladder.
    fn climb(&mut self, value: u64) {
        let mut at = 0;
        for (next, &gap) in self.rung.iter().enumerate() {
            at += gap as usize;
            let change = self.left[at];
            self.values[change as usize] = value;
            // Not behind what is read: `next` is at most `at`.
            self.left[next] = change;
            at += 1;
        }
        self.left.truncate(self.rung.len());
    }

    fn read_rest(&mut self, reader: &mut BitReader, least: u64) -> Result<(), DeltaError> {
        read_numbers(reader, &mut self.rung)?;
        for (&change, &more) in self.left.iter().zip(&self.rung) {
            self.values[change as usize] = least.saturating_add(more);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;
    use proptest::prelude::*;

    fn round_trip(changes: &[(u64, u64)], valued: bool) {
        let mut list = ListWriter::new(BitWriter::default(), valued);
        changes.iter().for_each(|&(gap, value)| list.add(gap, value));
        let bytes = list.finish().finish();
        let mut reader = BitReader::new(&bytes);
        let mut read = Vec::new();
        let result = ListReader::new(valued).read(&mut reader, |gaps, values| {
            for (i, &gap) in gaps.iter().enumerate() {
                let value = if valued { values[i] } else { changes[read.len()].1 };
                read.push((gap, value));
            }
            Ok(())
        });
        result.and_then(|()| reader.finish()).expect("sound");
        assert!(read == changes);
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(60))]
        /// Lists of every length, sparse and dense, with values that are small, spread or enormous.
        #[test]
        fn what_is_listed_is_read(
            seed: u64,
            length in prop_oneof![0..40usize, 4090..4100usize, 8000..9000usize],
            gap_bits in 0..43u32,
            value_bits in 0..41u32,
            valued: bool,
        ) {
            let mut rng = SplitMix(seed);
            let mut draw = |bits: u32| rng.next() & ((1 << (rng.next() % u64::from(bits + 1))) - 1);
            let changes: Vec<_> = (0..length).map(|_| (draw(gap_bits) >> 12, draw(value_bits) + 1)).collect();
            round_trip(&changes, valued);
        }
    }

    #[test]
    fn ladders_of_every_height() {
        for top in [1, 2, 3, RUNGS_MAX, RUNGS_MAX + 1, RUNGS_MAX + 2, 100, 1 << 41] {
            let changes: Vec<_> =
                (0..5000u64).map(|i| (i % 3, if i % 7 == 0 { top } else { 1 + i % top.min(40) })).collect();
            round_trip(&changes, true);
        }
    }
}
