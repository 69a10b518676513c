//! What an experiment found, for people: tables, figures, and claims answered.

use std::fmt::Write as _;

use crate::figure::Figure;

/// The result of an experiment.
#[derive(Clone, Debug)]
pub struct Outcome<R> {
    /// For machines: the rows of the experiment's `--json`.
    pub rows: Vec<R>,
    /// For people.
    pub account: Account,
}

/// What an experiment found.
#[derive(Clone, Debug, Default)]
pub struct Account {
    /// Ours beside the printed values.
    pub tables: Vec<Table>,
    /// What is better looked at.
    pub figures: Vec<Figure>,
    /// Each claim of the paper, and each of ours, answered.
    pub findings: Vec<Finding>,
}

/// How a table or a claim of a paper fared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// Ours is theirs, within the interval that is stated.
    Agrees,
    /// It is not; the reason stands beside it.
    Differs,
    /// There is nothing printed to compare with.
    Ours,
}

impl Verdict {
    /// `agrees`, `differs` or `ours`.
    pub fn as_str(self) -> &'static str {
        match self {
            Verdict::Agrees => "agrees",
            Verdict::Differs => "differs",
            Verdict::Ours => "ours",
        }
    }

    /// Agrees if all of these do, or are ours; ours when all are.
    pub fn of_all(verdicts: impl IntoIterator<Item = Verdict>) -> Self {
        verdicts.into_iter().fold(Verdict::Ours, |all, one| match (all, one) {
            (Verdict::Differs, _) | (_, Verdict::Differs) => Verdict::Differs,
            (Verdict::Ours, one) => one,
            (all, _) => all,
        })
    }
}

/// A table: ours beside the printed values.
#[derive(Clone, Debug)]
pub struct Table {
    /// What it shows.
    pub title: String,
    /// Heads of the columns. All but the first column are set flush right.
    pub head: Vec<String>,
    /// As many cells in each as there are heads.
    pub rows: Vec<Vec<String>>,
    /// How it fared against the printed one.
    pub verdict: Verdict,
    /// The verdict in one sentence, with its numbers and, where it differs, the reason.
    pub summary: String,
}

/// A claim and its answer.
#[derive(Clone, Debug)]
pub struct Finding {
    /// What was claimed, in our words.
    pub claim: String,
    /// Whether it holds.
    pub holds: bool,
    /// The numbers behind the answer and, where the claim does not hold, the reason if it is known.
    pub evidence: String,
}

impl Finding {
    /// An answered claim.
    pub fn new(claim: impl Into<String>, holds: bool, evidence: impl Into<String>) -> Self {
        Finding { claim: claim.into(), holds, evidence: evidence.into() }
    }

    /// `yes` or `no`.
    pub fn answer(&self) -> &'static str {
        if self.holds { "yes" } else { "no" }
    }
}

impl Account {
    /// The tables and findings as plain text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for table in &self.tables {
            text += &table.text();
            text.push('\n');
        }
        for finding in &self.findings {
            // Writing to a string does not fail.
            let _ = writeln!(text, "{:3}  {}: {}", finding.answer(), finding.claim, finding.evidence);
        }
        text
    }
}

impl Table {
    /// The table in columns of plain text.
    pub fn text(&self) -> String {
        let width = |column: usize| {
            let cells = self.rows.iter().map(|row| &row[column]).chain([&self.head[column]]);
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..self.head.len()).map(width).collect();
        let line = |cells: &[String]| {
            let cells = cells.iter().zip(&widths).enumerate();
            let padded = cells.map(|(column, (cell, &width))| match column {
                0 => format!("{cell:width$}"),
                _ => format!("{cell:>width$}"),
            });
            padded.collect::<Vec<_>>().join("  ").trim_end().to_owned() + "\n"
        };
        let lines: String = std::iter::once(&self.head).chain(&self.rows).map(|row| line(row)).collect();
        format!("{}\n{lines}{}: {}\n", self.title, self.verdict.as_str(), self.summary)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_that_differs_makes_all_differ() {
        use Verdict::*;
        assert_eq!(Verdict::of_all([]), Ours);
        assert_eq!(Verdict::of_all([Ours, Agrees, Ours]), Agrees);
        assert_eq!(Verdict::of_all([Agrees, Differs, Ours]), Differs);
    }

    #[test]
    fn columns_of_text_line_up() {
        let cells = |cells: &[&str]| cells.iter().map(|&cell| cell.to_owned()).collect::<Vec<_>>();
        let table = Table {
            title: "Sizes".into(),
            head: cells(&["m", "rate"]),
            rows: vec![cells(&["80K", "0.5"]), cells(&["1,000K", "0.25"])],
            verdict: Verdict::Agrees,
            summary: "2 of 2.".into(),
        };
        assert_eq!(table.text(), "Sizes\nm       rate\n80K      0.5\n1,000K  0.25\nagrees: 2 of 2.\n");
    }
}
