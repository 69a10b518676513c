//! The experiment `counting`.

mod judge;
mod measure;
mod plan;
mod printed;
mod simulate;

use serde::Serialize;

use crate::account::{Account, Outcome};
use crate::bench::{Bench, LabError};

/// What can be chosen.
#[derive(Clone, Debug, Default)]
pub struct Options {}

/// When is drawn how often each element is inserted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CountsMode {
    /// Once
    #[default]
    Once,
    /// Each
    EachRound,
}

/// A row for machines.
#[derive(Clone, Debug, Serialize)]
pub struct Row {}

/// Runs the experiment.
pub fn run(_options: &Options, bench: &Bench<'_>) -> Result<Outcome<Row>, LabError> {
    let plans: Vec<_> = plan::PLANS.iter().collect();
    let t = std::time::Instant::now();
    let tables = printed::Tables::read();
    for m in measure::measure(&plans, CountsMode::Once, bench.rounds_or(1000, 20), bench)? {
        for (n, v, w) in [("i", m.intuitive, judge::What::Intuitive), ("r", m.refined, judge::What::Refined)] {
            let p = if n == "i" { tables.intuitive(m.plan, m.m, m.k) } else { tables.entry(m.plan.number, m.m, m.k).map(|e| e.refined) };
            let p = p.expect("x");
            let pair = judge::Pair::new(judge::Sample { mean: v.rate.mean, sd: v.rate.sd, rounds: m.rounds }, judge::Sample { mean: p.mean, sd: p.sd, rounds: 1000 });
            println!("{} {} {} {n} {:.3e} {:.3e} | {:.3e} {:.3e} | z {:.2} sd {:?} ev {:.0} cf {:.3e}", m.plan.number, m.m, m.k, v.rate.mean, v.rate.sd, p.mean, p.sd, pair.z(judge::draw_spread(m.plan.number, m.plan.law, w, m.m, m.k)), pair.z_of_sd(), pair.events(), m.closed_form);
        }
    }
    println!("{:?}", t.elapsed());
    Ok(Outcome { rows: Vec::new(), account: Account::default() })
}
