//! Three ways to spend one memory on weighted keys, by what their users notice.

use super::weights::ranges;
use super::{Plan, Weights, whole_bits};
use crate::error::BinError;
use crate::maths::bins::{absent_credit, any_fires, real_rate};

/// What a plan is worth in real filters: integer k, bins without bits dropped.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Standing {
    /// All bits.
    pub bits: u64,
    /// The weight a word in no bin is credited with, on average: the ham credit.
    pub absent_credit: f64,
    /// The share of words in no bin that are credited with anything.
    pub any_fires: f64,
    /// How far a member's own bin credits from the member's weight, on average over members. A dropped bin
    /// credits 0.
    pub deviation: f64,
    /// What the other bins add to a member's credit, on average over members.
    pub false_hits: f64,
    /// The root of the mean square of credit minus weight, over members and over the luck of the hash.
    pub member_error_rms: f64,
    /// Keys whose bin got no bits: they are not found.
    pub dropped_keys: u64,
}

impl Standing {
    /// The member error, its two parts added: deviation and false hits.
    pub fn member_error(&self) -> f64 {
        self.deviation + self.false_hits
    }
}

/// A bin filter and its two rivals of as many bits.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Comparison {
    /// The plan that was asked about.
    pub bin_filter: Standing,
    /// The same cuts, but memory by the number of keys: all bins at one rate, but for the rounding of k.
    pub common_rate: Standing,
    /// One filter for all keys, which credits the mean weight.
    pub mean_weight: Standing,
}

/// Sets `plan` beside L filters of one common rate and beside one filter that credits the mean weight.
pub fn compare(weights: &Weights, plan: &Plan) -> Result<Comparison, BinError> {
    super::check_keys(plan.cuts(), weights)?;
    let keys = weights.keys();
    let bits = plan.total_bits();
    let by_keys: Vec<f64> =
        ranges(plan.cuts()).map(|(from, to)| bits as f64 * (to - from) as f64 / keys as f64).collect();
    let common = Plan::new(plan.cuts().to_vec(), whole_bits(&by_keys, bits))?;
    let single = Plan::new(vec![keys], vec![bits])?;
    Ok(Comparison {
        bin_filter: standing(weights, plan),
        common_rate: standing(weights, &common),
        mean_weight: standing(weights, &single),
    })
}

/// Within a bin of mean w the squares of credit minus weight average to `var + b^2 + sum v_j`: the variance
/// of the weights, the square of the mean error b, and the variances `v_j = w_j^2 f_j (1 - f_j)` of the other
/// bins' hits.
fn standing(weights: &Weights, plan: &Plan) -> Standing {
    let all = weights.bins(plan.cuts());
    // A dropped bin neither fires nor credits.
    let rates: Vec<f64> = all
        .iter()
        .zip(plan.bits())
        .map(|(bin, &bits)| if bits == 0 { 0.0 } else { real_rate(bin.keys, bits) })
        .collect();
    let hit: Vec<f64> = all.iter().zip(&rates).map(|(bin, rate)| bin.weight * rate).collect();
    let luck: Vec<f64> = all.iter().zip(&rates).map(|(bin, f)| bin.weight.powi(2) * f * (1.0 - f)).collect();
    let hits = hit.iter().sum::<f64>();
    let lucks = luck.iter().sum::<f64>();
    let mut deviation = 0.0;
    let mut false_hits = 0.0;
    let mut squares = 0.0;
    let mut dropped_keys = 0;
    for (bin, (from, to)) in ranges(plan.cuts()).enumerate() {
        let kept = plan.bits()[bin] > 0;
        let due = if kept { all[bin].weight } else { 0.0 };
        dropped_keys += if kept { 0 } else { all[bin].keys };
        let others = hits - hit[bin];
        for weight in &weights.sorted()[from..to] {
            deviation += (due - weight).abs();
            squares += (due - weight + others).powi(2);
        }
        false_hits += all[bin].keys as f64 * others;
        squares += all[bin].keys as f64 * (lucks - luck[bin]);
    }
    let keys = weights.keys() as f64;
    Standing {
        bits: plan.total_bits(),
        absent_credit: absent_credit(&all, &rates),
        any_fires: any_fires(&rates),
        deviation: deviation / keys,
        false_hits: false_hits / keys,
        member_error_rms: (squares.max(0.0) / keys).sqrt(),
        dropped_keys,
    }
}
