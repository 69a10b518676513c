//! The protocol of rspamd's fuzzy storage, as a server of its module `fuzzy_check` speaks it.
//!
//! One datagram is one command, and one datagram answers it. [`Packet::decode`] tells commands in the clear from sealed
//! ones; [`Sealed::open`] opens those with the [`SharedKey`] of this server and that client, which is dear to make and
//! worth keeping. [`Reply`] is what a command is answered.

mod ask;
mod command;
mod key;
mod reply;
mod seal;

pub use command::{Action, Command, CommandError, Form};
pub use key::{KeyError, PublicKey, SecretKey, SharedKey};
pub use reply::{Refusal, Reply};
pub use seal::{Nonce, Packet, Sealed};

/// rspamd's own storage reads no more of a datagram. The longest command of today is half of it.
pub const DATAGRAM_BYTES_MAX: usize = 1024;
/// The shingles of a text.
pub const SHINGLES: usize = 32;
/// More of a text's shingles than this many make it known. Clients see no match in fewer.
pub const SHINGLES_HALF: usize = SHINGLES / 2;

/// A BLAKE2b-512 that the client made.
pub type Digest = [u8; 64];
