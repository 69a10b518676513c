//! `seenit filter count`: counting filters as files. How often was this key counted?

mod build;
mod open;
mod query;
mod report;

use std::path::Path;
use std::process::ExitCode;

use clap::Subcommand;
use seenit_filter::file::FileView;

use crate::problem::Problem;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Count keys, one per line: a line that comes again counts again
    Build(build::Arguments),
    /// Look up how often keys were counted
    Query(query::Arguments),
}

pub(super) fn run(command: Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Build(arguments) => build::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
    }
}

/// What `seenit filter info` prints of a counting filter.
pub(super) fn info(path: &Path, view: &FileView<'_>, json: bool) -> Result<(), Problem> {
    open::open(path, view, report::Describe { path, keys_read: None })??.print(json)
}
