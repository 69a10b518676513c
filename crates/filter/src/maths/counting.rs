//! What counting filters get wrong, before there are any cells to read it off.
//!
//! Two errors, and they are different things. A key that *was* inserted may count too much: its *wrong
//! share*. A key that was *never* inserted may count t or more: its *rate at t*.
//!
//! Both are stated for intuitive insertion. Refined insertion leaves no cell higher, so both are upper bounds
//! for it; what it gains depends on the order of insertions and has no closed form.
//!
//! The rate at t must not be computed as if single increments fell at random: a message reported c times
//! raises the same cells c times. So a cell holds a *compound* sum. Each of l keys hits it with the chance
//! `h = 1 - (1 - 1/m)^k` (once, however many of its probes do) and brings its own count c, drawn with the odds
//! `q_c`. The value of a cell has the generating function `(1 - h + h sum_c q_c z^c)^l`, and its probabilities
//! follow by Panjer's recursion:
//!
//! ```text
//! f_0 = 1 - h (1 - q_0),  f_j = h q_j,  p_0 = f_0^l,
//! p_s = sum_{j=1..s} ((l + 1) j - s) f_j p_(s-j) / (s f_0)
//! ```

use super::mixture::binomial_mean;
use super::{flat, paged, set_share};
use crate::error::OddsError;

/// Above this chance that one key hits a given cell, every cell is a sum over most keys and says nothing
/// about any.
const HIT_MAX: f64 = 0.5;

/// The largest mean of a Poisson law: beyond it `e^-mean` is no float, and no cell holds such counts.
const POISSON_MEAN_MAX: f64 = 700.0;

/// How far probabilities may be from adding up to 1: what rounding of printed tables makes.
const SUM_SLACK: f64 = 1e-6;

/// The expected share of `keys` inserted keys whose count is too high, intuitive insertion, m cells, k
/// probes: `(1 - (1 - 1/m)^(k (keys - 1)))^k`, raised by the luck that the probes of a key share
/// (`maths::all_set`).
///
/// A key is wrong exactly when each of its cells is also another's, so neither the order of insertions nor
/// how often each key comes matters.
pub fn wrong_share(m: u64, k: u32, keys: u64) -> f64 {
    flat::rate(m, k, keys.saturating_sub(1))
}

/// The same in `pages` pages of `slots` cells, one page a key.
pub fn wrong_share_paged(slots: u64, pages: u64, k: u32, keys: u64) -> f64 {
    paged::rate(slots, pages, 1, k, keys.saturating_sub(1))
}

/// How often a key is inserted: the probability of each count, from 0 on.
#[derive(Clone, Debug, PartialEq)]
pub struct CountOdds {
    odds: Vec<f64>,
}

impl CountOdds {
    /// `odds[c]` is the probability of the count c; they add up to 1.
    pub fn new(mut odds: Vec<f64>) -> Result<Self, OddsError> {
        if let Some(&chance) = odds.iter().find(|chance| !(0.0..=1.0).contains(*chance)) {
            return Err(OddsError::Chance(chance));
        }
        let sum = if odds.is_empty() { 0.0 } else { odds.iter().sum::<f64>() };
        if (sum - 1.0).abs() > SUM_SLACK {
            return Err(OddsError::Sum(sum));
        }
        odds.iter_mut().for_each(|chance| *chance /= sum);
        Ok(CountOdds { odds })
    }

    /// Every count from `least` to `most` is as likely.
    pub fn uniform(least: u32, most: u32) -> Result<Self, OddsError> {
        let chance = 1.0 / (f64::from(most) - f64::from(least) + 1.0);
        Self::new((0..=most).map(|count| if count < least { 0.0 } else { chance }).collect())
    }

    /// The Poisson law, up to where a count has a chance below 1e-20.
    pub fn poisson(mean: f64) -> Result<Self, OddsError> {
        if !(0.0..=POISSON_MEAN_MAX).contains(&mean) {
            return Err(OddsError::Mean { mean, most: POISSON_MEAN_MAX });
        }
        let mut odds = vec![(-mean).exp()];
        while (odds.len() as f64) < mean || odds[odds.len() - 1] > 1e-20 {
            odds.push(odds[odds.len() - 1] * mean / odds.len() as f64);
        }
        Self::new(odds)
    }

    /// The mean count.
    pub fn mean(&self) -> f64 {
        self.odds.iter().enumerate().map(|(count, chance)| count as f64 * chance).sum()
    }
}

/// A share of cells: its mean over filters, and how it scatters between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellShare {
    /// The expected share.
    pub mean: f64,
    /// One standard deviation between filters, to first order in keys that two cells share.
    pub sd: f64,
}

/// The share of m cells that hold `least` or more after `keys` keys of k probes whose counts have these odds.
pub fn share_at_least(m: u64, k: u32, keys: u64, odds: &CountOdds, least: u64) -> CellShare {
    in_cells(m as f64, k, keys as f64, odds, least)
}

/// The chance that a key that was never inserted counts `least` or more: `(share of cells >= least)^k`.
///
/// This is the rate of a filter whose share is the average one. Shares scatter, and the average rate over
/// filters is higher by about `k (k - 1)/2 (sd/mean)^2` of itself: next to nothing where many cells reach
/// `least`, more than the rate itself where a handful do. What a particular filter's cells amount to is
/// [`CountingFilter::rate_at_least`](crate::counting::CountingFilter::rate_at_least).
pub fn rate_at_least(m: u64, k: u32, keys: u64, odds: &CountOdds, least: u64) -> f64 {
    share_at_least(m, k, keys, odds, least).mean.powi(k as i32)
}

/// The same in `pages` pages of `slots` cells, one page a key: averaged over the number of keys in a page.
pub fn rate_at_least_paged(slots: u64, pages: u64, k: u32, keys: u64, odds: &CountOdds, least: u64) -> f64 {
    binomial_mean(keys, 1.0 / pages as f64, |load| {
        in_cells(slots as f64, k, load, odds, least).mean.powi(k as i32)
    })
}

fn in_cells(m: f64, k: u32, keys: f64, odds: &CountOdds, least: u64) -> CellShare {
    let hit = set_share(m, f64::from(k));
    if least == 0 || hit > HIT_MAX {
        return CellShare { mean: 1.0, sd: 0.0 };
    }
    let mut values = CellValues::new(keys, hit, odds);
    let below = values.below(least);
    let mean = values.at_least(least);
    // A key that two cells share lifts both: by its count, over the threshold or not.
    let both = (2.0 * hit - set_share(m / 2.0, f64::from(k))).max(0.0);
    let mut lift = 0.0;
    let mut squares = 0.0;
    for (&chance, count) in odds.odds.iter().zip(0..) {
        let lifted: f64 = below.iter().rev().take(count).sum();
        lift += chance * lifted;
        squares += chance * lifted * lifted;
    }
    let together = keys * (both * squares - (hit * lift).powi(2));
    let variance = mean * (1.0 - mean) / m + together * (1.0 - 1.0 / m);
    CellShare { mean, sd: variance.max(0.0).sqrt() }
}

/// The probabilities of the values of one cell, by Panjer's recursion, as many as were asked for.
///
/// All but the farthest terms are sums of what is not negative, so they are exact to rounding: terms with
/// `s > (l + 1) j` are subtracted, which shows (1e-9 of a term) only where terms are below 1e-20.
struct CellValues {
    keys: f64,
    /// `f_j`
    hits: Vec<f64>,
    /// `p_s e^-ln_scale`, from 0 on.
    scaled: Vec<f64>,
    ln_scale: f64,
}

impl CellValues {
    fn new(keys: f64, hit: f64, odds: &CountOdds) -> Self {
        let mut hits: Vec<f64> = odds.odds.iter().map(|chance| hit * chance).collect();
        let idle = odds.odds[0];
        hits[0] = 1.0 - hit * (1.0 - idle);
        CellValues { keys, hits, scaled: vec![1.0], ln_scale: keys * (-hit * (1.0 - idle)).ln_1p() }
    }

    /// The largest value there can be: every key hits, each with the largest count.
    fn longest(&self) -> f64 {
        self.keys * (self.hits.len() - 1) as f64
    }

    /// The next term. Where `p_0` is too small for a float, terms start from 1 and are scaled down as they
    /// grow.
    fn extend(&mut self) {
        const LARGE: f64 = 1e200;
        let s = self.scaled.len();
        if s as f64 > self.longest() {
            return self.scaled.push(0.0);
        }
        let term =
            |(j, hit): (usize, &f64)| ((self.keys + 1.0) * j as f64 - s as f64) * hit * self.scaled[s - j];
        let sum: f64 = self.hits.iter().enumerate().skip(1).take(s).map(term).sum();
        self.scaled.push((sum / (s as f64 * self.hits[0])).max(0.0));
        if self.scaled[s] > LARGE {
            self.scaled.iter_mut().for_each(|value| *value /= LARGE);
            self.ln_scale += LARGE.ln();
        }
    }

    /// The probabilities of the values below `least`.
    fn below(&mut self, least: u64) -> Vec<f64> {
        while (self.scaled.len() as u64) < least {
            self.extend();
        }
        let scale = self.ln_scale.exp();
        self.scaled[..least as usize].iter().map(|value| value * scale).collect()
    }

    /// The probability of `least` or more: one minus the rest where it is large, its own sum where that would
    /// lose digits.
    fn at_least(&mut self, least: u64) -> f64 {
        let below: f64 = self.below(least).iter().sum();
        if below < 0.5 {
            return 1.0 - below;
        }
        // Beyond the mean, terms do not exceed the largest of as many terms before them as there are counts.
        // So once a block of that length is negligible, the rest is.
        const NEGLIGIBLE: f64 = 1e-18;
        let block = self.hits.len().max(2);
        let counts = self.hits.iter().enumerate().skip(1).map(|(j, hit)| j as f64 * hit);
        let past_mean = self.keys * counts.sum::<f64>() / self.hits[0];
        loop {
            (0..block).for_each(|_| self.extend());
            let last: f64 = self.scaled[self.scaled.len() - block..].iter().sum();
            let tail: f64 = self.scaled.iter().skip(least as usize).rev().sum();
            let s = self.scaled.len() as f64;
            if s > self.longest() || (s > past_mean && last <= NEGLIGIBLE * tail) {
                return (tail.ln() + self.ln_scale).exp();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maths::all_set;

    fn odds(odds: &[f64]) -> CountOdds {
        CountOdds::new(odds.to_vec()).expect("a distribution")
    }

    /// One key after the other, every product written out.
    fn brute(keys: usize, hit: f64, odds: &CountOdds) -> Vec<f64> {
        let mut values = vec![1.0];
        for _ in 0..keys {
            let mut next = vec![0.0; values.len() + odds.odds.len() - 1];
            for (s, value) in values.iter().enumerate() {
                next[s] += value * (1.0 - hit);
                odds.odds.iter().enumerate().for_each(|(c, chance)| next[s + c] += value * hit * chance);
            }
            values = next;
        }
        values
    }

    #[test]
    fn the_recursion_is_the_convolution() {
        let laws = [
            CountOdds::uniform(0, 20).expect("a distribution"),
            CountOdds::uniform(20, 20).expect("a distribution"),
            odds(&[0.2, 0.5, 0.0, 0.0, 0.0, 0.0, 0.0, 0.3]),
            odds(&[0.0, 1.0]),
            odds(&[1.0]),
        ];
        for law in &laws {
            for (keys, hit) in [(1, 0.5), (2, 0.5), (5, 0.1), (20, 0.1), (100, 0.01), (150, 0.3)] {
                let exact = brute(keys, hit, law);
                for least in 0..exact.len() + 3 {
                    let fast = CellValues::new(keys as f64, hit, law).at_least(least as u64);
                    let slow: f64 = exact.iter().skip(least).rev().sum();
                    let close = (fast - slow).abs() <= 1e-9 * slow || slow < 1e-20;
                    assert!(close, "{law:?} {keys} {hit} {least}: {fast} {slow}");
                }
            }
        }
    }

    /// Counts of 1 make the value of a cell binomial, here with a first term of e^-2000.
    #[test]
    fn first_terms_too_small_for_a_float_are_scaled() {
        let keys = 1_000_000;
        let hit = 0.002;
        for least in [1700, 1900, 2000, 2100, 2250] {
            let share = CellValues::new(keys as f64, hit, &odds(&[0.0, 1.0])).at_least(least);
            let exact = binomial_mean(keys, hit, |load| f64::from(u8::from(load >= least as f64)));
            assert!((share / exact - 1.0).abs() < 1e-8, "{least}: {share} {exact}");
        }
    }

    /// At a threshold of 1, a counting filter is a plain one, its scatter included.
    #[test]
    fn at_one_it_is_the_plain_filter() {
        for (m, k, keys) in [(80_000, 4, 10_000), (80_000, 8, 10_000), (1000, 3, 200)] {
            let share = share_at_least(m, k, keys, &odds(&[0.0, 0.5, 0.5]), 1);
            let throws = f64::from(k) * keys as f64;
            assert!((share.mean / set_share(m as f64, throws) - 1.0).abs() < 1e-12);
            let pairs = f64::from(k) * f64::from(k - 1) / 2.0;
            let raised = share.mean.powi(k as i32) * (pairs * (share.sd / share.mean).powi(2)).exp();
            let plain = all_set(m as f64, throws, k);
            let excess = (plain / share.mean.powi(k as i32) - 1.0).abs();
            assert!((raised / plain - 1.0).abs() < 0.02 * excess, "{m} {k} {keys}: {raised} {plain}");
        }
    }

    /// Table III of the collaborative spam detection paper, intuitive: means of 1,000 rounds and their
    /// deviations.
    #[test]
    fn table_three_of_the_collaborative_spam_detection_paper() {
        let table = [
            (80_000, [(4, 2.390e-2, 1.556e-3), (6, 2.154e-2, 1.485e-3), (8, 2.548e-2, 1.559e-3)]),
            (160_000, [(4, 2.372e-3, 5.013e-4), (6, 9.446e-4, 2.961e-4), (8, 5.686e-4, 2.375e-4)]),
            (320_000, [(4, 1.860e-4, 1.381e-4), (6, 2.570e-5, 5.089e-5), (8, 4.500e-6, 2.073e-5)]),
        ];
        for (m, row) in table {
            for (k, mean, sd) in row {
                let share = wrong_share(m, k, 10_000);
                assert!((share - mean).abs() < 3.5 * sd / 1000f64.sqrt(), "{m} {k}: {share}, not {mean}");
                let textbook = set_share(m as f64, f64::from(k) * 9_999.0).powi(k as i32);
                assert!((share / textbook - 1.0).abs() < 3e-4, "{m} {k}: {share}, not {textbook}");
            }
        }
        assert_eq!(wrong_share(80_000, 4, 1), 0.0);
        assert!(
            (wrong_share_paged(80_000, 1, 4, 10_000) / wrong_share(80_000, 4, 10_000) - 1.0).abs() < 1e-12
        );
    }

    #[test]
    fn what_is_no_distribution_is_refused() {
        let says = |result: Result<CountOdds, OddsError>, what: &str| {
            let error = result.expect_err("must be refused").to_string();
            assert!(error.contains(what), "{error:?} does not mention {what:?}");
        };
        says(CountOdds::new(vec![0.5, 0.6, -0.1]), "-0.1");
        says(CountOdds::new(vec![0.5, 0.25]), "0.75");
        says(CountOdds::new(vec![]), "add up to 0");
        says(CountOdds::new(vec![f64::NAN, 1.0]), "NaN");
        says(CountOdds::uniform(3, 2), "to 0, not");
        for mean in [-1.0, f64::NAN, f64::INFINITY, 701.0] {
            says(CountOdds::poisson(mean), &mean.to_string());
        }
        for mean in [0.0, 0.3, 10.0, 700.0] {
            assert!((CountOdds::poisson(mean).expect("a law").mean() - mean).abs() < 1e-9 * mean.max(1.0));
        }
    }
}
