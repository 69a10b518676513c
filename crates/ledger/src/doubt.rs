//! Filters whose present false-positive rate is beyond what they promise: what rests on them is no opinion.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;

/// The filters that answers rest on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FilterName {
    /// The table of what was reported and revoked.
    Tally,
    /// The counts of recipients.
    Seen,
    /// The marks of what is bulk.
    Bulk,
    /// The shingles of texts.
    Near,
}

impl FilterName {
    pub(crate) const ALL: [FilterName; 4] =
        [FilterName::Tally, FilterName::Seen, FilterName::Bulk, FilterName::Near];

    /// How it is spelt.
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            FilterName::Tally => "tally",
            FilterName::Seen => "seen",
            FilterName::Bulk => "bulk",
            FilterName::Near => "near",
        }
    }
}

/// Which filters are in doubt. The prober sets it, every answer looks at it.
#[derive(Debug, Default)]
pub(crate) struct Doubts([AtomicBool; FilterName::ALL.len()]);

impl Doubts {
    #[inline]
    pub(crate) fn is_in_doubt(&self, filter: FilterName) -> bool {
        self.0[filter as usize].load(Relaxed)
    }

    pub(crate) fn put(&self, filter: FilterName, is_in_doubt: bool) {
        self.0[filter as usize].store(is_in_doubt, Relaxed);
    }
}
