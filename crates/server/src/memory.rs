//! Memory that peers make the server hold: bodies on their way in, answers on their way out. All of it has one budget.
//!
//! A holder (an account, a client network, this machine) has at most as much of it as is left for all others: half if
//! it is alone. So nobody keeps the others out, whatever it sends and does not read. Where there is no room, a
//! connection that holds something and waits for its peer is closed.
//!
//! A body is refused where there is no room for it. An answer is not, because what was asked for may have taken effect:
//! it overdraws the budget, and connections of whoever holds too much that do not read are closed until it does not
//! (`sweep`). While the budget is overdrawn, no body beyond [`FREE_BYTES`] is taken in. So it is overdrawn by no more
//! than the answers to what had been read before.

mod sweep;

use std::cmp::Reverse;
use std::collections::HashMap;
use std::ops::Deref;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::{Buf, Bytes};
use seenit_filter::readable;
use seenit_ledger::reporter::ReporterId;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::config::Http;
use crate::connections::Guest;
use crate::network::Network;

/// Bytes of every body and every answer that are not counted: most mail fits, so that whoever holds all of the budget
/// keeps no small message out. They are bounded by the number of connections.
const FREE_BYTES: usize = 16 << 10;

/// What the budget is counted in.
const UNIT_BYTES: usize = 1 << 10;

/// How long a body waits for room. Giving up others takes moments; whoever waits longer is refused.
const ROOM_WAIT: Duration = Duration::from_secs(1);

/// When a body looks again for a connection to close: one that was told to go may take a moment, or be busy by now.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// A body that found no room in time.
#[derive(Debug, thiserror::Error)]
#[error(
    "there is no room for this body: all bodies and answers hold {} at most (http.held_bytes_max), and those of one \
     account, network or machine no more than is left for all others",
    readable::bytes(*bytes_max)
)]
pub(crate) struct NoRoom {
    bytes_max: u64,
}

/// Whose memory it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Holder {
    /// Everybody of this machine without an account.
    Local,
    Network(Network),
    Account(ReporterId),
}

/// The budget of all bodies and answers.
#[derive(Clone)]
pub(crate) struct Memory(Arc<Shelf>);

struct Shelf {
    units_max: usize,
    holds: Mutex<Holds>,
    /// Something was given back.
    freed: Notify,
}

#[derive(Default)]
struct Holds {
    next: u64,
    units: usize,
    by_holder: HashMap<Holder, usize>,
    /// As many entries as connections at most, but for work that goes on after its connection was closed.
    all: HashMap<u64, Entry>,
    /// Somebody looks for connections to close until nobody holds too much.
    is_swept: bool,
}

struct Entry {
    holder: Holder,
    guest: Arc<Guest>,
    units: usize,
}

/// What one body or answer has taken from the budget, given back when dropped.
pub(crate) struct Hold {
    memory: Memory,
    holder: Holder,
    guest: Arc<Guest>,
    /// Its number among all, and its units; none where it has taken nothing.
    taken: Option<(u64, usize)>,
}

/// Bytes with what they have taken from the budget: it is given back with them.
pub(crate) struct Held {
    bytes: Bytes,
    _hold: Option<Hold>,
}

impl Memory {
    /// The largest body always fits into the half of somebody who is alone.
    pub(crate) fn new(http: &Http) -> Self {
        let bytes_max = http.held_bytes_max.max(2 * largest_body(http));
        let units_max = usize::try_from(bytes_max / UNIT_BYTES as u64).unwrap_or(usize::MAX);
        Memory(Arc::new(Shelf { units_max, holds: Mutex::default(), freed: Notify::new() }))
    }

    /// Whether bodies may be as large as this configuration says.
    pub(crate) fn fits(&self, http: &Http) -> bool {
        2 * largest_body(http) <= self.bytes_max()
    }

    pub(crate) fn bytes_max(&self) -> u64 {
        (self.0.units_max * UNIT_BYTES) as u64
    }

    #[cfg(test)]
    pub(crate) fn held_bytes(&self) -> usize {
        self.holds().units * UNIT_BYTES
    }

    /// Room for a body or an answer of a connection: none yet.
    pub(crate) fn hold(&self, holder: Holder, guest: &Arc<Guest>) -> Hold {
        Hold { memory: self.clone(), holder, guest: Arc::clone(guest), taken: None }
    }

    /// An answer. It is never refused, and always counted: where there is no room for it, connections are closed that
    /// do not read, and in a moment this one as well if it does not. A connection has one at most.
    pub(crate) fn hold_answer(&self, holder: Holder, guest: &Arc<Guest>, bytes: Bytes) -> Held {
        let mut hold = self.hold(holder, guest);
        if !hold.grow(bytes.len()) {
            hold.overdraw(bytes.len());
            self.sweep_until_within();
        }
        Held { bytes, _hold: Some(hold) }
    }

    fn holds(&self) -> MutexGuard<'_, Holds> {
        self.0.holds.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn largest_body(http: &Http) -> u64 {
    http.message_bytes_max.max(http.body_bytes_max)
}

impl Holds {
    /// What a holder has.
    fn of(&self, holder: Holder) -> usize {
        self.by_holder.get(&holder).copied().unwrap_or(0)
    }
}

impl Hold {
    /// Makes room for so many bytes of a body. Where there is none, others are closed, one after the other.
    pub(crate) async fn make_room(&mut self, bytes: usize) -> Result<(), NoRoom> {
        let memory = self.memory.clone();
        let until = Instant::now() + ROOM_WAIT;
        loop {
            let freed = memory.0.freed.notified();
            if self.grow(bytes) {
                return Ok(());
            }
            let now = Instant::now();
            if now >= until {
                return Err(NoRoom { bytes_max: memory.bytes_max() });
            }
            self.close_another();
            let _ = tokio::time::timeout_at(until.min(now + LOOK_AGAIN), freed).await;
        }
    }

    /// Takes what so many bytes need; false where that is more than is left for all others then.
    fn grow(&mut self, bytes: usize) -> bool {
        let missing = self.missing(bytes);
        if missing == 0 {
            return true;
        }
        let memory = self.memory.clone();
        let mut holds = memory.holds();
        let units = holds.units + missing;
        let own = holds.of(self.holder) + missing;
        let fits = memory.0.units_max.saturating_sub(units) >= own;
        if fits {
            self.take(&mut holds, missing);
        }
        fits
    }

    /// Takes what so many bytes need, whatever is left.
    fn overdraw(&mut self, bytes: usize) {
        let memory = self.memory.clone();
        let missing = self.missing(bytes);
        self.take(&mut memory.holds(), missing);
    }

    /// What so many bytes need beyond what was taken.
    fn missing(&self, bytes: usize) -> usize {
        bytes.saturating_sub(FREE_BYTES).div_ceil(UNIT_BYTES).saturating_sub(self.units())
    }

    fn take(&mut self, holds: &mut Holds, missing: usize) {
        let number = self.taken.map_or(holds.next, |(number, _)| number);
        let units = self.units() + missing;
        if self.taken.is_none() {
            holds.next += 1;
        }
        holds.all.insert(number, Entry { holder: self.holder, guest: Arc::clone(&self.guest), units });
        holds.units += missing;
        *holds.by_holder.entry(self.holder).or_default() += missing;
        self.taken = Some((number, units));
    }

    /// Closes a connection that holds something: of a lower kind than this one's, or of the same kind and for longer;
    /// and of a holder that has no less than this one's. Of those, strangers' first, then the one whose holder has
    /// most, then the one that has been silent for longest. A scan: it happens only while there is no room.
    fn close_another(&self) {
        let holds = self.memory.holds();
        let mine = self.guest.rank();
        let own = holds.of(self.holder);
        let spared = holds.all.values().filter(|other| {
            other.guest.rank() < mine && holds.of(other.holder) >= own && other.guest.can_be_spared()
        });
        let first = spared.min_by_key(|other| {
            let (kind, since) = other.guest.rank();
            (kind, Reverse(holds.of(other.holder)), since)
        });
        if let Some(other) = first {
            other.guest.leave();
        }
    }

    fn units(&self) -> usize {
        self.taken.map_or(0, |(_, units)| units)
    }
}

impl Drop for Hold {
    fn drop(&mut self) {
        let Some((number, units)) = self.taken else {
            return;
        };
        let mut holds = self.memory.holds();
        holds.all.remove(&number);
        holds.units -= units;
        let left = holds.of(self.holder) - units;
        if left == 0 {
            holds.by_holder.remove(&self.holder);
        } else {
            holds.by_holder.insert(self.holder, left);
        }
        drop(holds);
        self.memory.0.freed.notify_waiters();
    }
}

impl Held {
    pub(crate) fn body(bytes: Bytes, hold: Hold) -> Self {
        Held { bytes, _hold: Some(hold) }
    }

    /// Bytes that all connections share, or a few: they take no room.
    pub(crate) fn free(bytes: Bytes) -> Self {
        Held { bytes, _hold: None }
    }
}

impl Deref for Held {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Buf for Held {
    fn remaining(&self) -> usize {
        self.bytes.remaining()
    }

    fn chunk(&self) -> &[u8] {
        self.bytes.chunk()
    }

    fn advance(&mut self, count: usize) {
        self.bytes.advance(count);
    }
}

#[cfg(test)]
mod tests;
