//! `seenit report`, `revoke` and `withdraw`: 0 only when it is durable.

use std::process::ExitCode;

use clap::Args;
use seenit_signature::complaint::Complaint;
use serde::Serialize;
use serde_json::Value;

use super::messages::{Files, Message, Questions};
use crate::client::{AskError, Client, MESSAGE, Place};
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(
    after_help = "Exit codes: 0 when all of it is acknowledged as durable, 75 no answer, 77 refused, 65 nothing \
    in it to speak of.\n\
    Examples:\n  seenit report spam.eml\n  seenit revoke newsletter.eml\n  seenit withdraw mistake.eml\n  \
    seenit report --arf complaints.mbox"
)]
pub(crate) struct Arguments {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    place: Place,
    /// The files are complaints (ARF, RFC 5965) or messages with others attached: those inside are meant
    #[arg(long)]
    arf: bool,
    /// Print one JSON array: file, acknowledged, receipt, problem
    #[arg(long)]
    json: bool,
}

/// What is said.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    Report,
    Revoke,
    Withdraw,
}

impl Verb {
    pub(super) fn path(self) -> &'static str {
        match self {
            Verb::Report => "/v1/report",
            Verb::Revoke => "/v1/revoke",
            Verb::Withdraw => "/v1/withdraw",
        }
    }

    fn done(self) -> &'static str {
        match self {
            Verb::Report => "reported",
            Verb::Revoke => "revoked",
            Verb::Withdraw => "withdrawn",
        }
    }
}

/// One message, for machines.
#[derive(Serialize)]
struct Row {
    file: String,
    acknowledged: bool,
    receipt: Option<Value>,
    problem: Option<String>,
}

pub(super) fn run(verb: Verb, arguments: &Arguments) -> Result<ExitCode, Problem> {
    let client = Client::of(&arguments.place)?;
    let (mut questions, mut rows) = (Questions::default(), Vec::new());
    let ask = |mail: &[u8]| say(&client, verb, mail);
    let answered = |name: &str, answer: Result<Value, AskError>| {
        if arguments.json {
            let problem = answer.as_ref().err().map(ToString::to_string);
            let acknowledged = answer.is_ok();
            rows.push(Row { file: name.to_owned(), acknowledged, receipt: answer.ok(), problem });
            return Ok(());
        }
        match answer {
            Ok(receipt) => output::text(&line(verb, name, &receipt)),
            Err(_) => output::text(&format!("{}: not {}\n", name.escape_debug(), verb.done())),
        }
    };
    let files = &arguments.files.files;
    if arguments.arf {
        questions.ask_inside(files, |name, mail| attached(verb, name, mail), ask, answered)?;
    } else {
        questions.ask(files, ask, answered)?;
    }
    if arguments.json {
        output::json(&rows)?;
    }
    Ok(questions.exit_code())
}

/// Says something of a message.
pub(super) fn say(client: &Client, verb: Verb, mail: &[u8]) -> Result<Value, AskError> {
    client.post(verb.path(), MESSAGE, mail)
}

/// The messages that a complaint carries.
fn attached<'m>(verb: Verb, name: &str, mail: &'m [u8]) -> Result<Vec<Message<'m>>, AskError> {
    let complaint = Complaint::read(mail);
    if verb == Verb::Report && complaint.is_not_spam() {
        return Err(AskError::Nothing(
            "its Feedback-Type is not-spam: say `seenit revoke --arf` of what it carries".into(),
        ));
    }
    match complaint.messages.len() {
        0 if complaint.has_head_only => Err(AskError::Nothing(
            "it carries only the head of a message, and signatures are of the body".into(),
        )),
        0 => Err(AskError::Nothing("no message is attached to it (message/rfc822)".into())),
        1 => Ok(complaint.messages.into_iter().map(|inner| (name.to_owned(), inner)).collect()),
        _ => {
            let named = |(number, inner)| (format!("{name}, attached message {number}"), inner);
            Ok((1..).zip(complaint.messages).map(named).collect())
        }
    }
}

fn line(verb: Verb, name: &str, receipt: &Value) -> String {
    let number = |name: &str| receipt[name].as_u64().unwrap_or(0);
    let what = match verb {
        Verb::Report | Verb::Withdraw => format!("{} of its signatures were known", number("matched")),
        Verb::Revoke => match number("remaining") {
            0 => format!("none of its {} signatures is spam", number("cleared")),
            remaining => {
                format!(
                    "{} of its signatures are not spam, {remaining} stay spam by others' word",
                    number("cleared")
                )
            }
        },
    };
    let id = receipt["id"].as_str().unwrap_or_default();
    format!("{}: {}: {what} (record {id})\n", name.escape_debug(), verb.done())
}
