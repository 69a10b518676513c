//! `seenit lab run bins`: its arguments.

use clap::Args;
use seenit_lab::bins::Options;

use super::Common;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  seenit lab run bins --quick\n  seenit lab run bins --bins 5,20 --bits-per-key 8"
)]
pub(crate) struct BinsArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// Numbers of bins, 1 to 64 [default: 10,11,12,64]
    #[arg(long, value_name = "N", value_delimiter = ',')]
    bins: Vec<usize>,
    /// Bits a key in all bins together [default: 2,5,10,20]
    #[arg(long, value_name = "B", value_delimiter = ',')]
    bits_per_key: Vec<f64>,
}

impl BinsArgs {
    pub(super) fn options(&self) -> Options {
        let default = Options::default();
        Options {
            bins: if self.bins.is_empty() { default.bins } else { self.bins.clone() },
            bits_per_key: if self.bits_per_key.is_empty() {
                default.bits_per_key
            } else {
                self.bits_per_key.clone()
            },
        }
    }
}
