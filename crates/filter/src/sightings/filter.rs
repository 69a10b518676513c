//! The filter of seen counts: the papers' refined counting filter of 2-bit cells, and one entry for each signature that
//! outgrew them.
//!
//! A key has k cells in one page; an insertion raises those that hold the minimum (H1), and the count is the minimum
//! (H2). When all k hold 3 they are full, and insertions go on in an entry of the key's own, in tables of short slots:
//! a count is the cells' minimum plus the entry. Another key with the same full cells reads 3 and no more, so nobody
//! gets to 20 by accident; and a bulk signature costs one entry of 4.5 bytes, where split cells keep a high part for
//! each of its k cells.
//!
//! Never below the truth: every insertion raises either the minimum of the key's cells or the key's entry, by as much
//! as was inserted, and neither ever falls.
//!
//! Why 2 bits: there are 17.5 cells a key, so a third bit costs 2.2 bytes a key. It saves the entries of those that
//! count 4 to 7, 4.5 bytes each: it would pay if they were half of all. One bit saves 2.2 bytes more and costs an entry
//! for each that counts 2 or 3. But that would be a plain filter in front of a table, and no counting filter at all:
//! whoever wants a table has one, which is smaller.
//!
//! Why this rate: own counts and the peer sum are two filters, and an absent key shall read at least 1 in either with a
//! probability of at most 5e-4.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use super::lines::{LINE_SLOTS, LOAD};
use super::place::FRONT;
use super::segments::Segments;
use super::table::SeenTable;
use super::{Added, COUNT_MAX, Fingerprint, SeenIndex};
use crate::cells::{Cells, Packing};
use crate::counting::{Count, CountingFilter, Refined, SharedCountingFilter};
use crate::error::GeometryError;
use crate::hash::{KeyHasher, SipKey};
use crate::layout::{Layout, Paged};
use crate::maths::paged;
use crate::maths::sightings::{same_fingerprint, table_rate};
use crate::memory::HugePages;

/// Bits of a cell.
const CELL_BITS: u32 = 2;

/// What a filter at capacity is sized for: an absent key reads 1 or more so often.
const RATE: f64 = 2.3e-4;

/// The first table of entries holds the capacity divided by this, and each later one as much, or an eighth of all
/// before it: so tables are at most a sixteenth of the capacity too large, a quarter of a byte a signature, and there
/// are five of them where three in ten signatures are bulk.
const ENTRIES_SHARE: u64 = 16;

/// The fewest entries of a table: what one page of slots holds.
const ENTRIES_MIN: u64 = 900;

/// Pages of cells that a rate is read off: 4 million cells.
const SAMPLE_PAGES: u64 = 256;

/// Counts of signatures in few-bit cells.
#[derive(Debug)]
pub struct SeenFilter {
    capacity: u64,
    cells: SharedCountingFilter<Refined, Paged>,
    entries: Segments<SeenTable>,
    signatures: AtomicU64,
}

impl SeenFilter {
    /// An empty filter for so many signatures, at least one.
    pub(crate) fn new(capacity: u64) -> Result<Self, GeometryError> {
        let packing = Packing::new(CELL_BITS)?;
        let layout = Paged::sized_with_slots(capacity, RATE, packing.per_page())?;
        let key = SipKey::public().fingerprint();
        let cells = CountingFilter::packed(layout, packing, None, key, HugePages::Default)?.share();
        Ok(SeenFilter { capacity, cells, entries: Segments::new(), signatures: AtomicU64::new(0) })
    }

    /// How many cells a key has.
    pub(crate) fn k(&self) -> u32 {
        self.cells.layout().k()
    }

    /// How many signatures have an entry of their own.
    pub(crate) fn entries(&self) -> u64 {
        self.entries.iter().map(SeenTable::signatures).sum()
    }

    fn cap(&self) -> u64 {
        self.cells.cells().cap()
    }

    /// The entry of a key, and the table it lies in: the first that has one.
    fn entry(&self, fingerprint: Fingerprint) -> Option<(&SeenTable, Count)> {
        let counts = self.entries.iter().map(|table| (table, table.count(fingerprint)));
        counts.into_iter().find(|(_, count)| count.value > 0)
    }

    /// The count whose cells have this minimum.
    #[inline(always)]
    fn whole(&self, fingerprint: Fingerprint, cells: Count) -> Count {
        if !cells.saturated {
            return cells;
        }
        let entry = self.entry(fingerprint).map(|(_, count)| count).unwrap_or_default();
        self.total(cells.value, entry)
    }

    fn total(&self, cells: u64, entry: Count) -> Count {
        let value = (cells + entry.value).min(COUNT_MAX);
        Count { value, saturated: entry.saturated || value == COUNT_MAX || self.entries.has_refused() }
    }

    /// Adds to the entry of a key whose cells are full, and returns it.
    fn add_entry(&self, fingerprint: Fingerprint, increment: u64) -> Count {
        if let Some((table, _)) = self.entry(fingerprint) {
            return table.add(fingerprint, increment).after;
        }
        let alone = self.entries.grow();
        let held = self.entry(fingerprint).map(|(table, _)| table);
        let newest = || self.entries.iter().next_back().filter(|table| table.signatures() < table.capacity());
        let table = held.or_else(newest).or_else(|| self.entries.push(&alone, self.next_entries()));
        table.map(|table| table.add(fingerprint, increment).after).unwrap_or_default()
    }

    fn next_entries(&self) -> Result<SeenTable, GeometryError> {
        let all: u64 = self.entries.iter().map(SeenTable::capacity).sum();
        SeenTable::new((self.capacity / ENTRIES_SHARE).max(all / 8).max(ENTRIES_MIN))
    }

    /// The chance that a key's cells all hold `least` or more: over pages, the mean of the share that do to the power
    /// of k.
    fn cells_rate(&self, least: u64) -> f64 {
        let cells = self.cells.cells();
        let slots = self.cells.layout().slots();
        let pages = cells.len() / slots;
        let step = pages.div_ceil(SAMPLE_PAGES).max(1);
        let sampled: Vec<f64> = (0..pages)
            .step_by(step as usize)
            .map(|page| {
                let page = page * slots..(page + 1) * slots;
                let high = page.filter(|&cell| cells.get(cell) >= least).count();
                (high as f64 / slots as f64).powi(self.k() as i32)
            })
            .collect();
        sampled.iter().sum::<f64>() / sampled.len().max(1) as f64
    }
}

impl SeenIndex for SeenFilter {
    fn add(&self, fingerprint: Fingerprint, increment: u64) -> Added {
        if increment == 0 {
            let after = self.count(fingerprint);
            return Added { before: after.value, after };
        }
        let before = self.cells.insert_and_tell(FRONT.hash(&fingerprint), increment);
        if before == 0 {
            self.signatures.fetch_add(1, Relaxed);
        }
        let cells = before.saturating_add(increment).min(self.cap());
        let rest = increment - (cells - before);
        let after = if rest > 0 {
            self.total(cells, self.add_entry(fingerprint, rest))
        } else {
            self.whole(fingerprint, Count { value: cells, saturated: cells == self.cap() })
        };
        Added { before: after.value.saturating_sub(increment), after }
    }

    #[inline]
    fn count(&self, fingerprint: Fingerprint) -> Count {
        self.whole(fingerprint, self.cells.count(FRONT.hash(&fingerprint)))
    }

    fn count_many(&self, fingerprints: &[Fingerprint], counts: &mut [Count]) {
        self.cells.count_many(&FRONT, fingerprints, counts);
        for (&fingerprint, count) in fingerprints.iter().zip(counts) {
            *count = self.whole(fingerprint, *count);
        }
    }

    /// Those that found a cell of theirs at 0 when they came first: too few by about a tenth of the present rate.
    fn signatures(&self) -> u64 {
        self.signatures.load(Relaxed)
    }

    fn capacity(&self) -> u64 {
        self.capacity
    }

    fn memory_bytes(&self) -> u64 {
        let packing = self.cells.cells().shape();
        let cells = packing.pages(self.cells.cells().len()) * crate::PAGE_BYTES as u64;
        cells + self.entries.list_bytes() + self.entries.iter().map(SeenTable::memory_bytes).sum::<u64>()
    }

    /// Up to 3 it may be that all signatures count so much; more takes an entry that collides, too. If all had one,
    /// there would be 16 tables of them.
    fn promised_rate(&self, least: u64) -> f64 {
        let layout = self.cells.layout();
        let pages = layout.bits() / layout.slots();
        let cells = paged::rate(layout.slots(), pages, 1, layout.k(), self.capacity);
        if least <= self.cap() {
            return cells;
        }
        let entry = ENTRIES_SHARE as f64 * table_rate(0, LOAD * LINE_SLOTS as f64);
        cells * entry + same_fingerprint(self.capacity)
    }

    fn present_rate(&self, least: u64) -> f64 {
        let cells = self.cells_rate(least.clamp(1, self.cap()));
        if least <= self.cap() {
            return cells;
        }
        let entries = self.entries.iter().map(|table| table.present_rate(least - self.cap()));
        cells * entries.sum::<f64>() + same_fingerprint(self.entries())
    }
}
