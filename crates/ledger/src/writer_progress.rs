//! Whether the writer gets on: what it does, and since when. Checks do not need it; writes, deltas and aging do.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::error::WriteError;

/// How long the writer may do one thing before the ledger is not ready. A commit takes milliseconds, and a disk that
/// hesitates a second or two; clients give up on a report after some ten.
pub(crate) const STUCK_SECS: u64 = 10;

/// What the writer does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WriterStep {
    Commit,
    Forget,
    Tick,
    Snapshot,
    Peers,
    Incarnation,
    Reopen,
}

impl WriterStep {
    fn as_str(self) -> &'static str {
        match self {
            WriterStep::Commit => "a commit and its answers",
            WriterStep::Forget => "forgetting the oldest generation",
            WriterStep::Tick => "seen counts and aging",
            WriterStep::Snapshot => "a snapshot",
            WriterStep::Peers => "a change of peers",
            WriterStep::Incarnation => "a new incarnation",
            WriterStep::Reopen => "opening the journal again",
        }
    }
}

/// The writer's step, and the second of the steady clock in which it began; none while it waits for work.
#[derive(Debug, Default)]
pub(crate) struct WriterProgress(Mutex<Option<(WriterStep, u64)>>);

impl WriterProgress {
    fn lock(&self) -> MutexGuard<'_, Option<(WriterStep, u64)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The writer begins a step.
    pub(crate) fn begin(&self, step: WriterStep, steady_secs: u64) {
        *self.lock() = Some((step, steady_secs));
    }

    /// The writer waits for work.
    pub(crate) fn rest(&self) {
        *self.lock() = None;
    }

    /// What the writer is stuck in, where it is.
    pub(crate) fn stuck(&self, steady_secs: u64) -> Option<WriteError> {
        let (step, since) = (*self.lock())?;
        let secs = steady_secs.saturating_sub(since);
        (secs > STUCK_SECS).then_some(WriteError::Stuck { step: step.as_str(), secs })
    }
}
