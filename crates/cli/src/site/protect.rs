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

use crate::client::{AskError, BINARY, Client, ServerArgs};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;
use crate::progress::Progress;

/// Messages of one request: enough that syncing costs little, and few enough to see the bar move.
const BATCH: usize = 100;

/// Signatures of one request: more the server does not take.
const BATCH_SIGNATURES_MAX: usize = 10_000;

#[derive(Args)]
#[command(
    after_help = "Only signatures are sent, never the mail itself. Takes the operator's token or an admin's.\n\
    Examples:\n  seenit protect Maildir/.Sent newsletters.mbox\n  seenit protect --undo newsletters.mbox"
)]
pub(crate) struct Arguments {
    /// Good mail: files, mbox files, Maildirs, folders, archives (.tar), any of them packed (.gz, .zst), or - for
    /// standard input. A message that cannot be read is named and skipped
    #[arg(value_name = "PATH", required = true)]
    paths: Vec<PathBuf>,
    /// Protect it no longer. What it shares with other protected messages stays protected
    #[arg(long)]
    undo: bool,
    #[command(flatten)]
    server: ServerArgs,
    /// Print one JSON object: messages, passed_over, unchanged, still_protected, failed, and what became of each file
    #[arg(long)]
    json: bool,
}

/// What was done, for machines.
#[derive(Default, Serialize)]
struct Done {
    /// Messages whose signatures are protected, or are no longer.
    messages: u64,
    /// Messages that have too little text for a signature.
    passed_over: u64,
    /// Messages that were protected already; with --undo, messages that were not.
    unchanged: u64,
    /// With --undo: signatures that other messages still protect.
    still_protected: u64,
    /// Messages that could not be read, or were refused.
    failed: u64,
    files: Vec<Row>,
}

/// One message, for machines.
#[derive(Serialize)]
struct Row {
    file: String,
    /// Whether the server did what was asked for.
    done: bool,
    /// Why not: a failure, or too little text.
    problem: Option<String>,
}

/// Messages on their way to the server, and what became of those before them.
struct Protecting<'a> {
    client: &'a Client,
    path: &'static str,
    batch: Vec<(String, Case)>,
    done: Done,
    failures: Vec<Exit>,
    /// Whether the trouble that all share has been told.
    told: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let client = Client::of(&arguments.server)?;
    let path = if arguments.undo { "/v1/unprotect" } else { "/v1/protect" };
    let mut protecting = Protecting {
        client: &client,
        path,
        batch: Vec::new(),
        done: Done::default(),
        failures: Vec::new(),
        told: false,
    };
    let mailbox = Mailbox::find_or_failures(&arguments.paths)?;
    let progress = RefCell::new(Progress::of_bytes("messages", mailbox.bytes()));
    let watch = |bytes| progress.borrow_mut().advance(bytes);
    let mailbox = mailbox.watched(&watch);
    mailbox.each_message_or_failure::<Problem>(&mut |name, mail| {
        progress.borrow().around(|| protecting.take(name, mail.map_err(AskError::unread)));
        Ok(())
    })?;
    progress.borrow().around(|| protecting.send());
    progress.borrow().finish();
    if let Some(skipped) = mailbox.skipped() {
        eprintln!("seenit: {skipped}");
    }
    if arguments.json {
        output::json(&protecting.done)?;
    } else {
        output::text(&told(arguments.undo, &protecting.done))?;
    }
    Ok(Exit::worst(&protecting.failures).unwrap_or(Exit::Done).into())
}

fn told(undo: bool, done: &Done) -> String {
    let count = if undo { done.messages.saturating_sub(done.unchanged) } else { done.messages };
    let mut line = if count == 1 { "1 message is".into() } else { format!("{count} messages are") };
    line += if undo { " protected no longer" } else { " protected" };
    let same = if undo { "were not protected" } else { "of them were protected already" };
    let parts = [
        (done.unchanged, same),
        (done.still_protected, "of their signatures stay protected by other messages"),
        (
            done.passed_over,
            if done.passed_over == 1 { "has too little text" } else { "have too little text" },
        ),
        (done.failed, "failed"),
    ];
    for (count, what) in parts.iter().filter(|(count, _)| *count > 0) {
        line += &format!("; {count} {what}");
    }
    line + "\n"
}

impl Protecting<'_> {
    /// One message more, or one that cannot be read.
    fn take(&mut self, name: &str, mail: Result<&[u8], AskError>) {
        let case = match mail {
            Ok(mail) => Case::of_message(mail, &Ep4::default()),
            Err(error) => {
                eprintln!("seenit: {}: {error}", name.escape_debug());
                return self.failed(name.to_owned(), &error);
            }
        };
        if case.is_empty() {
            self.done.passed_over += 1;
            let problem = Some("it has too little text for a signature".to_owned());
            return self.done.files.push(Row { file: name.to_owned(), done: false, problem });
        }
        let waiting: usize = self.batch.iter().map(|(_, case)| case.len()).sum();
        if waiting + case.len() > BATCH_SIGNATURES_MAX {
            self.send();
        }
        self.batch.push((name.to_owned(), case));
        if self.batch.len() == BATCH {
            self.send();
        }
    }

    fn failed(&mut self, file: String, error: &AskError) {
        self.done.failed += 1;
        self.failures.push(error.exit());
        self.done.files.push(Row { file, done: false, problem: Some(error.to_string()) });
    }

    /// Sends what has gathered.
    fn send(&mut self) {
        let batch = std::mem::take(&mut self.batch);
        if !batch.is_empty() {
            self.send_batch(batch);
        }
    }

    /// Sends messages: for each case the number of its signatures, then those. A batch that fails is told, and the next
    /// one is tried. Where one message is what the server cannot use, the others are sent one by one.
    fn send_batch(&mut self, batch: Vec<(String, Case)>) {
        let mut body = Vec::new();
        for (_, case) in &batch {
            body.extend_from_slice(&(case.len() as u16).to_le_bytes());
            body.extend_from_slice(case.bytes());
        }
        let receipt: Value = match self.client.post(self.path, BINARY, &body) {
            Ok(receipt) => receipt,
            Err(error) if error.exit() == Exit::Data && batch.len() > 1 => {
                return batch.into_iter().for_each(|one| self.send_batch(vec![one]));
            }
            Err(error) => {
                // What is wrong for all is told once.
                if !(error.is_for_all() && self.told) {
                    let count = batch.len();
                    let first = batch.first().map_or("", |(name, _)| name);
                    eprintln!("seenit: messages from {} on ({count}): {error}", first.escape_debug());
                }
                self.told |= error.is_for_all();
                return batch.into_iter().for_each(|(name, _)| self.failed(name, &error));
            }
        };
        let number = |name: &str| receipt["protection"][name].as_u64().unwrap_or(0);
        self.done.unchanged += number("unchanged");
        self.done.still_protected += number("still_protected");
        self.done.messages += batch.len() as u64;
        self.done.files.extend(batch.into_iter().map(|(file, _)| Row { file, done: true, problem: None }));
    }
}
