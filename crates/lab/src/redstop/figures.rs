//! Figures 13 to 22 of the paper, drawn from our synthetic traces.

use seenit_filter::retouch::Algorithm;

use super::printed::LIST;
use super::tables::missed_of_list;
use super::{ALGORITHMS, BETA, BETAS, CYCLES, Measured, Rates, Results, Sample, Spread};
use crate::figure::{Axis, Figure, Point, Series};

const SIZE: &str = "bits of the filter, m";

/// A rate by its name: of a sample, and of the list.
type Rate = (&'static str, &'static str, fn(&Rates) -> f64);

const RATES: [Rate; 3] = [
    ("Success", "13", |rates| rates.success),
    ("Stopping short", "15", |rates| rates.short),
    ("Collision", "17", |rates| rates.collision),
];

pub(super) fn all(results: &Results) -> Vec<Figure> {
    let mut figures = Vec::new();
    for &k in &results.k {
        figures.extend(RATES.map(|rate| by_size(results, k, rate)));
        figures.push(by_beta(results, k));
    }
    figures.push(troublesomeness(results));
    let k = results.k[0];
    figures.push(missed(results, k, "Nodes", "16a", |(nodes, _)| nodes));
    figures.push(missed(results, k, "Links", "16b", |(_, links)| links));
    figures.push(cycles(results, k));
    figures.push(improved(results, results.k[results.k.len() - 1]));
    figures
}

fn point(x: f64, spread: Spread) -> Point {
    Point { x, y: spread.mean, range: Some((spread.min, spread.max)) }
}

/// One implementation against the size of the filter.
fn line(
    results: &Results,
    name: String,
    k: u32,
    retouched: Option<(Algorithm, f64)>,
    of: impl Fn(&Measured) -> Spread,
) -> Series {
    let points = results.bits.iter().map(|&bits| point(bits as f64, of(results.filter(k, bits, retouched))));
    Series::line(name, points)
}

/// A level line over all sizes.
fn level(results: &Results, name: &str, at: f64) -> Series {
    let ends = [results.bits[0], results.bits[results.bits.len() - 1]];
    Series::dashed(name, ends.map(|bits| (bits as f64, at)))
}

fn by_size(results: &Results, k: u32, (name, number, rate): Rate) -> Figure {
    let of = |measured: &Measured| measured.of(|sample| rate(&sample.rates));
    let mut series = vec![line(results, "Bloom".into(), k, None, of)];
    series.extend(BETAS.map(|beta| {
        line(results, format!("retouched {:.0} %", beta * 100.0), k, Some((Algorithm::Ratio, beta)), of)
    }));
    series.push(level(results, "list", rate(&results.list[1])));
    Figure {
        title: format!("{name} by size, k = {k} (Figure {number})"),
        caption: format!(
            "Share of traces, synthetic traces. Means over {} hash seeds; bars are the range. Retouched: so many \
             of the false positives removed, the most troublesome first, by Ratio.",
            results.rounds
        ),
        x: Axis::linear(SIZE),
        y: Axis::linear(format!("{} rate", name.to_lowercase())),
        series,
    }
}

fn by_beta(results: &Results, k: u32) -> Figure {
    let line = |(name, _, rate): Rate| {
        let of = |measured: &Measured| measured.of(|sample| rate(&sample.rates));
        let points = results
            .sweep
            .iter()
            .map(|&beta| point(beta, of(results.filter(k, results.pivot(), Some((Algorithm::Ratio, beta))))));
        let bloom = point(0.0, of(results.filter(k, results.pivot(), None)));
        Series::line(name, std::iter::once(bloom).chain(points))
    };
    let mut series = RATES.map(line).to_vec();
    series
        .push(Series::dashed("success of the list", [0.0, 1.0].map(|beta| (beta, results.list[1].success))));
    Figure {
        title: format!("The three rates by beta, m = {}, k = {k} (Figure 18)", results.pivot()),
        caption: format!(
            "Removing more false positives stops fewer traces short and loses more of the stop set. Synthetic \
             traces; means and ranges over {} hash seeds; beta 0 is the Bloom filter.",
            results.rounds
        ),
        x: Axis::linear("beta, the share of false positives removed"),
        y: Axis::linear("share of traces"),
        series,
    }
}

/// How many false positives are on at least so many traces.
fn troublesomeness(results: &Results) -> Figure {
    let mut series: Vec<Series> = results
        .k
        .iter()
        .zip(&results.troublesomeness)
        .map(|(k, seeds)| {
            let all: Vec<u32> = seeds.iter().flatten().copied().collect();
            Series::line(format!("false positives, k = {k}"), at_least(all, results.rounds as f64))
        })
        .collect();
    let learned = &results.world.learned;
    let others = learned.others().map(|node| learned.troublesomeness[node as usize]).collect();
    series.push(Series::line("all nodes not in the set", at_least(others, 1.0)));
    Figure {
        title: format!("Troublesomeness of false positives, m = {} (Figure 14)", results.pivot()),
        caption: "How many are on at least so many of the learning traces (a mean over hash seeds; the paper shows \
                  how many are on exactly so many). The tail is heavy: most are on one trace, a few on every trace \
                  of a monitor, and those few decide."
            .into(),
        x: Axis::log("learning traces it is on, at least"),
        y: Axis::log("nodes"),
        series,
    }
}

/// The complementary distribution, thinned to about ten points a decade.
fn at_least(mut times: Vec<u32>, seeds: f64) -> Vec<(f64, f64)> {
    times.sort_unstable();
    let most = times.last().copied().unwrap_or(1);
    let mut points: Vec<(f64, f64)> = Vec::new();
    let mut at = 1.0f64;
    while at <= f64::from(most) {
        let least = at.ceil();
        let number = times.len() - times.partition_point(|&times| f64::from(times) < least);
        if points.last().is_none_or(|last| last.0 < least) {
            points.push((least, number as f64 / seeds));
        }
        at *= 1.259;
    }
    points
}

fn missed(
    results: &Results,
    k: u32,
    name: &str,
    number: &str,
    which: fn((Spread, Spread)) -> Spread,
) -> Figure {
    let of = |measured: &Measured| which(missed_of_list(measured));
    let mut series = vec![line(results, "Bloom".into(), k, None, of)];
    series.extend(BETAS.map(|beta| {
        line(results, format!("retouched {:.0} %", beta * 100.0), k, Some((Algorithm::Ratio, beta)), of)
    }));
    Figure {
        title: format!("{name} missed, k = {k} (Figure {number})"),
        caption: format!(
            "The share of what the list's round sees and the filter's does not, because traces stop short. \
             Synthetic traces; means and ranges over {} hash seeds.",
            results.rounds
        ),
        x: Axis::linear(SIZE),
        y: Axis::linear(format!("share of {} missed", name.to_lowercase())),
        series,
    }
}

fn cycles(results: &Results, k: u32) -> Figure {
    let numbers = || 1..=CYCLES;
    let of_list = |name: &str, rate: fn(&Rates) -> f64| {
        Series::dashed(
            format!("list, {name}"),
            numbers().map(|cycle| (cycle as f64, rate(&results.list[cycle]))),
        )
    };
    let of_filter = |name: &str, rate: fn(&Rates) -> f64| {
        let points = numbers().map(|cycle| {
            let measured = results.later(k, results.pivot(), Some((Algorithm::Ratio, BETA)), cycle);
            point(cycle as f64, measured.of(|sample: &Sample| rate(&sample.rates)))
        });
        Series::line(format!("filter, {name}"), points)
    };
    let mut series: Vec<Series> = RATES.map(|(name, _, rate)| of_filter(&name.to_lowercase(), rate)).to_vec();
    series.extend(RATES.map(|(name, _, rate)| of_list(&name.to_lowercase(), rate)));
    Figure {
        title: format!("Ten cycles, m = {}, beta 25 %, k = {k} (Figure 19)", results.pivot()),
        caption: format!(
            "List and retouched filter grow old alike. Synthetic traces with the same odds of change between any \
             two cycles; the first has the list at success {:.2}, where the paper has {:.2}.",
            results.list[1].success, LIST[0]
        ),
        x: Axis::linear("cycle after the learning round"),
        y: Axis::linear("share of traces"),
        series,
    }
}

fn improved(results: &Results, k: u32) -> Figure {
    let mut series = Vec::new();
    for beta in [BETAS[0], BETA] {
        for (algorithm, name) in ALGORITHMS.into_iter().zip(["ratio", "improved"]) {
            let of = |measured: &Measured| measured.of(|sample| sample.rates.success);
            series.push(line(
                results,
                format!("{name} {:.0} %", beta * 100.0),
                k,
                Some((algorithm, beta)),
                of,
            ));
        }
    }
    series.push(level(results, "list", results.list[1].success));
    Figure {
        title: format!("Success with Ratio and Improved Ratio, k = {k} (Figure 20)"),
        caption: format!(
            "Exact counts spare members of the stop set. With k = 1 there is nothing to choose and the two are \
             one. Synthetic traces; means and ranges over {} hash seeds.",
            results.rounds
        ),
        x: Axis::linear(SIZE),
        y: Axis::linear("success rate"),
        series,
    }
}
