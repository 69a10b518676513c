//! What must hold, answered over all orders of arrival.

use seenit_signature::Kind;

use super::curves::{ALL_HAM, Hits};
use super::kinds::EXACT_TYPE;
use super::memory::{ANY, DEFAULT_THRESHOLD, LIKEST, LOW_THRESHOLD, RATIO, SAME, SHIPPED};
use super::{Round, Study};
use crate::account::Finding;

/// How much more the rule that ships must catch than the best same-message match, at its default and at the low
/// threshold, and than the best kind of exact type.
const OVER_SAME: f64 = 1.15;
const OVER_SAME_LOW: f64 = 1.4;
const OVER_EXACT: f64 = 1.5;

/// Ham that the low threshold may hit.
const LOW_HAM_MAX: u64 = 1;

/// What a forged good copy may cost a campaign.
const FORGED_COST_MAX: f64 = 0.05;

/// All findings.
pub(super) fn all(study: &Study) -> Vec<Finding> {
    let mut findings = vec![over_same(study), over_likest(study), over_exact(study), low(study)];
    findings.push(filters_cost_nothing(study));
    findings.extend(attacks(study));
    findings.push(forged(study));
    findings
}

/// What a rule catches from this many shingles on, all ham learnt.
pub(super) fn hits(round: &Round, rule: usize, threshold: u32) -> Hits {
    round.curves[ALL_HAM][rule][threshold as usize - 1]
}

/// Least, mean and greatest over the orders of arrival.
pub(super) fn spread(study: &Study, of: impl Fn(&Round) -> f64) -> (f64, f64, f64) {
    let values: Vec<f64> = study.rounds.iter().map(of).collect();
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let greatest = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    (least, values.iter().sum::<f64>() / values.len() as f64, greatest)
}

fn times(a: Hits, b: Hits) -> f64 {
    a.spam as f64 / b.spam.max(1) as f64
}

fn range((least, _, greatest): (f64, f64, f64), digits: usize) -> String {
    if least == greatest {
        return format!("{least:.digits$}");
    }
    format!("{least:.digits$} to {greatest:.digits$}")
}

fn over_same(study: &Study) -> Finding {
    let ratio = |round: &Round, rule, threshold| {
        times(hits(round, rule, threshold), hits(round, SAME, DEFAULT_THRESHOLD))
    };
    let no_more_ham = |round: &Round, threshold| {
        hits(round, SHIPPED, threshold).ham <= hits(round, SAME, DEFAULT_THRESHOLD).ham
    };
    let holds = |round: &Round| {
        ratio(round, SHIPPED, DEFAULT_THRESHOLD) >= OVER_SAME && no_more_ham(round, DEFAULT_THRESHOLD)
    };
    Finding::new(
        format!(
            "At {DEFAULT_THRESHOLD} shingles the rule that ships catches {OVER_SAME} times what rspamd's rule catches, \
             and hits no more ham"
        ),
        study.rounds.iter().all(holds),
        format!(
            "{} times ({} of {} spam against {}), ham hit {} against {}",
            range(spread(study, |round| ratio(round, SHIPPED, DEFAULT_THRESHOLD)), 3),
            range(spread(study, |round| hits(round, SHIPPED, DEFAULT_THRESHOLD).spam as f64), 0),
            study.spam,
            range(spread(study, |round| hits(round, SAME, DEFAULT_THRESHOLD).spam as f64), 0),
            range(spread(study, |round| hits(round, SHIPPED, DEFAULT_THRESHOLD).ham as f64), 0),
            range(spread(study, |round| hits(round, SAME, DEFAULT_THRESHOLD).ham as f64), 0),
        ),
    )
}

/// The strongest rule of one earlier message: it needs all of them, where rspamd's storage keeps the last of a shingle.
fn over_likest(study: &Study) -> Finding {
    let ratio = |round: &Round, threshold| {
        times(hits(round, SHIPPED, threshold), hits(round, LIKEST, DEFAULT_THRESHOLD))
    };
    let no_more_ham = |round: &Round| {
        hits(round, SHIPPED, DEFAULT_THRESHOLD).ham <= hits(round, LIKEST, DEFAULT_THRESHOLD).ham
    };
    let holds = |round: &Round| ratio(round, DEFAULT_THRESHOLD) >= 1.0 && no_more_ham(round);
    Finding::new(
        "It catches no less than the likest of all earlier messages would, and hits no more ham",
        study.rounds.iter().all(holds),
        format!(
            "{} times ({} spam and {} ham for the likest), and {} times at {LOW_THRESHOLD} shingles, all ham learnt",
            range(spread(study, |round| ratio(round, DEFAULT_THRESHOLD)), 3),
            range(spread(study, |round| hits(round, LIKEST, DEFAULT_THRESHOLD).spam as f64), 0),
            range(spread(study, |round| hits(round, LIKEST, DEFAULT_THRESHOLD).ham as f64), 0),
            range(spread(study, |round| ratio(round, LOW_THRESHOLD)), 3),
        ),
    )
}

/// The kind of exact type that catches most after one sighting.
fn best_exact(round: &Round) -> (Kind, Hits) {
    let exact = round.kinds.iter().filter(|of| EXACT_TYPE.contains(&of.kind));
    let best = exact.max_by_key(|of| of.hits[0].spam);
    best.map_or((Kind::Exact1, Hits::default()), |of| (of.kind, of.hits[0]))
}

fn over_exact(study: &Study) -> Finding {
    let ratio = spread(study, |round| times(hits(round, SHIPPED, DEFAULT_THRESHOLD), best_exact(round).1));
    let (kind, best) = best_exact(&study.rounds[0]);
    Finding::new(
        format!("That is {OVER_EXACT} times what the best kind of exact type catches"),
        ratio.0 >= OVER_EXACT,
        format!(
            "{} times; the best is {kind}, with {} spam and {} ham",
            range(ratio, 2),
            best.spam,
            best.ham
        ),
    )
}

fn low(study: &Study) -> Finding {
    let ratio =
        |round: &Round, rule| times(hits(round, rule, LOW_THRESHOLD), hits(round, SAME, DEFAULT_THRESHOLD));
    let holds = |round: &Round| {
        ratio(round, SHIPPED) >= OVER_SAME_LOW && hits(round, SHIPPED, LOW_THRESHOLD).ham <= LOW_HAM_MAX
    };
    Finding::new(
        format!(
            "At {LOW_THRESHOLD} shingles, all ham learnt, it catches {OVER_SAME_LOW} times what rspamd's rule \
             catches at {DEFAULT_THRESHOLD}, and hits at most {LOW_HAM_MAX} ham"
        ),
        study.rounds.iter().all(holds),
        format!(
            "{} times ({} spam), ham hit {}; `any` has {} times and hits {} ham",
            range(spread(study, |round| ratio(round, SHIPPED)), 3),
            range(spread(study, |round| hits(round, SHIPPED, LOW_THRESHOLD).spam as f64), 0),
            range(spread(study, |round| hits(round, SHIPPED, LOW_THRESHOLD).ham as f64), 0),
            range(spread(study, |round| ratio(round, ANY)), 3),
            range(spread(study, |round| hits(round, ANY, LOW_THRESHOLD).ham as f64), 0),
        ),
    )
}

/// The exact dictionary of the same rule is `ratio`.
fn filters_cost_nothing(study: &Study) -> Finding {
    let off = |round: &Round| {
        let off = [LOW_THRESHOLD, DEFAULT_THRESHOLD].map(|threshold| {
            let shipped = hits(round, SHIPPED, threshold);
            let exact = hits(round, RATIO, threshold);
            shipped.spam.abs_diff(exact.spam) + shipped.ham.abs_diff(exact.ham)
        });
        off[0].max(off[1]) as f64
    };
    let (.., most) = spread(study, off);
    Finding::new(
        "Counting filters answer as exact dictionaries do",
        most <= (study.spam as f64 / 1000.0).max(1.0),
        format!(
            "at {LOW_THRESHOLD} and {DEFAULT_THRESHOLD} shingles the messages judged otherwise are {most} at most; {}",
            study.geometry.text()
        ),
    )
}

fn attacks(study: &Study) -> Vec<Finding> {
    let first = &study.rounds[0].attacks;
    let asked = first.iter().enumerate().filter(|(_, one)| one.threshold == LOW_THRESHOLD);
    asked
        .filter_map(|(number, one)| {
            let least = one.least?;
            let shares = spread(study, |round| round.attacks[number].share());
            let (low, mean, high) = shares;
            let percent = (100.0 * low, 100.0 * mean, 100.0 * high);
            Some(Finding::new(
                format!(
                    "Of what is caught at {LOW_THRESHOLD} shingles, {:.0} % still is under {}",
                    100.0 * least,
                    one.attack
                ),
                low >= least,
                format!("{} %, of {} in the first order", range(percent, 1), one.matches),
            ))
        })
        .collect()
}

fn forged(study: &Study) -> Finding {
    let of = |round: &Round, threshold| {
        let is = |one: &&super::poison::Poisoned| {
            one.poison == super::poison::FORGED && one.rule == SHIPPED && one.threshold == threshold
        };
        round.poison.iter().find(is).cloned()
    };
    let cost = |round: &Round| {
        let costs = [LOW_THRESHOLD, DEFAULT_THRESHOLD].map(|threshold| {
            of(round, threshold)
                .map_or(0.0, |one| 1.0 - one.poisoned.spam as f64 / one.clean.spam.max(1) as f64)
        });
        costs[0].max(costs[1])
    };
    let (least, mean, most) = spread(study, cost);
    let size = of(&study.rounds[0], DEFAULT_THRESHOLD).map_or(0, |one| one.messages);
    Finding::new(
        format!(
            "One forged good copy costs a campaign less than {:.0} % of its matches",
            100.0 * FORGED_COST_MAX
        ),
        most < FORGED_COST_MAX,
        format!(
            "{} % of the largest, {size} messages, when it is slipped in right after the first; a campaign waits for \
             five reports then, whatever its size, so a small one loses a larger share",
            range((100.0 * least, 100.0 * mean, 100.0 * most), 1)
        ),
    )
}
