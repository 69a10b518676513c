//! The ways to cut keys into bins and to split the memory, and what each is worth by formula.

use std::time::Instant;

use seenit_filter::bins::{Goal, Plan, Schedule, Standing, Weights, anneal, best_cuts, compare, whole_bits};
use seenit_filter::maths::bins::{invalidation_cost, real_rate};
use serde::Serialize;

use super::{PAPER_KEYS, STREAM};
use crate::bench::LabError;
use crate::draw;

/// Moves of the annealing that is scaled to its task. Five times as many gain nothing that could be printed.
const MOVES: u64 = 20_000;

/// How bins are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Method {
    /// No bins: one filter that credits the mean weight.
    Standard,
    /// The paper's: equal memory for every bin, 100 moves from T = 1024.
    AnnealingPaper,
    /// Annealing with the best memory for the cuts it tries, scaled to the cost, 20,000 moves.
    Annealing,
    /// Cuts into equally many keys, and the best memory for them.
    ClosedForm,
    /// The best of all cuts, with the best memory for them.
    Exact,
}

impl Method {
    /// All of them, in the order of rows.
    pub const ALL: [Method; 5] =
        [Method::Standard, Method::AnnealingPaper, Method::Annealing, Method::ClosedForm, Method::Exact];

    /// As the rows name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Method::Standard => "standard",
            Method::AnnealingPaper => "annealing-paper",
            Method::Annealing => "annealing",
            Method::ClosedForm => "closed-form",
            Method::Exact => "exact",
        }
    }
}

/// Weights evenly spaced from 0.0005 to 5: the paper gives no more than their range.
pub(super) fn weights() -> Result<Weights, LabError> {
    let step = 4.9995 / (PAPER_KEYS - 1) as f64;
    Ok(Weights::new(&(0..PAPER_KEYS).map(|i| 0.0005 + step * i as f64).collect::<Vec<_>>())?)
}

/// Bins that were found, and what they are worth.
#[derive(Clone, Debug)]
pub(super) struct Solved {
    pub(super) plan: Plan,
    /// `sum n_i w_i 0.6185^(m_i/n_i)`, memory not yet in whole bits.
    pub(super) cost: f64,
    /// What it took to find them.
    pub(super) seconds: f64,
    /// The cost after each move, where there were moves.
    pub(super) trace: Vec<f64>,
}

/// Finds `bins` bins with `bits` bits in all.
pub(super) fn solve(
    weights: &Weights,
    method: Method,
    bins: usize,
    bits: u64,
    seed: u64,
) -> Result<Solved, LabError> {
    let mut random = draw::stream(seed, &[STREAM, 1, bins as u64, bits, method as u64]);
    let started = Instant::now();
    let mut trace = Vec::new();
    let (goal, cuts) = match method {
        Method::Standard => (Goal::EqualBits, vec![weights.keys()]),
        Method::AnnealingPaper => {
            let run = anneal(Goal::EqualBits, weights, bins, bits, Schedule::paper(), random.next())?;
            trace = run.trace;
            (Goal::EqualBits, run.cuts)
        }
        Method::Annealing => {
            let even = weights.even_cuts(bins)?;
            let schedule =
                Schedule::tuned(Goal::Invalidation.ideal_cost(&weights.bins(&even), bits as f64), MOVES);
            let run = anneal(Goal::Invalidation, weights, bins, bits, schedule, random.next())?;
            trace = run.trace;
            (Goal::Invalidation, run.cuts)
        }
        Method::ClosedForm => (Goal::Invalidation, weights.even_cuts(bins)?),
        Method::Exact => (Goal::Invalidation, best_cuts(Goal::Invalidation, weights, bins, bits)?.cuts),
    };
    let found = weights.bins(&cuts);
    let split = goal.split(&found, bits as f64);
    let seconds = started.elapsed().as_secs_f64();
    let cost = goal.ideal_cost(&found, bits as f64);
    Ok(Solved { plan: Plan::new(cuts, whole_bits(&split, bits))?, cost, seconds, trace })
}

/// `sum n_i w_i f_i` of real filters: whole bits, integer k. A bin without bits counts with rate 1.
pub(super) fn real_cost(weights: &Weights, plan: &Plan) -> f64 {
    let bins = weights.bins(plan.cuts());
    let rates: Vec<f64> =
        bins.iter().zip(plan.bits()).map(|(bin, &bits)| real_rate(bin.keys, bits)).collect();
    invalidation_cost(&bins, &rates)
}

/// What users of real filters notice, by formula.
pub(super) fn standing(weights: &Weights, plan: &Plan) -> Result<Standing, LabError> {
    Ok(compare(weights, plan)?.bin_filter)
}

/// The same cuts with the memory split for `goal`, real filters in mind.
pub(super) fn split_for(goal: Goal, weights: &Weights, plan: &Plan) -> Result<Plan, LabError> {
    Ok(Plan::for_cuts(goal, weights, plan.cuts().to_vec(), plan.total_bits())?)
}

/// The same cuts with memory by the number of keys: all bins at one rate, but for the rounding of k.
pub(super) fn common_rate(weights: &Weights, cuts: &[usize], bits: u64) -> Result<Plan, LabError> {
    let keys = weights.keys() as f64;
    let shares: Vec<f64> =
        weights.bins(cuts).iter().map(|bin| bits as f64 * bin.keys as f64 / keys).collect();
    Ok(Plan::new(cuts.to_vec(), whole_bits(&shares, bits))?)
}
