//! `seenit filter apply`: the new file from the old one and a delta, to the byte, or nothing.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use seenit_filter::delta::Diff;
use serde::Serialize;

use crate::mapped::Mapped;
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "Example: seenit filter apply monday.filter tuesday.delta -o tuesday.filter\n\n\
    A delta fits the one file it was made from and leads to the one file it was made for; anything else is refused.")]
pub(crate) struct Arguments {
    /// The filter file the delta was made from
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The delta
    #[arg(value_name = "DELTA")]
    delta: PathBuf,
    /// The filter file to write
    #[arg(short, long, value_name = "NEW")]
    output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What there is to say. Names are a contract: scripts read them.
#[derive(Serialize)]
struct Report {
    file: String,
    bytes: u64,
    old_digest: String,
    new_digest: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let delta = Mapped::open(&arguments.delta)?;
    let diff = Diff::open(delta.bytes()).map_err(Problem::delta(delta.path()))?;
    let old = Mapped::open(&arguments.old)?;
    let new = diff.apply(&old.checked()?).map_err(Problem::delta(delta.path()))?;
    let inputs = [arguments.old.as_path(), arguments.delta.as_path()];
    let bytes = new.file_bytes();
    output::write_file(&arguments.output, bytes, &inputs, |mut out| new.write(&mut out))?;
    let report = Report {
        file: arguments.output.display().to_string(),
        bytes,
        old_digest: diff.envelope().old.to_string(),
        new_digest: new.digest().to_string(),
    };
    if arguments.json {
        output::json(&report)?;
    } else {
        output::text(&format!("{}: {} bytes, digest {}\n", report.file, report.bytes, report.new_digest))?;
    }
    Ok(ExitCode::SUCCESS)
}
