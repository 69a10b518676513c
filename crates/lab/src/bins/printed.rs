//! Table 1 of "Optimization of Bloom filter using simulated annealing for spam filtering": what it prints, and whether
//! the formulas behind its columns give it.

use seenit_filter::maths::bins::{Bin, ideal_rate, invalidation_cost, real_rate, standard_invalidation_cost};

use super::number::{Digits, cells, decimals};
use super::{PAPER_BITS, PAPER_KEYS};
use crate::account::{Finding, Table, Verdict};

/// Half a unit of the last digit of a printed weight.
const WEIGHT_ROUNDING: f64 = 0.0005;

/// Half a unit of the last digit of a printed cost.
const COST_ROUNDING: f64 = 0.005;

/// One row of Table 1.
pub(super) struct Printed {
    /// Keys of each bin, heaviest bin first.
    pub(super) keys: &'static [u64],
    /// Their mean weights.
    pub(super) weights: &'static [f64],
    /// Their rates, digit by digit.
    pub(super) rates: &'static [&'static str],
    /// The cost of the bins.
    pub(super) cost: f64,
    /// The cost of one filter for all keys.
    pub(super) standard: f64,
}

/// Table 1 of the bin filter paper: 10, 11 and 12 bins.
pub(super) const TABLE_ONE: [Printed; 3] = [
    Printed {
        keys: &[96, 129, 174, 212, 319, 321, 383, 385, 490, 491],
        weights: &[4.906, 4.663, 4.424, 4.101, 3.694, 3.190, 2.607, 1.966, 1.250, 0.385],
        rates: &[
            "0.0059", "0.0221", "0.0592", "0.0982", "0.2139", "0.2159", "0.2767", "0.2786", "0.3664",
            "0.3671",
        ],
        cost: 6119.99,
        standard: 6340.83,
    },
    Printed {
        keys: &[45, 45, 124, 169, 258, 259, 356, 357, 437, 438, 512],
        weights: &[4.956, 4.757, 4.677, 4.445, 4.095, 3.691, 3.211, 2.619, 1.961, 1.242, 0.402],
        rates: &[
            "1.79E-05", "1.79E-05", "0.0189", "0.0544", "0.1485", "0.1496", "0.2511", "0.2521", "0.3244",
            "0.3252", "0.3825",
        ],
        cost: 6122.02,
        standard: 6336.61,
    },
    Printed {
        keys: &[91, 91, 91, 146, 179, 220, 276, 276, 370, 371, 444, 445],
        weights: &[4.910, 4.688, 4.535, 4.364, 4.090, 3.789, 3.404, 2.952, 2.417, 1.810, 1.127, 0.345],
        rates: &[
            "0.0045", "0.0045", "0.0045", "0.0344", "0.0640", "0.1069", "0.1682", "0.1682", "0.2646",
            "0.2655", "0.3302", "0.3310",
        ],
        cost: 6085.45,
        standard: 6334.59,
    },
];

impl Printed {
    /// L.
    pub(super) fn count(&self) -> usize {
        self.keys.len()
    }

    /// The bits of each bin in the column of costs: equal shares.
    pub(super) fn share(&self) -> f64 {
        PAPER_BITS as f64 / self.count() as f64
    }

    pub(super) fn bins(&self) -> Vec<Bin> {
        self.keys.iter().zip(self.weights).map(|(&keys, &weight)| Bin { keys, weight }).collect()
    }

    /// The cost of the printed bins, each at the rate of its share.
    pub(super) fn recomputed(&self) -> f64 {
        let rates: Vec<f64> = self.keys.iter().map(|&keys| ideal_rate(keys, self.share())).collect();
        invalidation_cost(&self.bins(), &rates)
    }

    /// By how much that may be off because the weights are rounded.
    fn cost_tolerance(&self) -> f64 {
        let rounding = self.keys.iter().map(|&keys| keys as f64 * ideal_rate(keys, self.share()));
        COST_ROUNDING + WEIGHT_ROUNDING * rounding.sum::<f64>()
    }

    /// The weights of the heaviest keys summed, after each bin: how many, and their sum.
    fn sums(&self) -> impl Iterator<Item = (u64, f64)> {
        self.bins().into_iter().scan((0, 0.0), |(keys, sum), bin| {
            *keys += bin.keys;
            *sum += bin.keys as f64 * bin.weight;
            Some((*keys, *sum))
        })
    }
}

/// The column of rates.
pub(super) fn rates_table() -> Table {
    let head =
        ["bin", "keys", "printed", "with 1024 bits", "digits", "with 1024/L bits", "real, 1024/L bits"];
    let mut rows = Vec::new();
    let mut cut_off = Vec::new();
    let mut off = Vec::new();
    for row in &TABLE_ONE {
        for (index, (&keys, &printed)) in row.keys.iter().zip(row.rates).enumerate() {
            let rate = ideal_rate(keys, PAPER_BITS as f64);
            let digits = Digits::of(printed, rate);
            match digits {
                Digits::Rounded => {}
                Digits::CutOff => cut_off.push(format!("{printed} of {keys} keys is {rate:.5}")),
                Digits::Other => off.push(format!("{printed} of {keys} keys is {rate:.5}")),
            }
            rows.push(vec![
                format!("L = {}, {}", row.count(), index + 1),
                keys.to_string(),
                printed.to_owned(),
                if rate < 1e-3 { format!("{rate:.3e}") } else { format!("{rate:.5}") },
                digits.as_str().to_owned(),
                format!("{:.4}", ideal_rate(keys, row.share())),
                format!("{:.4}", real_rate(keys, row.share().round() as u64)),
            ]);
        }
    }
    let values = rows.len();
    let summary = format!(
        "{} of {values} rates come out to the last digit when every bin has all 1,024 bits, {} more are cut off where \
         they should be rounded ({}), {} do not come out{}. The costs beside them give a bin 1024/L bits: these rates \
         belong to a filter L times larger.",
        values - cut_off.len() - off.len(),
        cut_off.len(),
        cut_off.join("; "),
        off.len(),
        if off.is_empty() { String::new() } else { format!(" ({})", off.join("; ")) },
    );
    let verdict = if off.is_empty() { Verdict::Agrees } else { Verdict::Differs };
    Table {
        title: "Table 1 of the bin filter paper: false positive rates".into(),
        head: cells(&head),
        rows,
        verdict,
        summary,
    }
}

/// The two columns of costs.
pub(super) fn costs_table() -> Table {
    let head = ["bins", "column", "printed", "recomputed", "off by", "rounding allows"];
    let mut rows = Vec::new();
    let mut fit = 0;
    for row in &TABLE_ONE {
        let standard = standard_invalidation_cost(&row.bins(), PAPER_BITS as f64);
        let allowed =
            COST_ROUNDING + WEIGHT_ROUNDING * PAPER_KEYS as f64 * ideal_rate(PAPER_KEYS, PAPER_BITS as f64);
        for (column, printed, ours, allowed) in [
            ("bin filter", row.cost, row.recomputed(), row.cost_tolerance()),
            ("standard", row.standard, standard, allowed),
        ] {
            fit += usize::from((ours - printed).abs() <= allowed);
            rows.push(vec![
                row.count().to_string(),
                column.to_owned(),
                format!("{printed:.2}"),
                format!("{ours:.2}"),
                format!("{:+.2}", ours - printed),
                format!("{allowed:.2}"),
            ]);
        }
    }
    let summary = format!(
        "{fit} of {} costs follow from the printed keys and weights within the rounding of the weights, bin filters \
         with 1024/L bits in each bin, the standard filter with 1,024 bits for 3,000 keys.",
        rows.len()
    );
    let verdict = if fit == rows.len() { Verdict::Agrees } else { Verdict::Differs };
    Table {
        title: "Table 1 of the bin filter paper: costs".into(),
        head: cells(&head),
        rows,
        verdict,
        summary,
    }
}

/// What Table 1 says about itself.
pub(super) fn findings() -> Vec<Finding> {
    let with_rates: Vec<f64> = TABLE_ONE
        .iter()
        .map(|row| {
            let rates: Vec<f64> = row.rates.iter().filter_map(|rate| rate.parse().ok()).collect();
            invalidation_cost(&row.bins(), &rates)
        })
        .collect();
    let costs = TABLE_ONE.map(|row| row.cost);
    let standards = TABLE_ONE.map(|row| row.standard);
    let (light, heavy, each) = impossible_weight();
    vec![
        Finding::new(
            "Rates and costs of Table 1 belong to the same filter",
            with_rates.iter().zip(costs).all(|(ours, printed)| (ours / printed - 1.0).abs() < 0.01),
            format!(
                "the printed rates would cost {} where {} is printed",
                decimals(&with_rates, 2),
                decimals(&costs, 2)
            ),
        ),
        Finding::new(
            "The three rows of Table 1 are cuts of the same 3,000 weights",
            each <= 5.0,
            format!(
                "the standard cost does not depend on cuts, yet {} are printed; and the {} heaviest keys of one row \
                 weigh {:.1}, the {} heaviest of another {:.1}: a key in between would weigh {each:.1}, where 5 is the \
                 most",
                decimals(&standards, 2),
                light.0,
                light.1,
                heavy.0,
                heavy.1
            ),
        ),
    ]
}

/// The two sums of heaviest weights, of different rows, that leave the most for each key in between.
fn impossible_weight() -> ((u64, f64), (u64, f64), f64) {
    let sums: Vec<(u64, f64)> = TABLE_ONE.iter().flat_map(Printed::sums).collect();
    let pairs = sums.iter().flat_map(|&light| sums.iter().map(move |&heavy| (light, heavy)));
    pairs
        .filter(|(light, heavy)| light.0 < heavy.0)
        .map(|(light, heavy)| (light, heavy, (heavy.1 - light.1) / (heavy.0 - light.0) as f64))
        .fold(((0, 0.0), (0, 0.0), 0.0), |most, next| if next.2 > most.2 { next } else { most })
}
