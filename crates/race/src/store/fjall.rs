//! A journal in fjall: log-structured trees behind one write-ahead journal.

use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use fjall::compaction::Leveled;
use fjall::config::{
    BlockSizePolicy, BloomConstructionPolicy, FilterPolicy, FilterPolicyEntry, PartitioningPolicy,
    PinningPolicy,
};
use fjall::{AbstractTree, Database, Keyspace, KeyspaceCreateOptions, PersistMode};

use super::lap::Store;
use super::records::{Key, Record};

const MIB: u64 = 1 << 20;

/// What may be chosen. The names are those of fjall's own options.
#[derive(Clone, Copy)]
struct Settings {
    cache_bytes: u64,
    max_memtable_bytes: u64,
    max_journaling_bytes: u64,
    worker_threads: usize,
    block_bytes: u32,
    table_target_bytes: u64,
    /// Filter and index blocks in parts that are fetched as needed, and none of them pinned.
    partitioned: bool,
    /// Bits a key of the index's filters.
    filter_bits: f32,
    /// Whether the writer itself seals a full memtable, and does not wait until a worker has time for it.
    sealed_by_writer: bool,
    persist: PersistMode,
}

/// The least memory that costs little speed: see docs/notebook/race.md.
const SMALL: Settings = Settings {
    cache_bytes: 4 * MIB,
    max_memtable_bytes: 2 * MIB,
    max_journaling_bytes: 128 * MIB,
    worker_threads: 2,
    block_bytes: 4 << 10,
    table_target_bytes: 64 * MIB,
    partitioned: true,
    filter_bits: 10.0,
    sealed_by_writer: true,
    persist: PersistMode::SyncData,
};

/// Each differs from `fjall` in one thing.
const VARIANTS: [(&str, Settings); 13] = [
    ("fjall", SMALL),
    ("fjall-cache-1", Settings { cache_bytes: MIB, ..SMALL }),
    ("fjall-cache-32", Settings { cache_bytes: 32 * MIB, ..SMALL }),
    ("fjall-memtable-1", Settings { max_memtable_bytes: MIB, ..SMALL }),
    ("fjall-memtable-4", Settings { max_memtable_bytes: 4 * MIB, ..SMALL }),
    ("fjall-memtable-16", Settings { max_memtable_bytes: 16 * MIB, ..SMALL }),
    ("fjall-one-worker", Settings { worker_threads: 1, ..SMALL }),
    ("fjall-table-16", Settings { table_target_bytes: 16 * MIB, ..SMALL }),
    ("fjall-block-16", Settings { block_bytes: 16 << 10, ..SMALL }),
    ("fjall-whole-blocks", Settings { partitioned: false, ..SMALL }),
    ("fjall-no-filters", Settings { filter_bits: 0.0, ..SMALL }),
    ("fjall-sealed-by-workers", Settings { sealed_by_writer: false, ..SMALL }),
    ("fjall-sync-all", Settings { persist: PersistMode::SyncAll, ..SMALL }),
];

struct Fjall {
    database: Database,
    log: Keyspace,
    index: Keyspace,
    /// The writer seals memtables of this many bytes.
    seal_bytes: u64,
    persist: PersistMode,
}

pub(crate) fn open(name: &str, folder: &Path) -> Result<Box<dyn Store>, Box<dyn Error>> {
    if name == "fjall-default" {
        let database = Database::builder(folder).open()?;
        let keyspace = |name| database.keyspace(name, KeyspaceCreateOptions::default);
        let log = keyspace("log")?;
        let index = keyspace("index")?;
        return Ok(Box::new(Fjall {
            database,
            log,
            index,
            seal_bytes: u64::MAX,
            persist: PersistMode::SyncData,
        }));
    }
    let Some((_, settings)) = VARIANTS.iter().find(|(known, _)| *known == name) else {
        let names = VARIANTS.map(|(name, _)| name).join(", ");
        return Err(format!("{name}: there are {names}, fjall-default").into());
    };
    let database = Database::builder(folder)
        .cache_size(settings.cache_bytes)
        .max_journaling_size(settings.max_journaling_bytes)
        .worker_threads(settings.worker_threads)
        .open()?;
    // The log is never asked for a number it does not have: it needs no filters.
    let log = database.keyspace("log", || settings.keyspace().filter_policy(FilterPolicy::disabled()))?;
    let index = database.keyspace("index", || settings.keyspace().filter_policy(settings.filters()))?;
    let seal_bytes = if settings.sealed_by_writer { settings.max_memtable_bytes } else { u64::MAX };
    Ok(Box::new(Fjall { database, log, index, seal_bytes, persist: settings.persist }))
}

impl Settings {
    fn keyspace(&self) -> KeyspaceCreateOptions {
        let options = KeyspaceCreateOptions::default()
            .max_memtable_size(if self.sealed_by_writer { u64::MAX } else { self.max_memtable_bytes })
            .data_block_size_policy(BlockSizePolicy::all(self.block_bytes))
            .compaction_strategy(Arc::new(
                Leveled::default().with_table_target_size(self.table_target_bytes),
            ));
        if !self.partitioned {
            return options;
        }
        options
            .filter_block_partitioning_policy(PartitioningPolicy::all(true))
            .index_block_partitioning_policy(PartitioningPolicy::all(true))
            .filter_block_pinning_policy(PinningPolicy::all(false))
            .index_block_pinning_policy(PinningPolicy::all(false))
    }

    fn filters(&self) -> FilterPolicy {
        if self.filter_bits == 0.0 {
            return FilterPolicy::disabled();
        }
        FilterPolicy::all(FilterPolicyEntry::Bloom(BloomConstructionPolicy::BitsPerKey(self.filter_bits)))
    }
}

impl Store for Fjall {
    fn commit(&mut self, records: &[Record], indexed: bool, repeats: &[Key]) -> Result<(), Box<dyn Error>> {
        for key in repeats {
            self.index.get(key)?.ok_or("a repeat is not found")?;
        }
        let mut batch = self.database.batch().durability(Some(self.persist));
        for record in records {
            batch.insert(&self.log, record.number.to_be_bytes(), record.report);
            if indexed {
                batch.insert(&self.index, record.key, record.place);
            }
        }
        batch.commit()?;
        for keyspace in [&self.log, &self.index] {
            if keyspace.tree.active_memtable().size() >= self.seal_bytes {
                keyspace.rotate_memtable()?;
            }
        }
        Ok(())
    }

    fn count(&self, keys: &[Key]) -> Result<u64, Box<dyn Error>> {
        let mut found = 0;
        for key in keys {
            found += u64::from(self.index.get(key)?.is_some());
        }
        Ok(found)
    }

    fn scan(&self, from: u64, most: u64) -> Result<u64, Box<dyn Error>> {
        let mut rows = 0;
        for (row, number) in self.log.range(from.to_be_bytes()..).zip(from..from + most) {
            rows += u64::from(row.into_inner()?.0.as_ref() == number.to_be_bytes());
        }
        Ok(rows)
    }

    fn last(&self) -> Result<Option<u64>, Box<dyn Error>> {
        let Some(row) = self.log.last_key_value() else { return Ok(None) };
        Ok(Some(u64::from_be_bytes(row.key()?.as_ref().try_into()?)))
    }
}
