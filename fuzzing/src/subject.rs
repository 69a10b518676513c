//! A filter under test that keeps to one level of kernels.

use std::fmt;

use seenit_filter::file::{self, FileView};
use seenit_filter::hash::{Hash128, KeyHasher, SipKey};
use seenit_filter::{AnyLayout, Filter, HugePages, Layout, PAGE_BYTES, Simd, Unlike};

use crate::forge::{mode, seal};

/// Hashes that are their own keys, so that the fuzzer can aim at single bits.
struct Ready;

impl KeyHasher<Hash128> for Ready {
    fn hash(&self, key: &Hash128) -> Hash128 {
        *key
    }
}

/// An empty filter.
pub(crate) fn empty(layout: AnyLayout, key: &SipKey) -> Filter {
    Filter::new(layout, None, key.fingerprint(), HugePages::Default).expect("memory for a few pages")
}

/// A filter with just these bits. Only a file can say so, and only one with digests that fit.
pub(crate) fn with_bits(layout: AnyLayout, key: &SipKey, positions: &[u64]) -> Filter {
    let mut file = bytes_of(&empty(layout, key));
    let pages_at = file.len() - layout.pages() as usize * PAGE_BYTES;
    for position in positions {
        file[pages_at + (position / 8) as usize] |= 1 << (position % 8);
    }
    seal(&mut file, mode::SEAL_ALL);
    read(&file)
}

/// A filter and its level.
pub(crate) struct Subject {
    filter: Filter,
    simd: Simd,
}

/// What stands in front of a disagreement.
impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {}:", self.filter.layout(), self.simd.name())
    }
}

impl Subject {
    pub(crate) fn new(layout: AnyLayout, key: &SipKey, simd: Simd) -> Self {
        Subject { filter: empty(layout, key).with_simd(simd), simd }
    }

    pub(crate) fn insert(&mut self, hash: Hash128) {
        self.filter.insert(hash);
    }

    pub(crate) fn insert_many(&mut self, hashes: &[Hash128]) {
        self.filter.insert_many(&Ready, hashes);
    }

    pub(crate) fn insert_keys(&mut self, key: &SipKey, keys: &[Vec<u8>]) {
        self.filter.insert_many(&key.clone().with_simd(self.simd), keys);
    }

    pub(crate) fn contains(&self, hash: Hash128) -> bool {
        self.filter.contains(hash)
    }

    pub(crate) fn contains_many(&self, hashes: &[Hash128]) -> Vec<bool> {
        let mut found = vec![false; hashes.len()];
        self.filter.contains_many(&Ready, hashes, &mut found);
        found
    }

    /// Goes on with what was written to a file and read back.
    pub(crate) fn save(&mut self) {
        self.filter = read(&bytes_of(&self.filter)).with_simd(self.simd);
    }

    /// Adds `other`.
    pub(crate) fn union(&mut self, other: &Filter) -> Result<(), Unlike> {
        self.filter.union(other)
    }

    /// Every bit is as expected, and what is computed from the bits is possible.
    pub(crate) fn compare(&self, words: &[u64], ones: u64) {
        let filter = &self.filter;
        assert!(filter.words() == words, "{self} other bits than the model");
        assert_eq!(filter.fill().ones, ones, "{self}");
        let rate = filter.present_rate();
        assert!((0.0..=1.0).contains(&rate), "{self} present rate {rate}");
        if let Some(estimate) = filter.cardinality() {
            assert!(estimate.value >= 0.0 && estimate.sd >= 0.0, "{self} {estimate:?}");
        }
    }
}

fn bytes_of(filter: &Filter) -> Vec<u8> {
    let mut bytes = Vec::new();
    file::write(filter, &mut bytes).expect("memory takes any bytes");
    bytes
}

fn read(bytes: &[u8]) -> Filter {
    let view = FileView::open(bytes).expect("a file without damage");
    view.check_all(|_| ()).expect("a file without damage");
    view.to_filter(HugePages::Default).expect("memory for a few pages")
}
