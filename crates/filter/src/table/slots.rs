//! Slots in lines: finding a key, and finding room for one.
//!
//! Readers and the writer search by one rule, which rests on one invariant:
//!
//! * **When a key lies in its line n > 2, none of its lines before has an empty slot.** It was put there because
//!   they had neither empty slots nor tombstones. They are *spilled* from then on, and a slot of a spilled line that
//!   loses its key becomes a tombstone and never empty.
//! * So a search looks at lines 1 and 2; it goes on to line 3 only if neither has an empty slot, and from line n > 2
//!   to the next only if line n has none.
//!
//! In lines that never spilled, a slot that loses its key is empty again. With tombstones everywhere, a table in which
//! keys come and go would lose its last empty slots, and all strangers would be looked for in all lines.

use std::sync::atomic::Ordering::Relaxed;

use super::place::Place;
use super::{EMPTY, LINE_SLOTS, VALUE_MAX};
use crate::cells::AtomicWord;
use crate::layout::{bit_of, is_set, word_of};

/// The value of a slot; 0 when it is empty or a tombstone.
#[inline(always)]
pub(super) fn value_of(word: u64) -> u64 {
    word & VALUE_MAX
}

/// The slots of a line.
#[inline(always)]
fn line_of<W>(slots: &[W], line: u64) -> &[W; LINE_SLOTS] {
    let start = line as usize * LINE_SLOTS;
    slots[start..].first_chunk().expect("a table is whole lines")
}

/// What a line says of a print: its value, or 0; and whether the line has an empty slot.
#[inline(always)]
fn read_line<W: AtomicWord>(slots: &[W], line: u64, print: u64) -> (u64, bool) {
    let (mut value, mut open) = (0, false);
    for slot in line_of(slots, line) {
        let word = slot.load(Relaxed);
        // 1..=VALUE_MAX for the same print and a value, more for another print, 0 for its tombstone.
        let rest = word ^ print;
        value = if value == 0 && rest.wrapping_sub(1) < VALUE_MAX { rest } else { value };
        open |= word == EMPTY;
    }
    (value, open)
}

/// The value of a key, 0 when it has none.
///
/// Both lines are read in any case: nobody could predict in which of them a key is, and their misses overlap.
#[inline(always)]
pub(super) fn get<W: AtomicWord>(slots: &[W], place: &Place) -> u64 {
    let (first, open_first) = read_line(slots, place.pair[0], place.print);
    let (second, open_second) = read_line(slots, place.pair[1], place.print);
    let value = if first != 0 { first } else { second };
    if value != 0 || open_first || open_second {
        return value;
    }
    get_further(slots, place)
}

/// Out of line: few keys come here.
#[inline(never)]
fn get_further<W: AtomicWord>(slots: &[W], place: &Place) -> u64 {
    for line in place.further() {
        let (value, open) = read_line(slots, line, place.print);
        if value != 0 || open {
            return value;
        }
    }
    0
}

/// The slot that holds a key, for the writer.
pub(super) fn find<W: AtomicWord>(slots: &[W], place: &Place) -> Option<usize> {
    let in_line = |line: u64| {
        let held = |slot: &W| (slot.load(Relaxed) ^ place.print).wrapping_sub(1) < VALUE_MAX;
        line_of(slots, line).iter().position(held).map(|slot| line as usize * LINE_SLOTS + slot)
    };
    let [first, second] = place.pair;
    if let Some(slot) = in_line(first).or_else(|| in_line(second)) {
        return Some(slot);
    }
    if is_open(slots, first) || is_open(slots, second) {
        return None;
    }
    for line in place.further() {
        let slot = in_line(line);
        if slot.is_some() || is_open(slots, line) {
            return slot;
        }
    }
    None
}

fn is_open<W: AtomicWord>(slots: &[W], line: u64) -> bool {
    line_of(slots, line).iter().any(|slot| slot.load(Relaxed) == EMPTY)
}

/// How many slots of a line a new key may have, and the first of them.
fn room<W: AtomicWord>(slots: &[W], line: u64) -> (usize, usize) {
    let mut free = (0, 0);
    for (slot, word) in line_of(slots, line).iter().enumerate().rev() {
        if value_of(word.load(Relaxed)) == 0 {
            free = (free.0 + 1, line as usize * LINE_SLOTS + slot);
        }
    }
    free
}

/// Which lines a key was put past. The writer's alone: readers see it by the empty slots.
#[derive(Debug)]
pub(super) struct Spilled(Box<[u64]>);

impl Spilled {
    pub(super) fn none(lines: u64) -> Self {
        Spilled(vec![0; lines.div_ceil(64) as usize].into())
    }

    /// What is known of slots whose past is not: a line without an empty slot may have spilled.
    pub(super) fn of<W: AtomicWord>(slots: &[W]) -> Self {
        let mut spilled = Spilled::none((slots.len() / LINE_SLOTS) as u64);
        for (line, slots) in slots.chunks(LINE_SLOTS).enumerate() {
            if slots.iter().all(|slot| slot.load(Relaxed) != EMPTY) {
                spilled.add(line as u64);
            }
        }
        spilled
    }

    fn add(&mut self, line: u64) {
        self.0[word_of(line)] |= bit_of(line);
    }

    pub(super) fn memory_bytes(&self) -> u64 {
        self.0.len() as u64 * 8
    }

    /// What a slot becomes that loses the key with this print.
    pub(super) fn emptied(&self, slot: usize, print: u64) -> u64 {
        if is_set(&self.0, (slot / LINE_SLOTS) as u64) { print } else { EMPTY }
    }
}

/// A slot for a key that has none: in the emptier of its two lines, or in the first of the further ones that has room.
pub(super) fn make_room<W: AtomicWord>(slots: &[W], place: &Place, spilled: &mut Spilled) -> Option<usize> {
    let [first, second] = place.pair.map(|line| room(slots, line));
    let (free, slot) = if second.0 > first.0 { second } else { first };
    if free > 0 {
        return Some(slot);
    }
    let (passed, slot) = place.further().enumerate().find_map(|(passed, line)| {
        let (free, slot) = room(slots, line);
        (free > 0).then_some((passed, slot))
    })?;
    place.pair.into_iter().chain(place.further().take(passed)).for_each(|line| spilled.add(line));
    Some(slot)
}
