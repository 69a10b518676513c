//! The connections of one kind of listener: how many there are, and which one makes room for a new one.
//!
//! A connection that waits for its peer (for a head, for a body, for an answer to be read) can be closed; one whose
//! request is being worked on gets its answer first. So whoever opens connections and says nothing, reads nothing, or
//! asks without a pause loses them to those who come after. As many entries as connections at most.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::network::{Network, plain};

/// How long a new connection waits for another one to go before it looks again for one to close.
const ROOM_WAIT: Duration = Duration::from_millis(100);

/// Busy connections that are told at once to go after their answers. Some go within moments, and there is room for
/// those who come meanwhile; more would close connections for nobody.
const BUSY_AT_ONCE: usize = 32;

/// How long an answer waits before its peer counts as one that does not read: far longer than a peer that reads takes.
pub(crate) const UNREAD_MILLIS: u64 = 100;

/// How long a connection that has not asked anything counts as a newcomer: enough for a TLS handshake and a head over a
/// slow line. Until then nobody can know whether it is an account's.
const NEWCOMER_MILLIS: u64 = 1000;

/// What moments are counted from, of all listeners.
static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The connections of a listener.
pub(crate) struct Crowd {
    most: usize,
    per_network_max: usize,
    guests: Mutex<Guests>,
    /// Somebody has gone.
    left: Notify,
}

#[derive(Default)]
struct Guests {
    next: u64,
    all: HashMap<u64, Arc<Guest>>,
    /// How many each network has; those of loopback are one network.
    counts: HashMap<Option<Network>, usize>,
}

/// What is known of an open connection.
pub(crate) struct Guest {
    /// None of this machine.
    network: Option<Network>,
    doing: AtomicU8,
    /// When its last answer was ready, or when it came: milliseconds since [`BEGAN`].
    since_millis: AtomicU64,
    /// It has sent a request.
    has_asked: AtomicBool,
    /// It has shown that it is an account, and no stranger's.
    is_known: AtomicBool,
    /// It was told to go.
    is_leaving: AtomicBool,
    /// It is to go after the answer that is being worked on.
    leaves_after_answer: AtomicBool,
    told_to_leave: Notify,
}

/// What a connection is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Doing {
    /// Its peer has to do something: send a head, or take an answer.
    Waiting,
    /// Its peer sends a body.
    Sending,
    /// A request is worked on, or waits for its turn.
    Working,
}

/// Whose connection it is: those of the first kind are closed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GuestKind {
    /// Somebody beyond this machine who has shown no account.
    Stranger,
    /// Somebody of this machine without an account: most often the filter of the mail server.
    Local,
    /// An account of the operator's.
    Known,
}

/// Which connection is closed first to make room: the least. Its fields count in their order.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Order {
    /// Accounts that have shown themselves go last.
    is_known: bool,
    /// Those of a network that has more than half of all places go before all others: however many it opens, half of
    /// the places are for those who come from elsewhere, of whom nobody knows yet who they are. Loopback counts as one
    /// network, because it has no limit of its own. Half, and not an equal share for each network: whoever has many
    /// networks would make that as small as it likes, and close the connections of this machine's mail server.
    is_within_share: bool,
    /// Strangers go before those of this machine.
    kind: GuestKind,
    /// Newcomers of the same kind have a moment to show who they are, unless their network has more than half.
    is_newcomer: bool,
    /// Idle ones go before busy ones.
    is_busy: bool,
    /// Those of the network that has most go first.
    of_network: Reverse<usize>,
    /// The one that has been silent for longest goes first.
    since_millis: u64,
}

impl Order {
    /// Whether both are spared as easily, but for what they do at the moment.
    fn is_of_the_kind_of(&self, other: &Order) -> bool {
        self.is_known == other.is_known
            && self.is_within_share == other.is_within_share
            && self.kind == other.kind
            && self.is_newcomer == other.is_newcomer
    }
}

/// A place among the connections, given back when dropped.
pub(crate) struct Seat {
    crowd: Arc<Crowd>,
    number: u64,
    pub(crate) guest: Arc<Guest>,
}

/// Why there is no place.
enum NoPlace {
    /// The network has as many as it may.
    Network,
    /// There are as many connections as there may be.
    Full,
}

impl Crowd {
    pub(crate) fn new(most: usize, per_network_max: u32) -> Self {
        let per_network_max = per_network_max as usize;
        Crowd { most, per_network_max, guests: Mutex::default(), left: Notify::new() }
    }

    /// A place for a client, if its network has one left; loopback has as many as there are. Where all are taken, the
    /// connection that can best be spared is closed first. While that one is still answered, the client waits.
    pub(crate) async fn enter(self: &Arc<Self>, address: IpAddr) -> Option<Seat> {
        loop {
            match self.try_enter(address) {
                Ok(seat) => return Some(seat),
                Err(NoPlace::Network) => return None,
                Err(NoPlace::Full) => {
                    self.make_room();
                    // Time passes as well as a permit: the one that was told may take a moment.
                    let _ = tokio::time::timeout(ROOM_WAIT, self.left.notified()).await;
                }
            }
        }
    }

    fn try_enter(self: &Arc<Self>, address: IpAddr) -> Result<Seat, NoPlace> {
        let guest = Arc::new(Guest::new(address));
        let network = guest.network;
        let mut guests = self.guests();
        let of_network = guests.counts.get(&network).copied().unwrap_or(0);
        if network.is_some() && of_network >= self.per_network_max {
            return Err(NoPlace::Network);
        }
        if guests.all.len() >= self.most {
            return Err(NoPlace::Full);
        }
        let number = guests.next;
        guests.next += 1;
        guests.all.insert(number, Arc::clone(&guest));
        guests.counts.insert(network, of_network + 1);
        Ok(Seat { crowd: Arc::clone(self), number, guest })
    }

    /// Closes the connection that can best be spared (see [`Order`]): an idle one at once, a busy one after its answer.
    /// Where the first one is busy, several are told: their answers may be seconds away, and one at a time would let in
    /// as few. A scan: it happens only while there is no room.
    fn make_room(&self) {
        let guests = self.guests();
        let spared = guests.all.values().filter(|guest| guest.can_go());
        let mut spared: Vec<_> = spared.map(|guest| (self.order(&guests, guest), guest)).collect();
        spared.sort_unstable_by_key(|(order, _)| *order);
        let Some(&(first, _)) = spared.first() else {
            return;
        };
        let of_its_kind = spared.iter().take_while(|(order, _)| order.is_of_the_kind_of(&first));
        for (_, guest) in of_its_kind.take(if first.is_busy { BUSY_AT_ONCE } else { 1 }) {
            guest.leave();
        }
    }

    fn order(&self, guests: &Guests, guest: &Guest) -> Order {
        let ((kind, since_millis), of_network) = (guest.rank(), guests.of_network(guest));
        let is_within_share = of_network <= self.most / 2;
        Order {
            is_known: kind == GuestKind::Known,
            is_within_share,
            kind,
            is_newcomer: is_within_share && guest.is_newcomer(),
            is_busy: guest.doing() == Doing::Working,
            of_network: Reverse(of_network),
            since_millis,
        }
    }

    fn guests(&self) -> MutexGuard<'_, Guests> {
        self.guests.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Guests {
    /// How many connections the network of one has.
    fn of_network(&self, guest: &Guest) -> usize {
        self.counts.get(&guest.network).copied().unwrap_or(0)
    }
}

impl Guest {
    pub(crate) fn new(address: IpAddr) -> Self {
        let address = plain(address);
        Guest {
            network: (!address.is_loopback()).then(|| Network::of(address)),
            doing: AtomicU8::new(Doing::Waiting as u8),
            since_millis: AtomicU64::new(now_millis()),
            has_asked: AtomicBool::new(false),
            is_known: AtomicBool::new(false),
            is_leaving: AtomicBool::new(false),
            leaves_after_answer: AtomicBool::new(false),
            told_to_leave: Notify::new(),
        }
    }

    /// Returns when the connection is to be closed at once. One that is busy stays until it has its answer.
    pub(crate) async fn told_to_leave(&self) {
        loop {
            self.told_to_leave.notified().await;
            if self.doing() != Doing::Working {
                return;
            }
            // Its next request came in the meantime. Once it waits, it can be told again.
            self.leaves_after_answer.store(true, Relaxed);
            self.is_leaving.store(false, Relaxed);
        }
    }

    /// Whether the answer that is being worked on is the last one of this connection.
    pub(crate) fn leaves_after_answer(&self) -> bool {
        self.leaves_after_answer.load(Relaxed)
    }

    #[cfg(test)]
    pub(crate) fn came_at(&self, millis: u64) {
        self.since_millis.store(millis, Relaxed);
    }

    /// Says what the connection is about from now on.
    pub(crate) fn set(&self, doing: Doing) {
        self.doing.store(doing as u8, Relaxed);
    }

    /// It has shown that it is an account, and no stranger's.
    pub(crate) fn is_known(&self) {
        self.is_known.store(true, Relaxed);
    }

    fn doing(&self) -> Doing {
        match self.doing.load(Relaxed) {
            doing if doing == Doing::Working as u8 => Doing::Working,
            doing if doing == Doing::Sending as u8 => Doing::Sending,
            _ => Doing::Waiting,
        }
    }

    fn kind(&self) -> GuestKind {
        match (self.is_known.load(Relaxed), self.network) {
            (true, _) => GuestKind::Known,
            (false, None) => GuestKind::Local,
            (false, Some(_)) => GuestKind::Stranger,
        }
    }

    /// Which of two that hold something goes first: the one of the lower kind, then the one that is silent for longer.
    pub(crate) fn rank(&self) -> (GuestKind, u64) {
        (self.kind(), self.since_millis.load(Relaxed))
    }

    /// Whether it can be closed at once for what it holds: nothing is worked on for it, and it is not just being
    /// given an answer.
    pub(crate) fn can_be_spared(&self) -> bool {
        self.does_not_read() || (self.can_go() && self.doing() == Doing::Sending)
    }

    /// Whether it holds an answer, if it holds something, that its peer has had the time to read.
    pub(crate) fn does_not_read(&self) -> bool {
        let is_unread = self.doing() == Doing::Waiting && self.silent_millis() >= UNREAD_MILLIS;
        is_unread && self.can_go()
    }

    /// Whether it came a moment ago and has not asked anything.
    fn is_newcomer(&self) -> bool {
        !self.has_asked.load(Relaxed) && self.silent_millis() < NEWCOMER_MILLIS
    }

    fn silent_millis(&self) -> u64 {
        now_millis().saturating_sub(self.since_millis.load(Relaxed))
    }

    /// Whether it was told to go at once.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving.load(Relaxed)
    }

    /// Whether telling it to go changes something.
    pub(crate) fn can_go(&self) -> bool {
        let is_told = self.is_leaving();
        let is_on_its_way = self.doing() == Doing::Working && self.leaves_after_answer();
        !is_told && !is_on_its_way
    }

    /// Tells it to go: at once, or after its answer.
    pub(crate) fn leave(&self) {
        if self.doing() == Doing::Working {
            self.leaves_after_answer.store(true, Relaxed);
        } else {
            self.is_leaving.store(true, Relaxed);
            self.told_to_leave.notify_one();
        }
    }
}

impl Seat {
    /// Something was asked, or answered.
    pub(crate) fn progress(&self, doing: Doing) {
        self.guest.set(doing);
        self.guest.has_asked.store(true, Relaxed);
        self.guest.since_millis.store(now_millis(), Relaxed);
    }
}

pub(crate) fn now_millis() -> u64 {
    BEGAN.elapsed().as_millis() as u64
}

impl Drop for Seat {
    fn drop(&mut self) {
        let mut guests = self.crowd.guests();
        guests.all.remove(&self.number);
        if let Some(count) = guests.counts.get_mut(&self.guest.network) {
            *count -= 1;
            if *count == 0 {
                guests.counts.remove(&self.guest.network);
            }
        }
        drop(guests);
        self.crowd.left.notify_one();
    }
}

#[cfg(test)]
mod tests;
