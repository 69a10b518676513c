//! `seenit report`, `revoke` and `withdraw`: 0 only when it is durable.

use std::cell::RefCell;
use std::process::ExitCode;

use clap::Args;
use seenit_ledger::Verdict;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::meant::Meant;
use super::messages::{Files, Questions};
use super::reason::Judged;
use crate::client::{AskError, Client, MESSAGE, ServerArgs};
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    files: Files,
    #[command(flatten)]
    server: ServerArgs,
    /// Use the messages inside the files, which are complaints (ARF, RFC 5965) or have messages attached
    #[arg(long, conflicts_with = "as_is")]
    pub(super) arf: bool,
    /// Use the files themselves, even if they are complaints or have messages attached
    #[arg(long)]
    pub(super) as_is: bool,
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
    pub(super) fn as_str(self) -> &'static str {
        match self {
            Verb::Report => "report",
            Verb::Revoke => "revoke",
            Verb::Withdraw => "withdraw",
        }
    }

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
    let client = Client::of(&arguments.server)?;
    let mut questions = Questions::new();
    let mut rows = Vec::new();
    let mut done = 0;
    let ask = |mail: &[u8]| say(&client, verb, mail);
    let answered = |name: &str, answer: Result<Value, AskError>| {
        done += u64::from(answer.is_ok());
        if arguments.json {
            let problem = answer.as_ref().err().map(ToString::to_string);
            let acknowledged = answer.is_ok();
            rows.push(Row { file: name.to_owned(), acknowledged, receipt: answer.ok(), problem });
            return Ok(());
        }
        match answer {
            Ok(receipt) => output::text(&line(verb, name, &receipt)),
            // What went wrong is told already.
            Err(_) => Ok(()),
        }
    };
    let files = &arguments.files.files;
    let meant = RefCell::new(Meant::of(arguments));
    questions.ask_inside(files, |name, mail| meant.borrow_mut().inside(verb, name, mail), ask, answered)?;
    if arguments.json {
        output::json(&rows)?;
    }
    questions.tell_summary(&[(verb.done(), done)]);
    Ok(questions.exit_code())
}

/// Says something of a message.
pub(super) fn say(client: &Client, verb: Verb, mail: &[u8]) -> Result<Value, AskError> {
    client.post(verb.path(), MESSAGE, mail)
}

/// Whether a report has listed the message, and what is missing where it has not.
fn listed(receipt: &Value) -> String {
    let Ok(judged) = Judged::deserialize(receipt) else {
        return "listed or not is unknown".into();
    };
    let reason = judged.reasons.first();
    let number = |name: &str| reason.and_then(|reason| reason[name].as_u64()).unwrap_or(0);
    match reason.and_then(|reason| reason["rule"].as_str()) {
        _ if judged.is(Verdict::Spam) => "listed as spam now".into(),
        Some("below-quorum") => {
            format!("not listed yet: weight {} of {}", number("weight"), number("quorum"))
        }
        Some(_) => format!("not listed: {} now: {}", judged.verdict, judged.why()),
        None => format!("not listed: {} now", judged.verdict),
    }
}

/// What the message is now.
fn now(receipt: &Value) -> String {
    format!("{} now", receipt["verdict"].as_str().unwrap_or("unknown"))
}

fn line(verb: Verb, name: &str, receipt: &Value) -> String {
    let number = |name: &str| receipt[name].as_u64().unwrap_or(0);
    let what = match verb {
        Verb::Report => format!("{}; {} of its signatures were known", listed(receipt), number("matched")),
        Verb::Withdraw => format!("{}; {} of its signatures were known", now(receipt), number("matched")),
        Verb::Revoke => match number("remaining") {
            0 => format!("{}; none of its {} signatures is spam", now(receipt), number("cleared")),
            remaining => format!(
                "{}; {} of its signatures are not spam, {remaining} stay spam because others reported them",
                now(receipt),
                number("cleared")
            ),
        },
    };
    let id = receipt["id"].as_str().unwrap_or_default();
    format!("{}: {}: {what} (record {id})\n", name.escape_debug(), verb.done())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_says_whether_the_message_is_listed_now() {
        let told = |receipt: Value| line(Verb::Report, "a.eml", &receipt);
        let reason = |rule: &str, weight: u64| {
            let kind = "exact1";
            let verdict = "unknown";
            json!([{"kind": kind, "rule": rule, "verdict": verdict, "weight": weight, "quorum": 10}])
        };
        let spam = json!({"id": "r", "matched": 2, "verdict": "spam", "reasons": reason("reported", 10)});
        assert_eq!(
            told(spam),
            "a.eml: reported: listed as spam now; 2 of its signatures were known (record r)\n"
        );
        let below =
            json!({"id": "r", "matched": 0, "verdict": "unknown", "reasons": reason("below-quorum", 4)});
        assert!(told(below).contains("not listed yet: weight 4 of 10"));
        let good = json!({"id": "r", "matched": 0, "verdict": "ham", "reasons": reason("protected", 0)});
        let good = told(good);
        assert!(good.contains("not listed: ham now: exact text: protected as known-good mail"), "{good}");
        assert!(told(json!(null)).contains("listed or not is unknown"), "a foreign answer is no panic");
    }
}
