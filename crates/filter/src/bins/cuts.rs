//! The best cuts: dynamic programmes over weights in order, for ideal rates.
//!
//! With [`Goal::EqualBits`] the cost is a sum over bins, and the programme is the textbook one: O(L N^2).
//!
//! With [`Goal::Invalidation`] the bins share one memory, yet no search over the multiplier mu is needed. Say
//! the s heaviest keys lie in bins that get memory. Their cost is `s mu` with
//! `ln mu = (sum n_i ln w_i - (ln 2)^2 M)/s`, so their cuts minimise `sum n_i ln w_i`, which is a sum over
//! bins; all others cost their own weights, wherever they are cut. The minimum over s, and over the lightest bin
//! with memory (it must be worth its memory, then all are), is the minimum over all cuts; that last search is
//! O(N^2) at worst. The programme is O(L N log N): `n ln w` is n times a concave function of the mean, and for
//! such costs the best cut before a key never moves back as the key moves on.
//!
//! Proof of that. For ranks a <= b <= c <= d it is enough that `C(a,c) + C(b,d) <= C(a,d) + C(b,c)`. A
//! concave function is the least of its tangents, so C of a range is the least over lines p of the sum of
//! p(weight) in the range. Let p be the line of (a,d) and q that of (b,c). Over b..c the sum of q - p is at
//! most 0, so q - p is at most 0 somewhere there, and being a line over sorted weights it is at most 0 on all
//! of a..b or on all of c..d. In the first case take q for (a,c) and p for (b,d), in the second p for (a,c)
//! and q for (b,d): the sum grows by that of q - p over a..b or c..d.
//!
//! With [`Goal::AbsentCredit`] a bin's share is no such function and bins without memory may lie anywhere.
//! For a fixed mu the Lagrangian is a sum over bins, and the programme, O(L N^2), gives a bound below all
//! cuts; mu is bisected. With a fixed number of bins the best bound can stay below the best cuts: both are
//! reported.

use std::ops::Range;

use super::{Goal, Weights};
use crate::error::BinError;
use crate::layout::within;
use crate::maths::bins::{Bin, LN2_SQUARED};

/// The most keys to cut: a programme of O(L N^2) steps takes seconds at this size, a multiple of it minutes.
pub const KEYS_CUT_MAX: u64 = 1 << 15;

/// Steps of bisection for mu. Each halves the interval of ln mu, a few units wide; the bound is flat at its
/// top.
const BISECTIONS: usize = 20;

/// Cuts, what they cost, and what no cuts can be below.
#[derive(Clone, Debug, PartialEq)]
pub struct BestCuts {
    /// Where each bin ends, in ranks of weight; the last is the number of keys.
    pub cuts: Vec<usize>,
    /// Their ideal cost.
    pub cost: f64,
    /// No cuts into as many bins cost less. The same as `cost` where the programme is exact.
    pub bound: f64,
}

/// The cuts into `bins` bins with the least ideal cost when `bits` bits are split as `goal` says.
///
/// Exact for [`Goal::EqualBits`] and [`Goal::Invalidation`], exact up to the gap between `bound` and `cost`
/// for [`Goal::AbsentCredit`].
pub fn best_cuts(goal: Goal, weights: &Weights, bins: usize, bits: u64) -> Result<BestCuts, BinError> {
    weights.check_bins(bins)?;
    within("bits", bits, crate::layout::MAX_BITS)?;
    within("keys to cut", weights.keys() as u64, KEYS_CUT_MAX)?;
    if goal == Goal::AbsentCredit {
        return Ok(by_multiplier(weights, bins, bits as f64));
    }
    let cuts = match goal {
        Goal::EqualBits => equal_bits(weights, bins, bits as f64),
        _ => shared_bits(weights, bins, bits as f64),
    };
    let cost = goal.ideal_cost(&weights.bins(&cuts), bits as f64);
    Ok(BestCuts { cuts, cost, bound: cost })
}

/// The least sums over chains of ranges: `cost(b, j)` of the first j keys in b bins, and where the last bin
/// starts.
///
/// The bins of one key lie side by side, because [`over_all`](Self::over_all) takes them all at once.
struct Chains {
    bins: usize,
    costs: Vec<f64>,
    starts: Vec<u32>,
}

impl Chains {
    /// For zero bins: no keys cost nothing, others are out of reach.
    fn new(keys: usize, bins: usize) -> Self {
        let mut costs = vec![f64::INFINITY; (bins + 1) * (keys + 1)];
        costs[0] = 0.0;
        Chains { bins, costs, starts: vec![0; (bins + 1) * (keys + 1)] }
    }

    /// Every chain, whatever the cost of a range.
    fn over_all(keys: usize, bins: usize, range: impl Fn(usize, usize) -> f64) -> Self {
        let mut chains = Chains::new(keys, bins);
        let width = bins + 1;
        for to in 1..=keys {
            let (done, open) = chains.costs.split_at_mut(to * width);
            let costs = &mut open[..width];
            let starts = &mut chains.starts[to * width..][..width];
            for (from, before) in done.chunks_exact(width).enumerate() {
                let last = range(from, to);
                for bin in 1..width {
                    let cost = before[bin - 1] + last;
                    if cost < costs[bin] {
                        costs[bin] = cost;
                        starts[bin] = from as u32;
                    }
                }
            }
        }
        chains
    }

    /// The same for costs whose best start never moves back; ranges start before `starts_end`.
    fn monotone(keys: usize, bins: usize, starts_end: usize, range: impl Fn(usize, usize) -> f64) -> Self {
        let mut chains = Chains::new(keys, bins);
        for bin in 1..=bins {
            chains.halve(bin, bin..keys + 1, bin - 1..starts_end, &range);
        }
        chains
    }

    /// Solves the middle of `tos`; where its best range starts bounds the starts on either side.
    fn halve(
        &mut self,
        bin: usize,
        tos: Range<usize>,
        froms: Range<usize>,
        range: &impl Fn(usize, usize) -> f64,
    ) {
        if tos.is_empty() || froms.is_empty() {
            return;
        }
        let to = tos.start + tos.len() / 2;
        for from in froms.start..froms.end.min(to) {
            self.offer(bin, from, to, range(from, to));
        }
        let start = self.start(bin, to);
        self.halve(bin, tos.start..to, froms.start..start + 1, range);
        self.halve(bin, to + 1..tos.end, start.max(froms.start)..froms.end, range);
    }

    #[inline(always)]
    fn offer(&mut self, bin: usize, from: usize, to: usize, last: f64) {
        let cost = self.cost(bin - 1, from) + last;
        let at = self.at(bin, to);
        if cost < self.costs[at] {
            self.costs[at] = cost;
            self.starts[at] = from as u32;
        }
    }

    #[inline(always)]
    fn at(&self, bin: usize, to: usize) -> usize {
        to * (self.bins + 1) + bin
    }

    #[inline(always)]
    fn cost(&self, bins: usize, to: usize) -> f64 {
        self.costs[self.at(bins, to)]
    }

    fn start(&self, bins: usize, to: usize) -> usize {
        self.starts[self.at(bins, to)] as usize
    }

    /// The cuts of the best chain of `bins` bins that ends at `to`.
    fn cuts(&self, bins: usize, mut to: usize) -> Vec<usize> {
        let mut cuts = Vec::with_capacity(bins);
        for bin in (1..=bins).rev() {
            cuts.push(to);
            to = self.start(bin, to);
        }
        cuts.reverse();
        cuts
    }
}

/// A bin of n keys costs its weights times `0.6185^((M/L)/n)`, which depends on n only.
fn equal_bits(weights: &Weights, bins: usize, bits: f64) -> Vec<usize> {
    let share = bits / bins as f64;
    let rates: Vec<f64> =
        (0..=weights.keys()).map(|keys| crate::maths::bins::ideal_rate(keys as u64, share)).collect();
    let range = |from, to| weights.sum(from, to) * rates[to - from];
    Chains::over_all(weights.keys(), bins, range).cuts(bins, weights.keys())
}

/// The bins with memory are the best chain over the heaviest keys; the rest is cut anyhow.
fn shared_bits(weights: &Weights, bins: usize, bits: f64) -> Vec<usize> {
    let all = weights.keys();
    // A bin that starts behind the last positive weight weighs nothing and gets nothing.
    let positive = weights.sorted().partition_point(|&weight| weight > 0.0);
    let range = |from, to| n_ln_w(weights, from, to);
    let chains = Chains::monotone(all, bins, positive, range);
    let mut least = f64::INFINITY;
    let mut best = None;
    for with_memory in 1..=all {
        let parts = if with_memory == all { bins } else { with_memory.min(bins - 1) };
        let without = weights.sum(with_memory, all);
        let cost = |ln_mu: f64| without + with_memory as f64 * ln_mu.exp();
        let relaxed = (chains.cost(parts, with_memory) - LN2_SQUARED * bits) / with_memory as f64;
        if parts == 0 || cost(relaxed) >= least {
            continue;
        }
        if let Some((ln_mu, start)) = lightest_bin(weights, &chains, parts, with_memory, bits)
            && cost(ln_mu) < least
        {
            (least, best) = (cost(ln_mu), Some((parts, start, with_memory)));
        }
    }
    let Some((parts, start, with_memory)) = best else {
        // No weight is positive: all cuts cost nothing.
        return weights.even_cuts(bins).expect("the number of bins was checked");
    };
    let mut cuts = chains.cuts(parts - 1, start);
    cuts.push(with_memory);
    if with_memory < all {
        cuts.extend((1..bins - parts).map(|key| with_memory + key));
        cuts.push(all);
    }
    cuts
}

fn n_ln_w(weights: &Weights, from: usize, to: usize) -> f64 {
    let Bin { keys, weight } = weights.bin(from, to);
    keys as f64 * weight.ln()
}

/// The least ln mu of chains of `parts` bins over the first `to` keys whose lightest bin is worth its memory,
/// and where that bin starts.
///
/// If the best chain of all will not do, its lightest bin is too light. Only bins that start earlier are
/// heavier, and one must start early enough to be worth even the mu of the best chain.
fn lightest_bin(
    weights: &Weights,
    chains: &Chains,
    parts: usize,
    to: usize,
    bits: f64,
) -> Option<(f64, usize)> {
    let ln_mu = |from: usize| {
        (chains.cost(parts - 1, from) + n_ln_w(weights, from, to) - LN2_SQUARED * bits) / to as f64
    };
    let is_worth = |from: usize, ln_mu: f64| weights.bin(from, to).weight.ln() >= ln_mu;
    let first = chains.start(parts, to);
    let least = ln_mu(first);
    if is_worth(first, least) {
        return Some((least, first));
    }
    let mut end = first;
    let mut low = parts - 1;
    while low < end {
        let middle = low + (end - low) / 2;
        if is_worth(middle, least) { low = middle + 1 } else { end = middle }
    }
    (parts - 1..end)
        .map(|from| (ln_mu(from), from))
        .filter(|&(ln_mu, from)| is_worth(from, ln_mu))
        .min_by(|a, b| a.0.total_cmp(&b.0))
}

/// A bin's part of the Lagrangian of the absent key credit, `min over m of w f + mu (ln 2)^2 m`.
fn lagrangian(bin: Bin, mu: f64) -> f64 {
    let keys = bin.keys as f64;
    let worth = bin.weight / bin.keys as f64;
    if worth > mu { mu * keys * (1.0 + (worth / mu).ln()) } else { bin.weight }
}

/// Bisects ln mu until the bins of the best chain use the memory there is; keeps the best cuts and the best
/// bound.
fn by_multiplier(weights: &Weights, bins: usize, bits: f64) -> BestCuts {
    let goal = Goal::AbsentCredit;
    let even = weights.even_cuts(bins).expect("the number of bins was checked");
    let cost = goal.ideal_cost(&weights.bins(&even), bits);
    let mut best = BestCuts { cuts: even, cost, bound: 0.0 };
    if cost == 0.0 {
        return best;
    }
    // Tries one mu: whether its bins ask for more memory than there is.
    let mut asks_too_much = |ln_mu: f64| {
        let mu = ln_mu.exp();
        let range = |from, to| lagrangian(weights.bin(from, to), mu);
        let chains = Chains::over_all(weights.keys(), bins, range);
        let cuts = chains.cuts(bins, weights.keys());
        best.bound = best.bound.max(chains.cost(bins, weights.keys()) - mu * LN2_SQUARED * bits);
        let these = weights.bins(&cuts);
        let cost = goal.ideal_cost(&these, bits);
        if cost < best.cost {
            (best.cuts, best.cost) = (cuts, cost);
        }
        let asked = |bin: &Bin| bin.keys as f64 * (bin.weight / bin.keys as f64 / mu).ln().max(0.0);
        these.iter().map(asked).sum::<f64>() > LN2_SQUARED * bits
    };
    // If all keys had memory, mu would be near the cost a key: start there and widen.
    let mut low = (cost / weights.keys() as f64).ln();
    let mut high = (cost / weights.keys() as f64).ln();
    let mut stride = 1.0;
    if asks_too_much(low) {
        while asks_too_much(high + stride) {
            high += stride;
            stride *= 2.0;
        }
        high += stride;
    } else {
        while !asks_too_much(low - stride) {
            low -= stride;
            stride *= 2.0;
        }
        low -= stride;
    }
    for _ in 0..BISECTIONS {
        let middle = low + (high - low) / 2.0;
        if asks_too_much(middle) { low = middle } else { high = middle }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    /// The proof in the module's comment, tried: both ways find equal costs, for every number of bins and
    /// keys.
    #[test]
    fn the_fast_programme_gives_what_the_full_one_gives() {
        let mut random = SplitMix(11);
        for case in 0..20 {
            let keys = 1 + random.below(150) as usize;
            let power = 1 + case % 6;
            let raw: Vec<f64> = (0..keys).map(|_| random.unit().powi(power) + 1e-9).collect();
            let weights = Weights::new(&raw).expect("good weights");
            let range = |from, to| n_ln_w(&weights, from, to);
            let bins = keys.min(9);
            let full = Chains::over_all(keys, bins, range);
            let fast = Chains::monotone(keys, bins, keys, range);
            for bin in 1..=bins {
                for to in bin..=keys {
                    let full = full.cost(bin, to);
                    let fast = fast.cost(bin, to);
                    assert!((full - fast).abs() < 1e-9 * full.abs().max(1.0), "{bin} {to}: {full} {fast}");
                }
            }
        }
    }
}
