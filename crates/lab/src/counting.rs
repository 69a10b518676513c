//! The experiment `counting`: how often is a count wrong, and how much better is refined insertion?
//!
//! Tables I to X and Figures 3 to 10 of "Enhancing collaborative spam detection with Bloom filters". Ten thousand
//! elements are inserted into counting filters, by eight plans of how often and in which order, under the intuitive
//! rule and the refined one; the rate is that of counts that come out wrong. `plan` has the experiments, `simulate` one
//! round, `measure` all of them, `printed` what the paper says (`consistency`: of itself), `judge` when
//! ours is something else.

mod claims;
mod consistency;
mod figures;
mod judge;
mod measure;
mod plan;
mod printed;
mod simulate;
mod small;
mod tables;
mod universal;
mod unreported;

use seenit_filter::counting::RuleName;
use serde::Serialize;

use self::measure::Measured;
use self::plan::{PLANS, Plan};
use self::printed::{PRINTED_ROUNDS, Tables};
use self::tables::Compared;
use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};
use crate::interval;

/// Rounds of a full run, as in the paper.
const ROUNDS: u32 = PRINTED_ROUNDS;

/// Rounds of a quick one: enough to tell the two rules apart in every row that has errors at all.
const QUICK_ROUNDS: u32 = 20;

/// What can be chosen.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Experiments to run, 1 to 8; all, and Tables I and II and the rate of unreported messages, when there are none.
    pub experiments: Vec<u8>,
    /// When it is drawn how often each element is inserted, in experiments 4 to 8.
    pub counts: CountsMode,
}

/// When it is drawn how often each element is inserted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountsMode {
    /// Once for all rounds and filters, as the paper seems to have done: its means of experiments 4 and 5 are off by
    /// the same little.
    #[default]
    Once,
    /// Anew in every round.
    EachRound,
}

impl CountsMode {
    /// `once` or `each-round`.
    pub fn as_str(self) -> &'static str {
        match self {
            CountsMode::Once => "once",
            CountsMode::EachRound => "each-round",
        }
    }
}

/// A row for machines: one variant of one filter in one experiment.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// 1 to 8.
    pub experiment: u8,
    /// Cells.
    pub m: u64,
    /// Cells of an element.
    pub k: u32,
    /// `intuitive` or `refined`.
    pub variant: &'static str,
    /// How many were run.
    pub rounds: u32,
    /// The mean rate, as the tables define it.
    pub mean: f64,
    /// Its standard deviation between rounds.
    pub sd: f64,
    /// The printed mean.
    pub paper_mean: Option<f64>,
    /// The printed standard deviation.
    pub paper_sd: Option<f64>,
    /// By how many combined standard errors the means differ; `None` when neither has any spread.
    pub z: Option<f64>,
    /// The share of wrong elements among those inserted.
    pub distinct_mean: f64,
    /// Its standard deviation between rounds.
    pub distinct_sd: f64,
    /// What the closed form says; the refined variant has none.
    pub closed_form: Option<f64>,
    /// `once`, `each-round`, or `fixed` where all elements are inserted equally often.
    pub counts: &'static str,
}

/// Runs the experiment.
pub fn run(options: &Options, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    let plans = chosen(&options.experiments)?;
    let everything = options.experiments.is_empty();
    let rounds = bench.rounds_or(ROUNDS, QUICK_ROUNDS);
    let measured = measure::measure(&plans, options.counts, rounds, bench)?;
    let strangers = if everything { unreported::measure(rounds, bench)? } else { Vec::new() };
    let printed = Tables::read();
    let compared = Compared { measured: &measured, printed: &printed, counts: options.counts };
    let mut account = Account::default();
    if everything {
        let small = [small::table_one(bench)?, small::table_two()?, small::example_of_merging()?];
        account.tables.extend(small);
    }
    account.tables.extend(plans.iter().map(|plan| compared.rates(plan)));
    account.tables.push(compared.reductions(&plans));
    account.tables.extend(everything.then(|| tables::strangers(&strangers)));
    account.findings = claims::findings(&compared, &strangers);
    account.figures.extend(plans.iter().map(|plan| figures::rates(&compared, plan)));
    account.figures.extend(figures::closed_form(&compared));
    account.figures.push(figures::reductions(&compared));
    account.figures.extend(strangers.iter().map(figures::strangers));
    let rules = [RuleName::Intuitive, RuleName::Refined];
    let rows = measured.iter().flat_map(|filter| rules.map(|rule| row(&compared, filter, rule))).collect();
    Ok(Outcome { rows, account })
}

/// The plans of these numbers, each once, in order; all when there are none.
fn chosen(numbers: &[u8]) -> Result<Vec<&'static Plan>, LabError> {
    if let Some(wrong) = numbers.iter().find(|&&number| !PLANS.iter().any(|plan| plan.number == number)) {
        let option = "--experiment";
        let value = wrong.to_string();
        let why = "experiments are numbered 1 to 8";
        return Err(LabError::Option { option, value, why });
    }
    Ok(PLANS.iter().filter(|plan| numbers.is_empty() || numbers.contains(&plan.number)).collect())
}

fn row(compared: &Compared<'_>, filter: &Measured, rule: RuleName) -> Row {
    let variant = filter.variant(rule);
    let printed = compared.printed(filter, rule);
    let z = printed.and_then(|printed| {
        let their_error = printed.sd / f64::from(PRINTED_ROUNDS).sqrt();
        interval::z(variant.rate.mean, variant.rate.error(), printed.mean, their_error)
    });
    Row {
        experiment: filter.plan.number,
        m: filter.m,
        k: filter.k,
        variant: rule.as_str(),
        rounds: filter.rounds,
        mean: variant.rate.mean,
        sd: variant.rate.sd,
        paper_mean: printed.map(|printed| printed.mean),
        paper_sd: printed.map(|printed| printed.sd),
        z,
        distinct_mean: variant.distinct.mean,
        distinct_sd: variant.distinct.sd,
        closed_form: (rule == RuleName::Intuitive).then_some(filter.closed_form),
        counts: if filter.plan.law.is_random() { compared.counts.as_str() } else { "fixed" },
    }
}
