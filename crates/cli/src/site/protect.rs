//! `seenit protect`: known-good mail, which no report makes spam.

use std::cell::RefCell;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use seenit_ledger::Case;
use seenit_mailbox::Mailbox;
use seenit_signature::razor::Ep4;
use serde::Serialize;
use serde_json::Value;

use crate::client::{BINARY, Client, Place};
use crate::output;
use crate::problem::Problem;
use crate::progress::Progress;

/// Messages of one request: enough that syncing costs little, and few enough to see the bar move.
const BATCH: usize = 100;

#[derive(Args)]
#[command(
    after_help = "Only signatures are sent, never the mail itself. Takes the operator's token or an admin's.\n\
    Examples:\n  seenit protect Maildir/.Sent newsletters.mbox\n  seenit protect --undo newsletters.mbox"
)]
pub(crate) struct Arguments {
    /// Good mail: files, mbox files, Maildirs, folders, archives (.tar), any of them packed (.gz, .zst), or - for
    /// standard input
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Protect it no longer
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    place: Place,
    /// Print one JSON object: messages, passed_over
    #[arg(long)]
    json: bool,
}

/// How many messages there were, for machines.
#[derive(Default, Serialize)]
struct Count {
    /// Messages whose signatures are protected, or are no longer.
    messages: u64,
    /// Messages that have too little text for a signature.
    passed_over: u64,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let client = Client::of(&arguments.place)?;
    let path = if arguments.undo { "/v1/unprotect" } else { "/v1/protect" };
    let (mut count, mut batch) = (Count::default(), Vec::new());
    let mailbox = Mailbox::find(&arguments.paths)?;
    let total = Some(mailbox.bytes()).filter(|&bytes| bytes > 0);
    let progress = RefCell::new(Progress::new("bytes", total));
    let watch = |bytes| progress.borrow_mut().advance(bytes);
    let mailbox = mailbox.watched(&watch);
    mailbox.each_message(&mut |_, mail| {
        let case = Case::of_message(mail, &Ep4::default());
        if case.is_empty() {
            count.passed_over += 1;
            return Ok(());
        }
        count.messages += 1;
        batch.push(case);
        if batch.len() == BATCH { send(&client, path, &mut batch) } else { Ok(()) }
    })?;
    send(&client, path, &mut batch)?;
    if let Some(skipped) = mailbox.skipped() {
        eprintln!("seenit: {skipped}");
    }
    if arguments.json {
        output::json(&count)?;
    } else {
        output::text(&told(arguments.undo, &count))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn told(undo: bool, count: &Count) -> String {
    let Count { messages, passed_over } = count;
    let messages = if *messages == 1 { "1 message is".into() } else { format!("{messages} messages are") };
    let done = if undo { "protected no longer" } else { "protected" };
    let rest = match passed_over {
        0 => String::new(),
        _ => format!("; {passed_over} have too little text for a signature"),
    };
    format!("{messages} {done}{rest}\n")
}

/// Sends what has gathered: for each case the number of its signatures, then those.
fn send(client: &Client, path: &str, batch: &mut Vec<Case>) -> Result<(), Problem> {
    if batch.is_empty() {
        return Ok(());
    }
    let mut body = Vec::new();
    for case in batch.drain(..) {
        body.extend_from_slice(&(case.len() as u16).to_le_bytes());
        body.extend_from_slice(case.bytes());
    }
    client.post::<Value>(path, BINARY, &body)?;
    Ok(())
}
