//! `seenit filter`: build, inspect, query, unite and update filter files.

mod apply;
mod build;
mod diff;
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
    /// Say what to change in a filter file to have another, in few bytes
    Diff(diff::Arguments),
    /// Make the new filter file from the old one and a delta
    Apply(apply::Arguments),
}

pub(crate) fn run(command: Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Build(arguments) => build::run(&arguments),
        Command::Info(arguments) => info::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Union(arguments) => union::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Apply(arguments) => apply::run(&arguments),
    }
}
