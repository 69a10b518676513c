//! Guards tagged filters: a lookup shows every tag a key has, whatever was cleared meanwhile; what was cleared never
//! comes back; and absent keys are shown with one tag, or with any, as often as the maths says.

mod common;

use std::collections::BTreeMap;

use common::{key, sip};
use proptest::prelude::*;
use seenit_filter::hash::{Hash128, KeyHasher};
use seenit_filter::tagged::{TaggedFilter, Tags, layout_sized};
use seenit_filter::{
    AnyLayout, Flat, HugePages, Layout, LayoutName, Line, PAGE_BYTES, Paged, Promise, TagError,
};

fn empty(layout: AnyLayout, tags: u32) -> TaggedFilter {
    TaggedFilter::new(layout, tags, HugePages::Default).expect("memory")
}

/// The chance that any of so many tags with this rate each is shown, if they were independent of each other.
fn any_rate(rate: f64, tags: u32) -> f64 {
    1.0 - (1.0 - rate).powi(tags as i32)
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
    Insert(u8, u32),
    Clear(u32),
    ClearSome(usize),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        8 => (any::<u8>(), any::<u32>()).prop_map(|(key, tag)| Step::Insert(key, tag)),
        2 => any::<u32>().prop_map(Step::Clear),
        2 => (0usize..3000).prop_map(Step::ClearSome),
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
                let slots = PAGE_BYTES as u64 / 8 * u64::from(64 / tags);
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
        let mut modelled = Modelled::new(layout, tags);
        for step in steps {
            match step {
                Step::Insert(key, tag) => modelled.insert(key, tag % tags),
                Step::Clear(tag) => modelled.clear(tag % tags),
                Step::ClearSome(words) => modelled.clear_some(words),
            }
            modelled.check(exact);
        }
        while modelled.clearing != 0 {
            modelled.clear_some(usize::MAX);
        }
        modelled.check(exact);
    }
}

/// Batches answer what single lookups answer.
#[test]
fn single_and_batched_lookups_agree() {
    let sip = sip(3);
    for (name, tags) in [(LayoutName::Flat, 16), (LayoutName::Paged, 16), (LayoutName::Paged, 32)] {
        let layout = layout_sized(name, tags, Promise { capacity: 300, rate: 0.1 }).expect("sized");
        let filter = empty(layout, tags);
        for tag in 0..tags {
            let keys = (0..300).map(|i| key(u64::from(tag) * 1000 + i));
            keys.for_each(|key| filter.insert(sip.hash(&key), tag).expect("a tag"));
        }
        let keys: Vec<_> = (0..40_000).map(key).collect();
        let expected: Vec<Tags> = keys.iter().map(|key| filter.lookup(sip.hash(key))).collect();
        let mut found = vec![Tags::default(); keys.len()];
        filter.lookup_many(&sip, &keys, &mut found);
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
    let absent: Vec<_> = (0..100_000u64).map(|i| key(u64::MAX - i)).collect();
    for (name, tags, rate) in [
        (LayoutName::Flat, 16, 0.02),
        (LayoutName::Paged, 16, 0.02),
        (LayoutName::Flat, 32, 0.1),
        (LayoutName::Paged, 32, 0.1),
    ] {
        let promise = Promise { capacity: 2000, rate };
        let layout = layout_sized(name, tags, promise).expect("sized");
        let one_expected = layout.expected_rate(promise.capacity);
        let any_expected = any_rate(one_expected, tags);
        assert!(any_expected <= rate);
        let (mut one, mut any) = (Vec::new(), Vec::new());
        for seed in 0..FILTERS {
            let sip = sip(seed);
            let filter = empty(layout, tags);
            for tag in 0..tags {
                let keys = (0..promise.capacity).map(|i| key(u64::from(tag) << 32 | i));
                keys.for_each(|key| filter.insert(sip.hash(&key), tag).expect("a tag"));
            }
            let mut found = vec![Tags::default(); absent.len()];
            filter.lookup_many(&sip, &absent, &mut found);
            let hits = found.iter().filter(|tags| !tags.is_empty()).count() as f64;
            let shown: u32 = found.iter().map(|tags| tags.len()).sum();
            one.push(f64::from(shown) / absent.len() as f64 / f64::from(tags));
            any.push(hits / absent.len() as f64);
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

/// The price of "any" in bits a key, as a filter that was really sized pays it. Whole probes scatter it by a few
/// hundredths around 1.44 log2(T).
#[test]
fn asking_for_any_tag_costs_1_44_log2_t_bits_a_key() {
    let keys = 1_000_000;
    for tags in [16, 32] {
        let stated = f64::from(tags).log2() / std::f64::consts::LN_2;
        for rate in [0.1, 0.01, 1e-3, 1e-4] {
            let promise = Promise { capacity: keys, rate };
            let bits = |tags| layout_sized(LayoutName::Flat, tags, promise).expect("sized").bits() as f64;
            let paid = (bits(tags) - bits(1)) / keys as f64;
            assert!((paid - stated).abs() < 0.06, "{tags} tags at {rate}: {paid}, not {stated}");
        }
    }
}

#[test]
fn what_is_not_possible_is_refused_by_name() {
    let flat = Flat::new(1000, 3).expect("in range").any();
    let says = |layout: AnyLayout, tags: u32, what: &str| {
        let refused = TaggedFilter::new(layout, tags, HugePages::Default);
        let error = refused.expect_err("must be refused").to_string();
        assert!(error.contains(what), "{error:?} does not mention {what:?}");
    };
    says(flat, 0, "tags must be at least 1");
    says(flat, 65, "tags is 65");
    says(Line::new(4).expect("in range").any(), 16, "not line");
    says(Paged::with_slots(4, 2, 3, 2048).expect("in range").any(), 16, "2 pages a key");
    says(Paged::new(4, 1, 3).expect("in range").any(), 16, "holds 2048 cells");
    says(Flat::new(1 << 43, 3).expect("in range").any(), 16, "bits is");
    let filter = empty(flat, 16);
    let error = filter.insert(hash(1), 16).expect_err("no such tag").to_string();
    assert_eq!(error, "there is no tag 16: the filter has 16 tags, numbered from 0");
    assert!(filter.clear_tag(99).is_err());
    assert!(layout_sized(LayoutName::Line, 16, Promise { capacity: 9, rate: 0.1 }).is_err());
    assert!(layout_sized(LayoutName::Flat, 16, Promise { capacity: 9, rate: 1.0 }).is_err());
}
