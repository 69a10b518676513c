//! `seenit lab run redstop`: its arguments.

use clap::Args;
use seenit_filter::maths::MAX_K;
use seenit_lab::redstop::Options;

use super::Common;

#[derive(Args)]
#[command(after_help = "The traces are synthetic. Rounds are hash seeds, 10 unless you say otherwise.\n\
    Examples:\n  seenit lab run redstop --quick\n  seenit lab run redstop --k 1 --k 2 --k 5 --rounds 20")]
pub(crate) struct RedstopArgs {
    /// Hash functions; may be given several times
    #[arg(long, value_name = "K", default_values_t = Options::default().k,
        value_parser = clap::value_parser!(u32).range(1..=i64::from(MAX_K)))]
    k: Vec<u32>,
    #[command(flatten)]
    pub(super) common: Common,
}

impl RedstopArgs {
    pub(super) fn options(&self) -> Options {
        Options { k: self.k.clone() }
    }
}
