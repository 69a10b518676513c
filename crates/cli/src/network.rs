//! `seenit network`: what the admin of a network does.

mod admit;
mod broker;
mod documents;
mod folder;
mod invite;
mod remove;
mod session;
pub(crate) mod site_config;
mod status;
mod stuck;
mod up;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde::Serialize;

use crate::output;
use crate::problem::Problem;
use folder::Folder;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Make a network, or repair one: whatever is missing or differs, in the folder and at the broker
    Up(up::Arguments),
    /// Print an invite for a new site: one string to send to its operator
    Invite(invite::Arguments),
    /// Show who asks to be let in, let them in, or change how far a site is believed
    Admit(admit::Arguments),
    /// Remove a site: its reports no longer count anywhere, and it can no longer connect
    Remove(remove::Arguments),
    /// Tell who belongs to a network, who is invited, and how full its streams are
    Status(status::Arguments),
}

pub(crate) fn run(command: &Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Up(arguments) => up::run(arguments),
        Command::Invite(arguments) => invite::run(arguments),
        Command::Admit(arguments) => admit::run(arguments),
        Command::Remove(arguments) => remove::run(arguments),
        Command::Status(arguments) => status::run(arguments),
    }
}

/// Which network, and how to tell of it.
#[derive(Args)]
struct Common {
    /// The admin's folder, with the key that is the network: keep a copy of it where nobody else reads it
    #[arg(long, value_name = "DIR", default_value = "admin")]
    folder: PathBuf,
    /// Print one JSON object
    #[arg(long)]
    json: bool,
}

impl Common {
    fn open(&self) -> Result<Folder, Problem> {
        Folder::open(&self.folder)
    }

    fn tell(&self, told: &impl Serialize, text: &str) -> Result<ExitCode, Problem> {
        tell(self.json, told, text)
    }
}

/// Prints what was done, for machines or for people.
pub(crate) fn tell(json: bool, told: &impl Serialize, text: &str) -> Result<ExitCode, Problem> {
    if json {
        output::json(told)?;
    } else {
        output::text(text)?;
    }
    Ok(ExitCode::SUCCESS)
}
