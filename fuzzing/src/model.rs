//! The naive filter: a set of positions, and nothing clever. And hashes to feed it with.

use seenit_filter::hash::Hash128;
use seenit_filter::{AnyLayout, Layout, PAGE_WORDS};

/// The positions of `hash`, by the definition of the layout, all of them within its range.
pub(crate) fn positions(layout: AnyLayout, hash: Hash128) -> impl Iterator<Item = u64> {
    (0..layout.probes()).map(move |probe| {
        let position = layout.position(hash, probe);
        assert!(position < layout.bits(), "{layout:?} {hash:?}: probe {probe} at {position}");
        position
    })
}

/// Whether `words` have every bit of `hash`.
pub(crate) fn all_set(layout: AnyLayout, words: &[u64], hash: Hash128) -> bool {
    positions(layout, hash).all(|position| words[(position / 64) as usize] >> (position % 64) & 1 == 1)
}

/// `count` hashes as a pseudo-random function would give them, the same ones for the same seed: SplitMix64.
pub(crate) fn drawn(seed: u64, count: usize) -> impl Iterator<Item = Hash128> {
    let mut state = seed;
    let mut next = move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    };
    (0..count).map(move |_| Hash128 { lo: next(), hi: next() })
}

/// What a filter should hold: the union of its members' positions, one bit each.
pub(crate) struct Model {
    layout: AnyLayout,
    words: Vec<u64>,
}

impl Model {
    pub(crate) fn new(layout: AnyLayout) -> Self {
        let words = vec![0; layout.pages() as usize * PAGE_WORDS];
        Model { layout, words }
    }

    pub(crate) fn layout(&self) -> AnyLayout {
        self.layout
    }

    pub(crate) fn insert(&mut self, hash: Hash128) {
        for position in positions(self.layout, hash) {
            self.set(position);
        }
    }

    pub(crate) fn set(&mut self, position: u64) {
        self.words[(position / 64) as usize] |= 1 << (position % 64);
    }

    pub(crate) fn contains(&self, hash: Hash128) -> bool {
        all_set(self.layout, &self.words, hash)
    }

    /// How many bits are set.
    pub(crate) fn ones(&self) -> u64 {
        self.words.iter().map(|word| u64::from(word.count_ones())).sum()
    }

    /// The bits in whole pages, as a filter keeps them.
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }
}
