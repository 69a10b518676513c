//! The case study of Donnet, Baynat and Friedman, "Retouched Bloom filters" (Figures 13 to 22): monitors that trace
//! routes stop one hop before the destination, at nodes of a red stop set, kept as a list, as a Bloom filter or as a
//! retouched one.
//!
//! **The traces are synthetic.** The paper's measured ones are not available, so no printed number can come out
//! exactly; what can be judged is how the implementations compare. The paper does not say how many hash functions it
//! used; k is an option, and results are averaged over hash seeds with their range, because they depend strongly on
//! whether a node that all traces of a monitor pass happens to be a false positive.

mod figures;
mod findings;
mod printed;
mod probe;
mod rows;
mod stopset;
mod tables;
mod topology;
mod traces;

use rayon::prelude::*;
use seenit_filter::hash::Hash128;
use seenit_filter::retouch::Algorithm;

use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};
use crate::draw;

use self::probe::{Rates, Round, Seen, rates};
pub use self::rows::Row;
use self::stopset::{Learned, StopFilter};
use self::topology::{Size, Topology};
use self::traces::{Cycle, cycles};

/// The first step of the path of every stream of this experiment.
const STREAM: u64 = 3;

/// Hash seeds to average over.
const ROUNDS: u32 = 10;
const ROUNDS_QUICK: u32 = 2;

/// Probing rounds after the learning round.
const CYCLES: usize = 10;

/// The size of the filter at which beta is varied, and which is followed over the cycles; in bits a destination.
const PIVOT: u64 = 6;

/// The shares of false positives removed at every size.
const BETAS: [f64; 4] = [0.01, 0.05, 0.1, 0.25];

/// The share that is followed over the cycles.
const BETA: f64 = 0.25;

/// The two ways to retouch.
const ALGORITHMS: [Algorithm; 2] = [Algorithm::Ratio, Algorithm::ImprovedRatio];

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Options {
    /// Numbers of hash functions; each is an experiment of its own.
    pub k: Vec<u32>,
}

impl Default for Options {
    /// 1, with which the printed numbers can be reconciled best, and 5, which the paper uses elsewhere.
    fn default() -> Self {
        Options { k: vec![1, 5] }
    }
}

/// A filter of the stop set: how it was made and in which cycle it was used.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Case {
    k: u32,
    bits: u64,
    /// How it was retouched, if it was: the algorithm, and beta.
    retouched: Option<(Algorithm, f64)>,
    /// 1 is the first after the learning round.
    cycle: usize,
}

/// What one hash seed gave.
#[derive(Clone, Copy, Debug)]
struct Sample {
    rates: Rates,
    /// Shares of nodes and links that full traces see and this round does not; first cycle only.
    missed: Option<(f64, f64)>,
    /// The same of what the list's round sees.
    missed_of_list: Option<(f64, f64)>,
    /// Nodes of the learning round that test positive and are not in the set.
    false_positives: f64,
    /// The share of the set that no longer tests positive.
    stops_lost: f64,
    bits_cleared: f64,
}

/// A case with its samples, one a hash seed.
struct Measured {
    case: Case,
    samples: Vec<Sample>,
}

/// Everything that was measured.
struct Results {
    size: Size,
    k: Vec<u32>,
    /// Sizes of the filter, ascending.
    bits: Vec<u64>,
    /// Shares of false positives removed from the filter of the pivotal size, ascending.
    sweep: Vec<f64>,
    rounds: usize,
    world: World,
    /// The list in the learning round and in the cycles after it.
    list: Vec<Rates>,
    /// What the list misses of full traces in the first cycle.
    list_missed: (f64, f64),
    filters: Vec<Measured>,
    /// For each k, and each hash seed, on how many traces each false positive is, at the pivotal size.
    troublesomeness: Vec<Vec<Vec<u32>>>,
}

/// The network, its traces, and what the learning round taught.
struct World {
    learned: Learned,
    nodes: usize,
    learning: Cycle,
    /// The first probing round.
    first: Round,
    /// The probing rounds after it.
    later: Vec<Cycle>,
    /// What the list's first round sees.
    list_seen: Seen,
}

impl World {
    fn new(size: Size, seed: u64) -> World {
        let topology = Topology::new(size, &mut draw::stream(seed, &[STREAM, 0]));
        let (all, nodes) = cycles(&topology, 1 + CYCLES, &mut draw::stream(seed, &[STREAM, 1]));
        let mut all = all.into_iter();
        let learning = all.next().expect("the learning round");
        let first = all.next().expect("a probing round");
        let learned = Learned::from(&learning, nodes);
        let first = Round::new(first, nodes);
        let list_seen = first.seen(&learned.in_set);
        World { learned, nodes, learning, first, later: all.collect(), list_seen }
    }

    /// The hashes of all nodes under one seed.
    fn hashes(&self, seed: u64, round: usize) -> Vec<Hash128> {
        let mut rng = draw::stream(seed, &[STREAM, 2, round as u64]);
        (0..self.nodes).map(|_| rng.hash()).collect()
    }

    /// The traces of a probing round; 1 is the first.
    fn cycle(&self, number: usize) -> &Cycle {
        if number == 1 { &self.first.cycle } else { &self.later[number - 2] }
    }
}

impl Results {
    /// A filter in the first cycle.
    fn filter(&self, k: u32, bits: u64, retouched: Option<(Algorithm, f64)>) -> &Measured {
        self.later(k, bits, retouched, 1)
    }

    /// A filter in some cycle.
    fn later(&self, k: u32, bits: u64, retouched: Option<(Algorithm, f64)>, cycle: usize) -> &Measured {
        let wanted = Case { k, bits, retouched, cycle };
        self.filters.iter().find(|measured| measured.case == wanted).expect("all cases were measured")
    }

    /// The size at which beta is varied.
    fn pivot(&self) -> u64 {
        PIVOT * self.size.destinations as u64
    }
}

impl Measured {
    /// Mean, least and largest over the hash seeds.
    fn of(&self, what: impl Fn(&Sample) -> f64) -> Spread {
        Spread::of(self.samples.iter().map(what).collect())
    }

    /// The mean of the success rate.
    fn success(&self) -> f64 {
        self.of(|sample| sample.rates.success).mean
    }

    /// The mean of the rate of stopping short.
    fn short(&self) -> f64 {
        self.of(|sample| sample.rates.short).mean
    }

    /// The mean of the collision rate.
    fn collision(&self) -> f64 {
        self.of(|sample| sample.rates.collision).mean
    }
}

/// A mean over hash seeds with its range.
#[derive(Clone, Copy, Debug)]
struct Spread {
    mean: f64,
    min: f64,
    max: f64,
}

impl Spread {
    /// Of these, one a hash seed.
    fn of(values: Vec<f64>) -> Spread {
        Spread {
            mean: values.iter().sum::<f64>() / values.len() as f64,
            min: values.iter().copied().fold(f64::INFINITY, f64::min),
            max: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        }
    }
}

/// Runs the experiment.
pub fn run(options: &Options, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    let mut k = options.k.clone();
    k.sort_unstable();
    k.dedup();
    if k.is_empty() {
        let why = "name at least one number of hash functions";
        return Err(LabError::Option { option: "--k", value: "none".into(), why });
    }
    let results = measure(k, bench)?;
    let account = Account {
        tables: tables::all(&results),
        figures: figures::all(&results),
        findings: findings::all(&results),
    };
    Ok(Outcome { rows: rows::all(&results), account })
}

fn measure(k: Vec<u32>, bench: &Bench<'_>) -> Result<Results, LabError> {
    let size = bench.choose(Size::PAPER, Size::TENTH);
    let steps: &[u64] = bench.choose(&[1, 2, 3, 4, 5, 6, 7, 8, 9, 10], &[1, 3, 6, 10]);
    let bits: Vec<u64> = steps.iter().map(|step| step * size.destinations as u64).collect();
    let sweep = sweep(bench.quick);
    let rounds = bench.rounds_or(ROUNDS, ROUNDS_QUICK) as usize;
    bench.progress.begin("traces", 1);
    let world = World::new(size, bench.seed);
    let list = std::iter::once(&world.learning).chain((1..=CYCLES).map(|cycle| world.cycle(cycle)));
    let list: Vec<Rates> = list.map(|cycle| rates(cycle, &world.learned.in_set)).collect();
    let list_missed = world.list_seen.missed(world.first.all());
    let mut results = Results {
        size,
        k,
        bits,
        sweep,
        rounds,
        world,
        list,
        list_missed,
        filters: Vec::new(),
        troublesomeness: Vec::new(),
    };
    bench.progress.begin("probing", (rounds * results.k.len() * cases_of_one_k(&results)) as u64);
    for number in 0..results.k.len() {
        let k = results.k[number];
        let of_rounds = (0..rounds)
            .into_par_iter()
            .map(|round| one_seed(&results, k, round, bench))
            .collect::<Result<Vec<_>, LabError>>()?;
        for (number, &(case, _)) in of_rounds[0].0.iter().enumerate() {
            let samples = of_rounds.iter().map(|(samples, _)| samples[number].1).collect();
            results.filters.push(Measured { case, samples });
        }
        results.troublesomeness.push(of_rounds.into_iter().map(|(_, trouble)| trouble).collect());
    }
    Ok(results)
}

/// Every per cent up to 30, where success peaks, and every fifth beyond; in the quick version the landmarks.
fn sweep(quick: bool) -> Vec<f64> {
    let per_cent: Vec<u32> = match quick {
        true => vec![1, 5, 10, 15, 20, 25, 30, 50, 75, 100],
        false => (1..=30).chain((35..=100).step_by(5)).collect(),
    };
    per_cent.into_iter().map(|share| f64::from(share) / 100.0).collect()
}

/// The shares removed from a filter of this size.
fn betas(results: &Results, bits: u64) -> &[f64] {
    if bits == results.pivot() { &results.sweep } else { &BETAS }
}

/// How many filters one k and one hash seed take.
fn cases_of_one_k(results: &Results) -> usize {
    results.bits.iter().map(|&bits| 1 + ALGORITHMS.len() * betas(results, bits).len()).sum()
}

type Samples = Vec<(Case, Sample)>;

/// All filters of one k and one hash seed, and the troublesomeness of false positives at the pivotal size.
fn one_seed(
    results: &Results,
    k: u32,
    round: usize,
    bench: &Bench<'_>,
) -> Result<(Samples, Vec<u32>), LabError> {
    let world = &results.world;
    let hashes = world.hashes(bench.seed, round);
    let of_sizes = results.bits.par_iter().map(|&bits| {
        let filter = StopFilter::new(&world.learned, &hashes, bits, k)?;
        let false_positives = filter.positives.len() as f64;
        let mut samples = Vec::new();
        let mut probe = |retouched: Option<(Algorithm, f64)>, positive: &[bool], lost: f64, cleared: f64| {
            let seen = world.first.seen(positive);
            let followed = bits == results.pivot() && retouched.is_none_or(|(_, beta)| beta == BETA);
            for cycle in 1..=if followed { CYCLES } else { 1 } {
                let sample = Sample {
                    rates: rates(world.cycle(cycle), positive),
                    missed: (cycle == 1).then(|| seen.missed(world.first.all())),
                    missed_of_list: (cycle == 1).then(|| seen.missed(&world.list_seen)),
                    false_positives,
                    stops_lost: lost / world.learned.size as f64,
                    bits_cleared: cleared,
                };
                samples.push((Case { k, bits, retouched, cycle }, sample));
            }
            bench.progress.advance(1);
        };
        probe(None, &filter.bloom(), 0.0, 0.0);
        for algorithm in ALGORITHMS {
            for &beta in betas(results, bits) {
                let (positive, done) = filter.retouched(algorithm, beta)?;
                let lost = done.false_negatives.expect("members are known") as f64;
                probe(Some((algorithm, beta)), &positive, lost, done.bits_cleared as f64);
            }
        }
        let trouble = if bits == results.pivot() { filter.troublesomeness().collect() } else { Vec::new() };
        Ok((samples, trouble))
    });
    let of_sizes = of_sizes.collect::<Result<Vec<_>, LabError>>()?;
    let trouble = of_sizes.iter().flat_map(|(_, trouble)| trouble).copied().collect();
    Ok((of_sizes.into_iter().flat_map(|(samples, _)| samples).collect(), trouble))
}
