//! `seenit lab run counting`: its arguments.

use clap::Args;
use seenit_lab::counting::Options;

use super::Common;

#[derive(Args)]
#[command(after_help = "Example: seenit lab run counting --quick")]
pub(crate) struct CountingArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

impl CountingArgs {
    pub(super) fn options(&self) -> Options {
        Options::default()
    }
}
