//! `seenit config`: what a configuration file may say, and whether one does.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use seenit_server::Config;

use crate::output;
use crate::problem::Problem;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Check a configuration file; names the first line that is wrong
    Check(Check),
    /// Print every key with its default and its explanation: a file to start from
    #[command(after_help = "Example: seenit config show > seenit.toml")]
    Show,
}

#[derive(Args)]
#[command(after_help = "Example: seenit config check seenit.toml")]
pub(crate) struct Check {
    /// The configuration
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

pub(super) fn run(command: &Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Show => output::text(&Config::documented())?,
        Command::Check(check) => {
            Config::read(&check.file)?;
            output::text(&format!("{}: all is well\n", check.file.display()))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}
