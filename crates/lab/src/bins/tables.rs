//! The tables of the fair problem: every method at equal total bits, and what users notice.

use seenit_filter::bins::Standing;

use super::measure::Measured;
use super::number::{cells, four, percent};
use super::plans::Method;
use super::{Cell, Options, Study, paper_size, printed};
use crate::account::{Table, Verdict};
use crate::interval::{critical_z, z};

/// Names of the plans that are compared beside the rows' own.
pub(super) const EVEN_COMMON: &str = "even cuts, one common rate";
pub(super) const EVEN_STRANGERS: &str = "even cuts, split for strangers";
pub(super) const EXACT_COMMON: &str = "exact cuts, one common rate";
pub(super) const EXACT_STRANGERS: &str = "exact cuts, split for strangers";

/// All tables.
pub(super) fn all(study: &Study, options: &Options) -> Vec<Table> {
    let mut tables = vec![printed::rates_table(), printed::costs_table(), paper_size::table(&study.paper)];
    tables.extend(options.bits_per_key.iter().map(|&bits| costs(study, options, bits)));
    tables.push(honest(study, options, options.bins[0]));
    tables
}

/// How far measured costs and credits are from the formulas of real filters: the largest z, how many were compared, and
/// how many are beyond what chance allows.
pub(super) fn agreement<'a>(
    measured: impl Iterator<Item = (&'a Measured, f64, &'a Standing)>,
) -> (f64, usize, usize) {
    let mut scores = Vec::new();
    for (measured, cost, standing) in measured {
        let pairs = [(&measured.cost, cost), (&measured.ham_credit, standing.absent_credit)];
        scores.extend(pairs.iter().filter_map(|(seen, due)| z(seen.mean, seen.error(), *due, 0.0)));
    }
    let limit = critical_z(scores.len());
    let largest = scores.iter().fold(0f64, |most, score| most.max(score.abs()));
    (largest, scores.len(), scores.iter().filter(|score| score.abs() > limit).count())
}

fn costs(study: &Study, options: &Options, bits_per_key: f64) -> Table {
    let head = [
        "bins",
        "method",
        "formula",
        "of standard",
        "real filters",
        "measured",
        "+-",
        "ham credit",
        "any bin fires",
        "below 1.44",
        "keys dropped",
    ];
    let standard = study.standard(bits_per_key);
    let rows_of = |bins: usize| {
        Method::ALL.into_iter().filter_map(move |method| study.cell(bins, bits_per_key, method))
    };
    let first = options.bins[0];
    let shown: Vec<&Cell> = options
        .bins
        .iter()
        .flat_map(|&bins| rows_of(bins))
        .filter(|cell| cell.method != Method::Standard || cell.bins == first)
        .collect();
    let rows = shown.iter().map(|cell| {
        let row = super::row(study, cell);
        vec![
            if cell.method == Method::Standard { "1".into() } else { cell.bins.to_string() },
            cell.method.as_str().into(),
            four(row.cost_formula),
            format!("{:.4}", row.cost_formula / standard),
            four(row.cost_real),
            four(row.cost_measured),
            four(row.cost_error),
            four(row.ham_credit),
            percent(row.any_fires),
            row.bins_below_one_probe.to_string(),
            row.dropped_keys.to_string(),
        ]
    });
    let (largest, compared, off) =
        agreement(shown.iter().map(|cell| (&cell.measured, cell.cost_real, &cell.standing)));
    let reach = shown.iter().map(|cell| cell.cost_real / cell.solved.cost - 1.0).fold(0.0, f64::max);
    let summary = format!(
        "{compared} measured costs and ham credits: {off} beyond the chance of the formula of real filters, the \
         largest {largest:.1} standard errors off. Whole bits and integer k cost up to {} more than 0.6185^(m/n) says.",
        percent(reach)
    );
    Table {
        title: format!("Costs at {bits_per_key} bits a key, real filters asked ({} rounds)", study.rounds),
        head: cells(&head),
        rows: rows.collect(),
        verdict: Verdict::Ours,
        summary,
    }
}

fn honest(study: &Study, options: &Options, bins: usize) -> Table {
    let head = [
        "bits a key",
        "plan",
        "ham credit",
        "+-",
        "any bin fires",
        "member error",
        "of it, own bin",
        "keys dropped",
    ];
    let mut rows = Vec::new();
    let mut line = |bits: f64, name: &str, standing: &Standing, measured: &Measured| {
        rows.push(vec![
            bits.to_string(),
            name.to_owned(),
            four(measured.ham_credit.mean),
            four(measured.ham_credit.error()),
            percent(measured.any_fires.mean),
            format!("{:.3}", measured.member_error.mean),
            format!("{:.3}", standing.deviation),
            standing.dropped_keys.to_string(),
        ]);
    };
    for &bits in &options.bits_per_key {
        for (method, name) in [
            (Method::Standard, "one filter, mean weight"),
            (Method::ClosedForm, "even cuts, closed form"),
            (Method::Exact, "exact cuts and memory"),
        ] {
            if let Some(cell) = study.cell(bins, bits, method) {
                line(bits, name, &cell.standing, &cell.measured);
            }
        }
        for rival in study.rivals.iter().filter(|rival| rival.bits_per_key == bits) {
            line(bits, rival.name, &rival.standing, &rival.measured);
        }
    }
    Table {
        title: format!("What users notice of {bins} bins, at equal total bits"),
        head: cells(&head),
        rows,
        verdict: Verdict::Ours,
        summary: "Ham credit is the weight a word in no bin is credited with; member error is |credit - weight|, and \
                  its part of the own bin is there without any false hit. One filter without bins credits strangers \
                  least and knows no weights; bins know weights, and every one of them is asked. Splitting the memory \
                  for strangers lowers the credit of exact cuts; with even cuts it is the same split."
            .into(),
    }
}
