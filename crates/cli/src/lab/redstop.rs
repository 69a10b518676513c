//! `seenit lab run redstop`: its arguments.

use clap::Args;
use seenit_lab::redstop::Options;

use super::Common;

#[derive(Args)]
#[command(after_help = "Example: seenit lab run redstop --quick")]
pub(crate) struct RedstopArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

impl RedstopArgs {
    pub(super) fn options(&self) -> Options {
        Options::default()
    }
}
