//! `seenit lab run storage`: its arguments.

use clap::Args;
use seenit_lab::storage::Options;

use super::Common;

#[derive(Args)]
#[command(after_help = "Example: seenit lab run storage --quick")]
pub(crate) struct StorageArgs {
    #[command(flatten)]
    pub(super) common: Common,
}

impl StorageArgs {
    pub(super) fn options(&self) -> Options {
        Options::default()
    }
}
