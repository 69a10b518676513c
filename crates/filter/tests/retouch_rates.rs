//! Guards what retouching costs: the maths of random clearing, the ranking of the algorithms, the paper's tables.
//!
//! Every run has a filter, members and absent keys of its own, so means over runs are judged by the scatter of the
//! runs.

mod common;

use common::{SplitMix, empty, sip};
use seenit_filter::hash::Hash128;
use seenit_filter::retouch::{Algorithm, Known, Plan, Retouched, Weighing};
use seenit_filter::{Filter, Flat};

/// Members, bits, universe; k is 5 as in the paper.
#[derive(Clone, Copy)]
struct Size {
    n: usize,
    m: u64,
    universe: usize,
}

const K: u32 = 5;
const PAPER: Size = Size { n: 10_000, m: 100_000, universe: 2_000_000 };
const TENTH: Size = Size { n: 1000, m: 10_000, universe: 200_000 };

/// A filter, its members, and its false positives in random order.
struct World {
    filter: Filter<Flat>,
    members: Vec<Hash128>,
    positives: Vec<Hash128>,
}

impl World {
    fn new(size: Size, seed: u64) -> World {
        let mut rng = SplitMix(seed << 32);
        let mut filter = empty(Flat::new(size.m, K).expect("in range"), &sip(0));
        let members: Vec<Hash128> = (0..size.n).map(|_| rng.hash()).collect();
        members.iter().for_each(|&member| filter.insert(member));
        let absent = (size.n..size.universe).map(|_| rng.hash());
        let positives = absent.filter(|&hash| filter.contains(hash)).collect();
        World { filter, members, positives }
    }

    fn copy(&self) -> Filter<Flat> {
        let mut copy = empty(*self.filter.layout(), &sip(0));
        copy.union(&self.filter).expect("of one kind");
        copy
    }

    /// Removes the first `beta` of the false positives.
    fn retouched(&self, algorithm: Algorithm, weighing: Weighing, beta: f64, seed: u64) -> Retouched {
        let (remove, others) = self.positives.split_at((self.positives.len() as f64 * beta).round() as usize);
        let known = Known { members: Some(&self.members), others: Some(others) };
        let plan = Plan { remove, algorithm, weighing, seed, known };
        self.copy().retouch(&plan, |_| ()).expect("all is known")
    }
}

fn worlds(size: Size, count: u64) -> Vec<World> {
    (0..count).map(|seed| World::new(size, seed)).collect()
}

/// The mean and the standard error of the mean.
fn mean_and_error(values: &[f64]) -> (f64, f64) {
    let n = values.len() as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1.0);
    (mean, (variance / n).sqrt())
}

/// Student's t with 39 degrees of freedom is beyond this once in 20,000 times.
const DEVIATIONS: f64 = 4.5;

/// A bit that is cleared blindly hits members and absent keys alike: both survive with `(1 - s/(p_1 m))^k`, and chi is
/// 1.
#[test]
fn random_clearing_treats_members_and_absent_keys_alike() {
    let worlds = worlds(TENTH, 40);
    let p_1 = 1.0 - (1.0 - 1.0 / TENTH.m as f64).powi(K as i32 * TENTH.n as i32);
    for bits in [50, 500, 1500] {
        let survival = (1.0 - bits as f64 / (p_1 * TENTH.m as f64)).powi(K as i32);
        let (mut members, mut absent, mut differences) = (Vec::new(), Vec::new(), Vec::new());
        for (seed, world) in (0..).zip(&worlds) {
            let known = Known { members: Some(&world.members), others: Some(&world.positives) };
            let report = world.copy().clear_random(bits, seed, &known);
            let gone = report.false_positives_share().expect("known");
            let lost = report.false_negatives_share().expect("known");
            members.push(1.0 - lost);
            absent.push(1.0 - gone);
            // The mean of chi itself is above 1, as that of any ratio with a chancy denominator.
            differences.push(gone - lost);
        }
        for (what, values, expected) in
            [("members", members, survival), ("absent keys", absent, survival), ("chi - 1", differences, 0.0)]
        {
            let (mean, error) = mean_and_error(&values);
            let off = (mean - expected) / error;
            assert!(off.abs() < DEVIATIONS, "{bits} bits, {what}: {mean}, expected {expected}, {off:.1} sd");
        }
    }
}

/// Means over runs of what one algorithm did: |B'|, |A'|, chi.
struct Means {
    side_effects: (f64, f64),
    false_negatives: (f64, f64),
    chi: (f64, f64),
}

fn means(worlds: &[World], algorithm: Algorithm, weighing: Weighing, beta: f64) -> Means {
    let retouched = |(seed, world): (u64, &World)| world.retouched(algorithm, weighing, beta, seed);
    let reports: Vec<Retouched> = (0..).zip(worlds).map(retouched).collect();
    let of = |what: fn(&Retouched) -> f64| mean_and_error(&reports.iter().map(what).collect::<Vec<_>>());
    Means {
        side_effects: of(|report| report.side_effects.expect("known") as f64),
        false_negatives: of(|report| report.false_negatives.expect("known") as f64),
        chi: of(|report| report.chi().expect("members were lost")),
    }
}

/// The algorithms in the order the paper finds, each against the next on the same worlds.
#[test]
fn the_algorithms_rank_as_in_the_paper() {
    use Algorithm::*;
    let worlds = worlds(TENTH, 8);
    let all = Algorithm::ALL.map(|algorithm| (algorithm, means(&worlds, algorithm, Weighing::AllKnown, 0.1)));
    let of =
        |wanted: Algorithm| &all.iter().find(|(algorithm, _)| *algorithm == wanted).expect("one of all").1;
    let lost = |algorithm| of(algorithm).false_negatives.0;
    let chi = |algorithm| of(algorithm).chi.0;

    // Who looks at members loses fewer of them; who looks at false positives removes more of them.
    assert!(lost(Ratio) < 0.85 * lost(Random) && lost(MinimumFn) < 0.9 * lost(Random));
    assert!(of(MaximumFp).side_effects.0 > 1.3 * of(Random).side_effects.0);
    assert!(of(Ratio).side_effects.0 > 1.3 * of(MinimumFn).side_effects.0);
    // What a lost member buys.
    assert!(chi(Ratio) > chi(MaximumFp), "{} {}", chi(Ratio), chi(MaximumFp));
    assert!(chi(MaximumFp) > chi(MinimumFn), "{} {}", chi(MaximumFp), chi(MinimumFn));
    assert!(chi(MinimumFn) > chi(Random), "{} {}", chi(MinimumFn), chi(Random));
    // Exact counts do not hurt, and best of all is the improved ratio.
    assert!(lost(ImprovedMinimumFn) < lost(MinimumFn));
    assert!(chi(ImprovedMaximumFp) > chi(MaximumFp));
    let others = Algorithm::ALL.into_iter().filter(|&algorithm| algorithm != ImprovedRatio);
    for other in others {
        assert!(chi(ImprovedRatio) > chi(other), "{other:?}: {} {}", chi(ImprovedRatio), chi(other));
    }
}

/// Where the keys to remove weigh alone, side effects on others come by chance.
#[test]
fn weighing_all_known_false_positives_removes_more_of_them() {
    let worlds = worlds(TENTH, 8);
    let side_effects = |weighing| means(&worlds, Algorithm::MaximumFp, weighing, 0.1).side_effects.0;
    let (some, all) = (side_effects(Weighing::Removed), side_effects(Weighing::AllKnown));
    assert!(all > 1.2 * some, "{all} with all known, {some} with those to remove");
}

/// Tables I to IV of the paper at 10 %: mean and 95 % half-width of |B'| and |A'| over 15 runs.
const TABLES: [(Algorithm, [(f64, f64); 2]); 4] = [
    (Algorithm::Random, [(3306.0, 67.83), (1954.0, 20.02)]),
    (Algorithm::MinimumFn, [(3303.0, 65.26), (1577.0, 14.92)]),
    (Algorithm::MaximumFp, [(5188.0, 74.87), (1838.0, 20.53)]),
    (Algorithm::Ratio, [(4860.0, 67.65), (1498.0, 13.71)]),
];

#[test]
fn the_papers_tables_come_out() {
    /// Student's t with 14 degrees of freedom, two-sided 95 %: from half-widths back to standard errors.
    const HALF_WIDTH: f64 = 2.145;
    let (worlds, mut wrong) = (worlds(PAPER, 5), Vec::new());
    for algorithm in Algorithm::ALL {
        let ours = means(&worlds, algorithm, Weighing::AllKnown, 0.1);
        println!(
            "{:<20} |B'| {:.0} +- {:.0}, |A'| {:.0} +- {:.0}, chi {:.3} +- {:.3}",
            algorithm.as_str(),
            ours.side_effects.0,
            ours.side_effects.1,
            ours.false_negatives.0,
            ours.false_negatives.1,
            ours.chi.0,
            ours.chi.1
        );
        let Some((_, paper)) = TABLES.iter().find(|(named, _)| *named == algorithm) else { continue };
        for ((mean, error), (printed, width)) in
            [ours.side_effects, ours.false_negatives].into_iter().zip(paper)
        {
            let off = (mean - printed) / error.hypot(width / HALF_WIDTH);
            if off.abs() > DEVIATIONS {
                wrong.push(format!("{algorithm:?}: {mean:.0}, printed {printed}, {off:.1} sd"));
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:?}");
}
