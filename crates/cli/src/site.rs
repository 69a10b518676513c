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
    /// Run a site: remember what is seen, reported and revoked, and answer HTTP, Pyzor, Razor, DCC and rspamd clients
    Serve(serve::Arguments),
    /// Ask whether anyone has seen messages before, and what they said about them
    Check(check::Arguments),
    /// Report messages as spam
    #[command(
        after_help = "The exit code is 0 only when the server has acknowledged every message as durable.\n\
        Examples:\n  seenit report spam.eml\n  seenit report Maildir/.Junk\n  \
        seenit report --arf complaints.mbox\n  seenit report --as-is phishing-with-attached-message.eml"
    )]
    Report(say::Arguments),
    /// Say that messages are good mail, whoever reported them as spam
    #[command(
        after_help = "The exit code is 0 only when the server has acknowledged every message as durable.\n\
        `seenit explain` before it shows who reported the messages; after it they are disputed.\n\
        Examples:\n  seenit revoke newsletter.eml\n  seenit revoke Maildir/.NotJunk"
    )]
    Revoke(say::Arguments),
    /// Take back your own report or revocation of messages, without saying that they are good
    #[command(
        after_help = "The exit code is 0 only when the server has acknowledged every message as durable.\n\
        Example: seenit withdraw mistake.eml"
    )]
    Withdraw(say::Arguments),
    /// Count that recipients received messages
    See(see::Arguments),
    /// Show everything that is known about messages, signature by signature: who said what, and when
    Explain(explain::Arguments),
    /// Show what became of a report, revocation or withdrawal, and which sites have applied it
    Receipt(receipt::Arguments),
    /// Protect known-good mail: no report makes it spam
    Protect(protect::Arguments),
    /// Show how the other sites of the network are doing, as a server sees them
    Sites(sites::Arguments),
    /// Show how a server is doing: how full it is, how often it errs, and its alarms
    Stats(stats::Arguments),
    /// List, add, change and remove accounts, and undo everything one said
    #[command(
        subcommand,
        after_help = "Examples:\n  seenit account list\n  \
        seenit account add abuse-desk --role report --role revoke --weight 10\n  seenit account undo mx1"
    )]
    Account(account::Command),
    /// Try every front end of a server with a message of its own
    Selftest(selftest::Arguments),
    /// Rebuild the tallies of a data folder from its journal, while no server runs on it
    Rebuild(rebuild::Arguments),
    /// Put a backup of a data folder in place. No new record gets the name of one that was lost
    Restore(restore::Arguments),
    /// Say that the system clock is right after it has jumped
    #[command(subcommand, after_help = "Example: seenit clock confirm")]
    Clock(upkeep::Clock),
    /// Make a server write a snapshot now
    Snapshot(upkeep::Arguments),
    /// Check a configuration file and the files that it names, or show every key with its default
    #[command(
        subcommand,
        after_help = "Examples:\n  seenit config show > seenit.toml\n  seenit config check seenit.toml"
    )]
    Config(config::Command),
    /// Print a script that completes the commands and options of seenit in a shell
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
