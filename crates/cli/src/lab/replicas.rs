//! `seenit lab run replicas`: its arguments.

use clap::Args;
use seenit_lab::replicas::Options;

use super::Common;

#[derive(Args)]
#[command(after_help = "Examples:\n  \
    seenit lab run replicas --corpus DIR            DIR has index.tsv (path, tab, spam or ham) and the messages\n  \
    seenit lab run replicas --shuffle 7 --quick     another order, every tenth message")]
pub(crate) struct ReplicasArgs {
    #[command(flatten)]
    pub(super) common: Common,
    /// Seed of the random order in which messages arrive; the report also shows the results of the next seeds
    #[arg(long, value_name = "SEED", default_value_t = Options::default().shuffle)]
    shuffle: u64,
    /// Let messages arrive as the index lists them
    #[arg(long, conflicts_with = "shuffle")]
    in_order: bool,
}

impl ReplicasArgs {
    pub(super) fn options(&self) -> Options {
        Options { shuffle: self.shuffle, in_order: self.in_order }
    }
}
