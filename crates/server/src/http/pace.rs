//! How fast questions about the site may follow each other: those of all, and those of one who asks.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// How long status work waits for its turn: monitoring that waits longer has given up, or asks again too soon.
pub(super) const STATUS_WAIT: Duration = Duration::from_secs(5);

/// Pieces of status work that begin in a second, on average: whoever asks without a pause would otherwise take the
/// processors from the checks. A network's monitoring asks a few times a second.
const STATUS_PER_SEC: u32 = 200;

/// Pieces of status work that may begin at once after a silence: a page that shows everything, some dozen operators.
const STATUS_BURST: u32 = 100;

/// The moment that is the next one's.
#[derive(Debug)]
pub(crate) struct Pace {
    every: Duration,
    burst: u32,
    next: Mutex<Instant>,
}

impl Pace {
    /// That of everybody together.
    pub(super) fn of_all() -> Self {
        Pace::new(STATUS_PER_SEC, STATUS_BURST)
    }

    /// That of one account, one network, or this machine: half of it, so that nobody makes all others wait.
    pub(crate) fn of_one() -> Self {
        Pace::new(STATUS_PER_SEC / 2, STATUS_BURST / 2)
    }

    fn new(per_sec: u32, burst: u32) -> Self {
        Pace { every: Duration::from_secs(1) / per_sec, burst, next: Mutex::new(Instant::now()) }
    }

    /// When a piece of work that comes now may begin; not where that is further away than it waits. Moments that nobody
    /// took are saved up, some of them.
    pub(super) fn begins(&self, now: Instant) -> Option<Instant> {
        let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        let saved = now.checked_sub(self.every * (self.burst - 1)).unwrap_or(now);
        let begins = (*next).max(saved);
        (begins <= now + STATUS_WAIT).then(|| {
            *next = begins + self.every;
            begins.max(now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn status_work_has_its_pace_a_burst_and_an_end() {
        let pace = Pace::of_all();
        let later = Instant::now() + Duration::from_secs(60);
        assert!((0..STATUS_BURST).all(|_| pace.begins(later) == Some(later)), "saved up in a silence");
        let waits: Vec<Duration> =
            std::iter::from_fn(|| pace.begins(later)).map(|begins| begins - later).collect();
        assert!(waits.windows(2).all(|two| two[1] - two[0] == pace.every), "one after the other");
        assert_eq!(waits.last(), Some(&STATUS_WAIT), "nobody waits for longer");
    }

    #[test]
    fn one_who_asks_without_a_pause_leaves_half_of_the_pace_to_the_others() {
        let (all, one, other) = (Pace::of_all(), Pace::of_one(), Pace::of_one());
        let start = Instant::now() + Duration::from_secs(60);
        let ask = |own: &Pace, now| own.begins(now).and_then(|_| all.begins(now));
        // Four times as often as it may, for a minute; then somebody else comes.
        for tick in 0..60 * 4 * STATUS_PER_SEC {
            let _ = ask(&one, start + Duration::from_secs(1) / (4 * STATUS_PER_SEC) * tick);
        }
        let now = start + Duration::from_secs(60);
        let own = one.begins(now).map_or(STATUS_WAIT, |begins| begins - now);
        let others = ask(&other, now).expect("a turn") - now;
        assert!(own > Duration::from_secs(4) && others < Duration::from_secs(1), "{own:?}, {others:?}");
    }
}
