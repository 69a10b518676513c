//! `seenit receipt`: what became of a record, asked again.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use clap::Args;
use serde_json::Value;

use crate::client::{Client, ServerArgs, escaped};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;
use crate::range::within;

/// Who waits longer than a day asks again.
const WAIT_SECS_MAX: u64 = 86_400;

/// Between two questions: a record takes a second or two from site to site.
const AGAIN: Duration = Duration::from_millis(500);

#[derive(Args)]
#[command(
    after_help = "The exit code is 0 when the record is known (with --wait: and applied at all sites), 12 when it is \
    not applied at all sites in time, 77 when it is not known, or not any more.\n\
    Examples:\n  seenit receipt 89788c2756160a2739d9cf361c234e11-6afa269f-2\n  \
    seenit receipt --wait 30 89788c2756160a2739d9cf361c234e11-6afa269f-2"
)]
pub(crate) struct Arguments {
    /// The record, as report, revoke and withdraw print it
    #[arg(value_name = "RECORD")]
    record: String,
    /// Wait until all sites of the network have applied it, at most so many seconds
    #[arg(long, value_name = "SECS", allow_negative_numbers = true,
        value_parser = within(0..=WAIT_SECS_MAX))]
    wait: Option<u64>,
    #[command(flatten)]
    server: ServerArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let client = Client::of(&arguments.server)?;
    let until = Instant::now() + Duration::from_secs(arguments.wait.unwrap_or(0));
    let path = format!("/v1/receipts/{}", escaped(&arguments.record));
    let mut receipt: Value = client.get(&path)?;
    while !is_everywhere(&receipt) && Instant::now() < until {
        std::thread::sleep(AGAIN.min(until.saturating_duration_since(Instant::now())));
        receipt = client.get(&path)?;
    }
    if arguments.json {
        output::json(&receipt)?;
    } else {
        output::text(&told(&receipt))?;
    }
    let is_late = arguments.wait.is_some() && !is_everywhere(&receipt);
    Ok(if is_late { Exit::NotYet.into() } else { ExitCode::SUCCESS })
}

fn is_everywhere(receipt: &Value) -> bool {
    receipt["sites"].as_array().into_iter().flatten().all(|site| site["applied"] == true)
}

fn told(receipt: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let number = |name: &str| receipt[name].as_u64().unwrap_or(0);
    let mut lines = format!("{}: {}\n", text(&receipt["id"]), text(&receipt["verb"]));
    lines += &format!("  {} signatures are known\n", number("matched"));
    if receipt["verb"] == "revoke" {
        lines += &format!(
            "  {} are not spam, {} stay spam by others' word\n",
            number("cleared"),
            number("remaining")
        );
    }
    if let Some(reach) = receipt["reach"].as_str() {
        return lines + &format!("  {reach}\n");
    }
    for site in receipt["sites"].as_array().into_iter().flatten() {
        let done = if site["applied"] == true { "applied" } else { "not applied yet" };
        lines += &format!("  {done} at site {}\n", text(&site["site"]));
    }
    lines
}
