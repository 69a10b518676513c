//! Slots in lines: finding a key beside a writer, and making room for one by moving others.
//!
//! When a new key finds both its lines full, a key of theirs is moved to its own other line, if need be after a key of
//! that line was moved, and so on: the shortest chain that ends at a free slot is searched breadth first. Why not put
//! the new key into a third line: lookups would go there too, and lines that were full once would have to say so for
//! ever. Tried: where keys come and go at a load of 0.85, all lines had said so when each key was replaced five times.
//!
//! A reader could look for a key where it will be, and then where it was. So a move has three steps: the key is
//! copied, the move is counted, the old slot is freed. Who saw the old slot free sees the count; who saw the count
//! before looking sees the copy. A reader that finds nothing and sees the same count before and after has looked
//! everywhere, and one that finds something needs no count: between copy and freeing both slots hold the same.

use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

use super::place::{KeyPlace, other_line};
use super::words::Writer;
use super::{EMPTY, LINE_SLOTS, VALUE_BITS, VALUE_MAX};
use crate::cells::AtomicWord;

/// How many counters of moves there are, a power of two; keys share them by print. So many that a reader seldom meets
/// another key's move, and no more than two pages of memory, which stay in the cache.
pub(super) const MOVE_COUNTERS: usize = 1024;

/// How often a reader looks again when a key was moved meanwhile. Once is rare; a reader out of luck this often waits
/// for the writer.
const LOOKS_MAX: u32 = 16;

/// The most lines that are looked at for a chain of moves: what a refused key costs. Measured over tables of 1e4 to 1e7
/// keys, with 17 seeds in all, tables refused their first key at loads of 0.985 to 0.995.
const CHAIN_LINES_MAX: usize = 256;

/// The slots of a table and the counters of its moves.
#[derive(Debug)]
pub(super) struct Slots<'a, W> {
    pub(super) words: &'a [W],
    /// A power of two of them.
    pub(super) moves: &'a [W],
}

/// A line that a search came to, from the key in a slot of a line it came to before.
struct Reached {
    line: u64,
    from: Option<Step>,
}

#[derive(Clone, Copy)]
struct Step {
    slot: usize,
    reached: usize,
}

/// The value of a slot; 0 when it is empty.
#[inline(always)]
pub(super) fn value_of(word: u64) -> u64 {
    word & VALUE_MAX
}

fn slots_of(line: u64) -> std::ops::Range<usize> {
    let start = line as usize * LINE_SLOTS;
    start..start + LINE_SLOTS
}

impl<W: AtomicWord> Slots<'_, W> {
    fn lines(&self) -> u64 {
        (self.words.len() / LINE_SLOTS) as u64
    }

    fn moves_of(&self, word: u64) -> &W {
        &self.moves[(word >> VALUE_BITS) as usize & (self.moves.len() - 1)]
    }

    /// The value of a key, 0 when it has none; `None` when keys moved too often to tell.
    #[inline(always)]
    pub(super) fn get(&self, place: &KeyPlace) -> Option<u64> {
        let moves = self.moves_of(place.print);
        for _ in 0..LOOKS_MAX {
            let before = moves.load(Acquire);
            let value = self.look(place);
            if value != 0 || moves.load(Relaxed) == before {
                return Some(value);
            }
        }
        None
    }

    /// One look at the two lines of a key.
    ///
    /// Both are read in any case: nobody could predict in which one a key is, and their cache misses overlap.
    #[inline(always)]
    fn look(&self, place: &KeyPlace) -> u64 {
        let [first, second] = place.pair.map(|line| self.look_in(line, place.print));
        if first != 0 { first } else { second }
    }

    #[inline(always)]
    fn look_in(&self, line: u64, print: u64) -> u64 {
        let mut value = 0;
        for slot in &self.words[slots_of(line)] {
            // What is left is a value for the same print, and more than any value for another one.
            let rest = slot.load(Acquire) ^ print;
            value = if rest <= VALUE_MAX { rest } else { value };
        }
        value
    }

    /// The slot that holds a key. For the writer alone, as all that follows.
    pub(super) fn find(&self, place: &KeyPlace) -> Option<usize> {
        let holds = |slot: &usize| self.words[*slot].load(Relaxed) ^ place.print <= VALUE_MAX;
        place.pair.into_iter().find_map(|line| slots_of(line).find(holds))
    }

    /// How many slots of a line are free, and the first of them.
    fn room(&self, line: u64) -> (usize, usize) {
        let free = |slot: &usize| self.words[*slot].load(Relaxed) == EMPTY;
        slots_of(line).rev().filter(free).fold((0, 0), |(count, _), slot| (count + 1, slot))
    }

    /// A free slot for a key that has none: in the emptier of its two lines, or where another key made room.
    pub(super) fn make_room(&self, writer: &mut Writer, place: &KeyPlace) -> Option<usize> {
        let [first, second] = place.pair.map(|line| self.room(line));
        match if second.0 > first.0 { second } else { first } {
            (0, _) => self.shift(writer, place),
            (_, slot) => Some(slot),
        }
    }

    /// Moves keys along the shortest chain from one of the lines to a free slot, and returns the slot that got free.
    #[cold]
    fn shift(&self, writer: &mut Writer, place: &KeyPlace) -> Option<usize> {
        let mut reached: Vec<Reached> = place.pair.map(|line| Reached { line, from: None }).into();
        let mut now = 0;
        while let Some(&Reached { line, .. }) = reached.get(now) {
            for slot in slots_of(line) {
                let other = other_line(self.words[slot].load(Relaxed), line, self.lines());
                // A line once only: so no chain comes to a slot twice.
                if reached.iter().any(|reached| reached.line == other) {
                    continue;
                }
                reached.push(Reached { line: other, from: Some(Step { slot, reached: now }) });
                if let (1.., free) = self.room(other) {
                    return Some(self.move_along(writer, &reached, free));
                }
                if reached.len() == CHAIN_LINES_MAX {
                    return None;
                }
            }
            now += 1;
        }
        None
    }

    /// Moves the keys of the chain that ends with the last line reached, its last key first.
    fn move_along(&self, writer: &mut Writer, reached: &[Reached], mut free: usize) -> usize {
        let mut last = reached.last();
        while let Some(step) = last.and_then(|reached| reached.from) {
            self.move_key(writer, step.slot, free);
            free = step.slot;
            last = reached.get(step.reached);
        }
        free
    }

    /// Copy, count, free: in this order.
    pub(super) fn move_key(&self, writer: &mut Writer, from: usize, to: usize) {
        let word = self.words[from].load(Relaxed);
        let moves = self.moves_of(word);
        self.put(writer, to, word);
        moves.store(moves.load(Relaxed).wrapping_add(1), Release);
        self.put(writer, from, EMPTY);
    }

    /// Writes a slot: the one way to do so.
    ///
    /// Release, as readers acquire: who saw a key where it was moved to never again sees where it was.
    #[inline(always)]
    pub(super) fn put(&self, writer: &mut Writer, slot: usize, word: u64) {
        writer.keep(slot, self.words[slot].load(Relaxed));
        self.words[slot].store(word, Release);
    }
}
