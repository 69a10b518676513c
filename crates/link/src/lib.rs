//! How sites come to agree: what each tells the others, applies, repairs and proves.
//!
//! A [`Link`] is one site's side of it. It has no clock, no socket and no file: bytes that arrived and the time go in
//! ([`Link::hear`], [`Link::tick`]), [`Action`]s come out, and everything that must last goes through a [`Journal`], in
//! the same commit as what it is about. So the very code that runs beside a ledger and an engine runs in the simulation
//! (`tests/simulation`), on virtual time, with a transport that loses, repeats, reorders and cuts off, and with disks
//! that forget.
//!
//! # The way of a record
//!
//! [`own`](crate) looks for what the journal has that was not published, and signs it with the chain after it; the
//! engine carries it; at another site `apply` takes it in order, checks that it leads where its site signed, and
//! commits it with the new position; `life` says so in the next beat, from which the first site makes its receipts.
//!
//! # The way of a count
//!
//! The same, with gains of cells in the place of records and the root of all pages in the place of the chain. A peer's
//! cells lie on disk; memory has only the fold, the sum of each peer's cells up to its cap.
//!
//! # When something was missed
//!
//! `audit` compares, `repair` asks, `answer` answers, `pack` puts whole snapshots into a store for newcomers. Nobody
//! need be believed: what is answered leads to a root that its site signed.

#![forbid(unsafe_code)]

#[cfg(test)]
extern crate self as seenit_link;

mod action;
mod answer;
mod apply;
mod audit;
mod cells;
mod fold;
mod following;
mod forget;
mod journal;
mod life;
mod link;
mod own;
mod pack;
mod papers;
mod place;
mod repair;
mod rows;
mod session;
mod status;
#[cfg(test)]
mod unit;

pub use action::{Action, Kind, Note, Published, ReplyTo};
pub use fold::FoldPace;
pub use journal::{Batch, Counts, Frozen, Heard, Journal, JournalError, Peer, Run, Terms};
pub use link::Link;
pub use pack::SNAPSHOT;
pub use place::Place;
pub use status::{NetworkStatus, Reach, ReachOne, SiteStatus, StreamStatus};
