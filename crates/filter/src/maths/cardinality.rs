//! How many keys a filter holds, read off its zeros, with an error bar.
//!
//! A bit is still zero after n keys with probability `q^n`, where q is the layout's chance that one key
//! leaves a given bit alone. So `n = ln(zeros/m) / ln q`. The error bar comes from the variance of the number
//! of zeros: bits of one page or line are zero together more often than not, because keys fall on them
//! together, so pairs of bits are counted by how near they lie.

/// The logarithm of the chance that one key leaves a given bit, or both bits of a pair, alone.
#[derive(Clone, Debug)]
pub struct ZeroOdds {
    /// m: the number of bits.
    pub bits: f64,
    /// `ln q` of one bit.
    pub one: f64,
    /// Kinds of ordered pairs of different bits: how many other bits stand so to a given one, and `ln q` of the pair.
    pub pairs: Vec<(f64, f64)>,
}

/// An estimate and its standard deviation.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The number of distinct keys, most likely.
    pub value: f64,
    /// One standard deviation.
    pub sd: f64,
}

impl ZeroOdds {
    /// The estimate for a filter with `zeros` zero bits; `None` when there are none left to count by.
    pub(crate) fn estimate(&self, zeros: u64) -> Option<Estimate> {
        if zeros == 0 {
            return None;
        }
        let share = (zeros as f64 / self.bits).min(1.0);
        let value = (share.ln() / self.one).max(0.0);
        Some(Estimate { value, sd: self.zeros_variance(value).sqrt() / (self.bits * share * -self.one) })
    }

    /// Var(zeros) after n keys: `m z (1 - z) + m sum_kinds count (P(both zero) - z^2)`, `z = q^n`.
    ///
    /// `P(both) - z^2` is written as `z^2 (e^(n (ln q2 - 2 ln q)) - 1)`: the difference is tiny.
    fn zeros_variance(&self, n: f64) -> f64 {
        let z = (n * self.one).exp();
        let together: f64 =
            self.pairs.iter().map(|&(count, two)| count * (n * (two - 2.0 * self.one)).exp_m1()).sum();
        (self.bits * (z * (1.0 - z) + z * z * together)).max(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// For the flat layout the general formula must give the textbook one: `sd = sqrt(m (e^t - t - 1)) / k`.
    #[test]
    fn the_flat_error_bar_is_the_textbook_one() {
        let m = 1e6f64;
        let k = 7.0;
        let n = 1e5;
        let odds =
            ZeroOdds { bits: m, one: k * (-1.0 / m).ln_1p(), pairs: vec![(m - 1.0, k * (-2.0 / m).ln_1p())] };
        let t = k * n / m;
        let estimate = odds.estimate(((-t).exp() * m) as u64).expect("zeros are left");
        assert!((estimate.value - n).abs() < 2.0, "{estimate:?}");
        let textbook = (m * (t.exp() - t - 1.0)).sqrt() / k;
        assert!((estimate.sd / textbook - 1.0).abs() < 1e-3, "{estimate:?} {textbook}");
    }

    #[test]
    fn an_empty_filter_holds_nothing_and_a_full_one_cannot_tell() {
        let odds = ZeroOdds { bits: 100.0, one: (-0.01f64).ln_1p(), pairs: vec![] };
        assert_eq!(odds.estimate(100), Some(Estimate { value: 0.0, sd: 0.0 }));
        assert_eq!(odds.estimate(0), None);
    }
}
