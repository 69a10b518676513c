//! Ours beside the printed mean: by how much they differ, as a z that allows for few runs.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

use super::printed::{Mean, RUNS};
use crate::interval::Summary;

/// By how many combined standard errors they differ. Both errors come from a few runs, so the difference follows
/// Student's t (Welch); this is the z that is as unlikely. `None` with fewer than two runs, or without a printed
/// interval.
pub(super) fn z(ours: &Summary, printed: &Mean) -> Option<f64> {
    if ours.count < 2 || printed.half == 0.0 {
        return None;
    }
    let our_square = ours.error().powi(2);
    let their_square = printed.error().powi(2);
    let each = our_square.powi(2) / (ours.count - 1) as f64 + their_square.powi(2) / (RUNS - 1) as f64;
    let freedom = (our_square + their_square).powi(2) / each;
    let t = (ours.mean - printed.value) / (our_square + their_square).sqrt();
    Some(normal(t, freedom))
}

/// The z that is exceeded as rarely as this t.
fn normal(t: f64, freedom: f64) -> f64 {
    // The lower tail, where small odds are not lost to rounding.
    let odds = StudentsT::new(0.0, 1.0, freedom).map_or(0.5, |student| student.cdf(-t.abs()));
    let size = -Normal::standard().inverse_cdf(odds.max(f64::MIN_POSITIVE));
    size.copysign(t)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_runs_make_a_difference_count_less() {
        // t of 2.1448 with 14 degrees of freedom is the bound of 95 %, and so is z of 1.96.
        assert!((normal(2.1448, 14.0) - 1.96).abs() < 1e-3);
        assert!((normal(-2.1448, 14.0) + 1.96).abs() < 1e-3);
        assert!((normal(3.0, 1e6) - 3.0).abs() < 1e-3);
    }

    #[test]
    fn nothing_to_compare_is_no_z() {
        let printed = Mean { value: 100.0, half: 2.0 };
        assert_eq!(z(&Summary::of(&[100.0]), &printed), None);
        assert_eq!(z(&Summary::of(&[1.0, 2.0]), &Mean { half: 0.0, ..printed }), None);
        let near = z(&Summary::of(&[99.0, 101.0, 100.0]), &printed).expect("comparable");
        assert!(near.abs() < 0.1, "{near}");
    }
}
