//! `seenit check`: has anyone seen this message before?

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use seenit_ledger::{Case, Local, RECIPIENTS_MAX, Verdict};
use seenit_signature::razor::Ep4;
use serde::Serialize;

use super::messages::{Files, Questions};
use super::reason::Judged;
use crate::client::{AskError, Client, MESSAGE, Place};
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "Verdicts: spam, bulk, ham, unknown, no opinion.\n\
    Exit codes: 10 if any is spam, else 75 if any got no answer, else 11 if any is bulk, else 0.\n\
    Examples:\n  seenit check message.eml\n  seenit check --json Maildir > verdicts.json\n  \
    seenit check --local seenit-data message.eml\n  \
    seenit check --see 3 message.eml")]
pub(crate) struct Arguments {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    place: Place,
    /// Ask the last snapshot in this data folder, not a server
    #[arg(long, value_name = "DATA_DIR", conflicts_with_all = ["token_file"])]
    local: Option<PathBuf>,
    /// Also count that N recipients got each message; the verdict knows of them. 0 counts nothing
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "local")]
    #[arg(value_parser = clap::value_parser!(u64).range(..=RECIPIENTS_MAX))]
    see: u64,
    /// Print one JSON array: file, verdict, reasons
    #[arg(long)]
    json: bool,
}

/// One message, for machines.
#[derive(Serialize)]
struct Row {
    file: String,
    #[serde(flatten)]
    judged: Judged,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    match &arguments.local {
        Some(folder) => {
            let local = open(folder)?;
            check(arguments, |mail| {
                let case = Case::of_message(mail, &Ep4::default());
                let judged = || Judged::of(&local.check(&case));
                Ok(if case.is_empty() { Judged::no_opinion() } else { judged() })
            })
        }
        None => {
            let client = Client::of(&arguments.place)?;
            check(arguments, |mail| ask_and_see(&client, mail, arguments.see))
        }
    }
}

/// Asks a server about a message.
pub(super) fn ask(client: &Client, mail: &[u8]) -> Result<Judged, AskError> {
    client.post("/v1/check", MESSAGE, mail)
}

/// The same, and counts that so many recipients got it.
fn ask_and_see(client: &Client, mail: &[u8], recipients: u64) -> Result<Judged, AskError> {
    match recipients {
        0 => ask(client, mail),
        _ => client.post(&format!("/v1/check?see={recipients}"), MESSAGE, mail),
    }
}

fn open(folder: &Path) -> Result<Local, Problem> {
    let local = Local::open(folder)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs());
    let age = now.saturating_sub(local.taken_secs());
    eprintln!(
        "seenit: the snapshot in {} is {age} s old: what was said since is not in it",
        folder.display()
    );
    Ok(local)
}

fn check(
    arguments: &Arguments,
    ask: impl Fn(&[u8]) -> Result<Judged, AskError>,
) -> Result<ExitCode, Problem> {
    let (mut questions, mut rows) = (Questions::default(), Vec::new());
    let (mut any_spam, mut any_bulk) = (false, false);
    questions.ask(&arguments.files.files, ask, |name, answer| {
        let why = answer.as_ref().map_or_else(|_| "there was no answer".into(), Judged::why);
        let judged = answer.unwrap_or_else(|_| Judged::no_opinion());
        any_spam |= judged.is(Verdict::Spam);
        any_bulk |= judged.is(Verdict::Bulk);
        if arguments.json {
            rows.push(Row { file: name.to_owned(), judged });
            return Ok(());
        }
        output::text(&format!("{}: {}: {why}\n", name.escape_debug(), judged.verdict))
    })?;
    if arguments.json {
        output::json(&rows)?;
    }
    Ok(ExitCode::from(match (any_spam, any_bulk) {
        (true, _) => 10,
        _ if questions.any_failed() => 75,
        (_, true) => 11,
        _ => 0,
    }))
}
