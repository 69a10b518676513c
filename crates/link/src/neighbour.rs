//! What is known of another site: when it was heard, what it holds of ours, and whether we agree with it.

use std::collections::{BTreeMap, BTreeSet};

use seenit_sites::heartbeat::{Heartbeat, Holding};
use seenit_sites::message::StreamId;
use seenit_sites::number::{Generation, Incarnation};

use crate::action::Millis;
use crate::link::Link;

/// Two incarnations of a site that were both heard within this time both run.
const ALIVE_MILLIS: u64 = 30_000;

/// Incarnations of which the last heartbeat is remembered.
const NUMBERS_MAX: usize = 8;

/// Own streams of which it is remembered how far a neighbour is.
const HOLDS_MAX: usize = 1024;

/// What is known of another site.
#[derive(Clone, Debug, Default)]
pub(crate) struct Neighbour {
    /// When it was heard the last time.
    pub(crate) heard_at: Option<Millis>,
    /// The clock of its last heartbeat.
    pub(crate) time_secs: u64,
    /// Its present incarnation.
    pub(crate) incarnation: Incarnation,
    /// The last heartbeat of each of its incarnations: when, and its number.
    numbers: BTreeMap<Incarnation, (Millis, u64)>,
    /// When two of its incarnations were last heard in turn.
    copied_at: Option<Millis>,
    /// How far it is with our streams.
    pub(crate) holds: BTreeMap<StreamId, Holding>,
    /// A generation of its that was refused.
    pub(crate) skewed: Option<Generation>,
    /// It had more incarnations than are followed: what it says in this one is not heard.
    pub(crate) unheard: Option<Incarnation>,
    /// Its streams of which something is missing here.
    pub(crate) behind: BTreeSet<StreamId>,
    /// Since when we agree with it; `None` while we do not.
    pub(crate) agreed_since: Option<Millis>,
    /// When that was last found.
    pub(crate) agreed_at: Option<Millis>,
    /// Ranges of its streams that were asked for.
    pub(crate) repairs: u64,
}

impl Neighbour {
    /// Whether two incarnations run at the same time.
    pub(crate) fn is_copied(&self, now: Millis) -> bool {
        self.copied_at.is_some_and(|at| now.since(at) < ALIVE_MILLIS)
    }

    /// Takes note of a heartbeat. Whether it is a new one: one that is sent again is no sign of life.
    pub(crate) fn heard(&mut self, heartbeat: &Heartbeat, now: Millis) -> bool {
        let incarnation = heartbeat.incarnation;
        let last = self.numbers.get(&incarnation).map_or(0, |(_, number)| *number);
        if heartbeat.number <= last {
            return false;
        }
        let present_at = self.numbers.get(&self.incarnation).map(|(at, _)| *at);
        let is_alive = present_at.is_some_and(|at| now.since(at) < ALIVE_MILLIS);
        self.numbers.insert(incarnation, (now, heartbeat.number));
        while self.numbers.len() > NUMBERS_MAX {
            self.numbers.pop_first();
        }
        if incarnation < self.incarnation && is_alive {
            // A later incarnation speaks, and so does this one: late, or because both run.
            if heartbeat.time_secs > self.time_secs {
                self.copied_at = Some(now);
            }
            return false;
        }
        self.incarnation = incarnation;
        (self.heard_at, self.time_secs) = (Some(now), heartbeat.time_secs);
        true
    }

    /// Takes note of what it holds of ours.
    pub(crate) fn holds(&mut self, holding: &Holding) {
        self.holds.insert(holding.id, *holding);
        while self.holds.len() > HOLDS_MAX {
            self.holds.pop_first();
        }
    }
}

impl Link {
    /// Compares what each site is known to have with what is held of it. We agree from when nothing was missing, until
    /// something has been missing for too long: what is on its way is no disagreement, nor what nobody shows.
    pub(crate) fn compare_all(&mut self) {
        let now = self.now;
        for neighbour in self.neighbours.values_mut() {
            let behind = || neighbour.behind.iter().filter_map(|id| self.streams.get(id));
            if behind().any(|one| one.is_late(now)) {
                neighbour.agreed_since = None;
            } else if neighbour.heard_at.is_some()
                && (neighbour.agreed_at.is_some() || behind().all(|one| one.is_unshown(now)))
            {
                neighbour.agreed_since.get_or_insert(now);
                neighbour.agreed_at = Some(now);
            }
        }
    }
}
