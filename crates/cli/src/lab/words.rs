//! `seenit lab run words`: its arguments.

use clap::Args;
use seenit_lab::words::Options;
use seenit_words::BITS_MAX;

use super::Common;

#[derive(Args)]
#[command(after_help = "Rounds are half splits of the corpus, 5 unless you say otherwise.\n\
    Example: seenit lab run words --corpus ../shared/corpus --quick")]
pub(crate) struct WordsArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// Bins a side, 1 to 32
    #[arg(long, value_name = "L", default_value_t = Options::default().bins)]
    bins: usize,
    /// Bits of all bins together [default: 8 a word]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=BITS_MAX))]
    bits: Option<u64>,
}

impl WordsArgs {
    pub(super) fn options(&self) -> Options {
        Options { bins: self.bins, bits: self.bits }
    }
}
