//! `seenit lab run bins`: its arguments.

use clap::Args;
use seenit_lab::bins::Options;

use super::Common;

#[derive(Args)]
#[command(after_help = "Example: seenit lab run bins --quick")]
pub(crate) struct BinsArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

impl BinsArgs {
    pub(super) fn options(&self) -> Options {
        Options::default()
    }
}
