//! Real filters built and asked: what a plan costs, measured.

use rayon::prelude::*;
use seenit_filter::bins::{BinFilter, Credit, Plan, Weights};
use seenit_filter::hash::SipKey;

use super::STREAM;
use crate::bench::{Bench, LabError};
use crate::draw;
use crate::interval::Summary;

/// Strangers asked at a time: their keys and answers stay in the cache.
const BLOCK: u64 = 4096;

/// Strangers are numbered from here, far behind the members.
const FIRST_STRANGER: u64 = 1 << 40;

/// A plan to build and ask.
pub(super) struct Task<'a> {
    pub(super) plan: &'a Plan,
    /// How many strangers are asked in each round.
    pub(super) strangers: u64,
    /// What its rounds' hash keys are drawn for.
    pub(super) stream: [u64; 3],
}

/// What was measured, over rounds of filters with hash keys of their own.
#[derive(Clone, Copy, Debug)]
pub(super) struct Measured {
    /// `sum n_i w_i f_i` at the rates seen. A bin without bits counts with rate 1.
    pub(super) cost: Summary,
    /// The weight a stranger is credited with; bins without bits are dropped and credit nothing.
    pub(super) ham_credit: Summary,
    /// The share of strangers that are credited with anything.
    pub(super) any_fires: Summary,
    /// `|credit - weight|` of a member, on average over members.
    pub(super) member_error: Summary,
}

/// Builds and asks the filters of all tasks, each in `rounds` rounds.
pub(super) fn measure(
    weights: &Weights,
    tasks: &[Task<'_>],
    rounds: u32,
    bench: &Bench<'_>,
) -> Result<Vec<Measured>, LabError> {
    bench.progress.begin("bins: real filters", tasks.len() as u64 * u64::from(rounds));
    let laps: Vec<(&Task<'_>, u32)> =
        tasks.iter().flat_map(|task| (0..rounds).map(move |round| (task, round))).collect();
    let seen: Vec<[f64; 4]> = laps
        .par_iter()
        .map(|&(task, round)| {
            let seen = lap(weights, task, round, bench.seed);
            bench.progress.advance(1);
            seen
        })
        .collect::<Result<_, LabError>>()?;
    let summary =
        |laps: &[[f64; 4]], what: usize| Summary::of(&laps.iter().map(|seen| seen[what]).collect::<Vec<_>>());
    Ok(seen
        .chunks_exact(rounds as usize)
        .map(|laps| Measured {
            cost: summary(laps, 0),
            ham_credit: summary(laps, 1),
            any_fires: summary(laps, 2),
            member_error: summary(laps, 3),
        })
        .collect())
}

/// One filter: its cost, what strangers are credited with, how many are, and the error of its members.
fn lap(weights: &Weights, task: &Task<'_>, round: u32, seed: u64) -> Result<[f64; 4], LabError> {
    let [a, b, c] = task.stream;
    let mut random = draw::stream(seed, &[STREAM, 2, a, b, c, u64::from(round)]);
    let mut secret = [0; 16];
    secret[..8].copy_from_slice(&random.next().to_le_bytes());
    secret[8..].copy_from_slice(&random.next().to_le_bytes());
    let hasher = SipKey::new(secret);
    let members: Vec<[u8; 8]> = (0..weights.keys() as u64).map(u64::to_le_bytes).collect();
    let filter = BinFilter::build(&hasher, hasher.fingerprint(), &members, weights, task.plan)?;

    let strangers = ask_strangers(&filter, &hasher, task);
    let mut credits = vec![Credit::default(); members.len()];
    filter.credit_many(&hasher, &members, &mut credits);
    let errors: f64 = weights
        .order()
        .iter()
        .zip(weights.sorted())
        .map(|(&member, weight)| (credits[member].weight - weight).abs())
        .sum();

    let asked = task.strangers as f64;
    let bins = weights.bins(task.plan.cuts());
    let costs = bins.iter().zip(task.plan.bits()).zip(&strangers.hits).map(|((bin, &bits), &hits)| {
        let rate = if bits == 0 { 1.0 } else { hits as f64 / asked };
        bin.keys as f64 * bin.weight * rate
    });
    let credited: f64 = bins.iter().zip(&strangers.hits).map(|(bin, &hits)| bin.weight * hits as f64).sum();
    Ok([costs.sum(), credited / asked, strangers.credited as f64 / asked, errors / members.len() as f64])
}

/// How strangers were answered.
struct Answers {
    /// Hits of each bin of the plan.
    hits: Vec<u64>,
    /// Strangers that were credited with anything.
    credited: u64,
}

fn ask_strangers(filter: &BinFilter, hasher: &SipKey, task: &Task<'_>) -> Answers {
    let mut answers = Answers { hits: vec![0; task.plan.bits().len()], credited: 0 };
    let mut keys = Vec::with_capacity(BLOCK as usize);
    let mut credits = vec![Credit::default(); BLOCK as usize];
    for first in (0..task.strangers).step_by(BLOCK as usize) {
        keys.clear();
        keys.extend((first..task.strangers.min(first + BLOCK)).map(|i| (FIRST_STRANGER + i).to_le_bytes()));
        filter.credit_many(hasher, &keys, &mut credits[..keys.len()]);
        for credit in &credits[..keys.len()] {
            answers.credited += u64::from(credit.fired != 0);
            let mut fired = credit.fired;
            while fired != 0 {
                answers.hits[fired.trailing_zeros() as usize] += 1;
                fired &= fired - 1;
            }
        }
    }
    answers
}
