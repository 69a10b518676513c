//! Work that may wait goes to threads of its own, so much at a time. There are four queues: one for checks and for
//! what they are made of, one for what only an operator does, one for questions about the site, and one for those of
//! them that are answered once for all who ask. Whatever a question about the site waits for (the journal, a
//! file), no check and no operator waits behind it.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::Backend;
use crate::limits::{self, Budget, TokenBucket};

/// Pieces of status work at a time: an operator's command or two that take minutes, and room for monitoring beside
/// them. Status work takes processor time from checks, so that more is not better.
const STATUS_AT_A_TIME: usize = 8;

/// What an operator does at a time. Nobody else can fill this queue, so that an operator is heard whoever asks.
const CARE_AT_A_TIME: usize = 4;

/// The statistics and the metrics, each of which is worked out once at a time. They are bounded by that, and have no
/// pace.
const SHARED_AT_A_TIME: usize = 2;

/// How long status work waits for its turn: monitoring that waits longer has given up, or asks again too soon.
pub(super) const STATUS_WAIT: Duration = Duration::from_secs(5);

/// Work that was not done.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Unserved {
    #[error(
        "too many questions about the site: the turn of this one did not come within {} s",
        STATUS_WAIT.as_secs()
    )]
    Busy,
    #[error("the server is being stopped")]
    Closing,
    #[error("a piece of work panicked")]
    Panicked,
}

/// The queues. Each is a number of permits, one for each piece of work that runs.
pub(crate) struct Queues {
    checks: Arc<Semaphore>,
    checks_at_a_time: usize,
    care: Arc<Semaphore>,
    shared: Arc<Semaphore>,
    status: Arc<Semaphore>,
    status_pace: TokenBucket,
}

impl Queues {
    pub(crate) fn new(checks_at_a_time: u32) -> Self {
        Queues {
            checks: Arc::new(Semaphore::new(checks_at_a_time as usize)),
            checks_at_a_time: checks_at_a_time as usize,
            care: Arc::new(Semaphore::new(CARE_AT_A_TIME)),
            shared: Arc::new(Semaphore::new(SHARED_AT_A_TIME)),
            status: Arc::new(Semaphore::new(STATUS_AT_A_TIME)),
            status_pace: limits::status_of_all(),
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

    /// The same of status work.
    pub(crate) fn hold_status(&self) -> OwnedSemaphorePermit {
        let number = self.status.available_permits() as u32;
        Arc::clone(&self.status).try_acquire_many_owned(number).expect("they are free")
    }
}

/// Runs what a check needs: it signs or judges. `None` when the deadline passed first. Work that began ends in its own
/// time, and keeps its permits until then.
pub(crate) async fn check<T: Send + 'static>(
    backend: &Arc<Backend>,
    budget: &Budget,
    deadline: Instant,
    work: impl FnOnce(&Backend) -> T + Send + 'static,
) -> Result<Option<T>, Unserved> {
    let done = run_fairly(backend, budget, work);
    match tokio::time::timeout_at(deadline.into(), done).await {
        Ok(done) => done.map(Some),
        Err(_) => Ok(None),
    }
}

/// Signs a message for a write. That takes processor time and waits for nothing, so that it shares the checks' permits.
pub(crate) async fn sign<T: Send + 'static>(
    backend: &Arc<Backend>,
    budget: &Budget,
    work: impl FnOnce(&Backend) -> T + Send + 'static,
) -> Result<T, Unserved> {
    run_fairly(backend, budget, work).await
}

/// Runs work of an account, of a network or of this machine in the queue of the checks. Each of them has half of the
/// permits at most, and waits for its own before it waits for those of all: whoever asks for more waits behind
/// itself.
async fn run_fairly<T: Send + 'static>(
    backend: &Arc<Backend>,
    budget: &Budget,
    work: impl FnOnce(&Backend) -> T + Send + 'static,
) -> Result<T, Unserved> {
    let share = budget.turns(backend.queues.checks_at_a_time.div_ceil(2)).acquire_owned().await;
    let share = share.map_err(|_| Unserved::Closing)?;
    let permit = Arc::clone(&backend.queues.checks).acquire_owned().await;
    spawn(backend, permit, move |backend| {
        let _held_until_done = share;
        work(backend)
    })
    .await
}

/// Runs what only an operator may do: accounts, secrets, snapshots, the clock.
pub(crate) async fn care<T: Send + 'static>(
    backend: &Arc<Backend>,
    work: impl FnOnce(&Backend) -> T + Send + 'static,
) -> Result<T, Unserved> {
    run(&backend.queues.care, backend, work).await
}

/// Runs what is worked out once for all who ask.
pub(super) async fn shared<T: Send + 'static>(
    backend: &Arc<Backend>,
    work: impl FnOnce(&Backend) -> T + Send + 'static,
) -> Result<T, Unserved> {
    run(&backend.queues.shared, backend, work).await
}

/// Runs status work: questions about the site. Refused when its turn does not come in time.
pub(crate) async fn status<T: Send + 'static>(
    backend: &Arc<Backend>,
    budget: &Budget,
    work: impl FnOnce(&Backend) -> T + Send + 'static,
) -> Result<T, Unserved> {
    let now = Instant::now();
    let begins = |pace: &TokenBucket| pace.take(1, now, STATUS_WAIT).ok();
    let own = begins(budget.status_pace());
    let turn = async {
        let all = own.and_then(|own| Some(begins(&backend.queues.status_pace)?.max(own)));
        match all {
            Some(begins) => tokio::time::sleep_until(begins.into()).await,
            // Who is refused waits as long as others do: asking again at once is no way to be heard.
            None => std::future::pending().await,
        }
        Arc::clone(&backend.queues.status).acquire_owned().await
    };
    let Ok(permit) = tokio::time::timeout_at((now + STATUS_WAIT).into(), turn).await else {
        return Err(status_busy(backend));
    };
    spawn(backend, permit, work).await
}

/// Refuses status work whose turn did not come in time.
pub(super) fn status_busy(backend: &Backend) -> Unserved {
    backend.metrics.status_refused.inc();
    Unserved::Busy
}

async fn run<T: Send + 'static>(
    queue: &Arc<Semaphore>,
    backend: &Arc<Backend>,
    work: impl FnOnce(&Backend) -> T + Send + 'static,
) -> Result<T, Unserved> {
    spawn(backend, Arc::clone(queue).acquire_owned().await, work).await
}

async fn spawn<T: Send + 'static>(
    backend: &Arc<Backend>,
    permit: Result<OwnedSemaphorePermit, AcquireError>,
    work: impl FnOnce(&Backend) -> T + Send + 'static,
) -> Result<T, Unserved> {
    let permit = permit.map_err(|_| Unserved::Closing)?;
    let backend = Arc::clone(backend);
    let done = tokio::task::spawn_blocking(move || {
        let _held_until_done = permit;
        work(&backend)
    });
    done.await.map_err(|_| Unserved::Panicked)
}
