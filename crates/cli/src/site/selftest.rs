//! `seenit selftest`: a message of its own through every front end of a server, and what works in plain words.

use std::process::ExitCode;

use clap::Args;
use seenit_ledger::Verdict;
use serde::Serialize;

use super::say::Verb;
use super::{check, say};
use crate::client::{AskError, Client, Place};
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "The message is new each time, and what is said of it is taken back at the end.\n\
    Exit codes: 0 when all works, else 1.\n\
    Example: seenit selftest --server http://127.0.0.1:8025")]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: Place,
    /// Print one JSON array: front_end, step, works, told
    #[arg(long)]
    json: bool,
}

/// One way to ask a server. Each protocol that mail programs speak adds its own.
trait FrontEnd {
    fn name(&self) -> &'static str;
    /// The verdict of a message.
    fn check(&self, mail: &[u8]) -> Result<String, AskError>;
    /// Says something of it, and waits until that is durable.
    fn say(&self, verb: Verb, mail: &[u8]) -> Result<(), AskError>;
}

struct Http<'a>(&'a Client);

impl FrontEnd for Http<'_> {
    fn name(&self) -> &'static str {
        "HTTP"
    }

    fn check(&self, mail: &[u8]) -> Result<String, AskError> {
        check::ask(self.0, mail).map(|judged| judged.verdict)
    }

    fn say(&self, verb: Verb, mail: &[u8]) -> Result<(), AskError> {
        say::say(self.0, verb, mail).map(drop)
    }
}

/// One step: what is said first, if anything, and the verdict that must follow.
struct Step {
    what: &'static str,
    verb: Option<Verb>,
    expected: Verdict,
}

const STEPS: [Step; 4] = [
    Step { what: "a new message is unknown", verb: None, expected: Verdict::Unknown },
    Step { what: "reported, it is spam", verb: Some(Verb::Report), expected: Verdict::Spam },
    Step { what: "revoked, it is good mail", verb: Some(Verb::Revoke), expected: Verdict::Ham },
    Step { what: "withdrawn, it is unknown again", verb: Some(Verb::Withdraw), expected: Verdict::Unknown },
];

/// What became of a step, for machines.
#[derive(Serialize)]
struct Row {
    front_end: &'static str,
    step: &'static str,
    works: bool,
    told: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let client = Client::of(&arguments.place)?;
    let front_ends: [&dyn FrontEnd; 1] = [&Http(&client)];
    let mut rows = Vec::new();
    for front_end in front_ends {
        let mail = message()?;
        rows.extend(STEPS.iter().map(|step| take(front_end, step, &mail)));
    }
    let all_work = rows.iter().all(|row| row.works);
    if arguments.json {
        output::json(&rows)?;
    } else {
        output::text(&told(client.url(), &rows))?;
    }
    Ok(if all_work { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

fn take(front_end: &dyn FrontEnd, step: &Step, mail: &[u8]) -> Row {
    let said = step.verb.map_or(Ok(()), |verb| front_end.say(verb, mail));
    let (works, told) = match said.and_then(|()| front_end.check(mail)) {
        Ok(verdict) => (verdict == step.expected.as_str(), format!("it is {verdict}")),
        Err(error) => (false, error.to_string()),
    };
    Row { front_end: front_end.name(), step: step.what, works, told }
}

fn told(url: &str, rows: &[Row]) -> String {
    let mut text = String::new();
    for Row { front_end, step, works, told } in rows {
        text += &match works {
            true => format!("works  {front_end}: {step}\n"),
            false => format!("FAILS  {front_end}: {step}: {told}\n"),
        };
    }
    let failed = rows.iter().filter(|row| !row.works).count();
    text + &match failed {
        0 => format!("All is well with {url}.\n"),
        _ => format!("{failed} of {} steps fail with {url}.\n", rows.len()),
    }
}

/// Words of the message: more than any kind of signature asks for.
const WORDS: usize = 60;

/// Letters of a word.
const LETTERS: usize = 8;

/// A message that nobody has seen before.
fn message() -> Result<Vec<u8>, Problem> {
    let mut random = [0; WORDS * LETTERS];
    let broken = |error: getrandom::Error| Problem::io("random words")(std::io::Error::other(error));
    getrandom::fill(&mut random).map_err(broken)?;
    let letter = |byte: &u8| char::from(b'a' + byte % 26);
    let words: Vec<String> = random.chunks(LETTERS).map(|word| word.iter().map(letter).collect()).collect();
    let lines: Vec<String> = words.chunks(8).map(|line| line.join(" ")).collect();
    let text = format!(
        "From: selftest@seenit.invalid\r\nTo: nobody@seenit.invalid\r\nSubject: a test of seenit\r\n\
         Content-Type: text/plain; charset=us-ascii\r\n\r\n{}\r\n",
        lines.join("\r\n")
    );
    Ok(text.into_bytes())
}
