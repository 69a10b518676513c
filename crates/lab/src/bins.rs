//! The experiment `bins`: are weighted words better kept in bins of their own rate?
//!
//! First Table 1 of the bin filter paper: its columns from the formulas behind them, its annealing run anew. Then the
//! fair problem: at equal total bits, whatever the method, real filters built and asked. And what users of such filters
//! notice, which the paper's cost is not: the weight credited to strangers, the error of members' weights.
//!
//! The weights are 3,000, evenly spaced from 0.0005 to 5.

mod figures;
mod findings;
mod measure;
mod number;
mod paper_size;
mod plans;
mod printed;
mod tables;

pub use plans::Method;

use rayon::prelude::*;
use seenit_filter::bins::{BINS_MAX, Goal, Plan, Standing, Weights};
use seenit_filter::maths::bins::{Bin, ideal_rate, standard_invalidation_cost};
use serde::Serialize;

use self::measure::{Measured, Task, measure};
use self::paper_size::PaperSize;
use self::plans::Solved;
use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};

/// The keys of the paper's experiment, and of ours.
const PAPER_KEYS: u64 = 3000;

/// The bits of the paper's experiment.
const PAPER_BITS: u64 = 1024;

/// What this experiment's random numbers are drawn for.
const STREAM: u64 = 4;

/// More bits a key than this and no stranger would ever be credited: nothing could be measured.
const BITS_PER_KEY_MAX: f64 = 64.0;

/// Hits a bin should have, so that its rate is known to about a hundredth. And how many strangers a plan is asked about
/// at least and at most: at 20 bits a key the most is reached, and rates are known to some hundredths.
const HITS: f64 = 10_000.0;
const STRANGERS: (f64, f64) = (200_000.0, 5_000_000.0);

/// The same in the small version.
const HITS_QUICK: f64 = 2000.0;
const STRANGERS_QUICK: (f64, f64) = (24_000.0, 400_000.0);

/// The most bins of the small version.
const BINS_QUICK_MAX: usize = 24;

/// The most bins for which cuts are sought that are best for strangers: 30 programmes of L N^2 steps, a second for ten.
const HAM_CUTS_BINS_MAX: usize = 16;

/// What can be chosen.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many bins.
    pub bins: Vec<usize>,
    /// How many bits a key, in all.
    pub bits_per_key: Vec<f64>,
}

impl Default for Options {
    /// The paper's numbers of bins, and as many as a bin filter can have.
    fn default() -> Self {
        Options { bins: vec![10, 11, 12, BINS_MAX], bits_per_key: vec![2.0, 5.0, 10.0, 20.0] }
    }
}

/// A row for machines.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// How many bins; the standard filter has one whatever stands here.
    pub bins: usize,
    /// Bits of all bins, a key.
    pub bits_per_key: f64,
    /// How the bins were found.
    pub method: Method,
    /// `sum n_i w_i 0.6185^(m_i/n_i)`: what annealing, closed form and exact minimise.
    pub cost_formula: f64,
    /// `sum n_i w_i f_i` at the rates of real filters, measured. A bin without bits counts with rate 1.
    pub cost_measured: f64,
    /// The weight a stranger is credited with, measured. Bins without bits are dropped and credit nothing.
    pub ham_credit: f64,
    /// What it took to find the bins.
    pub seconds: f64,
    /// Standard error of `cost_measured`.
    pub cost_error: f64,
    /// What `cost_measured` should be: the formula of real filters, with whole bits and integer k.
    pub cost_real: f64,
    /// Standard error of `ham_credit`.
    pub ham_credit_error: f64,
    /// What `ham_credit` should be, likewise.
    pub ham_credit_real: f64,
    /// The share of strangers credited with anything, measured.
    pub any_fires: f64,
    /// What it should be.
    pub any_fires_real: f64,
    /// `|credit - weight|` of members, measured.
    pub member_error: f64,
    /// Keys of bins without bits: they are not found.
    pub dropped_keys: u64,
    /// Bins with less than 1.44 bits a key, where no filter reaches 0.6185^(m/n).
    pub bins_below_one_probe: usize,
    /// `cost_formula` of the bins after annealing's last move, which need not be the best it met; null for the others.
    pub cost_last_move: Option<f64>,
    /// The least `cost_real` of these cuts, over all splits of the memory.
    pub cost_real_best: f64,
    /// The least ham credit of these cuts, real filters, over all splits of the memory.
    pub ham_credit_best: f64,
    /// The least ham credit found over all cuts as well; null where it was not looked for.
    pub ham_credit_best_cuts: Option<f64>,
}

/// One row's plan and all that is known about it.
struct Cell {
    bins: usize,
    bits_per_key: f64,
    method: Method,
    solved: Solved,
    standing: Standing,
    cost_real: f64,
    /// The same cuts, split for real filters: least cost, least ham credit.
    best: [f64; 2],
    measured: Measured,
}

/// A plan that the honest comparison adds to the rows' own.
struct Rival {
    bits_per_key: f64,
    name: &'static str,
    standing: Standing,
    measured: Measured,
}

/// All that was found.
struct Study {
    weights: Weights,
    cells: Vec<Cell>,
    /// For the first number of bins.
    rivals: Vec<Rival>,
    /// Ham credit of the cuts that are best for it, by number of bins and bits a key.
    ham_cuts: Vec<(usize, f64, f64)>,
    paper: Vec<PaperSize>,
    rounds: u32,
}

impl Study {
    /// The bits of all keys at so many bits a key.
    fn bits(bits_per_key: f64) -> u64 {
        ((bits_per_key * PAPER_KEYS as f64).round() as u64).max(1)
    }

    /// The ideal cost of the standard filter.
    fn standard(&self, bits_per_key: f64) -> f64 {
        standard_invalidation_cost(
            &self.weights.bins(&[self.weights.keys()]),
            Study::bits(bits_per_key) as f64,
        )
    }

    fn cell(&self, bins: usize, bits_per_key: f64, method: Method) -> Option<&Cell> {
        let wanted =
            |cell: &&Cell| cell.bins == bins && cell.bits_per_key == bits_per_key && cell.method == method;
        self.cells.iter().find(wanted)
    }

    fn of(&self, method: Method) -> impl Iterator<Item = &Cell> {
        self.cells.iter().filter(move |cell| cell.method == method)
    }
}

/// Runs the experiment.
pub fn run(options: &Options, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    check(options)?;
    let options = &bench.choose(options.clone(), coarse(options));
    let study = study(options, bench)?;
    let rows = study.cells.iter().map(|cell| row(&study, cell)).collect();
    let account = Account {
        tables: tables::all(&study, options),
        figures: figures::all(&study, options)?,
        findings: findings::all(&study, options),
    };
    Ok(Outcome { rows, account })
}

fn check(options: &Options) -> Result<(), LabError> {
    if options.bins.is_empty() || options.bits_per_key.is_empty() {
        let option = "--bins or --bits-per-key";
        let why = "at least one of each";
        return Err(LabError::Option { option, value: "none".into(), why });
    }
    for &bins in &options.bins {
        if !(1..=BINS_MAX).contains(&bins) {
            return Err(LabError::Option { option: "--bins", value: bins.to_string(), why: "1 to 64 bins" });
        }
    }
    for &bits in &options.bits_per_key {
        if !(bits > 0.0 && bits <= BITS_PER_KEY_MAX) {
            return Err(LabError::Option {
                option: "--bits-per-key",
                value: bits.to_string(),
                why: "more than 0, at most 64",
            });
        }
    }
    Ok(())
}

/// The first and the last number of bins, and not too many: splits for real filters take long with many.
fn coarse(options: &Options) -> Options {
    let ends = options.bins.first().into_iter().chain(options.bins.last());
    let mut bins: Vec<usize> = ends.map(|&bins| bins.min(BINS_QUICK_MAX)).collect();
    bins.dedup();
    Options { bins, ..options.clone() }
}

fn study(options: &Options, bench: &Bench<'_>) -> Result<Study, LabError> {
    let weights = plans::weights()?;
    let paper = paper_size::run(&weights, bench)?;
    let pairs: Vec<(usize, f64)> = options
        .bins
        .iter()
        .flat_map(|&bins| options.bits_per_key.iter().map(move |&bits| (bins, bits)))
        .collect();
    let solved = solve_all(&weights, &pairs, bench)?;
    let ham_cuts = ham_cuts(&weights, &pairs, bench)?;
    let rivals = rival_plans(&weights, options)?;

    let rounds = bench.rounds_or(32, 8);
    // The standard filter is the same whatever the number of bins: it is asked once.
    let asked = |bins: usize, method: Method| if method == Method::Standard { options.bins[0] } else { bins };
    let of_cells = solved.iter().filter(|(bins, _, method, _)| asked(*bins, *method) == *bins);
    let mut tasks: Vec<Task<'_>> = of_cells
        .map(|(bins, bits, method, solved)| Task {
            plan: &solved.plan,
            strangers: strangers(*bits, rounds, bench),
            stream: [*bins as u64, Study::bits(*bits), *method as u64],
        })
        .collect();
    let cells_asked = tasks.len();
    tasks.extend(rivals.iter().enumerate().map(|(number, (bits, _, plan))| Task {
        plan,
        strangers: strangers(*bits, rounds, bench),
        stream: [0, Study::bits(*bits), number as u64],
    }));
    let measured = measure(&weights, &tasks, rounds, bench)?;
    let found = |bins: usize, bits: f64, method: Method| {
        let stream = [asked(bins, method) as u64, Study::bits(bits), method as u64];
        let place = tasks.iter().position(|task| task.stream == stream).expect("every cell was asked");
        measured[place]
    };
    bench.progress.begin("bins: best splits", solved.len() as u64);
    let cells = solved
        .par_iter()
        .map(|(bins, bits, method, solved)| {
            let measured = found(*bins, *bits, *method);
            let cell = cell(&weights, *bins, *bits, *method, solved, measured);
            bench.progress.advance(1);
            cell
        })
        .collect::<Result<_, _>>()?;
    let rivals = rivals
        .iter()
        .zip(&measured[cells_asked..])
        .map(|((bits_per_key, name, plan), &measured)| {
            let standing = plans::standing(&weights, plan)?;
            Ok(Rival { bits_per_key: *bits_per_key, name, standing, measured })
        })
        .collect::<Result<_, LabError>>()?;
    Ok(Study { weights, cells, rivals, ham_cuts, paper, rounds })
}

type Found = (usize, f64, Method, Solved);

fn solve_all(weights: &Weights, pairs: &[(usize, f64)], bench: &Bench<'_>) -> Result<Vec<Found>, LabError> {
    let jobs: Vec<(usize, f64, Method)> =
        pairs.iter().flat_map(|&(bins, bits)| Method::ALL.map(|method| (bins, bits, method))).collect();
    bench.progress.begin("bins: cuts", jobs.len() as u64);
    jobs.par_iter()
        .map(|&(bins, bits, method)| {
            let solved = plans::solve(weights, method, bins, Study::bits(bits), bench.seed)?;
            bench.progress.advance(1);
            Ok((bins, bits, method, solved))
        })
        .collect()
}

/// Looked for where bins are few: the search takes longer than all the rest, and finds what one filter has. The small
/// version looks once.
fn ham_cuts(
    weights: &Weights,
    pairs: &[(usize, f64)],
    bench: &Bench<'_>,
) -> Result<Vec<(usize, f64, f64)>, LabError> {
    let mut few = pairs.to_vec();
    few.retain(|&(bins, _)| bins <= HAM_CUTS_BINS_MAX);
    few.truncate(bench.choose(few.len(), 1));
    bench.progress.begin("bins: cuts for strangers", few.len() as u64);
    few.par_iter()
        .map(|&(bins, bits)| {
            let plan = Plan::best(Goal::AbsentCredit, weights, bins, Study::bits(bits))?;
            let credit = plans::standing(weights, &plan)?.absent_credit;
            bench.progress.advance(1);
            Ok((bins, bits, credit))
        })
        .collect()
}

/// Bins at one common rate, and memory split for strangers, for the first number of bins.
fn rival_plans(weights: &Weights, options: &Options) -> Result<Vec<(f64, &'static str, Plan)>, LabError> {
    let mut rivals = Vec::new();
    let bins = options.bins[0];
    for &bits_per_key in &options.bits_per_key {
        let bits = Study::bits(bits_per_key);
        let even = plans::common_rate(weights, &weights.even_cuts(bins)?, bits)?;
        let exact = seenit_filter::bins::best_cuts(Goal::Invalidation, weights, bins, bits)?.cuts;
        let exact = plans::common_rate(weights, &exact, bits)?;
        let for_strangers = |plan| plans::split_for(Goal::AbsentCredit, weights, plan);
        rivals.push((bits_per_key, tables::EVEN_STRANGERS, for_strangers(&even)?));
        rivals.push((bits_per_key, tables::EXACT_STRANGERS, for_strangers(&exact)?));
        rivals.push((bits_per_key, tables::EVEN_COMMON, even));
        rivals.push((bits_per_key, tables::EXACT_COMMON, exact));
    }
    Ok(rivals)
}

/// How many strangers a plan is asked about in each round.
fn strangers(bits_per_key: f64, rounds: u32, bench: &Bench<'_>) -> u64 {
    let (hits, (least, most)) = bench.choose((HITS, STRANGERS), (HITS_QUICK, STRANGERS_QUICK));
    let all = (hits / ideal_rate(1, bits_per_key)).clamp(least, most);
    (all / f64::from(rounds)).ceil() as u64
}

fn cell(
    weights: &Weights,
    bins: usize,
    bits_per_key: f64,
    method: Method,
    solved: &Solved,
    measured: Measured,
) -> Result<Cell, LabError> {
    let best_cost = plans::split_for(Goal::Invalidation, weights, &solved.plan)?;
    let best_credit = plans::split_for(Goal::AbsentCredit, weights, &solved.plan)?;
    Ok(Cell {
        bins,
        bits_per_key,
        method,
        solved: solved.clone(),
        standing: plans::standing(weights, &solved.plan)?,
        cost_real: plans::real_cost(weights, &solved.plan),
        best: [plans::real_cost(weights, &best_cost), plans::standing(weights, &best_credit)?.absent_credit],
        measured,
    })
}

fn row(study: &Study, cell: &Cell) -> Row {
    let plan = &cell.solved.plan;
    let measured = &cell.measured;
    let standing = &cell.standing;
    let bins = study.weights.bins(plan.cuts());
    let below = |(bin, bits): &(&Bin, &u64)| (**bits as f64) * std::f64::consts::LN_2 < bin.keys as f64;
    let ham_cuts =
        study.ham_cuts.iter().find(|(bins, bits, _)| (*bins, *bits) == (cell.bins, cell.bits_per_key));
    Row {
        bins: cell.bins,
        bits_per_key: cell.bits_per_key,
        method: cell.method,
        cost_formula: cell.solved.cost,
        cost_measured: measured.cost.mean,
        ham_credit: measured.ham_credit.mean,
        seconds: cell.solved.seconds,
        cost_error: measured.cost.error(),
        cost_real: cell.cost_real,
        ham_credit_error: measured.ham_credit.error(),
        ham_credit_real: standing.absent_credit,
        any_fires: measured.any_fires.mean,
        any_fires_real: standing.any_fires,
        member_error: measured.member_error.mean,
        dropped_keys: standing.dropped_keys,
        bins_below_one_probe: bins.iter().zip(plan.bits()).filter(below).count(),
        cost_last_move: cell.solved.trace.last().copied(),
        cost_real_best: cell.best[0],
        ham_credit_best: cell.best[1],
        ham_credit_best_cuts: ham_cuts.map(|&(_, _, credit)| credit),
    }
}
