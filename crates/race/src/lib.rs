//! Races: our filters against other crates' filters, our deltas against the fewest bytes that can say
//! it, our signatures against reading the message at all; two stores for the journal against each other; the whole
//! server against what is expected of it, also while strangers ask too much, and
//! against the servers of other protocols' own; three sites against
//! the time until all know.

mod contender;
mod counting;
mod deltas;
mod filters;
mod floor;
mod hosted;
mod keys;
mod overload;
mod ports;
mod process;
mod protocols;
mod report;
mod rivals;
mod seenit;
mod server;
mod sign;
mod sites;
mod store;
mod targets;
mod worst;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Races against other filters, a hash map, and bounds.
#[derive(Parser)]
#[command(name = "race", after_help = filters::EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Filters of all crates, in memory, on one thread: nanoseconds a key, bits a key, false positives.
    #[command(after_help = filters::EXAMPLES)]
    Filters(filters::FiltersArgs),
    /// Counting filters against a hash map of counts: nanoseconds and bytes a key, wrong counts.
    #[command(after_help = counting::EXAMPLES)]
    Counting(counting::CountingArgs),
    /// Deltas at several rates of change: bytes against the entropy, megabytes a second each way.
    #[command(after_help = deltas::EXAMPLES)]
    Deltas(deltas::DeltasArgs),
    /// Signing real mail: megabytes and messages a second, from parsing to all signatures.
    #[command(after_help = sign::EXAMPLES)]
    Sign(sign::SignArgs),
    /// Stores for the journal: rows a second, stalls, resident bytes, bytes on the disk, restarts.
    #[command(after_help = store::EXAMPLES)]
    Store(store::StoreArgs),
    /// The server over HTTP: checks and durable reports a second, waiting times, resident bytes.
    #[command(after_help = server::EXAMPLES)]
    Server(server::ServerArgs),
    /// Datagrams of Pyzor, rspamd's fuzzy check and DCC: requests a second and stored bytes, against pyzord and rspamd.
    #[command(after_help = protocols::EXAMPLES)]
    Protocols(protocols::ProtocolsArgs),
    /// Strangers who ask ten times what they may, and an account that should not notice: waiting times, resident bytes.
    #[command(after_help = overload::EXAMPLES)]
    Overload(overload::OverloadArgs),
    /// Three sites and a broker: time until all know, bytes a signature against the entropy.
    #[command(after_help = sites::EXAMPLES)]
    Sites(sites::SitesArgs),
}

/// Runs the race that the command line names. The program is `race` of the package `seenit-lab`.
pub fn main() -> ExitCode {
    let result = match Cli::parse().command {
        Command::Filters(args) => filters::run(&args),
        Command::Counting(args) => counting::run(&args),
        Command::Deltas(args) => deltas::run(&args),
        Command::Sign(args) => sign::run(&args),
        Command::Store(args) => store::run(&args),
        Command::Server(args) => server::run(&args),
        Command::Protocols(args) => protocols::run(&args),
        Command::Overload(args) => overload::run(&args),
        Command::Sites(args) => sites::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("race: {error}");
            ExitCode::FAILURE
        }
    }
}
