//! `seenit clock confirm` and `seenit snapshot`: what an operator asks of a running server.

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::{Value, json};

use crate::client::{Client, ServerArgs};
use crate::output;
use crate::problem::Problem;

#[derive(Subcommand)]
pub(crate) enum Clock {
    /// Say that the system clock is right: records that are too old by it are dropped
    #[command(
        after_help = "A server whose clock jumps ahead hides and deletes nothing until this is said.\n\
        Example: seenit clock confirm"
    )]
    Confirm(Arguments),
}

#[derive(Args)]
#[command(after_help = "Example: seenit snapshot")]
pub(crate) struct Arguments {
    #[command(flatten)]
    server: ServerArgs,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn confirm_clock(Clock::Confirm(arguments): &Clock) -> Result<ExitCode, Problem> {
    ask(arguments, "/v1/clock/confirm", "The present time is confirmed.\n")
}

pub(super) fn snapshot(arguments: &Arguments) -> Result<ExitCode, Problem> {
    ask(arguments, "/v1/snapshot", "A snapshot is written.\n")
}

fn ask(arguments: &Arguments, path: &str, told: &str) -> Result<ExitCode, Problem> {
    let answer: Value = Client::of(&arguments.server)?.post_json(path, &json!({}))?;
    if arguments.json {
        output::json(&answer)?;
    } else {
        output::text(told)?;
    }
    Ok(ExitCode::SUCCESS)
}
