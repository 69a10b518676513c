//! Simulated annealing over cuts: the paper's schedule, and one that is scaled to the cost.
//!
//! A move shifts some keys between two neighbouring bins. It is taken if the cost falls by it, and else with
//! probability `e^(-dE/T)`; then the temperature T falls by a constant factor. (The pseudo-code of the paper
//! has the comparison the wrong way round.) [`best_cuts`](super::best_cuts) finds the optimum outright:
//! annealing is here because the paper uses it, and for goals that have no programme.

use super::{Goal, Weights};
use crate::error::BinError;
use crate::layout::within;
use crate::random::SplitMix;

/// The most moves of one run: each costs about a microsecond, and its cost is kept.
pub(crate) const MOVES_MAX: u64 = 10_000_000;

/// How many keys a move shifts, of the d that the giving bin has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shift {
    /// 1 to d - 1, all equally likely.
    Uniform,
    /// 1 to d - 1, all orders of magnitude equally likely: steps of every size at every temperature.
    Geometric,
}

/// How to anneal.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Schedule {
    /// The first temperature, as a cost.
    pub start: f64,
    /// What the temperature is multiplied by after each move.
    pub cooling: f64,
    /// How many moves are tried.
    pub moves: u64,
    /// How many keys a move shifts.
    pub shift: Shift,
}

impl Schedule {
    /// The paper's: from T = 1024 (its filter's bits), 0.9 a move, 100 moves.
    pub fn paper() -> Self {
        Schedule { start: 1024.0, cooling: 0.9, moves: 100, shift: Shift::Uniform }
    }

    /// Scaled to `cost`, that of even cuts, say: from a hundredth of it down to a ten-millionth in `moves`
    /// moves.
    pub fn tuned(cost: f64, moves: u64) -> Self {
        let cooling = 1e-5f64.powf(1.0 / moves.max(1) as f64);
        Schedule { start: 1e-2 * cost, cooling, moves, shift: Shift::Geometric }
    }
}

/// What annealing found, and how it went.
#[derive(Clone, Debug, PartialEq)]
pub struct Annealed {
    /// The best cuts seen.
    pub cuts: Vec<usize>,
    /// The ideal cost of the even cuts it started from.
    pub start_cost: f64,
    /// The ideal cost of the best cuts seen.
    pub best_cost: f64,
    /// Moves tried.
    pub moves: u64,
    /// Moves taken.
    pub accepted: u64,
    /// The cost after each move, taken or not.
    pub trace: Vec<f64>,
}

/// Anneals cuts into `bins` bins, from even ones; equal seeds give equal results.
pub fn anneal(
    goal: Goal,
    weights: &Weights,
    bins: usize,
    bits: u64,
    schedule: Schedule,
    seed: u64,
) -> Result<Annealed, BinError> {
    within("bits", bits, crate::layout::MAX_BITS)?;
    within("moves", schedule.moves, MOVES_MAX)?;
    let mut cuts = weights.even_cuts(bins)?;
    let cost_of = |cuts: &[usize]| goal.ideal_cost(&weights.bins(cuts), bits as f64);
    let mut cost = cost_of(&cuts);
    let mut found = Annealed {
        cuts: cuts.clone(),
        start_cost: cost,
        best_cost: cost,
        moves: schedule.moves,
        accepted: 0,
        trace: Vec::with_capacity(schedule.moves as usize),
    };
    let mut random = SplitMix(seed);
    let mut temperature = schedule.start;
    for _ in 0..schedule.moves {
        if let Some((cut, to)) = propose(&cuts, schedule.shift, &mut random) {
            let from = std::mem::replace(&mut cuts[cut], to);
            let moved = cost_of(&cuts);
            if moved < cost || random.unit() < ((cost - moved) / temperature).exp() {
                cost = moved;
                found.accepted += 1;
            } else {
                cuts[cut] = from;
            }
        }
        if cost < found.best_cost {
            found.best_cost = cost;
            found.cuts.clone_from(&cuts);
        }
        found.trace.push(cost);
        temperature *= schedule.cooling;
    }
    Ok(found)
}

/// A cut and where to move it; none if the giving bin has but one key, or there is but one bin.
fn propose(cuts: &[usize], shift: Shift, random: &mut SplitMix) -> Option<(usize, usize)> {
    if cuts.len() < 2 {
        return None;
    }
    let cut = random.below(cuts.len() as u64 - 1) as usize;
    let left = if cut == 0 { 0 } else { cuts[cut - 1] };
    let down = random.below(2) == 0;
    let giver = if down { cuts[cut] - left } else { cuts[cut + 1] - cuts[cut] } as u64;
    if giver < 2 {
        return None;
    }
    let keys = match shift {
        Shift::Uniform => 1 + random.below(giver - 1),
        Shift::Geometric => (giver as f64).powf(random.unit()).min(giver as f64 - 1.0) as u64,
    } as usize;
    Some((cut, if down { cuts[cut] - keys } else { cuts[cut] + keys }))
}
