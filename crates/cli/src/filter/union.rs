//! `seenit filter union`: what any of several filters holds, in one.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use seenit_filter::HugePages;

use super::report::Report;
use crate::mapped::Mapped;
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "Example: seenit filter union monday.filter tuesday.filter -o week.filter\n\n\
    Only filters of one geometry can be united: build them with the same --capacity, --rate, --layout and \
    --network-key.")]
pub(crate) struct Arguments {
    /// The filter files
    #[arg(value_name = "FILTER", required = true, num_args = 1..)]
    files: Vec<PathBuf>,
    /// The filter file to write
    #[arg(short, long, value_name = "OUT")]
    output: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

pub(super) fn run(arguments: &Arguments) -> Result<ExitCode, Problem> {
    let (first, others) = arguments.files.split_first().expect("clap asks for at least one file");
    let mapped = Mapped::open(first)?;
    let mut sum = mapped.checked()?.to_filter(HugePages::Default).map_err(Problem::format(first))?;
    for path in others {
        let mapped = Mapped::open(path)?;
        let filter = mapped.checked()?.filter().map_err(Problem::format(path))?;
        sum.union(&filter).map_err(|error| Problem::Unlike {
            path: path.clone(),
            first: first.clone(),
            error,
        })?;
    }
    let report = Report::of(&arguments.output, &sum);
    output::write_filter(&arguments.output, &sum, &[])?;
    if report.is_broken() {
        eprintln!("seenit: warning: the union holds more keys than one filter was sized for");
    }
    report.print(arguments.json)?;
    Ok(ExitCode::SUCCESS)
}
