//! The journal: records in order, an index of their signatures beside them, one keyspace of each a generation.
//!
//! It lies in an embedded store (fjall), chosen by the race `store`. Keyspaces:
//!
//! ```text
//! log-G      number (8 bytes, highest first) -> record (see `record`)
//! index-G    hash of a key (16 bytes) and reporter (4 bytes, highest first) -> row
//! heard-G    serial number (8 bytes, highest first) -> a peer's record (see `heard`)
//! link       key -> value: what the link to other sites keeps
//! bulk       generation (8, highest first), hash (16), of a peer its slot (2) -> nothing: signatures that are bulk
//! sightings  incarnation, generation, sequence (8 each, highest first) -> delta of own sightings (see `sightings`)
//! weightless generation (8, highest first), hash (16) -> nothing: signatures of which somebody spoke whose opinion
//!            weighed nothing, where the tally knew nothing of them
//! reporters  number (4 bytes, highest first) -> JSON
//! meta       name -> value
//! ```
//!
//! A commit is one atomic batch over all of them and is synced before it is acknowledged. A generation ages out by
//! dropping its keyspaces. The index holds nothing that the log does not say: `reindex` makes it anew.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, PoisonError, RwLock};

use fjall::compaction::Leveled;
use fjall::config::{
    BlockSizePolicy, BloomConstructionPolicy, FilterPolicy, FilterPolicyEntry, PartitioningPolicy,
    PinningPolicy,
};
use fjall::{AbstractTree, Database, Keyspace, KeyspaceCreateOptions, PersistMode};
use seenit_filter::hash::Hash128;

use crate::error::OpenError;
use crate::peers::table::Peers;
use crate::record::Record;
use crate::reporter::{Reporter, ReporterId};

mod failure;
pub(crate) mod heard;
pub(crate) mod horizon;
mod keys;
mod lost;
mod row;
mod run;
mod shares;
pub(crate) mod sightings;

pub(crate) use failure::JournalError;
use failure::{from_json, odd_row, open_error, record_of, to_json};
use row::split_row_key;
pub(crate) use row::{
    FORGETTING, KeyRow, LASTING, MANY, MarkRow, PROTECTED_MESSAGE, PROTECTION, RecordNumber, Row, RowKey,
    hash_bytes, hash_of, is_mark, mark_row, row_key,
};
pub(crate) use shares::Added;

/// The store's cache of blocks. Explanations and repeated reports read few blocks, and those of today.
const CACHE_BYTES: u64 = 4 << 20;
/// What one keyspace gathers in memory before it is sealed and written as a table. The store keeps up to four sealed
/// ones.
const MEMTABLE_BYTES: u64 = 2 << 20;
/// The store's own write-ahead log, all files of it.
const JOURNALING_BYTES: u64 = 128 << 20;
/// Threads that write tables and merge them. Of more than one, the first only waits for tables to write, and puts every
/// merge that it is handed back into the queue, again and again: half a processor (race `server`).
const WORKERS: usize = 1;
/// The size of a table on disk. The first level has four of them and is merged as a whole each time: it must not be
/// long, or sealed memory waits for it (race `server`: with 64 MiB a second of standstill).
const TABLE_BYTES: u64 = 4 << 20;

/// One generation's keyspaces.
#[derive(Clone)]
struct Generation {
    log: Keyspace,
    index: Keyspace,
}

/// The journal of a site.
pub(crate) struct Journal {
    database: Database,
    /// Batches that were committed since it was opened, each with one sync.
    commits: AtomicU64,
    generations: RwLock<BTreeMap<u64, Generation>>,
    /// Generations before this one are hidden: they wait to be dropped, and nothing in them counts.
    hidden_before: AtomicU64,
    /// What was heard from peers, by generation: only those that have something of them.
    heard: RwLock<BTreeMap<u64, Keyspace>>,
    link: Keyspace,
    /// The peers whose opinions count.
    peers: RwLock<Arc<Peers>>,
    bulk: Keyspace,
    sightings: Keyspace,
    weightless: Keyspace,
    reporters: Keyspace,
    meta: Keyspace,
}

/// What is committed together.
pub(crate) struct JournalBatch<'a> {
    journal: &'a Journal,
    batch: fjall::OwnedWriteBatch,
    /// The generation that was written to last.
    generation: Option<(u64, Generation)>,
    /// All that were written to.
    touched: BTreeSet<u64>,
    /// Where values are encoded: the store copies them.
    value: Vec<u8>,
}

/// Rows of the link as they were at one moment.
pub(crate) struct LinkNow {
    snapshot: fjall::Snapshot,
    link: Keyspace,
}

/// Little memory: blocks of 4 KiB, filters and block indexes in pieces that are read when they are needed. Memory is
/// sealed by us, after a commit: past a limit of its own the store would ask for it with every commit, and its queue of
/// such requests can keep it from being done (race `store`: 237 MiB in place of 34).
fn options() -> KeyspaceCreateOptions {
    KeyspaceCreateOptions::default()
        .max_memtable_size(u64::MAX)
        .data_block_size_policy(BlockSizePolicy::all(4 << 10))
        .compaction_strategy(Arc::new(Leveled::default().with_table_target_size(TABLE_BYTES)))
        .filter_block_partitioning_policy(PartitioningPolicy::all(true))
        .index_block_partitioning_policy(PartitioningPolicy::all(true))
        .filter_block_pinning_policy(PinningPolicy::all(false))
        .index_block_pinning_policy(PinningPolicy::all(false))
}

/// A log is read in order and by numbers that are there: it needs no filters.
fn log_options() -> KeyspaceCreateOptions {
    options().filter_policy(FilterPolicy::disabled())
}

/// The small tables of the first two levels keep their filters and block indexes in memory: a row is looked for in all
/// of them, and to read a filter from the disk takes longer than to ask it.
fn index_options() -> KeyspaceCreateOptions {
    let bloom = FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(10.0));
    let pinned = [true, true, false];
    let in_pieces = [false, false, true];
    options()
        .filter_policy(FilterPolicy::all(bloom))
        .filter_block_partitioning_policy(PartitioningPolicy::new(in_pieces))
        .index_block_partitioning_policy(PartitioningPolicy::new(in_pieces))
        .filter_block_pinning_policy(PinningPolicy::new(pinned))
        .index_block_pinning_policy(PinningPolicy::new(pinned))
}

impl Journal {
    pub(crate) fn open(path: &Path) -> Result<Self, OpenError> {
        let failed = |error| open_error(path, error);
        let builder = Database::builder(path)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNALING_BYTES)
            .worker_threads(WORKERS);
        // Of some damages the store panics.
        let opened = catch_unwind(AssertUnwindSafe(|| builder.open()));
        let damaged =
            |_| OpenError::JournalDamaged { path: path.to_owned(), why: "the store panicked".into() };
        let database = opened.map_err(damaged)?.map_err(failed)?;
        let keyspace = |name: &str| database.keyspace(name, options).map_err(failed);
        let mut generations = BTreeMap::new();
        for name in database.list_keyspace_names() {
            if let Some(number) = name.strip_prefix("log-").and_then(|number| number.parse().ok()) {
                generations.insert(number, generation(&database, number).map_err(failed)?);
            }
        }
        let heard = RwLock::new(heard::opened(&database).map_err(failed)?);
        let bulk = keyspace("bulk")?;
        let weightless = keyspace("weightless")?;
        let sightings = keyspace("sightings")?;
        let reporters = keyspace("reporters")?;
        let meta = keyspace("meta")?;
        let generations = RwLock::new(generations);
        let hidden_before = AtomicU64::new(0);
        let link = keyspace("link")?;
        let peers = RwLock::default();
        let journal = Journal {
            database,
            commits: AtomicU64::new(0),
            generations,
            hidden_before,
            heard,
            link,
            peers,
            bulk,
            sightings,
            weightless,
            reporters,
            meta,
        };
        journal.read_peers()?;
        Ok(journal)
    }

    /// The generations that have keyspaces, oldest first, hidden ones included.
    pub(crate) fn generations(&self) -> Vec<u64> {
        self.read().keys().copied().collect()
    }

    /// The generations that count, newest first.
    pub(crate) fn live(&self) -> Vec<u64> {
        let first = self.hidden_before.load(Relaxed);
        self.read().range(first..).rev().map(|(&number, _)| number).collect()
    }

    /// From now on nothing counts that is older than this generation.
    pub(crate) fn hide_before(&self, first: u64) {
        self.hidden_before.store(first, Relaxed);
    }

    fn read(&self) -> std::sync::RwLockReadGuard<'_, BTreeMap<u64, Generation>> {
        self.generations.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the keyspaces of a generation, unless they are there.
    pub(crate) fn ensure(&self, number: u64) -> Result<(), JournalError> {
        if self.read().contains_key(&number) {
            return Ok(());
        }
        let made = generation(&self.database, number)?;
        self.generations.write().unwrap_or_else(PoisonError::into_inner).insert(number, made);
        Ok(())
    }

    /// Forgets a generation: its records and their rows.
    pub(crate) fn drop_generation(&self, number: u64) -> Result<(), JournalError> {
        self.drop_heard(number)?;
        let removed = self.generations.write().unwrap_or_else(PoisonError::into_inner).remove(&number);
        if let Some(Generation { log, index }) = removed {
            self.database.delete_keyspace(index)?;
            self.database.delete_keyspace(log)?;
        }
        Ok(())
    }

    /// Batches that were committed since it was opened.
    pub(crate) fn commits(&self) -> u64 {
        self.commits.load(Relaxed)
    }

    /// An empty batch.
    pub(crate) fn batch(&self) -> JournalBatch<'_> {
        let batch = self.database.batch().durability(Some(PersistMode::SyncData));
        JournalBatch { journal: self, batch, generation: None, touched: BTreeSet::new(), value: Vec::new() }
    }

    /// A reporter's row on a key in one generation.
    pub(crate) fn row(&self, generation: u64, key: &RowKey) -> Result<Option<Row>, JournalError> {
        let Some(keyspaces) = self.read().get(&generation).cloned() else {
            return Ok(None);
        };
        keyspaces.index.get(key)?.map(|bytes| decode_row(&bytes)).transpose()
    }

    /// A reporter's newest row on a key, and its generation.
    pub(crate) fn newest_row(&self, key: &RowKey) -> Result<Option<(u64, Row)>, JournalError> {
        for generation in self.live() {
            if let Some(row) = self.row(generation, key)? {
                return Ok(Some((generation, row)));
            }
        }
        Ok(None)
    }

    /// Whether a reporter has no row on a key in a generation after this one, protections apart.
    pub(crate) fn has_no_newer_row(
        &self,
        generation: u64,
        hash: Hash128,
        reporter: ReporterId,
    ) -> Result<bool, JournalError> {
        let key = row_key(hash, reporter);
        let newer: Vec<Generation> =
            self.read().range(generation + 1..LASTING).map(|(_, keyspaces)| keyspaces.clone()).collect();
        for keyspaces in newer {
            if keyspaces.index.contains_key(key)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// All reporters' rows on a key in one generation, at most `most`.
    pub(crate) fn rows_of(
        &self,
        generation: u64,
        hash: Hash128,
        most: usize,
    ) -> Result<Vec<KeyRow>, JournalError> {
        let Some(keyspaces) = self.read().get(&generation).cloned() else {
            return Ok(Vec::new());
        };
        let mut rows = Vec::new();
        for item in keyspaces.index.prefix(hash_bytes(hash)).take(most) {
            let (key, value) = item.into_inner()?;
            let (_, reporter) = split_row_key(&key).ok_or_else(odd_row)?;
            rows.push(KeyRow { generation, reporter, row: decode_row(&value)? });
        }
        Ok(rows)
    }

    /// Calls `visit` with every row of a generation.
    pub(crate) fn each_row(
        &self,
        generation: u64,
        mut visit: impl FnMut(Hash128, ReporterId, Row) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let Some(keyspaces) = self.read().get(&generation).cloned() else {
            return Ok(());
        };
        for item in keyspaces.index.iter() {
            let (key, value) = item.into_inner()?;
            let (hash, reporter) = split_row_key(&key).ok_or_else(odd_row)?;
            visit(hash, reporter, decode_row(&value)?)?;
        }
        Ok(())
    }

    /// Calls `visit` with every record of a generation from a number on, in order.
    pub(crate) fn each_record(
        &self,
        generation: u64,
        from: u64,
        mut visit: impl FnMut(u64, Record) -> Result<(), JournalError>,
    ) -> Result<(), JournalError> {
        let Some(keyspaces) = self.read().get(&generation).cloned() else {
            return Ok(());
        };
        for item in keyspaces.log.range(from.to_be_bytes()..) {
            let (key, value) = item.into_inner()?;
            let number = number_of(&key)?;
            visit(number, record_of(number, &value)?)?;
        }
        Ok(())
    }

    /// The record with a number, and its generation; of one that came back, the first.
    pub(crate) fn record(&self, number: RecordNumber) -> Result<Option<(u64, Record)>, JournalError> {
        if let Some(serial) = number.returned_serial() {
            return Ok(match self.heard(serial)? {
                Some((_, heard::HeardBody::Counted(record))) => Some((0, record)),
                _ => None,
            });
        }
        for (&generation, keyspaces) in self.read().iter().rev() {
            if let Some(bytes) = keyspaces.log.get(number.0.to_be_bytes())? {
                return Ok(Some((generation, record_of(number.0, &bytes)?)));
            }
        }
        Ok(None)
    }

    /// The number of the last record, those that were dropped included; 0 where there was none.
    pub(crate) fn last_number(&self) -> Result<u64, JournalError> {
        let mut highest = self.number("last")?.unwrap_or(0);
        for keyspaces in self.read().values() {
            if let Some(last) = keyspaces.log.last_key_value() {
                highest = highest.max(number_of(&last.key()?)?);
            }
        }
        Ok(highest)
    }

    /// Whether a generation has no records of this site.
    pub(crate) fn has_no_records(&self, generation: u64) -> bool {
        let generations = self.read();
        generations.get(&generation).is_none_or(|keyspaces| keyspaces.log.first_key_value().is_none())
    }

    /// Makes the rows of a generation's index anew: empties it.
    pub(crate) fn clear_index(&self, generation: u64) -> Result<(), JournalError> {
        if let Some(keyspaces) = self.read().get(&generation) {
            keyspaces.index.clear()?;
        }
        Ok(())
    }

    /// Calls `visit` with the generation and hash of every bulk mark, and the slot of the peer whose it is; 0 for own
    /// ones.
    pub(crate) fn each_bulk(&self, mut visit: impl FnMut(u64, Hash128, u16)) -> Result<(), JournalError> {
        for item in self.bulk.iter() {
            let key = item.key()?;
            let (generation, rest) = key.split_first_chunk::<8>().ok_or_else(odd_row)?;
            let (hash, slot) = rest.split_first_chunk::<16>().ok_or_else(odd_row)?;
            let slot = match slot {
                [] => 0,
                slot => u16::from_be_bytes(slot.try_into().map_err(|_| odd_row())?),
            };
            visit(u64::from_be_bytes(*generation), hash_of(*hash), slot);
        }
        Ok(())
    }

    /// All reporters.
    pub(crate) fn reporters(&self) -> Result<Vec<Reporter>, JournalError> {
        let mut reporters = Vec::new();
        for item in self.reporters.iter() {
            reporters.push(from_json("a reporter", &item.value()?)?);
        }
        Ok(reporters)
    }

    /// A number that was kept under a name.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, JournalError> {
        let value = self.meta.get(name)?;
        Ok(value.and_then(|bytes| Some(u64::from_be_bytes(bytes.as_ref().try_into().ok()?))))
    }

    /// Overwrites a row with bytes of another shape: what a damaged disk leaves.
    #[cfg(test)]
    pub(crate) fn damage_row(&self, generation: u64, key: &RowKey) -> Result<(), JournalError> {
        let mut batch = self.batch();
        let index = batch.keyspaces(generation)?.index.clone();
        batch.batch.insert(&index, *key, b"odd");
        batch.commit()
    }

    /// Lets the store write what it has gathered, where that is much.
    fn seal(&self, touched: &BTreeSet<u64>) -> Result<(), JournalError> {
        let mut written =
            vec![&self.sightings, &self.bulk, &self.weightless, &self.reporters, &self.meta, &self.link];
        let generations = self.read();
        let heard = self.heard.read().unwrap_or_else(PoisonError::into_inner);
        for number in touched {
            written.extend(generations.get(number).into_iter().flat_map(|one| [&one.log, &one.index]));
            written.extend(heard.get(number));
        }
        for keyspace in written {
            if keyspace.tree.active_memtable().size() >= MEMTABLE_BYTES {
                keyspace.rotate_memtable()?;
            }
        }
        Ok(())
    }

    /// The keyspace of an earlier release, where it is there.
    pub(crate) fn old_keyspace(&self, name: &str) -> Result<Option<Keyspace>, JournalError> {
        let is_there = self.database.keyspace_exists(name);
        Ok(is_there.then(|| self.database.keyspace(name, options)).transpose()?)
    }

    /// Deletes a keyspace of an earlier release.
    pub(crate) fn drop_keyspace(&self, keyspace: Keyspace) -> Result<(), JournalError> {
        Ok(self.database.delete_keyspace(keyspace)?)
    }

    /// What the link keeps as it is now, for another thread to read.
    pub(crate) fn link_now(&self) -> LinkNow {
        LinkNow { snapshot: self.database.snapshot(), link: self.link.clone() }
    }

    /// Bytes on disk.
    pub(crate) fn disk_bytes(&self) -> u64 {
        self.database.disk_space().unwrap_or(0)
    }
}

impl JournalBatch<'_> {
    pub(crate) fn record(
        &mut self,
        generation: u64,
        number: u64,
        record: &Record,
    ) -> Result<(), JournalError> {
        let log = self.keyspaces(generation)?.log.clone();
        self.value.clear();
        record.encode(&mut self.value);
        self.batch.insert(&log, number.to_be_bytes(), self.value.as_slice());
        Ok(())
    }

    pub(crate) fn row(&mut self, generation: u64, key: &RowKey, row: &Row) -> Result<(), JournalError> {
        let index = self.keyspaces(generation)?.index.clone();
        self.value.clear();
        row.encode(&mut self.value);
        self.batch.insert(&index, *key, self.value.as_slice());
        Ok(())
    }

    pub(crate) fn bulk(&mut self, generation: u64, hash: Hash128, slot: u16) {
        self.batch.insert(&self.journal.bulk, bulk_key(generation, hash, slot), []);
    }

    pub(crate) fn remove_bulk(&mut self, generation: u64, hash: Hash128, slot: u16) {
        self.batch.remove(&self.journal.bulk, bulk_key(generation, hash, slot));
    }

    pub(crate) fn reporter(&mut self, reporter: &Reporter) -> Result<(), JournalError> {
        let json = to_json("a reporter", reporter)?;
        self.batch.insert(&self.journal.reporters, reporter.id.0.to_be_bytes(), json);
        Ok(())
    }

    pub(crate) fn number(&mut self, name: &str, value: u64) {
        self.batch.insert(&self.journal.meta, name, value.to_be_bytes());
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.batch.is_empty()
    }

    /// All of it or nothing, durable when it returns.
    pub(crate) fn commit(self) -> Result<(), JournalError> {
        if self.batch.is_empty() {
            return Ok(());
        }
        self.batch.commit()?;
        self.journal.commits.fetch_add(1, Relaxed);
        self.journal.seal(&self.touched)
    }

    fn keyspaces(&mut self, generation: u64) -> Result<&Generation, JournalError> {
        if self.generation.as_ref().is_none_or(|(last, _)| *last != generation) {
            let keyspaces = self.journal.read().get(&generation).cloned();
            let missing = || JournalError::Rows(format!("there is no generation {generation}").into());
            self.generation = Some((generation, keyspaces.ok_or_else(missing)?));
            self.touched.insert(generation);
        }
        self.generation.as_ref().map(|(_, keyspaces)| keyspaces).ok_or_else(odd_row)
    }
}

fn generation(database: &Database, number: u64) -> Result<Generation, fjall::Error> {
    let log = database.keyspace(&format!("log-{number}"), log_options)?;
    let index = database.keyspace(&format!("index-{number}"), index_options)?;
    Ok(Generation { log, index })
}

/// Own marks have no slot: so they were before there were peers.
fn bulk_key(generation: u64, hash: Hash128, slot: u16) -> Vec<u8> {
    let mut key = generation.to_be_bytes().to_vec();
    key.extend(hash_bytes(hash));
    if slot > 0 {
        key.extend(slot.to_be_bytes());
    }
    key
}

fn number_of(key: &[u8]) -> Result<u64, JournalError> {
    Ok(u64::from_be_bytes(key.try_into().map_err(|_| odd_row())?))
}

fn decode_row(bytes: &[u8]) -> Result<Row, JournalError> {
    Row::decode(bytes).ok_or_else(odd_row)
}
