//! Answers about the site that are worked out once for all who ask at the same time.
//!
//! Whoever asks gets an answer that was begun after the question came, and waits for one computation or two. Only where
//! more than a few have been worked out in a second, the rest get the last one, which is no older than a second then.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use tokio::sync::Mutex;

use super::blocking::{STATUS_WAIT, Unserved};
use super::{Backend, blocking};

/// Answers of a kind that are worked out in a second before the last one is good enough for the rest: whoever changes
/// something and asks sees it, and whoever asks without a pause costs no more than this.
const FRESH_PER_SEC: u32 = 10;

/// How old an answer may be that is given more than once.
const OLD: Duration = Duration::from_secs(1);

/// The last answer of a kind.
#[derive(Default)]
pub(crate) struct SharedAnswer(Arc<Mutex<Latest>>);

#[derive(Default)]
struct Latest {
    /// When it was begun, and what it is.
    answer: Option<(Instant, Bytes)>,
    /// The second that is counted in, and the answers worked out in it.
    second: Option<Instant>,
    in_second: u32,
}

impl Latest {
    /// The last answer, where it will do for a question that came at `asked`.
    fn fits(&self, asked: Instant, now: Instant) -> Option<Bytes> {
        let (began, answer) = self.answer.as_ref()?;
        let is_good_enough = self.is_busy(now) && now.duration_since(*began) < OLD;
        (*began >= asked || is_good_enough).then(|| answer.clone())
    }

    fn is_busy(&self, now: Instant) -> bool {
        let is_this_second = self.second.is_some_and(|second| now.duration_since(second) < OLD);
        is_this_second && self.in_second >= FRESH_PER_SEC
    }

    fn count(&mut self, now: Instant) {
        if self.second.is_none_or(|second| now.duration_since(second) >= OLD) {
            (self.second, self.in_second) = (Some(now), 0);
        }
        self.in_second += 1;
    }
}

impl SharedAnswer {
    /// The answer, worked out in a queue of its own if need be: other questions about the site, however many, do not
    /// keep it waiting. What was begun is kept even if whoever asked hangs
    /// up: else it would be worked out again for the next one.
    pub(crate) async fn get(
        &self,
        backend: &Arc<Backend>,
        work: impl FnOnce(&Backend) -> Bytes + Send + 'static,
    ) -> Result<Bytes, Unserved> {
        let asked = Instant::now();
        let Ok(mut latest) = tokio::time::timeout(STATUS_WAIT, Arc::clone(&self.0).lock_owned()).await else {
            return Err(blocking::status_busy(backend));
        };
        let began = Instant::now();
        if let Some(answer) = latest.fits(asked, began) {
            return Ok(answer);
        }
        latest.count(began);
        backend.metrics.status_computed.inc();
        let backend = Arc::clone(backend);
        let answering = tokio::spawn(async move {
            let answer = blocking::shared(&backend, work).await?;
            latest.answer = Some((began, answer.clone()));
            Ok(answer)
        });
        answering.await.unwrap_or_else(|_| Err(Unserved::Panicked))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_fresh_unless_many_ask_and_never_older_than_a_second() {
        let start = Instant::now();
        let after = |millis: u64| start + Duration::from_millis(millis);
        let mut latest = Latest::default();
        assert_eq!(latest.fits(start, start), None);
        latest.count(start);
        latest.answer = Some((after(10), Bytes::from_static(b"first")));
        assert!(latest.fits(after(5), after(20)).is_some(), "begun after it was asked for");
        assert!(latest.fits(after(11), after(20)).is_none(), "begun before");
        (1..FRESH_PER_SEC).for_each(|_| latest.count(after(20)));
        assert!(latest.fits(after(500), after(900)).is_some(), "many have asked");
        assert!(latest.fits(after(1000), after(1001)).is_none(), "another second");
        (0..FRESH_PER_SEC).for_each(|_| latest.count(after(1001)));
        assert!(latest.fits(after(1005), after(1011)).is_none(), "too old");
    }
}
