//! The floor: what the machine charges for one cache line a key, with nothing done to it.
//!
//! The same keys, hash, batches and prefetches as the line layout's, over as much memory of the same kind of
//! page; of each key's line one word is read. One batch is hashed, fetched and read, then the next, as
//! plainly as can be. `contains_many` keeps two batches under way: where a filter is larger than the
//! second-level cache that can gain it more than its own work costs, and it passes a little below this floor.

use std::error::Error;

use seenit_filter::hash::{BATCH_KEYS, Hash128, KeyHasher, Unkeyed};
use seenit_filter::{HugePages, Layout, Line, PageBuf};

use crate::contender::{Contender, Lap, clock, nanos_each};
use crate::keys::Keys;

pub(crate) struct Floor {
    layout: Line,
    huge: HugePages,
}

impl Floor {
    /// Over the memory of a line filter sized for `keys` and `rate`.
    pub(crate) fn new(keys: u64, rate: f64, huge: HugePages) -> Result<Self, Box<dyn Error>> {
        let layout = Line::sized(keys, rate)?;
        Ok(Floor { layout, huge })
    }

    /// Reads one word of every key's line.
    fn walk(&self, words: &[u64], keys: &[u64]) -> u64 {
        let mut hashes = [Hash128::default(); BATCH_KEYS];
        let mut all = 0;
        for batch in keys.chunks(BATCH_KEYS) {
            Unkeyed.hash_many(batch, &mut hashes);
            let hashes = &hashes[..batch.len()];
            self.layout.prefetch_lookups(words, hashes);
            for &hash in hashes {
                all ^= words[(self.layout.position(hash, 0) / 64) as usize];
            }
        }
        all
    }
}

impl Contender for Floor {
    fn name(&self) -> &str {
        "floor-one-line"
    }

    fn round(&self, keys: &Keys) -> Result<Lap, Box<dyn Error>> {
        let mut memory = PageBuf::zeroed(self.layout.pages(), self.huge)?;
        // Pages never written to are all one page of zeros, and would all be in the cache.
        for (index, word) in memory.as_mut().iter_mut().enumerate() {
            *word = index as u64;
        }
        let words = memory.as_ref();
        // As in a filter's round, hits come first: misses then find the caches as a filter's do.
        clock(|| self.walk(words, &keys.integers.hits));
        let absent = &keys.integers.absent;
        let (_, miss) = clock(|| self.walk(words, absent));
        Ok(Lap { miss_ns: nanos_each(miss, absent.len()), filter: None })
    }
}
