//! Lines of 32-bit slots: a fixed number of keys with counts up to 1,023, read without locks, written by exchange.
//!
//! A line is a cache line of 64 bytes: 16 slots, two of them in a 64-bit word. A slot has a part of the fingerprint, 22
//! bits that are never 0, above a count of 10 bits; or it is 0 and empty. A key goes into the emptier of its two lines
//! and never moves. So a reader needs no lock and no counter of moves: whatever was there is there.
//!
//! A key's count is the sum of all slots of its two lines that have its part. Two keys with the same part read each
//! other's count too: too high, never too low. Two threads that bring the same new key at once may take two slots for
//! it; each has what its thread added, and the sum is right.
//!
//! Why the sum and not the first slot that matches: a key that came later, and got a slot of the first line, would
//! hide the count of one that lies in the second.

use std::sync::atomic::Ordering::Relaxed;

use super::Fingerprint;
use super::place::{Place, SLOT_FULL};
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

/// One in each of the two slots of a word.
const PAIR: u64 = 1 << 32 | 1;

/// Marks the slots of a word that are 0, in their highest bits. No slot may be 1: what its neighbour borrows would make
/// it look like 0. None is, since parts are not 0.
#[inline(always)]
fn zero_slots(word: u64) -> u64 {
    word.wrapping_sub(PAIR) & !word & PAIR << 31
}

/// The slots.
#[derive(Debug)]
pub(super) struct Lines {
    lines: u64,
    pages: SharedPages,
}

/// What the two lines of a key say of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Seen {
    /// The counts of all slots that match.
    pub(super) sum: u64,
    /// There may be more of it elsewhere: a slot that matches is full, or so are both lines.
    pub(super) more: bool,
}

/// What became of an addition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Put {
    /// What all matching slots hold afterwards.
    pub(super) sum: u64,
    /// What no slot had room for.
    pub(super) rest: u64,
    /// Whether a slot matched before.
    pub(super) held: bool,
    /// As in [`Seen`], afterwards.
    pub(super) more: bool,
}

/// What lines hold.
#[derive(Clone, Copy, Debug)]
pub(super) struct Load {
    /// Slots a line whose count is at least what was asked.
    pub(super) high: f64,
    /// The share of lines without an empty slot.
    pub(super) full: f64,
}

/// A key's slots as one look found them.
struct Found {
    sum: u64,
    /// A slot that matches and is not full, and its count.
    open: Option<(usize, u64)>,
    /// A slot matches.
    held: bool,
    /// A slot that matches is full.
    full: bool,
    /// An empty slot of the emptier line.
    free: Option<usize>,
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
    pub(super) fn place(&self, fingerprint: Fingerprint) -> Place {
        Place::new(fingerprint, self.lines)
    }

    #[inline(always)]
    pub(super) fn prefetch(&self, place: &Place) {
        place.pair.into_iter().for_each(|line| prefetch(self.pages.words(), line as usize * LINE_WORDS));
    }

    /// The slots of a line, each read whole.
    #[inline(always)]
    fn slots(&self, line: u64) -> [u32; LINE_SLOTS as usize] {
        let start = line as usize * LINE_WORDS;
        let words = &self.pages.words()[start..start + LINE_WORDS];
        let mut slots = [0; LINE_SLOTS as usize];
        for (pair, word) in slots.as_chunks_mut().0.iter_mut().zip(words) {
            let word = word.load(Relaxed);
            *pair = [word as u32, (word >> 32) as u32];
        }
        slots
    }

    /// What it holds of a key.
    #[inline(always)]
    pub(super) fn get(&self, place: &Place) -> Seen {
        // Two slots at a time and without branches: whether a key is there is nothing a processor can guess.
        let part = u64::from(place.part) * PAIR;
        let (mut sum, mut full, mut free) = (0, 0, 0);
        for line in place.pair {
            let start = line as usize * LINE_WORDS;
            for word in &self.pages.words()[start..start + LINE_WORDS] {
                let word = word.load(Relaxed);
                let matching = zero_slots((word ^ part) & !(u64::from(SLOT_FULL) * PAIR));
                let counts = word & (matching >> 31) * u64::from(SLOT_FULL);
                sum += counts;
                // One more than a full count carries into the part, which is not there.
                full |= (counts + PAIR) & !(u64::from(SLOT_FULL) * PAIR);
                free |= zero_slots(word);
            }
        }
        Seen { sum: (sum >> 32) + (sum & u64::from(u32::MAX)), more: full != 0 || free == 0 }
    }

    fn find(&self, place: &Place) -> Found {
        let mut found = Found { sum: 0, open: None, held: false, full: false, free: None };
        let mut room = 0;
        for line in place.pair {
            let slots = self.slots(line);
            let number = |slot: usize| line as usize * LINE_SLOTS as usize + slot;
            for (index, slot) in slots.into_iter().enumerate() {
                let count = slot ^ place.part;
                if count <= SLOT_FULL {
                    found.sum += u64::from(count);
                    found.held = true;
                    found.full |= count == SLOT_FULL;
                    if count < SLOT_FULL {
                        found.open = Some((number(index), u64::from(count)));
                    }
                }
            }
            let empty = slots.iter().filter(|&&slot| slot == 0).count();
            if empty > room {
                room = empty;
                found.free = slots.iter().position(|&slot| slot == 0).map(number);
            }
        }
        found
    }

    /// Counts a key `increment` times more, as far as its slot goes.
    pub(super) fn add(&self, place: &Place, increment: u64) -> Put {
        // Each round but the last, another thread has taken the slot this one wanted: there are 32 to take.
        loop {
            let found = self.find(place);
            let free = found.free.filter(|_| !found.held).map(|slot| (slot, 0));
            let Some((slot, seen)) = found.open.or(free) else {
                return Put { sum: found.sum, rest: increment, held: found.held, more: true };
            };
            if let Some((before, after)) = self.raise(slot, place.part, increment) {
                return Put {
                    sum: found.sum - seen + after,
                    rest: increment - (after - before),
                    held: found.held || before > 0,
                    more: found.full || after == u64::from(SLOT_FULL) || found.free.is_none(),
                };
            }
        }
    }

    /// Raises a slot that is empty or has this part; its count before and after. `None` where it has another part.
    fn raise(&self, slot: usize, part: u32, increment: u64) -> Option<(u64, u64)> {
        let (word, shift) = (&self.pages.words()[slot / 2], slot % 2 * 32);
        let mut now = word.load(Relaxed);
        loop {
            let held = (now >> shift) as u32;
            if held != 0 && held ^ part > SLOT_FULL {
                return None;
            }
            let before = u64::from(held & SLOT_FULL);
            let after = before.saturating_add(increment).min(u64::from(SLOT_FULL));
            let new = now & !(u64::from(u32::MAX) << shift) | (u64::from(part) | after) << shift;
            match word.compare_exchange_weak(now, new, Relaxed, Relaxed) {
                Ok(_) => return Some((before, after)),
                Err(other) => now = other,
            }
        }
    }

    /// What lines hold on average; read off some of them where there are many.
    pub(super) fn load(&self, least: u64) -> Load {
        let step = self.lines.div_ceil(SAMPLE_LINES).max(1);
        let (mut high, mut full, mut lines) = (0u64, 0u64, 0u64);
        for line in (0..self.lines).step_by(step as usize) {
            let counts = self.slots(line).map(|slot| u64::from(slot & SLOT_FULL));
            high += counts.iter().filter(|&&count| count >= least).count() as u64;
            full += u64::from(counts.iter().all(|&count| count > 0));
            lines += 1;
        }
        let mean = |sum: u64| sum as f64 / lines.max(1) as f64;
        Load { high: mean(high), full: mean(full) }
    }
}
