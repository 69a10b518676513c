//! Guards shingles: accidents come as often as the maths says, and more ham never makes more evidence.

mod common;

use common::{SplitMix, sip};
use proptest::prelude::*;
use seenit_filter::cells::Packing;
use seenit_filter::counting::{CountingFilter, Refined};
use seenit_filter::hash::{KeyHasher, SipKey};
use seenit_filter::maths::shingles::Matches;
use seenit_filter::shingles::{Ratio, Shingle};
use seenit_filter::{AnyLayout, Flat, HugePages, Layout, LayoutName, Paged};

type Tally = CountingFilter<Refined, AnyLayout>;

const SHINGLES: u32 = 32;

fn packing() -> Packing {
    Packing::new(4).expect("a width")
}

fn tally(layout: AnyLayout, key: &SipKey) -> Tally {
    CountingFilter::packed(layout, packing(), None, key.fingerprint(), HugePages::Default).expect("memory")
}

fn sized(name: LayoutName, capacity: u64, rate: f64) -> AnyLayout {
    match name {
        LayoutName::Paged => {
            Paged::sized_with_slots(capacity, rate, packing().per_page()).expect("sized").any()
        }
        _ => Flat::sized(capacity, rate).expect("sized").any(),
    }
}

fn insert(tally: &mut Tally, key: &SipKey, shingle: Shingle, weight: u64) {
    tally.insert_weighted(key.hash(&shingle.to_bytes()), weight);
}

/// How many shingles of a message match, each of them once.
fn matched(spam: &Tally, ham: &Tally, key: &SipKey, message: &[Shingle]) -> u32 {
    let matches = |shingle: &&Shingle| {
        let hash = key.hash(&shingle.to_bytes());
        Ratio::default().is_exceeded(spam.count(hash), ham.count(hash))
    };
    message.iter().filter(matches).count() as u32
}

/// A shingle nobody has seen: 64 random bits.
fn absent(rng: &mut SplitMix, slot: u32) -> Shingle {
    Shingle { slot: slot as u8, value: rng.next() }
}

/// Spam and ham tallies at their capacity, every shingle counted once, and the shingles in spam by slot.
fn filled(
    name: LayoutName,
    capacity: u64,
    key: &SipKey,
    rng: &mut SplitMix,
) -> (Tally, Tally, Vec<Vec<Shingle>>) {
    let mut spam = tally(sized(name, capacity, 0.1), key);
    let mut ham = tally(sized(name, capacity / 2, 0.05), key);
    let mut listed = vec![Vec::new(); SHINGLES as usize];
    for i in 0..capacity {
        let slot = (i % u64::from(SHINGLES)) as u32;
        let shingle = absent(rng, slot);
        listed[slot as usize].push(shingle);
        insert(&mut spam, key, shingle, 1);
    }
    (0..capacity / 2).for_each(|i| insert(&mut ham, key, absent(rng, i as u32 % SHINGLES), 1));
    (spam, ham, listed)
}

/// A message whose first `listed` slots hold shingles that are in the spam tally.
fn message(rng: &mut SplitMix, spam: &[Vec<Shingle>], listed: u32) -> Vec<Shingle> {
    let shingle = |slot: u32| {
        let known = &spam[slot as usize];
        if slot < listed { known[(rng.next() % known.len() as u64) as usize] } else { absent(rng, slot) }
    };
    (0..SHINGLES).map(shingle).collect()
}

/// Given their cells, matches of random messages have the stated distribution with the rates of these cells;
/// and over tallies filled under independent keys those rates scatter around the expected ones, so the
/// numbers of messages at each threshold do not differ from the maths by more than messages *and* tallies
/// explain.
///
/// Listed shingles share tallies: whether ham silences a particular one is drawn once a tally, not once a
/// message. Each slot has 250 of them and a message takes one, so that adds a part of the variance that is
/// counted here too.
#[test]
fn accidents_come_as_often_as_the_maths_says() {
    const TALLIES: u64 = 12;
    const MESSAGES: usize = 2_000;
    for name in [LayoutName::Flat, LayoutName::Paged] {
        for listed in [0, 4, 9, 17] {
            let mut expected = [0.0; SHINGLES as usize + 1];
            let mut per_tally = Vec::new();
            for seed in 0..TALLIES {
                let (key, mut rng) = (sip(seed), SplitMix(seed ^ 0x5eed));
                let (spam, ham, known) = filled(name, 8_000, &key, &mut rng);
                let mut seen = [0.0; SHINGLES as usize + 1];
                for _ in 0..MESSAGES {
                    let message = message(&mut rng, &known, listed);
                    seen[matched(&spam, &ham, &key, &message) as usize] += 1.0;
                }
                let rate = |tally: &Tally| tally.rate_at_least(1).expect("below the cap");
                let maths = Matches::new(SHINGLES, listed, rate(&spam), rate(&ham)).expect("good numbers");
                (0..=SHINGLES).for_each(|i| expected[i as usize] += maths.exactly(i) * MESSAGES as f64);
                per_tally.push(seen);
            }
            check_histogram(&format!("{name:?} {listed}"), &expected, &per_tally);
        }
    }
}

/// Every threshold: the number of messages at or above it is that of the maths, within 4.5 standard
/// deviations, the larger of what messages alone would give and what is seen between tallies.
fn check_histogram(cell: &str, expected: &[f64], per_tally: &[[f64; SHINGLES as usize + 1]]) {
    let tallies = per_tally.len() as f64;
    let mut tested = 0;
    for threshold in 0..expected.len() {
        let all: f64 = expected.iter().sum();
        let mean: f64 = expected[threshold..].iter().sum();
        let seen: Vec<f64> = per_tally.iter().map(|seen| seen[threshold..].iter().sum()).collect();
        let total: f64 = seen.iter().sum();
        let between =
            seen.iter().map(|seen| (seen - total / tallies).powi(2)).sum::<f64>() * tallies / (tallies - 1.0);
        let alone = mean * (1.0 - mean / all);
        let allowed = 4.5 * between.max(alone).sqrt() + 3.0;
        assert!((total - mean).abs() <= allowed, "{cell}, {threshold}: {total}, not {mean} +- {allowed}");
        tested += u32::from(alone > 30.0);
    }
    assert!(tested >= 5, "{cell}: only {tested} thresholds say anything");
}

/// The expected rate stands in for the rate of the cells before there are any. A tail moves with a high power
/// of the rate, so its average over tallies is above the tail at the average rate: by how much the maths says
/// in words.
#[test]
fn the_average_tail_is_a_little_above_the_tail_at_the_average_rate() {
    for (capacity, tallies, range) in [(1_000, 400, 1.01..1.12), (30_000, 40, 0.98..1.02)] {
        let layout = sized(LayoutName::Flat, capacity, 0.0984);
        let tail = |rate| Matches::new(SHINGLES, 0, rate, 0.0).expect("a rate").at_least(17);
        let sum: f64 = (0..tallies)
            .map(|seed| {
                let key = sip(seed);
                let mut filter = common::empty(layout, &key);
                filter.insert_many(&key, &(0..capacity).map(common::key).collect::<Vec<_>>());
                tail(filter.present_rate())
            })
            .sum();
        let ratio = sum / tallies as f64 / tail(layout.expected_rate(capacity));
        assert!(range.contains(&ratio), "{capacity}: {ratio}");
    }
}

/// Spam seen often is not silenced by one ham count that is there by accident: the formula is then a lower
/// bound, and without ham an upper one.
#[test]
fn heavy_spam_matches_between_the_two_bounds() {
    let (key, mut rng) = (sip(3), SplitMix(3));
    let (mut spam, ham, known) = filled(LayoutName::Flat, 4_000, &key, &mut rng);
    known.iter().flatten().for_each(|&shingle| insert(&mut spam, &key, shingle, 8));
    let matches = (0..4_000).map(|_| matched(&spam, &ham, &key, &message(&mut rng, &known, 9)));
    let mean = matches.map(f64::from).sum::<f64>() / 4_000.0;
    let rate = |tally: &Tally| tally.rate_at_least(1).expect("below the cap");
    let with = |ham_rate| Matches::new(SHINGLES, 9, rate(&spam), ham_rate).expect("good numbers").mean();
    let (low, high) = (with(rate(&ham)), with(0.0));
    assert!(low + 0.2 < mean && mean < high + 0.1, "{low} {mean} {high}");
}

/// Shingles from a small pool, so that messages repeat and share them.
fn shingles() -> impl Strategy<Value = Shingle> {
    (0u8..4, 0u64..40).prop_map(|(slot, value)| Shingle { slot, value })
}

fn weighted() -> impl Strategy<Value = Vec<(Shingle, u64)>> {
    prop::collection::vec((shingles(), 1u64..20), 0..80)
}

fn layouts() -> impl Strategy<Value = AnyLayout> {
    let slots = packing().per_page();
    prop_oneof![
        (20u64..2000, 1u32..8).prop_map(|(cells, k)| Flat::new(cells, k).expect("in range").any()),
        (1u64..3, 1u32..8)
            .prop_map(move |(pages, k)| Paged::with_slots(pages, 1, k, slots).expect("in range").any()),
    ]
}

proptest! {
    /// More ham never makes more evidence, more spam never less, whatever collides and saturates.
    #[test]
    fn ham_never_raises_and_spam_never_lowers(
        layouts in (layouts(), layouts()),
        told in (weighted(), weighted()),
        more in (prop::bool::ANY, shingles(), 1u64..20),
        message in prop::collection::vec(shingles(), 1..50),
    ) {
        let key = sip(2);
        let (mut spam, mut ham) = (tally(layouts.0, &key), tally(layouts.1, &key));
        told.0.iter().for_each(|&(shingle, weight)| insert(&mut spam, &key, shingle, weight));
        told.1.iter().for_each(|&(shingle, weight)| insert(&mut ham, &key, shingle, weight));
        let before = matched(&spam, &ham, &key, &message);
        let (is_ham, shingle, weight) = more;
        insert(if is_ham { &mut ham } else { &mut spam }, &key, shingle, weight);
        let after = matched(&spam, &ham, &key, &message);
        prop_assert!(if is_ham { after <= before } else { after >= before }, "{} {}", before, after);
    }
}
