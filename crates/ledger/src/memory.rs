//! What a site holds in memory: everything a verdict needs, in fixed size.

use std::collections::{HashMap, HashSet};
use std::sync::{PoisonError, RwLock};

use seenit_filter::hash::{Hash128, KeyHasher, SipKey};
use seenit_filter::table::Table;
use seenit_filter::tagged::{self, TaggedFilter, Tags};
use seenit_filter::{GeometryError, HugePages, LayoutName, Promise};
use seenit_signature::razor::Ep4;

use crate::anonymous::AnonymousSightings;
use crate::config::LedgerConfig;
use crate::doubt::{Doubts, FilterName};
use crate::follow::Mark;
use crate::keys::{Key, keys_of};
use crate::near::Near;
use crate::salvage::Lost;
use crate::seen::Seen;
use crate::signature::{Case, SignatureRef};
use crate::sum::SignatureSum;
use crate::tally::{Change, Forgotten, Tally};

/// Tags of the bulk filter: a month of days, and one that is being cleared.
pub(crate) const BULK_TAGS: u32 = 32;

/// Generations that a signature stays bulk.
pub(crate) const BULK_GENERATIONS: u64 = 30;

/// Words of the bulk filter that are cleared at a time.
const CLEAR_WORDS: usize = 1 << 16;

/// The filters and tallies.
pub(crate) struct Memory {
    pub(crate) sip: SipKey,
    pub(crate) table: Table,
    pub(crate) near: Near,
    pub(crate) seen: Seen,
    pub(crate) anonymous: AnonymousSightings,
    /// Digests of nothing: no case keeps them.
    pub(crate) degenerate: HashSet<Hash128>,
    bulk: TaggedFilter,
    /// Seen counts that were forgotten.
    forgotten: RwLock<HashMap<Hash128, Forgotten>>,
    /// Signatures that only opinions of no weight were about when the first came, and its generation: they take no room
    /// in the tally, and whoever is vouched for settles them all the same. When that generation goes, the next such
    /// opinion is a first one again. `share` bounds how many there are since the horizon, and none are older.
    weightless: RwLock<HashMap<Hash128, u64>>,
    /// Filters whose rate is beyond their promise.
    pub(crate) doubts: Doubts,
    /// What the bulk filter promises.
    bulk_rate: f64,
    /// Tallies know records that the journal has lost: see `salvage`.
    pub(crate) has_lost_records: bool,
}

impl Memory {
    pub(crate) fn new(config: &LedgerConfig, hash_key: [u8; 16]) -> Result<Self, GeometryError> {
        let fingerprint = SipKey::new(hash_key).fingerprint();
        let table = Table::sized(config.capacity, fingerprint, HugePages::Default)?;
        let near = Near::new(config, fingerprint)?;
        Memory::of(config, hash_key, table, near)
    }

    /// With a table and shingles that a snapshot had.
    pub(crate) fn of(
        config: &LedgerConfig,
        hash_key: [u8; 16],
        table: Table,
        near: Near,
    ) -> Result<Self, GeometryError> {
        let promise = Promise { capacity: config.bulk_capacity, rate: config.rate };
        let layout = tagged::layout_sized(LayoutName::Paged, BULK_TAGS, promise)?;
        let bulk = TaggedFilter::new(layout, BULK_TAGS, HugePages::Default)?;
        Ok(Memory {
            degenerate: degenerate(&SipKey::new(hash_key)),
            sip: SipKey::new(hash_key),
            table,
            near,
            seen: Seen::new(config, hash_key),
            anonymous: AnonymousSightings::new(),
            bulk,
            forgotten: RwLock::default(),
            weightless: RwLock::default(),
            doubts: Doubts::default(),
            bulk_rate: promise.rate,
            has_lost_records: false,
        })
    }

    /// Empties the tallies of records.
    pub(crate) fn clear_tallies(&mut self, config: &LedgerConfig) -> Result<(), GeometryError> {
        let fingerprint = self.sip.fingerprint();
        self.table = Table::sized(config.capacity, fingerprint, HugePages::Default)?;
        self.near = Near::new(config, fingerprint)?;
        self.forgotten = RwLock::default();
        Ok(())
    }

    /// The keys of a case.
    pub(crate) fn keys_of(&self, case: &Case) -> Vec<Key> {
        keys_of(case, &self.sip)
    }

    /// Whether anybody ever said anything of a key that is still kept.
    pub(crate) fn is_known(&self, key: Key) -> bool {
        if key.is_shingle() { self.near.is_known(key.hash) } else { self.table.get(key.hash) != 0 }
    }

    /// Whether anybody's opinion of a signature is kept, be it one that weighs nothing.
    pub(crate) fn is_spoken_of(&self, key: Key) -> bool {
        let weightless = || self.weightless.read().unwrap_or_else(PoisonError::into_inner);
        self.is_known(key) || weightless().contains_key(&key.hash)
    }

    /// Notes an opinion of no weight, the first one that is kept of its signature.
    pub(crate) fn note_weightless(&self, generation: u64, hash: Hash128) {
        let mut weightless = self.weightless.write().unwrap_or_else(PoisonError::into_inner);
        let newest = weightless.entry(hash).or_default();
        *newest = generation.max(*newest);
    }

    /// Puts the signatures of all opinions of no weight that the journal has, by their generations.
    pub(crate) fn put_weightless(&self, all: HashMap<Hash128, u64>) {
        *self.weightless.write().unwrap_or_else(PoisonError::into_inner) = all;
    }

    /// Forgets opinions of no weight from before a generation.
    pub(crate) fn forget_weightless(&self, before: u64) {
        let mut weightless = self.weightless.write().unwrap_or_else(PoisonError::into_inner);
        weightless.retain(|_, newest| *newest >= before);
    }

    /// Brings what the tally holds of many keys into the processor's caches at once: one after the other, each would be
    /// waited for.
    pub(crate) fn warm(&self, keys: &[Vec<Key>]) {
        let hashes: Vec<Hash128> =
            keys.iter().flatten().filter(|key| !key.is_shingle()).map(|key| key.hash).collect();
        self.table.get_many(&hashes, &mut vec![0; hashes.len()]);
    }

    /// The tally of a signature.
    pub(crate) fn tally(&self, hash: Hash128) -> Tally {
        Tally::unpack(self.table.get(hash))
    }

    /// Changes the tally of a signature. False where the bits do not tell, because a count is full: then nothing has
    /// changed, and the tally must be taken from the journal, which knows this change and all others.
    #[must_use]
    pub(crate) fn change(&self, hash: Hash128, change: Change) -> bool {
        let changed = self.tally(hash).changed(change);
        changed.map(|tally| self.put(hash, tally)).is_some()
    }

    /// Puts all that the journal knows of a signature, marks included, and what only lost records said of it.
    pub(crate) fn put_sum(&self, hash: Hash128, sum: &SignatureSum, lost: Lost) {
        let tally = match self.has_lost_records {
            true => lost.with(&self.tally(hash), &sum.tally),
            false => sum.tally,
        };
        self.put(hash, tally);
        match sum.forgotten {
            Some(forgotten) => self.forget(hash, forgotten),
            None if tally.marks.forgotten => {}
            None => self.forget(hash, Forgotten { generation: 0, count: 0 }),
        }
    }

    /// Sets or takes away a mark.
    pub(crate) fn mark(&self, hash: Hash128, mark: Mark) {
        let mut tally = self.tally(hash);
        match mark {
            Mark::Protected(is_protected) => tally.marks.protected = is_protected,
            Mark::Many => tally.marks.many = true,
            Mark::Forgotten(forgotten) => {
                (tally.marks.forgotten, tally.marks.many) = (true, false);
                self.forget(hash, forgotten);
            }
            Mark::Bulk { generation } => return self.promote(generation, hash),
        }
        self.put(hash, tally);
    }

    /// Puts a tally. There is one writer, so nothing came in between. A table that is full refuses new keys; writes of
    /// new keys are refused before, so what is lost is at most what a replay found beyond the capacity.
    pub(crate) fn put(&self, hash: Hash128, tally: Tally) {
        let _ = self.table.update(hash, |_| tally.pack());
    }

    /// Marks a signature as bulk in a generation.
    pub(crate) fn promote(&self, generation: u64, hash: Hash128) {
        // The tag of the coming generation is cleared before it is needed.
        let _ = self.bulk.insert(hash, tag_of(generation));
    }

    /// The bulk marks of many signatures: those that have any are bulk, unless the filter is in doubt.
    pub(crate) fn bulk_many(&self, hashes: &[Hash128], generation: u64, found: &mut [Tags]) {
        self.bulk.lookup_many(&crate::keys::Hashed, hashes, found);
        found.iter_mut().for_each(|tags| tags.0 &= !spare(generation));
    }

    /// Whether a signature was marked as bulk in this very generation.
    pub(crate) fn is_promoted(&self, generation: u64, hash: Hash128) -> bool {
        self.bulk.lookup(hash).0 >> tag_of(generation) & 1 != 0
    }

    /// The false-positive rate that a filter promises.
    pub(crate) fn promised_rate(&self, filter: FilterName) -> f64 {
        match filter {
            FilterName::Tally => self.table.rate(self.table.capacity()),
            FilterName::Seen => self.seen.promised_rate(),
            FilterName::Bulk => self.bulk_rate,
            FilterName::Near => self.near.promised_rate(),
        }
    }

    /// Whether a signature has a bulk mark, be it by accident.
    pub(crate) fn has_bulk_mark(&self, generation: u64, hash: Hash128) -> bool {
        self.bulk.lookup(hash).0 & !spare(generation) != 0
    }

    /// Forgets the bulk marks under the tags of the generations after `old` up to `newest` and the one that comes next.
    pub(crate) fn clear_bulk(&self, old: u64, newest: u64) {
        let first = (old + 2).max((newest + 2).saturating_sub(BULK_TAGS.into()));
        for generation in first..=newest + 1 {
            // A tag that is being cleared is cleared.
            let _ = self.bulk.clear_tag(tag_of(generation));
            while !self.bulk.clear_some(CLEAR_WORDS) {}
        }
    }

    /// Forgets all bulk marks.
    pub(crate) fn clear_all_bulk(&self) {
        for tag in 0..BULK_TAGS {
            // A tag that is being cleared is cleared.
            let _ = self.bulk.clear_tag(tag);
        }
        while !self.bulk.clear_some(CLEAR_WORDS) {}
    }

    /// Recipients that got a signature, less what was forgotten.
    pub(crate) fn seen_count(
        &self,
        signature: SignatureRef<'_>,
        hash: Hash128,
    ) -> seenit_filter::counting::Count {
        let mut count = self.seen.count(signature, hash);
        count.value = count.value.saturating_sub(self.forgotten_count(hash));
        count
    }

    /// The same; nothing while the counts are in doubt.
    pub(crate) fn believed_count(&self, signature: SignatureRef<'_>, hash: Hash128) -> u64 {
        if self.doubts.is_in_doubt(FilterName::Seen) { 0 } else { self.seen_count(signature, hash).value }
    }

    /// What was forgotten of a key, for as long as it is in the counts.
    pub(crate) fn forgotten_count(&self, hash: Hash128) -> u64 {
        let forgotten = self.forgotten.read().unwrap_or_else(PoisonError::into_inner);
        let known = forgotten.get(&hash).filter(|known| self.seen.counts_of(known.generation));
        known.map_or(0, |known| known.count)
    }

    /// Subtracts a count from later answers; 0 forgets that, too.
    pub(crate) fn forget(&self, hash: Hash128, counted: Forgotten) {
        let mut forgotten = self.forgotten.write().unwrap_or_else(PoisonError::into_inner);
        match counted.count {
            0 => forgotten.remove(&hash),
            _ => forgotten.insert(hash, counted),
        };
    }

    /// Seen counts that were forgotten.
    pub(crate) fn forgotten(&self) -> HashMap<Hash128, Forgotten> {
        self.forgotten.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Bytes that all of it takes.
    pub(crate) fn memory_bytes(&self) -> u64 {
        let forgotten = self.forgotten.read().unwrap_or_else(PoisonError::into_inner).capacity();
        let entry = size_of::<(Hash128, Forgotten)>();
        let weightless = self.weightless.read().unwrap_or_else(PoisonError::into_inner).capacity();
        let weightless = weightless * size_of::<(Hash128, u64)>();
        let filters = self.near.memory_bytes() + self.seen.memory_bytes() + self.bulk.memory_bytes();
        let filters = filters + self.anonymous.memory_bytes();
        self.table.memory_bytes() + filters + (forgotten * entry + weightless) as u64
    }
}

fn tag_of(generation: u64) -> u32 {
    (generation % u64::from(BULK_TAGS)) as u32
}

/// The tags of generations that are too old, or yet to come: those beyond the month.
fn spare(newest: u64) -> u64 {
    (BULK_GENERATIONS..u64::from(BULK_TAGS))
        .fold(0, |spare, age| spare | 1 << tag_of((newest + u64::from(BULK_TAGS)).wrapping_sub(age)))
}

/// The signatures of messages that say nothing: everybody sends them.
fn degenerate(sip: &SipKey) -> HashSet<Hash128> {
    const NOTHING: [&[u8]; 5] = [
        b"",
        b"\r\n",
        b"Subject: \r\n\r\n",
        b"Content-Type: text/html\r\n\r\n<html><body></body></html>\r\n",
        b"Content-Type: text/plain\r\n\r\n\r\n\r\n",
    ];
    let mut hashes = HashSet::new();
    for mail in NOTHING {
        for signature in seenit_signature::sign(mail, &Ep4::default()) {
            let mut case = Case::new();
            if case.push(signature.kind, &signature.digest.to_bytes()).is_ok() {
                // Of texts this short there are no shingles: whoever judges looks them up by other hashes.
                assert!(!signature.kind.is_near(), "a digest of nothing is no text");
                hashes.extend(case.iter().map(|signature| sip.hash(&signature)));
            }
        }
    }
    hashes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_bytes_accounts_for_each_part() {
        let bytes = |config: &LedgerConfig| {
            let memory = Memory::new(config, [7; 16]).expect("fits");
            memory.seen.advance(1).expect("fits");
            memory.memory_bytes()
        };
        let small = LedgerConfig {
            capacity: 1000,
            near_capacity: 1000,
            bulk_capacity: 1000,
            seen_capacity: 1000,
            ..LedgerConfig::default()
        };
        // A hundred times as many of one thing take at least a byte more for each.
        let larger = [
            ("tallies", LedgerConfig { capacity: 100_000, ..small.clone() }),
            ("shingles", LedgerConfig { near_capacity: 100_000, ..small.clone() }),
            ("bulk marks", LedgerConfig { bulk_capacity: 100_000, ..small.clone() }),
            ("seen counts", LedgerConfig { seen_capacity: 100_000, ..small.clone() }),
        ];
        for (part, config) in larger {
            assert!(bytes(&config) >= bytes(&small) + 99_000, "{part}: {}", bytes(&config));
        }
        let memory = Memory::new(&small, [7; 16]).expect("fits");
        let before = memory.memory_bytes();
        (0..1000).for_each(|number| {
            memory.forget(Hash128 { lo: number, hi: 0 }, Forgotten { generation: 1, count: 5 })
        });
        assert!(memory.memory_bytes() >= before + 32_000, "forgotten counts");
    }
}
