//! Work that would keep other requests waiting goes to threads of its own, so much at a time.

use std::sync::Arc;

use super::problem::Problem;
use super::state::State;

/// Runs a piece of work in a blocking thread.
pub(crate) async fn run<T: Send + 'static>(
    state: &Arc<State>,
    work: impl FnOnce(&State) -> T + Send + 'static,
) -> Result<T, Problem> {
    let permit = Arc::clone(&state.at_a_time).acquire_owned().await;
    let permit = permit.map_err(|_| Problem::unavailable("closing", "the server is being stopped"))?;
    let state = Arc::clone(state);
    let done = tokio::task::spawn_blocking(move || {
        let _held_until_done = permit;
        work(&state)
    });
    done.await.map_err(|_| Problem::broken("a piece of work panicked"))
}
