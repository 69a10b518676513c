//! Lines of 32-bit slots: a fixed number of keys with counts up to 511, read without locks, written by exchange.
//!
//! A line is a cache line of 64 bytes: 16 slots, two of them in a 64-bit word. A slot has a part of the fingerprint, 23
//! bits that are never 0, above a count of 9 bits; or it is 0 and empty. A key goes into the emptier of its two lines
//! and never moves. So a reader needs no lock and no counter of moves: whatever was there is there.
//!
//! A key's count is the sum of all slots of its two lines that have its part. Two keys with the same part read each
//! other's count too: too high, never too low. Two threads that bring the same new key at once may take two slots for
//! it; each has what its thread added, and the sum is right.
//!
//! Why the sum and not the first slot that matches: a key that came later, and got a slot of the first line, would
//! hide the count of one that lies in the second.

use std::sync::atomic::AtomicU64;

use super::Fingerprint;
use super::place::{SLOT_FULL, SeenPlace};
use super::slots::{Put, Seen, Slots, pair_of};
use crate::cells::LINE_WORDS;
use crate::error::GeometryError;
use crate::layout::{MAX_BITS, within};
use crate::memory::{HugePages, PAGE_BYTES, PageBuf, SharedPages, prefetch};

/// Slots of a line.
pub(super) const LINE_SLOTS: u64 = 16;

/// The share of slots in use at capacity. 9e-5 of keys found no room on the way there; at 0.95 it would be 3e-3 of
/// them, each of which takes 9 bytes elsewhere, and lookups would go there more often.
pub(super) const LOAD: f64 = 0.9;

/// Slots of a page.
const PAGE_SLOTS: u64 = PAGE_BYTES as u64 / 4;

/// Lines that a rate is read off: 2^20 slots, for a relative error of a thousandth.
const SAMPLE_LINES: u64 = 1 << 16;

/// The slots.
#[derive(Debug)]
pub(super) struct Lines {
    lines: u64,
    pages: SharedPages,
}

/// What lines hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Slots a line whose count is at least what was asked.
    pub(super) high: f64,
    /// The share of lines without an empty slot.
    pub(super) full: f64,
}

impl Lines {
    /// Empty slots for so many keys at [`LOAD`].
    pub(super) fn new(capacity: u64) -> Result<Self, GeometryError> {
        within("capacity", capacity, (MAX_BITS as f64 / 32.0 * LOAD) as u64)?;
        let pages = ((capacity as f64 / LOAD).ceil() as u64).div_ceil(PAGE_SLOTS);
        let pages = PageBuf::zeroed(pages, HugePages::Default)?.share();
        Ok(Lines { lines: (pages.words().len() / LINE_WORDS) as u64, pages })
    }

    /// How many lines there are.
    pub(super) fn lines(&self) -> u64 {
        self.lines
    }

    /// The memory of all slots.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.lines * LINE_WORDS as u64 * 8
    }

    #[inline(always)]
    pub(super) fn place(&self, fingerprint: Fingerprint) -> SeenPlace {
        SeenPlace::new(fingerprint, self.lines)
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, place: &SeenPlace) {
        place.pair.into_iter().for_each(|line| prefetch(self.pages.words(), line as usize * LINE_WORDS));
    }

    #[inline(always)]
    fn slots(&self) -> Slots<'_, AtomicU64, LINE_WORDS> {
        Slots(self.pages.words())
    }

    /// What it holds of a key.
    #[inline(always)]
    pub(super) fn get(&self, place: &SeenPlace) -> Seen {
        self.slots().get(place)
    }

    /// Counts a key `increment` times more, as far as its slot goes.
    pub(super) fn add(&self, place: &SeenPlace, increment: u64) -> Put {
        self.slots().add(place, increment)
    }

    /// What lines hold on average; read off some of them where there are many.
    pub(super) fn load(&self, least: u64) -> Load {
        let step = self.lines.div_ceil(SAMPLE_LINES).max(1);
        let mut high = 0u64;
        let mut full = 0u64;
        let mut lines = 0u64;
        for line in (0..self.lines).step_by(step as usize) {
            let counts = self.slots().line(line).into_iter().flat_map(pair_of).map(|slot| slot & SLOT_FULL);
            high += counts.clone().filter(|&count| u64::from(count) >= least).count() as u64;
            full += u64::from(counts.clone().all(|count| count > 0));
            lines += 1;
        }
        let mean = |sum: u64| sum as f64 / lines.max(1) as f64;
        Load { high: mean(high), full: mean(full) }
    }
}
