//! How sites come to agree: what each publishes, applies, repairs and proves.
//!
//! A [`Link`] is one site's side of it. It has no clock, no socket and no file: bytes that arrived and the time go in
//! ([`Link::hear`], [`Link::tick`]), [`Action`]s come out, and everything that must last goes into one
//! [`LinkBatch`](store::LinkBatch) that the driver commits. So the very code that runs beside a ledger and a broker
//! runs in the simulation (`tests/simulation`), on virtual time, with a broker that loses, repeats, reorders and cuts
//! off, and with disks that forget.
//!
//! # The way of an item
//!
//! An item is a record or a delta of sightings. `publish` has items read that the broker has not, and signs them with
//! the value of the chain after them; the broker carries them; at another site `apply` takes them in order, checks
//! that they lead to the signed value, and puts them into the batch with the new position; the next `heartbeat` says
//! so, from which the first site makes its receipts.
//!
//! # When something was missed
//!
//! `repair` asks for ranges, `answer` answers, `snapshot` puts whole streams into a bucket for newcomers, who `fetch`
//! them. Nobody need be believed: what is answered leads to a value that its site signed.
//!
//! # When memory was lost
//!
//! `incarnation` finds that somebody holds of us what we do not remember, and begins a new incarnation; or that a copy
//! of the folder is running, and stops publishing.

#![forbid(unsafe_code)]

mod action;
mod answer;
mod apply;
mod checker;
mod documents;
mod fetch;
mod following;
mod forget;
mod heartbeat;
mod incarnation;
mod link;
mod neighbour;
mod own;
mod position;
mod publish;
mod read;
mod repair;
mod report;
pub mod rows;
mod snapshot;
mod status;
pub mod store;

pub use action::{
    Action, BrokerPosition, BrokerState, BrokerStream, Millis, Note, Published, ReplyTo, Ticket,
};
pub use checker::{Checked, Checker};
pub use link::{Link, LocalCap, LocalCaps};
pub use position::Position;
pub use snapshot::SNAPSHOT;
pub use status::{BrokerStatus, HoldsOfOurs, NetworkStatus, Reach, ReachOne, SiteStatus, StreamStatus};
