//! What the integration tests share: seeded keys, every layout, every level of kernels.
#![allow(dead_code, unused_imports, reason = "each test file uses its part of this")]

use seenit_filter::hash::SipKey;
use seenit_filter::{AnyLayout, Filter, Flat, HugePages, Layout, LayoutName, Line, Paged};

/// The three layouts.
pub(crate) const LAYOUTS: [LayoutName; 3] = [LayoutName::Flat, LayoutName::Paged, LayoutName::Line];

pub(crate) use seenit_filter::random::SplitMix;

/// Key number `i`: 8 bytes, distinct for distinct `i`.
pub(crate) fn key(i: u64) -> [u8; 8] {
    i.to_le_bytes()
}

/// A hash key of its own for each `seed`.
pub(crate) fn sip(seed: u64) -> SipKey {
    SipKey::derive(&seed.to_le_bytes())
}

/// An empty filter of `layout` under `key`.
pub(crate) fn empty<L: Layout>(layout: L, key: &SipKey) -> Filter<L> {
    Filter::new(layout, None, key.fingerprint(), HugePages::Default).expect("memory for a test filter")
}

/// Geometries with odd sizes: tiny, padded, several pages, few and many probes.
pub(crate) fn geometries() -> Vec<AnyLayout> {
    let mut all = Vec::new();
    for (bits, k) in [(1, 1), (64, 2), (1000, 7), (32_768, 7), (100_003, 32), (5_000_000, 10)] {
        all.push(Flat::new(bits, k).expect("a good geometry").any());
    }
    for (pages, per_key, k) in
        [(1, 1, 1), (2, 1, 7), (7, 1, 8), (13, 1, 9), (64, 1, 17), (31, 1, 32), (9, 3, 5)]
    {
        all.push(Paged::new(pages, per_key, k).expect("a good geometry").any());
    }
    for lines in [1, 2, 63, 64, 65, 5000] {
        all.push(Line::new(lines).expect("a good geometry").any());
    }
    all
}
