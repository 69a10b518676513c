//! The race of overload: strangers ask ten times what their network may, through one front end after the other, while
//! an account of the same network goes on asking as before. The account should hardly notice.
//!
//! Strangers come from an address of this machine that is not loopback, so that limits hold for them; nothing leaves
//! the machine. Laps are interleaved in rounds, and a row has the medians of its laps: a busy machine disturbs single
//! laps.

mod account;
mod flood;
mod host;

use std::error::Error;
use std::time::Duration;

use clap::Args;
use serde::Serialize;

use crate::process;
use account::{Account, Asked};
use flood::{Flood, Front};
use host::{Host, Plan};

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo run --release -p seenit-lab --bin race -- overload
  cargo run --release -p seenit-lab --bin race -- overload --json > overload.json
  cargo run --release -p seenit-lab --bin race -- overload --rounds 1 --seconds 1";

/// How many times the limit strangers ask.
const FACTOR: u32 = 10;
/// The limits of a network, of checks and of writes: so low that ten times as much is no work for the generator.
const CHECKS_PER_SEC: u32 = 200;
const WRITES_PER_SEC: u32 = 20;
/// How soon after a flood everything is to be as before it.
const RECOVERY: Duration = Duration::from_secs(1);
/// The account's p99 may be so many times that of the quiet laps, and memory so much more.
const P99_FACTOR_MAX: f64 = 3.0;
const RSS_MORE_MAX: u64 = 64 << 20;

#[derive(Args)]
pub(crate) struct OverloadArgs {
    /// Rounds, each with a lap of every kind.
    #[arg(long, value_name = "N", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Seconds of a lap.
    #[arg(long, value_name = "N", default_value_t = 2.0)]
    seconds: f64,
    /// Print one JSON array in place of the table.
    #[arg(long)]
    json: bool,
    /// Be the server: a plan in JSON.
    #[arg(long, hide = true)]
    host: Option<String>,
}

/// What the laps of a kind gave. The names of the fields are those of the JSON.
#[derive(Clone, Serialize)]
struct Row {
    name: String,
    /// What strangers asked and were answered; in the quiet laps and those after a flood what the account was.
    offered_per_s: u64,
    served_per_s: u64,
    /// How long the account waited.
    p50_us: u64,
    p99_us: u64,
    rss_bytes: u64,
}

pub(crate) fn run(args: &OverloadArgs) -> Result<(), Box<dyn Error>> {
    if let Some(plan) = &args.host {
        return host::serve(&serde_json::from_str(plan)?);
    }
    let rows = race(args.rounds, Duration::from_secs_f64(args.seconds))?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
    } else {
        table(&rows).iter().for_each(|line| println!("{line}"));
    }
    Ok(())
}

fn race(rounds: u32, time: Duration) -> Result<Vec<Row>, Box<dyn Error>> {
    let folder = process::folder_on_disk()?;
    let host = Host::start(&Plan { folder: folder.path().into(), stranger: host::stranger()? })?;
    let mut account = Account::open(&host)?;
    // The first requests meet cold caches and a full burst: neither is raced.
    account.ask_for(time)?;
    flood::use_up_the_burst(&host)?;
    let mut laps = Vec::new();
    for round in 0..rounds {
        laps.push(quiet("quiet", &host, account.ask_for(time)?));
        for front in Front::ALL {
            let flood = Flood::start(front, &host)?;
            let asked = account.ask_for(time)?;
            let flooded = flood.stop()?;
            laps.push(Row {
                offered_per_s: flooded.offered_per_s,
                served_per_s: flooded.served_per_s,
                ..quiet(&format!("overload {}", front.name()), &host, asked)
            });
        }
        std::thread::sleep(RECOVERY);
        laps.push(quiet("recovery", &host, account.ask_for(time)?));
        eprintln!("round {} of {rounds}", round + 1);
    }
    Ok(medians(&laps))
}

fn quiet(name: &str, host: &Host, asked: Asked) -> Row {
    Row {
        name: name.to_owned(),
        offered_per_s: asked.per_s,
        served_per_s: asked.per_s,
        p50_us: asked.p50.as_micros() as u64,
        p99_us: asked.p99.as_micros() as u64,
        rss_bytes: host.rss_bytes(),
    }
}

/// One row of every name, in the order of the first round.
fn medians(laps: &[Row]) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for lap in laps {
        if rows.iter().any(|row| row.name == lap.name) {
            continue;
        }
        let median = |value: fn(&Row) -> u64| {
            let mut values: Vec<u64> =
                laps.iter().filter(|other| other.name == lap.name).map(value).collect();
            values.sort_unstable();
            values[values.len() / 2]
        };
        rows.push(Row {
            name: lap.name.clone(),
            offered_per_s: median(|row| row.offered_per_s),
            served_per_s: median(|row| row.served_per_s),
            p50_us: median(|row| row.p50_us),
            p99_us: median(|row| row.p99_us),
            rss_bytes: median(|row| row.rss_bytes),
        });
    }
    rows
}

fn table(rows: &[Row]) -> Vec<String> {
    let mut lines = vec![format!(
        "{:22} {:>10} {:>10} {:>8} {:>8} {:>9}",
        "", "offered/s", "served/s", "p50 us", "p99 us", "MiB"
    )];
    for row in rows {
        let mib = row.rss_bytes as f64 / f64::from(1 << 20);
        lines.push(format!(
            "{:22} {:10} {:10} {:8} {:8} {:9.1}",
            row.name, row.offered_per_s, row.served_per_s, row.p50_us, row.p99_us, mib
        ));
    }
    if let Some(quiet) = rows.first() {
        let factor =
            rows.iter().map(|row| row.p99_us as f64 / quiet.p99_us.max(1) as f64).fold(0.0, f64::max);
        let more = rows.iter().map(|row| row.rss_bytes.saturating_sub(quiet.rss_bytes)).max().unwrap_or(0);
        lines.push(format!("p99 at most {factor:.2} times that of quiet laps (target {P99_FACTOR_MAX})"));
        lines.push(format!("memory at most {} KiB more (target {})", more >> 10, RSS_MORE_MAX >> 10));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lap(name: &str, p99_us: u64) -> Row {
        Row {
            name: name.to_owned(),
            offered_per_s: 1,
            served_per_s: 1,
            p50_us: 1,
            p99_us,
            rss_bytes: 1 << 20,
        }
    }

    #[test]
    fn a_row_has_the_medians_of_its_laps() {
        let laps = [lap("quiet", 5), lap("recovery", 7), lap("quiet", 900), lap("quiet", 6)];
        let rows = medians(&laps);
        let found: Vec<_> = rows.iter().map(|row| (row.name.as_str(), row.p99_us)).collect();
        assert_eq!(found, [("quiet", 6), ("recovery", 7)]);
        assert!(table(&rows).iter().any(|line| line.starts_with("p99 at most 1.17 times")));
    }

    /// Whoever compares runs reads these names: a field that is renamed is missed only much later.
    #[test]
    fn the_fields_of_the_json_keep_their_names() {
        let row = serde_json::to_value(lap("quiet", 2)).expect("JSON");
        let mut names: Vec<&str> = row.as_object().expect("an object").keys().map(String::as_str).collect();
        names.sort_unstable();
        let expected = ["name", "offered_per_s", "p50_us", "p99_us", "rss_bytes", "served_per_s"];
        assert_eq!(names, expected);
    }
}
