//! `seenit`: has anyone seen this message before?
//!
//! The binary is a thin skin: each subcommand parses its arguments, calls one of the rooms, and prints. What a
//! command prints for machines (`--json`) is one JSON document on standard output and nothing else there.

mod client;
mod exit;
mod filter;
mod join;
mod keys;
#[cfg(feature = "lab")]
mod lab;
mod mapped;
mod network;
mod network_key;
#[cfg(any(test, not(feature = "lab")))]
mod no_lab;
mod output;
mod plural;
mod problem;
mod progress;
mod range;
mod shown;
mod sign;
mod site;
mod words;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

#[derive(Parser)]
#[command(
    name = "seenit",
    version,
    about = "Ask whether anyone has seen a message before, and what they said about it",
    max_term_width = 100
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Site(site::Command),
    /// Build, inspect, query, count, unite, retouch and update filter files
    #[command(
        subcommand,
        after_help = "Examples:\n  seenit filter build --keys digests.txt --hex -o spam.filter\n  \
            seenit filter query spam.filter --keys mine.txt --hex\n  seenit filter info spam.filter"
    )]
    Filter(filter::Command),
    /// Print every signature of messages: seenit's own, and those of Razor, Pyzor, DCC and rspamd clients
    Sign(sign::Arguments),
    /// Train, ask and evaluate a model of the words of spam and of good mail
    #[command(
        subcommand,
        after_help = "Examples:\n  seenit words train --spam Maildir/.Junk --ham Maildir -o words.model\n  \
            seenit words score words.model message.eml"
    )]
    Words(words::Command),
    /// Join a network of sites, with the invite that its admin sent
    Join(join::Arguments),
    /// Form a network of sites: who belongs to it, how far each is believed, and where they meet
    #[command(
        subcommand,
        after_help = "Examples:\n  seenit network up --site seenit-data\n  seenit network invite mail.example.org\n  \
            seenit network admit --pending\n  seenit network status"
    )]
    Network(network::Command),
    #[cfg(feature = "lab")]
    /// Run the papers' experiments and compare each table with the printed one
    #[command(subcommand)]
    Lab(lab::Command),
    #[cfg(not(feature = "lab"))]
    /// Say that this build has no lab, and how to get one
    Lab(no_lab::Arguments),
}

/// All commands, with the exit codes of each in its help.
fn command_line() -> clap::Command {
    exit::documented(Arguments::command())
}

fn main() -> ExitCode {
    let matches = command_line().get_matches();
    let arguments = Arguments::from_arg_matches(&matches).unwrap_or_else(|error| error.exit());
    let result = match arguments.command {
        Command::Site(command) => site::run(&command),
        Command::Filter(command) => filter::run(command),
        Command::Join(arguments) => join::run(&arguments),
        #[cfg(feature = "lab")]
        Command::Lab(command) => lab::run(command),
        #[cfg(not(feature = "lab"))]
        Command::Lab(arguments) => no_lab::run(&arguments),
        Command::Network(command) => network::run(&command),
        Command::Sign(arguments) => sign::run(&arguments),
        Command::Words(command) => words::run(&command),
    };
    result.unwrap_or_else(|problem| {
        eprintln!("seenit: {problem}");
        problem.exit().into()
    })
}
