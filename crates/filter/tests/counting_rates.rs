//! Guards the maths of counting filters: wrong shares and rates at a threshold, as measured on filters that
//! exist.
//!
//! Filters are filled under independent hashes, so what is compared is the mean over filters, judged by the
//! scatter between them.

mod common;

use common::{SplitMix, sip};
use seenit_filter::cells::Packing;
use seenit_filter::counting::{CountingFilter, Intuitive, Refined, Rule};
use seenit_filter::hash::Hash128;
use seenit_filter::maths::counting::{
    CountOdds, rate_at_least, rate_at_least_paged, share_at_least, wrong_share, wrong_share_paged,
};
use seenit_filter::{AnyLayout, Flat, HugePages, Layout, Paged};

const FILTERS: u64 = 30;
const KEYS: u64 = 10_000;

/// Standard deviations allowed where they are estimated from [`FILTERS`] values (Student's t, 29 degrees of
/// freedom).
const DEVIATIONS_ESTIMATED: f64 = 5.6;

fn packing() -> Packing {
    Packing::new(8).expect("a width")
}

fn flat(cells: u64, k: u32) -> AnyLayout {
    Flat::new(cells, k).expect("in range").any()
}

fn paged(pages: u64, k: u32) -> AnyLayout {
    Paged::with_slots(pages, 1, k, packing().per_page()).expect("in range").any()
}

/// Keys and how often each is inserted, drawn from a seed.
fn stream(seed: u64, draw: impl Fn(&mut SplitMix) -> u64) -> Vec<(Hash128, u64)> {
    let mut rng = SplitMix(seed);
    (0..KEYS).map(|_| (rng.hash(), draw(&mut rng))).collect()
}

fn empty<R: Rule>(layout: AnyLayout) -> CountingFilter<R> {
    let fingerprint = sip(0).fingerprint();
    CountingFilter::packed(layout, packing(), None, fingerprint, HugePages::Default)
        .expect("memory for a test filter")
}

/// Intuitive cells do not depend on the order, so each key comes with all its weight.
fn intuitive(layout: AnyLayout, stream: &[(Hash128, u64)]) -> CountingFilter<Intuitive> {
    let mut counts = empty(layout);
    stream.iter().for_each(|&(hash, count)| counts.insert_weighted(hash, count));
    counts
}

/// Refined cells do: each key comes once a round, as often as it has to, and no key's insertions come in a
/// row.
fn refined(layout: AnyLayout, stream: &[(Hash128, u64)]) -> CountingFilter<Refined> {
    let mut counts = empty(layout);
    let most = stream.iter().map(|&(_, count)| count).max().unwrap_or(0);
    for round in 0..most {
        stream.iter().filter(|&&(_, count)| round < count).for_each(|&(hash, _)| counts.insert(hash));
    }
    counts
}

/// Uniform on 0..1 from 53 bits.
fn unit(rng: &mut SplitMix) -> f64 {
    (rng.next() >> 11) as f64 / (1u64 << 53) as f64
}

/// Poisson(10) by multiplying uniform numbers.
fn poisson_ten(rng: &mut SplitMix) -> u64 {
    let (mut count, mut product) = (0, unit(rng));
    while product > (-10f64).exp() {
        product *= unit(rng);
        count += 1;
    }
    count
}

fn up_to_twenty(rng: &mut SplitMix) -> u64 {
    rng.next() % 21
}

fn mean_and_sd(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    (mean, (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0)).sqrt())
}

fn wrong<R: Rule>(counts: &CountingFilter<R>, stream: &[(Hash128, u64)]) -> f64 {
    let wrong = stream.iter().filter(|&&(hash, count)| counts.count(hash).value != count).count();
    wrong as f64 / stream.len() as f64
}

/// The closed form, for intuitive filters; refined ones stay below it, by several times.
#[test]
fn wrong_shares_are_the_closed_form() {
    let cells = packing().per_page();
    let cases = [
        (flat(80_000, 4), wrong_share(80_000, 4, KEYS)),
        (flat(80_000, 8), wrong_share(80_000, 8, KEYS)),
        (flat(60_000, 6), wrong_share(60_000, 6, KEYS)),
        (paged(20, 4), wrong_share_paged(cells, 20, 4, KEYS)),
        (paged(18, 6), wrong_share_paged(cells, 18, 6, KEYS)),
    ];
    for (layout, expected) in cases {
        let (mut by_intuitive, mut by_refined) = (Vec::new(), Vec::new());
        for seed in 0..FILTERS {
            let stream = stream(seed, |rng| 1 + rng.next() % 4);
            by_intuitive.push(wrong(&intuitive(layout, &stream), &stream));
            by_refined.push(wrong(&refined(layout, &stream), &stream));
        }
        let (mean, sd) = mean_and_sd(&by_intuitive);
        let error = sd / (FILTERS as f64).sqrt();
        assert!(
            (mean - expected).abs() < DEVIATIONS_ESTIMATED * error,
            "{layout:?}: {mean} +- {error}, not {expected}"
        );
        let (refined, _) = mean_and_sd(&by_refined);
        assert!(refined < expected / 2.0, "{layout:?}: {refined}, not far below {expected}");
    }
}

type Draw = fn(&mut SplitMix) -> u64;

fn laws() -> [(CountOdds, Draw); 2] {
    [
        (CountOdds::poisson(10.0).expect("a law"), poisson_ten),
        (CountOdds::uniform(0, 20).expect("a law"), up_to_twenty),
    ]
}

/// Shares of cells and their scatter, and the rates they amount to, flat.
#[test]
fn shares_and_rates_at_a_threshold_are_the_compound_ones() {
    for (odds, draw) in laws() {
        for (cells, k) in [(80_000, 4), (80_000, 8), (40_000, 6)] {
            let layout = flat(cells, k);
            let filters: Vec<_> = (0..FILTERS).map(|seed| intuitive(layout, &stream(seed, draw))).collect();
            for least in [1, 5, 10, 20, 30, 45] {
                let of = |value: fn(&CountingFilter<Intuitive>, u64) -> f64| {
                    let values: Vec<f64> = filters.iter().map(|counts| value(counts, least)).collect();
                    mean_and_sd(&values)
                };
                let (share, scatter) =
                    of(|counts, least| counts.at_least(least).expect("a cut").fill().ratio());
                let expected = share_at_least(cells, k, KEYS, &odds, least);
                let case = format!("{cells} {k} {least}: {share} +- {scatter}, not {expected:?}");
                let root = (FILTERS as f64).sqrt();
                assert!((share - expected.mean).abs() < 4.5 * expected.sd / root, "{case}");
                // A deviation estimated from 30 values is itself uncertain by an eighth.
                assert!((0.55..1.5).contains(&(scatter / expected.sd)), "{case}");

                let (rate, scatter) = of(|counts, least| counts.rate_at_least(least).expect("a rate"));
                let plain = rate_at_least(cells, k, KEYS, &odds, least);
                let luck = f64::from(k * (k - 1)) / 2.0 * (expected.sd / expected.mean).powi(2);
                let allowed = DEVIATIONS_ESTIMATED * scatter / root + luck * luck * plain;
                assert!(
                    (rate - plain * (1.0 + luck)).abs() < allowed,
                    "{cells} {k} {least}: {rate} +- {scatter}, not {plain} (1 + {luck})"
                );
            }
        }
    }
}

/// The same with pages: the mixture over loads.
#[test]
fn rates_at_a_threshold_in_pages_are_the_mixture() {
    for (odds, draw) in laws() {
        for (pages, k) in [(20, 4), (12, 6)] {
            let layout = paged(pages, k);
            let filters: Vec<_> = (0..FILTERS).map(|seed| intuitive(layout, &stream(seed, draw))).collect();
            for least in [1, 10, 20] {
                let rates: Vec<f64> =
                    filters.iter().map(|counts| counts.rate_at_least(least).expect("a rate")).collect();
                let (mean, sd) = mean_and_sd(&rates);
                let expected = rate_at_least_paged(packing().per_page(), pages, k, KEYS, &odds, least);
                // What the luck of the cells of one page adds, which the mixture leaves out.
                let allowed = DEVIATIONS_ESTIMATED * sd / (FILTERS as f64).sqrt() + 0.01 * expected;
                assert!((mean - expected).abs() < allowed, "{pages} {k} {least}: {mean}, not {expected}");
            }
        }
    }
}

/// Absent keys count t or more as often as the cells say; refined cells are never higher, so the rate never is.
#[test]
fn absent_keys_reach_a_threshold_at_the_rate_of_the_cells() {
    const ABSENT: u64 = 200_000;
    for layout in [flat(40_000, 4), paged(10, 4)] {
        let stream = stream(77, poisson_ten);
        let (intuitive, refined) = (intuitive(layout, &stream), refined(layout, &stream));
        for least in [1, 10, 20] {
            let rates = [&intuitive.rate_at_least(least), &refined.rate_at_least(least)]
                .map(|rate| *rate.as_ref().expect("a rate"));
            assert!(rates[1] <= rates[0], "{layout:?} {least}: {rates:?}");
            let mut rng = SplitMix(99);
            let mut hits = [0u64; 2];
            for _ in 0..ABSENT {
                let hash = rng.hash();
                hits[0] += u64::from(intuitive.count(hash).value >= least);
                hits[1] += u64::from(refined.count(hash).value >= least);
            }
            for (hits, rate) in hits.into_iter().zip(rates) {
                let mean = rate * ABSENT as f64;
                assert!(
                    (hits as f64 - mean).abs() <= 4.5 * mean.sqrt() + 3.0,
                    "{layout:?} {least}: {hits} hits, not {mean}"
                );
            }
        }
    }
}

/// The formula as printed throws every report by itself. It is too low by many orders of magnitude.
#[test]
fn single_increments_at_random_are_far_too_few() {
    for (odds, draw) in laws() {
        for (cells, k, orders) in [(80_000, 4, 1e15), (80_000, 8, 1e6), (160_000, 4, 1e20)] {
            let counts = intuitive(flat(cells, k), &stream(5, draw));
            let measured = counts.rate_at_least(20).expect("a rate");
            let reports = (KEYS as f64 * odds.mean()) as u64;
            let single = CountOdds::new(vec![0.0, 1.0]).expect("a law");
            let printed = rate_at_least(cells, k, reports, &single, 20);
            assert!(printed * orders < measured, "{cells} {k}: {printed:e} {measured:e}");
            let compound = rate_at_least(cells, k, KEYS, &odds, 20);
            assert!((0.5..2.0).contains(&(compound / measured)), "{cells} {k}: {compound:e} {measured:e}");
        }
    }
}
