//! Guards the indexes of sightings, both of them by the same laws: never below the truth whatever happens, many
//! lookups as one, the memory and the rates they state.

mod common;

use std::collections::HashMap;
use std::thread;

use common::SplitMix;
use proptest::prelude::*;
use seenit_filter::counting::Count;
use seenit_filter::sightings::{AnySeen, COUNT_MAX, Fingerprint, SeenIndex, Structure};

fn index(structure: Structure, capacity: u64) -> AnySeen {
    AnySeen::new(structure, capacity).expect("memory for a test")
}

fn distinct(keys: usize, seed: u64) -> Vec<Fingerprint> {
    let mut rng = SplitMix(seed);
    (0..keys).map(|_| Fingerprint::of(rng.hash())).collect()
}

/// Counts of a generation: this share is bulk, 20 recipients and more, every 25th of them more than 511;
/// the others got one to three.
fn count_of(rng: &mut SplitMix, bulk_share: f64) -> u64 {
    if rng.unit() < bulk_share {
        ((20.0 / (1.0 - rng.unit())) as u64).min(1_000_000)
    } else {
        1 + rng.below(3) * rng.below(2)
    }
}

/// Filled with so many keys, each in up to three additions.
fn filled(structure: Structure, capacity: u64, keys: &[Fingerprint], bulk_share: f64) -> (AnySeen, Vec<u64>) {
    let (index, mut rng) = (index(structure, capacity), SplitMix(5));
    let counts: Vec<u64> = keys.iter().map(|_| count_of(&mut rng, bulk_share)).collect();
    for third in 0..3 {
        for (&key, &count) in keys.iter().zip(&counts) {
            index.add(key, count / 3 + u64::from(third < count % 3));
        }
    }
    (index, counts)
}

/// How many keys read more than they should; none reads less, and many together read as each alone.
fn too_high(index: &AnySeen, keys: &[Fingerprint], counts: &[u64]) -> usize {
    let mut read = vec![Count::default(); keys.len()];
    index.count_many(keys, &mut read);
    let mut high = 0;
    for ((&key, &truth), read) in keys.iter().zip(counts).zip(read) {
        assert_eq!(read, index.count(key));
        assert!(read.value >= truth, "{key}: {read} of {truth}");
        assert!(!read.saturated);
        high += usize::from(read.value > truth);
    }
    high
}

#[derive(Clone, Debug)]
enum Step {
    Add(u64, u64),
    Raise(u64, u64),
    /// Many keys from this one on.
    Fill(u64, u64),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let amount = || prop_oneof![6 => 0u64..5, 3 => 0u64..2000, 1 => 0u64..=COUNT_MAX];
    let step = prop_oneof![
        6 => (0u64..60, amount()).prop_map(|(key, more)| Step::Add(key, more)),
        2 => (0u64..60, amount()).prop_map(|(key, least)| Step::Raise(key, least)),
        1 => (0u64..60, 1u64..1500).prop_map(|(from, keys)| Step::Fill(from, keys)),
    ];
    prop::collection::vec(step, 0..60)
}

/// Key number `i`.
fn key(i: u64) -> Fingerprint {
    Fingerprint::of(SplitMix(i.wrapping_mul(0x1234_5678_9abc_def1)).hash())
}

proptest! {
    /// Against a map, far beyond what the smallest index is made for.
    #[test]
    fn never_below_a_map(steps in steps(), structure in prop::sample::select(&Structure::ALL[..])) {
        let index = index(structure, 900);
        let mut naive: HashMap<u64, u64> = HashMap::new();
        for step in steps {
            match step {
                Step::Add(number, more) => {
                    let truth = naive.entry(number).or_default();
                    let before = index.count(key(number));
                    let added = index.add(key(number), more);
                    prop_assert_eq!(added.before, before.value.min(COUNT_MAX.saturating_sub(more)));
                    prop_assert_eq!(added.after, index.count(key(number)));
                    *truth = (*truth + more).min(COUNT_MAX);
                }
                Step::Raise(number, least) => {
                    let before = index.count(key(number)).value;
                    index.raise_to(key(number), least);
                    prop_assert_eq!(index.count(key(number)).value, before.max(least));
                    let truth = naive.entry(number).or_default();
                    *truth = (*truth).max(least);
                }
                Step::Fill(from, keys) => (from..from + keys).for_each(|number| {
                    index.add(key(number), 1);
                    let truth = naive.entry(number).or_default();
                    *truth = (*truth + 1).min(COUNT_MAX);
                }),
            }
        }
        for (number, truth) in naive {
            let count = index.count(key(number));
            prop_assert!(count.value >= truth, "{}: {} of {}", number, count, truth);
            prop_assert_eq!(count.saturated, count.value == COUNT_MAX);
        }
    }
}

/// At capacity, and at a tenth more: nobody below, few above, the memory that is promised.
#[test]
fn at_capacity_and_a_tenth_beyond() {
    let capacity = 200_000;
    let keys = distinct(220_000, 1);
    for structure in Structure::ALL {
        let (most_bytes, most_high) = match structure {
            Structure::Table => (5.0, 2e-4),
            Structure::Filter => (6.6, 1e-3),
        };
        for bulk_share in [0.0, 0.1, 0.3] {
            let (index, counts) = filled(structure, capacity, &keys[..200_000], bulk_share);
            let high = too_high(&index, &keys[..200_000], &counts) as f64 / capacity as f64;
            let bytes = index.memory_bytes() as f64 / capacity as f64;
            let signatures = index.signatures() as f64 / capacity as f64;
            println!(
                "{structure} {bulk_share}: {bytes:.2} bytes a signature, {high:.1e} too high, {signatures}"
            );
            assert!(bytes <= most_bytes && high <= most_high, "{structure} {bulk_share}: {bytes} {high}");
            assert!((0.999..=1.0).contains(&signatures), "{signatures}");
            let (index, counts) = filled(structure, capacity, &keys, bulk_share);
            let high = too_high(&index, &keys, &counts);
            println!("{structure} {bulk_share}: at 110 % {high} too high, {} bytes", index.memory_bytes());
        }
    }
}

/// Rates of absent keys are those of theory, at capacity and on the way there.
#[test]
fn absent_keys_read_what_the_maths_say() {
    let (capacity, asked) = (100_000u64, 3_000_000);
    let keys = distinct(capacity as usize, 2);
    let absent = distinct(asked, 3);
    let mut read = vec![Count::default(); asked];
    for structure in Structure::ALL {
        for (share, bulk_share) in [(0.5, 0.1), (1.0, 0.0), (1.0, 0.3)] {
            let keys = &keys[..(capacity as f64 * share) as usize];
            let (index, _) = filled(structure, capacity, keys, bulk_share);
            index.count_many(&absent, &mut read);
            for least in [1, 20] {
                let hits = read.iter().filter(|count| count.value >= least).count() as f64;
                let expected = index.present_rate(least) * asked as f64;
                // Hits are Poisson; of the filter, cells of one page share their luck, for which 5 % are allowed.
                let error = 4.5 * (expected + 1.0).sqrt() + 0.05 * expected;
                println!("{structure} {share} {bulk_share} >= {least}: {hits} of {expected:.2}");
                assert!(
                    (hits - expected).abs() <= error,
                    "{structure} {share} {least}: {hits}, not {expected}"
                );
                assert!(
                    index.present_rate(least) <= 1.05 * index.promised_rate(least),
                    "{structure} {least}"
                );
            }
        }
        let index = index(structure, 1_000_000);
        let (most_1, most_20) = match structure {
            Structure::Table => (5e-6, 5e-6),
            Structure::Filter => (2.5e-4, 3e-6),
        };
        assert!(index.promised_rate(1) <= most_1 && index.promised_rate(20) <= most_20);
    }
}

/// Eight threads that count the same keys at once lose nothing: slots, cells, entries and overflow alike.
#[test]
fn threads_that_race_lose_no_count() {
    const THREADS: u64 = 8;
    let keys = distinct(20_000, 4);
    for structure in Structure::ALL {
        // Too small by half, so that lines fill up and tables are added while threads race.
        for capacity in [10_000, 30_000] {
            let index = index(structure, capacity);
            let count = |i: usize| if i.is_multiple_of(10) { 300 } else { 1 + (i % 3) as u64 };
            thread::scope(|scope| {
                for thread in 0..THREADS {
                    let (index, keys) = (&index, &keys);
                    scope.spawn(move || {
                        for j in 0..keys.len() {
                            // Half of them in the same order, so that they meet at new keys.
                            let i = if thread % 2 == 0 { j } else { keys.len() - 1 - j };
                            let before = index.count(keys[i]).value;
                            let added = index.add(keys[i], count(i));
                            assert!(added.after.value >= before + count(i));
                        }
                    });
                }
            });
            let counts: Vec<u64> = (0..keys.len()).map(|i| THREADS * count(i)).collect();
            let high = too_high(&index, &keys, &counts);
            println!("{structure} {capacity}: {high} too high");
        }
    }
}

#[test]
fn structures_have_names() {
    for structure in Structure::ALL {
        assert_eq!(structure.to_string().parse(), Ok(structure));
        assert_eq!(index(structure, 10).structure(), structure);
        assert!(AnySeen::new(structure, 0).is_err());
    }
    let error = "cells".parse::<Structure>().expect_err("no such");
    assert_eq!(
        error.to_string(),
        "there is no structure \"cells\" of seen counts; there are table and filter"
    );
}
