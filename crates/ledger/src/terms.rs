//! Terms: under which hash key, and in cells of which shape, what is seen in a generation is counted.
//!
//! A site that stands alone has terms of its own. The sites of a network count under common ones, so that the same
//! message has the same cells everywhere; they hold from a generation on.

use std::fmt;

use seenit_filter::cells::SplitCells;
use seenit_filter::cells::split::Split;
use seenit_filter::counting::{CountingFilter, Refined};
use seenit_filter::hash::SipKey;
use seenit_filter::{AnyLayout, GeometryError, HugePages, Layout, Paged, Promise};
use serde::{Deserialize, Serialize};

use crate::config::LedgerConfig;

/// Low bits of a cell: most messages have fewer than eight recipients.
const LOW_BITS: u32 = 3;

/// Tables of high parts: so many writers at a time can raise large counts.
const CHUNKS: u64 = 64;

/// Seen counts of one generation, in the hands of one owner.
pub type Counts = CountingFilter<Refined, AnyLayout, SplitCells>;

/// The hash key and the geometry of seen cells.
#[derive(Clone, PartialEq)]
pub struct Terms {
    hash_key: [u8; 16],
    layout: Paged,
    split: Split,
    promise: Promise,
}

impl Terms {
    /// Cells of this shape. A signature has its cells in one page, and a page of the layout is a page of cells.
    pub fn new(
        hash_key: [u8; 16],
        layout: Paged,
        split: Split,
        promise: Promise,
    ) -> Result<Self, GeometryError> {
        let (slots, cells) = (layout.slots(), split.base().per_page());
        if slots != cells {
            return Err(GeometryError::SlotsOfCells { slots, cells });
        }
        if layout.pages_per_key() != 1 {
            let layout = format!("paged with {} pages a key", layout.pages_per_key());
            return Err(GeometryError::NotForCounting(layout));
        }
        Ok(Terms { hash_key, layout, split, promise })
    }

    /// What a site counts under that stands alone.
    pub fn private(config: &LedgerConfig, hash_key: [u8; 16]) -> Result<Self, GeometryError> {
        let split = Split::new(LOW_BITS, CHUNKS)?;
        // The rate holds for a lookup of all generations.
        let rate = config.rate / config.seen_generations as f64;
        let promise = Promise { capacity: config.seen_capacity, rate };
        let layout = Paged::sized_with_slots(promise.capacity, rate, split.base().per_page())?;
        Terms::new(hash_key, layout, split, promise)
    }

    /// What signatures are hashed with.
    pub(crate) fn sip(&self) -> SipKey {
        SipKey::new(self.hash_key)
    }

    pub(crate) fn hash_key(&self) -> [u8; 16] {
        self.hash_key
    }

    /// Signatures that cells of one generation are made for.
    pub(crate) fn capacity(&self) -> u64 {
        self.promise.capacity
    }

    /// The false-positive rate that they promise.
    pub(crate) fn rate(&self) -> f64 {
        self.promise.rate
    }

    /// Whether counts are kept under these terms.
    pub(crate) fn is_of(&self, counts: &Counts) -> bool {
        let shape = (*counts.layout(), counts.cells().split(), counts.promise(), counts.fingerprint());
        shape == (self.layout.any(), self.split, Some(self.promise), self.sip().fingerprint())
    }

    /// Cells in which nothing is counted.
    pub fn empty(&self) -> Result<Counts, GeometryError> {
        let cells = SplitCells::zeroed(self.split, self.layout.bits(), HugePages::Default)?;
        CountingFilter::new(self.layout.any(), cells, Some(self.promise), self.sip().fingerprint())
    }
}

/// The hash key is a secret.
impl fmt::Debug for Terms {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Terms { hash_key: _, layout, split, promise } = self;
        write!(f, "Terms({}, {layout:?}, {split:?}, {promise:?})", self.sip().fingerprint())
    }
}

/// Terms that hold from a generation on, as the identity keeps them.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StoredTerms {
    generation: u64,
    hash_key: String,
    pages: u64,
    k: u32,
    low_bits: u32,
    chunks: u64,
    capacity: u64,
    /// In words of its own: JSON's numbers need not come back to the bit.
    rate: String,
}

impl StoredTerms {
    pub(crate) fn new(generation: u64, terms: &Terms) -> Self {
        StoredTerms {
            generation,
            hash_key: hex::encode(terms.hash_key),
            pages: terms.layout.bits() / terms.layout.slots(),
            k: terms.layout.k(),
            low_bits: terms.split.low_bits(),
            chunks: terms.split.chunks(),
            capacity: terms.promise.capacity,
            rate: terms.promise.rate.to_string(),
        }
    }

    pub(crate) fn read(&self) -> Result<(u64, Terms), String> {
        let why = |error: &dyn fmt::Display| format!("terms of generation {}: {error}", self.generation);
        let mut hash_key = [0; 16];
        hex::decode_to_slice(&self.hash_key, &mut hash_key).map_err(|error| why(&error))?;
        let split = Split::new(self.low_bits, self.chunks).map_err(|error| why(&error))?;
        let layout = Paged::with_slots(self.pages, 1, self.k, split.base().per_page());
        let rate = self.rate.parse().map_err(|error| why(&error))?;
        let promise = Promise { capacity: self.capacity, rate };
        let terms = layout.and_then(|layout| Terms::new(hash_key, layout, split, promise));
        Ok((self.generation, terms.map_err(|error| why(&error))?))
    }
}

/// Those of `terms`, by first generation, that hold for a generation.
pub(crate) fn terms_at(terms: &[(u64, Terms)], generation: u64) -> Option<&Terms> {
    terms
        .iter()
        .filter(|(first, _)| *first <= generation)
        .max_by_key(|(first, _)| *first)
        .map(|(_, terms)| terms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_terms_come_back_to_the_bit_and_tell_no_secret_when_printed() {
        for rate in [0.001 / 3.0, 1e-6, 0.1] {
            let config = LedgerConfig { rate, ..LedgerConfig::default() };
            let terms = Terms::private(&config, [0xab; 16]).expect("a geometry");
            let json = serde_json::to_vec(&StoredTerms::new(7, &terms)).expect("JSON");
            let stored: StoredTerms = serde_json::from_slice(&json).expect("JSON");
            assert_eq!(stored.read().expect("terms"), (7, terms.clone()));
            assert!(!format!("{terms:?}").contains("abab"), "{terms:?}");
        }
    }

    #[test]
    fn the_latest_terms_that_have_begun_hold() {
        let of = |key| Terms::private(&LedgerConfig::default(), [key; 16]).expect("a geometry");
        let terms = [(5, of(1)), (9, of(2))];
        let at = |generation| terms_at(&terms, generation).map(|terms| terms.hash_key[0]);
        assert_eq!([4, 5, 8, 9, 100].map(at), [None, Some(1), Some(1), Some(2), Some(2)]);
    }

    #[test]
    fn pages_that_are_not_those_of_the_cells_are_refused() {
        let split = Split::new(LOW_BITS, CHUNKS).expect("a shape");
        let promise = Promise { capacity: 1000, rate: 0.01 };
        let layout = Paged::with_slots(4, 1, 4, split.base().per_page() / 2).expect("a layout");
        assert!(Terms::new([0; 16], layout, split, promise).is_err());
        let layout = Paged::with_slots(4, 2, 4, split.base().per_page()).expect("a layout");
        assert!(Terms::new([0; 16], layout, split, promise).is_err());
    }
}
