//! The state machine: `open`, `hear` (bytes arrived), `tick` (time passed), and what the driver reports back.

use std::collections::BTreeMap;

use seenit_sites::key::{AdminKey, SiteKey, SiteSecret};

use crate::action::{Action, BrokerState, Kind, Millis, Place, Published, ReplyTo, Ticket};
use crate::status::NetworkStatus;
use crate::store::{Batch, Committed, Loaded, Own, ReadDone, StoreError};

/// An operator's own limits of what a peer is believed, by the peer's name. What counts is the smaller one of each
/// limit and the roster's.
pub type LocalCaps = BTreeMap<String, LocalCap>;

/// Limits of one peer; `None` leaves the roster's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LocalCap {
    /// Points of spam.
    pub spam: Option<u32>,
    /// Points of ham.
    pub ham: Option<u32>,
    /// Recipients of one signature.
    pub seen: Option<u64>,
}

/// One site's side of the link.
pub struct Link {}

#[allow(unused_variables, reason = "the signatures, for the driver")]
impl Link {
    /// Takes up where the store left off.
    pub fn open(
        loaded: Loaded,
        secret: SiteSecret,
        network: AdminKey,
        local_caps: LocalCaps,
        now: Millis,
    ) -> Link {
        unimplemented!()
    }

    /// Begins again from what is durable, after [`failed`](Self::failed): everything tentative is forgotten.
    pub fn reload(&mut self, now: Millis, loaded: Loaded) {
        unimplemented!()
    }

    /// Whether this site is a member and knows the network's terms.
    pub fn is_member(&self) -> bool {
        unimplemented!()
    }

    /// Bytes arrived. Whatever they are, they are checked.
    pub fn hear(&mut self, now: Millis, bytes: &[u8], reply: Option<ReplyTo>) {
        unimplemented!()
    }

    /// Time passed.
    pub fn tick(&mut self, now: Millis, own: &Own) {
        unimplemented!()
    }

    /// The broker says what it holds last under our name, of one kind; nothing is published before.
    pub fn resume(&mut self, now: Millis, kind: Kind, last: Option<&[u8]>) {
        unimplemented!()
    }

    /// What came of [`Action::Publish`].
    pub fn published(&mut self, now: Millis, ticket: Ticket, outcome: Published) {
        unimplemented!()
    }

    /// What came of [`Action::Get`].
    pub fn object(&mut self, now: Millis, site: SiteKey, name: &str, bytes: Option<Vec<u8>>) {
        unimplemented!()
    }

    /// What came of [`Action::Read`].
    pub fn read_done(&mut self, now: Millis, ticket: Ticket, done: Result<ReadDone, StoreError>) {
        unimplemented!()
    }

    /// What is to last: to be committed, unless it is empty, and reported with [`committed`](Self::committed) or
    /// [`failed`](Self::failed) before anything else is called.
    pub fn take_batch(&mut self) -> Batch {
        unimplemented!()
    }

    /// The batch is durable.
    pub fn committed(&mut self, now: Millis, outcome: Committed) {
        unimplemented!()
    }

    /// The batch may be durable or not. [`reload`](Self::reload) follows, as soon as the store can be read.
    pub fn failed(&mut self, now: Millis, error: &StoreError) {
        unimplemented!()
    }

    /// What is to be done, after the batch is committed.
    pub fn take_actions(&mut self) -> Vec<Action> {
        unimplemented!()
    }

    /// How far a stream of the broker was read.
    pub fn place(&self, kind: Kind) -> Place {
        unimplemented!()
    }

    /// A message of the broker's stream was heard: so far it is read.
    pub fn set_place(&mut self, kind: Kind, place: Place) {
        unimplemented!()
    }

    /// Makes a snapshot every so many seconds.
    pub fn set_snapshot_secs(&mut self, secs: u64) {
        unimplemented!()
    }

    /// Whether the broker is there.
    pub fn broker(&mut self, now: Millis, state: BrokerState) {
        unimplemented!()
    }

    /// How the network is doing.
    pub fn status(&self, now: Millis) -> NetworkStatus {
        unimplemented!()
    }
}
