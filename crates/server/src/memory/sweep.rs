//! Answers that nobody reads, of whoever holds too much: their connections are closed.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::time::Duration;

use super::{Entry, Holder, Holds, Memory};
use crate::connections::UNREAD_MILLIS;

/// How long answers may overdraw the budget before somebody looks again: one that has just been handed out must have
/// the time to be read.
const SWEEP_PAUSE: Duration = Duration::from_millis(UNREAD_MILLIS);

/// What is held, or will be once those are gone that were told to go.
struct Sums {
    units_max: usize,
    units: usize,
    by_holder: HashMap<Holder, usize>,
}

impl Sums {
    fn of(holds: &Holds, units_max: usize) -> Self {
        Sums { units_max, units: holds.units, by_holder: holds.by_holder.clone() }
    }

    fn take_away(&mut self, entry: &Entry) {
        self.units -= entry.units;
        if let Some(units) = self.by_holder.get_mut(&entry.holder) {
            *units -= entry.units;
        }
    }

    /// Whether a holder has too much: more than half, or anything while all together have more than there is.
    fn has_too_much(&self, holder: Holder) -> bool {
        let own = self.by_holder.get(&holder).copied().unwrap_or(0);
        own > self.units_max / 2 || (own > 0 && self.units > self.units_max)
    }
}

impl Memory {
    /// Closes connections that do not read, at once and again in a moment, until no holder has too much. New answers
    /// may not come, so this does not wait for one.
    pub(super) fn sweep_until_within(&self) {
        let mut holds = self.holds();
        self.sweep(&holds);
        if std::mem::replace(&mut holds.is_swept, true) {
            return;
        }
        drop(holds);
        let memory = self.clone();
        tokio::spawn(async move {
            loop {
                tokio::time::sleep(SWEEP_PAUSE).await;
                let mut holds = memory.holds();
                holds.is_swept = memory.sweep(&holds);
                if !holds.is_swept {
                    return;
                }
            }
        });
    }

    /// Closes connections that do not read, of holders that have too much: accounts' last; of those, the ones of the
    /// holder that has most first; of those, the ones that have not read for longest. Says whether some holder has too
    /// much as yet.
    fn sweep(&self, holds: &Holds) -> bool {
        let now = Sums::of(holds, self.0.units_max);
        let mut later = Sums::of(holds, self.0.units_max);
        let leaving = holds.all.values().filter(|entry| entry.guest.is_leaving());
        leaving.for_each(|entry| later.take_away(entry));
        let mut unread: Vec<&Entry> =
            holds.all.values().filter(|entry| entry.guest.does_not_read()).collect();
        unread.sort_by_cached_key(|entry| {
            let (is_account, (_, since)) = (matches!(entry.holder, Holder::Account(_)), entry.guest.rank());
            (is_account, Reverse(holds.of(entry.holder)), since)
        });
        for entry in unread {
            if later.has_too_much(entry.holder) {
                entry.guest.leave();
                later.take_away(entry);
            }
        }
        holds.by_holder.keys().any(|holder| now.has_too_much(*holder))
    }
}
