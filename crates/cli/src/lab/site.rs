//! `seenit lab run site`: its arguments.

use clap::Args;
use seenit_lab::site::Options;

use super::Common;

#[derive(Args)]
#[command(
    after_help = "Shares are in hundredths and make 1; other shares of hostile reporters are run beside yours.\n\
    Examples:\n  \
    seenit lab run site --corpus DIR                               DIR has index.tsv and the messages\n  \
    seenit lab run site --honest 0.5 --careless 0.1 --hostile 0.4  more liars\n  \
    seenit lab run site --quick                                    every tenth message"
)]
pub(crate) struct SiteArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// The share of reporters who say what is true
    #[arg(long, value_name = "SHARE", default_value_t = Options::default().honest)]
    honest: f64,
    /// The share of those who also report some good mail
    #[arg(long, value_name = "SHARE", default_value_t = Options::default().careless)]
    careless: f64,
    /// The share of those who report good mail and revoke spam
    #[arg(long, value_name = "SHARE", default_value_t = Options::default().hostile)]
    hostile: f64,
    /// Reporters, 2 to 1000
    #[arg(long, value_name = "N", default_value_t = Options::default().reporters)]
    reporters: usize,
}

impl SiteArgs {
    pub(super) fn options(&self) -> Options {
        let honest = self.honest;
        let careless = self.careless;
        let hostile = self.hostile;
        Options { honest, careless, hostile, reporters: self.reporters }
    }
}
