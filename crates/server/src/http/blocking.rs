//! Work that may wait goes to threads of its own, so much at a time. There are two queues: one for checks and for what
//! they are made of, one for questions about the site and its care. Whatever a question about the site waits for (the
//! journal, a file, the link to other sites), no check waits behind it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::deadline::Deadline;
use super::problem::Problem;
use super::state::State;

/// Pieces of status work at a time: an operator's command or two that take minutes, and room for monitoring beside
/// them. Status work takes processor time from checks, so that more is not better.
const STATUS_AT_A_TIME: usize = 8;

/// How long status work waits for its turn: monitoring that waits longer has given up, or asks again too soon.
const STATUS_WAIT: Duration = Duration::from_secs(5);

/// The two queues. Each is a number of permits, one for each piece of work that runs.
pub(crate) struct Queues {
    checks: Arc<Semaphore>,
    status: Arc<Semaphore>,
}

impl Queues {
    pub(crate) fn new(checks_at_a_time: u32) -> Self {
        Queues {
            checks: Arc::new(Semaphore::new(checks_at_a_time as usize)),
            status: Arc::new(Semaphore::new(STATUS_AT_A_TIME)),
        }
    }
}

#[cfg(test)]
impl Queues {
    /// Takes every permit of checks, as slow work would.
    pub(crate) fn hold_checks(&self) -> OwnedSemaphorePermit {
        let number = self.checks.available_permits() as u32;
        Arc::clone(&self.checks).try_acquire_many_owned(number).expect("they are free")
    }
}

/// Runs what a check needs: it signs or judges. `None` when the deadline passed first. Work that began ends in its own
/// time, and keeps its permit until then.
pub(crate) async fn check<T: Send + 'static>(
    state: &Arc<State>,
    deadline: Deadline,
    work: impl FnOnce(&State) -> T + Send + 'static,
) -> Result<Option<T>, Problem> {
    let done = run(&state.queues.checks, state, work);
    match tokio::time::timeout_at(deadline.instant().into(), done).await {
        Ok(done) => done.map(Some),
        Err(_) => Ok(None),
    }
}

/// Signs a message for a write. That takes processor time and waits for nothing, so that it shares the checks' permits.
pub(crate) async fn sign<T: Send + 'static>(
    state: &Arc<State>,
    work: impl FnOnce(&State) -> T + Send + 'static,
) -> Result<T, Problem> {
    run(&state.queues.checks, state, work).await
}

/// Runs status work: questions about the site, and its care. Refused when its turn does not come in time.
pub(crate) async fn status<T: Send + 'static>(
    state: &Arc<State>,
    work: impl FnOnce(&State) -> T + Send + 'static,
) -> Result<T, Problem> {
    let permit = Arc::clone(&state.queues.status).acquire_owned();
    let Ok(permit) = tokio::time::timeout(STATUS_WAIT, permit).await else {
        state.metrics.status_refused.inc();
        let secs = STATUS_WAIT.as_secs();
        let why = format!(
            "{STATUS_AT_A_TIME} other questions about the site are being answered, and none was done within {secs} s"
        );
        return Err(Problem::unavailable("status-busy", why));
    };
    spawn(state, permit, work).await
}

async fn run<T: Send + 'static>(
    queue: &Arc<Semaphore>,
    state: &Arc<State>,
    work: impl FnOnce(&State) -> T + Send + 'static,
) -> Result<T, Problem> {
    spawn(state, Arc::clone(queue).acquire_owned().await, work).await
}

async fn spawn<T: Send + 'static>(
    state: &Arc<State>,
    permit: Result<OwnedSemaphorePermit, AcquireError>,
    work: impl FnOnce(&State) -> T + Send + 'static,
) -> Result<T, Problem> {
    let permit = permit.map_err(|_| Problem::unavailable("closing", "the server is being stopped"))?;
    let state = Arc::clone(state);
    let done = tokio::task::spawn_blocking(move || {
        let _held_until_done = permit;
        work(&state)
    });
    done.await.map_err(|_| Problem::broken("a piece of work panicked"))
}
