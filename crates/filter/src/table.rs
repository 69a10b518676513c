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
//! When a key is worth 9 bytes. An absent key is taken for a key with probability `2 a / (2^24 - 1)`, where a line
//! holds
//! `a` keys on average: it is compared with the prints of two lines. At capacity that is 8.6e-7. The same bytes hold 18
//! counting cells of 4 bits a key, which at the best k, 12, err with `0.6185^18` = 1.8e-4 and cost 12 cache misses; in
//! one line, as filters have it that are as quick as this, they err with 1.2e-3. Their counts end at 15 and can be too
//! high. Counting filters remain right where keys are many and each is cheap, as with what was seen once, and with
//! shingles: they do with fewer bytes a key, and never refuse one.
//!
//! # How it lies
//!
//! A line is 64 bytes: eight slots of 64 bits. A slot has a *print*, 24 bits of the key's hash that are never 0, above
//! the value of 40 bits, which is not 0 either; or it is 0 and empty. A key lies in one of two lines, both known from
//! its hash. It is put into the emptier one. If both are full, other keys are moved: each has another line to go to.
//!
//! A slot is one word, read and written whole. Readers take no lock, never see half of an update, and never miss a key
//! that is being moved. Writers take turns.
//!
//! Keys that agree in print and lines are one key to the table and share one value. So an update should add to what
//! it is given and take back only what was added before: then a value holds the evidence of every key that shares it,
//! and none loses its own.
//!
//! Hashes must come from a keyed hash ([`SipKey`](crate::hash::SipKey)) where others choose the keys: who can aim fills
//! a pair of lines with 16 keys, and the next one is refused.

mod place;
mod slots;
mod words;

pub use words::TableWords;

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, MutexGuard, PoisonError};

use self::place::KeyPlace;
use self::slots::{MOVE_COUNTERS, Slots};
use self::words::Writer;
use crate::error::{Full, GeometryError, TableError};
use crate::hash::{BATCH_KEYS, Hash128, KeyFingerprint};
use crate::layout::{MAX_BITS, within};
use crate::memory::{HugePages, PAGE_WORDS, PageBuf, SharedPages, prefetch};

/// Slots of a line, which is a cache line.
pub(crate) const LINE_SLOTS: usize = 8;

/// Bits of a value.
pub(crate) const VALUE_BITS: u32 = 40;

/// The largest value.
pub const VALUE_MAX: u64 = (1 << VALUE_BITS) - 1;

/// How many prints there are: 24 bits, of which 0 stands for none.
pub const PRINTS: u64 = (1 << (64 - VALUE_BITS)) - 1;

/// The share of slots in use at capacity. Keys find room until 0.985, but at the price of moves: at 0.85 one new key in
/// twenty moves another, at 0.9 one in five, and one in four where keys come and go.
pub const LOAD: f64 = 0.9;

/// A slot nobody has.
const EMPTY: u64 = 0;

/// Values of keys, for many threads.
#[derive(Debug)]
pub struct Table {
    capacity: u64,
    lines: u64,
    fingerprint: KeyFingerprint,
    pages: SharedPages,
    moves: Box<[AtomicU64]>,
    len: AtomicU64,
    /// Who holds it may write slots, moves and the length.
    writer: Mutex<Writer>,
    /// Who holds it may read all words.
    turn: Mutex<()>,
}

impl Table {
    /// An empty table with room for `capacity` keys, hashed under the key with this fingerprint.
    pub fn sized(capacity: u64, fingerprint: KeyFingerprint, huge: HugePages) -> Result<Self, GeometryError> {
        let pages = PageBuf::zeroed(pages_for(capacity)?, huge)?;
        Ok(Table::from_parts(capacity, fingerprint, pages, 0))
    }

    fn from_parts(capacity: u64, fingerprint: KeyFingerprint, pages: PageBuf, len: u64) -> Self {
        let lines = (pages.as_ref().len() / LINE_SLOTS) as u64;
        let moves = (0..MOVE_COUNTERS).map(|_| AtomicU64::new(0)).collect();
        let pages = pages.share();
        let len = len.into();
        let writer = Mutex::default();
        let turn = Mutex::default();
        Table { capacity, lines, fingerprint, pages, moves, len, writer, turn }
    }

    /// The table that had these [`words`](Self::words).
    pub fn from_words(
        capacity: u64,
        fingerprint: KeyFingerprint,
        words: impl IntoIterator<Item = u64>,
        huge: HugePages,
    ) -> Result<Self, TableError> {
        let mut pages = PageBuf::zeroed(pages_for(capacity)?, huge)?;
        let slots = pages.as_mut();
        let mut words = words.into_iter();
        let expected = slots.len() as u64;
        let mut len = 0;
        for (index, slot) in (0..).zip(&mut *slots) {
            let wrong = TableError::Words { capacity, expected, found: index };
            let word = words.next().ok_or(wrong)?;
            if word != EMPTY && (word <= VALUE_MAX || slots::value_of(word) == 0) {
                return Err(TableError::Slot { index, word });
            }
            len += u64::from(word != EMPTY);
            *slot = word;
        }
        if words.next().is_some() {
            return Err(TableError::Words { capacity, expected, found: expected + 1 });
        }
        Ok(Table::from_parts(capacity, fingerprint, pages, len))
    }

    #[inline(always)]
    fn as_slots(&self) -> Slots<'_, AtomicU64> {
        Slots { words: self.pages.words(), moves: &self.moves }
    }

    #[inline(always)]
    fn place(&self, hash: Hash128) -> KeyPlace {
        KeyPlace::new(hash, self.lines)
    }

    #[inline(always)]
    fn prefetch(&self, place: &KeyPlace) {
        place.pair.into_iter().for_each(|line| prefetch(self.pages.words(), line as usize * LINE_SLOTS));
    }

    /// A writer that panicked did so before it wrote: only the caller's part of an update can.
    fn writer(&self) -> MutexGuard<'_, Writer> {
        self.writer.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The value of the key with this hash, 0 when it has none. Takes no lock.
    ///
    /// Beside an update it answers as before or as after. What happened before the call (same thread, a join, a
    /// channel) it sees. A value guards no other memory.
    #[inline]
    pub fn get(&self, hash: Hash128) -> u64 {
        let place = self.place(hash);
        self.as_slots().get(&place).unwrap_or_else(|| self.get_alone(&place))
    }

    /// Between the moves of writers.
    #[cold]
    fn get_alone(&self, place: &KeyPlace) -> u64 {
        let _alone = self.writer();
        self.as_slots().get(place).unwrap_or(0)
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
        let place = self.place(hash);
        let slots = self.as_slots();
        self.prefetch(&place);
        let writer = &mut *self.writer();
        let held = slots.find(&place);
        let new = change(held.map_or(0, |slot| slots::value_of(slots.words[slot].load(Relaxed))));
        assert!(new <= VALUE_MAX, "a value has {VALUE_BITS} bits, {new} has more");
        let len = self.len();
        match (held, new) {
            (None, 0) => {}
            (None, _) => {
                let slot = slots.make_room(writer, &place).ok_or(Full { len, capacity: self.capacity })?;
                slots.put(writer, slot, place.print | new);
                self.len.store(len + 1, Relaxed);
            }
            (Some(slot), 0) => {
                slots.put(writer, slot, EMPTY);
                self.len.store(len - 1, Relaxed);
            }
            (Some(slot), _) => slots.put(writer, slot, place.print | new),
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

    /// How many keys it was sized for. It takes a tenth more, or a little less, until a key finds no room.
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
    pub fn fingerprint(&self) -> KeyFingerprint {
        self.fingerprint
    }

    /// The memory it takes: its slots, and the counters of moves.
    pub fn memory_bytes(&self) -> u64 {
        (self.slots() + MOVE_COUNTERS as u64) * 8
    }

    /// The chance that an absent key has a value now.
    pub fn present_rate(&self) -> f64 {
        self.rate(self.len())
    }

    /// The chance that an absent key has a value when so many keys have one: `2 keys / lines / (2^24 - 1)`.
    ///
    /// It is exact, whichever the keys: an absent key with the print of a key, one in `2^24 - 1`, has that key's pair
    /// of lines with probability `2 / lines`, and there are no two keys with one print and one pair.
    pub fn rate(&self, keys: u64) -> f64 {
        2.0 * keys as f64 / self.lines as f64 / PRINTS as f64
    }

    /// Calls `visit` with the number of each slot that has a value, and the value: as [`words`](Self::words) has them.
    pub fn for_each(&self, mut visit: impl FnMut(u64, u64)) {
        for (slot, word) in (0..).zip(self.words()) {
            if word != EMPTY {
                visit(slot, slots::value_of(word));
            }
        }
    }

    /// Its words, one a slot, as they all were at the moment of the call: what [`from_words`](Self::from_words) makes a
    /// table of.
    ///
    /// Writers go on meanwhile. Until the iterator is dropped, each slot they change takes some 20 bytes more, and
    /// whoever else calls this waits; so does the same thread, for ever.
    pub fn words(&self) -> TableWords<'_> {
        TableWords::new(self)
    }
}

/// Pages for so many keys at [`LOAD`]. A page is an even number of lines, as [`KeyPlace`] needs it.
fn pages_for(capacity: u64) -> Result<u64, GeometryError> {
    within("capacity", capacity, (MAX_BITS as f64 / 64.0 * LOAD) as u64)?;
    Ok(((capacity as f64 / LOAD).ceil() as u64).div_ceil(PAGE_WORDS as u64))
}

#[cfg(test)]
mod tests;
