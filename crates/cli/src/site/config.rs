//! `seenit config`: what a configuration file may say, and whether one does.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use seenit_server::Config;
use seenit_server::config::check_data_folder;

use super::serve::config_in;
use crate::exit::Exit;
use crate::output;
use crate::problem::Problem;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Check a configuration file and every file that it names
    Check(Check),
    /// Print every key with its default and its explanation: a file to start from
    #[command(after_help = "Example: seenit config show > seenit.toml")]
    Show,
}

#[derive(Args)]
#[command(
    after_help = "Every file that the configuration names is opened and read as `serve` would: certificate, key, \
    whitelist, credentials, authority. All that is wrong with them is told, a line each: the line of the \
    configuration, the key, the path, the reason.\n\
    Examples:\n  seenit config check seenit.toml\n  seenit config check --data /var/lib/seenit/data /etc/seenit.toml"
)]
pub(crate) struct Check {
    /// The configuration
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Check the data folder, too: whether it can be used, or made
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
}

pub(super) fn run(command: &Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Show => output::text(&Config::documented())?,
        Command::Check(check) => return check_all(check),
    }
    Ok(ExitCode::SUCCESS)
}

fn check_all(check: &Check) -> Result<ExitCode, Problem> {
    let config = config_in(&check.file)?;
    let mut problems: Vec<String> = config.check_files(&check.file).iter().map(ToString::to_string).collect();
    if let Some(data) = &check.data
        && let Err(error) = check_data_folder(data)
    {
        problems.push(format!("--data {error}"));
    }
    for problem in &problems {
        eprintln!("seenit: {problem}");
    }
    if !problems.is_empty() {
        return Ok(Exit::Config.into());
    }
    output::text(&format!("{}: all is well\n", check.file.display()))?;
    Ok(ExitCode::SUCCESS)
}
