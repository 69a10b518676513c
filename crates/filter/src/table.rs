//! A table of fingerprints: a value of 40 bits for each key, exact, deletable, in fixed memory.
//!
//! ```
//! use seenit_filter::HugePages;
//! use seenit_filter::hash::{KeyHasher, SipKey};
//! use seenit_filter::table::Table;
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let key = SipKey::public();
//! let tally = Table::sized(10_000, key.fingerprint(), HugePages::Default)?;
//! let hash = key.hash(b"a digest");
//! tally.update(hash, |reports| reports + 3)?;
//! tally.update(hash, |reports| reports - 1)?;
//! assert_eq!(tally.get(hash), 2);
//! tally.update(hash, |_| 0)?;
//! assert_eq!((tally.get(hash), tally.len()), (0, 0));
//! # Ok(())
//! # }
//! ```
//!
//! # When to use it
//!
//! When a key is worth 9.4 bytes. A stranger is taken for a key with probability 8.2e-7 at capacity: it is compared
//! with the prints of about 13.6 keys in two lines ([`maths::table`](crate::maths::table)), each of which is its own
//! once in `2^24 - 1`. The same bytes hold 18.8 counting cells of 4 bits a key, and those err with
//! `0.6185^18.8` = 1.2e-4 at the best k, 13, at 13 cache misses a lookup; with the 8 cells of one line,
//! `(1 - e^(-8/18.8))^8` = 2.1e-4 at least. Their counts end at 15, can be too high, and those of the refined rule
//! cannot be taken back. Counting filters remain right where keys are many and each is cheap, as with what was seen
//! once and with shingles: they err more with less memory, but do not refuse a key.
//!
//! # How it lies
//!
//! A line is 64 bytes: eight slots of 64 bits. A slot has a *print*, 24 bits of the key's hash that are never 0, above
//! the value of 40 bits. A slot of 0 is empty; a print with the value 0 is a tombstone, which any key may take. A key
//! lies in one of two lines, both known from its hash, and is put into the emptier one; if both are full, into the
//! first with room of six further ones. A slot is one word, read and written whole: readers take no lock and never see
//! half of an update. Writers take turns.
//!
//! Keys that agree in print and lines are one key to the table and share one value. So an update should add to what
//! it is given and take back only what it added: then a value holds the evidence of every key that shares it, and none
//! loses its own. (One exception is left: a key that lies beyond its first two lines can come to lie before
//! another's value. At capacity that befalls one key in a thousand million.)
//!
//! Hashes must come from a keyed hash ([`SipKey`](crate::hash::SipKey)) where others choose the keys: who can aim
//! fills a key's eight lines with 64 keys.

mod place;
mod slots;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::place::Place;
use self::slots::Spilled;
use crate::error::{Full, GeometryError, TableError};
use crate::hash::{BATCH_KEYS, Fingerprint, Hash128};
use crate::layout::{MAX_BITS, within};
use crate::maths::table::{occupancy, rate};
use crate::memory::{HugePages, PAGE_WORDS, PageBuf, SharedPages, prefetch};

/// Slots of a line, which is a cache line.
pub const LINE_SLOTS: usize = 8;

/// The most lines a key may lie in. A key is refused when all are full: at a share `s` of full lines once in `s^-8`
/// keys.
pub const LINES_MAX: usize = 8;

/// Bits of a value.
pub const VALUE_BITS: u32 = 40;

/// The largest value.
pub const VALUE_MAX: u64 = (1 << VALUE_BITS) - 1;

/// How many prints there are: 24 bits, of which 0 stands for none.
pub const PRINTS: u64 = (1 << (64 - VALUE_BITS)) - 1;

/// The share of slots in use at capacity.
pub const LOAD: f64 = 0.85;

/// A slot nobody has.
const EMPTY: u64 = 0;

/// Values of keys, for many threads.
#[derive(Debug)]
pub struct Table {
    capacity: u64,
    lines: u64,
    fingerprint: Fingerprint,
    pages: SharedPages,
    /// Written by the holder of `writer` alone.
    len: AtomicU64,
    writer: Mutex<Spilled>,
}

impl Table {
    /// An empty table with room for `capacity` keys, hashed under the key with this fingerprint.
    pub fn sized(capacity: u64, fingerprint: Fingerprint, huge: HugePages) -> Result<Self, GeometryError> {
        let lines = lines_for(capacity)?;
        let pages = PageBuf::zeroed(pages_of(lines), huge)?.share();
        let writer = Spilled::none(lines).into();
        Ok(Table { capacity, lines, fingerprint, pages, len: 0.into(), writer })
    }

    /// The table that had these [`words`](Self::words).
    pub fn from_words(
        capacity: u64,
        fingerprint: Fingerprint,
        words: impl IntoIterator<Item = u64>,
        huge: HugePages,
    ) -> Result<Self, TableError> {
        let lines = lines_for(capacity)?;
        let mut pages = PageBuf::zeroed(pages_of(lines), huge)?;
        let (slots, mut words) = (pages.as_mut(), words.into_iter());
        let expected = slots.len() as u64;
        let mut len = 0;
        for (index, slot) in (0..).zip(&mut *slots) {
            let wrong = TableError::Words { capacity, expected, found: index };
            let word = words.next().ok_or(wrong)?;
            if word != EMPTY && word <= VALUE_MAX {
                return Err(TableError::NoPrint { index, word });
            }
            len += u64::from(slots::value_of(word) != 0);
            *slot = word;
        }
        if words.next().is_some() {
            return Err(TableError::Words { capacity, expected, found: expected + 1 });
        }
        let pages = pages.share();
        let writer = Spilled::of(pages.words()).into();
        Ok(Table { capacity, lines, fingerprint, pages, len: len.into(), writer })
    }

    #[inline(always)]
    fn place(&self, hash: Hash128) -> Place {
        Place::new(hash, self.lines)
    }

    #[inline(always)]
    fn prefetch(&self, place: &Place) {
        place.pair.into_iter().for_each(|line| prefetch(self.pages.words(), line as usize * LINE_SLOTS));
    }

    /// A writer that panicked did so before it wrote: only the caller's part of an update can.
    fn writer(&self) -> MutexGuard<'_, Spilled> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of the key with this hash, 0 when it has none. Takes no lock.
    ///
    /// Beside an update it answers as before or as after. What happened before the call (same thread, a join, a
    /// channel) it sees. A value guards no other memory.
    #[inline]
    pub fn get(&self, hash: Hash128) -> u64 {
        slots::get(self.pages.words(), &self.place(hash))
    }

    /// The values of many keys, prefetching one batch while it reads the one before. Takes no lock.
    ///
    /// # Panics
    /// When `values` is not as long as `hashes`.
    pub fn get_many(&self, hashes: &[Hash128], values: &mut [u64]) {
        assert_eq!(hashes.len(), values.len(), "one answer a key");
        let mut batches = hashes.chunks(BATCH_KEYS);
        let ahead = |batch: &[Hash128]| batch.iter().for_each(|&hash| self.prefetch(&self.place(hash)));
        let mut values = values.iter_mut();
        let mut next = batches.next();
        next.into_iter().for_each(ahead);
        while let Some(batch) = next {
            next = batches.next();
            next.into_iter().for_each(ahead);
            for (&hash, value) in batch.iter().zip(&mut values) {
                *value = self.get(hash);
            }
        }
    }

    /// Changes the value of the key with this hash, and returns the new one. `change` is given 0 for a key that has
    /// none, and returns 0 to take the key out. It runs under the writers' lock: it must be short, and must not
    /// update the table itself.
    ///
    /// A table that has no room for a new key says so and is as before.
    ///
    /// # Panics
    /// When `change` returns more than [`VALUE_MAX`].
    pub fn update(&self, hash: Hash128, change: impl FnOnce(u64) -> u64) -> Result<u64, Full> {
        let (place, words) = (self.place(hash), self.pages.words());
        self.prefetch(&place);
        let mut spilled = self.writer();
        let held = slots::find(words, &place);
        let new = change(held.map_or(0, |slot| slots::value_of(words[slot].load(Relaxed))));
        assert!(new <= VALUE_MAX, "a value has {VALUE_BITS} bits, {new} has more");
        let len = self.len.load(Relaxed);
        match (held, new) {
            (None, 0) => {}
            (None, _) => {
                let full = Full { len, capacity: self.capacity };
                let slot = slots::make_room(words, &place, &mut spilled).ok_or(full)?;
                words[slot].store(place.print | new, Relaxed);
                self.len.store(len + 1, Relaxed);
            }
            (Some(slot), 0) => {
                words[slot].store(spilled.emptied(slot, place.print), Relaxed);
                self.len.store(len - 1, Relaxed);
            }
            (Some(slot), _) => words[slot].store(place.print | new, Relaxed),
        }
        Ok(new)
    }

    /// How many keys have a value.
    pub fn len(&self) -> u64 {
        self.len.load(Relaxed)
    }

    /// Whether no key has a value.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many keys it was sized for. It takes more, up to a sixth more, until a key finds no room.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// The share of slots in use; [`LOAD`] or a little less at capacity.
    pub fn load(&self) -> f64 {
        self.len() as f64 / self.slots() as f64
    }

    /// How many slots it has, and words.
    pub fn slots(&self) -> u64 {
        self.lines * LINE_SLOTS as u64
    }

    /// The fingerprint of the key its hashes are made with.
    pub fn fingerprint(&self) -> Fingerprint {
        self.fingerprint
    }

    /// The memory it takes: its slots, and a bit a line for the writer.
    pub fn memory_bytes(&self) -> u64 {
        self.slots() * 8 + self.writer().memory_bytes()
    }

    /// The chance that a stranger has a value, as these very slots have it. Reads all of them.
    pub fn present_rate(&self) -> f64 {
        let is_full = |line: &&[AtomicU64]| line.iter().all(|slot| slot.load(Relaxed) != EMPTY);
        let full = self.pages.words().chunks(LINE_SLOTS).filter(is_full).count();
        rate(self.len() as f64 / self.lines as f64, full as f64 / self.lines as f64)
    }

    /// The chance that a stranger has a value, to be expected with so many keys.
    pub fn rate(&self, keys: u64) -> f64 {
        let keys_per_line = keys as f64 / self.lines as f64;
        rate(keys_per_line, occupancy(keys_per_line).at_least[LINE_SLOTS])
    }

    /// Calls `visit` with the number of each slot that has a value, and the value.
    pub fn for_each(&self, mut visit: impl FnMut(u64, u64)) {
        for (slot, word) in (0..).zip(self.words()) {
            if slots::value_of(word) != 0 {
                visit(slot, slots::value_of(word));
            }
        }
    }

    /// Its words, one a slot: what [`from_words`](Self::from_words) makes a table of.
    ///
    /// Each is as it is when the iterator comes to it. Beside writers the words have everything that was updated
    /// before the call, and perhaps part of what is updated until the end; a key that is taken out and put in
    /// again meanwhile can be there twice, or not at all.
    pub fn words(&self) -> impl ExactSizeIterator<Item = u64> + '_ {
        self.pages.words().iter().map(|word| word.load(Relaxed))
    }
}

/// Lines for so many keys at [`LOAD`]: whole pages of them, and so an even number.
fn lines_for(capacity: u64) -> Result<u64, GeometryError> {
    within("capacity", capacity, (MAX_BITS as f64 / 64.0 * LOAD) as u64)?;
    let slots = (capacity as f64 / LOAD).ceil() as u64;
    Ok(slots.next_multiple_of(PAGE_WORDS as u64) / LINE_SLOTS as u64)
}

fn pages_of(lines: u64) -> u64 {
    lines * LINE_SLOTS as u64 / PAGE_WORDS as u64
}

#[cfg(test)]
mod tests;
