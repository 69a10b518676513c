//! `seenit receipt`: what became of a record, asked again.

use std::process::ExitCode;

use clap::Args;
use serde_json::Value;

use crate::client::{Client, Place, escaped};
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 when it is known, 75 no answer, 77 refused, or not known (any more).\n\
    Example: seenit receipt 89788c2756160a2739d9cf361c234e11-6afa269f-2"
)]
pub(crate) struct Arguments {
    /// The record, as report, revoke and withdraw print it
    #[arg(value_name = "RECORD")]
    record: String,
    #[command(flatten)]
    place: Place,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let client = Client::of(&arguments.place)?;
    let receipt: Value = client.get(&format!("/v1/receipts/{}", escaped(&arguments.record)))?;
    if arguments.json {
        output::json(&receipt)?;
    } else {
        output::text(&told(&receipt))?;
    }
    Ok(ExitCode::SUCCESS)
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
    for site in receipt["sites"].as_array().into_iter().flatten() {
        let done = if site["applied"] == true { "applied" } else { "not applied yet" };
        lines += &format!("  {done} at site {}\n", text(&site["site"]));
    }
    lines
}
