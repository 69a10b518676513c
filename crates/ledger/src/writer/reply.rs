//! Who waits for a job. Everybody who waits gets an answer, whatever becomes of the job.

use crate::error::WriteError;

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
