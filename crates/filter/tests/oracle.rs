//! Guards the fast paths: every kernel, at every level this processor has, single and batched, must set and find
//! exactly the bits that [`Layout::position`] defines. The oracle is a plain set of positions.

mod common;

use std::collections::HashSet;

use common::{SplitMix, empty, geometries, key, sip};
use seenit_filter::hash::{BATCH_KEYS, Hash128, KeyHasher, Unkeyed};
use seenit_filter::{AnyLayout, Filter, Layout, Simd};

/// Cases for each fast path of each layout, over the layout's geometries together.
const CASES: usize = 100_000;

/// The naive filter: a set of positions, and nothing clever.
struct Naive {
    layout: AnyLayout,
    set: HashSet<u64>,
}

impl Naive {
    fn positions(&self, hash: Hash128) -> impl Iterator<Item = u64> + '_ {
        (0..self.layout.probes()).map(move |probe| self.layout.position(hash, probe))
    }

    fn insert(&mut self, hash: Hash128) {
        let positions: Vec<u64> = self.positions(hash).collect();
        self.set.extend(positions);
    }

    fn contains(&self, hash: Hash128) -> bool {
        self.positions(hash).all(|position| self.set.contains(&position))
    }

    fn words(&self, like: &Filter) -> Vec<u64> {
        let mut words = vec![0; like.words().len()];
        for position in &self.set {
            words[(position / 64) as usize] |= 1 << (position % 64);
        }
        words
    }
}

/// Members enough to fill the filter by half, then cases: a third members, the rest absent keys of which some
/// differ from a member in one bit of their hash.
fn cases(layout: AnyLayout, rng: &mut SplitMix, count: usize) -> (Vec<Hash128>, Vec<Hash128>) {
    let members = (layout.bits() as f64 * 0.69 / layout.probes() as f64).ceil().min(20_000.0) as usize;
    let members: Vec<Hash128> = (0..members).map(|_| rng.hash()).collect();
    let lookups = (0..count)
        .map(|i| {
            let member = members[rng.next() as usize % members.len()];
            let flipped = 1 << (rng.next() % 64);
            match i % 6 {
                0 | 1 => member,
                2 => Hash128 { lo: member.lo ^ flipped, ..member },
                3 => Hash128 { hi: member.hi ^ flipped, ..member },
                _ => rng.hash(),
            }
        })
        .collect();
    (members, lookups)
}

#[test]
fn every_fast_path_agrees_with_the_naive_filter() {
    let all = geometries();
    let key = sip(1);
    for &layout in &all {
        let each = CASES.div_ceil(all.iter().filter(|other| other.name() == layout.name()).count());
        let mut rng = SplitMix(layout.bits());
        let (members, lookups) = cases(layout, &mut rng, each);
        let mut naive = Naive { layout, set: HashSet::new() };
        members.iter().for_each(|&hash| naive.insert(hash));
        let expected: Vec<bool> = lookups.iter().map(|&hash| naive.contains(hash)).collect();
        for simd in Simd::all() {
            let context = format!("{layout:?} {}", simd.name());
            let mut single = empty(layout, &key).with_simd(simd);
            members.iter().for_each(|&hash| single.insert(hash));
            assert!(single.words() == naive.words(&single), "insert: {context}");
            let mut batched = empty(layout, &key).with_simd(simd);
            batched.insert_many(&Ready, &members);
            assert!(batched.words() == single.words(), "insert_many: {context}");

            let found: Vec<bool> = lookups.iter().map(|&hash| single.contains(hash)).collect();
            assert!(found == expected, "contains: {context}");
            let mut found = vec![false; lookups.len()];
            single.contains_many(&Ready, &lookups, &mut found);
            assert!(found == expected, "contains_many: {context}");
        }
    }
}

/// Hashes that are their own keys, so that the oracle can aim at single bits.
struct Ready;

impl KeyHasher<Hash128> for Ready {
    fn hash(&self, key: &Hash128) -> Hash128 {
        *key
    }
}

/// Batches end where they end: no keys, one, a batch less one, exactly one, one more, several and a rest.
#[test]
fn batches_of_every_length_agree_with_single_calls() {
    for layout in geometries() {
        for count in [0, 1, BATCH_KEYS - 1, BATCH_KEYS, BATCH_KEYS + 1, 3 * BATCH_KEYS + 5] {
            let sip = sip(2);
            let keys: Vec<[u8; 8]> = (0..count as u64).map(key).collect();
            let mut single = empty(layout, &sip);
            keys.iter().for_each(|key| single.insert(sip.hash(key)));
            let mut many = empty(layout, &sip);
            many.insert_many(&sip, &keys);
            assert!(many.words() == single.words(), "{layout:?} {count}");
            let mut found = vec![false; count];
            many.contains_many(&sip, &keys, &mut found);
            assert!(found.iter().all(|&found| found), "{layout:?} {count}");
        }
    }
}

/// The unkeyed hash is for races, but its filter must be a filter all the same: on random keys at the promised
/// rate, on counted ones (which a multiplication spreads more evenly than chance would) not above it.
#[test]
fn the_unkeyed_hash_keeps_the_rate() {
    let false_hits = |member: fn(u64) -> u64| {
        let layout = seenit_filter::Line::sized(100_000, 0.01).expect("sized");
        let mut filter = empty(layout, &sip(0));
        filter.insert_many(&Unkeyed, &(0..100_000).map(member).collect::<Vec<u64>>());
        let absent: Vec<u64> = (1_000_000..2_000_000).map(member).collect();
        let mut found = vec![false; absent.len()];
        filter.contains_many(&Unkeyed, &absent, &mut found);
        found.iter().filter(|&&found| found).count()
    };
    let (random, counted) = (false_hits(|i| SplitMix(i).next()), false_hits(|i| i));
    assert!((9_400..10_600).contains(&random), "{random} of a million, 10,000 expected");
    assert!(counted < 10_600, "{counted} of a million, 10,000 expected");
}
