//! `seenit lab run pages`: its arguments.

use clap::Args;
use seenit_lab::pages::Options;

use super::Common;

#[derive(Args)]
#[command(after_help = "Example: seenit lab run pages --quick")]
pub(crate) struct PagesArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

impl PagesArgs {
    pub(super) fn options(&self) -> Options {
        Options::default()
    }
}
