//! Guards the bin filter as built: members are credited, absent keys as often and as much as the maths says.
//!
//! As with plain filters two things can be wrong. Given the bits, bins fire independently, each at its
//! *present* rate: that tests probing, and that bins which share a hash do not share positions. Over
//! independently keyed filters rates scatter around the *expected* ones: that tests the maths, judged by the
//! scatter that was seen.

mod common;

use common::{SplitMix, key, sip};
use proptest::prelude::*;
use seenit_filter::bins::{BinFilter, Credit, Goal, Plan, Standing, Weights, compare};
use seenit_filter::hash::{KeyHasher, SipKey};
use seenit_filter::maths::bins::{Bin, absent_credit, any_fires};

/// Standard deviations allowed where they are known; there are about 20 comparisons here.
const DEVIATIONS: f64 = 4.5;

/// The same where they are estimated from [`FILTERS`] values.
const DEVIATIONS_ESTIMATED: f64 = 5.2;

const FILTERS: u64 = 100;

fn build(sip: &SipKey, weights: &Weights, plan: &Plan) -> BinFilter {
    let keys: Vec<_> = (0..weights.keys() as u64).map(key).collect();
    BinFilter::build(sip, sip.fingerprint(), &keys, weights, plan).expect("a good plan")
}

fn rising(keys: usize) -> Weights {
    Weights::new(&(0..keys).map(|i| 5.0 * (i + 1) as f64 / keys as f64).collect::<Vec<_>>())
        .expect("good weights")
}

/// Equal bins of equal sizes, which an unchanged hash would ask at equal positions, and best plans large and
/// small.
fn plans() -> Vec<(Weights, Plan)> {
    let equal = |keys: usize, bits: u64| {
        let plan = Plan::new((1..=10).map(|bin| bin * keys).collect(), vec![bits; 10]);
        (rising(10 * keys), plan.expect("a good plan"))
    };
    let best = |keys: usize, bins: usize, bits: u64| {
        let weights = rising(keys);
        let plan = Plan::best(Goal::Invalidation, &weights, bins, bits).expect("a good plan");
        (weights, plan)
    };
    vec![
        equal(30, 102),
        equal(100, 102),
        equal(20, 256),
        equal(200, 1024),
        best(3000, 10, 1024),
        best(3000, 12, 24_000),
    ]
}

/// What `queries` absent keys are credited with.
fn absent(filter: &BinFilter, sip: &SipKey, queries: u64) -> Vec<Credit> {
    // Keys of the members' length that are none of them.
    let keys: Vec<_> = (0..queries).map(|i| key((1 << 32) + i)).collect();
    let mut credits = vec![Credit::default(); keys.len()];
    filter.credit_many(sip, &keys, &mut credits);
    credits
}

/// The bins that have bits, and their present rates.
fn present(filter: &BinFilter) -> (Vec<Bin>, Vec<f64>) {
    filter.bins().map(|(bin, filter)| (bin, filter.present_rate())).unzip()
}

fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Found while building: bins that used the same positions fired together, and the squares summed to 200 a
/// filter.
#[test]
fn bins_fire_independently_given_their_bits() {
    for (weights, plan) in plans() {
        let (mut firing, mut crediting) = (0.0, 0.0);
        for seed in 0..FILTERS {
            let sip = sip(seed);
            let filter = build(&sip, &weights, &plan);
            let (bins, rates) = present(&filter);
            let credits = absent(&filter, &sip, 10_000);
            let queries = credits.len() as f64;
            let share = any_fires(&rates);
            let fired = credits.iter().filter(|credit| credit.fired != 0).count() as f64;
            firing += (fired - share * queries).powi(2) / (share * (1.0 - share) * queries);
            let variance: f64 =
                bins.iter().zip(&rates).map(|(bin, f)| bin.weight.powi(2) * f * (1.0 - f)).sum();
            let credited: f64 = credits.iter().map(|credit| credit.weight).sum();
            let due = absent_credit(&bins, &rates) * queries;
            crediting += (credited - due).powi(2) / (variance * queries);
        }
        // Sums of FILTERS squares of normal deviates: mean FILTERS, variance 2 FILTERS.
        let allowed = FILTERS as f64 + DEVIATIONS * (2.0 * FILTERS as f64).sqrt();
        assert!(firing < allowed && crediting < allowed, "{plan:?}: {firing} and {crediting}, not {FILTERS}");
    }
}

#[test]
fn absent_keys_are_credited_as_the_maths_says() {
    for (weights, plan) in plans() {
        let expected = compare(&weights, &plan).expect("a good plan").bin_filter;
        let (mut credit, mut fires) = (Vec::new(), Vec::new());
        for seed in 0..FILTERS {
            let sip = sip(seed);
            let credits = absent(&build(&sip, &weights, &plan), &sip, 5000);
            let queries = credits.len() as f64;
            credit.push(credits.iter().map(|credit| credit.weight).sum::<f64>() / queries);
            fires.push(credits.iter().filter(|credit| credit.fired != 0).count() as f64 / queries);
        }
        for (what, seen, expected) in
            [("credit", credit, expected.absent_credit), ("share", fires, expected.any_fires)]
        {
            let (mean, error) = mean_and_error(&seen);
            let allowed = DEVIATIONS_ESTIMATED * error + 1e-3 * expected;
            assert!((mean - expected).abs() <= allowed, "{plan:?}: {what} {mean} +- {error}, not {expected}");
        }
    }
}

/// Mean and root mean square of credit minus weight over all members.
fn member_errors(filter: &BinFilter, sip: &SipKey, weights: &Weights) -> (f64, f64) {
    let errors: Vec<f64> = weights
        .order()
        .iter()
        .zip(weights.sorted())
        .map(|(&member, weight)| filter.credit(sip.hash(&key(member as u64))).weight - weight)
        .collect();
    let n = errors.len() as f64;
    (errors.iter().sum::<f64>() / n, errors.iter().map(|error| error * error).sum::<f64>() / n)
}

#[test]
fn member_errors_are_as_the_maths_says() {
    for (weights, plan) in plans() {
        let expected: Standing = compare(&weights, &plan).expect("a good plan").bin_filter;
        let (mut means, mut squares) = (Vec::new(), Vec::new());
        for seed in 0..FILTERS {
            let sip = sip(seed);
            let (mean, square) = member_errors(&build(&sip, &weights, &plan), &sip, &weights);
            means.push(mean);
            squares.push(square);
        }
        // Kept members err by the false hits alone on average; dropped ones also lack their weight.
        let dropped = &weights.sorted()[weights.keys() - expected.dropped_keys as usize..];
        let lost = dropped.iter().sum::<f64>() / weights.keys() as f64;
        let (mean, error) = mean_and_error(&means);
        let due = expected.false_hits - lost;
        assert!(
            (mean - due).abs() <= DEVIATIONS_ESTIMATED * error + 1e-3 * due.abs(),
            "{mean} +- {error}, not {due}"
        );
        let (mean, error) = mean_and_error(&squares);
        let due = expected.member_error_rms.powi(2);
        assert!(
            (mean - due).abs() <= DEVIATIONS_ESTIMATED * error + 1e-3 * due,
            "{mean} +- {error}, not {due}"
        );
    }
}

/// The bins of the paper's experiment with real filters: half of the keys are not worth their bits.
#[test]
fn keys_of_bins_without_bits_are_dropped_and_counted() {
    let weights = rising(3000);
    let plan = Plan::best(Goal::Invalidation, &weights, 10, 1024).expect("a good plan");
    let empty: Vec<usize> = (0..10).filter(|&bin| plan.bits()[bin] == 0).collect();
    let sip = sip(1);
    let filter = build(&sip, &weights, &plan);
    assert!(!empty.is_empty() && filter.bins().count() == 10 - empty.len());
    let first_empty = plan.cuts()[empty[0] - 1];
    assert_eq!(filter.dropped_keys(), 3000 - first_empty as u64);
    assert_eq!(filter.bins().map(|(bin, _)| bin.keys).sum::<u64>() + filter.dropped_keys(), 3000);
    let credits = absent(&filter, &sip, 10_000);
    assert!(credits.iter().any(|credit| credit.fired == 0), "an empty bin answers yes to everything");
    assert!(empty.iter().all(|bin| credits.iter().all(|credit| credit.fired >> bin & 1 == 0)));
}

#[test]
fn plans_and_keys_that_do_not_fit_are_refused() {
    let refused = |cuts: &[usize], bits: &[u64]| {
        Plan::new(cuts.to_vec(), bits.to_vec()).expect_err("refused").to_string()
    };
    assert!(refused(&[], &[]).contains("bins must be at least 1"));
    assert!(refused(&[1, 2], &[0, 0]).contains("bits must be at least 1"));
    assert!(refused(&[1, 2], &[1]).contains("1 sizes, not 2"));
    assert!(refused(&[0, 2], &[1, 1]).contains("cut 0 is 0"));
    assert!(refused(&[3, 3], &[1, 1]).contains("cut 1 is 3"));
    assert!(refused(&[1], &[u64::MAX]).contains("limit"));
    assert!(refused(&(1..=65).collect::<Vec<_>>(), &[1; 65]).contains("the limit is 64"));
    let (sip, plan) = (sip(1), Plan::new(vec![2, 3], vec![9, 9]).expect("a good plan"));
    let build = |keys: u64, weights: usize| {
        let keys: Vec<_> = (0..keys).map(key).collect();
        BinFilter::build(&sip, sip.fingerprint(), &keys, &rising(weights), &plan).map(drop)
    };
    assert!(build(3, 3).is_ok());
    assert!(build(4, 3).expect_err("refused").to_string().contains("4 keys, not 3"));
    assert!(build(4, 4).expect_err("refused").to_string().contains("4 weights, not 3"));
    assert!(compare(&rising(4), &plan).is_err());
    let for_cuts = |cuts: &[usize], bits| Plan::for_cuts(Goal::Invalidation, &rising(4), cuts.to_vec(), bits);
    assert!(for_cuts(&[2, 4], 9).is_ok());
    assert!(for_cuts(&[2, 2], 9).is_err() && for_cuts(&[2, 3], 9).is_err() && for_cuts(&[2, 4], 0).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    /// A member of a bin with bits is credited with its bin's weight at least; batches answer as single
    /// lookups do.
    #[test]
    fn members_are_always_credited(seed: u64, keys in 1usize..400, bins in 1usize..12, bits in 1u64..5000) {
        let mut random = SplitMix(seed);
        let raw: Vec<f64> = (0..keys).map(|_| (random.next() >> 11) as f64 / (1u64 << 53) as f64).collect();
        let weights = Weights::new(&raw).expect("good weights");
        let plan = Plan::best(Goal::Invalidation, &weights, bins.min(keys), bits).expect("a good plan");
        prop_assert_eq!(plan.total_bits(), bits);
        let sip = sip(seed);
        let filter = build(&sip, &weights, &plan);
        let all: Vec<_> = (0..2 * keys as u64).map(key).collect();
        let mut credits = vec![Credit { weight: 7.0, fired: 7 }; all.len()];
        filter.credit_many(&sip, &all, &mut credits);
        for (key, credit) in all.iter().zip(&credits) {
            prop_assert_eq!(*credit, filter.credit(sip.hash(key)));
        }
        let mut from = 0;
        for (place, &to) in plan.cuts().iter().enumerate() {
            for &member in weights.order()[from..to].iter().filter(|_| plan.bits()[place] > 0) {
                prop_assert!(credits[member].fired >> place & 1 == 1);
                prop_assert!(credits[member].weight >= weights.bin(from, to).weight);
            }
            from = to;
        }
    }
}
