//! `seenit explain`: everything that is known of a message, signature by signature.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use seenit_ledger::Case;
use seenit_signature::Kind;
use seenit_signature::razor::Ep4;
use serde::Serialize;
use serde_json::Value;

use super::messages::Questions;
use super::reason;
use crate::client::{AskError, Client, Place, escaped};
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "Examples:\n  seenit explain message.eml\n  \
    seenit explain --kind pyzor --digest da39a3ee5e6b4b0d3255bfef95601890afd80709")]
pub(crate) struct Arguments {
    /// Messages: files, mbox files, Maildirs, folders, archives (.tar), any of them packed (.gz, .zst), or - for
    /// standard input
    #[arg(value_name = "FILE", required_unless_present = "kind", conflicts_with_all = ["kind", "digest"])]
    files: Vec<PathBuf>,
    #[command(flatten)]
    place: Place,
    /// Explain one signature: its kind
    #[arg(long, value_name = "KIND", requires = "digest", value_parser = kind)]
    kind: Option<Kind>,
    /// Explain one signature: its digest in hexadecimal, as reasons have it
    #[arg(long, value_name = "HEX", requires = "kind")]
    digest: Option<String>,
    /// Print one JSON array: file, signatures
    #[arg(long)]
    json: bool,
}

fn kind(name: &str) -> Result<Kind, String> {
    let known = || Kind::ALL.map(Kind::as_str).join(", ");
    Kind::from_name(name).ok_or_else(|| format!("the kinds are {}", known()))
}

/// One message, for machines.
#[derive(Serialize)]
struct Row {
    file: String,
    signatures: Vec<Value>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let client = Client::of(&arguments.place)?;
    if let (Some(kind), Some(digest)) = (arguments.kind, &arguments.digest) {
        let explanation = ask(&client, kind, digest)?;
        if arguments.json {
            output::json(&explanation)?;
        } else {
            output::text(&told(&explanation))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let (mut questions, mut rows) = (Questions::new(), Vec::new());
    questions.ask(
        &arguments.files,
        |mail| ask_all(&client, mail),
        |name, answer| {
            let Ok(signatures) = answer else {
                return Ok(());
            };
            if arguments.json {
                rows.push(Row { file: name.to_owned(), signatures });
                return Ok(());
            }
            let nothing =
                if signatures.is_empty() { "  it has too little text for an opinion\n" } else { "" };
            let lines: String = signatures.iter().map(told).collect();
            output::text(&format!("{}\n{nothing}{lines}", name.escape_debug()))
        },
    )?;
    if arguments.json {
        output::json(&rows)?;
    }
    Ok(questions.exit_code())
}

/// Signed here: only signatures leave this machine.
fn ask_all(client: &Client, mail: &[u8]) -> Result<Vec<Value>, AskError> {
    let case = Case::of_message(mail, &Ep4::default());
    case.iter().map(|one| ask(client, one.kind(), &hex::encode(one.digest()))).collect()
}

fn ask(client: &Client, kind: Kind, digest: &str) -> Result<Value, AskError> {
    client.get(&format!("/v1/explain?kind={kind}&digest={}", escaped(digest)))
}

/// One signature, its verdict, its reasons, and who said what.
fn told(explanation: &Value) -> String {
    /// What fits beside the verdict; JSON has all of it.
    const DIGEST_CHARS: usize = 40;
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let (kind, digest) = (text(&explanation["kind"]), text(&explanation["digest"]));
    let shown: String = digest.chars().take(DIGEST_CHARS).collect();
    let cut = if shown.len() < digest.len() { "..." } else { "" };
    let judgement = &explanation["judgement"];
    let mut lines = format!("  {kind:9}{:44}{}\n", shown + cut, text(&judgement["verdict"]));
    for reason in list(&judgement["reasons"]) {
        lines += &format!("    {}\n", reason::words(&reason));
    }
    for word in list(&explanation["words"]) {
        let said = match word["word"].as_str() {
            Some("spam") => "said spam",
            Some("ham") => "said it is good",
            _ => "took back what it said",
        };
        let reporter = text(&word["reporter"]);
        lines += &format!(
            "    {} {said} ({} points, {} times) in generation {}, record {}\n",
            reporter.escape_debug(),
            word["weight"],
            word["raw"],
            word["generation"],
            text(&word["record"])
        );
    }
    if explanation["more"] == true {
        lines += "    and others\n";
    }
    lines
}
