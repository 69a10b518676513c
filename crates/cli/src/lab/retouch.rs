//! `seenit lab run retouch`: its arguments.

use clap::Args;
use seenit_lab::retouch::Options;

use super::Common;

#[derive(Args)]
#[command(after_help = "Example: seenit lab run retouch --quick")]
pub(crate) struct RetouchArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

impl RetouchArgs {
    pub(super) fn options(&self) -> Options {
        Options::default()
    }
}
