//! What the paper claims in words, each answered with a number.

use seenit_filter::counting::RuleName;

use super::consistency;
use super::judge::z_of_poisson;
use super::measure::{FEW, Measured};
use super::plan::{ELEMENTS, size_name};
use super::simulate::SPAM_THRESHOLD;
use super::tables::{Compared, grouped, sci};
use super::unreported::{THRESHOLD_MAX, Unreported};
use crate::account::Finding;
use crate::interval::critical_z;

fn place(filter: &Measured) -> String {
    format!("experiment {}, {}, k = {}", filter.plan.number, size_name(filter.m), filter.k)
}

/// All of them, as far as the experiments that were run can tell.
pub(super) fn findings(compared: &Compared<'_>, strangers: &[Unreported]) -> Vec<Finding> {
    let all = compared.measured;
    let mut findings = vec![
        closed_form(all),
        never_worse(all),
        never_worse_by_elements(all),
        full_cells(all),
        cells_above(all),
    ];
    findings.extend(first_pass(all));
    findings.extend(later_passes(all));
    findings.extend(become_zero(all));
    findings.extend(largest_reduction(compared));
    findings.push(standard_deviations(compared));
    findings.push(consistency::reductions(compared.printed));
    findings.push(consistency::drawn_once(compared.printed));
    findings.extend((!strangers.is_empty()).then(|| corrected_formula(strangers)));
    findings
}

fn closed_form(all: &[Measured]) -> Finding {
    let zs: Vec<f64> = all.iter().map(Measured::z_of_closed_form).collect();
    let critical = critical_z(zs.len());
    let farthest = zs.iter().copied().fold(0f64, |farthest, z| farthest.max(z.abs()));
    let within = zs.iter().filter(|z| z.abs() <= critical).count();
    Finding::new(
        "(ours) The intuitive rate needs no simulation: it is (1 - (1 - 1/m)^(k(l - 1)))^k for l inserted elements",
        within == zs.len(),
        format!(
            "{within} of {} means within {critical:.2} standard errors of it, the farthest at {farthest:.2}",
            zs.len()
        ),
    )
}

fn never_worse(all: &[Measured]) -> Finding {
    let worse: u64 = all.iter().map(|filter| filter.worse).sum();
    let too_low: u64 = all.iter().map(|filter| filter.too_low).sum();
    let higher = all.iter().filter(|filter| filter.refined.rate.mean > filter.intuitive.rate.mean).count();
    let rounds: u64 = all.iter().map(|filter| u64::from(filter.rounds)).sum();
    Finding::new(
        "The refined variant is never worse than the intuitive one",
        worse == 0 && higher == 0,
        format!(
            "{worse} elements counted higher by it and {higher} of {} rates above, in {} filters of up to {} elements; \
             {too_low} counts below the truth",
            all.len(),
            grouped(rounds),
            grouped(ELEMENTS as u64)
        ),
    )
}

fn never_worse_by_elements(all: &[Measured]) -> Finding {
    let random: Vec<_> = all.iter().filter(|filter| filter.plan.law.is_random()).collect();
    let worse = random.iter().filter(|filter| filter.refined.distinct.mean > filter.intuitive.distinct.mean);
    let worse = worse.count();
    let apart = |filter: &&&Measured| filter.intuitive.distinct.mean / filter.intuitive.rate.mean;
    let ratios =
        random.iter().filter(|filter| filter.intuitive.wrong as f64 > FEW).map(|filter| apart(&filter));
    let (low, high) =
        ratios.fold((f64::INFINITY, 0f64), |(low, high), ratio| (low.min(ratio), high.max(ratio)));
    Finding::new(
        "The same holds where wrong elements are divided by elements, not insertions by insertions",
        worse == 0,
        match random.is_empty() {
            true => "both rates are the same where all elements come equally often".into(),
            false => format!(
                "{worse} of {} rates above the intuitive one; intuitive, that rate is {low:.3} to {high:.3} times the \
                 one by insertions",
                random.len()
            ),
        },
    )
}

fn full_cells(all: &[Measured]) -> Finding {
    let refined: u64 = all.iter().map(|filter| filter.refined.full).sum();
    let intuitive: u64 = all.iter().map(|filter| filter.intuitive.full).sum();
    let a_round = |filter: &Measured| filter.intuitive.full as f64 / f64::from(filter.rounds);
    let most = all.iter().max_by(|a, b| a_round(a).total_cmp(&a_round(b)));
    let least = all.iter().min_by(|a, b| a_round(a).total_cmp(&a_round(b)));
    let mut evidence =
        format!("{} refined cells against {} intuitive ones", grouped(refined), grouped(intuitive));
    if let (Some(most), Some(least)) = (most, least) {
        evidence += &format!(
            "; intuitive, from {:.2} a filter ({}) to {:.0} ({})",
            a_round(least),
            place(least),
            a_round(most),
            place(most)
        );
    }
    if let Some(worst) =
        all.iter().filter(|filter| filter.refined.full > 0).max_by_key(|filter| filter.refined.full)
    {
        evidence += &format!("; refined, most in {}: {}", place(worst), grouped(worst.refined.full));
    }
    Finding::new(
        "No refined cell reaches 63, while many intuitive ones do",
        refined == 0 && intuitive > 0,
        evidence,
    )
}

fn cells_above(all: &[Measured]) -> Finding {
    let ratio = |filter: &Measured| filter.intuitive.above as f64 / filter.refined.above as f64;
    // Where no refined cell is above, there is no ratio to state.
    let some: Vec<_> = all.iter().filter(|filter| filter.refined.above > 0).collect();
    let largest = some.iter().max_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    let Some(largest) = largest else {
        return Finding::new(cells_above_claim(), false, "no refined cell is above it".to_owned());
    };
    let none = all.iter().filter(|filter| filter.refined.above == 0 && filter.intuitive.above > 0).count();
    Finding::new(
        cells_above_claim(),
        ratio(largest) > 200.0,
        format!(
            "largest ratio {:.0} ({}: {} to {} cells in all rounds); filters with intuitive cells above it \
             and no refined one: {none}",
            ratio(largest),
            place(largest),
            grouped(largest.intuitive.above),
            grouped(largest.refined.above)
        ),
    )
}

fn cells_above_claim() -> String {
    format!("Cells above {SPAM_THRESHOLD} can be more than 200 times as many in the intuitive variant")
}

fn first_pass(all: &[Measured]) -> Option<Finding> {
    all.iter().find(|filter| filter.plan.number == 2)?;
    let ones: Vec<_> = all.iter().filter_map(|filter| Some((filter, filter.passes?))).collect();
    let (first, _) = ones.first()?;
    let unlike: u64 = ones.iter().map(|(_, passes)| passes.unlike_in_a_row).sum();
    let filters = ones.len() as u64 * u64::from(first.rounds);
    Some(Finding::new(
        "Experiment 2 equals the first pass of experiment 1",
        unlike == 0,
        format!(
            "{unlike} elements wrong in one and right in the other, in {} filters of {} elements",
            grouped(filters),
            grouped(ELEMENTS as u64)
        ),
    ))
}

fn later_passes(all: &[Measured]) -> Option<Finding> {
    let ones: Vec<_> = all.iter().filter_map(|filter| Some((filter, filter.passes?))).collect();
    ones.first()?;
    let mut after = [0; 4];
    for (filter, passes) in &ones {
        for (sum, wrong) in after.iter_mut().zip(passes.wrong_after.into_iter().chain([filter.refined.wrong]))
        {
            *sum += wrong;
        }
    }
    let [one, two, three, last] = after;
    Some(Finding::new(
        "In experiment 1 new errors appear in the second pass and none later",
        two > one && last == two,
        format!(
            "all filters and rounds together: {} wrong after the first pass, {} new in the second, {} in the third, {} \
             in the seventeen after it",
            grouped(one),
            grouped(two - one),
            grouped(three - two),
            grouped(last - three)
        ),
    ))
}

fn become_zero(all: &[Measured]) -> Option<Finding> {
    let filter = all.iter().find(|filter| (filter.m, filter.k) == (640_000, 8))?;
    let expected = filter.closed_form * ELEMENTS as f64;
    Some(Finding::new(
        "At 640K cells and k = 8 the errors become zero, as in a hash table",
        filter.closed_form == 0.0 && filter.intuitive.wrong == 0,
        format!(
            "the closed form gives a rate of {}: rare, not impossible. In a thousand rounds {:.2} wrong counts are \
             expected, so none is the likeliest outcome; here {} in {} rounds (refined: {})",
            sci(filter.closed_form),
            expected * 1000.0,
            filter.intuitive.wrong,
            grouped(u64::from(filter.rounds)),
            filter.refined.wrong
        ),
    ))
}

/// The largest reduction rate that is printed.
const LARGEST_PRINTED: f64 = 17.733;

fn largest_reduction(compared: &Compared<'_>) -> Option<Finding> {
    let find = |number: u8| {
        compared.measured.iter().find(|one| (one.plan.number, one.m, one.k) == (number, 320_000, 8))
    };
    let filter = find(4)?;
    let ours = filter.reduction.map_or("no ratio".into(), |one| {
        format!("{:.1}, give or take a factor of {:.1}", one.value, (1.96 * one.ln_error).exp())
    });
    let sure = |one: &&Measured| one.refined.wrong >= 100;
    let value = |one: &Measured| one.reduction.map_or(0.0, |reduction| reduction.value);
    let largest = compared.measured.iter().filter(sure).max_by(|a, b| value(a).total_cmp(&value(b)));
    let reached = largest.is_some_and(|one| value(one) >= LARGEST_PRINTED);
    let largest = largest.map_or(String::new(), |one| {
        format!(
            "; the largest with a hundred wrong counts or more behind it: {:.2} ({})",
            value(one),
            place(one)
        )
    });
    Some(Finding::new(
        "The refined variant makes up to 18 times fewer errors (17.733: experiment 4, 320K, k = 8)",
        reached,
        format!(
            "not a number that a thousand rounds can give: here {ours}, from {} wrong refined counts in {} \
             rounds{largest}",
            filter.refined.wrong,
            grouped(u64::from(filter.rounds))
        ),
    ))
}

fn standard_deviations(compared: &Compared<'_>) -> Finding {
    let variants = [RuleName::Intuitive, RuleName::Refined];
    let all = compared.measured.iter().flat_map(|filter| variants.map(|rule| (filter, rule)));
    let zs: Vec<_> = all
        .filter_map(|(filter, rule)| Some((filter, rule, compared.judge(filter, rule)?.pair.z_of_sd()?)))
        .collect();
    let critical = critical_z(zs.len());
    let beyond = zs.iter().filter(|(.., z)| z.abs() > critical).count();
    let farthest = zs.iter().max_by(|(.., a), (.., b)| a.abs().total_cmp(&b.abs()));
    let farthest = farthest.map_or(String::new(), |(filter, rule, z)| {
        format!(", the farthest at {z:.2} ({}, {})", place(filter), rule.as_str())
    });
    Finding::new(
        "(ours) The printed standard deviations come out as well",
        beyond == 0,
        format!("{} of {} within {critical:.2} standard errors{farthest}", zs.len() - beyond, zs.len()),
    )
}

/// Strangers counted beside what the cells say.
fn corrected_formula(strangers: &[Unreported]) -> Finding {
    let mut zs = Vec::new();
    for one in strangers {
        for curve in [&one.intuitive, &one.refined] {
            for (&rate, &counted) in curve.by_share.iter().zip(&curve.counted).skip(1) {
                let expected = rate * one.queries as f64;
                if expected >= 1.0 {
                    zs.push(if expected < FEW {
                        z_of_poisson(counted, expected)
                    } else {
                        (counted as f64 - expected) / (expected * (1.0 - rate)).sqrt()
                    });
                }
            }
        }
    }
    let critical = critical_z(zs.len());
    let within = zs.iter().filter(|z| z.abs() <= critical).count();
    Finding::new(
        "(ours) An unreported message counts t or more with the chance (share of cells at t or above)^k",
        within == zs.len(),
        format!(
            "{within} of {} numbers of strangers within {critical:.2} standard deviations, t up to {THRESHOLD_MAX}",
            zs.len()
        ),
    )
}
