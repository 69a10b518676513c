//! `seenit lab run counting`: its arguments.

use clap::{Args, ValueEnum};
use seenit_lab::counting::{CountsMode, Options};

use super::Common;

#[derive(Args)]
#[command(after_help = "Examples:
  seenit lab run counting --quick
  seenit lab run counting --experiment 1 --experiment 2 --rounds 100
  seenit lab run counting --experiment 4 --counts each-round --json")]
pub(crate) struct CountingArgs {
    /// Run this experiment only, 1 to 8; may be given more than once
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=8))]
    experiment: Vec<u8>,
    /// When to draw how often each element is inserted (experiments 4 to 8)
    #[arg(long, value_enum, default_value_t = Counts::Once)]
    counts: Counts,
    #[command(flatten)]
    pub(super) common: Common,
}

#[derive(Clone, Copy, ValueEnum)]
enum Counts {
    /// Once for all rounds, as the paper seems to have done
    Once,
    /// Anew in every round
    EachRound,
}

impl CountingArgs {
    pub(super) fn options(&self) -> Options {
        let counts = match self.counts {
            Counts::Once => CountsMode::Once,
            Counts::EachRound => CountsMode::EachRound,
        };
        Options { experiments: self.experiment.clone(), counts }
    }
}
