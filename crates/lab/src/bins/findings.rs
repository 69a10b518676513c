//! What came of the claims: the paper's, and ours.

use seenit_filter::bins::Goal;

use super::number::{four, percent};
use super::plans::Method;
use super::{Cell, Options, Study, paper_size, printed, tables};
use crate::account::Finding;
use crate::interval::{critical_z, z};

/// How far the programme's sums may round.
const ROUNDING: f64 = 1e-9;

/// All findings.
pub(super) fn all(study: &Study, options: &Options) -> Vec<Finding> {
    let mut findings = printed::findings();
    findings.extend(paper_size::findings(&study.paper));
    findings.push(never_above(study));
    findings.push(paper_beyond_its_size(study));
    findings.push(gain(study));
    findings.push(limit(study, options));
    findings.push(reach(study));
    findings.push(formulas_of_real_filters(study, options));
    findings.push(strangers(study, options.bins[0]));
    findings.push(split_for_strangers(study, options.bins[0]));
    findings
}

/// `of` a cell's cost over that of another method at the same place, for all places.
fn ratios(study: &Study, above: Method, below: Method) -> Vec<(usize, f64, f64)> {
    let pairs =
        study.of(above).filter_map(|cell| Some((cell, study.cell(cell.bins, cell.bits_per_key, below)?)));
    pairs.map(|(a, b)| (a.bins, a.bits_per_key, a.solved.cost / b.solved.cost)).collect()
}

fn least_and_most(ratios: &[(usize, f64, f64)]) -> (f64, f64) {
    ratios.iter().fold((f64::INFINITY, 0.0), |(low, high), &(_, _, ratio)| (low.min(ratio), high.max(ratio)))
}

fn never_above(study: &Study) -> Finding {
    let annealing = least_and_most(&ratios(study, Method::Annealing, Method::Exact));
    let even = least_and_most(&ratios(study, Method::ClosedForm, Method::Exact));
    Finding::new(
        "The exact optimum is never above annealing nor above the closed form",
        annealing.0 >= 1.0 - ROUNDING && even.0 >= 1.0 - ROUNDING,
        format!(
            "annealing ends {} to {} above it, even cuts with the best memory {} to {}",
            percent((annealing.0 - 1.0).max(0.0)),
            percent(annealing.1 - 1.0),
            percent(even.0 - 1.0),
            percent(even.1 - 1.0),
        ),
    )
}

fn paper_beyond_its_size(study: &Study) -> Finding {
    let all = ratios(study, Method::AnnealingPaper, Method::Standard);
    let better = all.iter().filter(|(_, _, ratio)| *ratio < 0.99).count();
    let mut by_bits: Vec<(f64, f64, f64)> = Vec::new();
    for cell in study.of(Method::AnnealingPaper) {
        let standard = study.standard(cell.bits_per_key);
        let best = cell.solved.cost / standard;
        let last = cell.solved.trace.last().map_or(0.0, |cost| cost / standard);
        match by_bits.iter_mut().find(|(bits, _, _)| *bits == cell.bits_per_key) {
            Some(known) => *known = (known.0, known.1.min(best), known.2.max(last)),
            None => by_bits.push((cell.bits_per_key, best, last)),
        }
    }
    let shown: Vec<String> = by_bits
        .iter()
        .map(|(bits, best, last)| {
            format!("{best:.3} at best and {} at worst after the last move ({bits} bits a key)", four(*last))
        })
        .collect();
    Finding::new(
        "The paper's annealing beats the standard filter at larger sizes too",
        better == all.len(),
        format!(
            "by a hundredth or more in {better} of {} cases; shares of the standard cost, by formula: {}. It starts \
             from even cuts, which with equal memory cost what the standard filter costs, from a temperature that was \
             scaled to another size, and has a hundred moves",
            all.len(),
            shown.join(", ")
        ),
    )
}

/// GM/AM, the gain when every bin has memory.
fn geometric_over_arithmetic(study: &Study, cell: &Cell) -> f64 {
    let bins = study.weights.bins(cell.solved.plan.cuts());
    let keys: f64 = bins.iter().map(|bin| bin.keys as f64).sum();
    let mean =
        |of: &dyn Fn(f64) -> f64| bins.iter().map(|bin| bin.keys as f64 * of(bin.weight)).sum::<f64>() / keys;
    mean(&f64::ln).exp() / mean(&|weight| weight)
}

fn gain(study: &Study) -> Finding {
    let cells: Vec<&Cell> = study
        .of(Method::Exact)
        .chain(study.of(Method::ClosedForm))
        .filter(|cell| cell.solved.plan.bits().iter().all(|&bits| bits > 0))
        .collect();
    let formula = cells.iter().map(|cell| {
        let gain = cell.solved.cost / study.standard(cell.bits_per_key);
        (gain / geometric_over_arithmetic(study, cell) - 1.0).abs()
    });
    let formula = formula.fold(0.0, f64::max);
    let real = cells.iter().filter_map(|cell| {
        let standard = study.cell(cell.bins, cell.bits_per_key, Method::Standard)?;
        Some((cell.cost_real / standard.cost_real / geometric_over_arithmetic(study, cell) - 1.0).abs())
    });
    let real = real.fold(0.0, f64::max);
    Finding::new(
        "Where every bin has memory, the gain over the standard filter is GM/AM of the bins' weights",
        formula < 1e-9,
        format!(
            "by formula to {formula:.0e} in {} plans; with whole bits and integer k, in the bins and in the standard \
             filter, within {}{}",
            cells.len(),
            percent(real),
            measured_gain(study, &cells)
        ),
    )
}

/// The plan whose gain was measured best.
fn measured_gain(study: &Study, cells: &[&Cell]) -> String {
    let measured = cells.iter().filter_map(|cell| {
        let standard = &study.cell(cell.bins, cell.bits_per_key, Method::Standard)?.measured.cost;
        let ours = &cell.measured.cost;
        let share = ours.mean / standard.mean;
        let error = share * (ours.error() / ours.mean).hypot(standard.error() / standard.mean);
        Some((cell, share, error))
    });
    let best = measured.min_by(|a, b| a.2.total_cmp(&b.2));
    best.map_or(String::new(), |(cell, share, error)| {
        format!(
            "; measured {share:.4} +- {error:.4} with {} bins at {} bits a key ({}), where GM/AM is {:.4}",
            cell.bins,
            cell.bits_per_key,
            cell.method.as_str(),
            geometric_over_arithmetic(study, cell)
        )
    })
}

fn limit(study: &Study, options: &Options) -> Finding {
    let bits = options.bits_per_key.iter().copied().fold(0.0, f64::max);
    let each: Vec<usize> = (1..=study.weights.keys()).collect();
    let alone = Goal::Invalidation.ideal_cost(&study.weights.bins(&each), Study::bits(bits) as f64);
    let alone = alone / study.standard(bits);
    let mut exact: Vec<(usize, f64)> = study
        .of(Method::Exact)
        .filter(|cell| cell.bits_per_key == bits)
        .map(|cell| (cell.bins, cell.solved.cost / study.standard(bits)))
        .collect();
    exact.sort_by_key(|&(bins, _)| bins);
    let shown: Vec<String> = exact.iter().map(|(bins, share)| format!("{share:.4} with {bins}")).collect();
    Finding::new(
        "With many bins the gain tends to 2/e for weights uniform on (0, w]",
        (alone / (2.0 / std::f64::consts::E) - 1.0).abs() < 0.01,
        format!(
            "at {bits} bits a key the exact optimum is {} bins, {alone:.4} with a bin for each key; 2/e is {:.4}",
            shown.join(", "),
            2.0 / std::f64::consts::E
        ),
    )
}

fn reach(study: &Study) -> Finding {
    let mut by_bits: Vec<(f64, f64)> = Vec::new();
    for cell in study.of(Method::Exact) {
        let over = cell.cost_real / cell.solved.cost - 1.0;
        match by_bits.iter_mut().find(|(bits, _)| *bits == cell.bits_per_key) {
            Some((_, most)) => *most = most.max(over),
            None => by_bits.push((cell.bits_per_key, over)),
        }
    }
    let shown: Vec<String> =
        by_bits.iter().map(|(bits, over)| format!("{} at {bits}", percent(*over))).collect();
    Finding::new(
        "Filters reach the rate 0.6185^(m/n)",
        by_bits.iter().all(|&(_, over)| over < 0.01),
        format!(
            "the exact plans cost up to {} bits a key more when they are built: below 1.44 bits a key in a bin no \
             filter reaches that rate, and above it k is a whole number",
            shown.join(", ")
        ),
    )
}

fn formulas_of_real_filters(study: &Study, options: &Options) -> Finding {
    // The standard filter was asked once.
    let asked =
        study.cells.iter().filter(|cell| cell.method != Method::Standard || cell.bins == options.bins[0]);
    let (largest, compared, off) =
        tables::agreement(asked.map(|cell| (&cell.measured, cell.cost_real, &cell.standing)));
    Finding::new(
        "Real filters cost what the formula with whole bits and integer k says",
        off == 0,
        format!(
            "{compared} measured costs and ham credits, the largest {largest:.2} standard errors off; {:.2} is the \
             limit for so many",
            critical_z(compared)
        ),
    )
}

fn strangers(study: &Study, bins: usize) -> Finding {
    let shown: Vec<(f64, f64, f64)> = study
        .of(Method::Exact)
        .filter(|cell| cell.bins == bins)
        .filter_map(|cell| {
            let standard = study.cell(bins, cell.bits_per_key, Method::Standard)?;
            Some((cell.bits_per_key, cell.measured.ham_credit.mean, standard.measured.ham_credit.mean))
        })
        .collect();
    let text: Vec<String> = shown
        .iter()
        .map(|(bits, ours, standard)| {
            format!("{} against {} at {bits} bits a key", four(*ours), four(*standard))
        })
        .collect();
    Finding::new(
        "The plan of least cost credits strangers with less than one filter of the same bits does",
        shown.iter().all(|(_, ours, standard)| ours < standard),
        format!(
            "{bins} bins, measured: {}. The paper's cost charges a bin's rate once for every member; a stranger is \
             asked of every bin, and one filter errs less often than {bins}",
            text.join(", ")
        ),
    )
}

fn split_for_strangers(study: &Study, bins: usize) -> Finding {
    let mut shown = Vec::new();
    let mut gains = Vec::new();
    for cell in study.of(Method::Exact).filter(|cell| cell.bins == bins) {
        let at = |name| study.rivals.iter().find(|r| r.name == name && r.bits_per_key == cell.bits_per_key);
        let (Some(split), Some(common)) = (at(tables::EXACT_STRANGERS), at(tables::EXACT_COMMON)) else {
            continue;
        };
        let ours = &cell.measured.ham_credit;
        let theirs = &split.measured.ham_credit;
        let score = z(ours.mean, ours.error(), theirs.mean, theirs.error()).unwrap_or(0.0);
        gains.push(score < critical_z(1));
        let values = [ours.mean, theirs.mean, common.measured.ham_credit.mean].map(four).join(", ");
        shown.push(format!("{values} at {} bits a key", cell.bits_per_key));
    }
    let least = study.ham_cuts.iter().filter(|(count, _, _)| *count == bins);
    let least: Vec<String> = least.map(|&(_, _, credit)| four(credit)).collect();
    Finding::new(
        "Memory split for the least cost is also the best split for strangers",
        gains.iter().all(|&same| same),
        format!(
            "exact cuts into {bins} bins, ham credit with memory split for cost, for strangers, and at one rate: {}. \
             The cuts that are best for strangers alone ({}) put nearly all keys into one bin: strangers alone want no \
             bins",
            shown.join("; "),
            least.join(", ")
        ),
    )
}
