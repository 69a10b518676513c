//! What the printed values say of each other, without any round of ours.

use seenit_filter::counting::RuleName;
use seenit_filter::maths::counting::wrong_share;

use super::plan::{ELEMENTS, PLANS, PROBES, Plan, size_name};
use super::printed::{PRINTED_ROUNDS, Tables};
use super::tables::grouped;
use crate::account::Finding;

/// Where means tell most: the fullest filters.
const CELLS: u64 = 80_000;

/// The printed reduction rates must be the ratios of the printed means, as far as four digits tell.
pub(super) fn reductions(printed: &Tables) -> Finding {
    let mut all = 0;
    let mut wrong = Vec::new();
    let filters =
        PLANS.iter().flat_map(|plan| plan.sizes.iter().flat_map(move |&m| PROBES.map(|k| (plan, m, k))));
    for (plan, m, k) in filters {
        let Some(reduction) = printed.reduction(plan, m, k) else { continue };
        let mean = |rule| printed.rate(plan, rule, m, k).map_or(0.0, |printed| printed.mean);
        let intuitive = mean(RuleName::Intuitive);
        let refined = mean(RuleName::Refined);
        let half_digit = |mean: f64| 0.5e-3 * 10f64.powf(mean.log10().floor()) / mean;
        let slack = half_digit(intuitive) + half_digit(refined) + 0.5e-3 / reduction;
        let ratio = intuitive / refined;
        all += 1;
        if (ratio / reduction - 1.0).abs() > slack {
            let place = format!("experiment {}, {}, k = {k}", plan.number, size_name(m));
            wrong.push(format!("{reduction:.3} where the means give {ratio:.3} ({place})"));
        }
    }
    let evidence = match wrong.is_empty() {
        true => format!("all {all} do"),
        false => format!("{} of {all} do; {}", all - wrong.len(), wrong.join("; ")),
    };
    Finding::new(
        "(ours) The printed reduction rates follow from the printed means",
        wrong.is_empty(),
        evidence,
    )
}

/// How many elements the printed intuitive means say were inserted, and the standard error of that.
struct Implied {
    of_k: [u64; 3],
    mean: f64,
    error: f64,
}

impl Implied {
    fn of(printed: &Tables, plan: &Plan) -> Option<Self> {
        let mut of_k = [0; 3];
        let mut sum = 0.0;
        let mut weights = 0.0;
        for (implied, k) in of_k.iter_mut().zip(PROBES) {
            let rate = printed.rate(plan, RuleName::Intuitive, CELLS, k)?;
            let share = |elements: u64| wrong_share(CELLS, k, elements);
            let mut low = 1;
            let mut high = 2 * ELEMENTS as u64;
            while low + 1 < high {
                let middle = low.midpoint(high);
                if share(middle) <= rate.mean { low = middle } else { high = middle }
            }
            *implied = low;
            // The slope over twenty elements.
            let slope = (share(low + 10) - share(low - 10)) / 20.0;
            let weight = (slope / rate.sd).powi(2) * f64::from(PRINTED_ROUNDS);
            sum += weight * low as f64;
            weights += weight;
        }
        Some(Implied { of_k, mean: sum / weights, error: 1.0 / weights.sqrt() })
    }
}

/// Were counts drawn anew each round, the number of inserted elements would average to what is expected, within less
/// than one element.
pub(super) fn drawn_once(printed: &Tables) -> Finding {
    let mut parts = Vec::new();
    let mut holds = false;
    for plan in [&PLANS[3], &PLANS[7]] {
        let Some(implied) = Implied::of(printed, plan) else { continue };
        let (mean, sd) = plan.law.inserted();
        let apart = (implied.mean - mean).abs() / implied.error;
        let agree = implied.of_k.iter().all(|&of_k| (of_k as f64 - implied.mean).abs() < 5.0 * implied.error);
        holds |= agree && apart > 5.0;
        let of_k = implied.of_k.map(grouped).join(", ");
        parts.push(format!(
            "experiment {}: the printed intuitive means at {} are those of {of_k} inserted elements (k = 4, 6, 8), \
             together {:.0} with a standard error of {:.1}, where {mean:.0} are expected and draws scatter by {sd:.0}",
            plan.number,
            size_name(CELLS),
            implied.mean,
            implied.error,
        ));
    }
    Finding::new(
        "(ours) The paper drew once, for all rounds, how often elements come",
        holds,
        parts.join("; "),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten thousand elements are inserted in experiment 1, and its means say so.
    #[test]
    fn means_tell_how_many_elements_were_inserted() {
        let implied = Implied::of(&Tables::read(), &PLANS[0]).expect("printed");
        assert!((implied.mean - 10_000.0).abs() < 3.0 * implied.error, "{} {}", implied.mean, implied.error);
        assert!(implied.error < 5.0);
        assert!(drawn_once(&Tables::read()).holds);
    }

    #[test]
    fn one_printed_reduction_rate_has_its_digits_swapped() {
        let finding = reductions(&Tables::read());
        assert!(!finding.holds && finding.evidence.starts_with("76 of 77"), "{}", finding.evidence);
        assert!(
            finding.evidence.contains("2.725") && finding.evidence.contains("2.753"),
            "{}",
            finding.evidence
        );
    }
}
