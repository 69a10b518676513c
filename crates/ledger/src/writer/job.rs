//! What the writer is asked for, and the way back to who asked. Everybody who waits gets an answer, whatever becomes of
//! the job.

use seenit_link::store::{Committed, LinkBatch, PeerSite};

use crate::answers::{Receipt, Write};
use crate::appoint::Appointment;
use crate::error::WriteError;
use crate::incarnations::IncarnationChange;
use crate::reporter::Reporter;
use crate::signature::Case;

/// What the writer is asked for.
pub(crate) enum Job {
    Write(Write, Reply<Receipt>),
    Promote(Case),
    PutReporter {
        name: String,
        appointment: Appointment,
        reply: Reply<Reporter>,
    },
    /// What was heard from peers, and what the link keeps of it.
    Link(Box<LinkBatch>, Reply<Committed>),
    SetPeers(Vec<PeerSite>, Reply<()>),
    Snapshot(Reply<()>),
    ConfirmClock,
    ChangeIncarnation(IncarnationChange, Reply<()>),
    Close,
}

/// The way back to whoever asked for a job. A reply that is dropped unanswered says that the ledger is being closed:
/// that is what becomes of jobs that wait in the queue when the writer ends.
pub(crate) struct Reply<T>(Option<Done<T>>);

/// Called once, with what became of the job.
type Done<T> = Box<dyn FnOnce(Result<T, WriteError>) + Send>;

impl<T> Reply<T> {
    pub(crate) fn new(done: impl FnOnce(Result<T, WriteError>) + Send + 'static) -> Self {
        Reply(Some(Box::new(done)))
    }

    /// Tells whoever waits.
    pub(crate) fn answer(mut self, result: Result<T, WriteError>) {
        if let Some(done) = self.0.take() {
            done(result);
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        if let Some(done) = self.0.take() {
            done(Err(WriteError::Closed));
        }
    }
}
