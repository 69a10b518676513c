//! The row `idle`: many sites of one network that have nothing to say. What does being a member cost each of them?
//!
//! All sites run in this process, with the threads that each has in a process of its own, so the processor time of the
//! process, shared out, is what one site takes. The broker is a process of its own and stands apart.

use std::error::Error;
use std::time::{Duration, Instant};

use serde::Serialize;

use super::network::Network;
use crate::process::cpu_secs;

/// Signatures of a generation that each site has room for: sites that are idle need little.
const CAPACITY: u64 = 10_000;
/// How long it is measured. Heartbeats come every few seconds, and processor time is counted in hundredths.
const MEASURED: Duration = Duration::from_secs(30);
/// How long the sites have, after they agree, to be done with what follows a start.
const QUIET: Duration = Duration::from_secs(15);
/// Percent of a core that an idle site may take.
const PERCENT_MAX: f64 = 0.5;

/// Sites that are idle. The names of the fields are those of the JSON.
#[derive(Serialize)]
pub(super) struct IdleRow {
    name: &'static str,
    sites: usize,
    seconds: f64,
    /// Percent of a core.
    cpu_percent_per_site: f64,
    broker_cpu_percent: f64,
    /// Sites that agreed with all others after the measured time, too.
    agreeing: usize,
}

impl IdleRow {
    pub(super) fn text(&self) -> String {
        format!(
            "{:22} {:>8} {:>12} {:>12} {:>9}\n{:22} {:>8} {:>12.3} {:>12.2} {:>9}\n",
            "",
            "sites",
            "% core/site",
            "% core broker",
            "agreeing",
            self.name,
            self.sites,
            self.cpu_percent_per_site,
            self.broker_cpu_percent,
            self.agreeing
        )
    }

    /// What is wanted, and whether it is so.
    pub(super) fn targets(&self) -> Vec<(bool, String)> {
        let IdleRow { sites, agreeing, cpu_percent_per_site, .. } = self;
        let percent =
            format!("idle: each of {sites} sites <= {PERCENT_MAX} % of a core: {cpu_percent_per_site:.3} %");
        vec![
            (*cpu_percent_per_site <= PERCENT_MAX, percent),
            (agreeing == sites, format!("idle: all {sites} sites agree with all others: {agreeing}")),
        ]
    }
}

pub(super) fn row(sites: usize) -> Result<IdleRow, Box<dyn Error>> {
    let network = Network::form(sites, CAPACITY)?;
    network.wait_for_agreement()?;
    std::thread::sleep(QUIET);
    let broker = network.broker_id().to_string();
    let begun = Instant::now();
    let before = [cpu_secs("self"), cpu_secs(&broker)];
    std::thread::sleep(MEASURED);
    let after = [cpu_secs("self"), cpu_secs(&broker)];
    let seconds = begun.elapsed().as_secs_f64();
    let percent = |number: usize| (after[number] - before[number]) / seconds * 100.0;
    Ok(IdleRow {
        name: "idle",
        sites,
        seconds,
        cpu_percent_per_site: percent(0) / sites as f64,
        broker_cpu_percent: percent(1),
        agreeing: network.agreeing(),
    })
}
