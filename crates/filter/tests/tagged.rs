//! Guards tagged filters: a lookup shows every tag a key has, whatever was cleared and united meanwhile; what was
//! cleared never comes back; and strangers are shown with one tag, or with any, as often as the maths says.

mod common;

use std::collections::BTreeMap;

use common::{SplitMix, key, sip};
use proptest::prelude::*;
use seenit_filter::hash::{Hash128, KeyHasher};
use seenit_filter::maths::tagged::any_rate;
use seenit_filter::tagged::{TaggedFilter, Tags, lanes_of, layout_sized};
use seenit_filter::{AnyLayout, Filter, Flat, HugePages, Layout, LayoutName, Line, Paged, Promise, TagError};

fn empty(layout: AnyLayout, tags: u32) -> TaggedFilter {
    TaggedFilter::new(layout, tags, None, sip(0).fingerprint(), HugePages::Default).expect("memory")
}

/// Key number `i`, hashed once and for all.
fn hash(i: u8) -> Hash128 {
    sip(0).hash(&key(u64::from(i)))
}

/// A filter and what it must show: the tags of each key.
struct Modelled {
    filter: TaggedFilter,
    truth: BTreeMap<u8, u64>,
    clearing: u64,
}

impl Modelled {
    fn new(layout: AnyLayout, tags: u32) -> Self {
        Modelled { filter: empty(layout, tags), truth: BTreeMap::new(), clearing: 0 }
    }

    fn insert(&mut self, key: u8, tag: u32) {
        let inserted = self.filter.insert(hash(key), tag);
        if self.clearing >> tag & 1 == 1 {
            assert_eq!(inserted, Err(TagError::Clearing(tag)));
        } else {
            assert_eq!(inserted, Ok(()));
            *self.truth.entry(key).or_default() |= 1 << tag;
        }
    }

    fn clear(&mut self, tag: u32) {
        self.filter.clear_tag(tag).expect("a tag");
        self.clearing |= 1 << tag;
        self.truth.values_mut().for_each(|tags| *tags &= !(1 << tag));
    }

    fn clear_some(&mut self, words: usize) {
        let done = self.filter.clear_some(words);
        let left = self.filter.clearing().0;
        assert_eq!((done, left & !self.clearing), (left == 0, 0));
        self.clearing = left;
    }

    fn union(&mut self, other: &Modelled) {
        let all = u64::MAX >> (64 - self.filter.tags());
        let left_out = self.filter.union(&other.filter).expect("of one kind");
        assert_eq!(left_out, Tags(self.clearing & all & !other.clearing));
        for (&key, &tags) in &other.truth {
            *self.truth.entry(key).or_default() |= tags & !self.clearing;
        }
    }

    /// Every tag of every key is shown; in a filter too large for false hits, no other one is.
    fn check(&self, exact: bool) {
        for key in 0..=u8::MAX {
            let (shown, truth) =
                (self.filter.lookup(hash(key)).0, self.truth.get(&key).copied().unwrap_or_default());
            assert_eq!(shown & truth, truth, "key {key} lost a tag");
            assert_eq!(shown & self.clearing, 0, "a tag is shown while it is being cleared");
            assert!(!exact || shown == truth, "key {key} shows {shown:b}, not {truth:b}");
        }
    }
}

#[derive(Clone, Debug)]
enum Step {
    Insert(bool, u8, u32),
    Clear(bool, u32),
    ClearSome(bool, usize),
    Union(bool),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (any::<bool>(), any::<u8>(), any::<u32>()).prop_map(|(side, key, tag)| Step::Insert(side, key, tag)),
        2 => (any::<bool>(), any::<u32>()).prop_map(|(side, tag)| Step::Clear(side, tag)),
        2 => (any::<bool>(), 0usize..3000).prop_map(|(side, words)| Step::ClearSome(side, words)),
        1 => any::<bool>().prop_map(Step::Union),
    ];
    prop::collection::vec(step, 0..80)
}

/// Small geometries, full of false hits, and large ones, in which none of 256 keys meets another by chance.
fn geometries() -> impl Strategy<Value = (AnyLayout, u32, bool)> {
    let tags = prop_oneof![Just(16u32), Just(32), Just(64), 1u32..=64];
    (tags, any::<bool>(), any::<bool>()).prop_map(|(tags, paged, exact)| {
        let layout = match (paged, exact) {
            (false, false) => Flat::new(200, 3).map(Layout::any),
            (false, true) => Flat::new(20_000, 12).map(Layout::any),
            (true, _) => {
                let slots = lanes_of(tags).expect("in range").per_page();
                let pages = if exact { 20_000 / slots + 1 } else { 1 };
                Paged::with_slots(pages, 1, if exact { 16 } else { 1 }, slots).map(Layout::any)
            }
        };
        (layout.expect("in range"), tags, exact)
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn a_lookup_shows_every_tag_and_no_ghosts((layout, tags, exact) in geometries(), steps in steps()) {
        let mut sides = [Modelled::new(layout, tags), Modelled::new(layout, tags)];
        for step in steps {
            match step {
                Step::Insert(side, key, tag) => sides[usize::from(side)].insert(key, tag % tags),
                Step::Clear(side, tag) => sides[usize::from(side)].clear(tag % tags),
                Step::ClearSome(side, words) => sides[usize::from(side)].clear_some(words),
                Step::Union(side) => {
                    let [left, right] = &mut sides;
                    if side { right.union(left) } else { left.union(right) }
                }
            }
            sides.iter().for_each(|side| side.check(exact));
        }
        // A tag that was cleared is as good as new: no bit of it is left.
        for side in &mut sides {
            side.filter.finish_clearing();
            side.clearing = 0;
            let used = side.truth.values().fold(0, |used, tags| used | tags);
            for tag in (0..tags).filter(|tag| used >> tag & 1 == 0) {
                prop_assert_eq!(side.filter.filter_of(tag).expect("a tag").fill().ones, 0);
            }
            side.check(exact);
        }
    }

    /// Without clearing, a tagged filter is as many ordinary ones, bit by bit, and unites like them.
    #[test]
    fn each_tag_is_an_ordinary_filter((layout, tags, _) in geometries(), seed: u64, keys in 0usize..200) {
        let sip = sip(0);
        let (mut left, mut right) = (empty(layout, tags), empty(layout, tags));
        let mut ordinary: Vec<Filter> = (0..tags).map(|_| common::empty(layout, &sip)).collect();
        let mut rng = SplitMix(seed);
        for _ in 0..keys {
            let (hash, tag) = (rng.hash(), rng.next() as u32 % tags);
            let side = if rng.next() & 1 == 0 { &mut left } else { &mut right };
            side.insert(hash, tag).expect("a tag");
            ordinary[tag as usize].insert(hash);
        }
        let mut again = empty(layout, tags);
        again.union(&right).expect("of one kind");
        again.union(&left).expect("of one kind");
        left.union(&right).expect("of one kind");
        prop_assert!(left.words() == again.words());
        let mut copy = empty(layout, tags);
        for (tag, expected) in (0..).zip(&ordinary) {
            let filter = left.filter_of(tag).expect("a tag");
            prop_assert!(filter.words() == expected.words(), "tag {}", tag);
            copy.union_filter(tag, &filter).expect("of one kind");
        }
        prop_assert!(copy.words() == left.words());
    }
}

/// Batches set the bits that single inserts set and answer what single lookups answer, shared or not.
#[test]
fn single_and_batched_calls_agree() {
    let sip = sip(3);
    for (name, tags) in [(LayoutName::Flat, 16), (LayoutName::Paged, 16), (LayoutName::Paged, 32)] {
        let layout = layout_sized(name, tags, Promise { capacity: 300, rate: 0.1 }).expect("sized");
        let make =
            || TaggedFilter::new(layout, tags, None, sip.fingerprint(), HugePages::Default).expect("memory");
        let (mut single, mut batched, shared) = (make(), make(), make().share());
        for tag in 0..tags {
            let keys: Vec<_> = (0..300).map(|i| key(u64::from(tag) * 1000 + i)).collect();
            keys.iter().for_each(|key| single.insert(sip.hash(key), tag).expect("a tag"));
            batched.insert_many(&sip, &keys, tag).expect("a tag");
            shared.insert_many(&sip, &keys, tag).expect("a tag");
        }
        assert!(single.words() == batched.words());
        assert!(shared.snapshot().expect("memory").words() == single.words());
        let keys: Vec<_> = (0..40_000).map(key).collect();
        let expected: Vec<Tags> = keys.iter().map(|key| single.lookup(sip.hash(key))).collect();
        let mut found = vec![Tags::default(); keys.len()];
        batched.lookup_many(&sip, &keys, &mut found);
        assert!(found == expected);
        found.fill(Tags::default());
        shared.lookup_many(&sip, &keys, &mut found);
        assert!(found == expected);
    }
}

/// Full of keys, each tag has the rate of an ordinary filter, and any tag at most the promised one: over
/// independently keyed filters, judged by the scatter that was seen.
#[test]
fn rates_for_one_tag_and_for_any_tag_are_as_stated() {
    const FILTERS: u64 = 12;
    /// Student's t with 11 degrees of freedom, once in 3,000 for all cases.
    const DEVIATIONS_ESTIMATED: f64 = 7.0;
    let strangers: Vec<_> = (0..100_000u64).map(|i| key(u64::MAX - i)).collect();
    for (name, tags, rate) in [
        (LayoutName::Flat, 16, 0.02),
        (LayoutName::Paged, 16, 0.02),
        (LayoutName::Flat, 32, 0.1),
        (LayoutName::Paged, 32, 0.1),
    ] {
        let promise = Promise { capacity: 2000, rate };
        let layout = layout_sized(name, tags, promise).expect("sized");
        let one_expected = layout.expected_rate(promise.capacity);
        let any_expected = any_rate(vec![one_expected; tags as usize]);
        assert!(any_expected <= rate);
        let (mut one, mut any) = (Vec::new(), Vec::new());
        for seed in 0..FILTERS {
            let sip = sip(seed);
            let mut filter =
                TaggedFilter::new(layout, tags, Some(promise), sip.fingerprint(), HugePages::Default)
                    .expect("memory");
            for tag in 0..tags {
                let keys: Vec<_> = (0..promise.capacity).map(|i| key(u64::from(tag) << 32 | i)).collect();
                filter.insert_many(&sip, &keys, tag).expect("a tag");
            }
            let mut found = vec![Tags::default(); strangers.len()];
            filter.lookup_many(&sip, &strangers, &mut found);
            let hits = found.iter().filter(|tags| !tags.is_empty()).count() as f64;
            let present = filter.present_any_rate().expect("memory") * strangers.len() as f64;
            assert!((hits - present).abs() < 4.5 * present.sqrt(), "{hits} hits, {present} by the bits");
            let shown: u32 = found.iter().map(|tags| tags.len()).sum();
            one.push(f64::from(shown) / strangers.len() as f64 / f64::from(tags));
            any.push(hits / strangers.len() as f64);
        }
        for (what, rates, expected) in [("one", one, one_expected), ("any", any, any_expected)] {
            let mean = rates.iter().sum::<f64>() / FILTERS as f64;
            let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (FILTERS - 1) as f64;
            let error = (variance / FILTERS as f64).sqrt();
            assert!(
                (mean - expected).abs() < DEVIATIONS_ESTIMATED * error,
                "{what} of {tags} tags, {layout:?}: {mean} +- {error}, not {expected}"
            );
        }
    }
}

/// The table in the documentation of sizes.
#[test]
fn bits_per_key_are_as_documented() {
    let documentation = include_str!("../src/tagged.rs");
    let promise = Promise { capacity: 1_000_000, rate: 0.01 };
    for tags in [1, 16, 32] {
        let bits =
            |name| layout_sized(name, tags, promise).expect("sized").bits() as f64 / promise.capacity as f64;
        let row = format!("| {tags} | {:.1} | {:.1} |", bits(LayoutName::Flat), bits(LayoutName::Paged));
        assert!(documentation.contains(&row), "the documentation lacks {row}");
    }
}

#[test]
fn what_is_not_possible_is_refused_by_name() {
    let flat = Flat::new(1000, 3).expect("in range").any();
    let make = |layout: AnyLayout, tags, capacity, seed| {
        let promise = Some(Promise { capacity, rate: 0.1 });
        TaggedFilter::new(layout, tags, promise, sip(seed).fingerprint(), HugePages::Default)
    };
    let base = || make(flat, 16, 9, 1).expect("memory");
    let others = [
        ("k", make(Flat::new(1000, 4).expect("in range").any(), 16, 9, 1)),
        ("bits", make(Flat::new(1001, 3).expect("in range").any(), 16, 9, 1)),
        ("tags", make(flat, 32, 9, 1)),
        ("key fingerprint", make(flat, 16, 9, 2)),
        ("capacity", make(flat, 16, 8, 1)),
    ];
    for (field, other) in others {
        let (mut left, mut other) = (base(), other.expect("memory"));
        other.insert(hash(1), 1).expect("a tag");
        assert_eq!(left.union(&other).expect_err("unlike").field, field);
        assert!(left.words().iter().all(|&word| word == 0), "a refused union changes nothing");
    }
    let says = |result: Result<TaggedFilter, seenit_filter::GeometryError>, what: &str| {
        let error = result.expect_err("must be refused").to_string();
        assert!(error.contains(what), "{error:?} does not mention {what:?}");
    };
    says(make(flat, 0, 9, 1), "tags must be at least 1");
    says(make(flat, 65, 9, 1), "tags is 65");
    says(make(Line::new(4).expect("in range").any(), 16, 9, 1), "not line");
    says(make(Paged::with_slots(4, 2, 3, 2048).expect("in range").any(), 16, 9, 1), "2 pages a key");
    says(make(Paged::new(4, 1, 3).expect("in range").any(), 16, 9, 1), "holds 2048 cells");
    says(make(Flat::new(1 << 43, 3).expect("in range").any(), 16, 9, 1), "bits is");
    let error = base().insert(hash(1), 16).expect_err("no such tag").to_string();
    assert_eq!(error, "there is no tag 16: the filter has 16 tags, numbered from 0");
    assert!(base().clear_tag(99).is_err() && base().filter_of(99).is_err());
    assert!(layout_sized(LayoutName::Line, 16, Promise { capacity: 9, rate: 0.1 }).is_err());
    assert!(layout_sized(LayoutName::Flat, 16, Promise { capacity: 9, rate: 1.0 }).is_err());
}
