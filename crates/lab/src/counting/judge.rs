//! When a mean of ours differs from a printed one by more than chance.
//!
//! Three things make honest means differ. *Rounds*: both are means of so many. *Few events*: where a handful of
//! elements is wrong in a thousand rounds, means are not normal; their numbers are compared instead. *Counts*: the
//! paper seems to have drawn once how often each element is inserted, so its means belong to counts that nobody has.

use seenit_filter::counting::RuleName;
use seenit_filter::maths::counting::wrong_share;
use statrs::distribution::{Binomial, ContinuousCDF, DiscreteCDF, Normal, Poisson};

use super::plan::{Law, Plan};

/// Below so many events, ours and theirs together, numbers are compared and not means.
const FEW_EVENTS: f64 = 200.0;

/// The spread of fewer rounds is no yardstick.
pub(super) const SPREAD_ROUNDS_MIN: u32 = 10;

/// The relative standard deviation, between draws of the counts, of what a refined filter is expected to get wrong,
/// in experiments 4 to 8. Measured at 80K cells by a test of `measure`, as a mean over k: it takes more elements than
/// usual from one twentieth of the counts, and looks how the rate changes.
const REFINED_DRAWS: [(u8, f64); 5] = [(4, 0.017), (5, 0.012), (6, 0.004), (7, 0.003), (8, 0.016)];

/// The same for the reduction rate.
const REDUCTION_DRAWS: [(u8, f64); 5] = [(4, 0.011), (5, 0.003), (6, 0.004), (7, 0.003), (8, 0.012)];

/// A mean over rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sample {
    pub(super) mean: f64,
    pub(super) sd: f64,
    pub(super) rounds: u32,
}

impl Sample {
    fn sum(&self) -> f64 {
        self.mean * f64::from(self.rounds)
    }
}

/// Two samples of what should be the same.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pair {
    ours: Sample,
    theirs: Sample,
    /// Of one round, from both samples.
    variance: f64,
}

impl Pair {
    pub(super) fn new(ours: Sample, theirs: Sample) -> Self {
        let weights = [ours, theirs].map(|sample| f64::from(sample.rounds.max(2) - 1));
        let variance =
            (weights[0] * ours.sd.powi(2) + weights[1] * theirs.sd.powi(2)) / (weights[0] + weights[1]);
        Pair { ours, theirs, variance }
    }

    /// How many events of equal weight would scatter as both samples do: erroneous elements, where all weigh the same.
    pub(super) fn events(&self) -> f64 {
        if self.variance == 0.0 { 0.0 } else { (self.ours.sum() + self.theirs.sum()) / self.weight() }
    }

    /// What one such event adds to the rate of a round.
    fn weight(&self) -> f64 {
        let rounds = f64::from(self.ours.rounds + self.theirs.rounds);
        self.variance * rounds / (self.ours.sum() + self.theirs.sum())
    }

    /// Whether numbers of events are compared, not means.
    pub(super) fn is_rare(&self) -> bool {
        self.events() < FEW_EVENTS
    }

    /// By how many standard errors the means differ. `draws` is the relative standard deviation that the choice of
    /// counts adds. For few events: the z of a normal law that is as unlikely as such numbers are.
    pub(super) fn z(&self, draws: f64) -> f64 {
        let ours = self.ours;
        let theirs = self.theirs;
        if self.events() == 0.0 {
            return 0.0;
        }
        if self.is_rare() {
            let numbers = [ours, theirs].map(|sample| (sample.sum() / self.weight()).round() as u64);
            return z_of_numbers(numbers, [ours.rounds, theirs.rounds]);
        }
        let rounds = 1.0 / f64::from(ours.rounds) + 1.0 / f64::from(theirs.rounds);
        (ours.mean - theirs.mean) / (self.variance * rounds).sqrt().hypot(draws * theirs.mean)
    }

    /// The same for the standard deviations; `None` where there are too few events or rounds for one.
    pub(super) fn z_of_sd(&self) -> Option<f64> {
        if self.is_rare() || self.ours.rounds < SPREAD_ROUNDS_MIN {
            return None;
        }
        let rounds = 1.0 / f64::from(self.ours.rounds) + 1.0 / f64::from(self.theirs.rounds);
        // The kurtosis of a sum of so many events a round; of a normal law, were they endless.
        let a_round = self.events() / f64::from(self.ours.rounds + self.theirs.rounds);
        let error = ((2.0 + 1.0 / a_round) / 4.0 * rounds).sqrt();
        Some((self.ours.sd / self.theirs.sd).ln() / error)
    }
}

/// Given their sum, one of two numbers of events is binomial if both have the same rate: both tails, as a z.
fn z_of_numbers([ours, theirs]: [u64; 2], [our_rounds, their_rounds]: [u32; 2]) -> f64 {
    let share = f64::from(our_rounds) / (f64::from(our_rounds) + f64::from(their_rounds));
    let Ok(law) = Binomial::new(share, ours + theirs) else { return 0.0 };
    z_of_tails(law.cdf(ours), if ours == 0 { 1.0 } else { law.sf(ours - 1) })
}

/// How unlikely so many events are where so many are expected: both tails, as a z.
pub(super) fn z_of_poisson(seen: u64, expected: f64) -> f64 {
    let Ok(law) = Poisson::new(expected) else { return 0.0 };
    z_of_tails(law.cdf(seen), if seen == 0 { 1.0 } else { law.sf(seen - 1) })
}

/// The z of a normal law that is as unlikely as the nearer of two tails, doubled.
fn z_of_tails(low: f64, high: f64) -> f64 {
    // The normal law ends here, as far as floats can tell.
    const FARTHEST: f64 = 8.0;
    let tails = (2.0 * low.min(high)).min(1.0);
    let z = Normal::standard().inverse_cdf(1.0 - tails / 2.0).min(FARTHEST);
    if low < high { -z } else { z }
}

/// The relative standard deviation, between draws of the counts, of the rate that is expected of a filter.
pub(super) fn draw_spread(plan: &Plan, rule: RuleName, m: u64, k: u32) -> f64 {
    match rule {
        RuleName::Intuitive => intuitive_spread(plan.law, m, k),
        RuleName::Refined => measured_spread(plan, &REFINED_DRAWS),
    }
}

/// The same of the reduction rate.
pub(super) fn reduction_spread(plan: &Plan) -> f64 {
    measured_spread(plan, &REDUCTION_DRAWS)
}

fn measured_spread(plan: &Plan, draws: &[(u8, f64)]) -> f64 {
    draws.iter().find(|(number, _)| *number == plan.number).map_or(0.0, |(_, spread)| *spread)
}

/// The intuitive variant's errors depend on how many elements are inserted at all, which is binomial.
fn intuitive_spread(law: Law, m: u64, k: u32) -> f64 {
    let (mean, sd) = law.inserted();
    // The slope over some hundred elements; whole elements would be too coarse for the narrow laws.
    let reach = 100u64;
    let share = |elements: u64| wrong_share(m, k, elements);
    let low = share(mean as u64 - reach);
    let high = share(mean as u64 + reach);
    (high - low) / (2 * reach) as f64 * sd / share(mean as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(mean: f64, sd: f64, rounds: u32) -> Sample {
        Sample { mean, sd, rounds }
    }

    #[test]
    fn equal_samples_do_not_differ_and_shifted_ones_do() {
        let theirs = sample(2.0e-2, 1.5e-3, 1000);
        let z = |mean| Pair::new(sample(mean, 1.5e-3, 1000), theirs).z(0.0);
        assert_eq!(z(2.0e-2), 0.0);
        assert!((z(2.02e-2) - 0.2e-3 / (1.5e-3 * (2.0f64 / 1000.0).sqrt())).abs() < 1e-9);
        assert!(Pair::new(sample(2.02e-2, 1.5e-3, 1000), theirs).z(0.01) < z(2.02e-2));
    }

    /// Three events in a thousand rounds, each a ten-thousandth: five are not many more, thirty are.
    #[test]
    fn few_events_are_compared_by_number() {
        let events = |number: f64| {
            let mean = number / 1e7;
            sample(mean, (mean * 1e-4).sqrt(), 1000)
        };
        let pair = |ours, theirs| Pair::new(events(ours), events(theirs));
        assert!((pair(5.0, 3.0).events() - 8.0).abs() < 0.01);
        assert!(pair(5.0, 3.0).z(0.0).abs() < 1.0);
        assert!(pair(30.0, 3.0).z(0.0) > 4.0 && pair(3.0, 30.0).z(0.0) < -4.0);
        assert_eq!(pair(0.0, 0.0).z(0.0), 0.0);
        // Both tails of 0 of 8 at even odds: 2/256, a z of 2.66.
        assert!((pair(0.0, 8.0).z(0.0) + 2.66).abs() < 0.01, "{}", pair(0.0, 8.0).z(0.0));
    }

    /// About a per cent in experiments 4 and 5; nothing where next to no count is zero.
    #[test]
    fn the_number_of_inserted_elements_scatters() {
        let spread = |law, k| intuitive_spread(law, 80_000, k);
        assert!((spread(Law::UpTo(20), 8) - 0.0107).abs() < 0.0005, "{}", spread(Law::UpTo(20), 8));
        assert!(spread(Law::Poisson(20), 8) < 1e-4);
    }
}
