//! `seenit filter`: build, inspect, query, count, unite, retouch and update filter files.

mod apply;
mod bins;
mod build;
mod count;
mod diff;
mod info;
mod query;
mod report;
mod retouch;
mod union;

use std::process::ExitCode;

use clap::Subcommand;

use crate::problem::Problem;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Build a filter file from keys, one per line
    Build(build::Arguments),
    /// Count keys, and look up how often they were counted (`filter info` shows what such a file is)
    #[command(subcommand)]
    Count(count::Command),
    /// Show what a filter file is, how full it is, and whether it keeps its promise
    Info(info::Arguments),
    /// Look keys up in a filter file
    Query(query::Arguments),
    /// Take keys out of a filter file that hit and should not, and say how many true members are lost
    Retouch(retouch::Arguments),
    /// Unite filter files that have the same geometry and key
    Union(union::Arguments),
    /// Write the difference between two filter files as a small delta
    Diff(diff::Arguments),
    /// Make the new filter file from the old one and a delta
    Apply(apply::Arguments),
}

pub(crate) fn run(command: Command) -> Result<ExitCode, Problem> {
    match command {
        Command::Build(arguments) => build::run(&arguments),
        Command::Count(command) => count::run(command),
        Command::Info(arguments) => info::run(&arguments),
        Command::Query(arguments) => query::run(&arguments),
        Command::Retouch(arguments) => retouch::run(&arguments),
        Command::Union(arguments) => union::run(&arguments),
        Command::Diff(arguments) => diff::run(&arguments),
        Command::Apply(arguments) => apply::run(&arguments),
    }
}
