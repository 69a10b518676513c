//! `seenit filter diff`: what to change in one file to have another.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use seenit_filter::delta::Diff;
use seenit_filter::file::FileKind;
use serde::Serialize;

use crate::mapped::Mapped;
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "Example: seenit filter diff monday.filter tuesday.filter -o tuesday.delta\n\n\
    Both files must be of one geometry and one key: build them with the same --capacity, --rate and --layout. `seenit \
    filter apply` makes the new file from the old one and the delta, to the byte.")]
pub(crate) struct Arguments {
    /// The filter file that the other side has
    #[arg(value_name = "OLD")]
    old: PathBuf,
    /// The filter file that it is to have
    #[arg(value_name = "NEW")]
    new: PathBuf,
    /// The delta to write
    #[arg(short, long, value_name = "DELTA")]
    output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

/// What there is to say. Names are a contract: scripts read them.
#[derive(Serialize)]
struct Report {
    file: String,
    changed: u64,
    bytes: u64,
    entropy_bytes: u64,
    new_file_bytes: u64,
    old_digest: String,
    new_digest: String,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let old = Mapped::open(&arguments.old)?;
    let new = Mapped::open(&arguments.new)?;
    let from = old.checked()?;
    let to = new.checked()?;
    let diff = Diff::between(&from, &to).map_err(Problem::delta(new.path()))?;
    let bound = Diff::bound(&from, &to).map_err(Problem::delta(new.path()))?;
    let inputs = [arguments.old.as_path(), arguments.new.as_path()];
    let bytes = diff.bytes();
    output::write_file(&arguments.output, bytes.len() as u64, &inputs, |out| out.write_all(bytes))?;
    let report = Report {
        file: arguments.output.display().to_string(),
        changed: bound.changed,
        bytes: bytes.len() as u64,
        entropy_bytes: bound.bytes(),
        new_file_bytes: to.header().file_bytes(),
        old_digest: diff.envelope().old.to_string(),
        new_digest: diff.envelope().new.to_string(),
    };
    if arguments.json {
        output::json(&report)?;
    } else {
        let what = if to.header().kind == FileKind::Plain { "bits" } else { "cells" };
        output::text(&format!(
            "{} {what} changed: {} bytes, where {} would be the fewest and the new file has {}\n",
            report.changed, report.bytes, report.entropy_bytes, report.new_file_bytes
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}
