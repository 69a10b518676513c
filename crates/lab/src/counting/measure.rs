//! All rounds, and what they come to.

use std::collections::BTreeMap;

use rayon::prelude::*;
use seenit_filter::counting::RuleName;
use seenit_filter::maths::counting::wrong_share;

use super::CountsMode;
use super::judge::{SPREAD_ROUNDS_MIN, z_of_poisson};
use super::plan::{ELEMENTS, Law, Plan};
use super::simulate::{Errors, Insertions, Place, Round, Seen, Stream, draw_elements, stream_of};
use crate::bench::{Bench, LabError};
use crate::interval::Summary;

/// Fewer wrong counts than this are too few for the normal law.
pub(super) const FEW: f64 = 200.0;

/// One variant of one filter in one experiment, over all rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Variant {
    /// The rate of the tables.
    pub(super) rate: Summary,
    /// The share of wrong elements among those inserted.
    pub(super) distinct: Summary,
    /// Elements with a wrong count, in all rounds together; so are the cells.
    pub(super) wrong: u64,
    pub(super) full: u64,
    pub(super) above: u64,
}

/// One filter in one experiment, over all rounds.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    pub(super) plan: &'static Plan,
    pub(super) m: u64,
    pub(super) k: u32,
    pub(super) rounds: u32,
    /// Elements inserted, all rounds together.
    pub(super) inserted: u64,
    pub(super) intuitive: Variant,
    pub(super) refined: Variant,
    /// What the closed form says of the intuitive variant.
    pub(super) closed_form: f64,
    pub(super) reduction: Option<Reduction>,
    pub(super) worse: u64,
    pub(super) too_low: u64,
    pub(super) passes: Option<PassTotals>,
}

/// How many times fewer errors the refined variant makes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reduction {
    pub(super) value: f64,
    /// The standard error of its logarithm; both variants saw the same rounds.
    pub(super) ln_error: f64,
}

/// Experiment 1, all rounds together.
#[derive(Clone, Copy, Debug)]
pub(super) struct PassTotals {
    pub(super) wrong_after: [u64; 3],
    pub(super) unlike_in_a_row: u64,
}

/// Runs all rounds of these experiments.
pub(super) fn measure(
    plans: &[&'static Plan],
    counts: CountsMode,
    rounds: u32,
    bench: &Bench<'_>,
) -> Result<Vec<Measured>, LabError> {
    bench.progress.begin("rounds of counting", u64::from(rounds));
    let round = |number: u32| {
        let seen = make_round(plans, counts, bench.seed, u64::from(number)).run();
        bench.progress.advance(1);
        seen
    };
    let all = (0..rounds).into_par_iter().map(round).collect::<Result<Vec<_>, _>>()?;
    let mut by_filter: BTreeMap<Place, Vec<Seen>> = BTreeMap::new();
    for (filter, seen) in all.into_iter().flatten() {
        by_filter.entry(filter).or_default().push(seen);
    }
    let plan_of = |number: u8| plans.iter().find(|plan| plan.number == number).copied();
    let filters = by_filter.into_iter();
    Ok(filters
        .filter_map(|((number, m, k), seen)| Some(Measured::of(plan_of(number)?, m, k, &seen)))
        .collect())
}

/// Elements, counts and orders of a round.
fn make_round<'a>(plans: &'a [&'static Plan], mode: CountsMode, seed: u64, number: u64) -> Round<'a> {
    let mut laws: Vec<Law> = plans.iter().map(|plan| plan.law).collect();
    laws.dedup();
    let insertions = laws.into_iter().map(|law| {
        let draw = match mode {
            CountsMode::Once => 0,
            CountsMode::EachRound => number + 1,
        };
        let counts = law.draw(&mut stream_of(seed, Stream::Counts, &[law.code(), draw]));
        Insertions::new(law, counts, &mut stream_of(seed, Stream::Order, &[law.code(), number]))
    });
    let insertions = insertions.collect();
    let elements = draw_elements(&mut stream_of(seed, Stream::Elements, &[number]), ELEMENTS);
    Round { seed, number, elements, insertions, plans }
}

impl Variant {
    fn of(seen: &[Seen], variant: impl Fn(&Seen) -> Errors) -> Self {
        let summary = |value: fn(Errors) -> f64| {
            Summary::of(&seen.iter().map(|seen| value(variant(seen))).collect::<Vec<_>>())
        };
        let total = |value: fn(Errors) -> u32| seen.iter().map(|seen| u64::from(value(variant(seen)))).sum();
        Variant {
            rate: summary(|errors| errors.rate),
            distinct: summary(|errors| errors.distinct),
            wrong: total(|errors| errors.wrong),
            full: total(|errors| errors.full),
            above: total(|errors| errors.above),
        }
    }
}

impl Measured {
    fn of(plan: &'static Plan, m: u64, k: u32, seen: &[Seen]) -> Self {
        let total = |value: fn(&Seen) -> u32| seen.iter().map(|seen| u64::from(value(seen))).sum();
        let intuitive = Variant::of(seen, |seen| seen.intuitive);
        let refined = Variant::of(seen, |seen| seen.refined);
        // The same number of elements comes again and again.
        let mut closed_forms = BTreeMap::new();
        let mut closed_form =
            |inserted| *closed_forms.entry(inserted).or_insert_with(|| wrong_share(m, k, inserted));
        Measured {
            plan,
            m,
            k,
            rounds: seen.len() as u32,
            inserted: seen.iter().map(|seen| seen.inserted).sum(),
            intuitive,
            refined,
            closed_form: seen.iter().map(|seen| closed_form(seen.inserted)).sum::<f64>() / seen.len() as f64,
            reduction: Reduction::of(seen, &intuitive.rate, &refined.rate),
            worse: total(|seen| seen.worse),
            too_low: total(|seen| seen.too_low),
            passes: PassTotals::of(seen),
        }
    }
}

impl Measured {
    /// How far the intuitive variant is from the closed form, in standard errors.
    pub(super) fn z_of_closed_form(&self) -> f64 {
        let expected = self.closed_form * self.inserted as f64;
        if expected < FEW || self.rounds < SPREAD_ROUNDS_MIN {
            return z_of_poisson(self.intuitive.wrong, expected);
        }
        (self.intuitive.rate.mean - self.closed_form) / self.intuitive.rate.error()
    }

    /// One of the two.
    pub(super) fn variant(&self, rule: RuleName) -> &Variant {
        match rule {
            RuleName::Intuitive => &self.intuitive,
            RuleName::Refined => &self.refined,
        }
    }
}

impl Reduction {
    fn of(seen: &[Seen], intuitive: &Summary, refined: &Summary) -> Option<Self> {
        if refined.mean == 0.0 {
            return None;
        }
        // To first order the logarithm of a ratio of means is the mean of these.
        let parts = seen
            .iter()
            .map(|seen| seen.intuitive.rate / intuitive.mean - seen.refined.rate / refined.mean)
            .collect::<Vec<_>>();
        Some(Reduction { value: intuitive.mean / refined.mean, ln_error: Summary::of(&parts).error() })
    }
}

impl PassTotals {
    fn of(seen: &[Seen]) -> Option<Self> {
        let mut totals = PassTotals { wrong_after: [0; 3], unlike_in_a_row: 0 };
        for passes in seen.iter().map(|seen| seen.passes) {
            let passes = passes?;
            for (total, wrong) in totals.wrong_after.iter_mut().zip(passes.wrong_after) {
                *total += u64::from(wrong);
            }
            totals.unlike_in_a_row += u64::from(passes.unlike_in_a_row);
        }
        Some(totals)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::judge::{draw_spread, reduction_spread};
    use crate::counting::plan::PLANS;
    use crate::draw::shuffle;

    /// So many groups of counts, from the lowest to the highest, are as likely as each other.
    const GROUPS: usize = 20;
    /// The share of elements whose counts come from one group instead of from all.
    const TILT: f64 = 0.2;
    const ROUNDS: u64 = 16;

    /// Counts of which more than usual come from one group.
    fn tilted(law: Law, group: usize, number: u64) -> Vec<u32> {
        let mut rng = stream_of(7, Stream::Counts, &[law.code(), group as u64, number]);
        let mut sorted = law.draw(&mut rng);
        sorted.sort_unstable();
        let of_group: Vec<u32> = sorted.chunks(ELEMENTS / GROUPS).nth(group).expect("a group").to_vec();
        let mut counts = law.draw(&mut rng);
        for (count, i) in counts.iter_mut().zip(0..(TILT * ELEMENTS as f64) as usize) {
            *count = of_group[i % of_group.len()];
        }
        // Or those of the group would all come first in experiment 5.
        shuffle(&mut counts, &mut rng);
        counts
    }

    /// By experiment: the logarithms of the refined rate and of the reduction under a tilt, averaged over k.
    fn logarithms(plans: &[&'static Plan], group: usize) -> Vec<[f64; 2]> {
        let mut sums = vec![[[0.0; 2]; 3]; plans.len()];
        for number in (0..ROUNDS).map(|round| group as u64 * ROUNDS + round) {
            let mut round = make_round(plans, CountsMode::Once, 7, number);
            for insertions in &mut round.insertions {
                let law = insertions.law;
                let order = &mut stream_of(7, Stream::Order, &[number]);
                *insertions = Insertions::new(law, tilted(law, group, number), order);
            }
            let m = 80_000;
            let filters = [round.run_filter::<4>(m), round.run_filter::<6>(m), round.run_filter::<8>(m)];
            for (k, seen) in filters.into_iter().enumerate() {
                for (number, seen) in seen.expect("memory") {
                    let sum = &mut sums[usize::from(number) - 4][k];
                    sum[0] += seen.refined.rate;
                    sum[1] += seen.intuitive.rate;
                }
            }
        }
        let of_k = |[refined, intuitive]: &[f64; 2]| [refined.ln(), (intuitive / refined).ln()];
        let mean = |of_all: &[[f64; 2]; 3]| {
            [0, 1].map(|j| of_all.iter().map(|sums| of_k(sums)[j]).sum::<f64>() / 3.0)
        };
        sums.iter().map(mean).collect()
    }

    /// How much the rate changes with the share of elements in each group says how much it scatters between draws:
    /// shares scatter as ten thousand throws do.
    #[test]
    #[ignore = "a minute or more"]
    fn draws_of_the_counts_scatter_as_stated() {
        let plans: Vec<_> = PLANS.iter().filter(|plan| plan.law.is_random()).collect();
        let groups: Vec<_> = (0..GROUPS).into_par_iter().map(|group| logarithms(&plans, group)).collect();
        for (i, plan) in plans.iter().enumerate() {
            let stated = [draw_spread(plan, RuleName::Refined, 80_000, 6), reduction_spread(plan)];
            for (j, stated) in stated.into_iter().enumerate() {
                let slopes: Vec<f64> = groups.iter().map(|group| group[i][j] / TILT).collect();
                let found = Summary::of(&slopes).sd / (ELEMENTS as f64).sqrt();
                println!("experiment {}: {found:.4} found, {stated:.4} stated", plan.number);
                assert!((found - stated).abs() < 0.002, "experiment {}: {found}, not {stated}", plan.number);
            }
        }
    }
}
