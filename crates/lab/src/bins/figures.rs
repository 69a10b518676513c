//! The figures: Figs. 5 to 7 run anew, and the fair problem.

use seenit_filter::bins::{Goal, best_cuts, compare};
use seenit_filter::maths::bins::{ideal_rate, real_rate};

use super::measure::Measured;
use super::paper_size::PaperSize;
use super::plans::{Method, solve};
use super::printed::TABLE_ONE;
use super::{Options, PAPER_BITS, PAPER_KEYS, Study, plans, tables};
use crate::bench::LabError;
use crate::figure::{Axis, Figure, Point, Series};
use crate::interval::Summary;

/// Numbers of bins at which curves over bins are drawn.
const BINS_DRAWN: [usize; 12] = [1, 2, 3, 4, 6, 8, 10, 12, 16, 24, 40, 64];

/// As far as the rows go, and to twelve at least.
fn drawn(options: &Options) -> impl Iterator<Item = usize> {
    let most = options.bins.iter().copied().fold(12, usize::max);
    BINS_DRAWN.into_iter().filter(move |&bins| bins <= most)
}

/// All figures.
pub(super) fn all(study: &Study, options: &Options) -> Result<Vec<Figure>, LabError> {
    let mut figures: Vec<Figure> =
        study.paper.iter().zip(["5", "6", "7"]).map(|(one, number)| by_move(one, number)).collect();
    figures.push(rates_of_table_one());
    let bins = options.bins[0];
    figures.push(cost_by_bits(study, options, bins));
    figures.push(cost_by_bins(study, options)?);
    figures.push(ham_credit_by_bits(study, bins));
    figures.push(notice_by_bins(study, options)?);
    figures.extend(excess_by_move(study, bins));
    Ok(figures)
}

fn by_move(one: &PaperSize, number: &str) -> Figure {
    let moves = one.trace.len().max(1) as f64;
    let level = |name: &str, share: f64| Series::dashed(name, [(1.0, share), (moves, share)]);
    let trace = one.trace.iter().zip(1u32..).map(|(&cost, step)| (f64::from(step), cost));
    let runs = Summary::of(&one.runs);
    let low = one.runs[0];
    let high = one.runs[one.runs.len() - 1];
    Figure {
        title: format!("Fig. {number} run anew: {} bins", one.bins),
        caption: format!(
            "The paper's annealing at 1,024 bits: cost of its bins after each move, one run; the point is the mean \
             after 100 moves, with the range of {} runs. Moves shift keys by the hundred at random and the best cuts \
             are never met; with equal memory they lie at the lower broken line, with the best memory lower still.",
            one.runs.len()
        ),
        x: Axis::linear("move"),
        y: Axis::linear("cost, share of the standard filter's"),
        series: vec![
            Series::dashed("standard filter", [(1.0, 1.0), (moves, 1.0)]),
            Series::dashed("one run", trace),
            level("as printed", one.printed),
            level("best, equal memory", one.equal),
            level("best", one.exact),
            Series::points("all runs", [Point { x: moves, y: runs.mean, range: Some((low, high)) }]),
        ],
    }
}

fn rates_of_table_one() -> Figure {
    let printed = TABLE_ONE.iter().flat_map(|row| {
        let rates = row.rates.iter().filter_map(|rate| rate.parse::<f64>().ok());
        row.keys.iter().map(|&keys| keys as f64).zip(rates)
    });
    let keys = || (1..=26u64).map(|i| 20 * i);
    let share = PAPER_BITS / 10;
    Figure {
        title: "The rates of Table 1".into(),
        caption: "The printed rates lie on the curve of bins with 1,024 bits each. The costs printed beside them are \
                  those of bins with a tenth of it, whose rates by formula are far higher, and those of real filters, \
                  which need a whole probe, higher still."
            .into(),
        x: Axis::linear("keys in the bin"),
        y: Axis::linear("false positive rate"),
        series: vec![
            Series::dashed("1024 bits", keys().map(|n| (n as f64, ideal_rate(n, PAPER_BITS as f64))))
                .printed(printed),
            Series::dashed("102 bits", keys().map(|n| (n as f64, ideal_rate(n, share as f64)))),
            Series::dashed("102 bits, real", keys().map(|n| (n as f64, real_rate(n, share)))),
        ],
    }
}

/// Mean and two standard errors on either side, as a share of `whole`.
fn point(x: f64, seen: &Summary, whole: f64) -> Point {
    let mean = seen.mean / whole;
    let half = 2.0 * seen.error() / whole;
    Point { x, y: mean, range: Some((mean - half, mean + half)) }
}

fn cost_by_bits(study: &Study, options: &Options, bins: usize) -> Figure {
    let mut series = Vec::new();
    let methods = [Method::AnnealingPaper, Method::ClosedForm, Method::Exact];
    for method in methods {
        let cells = || study.of(method).filter(|cell| cell.bins == bins);
        let share = |cell: &super::Cell| cell.solved.cost / study.standard(cell.bits_per_key);
        series.push(Series::dashed(
            format!("{}, formula", method.as_str()),
            cells().map(|cell| (cell.bits_per_key, share(cell))),
        ));
        let measured = cells().filter_map(|cell| {
            let standard = study.cell(bins, cell.bits_per_key, Method::Standard)?;
            Some(point(cell.bits_per_key, &cell.measured.cost, standard.cost_real))
        });
        let name = method.as_str();
        series.push(Series::points(format!("{name}, measured"), measured).like(format!("{name}, formula")));
    }
    let ends: Vec<f64> = options.bits_per_key.clone();
    series.push(Series::dashed("standard", ends.iter().map(|&bits| (bits, 1.0))));
    Figure {
        title: format!("Cost at equal total bits, {bins} bins"),
        caption: "As shares of the standard filter's cost: by the paper's formula (broken lines) and of real filters, \
                  measured, against the real standard filter (points, two standard errors). The best split gains a \
                  quarter where memory is not too short. The paper's annealing starts from even cuts, which with \
                  equal memory cost what the standard filter costs, and beyond its own size finds nothing better."
            .into(),
        x: Axis::linear("bits a key"),
        y: Axis::linear("cost, share of the standard filter's"),
        series,
    }
}

fn cost_by_bins(study: &Study, options: &Options) -> Result<Figure, LabError> {
    // The usual size if it is there: with more memory there are few hits to measure by.
    let usual = options.bits_per_key.iter().copied().find(|&bits| bits == 10.0);
    let bits = usual.unwrap_or(options.bits_per_key[0]);
    let total = Study::bits(bits);
    let standard = study.standard(bits);
    let mut curves = [Vec::new(), Vec::new()];
    for bins in drawn(options) {
        let even = study.weights.bins(&study.weights.even_cuts(bins)?);
        curves[0].push((bins as f64, Goal::Invalidation.ideal_cost(&even, total as f64) / standard));
        let exact = best_cuts(Goal::Invalidation, &study.weights, bins, total)?;
        curves[1].push((bins as f64, exact.cost / standard));
    }
    let measured = study.of(Method::Exact).filter(|cell| cell.bits_per_key == bits).filter_map(|cell| {
        let standard = study.cell(cell.bins, bits, Method::Standard)?;
        Some(point(cell.bins as f64, &cell.measured.cost, standard.cost_real))
    });
    let limit = 2.0 / std::f64::consts::E;
    let most = drawn(options).last().map_or(1.0, |bins| bins as f64);
    let [even, exact] = curves;
    Ok(Figure {
        title: format!("Cost by the number of bins, {bits} bits a key"),
        caption: format!(
            "By formula, as shares of the standard filter's cost; points are real filters, measured, against the real \
             standard filter. Weights uniform down to 0 can gain no more than 2/e ({limit:.4}); ten bins have most of \
             it.",
        ),
        x: Axis::linear("bins"),
        y: Axis::linear("cost, share of the standard filter's"),
        series: vec![
            Series::line("even cuts", even),
            Series::line("exact", exact),
            Series::points("exact, measured", measured).like("exact"),
            Series::dashed("2/e", [(1.0, limit), (most, limit)]),
        ],
    })
}

fn ham_credit_by_bits(study: &Study, bins: usize) -> Figure {
    let of = |bits: f64, measured: &Measured| point(bits, &measured.ham_credit, 1.0);
    let method = |method: Method| {
        study
            .of(method)
            .filter(|cell| cell.bins == bins)
            .map(|cell| of(cell.bits_per_key, &cell.measured))
            .collect::<Vec<_>>()
    };
    let rival = |name: &str| {
        let rivals = study.rivals.iter().filter(|rival| rival.name == name);
        rivals.map(|rival| of(rival.bits_per_key, &rival.measured)).collect::<Vec<_>>()
    };
    Figure {
        title: format!("What strangers are credited with, {bins} bins"),
        caption: "Measured on real filters. No bins at all are best for strangers, since only one filter can err; of \
                  the bins, those whose memory was split for strangers. Memory split for the paper's cost credits \
                  strangers with more than one common rate does where cuts are exact."
            .into(),
        x: Axis::linear("bits a key"),
        y: Axis::log("weight credited to a stranger"),
        series: vec![
            Series::line("standard", method(Method::Standard)),
            Series::line("annealing-paper", method(Method::AnnealingPaper)),
            Series::line("closed-form", method(Method::ClosedForm)),
            Series::line("exact", method(Method::Exact)),
            Series::line("exact cuts, one rate", rival(tables::EXACT_COMMON)),
            Series::line("exact cuts, for strangers", rival(tables::EXACT_STRANGERS)),
        ],
    }
}

/// Ten bits a key: the usual size, where both errors matter.
fn notice_by_bins(study: &Study, options: &Options) -> Result<Figure, LabError> {
    let bits = 10 * PAPER_KEYS;
    let mut curves = [const { Vec::new() }; 4];
    for bins in drawn(options) {
        let plan = solve(&study.weights, Method::ClosedForm, bins, bits, 0)?.plan;
        let plan = plans::split_for(Goal::AbsentCredit, &study.weights, &plan)?;
        let both = compare(&study.weights, &plan)?;
        let x = bins as f64;
        curves[0].push((x, both.bin_filter.absent_credit));
        curves[1].push((x, both.common_rate.absent_credit));
        curves[2].push((x, both.bin_filter.deviation));
        curves[3].push((x, both.bin_filter.member_error()));
    }
    let [split, common, deviation, member] = curves;
    Ok(Figure {
        title: "What more bins buy and cost, 10 bits a key".into(),
        caption: "Real filters, by formula; even cuts, memory split for strangers. More bins know a member's weight \
                  better, but each is one more filter that can err for strangers and members alike: beyond eight or so \
                  bins the member error rises again."
            .into(),
        x: Axis::linear("bins"),
        y: Axis::log("weight"),
        series: vec![
            Series::line("ham credit", split),
            Series::line("ham credit, one rate", common),
            Series::line("member error", member),
            Series::dashed("member error, own bin", deviation),
        ],
    })
}

/// How far annealing is above the exact optimum, move by move.
fn excess_by_move(study: &Study, bins: usize) -> Option<Figure> {
    let mut series = Vec::new();
    for exact in study.of(Method::Exact).filter(|cell| cell.bins == bins) {
        let run = study.cell(bins, exact.bits_per_key, Method::Annealing)?;
        let mut least = f64::INFINITY;
        let mut points = Vec::new();
        for (&cost, step) in run.solved.trace.iter().zip(1u32..) {
            least = least.min(cost);
            // A point for every tenth part of a move's number: enough for an axis in powers of ten.
            if step < 10 || step % (step / 10) == 0 {
                points.push((f64::from(step), least / exact.solved.cost - 1.0));
            }
        }
        series.push(Series::dashed(format!("{} bits a key", exact.bits_per_key), points));
    }
    Some(Figure {
        title: format!("Annealing on its way to the exact optimum, {bins} bins"),
        caption: "The least cost met so far above the exact optimum, as a share of it; annealing scaled to its cost, \
                  best memory for the cuts. It comes within a hundredth of a per cent after about ten thousand \
                  moves, and never below the optimum."
            .into(),
        x: Axis::log("move"),
        y: Axis::log("share above the exact optimum"),
        series,
    })
}
