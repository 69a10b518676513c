//! What is claimed of words, answered.

use super::{Row, Trial, tables};
use crate::account::Finding;

pub(super) fn findings(rows: &[Row], trials: &[Vec<Trial>; 3]) -> Vec<Finding> {
    let [ours, paper, theirs] = rows else { return Vec::new() };
    let behind = |name: &str, points: f64, ours: f64, theirs: f64| {
        Finding::new(
            format!("At {name} ham lost seenit is within {points:.0} points of bogofilter"),
            ours >= theirs - points / 100.0,
            format!("{:.2} % of the spam caught, bogofilter {:.2} %", 100.0 * ours, 100.0 * theirs),
        )
    };
    let error = tables::calibration_error(&trials[0]);
    vec![
        behind("1 %", 2.0, ours.spam_caught_at_001, theirs.spam_caught_at_001),
        behind("0.1 %", 10.0, ours.spam_caught_at_0001, theirs.spam_caught_at_0001),
        Finding::new(
            "Its model has at most a fiftieth of the bytes of bogofilter's database",
            ours.model_bytes * 50 <= theirs.model_bytes,
            format!(
                "{} bytes, 1/{:.1} of {}",
                ours.model_bytes,
                theirs.model_bytes as f64 / ours.model_bytes as f64,
                theirs.model_bytes
            ),
        ),
        Finding::new(
            "Words of both sides catch more than the paper's spam words in as many bits",
            ours.spam_caught_at_001 > paper.spam_caught_at_001,
            format!(
                "{:.2} % against {:.2} % at 1 % ham lost",
                100.0 * ours.spam_caught_at_001,
                100.0 * paper.spam_caught_at_001
            ),
        ),
        Finding::new(
            "Its probability is calibrated to two hundredths",
            error <= 0.02,
            format!("mean difference of said and was: {error:.4}"),
        ),
    ]
}
