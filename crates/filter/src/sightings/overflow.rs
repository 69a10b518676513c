//! Whatever short slots cannot hold, exactly: 64-bit [`Table`]s, as many as it takes.

use super::place::BEHIND;
use super::segments::Segments;
use super::{COUNT_MAX, Fingerprint};
use crate::counting::Count;
use crate::error::GeometryError;
use crate::hash::{Hash128, KeyHasher, SipKey};
use crate::memory::HugePages;
use crate::table::Table;

/// Keys of the smallest first table: what one page holds.
const FIRST_KEYS_MIN: u64 = 460;

/// The first table of an index for `n` signatures holds `n` of so many: enough where few signatures have more than
/// 511 recipients, and a hundredth of what the index takes itself.
const FIRST_SHARE: u64 = 256;

/// Counts of few signatures, for many threads.
#[derive(Debug)]
pub(super) struct Overflow {
    tables: Segments<Table>,
    first_keys: u64,
}

impl Overflow {
    /// Behind an index for so many signatures. It takes no memory until something is added.
    pub(super) fn new(capacity: u64) -> Self {
        Overflow { tables: Segments::new(), first_keys: FIRST_KEYS_MIN.max(capacity / FIRST_SHARE) }
    }

    /// What it has for a signature.
    pub(super) fn count(&self, fingerprint: Fingerprint) -> Count {
        let hash = BEHIND.hash(&fingerprint);
        let value = self.tables.iter().map(|table| table.get(hash)).find(|&value| value > 0).unwrap_or(0);
        self.counted(value)
    }

    fn counted(&self, value: u64) -> Count {
        Count { value, saturated: value == COUNT_MAX || self.tables.has_refused() }
    }

    /// Adds to what it has, and returns what it has then, and whether it had nothing before.
    pub(super) fn add(&self, fingerprint: Fingerprint, increment: u64) -> (Count, bool) {
        let hash = BEHIND.hash(&fingerprint);
        let held = || self.tables.iter().find(|table| table.get(hash) > 0);
        if let Some(table) = held() {
            return (self.counted(raised(table, hash, increment).unwrap_or(0)), false);
        }
        let alone = self.tables.grow();
        if let Some(table) = held() {
            return (self.counted(raised(table, hash, increment).unwrap_or(0)), false);
        }
        let newest = self.tables.iter().next_back().filter(|table| table.len() < table.capacity());
        let value = newest.and_then(|table| raised(table, hash, increment)).or_else(|| {
            let table = self.tables.push(&alone, self.next_table())?;
            raised(table, hash, increment)
        });
        (self.counted(value.unwrap_or(0)), true)
    }

    /// As large as all before it together.
    fn next_table(&self) -> Result<Table, GeometryError> {
        let keys = self.tables.iter().map(Table::capacity).sum::<u64>().max(self.first_keys);
        Table::sized(keys, SipKey::public().fingerprint(), HugePages::Default)
    }

    /// How many signatures it has something for.
    #[cfg(test)]
    pub(super) fn len(&self) -> u64 {
        self.tables.iter().map(Table::len).sum()
    }

    /// All its memory.
    pub(super) fn memory_bytes(&self) -> u64 {
        self.tables.list_bytes() + self.tables.iter().map(Table::memory_bytes).sum::<u64>()
    }

    /// The chance that it has something for a signature that was never added.
    pub(super) fn present_rate(&self) -> f64 {
        self.tables.iter().map(Table::present_rate).sum()
    }
}

/// The value after an addition; `None` where the table has no room.
fn raised(table: &Table, hash: Hash128, increment: u64) -> Option<u64> {
    table.update(hash, |value| value.saturating_add(increment).min(COUNT_MAX)).ok()
}
