//! The tables: the three filters, each split, and probabilities beside what came true.

use seenit_words::roc::reliability;

use super::{Mail, NAMES, Row, Trial};
use crate::account::{Table, Verdict};

pub(super) fn tables(rows: &[Row], trials: &[Vec<Trial>; 3], mails: &[Mail]) -> Vec<Table> {
    vec![filters(rows, trials[0].len(), mails), splits(trials), probabilities(&trials[0])]
}

fn cells<const N: usize>(cells: [&str; N]) -> Vec<String> {
    cells.map(str::to_owned).to_vec()
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

fn filters(rows: &[Row], splits: usize, mails: &[Mail]) -> Table {
    let line = |row: &Row| {
        vec![
            row.name.to_owned(),
            format!("{:.5}", row.auc),
            percent(row.spam_caught_at_0001),
            percent(row.spam_caught_at_001),
            row.model_bytes.to_string(),
            format!("{:.0}", row.msgs_per_s),
        ]
    };
    let spam = mails.iter().filter(|mail| mail.is_spam).count();
    Table {
        title: "Spam caught by words".into(),
        head: cells(["filter", "AUC", "at 0.1 % ham lost", "at 1 % ham lost", "model bytes", "messages/s"]),
        rows: rows.iter().map(line).collect(),
        verdict: Verdict::Ours,
        summary: format!(
            "Means over {splits} half splits of {} messages, {spam} of them spam: one half trains, one is judged.",
            mails.len()
        ),
    }
}

fn splits(trials: &[Vec<Trial>; 3]) -> Table {
    let line = |split: usize| {
        let of = |share: f64| trials.iter().map(move |trials| percent(trials[split].roc.caught_at(share)));
        [format!("{}", split + 1)].into_iter().chain(of(0.001)).chain(of(0.01)).collect()
    };
    let heads = ["0.1 %", "1 %"].into_iter().flat_map(|at| NAMES.map(|name| format!("{name}, {at}")));
    Table {
        title: "Each split".into(),
        head: ["split".to_owned()].into_iter().chain(heads).collect(),
        rows: (0..trials[0].len()).map(line).collect(),
        verdict: Verdict::Ours,
        summary: "At 0.1 % two good messages of a half may be lost, so the third one decides.".into(),
    }
}

fn probabilities(trials: &[Trial]) -> Table {
    let rows = reliability(&said(trials)).into_iter().map(|row| {
        vec![
            format!("{} to {}", row.range.0, row.range.1),
            row.messages.to_string(),
            format!("{:.4}", row.said),
            format!("{:.4}", row.was),
        ]
    });
    Table {
        title: "Is the probability one?".into(),
        head: cells(["probability of spam", "messages", "mean said", "share that was spam"]),
        rows: rows.collect(),
        verdict: Verdict::Ours,
        summary: format!(
            "seenit's probabilities of all judged halves; said and was differ by {:.4} on average.",
            calibration_error(trials)
        ),
    }
}

/// All probabilities beside the truth.
pub(super) fn said(trials: &[Trial]) -> Vec<(f64, bool)> {
    trials.iter().flat_map(|trial| trial.said.iter().copied()).collect()
}

/// The mean over messages of how far a range's mean probability is from its share of spam.
pub(super) fn calibration_error(trials: &[Trial]) -> f64 {
    let rows = reliability(&said(trials));
    let all: f64 = rows.iter().map(|row| row.messages as f64).sum();
    rows.iter().map(|row| row.messages as f64 * (row.said - row.was).abs()).sum::<f64>() / all.max(1.0)
}
