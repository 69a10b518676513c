//! `seenit`: has anyone seen this message before?
//!
//! The binary is a thin skin: each subcommand parses its arguments, calls one of the rooms, and prints. What a
//! command prints for machines (`--json`) is one JSON document on standard output and nothing else there.

mod client;
mod filter;
mod keys;
mod lab;
mod mapped;
mod network;
mod network_key;
mod output;
mod problem;
mod progress;
mod sign;
mod site;
mod words;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

#[derive(Parser)]
#[command(name = "seenit", version, about, max_term_width = 100, after_help = EXIT_CODES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Site(site::Command),
    /// Build, inspect, query, count, unite, retouch and update filter files
    #[command(subcommand)]
    Filter(filter::Command),
    /// Print every signature of messages: seenit's own, and those of Razor, Pyzor, DCC and rspamd clients
    Sign(sign::Arguments),
    /// Train, ask and evaluate a model of the words of spam and of good mail
    #[command(subcommand)]
    Words(words::Command),
    /// Form a network of sites: who belongs to it, how far each is believed, and where they meet
    #[command(subcommand)]
    Network(network::Command),
    /// Run the papers' experiments, each table beside the printed one
    #[command(subcommand)]
    Lab(lab::Command),
}

const EXIT_CODES: &str = "\
Exit codes: 0 all is well, 1 some keys were missed (filter query, filter count query) or something does not work \
(selftest, sites), 2 wrong usage, 10 some of it is spam (check), 11 some of it is bulk (check), 12 something is still \
on its way between sites (receipt --wait, sites), 65 damaged or foreign data, \
66 an input that cannot be opened, 69 a port or a folder that another process uses (serve, rebuild), 71 no memory, \
73 the output cannot be written, 74 input/output error, 75 no answer from the server, 77 refused by the server, \
78 a configuration that is wrong.";

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let result = match arguments.command {
        Command::Site(command) => site::run(&command),
        Command::Filter(command) => filter::run(command),
        Command::Lab(command) => lab::run(command),
        Command::Network(command) => network::run(&command),
        Command::Sign(arguments) => sign::run(&arguments),
        Command::Words(command) => words::run(&command),
    };
    result.unwrap_or_else(|problem| {
        eprintln!("seenit: {problem}");
        problem.exit_code()
    })
}
