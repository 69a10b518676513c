//! The tables: ours beside the printed means, the two readings of `v_B`, the improved algorithms, what needs no paper.

use seenit_filter::retouch::{Algorithm, Weighing};

use super::compare;
use super::lists::expected_occupied;
use super::printed::{GAINS, Mean, Printed};
use super::{BETAS, Measured, Results};
use crate::account::{Table, Verdict};
use crate::interval::{Summary, critical_z};

/// The paper's tables and the algorithms they are of.
pub(super) const SIMPLE: [(Algorithm, &str); 4] = [
    (Algorithm::Random, "Table I, Random selection"),
    (Algorithm::MinimumFn, "Table II, Minimum FN selection"),
    (Algorithm::MaximumFp, "Table III, Maximum FP selection"),
    (Algorithm::Ratio, "Table IV, Ratio selection"),
];

/// Improved algorithms with the simple ones they improve.
pub(super) const PAIRS: [(Algorithm, Algorithm); 3] = [
    (Algorithm::MinimumFn, Algorithm::ImprovedMinimumFn),
    (Algorithm::MaximumFp, Algorithm::ImprovedMaximumFp),
    (Algorithm::Ratio, Algorithm::ImprovedRatio),
];

pub(super) fn all(results: &Results) -> Vec<Table> {
    let mut tables: Vec<Table> =
        SIMPLE.iter().map(|&(algorithm, title)| beside(results, algorithm, title)).collect();
    tables.push(two_readings(results));
    tables.push(improved(results));
    tables.push(blind(results));
    tables.push(lists(results));
    tables
}

/// A quantity of a table: its name, ours, theirs.
type Quantity = (&'static str, fn(&Measured) -> &[f64], fn(&Printed) -> Mean);

/// What is compared. The sums follow from the first two, and two of them are misprinted.
const QUANTITIES: [Quantity; 3] = [
    ("|B|", |ours| &ours.b, |printed| printed.b),
    ("|B'|", |ours| &ours.b_side, |printed| printed.b_side),
    ("|A'|", |ours| &ours.a_lost, |printed| printed.a_lost),
];

/// The comparisons of one table: what, at which beta, and z.
fn comparisons(
    results: &Results,
    algorithm: Algorithm,
    weighing: Weighing,
) -> Vec<(&'static str, usize, f64)> {
    let scale = results.size.scale();
    let mut all = Vec::new();
    for (beta, &share) in BETAS.iter().enumerate() {
        let Some(printed) = Printed::of(algorithm, share) else { continue };
        let ours = results.of(algorithm, weighing, beta);
        for (name, of_ours, of_printed) in QUANTITIES {
            let z = compare::z(&Summary::of(of_ours(ours)), &of_printed(printed).scaled(scale));
            all.extend(z.map(|z| (name, beta, z)));
        }
    }
    all
}

/// Whose size is the largest.
fn worst<'a>(all: &'a [(&'static str, usize, f64)]) -> Option<&'a (&'static str, usize, f64)> {
    all.iter().max_by(|a, b| a.2.abs().total_cmp(&b.2.abs()))
}

/// One of Tables I to IV.
fn beside(results: &Results, algorithm: Algorithm, title: &str) -> Table {
    let scale = results.size.scale();
    let row = |(beta, &share): (usize, &f64)| {
        let ours = results.of(algorithm, Weighing::AllKnown, beta);
        let printed = Printed::of(algorithm, share).expect("all shares are printed");
        let mut cells = vec![per_cent(share)];
        for (_, of_ours, of_printed) in QUANTITIES {
            let summary = Summary::of(of_ours(ours));
            let mean = of_printed(printed).scaled(scale);
            let z = compare::z(&summary, &mean).map_or("-".into(), |z| format!("{z:+.1}"));
            cells.extend([with_half(&summary), plus_minus(mean.value, mean.half), z]);
        }
        let sums = [Summary::of(&ours.b_total).mean, printed.b_total.value * scale];
        cells.extend(sums.map(|sum| format!("{sum:.0}")));
        cells.extend([
            format!("{:.0}", Summary::of(&ours.bits_cleared).mean),
            format!("{:.3}", Summary::of(&ours.chi).mean),
        ]);
        cells
    };
    let head = [
        "beta", "|B|", "printed", "z", "|B'|", "printed", "z", "|A'|", "printed", "z", "|B|+|B'|", "printed",
        "bits", "chi",
    ];
    let (verdict, summary) = judge(results, algorithm);
    let sized = if scale == 1.0 { "" } else { " (a tenth of the size: printed values divided by 10)" };
    Table {
        title: format!("{title}: false positives removed and members lost{sized}"),
        head: head.map(String::from).to_vec(),
        rows: BETAS.iter().enumerate().map(row).collect(),
        verdict,
        summary: summary + &misprints(results, algorithm),
    }
}

/// Whether all means of a table are within what chance allows.
fn judge(results: &Results, algorithm: Algorithm) -> (Verdict, String) {
    let all = comparisons(results, algorithm, Weighing::AllKnown);
    let Some(&(name, beta, largest)) = worst(&all) else {
        return (Verdict::Ours, "One run has no interval, so nothing is compared.".into());
    };
    let limit = critical_z(all.len());
    let within = all.iter().filter(|(.., z)| z.abs() <= limit).count();
    let summary = format!(
        "{within} of {} printed means are within {limit:.2} combined standard errors of ours, which one table in a \
         hundred exceeds by chance; the largest difference is {largest:+.1}, of {name} at {}.",
        all.len(),
        per_cent(BETAS[beta]),
    );
    (if within == all.len() { Verdict::Agrees } else { Verdict::Differs }, summary)
}

/// What is to be said about sums that are not sums.
fn misprints(results: &Results, algorithm: Algorithm) -> String {
    let wrong = BETAS.iter().enumerate().filter_map(|(beta, &share)| {
        let printed = Printed::of(algorithm, share)?;
        printed.misprint()?;
        let ours = Summary::of(&results.of(algorithm, Weighing::AllKnown, beta).b_total).mean;
        Some(format!(
            " The sum printed at {} is a misprint: {:.0} and {:.0} make {:.0}, not {:.0} (ours: {:.0}).",
            per_cent(share),
            printed.b.value,
            printed.b_side.value,
            printed.b.value + printed.b_side.value,
            printed.b_total.value,
            ours / results.size.scale(),
        ))
    });
    wrong.collect()
}

/// Which false positives `v_B` counts in the printed tables.
fn two_readings(results: &Results) -> Table {
    let scale = results.size.scale();
    let mut rows = Vec::new();
    for algorithm in [Algorithm::MaximumFp, Algorithm::Ratio] {
        for (beta, &share) in BETAS.iter().enumerate().take(BETAS.len() - 1) {
            let printed = Printed::of(algorithm, share).expect("all shares are printed");
            let mut cells = vec![algorithm.as_str().to_owned(), per_cent(share)];
            for (_, of_ours, of_printed) in &QUANTITIES[1..] {
                let mean = of_printed(printed).scaled(scale);
                cells.push(plus_minus(mean.value, mean.half));
                for weighing in [Weighing::AllKnown, Weighing::Removed] {
                    let ours = Summary::of(of_ours(results.of(algorithm, weighing, beta)));
                    let z = compare::z(&ours, &mean).map_or("-".into(), |z| format!("{z:+.1}"));
                    cells.extend([format!("{:.0}", ours.mean), z]);
                }
            }
            rows.push(cells);
        }
    }
    let head =
        ["algorithm", "beta", "|B'| printed", "f_p", "z", "b", "z", "|A'| printed", "f_p", "z", "b", "z"];
    Table {
        title: "Which false positives v_B counts: all of F_P, or those of B".into(),
        head: head.map(String::from).to_vec(),
        rows,
        verdict: Verdict::Ours,
        summary: reading(results),
    }
}

/// Which reading gives the printed tables, in a sentence.
fn reading(results: &Results) -> String {
    let largest = |weighing| {
        let of = |algorithm| comparisons(results, algorithm, weighing);
        let all = [of(Algorithm::MaximumFp), of(Algorithm::Ratio)].concat();
        worst(&all).map(|(.., z)| z.abs())
    };
    match (largest(Weighing::AllKnown), largest(Weighing::Removed)) {
        (Some(f_p), Some(b)) => format!(
            "The pseudo-code counts B, the printed tables count F_P: with F_P no printed mean of Tables III and IV is \
             more than {f_p:.1} combined standard errors off, with B some are {b:.0}. At 100 % the two are one."
        ),
        _ => "One run has no interval, so nothing is compared.".into(),
    }
}

/// The improved algorithms, and what they gain.
fn improved(results: &Results) -> Table {
    let mut rows = Vec::new();
    for (simple, improved) in PAIRS {
        for &weighing in readings(improved) {
            for (beta, &share) in BETAS.iter().enumerate() {
                let ours = results.of(improved, weighing, beta);
                let printed = GAINS.iter().find(|(of, _)| *of == share && !improved.weighs_false_positives());
                let half = |values: &[f64]| with_half(&Summary::of(values));
                rows.push(vec![
                    improved.as_str().to_owned(),
                    ours.case.v_b().unwrap_or("-").to_owned(),
                    per_cent(share),
                    half(&ours.b_side),
                    half(&ours.a_lost),
                    format!("{:.0}", Summary::of(&ours.bits_cleared).mean),
                    format!("{:.3}", Summary::of(&ours.chi).mean),
                    format!("{:.3}", Summary::of(&results.of(simple, weighing, beta).chi).mean),
                    format!("{:+.1} %", gain(results, (simple, improved), weighing, beta)),
                    printed.map_or("-".into(), |(_, gain)| format!("{gain:+.1} %")),
                ]);
            }
        }
    }
    let head = ["algorithm", "v_B", "beta", "|B'|", "|A'|", "bits", "chi", "simple chi", "gain", "printed"];
    let at = |share: f64| BETAS.iter().position(|&beta| beta == share).expect("one of the shares");
    let ours = |share: f64| gain(results, PAIRS[0], Weighing::AllKnown, at(share));
    let gains = GAINS.map(|(share, printed)| {
        format!("{:+.1} % at {}, where {printed:+.3} % is printed", ours(share), per_cent(share))
    });
    let limit = critical_z(GAINS.len());
    let come_out = GAINS.iter().all(|&(share, printed)| {
        (ours(share) - printed).abs() <= limit * gain_error(results, PAIRS[0], Weighing::AllKnown, at(share))
    });
    Table {
        title: "Improved selection (Figures 8 to 10): what exact counts gain in chi".into(),
        head: head.map(String::from).to_vec(),
        rows,
        verdict: if come_out { Verdict::Agrees } else { Verdict::Differs },
        summary: format!(
            "The two printed gains of Improved Minimum FN do not come out: it gains {} and {}. They cannot hold at \
             small beta: few bits are cleared, nearly every one with members of its own that nobody lost before, so \
             exact counts are the counts one started with; and Minimum FN does not look at false positives at all. \
             The curves of the figures are not printed as numbers.",
            gains[0], gains[1]
        ),
    }
}

/// By how many per cent the improved algorithm's mean chi is above the simple one's.
pub(super) fn gain(
    results: &Results,
    (simple, improved): (Algorithm, Algorithm),
    weighing: Weighing,
    beta: usize,
) -> f64 {
    let chi = |algorithm| Summary::of(&results.of(algorithm, weighing, beta).chi).mean;
    100.0 * (chi(improved) / chi(simple) - 1.0)
}

/// The standard error of [`gain`], in per cent; the two means are taken for independent, which is too large at worst.
fn gain_error(
    results: &Results,
    (simple, improved): (Algorithm, Algorithm),
    weighing: Weighing,
    beta: usize,
) -> f64 {
    let relative = |algorithm| {
        let chi = Summary::of(&results.of(algorithm, weighing, beta).chi);
        chi.error() / chi.mean
    };
    let ratio = 1.0 + gain(results, (simple, improved), weighing, beta) / 100.0;
    100.0 * ratio * f64::hypot(relative(simple), relative(improved))
}

/// The readings of `v_B` that make a difference to an algorithm.
pub(super) fn readings(algorithm: Algorithm) -> &'static [Weighing] {
    if algorithm.weighs_false_positives() {
        &[Weighing::AllKnown, Weighing::Removed]
    } else {
        &[Weighing::AllKnown]
    }
}

/// Clearing without looking.
fn blind(results: &Results) -> Table {
    let row = |blind: &super::Blind| {
        let z = (blind.difference.count > 1).then(|| blind.difference.mean / blind.difference.error());
        vec![
            blind.bits.to_string(),
            format!("{:.4} ±{:.4}", blind.gone.mean, blind.gone.half_width_95()),
            format!("{:.4} ±{:.4}", blind.lost.mean, blind.lost.half_width_95()),
            format!("{:.4}", blind.theory),
            format!("{:.3}", blind.gone.mean / blind.lost.mean),
            z.map_or("-".into(), |z| format!("{z:+.1}")),
        ]
    };
    let off: Vec<f64> = results.blind.iter().filter_map(theory_z).collect();
    let limit = critical_z(off.len());
    let largest = off.iter().fold(0.0, |most: f64, z| most.max(z.abs()));
    let (verdict, summary) = match off.is_empty() {
        true => (Verdict::Ours, "One run has no interval, so nothing is compared.".to_owned()),
        false => (
            if largest <= limit { Verdict::Agrees } else { Verdict::Differs },
            format!(
                "Members and false positives are lost alike, so chi is 1, as the paper's equations (14) to (16) \
                 say; no share is more than {largest:.1} standard errors from theory or from the other, where \
                 {limit:.2} would be too many."
            ),
        ),
    };
    Table {
        title: "Clearing bits blindly: shares of false positives and of members that are lost".into(),
        head: ["bits", "df_P", "df_N", "theory", "chi", "z of df_P - df_N"].map(String::from).to_vec(),
        rows: results.blind.iter().map(row).collect(),
        verdict,
        summary,
    }
}

/// The largest of three: false positives from theory, members from theory, one from the other.
pub(super) fn theory_z(blind: &super::Blind) -> Option<f64> {
    let off = |summary: &Summary, expected: f64| (summary.mean - expected) / summary.error();
    let all = [off(&blind.gone, blind.theory), off(&blind.lost, blind.theory), off(&blind.difference, 0.0)];
    (blind.gone.count > 1).then(|| all.iter().fold(0.0, |most: f64, z| most.max(z.abs())))
}

/// The lists of elements.
fn lists(results: &Results) -> Table {
    let row = |lists: &super::Lists| {
        vec![
            lists.bits.to_string(),
            format!("{:.4}", lists.members.occupied.mean),
            format!("{:.4}", expected_occupied(results.size.members, lists.bits)),
            format!("{:.4}", lists.positives.occupied.mean),
            format!("{:.2}", lists.members.length.mean),
            format!("{:.2}", lists.positives.length.mean),
            lists.members.longest.to_string(),
            lists.positives.longest.to_string(),
        ]
    };
    let least = &results.lists[0];
    let most = &results.lists[results.lists.len() - 1];
    let head = [
        "m",
        "v_A filled",
        "formula",
        "v_B filled",
        "v_A mean list",
        "v_B mean list",
        "v_A longest",
        "v_B longest",
    ];
    Table {
        title: "ElementList vectors (Figure 11): positions that have a list, and how long lists are".into(),
        head: head.map(String::from).to_vec(),
        rows: results.lists.iter().map(row).collect(),
        verdict: Verdict::Ours,
        summary: format!(
            "Figure 11 is not printed as numbers. v_B counts all false positives. From {} to {} positions a list of \
             v_A shrinks from {:.1} to {:.2} elements, one of v_B from {:.0} to {:.2}.",
            least.bits,
            most.bits,
            least.members.length.mean,
            most.members.length.mean,
            least.positives.length.mean,
            most.positives.length.mean,
        ),
    }
}

/// A share as it is printed.
pub(super) fn per_cent(share: f64) -> String {
    format!("{:.0} %", share * 100.0)
}

fn with_half(summary: &Summary) -> String {
    plus_minus(summary.mean, summary.half_width_95())
}

fn plus_minus(value: f64, half: f64) -> String {
    let digits = if value < 100.0 { 1 } else { 0 };
    if half == 0.0 { format!("{value:.digits$}") } else { format!("{value:.digits$} ±{half:.1}") }
}
