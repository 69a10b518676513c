//! Guards the delta of sightings: read as written, one encoding a list, refused where it is none, close to the entropy,
//! the same bytes in every release; and sums of deltas.

mod common;

use std::collections::{BTreeMap, HashMap};

use common::SplitMix;
use proptest::prelude::*;
use seenit_filter::maths::entropy::{log2_choose, of_counts};
use seenit_filter::sightings::{
    BYTES_MAX, COUNT_MAX, Fingerprint, SIGHTINGS_MAX, Sighting, SightingsError, add_up, decode, encode,
    encode_all, encode_base,
};

fn fingerprint(number: u64) -> Fingerprint {
    Fingerprint::new(number).expect("44 bits")
}

fn sighting(number: u64, increment: u64, count: u64) -> Sighting {
    Sighting { fingerprint: fingerprint(number), increment, count }
}

/// Above a threshold `x` with probability `x^-power`.
fn zipf(rng: &mut SplitMix, power: f64) -> u64 {
    ((1.0 - rng.unit()).powf(-1.0 / power) as u64).min(100_000)
}

/// An interval of everyday mail: three in four signatures are seen once, the others up to 100,000 times; one in seven
/// was seen before.
fn everyday(sightings: usize, seed: u64) -> Vec<Sighting> {
    mixed(sightings, seed, 7)
}

/// The same, where one in so many was seen before.
fn mixed(sightings: usize, seed: u64, seen_before: u64) -> Vec<Sighting> {
    let mut rng = SplitMix(seed);
    let mut list = BTreeMap::new();
    while list.len() < sightings {
        let increment = zipf(&mut rng, 2.0);
        let before = if rng.below(seen_before) == 0 { zipf(&mut rng, 1.0) } else { 0 };
        list.insert(Fingerprint::of(rng.hash()), (increment, increment + before));
    }
    list.into_iter()
        .map(|(fingerprint, (increment, count))| Sighting { fingerprint, increment, count })
        .collect()
}

/// The entropy of one pair of everyday mail, in bits: of its increment, and of its count if the increment is known. As
/// many were drawn as it takes to see the rare ones; of a short list alone one would only see what happened to be
/// there.
fn entropy_of_pairs(seen_before: u64) -> [f64; 2] {
    let counted = |keys: Vec<(u64, u64)>| {
        let (mut counts, all) = (HashMap::new(), keys.len() as f64);
        keys.into_iter().for_each(|key| *counts.entry(key).or_insert(0u64) += 1);
        of_counts(counts.into_values().collect::<Vec<_>>()) / all
    };
    let list = mixed(1_000_000, 77, seen_before);
    let increments = counted(list.iter().map(|said| (said.increment, 0)).collect());
    let pairs = counted(list.iter().map(|said| (said.increment, said.count)).collect());
    [increments, pairs - increments]
}

fn lists() -> impl Strategy<Value = Vec<Sighting>> {
    let number = prop_oneof![0u64..100, 0u64..1 << 44, (1u64 << 44) - 100..1 << 44];
    let amount = prop_oneof![8 => 1u64..4, 2 => 1u64..3000, 1 => 1u64..=COUNT_MAX];
    let before = prop_oneof![8 => Just(0u64), 2 => 0u64..3000, 1 => 0u64..=COUNT_MAX];
    prop::collection::btree_map(number, (amount, before), 1..300).prop_map(|list| {
        list.into_iter()
            .map(|(number, (increment, before))| {
                sighting(number, increment, (increment + before).min(COUNT_MAX))
            })
            .collect()
    })
}

/// Whether a delta of so many sightings begins with the 4 bits of their scale. The range coder's first interval is a
/// little less than 2^64, so a byte on the edge may belong to the value before.
fn writes_scale(bytes: &[u8], sightings: usize) -> bool {
    let scale = (((1u64 << 44) as f64 / (sightings as f64 + 1.0)).log2().round() as u8) - 28;
    bytes[0] >> 4 == scale || bytes[0].wrapping_add(1) >> 4 == scale
}

proptest! {
    #[test]
    fn lists_are_read_as_written(list in lists()) {
        let bytes = encode(&list).expect("a good list");
        prop_assert_eq!(decode(&bytes).expect("its encoding"), list);
    }

    /// The other one is that of earlier builds, which wrote the scale of the gaps into every delta.
    #[test]
    fn bytes_are_no_delta_or_one_of_two_encodings(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(list) = decode(&bytes) {
            let again = encode(&list).expect("what was decoded");
            prop_assert!(again == bytes || writes_scale(&bytes, list.len()));
            prop_assert_eq!(decode(&again), Ok(list));
        }
    }

    #[test]
    fn a_changed_delta_is_none_or_another_one(
        list in lists(),
        flipped in any::<prop::sample::Index>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let bytes = encode(&list).expect("a good list");
        let mut changed = bytes.clone();
        changed[flipped.index(bytes.len())] ^= 1 << (flipped.index(8 * bytes.len()) % 8);
        let cut = &bytes[..cut.index(bytes.len())];
        let longer = [&bytes[..], &[0]].concat();
        for changed in [&changed[..], cut, &longer[..]] {
            if let Ok(other) = decode(changed) {
                prop_assert_ne!(&other, &list);
                let again = encode(&other).expect("what was decoded");
                prop_assert!(again == changed || writes_scale(changed, other.len()));
            }
        }
    }

    /// Deltas of one site added up say what it said in all, and what it said last.
    #[test]
    fn sums_are_those_of_a_map(lists in prop::collection::vec(lists(), 0..6)) {
        let mut naive: BTreeMap<Fingerprint, (u64, u64)> = BTreeMap::new();
        for said in lists.iter().flatten() {
            let sum = naive.entry(said.fingerprint).or_default();
            *sum = ((sum.0 + said.increment).min(COUNT_MAX), said.count);
        }
        let naive: Vec<Sighting> = naive
            .into_iter()
            .map(|(fingerprint, (increment, count))| Sighting { fingerprint, increment, count })
            .collect();
        prop_assert_eq!(add_up(&lists), naive);
    }
}

#[test]
fn lists_at_the_edges_are_read_as_written() {
    let last = (1 << 44) - 1;
    for list in [
        vec![sighting(0, 1, 1)],
        vec![sighting(last, 1, 1)],
        vec![sighting(0, COUNT_MAX, COUNT_MAX), sighting(last, 1, COUNT_MAX)],
        (0..SIGHTINGS_MAX as u64).map(|number| sighting(number, 1, 1)).collect(),
        (0..SIGHTINGS_MAX as u64).map(|number| sighting(last - 65_535 + number, 7, 7)).collect(),
    ] {
        assert_eq!(decode(&encode(&list).expect("a good list")), Ok(list));
    }
}

#[test]
fn lists_that_are_none_are_refused_by_name() {
    assert_eq!(encode(&[]), Err(SightingsError::Empty));
    let many: Vec<Sighting> = (0..=SIGHTINGS_MAX as u64).map(|number| sighting(number, 1, 1)).collect();
    assert_eq!(encode(&many), Err(SightingsError::TooMany(SIGHTINGS_MAX + 1)));
    for pair in [[4, 4], [5, 4]] {
        let error = encode(&pair.map(|number| sighting(number, 1, 1))).expect_err("does not ascend");
        let [last, next] = pair.map(fingerprint);
        assert_eq!(error, SightingsError::Order { last, next });
    }
    for (increment, count) in [(0, 1), (2, 1), (1, COUNT_MAX + 1)] {
        let error = encode(&[sighting(9, increment, count)]).expect_err("cannot be");
        assert_eq!(error, SightingsError::Numbers { fingerprint: fingerprint(9), increment, count });
    }
    assert!(matches!(decode(&[]), Err(SightingsError::Damaged { bytes: 0, .. })));
    assert_eq!(decode(&vec![0; BYTES_MAX + 1]), Err(SightingsError::TooLong(BYTES_MAX + 1)));
}

/// Bytes that decode to ever more sightings, or to ever wider gaps, end at a limit.
#[test]
fn long_bytes_of_one_value_are_refused() {
    for byte in [0, 1, 0x7f, 0x80, 0xff] {
        assert!(decode(&vec![byte; BYTES_MAX]).is_err());
    }
}

/// The fewest bits of a delta are those of its set, `log2 C(2^44, n)`, and `n` times the entropy of a pair.
#[test]
fn deltas_are_close_to_their_entropy() {
    for (seen_before, sightings, lists, most_bytes, most_ratio) in [
        (7, 12, 5000, 5.56, 1.015),
        (7, 100, 500, 5.2, 1.01),
        (7, 3300, 20, 4.6, 1.01),
        (7, 50_000, 2, 4.1, 1.01),
        // The mix of the race of sites.
        (5, 12, 5000, 5.6, 1.015),
        (5, 3300, 20, 4.6, 1.01),
    ] {
        let [increments, counts] = entropy_of_pairs(seen_before);
        let list = |seed| mixed(sightings, seed, seen_before);
        let bytes: usize = (0..lists).map(|seed| encode(&list(seed)).expect("a good list").len()).sum();
        let bytes = bytes as f64 / (sightings as u64 * lists) as f64;
        let set = log2_choose(1 << Fingerprint::BITS, sightings as u64) / sightings as f64;
        let ratio = 8.0 * bytes / (set + increments + counts);
        println!(
            "1 in {seen_before} before, {sightings}: {bytes:.3} bytes a signature, {ratio:.4} of the entropy \
             (increment {increments:.3} bits, new count {counts:.3})"
        );
        assert!(bytes <= most_bytes && (1.0..=most_ratio).contains(&ratio), "{sightings}: {bytes} {ratio}");
    }
}

/// A base says each count once: the increment is the count.
#[test]
fn a_base_is_blocks_that_decode_to_the_list() {
    let mut list = everyday(150_000, 3);
    list.iter_mut().for_each(|said| said.increment = said.count);
    let blocks = encode_base(list.iter().copied()).expect("a good list");
    assert_eq!(blocks.len(), 3);
    let bytes: usize = blocks.iter().map(Vec::len).sum();
    println!("base: {:.3} bytes a signature", bytes as f64 / list.len() as f64);
    let read: Vec<Sighting> = blocks.iter().flat_map(|block| decode(block).expect("a block")).collect();
    assert_eq!(read, list);
    assert_eq!(encode_base([]), Ok(vec![]));
    let [last, next] = [9, 8].map(fingerprint);
    let descending =
        (0..SIGHTINGS_MAX as u64).map(|number| sighting(number, 1, 1)).chain([sighting(8, 1, 1)]);
    assert!(encode_base(descending).is_err());
    assert_eq!(
        encode_base([sighting(9, 1, 1), sighting(8, 1, 1)]),
        Err(SightingsError::Order { last, next })
    );
}

/// Huge counts take more bytes than a message has: such a list is several deltas.
#[test]
fn lists_of_huge_counts_are_cut_where_they_would_not_fit() {
    let mut rng = SplitMix(8);
    let list: Vec<Sighting> = everyday(SIGHTINGS_MAX, 1)
        .into_iter()
        .map(|said| {
            let count = 1 + rng.below(COUNT_MAX);
            Sighting { increment: 1 + rng.below(count), count, ..said }
        })
        .collect();
    assert!(matches!(encode(&list), Err(SightingsError::TooLong(_))));
    let deltas = encode_all(&list).expect("a good list");
    assert!(deltas.iter().all(|delta| delta.len() <= BYTES_MAX));
    let read: Vec<Sighting> = deltas.iter().flat_map(|delta| decode(delta).expect("a delta")).collect();
    assert_eq!(read, list);
}

/// A list that every machine draws alike.
fn golden_list(sightings: u64) -> Vec<Sighting> {
    let mut rng = SplitMix(44);
    let mut drawn = move |most: u32| {
        let bits = rng.next().trailing_zeros().min(most);
        rng.below(1 << bits)
    };
    let mut numbers = SplitMix(45);
    let fingerprints: BTreeMap<Fingerprint, ()> =
        (0..sightings).map(|_| (Fingerprint::of(numbers.hash()), ())).collect();
    fingerprints
        .into_keys()
        .map(|fingerprint| {
            let (increment, before) = (1 + drawn(20), drawn(3) * drawn(30));
            Sighting { fingerprint, increment, count: increment + before }
        })
        .collect()
}

/// Golden deltas of this release stay readable and writable to the byte, those of earlier ones readable.
/// `SEENIT_BLESS=1` writes those of this release anew.
#[test]
fn golden_deltas_are_reproduced_to_the_byte() {
    for (name, sightings) in [("sightings-few", 12), ("sightings-many", 700)] {
        let list = golden_list(sightings);
        let bytes = encode(&list).expect("a good list");
        let path = |version| format!("{}/tests/golden/{name}-{version}.delta", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("SEENIT_BLESS").is_some() {
            std::fs::write(path(2), &bytes).expect("the golden folder is writable");
        }
        let golden = |version| std::fs::read(path(version)).expect("a golden file");
        assert!(golden(2) == bytes, "{} differs from what this release writes", path(2));
        for version in [1, 2] {
            assert_eq!(decode(&golden(version)).as_ref(), Ok(&list), "{}", path(version));
        }
    }
}

/// The example of `docs/reference/delta.md`.
#[test]
fn the_example_of_the_documentation() {
    let bytes = encode(&[sighting(0x0123_4567_89ab, 3, 5)]).expect("a good list");
    let hex: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hex.join(" "), "1c 30 0d c2 2f b4 d8");
}
