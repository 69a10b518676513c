//! `seenit check`: has anyone seen this message before?

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;
use seenit_ledger::{Case, Local, RECIPIENTS_MAX, Verdict};
use seenit_signature::message::Heading;
use seenit_signature::razor::Ep4;
use serde::Serialize;
use serde_json::Value;

use super::messages::{Files, Questions};
use super::reason::Judged;
use crate::client::{AskError, Client, MESSAGE, ServerArgs};
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;
use crate::range::within;
use crate::shown::shown;

#[derive(Args)]
#[command(after_help = "Verdicts: spam, bulk, ham, unknown, no opinion.\n\
    The exit code is 10 if any message is spam; else the code of the failure if any message got no verdict; else 11 \
    if any is bulk; else 0. A failure never looks like a verdict: a mail filter that acts on 10 and 11 alone and \
    delivers everything else never loses mail to a wrong token or to a message that is too large. Only 75 is worth \
    another try.\n\
    Examples:\n  seenit check message.eml\n  seenit check --only spam --only bulk Maildir\n  \
    seenit check --json Maildir > verdicts.json\n  \
    seenit check --local seenit-data message.eml\n  \
    seenit check --see 3 message.eml")]
pub(crate) struct Arguments {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    server: ServerArgs,
    /// Ask the last snapshot in this data folder, not a server
    #[arg(long, value_name = "DATA_DIR", conflicts_with_all = ["token_file"])]
    local: Option<PathBuf>,
    /// Also count N recipients of each message, before the verdict is given; 0 counts nothing
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with = "local")]
    #[arg(allow_negative_numbers = true, value_parser = within(0..=RECIPIENTS_MAX))]
    see: u64,
    /// List only messages with this verdict; may be given several times. Failures are listed all the same
    #[arg(long, value_name = "VERDICT", value_parser = verdict_of)]
    only: Vec<Verdict>,
    /// Print one JSON array: file, from, subject, verdict (null where there is none), reasons, problem
    #[arg(long)]
    json: bool,
}

/// One message, for machines.
#[derive(Serialize)]
struct Row {
    file: String,
    from: Option<String>,
    subject: Option<String>,
    #[serde(flatten)]
    said: Said,
    problem: Option<String>,
}

/// What was answered. Where nothing was, `problem` says why.
#[derive(Serialize)]
#[serde(untagged)]
enum Said {
    Judged(Judged),
    Nothing { verdict: Option<String>, reasons: Vec<Value> },
}

impl Row {
    fn of(file: &str, answer: Result<Checked, AskError>) -> Self {
        let file = file.to_owned();
        match answer {
            Ok(Checked { heading: Heading { from, subject }, judged }) => {
                Row { file, from, subject, said: Said::Judged(judged), problem: None }
            }
            Err(error) => {
                let said = Said::Nothing { verdict: None, reasons: Vec::new() };
                Row { file, from: None, subject: None, said, problem: Some(error.to_string()) }
            }
        }
    }
}

/// A message that was answered.
struct Checked {
    heading: Heading,
    judged: Judged,
}

impl Checked {
    /// The line for people. Whoever named a file knows what is in it; of others the line says so.
    fn line(&self, name: &str, is_named: bool) -> String {
        /// What fits on a line beside the verdict.
        const CHARS_MAX: usize = 60;
        let field = |field: &Option<String>, none: &str| {
            field.as_deref().map_or(none.to_owned(), |text| shown(text, CHARS_MAX))
        };
        let about = if is_named {
            String::new()
        } else {
            let subject = field(&self.heading.subject, "no subject");
            let from = field(&self.heading.from, "nobody");
            format!(" ({subject}; from {from})")
        };
        format!("{}{about}: {}: {}\n", name.escape_debug(), self.judged.verdict, self.judged.why())
    }
}

fn verdict_of(name: &str) -> Result<Verdict, String> {
    let spelt = |verdict: Verdict| verdict.as_str().replace(' ', "-");
    let known = || Verdict::ALL.map(spelt).join(", ");
    Verdict::ALL
        .into_iter()
        .find(|verdict| spelt(*verdict) == name)
        .ok_or_else(|| format!("the verdicts are {}", known()))
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
            let client = Client::of(&arguments.server)?;
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
    ask: impl Fn(&[u8]) -> Result<Judged, AskError> + Sync,
) -> Result<ExitCode, Problem> {
    let mut questions = Questions::new();
    let mut rows = Vec::new();
    let mut counts = Verdict::ALL.map(|verdict| (verdict.as_str(), 0));
    let files = &arguments.files.files;
    let is_named = |name: &str| name == "standard input" || files.iter().any(|path| path.as_os_str() == name);
    let is_wanted = |judged: &Judged| {
        arguments.only.is_empty() || arguments.only.iter().any(|verdict| judged.is(*verdict))
    };
    let ask = |mail: &[u8]| Ok(Checked { judged: ask(mail)?, heading: Heading::read(mail) });
    questions.ask(files, ask, |name, answer| {
        if let Ok(Checked { judged, .. }) = &answer {
            let kind = counts.iter_mut().find(|(verdict, _)| judged.verdict == *verdict);
            kind.into_iter().for_each(|(_, count)| *count += 1);
            if !is_wanted(judged) {
                return Ok(());
            }
        }
        match answer {
            answer if arguments.json => rows.push(Row::of(name, answer)),
            Ok(checked) => output::text(&checked.line(name, is_named(name)))?,
            // What went wrong is told already, where no verdict is looked for.
            Err(_) => (),
        }
        Ok(())
    })?;
    if arguments.json {
        output::json(&rows)?;
    }
    questions.tell_summary(&counts);
    let any = |verdict: Verdict| counts.iter().any(|(name, count)| *name == verdict.as_str() && *count > 0);
    let exit = match questions.failure() {
        _ if any(Verdict::Spam) => Exit::Spam,
        Some(failure) => failure,
        None if any(Verdict::Bulk) => Exit::Bulk,
        None => Exit::NoneListed,
    };
    Ok(exit.into())
}
