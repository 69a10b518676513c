//! The tables of site.

use super::mail::{RECIPIENTS_MAX, SPREAD};
use super::{Row, Study};
use crate::account::{Table, Verdict};

/// All tables.
pub(super) fn all(study: &Study) -> Vec<Table> {
    vec![rules(study), together(study), crowds(study), weights(study)]
}

fn heads<const N: usize>(heads: [&str; N]) -> Vec<String> {
    heads.map(str::to_owned).to_vec()
}

pub(super) fn percent(part: u64, of: u64) -> String {
    format!("{:.2} %", 100.0 * part as f64 / of.max(1) as f64)
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("none".into(), |value| format!("{value:.digits$}"))
}

fn line(row: &Row) -> Vec<String> {
    vec![
        row.reporters.clone(),
        row.rule.to_owned(),
        row.spam_caught.to_string(),
        percent(row.spam_caught, row.spam),
        row.ham_hit.to_string(),
        percent(row.ham_hit, row.ham),
        number(row.reports_to_list, 0),
        number(row.revocations_to_clear, 1),
        number(row.seconds_to_clear.map(|seconds| 1000.0 * seconds), 2),
    ]
}

const HEADS: [&str; 9] = [
    "reporters",
    "rule",
    "spam caught",
    "of spam",
    "ham hit",
    "of ham",
    "reports to list",
    "revocations to clear",
    "ms to clear",
];

fn rules(study: &Study) -> Table {
    let rows = study.rows.iter().filter(|row| !row.together).map(line).collect();
    let post = &study.post;
    let [spam, ham] = post.copies();
    let withheld = post.mails.iter().filter(|mail| !mail.has_signatures).count();
    Table {
        title: "Rules of trust, hostile reporters each for itself".into(),
        head: heads(HEADS),
        rows,
        verdict: Verdict::Ours,
        summary: format!(
            "{} messages in {spam} copies of spam and {ham} of ham, each message to 1 to {RECIPIENTS_MAX} of {} \
             reporters within some {SPREAD:.0} messages; {} good texts are kept back, and protected where the \
             rule says so. Every check, report and revocation is a request to a server's HTTP port, signatures \
             as JSON; {withheld} messages have none to speak of. Reporters are honest/careless/hostile, in \
             hundredths: honest ones report half of the spam that was not caught and revoke half of the ham \
             that was; careless ones also report 5 % of the ham; hostile ones report half of the ham and revoke \
             half of the spam. They speak before the next copy arrives. Milliseconds are from the first \
             acknowledged revocation to the first check that is not spam.",
            post.mails.len(),
            study.reporters,
            post.archived,
        ),
    }
}

fn together(study: &Study) -> Table {
    Table {
        title: "The same, hostile reporters together: what one gets, all speak of".into(),
        head: heads(HEADS),
        rows: study.rows.iter().filter(|row| row.together).map(line).collect(),
        verdict: Verdict::Ours,
        summary: "Many accounts of one attacker.".into(),
    }
}

fn crowds(study: &Study) -> Table {
    Table {
        title: "Attackers who earn first and lie later, beside honest reporters".into(),
        head: heads(HEADS),
        rows: study.crowds.iter().map(line).collect(),
        verdict: Verdict::Ours,
        summary: "Rule `vouched`, all reporters honest. `sybils` registered themselves, `known` accounts were made by \
                  the operator. They report spam early for most of the days, so that honest reports confirm them; \
                  then they report all ham and revoke all spam before it arrives."
            .into(),
    }
}

fn weights(study: &Study) -> Table {
    let line = |row: &Row| {
        let hostile = if row.together { " together" } else { "" };
        vec![
            format!("{}{hostile}", row.reporters),
            row.rule.to_owned(),
            number(row.weight_honest, 1),
            number(row.weight_careless, 1),
            number(row.weight_hostile, 1),
            row.reports.to_string(),
            row.revocations.to_string(),
            row.listed.to_string(),
        ]
    };
    Table {
        title: "What a word weighs in the end".into(),
        head: heads([
            "reporters",
            "rule",
            "honest",
            "careless",
            "hostile",
            "reports",
            "revocations",
            "spam messages listed",
        ]),
        rows: study.rows.iter().chain(&study.crowds).map(line).collect(),
        verdict: Verdict::Ours,
        summary:
            "Mean points, 0 to 10. `anyone` and `quorum` have fixed ones; what ships begins with 4, which \
                  move only where somebody is vouched for; with `vouched` the operator fixes 10 for one honest \
                  reporter in ten."
                .into(),
    }
}
