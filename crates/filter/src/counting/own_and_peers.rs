//! One site's counts beside those of its peers: the only safe way to combine refined filters that go on counting.
//!
//! Refined insertion skips cells above the key's minimum. If a site chose the minimum over its own *plus* its peers'
//! cells, two sites could each skip a cell because of the other's increments, and the merged count would fall below
//! the truth. So own and peers' cells are two filters: insertion looks at own cells only, and a lookup answers
//! `min(own) + min(peers)`, which is never below the truth and never above `min(own + peers)`.

use super::{Count, CountingFilter, Refined};
use crate::cells::{Cells, CellsMut, PackedCells};
use crate::error::Unlike;
use crate::hash::Hash128;
use crate::layout::{AnyLayout, Layout};

/// Counts of one site and of its peers.
#[derive(Debug)]
pub struct OwnAndPeers<L = AnyLayout, C = PackedCells> {
    own: CountingFilter<Refined, L, C>,
    peers: CountingFilter<Refined, L, C>,
}

impl<L: Layout, C: Cells> OwnAndPeers<L, C> {
    /// Two filters of one kind: what this site was told, and the sum of what its peers were told.
    pub fn new(
        own: CountingFilter<Refined, L, C>,
        peers: CountingFilter<Refined, L, C>,
    ) -> Result<Self, Unlike> {
        own.like(&peers)?;
        Ok(OwnAndPeers { own, peers })
    }

    /// What this site was told: the cells its deltas are made of.
    pub fn own(&self) -> &CountingFilter<Refined, L, C> {
        &self.own
    }

    /// What its peers were told.
    pub fn peers(&self) -> &CountingFilter<Refined, L, C> {
        &self.peers
    }

    /// How often the key was inserted anywhere.
    pub fn count(&self, hash: Hash128) -> Count {
        let (own, peers) = (self.own.count(hash), self.peers.count(hash));
        Count { value: own.value.saturating_add(peers.value), saturated: own.saturated || peers.saturated }
    }
}

impl<L: Layout, C: CellsMut> OwnAndPeers<L, C> {
    /// Counts the key `weight` times more, looking at own cells only.
    pub fn insert_weighted(&mut self, hash: Hash128, weight: u64) {
        self.own.insert_weighted(hash, weight);
    }

    /// Adds what a peer was told: its own cells, or what they gained since the last time.
    pub fn merge_peer<D: Cells>(&mut self, peer: &CountingFilter<Refined, L, D>) -> Result<(), Unlike> {
        self.peers.merge(peer)
    }
}
