//! Guards deltas: close to the fewest bytes, exact, bound to what they were made for, and harmless when they lie.

mod common;

use common::{SplitMix, key, sip};
use proptest::prelude::*;
use seenit_filter::cells::{Cells, CellsMut, PackedCells, Packing, Split, SplitCells};
use seenit_filter::counting::{CountingFilter, Refined};
use seenit_filter::delta::{
    Applied, BitGain, CountGain, DeltaError, Diff, ENVELOPE_BYTES, Follower, bound_of_bits, bound_of_cells,
    cells,
};
use seenit_filter::file::{self, FileView};
use seenit_filter::{AnyLayout, Filter, Flat, HugePages, Layout, Line, Paged};

type Counts = CountingFilter<Refined, Flat>;

/// A filter with these pages.
fn filter_of(layout: AnyLayout, words: &[u64]) -> Filter {
    let empty = Filter::new(layout, None, sip(0).fingerprint(), HugePages::Default).expect("memory");
    let mut bytes = bytes_of(&empty);
    let pages_at = bytes.len() - words.len() * 8;
    for (bytes, word) in bytes[pages_at..].as_chunks_mut::<8>().0.iter_mut().zip(words) {
        *bytes = word.to_le_bytes();
    }
    FileView::open(&bytes).expect("sound").to_filter(HugePages::Default).expect("memory")
}

fn bytes_of(filter: &Filter) -> Vec<u8> {
    let mut bytes = Vec::new();
    file::write(filter, &mut bytes).expect("memory takes any bytes");
    bytes
}

/// Words of `bits` random bits, each set with probability `share`, padding zero.
fn drawn(rng: &mut SplitMix, layout: AnyLayout, share: f64) -> Vec<u64> {
    let mut words = vec![0; layout.pages() as usize * 512];
    for bit in 0..layout.bits() {
        if (rng.next() as f64) < share * u64::MAX as f64 {
            words[(bit / 64) as usize] |= 1 << (bit % 64);
        }
    }
    words
}

fn with(old: &[u64], other: &[u64], law: impl Fn(u64, u64) -> u64) -> Vec<u64> {
    old.iter().zip(other).map(|(&old, &other)| law(old, other)).collect()
}

fn packed(bits: u32, values: &[u64]) -> PackedCells {
    let packing = Packing::new(bits).expect("a width");
    let mut cells = PackedCells::zeroed(packing, values.len() as u64, HugePages::Default).expect("memory");
    (0..).zip(values).for_each(|(cell, &value)| cells.set(cell, value));
    cells
}

fn counts(cells: PackedCells) -> Counts {
    let layout = Flat::new(cells.len(), 3).expect("in range");
    CountingFilter::new(layout, cells, None, sip(0).fingerprint()).expect("as many cells as positions")
}

fn check_size(what: &str, bytes: usize, bound: f64, rate: f64, dense_bytes: u64) {
    let bytes = bytes as f64;
    if rate < 1e-4 {
        assert!(bytes <= bound + 64.0, "{what} at {rate}: {bytes} bytes, bound {bound}");
    } else if rate <= 0.1 {
        assert!(bytes <= 1.15 * bound, "{what} at {rate}: {bytes} bytes, bound {bound}");
    }
    // A dense form needs a byte to say that it is one.
    assert!(bytes <= dense_bytes as f64 + 1.0, "{what} at {rate}: {bytes} bytes, dense {dense_bytes}");
}

const RATES: [f64; 17] =
    [1e-5, 1e-4, 1e-3, 5e-3, 0.01, 0.02, 0.03, 0.04, 0.05, 0.06, 0.1, 0.15, 0.24, 0.3, 0.5, 0.9, 1.0];

#[test]
fn changes_of_bits_take_little_more_than_they_must() {
    let layout = Flat::new(4_000_003, 7).expect("in range").any();
    let mut rng = SplitMix(1);
    for fill in [0.0, 0.2, 0.5] {
        let old = drawn(&mut rng, layout, fill);
        let filter = filter_of(layout, &old);
        for rate in RATES {
            let change = drawn(&mut rng, layout, rate);
            let dense = layout.bits().div_ceil(8);
            let new = filter_of(layout, &with(&old, &change, |old, change| old | change));
            let gain = BitGain::between(&filter, &new).expect("it grew");
            let bound = bound_of_bits(&filter, &new).expect("of one kind").bits / 8.0;
            check_size("bits gained", gain.bytes().len() - ENVELOPE_BYTES, bound, rate, dense);

            let new = filter_of(layout, &with(&old, &change, |old, change| old ^ change));
            let (from, to) = (bytes_of(&filter), bytes_of(&new));
            let (from, to) = (FileView::open(&from).expect("sound"), FileView::open(&to).expect("sound"));
            let diff = Diff::between(&from, &to).expect("of one kind");
            let bound = bound_of_bits(&filter, &new).expect("of one kind").bits / 8.0;
            check_size("bits changed", diff.bytes().len() - ENVELOPE_BYTES, bound, rate, dense);
        }
    }
}

/// `old` after a share `rate` of its cells rose, by one and with probability `more` by one more, and so on; where
/// `falling`, a third of them fell.
fn changed(rng: &mut SplitMix, old: &[u64], cap: u64, rate: f64, more: f64, falling: bool) -> Vec<u64> {
    let chance = |rng: &mut SplitMix, share: f64| (rng.next() as f64) < share * u64::MAX as f64;
    let mut new = old.to_vec();
    for value in &mut new {
        if !chance(rng, rate) {
            continue;
        }
        if falling && *value > 0 && chance(rng, 0.33) {
            *value -= 1;
            continue;
        }
        *value = (*value + 1).min(cap);
        while *value < cap && chance(rng, more) {
            *value += 1;
        }
    }
    new
}

/// Counts that are mostly small.
fn small_counts(rng: &mut SplitMix, len: usize, cap: u64) -> Vec<u64> {
    (0..len).map(|_| u64::from(rng.next().trailing_ones()).min(cap / 2)).collect()
}

#[test]
fn changes_of_cells_take_little_more_than_they_must() {
    let mut rng = SplitMix(2);
    for (bits, more) in [(4, 0.03), (4, 0.5), (8, 0.03), (8, 0.5)] {
        let cap = (1u64 << bits) - 1;
        let old = small_counts(&mut rng, 1_000_000, cap);
        let old_cells = packed(bits, &old);
        let dense = (old.len() as u64 * u64::from(bits)).div_ceil(8);
        for rate in RATES {
            let new_cells = packed(bits, &changed(&mut rng, &old, cap, rate, more, false));
            let bound = bound_of_cells(&old_cells, &new_cells).bits / 8.0;
            let gain = cells::gain(&old_cells, &new_cells).expect("it grew");
            check_size("cells gained", gain.len(), bound, rate, dense);
            let new_cells = packed(bits, &changed(&mut rng, &old, cap, rate, more, true));
            let bound = bound_of_cells(&old_cells, &new_cells).bits / 8.0;
            check_size("cells changed", cells::diff(&old_cells, &new_cells).len(), bound, rate, dense);
        }
    }
}

/// Nothing, one change, two: a handful of bytes.
#[test]
fn very_few_changes_take_very_few_bytes() {
    let layout = Flat::new(1 << 26, 7).expect("in range").any();
    let mut words = vec![0; layout.pages() as usize * 512];
    let old = filter_of(layout, &words);
    for (changes, bit) in [(0, None), (1, Some(60_000_001)), (2, Some(3)), (3, Some((1 << 26) - 1))] {
        if let Some(bit) = bit {
            words[bit / 64] |= 1 << (bit % 64);
        }
        let new = filter_of(layout, &words);
        let bound = bound_of_bits(&old, &new).expect("of one kind");
        let gain = BitGain::between(&old, &new).expect("it grew");
        let bytes = (gain.bytes().len() - ENVELOPE_BYTES) as f64;
        assert!(bound.changed == changes && bytes <= bound.bits / 8.0 + 12.0, "{changes}: {bytes}");
    }
}

/// Values nobody would call realistic are told right and in no more than all cells take.
#[test]
fn uniform_cells_are_never_larger_than_all_of_them() {
    let mut rng = SplitMix(3);
    for bits in 1..=16u32 {
        let draw = |rng: &mut SplitMix| (0..5000).map(|_| rng.next() >> (64 - bits)).collect::<Vec<_>>();
        let (old, new) = (packed(bits, &draw(&mut rng)), packed(bits, &draw(&mut rng)));
        let diff = cells::diff(&old, &new);
        assert!(diff.len() as u64 <= (5000 * u64::from(bits)).div_ceil(8) + 1, "{bits}: {}", diff.len());
        let mut made = old.try_clone().expect("memory");
        cells::apply_diff(&mut made, &diff).expect("sound");
        assert!(made.words() == new.words(), "{bits}");
        let zero = packed(bits, &[0; 5000]);
        let gain = cells::gain(&zero, &new).expect("it grew");
        assert!(gain.len() as u64 <= (5000 * u64::from(bits)).div_ceil(8) + 1, "{bits}: {}", gain.len());
        let mut made = zero;
        cells::apply_gain(&mut made, &gain).expect("sound");
        assert!(made.words() == new.words(), "{bits}");
    }
}

/// Any layout with a few thousand bits.
fn layouts() -> impl Strategy<Value = AnyLayout> {
    prop_oneof![
        (1..70_000u64).prop_map(|bits| Flat::new(bits, 3).expect("in range").any()),
        (1..3u64).prop_map(|pages| Paged::new(pages, 1, 3).expect("in range").any()),
        (1..200u64).prop_map(|lines| Line::new(lines).expect("in range").any()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    /// A gain leads to the new filter, once and twice; a diff to the new file, to the byte.
    #[test]
    fn bits_lead_to_the_new_state(layout in layouts(), seed: u64, fill in 0.0..1.0f64, log in -4.0..0.0f64) {
        let mut rng = SplitMix(seed);
        let old = drawn(&mut rng, layout, fill);
        let change = drawn(&mut rng, layout, 10f64.powf(log));
        let mut filter = filter_of(layout, &old);
        let grown = filter_of(layout, &with(&old, &change, |old, change| old | change));
        let gain = BitGain::between(&filter, &grown).expect("it grew");
        let from = bytes_of(&filter);
        gain.apply(&mut filter).expect("its old state");
        prop_assert!(filter.words() == grown.words());
        prop_assert_eq!(gain.apply(&mut filter).expect("its new state"), Applied::Already);
        prop_assert!(filter.words() == grown.words());

        let to = bytes_of(&filter_of(layout, &with(&old, &change, |old, change| old ^ change)));
        let (old, new) = (FileView::open(&from).expect("sound"), FileView::open(&to).expect("sound"));
        let diff = Diff::between(&old, &new).expect("of one kind");
        let mut made = Vec::new();
        let file = Diff::open(diff.bytes()).and_then(|diff| diff.apply(&old)).expect("its old file");
        file.write(&mut made).expect("memory");
        prop_assert!(made == to);
    }

    /// The same for cells of every width, sparse and dense.
    #[test]
    fn cells_lead_to_the_new_state(
        bits in 1..=16u32,
        len in 1..9000usize,
        seed: u64,
        log in -3.5..0.0f64,
        more in 0.0..0.9f64,
    ) {
        let (mut rng, cap) = (SplitMix(seed), (1u64 << bits) - 1);
        let old = small_counts(&mut rng, len, cap);
        let rate = 10f64.powf(log);
        let (before, grown) = (packed(bits, &old), packed(bits, &changed(&mut rng, &old, cap, rate, more, false)));
        let mut made = before.try_clone().expect("memory");
        cells::apply_gain(&mut made, &cells::gain(&before, &grown).expect("it grew")).expect("sound");
        prop_assert!(made.words() == grown.words());
        let other = packed(bits, &changed(&mut rng, &old, cap, rate, more, true));
        let mut made = before.try_clone().expect("memory");
        cells::apply_diff(&mut made, &cells::diff(&before, &other)).expect("sound");
        prop_assert!(made.words() == other.words());
    }

    /// Bytes of any kind, sealed as a delta: an answer, never a panic, and no change where it is refused.
    #[test]
    fn hostile_payloads_are_refused(
        mut payload in prop::collection::vec(any::<u8>(), 0..200),
        first in 0..4u8,
        bits in 1..=16u32,
    ) {
        if let Some(byte) = payload.first_mut() {
            *byte = *byte & !3 | first;
        }
        let values: Vec<u64> = (0..600).map(|i| i % 2).collect();
        let mut cells = packed(bits, &values);
        if cells::apply_gain(&mut cells, &payload).is_err() {
            prop_assert!(cells.words() == packed(bits, &values).words());
        }
        let _ = cells::apply_diff(&mut cells, &payload);
        prop_assert!((0..600).all(|cell| cells.get(cell) <= cells.cap()));
    }
}

/// Two states of one small filter, and their files.
fn pair() -> (Filter, Filter) {
    let layout = Flat::new(20_000, 5).expect("in range").any();
    let mut old = Filter::new(layout, None, sip(0).fingerprint(), HugePages::Default).expect("memory");
    old.insert_many(&sip(0), &(0..1000).map(key).collect::<Vec<_>>());
    let mut new = old_copy(&old);
    new.insert_many(&sip(0), &(1000..1020).map(key).collect::<Vec<_>>());
    (old, new)
}

fn old_copy(filter: &Filter) -> Filter {
    let bytes = bytes_of(filter);
    FileView::open(&bytes).expect("sound").to_filter(HugePages::Default).expect("memory")
}

#[test]
fn a_gain_twice_is_a_gain_once_and_other_states_are_refused() {
    let (old, new) = pair();
    let gain = BitGain::between(&old, &new).expect("it grew");
    let mut filter = old_copy(&old);
    assert_eq!(gain.apply(&mut filter).expect("its old state"), Applied::Now);
    assert_eq!(gain.apply(&mut filter).expect("its new state"), Applied::Already);
    assert!(filter.words() == new.words());
    // Late: the filter has gone on. Early: it is not there yet. Foreign: another key.
    let mut later = old_copy(&new);
    later.insert_many(&sip(0), &[key(5000)]);
    let empty = Filter::new(*old.layout(), None, sip(0).fingerprint(), HugePages::Default).expect("memory");
    let foreign = Filter::new(*old.layout(), None, sip(1).fingerprint(), HugePages::Default).expect("memory");
    for mut other in [later, empty, foreign] {
        let before = other.words().to_vec();
        let refused = gain.apply(&mut other).expect_err("another state").to_string();
        assert!(refused.contains(&gain.envelope().old.to_string()), "{refused}");
        assert!(other.words() == before);
    }
    assert!(matches!(BitGain::between(&new, &old), Err(DeltaError::Cleared(_))));
}

#[test]
fn a_diff_applied_to_the_wrong_file_is_refused_by_name() {
    let (old, new) = pair();
    let (old, new) = (bytes_of(&old), bytes_of(&new));
    let (from, to) = (FileView::open(&old).expect("sound"), FileView::open(&new).expect("sound"));
    let diff = Diff::between(&from, &to).expect("of one kind");
    let refused = diff.apply(&to).expect_err("not the old file").to_string();
    let (starts, is) = (diff.envelope().old.to_string(), diff.envelope().new.to_string());
    assert_eq!(refused, format!("old digest: the delta starts from {starts}, but this is {is}"));
    // Identical files give a tiny diff that leads to the same file.
    let same = Diff::between(&from, &from).expect("of one kind");
    assert!(same.bytes().len() <= ENVELOPE_BYTES + 4);
    let mut made = Vec::new();
    same.apply(&from).expect("the old file").write(&mut made).expect("memory");
    assert!(made == old);
    let other = filter_of(Flat::new(20_001, 5).expect("in range").any(), &[0; 512]);
    let other = bytes_of(&other);
    let unlike = Diff::between(&from, &FileView::open(&other).expect("sound")).expect_err("other bits");
    assert!(unlike.to_string().contains("differ in bits"), "{unlike}");
}

/// Every truncation and every flipped bit is noticed; and sealed anew, a flipped payload is refused or leads nowhere.
#[test]
fn damaged_deltas_are_refused() {
    let (old, new) = pair();
    let file = bytes_of(&old);
    let from = FileView::open(&file).expect("sound");
    let made = bytes_of(&new);
    let diff = Diff::between(&from, &FileView::open(&made).expect("sound")).expect("of one kind");
    let bytes = diff.bytes();
    for length in 0..bytes.len() {
        assert!(Diff::open(&bytes[..length]).is_err(), "{length} bytes");
    }
    for bit in 0..bytes.len() * 8 {
        let mut damaged = bytes.to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        assert!(Diff::open(&damaged[..]).is_err(), "bit {bit}");
        seal(&mut damaged);
        if bit / 8 >= ENVELOPE_BYTES
            && let Ok(diff) = Diff::open(&damaged[..])
        {
            assert!(diff.apply(&from).is_err(), "bit {bit}");
        }
    }
    let gain = BitGain::between(&old, &new).expect("it grew");
    let refused = Diff::open(gain.bytes()).expect_err("a gain").to_string();
    assert_eq!(refused, "kind: the delta is a gain of bits, and a diff of files is needed here");
    assert!(matches!(Diff::open(&file[..]), Err(DeltaError::FilterFile)));
    assert!(matches!(FileView::open(bytes), Err(seenit_filter::FormatError::Delta)));
    let mut future = bytes.to_vec();
    future[6] = 9;
    assert!(matches!(Diff::open(future), Err(DeltaError::Version { found: 9, .. })));
}

/// Puts a checksum that fits into a delta.
fn seal(delta: &mut [u8]) {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&delta[..48]).update(&delta[64..]);
    delta[48..64].copy_from_slice(&hasher.finalize().as_bytes()[..16]);
}

/// Golden deltas of this release stay readable and writable to the byte. `SEENIT_BLESS=1` writes them anew.
#[test]
fn golden_deltas_are_reproduced_to_the_byte() {
    let (old, new) = pair();
    let (from, to) = (bytes_of(&old), bytes_of(&new));
    let (from, to) = (FileView::open(&from).expect("sound"), FileView::open(&to).expect("sound"));
    let mut rng = SplitMix(9);
    let values = small_counts(&mut rng, 5000, 15);
    let counted = |rng: &mut SplitMix, rate| counts(packed(4, &changed(rng, &values, 15, rate, 0.3, false)));
    let (few, many, some) = (counted(&mut rng, 0.02), counted(&mut rng, 0.5), counted(&mut rng, 0.1));
    let old_counts = counts(packed(4, &values));
    let goldens = [
        ("bits-gain", BitGain::between(&old, &new).expect("it grew").bytes().to_vec()),
        ("bits-diff", Diff::between(&to, &from).expect("of one kind").bytes().to_vec()),
        ("counts-gain-few", CountGain::between(&old_counts, &few, 7).expect("it grew").bytes().to_vec()),
        ("counts-gain-some", CountGain::between(&old_counts, &some, 9).expect("it grew").bytes().to_vec()),
        ("counts-gain-many", CountGain::between(&old_counts, &many, 8).expect("it grew").bytes().to_vec()),
    ];
    for (name, bytes) in goldens {
        let path = format!("{}/tests/golden/{name}-1.delta", env!("CARGO_MANIFEST_DIR"));
        if std::env::var_os("SEENIT_BLESS").is_some() {
            std::fs::write(&path, &bytes).expect("the golden folder is writable");
        }
        assert!(
            std::fs::read(&path).expect("a golden file") == bytes,
            "{path} differs from what this release writes"
        );
    }
}

/// Eight states of someone's counts, and the gains between them.
fn history() -> (Vec<Vec<u64>>, Vec<Vec<u8>>) {
    let mut rng = SplitMix(11);
    let mut states = vec![vec![0; 3 * 8192 + 77]];
    for i in 0..7 {
        let rate = [0.001, 0.4, 0.02][i % 3];
        states.push(changed(&mut rng, &states[i], 15, rate, 0.3, false));
    }
    let gains = (1..states.len()).map(|n| {
        let (old, new) = (counts(packed(4, &states[n - 1])), counts(packed(4, &states[n])));
        CountGain::between(&old, &new, n as u64).expect("it grew").bytes().to_vec()
    });
    let gains = gains.collect();
    (states, gains)
}

/// Twice, late and early, in any order: the cells are those of the last gain applied, and in the end the leader's.
#[test]
fn followers_end_where_the_leader_is() {
    let (states, gains) = history();
    let state = |n: u64| counts(packed(4, &states[n as usize]));
    for seed in 0..40 {
        let mut rng = SplitMix(seed);
        let mut follower = Follower::new(state(0), 0);
        for _ in 0..60 {
            let gain = CountGain::open(&gains[rng.next() as usize % gains.len()][..]).expect("sound");
            let applied = follower.applied();
            match follower.apply(&gain) {
                Ok(Applied::Now) => assert_eq!(gain.sequence(), applied + 1),
                Ok(Applied::Already) => assert!(gain.sequence() <= applied),
                Err(DeltaError::Gap { .. }) => assert!(gain.sequence() > applied + 1),
                Err(error) => panic!("{error}"),
            }
            assert!(follower.counts().cells().words() == state(follower.applied()).cells().words());
        }
        for gain in &gains {
            follower.apply(&CountGain::open(&gain[..]).expect("sound")).expect("in order");
        }
        assert!(follower.into_counts().cells().words() == state(gains.len() as u64).cells().words());
    }
}

#[test]
fn gains_of_counts_name_what_is_wrong_with_them() {
    let (states, gains) = history();
    let state = |n: usize| counts(packed(4, &states[n]));
    let fell = CountGain::between(&state(2), &state(1), 3).expect_err("it fell").to_string();
    assert!(fell.contains("fell from"), "{fell}");
    let mut follower = Follower::new(state(0), 0);
    let third = CountGain::open(&gains[2][..]).expect("sound");
    let early = follower.apply(&third).expect_err("too early").to_string();
    assert_eq!(early, "sequence: gain 3 cannot follow gain 0: those between are missing");
    let mut other = Follower::new(counts(packed(5, &states[0])), 2);
    assert!(matches!(other.apply(&third), Err(DeltaError::OtherCounts { .. })));
    // A payload that lies changes nothing.
    let mut lying = gains[0].clone();
    let last = lying.len() - 1;
    lying[last] ^= 0xff;
    seal(&mut lying);
    let lying = CountGain::open(lying).expect("sealed");
    assert!(follower.apply(&lying).is_err() && follower.applied() == 0);
    assert!(follower.counts().cells().words() == state(0).cells().words());
    // Counts at the cap stay there.
    let full = counts(packed(4, &vec![15; states[0].len()]));
    let mut follower = Follower::new(full, 1);
    follower.apply(&CountGain::open(&gains[1][..]).expect("sound")).expect("the next");
    assert!((0..states[0].len() as u64).all(|cell| follower.counts().cells().get(cell) == 15));
}

/// Files of counting filters, packed and split, whose counts rise and fall; split ones also gain and lose pages of
/// high parts.
#[test]
fn diffs_of_counting_files_lead_to_the_new_file_to_the_byte() {
    fn grown<C: CellsMut>(mut cells: C, seed: u64, changes: u64) -> CountingFilter<Refined, Flat, C> {
        let mut rng = SplitMix(seed);
        for _ in 0..changes {
            let value = rng.next() & ((1 << rng.below(12)) - 1);
            cells.set(rng.below(cells.len()), value.min(cells.cap()));
        }
        let layout = Flat::new(cells.len(), 3).expect("in range");
        CountingFilter::new(layout, cells, None, sip(0).fingerprint()).expect("as many cells as positions")
    }
    fn written(filter: &impl file::Stored) -> Vec<u64> {
        let mut bytes = Vec::new();
        file::write(filter, &mut bytes).expect("memory takes any bytes");
        bytes.as_chunks::<8>().0.iter().map(|bytes| u64::from_le_bytes(*bytes)).collect()
    }
    let split = |chunks| {
        let shape = Split::new(2, chunks).expect("a shape");
        SplitCells::zeroed(shape, 30_000, HugePages::Default).expect("memory")
    };
    let packed = || packed(6, &[0; 30_000]);
    let files = [
        written(&grown(packed(), 1, 10_000)),
        written(&grown(packed(), 2, 10_000)),
        written(&grown(packed(), 1, 10_100)),
        written(&grown(split(1), 1, 10_000)),
        written(&grown(split(3), 1, 10_020)),
        written(&grown(split(1), 2, 100)),
    ];
    let views = files.each_ref().map(|words| FileView::open(bytemuck::cast_slice(words)).expect("sound"));
    for (from, old) in views.iter().enumerate() {
        for (to, new) in views.iter().enumerate() {
            if (from < 3) != (to < 3) {
                assert!(matches!(Diff::between(old, new), Err(DeltaError::Unlike(_))));
                continue;
            }
            let diff = Diff::between(old, new).expect("of one kind");
            let mut bytes = Vec::new();
            let made = Diff::open(diff.bytes()).expect("sound").apply(old).expect("the old file");
            made.write(&mut bytes).expect("memory takes any bytes");
            assert!(bytes == bytemuck::cast_slice::<u64, u8>(&files[to]), "{from} to {to}");
            let bound = Diff::bound(old, new).expect("of one kind");
            let payload = (diff.bytes().len() - ENVELOPE_BYTES) as f64;
            let most = (bound.bits / 8.0 * 1.15).max(bound.bits / 8.0 + 64.0);
            assert!(payload <= most, "{from} to {to}: {payload} bytes, at most {most}");
            if from != to {
                assert!(matches!(diff.apply(new), Err(DeltaError::OtherOld { .. })));
            }
        }
    }
}

/// Found in review: the borrow of a word's highest cell leaves the word, and such a fall passed for a gain.
#[test]
fn a_single_cell_that_falls_is_named_wherever_it_lies() {
    for bits in 1..=16 {
        let per_word = u64::from(64 / bits);
        for cell in 0..2 * per_word {
            let mut old = vec![0; 3 * per_word as usize];
            old[cell as usize] = 1;
            let new = vec![0; 3 * per_word as usize];
            let refused = cells::gain(&packed(bits, &old), &packed(bits, &new)).expect_err("a cell fell");
            assert!(
                matches!(refused, DeltaError::Fell { cell: named, old: 1, new: 0 } if named == cell),
                "{refused}"
            );
        }
    }
}

/// Found in review: the copy that takes the changes had forgotten how many bits were cleared.
#[test]
fn gains_of_retouched_filters_apply_and_others_are_refused() {
    let layout = Flat::new(5000, 3).expect("in range").any();
    let mut rng = SplitMix(11);
    let mut old = filter_of(layout, &drawn(&mut rng, layout, 0.3));
    let whole = filter_of(layout, old.words());
    old.clear_random(3, 1, &seenit_filter::retouch::Known::default());
    let bytes = bytes_of(&old);
    let mut new = FileView::open(&bytes).expect("sound").to_filter(HugePages::Default).expect("memory");
    (0..50).for_each(|_| new.insert(rng.hash()));
    let gain = BitGain::between(&old, &new).expect("it only grew");
    assert_eq!(gain.apply(&mut old).expect("the old state"), Applied::Now);
    assert!(bytes_of(&old) == bytes_of(&new));
    assert!(matches!(BitGain::between(&whole, &new), Err(DeltaError::Unlike(_))), "cleared bits differ");
}

#[test]
fn gains_are_numbered_from_one_on() {
    let counts = || counts(packed(4, &[0; 100]));
    assert!(CountGain::between(&counts(), &counts(), 0).is_err());
    assert!(CountGain::between(&counts(), &counts(), 1).is_ok());
}
