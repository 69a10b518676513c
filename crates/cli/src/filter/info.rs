//! `seenit filter info`: what a file is, how full it is, promise versus present.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use seenit_filter::file::FileKind;

use super::report::Report;
use crate::mapped::Mapped;
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "Example: seenit filter info spam.filter --json")]
pub(crate) struct Arguments {
    /// The filter file
    #[arg(value_name = "FILTER")]
    file: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let mapped = Mapped::open(&arguments.file)?;
    let view = mapped.checked()?;
    match view.header().kind {
        FileKind::Plain => {}
        FileKind::Packed { .. } | FileKind::Split { .. } => {
            super::count::info(mapped.path(), &view, arguments.json)?;
            return Ok(ExitCode::SUCCESS);
        }
        FileKind::Bins { .. } => {
            super::bins::info(mapped.path(), &view, arguments.json)?;
            return Ok(ExitCode::SUCCESS);
        }
    }
    let filter = view.filter().map_err(Problem::format(mapped.path()))?;
    Report::of(mapped.path(), &filter).print(arguments.json)?;
    Ok(ExitCode::SUCCESS)
}
