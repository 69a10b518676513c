//! The figures: the curves of the three filters, and probabilities beside what came true.

use seenit_words::roc::reliability;

use super::tables::said;
use super::{NAMES, Trial};
use crate::figure::{Axis, Figure, Series};

/// Shares of ham lost at which the curves are drawn.
const SHARES: [f64; 14] =
    [0.0005, 0.001, 0.0015, 0.002, 0.003, 0.005, 0.007, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2];

pub(super) fn figures(trials: &[Vec<Trial>; 3]) -> Vec<Figure> {
    vec![curves(trials), probabilities(&trials[0])]
}

fn curves(trials: &[Vec<Trial>; 3]) -> Figure {
    let mean = |trials: &[Trial], share: f64| {
        trials.iter().map(|trial| trial.roc.caught_at(share)).sum::<f64>() / trials.len() as f64
    };
    let series = NAMES.iter().zip(trials);
    let series =
        series.map(|(name, trials)| Series::line(*name, SHARES.map(|share| (share, mean(trials, share)))));
    Figure {
        title: "Spam caught against ham lost".into(),
        caption:
            "Means over the half splits. A threshold takes every message at or above it, so no tie is parted."
                .into(),
        x: Axis::log("share of ham lost"),
        y: Axis::linear("share of spam caught"),
        series: series.collect(),
    }
}

fn probabilities(trials: &[Trial]) -> Figure {
    let rows = reliability(&said(trials));
    Figure {
        title: "Probability said, and share that was spam".into(),
        caption: "Messages of the judged halves, in ranges of seenit's probability; a calibrated one is on the line."
            .into(),
        x: Axis::linear("mean probability said"),
        y: Axis::linear("share that was spam"),
        series: vec![
            Series::points("seenit", rows.iter().map(|row| (row.said, row.was))),
            Series::dashed("calibrated", [(0.0, 0.0), (1.0, 1.0)]),
        ],
    }
}
