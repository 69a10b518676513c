//! Guards the laws of counting: never below the truth, refined never above intuitive, cuts that answer as
//! counts do, sums that lose nothing, and keys taken out again. Also the worked examples of the collaborative
//! spam detection paper.

mod common;

use common::{SplitMix, sip};
use proptest::prelude::*;
use seenit_filter::cells::{Cells, CellsMut, PackedCells, Packing, SharedCells, Split, SplitCells};
use seenit_filter::counting::{CountingFilter, Intuitive, Refined, Rule, SharedCountingFilter};
use seenit_filter::hash::Hash128;
use seenit_filter::{AnyLayout, Flat, HugePages, Layout, Line, NotCounted, Paged, Promise};

/// A geometry: cells of a width, in a layout whose pages fit them.
#[derive(Clone, Copy, Debug)]
struct Geometry {
    layout: AnyLayout,
    packing: Packing,
}

/// Flat ones so small that most cells are shared, and paged ones; every width.
fn geometries() -> impl Strategy<Value = Geometry> {
    let paged = |(bits, pages, k): (u32, u64, u32)| {
        let packing = Packing::new(bits).expect("a width");
        let layout = Paged::with_slots(pages, 1, k, packing.per_page()).expect("in range").any();
        Geometry { layout, packing }
    };
    let flat = |(bits, cells, k): (u32, u64, u32)| {
        let layout = Flat::new(cells, k).expect("in range").any();
        Geometry { layout, packing: Packing::new(bits).expect("a width") }
    };
    prop_oneof![
        3 => (1u32..=16, 1u64..120, 1u32..=8).prop_map(flat),
        1 => (1u32..=16, 1u64..=2, 1u32..=32).prop_map(paged),
    ]
}

/// What a filter is told: which of a few keys, and how often.
type Stream = Vec<(u64, u64)>;

fn streams() -> impl Strategy<Value = Stream> {
    prop::collection::vec((0u64..KEYS, 1u64..12), 0..120)
}

const KEYS: u64 = 40;

/// Key number `i`; those from [`KEYS`] on are absent keys.
fn hash(i: u64) -> Hash128 {
    SplitMix(i.wrapping_mul(0x1234_5678_9abc_def1)).hash()
}

fn empty<R: Rule>(geometry: Geometry) -> CountingFilter<R> {
    let fingerprint = sip(0).fingerprint();
    CountingFilter::packed(geometry.layout, geometry.packing, None, fingerprint, HugePages::Default)
        .expect("memory for a test filter")
}

fn filled<R: Rule>(geometry: Geometry, stream: &Stream) -> CountingFilter<R> {
    let mut counts = empty(geometry);
    stream.iter().for_each(|&(key, weight)| counts.insert_weighted(hash(key), weight));
    counts
}

fn truth(stream: &Stream, key: u64) -> u64 {
    stream.iter().filter(|&&(other, _)| other == key).map(|&(_, weight)| weight).sum()
}

fn values<C: Cells>(cells: &C) -> Vec<u64> {
    (0..cells.len()).map(|cell| cells.get(cell)).collect()
}

/// A count is not below the truth, and where it may be, it says "at least".
fn covers<R: Rule>(counts: &CountingFilter<R>, key: u64, truth: u64) -> Result<(), TestCaseError> {
    let (count, cap) = (counts.count(hash(key)), counts.cells().cap());
    prop_assert!(count.value >= truth.min(cap), "key {} counts {}, not {}", key, count, truth);
    prop_assert!(count.value >= truth || count.saturated, "key {} counts {}, not {}", key, count, truth);
    prop_assert_eq!(count.saturated, count.value == cap);
    Ok(())
}

fn weighted_is_repeated<R: Rule>(geometry: Geometry, stream: &Stream) -> Result<(), TestCaseError> {
    let mut singly = empty::<R>(geometry);
    for &(key, weight) in stream {
        (0..weight).for_each(|_| singly.insert(hash(key)));
    }
    prop_assert_eq!(values(filled::<R>(geometry, stream).cells()), values(singly.cells()));
    Ok(())
}

fn cut_is_count<R: Rule>(counts: &CountingFilter<R>, least: u64) -> Result<(), TestCaseError> {
    let cut = counts.at_least(least).expect("within the cap");
    for key in 0..4 * KEYS {
        prop_assert_eq!(cut.contains(hash(key)), counts.count(hash(key)).value >= least);
    }
    Ok(())
}

/// Keys come and go, in the owned filter and in the shared one: both refuse the same, and both end with the cells of a
/// filter that was told only what is left.
fn only_what_is_left<C: CellsMut, D: SharedCells>(
    [mut owned, mut left]: [CountingFilter<Intuitive, Flat, C>; 2],
    shared: &SharedCountingFilter<Intuitive, Flat, D>,
    moves: &[(u64, u64, bool)],
) -> Result<(), TestCaseError> {
    let mut truth = vec![0u64; KEYS as usize];
    for &(key, weight, remove) in moves {
        let (hash, held) = (hash(key), &mut truth[key as usize]);
        let count = owned.count(hash).value;
        if !remove {
            owned.insert_weighted(hash, weight);
            shared.insert_weighted(hash, weight);
            *held += weight;
        } else if weight <= *held {
            prop_assert_eq!(owned.remove_weighted(hash, weight), Ok(()));
            prop_assert_eq!(shared.remove_weighted(hash, weight), Ok(()));
            *held -= weight;
        } else if weight > count {
            let before = values(owned.cells());
            prop_assert_eq!(owned.remove_weighted(hash, weight), Err(NotCounted { count, weight }));
            prop_assert_eq!(shared.remove_weighted(hash, weight), Err(NotCounted { count, weight }));
            prop_assert_eq!(values(owned.cells()), before);
        }
        prop_assert_eq!(values(owned.cells()), values(shared.cells()));
    }
    (0..).zip(&truth).for_each(|(key, &held)| left.insert_weighted(hash(key), held));
    prop_assert_eq!(values(owned.cells()), values(left.cells()));
    Ok(())
}

proptest! {
    #[test]
    fn taking_keys_back_leaves_the_cells_of_what_is_left(
        (cells, k, low_bits) in (1u64..120, 1u32..=8, 1u32..=5),
        moves in prop::collection::vec((0u64..KEYS, 0u64..30, prop::bool::ANY), 0..100),
    ) {
        let (layout, fingerprint) = (Flat::new(cells, k).expect("in range"), sip(0).fingerprint());
        // 100 moves of less than 30 saturate no cell of either.
        let packing = Packing::new(16).expect("a width");
        let packed = || {
            CountingFilter::<Intuitive, _>::packed(layout, packing, None, fingerprint, HugePages::Default)
                .expect("memory")
        };
        only_what_is_left([packed(), packed()], &packed().share(), &moves)?;
        let split = || {
            let split = Split::new(low_bits, 2).expect("a shape");
            let cells = SplitCells::zeroed(split, cells, HugePages::Default).expect("memory");
            CountingFilter::<Intuitive, _, _>::new(layout, cells, None, fingerprint).expect("one cell a position")
        };
        only_what_is_left([split(), split()], &split().share(), &moves)?;
    }

    #[test]
    fn counts_are_never_below_the_truth(geometry in geometries(), stream in streams()) {
        let (intuitive, refined) =
            (filled::<Intuitive>(geometry, &stream), filled::<Refined>(geometry, &stream));
        for key in 0..KEYS {
            covers(&intuitive, key, truth(&stream, key))?;
            covers(&refined, key, truth(&stream, key))?;
        }
    }

    #[test]
    fn refined_is_never_above_intuitive(geometry in geometries(), stream in streams()) {
        let (intuitive, refined) =
            (filled::<Intuitive>(geometry, &stream), filled::<Refined>(geometry, &stream));
        for key in 0..4 * KEYS {
            prop_assert!(refined.count(hash(key)).value <= intuitive.count(hash(key)).value);
        }
        let pairs = values(refined.cells()).into_iter().zip(values(intuitive.cells()));
        prop_assert!(pairs.into_iter().all(|(refined, intuitive)| refined <= intuitive));
    }

    #[test]
    fn weighted_is_repeated_single(geometry in geometries(), stream in streams()) {
        weighted_is_repeated::<Intuitive>(geometry, &stream)?;
        weighted_is_repeated::<Refined>(geometry, &stream)?;
    }

    #[test]
    fn a_cut_answers_as_the_counts_do(geometry in geometries(), stream in streams(), least in 1u64..40) {
        let (intuitive, refined) =
            (filled::<Intuitive>(geometry, &stream), filled::<Refined>(geometry, &stream));
        let cap = geometry.packing.cap();
        for least in [1, least.min(cap), cap] {
            cut_is_count(&intuitive, least)?;
            cut_is_count(&refined, least)?;
        }
        for least in [0, cap + 1, u64::MAX] {
            let error = refined.at_least(least).expect_err("cells cannot tell").to_string();
            prop_assert!(error.contains(&least.to_string()), "{}", error);
            prop_assert!(refined.rate_at_least(least).is_err());
        }
    }

    #[test]
    fn the_saturated_share_is_counted(geometry in geometries(), stream in streams()) {
        let counts = filled::<Refined>(geometry, &stream);
        let cells = values(counts.cells());
        let saturated = cells.iter().filter(|&&value| value == geometry.packing.cap()).count();
        prop_assert_eq!(counts.saturated_share(), saturated as f64 / cells.len() as f64);
    }

    /// Cell by cell, up to the cap; the sum is below the sum of the truths for no key.
    #[test]
    fn merging_adds_cells(geometry in geometries(), one in streams(), two in streams()) {
        let (mut sum, other) = (filled::<Refined>(geometry, &one), filled::<Refined>(geometry, &two));
        let before = values(sum.cells());
        sum.merge(&other).expect("of one kind");
        let cap = geometry.packing.cap();
        let added = before.iter().zip(values(other.cells())).map(|(a, b)| (a + b).min(cap));
        prop_assert_eq!(values(sum.cells()), added.collect::<Vec<_>>());
        for key in 0..KEYS {
            covers(&sum, key, truth(&one, key) + truth(&two, key))?;
        }
    }

    /// Keys come and go; every count covers what is left, and only the key's unsaturated cells move.
    #[test]
    fn intuitive_keys_can_be_taken_out(
        geometry in geometries(),
        moves in prop::collection::vec((0u64..KEYS, prop::bool::ANY), 0..150),
    ) {
        let (mut counts, mut truth) = (empty::<Intuitive>(geometry), vec![0u64; KEYS as usize]);
        for (key, remove) in moves {
            let before = values(counts.cells());
            if !remove {
                counts.insert(hash(key));
                truth[key as usize] += 1;
            } else if truth[key as usize] > 0 {
                prop_assert_eq!(counts.remove(hash(key)), Ok(()));
                truth[key as usize] -= 1;
                let probes = 0..geometry.layout.probes();
                let own: Vec<u64> = probes.map(|probe| geometry.layout.position(hash(key), probe)).collect();
                let expected = (0..).zip(&before).map(|(cell, &value)| {
                    value - u64::from(own.contains(&cell) && value < geometry.packing.cap())
                });
                prop_assert_eq!(values(counts.cells()), expected.collect::<Vec<_>>());
            } else if counts.count(hash(key)).value == 0 {
                let error = counts.remove(hash(key)).expect_err("never inserted").to_string();
                prop_assert!(error.contains("0"), "{}", error);
                prop_assert_eq!(values(counts.cells()), before);
            }
            for (key, &truth) in (0..).zip(&truth) {
                covers(&counts, key, truth)?;
            }
        }
    }
}

#[test]
fn saturated_cells_stay_when_keys_are_taken_back() {
    let geometry = Geometry {
        layout: Flat::new(3, 3).expect("in range").any(),
        packing: Packing::new(2).expect("a width"),
    };
    let mut counts = empty::<Intuitive>(geometry);
    counts.insert_weighted(hash(1), 9);
    let before = values(counts.cells());
    assert_eq!(counts.remove_weighted(hash(1), 9), Ok(()));
    assert_eq!(values(counts.cells()), before);
}

/// Each pair differs in one field, the error says in which, and nothing has changed.
#[test]
fn unlike_filters_are_refused_by_the_field_that_differs() {
    let flat = |cells, k| Flat::new(cells, k).expect("in range").any();
    let paged = |bits: u32| {
        let slots = Packing::new(bits).expect("a width").per_page();
        Paged::with_slots(1, 1, 4, slots).expect("in range").any()
    };
    fn make<R: Rule>(layout: AnyLayout, bits: u32, key: u64, rate: f64) -> CountingFilter<R> {
        let (packing, promise) = (Packing::new(bits).expect("a width"), Promise { capacity: 9, rate });
        CountingFilter::packed(layout, packing, Some(promise), sip(key).fingerprint(), HugePages::Default)
            .expect("memory")
    }
    let pairs = [
        ("layout", make::<Refined>(flat(4096, 4), 8, 1, 0.1), make::<Refined>(paged(8), 8, 1, 0.1)),
        ("bits", make(flat(100, 4), 8, 1, 0.1), make(flat(101, 4), 8, 1, 0.1)),
        ("k", make(flat(100, 4), 8, 1, 0.1), make(flat(100, 5), 8, 1, 0.1)),
        ("cap of a cell", make(flat(100, 4), 8, 1, 0.1), make(flat(100, 4), 7, 1, 0.1)),
        ("key fingerprint", make(flat(100, 4), 8, 1, 0.1), make(flat(100, 4), 8, 2, 0.1)),
        ("rate", make(flat(100, 4), 8, 1, 0.1), make(flat(100, 4), 8, 1, 0.2)),
    ];
    for (field, mut left, mut right) in pairs {
        right.insert(hash(1));
        assert_eq!(left.merge(&right).expect_err("must be refused").field, field);
        assert!(values(left.cells()).iter().all(|&value| value == 0), "{field}: something was added");
    }
    let mut refined = make::<Refined>(flat(100, 4), 8, 1, 0.1);
    assert_eq!(refined.merge(&make::<Intuitive>(flat(100, 4), 8, 1, 0.1)).expect_err("rules").field, "rule");
}

#[test]
fn layouts_whose_cells_lie_elsewhere_are_refused() {
    let says = |layout: AnyLayout, what: &str| {
        let (packing, fingerprint) = (Packing::new(8).expect("a width"), sip(0).fingerprint());
        let error = CountingFilter::<Refined>::packed(layout, packing, None, fingerprint, HugePages::Default)
            .expect_err("must be refused")
            .to_string();
        assert!(error.contains(what), "{error:?} does not mention {what:?}");
    };
    says(Line::new(8).expect("in range").any(), "line");
    says(Paged::with_slots(4, 2, 3, 4096).expect("in range").any(), "2 pages a key");
    says(Paged::new(4, 1, 3).expect("in range").any(), "32768");
}

fn cells(of: &[u64]) -> PackedCells {
    let packing = Packing::new(6).expect("a width");
    let mut cells = PackedCells::zeroed(packing, of.len() as u64, HugePages::Default).expect("a page");
    (0..).zip(of).for_each(|(cell, &value)| cells.set(cell, value));
    cells
}

/// The cells after `weight` more of the key that has all of them.
fn after<R: Rule>(of: &[u64], weight: u64) -> Vec<u64> {
    let mut cells = cells(of);
    let key: Vec<u64> = (0..of.len() as u64).collect();
    R::add(&mut cells, &key, weight);
    values(&cells)
}

/// Table II: server b, its counters after 0 to 4 occurrences of x.
#[test]
fn table_two_of_the_collaborative_spam_detection_paper() {
    let intuitive = [[1, 1, 0], [2, 2, 1], [3, 3, 2], [4, 4, 3], [5, 5, 4]];
    let refined = [[1, 1, 0], [1, 1, 1], [2, 2, 2], [3, 3, 3], [4, 4, 4]];
    for occurrences in 0..5 {
        assert_eq!(after::<Intuitive>(&[1, 1, 0], occurrences), intuitive[occurrences as usize]);
        assert_eq!(after::<Refined>(&[1, 1, 0], occurrences), refined[occurrences as usize]);
    }
}

/// A filter of three cells and a key that has each of them once, in order.
fn three_cells<R: Rule>(of: &[u64; 3]) -> (CountingFilter<R, Flat>, Hash128) {
    let layout = Flat::new(3, 3).expect("in range");
    let mut rng = SplitMix(1);
    let key = std::iter::repeat_with(|| rng.hash())
        .find(|&hash| (0..3).all(|probe| layout.position(hash, probe) == probe as u64))
        .expect("one in 27 hashes");
    (CountingFilter::new(layout, cells(of), None, sip(0).fingerprint()).expect("three cells"), key)
}

/// The merging example: x counts 2 at server a and 3 at server b, merged 6; one more each gives 8 or,
/// refined, 7.
#[test]
fn the_merging_example_of_the_collaborative_spam_detection_paper() {
    fn merged<R: Rule>(more: u64) -> (Vec<u64>, u64) {
        let ((mut a, x), (mut b, _)) = (three_cells::<R>(&[2, 5, 8]), three_cells::<R>(&[4, 4, 3]));
        assert_eq!((a.count(x).value, b.count(x).value), (2, 3));
        a.insert_weighted(x, more);
        b.insert_weighted(x, more);
        a.merge(&b).expect("of one kind");
        (values(a.cells()), a.count(x).value)
    }
    assert_eq!(merged::<Intuitive>(0), (vec![6, 9, 11], 6));
    assert_eq!(merged::<Refined>(0), (vec![6, 9, 11], 6));
    assert_eq!(merged::<Intuitive>(1), (vec![8, 11, 13], 8));
    assert_eq!(merged::<Refined>(1), (vec![7, 9, 12], 7));
}

/// Why refined filters have no removal: x on cells 0 and 1, y on 1 and 2. Taking x out the intuitive way
/// would leave y, which is still there, a count of 0.
#[test]
fn taking_a_key_out_of_refined_cells_would_lose_another() {
    fn after_x_left<R: Rule>() -> u64 {
        let (x, y) = ([0, 1], [1, 2]);
        let mut cells = cells(&[0, 0, 0]);
        R::add(&mut cells, &x, 1);
        R::add(&mut cells, &y, 1);
        for cell in x {
            cells.set(cell, cells.get(cell) - 1);
        }
        y.iter().map(|&cell| cells.get(cell)).min().expect("two cells")
    }
    assert_eq!((after_x_left::<Intuitive>(), after_x_left::<Refined>()), (1, 0));
}
