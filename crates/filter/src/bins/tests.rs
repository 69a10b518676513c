//! Optimisers of cuts against brute force, against each other, and on the paper's experiment.

use super::*;
use crate::random::SplitMix;

const GOALS: [Goal; 3] = [Goal::EqualBits, Goal::Invalidation, Goal::AbsentCredit];

/// The paper's experiment, with weights evenly spaced from 0.0005 to 5 (it does not give them).
fn paper_weights() -> Weights {
    let spaced: Vec<f64> = (0..3000).map(|i| 0.0005 + 4.9995 * f64::from(i) / 2999.0).collect();
    Weights::new(&spaced).expect("good weights")
}

/// Calls `visit` with all cuts of `keys` keys into `bins` bins.
fn every_cuts(keys: usize, bins: usize, cuts: &mut Vec<usize>, visit: &mut impl FnMut(&[usize])) {
    let from = cuts.last().copied().unwrap_or(0);
    if bins == 1 {
        cuts.push(keys);
        visit(cuts);
        cuts.pop();
        return;
    }
    for cut in from + 1..=keys + 1 - bins {
        cuts.push(cut);
        every_cuts(keys, bins - 1, cuts, visit);
        cuts.pop();
    }
}

fn least_of_all(goal: Goal, weights: &Weights, bins: usize, bits: u64) -> f64 {
    let mut least = f64::INFINITY;
    every_cuts(weights.keys(), bins, &mut Vec::new(), &mut |cuts| {
        least = least.min(goal.ideal_cost(&weights.bins(cuts), bits as f64));
    });
    least
}

/// Weights of several shapes, zeros and ties among them.
fn some_weights(random: &mut SplitMix, case: u64, keys: usize) -> Weights {
    let mut weight = || match case % 5 {
        0 => 5.0 * random.unit(),
        1 => (8.0 * random.unit() - 4.0).exp(),
        2 => random.below(4) as f64,
        3 => random.unit().powi(6) * 1000.0,
        _ => f64::from(u8::from(random.below(3) == 0)) * random.unit(),
    };
    let all: Vec<f64> = (0..keys).map(|_| weight()).collect();
    Weights::new(&all).expect("good weights")
}

#[test]
fn best_cuts_are_the_best_of_all_cuts() {
    let mut random = SplitMix(7);
    for case in 0..600 {
        let keys = 1 + random.below(14) as usize;
        let bins = 1 + random.below(keys.min(4) as u64) as usize;
        let bits = 1 + random.below([4, 20, 100][case as usize % 3]);
        let weights = some_weights(&mut random, case, keys);
        for goal in GOALS {
            let least = least_of_all(goal, &weights, bins, bits);
            let best = best_cuts(goal, &weights, bins, bits).expect("a possible task");
            let shown = format!("{goal:?} {:?} {bins} bins, {bits} bits: {best:?}", weights.sorted());
            assert_eq!((best.cuts.len(), best.cuts.last()), (bins, Some(&keys)), "{shown}");
            assert!(best.bound <= least * (1.0 + 1e-9), "the bound is above {least}: {shown}");
            assert!(best.cost >= least * (1.0 - 1e-9), "below the least, {least}: {shown}");
            if goal != Goal::AbsentCredit {
                assert!(best.cost <= least * (1.0 + 1e-9), "above the least, {least}: {shown}");
            }
        }
    }
}

/// In most small cases the bound is met; where it is not, the cuts are still near the best.
#[test]
fn cuts_for_absent_keys_are_near_the_best() {
    let mut random = SplitMix(8);
    let mut met = 0;
    for case in 0..100 {
        let keys = 4 + random.below(9) as usize;
        let bins = 1 + random.below(4) as usize;
        let bits = 1 + random.below(100);
        let weights = some_weights(&mut random, case, keys);
        let least = least_of_all(Goal::AbsentCredit, &weights, bins, bits);
        let best = best_cuts(Goal::AbsentCredit, &weights, bins, bits).expect("a possible task");
        assert!(best.cost <= 1.3 * least, "{least} {best:?} {:?}", weights.sorted());
        met += u32::from(best.cost <= least * (1.0 + 1e-9));
    }
    assert!(met >= 90, "{met}");
}

/// One filter for nearly all keys, and single keys that cost next to nothing: the credit of absent keys alone
/// wants no bins.
#[test]
fn absent_keys_alone_want_one_large_bin() {
    let weights = Weights::new(&(1..=200).map(f64::from).collect::<Vec<_>>()).expect("good weights");
    let best = best_cuts(Goal::AbsentCredit, &weights, 5, 1000).expect("a possible task");
    assert_eq!(best.cuts, [196, 197, 198, 199, 200]);
    assert!(best.bound >= best.cost * (1.0 - 1e-6));
}

/// The paper's own objective has its minimum 3 to 3.6 % below what Table 1 reports; better memory gains 1 % more.
#[test]
fn best_cuts_of_the_papers_experiment() {
    let weights = paper_weights();
    for (bins, table, equal, shared) in [
        (10, 6119.99, "5910.12", "5851.46"),
        (11, 6122.02, "5904.95", "5851.34"),
        (12, 6085.45, "5900.61", "5851.25"),
    ] {
        let cost = |goal| best_cuts(goal, &weights, bins, 1024).expect("a possible task").cost;
        assert_eq!(format!("{:.2}", cost(Goal::EqualBits)), equal);
        assert_eq!(format!("{:.2}", cost(Goal::Invalidation)), shared);
        assert!(cost(Goal::EqualBits) < 0.97 * table);
    }
}

/// With as many bins as keys, each s has but one chain: the least cost can be computed by hand.
#[test]
fn a_thousand_bins_would_gain_little_more() {
    let weights = paper_weights();
    let all: Vec<usize> = (1..=3000).collect();
    let limit = Goal::Invalidation.ideal_cost(&weights.bins(&all), 1024.0);
    let twelve = best_cuts(Goal::Invalidation, &weights, 12, 1024).expect("a possible task").cost;
    assert!(limit < twelve && twelve < 1.0002 * limit, "{limit} {twelve}");
}

#[test]
fn annealing_never_beats_the_programme_and_comes_close_when_tuned() {
    let weights = paper_weights();
    for goal in [Goal::EqualBits, Goal::Invalidation] {
        let best = best_cuts(goal, &weights, 10, 1024).expect("a possible task").cost;
        let even = goal.ideal_cost(&weights.bins(&weights.even_cuts(10).expect("ten bins")), 1024.0);
        for seed in 0..5 {
            let run = |schedule| anneal(goal, &weights, 10, 1024, schedule, seed).expect("a possible task");
            let paper = run(Schedule::paper());
            let tuned = run(Schedule::tuned(even, 20_000));
            assert!(paper.best_cost >= best && paper.best_cost <= even && paper.start_cost == even);
            // Measured over 101 seeds: within four millionths.
            assert!(tuned.best_cost >= best && tuned.best_cost <= best * 1.000_01, "{tuned:?}");
        }
    }
}

#[test]
fn annealing_reports_what_it_did_and_repeats_it() {
    let weights = paper_weights();
    let run = |seed| anneal(Goal::EqualBits, &weights, 12, 1024, Schedule::paper(), seed).expect("possible");
    let first = run(1);
    assert_eq!(first, run(1));
    assert_ne!(first.cuts, run(2).cuts);
    assert_eq!((first.moves, first.trace.len()), (100, 100));
    let least = first.trace.iter().fold(first.start_cost, |least, &cost| least.min(cost));
    assert_eq!(first.best_cost, least);
    assert_eq!(Goal::EqualBits.ideal_cost(&weights.bins(&first.cuts), 1024.0), least);
    let changes = first.trace.windows(2).filter(|pair| pair[0] != pair[1]).count() as u64;
    assert!(first.accepted >= changes && first.accepted <= 100, "{first:?}");
}

#[test]
fn at_no_temperature_only_falls_are_taken() {
    let weights = paper_weights();
    let schedule = Schedule { start: 1e-300, cooling: 0.5, moves: 2000, shift: Shift::Uniform };
    let run = anneal(Goal::Invalidation, &weights, 10, 1024, schedule, 3).expect("possible");
    assert!(run.trace.is_sorted_by(|a, b| a >= b) && run.best_cost < run.start_cost);
}

#[test]
fn annealing_of_bins_that_cannot_move() {
    for (keys, bins) in [(5, 1), (5, 5), (1, 1)] {
        let weights = Weights::new(&vec![1.0; keys]).expect("good weights");
        let run = anneal(Goal::Invalidation, &weights, bins, 9, Schedule::paper(), 0).expect("possible");
        assert_eq!((run.accepted, run.best_cost), (0, run.start_cost));
    }
}

#[test]
fn impossible_tasks_are_refused() {
    let weights = Weights::new(&[1.0; 70]).expect("good weights");
    for (bins, bits, said) in [
        (0, 9, "bins must be at least 1"),
        (65, 9, "the limit is 64"),
        (3, 0, "bits must be at least 1"),
        (3, u64::MAX, "limit"),
    ] {
        for goal in GOALS {
            let error = best_cuts(goal, &weights, bins, bits).expect_err("refused").to_string();
            assert!(error.contains(said), "{error}");
            let error =
                anneal(goal, &weights, bins, bits, Schedule::paper(), 0).expect_err("refused").to_string();
            assert!(error.contains(said), "{error}");
            assert!(Plan::best(goal, &weights, bins, bits).is_err());
        }
    }
    let still = Schedule { moves: 0, ..Schedule::paper() };
    assert!(anneal(Goal::EqualBits, &weights, 3, 9, still, 0).is_err());
    let many = Weights::new(&vec![1.0; KEYS_CUT_MAX as usize + 1]).expect("good weights");
    let error = best_cuts(Goal::EqualBits, &many, 3, 9).expect_err("refused").to_string();
    assert!(error.contains("32769"), "{error}");
}

/// The table in the documentation of the module, row by row.
#[test]
fn the_three_ways_compared_at_equal_bits() {
    let weights = paper_weights();
    let bits = 30_000;
    let best = best_cuts(Goal::Invalidation, &weights, 10, bits).expect("a possible task").cuts;
    let even = weights.even_cuts(10).expect("ten bins");
    let compared = |goal: Goal, cuts: &[usize]| {
        let plan = Plan::for_cuts(goal, &weights, cuts.to_vec(), bits).expect("a possible task");
        compare(&weights, &plan).expect("a good plan")
    };
    let absent = [&best, &even].map(|cuts| compared(Goal::AbsentCredit, cuts));
    let rows = [
        ("best | invalidation cost", compared(Goal::Invalidation, &best).bin_filter),
        ("best | absent key credit", absent[0].bin_filter),
        ("best | one common rate", absent[0].common_rate),
        ("even | absent key credit", absent[1].bin_filter),
        ("even | one common rate", absent[1].common_rate),
        ("none | one filter, mean weight", absent[1].mean_weight),
    ];
    for (name, Standing { absent_credit, any_fires, deviation, false_hits, bits, .. }) in rows {
        let fires = 100.0 * any_fires;
        let row =
            format!("| {name} | {absent_credit:.3} | {fires:.1} % | {deviation:.3} | {false_hits:.3} |");
        assert!(include_str!("../bins.rs").contains(&row), "the documentation lacks {row}");
        assert_eq!(bits, 30_000);
    }
    let alone = absent[1].mean_weight;
    assert!(
        (alone.member_error_rms - 5.0 / 12f64.sqrt()).abs() < 0.01 && alone.member_error() == alone.deviation
    );
}

/// At the paper's size real filters have k = 1, and ten bins are worth no more than one filter for the
/// heaviest keys.
#[test]
fn real_filters_of_the_papers_size_gain_nothing_from_many_bins() {
    let weights = paper_weights();
    let cost = |plan: &Plan| {
        let bins = weights.bins(plan.cuts());
        let rate = |(bin, &bits): (&Bin, &u64)| crate::maths::bins::real_rate(bin.keys, bits);
        let rates: Vec<f64> = bins.iter().zip(plan.bits()).map(rate).collect();
        Goal::Invalidation.cost(&bins, &rates)
    };
    let ten = cost(&Plan::best(Goal::Invalidation, &weights, 10, 1024).expect("a possible task"));
    let heaviest = cost(&Plan::new(vec![854, 3000], vec![1024, 0]).expect("a good plan"));
    let standard = cost(&Plan::new(vec![3000], vec![1024]).expect("a good plan"));
    assert!((ten / heaviest - 1.0).abs() < 1e-3 && heaviest < 0.84 * standard, "{ten} {heaviest} {standard}");
}
