//! The other filters, each as its own documentation says to use it, all sized for the same keys and rate.

use std::error::Error;
use std::hash::BuildHasher;

use foldhash::fast::FixedState;
use xorf::{BinaryFuse8, Filter as _};

use crate::contender::{Contender, Lap, Shape, time};
use crate::keys::Keys;

/// Everybody else's rows.
pub(crate) fn rows(keys: u64, rate: f64) -> Vec<Box<dyn Contender>> {
    let items = keys as usize;
    vec![
        Box::new(FastBloom { items, rate }),
        Box::new(BloomFilter { items, rate }),
        Box::new(SplitBlock { bits: split_block_bits(keys, rate) }),
        Box::new(Fuse),
    ]
}

/// `fastbloom`, with the fast hasher its documentation recommends in place of its default, SipHash.
struct FastBloom {
    items: usize,
    rate: f64,
}

impl Contender for FastBloom {
    fn name(&self) -> &str {
        "fastbloom"
    }

    fn round(&self, keys: &Keys) -> Result<Lap, Box<dyn Error>> {
        time(
            &keys.integers,
            |keys| {
                let builder = fastbloom::BloomFilter::with_false_pos(self.rate);
                let mut filter = builder.hasher(FixedState::default()).expected_items(self.items);
                for key in keys {
                    filter.insert(key);
                }
                Ok(filter)
            },
            |filter, keys| keys.iter().map(|key| u64::from(filter.contains(key))).sum(),
            |filter| Shape { k: Some(filter.num_hashes()), bits: filter.num_bits() as u64 },
        )
    }
}

/// `bloomfilter`, which brings its own hash (SipHash-1-3, twice) and takes no other.
struct BloomFilter {
    items: usize,
    rate: f64,
}

impl Contender for BloomFilter {
    fn name(&self) -> &str {
        "bloomfilter"
    }

    fn round(&self, keys: &Keys) -> Result<Lap, Box<dyn Error>> {
        time(
            &keys.integers,
            |keys| {
                // Each half seeds one of its two hashes: equal halves would make them one.
                let seed = std::array::from_fn(|i| i as u8);
                let mut filter = bloomfilter::Bloom::new_for_fp_rate_with_seed(self.items, self.rate, &seed)?;
                for key in keys {
                    filter.set(key);
                }
                Ok(filter)
            },
            |filter, keys| keys.iter().map(|key| u64::from(filter.check(key))).sum(),
            |filter| Shape { k: Some(filter.number_of_hash_functions()), bits: filter.len() },
        )
    }
}

/// `sbbf-rs`: blocks of 256 bits, one bit in each of eight 32-bit words. It takes hashes: foldhash's.
struct SplitBlock {
    bits: usize,
}

impl Contender for SplitBlock {
    fn name(&self) -> &str {
        "sbbf-rs"
    }

    fn round(&self, keys: &Keys) -> Result<Lap, Box<dyn Error>> {
        let hasher = FixedState::default();
        time(
            &keys.integers,
            |keys| {
                // It multiplies its two arguments: whole bits a key would be too coarse for an equal rate.
                let mut filter = sbbf_rs_safe::Filter::new(1, self.bits);
                for key in keys {
                    filter.insert_hash(hasher.hash_one(key));
                }
                Ok(filter)
            },
            |filter, keys| {
                let found = keys.iter().map(|key| filter.contains_hash(hasher.hash_one(key)));
                found.map(u64::from).sum()
            },
            |filter| Shape { k: Some(BLOCK_WORDS as u32), bits: filter.as_bytes().len() as u64 * 8 },
        )
    }
}

/// `xorf`'s binary fuse filter with 8-bit fingerprints: not a Bloom filter. It is built once from all its
/// keys, its rate is 1/256 whatever was asked for, and it hashes integers by itself.
struct Fuse;

impl Contender for Fuse {
    fn name(&self) -> &str {
        "xorf-binaryfuse8"
    }

    fn round(&self, keys: &Keys) -> Result<Lap, Box<dyn Error>> {
        time(
            &keys.integers,
            |keys| Ok(BinaryFuse8::try_from(keys)?),
            |filter, keys| keys.iter().map(|key| u64::from(filter.contains(key))).sum(),
            |filter| Shape { k: None, bits: filter.len() as u64 * 8 },
        )
    }
}

const BLOCK_BITS: u64 = 256;
const BLOCK_WORDS: i32 = 8;
const BLOCK_WORD_BITS: f64 = 32.0;

/// The fewest bits at which a split-block filter with `keys` keys has at most `rate`.
///
/// Parquet's formula leaves out that blocks are filled unevenly and would let it miss the rate by a fifth.
fn split_block_bits(keys: u64, rate: f64) -> usize {
    // A block a key is a rate of some 1e-8: whoever asks for less gets that.
    let mut short = 0;
    let mut enough = keys;
    while enough - short > 1 {
        let middle = short + (enough - short) / 2;
        if split_block_rate(keys as f64 / middle as f64) <= rate {
            enough = middle;
        } else {
            short = middle;
        }
    }
    (enough * BLOCK_BITS) as usize
}

/// The expected rate at a mean of `load` keys a block: over a Poisson number of keys, the chance that a
/// stranger's eight bits, one in each word, are all set.
fn split_block_rate(load: f64) -> f64 {
    // Blocks this full take everything for present; e^-load would underflow.
    if load > 500.0 {
        return 1.0;
    }
    let most = (load + 12.0 * load.sqrt() + 30.0) as i32;
    let mut share = (-load).exp();
    let mut rate = 0.0;
    for keys in 0..most {
        let set = 1.0 - (1.0 - 1.0 / BLOCK_WORD_BITS).powi(keys);
        rate += share * set.powi(BLOCK_WORDS);
        share *= load / f64::from(keys + 1);
    }
    rate
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn split_block_rates() {
        assert_eq!(split_block_rate(0.0), 0.0);
        assert!(split_block_rate(499.0) > 0.999 && split_block_rate(499.0) < 1.0 + 1e-9);
        // The published 1 % size: about 10.5 bits a key.
        let bits = split_block_bits(1_000_000, 0.01) as f64 / 1e6;
        assert!((10.3..10.7).contains(&bits), "{bits}");
        assert_eq!(split_block_bits(1, 0.5), 256);
    }
}
