//! Weights in order, heaviest first, with their sums: what every optimiser reads its bins from.

use super::{BINS_MAX, KEYS_MAX, WEIGHT_MAX};
use crate::error::BinError;
use crate::layout::within;
use crate::maths::bins::Bin;

/// The weights of all keys, sorted, and which key each belongs to.
#[derive(Clone, Debug)]
pub struct Weights {
    /// `order[i]` is the key with the i-th heaviest weight.
    order: Vec<usize>,
    sorted: Vec<f64>,
    /// `tails[i]` is the sum of all but the i heaviest. Sums from the light end lose no light weight beside
    /// heavy ones.
    tails: Vec<f64>,
}

impl Weights {
    /// Sorts `weights`, one a key; equal ones stay in the order of the keys.
    pub fn new(weights: &[f64]) -> Result<Self, BinError> {
        within("keys", weights.len() as u64, KEYS_MAX)?;
        for (index, &weight) in weights.iter().enumerate() {
            if !(0.0..=WEIGHT_MAX).contains(&weight) {
                return Err(BinError::Weight { index, weight, limit: WEIGHT_MAX });
            }
        }
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        let sorted: Vec<f64> = order.iter().map(|&key| weights[key]).collect();
        let mut tails = vec![0.0; sorted.len() + 1];
        for rank in (0..sorted.len()).rev() {
            tails[rank] = tails[rank + 1] + sorted[rank];
        }
        Ok(Weights { order, sorted, tails })
    }

    /// The number of keys, at least one.
    pub fn keys(&self) -> usize {
        self.sorted.len()
    }

    /// The keys, heaviest first.
    pub fn order(&self) -> &[usize] {
        &self.order
    }

    /// The weights, heaviest first.
    pub fn sorted(&self) -> &[f64] {
        &self.sorted
    }

    /// The sum of the weights of ranks `from..to`.
    #[inline]
    pub(super) fn sum(&self, from: usize, to: usize) -> f64 {
        self.tails[from] - self.tails[to]
    }

    /// The keys of ranks `from..to` as one bin.
    #[inline]
    pub fn bin(&self, from: usize, to: usize) -> Bin {
        let keys = to - from;
        Bin { keys: keys as u64, weight: self.sum(from, to) / keys as f64 }
    }

    /// The bins that end at `cuts`, which rise.
    pub fn bins(&self, cuts: &[usize]) -> Vec<Bin> {
        ranges(cuts).map(|(from, to)| self.bin(from, to)).collect()
    }

    /// Cuts into `bins` bins of equally many keys, give or take one.
    pub fn even_cuts(&self, bins: usize) -> Result<Vec<usize>, BinError> {
        self.check_bins(bins)?;
        Ok((1..=bins).map(|bin| (bin as u128 * self.keys() as u128 / bins as u128) as usize).collect())
    }

    /// Refuses no bins, too many, and more than keys.
    pub(super) fn check_bins(&self, bins: usize) -> Result<(), BinError> {
        within("bins", bins as u64, BINS_MAX as u64)?;
        if bins > self.keys() {
            return Err(BinError::TooFewKeys { bins, keys: self.keys() });
        }
        Ok(())
    }
}

/// The ranks `from..to` of each bin.
pub(super) fn ranges(cuts: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    std::iter::once(0).chain(cuts.iter().copied()).zip(cuts.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heaviest_first_and_equal_ones_in_order() {
        let weights = Weights::new(&[1.0, 3.0, 0.0, 3.0]).expect("good weights");
        assert_eq!(weights.order(), [1, 3, 0, 2]);
        assert_eq!(weights.sorted(), [3.0, 3.0, 1.0, 0.0]);
        assert_eq!(weights.bin(1, 3), Bin { keys: 2, weight: 2.0 });
        assert_eq!(weights.even_cuts(3).expect("three bins"), [1, 2, 4]);
    }

    #[test]
    fn impossible_weights_and_bins_are_refused_by_name() {
        let refused = |weights: &[f64]| Weights::new(weights).expect_err("refused").to_string();
        assert!(refused(&[]).contains("keys must be at least 1"));
        for weight in [-1.0, f64::NAN, f64::INFINITY, 2.0 * WEIGHT_MAX] {
            let error = refused(&[1.0, weight]);
            assert!(error.contains("key 1") && error.contains(&weight.to_string()), "{error}");
        }
        let weights = Weights::new(&[1.0; 100]).expect("good weights");
        let refused = |bins| weights.even_cuts(bins).expect_err("refused").to_string();
        assert!(refused(0).contains("bins must be at least 1"));
        assert!(refused(BINS_MAX + 1).contains("the limit is 64"));
        let few =
            Weights::new(&[1.0; 3]).expect("good weights").even_cuts(4).expect_err("refused").to_string();
        assert!(few.contains("4 bins") && few.contains("3 keys"), "{few}");
    }
}
