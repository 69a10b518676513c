//! The clearinghouse: a server, and everything that asks one.

mod account;
mod check;
mod config;
mod documents;
mod explain;
mod hint;
mod meant;
mod messages;
mod protect;
mod reason;
mod rebuild;
mod receipt;
mod restore;
mod say;
mod see;
mod selftest;
mod serve;
mod sites;
mod stats;
mod upkeep;

use std::process::ExitCode;

use clap::Subcommand;

use crate::problem::Problem;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Run a clearinghouse: remembers what is seen, reported and revoked, and answers over HTTP
    Serve(serve::Arguments),
    /// Ask whether anyone has seen messages before, and what they said
    Check(check::Arguments),
    /// Say that messages are spam
    Report(say::Arguments),
    /// Say that messages are good mail, whoever reported them
    Revoke(say::Arguments),
    /// Take back what you said of messages: nothing is said to be good
    Withdraw(say::Arguments),
    /// Count that recipients got messages
    See(see::Arguments),
    /// Tell everything that is known of messages, signature by signature: who said what, and when
    Explain(explain::Arguments),
    /// What became of a record: what it matched, what is cleared, at which sites
    Receipt(receipt::Arguments),
    /// Feed known-good mail: no report makes it spam
    Protect(protect::Arguments),
    /// How the other sites of the network are doing, as a server sees them
    Sites(sites::Arguments),
    /// How a server is doing
    Stats(stats::Arguments),
    /// List, add, change and remove accounts, and undo everything one said
    #[command(subcommand)]
    Account(account::Command),
    /// Check a server front to back with a message of its own
    Selftest(selftest::Arguments),
    /// Make the tallies of a data folder anew from its journal, at any size
    Rebuild(rebuild::Arguments),
    /// Put a backup of a data folder in place, under a new incarnation: names of records stay unique
    Restore(restore::Arguments),
    /// Confirm the time after the clock has jumped
    #[command(subcommand)]
    Clock(upkeep::Clock),
    /// Have a server write a snapshot now
    Snapshot(upkeep::Arguments),
    /// Check a configuration file, or show every key with its default
    #[command(subcommand)]
    Config(config::Command),
    /// Print what a shell needs to complete seenit's commands
    Completions(documents::Completions),
    /// Print or write the manual pages
    Man(documents::Man),
}

pub(crate) fn run(command: &Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Serve(arguments) => serve::run(arguments),
        Command::Check(arguments) => check::run(arguments),
        Command::Report(arguments) => say::run(say::Verb::Report, arguments),
        Command::Revoke(arguments) => say::run(say::Verb::Revoke, arguments),
        Command::Withdraw(arguments) => say::run(say::Verb::Withdraw, arguments),
        Command::See(arguments) => see::run(arguments),
        Command::Explain(arguments) => explain::run(arguments),
        Command::Receipt(arguments) => receipt::run(arguments),
        Command::Protect(arguments) => protect::run(arguments),
        Command::Sites(arguments) => sites::run(arguments),
        Command::Stats(arguments) => stats::run(arguments),
        Command::Account(command) => account::run(command),
        Command::Selftest(arguments) => selftest::run(arguments),
        Command::Rebuild(arguments) => rebuild::run(arguments),
        Command::Restore(arguments) => restore::run(arguments),
        Command::Clock(command) => upkeep::confirm_clock(command),
        Command::Snapshot(arguments) => upkeep::snapshot(arguments),
        Command::Config(command) => config::run(command),
        Command::Completions(arguments) => documents::completions(arguments),
        Command::Man(arguments) => documents::man(arguments),
    }
}
