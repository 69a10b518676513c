//! The clients that are installed already: where they are answered, and what their requests mean to the ledger.
//!
//! `udp` moves datagrams, each protocol's module says what they mean, `desk` is what all of them ask. The bytes are
//! read and written by the wire room.

mod credit;
mod dcc;
mod desk;
mod fuzzy;
mod pyzor;
mod razor;
mod recent;
mod start;
mod udp;

#[cfg(test)]
mod counting_tests;
#[cfg(test)]
mod neighbour_tests;
#[cfg(test)]
pub(crate) mod tests;

pub(crate) use desk::Desk;
pub use start::ClientAddresses;
pub(crate) use start::{Clients, Sockets};
