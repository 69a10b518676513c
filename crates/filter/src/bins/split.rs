//! Memory for bins whose cuts are given: the closed form, whole bits, and the best split of real filters.
//!
//! Minimise `sum c_i e^(-(ln 2)^2 m_i/n_i)` with `sum m_i = M` and no `m_i` below 0. The multiplier of the
//! sum gives `f_i = min(1, mu/v_i)` and `m_i = n_i max(0, ln(v_i/mu)) / (ln 2)^2` with `v_i = c_i/n_i`: a
//! bin's worth a key. Bins of little worth get nothing. Taken by falling worth, those that get something are
//! the first few, and `ln mu = (sum n_i ln v_i - (ln 2)^2 M) / sum n_i` over them: no search is needed.

use super::Goal;
use crate::maths::bins::{Bin, LN2_SQUARED, ideal_rate, real_rate};

/// Memory is given out in at most this many equal portions before single bits are moved: enough to find the
/// right valley of a cost that is not convex, and few enough to try every split of them.
const PORTIONS_MAX: u64 = 512;

impl Goal {
    /// What a bin's rate is multiplied by in the cost: `n_i w_i` or `w_i`.
    pub(super) fn stake(self, bin: &Bin) -> f64 {
        match self {
            Goal::EqualBits | Goal::Invalidation => bin.keys as f64 * bin.weight,
            Goal::AbsentCredit => bin.weight,
        }
    }

    /// The cost at these rates.
    #[cfg(test)]
    pub(super) fn cost(self, bins: &[Bin], rates: &[f64]) -> f64 {
        bins.iter().zip(rates).map(|(bin, rate)| self.stake(bin) * rate).sum()
    }

    /// The bits of each bin, not yet whole, that sum to `bits`: equal shares, or those with the least ideal
    /// cost.
    pub fn split(self, bins: &[Bin], bits: f64) -> Vec<f64> {
        match self {
            Goal::EqualBits => vec![bits / bins.len() as f64; bins.len()],
            Goal::Invalidation | Goal::AbsentCredit => self.closed_form(bins, bits),
        }
    }

    /// The cost of [`split`](Self::split) at ideal rates.
    pub fn ideal_cost(self, bins: &[Bin], bits: f64) -> f64 {
        let split = self.split(bins, bits);
        bins.iter().zip(split).map(|(bin, bits)| self.stake(bin) * ideal_rate(bin.keys, bits)).sum()
    }

    fn closed_form(self, bins: &[Bin], bits: f64) -> Vec<f64> {
        let worth: Vec<f64> = bins.iter().map(|bin| self.stake(bin) / bin.keys as f64).collect();
        let mut by_worth: Vec<usize> = (0..bins.len()).collect();
        by_worth.sort_by(|&a, &b| worth[b].total_cmp(&worth[a]));
        let mut keys = 0.0;
        let mut sum = 0.0;
        let mut ln_mu = f64::NEG_INFINITY;
        for bin in by_worth {
            let ln_worth = worth[bin].ln();
            if ln_worth <= ln_mu || worth[bin] <= 0.0 {
                break;
            }
            keys += bins[bin].keys as f64;
            sum += bins[bin].keys as f64 * ln_worth;
            ln_mu = (sum - LN2_SQUARED * bits) / keys;
        }
        if keys == 0.0 {
            // Nothing is worth anything: any split will do.
            return Goal::EqualBits.split(bins, bits);
        }
        let share =
            |(bin, worth): (&Bin, &f64)| bin.keys as f64 * (worth.ln() - ln_mu).max(0.0) / LN2_SQUARED;
        bins.iter().zip(&worth).map(share).collect()
    }

    /// The whole bits of each bin that give real filters, with integer k, the least cost found.
    ///
    /// The real cost is not convex: half a bit a key is hardly better than none. So every split of up to 512
    /// equal portions is tried (a dynamic programme over the bins), and then bits are moved between bins
    /// while that helps. Where portions are single bits this is exact. Bins that get nothing count with rate
    /// 1. Equal bits stay equal.
    pub fn real_split(self, bins: &[Bin], bits: u64) -> Vec<u64> {
        if self == Goal::EqualBits || bins.is_empty() {
            return whole_bits(&self.split(bins, bits as f64), bits);
        }
        let portion = bits.div_ceil(PORTIONS_MAX).max(1);
        let mut split = self.split_in_portions(bins, bits / portion, portion);
        split[0] += bits % portion;
        let mut step = portion;
        while step > 0 {
            self.exchange(bins, &mut split, step);
            step /= 2;
        }
        split
    }

    /// The best split of `portions` portions of `portion` bits: `costs[p]` is the least for the bins so far
    /// and p of them.
    fn split_in_portions(self, bins: &[Bin], portions: u64, portion: u64) -> Vec<u64> {
        let counts = portions as usize + 1;
        // No bins use no portions: every portion is spent, also where it gains nothing.
        let mut costs = vec![f64::INFINITY; counts];
        costs[0] = 0.0;
        let mut chosen = Vec::with_capacity(bins.len());
        for bin in bins {
            let alone: Vec<f64> =
                (0..counts as u64).map(|p| self.stake(bin) * real_rate(bin.keys, p * portion)).collect();
            let mut next = vec![f64::INFINITY; counts];
            let mut choice = vec![0; counts];
            for total in 0..counts {
                for mine in 0..=total {
                    let cost = costs[total - mine] + alone[mine];
                    if cost < next[total] {
                        (next[total], choice[total]) = (cost, mine);
                    }
                }
            }
            costs = next;
            chosen.push(choice);
        }
        let mut left = portions as usize;
        let mut split: Vec<u64> = chosen
            .iter()
            .rev()
            .map(|choice| {
                let mine = choice[left];
                left -= mine;
                mine as u64 * portion
            })
            .collect();
        split.reverse();
        split
    }

    /// Moves `step` bits from one bin to another while the real cost falls.
    fn exchange(self, bins: &[Bin], split: &mut [u64], step: u64) {
        let cost = |bin: usize, bits: u64| self.stake(&bins[bin]) * real_rate(bins[bin].keys, bits);
        let mut now: Vec<f64> = (0..bins.len()).map(|bin| cost(bin, split[bin])).collect();
        let mut moved = true;
        while moved {
            moved = false;
            for giver in 0..bins.len() {
                for taker in 0..bins.len() {
                    if giver == taker || split[giver] < step {
                        continue;
                    }
                    let less = cost(giver, split[giver] - step);
                    let more = cost(taker, split[taker] + step);
                    let before = now[giver] + now[taker];
                    // A gain within the rounding of the sum could be given back and forth for ever.
                    if less + more < before * (1.0 - 1e-12) {
                        split[giver] -= step;
                        split[taker] += step;
                        (now[giver], now[taker], moved) = (less, more, true);
                    }
                }
            }
        }
    }
}

/// Whole bits that sum to `bits` exactly: everybody's floor, and one more for the largest remainders.
///
/// `split` sums to `bits` but for rounding.
pub fn whole_bits(split: &[f64], bits: u64) -> Vec<u64> {
    let mut whole: Vec<u64> = split.iter().map(|share| share.floor() as u64).collect();
    let mut by_remainder: Vec<usize> = (0..split.len()).collect();
    by_remainder.sort_by(|&a, &b| split[b].fract().total_cmp(&split[a].fract()));
    let missing = bits.saturating_sub(whole.iter().sum());
    for &bin in by_remainder.iter().cycle().take(missing as usize) {
        whole[bin] += 1;
    }
    whole
}

#[cfg(test)]
mod tests {
    use super::super::Weights;
    use super::*;
    use crate::random::SplitMix;

    fn random_bins(random: &mut SplitMix, bins: usize) -> Vec<Bin> {
        (0..bins).map(|_| Bin { keys: 1 + random.below(500), weight: 5.0 * random.unit() + 1e-6 }).collect()
    }

    #[test]
    fn without_empty_bins_the_gain_is_the_geometric_over_the_arithmetic_mean() {
        let bins = [(100, 4.0), (300, 2.5), (50, 1.0), (700, 0.5)].map(|(keys, weight)| Bin { keys, weight });
        let bits = 15_000.0;
        let keys = 1150.0;
        let sum =
            |f: &dyn Fn(&Bin) -> f64| bins.iter().map(|bin| bin.keys as f64 * f(bin)).sum::<f64>() / keys;
        let geometric = sum(&|bin| bin.weight.ln()).exp();
        let arithmetic = sum(&|bin| bin.weight);
        let standard = crate::maths::bins::standard_invalidation_cost(&bins, bits);
        let gain = Goal::Invalidation.ideal_cost(&bins, bits) / standard;
        assert!((gain / (geometric / arithmetic) - 1.0).abs() < 1e-12, "{gain}");
    }

    /// For weights uniform on (0, w] and many bins the gain tends to 2/e.
    #[test]
    fn many_bins_of_uniform_weights_gain_two_over_e() {
        let uniform: Vec<f64> = (1..=64_000).map(|i| f64::from(i) / 64_000.0).collect();
        let weights = Weights::new(&uniform).expect("good weights");
        let bits = 20.0 * 64_000.0;
        let gain = |bins| {
            let bins = weights.bins(&weights.even_cuts(bins).expect("few bins"));
            Goal::Invalidation.ideal_cost(&bins, bits)
                / crate::maths::bins::standard_invalidation_cost(&bins, bits)
        };
        let limit = 2.0 / std::f64::consts::E;
        // The midpoints of L equal bins have the geometric mean (1/e) 2^(1/2L), but for terms of higher
        // order.
        for bins in [16, 32, 64] {
            let expected = limit * 2f64.powf(0.5 / bins as f64);
            assert!((gain(bins) / expected - 1.0).abs() < 1e-3, "{bins}: {}", gain(bins));
        }
        assert!(gain(64) < gain(32) && gain(64) > limit);
    }

    #[test]
    fn no_shift_of_memory_lowers_the_closed_form() {
        let mut random = SplitMix(3);
        for goal in [Goal::Invalidation, Goal::AbsentCredit] {
            for case in 0..100 {
                let count = 2 + case % 9;
                let bins = random_bins(&mut random, count);
                let bits = 10.0 + random.below(20_000) as f64;
                let split = goal.split(&bins, bits);
                assert!(
                    (split.iter().sum::<f64>() / bits - 1.0).abs() < 1e-9 && split.iter().all(|&m| m >= 0.0)
                );
                let cost_of = |split: &[f64]| {
                    let rates: Vec<f64> =
                        bins.iter().zip(split).map(|(bin, &bits)| ideal_rate(bin.keys, bits)).collect();
                    goal.cost(&bins, &rates)
                };
                let least = cost_of(&split);
                assert!((least / goal.ideal_cost(&bins, bits) - 1.0).abs() < 1e-12);
                for _ in 0..50 {
                    let from = random.below(count as u64) as usize;
                    let to = random.below(count as u64) as usize;
                    let mut other = split.clone();
                    let shift = other[from] * random.unit();
                    other[from] -= shift;
                    other[to] += shift;
                    assert!(
                        cost_of(&other) >= least * (1.0 - 1e-12),
                        "{goal:?} {bins:?} {split:?} {other:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn equal_bins_make_the_two_goals_one() {
        let bins = [3.0, 2.0, 0.7, 0.01].map(|weight| Bin { keys: 40, weight });
        let a = Goal::Invalidation.split(&bins, 500.0);
        let b = Goal::AbsentCredit.split(&bins, 500.0);
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-9));
        assert_eq!(a[3], 0.0);
    }

    #[test]
    fn weightless_bins_share_equally() {
        let bins = [Bin { keys: 4, weight: 0.0 }; 2];
        assert_eq!(Goal::Invalidation.split(&bins, 9.0), [4.5, 4.5]);
    }

    #[test]
    fn whole_bits_sum_exactly_and_stay_within_one() {
        assert_eq!(whole_bits(&[102.4; 10], 1024), [103, 103, 103, 103, 102, 102, 102, 102, 102, 102]);
        let mut random = SplitMix(4);
        for _ in 0..200 {
            let bins = random_bins(&mut random, 12);
            let bits = 1 + random.below(5000);
            let split = Goal::Invalidation.split(&bins, bits as f64);
            let whole = whole_bits(&split, bits);
            assert_eq!(whole.iter().sum::<u64>(), bits);
            assert!(whole.iter().zip(&split).all(|(&whole, share)| (whole as f64 - share).abs() < 1.0));
        }
    }

    /// Where portions are single bits, against every split there is.
    #[test]
    fn the_real_split_is_the_best_of_all_splits() {
        let mut random = SplitMix(5);
        for goal in [Goal::Invalidation, Goal::AbsentCredit] {
            for _ in 0..20 {
                let bins: Vec<Bin> =
                    (0..3).map(|_| Bin { keys: 1 + random.below(12), weight: 3.0 * random.unit() }).collect();
                let bits = 10 + random.below(50);
                let cost = |split: &[u64]| -> f64 {
                    let rates: Vec<f64> =
                        bins.iter().zip(split).map(|(bin, &bits)| real_rate(bin.keys, bits)).collect();
                    goal.cost(&bins, &rates)
                };
                let best = (0..=bits)
                    .flat_map(|a| (0..=bits - a).map(move |b| [a, b, bits - a - b]))
                    .map(|split| cost(&split))
                    .fold(f64::INFINITY, f64::min);
                let split = goal.real_split(&bins, bits);
                assert_eq!(split.iter().sum::<u64>(), bits);
                assert!((cost(&split) / best - 1.0).abs() < 1e-9, "{bins:?} {split:?}");
            }
        }
    }

    /// One bit gains nothing, and was once given to nobody.
    #[test]
    fn bits_that_gain_nothing_are_still_spent() {
        for bits in 1..8 {
            for bins in [
                vec![Bin { keys: 1, weight: 1.0 }],
                vec![Bin { keys: 9, weight: 0.5 }, Bin { keys: 3, weight: 0.0 }],
                vec![Bin { keys: 400, weight: 0.0 }; 3],
            ] {
                let split = Goal::Invalidation.real_split(&bins, bits);
                assert_eq!(split.iter().sum::<u64>(), bits, "{bins:?} {split:?}");
            }
        }
    }

    #[test]
    fn the_real_split_beats_the_rounded_closed_form() {
        let mut random = SplitMix(6);
        for _ in 0..10 {
            let bins = random_bins(&mut random, 8);
            let bits = 1000 + random.below(30_000);
            let cost = |split: &[u64]| {
                let rates: Vec<f64> =
                    bins.iter().zip(split).map(|(bin, &bits)| real_rate(bin.keys, bits)).collect();
                Goal::Invalidation.cost(&bins, &rates)
            };
            let rounded = whole_bits(&Goal::Invalidation.split(&bins, bits as f64), bits);
            let real = Goal::Invalidation.real_split(&bins, bits);
            assert_eq!(real.iter().sum::<u64>(), bits);
            assert!(cost(&real) <= cost(&rounded) * (1.0 + 1e-12), "{bins:?} {bits}");
        }
    }
}
