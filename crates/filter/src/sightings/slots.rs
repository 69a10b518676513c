//! The slots of two lines: finding a key beside writers, and counting it by exchange.
//!
//! Generic over the words and how many make a line, so that the model checker can go through all that threads can do.

use std::sync::atomic::Ordering::Relaxed;

use super::place::{SLOT_FULL, SeenPlace};
use crate::cells::AtomicWord;

/// One in each of the two slots of a word.
const PAIR: u64 = 1 << 32 | 1;

/// Marks the slots of a word that are 0, in their highest bits. No slot may be 1: what its neighbour borrows would make
/// it look like 0. None is, since parts are not 0.
#[inline(always)]
fn zero_slots(word: u64) -> u64 {
    word.wrapping_sub(PAIR) & !word & PAIR << 31
}

/// Words of two slots each, `LINE` of them a line.
#[derive(Debug)]
pub(super) struct Slots<'a, W, const LINE: usize>(pub(super) &'a [W]);

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

/// The two slots of a word.
#[inline(always)]
pub(super) fn pair_of(word: u64) -> [u32; 2] {
    [word as u32, (word >> 32) as u32]
}

impl<W: AtomicWord, const LINE: usize> Slots<'_, W, LINE> {
    /// The words of a line, each read whole.
    #[inline(always)]
    pub(super) fn line(&self, line: u64) -> [u64; LINE] {
        let start = line as usize * LINE;
        let words = &self.0[start..start + LINE];
        std::array::from_fn(|word| words[word].load(Relaxed))
    }

    /// What it holds of a key.
    #[inline(always)]
    pub(super) fn get(&self, place: &SeenPlace) -> Seen {
        // Two slots at a time and without branches: whether a key is there is nothing a processor can guess.
        let part = u64::from(place.part) * PAIR;
        let mut sum = 0;
        let mut full = 0;
        let mut free = 0;
        for line in place.pair {
            for word in self.line(line) {
                let matching = zero_slots((word ^ part) & !(u64::from(SLOT_FULL) * PAIR));
                let counts = word & ((matching >> 31) * u64::from(SLOT_FULL));
                sum += counts;
                // One more than a full count carries into the part, which is not there.
                full |= (counts + PAIR) & !(u64::from(SLOT_FULL) * PAIR);
                free |= zero_slots(word);
            }
        }
        Seen { sum: (sum >> 32) + (sum & u64::from(u32::MAX)), more: full != 0 || free == 0 }
    }

    fn find(&self, place: &SeenPlace) -> Found {
        let mut found = Found { sum: 0, open: None, held: false, full: false, free: None };
        let mut room = 0;
        for line in place.pair {
            let mut empty = 0;
            let mut last_empty = None;
            let slots = self.line(line).into_iter().flat_map(pair_of);
            for (number, slot) in (2 * LINE * line as usize..).zip(slots) {
                let count = slot ^ place.part;
                if count <= SLOT_FULL {
                    found.sum += u64::from(count);
                    found.held = true;
                    found.full |= count == SLOT_FULL;
                    if count < SLOT_FULL {
                        found.open = Some((number, u64::from(count)));
                    }
                } else if slot == 0 {
                    empty += 1;
                    last_empty = Some(number);
                }
            }
            if empty > room {
                room = empty;
                found.free = last_empty;
            }
        }
        found
    }

    /// Counts a key `increment` times more, as far as its slot goes.
    pub(super) fn add(&self, place: &SeenPlace, increment: u64) -> Put {
        // Each round but the last, another thread has taken the slot this one wanted: there are few to take.
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
        let word = &self.0[slot / 2];
        let shift = slot % 2 * 32;
        let mut now = word.load(Relaxed);
        loop {
            let held = (now >> shift) as u32;
            if held != 0 && held ^ part > SLOT_FULL {
                return None;
            }
            let before = u64::from(held & SLOT_FULL);
            let after = before.saturating_add(increment).min(u64::from(SLOT_FULL));
            let new = now & !(u64::from(u32::MAX) << shift) | (u64::from(part) | after) << shift;
            match word.exchange(now, new, Relaxed) {
                Ok(_) => return Some((before, after)),
                Err(other) => now = other,
            }
        }
    }
}

#[cfg(test)]
mod tests;
