//! What each account, and each peer, has added to memory since the generation began: nobody fills it alone.
//!
//! A restart begins anew. Rate limits bound how fast that could be used, the alarm of a full tally says when it was.

use std::collections::HashMap;
use std::hash::Hash;

use crate::config::LedgerConfig;
use crate::reporter::{LOCAL, OPERATOR, Reporter, ReporterId};
use crate::trust::TRUSTED_MIN;

/// What was added, by who did. There are no more entries than reporters, or three times the peers.
pub(crate) struct Shares<K> {
    generation: u64,
    added: HashMap<K, u64>,
}

impl<K> Default for Shares<K> {
    fn default() -> Self {
        Shares { generation: 0, added: HashMap::new() }
    }
}

impl<K: Eq + Hash> Shares<K> {
    /// What somebody has added in this generation.
    pub(crate) fn added(&self, generation: u64, who: K) -> u64 {
        let added = self.added.get(&who).filter(|_| self.generation == generation);
        added.copied().unwrap_or(0)
    }

    /// Notes that it added some more.
    pub(crate) fn add(&mut self, generation: u64, who: K, more: u64) {
        if self.generation != generation {
            (self.generation, self.added) = (generation, HashMap::new());
        }
        if more > 0 {
            *self.added.entry(who).or_default() += more;
        }
    }
}

/// Whose share it is: all whose word weighs nothing have one together, because whoever wants to be many is.
pub(crate) fn holder(reporter: &Reporter) -> ReporterId {
    const WEIGHTLESS: ReporterId = ReporterId(0);
    if reporter.weight == 0 && reporter.id != OPERATOR { WEIGHTLESS } else { reporter.id }
}

/// What one reporter may add in a generation; the operator all there is, and `local` where the operator trusts it.
pub(crate) fn most(config: &LedgerConfig, reporter: &Reporter) -> u64 {
    let is_trusted = reporter.id == LOCAL && reporter.weight >= TRUSTED_MIN;
    let percent = if reporter.id == OPERATOR || is_trusted { 100 } else { config.reporter_percent };
    of(config.capacity, percent)
}

/// What a peer may add in a generation of what there is room for `capacity`.
pub(crate) fn of_peer(config: &LedgerConfig, capacity: u64) -> u64 {
    of(capacity, config.reporter_percent)
}

fn of(capacity: u64, percent: u32) -> u64 {
    (u128::from(capacity) * u128::from(percent) / 100) as u64
}
