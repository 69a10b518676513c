//! `seenit sign`: every signature of a message.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use seenit_mailbox::Mailbox;
use seenit_signature::Signature;
use seenit_signature::razor::Ep4;
use serde::Serialize;

use crate::exit::Exit;
use crate::output;
use crate::problem::{self, Problem};

#[derive(Args)]
#[command(
    after_help = "Examples:\n  seenit sign message.eml\n  seenit sign --json Maildir > signatures.json"
)]
pub(crate) struct Arguments {
    /// Messages: files, mbox files, Maildirs, folders, archives (.tar), any of them packed (.gz, .zst), or - for
    /// standard input. A message that cannot be read is named and skipped
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// Seed and separator of razor-e4, as a Razor server announces them
    #[arg(long, value_name = "SEED-SEPARATOR", default_value_t = Ep4::default())]
    ep4: Ep4,
    /// Print one JSON array of signatures in place of the table, which cuts long digests. A file that cannot be read
    /// is an object with file and problem
    #[arg(long)]
    json: bool,
}

/// One signature, for machines, or a file that cannot be read.
#[derive(Serialize)]
#[serde(untagged)]
enum Row {
    Signature(SignatureRow),
    Unread { file: String, problem: String },
}

#[derive(Serialize)]
struct SignatureRow {
    file: String,
    part: Option<u32>,
    kind: &'static str,
    digest: String,
    information_bits: u64,
    withheld: bool,
}

pub(crate) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let mut rows = Vec::new();
    let mut failures = Vec::new();
    let mailbox = Mailbox::find_or_failures(&arguments.files)?;
    mailbox.each_message_or_failure(&mut |name, mail| {
        let mail = match mail {
            Ok(mail) => mail,
            Err(error) => {
                failures.push(problem::of_mail(&error));
                eprintln!("seenit: {}: {}", name.escape_debug(), error.why());
                rows.push(Row::Unread { file: name.to_owned(), problem: error.why() });
                return Ok(());
            }
        };
        let signatures = seenit_signature::sign(mail, &arguments.ep4);
        if arguments.json {
            rows.extend(signatures.iter().map(|signature| Row::Signature(row(name, signature))));
            return Ok(());
        }
        output::text(&table(name, &signatures))
    })?;
    if arguments.json {
        output::json(&rows)?;
    }
    if let Some(skipped) = mailbox.skipped() {
        eprintln!("seenit: {skipped}");
    }
    Ok(Exit::worst(&failures).unwrap_or(Exit::Done).into())
}

fn row(file: &str, signature: &Signature) -> SignatureRow {
    SignatureRow {
        file: file.to_owned(),
        part: signature.part,
        kind: signature.kind.as_str(),
        digest: signature.digest.to_string(),
        information_bits: signature.information_bits,
        withheld: signature.withheld,
    }
}

/// One line a signature; long digests are cut.
fn table(name: &str, signatures: &[Signature]) -> String {
    /// What fits beside the other columns.
    const DIGEST_CHARS: usize = 40;
    // Names of files and of what is in archives are anybody's: no escapes reach the terminal.
    let mut table = format!("{}\n", name.escape_debug());
    for signature in signatures {
        let digest = signature.digest.to_string();
        let shown: String = digest.chars().take(DIGEST_CHARS).collect();
        let cut = if shown.len() < digest.len() { "..." } else { "" };
        let part = signature.part.map_or(String::new(), |part| format!("part {part}"));
        let withheld = if signature.withheld { "  withheld" } else { "" };
        let bits = signature.information_bits;
        table += &format!("  {:9}{part:8}{:44}{bits:>9} bits{withheld}\n", signature.kind, shown + cut);
    }
    table
}
