//! What the fuzzer may ask for: a small geometry, and steps to take on filters of it.

use arbitrary::Arbitrary;
use seenit_filter::hash::{BATCH_KEYS, Hash128};
use seenit_filter::maths::MAX_K;
use seenit_filter::{AnyLayout, Flat, Layout, Line, Paged};

use crate::model::drawn;

/// Hashes or keys in one step: two batches, full, and a rest.
pub(crate) const MANY_MAX: usize = 2 * BATCH_KEYS + 7;
/// Bits of a flat filter: up to two pages and part of a third, so that padding and page borders are met.
const FLAT_BITS_MAX: u32 = 70_000;
/// Pages of a paged filter.
const PAGES_MAX: u8 = 5;
/// Pages of a key in it: the first, the second and one of the others, which are all alike.
const PAGES_PER_KEY_MAX: u8 = 3;
/// Bytes of the shortest key of a step: none, or up to two blocks of the hash and a rest.
const KEY_BYTES_MAX: u8 = 20;
/// Keys the widest kernel hashes at once, if they are equally long.
const KEYS_AT_ONCE: usize = 16;

/// A filter and what happens to it.
#[derive(Arbitrary, Debug)]
pub struct Case {
    pub(crate) geometry: Geometry,
    pub(crate) secret: u8,
    pub(crate) steps: Vec<Step>,
}

/// A small geometry; numbers out of range are brought into it.
#[derive(Arbitrary, Debug)]
pub(crate) enum Geometry {
    Flat { bits: u32, k: u8 },
    Paged { pages: u8, pages_per_key: u8, k: u8 },
    Line { lines: u8 },
}

/// One operation.
#[derive(Arbitrary, Debug)]
pub(crate) enum Step {
    Insert(Pick),
    InsertMany(Many),
    InsertKeys(Keys),
    Contains(Pick),
    ContainsMany(Many),
    AllBut { pick: Pick, probe: u8 },
    Union(Many),
    UnionForeign(Geometry),
    Save,
}

/// A hash: any, one that an earlier step used, or one that differs from such a one in a single bit.
#[derive(Arbitrary, Debug)]
pub(crate) enum Pick {
    New { lo: u64, hi: u64 },
    Old(u8),
    Near { old: u8, bit: u8 },
}

/// Several hashes: picked one by one, or enough of them to fill batches.
#[derive(Arbitrary, Debug)]
pub(crate) enum Many {
    Picked(Vec<Pick>),
    Drawn { seed: u64, count: u8 },
    AllOld,
}

/// Keys to be hashed by the filter: `count` of them, the first ones `bytes` long.
#[derive(Arbitrary, Debug)]
pub(crate) struct Keys {
    seed: u64,
    count: u8,
    bytes: u8,
    growth: Growth,
}

/// When keys get longer by a byte: only equally long ones are hashed together.
#[derive(Arbitrary, Debug)]
enum Growth {
    Never,
    EachGroup,
    EachKey,
}

impl Geometry {
    pub(crate) fn layout(&self) -> AnyLayout {
        let k_of = |k: u8| u32::from(k) % MAX_K + 1;
        match *self {
            Geometry::Flat { bits, k } => {
                Flat::new(u64::from(bits % FLAT_BITS_MAX) + 1, k_of(k)).map(Layout::any)
            }
            Geometry::Paged { pages, pages_per_key, k } => {
                let pages_per_key = u32::from(pages_per_key % PAGES_PER_KEY_MAX) + 1;
                Paged::new(u64::from(pages % PAGES_MAX) + 1, pages_per_key, k_of(k)).map(Layout::any)
            }
            Geometry::Line { lines } => Line::new(u64::from(lines) + 1).map(Layout::any),
        }
        .expect("brought into range")
    }
}

impl Pick {
    /// The hash, given those used so far. Where there are none, zero stands in.
    pub(crate) fn hash(&self, used: &[Hash128]) -> Hash128 {
        let old = |index: u8| match used.len() {
            0 => Hash128::default(),
            count => used[usize::from(index) % count],
        };
        match *self {
            Pick::New { lo, hi } => Hash128 { lo, hi },
            Pick::Old(index) => old(index),
            Pick::Near { old: index, bit } => {
                let Hash128 { lo, hi } = old(index);
                let flipped = 1u128 << (bit % 128);
                Hash128 { lo: lo ^ flipped as u64, hi: hi ^ (flipped >> 64) as u64 }
            }
        }
    }
}

impl Many {
    pub(crate) fn hashes(&self, used: &[Hash128]) -> Vec<Hash128> {
        match self {
            Many::Picked(picks) => picks.iter().map(|pick| pick.hash(used)).collect(),
            Many::Drawn { seed, count } => drawn(*seed, usize::from(*count).min(MANY_MAX)).collect(),
            Many::AllOld => used.to_vec(),
        }
    }
}

impl Keys {
    pub(crate) fn keys(&self) -> Vec<Vec<u8>> {
        let count = usize::from(self.count).min(MANY_MAX);
        let shortest = usize::from(self.bytes % (KEY_BYTES_MAX + 1));
        let key = |(i, Hash128 { lo, hi }): (usize, Hash128)| {
            let longer = match self.growth {
                Growth::Never => 0,
                Growth::EachGroup => i / KEYS_AT_ONCE,
                Growth::EachKey => i % KEYS_AT_ONCE,
            };
            let bytes = [lo, hi, lo ^ hi, !lo, !hi].map(u64::to_le_bytes);
            bytes.as_flattened()[..shortest + longer].to_vec()
        };
        drawn(self.seed, count).enumerate().map(key).collect()
    }
}
