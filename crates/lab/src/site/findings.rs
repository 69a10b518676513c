//! What is claimed of trust, answered.

use super::rules::Rule;
use super::tables::percent;
use super::{Row, Study};
use crate::account::Finding;

/// All findings, of the shares that were asked for.
pub(super) fn all(study: &Study) -> Vec<Finding> {
    vec![
        fewer(study, (Rule::Trust, Rule::Anyone), false),
        fewer(study, (Rule::Trust, Rule::Quorum), false),
        fewer(study, (Rule::Trust, Rule::Quorum), true),
        fewer(study, (Rule::Vouched, Rule::Trust), true),
        protecting(study),
        lose_weight(study, Rule::Trust),
        lose_weight(study, Rule::Vouched),
        clears(study),
        registered_decide_nothing(study),
    ]
}

/// The row of the shares that were asked for; with nobody hostile there is only one manner.
fn row(study: &Study, rule: Rule, together: bool) -> &Row {
    let together = together && study.asked.hostile > 0;
    let is = |row: &&Row| {
        row.rule == rule.name() && row.reporters == study.asked.text() && row.together == together
    };
    study.rows.iter().find(is).expect("every rule is run with the shares that were asked for")
}

fn text(row: &Row) -> String {
    format!(
        "{} hits {} of the ham and catches {} of the spam",
        row.rule,
        percent(row.ham_hit, row.ham),
        percent(row.spam_caught, row.spam)
    )
}

fn fewer(study: &Study, (better, worse): (Rule, Rule), together: bool) -> Finding {
    let better = row(study, better, together);
    let worse = row(study, worse, together);
    let manner = if together { "together" } else { "each for itself" };
    Finding::new(
        format!(
            "With {} reporters, the hostile {manner}, `{}` hits less ham than `{}`",
            better.reporters, better.rule, worse.rule
        ),
        better.ham_hit < worse.ham_hit,
        format!("{}; {}", text(better), text(worse)),
    )
}

fn protecting(study: &Study) -> Finding {
    let with = row(study, Rule::TrustProtect, false);
    let without = row(study, Rule::Trust, false);
    Finding::new(
        "Protecting known-good mail catches more spam and hits no more ham",
        with.spam_caught > without.spam_caught && with.ham_hit <= without.ham_hit,
        format!("{}; {}", text(with), text(without)),
    )
}

fn lose_weight(study: &Study, rule: Rule) -> Finding {
    let row = row(study, rule, false);
    let points = |weight: Option<f64>| weight.map_or("none".into(), |weight| format!("{weight:.1}"));
    Finding::new(
        format!("With `{}` hostile reporters end with less weight than honest ones", row.rule),
        row.weight_hostile < row.weight_honest,
        format!(
            "mean points: honest {}, careless {}, hostile {}",
            points(row.weight_honest),
            points(row.weight_careless),
            points(row.weight_hostile)
        ),
    )
}

/// The rows of crowds are in the order of `CROWDS`.
fn registered_decide_nothing(study: &Study) -> Finding {
    let none = &study.crowds[0];
    let sybils = &study.crowds[1];
    Finding::new(
        "Thirty registered accounts that earn first and lie later list no ham and clear no spam",
        sybils.ham_hit == 0 && sybils.spam_caught >= none.spam_caught,
        format!("{}: {}; {}: {}", sybils.reporters, text(sybils), none.reporters, text(none)),
    )
}

fn clears(study: &Study) -> Finding {
    let most = study.rows.iter().filter_map(|row| row.seconds_to_clear).fold(0.0, f64::max);
    Finding::new(
        "An honest revocation clears within a second, whatever the rule",
        most < 1.0,
        format!("the slowest world's median: {:.1} ms", 1000.0 * most),
    )
}
