//! How many of a message's shingles match, by right and by accident.
//!
//! Of r shingles, g are *listed*: truly in the spam tally and not in the ham tally. Let f_s and f_h be the
//! chances that a key that was never inserted counts 1 or more in the spam and in the ham tally: the plain
//! rates of the cells that are not zero, because an absent key whose ham count is 0 matches as soon as its spam
//! count is 1. Then
//!
//! ```text
//! matches ~ Bin(g, 1 - f_h) + Bin(r - g, f_s (1 - f_h))
//! ```
//!
//! That is exact while no spam count exceeds the ratio: then a ham count of 1 is enough to silence any
//! shingle. A spam count c falls only to a ham count of c/ratio or more, which is rarer; a match is then
//! likelier than this, and f_h = 0 is the safe thing to say. [`Choice`](crate::shingles::Choice) says it.
//!
//! Shingles are hashed independently, so *given* a tally the formula holds with the rates of its cells. Over
//! tallies not yet filled the rate scatters, and a tail of t matches moves with its t-th power: at 17 of 32
//! and 1,000 keys in the tally, the average tail is about a twentieth above the tail at the average rate; the
//! excess goes with 1/keys.

use crate::error::OddsError;

/// The most shingles of one message: a slot is a byte, and an honest message has one shingle a slot.
pub(crate) const SHINGLES_MAX: u32 = 256;

/// The distribution of the number of matches of one message.
#[derive(Clone, Debug)]
pub struct Matches {
    /// The probability of each number, from 0 to r.
    odds: Vec<f64>,
}

impl Matches {
    /// Of a message of `shingles` distinct shingles, `listed` of them listed, at these rates.
    pub fn new(shingles: u32, listed: u32, spam_rate: f64, ham_rate: f64) -> Result<Self, OddsError> {
        if !(1..=SHINGLES_MAX).contains(&shingles) {
            return Err(OddsError::Shingles { shingles, most: SHINGLES_MAX });
        }
        if listed > shingles {
            return Err(OddsError::Listed { listed, shingles });
        }
        for rate in [spam_rate, ham_rate] {
            if !(0.0..=1.0).contains(&rate) {
                return Err(OddsError::Chance(rate));
            }
        }
        let by_right = (1.0 - ham_rate, ham_rate);
        let by_accident = (spam_rate * (1.0 - ham_rate), 1.0 - spam_rate + spam_rate * ham_rate);
        let mut odds = vec![1.0];
        (0..shingles).for_each(|i| add_shingle(&mut odds, if i < listed { by_right } else { by_accident }));
        Ok(Matches { odds })
    }

    /// The probability of exactly `matches`.
    pub fn exactly(&self, matches: u32) -> f64 {
        self.odds.get(matches as usize).copied().unwrap_or(0.0)
    }

    /// The mean number of matches.
    pub fn mean(&self) -> f64 {
        self.odds.iter().zip(0u32..).map(|(odds, matches)| odds * f64::from(matches)).sum()
    }

    /// The probability of `threshold` or more.
    pub fn at_least(&self, threshold: u32) -> f64 {
        // From the rarest on: a tail of 1e-30 is as exact as one of a half.
        self.odds.iter().skip(threshold as usize).rev().sum::<f64>().min(1.0)
    }
}

/// One shingle more, which matches or not with these two chances.
///
/// Adding products of what is never negative loses no digits, however small a tail is; there are no
/// factorials to overflow. Passing both chances keeps the smaller one exact.
fn add_shingle(odds: &mut Vec<f64>, (matches, fails): (f64, f64)) {
    odds.push(0.0);
    for i in (0..odds.len()).rev() {
        odds[i] = odds[i] * fails + if i > 0 { odds[i - 1] * matches } else { 0.0 };
    }
}

/// The largest f_s at which a message with `listed` listed shingles of `shingles` reaches `threshold` matches
/// with probability `bound` or less, whatever the ham tally holds: f_h is taken as 0.
pub(crate) fn spam_rate_max(
    shingles: u32,
    threshold: u32,
    listed: u32,
    bound: f64,
) -> Result<f64, OddsError> {
    Matches::new(shingles, listed, 0.0, 0.0)?;
    if !(bound > 0.0 && bound < 1.0) {
        return Err(OddsError::Bound(bound));
    }
    if threshold <= listed || threshold > shingles {
        return Err(OddsError::Threshold { threshold, listed, shingles });
    }
    let keeps = |rate: f64| {
        Matches::new(shingles, listed, rate, 0.0).is_ok_and(|matches| matches.at_least(threshold) <= bound)
    };
    // Positive floats are ordered as their bits are, so this bisection ends at the very last float that keeps
    // it.
    let mut kept = 0.0f64.to_bits();
    let mut broken = 1.0f64.to_bits();
    while broken - kept > 1 {
        let middle = kept + (broken - kept) / 2;
        if keeps(f64::from_bits(middle)) { kept = middle } else { broken = middle }
    }
    Ok(f64::from_bits(kept))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(shingles: u32, listed: u32, spam_rate: f64, ham_rate: f64) -> Matches {
        Matches::new(shingles, listed, spam_rate, ham_rate).expect("good numbers")
    }

    /// `ln C(n, i)`, by a sum of logarithms.
    fn ln_choose(n: u32, i: u32) -> f64 {
        (0..i).map(|j| f64::from(n - j).ln() - f64::from(j + 1).ln()).sum()
    }

    /// `C(n, i) p^i q^(n - i)`.
    fn binomial(n: u32, i: u32, (p, q): (f64, f64)) -> f64 {
        if i > n {
            return 0.0;
        }
        let power = |p: f64, times: u32| if times == 0 { 0.0 } else { f64::from(times) * p.ln() };
        (ln_choose(n, i) + power(p, i) + power(q, n - i)).exp()
    }

    /// The formula above, by convolution of two binomials in the log domain.
    #[test]
    fn the_distribution_is_the_sum_of_two_binomials() {
        for (r, g) in [(1, 0), (1, 1), (32, 0), (32, 4), (32, 17), (32, 32), (84, 9), (256, 100)] {
            for (f_s, f_h) in [(0.1, 0.01), (1e-4, 0.2), (0.5, 0.5), (0.9, 0.0), (0.0, 0.3), (1e-9, 1e-9)] {
                let fast = matches(r, g, f_s, f_h);
                let right = 1.0 - f_h;
                let wrong = f_s * (1.0 - f_h);
                for i in 0..=r {
                    let slow: f64 = (0..=i.min(g))
                        .map(|j| binomial(g, j, (right, f_h)) * binomial(r - g, i - j, (wrong, 1.0 - wrong)))
                        .sum();
                    let exact = fast.exactly(i);
                    let close = (exact - slow).abs() <= 1e-10 * slow || slow < 1e-290;
                    assert!(close, "{r} {g} {f_s} {f_h} {i}: {exact} {slow}");
                }
                let mean = f64::from(g) * (1.0 - f_h) + f64::from(r - g) * f_s * (1.0 - f_h);
                assert!((fast.mean() - mean).abs() <= 1e-12 * mean.max(1.0));
                assert_eq!((fast.at_least(r + 1), fast.exactly(r + 1)), (0.0, 0.0));
            }
        }
    }

    /// Eight shingles at one in sixteen: the tail counted in whole numbers of sixteenths.
    #[test]
    fn tails_are_exact() {
        let choose = [1u64, 8, 28, 56, 70, 56, 28, 8, 1];
        let whole: u64 = (3..=8).map(|i| choose[i] * 15u64.pow(8 - i as u32)).sum();
        let expected = whole as f64 / 16f64.powi(8);
        assert!((matches(8, 0, 0.0625, 0.0).at_least(3) / expected - 1.0).abs() < 1e-15);
        // Far below what one minus the rest could tell: C(32, 17) f^17 and the next two terms.
        let f = 1e-6f64;
        let series = 565_722_720.0 * f.powi(17) * (1.0 - 15.0 * f + 105.0 * f * f)
            + 471_435_600.0 * f.powi(18) * (1.0 - 14.0 * f);
        assert!((matches(32, 0, f, 0.0).at_least(17) / series - 1.0).abs() < 1e-11);
        // And the miss of a listed message: all of 32 silenced by ham at 1e-3 each.
        assert!((matches(32, 32, 0.5, 1e-3).exactly(0) / 1e-96 - 1.0).abs() < 1e-12);
    }

    /// What one accident in a thousand million costs: a spam tally may be wrong about one absent key in ten and
    /// more.
    #[test]
    fn the_rates_that_a_bound_of_1e_minus_9_allows() {
        let allowed = |threshold, listed| {
            let rate = spam_rate_max(32, threshold, listed, 1e-9).expect("within reach");
            let tail = |rate| matches(32, listed, rate, 0.0).at_least(threshold);
            assert!(tail(rate) <= 1e-9 && tail(f64::from_bits(rate.to_bits() + 1000)) > 1e-9);
            format!("{rate:.4}")
        };
        assert_eq!(
            [allowed(17, 0), allowed(9, 0), allowed(26, 0), allowed(17, 4), allowed(17, 9)],
            ["0.0984", "0.0154", "0.2864", "0.0565", "0.0149"]
        );
    }

    #[test]
    fn questions_without_an_answer_are_refused() {
        let says = |result: Result<f64, OddsError>, what: &str| {
            let error = result.expect_err("must be refused").to_string();
            assert!(error.contains(what), "{error:?} does not mention {what:?}");
        };
        says(spam_rate_max(0, 1, 0, 0.1), "not 0");
        says(spam_rate_max(257, 1, 0, 0.1), "257");
        says(spam_rate_max(32, 9, 33, 0.1), "33");
        says(spam_rate_max(32, 9, 9, 0.1), "threshold of 9");
        says(spam_rate_max(32, 33, 0, 0.1), "threshold of 33");
        for bound in [0.0, 1.0, -1.0, f64::NAN] {
            says(spam_rate_max(32, 9, 0, bound), &bound.to_string());
        }
        says(Matches::new(32, 0, 1.5, 0.0).map(|matches| matches.mean()), "1.5");
        says(Matches::new(32, 0, 0.5, f64::NAN).map(|matches| matches.mean()), "NaN");
    }
}
