//! `seenit lab run storage`: its arguments.

use clap::Args;
use seenit_lab::storage::Options;

use super::Common;

#[derive(Args)]
#[command(
    after_help = "Examples:\n  seenit lab run storage --quick\n  seenit lab run storage --signatures 1000000 \
        --exponents 0.9,1.1"
)]
pub(crate) struct StorageArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// Signatures in the counting filter
    #[arg(long, value_name = "N", default_value_t = Options::default().signatures)]
    signatures: u64,
    /// How counts fall: the r-th of n is (n/r)^exponent [default: 0.6,0.8,1,1.2,1.4]
    #[arg(long, value_name = "E", value_delimiter = ',')]
    exponents: Vec<f64>,
    /// Size of the filters whose deltas are made, in KiB
    #[arg(long, value_name = "KIB", default_value_t = Options::default().delta_kib)]
    delta_kib: u64,
}

impl StorageArgs {
    pub(super) fn options(&self) -> Options {
        Options {
            signatures: self.signatures,
            exponents: if self.exponents.is_empty() {
                Options::default().exponents
            } else {
                self.exponents.clone()
            },
            delta_kib: self.delta_kib,
        }
    }
}
