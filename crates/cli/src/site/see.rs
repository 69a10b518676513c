//! `seenit see`: so many recipients got these messages.

use std::process::ExitCode;

use clap::Args;
use serde::Serialize;
use serde_json::Value;

use super::messages::{Files, Questions};
use crate::client::{Client, MESSAGE, ServerArgs};
use crate::output;
use crate::problem::Problem;
use crate::range::within;

#[derive(Args)]
#[command(after_help = "Example: seenit see --recipients 25 newsletter.eml")]
pub(crate) struct Arguments {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    server: ServerArgs,
    /// How many recipients got each of the messages
    #[arg(long, value_name = "N", default_value_t = 1, allow_negative_numbers = true,
        value_parser = within(1..=u64::MAX))]
    recipients: u64,
    /// Print one JSON array: file, accepted, problem
    #[arg(long)]
    json: bool,
}

/// One message, for machines.
#[derive(Serialize)]
struct Row {
    file: String,
    accepted: bool,
    problem: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let client = Client::of(&arguments.server)?;
    let path = format!("/v1/see?recipients={}", arguments.recipients);
    let mut questions = Questions::new();
    let mut rows = Vec::new();
    let mut seen = 0;
    let ask = |mail: &[u8]| client.post::<Value>(&path, MESSAGE, mail);
    questions.ask(&arguments.files.files, ask, |name, answer| {
        seen += u64::from(answer.is_ok());
        let problem = answer.as_ref().err().map(ToString::to_string);
        if arguments.json {
            rows.push(Row { file: name.to_owned(), accepted: answer.is_ok(), problem });
            return Ok(());
        }
        if answer.is_ok() { output::text(&format!("{}: seen\n", name.escape_debug())) } else { Ok(()) }
    })?;
    if arguments.json {
        output::json(&rows)?;
    }
    questions.tell_summary(&[("seen", seen)]);
    Ok(questions.exit_code())
}
