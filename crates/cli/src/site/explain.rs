//! `seenit explain`: what a message is, who said what of it and when, and who protects it.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValuesParser, TypedValueParser};
use seenit_ledger::Case;
use seenit_signature::Kind;
use seenit_signature::razor::Ep4;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::messages::Questions;
use super::reason::{self, Judged};
use crate::client::{AskError, BINARY, Client, ServerArgs, escaped};
use crate::output;
use crate::plural::counted;
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
    server: ServerArgs,
    /// Explain one signature: its kind
    #[arg(long, value_name = "KIND", requires = "digest", value_parser = kinds_of_signatures())]
    kind: Option<Kind>,
    /// Explain one signature: its digest in hexadecimal, as reasons have it
    #[arg(long, value_name = "HEX", requires = "kind")]
    digest: Option<String>,
    /// Print one JSON array: file, verdict, reasons, reports (a record each), protected_by, signatures
    #[arg(long)]
    json: bool,
}

/// All kinds by their names, which the help lists.
fn kinds_of_signatures() -> impl TypedValueParser<Value = Kind> {
    let names = PossibleValuesParser::new(Kind::ALL.map(Kind::as_str));
    names.map(|name| Kind::from_name(&name).expect("only names of kinds are possible"))
}

/// One message, for machines: what the server said, and the file.
#[derive(Serialize)]
struct Row {
    file: String,
    /// Why there is no explanation.
    #[serde(skip_serializing_if = "Option::is_none")]
    problem: Option<String>,
    /// Its fields are fields of the row.
    #[serde(flatten)]
    explanation: Option<Value>,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let client = Client::of(&arguments.server)?;
    if let (Some(kind), Some(digest)) = (arguments.kind, &arguments.digest) {
        if digest.is_empty() || !digest.bytes().all(|digit| digit.is_ascii_hexdigit()) {
            return Err(Problem::Refused(format!(
                "cannot explain {kind} {digest}: a digest is hexadecimal digits"
            )));
        }
        let explanation: Value =
            client.get(&format!("/v1/explain?kind={kind}&digest={}", escaped(digest)))?;
        if arguments.json {
            output::json(&explanation)?;
        } else {
            output::text(&signature(&explanation))?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    let mut questions = Questions::new();
    let mut rows = Vec::new();
    questions.ask(
        &arguments.files,
        |mail| ask(&client, mail),
        |name, answer| {
            match (answer, arguments.json) {
                (Ok(explanation), false) => return output::text(&message(name, &explanation)),
                (Ok(explanation), true) => {
                    rows.push(Row { file: name.to_owned(), problem: None, explanation: Some(explanation) });
                }
                (Err(error), _) => {
                    rows.push(Row {
                        file: name.to_owned(),
                        problem: Some(error.to_string()),
                        explanation: None,
                    });
                }
            }
            Ok(())
        },
    )?;
    if arguments.json {
        output::json(&rows)?;
    }
    Ok(questions.exit_code())
}

/// Signed here: only signatures leave this machine.
fn ask(client: &Client, mail: &[u8]) -> Result<Value, AskError> {
    let case = Case::of_message(mail, &Ep4::default());
    let mut body = (case.len() as u16).to_le_bytes().to_vec();
    body.extend_from_slice(case.bytes());
    client.post("/v1/explain", BINARY, &body)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().escape_debug().to_string()
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

/// The verdict of a message, then a line for each record that speaks of it.
fn message(name: &str, explanation: &Value) -> String {
    let why = Judged::deserialize(explanation).map_or_else(|_| String::new(), |judged| judged.why());
    let mut lines = format!("{}: {}: {why}\n", name.escape_debug(), text(&explanation["verdict"]));
    for reason in list(&explanation["reasons"]).iter().skip(1) {
        lines += &format!("  {}\n", reason::words(reason));
    }
    for report in list(&explanation["reports"]) {
        lines += &format!(
            "  {} {} {} (weight {}; {}; record {})\n",
            text(&report["time"]),
            text(&report["reporter"]),
            said(&report["verb"]),
            report["weight"],
            kinds(report),
            text(&report["record"])
        );
    }
    if explanation["more"] == true {
        lines += "  and more records\n";
    }
    list(&explanation["protected_by"]).iter().for_each(|one| lines += &protected(one));
    lines
}

fn said(verb: &Value) -> &'static str {
    match verb.as_str() {
        Some("report") => "reported it as spam",
        Some("revoke") => "said that it is good",
        _ => "took back what they said",
    }
}

fn kinds(of: &Value) -> String {
    let kinds: Vec<&str> = list(&of["kinds"]).iter().filter_map(Value::as_str).map(reason::plain).collect();
    kinds.join(", ")
}

fn protected(by: &Value) -> String {
    let others = match by["messages"].as_u64() {
        Some(messages @ 2..) => format!("; {messages} messages protect it"),
        _ => String::new(),
    };
    format!(
        "  {} {} protected mail with the same {} (record {}{others})\n",
        text(&by["time"]),
        text(&by["reporter"]),
        kinds(by),
        text(&by["record"])
    )
}

/// One signature, its verdict, its reasons, and who said what.
fn signature(explanation: &Value) -> String {
    /// What fits beside the verdict; JSON has all of it.
    const DIGEST_CHARS: usize = 40;
    let kind = text(&explanation["kind"]);
    let digest = text(&explanation["digest"]);
    let shown: String = digest.chars().take(DIGEST_CHARS).collect();
    let cut = if shown.len() < digest.len() { "..." } else { "" };
    let judgement = &explanation["judgement"];
    let mut lines = format!("{kind} {shown}{cut}: {}\n", text(&judgement["verdict"]));
    for reason in list(&judgement["reasons"]) {
        lines += &format!("  {}\n", reason::words(reason));
    }
    for word in list(&explanation["words"]) {
        let said = match word["word"].as_str() {
            Some("spam") => "reported it as spam",
            Some("ham") => "said that it is good",
            _ => "took back what they said",
        };
        lines += &format!(
            "  {} {} {said} (weight {}, {} that day; record {})\n",
            text(&word["time"]),
            text(&word["reporter"]),
            word["weight"],
            counted(word["raw"].as_u64().unwrap_or(0), "time"),
            text(&word["record"])
        );
    }
    if explanation["more"] == true {
        lines += "  and others\n";
    }
    if explanation["protected_by"].is_object() {
        lines += &protected(&explanation["protected_by"]);
    }
    lines
}
