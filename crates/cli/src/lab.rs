//! `seenit lab`: the papers' experiments from the command line, and the report of them all.

mod bins;
mod counting;
mod pages;
mod progress;
mod redstop;
mod replicas;
mod report;
mod retouch;
mod site;
mod storage;
mod words;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use seenit_lab::bench::DEFAULT_SEED;
use seenit_lab::{Bench, EXPERIMENTS, LabError, Outcome};
use serde::Serialize;

use self::progress::LabProgress;
use crate::output;
use crate::problem::Problem;

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Name the experiments and say what each answers
    List {
        /// Print one JSON array in place of the list
        #[arg(long)]
        json: bool,
    },
    /// Run one experiment: its tables beside the printed ones, each claim answered
    #[command(subcommand, after_help = "Example: seenit lab run counting --quick")]
    Run(Experiment),
    /// Run all experiments and write one HTML page with every table and figure
    #[command(after_help = report::EXAMPLES)]
    Report(report::ReportArgs),
    /// Look keys up with little memory; `run pages` starts this for itself
    #[command(hide = true)]
    ColdLookups(pages::ColdLookupsArgs),
}

#[derive(Subcommand)]
pub(crate) enum Experiment {
    /// How often is a count wrong, and how much better is refined insertion?
    Counting(counting::CountingArgs),
    /// What does it cost to take false positives out of a filter?
    Retouch(retouch::RetouchArgs),
    /// Does a retouched filter serve traceroute monitors as a list does?
    Redstop(redstop::RedstopArgs),
    /// Are weighted words better kept in bins of their own rate?
    Bins(bins::BinsArgs),
    /// What does it cost, and what does it save, to keep a key in one page?
    Pages(pages::PagesArgs),
    /// How many bits does a true count take, and how many bytes a delta?
    Storage(storage::StorageArgs),
    /// Which signatures find the next copy of a spam message, and what do they hit besides?
    Replicas(replicas::ReplicasArgs),
    /// How much spam do bins of words catch, beside bogofilter on the same mail?
    Words(words::WordsArgs),
    /// What does each rule of trust buy against careless and hostile reporters?
    Site(site::SiteArgs),
}

/// What every experiment takes.
#[derive(Args)]
pub(crate) struct Common {
    /// Seed of all random numbers: equal seeds give equal results
    #[arg(long, value_name = "S", default_value_t = DEFAULT_SEED)]
    seed: u64,
    /// Rounds, runs or repetitions; each experiment has a default of its own
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    rounds: Option<u32>,
    /// The shared corpus of real mail, for the experiments that use it
    #[arg(long, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// A small version, in seconds: fewer rounds, coarser grids
    #[arg(long)]
    quick: bool,
    /// Print one JSON array of rows in place of tables
    #[arg(long)]
    json: bool,
}

impl Common {
    fn bench<'a>(&self, progress: &'a LabProgress) -> Bench<'a> {
        let seed = self.seed;
        let rounds = self.rounds;
        let corpus = self.corpus.clone();
        let quick = self.quick;
        Bench { seed, rounds, corpus, quick, progress }
    }

    /// Runs an experiment and prints what it found.
    fn print<R: Serialize>(
        &self,
        run: impl FnOnce(&Bench<'_>) -> Result<Outcome<R>, LabError>,
    ) -> Result<(), Problem> {
        let progress = LabProgress::new();
        let outcome = run(&self.bench(&progress))?;
        drop(progress);
        if self.json { output::json(&outcome.rows) } else { output::text(&outcome.account.text()) }
    }
}

pub(crate) fn run(command: Command) -> Result<ExitCode, Problem> {
    match command {
        Command::List { json } => list(json)?,
        Command::Run(experiment) => run_one(&experiment)?,
        Command::Report(args) => report::run(&args)?,
        Command::ColdLookups(args) => pages::cold_lookups(&args)?,
    }
    Ok(ExitCode::SUCCESS)
}

fn run_one(experiment: &Experiment) -> Result<(), Problem> {
    match experiment {
        Experiment::Counting(args) => {
            args.common.print(|bench| seenit_lab::counting::run(&args.options(), bench))
        }
        Experiment::Retouch(args) => {
            args.common.print(|bench| seenit_lab::retouch::run(&args.options(), bench))
        }
        Experiment::Redstop(args) => {
            args.common.print(|bench| seenit_lab::redstop::run(&args.options(), bench))
        }
        Experiment::Bins(args) => args.common.print(|bench| seenit_lab::bins::run(&args.options(), bench)),
        Experiment::Pages(args) => args.common.print(|bench| seenit_lab::pages::run(&args.options(), bench)),
        Experiment::Storage(args) => {
            args.common.print(|bench| seenit_lab::storage::run(&args.options(), bench))
        }
        Experiment::Replicas(args) => {
            args.common.print(|bench| seenit_lab::replicas::run(&args.options(), bench))
        }
        Experiment::Words(args) => args.common.print(|bench| seenit_lab::words::run(&args.options(), bench)),
        Experiment::Site(args) => args.common.print(|bench| seenit_lab::site::run(&args.options(), bench)),
    }
}

#[derive(Serialize)]
struct Listed {
    name: &'static str,
    question: &'static str,
}

fn list(json: bool) -> Result<(), Problem> {
    let listed = EXPERIMENTS.map(|(name, question)| Listed { name, question });
    if json {
        return output::json(&listed);
    }
    output::text(&listed.map(|one| format!("{:10}{}\n", one.name, one.question)).concat())
}
