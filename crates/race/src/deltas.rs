//! The race of deltas: how close they come to the fewest bytes, and how fast they are made and applied.
//!
//! One round takes every kind of delta at every rate of change once, on inputs that are made anew from a fixed seed; so
//! a spell of a busy machine hits all of them alike. The clock covers what a caller waits for: checks, digests and
//! checksums included. Reported are medians over the rounds.

mod inputs;
mod subjects;

use std::error::Error;

use clap::Args;
use serde::Serialize;

use crate::report::median;
use subjects::{Lap, SUBJECTS};

pub(crate) const EXAMPLES: &str = "\
Examples:
  cargo run --release -p seenit-lab --bin race -- deltas
  cargo run --release -p seenit-lab --bin race -- deltas --mib 16 --rounds 5 --json > deltas.json";

/// Shares of the bits or cells that change. The targets are stated for 1e-4 to 0.1; one rate lies on either side.
const RATES: [f64; 6] = [1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.5];

/// How much a delta may take, as a multiple of the bound, at rates from 1e-4 to 0.1.
const SIZE_MAX: f64 = 1.15;
/// How much it may take beyond the bound below these rates.
const SIZE_SLACK_BYTES: u64 = 64;
/// Megabytes of filter memory a second, each way.
const SPEED_MIN: f64 = 200.0;

#[derive(Args)]
pub(crate) struct DeltasArgs {
    /// Memory of each filter, in MiB.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    mib: u64,
    /// Rounds; reported are medians over them.
    #[arg(long, default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    rounds: u32,
    /// Print one JSON array in place of the table.
    #[arg(long)]
    json: bool,
}

/// One kind of delta at one rate. The names of the fields are those of the JSON.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    /// Share of the places that changed: zeros for a gain of bits, else all bits or cells.
    change_rate: f64,
    /// Without the envelope.
    bytes: u64,
    entropy_bytes: u64,
    encode_mb_per_s: f64,
    decode_mb_per_s: f64,
}

pub(crate) fn run(args: &DeltasArgs) -> Result<(), Box<dyn Error>> {
    let rows = race(args)?;
    if args.json {
        println!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(());
    }
    println!("filters of {} MiB, {} rounds\n", args.mib, args.rounds);
    println!("{}", table(&rows));
    for line in targets(&rows, args.mib << 20) {
        println!("{line}");
    }
    Ok(())
}

fn race(args: &DeltasArgs) -> Result<Vec<Row>, Box<dyn Error>> {
    let entries: Vec<_> = SUBJECTS.iter().flat_map(|subject| RATES.map(|rate| (subject, rate))).collect();
    let mut laps: Vec<Vec<Lap>> = entries.iter().map(|_| Vec::new()).collect();
    for round in 0..args.rounds as usize {
        for turn in 0..entries.len() {
            let who = (turn + round) % entries.len();
            let ((name, lap), rate) = entries[who];
            let lap = lap(args.mib << 20, rate).map_err(|error| format!("{name} at {rate}: {error}"))?;
            eprintln!("round {}/{}  {name:12} {rate:<7} {:10} bytes", round + 1, args.rounds, lap.bytes);
            laps[who].push(lap);
        }
    }
    let megabytes = (args.mib << 20) as f64 / 1e6;
    let speed = |seconds: Vec<f64>| median(seconds).map_or(0.0, |median| (megabytes / median).round());
    let row = |(&((name, _), change_rate), laps): (&(&subjects::Subject, f64), &Vec<Lap>)| Row {
        name,
        change_rate,
        bytes: laps[0].bytes,
        entropy_bytes: laps[0].entropy_bytes,
        encode_mb_per_s: speed(laps.iter().map(|lap| lap.encode_secs).collect()),
        decode_mb_per_s: speed(laps.iter().map(|lap| lap.decode_secs).collect()),
    };
    Ok(entries.iter().zip(&laps).map(row).collect())
}

fn table(rows: &[Row]) -> String {
    let mut table = format!(
        "{:12} {:>7}  {:>11} {:>11} {:>7}  {:>11} {:>11}\n",
        "", "rate", "bytes", "bound", "ratio", "encode MB/s", "decode MB/s"
    );
    for row in rows {
        table += &format!(
            "{:12} {:>7}  {:>11} {:>11} {:>7.3}  {:>11} {:>11}\n",
            row.name,
            row.change_rate,
            row.bytes,
            row.entropy_bytes,
            row.bytes as f64 / row.entropy_bytes as f64,
            row.encode_mb_per_s,
            row.decode_mb_per_s,
        );
    }
    table
}

/// The targets, each answered with yes or no and the number behind it: that of the worst row.
fn targets(rows: &[Row], memory_bytes: u64) -> Vec<String> {
    let among = |low: f64, high: f64| rows.iter().filter(move |row| (low..high).contains(&row.change_rate));
    let ratio = among(1e-4, 0.11).map(|row| row.bytes as f64 / row.entropy_bytes as f64).fold(0.0, f64::max);
    let beyond = among(0.0, 1e-4).map(|row| row.bytes.saturating_sub(row.entropy_bytes)).max().unwrap_or(0);
    // A dense form, too, needs a byte to say that it is one.
    let dense = among(0.11, 1.1).map(|row| row.bytes as f64 / (memory_bytes + 1) as f64).fold(0.0, f64::max);
    let slowest = |speed: fn(&Row) -> f64| rows.iter().map(speed).fold(f64::INFINITY, f64::min);
    let encode = slowest(|row| row.encode_mb_per_s);
    let decode = slowest(|row| row.decode_mb_per_s);
    let answer = |met: bool| if met { "yes" } else { "NO " };
    vec![
        format!(
            "{}  size <= {SIZE_MAX}x the bound, rates 1e-4 to 0.1: {ratio:.3}x",
            answer(ratio <= SIZE_MAX)
        ),
        format!(
            "{}  size <= bound + {SIZE_SLACK_BYTES} bytes below: + {beyond} bytes",
            answer(beyond <= SIZE_SLACK_BYTES)
        ),
        format!("{}  size <= the dense form above: {dense:.3}x", answer(dense <= 1.0)),
        format!("{}  encoding >= {SPEED_MIN} MB/s: {encode}", answer(encode >= SPEED_MIN)),
        format!("{}  decoding >= {SPEED_MIN} MB/s: {decode}", answer(decode >= SPEED_MIN)),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(change_rate: f64, bytes: u64, entropy_bytes: u64, speed: f64) -> Row {
        Row { name: "some", change_rate, bytes, entropy_bytes, encode_mb_per_s: speed, decode_mb_per_s: 1e3 }
    }

    #[test]
    fn answers_follow_the_worst_row() {
        let met =
            targets(&[row(1e-5, 164, 100, 900.0), row(0.1, 115, 100, 200.0), row(0.5, 1000, 9, 300.0)], 999);
        assert!(met.iter().all(|line| line.starts_with("yes")), "{met:#?}");
        let missed =
            targets(&[row(1e-5, 165, 100, 900.0), row(0.1, 116, 100, 199.0), row(0.5, 1001, 9, 300.0)], 999);
        assert_eq!(missed.iter().filter(|line| line.starts_with("NO")).count(), 4, "{missed:#?}");
    }

    #[test]
    fn json_has_exactly_the_agreed_fields() {
        let json = serde_json::to_string(&row(0.1, 2, 1, 3.0)).expect("plain fields");
        let expected = r#"{"name":"some","change_rate":0.1,"bytes":2,"entropy_bytes":1,"#.to_string()
            + r#""encode_mb_per_s":3.0,"decode_mb_per_s":1000.0}"#;
        assert_eq!(json, expected);
    }
}
