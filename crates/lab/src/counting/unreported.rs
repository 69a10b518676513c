//! A message that nobody reported: how often do its cells call it spam all the same?
//!
//! The paper's equations (3) and (4) throw the increments of all messages at the cells one by one. But a message
//! reported c times raises the *same* cells c times, so high cells are far more common than that. Here are the printed
//! formula, the corrected one, and strangers counted by real filters.

use rayon::prelude::*;
use seenit_filter::cells::Cells;
use seenit_filter::counting::{Intuitive, Refined, count_at};
use seenit_filter::maths::counting::{CountOdds, rate_at_least};
use statrs::function::factorial::ln_binomial;

use super::plan::{ELEMENTS, Law};
use super::simulate::{FilterBench, Insertions, Stream, draw_elements, stream_of};
use crate::bench::{Bench, LabError};

/// Cells of the filter: those of the fullest one, where there is most to see.
pub(super) const CELLS: u64 = 80_000;

/// The most reports of a message, as in experiments 4 and 5.
const REPORTS_MAX: u32 = 20;

/// Queries for strangers in a round.
pub(super) const STRANGERS: usize = 10_000;

/// Thresholds that are looked at.
pub(super) const THRESHOLD_MAX: usize = 40;

/// By threshold, from 0 on, what strangers of one variant met.
#[derive(Clone, Debug)]
pub(super) struct Curve {
    /// The share of cells at the threshold or above, to the power of k: the mean over rounds.
    pub(super) by_share: Vec<f64>,
    /// Strangers that count as much or more, all rounds together.
    pub(super) counted: Vec<u64>,
}

/// What was found for one k.
#[derive(Clone, Debug)]
pub(super) struct Unreported {
    pub(super) k: u32,
    /// Queries, all rounds together.
    pub(super) queries: u64,
    pub(super) intuitive: Curve,
    pub(super) refined: Curve,
}

impl Unreported {
    /// The printed formula where n is the number of messages that were reported.
    pub(super) fn printed_of_messages(&self, threshold: usize) -> f64 {
        let messages = ELEMENTS as f64 * f64::from(REPORTS_MAX) / f64::from(REPORTS_MAX + 1);
        printed_rate(messages.round() as u64, self.k, threshold)
    }

    /// The printed formula where n is the number of reports, which flatters it.
    pub(super) fn printed_of_reports(&self, threshold: usize) -> f64 {
        printed_rate(ELEMENTS as u64 * u64::from(REPORTS_MAX) / 2, self.k, threshold)
    }

    /// The corrected formula, for cells nobody has yet.
    pub(super) fn corrected(&self, threshold: usize) -> f64 {
        let odds = CountOdds::uniform(0, REPORTS_MAX).expect("equal odds are odds");
        rate_at_least(CELLS, self.k, ELEMENTS as u64, &odds, threshold as u64)
    }
}

/// Equation (4) with the sum of equation (3) taken to its end: k cells, each raised `threshold` times or more.
fn printed_rate(n: u64, k: u32, threshold: usize) -> f64 {
    let throws = n * u64::from(k);
    let odds = 1.0 / CELLS as f64;
    let mut j = threshold as u64;
    let ln_first = ln_binomial(throws, j) + j as f64 * odds.ln() + (throws - j) as f64 * (-odds).ln_1p();
    let mut term = 1.0;
    let mut sum = 0.0;
    // Terms rise to the mean, then fall.
    while term > 1e-17 * sum {
        sum += term;
        term *= (throws - j) as f64 / (j + 1) as f64 * odds / (1.0 - odds);
        j += 1;
    }
    (f64::from(k) * (ln_first + f64::ln(sum))).exp()
}

/// Fills filters and asks them about strangers.
pub(super) fn measure(rounds: u32, bench: &Bench<'_>) -> Result<Vec<Unreported>, LabError> {
    bench.progress.begin("rounds of strangers", u64::from(rounds) * 3);
    Ok(vec![of_k::<4>(rounds, bench)?, of_k::<6>(rounds, bench)?, of_k::<8>(rounds, bench)?])
}

fn of_k<const K: usize>(rounds: u32, bench: &Bench<'_>) -> Result<Unreported, LabError> {
    let round = |number| {
        let curves = round::<K>(bench.seed, u64::from(number));
        bench.progress.advance(1);
        curves
    };
    let all = (0..rounds).into_par_iter().map(round).collect::<Result<Vec<_>, _>>()?;
    let sum = |variant: usize| {
        let mut sum = Curve { by_share: vec![0.0; THRESHOLD_MAX + 1], counted: vec![0; THRESHOLD_MAX + 1] };
        for curve in all.iter().map(|curves| &curves[variant]) {
            sum.by_share
                .iter_mut()
                .zip(&curve.by_share)
                .for_each(|(sum, rate)| *sum += rate / f64::from(rounds));
            sum.counted.iter_mut().zip(&curve.counted).for_each(|(sum, strangers)| *sum += strangers);
        }
        sum
    };
    let queries = u64::from(rounds) * STRANGERS as u64;
    Ok(Unreported { k: K as u32, queries, intuitive: sum(0), refined: sum(1) })
}

/// The intuitive curve and the refined one.
fn round<const K: usize>(seed: u64, number: u64) -> Result<[Curve; 2], LabError> {
    let mut draw = stream_of(seed, Stream::Strangers, &[number, K as u64]);
    let everyone = draw_elements(&mut draw, ELEMENTS + STRANGERS);
    let (reported, strangers) = everyone.split_at(ELEMENTS);
    let law = Law::UpTo(REPORTS_MAX);
    let counts = law.draw(&mut draw);
    let insertions = Insertions::new(law, counts, &mut draw);
    let mut bench = FilterBench::<K>::new(CELLS, reported, &mut draw)?;
    let strangers: Vec<[u64; K]> = strangers.iter().map(|&stranger| bench.address(stranger)).collect();
    bench.insert_in_a_row::<Intuitive>(&insertions.counts);
    let intuitive = curve(&bench, &strangers);
    bench.clear();
    bench.insert_shuffled::<Refined>(&insertions.shuffled);
    Ok([intuitive, curve(&bench, &strangers)])
}

fn curve<const K: usize>(bench: &FilterBench<K>, strangers: &[[u64; K]]) -> Curve {
    let mut cells = vec![0u64; THRESHOLD_MAX + 1];
    bench.cells.for_each_nonzero(|_, value| cells[(value as usize).min(THRESHOLD_MAX)] += 1);
    cells[0] = CELLS - cells.iter().sum::<u64>();
    let mut counted = vec![0u64; THRESHOLD_MAX + 1];
    for stranger in strangers {
        counted[(count_at(&bench.cells, stranger).value as usize).min(THRESHOLD_MAX)] += 1;
    }
    let share = |cells: u64| (cells as f64 / CELLS as f64).powi(K as i32);
    Curve { by_share: or_more(cells).into_iter().map(share).collect(), counted: or_more(counted) }
}

/// From how many are exactly at each value to how many are there or above.
fn or_more(mut numbers: Vec<u64>) -> Vec<u64> {
    for i in (1..numbers.len()).rev() {
        numbers[i - 1] += numbers[i];
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use seenit_filter::maths::flat;

    /// At a threshold of one both formulas are the textbook's; single throws and compound ones then do not differ.
    #[test]
    fn at_one_the_printed_formula_is_right() {
        let printed = printed_rate(10_000, 4, 1);
        assert!((printed / flat::rate(CELLS, 4, 10_000) - 1.0).abs() < 1e-3, "{printed}");
    }

    /// Against a sum of Poisson odds, which the binomial is close to: P(X >= 20) for a mean of 5.
    #[test]
    fn the_printed_formula_is_a_binomial_tail() {
        let mut odds = (-5f64).exp();
        let mut tail = 0.0;
        for j in 1..80 {
            odds *= 5.0 / f64::from(j);
            tail += if j >= 20 { odds } else { 0.0 };
        }
        let printed = printed_rate(100_000, 4, 20).powf(0.25);
        assert!((printed / tail - 1.0).abs() < 1e-2, "{printed} {tail}");
    }
}
