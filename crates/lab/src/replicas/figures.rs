//! The figures of replicas.

use super::Study;
use super::curves::{ALL_HAM, HAM_LEARNT, Hits};
use super::kinds::SIGHTINGS;
use super::memory::{RULES, SHIPPED};
use crate::figure::{Axis, Figure, Series};

/// All figures.
pub(super) fn all(study: &Study) -> Vec<Figure> {
    vec![caught(study), trade(study), ham_known(study), kinds(study)]
}

fn points(curve: &[Hits], of: impl Fn(&Hits) -> f64) -> Vec<(f64, f64)> {
    (1..).zip(curve).map(|(shingles, hits)| (f64::from(shingles), of(hits))).collect()
}

fn caught(study: &Study) -> Figure {
    let series = RULES.iter().enumerate().map(|(number, rule)| {
        let curve = points(&study.rounds[0].curves[ALL_HAM][number], |hits| hits.spam as f64);
        if number == SHIPPED { Series::points(*rule, curve) } else { Series::dashed(*rule, curve) }
    });
    Figure {
        title: "Spam caught by each rule".into(),
        caption: "All ham learnt. What ships lies on ratio, its exact dictionary, and below any; same finds \
                  one earlier message, the others may find their shingles in several."
            .into(),
        x: Axis::linear("matching shingles, at least"),
        y: Axis::linear("spam caught on arrival"),
        series: series.collect(),
    }
}

fn trade(study: &Study) -> Figure {
    let series = RULES.iter().enumerate().map(|(number, rule)| {
        let curve = &study.rounds[0].curves[ALL_HAM][number];
        let points = curve.iter().map(|hits| (hits.ham as f64 + 0.5, hits.spam as f64));
        Series::line(*rule, points.collect::<Vec<_>>())
    });
    Figure {
        title: "Spam caught against ham hit".into(),
        caption: "All ham learnt; each mark is a threshold, 32 at the lower left. Ham is drawn half a message to the \
                  right, so that none has a place. Higher and further left is better."
            .into(),
        x: Axis::log("ham hit, plus a half"),
        y: Axis::linear("spam caught on arrival"),
        series: series.collect(),
    }
}

fn ham_known(study: &Study) -> Figure {
    let series = HAM_LEARNT.iter().enumerate().map(|(share, learnt)| {
        let curve = points(&study.rounds[0].curves[share][SHIPPED], |hits| hits.ham as f64);
        Series::line(format!("{learnt} of the ham known"), curve)
    });
    Figure {
        title: "Ham hit by the rule that ships".into(),
        caption: "The more of the ham is known to be good, the lower a threshold is safe. Where a line ends no ham \
                  was hit."
            .into(),
        x: Axis::linear("matching shingles, at least"),
        y: Axis::log("ham hit"),
        series: series.collect(),
    }
}

fn kinds(study: &Study) -> Figure {
    let series = study.rounds[0].kinds.iter().filter(|of| of.hits[0].spam > 0).map(|of| {
        let points = SIGHTINGS.iter().zip(&of.hits).map(|(&n, hits)| (f64::from(n), hits.spam as f64));
        Series::line(of.kind.as_str(), points.collect::<Vec<_>>())
    });
    Figure {
        title: "Spam caught after so many sightings, by kind".into(),
        caption: "Ham hit is in the table: url1 and razor-e8 name hosts that good mail links to as well."
            .into(),
        x: Axis::log("earlier sightings, at least"),
        y: Axis::linear("spam caught on arrival"),
        series: series.collect(),
    }
}
