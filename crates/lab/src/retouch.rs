//! What it costs to take false positives out of a filter: Tables I to IV and Figures 5, 6, 8 to 11 of Donnet, Baynat
//! and Friedman, "Retouched Bloom filters".
//!
//! A run has a filter, its members and its false positives of its own; every algorithm retouches a copy of that filter,
//! so algorithms are compared on the same ground. `v_B` is taken both ways: over all known false positives
//! (`f_p`), which gives the printed tables, and over those to be removed (`b`), as the paper's pseudo-code says.

mod blind;
mod compare;
mod figures;
mod findings;
mod lists;
mod printed;
mod tables;
mod world;

use rayon::prelude::*;
use seenit_filter::retouch::{Algorithm, Weighing};
use serde::Serialize;

use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};
use crate::draw;
use crate::interval::Summary;

use self::blind::Blind;
use self::lists::Lists;
use self::printed::Printed;
use self::world::{Size, World};

/// The first step of the path of every stream of this experiment.
const STREAM: u64 = 2;

/// The shares of the false positives that are removed.
const BETAS: [f64; 8] = [0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 0.75, 1.0];

/// The paper's runs; the quick ones are more, because each is a tenth of the size and scatters more.
const RUNS: u32 = 15;
const RUNS_QUICK: u32 = 20;

/// What can be chosen: nothing but what every experiment takes.
#[derive(Clone, Debug, Default)]
pub struct Options {}

/// One algorithm, one reading of `v_B` and one share: means over the runs. `half` is half of a 95 % interval.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Row {
    /// `random`, `minimum-fn`, and so on.
    pub algorithm: &'static str,
    /// The set that `v_B` counts: `f_p`, `b`, or nothing where the algorithm does not weigh false positives.
    pub v_b: Option<&'static str>,
    /// The share of the false positives that was to be removed.
    pub beta: f64,
    /// False positives that were to be removed.
    pub b: f64,
    /// False positives that disappeared besides.
    pub b_side: f64,
    /// Both.
    pub b_total: f64,
    /// Members lost.
    pub a_lost: f64,
    /// Bits cleared.
    pub bits_cleared: f64,
    /// The share of false positives that disappeared, divided by the share of members that were lost.
    pub chi: f64,
    /// Runs that were averaged.
    pub runs: usize,
    /// Members in each run: the paper's, or a tenth of them in the quick version.
    pub members: usize,
    /// Half-width of `b`.
    pub b_half: f64,
    /// Half-width of `b_side`.
    pub b_side_half: f64,
    /// Half-width of `b_total`.
    pub b_total_half: f64,
    /// Half-width of `a_lost`.
    pub a_lost_half: f64,
    /// Half-width of `bits_cleared`.
    pub bits_cleared_half: f64,
    /// Half-width of `chi`.
    pub chi_half: f64,
    /// As printed; nothing where nothing is printed, or where the size is not the paper's.
    pub paper_b: Option<f64>,
    /// Printed half-width.
    pub paper_b_half: Option<f64>,
    /// As printed.
    pub paper_b_side: Option<f64>,
    /// Printed half-width.
    pub paper_b_side_half: Option<f64>,
    /// As printed, misprints included.
    pub paper_b_total: Option<f64>,
    /// Printed half-width.
    pub paper_b_total_half: Option<f64>,
    /// As printed.
    pub paper_a_lost: Option<f64>,
    /// Printed half-width.
    pub paper_a_lost_half: Option<f64>,
}

/// An algorithm, a reading of `v_B`, and which of [`BETAS`].
#[derive(Clone, Copy, Debug, PartialEq)]
struct Case {
    algorithm: Algorithm,
    weighing: Option<Weighing>,
    beta: usize,
}

impl Case {
    /// Every one, in the order of the rows.
    fn all() -> Vec<Case> {
        let readings = |algorithm: Algorithm| match algorithm.weighs_false_positives() {
            true => vec![Some(Weighing::AllKnown), Some(Weighing::Removed)],
            false => vec![None],
        };
        let mut all = Vec::new();
        for algorithm in Algorithm::ALL {
            for weighing in readings(algorithm) {
                all.extend((0..BETAS.len()).map(|beta| Case { algorithm, weighing, beta }));
            }
        }
        all
    }

    /// The name of the set that `v_B` counts.
    fn v_b(&self) -> Option<&'static str> {
        self.weighing.map(|weighing| match weighing {
            Weighing::AllKnown => "f_p",
            Weighing::Removed => "b",
        })
    }

    /// What the paper prints for it: nothing for the improved algorithms, nor where `v_B` is not the tables'.
    fn printed(&self) -> Option<&'static Printed> {
        if self.weighing == Some(Weighing::Removed) {
            return None;
        }
        Printed::of(self.algorithm, BETAS[self.beta])
    }
}

/// What a case gave, one value a run.
struct Measured {
    case: Case,
    b: Vec<f64>,
    b_side: Vec<f64>,
    b_total: Vec<f64>,
    a_lost: Vec<f64>,
    bits_cleared: Vec<f64>,
    /// `df_P`.
    gone: Vec<f64>,
    /// `df_N`.
    lost: Vec<f64>,
    chi: Vec<f64>,
}

/// Everything that was measured.
struct Results {
    size: Size,
    runs: usize,
    cases: Vec<Measured>,
    /// False positives of each run's filter, as a share of the strangers.
    rate: Summary,
    blind: Vec<Blind>,
    lists: Vec<Lists>,
}

impl Results {
    /// What a case gave.
    fn of(&self, algorithm: Algorithm, weighing: Weighing, beta: usize) -> &Measured {
        let weighing = algorithm.weighs_false_positives().then_some(weighing);
        let wanted = Case { algorithm, weighing, beta };
        self.cases.iter().find(|measured| measured.case == wanted).expect("all cases were measured")
    }

    /// The mean of chi over all runs; `v_B` counts all false positives.
    fn chi(&self, algorithm: Algorithm, beta: usize) -> f64 {
        Summary::of(&self.of(algorithm, Weighing::AllKnown, beta).chi).mean
    }
}

/// Runs the experiment.
pub fn run(_options: &Options, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    let size = bench.choose(Size::PAPER, Size::TENTH);
    let runs = bench.rounds_or(RUNS, RUNS_QUICK) as usize;
    let results = measure(size, runs, bench)?;
    let rows = results.cases.iter().map(|measured| row(measured, &results)).collect();
    let account = Account {
        tables: tables::all(&results),
        figures: figures::all(&results),
        findings: findings::all(&results),
    };
    Ok(Outcome { rows, account })
}

fn measure(size: Size, runs: usize, bench: &Bench<'_>) -> Result<Results, LabError> {
    let cases = Case::all();
    bench.progress.begin("retouching", (runs * cases.len()) as u64);
    let of_runs = (0..runs)
        .into_par_iter()
        .map(|run| {
            let world = World::new(size, &mut draw::stream(bench.seed, &[STREAM, 0, run as u64]))?;
            let seed = |case: usize| draw::stream(bench.seed, &[STREAM, 1, run as u64, case as u64]).next();
            let retouched = cases.par_iter().enumerate().map(|(number, case)| {
                let retouched = world.retouched(case, seed(number));
                bench.progress.advance(1);
                retouched
            });
            let retouched = retouched.collect::<Result<Vec<_>, LabError>>()?;
            let blind = blind::clear(&world, draw::stream(bench.seed, &[STREAM, 2, run as u64]).next())?;
            Ok((world.rate(), retouched, blind))
        })
        .collect::<Result<Vec<_>, LabError>>()?;
    let measured = cases.iter().enumerate().map(|(number, &case)| {
        let of = |what: fn(&world::Retouching) -> f64| {
            of_runs.iter().map(|(_, retouched, _)| what(&retouched[number])).collect::<Vec<f64>>()
        };
        Measured {
            case,
            b: of(|one| one.b),
            b_side: of(|one| one.b_side),
            b_total: of(|one| one.b + one.b_side),
            a_lost: of(|one| one.a_lost),
            bits_cleared: of(|one| one.bits_cleared),
            gone: of(|one| one.gone),
            lost: of(|one| one.lost),
            chi: of(|one| one.gone / one.lost),
        }
    });
    let blind_runs: Vec<_> = of_runs.iter().map(|(_, _, blind)| blind.as_slice()).collect();
    Ok(Results {
        size,
        runs,
        cases: measured.collect(),
        rate: Summary::of(&of_runs.iter().map(|(rate, ..)| *rate).collect::<Vec<_>>()),
        blind: blind::summed(&blind_runs, size),
        lists: lists::measure(size, bench)?,
    })
}

fn row(measured: &Measured, results: &Results) -> Row {
    let of = |values: &[f64]| {
        let summary = Summary::of(values);
        (summary.mean, summary.half_width_95())
    };
    let ((b, b_half), (b_side, b_side_half)) = (of(&measured.b), of(&measured.b_side));
    let ((b_total, b_total_half), (a_lost, a_lost_half)) = (of(&measured.b_total), of(&measured.a_lost));
    let ((bits_cleared, bits_cleared_half), (chi, chi_half)) =
        (of(&measured.bits_cleared), of(&measured.chi));
    let printed = measured.case.printed().filter(|_| results.size == Size::PAPER);
    let paper = |of: fn(&Printed) -> printed::Mean| printed.map(of);
    let (mean, half) = (|mean: printed::Mean| mean.value, |mean: printed::Mean| mean.half);
    Row {
        algorithm: measured.case.algorithm.as_str(),
        v_b: measured.case.v_b(),
        beta: BETAS[measured.case.beta],
        b,
        b_side,
        b_total,
        a_lost,
        bits_cleared,
        chi,
        runs: results.runs,
        members: results.size.members,
        b_half,
        b_side_half,
        b_total_half,
        a_lost_half,
        bits_cleared_half,
        chi_half,
        paper_b: paper(|printed| printed.b).map(mean),
        paper_b_half: paper(|printed| printed.b).map(half),
        paper_b_side: paper(|printed| printed.b_side).map(mean),
        paper_b_side_half: paper(|printed| printed.b_side).map(half),
        paper_b_total: paper(|printed| printed.b_total).map(mean),
        paper_b_total_half: paper(|printed| printed.b_total).map(half),
        paper_a_lost: paper(|printed| printed.a_lost).map(mean),
        paper_a_lost_half: paper(|printed| printed.a_lost).map(half),
    }
}
