//! What the paper prints: Tables III to X.

use seenit_filter::counting::RuleName;

use super::plan::Plan;

/// Rounds behind every printed mean.
pub(super) const PRINTED_ROUNDS: u32 = 1_000;

/// A mean and a standard deviation as printed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Printed {
    pub(super) mean: f64,
    pub(super) sd: f64,
}

/// What is printed of one filter in one experiment.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    number: u8,
    m: u64,
    k: u32,
    intuitive: Option<Printed>,
    refined: Printed,
    reduction: Option<f64>,
}

/// All that is printed.
#[derive(Clone, Debug)]
pub(super) struct Tables(Vec<Entry>);

impl Tables {
    /// From the file beside this one.
    pub(super) fn read() -> Self {
        let lines = include_str!("printed.tsv").lines().skip(2);
        Tables(lines.map(|line| entry(line).expect("the file is part of the program and tested")).collect())
    }

    fn entry(&self, number: u8, m: u64, k: u32) -> Option<&Entry> {
        self.0.iter().find(|entry| (entry.number, entry.m, entry.k) == (number, m, k))
    }

    /// The rate of a variant; some experiments share the intuitive one with another.
    pub(super) fn rate(&self, plan: &Plan, rule: RuleName, m: u64, k: u32) -> Option<Printed> {
        match rule {
            RuleName::Intuitive => self.entry(plan.intuitive_of, m, k)?.intuitive,
            RuleName::Refined => Some(self.entry(plan.number, m, k)?.refined),
        }
    }

    /// The reduction rate; `None` where zero would be divided by zero.
    pub(super) fn reduction(&self, plan: &Plan, m: u64, k: u32) -> Option<f64> {
        self.entry(plan.number, m, k)?.reduction
    }
}

fn entry(line: &str) -> Option<Entry> {
    let fields: Vec<&str> = line.split('\t').collect();
    let [number, m, k, intuitive, intuitive_sd, refined, refined_sd, reduction] = fields[..] else {
        return None;
    };
    let printed = |mean: &str, sd: &str| Some(Printed { mean: mean.parse().ok()?, sd: sd.parse().ok()? });
    Some(Entry {
        number: number.parse().ok()?,
        m: m.parse().ok()?,
        k: k.parse().ok()?,
        intuitive: printed(intuitive, intuitive_sd),
        refined: printed(refined, refined_sd)?,
        reduction: reduction.parse().ok(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counting::plan::{PLANS, PROBES};

    #[test]
    fn every_filter_of_every_experiment_is_printed() {
        let tables = Tables::read();
        let mut filters = 0;
        for plan in &PLANS {
            for &m in plan.sizes {
                for k in PROBES {
                    assert!(tables.entry(plan.number, m, k).is_some(), "{} {m} {k}", plan.number);
                    assert!(
                        tables.rate(plan, RuleName::Intuitive, m, k).is_some(),
                        "{} {m} {k}",
                        plan.number
                    );
                    filters += 1;
                }
            }
        }
        assert_eq!(tables.0.len(), filters);
        assert_eq!(tables.0.iter().filter(|entry| entry.reduction.is_none()).count(), 1, "0/0");
    }

    #[test]
    fn columns_are_where_they_belong() {
        let tables = Tables::read();
        let entry = tables.entry(6, 160_000, 6).expect("printed");
        assert_eq!(entry.intuitive, Some(Printed { mean: 9.459e-4, sd: 3.145e-4 }));
        assert_eq!(entry.refined, Printed { mean: 2.917e-4, sd: 1.565e-4 });
        assert_eq!(entry.reduction, Some(3.242));
    }
}
