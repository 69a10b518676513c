//! Time, as the ledger takes it: it never goes back, and a leap is not believed until it is confirmed.
//!
//! * The highest time ever taken is kept in the journal. A clock that shows less is held at it.
//! * A clock that leaps ahead by more than a generation, at start or while running, is *held*, too: time goes on from
//!   where it was at the pace of the machine's steady clock, and nothing expires that would not have expired anyway. An
//!   operator confirms the leap (`seenit clock confirm`), or it is believed after a generation of steady running.
//! * What expires is hidden first and deleted a generation later.
//! * A leap that was confirmed by mistake is taken back by confirming the right time: what it hid counts again after a
//!   restart, for as long as it was not deleted.
//!
//! So a machine that boots in 2038 and learns the time a minute later has lost nothing.

use std::time::Instant;

/// Where the time comes from; a test has its own.
pub trait Clock: Send + Sync {
    /// Seconds since the Unix epoch, as the machine believes.
    fn now_secs(&self) -> u64;

    /// Seconds of a clock that is never set: only differences mean anything.
    fn steady_secs(&self) -> u64;
}

/// The machine's clock.
#[derive(Debug)]
pub struct SystemClock {
    began: Instant,
}

impl Default for SystemClock {
    fn default() -> Self {
        SystemClock { began: Instant::now() }
    }
}

impl Clock for SystemClock {
    fn now_secs(&self) -> u64 {
        use std::time::{SystemTime, UNIX_EPOCH};
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
    }

    fn steady_secs(&self) -> u64 {
        self.began.elapsed().as_secs()
    }
}

/// The ledger's own time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Calendar {
    generation_secs: u64,
    /// The highest time taken.
    high_secs: u64,
    /// The steady clock when it was taken.
    steady_secs: u64,
    /// Since when, by the steady clock, the machine's clock has been ahead.
    leapt: Option<u64>,
}

/// What the ledger takes the time to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trust {
    /// What the machine says.
    Believed,
    /// The machine's clock is behind by so many seconds; time stands still until it has caught up.
    Behind(u64),
    /// The machine's clock leapt ahead by so many seconds; time goes on as if it had not.
    Leapt(u64),
}

impl Calendar {
    /// A calendar that goes on from the highest time kept, or begins now.
    pub(crate) fn new(clock: &dyn Clock, kept_secs: Option<u64>, generation_secs: u64) -> Self {
        let high_secs = kept_secs.unwrap_or_else(|| clock.now_secs());
        Calendar { generation_secs, high_secs, steady_secs: clock.steady_secs(), leapt: None }
    }

    /// Takes the time.
    pub(crate) fn tick(&mut self, clock: &dyn Clock) -> Trust {
        let now = clock.now_secs();
        let steady = clock.steady_secs();
        let before = self.high_secs;
        let expected = self.high_secs + steady.saturating_sub(self.steady_secs);
        if now > expected.saturating_add(self.generation_secs) {
            let since = *self.leapt.get_or_insert(steady);
            if steady.saturating_sub(since) < self.generation_secs {
                (self.high_secs, self.steady_secs) = (expected, steady);
                return Trust::Leapt(now - expected);
            }
        }
        self.leapt = None;
        let behind = self.high_secs.saturating_sub(now);
        (self.high_secs, self.steady_secs) = (self.high_secs.max(now), steady);
        assert!(self.high_secs >= before, "the ledger's time never goes back");
        if behind > 0 { Trust::Behind(behind) } else { Trust::Believed }
    }

    /// Believes the machine's clock, however far ahead it is, or behind: so an operator takes back a leap that was
    /// confirmed by mistake.
    pub(crate) fn confirm(&mut self, clock: &dyn Clock) {
        self.high_secs = clock.now_secs();
        self.steady_secs = clock.steady_secs();
        self.leapt = None;
    }

    /// The time taken last.
    pub(crate) fn secs(&self) -> u64 {
        self.high_secs
    }

    /// Its generation.
    pub(crate) fn generation(&self) -> u64 {
        self.high_secs / self.generation_secs
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[derive(Default)]
    struct Hands {
        now: Cell<u64>,
        steady: Cell<u64>,
    }

    // Tests use it from one thread.
    struct Shown(std::sync::Mutex<(u64, u64)>);

    impl Clock for Shown {
        fn now_secs(&self) -> u64 {
            self.0.lock().expect("not poisoned").0
        }
        fn steady_secs(&self) -> u64 {
            self.0.lock().expect("not poisoned").1
        }
    }

    const DAY: u64 = 86_400;

    fn shown(hands: &Hands) -> Shown {
        Shown(std::sync::Mutex::new((hands.now.get(), hands.steady.get())))
    }

    #[test]
    fn time_never_goes_back() {
        let hands = Hands { now: Cell::new(100 * DAY), steady: Cell::new(0) };
        let mut calendar = Calendar::new(&shown(&hands), None, DAY);
        hands.now.set(99 * DAY);
        hands.steady.set(10);
        assert_eq!(calendar.tick(&shown(&hands)), Trust::Behind(DAY));
        assert_eq!(calendar.generation(), 100);
        hands.now.set(100 * DAY + 5);
        assert_eq!(calendar.tick(&shown(&hands)), Trust::Believed);
    }

    #[test]
    fn a_machine_that_boots_in_2038_expires_nothing_until_told() {
        let hands = Hands { now: Cell::new(25_000 * DAY), steady: Cell::new(7) };
        let mut calendar = Calendar::new(&shown(&hands), Some(20_000 * DAY), DAY);
        assert_eq!(calendar.tick(&shown(&hands)), Trust::Leapt(5000 * DAY));
        hands.steady.set(67);
        calendar.tick(&shown(&hands));
        assert_eq!(calendar.secs(), 20_000 * DAY + 60, "time goes on at the steady pace");
        // It learns the time: nothing happened.
        hands.now.set(20_000 * DAY + 70);
        assert_eq!(calendar.tick(&shown(&hands)), Trust::Believed);
        assert_eq!(calendar.generation(), 20_000);
        // Or an operator says that it is true.
        hands.now.set(25_000 * DAY);
        assert!(matches!(calendar.tick(&shown(&hands)), Trust::Leapt(_)));
        calendar.confirm(&shown(&hands));
        assert_eq!(calendar.generation(), 25_000);
        // Which was a mistake.
        hands.now.set(20_000 * DAY + 80);
        assert!(matches!(calendar.tick(&shown(&hands)), Trust::Behind(_)));
        calendar.confirm(&shown(&hands));
        assert_eq!((calendar.generation(), calendar.tick(&shown(&hands))), (20_000, Trust::Believed));
    }

    #[test]
    fn a_leap_is_believed_after_a_generation_of_steady_running() {
        let hands = Hands { now: Cell::new(10 * DAY), steady: Cell::new(0) };
        let mut calendar = Calendar::new(&shown(&hands), Some(3 * DAY), DAY);
        assert!(matches!(calendar.tick(&shown(&hands)), Trust::Leapt(_)));
        hands.now.set(11 * DAY - 1);
        hands.steady.set(DAY - 1);
        assert!(matches!(calendar.tick(&shown(&hands)), Trust::Leapt(_)));
        hands.now.set(11 * DAY);
        hands.steady.set(DAY);
        assert_eq!(calendar.tick(&shown(&hands)), Trust::Believed);
        assert_eq!(calendar.generation(), 11);
    }

    #[test]
    fn a_night_without_power_is_no_leap() {
        let hands = Hands { now: Cell::new(100 * DAY + 30_000), steady: Cell::new(0) };
        let mut calendar = Calendar::new(&shown(&hands), Some(100 * DAY), DAY);
        assert_eq!(calendar.tick(&shown(&hands)), Trust::Believed);
    }
}
