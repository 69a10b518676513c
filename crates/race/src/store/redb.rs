//! A journal in redb: one file, a copy-on-write B-tree.

use std::error::Error;
use std::path::Path;

use redb::{Database, Durability, ReadableDatabase, ReadableTable, TableDefinition};

use super::lap::Store;
use super::records::{Key, Place, Record};

const LOG: TableDefinition<u64, &[u8]> = TableDefinition::new("log");
const INDEX: TableDefinition<&Key, &Place> = TableDefinition::new("index");

/// All of redb's memory is this cache; half of it for pages being written.
const CACHE_BYTES: usize = 32 << 20;

/// redb as it comes, or `redb-quick-repair`: commits that also write what a restart needs.
struct Redb {
    database: Database,
    quick_repair: bool,
}

pub(crate) fn open(name: &str, folder: &Path) -> Result<Box<dyn Store>, Box<dyn Error>> {
    let quick_repair = match name {
        "redb" => false,
        "redb-quick-repair" => true,
        _ => return Err(format!("{name}: there are redb and redb-quick-repair").into()),
    };
    let database = Database::builder().set_cache_size(CACHE_BYTES).create(folder.join("journal.redb"))?;
    Ok(Box::new(Redb { database, quick_repair }))
}

impl Store for Redb {
    fn commit(&mut self, records: &[Record], indexed: bool, repeats: &[Key]) -> Result<(), Box<dyn Error>> {
        let mut transaction = self.database.begin_write()?;
        transaction.set_durability(Durability::Immediate)?;
        transaction.set_quick_repair(self.quick_repair);
        {
            let mut log = transaction.open_table(LOG)?;
            for record in records {
                log.insert(record.number, record.report.as_slice())?;
            }
        }
        if indexed {
            let mut index = transaction.open_table(INDEX)?;
            for key in repeats {
                index.get(key)?.ok_or("a repeat is not found")?;
            }
            for record in records {
                index.insert(&record.key, &record.place)?;
            }
        }
        Ok(transaction.commit()?)
    }

    fn count(&self, keys: &[Key]) -> Result<u64, Box<dyn Error>> {
        let index = self.database.begin_read()?.open_table(INDEX)?;
        let mut found = 0;
        for key in keys {
            found += u64::from(index.get(key)?.is_some());
        }
        Ok(found)
    }

    fn scan(&self, from: u64, most: u64) -> Result<u64, Box<dyn Error>> {
        let log = self.database.begin_read()?.open_table(LOG)?;
        let mut rows = 0;
        for (row, number) in log.range(from..)?.zip(from..from + most) {
            rows += u64::from(row?.0.value() == number);
        }
        Ok(rows)
    }

    fn last(&self) -> Result<Option<u64>, Box<dyn Error>> {
        let log = self.database.begin_read()?.open_table(LOG)?;
        Ok(log.last()?.map(|(number, _)| number.value()))
    }
}
