//! Own cells of a generation, brought up to date by the deltas that came after them.

use seenit_filter::AnyLayout;
use seenit_filter::cells::SplitCells;
use seenit_filter::counting::Refined;
use seenit_filter::delta::{CountGain, Follower};

use crate::terms::Counts;

pub(crate) struct Catching {
    follower: Follower<Refined, AnyLayout, SplitCells>,
}

impl Catching {
    pub(crate) fn new(own: Counts, sequence: u64) -> Self {
        Catching { follower: Follower::new(own, sequence) }
    }

    /// Applies a delta; one that was applied before changes nothing.
    pub(crate) fn apply(&mut self, bytes: &[u8]) -> Result<(), String> {
        let gain = CountGain::open(bytes).map_err(|error| error.to_string())?;
        self.follower.apply(&gain).map(|_| ()).map_err(|error| error.to_string())
    }

    /// The cells, and the number of the last delta in them.
    pub(crate) fn finish(self) -> (Counts, u64) {
        let sequence = self.follower.applied();
        (self.follower.into_counts(), sequence)
    }
}
