//! `seenit lab run pages`: its arguments; and the process that it starts to look keys up with little memory.

use std::path::PathBuf;

use clap::Args;
use seenit_lab::pages::{Job, MAX_KEYS_LIMIT, Options};

use super::Common;
use crate::output;
use crate::problem::Problem;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seenit lab run pages --quick\n  \
    seenit lab run pages --max-keys 110000000    all of the paper's sizes\n  \
    seenit lab run pages --corpus DIR            its words are the real strings")]
pub(crate) struct PagesArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// The most keys of the timed insertions [default: 20000000, with --quick 200000]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=MAX_KEYS_LIMIT))]
    max_keys: Option<u64>,
}

impl PagesArgs {
    pub(super) fn options(&self) -> Options {
        options(self.max_keys)
    }
}

/// With this very program as the one that can be given little memory.
pub(super) fn options(max_keys: Option<u64>) -> Options {
    let child =
        std::env::current_exe().ok().map(|seenit| vec![seenit.into(), "lab".into(), "cold-lookups".into()]);
    Options { max_keys, child }
}

/// The arguments of [`Job::arguments`].
#[derive(Args)]
pub(crate) struct ColdLookupsArgs {
    file: PathBuf,
    group: PathBuf,
    keys: u64,
    lookups: u64,
    seed: u64,
}

pub(super) fn cold_lookups(args: &ColdLookupsArgs) -> Result<(), Problem> {
    let ColdLookupsArgs { keys, lookups, seed, .. } = *args;
    let job = Job { file: args.file.clone(), group: args.group.clone(), keys, lookups, seed };
    let tallies = seenit_lab::pages::cold_lookups(&job)?;
    output::text(&tallies.map(|tally| format!("{tally}\n")).concat())
}
