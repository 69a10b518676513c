//! The ElementList vectors (Figure 11): on how many bits an element lies, and how many elements on each.

use rayon::prelude::*;
use seenit_filter::hash::Hash128;
use seenit_filter::{Flat, Layout};

use super::STREAM;
use super::world::{K, Size, World};
use crate::bench::{Bench, LabError};
use crate::draw;
use crate::interval::Summary;

/// Sizes of the vector, in tenths of the paper's filter.
const TENTHS: [u64; 10] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10];

/// Runs for each size: means of a hundred thousand lists hardly scatter.
const RUNS: u32 = 5;
const RUNS_QUICK: u32 = 3;

/// Both vectors of one size, over some runs.
pub(super) struct Lists {
    /// m.
    pub(super) bits: u64,
    /// The lists of members, `v_A`.
    pub(super) members: Vector,
    /// The lists of all false positives, `v_B` when all are to be removed.
    pub(super) positives: Vector,
}

/// What the lists of one vector are like.
pub(super) struct Vector {
    /// The share of positions that have a list.
    pub(super) occupied: Summary,
    /// The mean length of the lists there are.
    pub(super) length: Summary,
    /// The longest list of all runs.
    pub(super) longest: usize,
    /// How many lists of each length one run has on average; lengths from nought.
    pub(super) lengths: Vec<f64>,
}

pub(super) fn measure(size: Size, bench: &Bench<'_>) -> Result<Vec<Lists>, LabError> {
    let runs = bench.choose(RUNS, RUNS_QUICK);
    bench.progress.begin("lists of elements", TENTHS.len() as u64 * u64::from(runs));
    let sizes = TENTHS.par_iter().map(|&tenths| {
        let size = Size { bits: size.bits * tenths / 10, ..size };
        let of_runs = (0..runs).into_par_iter().map(|run| {
            let mut rng = draw::stream(bench.seed, &[STREAM, 3, tenths, u64::from(run)]);
            let world = World::new(size, &mut rng)?;
            let layout = world.filter.layout();
            let both = [lengths(layout, &world.members), lengths(layout, &world.positives)];
            bench.progress.advance(1);
            Ok(both)
        });
        let of_runs = of_runs.collect::<Result<Vec<_>, LabError>>()?;
        let vector =
            |which: usize| Vector::of(&of_runs.iter().map(|both| &both[which][..]).collect::<Vec<_>>());
        Ok(Lists { bits: size.bits, members: vector(0), positives: vector(1) })
    });
    sizes.collect()
}

/// How many positions have a list of each length, from nought on. An element whose hashes meet is there twice, as in
/// the paper's pseudo-code.
fn lengths(layout: &Flat, hashes: &[Hash128]) -> Vec<usize> {
    let mut counts = vec![0usize; layout.bits() as usize];
    for &hash in hashes {
        for probe in 0..layout.probes() {
            counts[layout.position(hash, probe) as usize] += 1;
        }
    }
    let mut lengths = vec![0; counts.iter().max().map_or(1, |longest| longest + 1)];
    counts.iter().for_each(|&count| lengths[count] += 1);
    lengths
}

impl Vector {
    fn of(runs: &[&[usize]]) -> Vector {
        let longest = runs.iter().map(|lengths| lengths.len() - 1).max().unwrap_or(0);
        let of =
            |what: fn(&[usize]) -> f64| Summary::of(&runs.iter().map(|run| what(run)).collect::<Vec<_>>());
        let mean = |length: usize| {
            let total: usize = runs.iter().filter_map(|run| run.get(length)).sum();
            total as f64 / runs.len() as f64
        };
        Vector {
            occupied: of(|run| occupied(run) / run.iter().sum::<usize>() as f64),
            length: of(|run| {
                let elements: usize = run.iter().enumerate().map(|(length, lists)| length * lists).sum();
                elements as f64 / occupied(run)
            }),
            longest,
            lengths: (0..=longest).map(mean).collect(),
        }
    }
}

/// Positions that have a list.
fn occupied(lengths: &[usize]) -> f64 {
    lengths.iter().skip(1).sum::<usize>() as f64
}

/// The share of positions on which a member lies, by formula.
pub(super) fn expected_occupied(members: usize, bits: u64) -> f64 {
    1.0 - (f64::from(K) * members as f64 * (-1.0 / bits as f64).ln_1p()).exp()
}
