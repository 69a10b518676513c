//! Figures 3 to 10 anew, and what the paper has no figure for.

use seenit_filter::counting::RuleName;
use seenit_filter::maths::counting::wrong_share;

use super::measure::Measured;
use super::plan::{ELEMENTS, PLANS, PROBES, Plan, size_name};
use super::simulate::SPAM_THRESHOLD;
use super::tables::{Compared, grouped};
use super::unreported::{THRESHOLD_MAX, Unreported};
use crate::figure::{Axis, Figure, Point, Series};

/// Where reduction rates are drawn: the smallest filters, whose rates rest on most wrong counts.
const REDUCTION_CELLS: u64 = 80_000;

/// Rates below this are not drawn: ten million queries see nothing of them.
const RATE_DRAWN_MIN: f64 = 1e-10;

fn thousands(m: u64) -> f64 {
    m as f64 / 1000.0
}

/// One of Figures 3 to 10: the rates of an experiment by the size of the filter.
pub(super) fn rates(compared: &Compared<'_>, plan: &'static Plan) -> Figure {
    let variants = [RuleName::Intuitive, RuleName::Refined];
    let lines = variants.iter().flat_map(|&rule| PROBES.map(|k| (rule, k))).map(|(rule, k)| {
        let filters = || compared.filters(plan).filter(move |filter| filter.k == k);
        let points = filters().map(|filter| (thousands(filter.m), filter.variant(rule).rate.mean));
        let printed =
            filters().filter_map(|filter| Some((thousands(filter.m), compared.printed(filter, rule)?.mean)));
        Series::line(format!("{}, k = {k}", rule.as_str()), points).printed(printed)
    });
    Figure {
        title: format!("Figure {}: experiment {}, {}", plan.figure, plan.number, plan.title),
        caption: format!(
            "The share of wrong counts by the size of the filter, mean of {} rounds, beside the printed means. The \
             refined variant lies below the intuitive one for every size and k{}.",
            compared.measured.first().map_or(0, |filter| filter.rounds),
            if plan.number == 3 { ", though by less than in any other experiment" } else { "" }
        ),
        x: Axis::linear("cells, in thousands"),
        y: Axis::log("share of wrong counts"),
        series: lines.collect(),
    }
}

/// The intuitive variant against its closed form, where most sizes were run.
pub(super) fn closed_form(compared: &Compared<'_>) -> Option<Figure> {
    let plan = PLANS.iter().rev().find(|plan| compared.filters(plan).next().is_some())?;
    let first = compared.filters(plan).next()?;
    let inserted = (first.inserted as f64 / f64::from(first.rounds)).round() as u64;
    let formulas = PROBES.map(|k| {
        let sizes = (75..=660u64).step_by(15).map(|thousand| thousand * 1000);
        Series::dashed(
            format!("formula, k = {k}"),
            sizes.map(|m| (thousands(m), wrong_share(m, k, inserted))),
        )
        .like(format!("measured, k = {k}"))
    });
    let measured = PROBES.map(|k| {
        let filters = compared.filters(plan).filter(move |filter| filter.k == k);
        Series::points(format!("measured, k = {k}"), filters.map(interval))
    });
    Some(Figure {
        title: format!("The intuitive variant and its closed form, experiment {}", plan.number),
        caption: format!(
            "Lines: (1 - (1 - 1/m)^(k(l - 1)))^k for l = {} inserted elements. Points: what was measured, with 95 % \
             intervals. It holds for every order and every number of insertions, so no simulation is needed; where \
             nothing is drawn, no count was wrong.",
            grouped(inserted)
        ),
        x: Axis::linear("cells, in thousands"),
        y: Axis::log("share of wrong counts"),
        series: formulas.into_iter().chain(measured).collect(),
    })
}

fn interval(filter: &Measured) -> Point {
    let rate = filter.intuitive.rate;
    let half = rate.half_width_95();
    // On an axis of powers of ten an interval cannot reach zero.
    let low = (rate.mean - half).max(rate.mean / 10.0);
    Point { x: thousands(filter.m), y: rate.mean, range: Some((low, rate.mean + half)) }
}

/// How many times fewer errors, experiment by experiment.
pub(super) fn reductions(compared: &Compared<'_>) -> Figure {
    let of_k = |k: u32| {
        let filters =
            compared.measured.iter().filter(move |filter| (filter.m, filter.k) == (REDUCTION_CELLS, k));
        filters.filter_map(|filter| Some((filter, filter.reduction?)))
    };
    let ours = PROBES.map(|k| {
        let points = of_k(k).map(|(filter, reduction)| {
            let factor = (1.96 * reduction.ln_error).exp();
            let range = Some((reduction.value / factor, reduction.value * factor));
            Point { x: f64::from(filter.plan.number), y: reduction.value, range }
        });
        let printed = of_k(k).filter_map(|(filter, _)| {
            let printed = compared.printed.reduction(filter.plan, filter.m, filter.k)?;
            // Beside ours, or one would hide the other.
            Some((f64::from(filter.plan.number) + 0.2, printed))
        });
        Series::points(format!("k = {k}"), points).printed(printed)
    });
    Figure {
        title: format!("How many times fewer errors the refined variant makes, {} cells", size_name(REDUCTION_CELLS)),
        caption: "The reduction rate of each experiment with its 95 % interval; the printed ones stand a little to the \
                  right. Order matters most: 1, 2 and 3 insert the same elements equally often, and shuffling them (3) \
                  takes most of the gain away. Counts that differ much (4, 5, 8) gain more than counts that differ \
                  little (6, 7)."
            .into(),
        x: Axis::linear("experiment"),
        y: Axis::linear("intuitive rate / refined rate"),
        series: ours.into(),
    }
}

/// What an unreported message counts, by formulas and by strangers.
pub(super) fn strangers(found: &Unreported) -> Figure {
    let thresholds = 1..=THRESHOLD_MAX;
    let formula = |name: &str, rate: &dyn Fn(usize) -> f64| {
        let points = thresholds.clone().map(|t| (t as f64, rate(t)));
        Series::dashed(name, points.filter(|(_, rate)| *rate >= RATE_DRAWN_MIN))
    };
    let counted = |name: &str, counted: &[u64]| {
        let points = counted.iter().enumerate().skip(1);
        Series::points(name, points.map(|(t, &number)| (t as f64, number as f64 / found.queries as f64)))
    };
    Figure {
        title: format!("A message nobody reported, k = {}", found.k),
        caption: format!(
            "The chance that it counts t or more. The printed formula falls off a cliff, with n the messages and \
             with n the reports; strangers asked of real filters do what the cells say, (share of cells at t or \
             above)^k. {} \
             queries, so nothing rarer can be seen. At the usual threshold of {SPAM_THRESHOLD} the refined variant is \
             far below the intuitive one. {} messages with 0 to 20 reports.",
            grouped(found.queries),
            grouped(ELEMENTS as u64)
        ),
        x: Axis::linear("threshold t"),
        y: Axis::log("chance to count t or more"),
        series: vec![
            formula("printed, n messages", &|t| found.printed_of_messages(t)),
            formula("printed, n reports", &|t| found.printed_of_reports(t)),
            formula("corrected", &|t| found.corrected(t)),
            counted("strangers, intuitive", &found.intuitive.counted),
            counted("strangers, refined", &found.refined.counted),
            formula("cells, refined", &|t| found.refined.by_share[t]),
        ],
    }
}
