//! Work that may wait goes to threads of its own, so much at a time. There are three queues: one for checks and for
//! what they are made of, one for what only an operator does, one for questions about the site. Whatever a question
//! about the site waits for (the journal, a file, the link to other sites), no check and no operator waits behind it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore};

use super::deadline::Deadline;
use super::problem::Problem;
use super::state::State;

/// Pieces of status work at a time: an operator's command or two that take minutes, and room for monitoring beside
/// them. Status work takes processor time from checks, so that more is not better.
const STATUS_AT_A_TIME: usize = 8;

/// How long status work waits for its turn: monitoring that waits longer has given up, or asks again too soon.
const STATUS_WAIT: Duration = Duration::from_secs(5);

/// Pieces of status work that begin in a second, on average: whoever asks without a pause would otherwise take the
/// processors from the checks. A network's monitoring asks a few times a second.
const STATUS_PER_SEC: u32 = 200;

/// Pieces of status work that may begin at once after a silence: a page that shows everything, some dozen operators.
const STATUS_BURST: u32 = 100;

/// What an operator does at a time. Nobody else can fill this queue, so that an operator is heard whoever asks.
const CARE_AT_A_TIME: usize = 4;

/// The three queues. Each is a number of permits, one for each piece of work that runs.
pub(crate) struct Queues {
    checks: Arc<Semaphore>,
    care: Arc<Semaphore>,
    status: Arc<Semaphore>,
    status_pace: Pace,
}

/// How fast pieces of work may follow each other: the moment that is the next one's.
struct Pace(Mutex<Instant>);

impl Pace {
    /// When a piece of work that comes now may begin; not where that is further away than it waits. Moments that nobody
    /// took are saved up, some of them.
    fn begins(&self, now: Instant) -> Option<Instant> {
        let every = Duration::from_secs(1) / STATUS_PER_SEC;
        let mut next = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let saved = now.checked_sub(every * (STATUS_BURST - 1)).unwrap_or(now);
        let begins = (*next).max(saved);
        (begins <= now + STATUS_WAIT).then(|| {
            *next = begins + every;
            begins.max(now)
        })
    }
}

impl Queues {
    pub(crate) fn new(checks_at_a_time: u32) -> Self {
        Queues {
            checks: Arc::new(Semaphore::new(checks_at_a_time as usize)),
            care: Arc::new(Semaphore::new(CARE_AT_A_TIME)),
            status: Arc::new(Semaphore::new(STATUS_AT_A_TIME)),
            status_pace: Pace(Mutex::new(Instant::now())),
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

/// Runs what only an operator may do: accounts, secrets, snapshots, the clock.
pub(crate) async fn care<T: Send + 'static>(
    state: &Arc<State>,
    work: impl FnOnce(&State) -> T + Send + 'static,
) -> Result<T, Problem> {
    run(&state.queues.care, state, work).await
}

/// Runs status work: questions about the site. Refused when its turn does not come in time.
pub(crate) async fn status<T: Send + 'static>(
    state: &Arc<State>,
    work: impl FnOnce(&State) -> T + Send + 'static,
) -> Result<T, Problem> {
    let now = Instant::now();
    let turn = async {
        match state.queues.status_pace.begins(now) {
            Some(begins) => tokio::time::sleep_until(begins.into()).await,
            // Who is refused waits as long as others do: asking again at once is no way to be heard.
            None => std::future::pending().await,
        }
        Arc::clone(&state.queues.status).acquire_owned().await
    };
    let Ok(permit) = tokio::time::timeout_at((now + STATUS_WAIT).into(), turn).await else {
        state.metrics.status_refused.inc();
        let secs = STATUS_WAIT.as_secs();
        let why =
            format!("too many questions about the site: the turn of this one did not come within {secs} s");
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_work_has_its_pace_a_burst_and_an_end() {
        let start = Instant::now();
        let pace = Pace(Mutex::new(start));
        let later = start + Duration::from_secs(60);
        assert!((0..STATUS_BURST).all(|_| pace.begins(later) == Some(later)), "saved up in a silence");
        let waits: Vec<Duration> =
            std::iter::from_fn(|| pace.begins(later)).map(|begins| begins - later).collect();
        let every = Duration::from_secs(1) / STATUS_PER_SEC;
        assert!(waits.windows(2).all(|two| two[1] - two[0] == every), "one after the other");
        assert_eq!(waits.last(), Some(&STATUS_WAIT), "nobody waits for longer");
    }
}
