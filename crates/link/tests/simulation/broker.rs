//! The broker between sites, and how bad it can be: it loses what it acknowledged, forgets itself, delays, repeats,
//! reorders, and cuts sites off.

use std::collections::{BTreeMap, VecDeque};

use seenit_link::{BrokerPosition, BrokerStream, Ticket};
use seenit_sites::key::SiteKey;

use crate::random::Random;

/// A stored message: of whom.
type Stored = (SiteKey, Vec<u8>);

/// One stream.
#[derive(Default)]
pub(crate) struct Log {
    pub(crate) born: u64,
    /// The sequence of the first that is kept.
    first: u64,
    stored: VecDeque<Stored>,
}

/// The most messages that a stream keeps: the oldest make room.
const KEPT: usize = 40;

impl Log {
    fn last_sequence(&self) -> u64 {
        self.first + self.stored.len() as u64
    }

    /// The last message of a site, and its sequence.
    pub(crate) fn last_of(&self, site: &SiteKey) -> Option<(u64, &Vec<u8>)> {
        let found = self.stored.iter().enumerate().rev().find(|(_, (of, _))| of == site);
        found.map(|(place, (_, bytes))| (self.first + place as u64 + 1, bytes))
    }

    pub(crate) fn push(&mut self, site: SiteKey, bytes: Vec<u8>) -> u64 {
        self.stored.push_back((site, bytes));
        if self.stored.len() > KEPT {
            self.stored.pop_front();
            self.first += 1;
        }
        self.last_sequence()
    }

    /// The message after a place.
    pub(crate) fn after(&self, place: BrokerPosition) -> Option<(BrokerPosition, &Vec<u8>)> {
        let sequence = if place.born == self.born && place.sequence <= self.last_sequence() {
            place.sequence
        } else {
            0
        };
        let at = sequence.max(self.first);
        let (_, bytes) = self.stored.get((at - self.first) as usize)?;
        Some((BrokerPosition { born: self.born, sequence: at + 1 }, bytes))
    }

    /// It forgets the newest messages, though it acknowledged them.
    pub(crate) fn lose_end(&mut self, count: usize) {
        let left = self.stored.len().saturating_sub(count);
        self.stored.truncate(left);
    }

    /// It is made anew.
    pub(crate) fn recreate(&mut self, born: u64) {
        *self = Log { born, ..Log::default() };
    }
}

/// Something on its way to a process.
pub(crate) struct Flight {
    pub(crate) at: u64,
    pub(crate) to: usize,
    pub(crate) what: What,
}

/// What is on its way.
pub(crate) enum What {
    /// Bytes, and whom to answer.
    Bytes(Vec<u8>, Option<usize>),
    /// What came of a publication.
    Published(Ticket, seenit_link::Published),
    /// An object.
    Object(SiteKey, String, Option<Vec<u8>>),
}

/// All between the sites.
#[derive(Default)]
pub(crate) struct Broker {
    pub(crate) logs: [Log; 2],
    pub(crate) objects: BTreeMap<(SiteKey, String), Vec<u8>>,
    pub(crate) flights: Vec<Flight>,
    /// One in so many messages is lost; 0 for none.
    pub(crate) loss: u64,
    pub(crate) repeats: bool,
    /// The longest delay, in milliseconds.
    pub(crate) delay: u64,
    /// Processes that are cut off.
    pub(crate) cut: Vec<bool>,
}

impl Broker {
    pub(crate) fn log(&mut self, kind: BrokerStream) -> &mut Log {
        &mut self.logs[kind as usize]
    }

    /// Sends something, perhaps.
    pub(crate) fn send(&mut self, random: &mut Random, now: u64, to: usize, what: What) {
        if self.cut[to] || self.loss > 0 && random.below(self.loss) == 0 {
            return;
        }
        let at = now + 1 + random.below(self.delay + 1);
        if let What::Bytes(bytes, reply) = &what
            && self.repeats
            && random.below(10) == 0
        {
            let again = What::Bytes(bytes.clone(), *reply);
            self.flights.push(Flight { at: at + random.below(3000), to, what: again });
        }
        self.flights.push(Flight { at, to, what });
    }

    /// All that has arrived by now, in the order in which it does.
    pub(crate) fn arrived(&mut self, now: u64) -> Vec<Flight> {
        let (mut arrived, rest): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.flights).into_iter().partition(|one| one.at <= now);
        self.flights = rest;
        arrived.sort_by_key(|one| one.at);
        arrived
    }
}
