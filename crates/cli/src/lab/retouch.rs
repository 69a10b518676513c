//! `seenit lab run retouch`: its arguments.

use clap::Args;
use seenit_lab::retouch::Options;

use super::Common;

#[derive(Args)]
#[command(after_help = "Rounds are runs, 15 unless you say otherwise, as in the paper.\n\
    Example: seenit lab run retouch --quick")]
pub(crate) struct RetouchArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

impl RetouchArgs {
    pub(super) fn options(&self) -> Options {
        Options::default()
    }
}
