//! Means, spreads and intervals; when two means differ by more than chance.

use statrs::distribution::{ContinuousCDF, Normal, StudentsT};

/// Mean and standard deviation of some measurements.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many there are.
    pub count: usize,
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation (that of a sample: divided by one less than there are).
    pub sd: f64,
}

impl Summary {
    /// Of these; zeros when there are none.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count.max(1) as f64;
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let sd = if count > 1 { (squares / (count - 1) as f64).sqrt() } else { 0.0 };
        Summary { count, mean, sd }
    }

    /// The standard error of the mean.
    pub fn error(&self) -> f64 {
        self.sd / (self.count.max(1) as f64).sqrt()
    }

    /// Half the width of the 95 % interval of the mean (Student's t).
    pub fn half_width_95(&self) -> f64 {
        half_width(self, 0.95)
    }
}

/// Half the width of the mean's interval at this level of confidence; zero for fewer than two measurements.
fn half_width(summary: &Summary, level: f64) -> f64 {
    let freedom = summary.count.saturating_sub(1) as f64;
    StudentsT::new(0.0, 1.0, freedom).map_or(0.0, |t| t.inverse_cdf(0.5 + level / 2.0) * summary.error())
}

/// By how many combined standard errors two means differ; `None` when neither has any spread.
pub fn z(ours: f64, our_error: f64, theirs: f64, their_error: f64) -> Option<f64> {
    let error = our_error.hypot(their_error);
    (error > 0.0).then(|| (ours - theirs) / error)
}

/// The z that one of `comparisons` fair comparisons exceeds with a chance of 1 % (Sidak): what a table is judged by,
/// since of a hundred honest values one is always beyond the usual two or three.
pub fn critical_z(comparisons: usize) -> f64 {
    let each = 1.0 - 0.99f64.powf(1.0 / comparisons.max(1) as f64);
    Normal::standard().inverse_cdf(1.0 - each / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fifteen_runs_have_the_t_of_the_books() {
        let values: Vec<f64> = (0..15).map(f64::from).collect();
        let summary = Summary::of(&values);
        assert_eq!((summary.mean, summary.sd), (7.0, 20f64.sqrt()));
        // t for 14 degrees of freedom and 95 %: 2.1448.
        assert!((summary.half_width_95() / summary.error() - 2.1448).abs() < 1e-4);
    }

    #[test]
    fn more_comparisons_take_a_larger_z() {
        assert!((critical_z(1) - 2.5758).abs() < 1e-4);
        assert!(critical_z(100) > 3.8 && critical_z(100) < 3.95, "{}", critical_z(100));
    }

    #[test]
    fn nothing_measured_is_no_interval() {
        assert_eq!(Summary::of(&[]), Summary { count: 0, mean: 0.0, sd: 0.0 });
        assert_eq!(Summary::of(&[3.0]).half_width_95(), 0.0);
        assert_eq!(z(1.0, 0.0, 2.0, 0.0), None);
    }
}
