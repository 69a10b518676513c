//! Tables I to IV of "Retouched Bloom filters", as printed: means of 15 runs, and half of their 95 % intervals.

use std::sync::LazyLock;

use seenit_filter::retouch::Algorithm;

/// Runs behind a printed mean.
pub(super) const RUNS: usize = 15;

/// From half of a 95 % interval back to a standard error: Student's t with 14 degrees of freedom.
const T_14: f64 = 2.1448;

/// Means are printed as whole numbers: the error of rounding is uniform on a width of one.
const ROUNDING: f64 = 0.2887;

/// What Improved Minimum FN is said to gain in chi, in per cent: at beta 1 % and at 75 %.
pub(super) const GAINS: [(f64, f64); 2] = [(0.01, 66.048), (0.75, 84.129)];

/// By how many per cent chi of Ratio is said to fall from beta 1 % to 100 %.
pub(super) const FALL: f64 = 31.3;

static TABLES: LazyLock<Vec<(&'static str, f64, Printed)>> = LazyLock::new(|| {
    let lines = include_str!("printed.tsv").lines().skip(1);
    lines.map(|line| parse(line).expect("the table of this file is well formed")).collect()
});

/// A printed mean with its interval.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mean {
    pub(super) value: f64,
    /// Half of the 95 % interval; zero where none is printed.
    pub(super) half: f64,
}

impl Mean {
    /// Its standard error, rounding included.
    pub(super) fn error(&self) -> f64 {
        (self.half / T_14).hypot(ROUNDING)
    }

    /// The mean of a world of another size, where numbers go with the size.
    pub(super) fn scaled(&self, scale: f64) -> Mean {
        Mean { value: self.value * scale, half: self.half * scale }
    }
}

/// A row of one of the tables.
#[derive(Clone, Copy, Debug)]
pub(super) struct Printed {
    /// To be removed.
    pub(super) b: Mean,
    /// Removed besides.
    pub(super) b_side: Mean,
    /// Both, as printed.
    pub(super) b_total: Mean,
    /// Members lost.
    pub(super) a_lost: Mean,
}

impl Printed {
    /// The row of an algorithm and a share, if there is one.
    pub(super) fn of(algorithm: Algorithm, beta: f64) -> Option<&'static Printed> {
        let named = |(name, of, _): &&(&str, f64, Printed)| *name == algorithm.as_str() && *of == beta;
        TABLES.iter().find(named).map(|(.., printed)| printed)
    }

    /// By how much the printed sum differs from the sum of what is printed, beyond rounding.
    pub(super) fn misprint(&self) -> Option<f64> {
        let off = self.b_total.value - self.b.value - self.b_side.value;
        (off.abs() > 1.5).then_some(off)
    }

    /// Chi, as it follows from the row and from the number of false positives that the table's last row has.
    pub(super) fn chi(&self, false_positives: f64) -> f64 {
        let gone = (self.b.value + self.b_side.value) / false_positives;
        gone / (self.a_lost.value / super::Size::PAPER.members as f64)
    }
}

fn parse(line: &'static str) -> Option<(&'static str, f64, Printed)> {
    let mut fields = line.split('\t');
    let name = fields.next()?;
    let mut number = || fields.next()?.parse::<f64>().ok();
    let beta = number()?;
    let mut mean = || Some(Mean { value: number()?, half: number()? });
    Some((name, beta, Printed { b: mean()?, b_side: mean()?, b_total: mean()?, a_lost: mean()? }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::retouch::BETAS;

    #[test]
    fn all_rows_are_there_and_two_sums_are_misprinted() {
        let simple = Algorithm::ALL.into_iter().filter(|algorithm| !algorithm.is_improved());
        let mut wrong = Vec::new();
        for algorithm in simple {
            for beta in BETAS {
                let printed = Printed::of(algorithm, beta).expect("every share is printed");
                assert!(printed.a_lost.value > 180.0 && printed.a_lost.half > 0.0, "{algorithm:?} {beta}");
                wrong.extend(printed.misprint().map(|off| (algorithm, beta, off)));
            }
        }
        assert_eq!(wrong, [(Algorithm::Random, 0.05, -40.0), (Algorithm::MinimumFn, 0.25, 40.0)]);
        assert!(Printed::of(Algorithm::ImprovedRatio, 0.1).is_none());
    }
}
