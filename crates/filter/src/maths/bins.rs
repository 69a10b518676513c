//! What bins cost: a set of weighted keys cut into classes, one flat filter a class.
//!
//! Bin i has `n_i` keys of mean weight `w_i` and `m_i` bits, and answers yes to an absent key at rate `f_i`. Two
//! questions are kept apart here. *Which rate has a bin?* [`ideal_rate`] is the formula of the bin filter
//! paper; [`real_rate`] is what a filter that can be built has. *What does it cost?* [`invalidation_cost`] is
//! the paper's measure; [`absent_credit`] and [`any_fires`] are what a lookup really pays. Any rates go
//! with any cost.
//!
//! Below 1.44 bits a key the ideal k is a fraction of 1 and the ideal rate is out of reach: the best real
//! filter has k = 1 and rate `1 - e^(-n/m)`. The whole experiment of the paper lies there.

use super::{MAX_K, flat, optimal_k};

/// `(ln 2)^2`: the ideal rate is `e^(-(ln 2)^2 m/n)`, that is `0.6185^(m/n)`.
pub(crate) const LN2_SQUARED: f64 = std::f64::consts::LN_2 * std::f64::consts::LN_2;

/// One class of keys.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bin {
    /// n: how many keys, at least one.
    pub keys: u64,
    /// w: their mean weight, which is what each of them is credited with.
    pub weight: f64,
}

/// The rate of a filter with the best fractional k, `0.6185^(m/n)`: a bound that no filter below 1.44 bits a
/// key reaches.
pub fn ideal_rate(keys: u64, bits: f64) -> f64 {
    (-LN2_SQUARED * bits / keys as f64).exp()
}

/// The integer k, at least 1, with the lowest [`flat::rate`].
pub(crate) fn best_k(keys: u64, bits: u64) -> u32 {
    let ideal = optimal_k(bits as f64 / keys as f64);
    let low = (ideal.floor() - 1.0).clamp(1.0, f64::from(MAX_K)) as u32;
    let high = (ideal.ceil() + 1.0).clamp(1.0, f64::from(MAX_K)) as u32;
    let rate = |k: &u32| flat::rate(bits, *k, keys);
    (low..=high).min_by(|a, b| rate(a).total_cmp(&rate(b))).expect("low is not above high")
}

/// The rate of the best filter that can be built: integer k of at least 1. One without bits answers yes to
/// all.
pub fn real_rate(keys: u64, bits: u64) -> f64 {
    if bits == 0 { 1.0 } else { flat::rate(bits, best_k(keys, bits), keys) }
}

/// The paper's "total membership invalidation cost", `sum n_i w_i f_i`.
///
/// It charges a bin's rate once for every member of the bin, as if each query were drawn from the members'
/// weights. It is not what an absent key is credited with: that is [`absent_credit`].
pub fn invalidation_cost(bins: &[Bin], rates: &[f64]) -> f64 {
    bins.iter().zip(rates).map(|(bin, rate)| bin.keys as f64 * bin.weight * rate).sum()
}

/// The same of one ideal filter for all keys, which is what the paper compares with: `0.6185^(M/N) sum n_i
/// w_i`.
pub fn standard_invalidation_cost(bins: &[Bin], bits: f64) -> f64 {
    let keys = bins.iter().map(|bin| bin.keys).sum();
    bins.iter().map(|bin| bin.keys as f64 * bin.weight).sum::<f64>() * ideal_rate(keys, bits)
}

/// The weight that a word in no bin is credited with, on average: every bin is asked and hits add up, `sum
/// w_i f_i`.
pub fn absent_credit(bins: &[Bin], rates: &[f64]) -> f64 {
    bins.iter().zip(rates).map(|(bin, rate)| bin.weight * rate).sum()
}

/// The chance that a word in no bin is credited with anything: `1 - prod (1 - f_i)`.
pub fn any_fires(rates: &[f64]) -> f64 {
    1.0 - rates.iter().map(|rate| 1.0 - rate).product::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The standard filter of Table 1 cannot be built: its rate of 0.849 is 0.947 with the one probe it must
    /// have.
    #[test]
    fn the_papers_sizes_lie_below_any_real_filter() {
        assert_eq!(best_k(3000, 1024), 1);
        assert!((ideal_rate(3000, 1024.0) - 0.8487).abs() < 1e-4);
        assert!((real_rate(3000, 1024) - 0.9466).abs() < 1e-4);
    }

    #[test]
    fn the_best_k_is_the_best_of_all() {
        for (keys, bits) in
            [(1, 1), (3, 5), (10, 14), (10, 15), (100, 960), (7, 1000), (1000, 24_000), (9, 3)]
        {
            let all = (1..=MAX_K).map(|k| flat::rate(bits, k, keys)).fold(1.0, f64::min);
            assert_eq!(real_rate(keys, bits), all, "{keys} {bits}");
        }
        assert_eq!(real_rate(5, 0), 1.0);
    }

    #[test]
    fn sums_by_hand() {
        let bins = [Bin { keys: 10, weight: 3.0 }, Bin { keys: 20, weight: 1.0 }];
        let rates = [0.1, 0.5];
        assert!((invalidation_cost(&bins, &rates) - 13.0).abs() < 1e-12);
        assert!((absent_credit(&bins, &rates) - 0.8).abs() < 1e-12);
        assert!((any_fires(&rates) - 0.55).abs() < 1e-12);
    }
}
