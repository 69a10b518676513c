//! `seenit filter`: build, inspect, query and unite filter files.

mod build;
mod info;
mod query;
mod report;
mod union;

use std::process::ExitCode;

use clap::Subcommand;

use crate::problem::Problem;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Build a filter file from keys, one per line
    Build(build::Arguments),
    /// Show what a filter file is, how full it is, and whether it keeps its promise
    Info(info::Arguments),
    /// Look keys up in a filter file
    Query(query::Arguments),
    /// Unite filter files built with one geometry and one key
    Union(union::Arguments),
}

pub(crate) fn run(command: Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Build(arguments) => build::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Union(arguments) => union::run(&arguments),
    }
}
