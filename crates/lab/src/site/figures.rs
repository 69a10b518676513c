//! The figures of site.

use super::rules::RULES;
use super::{Row, Study};
use crate::figure::{Axis, Figure, Series};

/// All figures.
pub(super) fn all(study: &Study) -> Vec<Figure> {
    vec![caught(study), hit(study)]
}

/// A line for each rule, over shares of hostile reporters, each of them for itself.
fn series(study: &Study, of: impl Fn(&Row) -> f64) -> Vec<Series> {
    let rows = |rule| {
        let is = move |row: &&Row| row.rule == rule && !row.together;
        study.rows.iter().filter(is)
    };
    let line = |rule| rows(rule).map(|row| (100.0 * row.hostile, of(row))).collect::<Vec<_>>();
    RULES.iter().map(|rule| Series::line(rule.name(), line(rule.name()))).collect()
}

fn caught(study: &Study) -> Figure {
    Figure {
        title: "Spam caught against the share of hostile reporters".into(),
        caption: "Copies of spam that the site called spam when they arrived. Hostile reporters revoke spam: where \
                  their word weighs much, it is listed late or not at all."
            .into(),
        x: Axis::linear("hostile reporters, %"),
        y: Axis::linear("spam caught, %"),
        series: series(study, |row| 100.0 * row.spam_caught as f64 / row.spam.max(1) as f64),
    }
}

fn hit(study: &Study) -> Figure {
    Figure {
        title: "Ham hit against the share of hostile reporters".into(),
        caption:
            "Copies of ham that the site called spam when they arrived. With no hostile reporters it is what \
                  careless ones did, and spam that looks like ham."
                .into(),
        x: Axis::linear("hostile reporters, %"),
        y: Axis::linear("ham hit, %"),
        series: series(study, |row| 100.0 * row.ham_hit as f64 / row.ham.max(1) as f64),
    }
}
