//! What each account has added to the tally since the generation began: nobody fills it alone.
//!
//! A restart begins anew. Rate limits bound how fast that could be used, the alarm of a full tally says when it was.

use std::collections::HashMap;

use crate::config::LedgerConfig;
use crate::reporter::{Reporter, ReporterId};

/// New signatures by account. There are no more entries than reporters.
#[derive(Default)]
pub(crate) struct Shares {
    generation: u64,
    added: HashMap<ReporterId, u64>,
}

impl Shares {
    /// What a reporter has added in this generation.
    pub(crate) fn added(&self, generation: u64, reporter: ReporterId) -> u64 {
        let added = self.added.get(&reporter).filter(|_| self.generation == generation);
        added.copied().unwrap_or(0)
    }

    /// Notes that it added some more.
    pub(crate) fn add(&mut self, generation: u64, reporter: ReporterId, more: u64) {
        if self.generation != generation {
            (self.generation, self.added) = (generation, HashMap::new());
        }
        if more > 0 {
            *self.added.entry(reporter).or_default() += more;
        }
    }
}

/// Whose share it is: all whose word weighs nothing have one together, because whoever wants to be many is.
pub(crate) fn holder(reporter: &Reporter) -> ReporterId {
    const WEIGHTLESS: ReporterId = ReporterId(0);
    if reporter.weight == 0 && !reporter.id.is_local() { WEIGHTLESS } else { reporter.id }
}

/// What one account may add in a generation; this machine's own accounts all there is.
pub(crate) fn most(config: &LedgerConfig, reporter: ReporterId) -> u64 {
    let percent = if reporter.is_local() { 100 } else { config.reporter_percent };
    (u128::from(config.capacity) * u128::from(percent) / 100) as u64
}
